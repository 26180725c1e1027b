//! An episode: one change from the first look to the last, and where it stands.
//!
//! Every phase holds what is true in it and nothing else. A move is written down before anything is done about it, so
//! the record says what was intended, and the next move what came of it.

use holdfast_lifeline::{BootId, Cascade, EpisodeId, Identity, Steady};
use serde::{Deserialize, Serialize};

use crate::effect::{Op, Workload};
use crate::gates::Gate;
use crate::outcome::Outcome;
use crate::policy::Tier;
use crate::proposal::Expected;
use crate::setting::Change;
use crate::trigger::Cause;
use crate::verify::{Shortfall, Window};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    pub id: EpisodeId,
    pub causes: Vec<Cause>,
    pub exploration: bool,
    /// The episode this one takes back.
    pub reverts: Option<EpisodeId>,
    pub opened: Steady,
    pub cleared: Option<Cleared>,
    /// What a refused answer would have changed: the next cycle is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<Change>,
    /// The gate that refused it.
    #[serde(default)]
    pub refused_by: Option<Gate>,
    /// Whether a person said yes to it.
    #[serde(default)]
    pub approved: bool,
    pub phase: Phase,
}

/// What passed the gates that need no target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cleared {
    pub changes: Vec<Change>,
    pub tier: Tier,
    pub hypothesis: String,
    /// What people had written when it was judged.
    pub people: u64,
    /// What it is said to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// What a trial is about, from staging on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    pub known_good: Identity,
    pub candidate: Identity,
}

/// What was true of the target when the trial began, to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Before {
    pub boot: BootId,
    pub people: u64,
    pub workload: Workload,
    pub metric: Option<f64>,
    /// The metric that the proposal speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foretold: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    // --- nothing on the target is touched
    Looking {
        op: Op,
        until: Steady,
    },
    Asking {
        op: Op,
        until: Steady,
        fresh: bool,
    },
    Checking {
        op: Op,
        until: Steady,
    },
    Staging {
        op: Op,
        until: Steady,
        known_good: Identity,
    },
    Waiting {
        trial: Trial,
        until: Steady,
    },
    /// Work is in flight that the change would interrupt.
    Draining {
        trial: Trial,
        approved: bool,
        look_at: Steady,
        until: Steady,
    },
    Preflight {
        op: Op,
        until: Steady,
        trial: Trial,
        approved: bool,
        drain_until: Option<Steady>,
    },
    Opening {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
    },
    // --- the target is armed, and undoes by itself
    Arming {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
    },
    Starting {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
    },
    Activating {
        op: Option<Op>,
        /// Whether the target said that it is under way.
        seen: bool,
        poll_at: Steady,
        until: Steady,
        trial: Trial,
        before: Before,
        called: Steady,
    },
    Verifying(Verifying),
    /// The window passed: everything is looked at once more.
    LastLook {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
        activated: Steady,
    },
    /// The window record is claimed for keeping.
    Claiming {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
    },
    Keeping {
        op: Op,
        until: Steady,
        trial: Trial,
        before: Before,
        tries: u8,
    },
    /// Whether it was kept is read back from the target; asked again until it says.
    ReadingBack {
        op: Option<Op>,
        look_at: Steady,
        trial: Trial,
        before: Before,
        tries: u8,
    },
    // --- kept
    Probation(Probation),
    /// Probation is over: the window record is closed, unless the tripwire was first.
    Closing {
        op: Op,
        until: Steady,
        trial: Trial,
    },
    // --- going back
    /// The window record is claimed for undoing.
    TakingOver {
        op: Op,
        until: Steady,
        trial: Trial,
        why: Why,
        kept: bool,
    },
    Undoing {
        op: Option<Op>,
        cascade: Cascade,
        trial: Trial,
        why: Why,
        kept: bool,
    },
    /// The tripwire undoes it; the target is looked at until it is back.
    StandingBy {
        op: Option<Op>,
        look_at: Steady,
        until: Steady,
        trial: Trial,
        why: Why,
        kept: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verifying {
    pub op: Option<Op>,
    pub look_at: Steady,
    pub trial: Trial,
    pub before: Before,
    /// When the activation was seen complete.
    pub activated: Steady,
    pub window: Window,
    /// The metric over the window so far.
    pub metric_sum: f64,
    pub metric_count: u32,
    /// The metric that the proposal speaks of, over the window so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foretold: Option<f64>,
}

impl Verifying {
    /// The metric over the window so far; nothing where nobody measured it.
    pub fn mean_metric(&self) -> Option<f64> {
        (self.metric_count > 0).then(|| self.metric_sum / f64::from(self.metric_count))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    pub op: Option<Op>,
    pub look_at: Steady,
    pub until: Steady,
    pub trial: Trial,
    pub before: Before,
    /// Bad looks in a row.
    pub bad: u8,
    /// Whether the last look showed it well.
    pub well: bool,
}

/// Why a trial, or what was kept, is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Window(Shortfall),
    Violation(Violation),
    /// The metric it was to improve is worse.
    MetricWorse,
    /// What it was said to do did not come.
    NotAsForetold,
    ActivationFailed,
    /// Nobody could see how far the activation was.
    ActivationUnseen,
    /// The lease was armed, and its answer is unknown.
    ArmUnknown,
    /// The target did not keep it.
    KeepRefused,
    Tripwire,
    Probation(Violation),
    Asked,
    /// The controller was restarted in the middle.
    Interrupted,
    /// Somebody else changed the target.
    Drift,
    Paused,
    /// Its level of autonomy was lowered.
    Lowered,
}

/// Something that ends a window at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// Something else runs than what is tried.
    Identity,
    Boot,
    PeopleChanged,
    Inactive,
    Restarts,
    Kills,
    FailedUnit,
    Unreachable,
    Unhealthy,
    TripwireSilent,
}

