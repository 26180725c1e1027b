//! What the steward asks of the world, and what the world says: the whole border between deciding and doing.
//!
//! Nothing here is carried out here. Every ask has a number and a time within which it is answered, at the latest with
//! a [`Fault`]; an answer to an ask that is not waited for any more is passed over.

use std::time::Duration;

use holdfast_lifeline::{Armed, BootId, Channel, Claim, Ended, EpisodeId, Identity, Steady, WindowRecord};
use serde::{Deserialize, Serialize};

use crate::brain::Failure;
use crate::com::Com;
use crate::invariant::{Health, Seen};
use crate::ladder::Level;
use crate::retrospective::{Reading, Summary};
use crate::sample::{Label, Metric};
use crate::setting::Change;
use crate::steward::Claimed;
use crate::trigger::Cause;

/// Which ask an answer belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Op(pub u64);

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A word to the target itself.
    Call {
        op: Op,
        over: Channel,
        verb: Verb,
        within: Duration,
    },
    /// The provider's reboot, soft or hard.
    Reboot {
        op: Op,
        reset: bool,
        within: Duration,
    },
    /// Look from outside and from inside, everything at once.
    Look {
        op: Op,
        look: Look,
        within: Duration,
    },
    /// Ask the brain for one proposal.
    Ask {
        op: Op,
        episode: EpisodeId,
        asking: Asking,
        full: Box<Full>,
        within: Duration,
    },
    /// Write the window record of a new trial. Answered with [`Input::Window`].
    OpenWindow {
        op: Op,
        record: WindowRecord,
    },
    /// Claim the window record of the episode.
    ClaimWindow {
        op: Op,
        episode: EpisodeId,
        claim: Claim,
    },
    /// Ask a person. The answer fits this digest and nothing else.
    AskApproval {
        episode: EpisodeId,
        digest: String,
        what: String,
    },
    WithdrawApproval {
        episode: EpisodeId,
    },
    /// Compare the metric before and after a change.
    Compare {
        op: Op,
        episode: EpisodeId,
        switched: Steady,
    },
    /// The baseline of the detector is another one from here on.
    Rebase,
    /// Leave an interval out of baselines: it was our own doing.
    Mark {
        from: Steady,
    },
    Tell(Tiding),
}

/// What a brain is told besides what the target says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Something outside the recent pattern is wanted.
    pub exploration: bool,
    /// The data is at most ten minutes old. Where it is not, nothing but no action passes the gates.
    pub fresh: bool,
    /// Settings that accepted changes have pushed near a bound, a line each: there is little room left in them.
    pub pressed: Vec<String>,
    /// The way back from each change that was kept and had no effect, to be proposed when nothing else is needed.
    pub take_back: Vec<Vec<Change>>,
}

/// A word to the target. Each is taken at most once there, and refused when it comes too late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Check the whole configuration with the changes in it; nothing is loaded.
    Check {
        changes: Vec<Change>,
    },
    /// Build what would be tried, and say what it is.
    /// On top of this, and of nothing else.
    Stage {
        episode: EpisodeId,
        base: Identity,
        changes: Vec<Change>,
    },
    Arm {
        episode: EpisodeId,
        known_good: Identity,
        candidate: Identity,
        lasts: Duration,
        cap: Duration,
    },
    /// Run it, without booting into it.
    Try {
        episode: EpisodeId,
        candidate: Identity,
    },
    /// How far the activation is.
    Poll {
        episode: EpisodeId,
    },
    /// Boot into it too, and end the lease, in one step.
    Keep {
        episode: EpisodeId,
        candidate: Identity,
    },
    Restore {
        episode: EpisodeId,
        wanted: Identity,
    },
    /// Take the lease away; nothing was tried.
    Cancel {
        episode: EpisodeId,
    },
}

impl Verb {
    pub fn name(&self) -> &'static str {
        match self {
            Verb::Check { .. } => "check",
            Verb::Stage { .. } => "stage",
            Verb::Arm { .. } => "arm",
            Verb::Try { .. } => "try",
            Verb::Poll { .. } => "poll",
            Verb::Keep { .. } => "keep",
            Verb::Restore { .. } => "restore",
            Verb::Cancel { .. } => "cancel",
        }
    }
}

/// How to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The way that is tried first. Where there is another, it is tried when this one fails: a way that is down says nothing
    /// about the target.
    pub over: Channel,
    /// Whether the configuration is wanted too, which takes longer.
    pub full: bool,
    /// Renew the lease of this episode on the way.
    pub renew: Option<EpisodeId>,
    /// The episode whose ending on the target is asked for.
    pub episode: Option<EpisodeId>,
    /// An answer over SSH that takes longer counts as none.
    pub ssh_within: Duration,
}

/// What came back for an ask.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Checked(Result<(), String>),
    Staged(Result<Staged, String>),
    Armed(Armed),
    /// The target took it; whether it is done is asked for.
    Accepted,
    Activation(Activation),
    Compared(Compared),
}

/// What was built: its identity, and what it comes to when the target evaluates it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staged {
    pub identity: Identity,
    pub com: Box<Com>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    Running,
    Done {
        identity: Identity,
        boot: BootId,
        workload: Workload,
    },
    Failed,
    /// The target knows of no such activation.
    Unknown,
}

/// The metric in the days before and after a change, and those that must not get worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    pub before: Option<Summary>,
    pub after: Option<Summary>,
    pub guards: Vec<Reading>,
}

