//! Growing old: when a memory leaves planning, and how much a recent one weighs more.

use std::time::Duration;

use holdfast_types::Timestamp;

use crate::entry::Header;
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::state::Standing;

/// Whether an entry has been kept longer than its kind stays in planning. The day it fills its time it is not yet.
pub fn is_due(header: &Header, standing: Standing, now: Timestamp) -> bool {
    standing == Standing::Durable && is_old(header.kind, header.at, now)
}

/// The same of one that is known to be durable, by what a table has of it.
pub fn is_old(kind: Kind, at: Timestamp, now: Timestamp) -> bool {
    now.since(at) > kind.policy().archived_after
}

/// Which of these are to be archived now, in order.
pub fn due<'a>(known: impl IntoIterator<Item = (&'a Header, Standing)>, now: Timestamp) -> Vec<MemoryId> {
    let mut due: Vec<MemoryId> = known
        .into_iter()
        .filter(|(header, standing)| is_due(header, *standing, now))
        .map(|(header, _)| header.id)
        .collect();
    due.sort_unstable();
    due
}

/// A month: half of what recency adds is gone after it.
const HALF_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// From 1 for what was captured now down towards 0. It is weighed in with relevance and decides nothing by itself.
pub fn recency(at: Timestamp, now: Timestamp) -> f64 {
    (-now.since(at).as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;

    fn days(n: u64) -> Duration {
        Duration::from_secs(n * 24 * 3600)
    }

    // shows: STW-226
    #[test]
    fn on_day_90_an_entry_stays_and_on_day_91_it_is_archived() {
        let header = build::fact("The port is 8080.").entry(1).header;
        let on = |day| due([(&header, Standing::Durable)], header.at.plus(days(day)));
        assert_eq!(on(90), []);
        assert_eq!(on(91), [build::id(1)]);
    }

    #[test]
    fn only_what_is_durable_grows_old_and_a_clock_that_went_back_archives_nothing() {
        let header = build::fact("The port is 8080.").entry(1).header;
        let late = header.at.plus(days(400));
        for standing in [Standing::Session, Standing::Archived, Standing::Forgotten] {
            assert!(!is_due(&header, standing, late));
        }
        assert!(!is_due(&header, Standing::Durable, Timestamp::EPOCH));
    }

    #[test]
    fn recency_halves_in_a_month() {
        let now = build::at(0).plus(days(30));
        assert_eq!(recency(now, now), 1.0);
        assert!((recency(build::at(0), now) - 0.5).abs() < 1e-12);
        assert_eq!(recency(now, build::at(0)), 1.0);
    }
}
