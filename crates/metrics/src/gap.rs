//! Where nothing was observed. Pure.

use std::ops::Range;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

/// Longer than this without an observation is a gap: two cycles missed and some.
pub const GAP_OVER: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Gap {
    pub fn lasts(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// The gaps of a span, from times in order. Its ends count: before the first observation and after the last there is none either.
pub(crate) fn gaps(span: &Range<Timestamp>, times: impl IntoIterator<Item = Timestamp>) -> Vec<Gap> {
    let mut found = Vec::new();
    let mut last = span.start;
    for time in times.into_iter().filter(|time| span.contains(time)).chain([span.end]) {
        if time.since(last) > GAP_OVER {
            found.push(Gap { from: last, to: time });
        }
        last = last.max(time);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    #[test]
    fn more_than_five_minutes_is_a_gap_also_at_the_ends() {
        let check = |span: (i64, i64), times: &[i64], expected: &[(i64, i64)]| {
            let found = gaps(&(at(span.0)..at(span.1)), times.iter().map(|it| at(*it)));
            let found: Vec<_> = found.iter().map(|gap| (gap.from, gap.to)).collect();
            assert_eq!(
                found,
                expected.iter().map(|it| (at(it.0), at(it.1))).collect::<Vec<_>>(),
                "{times:?}"
            );
        };
        check((0, 600), &[0, 300, 600], &[]);
        check((0, 601), &[0, 300], &[(300, 601)]);
        check((0, 1000), &[100, 401, 990], &[(100, 401), (401, 990)]);
        check((0, 1000), &[], &[(0, 1000)]);
        check((0, 300), &[], &[]);
        check((1000, 2000), &[10, 1100, 1300, 1500, 1700, 1950, 9000], &[]);
        check((5, 5), &[], &[]);
    }

    proptest! {
        #[test]
        fn gaps_are_in_order_apart_and_hold_no_observation(mut times in proptest::collection::vec(0i64..100_000, 0..60)) {
            times.sort_unstable();
            let found = gaps(&(at(0)..at(100_000)), times.iter().map(|it| at(*it)));
            for gap in &found {
                prop_assert!(gap.lasts() > GAP_OVER);
                prop_assert!(!times.iter().any(|it| gap.from < at(*it) && at(*it) < gap.to));
            }
            for pair in found.windows(2) {
                prop_assert!(pair[0].to <= pair[1].from);
            }
            let missing: u64 = found.iter().map(|gap| gap.lasts().as_secs()).sum();
            let pauses = std::iter::once(0).chain(times.iter().copied()).zip(times.iter().copied().chain([100_000]));
            let expected: i64 = pauses.map(|(a, b)| b - a).filter(|pause| *pause > 300).sum();
            prop_assert_eq!(missing, expected.unsigned_abs());
        }
    }
}