impl Why {
    /// Whether it speaks against the change. Restarts, drift and people do not.
    pub fn blames_the_change(&self) -> bool {
        match self {
            Why::Window(shortfall) => *shortfall != Shortfall::FewSamples,
            Why::Violation(violation) | Why::Probation(violation) => match violation {
                Violation::Identity
                | Violation::Boot
                | Violation::PeopleChanged
                | Violation::TripwireSilent => false,
                Violation::Inactive
                | Violation::Restarts
                | Violation::Kills
                | Violation::FailedUnit
                | Violation::Unreachable
                | Violation::Unhealthy => true,
            },
            Why::MetricWorse | Why::NotAsForetold | Why::ActivationFailed | Why::Tripwire => true,
            Why::ActivationUnseen
            | Why::ArmUnknown
            | Why::KeepRefused
            | Why::Asked
            | Why::Interrupted
            | Why::Drift
            | Why::Paused
            | Why::Lowered => false,
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Why::Window(shortfall) => shortfall.sentence().to_owned(),
            Why::Violation(violation) => violation.sentence().to_owned(),
            Why::MetricWorse => "the metric it was to improve got worse".to_owned(),
            Why::NotAsForetold => "it did not do what it was said to do".to_owned(),
            Why::ActivationFailed => "the activation did not complete".to_owned(),
            Why::ActivationUnseen => "the activation could not be followed".to_owned(),
            Why::ArmUnknown => "the lease could not be confirmed".to_owned(),
            Why::KeepRefused => "the target did not keep it".to_owned(),
            Why::Tripwire => "the tripwire undid it".to_owned(),
            Why::Probation(violation) => format!("on probation, {}", violation.sentence()),
            Why::Asked => "a person asked for it".to_owned(),
            Why::Interrupted => "the controller was restarted in the middle".to_owned(),
            Why::Drift => "somebody else changed the target".to_owned(),
            Why::Paused => "autonomy was paused".to_owned(),
            Why::Lowered => "the level of autonomy was lowered".to_owned(),
        }
    }
}

impl Violation {
    pub fn sentence(self) -> &'static str {
        match self {
            Violation::Identity => "something else was running than what was tried",
            Violation::Boot => "the target booted in between",
            Violation::PeopleChanged => "people changed the target in between",
            Violation::Inactive => "the workload was not running",
            Violation::Restarts => "the workload was restarted",
            Violation::Kills => "the workload was killed for want of memory",
            Violation::FailedUnit => "a unit failed that had not before",
            Violation::Unreachable => "the target did not answer",
            Violation::Unhealthy => "an endpoint was not healthy",
            Violation::TripwireSilent => "the tripwire was silent",
        }
    }
}

