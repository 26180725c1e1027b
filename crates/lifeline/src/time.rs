//! Time as controllers see it: time that surely passed, and the wall clock, which only informs.
//!
//! The wall clock may jump by hours either way, and a small machine may boot with a wrong one. Limits and waits are
//! therefore counted on [`Steady`]: the time a controller was seen running, summed over its runs. Time in which it was
//! off counts as none, so nothing that must wait is ever early.

use std::fmt;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

/// Milliseconds that surely passed since the first record of a target. Goes on over restarts, never back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steady(pub u64);

impl Steady {
    pub fn plus(self, span: Duration) -> Steady {
        Steady(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not later.
    pub fn since(self, earlier: Steady) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        write!(f, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// The moment a decision is made at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    pub steady: Steady,
    pub wall: Timestamp,
    /// Whether the wall clock is known to be good. While it is not, nothing becomes due by it.
    pub synced: bool,
}