/// Why an ask has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    #[error("the target did not answer")]
    Unreachable,
    #[error("no answer came in time")]
    TimedOut,
    /// The target says no, and why.
    #[error("{0}")]
    Refused(holdfast_lifeline::Refused),
    /// The target could not: its disk is full, a tool failed.
    #[error("the target could not do it")]
    Broken,
}

/// How a probe came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    Passed,
    Failed,
    TimedOut,
}

/// One round of looking.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    pub ssh: Probe,
    /// Each endpoint the monitor should know, with what it says and when that was measured; nothing when it says nothing.
    pub endpoints: Vec<(String, Option<Health>)>,
    /// Whether hosts that have nothing to do with the target answer.
    pub references: bool,
    /// What the VPN says of the target; nothing where none is asked.
    pub vpn: Option<Seen>,
    /// When the tripwire last finished a round.
    pub heartbeat: Option<Steady>,
    /// The episode whose window the tripwire says it has read.
    pub watched: Option<EpisodeId>,
    /// The ways back, and when each was last shown to work; the lease is one.
    pub rehearsed: Vec<(&'static str, Option<Steady>)>,
    /// Whether the safety parts are the installed ones.
    pub integrity: bool,
    pub space_here: u64,
    /// What was collected lately, a mean for each metric: since what is tried went live, or over as long as a window.
    pub figures: Vec<(Metric, f64)>,
    /// The target's own word, when it could be asked.
    pub target: Option<TargetState>,
}

/// One probe of a look, and how it came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// `ssh`, or the endpoint by name.
    pub what: String,
    /// Nothing where nobody could tell.
    pub came: Option<Probe>,
}

impl Looked {
    /// Each probe of this look by itself, for whoever looks at an episode later.
    pub fn probes(&self) -> Vec<Probed> {
        let of = |health: &Health| if health.healthy { Probe::Passed } else { Probe::Failed };
        let ssh = Probed { what: "ssh".to_owned(), came: Some(self.ssh) };
        let endpoint = |(name, health): &(String, Option<Health>)| Probed {
            what: name.clone(),
            came: health.as_ref().map(of),
        };
        std::iter::once(ssh).chain(self.endpoints.iter().map(endpoint)).collect()
    }

    /// What a metric came to lately, by the name a proposal gives it.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        let metric: Metric = metric.parse().ok()?;
        self.figures.iter().find(|(known, _)| *known == metric).map(|(_, value)| *value)
    }
}

/// What a target says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetState {
    pub running: Identity,
    pub boots_into: Identity,
    pub boot: BootId,
    /// The digest of everything people wrote.
    pub people: u64,
    pub workload: Workload,
    /// How the episode that was asked about ended here.
    pub ended: Option<Ended>,
    /// Whether anything is being tried here.
    pub leased: bool,
    pub metric: Option<f64>,
    pub full: Option<Box<Full>>,
}

/// The managed services, taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    pub active: bool,
    pub restarts: u32,
    pub kills: u32,
    pub failed_units: u32,
    /// Work is in flight that a restart would lose.
    pub busy: bool,
}

/// What planning and preflight need to know beyond that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Full {
    pub com: Com,
    /// The same without anything of ours.
    pub baseline: Com,
    pub generations: u32,
    pub space: u64,
}

/// What happens to the steward.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// It starts again after its records were read.
    Resumed,
    /// The clock; nothing else happened.
    Time,
    Trigger(Cause),
    /// A collection succeeded.
    Collected,
    /// After a start: the samples that are kept have come without a gap since then, until now.
    Sampled {
        from: Steady,
    },
    Answered {
        op: Op,
        answer: Result<Answer, Fault>,
    },
    Looked {
        op: Op,
        looked: Box<Looked>,
    },
    Brain {
        op: Op,
        said: Result<String, Failure>,
    },
    Window {
        op: Op,
        claimed: Claimed,
    },
    Approval {
        episode: EpisodeId,
        digest: String,
        allowed: bool,
    },
    Paused(bool),
    Person(Person),
}

/// What a person can tell it, besides approving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Person {
    SetLevel {
        to: Level,
    },
    /// Undo what is tried, or what was kept last while it is on probation.
    RollBack,
    ResetBreaker,
    /// What runs on the target, as they have read it there, is known-good.
    AcceptTarget {
        found: Identity,
    },
    /// They have read a proposal.
    Reviewed {
        episode: EpisodeId,
    },
    /// A rollback was caused on purpose and came back, or the tripwire was made to fire and did.
    Rehearsed {
        tripwire: bool,
    },
    /// Plan now.
    Trigger {
        by: Label,
    },
}

/// Something people should hear of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tiding {
    ApprovalAsked {
        episode: EpisodeId,
    },
    Kept {
        episode: EpisodeId,
    },
    RolledBack {
        episode: EpisodeId,
        why: String,
    },
    RollbackFails {
        episode: EpisodeId,
    },
    BreakerOpened,
    Drifted,
    /// What was kept turned out harmful over the day.
    LateHarm {
        episode: EpisodeId,
    },
    AuthExpired,
    Draft {
        what: String,
    },
}

impl Tiding {
    /// The episode it is about.
    pub fn episode(&self) -> Option<&EpisodeId> {
        match self {
            Tiding::ApprovalAsked { episode }
            | Tiding::Kept { episode }
            | Tiding::RolledBack { episode, .. }
            | Tiding::RollbackFails { episode }
            | Tiding::LateHarm { episode } => Some(episode),
            Tiding::BreakerOpened | Tiding::Drifted | Tiding::AuthExpired | Tiding::Draft { .. } => None,
        }
    }
}
