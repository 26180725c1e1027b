//! How far a target trusts the steward: five rungs, climbed one at a time with evidence, left at any moment.
//!
//! A new target is only watched. A person asks for the next rung, and [`raise`] says yes or lists what is missing; the
//! steward never asks for itself. Going down needs nothing. When the breaker opens, whatever was above
//! [`Level::ApproveEach`] goes down to it: three rollbacks in a row say that the target is not understood, and the
//! person who resets the breaker should see the next changes before they happen. The way up again needs fresh evidence,
//! because opening clears what was gathered; a reset alone restores no autonomy.

mod evidence;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use evidence::{Evidence, Fact, LetBy};

use crate::policy::Tier;
use crate::time::{Now, Steady};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Metrics are collected; nothing is proposed.
    #[default]
    Observe,
    /// Proposals are made and gated, for people to read.
    Plan,
    /// Each change is tried when a person approved it.
    ApproveEach,
    /// Small changes are tried without asking.
    TierOne,
    /// Larger ones too, each with an approval.
    TierTwo,
}

impl Level {
    pub const ALL: [Level; 5] =
        [Level::Observe, Level::Plan, Level::ApproveEach, Level::TierOne, Level::TierTwo];

    fn next(self) -> Option<Level> {
        match self {
            Level::Observe => Some(Level::Plan),
            Level::Plan => Some(Level::ApproveEach),
            Level::ApproveEach => Some(Level::TierOne),
            Level::TierOne => Some(Level::TierTwo),
            Level::TierTwo => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    Given,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Yes,
    NeedsApproval,
    No,
}

/// Whether anything may be triggered, planned or proposed at all.
pub fn may_plan(level: Level) -> bool {
    level >= Level::Plan
}

/// Whether a change of this size may be tried. An approval opens only what the level lets people approve.
pub fn may_try(level: Level, tier: Tier, approval: Approval) -> Permission {
    let asked = match approval {
        Approval::Given => Permission::Yes,
        Approval::Absent => Permission::NeedsApproval,
    };
    match (level, tier) {
        (Level::Observe | Level::Plan, Tier::One | Tier::Two | Tier::Three | Tier::Never) => Permission::No,
        (Level::ApproveEach, Tier::One) => asked,
        (Level::TierOne | Level::TierTwo, Tier::One) => Permission::Yes,
        (Level::ApproveEach | Level::TierOne, Tier::Two) => Permission::No,
        (Level::TierTwo, Tier::Two) => asked,
        (Level::ApproveEach | Level::TierOne | Level::TierTwo, Tier::Three | Tier::Never) => Permission::No,
    }
}

/// Something a rung asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    Metrics {
        days: u64,
    },
    ValidPlans {
        valid: usize,
        of: usize,
    },
    Reviewed {
        proposals: usize,
    },
    RollbackRehearsed {
        within_days: u64,
    },
    TripwireShown {
        within_days: u64,
    },
    KeptUnderApproval {
        changes: usize,
    },
    BreakerClosed,
    ImprovedAlone {
        changes: usize,
    },
    Watched {
        days: u64,
    },
    NoUnexpectedRollback {
        days: u64,
    },
    NoSpuriousTripwire {
        days: u64,
    },
    BreakerQuiet {
        days: u64,
    },
    /// There is no rung above.
    HigherRung,
}

/// One line of what a rung asks for, and the requirement it is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub to: Level,
    pub need: Need,
    pub source: &'static str,
}

const fn row(to: Level, need: Need, source: &'static str) -> Row {
    Row { to, need, source }
}

/// The success criteria of the phases. What the requirement gives no number for is marked *ours*: a rehearsal counts for
/// 30 days, the time after which so much has changed that it is worth repeating; quiet means 7 days, the week that phase 4
/// is watched for.
pub const TABLE: [Row; 12] = [
    row(Level::Plan, Need::Metrics { days: 7 }, "STW-256"),
    row(Level::ApproveEach, Need::ValidPlans { valid: 4, of: 5 }, "STW-257"),
    row(Level::ApproveEach, Need::Reviewed { proposals: 5 }, "STW-257"),
    row(Level::TierOne, Need::RollbackRehearsed { within_days: 30 }, "STW-258, days ours"),
    row(Level::TierOne, Need::TripwireShown { within_days: 30 }, "STW-259, days ours"),
    row(Level::TierOne, Need::KeptUnderApproval { changes: 3 }, "STW-258, count ours"),
    row(Level::TierOne, Need::BreakerClosed, "STW-186"),
    row(Level::TierTwo, Need::Watched { days: 7 }, "STW-260"),
    row(Level::TierTwo, Need::ImprovedAlone { changes: 3 }, "STW-260"),
    row(Level::TierTwo, Need::NoUnexpectedRollback { days: 7 }, "STW-260, days ours"),
    row(Level::TierTwo, Need::NoSpuriousTripwire { days: 7 }, "STW-260, days ours"),
    row(Level::TierTwo, Need::BreakerQuiet { days: 7 }, "STW-260, days ours"),
];