impl Phase {
    /// The phase in a word, as people read it and as coverage counts it.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Looking { .. } => "looking",
            Phase::Asking { .. } => "asking",
            Phase::Checking { .. } => "checking",
            Phase::Staging { .. } => "staging",
            Phase::Waiting { .. } => "waiting",
            Phase::Draining { .. } => "draining",
            Phase::Preflight { .. } => "preflight",
            Phase::Opening { .. } => "opening",
            Phase::Arming { .. } => "arming",
            Phase::Starting { .. } => "starting",
            Phase::Activating { .. } => "activating",
            Phase::Verifying(_) => "verifying",
            Phase::LastLook { .. } => "last_look",
            Phase::Claiming { .. } => "claiming",
            Phase::Keeping { .. } => "keeping",
            Phase::ReadingBack { .. } => "reading_back",
            Phase::Probation(_) => "probation",
            Phase::Closing { .. } => "closing",
            Phase::TakingOver { .. } => "taking_over",
            Phase::Undoing { .. } => "undoing",
            Phase::StandingBy { .. } => "standing_by",
        }
    }

    pub const NAMES: [&'static str; 21] = [
        "looking",
        "asking",
        "checking",
        "staging",
        "waiting",
        "draining",
        "preflight",
        "opening",
        "arming",
        "starting",
        "activating",
        "verifying",
        "last_look",
        "claiming",
        "keeping",
        "reading_back",
        "probation",
        "closing",
        "taking_over",
        "undoing",
        "standing_by",
    ];

    /// The trial this phase is about, from the moment something may be on the target.
    pub fn armed(&self) -> Option<Trial> {
        match self {
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. }
            | Phase::Opening { .. } => None,
            Phase::Arming { trial, .. }
            | Phase::Starting { trial, .. }
            | Phase::Activating { trial, .. }
            | Phase::LastLook { trial, .. }
            | Phase::Claiming { trial, .. }
            | Phase::Keeping { trial, .. }
            | Phase::ReadingBack { trial, .. }
            | Phase::Closing { trial, .. }
            | Phase::TakingOver { trial, .. }
            | Phase::Undoing { trial, .. }
            | Phase::StandingBy { trial, .. } => Some(*trial),
            Phase::Verifying(verifying) => Some(verifying.trial),
            Phase::Probation(probation) => Some(probation.trial),
        }
    }

    /// The ask whose answer it waits for.
    pub fn op(&self) -> Option<Op> {
        match self {
            Phase::Looking { op, .. }
            | Phase::Asking { op, .. }
            | Phase::Checking { op, .. }
            | Phase::Staging { op, .. }
            | Phase::Preflight { op, .. }
            | Phase::Opening { op, .. }
            | Phase::Arming { op, .. }
            | Phase::Starting { op, .. }
            | Phase::LastLook { op, .. }
            | Phase::Claiming { op, .. }
            | Phase::Keeping { op, .. }
            | Phase::Closing { op, .. }
            | Phase::TakingOver { op, .. } => Some(*op),
            Phase::Activating { op, .. }
            | Phase::ReadingBack { op, .. }
            | Phase::Undoing { op, .. }
            | Phase::StandingBy { op, .. } => *op,
            Phase::Verifying(verifying) => verifying.op,
            Phase::Probation(probation) => probation.op,
            Phase::Waiting { .. } | Phase::Draining { .. } => None,
        }
    }

    /// When the steward wants to be woken although nothing came.
    pub fn wakes_at(&self) -> Option<Steady> {
        match self {
            Phase::Looking { until, .. }
            | Phase::Asking { until, .. }
            | Phase::Checking { until, .. }
            | Phase::Staging { until, .. }
            | Phase::Waiting { until, .. }
            | Phase::Preflight { until, .. }
            | Phase::Opening { until, .. }
            | Phase::Arming { until, .. }
            | Phase::Starting { until, .. }
            | Phase::LastLook { until, .. }
            | Phase::Claiming { until, .. }
            | Phase::Keeping { until, .. }
            | Phase::Closing { until, .. }
            | Phase::TakingOver { until, .. } => Some(*until),
            Phase::Draining { look_at, until, .. } => Some(*look_at.min(until)),
            Phase::Activating { poll_at, until, .. } => Some(*poll_at.min(until)),
            Phase::Verifying(verifying) => Some(verifying.look_at),
            Phase::ReadingBack { look_at, .. } => Some(*look_at),
            Phase::Probation(probation) => Some(probation.look_at.min(probation.until)),
            Phase::Undoing { cascade, .. } => cascade.wakes_at(),
            Phase::StandingBy { look_at, until, .. } => Some(*look_at.min(until)),
        }
    }
}

/// How an episode ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    pub outcome: Outcome,
    pub reason: String,
    /// Whether anything was on the target.
    pub tried: bool,
}
