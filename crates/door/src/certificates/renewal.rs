//! When a certificate is renewed, and when a failed try is made again. Pure.

use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::validity::Life;

/// After the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// Never longer: authorities allow a few failed tries an hour, and an operator who mends something should not wait a day.
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3600);
/// After the first time that the authority was not even reached: a machine that starts often has no network yet. Nobody's allowance is used
/// up by that, so the pauses begin and end shorter.
const FIRST_UNREACHED_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_UNREACHED_PAUSE: Duration = Duration::from_secs(600);
/// After a success: a clock that runs years ahead finds every new certificate due at once, and would order without end.
const CONTENT_FOR: Duration = Duration::from_secs(12 * 3600);

/// Two thirds into its life: a third is left for all that can go wrong.
pub(super) fn renews_at(life: &Life) -> Timestamp {
    life.not_before.plus(life.span() / 3 * 2)
}

pub(super) fn is_due(life: &Life, now: Timestamp) -> bool {
    now >= renews_at(life)
}

/// Whether its life has not begun by this clock: one of the two is wrong. Whoever signs for himself makes a new one; an authority
/// elsewhere has the better clock.
pub(super) fn is_early(life: &Life, now: Timestamp) -> bool {
    now < life.not_before
}

/// How far a try got that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Got {
    /// Nobody answered where the authority is.
    Nowhere,
    /// The authority knows of it.
    ToTheAuthority,
}

/// What is known of tries that failed. It is kept on the disk, so that a daemon that restarts in a loop does not use up what the
/// authority allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tries {
    failures: u32,
    /// In a row, and since the last that reached the authority.
    #[serde(default)]
    unreached: u32,
    last: Option<Timestamp>,
    next: Option<Timestamp>,
}

impl Tries {
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// A clock that was set back does not make anybody wait longer than the longest pause.
    pub(super) fn may(&self, now: Timestamp) -> bool {
        let (Some(last), Some(next)) = (self.last, self.next) else { return true };
        now >= next || now < last
    }

    /// It was issued.
    pub(super) fn succeeded(now: Timestamp) -> Tries {
        Tries { failures: 0, unreached: 0, last: Some(now), next: Some(now.plus(CONTENT_FOR)) }
    }

    /// Whether the pause is one after a failure.
    pub(super) fn are_failing(&self) -> bool {
        self.failures > 0 || self.unreached > 0
    }

    /// One more failed. `luck`, from 0 to 255, spreads tries so that many houses do not come at once.
    pub(super) fn failed(self, got: Got, now: Timestamp, luck: u8) -> Tries {
        let (failures, unreached) = match got {
            Got::Nowhere => (self.failures, self.unreached.saturating_add(1)),
            Got::ToTheAuthority => (self.failures.saturating_add(1), 0),
        };
        let pause = match got {
            Got::Nowhere => doubled(FIRST_UNREACHED_PAUSE, unreached, LONGEST_UNREACHED_PAUSE),
            Got::ToTheAuthority => doubled(FIRST_PAUSE, failures, LONGEST_PAUSE),
        };
        // Between four and six fifths of it.
        let pause = pause * 4 / 5 + pause * u32::from(luck) / (5 * 255) * 2;
        Tries { failures, unreached, last: Some(now), next: Some(now.plus(pause)) }
    }
}

/// What the first pause has become after so many.
fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(longest)
}

/// Without randomness nothing is spread, and nothing else is lost.
pub(super) fn luck() -> u8 {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    byte[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn moment(days: u32) -> Timestamp {
        Timestamp::EPOCH.plus(DAY * 20_000 + DAY * days)
    }

    #[test]
    fn it_is_renewed_at_two_thirds_and_not_before() {
        let life = Life { not_before: moment(0), not_after: moment(90) };
        assert_eq!(renews_at(&life), moment(60));
        assert!(!is_due(&life, moment(59)));
        assert!(is_due(&life, moment(60)));
        assert!(is_due(&life, moment(91)));
        assert!(!is_due(&life, Timestamp::EPOCH) && is_early(&life, Timestamp::EPOCH));
        assert!(!is_early(&life, moment(0)));
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_are_spread() {
        let pause = |tries: Tries, now: Timestamp| tries.next.unwrap().since(now);
        let now = moment(0);
        for (got, shortest, longest) in [
            (Got::ToTheAuthority, FIRST_PAUSE, LONGEST_PAUSE),
            (Got::Nowhere, FIRST_UNREACHED_PAUSE, LONGEST_UNREACHED_PAUSE),
        ] {
            let first = Tries::default().failed(got, now, 0);
            assert_eq!(pause(first, now), shortest * 4 / 5);
            assert_eq!(pause(Tries::default().failed(got, now, 255), now), shortest * 6 / 5);
            assert_eq!(pause(first.failed(got, now, 0), now), shortest * 8 / 5);
            let many = (0..40).fold(Tries::default(), |tries, _| tries.failed(got, now, 255));
            assert_eq!(pause(many, now), longest * 6 / 5);
        }
    }

    #[test]
    fn a_day_without_a_network_does_not_count_as_refused_orders() {
        let now = moment(0);
        let away = (0..40).fold(Tries::default(), |tries, _| tries.failed(Got::Nowhere, now, 0));
        let refused = away.failed(Got::ToTheAuthority, now, 0);
        assert_eq!(refused.next.unwrap().since(now), FIRST_PAUSE * 4 / 5);
        assert_eq!(refused.unreached, 0);
    }

    #[test]
    fn what_was_written_before_there_were_two_sorts_is_still_read() {
        let old: Tries = serde_json::from_str(r#"{"failures":2,"last":null,"next":null}"#).unwrap();
        assert_eq!((old.failures, old.unreached), (2, 0));
    }

    #[test]
    fn nothing_is_tried_during_a_pause_unless_the_clock_went_back() {
        let now = moment(5);
        let tries = Tries::default().failed(Got::ToTheAuthority, now, 0);
        assert!(!tries.may(now));
        assert!(tries.may(now.plus(FIRST_PAUSE)));
        assert!(tries.may(moment(4)));
        assert!(Tries::default().may(now));
        let content = Tries::succeeded(now);
        assert!(!content.may(now.plus(CONTENT_FOR / 2)) && content.may(now.plus(CONTENT_FOR)));
        assert!(tries.are_failing() && !content.are_failing());
    }
}
