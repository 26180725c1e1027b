//! Whether what is known of a target is still worth deciding by. Pure.

use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

/// Older than this, and not as old as this, is stale: five missed cycles.
pub const STALE_AFTER: Duration = Duration::from_secs(600);
/// Clocks of one machine differ by nothing; this is for one that is being put right.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// How old the last successful collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Freshness {
    /// There was none yet.
    Never,
    Fresh {
        last: Timestamp,
    },
    Stale {
        last: Timestamp,
    },
    /// It lies in the future: the clock went back, and how old it is cannot be told.
    Unknown {
        last: Timestamp,
    },
}

impl Freshness {
    /// Whether nothing may be decided by it. Only what is known to be fresh is not stale.
    pub const fn is_stale(self) -> bool {
        !matches!(self, Freshness::Fresh { .. })
    }

    pub(crate) fn of(last: Option<Timestamp>, now: Timestamp) -> Freshness {
        match last {
            None => Freshness::Never,
            Some(last) if last.since(now) > AHEAD_MAX => Freshness::Unknown { last },
            Some(last) if now.since(last) > STALE_AFTER => Freshness::Stale { last },
            Some(last) => Freshness::Fresh { last },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: STW-066
    #[test]
    fn ten_minutes_are_fresh_and_a_moment_more_is_stale() {
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap();
        let check = |age: i64, stale: bool| {
            let found = Freshness::of(Some(at(0)), at(age));
            assert_eq!(found.is_stale(), stale, "{age} s: {found:?}");
        };
        check(0, false);
        check(600, false);
        check(601, true);
        // A clock that went back says nothing about age, and that is not good news.
        check(-60, false);
        check(-61, true);
        assert!(Freshness::of(None, at(0)).is_stale());
    }
}
