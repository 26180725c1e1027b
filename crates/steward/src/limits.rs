//! What holds the steward back whatever it thinks: trials a day, the breaker, failing plans.
//!
//! All of it is counted on steady time. No function here takes a wall clock, so none can be hurried or held up by one.
//! The controller being off counts as no time at all, which only ever makes it wait longer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::setting::EpisodeId;
use crate::time::Steady;

const DAY: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Limits {
    /// Trials started within any 24 hours.
    pub trials_per_day: u32,
    /// Rollbacks in a row that open the breaker.
    pub rollbacks_in_a_row: u32,
    /// Failing plans in a row that pause planning. Ten, because a plan harms nothing and a new brain needs a few to learn
    /// the bounds; after ten it is only spending.
    pub failing_plans_in_a_row: u32,
    /// How long planning then pauses, in seconds.
    pub planning_pause_seconds: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            trials_per_day: 3,
            rollbacks_in_a_row: 3,
            failing_plans_in_a_row: 10,
            planning_pause_seconds: 24 * 3600,
        }
    }
}

/// The trials started within the last 24 hours. A trial counts from its start, whatever becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trials {
    started: Vec<Started>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Started {
    episode: EpisodeId,
    at: Steady,
}

/// The limit is reached until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{started} trials were started within 24 hours and {limit} are allowed: the next may start at {until}"
)]
pub struct LimitReached {
    pub started: usize,
    pub limit: u32,
    pub until: Steady,
}

impl Trials {
    /// Whether one more may start now.
    pub fn may_start(&self, limits: &Limits, now: Steady) -> Result<(), LimitReached> {
        let recent: Vec<Steady> =
            self.started.iter().map(|s| s.at).filter(|at| now.since(*at) < DAY).collect();
        let limit = limits.trials_per_day as usize;
        if recent.len() < limit {
            return Ok(());
        }
        // The one whose ageing brings the count below the limit; with a limit of none, never.
        let until = recent.len().checked_sub(limit).and_then(|index| recent.get(index));
        let until = until.map_or(Steady(u64::MAX), |at| at.plus(DAY));
        Err(LimitReached { started: recent.len(), limit: limits.trials_per_day, until })
    }

    /// Counts a trial at its start. A repeated start of the same episode is the same start.
    pub fn start(&mut self, episode: &EpisodeId, limits: &Limits, now: Steady) -> Result<(), LimitReached> {
        if self.started.iter().any(|started| started.episode == *episode) {
            return Ok(());
        }
        self.may_start(limits, now)?;
        self.started.retain(|started| now.since(started.at) < DAY);
        self.started.push(Started { episode: episode.clone(), at: now });
        Ok(())
    }
}

/// What moves the breaker. The order is that of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Ended {
        episode: EpisodeId,
        outcome: Outcome,
        at: Steady,
    },
    /// A person closed it, by a command that is on record.
    Reset,
}

/// Opens after rollbacks in a row and is closed by a person only. Never stored as a truth of its own: it is what the
/// episodes since the last reset amount to, so no file can be deleted or forged to close it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breaker {
    Closed { rolled_back: Vec<EpisodeId> },
    Open { rolled_back: Vec<EpisodeId>, since: Steady },
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker::Closed { rolled_back: Vec::new() }
    }
}

impl Breaker {
    /// Only what was tried and rolled back counts, and only what was tried and kept ends the row. All else says nothing
    /// about whether trials go well: rejections, refusals, interruptions by ourselves, errors of a brain.
    pub fn step(self, event: &Event, limits: &Limits) -> Breaker {
        match (self, event) {
            (_, Event::Reset) => Breaker::default(),
            (open @ Breaker::Open { .. }, Event::Ended { .. }) => open,
            (Breaker::Closed { mut rolled_back }, Event::Ended { episode, outcome, at }) => match outcome {
                Outcome::RolledBack => {
                    if !rolled_back.contains(episode) {
                        rolled_back.push(episode.clone());
                    }
                    // A limit of 0 would be open for ever after the first reset; it is read as 1.
                    if rolled_back.len() >= limits.rollbacks_in_a_row.max(1) as usize {
                        Breaker::Open { rolled_back, since: *at }
                    } else {
                        Breaker::Closed { rolled_back }
                    }
                }
                Outcome::Kept => Breaker::default(),
                // The look a day later: the trial itself ended the row already.
                Outcome::Improved | Outcome::Neutral | Outcome::Inconclusive | Outcome::DelayedNegative => {
                    Breaker::Closed { rolled_back }
                }
                Outcome::Interrupted
                | Outcome::GateRejected
                | Outcome::NoAction
                | Outcome::Planned
                | Outcome::Refused
                | Outcome::Failed => Breaker::Closed { rolled_back },
            },
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Breaker::Open { .. })
    }
}

/// How an attempt to plan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEnd {
    /// A proposal that passed the gates, or a reasoned nothing-to-do.
    Valid,
    /// The answer could not be read, did not come in time, or a gate rejected it.
    Invalid,
    /// It is nobody's failure to plan: a credential, an allowance, a network, a restart.
    Network,
}

/// Whether planning goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planning {
    Open { failed_in_a_row: u32 },
    Paused { until: Steady },
}

impl Default for Planning {
    fn default() -> Planning {
        Planning::Open { failed_in_a_row: 0 }
    }
}

impl Planning {
    pub fn step(self, end: PlanEnd, limits: &Limits, now: Steady) -> Planning {
        let failed_in_a_row = match self {
            Planning::Paused { until } if now < until => return self,
            Planning::Paused { .. } => 0,
            Planning::Open { failed_in_a_row } => failed_in_a_row,
        };
        match end {
            PlanEnd::Valid => Planning::default(),
            PlanEnd::Network => Planning::Open { failed_in_a_row },
            PlanEnd::Invalid if failed_in_a_row + 1 >= limits.failing_plans_in_a_row => {
                Planning::Paused { until: now.plus(Duration::from_secs(limits.planning_pause_seconds)) }
            }
            PlanEnd::Invalid => Planning::Open { failed_in_a_row: failed_in_a_row + 1 },
        }
    }

    /// Until when planning pauses, where it does.
    pub fn paused_until(self, now: Steady) -> Option<Steady> {
        match self {
            Planning::Paused { until } if now < until => Some(until),
            Planning::Paused { .. } | Planning::Open { .. } => None,
        }
    }
}
