//! What follows an attempt: pure, from the result, the tries so far and a random number.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::sink::Outcome;

/// How often a message that is refused is tried again before it is given up.
const REFUSALS_MAX: u32 = 5;
/// A receiver may ask us to stay away, but not for ever.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// How fast a sink is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The wait after the first failure; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// Most messages within a minute, if there is a limit; critical ones are told beyond it.
    pub per_minute: Option<NonZeroU32>,
    /// How long repeats are held back and told as one.
    pub fold_window: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            per_minute: NonZeroU32::new(30),
            fold_window: Duration::from_secs(600),
        }
    }
}

/// The tries one message has had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    pub(crate) attempts: u32,
    pub(crate) refusals: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Delivered,
    Retry { after: Duration },
    Abandon,
}

/// Counts the attempt in and says what to do now. A receiver that cannot be reached is tried for ever; one that
/// refuses this very message must not hold up those behind it.
pub(crate) fn next(tries: &mut Tries, outcome: &Outcome, pace: &Pace, random: u64) -> Next {
    tries.attempts = tries.attempts.saturating_add(1);
    match outcome {
        Outcome::Delivered => Next::Delivered,
        Outcome::Unavailable { retry_after, .. } => {
            let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
            Next::Retry { after: wait(tries.attempts, pace, random).max(asked) }
        }
        Outcome::Refused { .. } => {
            tries.refusals += 1;
            if tries.refusals > REFUSALS_MAX {
                Next::Abandon
            } else {
                Next::Retry { after: wait(tries.attempts, pace, random) }
            }
        }
    }
}

/// Doubling, capped, and shortened by up to a quarter, so that many sinks do not knock in step.
pub(crate) fn wait(attempts: u32, pace: &Pace, random: u64) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    let full = pace.first_wait.saturating_mul(1 << doublings).min(pace.longest_wait);
    let share = (random >> 11) as f64 / (1u64 << 53) as f64;
    full.mul_f64(1.0 - share / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Trouble;
    use proptest::prelude::*;

    fn unavailable(retry_after: Option<u64>) -> Outcome {
        Outcome::Unavailable { why: Trouble::Network, retry_after: retry_after.map(Duration::from_secs) }
    }

    fn waits(outcome: &Outcome, times: usize) -> Vec<Option<u64>> {
        let (mut tries, pace) = (Tries::default(), Pace::default());
        let after = |next| match next {
            Next::Retry { after } => Some(after.as_secs()),
            Next::Delivered | Next::Abandon => None,
        };
        (0..times).map(|_| after(next(&mut tries, outcome, &pace, 0))).collect()
    }

    #[test]
    fn an_unreachable_receiver_is_tried_for_ever_ever_more_rarely() {
        let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map(Some);
        assert_eq!(waits(&unavailable(None), 11), expected);
        assert!(waits(&unavailable(None), 100_000).iter().all(Option::is_some));
    }

    #[test]
    fn a_refused_message_is_given_up_after_five_more_tries() {
        let refused = Outcome::Refused { why: Trouble::Status(400) };
        assert_eq!(waits(&refused, 6), [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
    }

    #[test]
    fn being_unreachable_in_between_does_not_count_as_refusing() {
        let (mut tries, pace) = (Tries::default(), Pace::default());
        let refused = Outcome::Refused { why: Trouble::Status(400) };
        for _ in 0..5 {
            assert!(matches!(next(&mut tries, &refused, &pace, 0), Next::Retry { .. }));
            assert!(matches!(next(&mut tries, &unavailable(None), &pace, 0), Next::Retry { .. }));
        }
        assert_eq!(next(&mut tries, &refused, &pace, 0), Next::Abandon);
        assert_eq!(tries.attempts, 11);
    }

    #[test]
    fn a_receiver_may_ask_for_a_pause_of_up_to_an_hour() {
        assert_eq!(waits(&unavailable(Some(90)), 1), [Some(90)]);
        assert_eq!(waits(&unavailable(Some(0)), 1), [Some(1)]);
        assert_eq!(waits(&unavailable(Some(1_000_000)), 1), [Some(3_600)]);
    }

    proptest! {
        #[test]
        fn chance_shortens_a_wait_by_at_most_a_quarter(attempts in 1u32..100, random: u64) {
            let pace = Pace::default();
            let (full, some) = (wait(attempts, &pace, 0), wait(attempts, &pace, random));
            prop_assert!(some <= full && some >= full.mul_f64(0.75));
        }
    }
}
