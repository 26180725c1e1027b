//! What the entries of one ask come to.
//!
//! ```text
//!            ┌─▶ approved ─┬─▶ used
//!            │             └─▶ expired
//!  asked ────┼─▶ rejected
//!            ├─▶ withdrawn
//!            └─▶ expired
//! ```
//!
//! [`Life::step`] is the one place where an ask moves on. An event that does not fit the state changes nothing: the
//! first verdict stands, a use counts once, an end is an end.

use std::fmt;

use holdfast_types::{Actor, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ask::Ask;
use crate::event::Event;
use crate::time::Now;
use crate::verdict::{Verdict, Word};

/// An ask and what has become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Life {
    pub ask: Ask,
    /// The entry it was made by.
    pub made_as: u64,
    pub standing: Standing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Asked,
    Approved(Given),
    Rejected(Given),
    Withdrawn { by: Actor, why: Option<String>, seq: u64 },
    Used { given: Given, by: Actor, seq: u64 },
    Expired { given: Option<Given>, seq: u64 },
}

/// A verdict as it was written down. Only its document can be believed, and only by [`believe`](crate::believe).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    pub verdict: Verdict,
    pub document: Value,
    pub seq: u64,
}

/// The state in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Asked,
    Approved,
    Rejected,
    Withdrawn,
    Used,
    Expired,
}

impl Life {
    pub(crate) fn new(ask: Ask, seq: u64) -> Life {
        Life { ask, made_as: seq, standing: Standing::Asked }
    }

    /// Moves on by an event of this ask, which stands in entry `seq`.
    pub(crate) fn step(self, event: Event, seq: u64) -> Life {
        let standing = match (self.standing, event) {
            (Standing::Asked, Event::Given { verdict, document }) => {
                let given = Given { verdict: *verdict, document, seq };
                match given.verdict.verdict {
                    Word::Approve => Standing::Approved(given),
                    Word::Reject => Standing::Rejected(given),
                }
            }
            (Standing::Asked, Event::Withdrawn { by, why, .. }) => Standing::Withdrawn { by, why, seq },
            (Standing::Asked, Event::Expired { .. }) => Standing::Expired { given: None, seq },
            (Standing::Approved(given), Event::Expired { .. }) => {
                Standing::Expired { given: Some(given), seq }
            }
            (Standing::Approved(given), Event::Used { by, .. }) => Standing::Used { given, by, seq },
            (standing @ Standing::Asked, Event::Made(_) | Event::Used { .. })
            | (
                standing @ Standing::Approved(_),
                Event::Made(_) | Event::Given { .. } | Event::Withdrawn { .. },
            )
            | (
                standing @ (Standing::Rejected(_)
                | Standing::Withdrawn { .. }
                | Standing::Used { .. }
                | Standing::Expired { .. }),
                Event::Made(_)
                | Event::Given { .. }
                | Event::Withdrawn { .. }
                | Event::Used { .. }
                | Event::Expired { .. },
            ) => standing,
        };
        Life { standing, ..self }
    }

    /// As it was written down.
    pub fn state(&self) -> State {
        match &self.standing {
            Standing::Asked => State::Asked,
            Standing::Approved(_) => State::Approved,
            Standing::Rejected(_) => State::Rejected,
            Standing::Withdrawn { .. } => State::Withdrawn,
            Standing::Used { .. } => State::Used,
            Standing::Expired { .. } => State::Expired,
        }
    }

    /// As it is now: what has not been decided or used in time is expired, whether or not that is written down yet.
    pub fn state_at(&self, now: Now) -> State {
        match now {
            Now::Good(at) if self.is_open() && at >= self.expires_at() => State::Expired,
            _ => self.state(),
        }
    }

    /// It can still come to a use.
    pub fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Asked | Standing::Approved(_))
    }

    /// The earlier end of the ask and its approval.
    pub fn expires_at(&self) -> Timestamp {
        self.given().map_or(self.ask.expires_at, |g| g.verdict.expires_at.min(self.ask.expires_at))
    }

    /// The verdict, where there is one.
    pub fn given(&self) -> Option<&Given> {
        match &self.standing {
            Standing::Approved(given) | Standing::Rejected(given) | Standing::Used { given, .. } => {
                Some(given)
            }
            Standing::Expired { given, .. } => given.as_ref(),
            Standing::Asked | Standing::Withdrawn { .. } => None,
        }
    }

    /// The entry that ended it.
    pub fn ended_as(&self) -> Option<u64> {
        match &self.standing {
            Standing::Asked | Standing::Approved(_) => None,
            Standing::Rejected(given) => Some(given.seq),
            Standing::Withdrawn { seq, .. } | Standing::Used { seq, .. } | Standing::Expired { seq, .. } => {
                Some(*seq)
            }
        }
    }
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Asked => "asked",
            State::Approved => "approved",
            State::Rejected => "rejected",
            State::Withdrawn => "withdrawn",
            State::Used => "used",
            State::Expired => "expired",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
