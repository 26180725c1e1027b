//! A known history gives a known self-profile.

use holdfast_steward::explore::Cycles;
use holdfast_steward::outcome::{Book, Outcome};
use holdfast_steward::profile::{Rate, profile};
use holdfast_steward::time::Steady;

use super::*;

// shows: STW-117
#[test]
fn a_known_history_gives_a_known_profile() {
    let nice = setting("runner.service Nice");
    let quota = setting("runner.service CPUQuota");
    let high = setting("runner.service MemoryHigh");
    let mut book = Book::default();
    let history = [
        record(1, Outcome::RolledBack, DAY), // long ago: tried once, and not lately
        record(2, Outcome::Kept, 40 * DAY),
        record(2, Outcome::DelayedNegative, 41 * DAY),
        record(3, Outcome::Improved, 42 * DAY),
        record(4, Outcome::Kept, 43 * DAY),
        record(5, Outcome::RolledBack, 44 * DAY),
        record(6, Outcome::Neutral, 45 * DAY),
        record(7, Outcome::Interrupted, 46 * DAY),
        record(8, Outcome::Inconclusive, 46 * DAY),
        record(9, Outcome::GateRejected, 47 * DAY),
        about(record(10, Outcome::Refused, 47 * DAY), &quota, "50%", "60%"),
        about(record(11, Outcome::RolledBack, 2 * DAY), &nice, "0", "2"),
    ];
    for record in history {
        book.add(record);
    }
    let mut cycles = Cycles::default();
    for number in 1..=7 {
        cycles.finish(&episode(number), Steady(number * DAY));
    }
    let scope = [memory_max(), high, quota, nice];
    let found = profile(&book, &target(), &scope, &cycles, Steady(50 * DAY));
    insta::assert_json_snapshot!(found);
}

#[test]
fn few_trials_give_a_wide_range() {
    let rounded =
        |hits, of| Rate::wilson(hits, of).map(|r| ((r.low * 1000.0).round(), (r.high * 1000.0).round()));
    // The figures of the usual tables.
    let cases = [
        ((0, 10), (0.0, 278.0)),
        ((5, 10), (237.0, 763.0)),
        ((10, 10), (722.0, 1000.0)),
        ((1, 1), (207.0, 1000.0)),
    ];
    for ((hits, of), expected) in cases {
        assert_eq!(rounded(hits, of), Some(expected), "{hits} of {of}");
    }
    assert_eq!(rounded(0, 0), None);
    assert_eq!(rounded(2, 1), None);
}
