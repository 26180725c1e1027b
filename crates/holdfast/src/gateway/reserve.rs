//! How much of the room that a full log keeps for people each of them gets.
//!
//! The room is some 25,000 acts, and nobody but its owner makes more of it. Whoever has any account could use it up by renaming a device once
//! a second, and then nobody could sign in. So a person has a sixteenth of it at once, and one act a minute more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast_gateway::PersonId;
use holdfast_journal::Limits;

/// Parts of the reserve, of which one person has one at once.
const PARTS: u64 = 16;

/// What an act takes with the notice that tells of it, about.
const ACT_BYTES: u64 = 1_024;

/// At least, however small the log is: enough to lock an intruder out and to come in again.
const ACTS_MIN: u64 = 64;

const ONE_MORE_EVERY: Duration = Duration::from_secs(60);

/// What people have used of their shares.
#[derive(Debug)]
pub(super) struct ReserveShares {
    acts: u32,
    /// When each has a whole share again. As many as there are people.
    whole_at: Mutex<HashMap<PersonId, Duration>>,
}

impl ReserveShares {
    pub(super) fn new(limits: &Limits) -> ReserveShares {
        let acts = (limits.reserve_bytes() / PARTS / ACT_BYTES).max(ACTS_MIN);
        ReserveShares { acts: u32::try_from(acts).unwrap_or(u32::MAX), whole_at: Mutex::default() }
    }

    /// Takes one act of a person's share; `false` when it is used up for now.
    pub(super) fn take(&self, person: PersonId, now: Duration) -> bool {
        let mut whole_at = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        whole_at.retain(|_, at| *at > now);
        let after = whole_at.get(&person).copied().unwrap_or(now) + ONE_MORE_EVERY;
        let has_one = after <= now + ONE_MORE_EVERY * self.acts;
        if has_one {
            whole_at.insert(person, after);
        }
        has_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(n: u32) -> PersonId {
        format!("psn_{n:026}").parse().unwrap()
    }

    #[test]
    fn a_person_has_a_sixteenth_at_once_and_then_one_act_a_minute() {
        let shares = ReserveShares::new(&Limits::default());
        let start = Duration::from_secs(1_000);
        let at_once = (0..100_000).filter(|_| shares.take(person(1), start)).count();
        assert_eq!(at_once, 1_024, "of some 25,000");
        assert!(shares.take(person(2), start), "others have theirs");
        let day = (1..=86_400).filter(|n| shares.take(person(1), start + Duration::from_secs(*n))).count();
        assert_eq!(day, 1_440);
        let later = start + Duration::from_secs(86_400 + 60 * 1_024);
        assert_eq!((0..100_000).filter(|_| shares.take(person(1), later)).count(), 1_024, "it comes back");
        assert_eq!(shares.whole_at.lock().unwrap().len(), 1, "who has a whole one is not remembered");
    }

    #[test]
    fn a_small_log_leaves_everybody_enough_to_act() {
        let small =
            Limits { warn_bytes: 1 << 20, cap_bytes: 2 << 20, segment_bytes: 1 << 20, ..Limits::default() };
        assert_eq!(ReserveShares::new(&small).acts, 64);
    }
}
