//! A clock that stands still until the test moves it.
//!
//! Clones share the same time, so a test keeps one and hands another to the part under test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_types::{Clock, Timestamp};

#[derive(Clone, Debug)]
pub struct TestClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    wall: Timestamp,
    monotonic: Duration,
}

impl TestClock {
    /// A clock showing the given wall time, for example `2026-11-15T08:00:00.000000Z`.
    #[track_caller]
    pub fn at(text: &str) -> TestClock {
        let wall = text.parse().unwrap_or_else(|e| panic!("TestClock::at: {e}"));
        TestClock(Arc::new(Mutex::new(Hands { wall, monotonic: Duration::ZERO })))
    }

    /// Time passes: both hands move.
    pub fn advance(&self, span: Duration) {
        let mut hands = self.hands();
        hands.wall = hands.wall.plus(span);
        hands.monotonic += span;
    }

    /// Somebody sets the wall clock, forwards or back; no time passes.
    pub fn set_wall(&self, wall: Timestamp) {
        self.hands().wall = wall;
    }

    pub fn now(&self) -> Timestamp {
        self.hands().wall
    }

    pub fn monotonic(&self) -> Duration {
        self.hands().monotonic
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        TestClock::now(self)
    }

    fn monotonic(&self) -> Duration {
        TestClock::monotonic(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORNING: &str = "2026-11-15T08:00:00.000000Z";

    #[test]
    fn it_stands_still_until_moved() {
        let clock = TestClock::at(MORNING);
        assert_eq!(clock.now().to_string(), MORNING);
        assert_eq!(clock.now(), clock.now());
        assert_eq!(clock.monotonic(), Duration::ZERO);
    }

    #[test]
    fn advancing_moves_both_hands_of_every_clone() {
        let clock = TestClock::at(MORNING);
        let handed_in: Arc<dyn Clock> = Arc::new(clock.clone());
        clock.advance(Duration::from_micros(1_500_000));
        assert_eq!(handed_in.now().to_string(), "2026-11-15T08:00:01.500000Z");
        assert_eq!(handed_in.monotonic(), Duration::from_micros(1_500_000));
    }

    #[test]
    fn the_wall_clock_jumps_either_way_and_no_time_passes() {
        let clock = TestClock::at(MORNING);
        clock.advance(Duration::from_secs(60));
        for jump in ["2020-01-01T00:00:00.000000Z", "2031-01-01T00:00:00.000000Z"] {
            clock.set_wall(jump.parse().unwrap());
            assert_eq!(clock.now().to_string(), jump);
            assert_eq!(clock.monotonic(), Duration::from_secs(60));
        }
    }

    #[test]
    #[should_panic(expected = "expected the form")]
    fn a_mistyped_time_fails_the_test() {
        TestClock::at("yesterday");
    }
}
