//! The window from outside: how much of it must have been seen.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_lifeline::Sound;
use holdfast_steward::verify::{Cycle, Shortfall, Verdict, Window};

/// A window of ten minutes in which so many cycles pass and nothing is known of the others.
fn ended(passes: usize) -> Verdict {
    let mut window = Window::new(Duration::from_secs(600));
    let unseen = std::iter::repeat_n(Cycle::Inconclusive, 20 - passes);
    let cycles = unseen.chain(std::iter::repeat_n(Cycle::Pass, passes));
    cycles.map(|cycle| window.take(cycle, Sound::YES)).find(|verdict| *verdict != Verdict::GoOn).unwrap()
}

// shows: STW-172
#[test]
fn a_window_with_fewer_than_15_cycles_of_20_fails() {
    for passes in 0..15 {
        assert_eq!(ended(passes), Verdict::Failed(Shortfall::FewSamples), "{passes}");
    }
    for passes in 15..=20 {
        assert_eq!(ended(passes), Verdict::Passed, "{passes}");
    }
}
