//! What makes a planning cycle start, and how many start.
//!
//! Causes are offered to a [`Queue`], which is pure state: whoever holds it records each call in the journal and plays
//! the records back after a crash. However many causes come together, they start one cycle. A cause stays in the queue
//! until the cycle that took it is acknowledged; [`Queue::recover`] puts back what a crash left in hand.
//!
//! What holds:
//! - at most one cycle is in hand, and as many cycles are taken as offers were answered with [`Offered::Accepted`],
//!   plus at most one for each crash that left one in hand;
//! - nothing is accepted or taken while the circuit is open, while the steward only observes, or while it is paused;
//! - what an episode itself stirs up starts no cycle, neither during the episode nor for [`COOL_DOWN`] after it.
//!
//! [`anomalies`] finds what is wrong in a collection, and [`Watch`] says what of it is new and what is over.

mod told;
mod watch;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::detect::Direction;
use crate::sample::{EndpointName, Label, Metric, Scope};
use crate::setting::{EpisodeId, UnitName};
use crate::time::Steady;

pub use told::Told;
pub use watch::{
    Ailing, Anomaly, AnomalyKind, CRASH_LOOP_RESTARTS, Noted, PSI_CALM, PSI_SPIKE, QUIET_AFTER, Subject,
    Watch, anomalies, crash_loops,
};

/// How long after an episode's end its effects may still show, and how long a cause rests once a cycle looked into it.
pub const COOL_DOWN: Duration = Duration::from_secs(30 * 60);

/// Without a regime change for this long a cycle runs anyway, where people say nothing else.
pub const ROUTINE_AFTER: Duration = Duration::from_secs(72 * 3600);

/// How long a cycle waits for further causes. What comes at the same instant, in whatever order, is one cycle.
pub const SETTLE: Duration = Duration::from_secs(2);

/// More causes than this of one cycle are counted, not kept.
const CAUSES_MAX: usize = 64;

/// Why a cycle should run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    RegimeChange {
        metric: Metric,
        direction: Direction,
    },
    /// One story of one metric or several: what moved first, and all of it in a sentence.
    Noticed {
        metric: Metric,
        direction: Direction,
        told: Told,
    },
    MonitorFailure {
        endpoint: EndpointName,
    },
    OutOfMemory {
        unit: UnitName,
    },
    CrashLoop {
        unit: UnitName,
    },
    Routine,
    Asked {
        by: Label,
    },
    Revert {
        episode: EpisodeId,
    },
}

impl Cause {
    /// Whether it says that a metric is another one from here on.
    pub fn is_regime_change(&self) -> bool {
        matches!(self, Cause::RegimeChange { .. } | Cause::Noticed { .. })
    }

    /// Whether somebody decided it, rather than something having been seen. Decisions are not second-guessed.
    fn is_decided(&self) -> bool {
        match self {
            Cause::Asked { .. } | Cause::Revert { .. } | Cause::Routine => true,
            Cause::RegimeChange { .. }
            | Cause::Noticed { .. }
            | Cause::MonitorFailure { .. }
            | Cause::OutOfMemory { .. }
            | Cause::CrashLoop { .. } => false,
        }
    }
}

/// What an episode stirs up by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// The unit it changes. Builds and activations also weigh on the host as a whole.
    pub unit: UnitName,
    /// The endpoints that unit answers.
    pub endpoints: Vec<EndpointName>,
    /// When the episode ended; none while it is open.
    pub ended: Option<Steady>,
}

impl Disturbance {
    fn lasts(&self, now: Steady) -> bool {
        self.ended.is_none_or(|ended| now.since(ended) < COOL_DOWN)
    }

    fn stirs_up(&self, cause: &Cause) -> bool {
        match cause {
            Cause::RegimeChange { metric, .. } | Cause::Noticed { metric, .. } => match metric.scope() {
                Scope::Host => true,
                Scope::Unit(unit) => *unit == self.unit,
            },
            Cause::MonitorFailure { endpoint } => self.endpoints.contains(endpoint),
            Cause::OutOfMemory { unit } | Cause::CrashLoop { unit } => *unit == self.unit,
            Cause::Routine | Cause::Asked { .. } | Cause::Revert { .. } => false,
        }
    }
}

/// What stands between a cause and a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub circuit_open: bool,
    pub observe_only: bool,
    pub paused: bool,
    /// Episodes that are open, or ended lately.
    pub episodes: Vec<Disturbance>,
}

impl Gate {
    fn shut(&self) -> Option<Suppression> {
        if self.circuit_open {
            Some(Suppression::CircuitOpen)
        } else if self.observe_only {
            Some(Suppression::ObserveOnly)
        } else if self.paused {
            Some(Suppression::Paused)
        } else {
            None
        }
    }

    fn own_doing(&self, now: Steady, cause: &Cause) -> Option<Suppression> {
        let episode = self.episodes.iter().find(|one| one.lasts(now) && one.stirs_up(cause))?;
        Some(match episode.ended {
            None => Suppression::EpisodeOpen,
            Some(_) => Suppression::CoolingDown,
        })
    }
}

/// Why an offer came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suppression {
    CircuitOpen,
    ObserveOnly,
    Paused,
    /// An open episode causes this itself.
    EpisodeOpen,
    /// An episode that ended lately may have caused it.
    CoolingDown,
    /// A cycle looked into the same cause lately.
    JustHandled,
}

