//! When a part that ended is started again. Pure: what happened and the time go in, a delay comes out.

use std::time::Duration;

/// The first wait: long enough that a part which fails at once does not spin, short enough that one bad moment
/// goes unnoticed.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait: a part whose cause is gone is back within a minute.
const LONGEST: Duration = Duration::from_secs(60);

/// A part that lived this long was well; its earlier failures no longer count.
pub const STEADY_AFTER: Duration = Duration::from_secs(60);

/// How often a part has ended, and how often in a row soon after its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restarts {
    pub total: u64,
    pub in_a_row: u32,
}

impl Restarts {
    /// Takes note of a life that lasted `lived`, and says how long to wait before the next.
    pub fn note_end(&mut self, lived: Duration) -> Duration {
        self.total += 1;
        self.in_a_row = if lived >= STEADY_AFTER { 1 } else { self.in_a_row.saturating_add(1) };
        delay_after(self.in_a_row)
    }
}

/// The wait after so many short lives in a row: doubling, up to a minute.
pub fn delay_after(in_a_row: u32) -> Duration {
    let doublings = in_a_row.saturating_sub(1).min(16);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_short_life_doubles_the_wait_up_to_a_minute() {
        let mut restarts = Restarts::default();
        let waits: Vec<f64> = (0..10).map(|_| restarts.note_end(Duration::ZERO).as_secs_f64()).collect();
        assert_eq!(waits, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        assert_eq!(restarts.total, 10);
    }

    #[test]
    fn a_steady_life_clears_what_was_before() {
        let mut restarts = Restarts { total: 9, in_a_row: 9 };
        assert_eq!(restarts.note_end(STEADY_AFTER), FIRST);
        assert_eq!(restarts, Restarts { total: 10, in_a_row: 1 });
    }

    #[test]
    fn no_count_overflows() {
        let mut restarts = Restarts { total: 1, in_a_row: u32::MAX };
        assert_eq!(restarts.note_end(Duration::ZERO), LONGEST);
    }
}
