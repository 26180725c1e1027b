//! The moment at which a look is over. Every wait in this crate asks it first.

use std::time::{Duration, Instant};

use crate::found::Trouble;

/// Nothing is looked at for longer; keeps the sum with any span representable.
const LONGEST: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Until(Instant);

impl Until {
    pub(crate) fn after(within: Duration) -> Until {
        Until(Instant::now() + within.min(LONGEST))
    }

    /// What is left, and never zero: a socket takes no time for no limit.
    pub(crate) fn left(self) -> Result<Duration, Trouble> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or(Trouble::Late)
    }

    /// One of so many equal parts of what is left.
    pub(crate) fn share(self, of: usize) -> Result<Until, Trouble> {
        let parts = u32::try_from(of.max(1)).unwrap_or(u32::MAX);
        Ok(Until::after(self.left()? / parts))
    }

    /// This moment, or the one so much later than now when that is sooner.
    pub(crate) fn or_after(self, span: Duration) -> Until {
        Until(self.0.min(Instant::now() + span))
    }
}