/// What became of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// A cycle will run that would not have run without it.
    Accepted,
    /// A cycle is due or in hand already, and this is one of its causes.
    Coalesced,
    Suppressed(Suppression),
}

/// A cycle in hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    pub id: u64,
    pub causes: Vec<Cause>,
    /// Causes beyond those that are listed.
    pub more: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending {
    since: Steady,
    causes: Vec<Cause>,
    more: u32,
}

impl Pending {
    fn add(&mut self, cause: Cause) {
        if self.causes.contains(&cause) {
            return;
        }
        if self.causes.len() < CAUSES_MAX {
            self.causes.push(cause);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}

/// The triggers of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    next: u64,
    pending: Option<Pending>,
    taken: Option<Taken>,
    /// Causes that cycles looked into, the latest last, with the time they rest until.
    resting: Vec<(Cause, Steady)>,
    /// From when on the time to the next routine cycle counts.
    routine_from: Steady,
}

impl Queue {
    pub fn new(now: Steady) -> Queue {
        Queue { next: 1, pending: None, taken: None, resting: Vec::new(), routine_from: now }
    }

    /// Offers a cause. Whoever sees something that lasts offers it again as long as it lasts: what is suppressed is
    /// not kept.
    pub fn offer(&mut self, now: Steady, cause: Cause, gate: &Gate) -> Offered {
        let suppressed =
            gate.shut().or_else(|| gate.own_doing(now, &cause)).or_else(|| self.rests(now, &cause));
        if let Some(why) = suppressed {
            return Offered::Suppressed(why);
        }
        if cause.is_regime_change() || cause == Cause::Routine {
            self.routine_from = self.routine_from.max(now);
        }
        if self.is_in_hand(&cause) {
            return Offered::Coalesced;
        }
        match &mut self.pending {
            Some(pending) => {
                pending.add(cause);
                Offered::Coalesced
            }
            None => {
                self.pending = Some(Pending { since: now, causes: vec![cause], more: 0 });
                Offered::Accepted
            }
        }
    }

    /// Offers a routine cycle when it is time for one: when nothing has changed for so long.
    pub fn tick(&mut self, now: Steady, after: Duration, gate: &Gate) -> Option<Offered> {
        (now.since(self.routine_from) >= after).then(|| self.offer(now, Cause::Routine, gate))
    }

    /// Takes the cycle that is due, with all its causes. None while another is in hand.
    pub fn take(&mut self, now: Steady, gate: &Gate) -> Option<Taken> {
        let due = self.due().is_some_and(|due| now >= due);
        if !due || gate.shut().is_some() {
            return None;
        }
        let Pending { causes, more, .. } = self.pending.take()?;
        let taken = Taken { id: self.next, causes, more };
        self.next = self.next.saturating_add(1);
        self.taken = Some(taken.clone());
        Some(taken)
    }

    /// When [`Queue::take`] will give a cycle, if the gate lets it.
    pub fn due(&self) -> Option<Steady> {
        match (&self.taken, &self.pending) {
            (None, Some(pending)) => Some(pending.since.plus(SETTLE)),
            (Some(_), Some(_) | None) | (None, None) => None,
        }
    }

    /// The cycle is over, whatever came of it. False when that cycle is not the one in hand: nothing changes then.
    pub fn acknowledge(&mut self, id: u64, now: Steady) -> bool {
        let Some(taken) = self.taken.take_if(|taken| taken.id == id) else { return false };
        self.resting.retain(|(cause, until)| *until > now && !taken.causes.contains(cause));
        let seen = taken.causes.into_iter().filter(|cause| !cause.is_decided());
        self.resting.extend(seen.map(|cause| (cause, now.plus(COOL_DOWN))));
        let surplus = self.resting.len().saturating_sub(CAUSES_MAX);
        self.resting.drain(..surplus);
        true
    }

    /// After a start: nobody works on what was in hand any more, so it is due again, under a new id.
    pub fn recover(&mut self, now: Steady) -> bool {
        let Some(Taken { causes, more, .. }) = self.taken.take() else { return false };
        let pending = self.pending.get_or_insert(Pending { since: now, causes: Vec::new(), more: 0 });
        pending.more = pending.more.saturating_add(more);
        for cause in causes {
            pending.add(cause);
        }
        true
    }

    pub fn in_hand(&self) -> Option<&Taken> {
        self.taken.as_ref()
    }

    /// The causes of the cycle that is due next.
    pub fn waiting(&self) -> &[Cause] {
        self.pending.as_ref().map_or(&[], |pending| &pending.causes)
    }

    /// The cycle in hand looks into what it took. Who asks while it runs wants another.
    fn is_in_hand(&self, cause: &Cause) -> bool {
        let asked = matches!(cause, Cause::Asked { .. });
        !asked && self.taken.as_ref().is_some_and(|taken| taken.causes.contains(cause))
    }

    fn rests(&self, now: Steady, cause: &Cause) -> Option<Suppression> {
        let resting = self.resting.iter().any(|(other, until)| other == cause && now < *until);
        resting.then_some(Suppression::JustHandled)
    }
}

#[cfg(test)]
mod tests;