/// What keeps a target from the next rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub need: Need,
    pub sentence: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// One rung up, or all that is missing for it. To be called for a person who asked, and by nobody else.
pub fn raise(level: Level, evidence: &Evidence, now: Now) -> Result<Level, Vec<Missing>> {
    let Some(next) = level.next() else {
        let sentence = "this is the highest level".to_owned();
        return Err(vec![Missing { need: Need::HigherRung, sentence }]);
    };
    let needs = TABLE.iter().filter(|row| row.to == next).map(|row| row.need);
    let lacking = |need: Need| lacks(need, evidence, now).map(|sentence| Missing { need, sentence });
    let missing: Vec<Missing> = needs.filter_map(lacking).collect();
    if missing.is_empty() { Ok(next) } else { Err(missing) }
}

/// Where the breaker leaves a target when it opens.
pub fn after_breaker(level: Level) -> Level {
    level.min(Level::ApproveEach)
}

fn lacks(need: Need, evidence: &Evidence, now: Now) -> Option<String> {
    let lately = |at: Option<Steady>, limit: u64| at.filter(|at| now.steady.since(*at) < days(limit));
    let count =
        |have: usize, want: usize, what: &str| (have < want).then(|| format!("{have} of {want} {what}"));
    match need {
        Need::Metrics { days: want } => {
            let run = evidence.metrics_for(now);
            (run < days(want)).then(|| {
                let have = run.as_secs() / 3600;
                format!("{have} of {} hours of metrics without a gap of more than 5 minutes", want * 24)
            })
        }
        Need::ValidPlans { valid: want, of } => {
            let valid = evidence.plans.iter().filter(|(_, valid)| *valid).count();
            let enough = valid >= want && evidence.plans.len() >= of;
            (!enough).then(|| {
                format!(
                    "{valid} of the last {} plans were valid, {want} of {of} are needed",
                    evidence.plans.len()
                )
            })
        }
        Need::Reviewed { proposals } => {
            count(evidence.reviewed.len(), proposals, "proposals were read by a person")
        }
        Need::RollbackRehearsed { within_days } => lately(evidence.rehearsed, within_days)
            .is_none()
            .then(|| format!("no rollback was rehearsed back to known-good within {within_days} days")),
        Need::TripwireShown { within_days } => lately(evidence.tripwire_shown, within_days)
            .is_none()
            .then(|| format!("the tripwire was not shown to fire within {within_days} days")),
        Need::KeptUnderApproval { changes } => {
            count(evidence.kept_under_approval.len(), changes, "approved changes were kept")
        }
        Need::BreakerClosed => evidence.breaker_open.then(|| "the breaker is open".to_owned()),
        Need::ImprovedAlone { changes } => {
            count(evidence.improved_alone.len(), changes, "changes made alone were seen to improve things")
        }
        Need::Watched { days: want } => {
            let at_level = evidence.level_since.map(|since| now.steady.since(since)).unwrap_or_default();
            (at_level < days(want))
                .then(|| format!("{} of {want} days at this level", at_level.as_secs() / 86400))
        }
        Need::NoUnexpectedRollback { days } => lately(evidence.unexpected_rollback, days)
            .map(|_| format!("a change made alone was rolled back within {days} days")),
        Need::NoSpuriousTripwire { days } => lately(evidence.spurious_tripwire, days)
            .map(|_| format!("the tripwire fired without cause within {days} days")),
        Need::BreakerQuiet { days } => (evidence.breaker_open
            || lately(evidence.breaker_opened, days).is_some())
        .then(|| format!("the breaker is open or opened within {days} days")),
        Need::HigherRung => None,
    }
}

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86400)
}
