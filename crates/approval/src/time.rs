//! The time as a decision sees it: a moment, and whether it can be relied on.

use holdfast_types::Timestamp;

use crate::refusal::Refusal;

/// What the clock says, and whether it is known to be good. Whoever calls decides that; nothing here reads a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    Good(Timestamp),
    /// It may be wrong, for instance because a machine without a battery has just started.
    Unsure(Timestamp),
}

impl Now {
    /// What the clock says, right or wrong.
    pub fn at(self) -> Timestamp {
        match self {
            Now::Good(at) | Now::Unsure(at) => at,
        }
    }

    pub(crate) fn good(self) -> Result<Timestamp, Refusal> {
        match self {
            Now::Good(at) => Ok(at),
            Now::Unsure(at) => Err(Refusal::ClockUnsure { at }),
        }
    }
}
