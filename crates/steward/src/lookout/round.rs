//! Is the daily round still the same? Each whole day is compared with what the bins of the day held: by how much did
//! samples stray from them, the level of the day aside? A day that strays far more than any usual one has another round.

use serde::{Deserialize, Serialize};

use crate::time::Steady;

/// Fewer days do not show how much days usually stray.
const DAYS_MIN: u32 = 5;

/// How many days the usual straying remembers.
const DAYS_REMEMBERED: f64 = 14.0;

/// A day has another round when it strays by this many times the usual, and by this many mean deviations more. Days are
/// too few to count a tail, so this is far out for any distribution: of 30 days none should be.
const TIMES_USUAL: f64 = 1.5;
const DEVIATIONS: f64 = 8.0;

/// The share of a day's samples that must be there.
const PRESENT_MIN: f64 = 0.5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rounds {
    day: u64,
    began: Steady,
    samples: f64,
    sum: f64,
    squares: f64,
    days: u32,
    usual: f64,
    deviation: f64,
}

/// A day with another round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Strayed {
    pub(super) began: Steady,
    pub(super) usual: f64,
    pub(super) strayed: f64,
}

impl Rounds {
    /// Takes by how much a sample strayed from its bin; at the first sample of a new day says whether the last had
    /// another round.
    pub(super) fn step(&mut self, day: u64, at: Steady, strayed: f64, day_samples: f64) -> Option<Strayed> {
        let found = if day == self.day { None } else { self.end_day(day_samples) };
        if day != self.day || self.samples == 0.0 {
            (self.day, self.began) = (day, at);
            (self.samples, self.sum, self.squares) = (0.0, 0.0, 0.0);
        }
        self.samples += 1.0;
        self.sum += strayed;
        self.squares += strayed * strayed;
        found
    }

    /// Begins anew: the bins are being learned again.
    pub(super) fn forget(&mut self) {
        *self = Rounds::default();
    }

    fn end_day(&mut self, day_samples: f64) -> Option<Strayed> {
        if self.samples < PRESENT_MIN * day_samples || self.samples < 8.0 {
            return None;
        }
        let mean = self.sum / self.samples;
        let strayed = (self.squares / self.samples - mean * mean).max(0.0).sqrt();
        let more = strayed - self.usual;
        let far = self.days >= DAYS_MIN
            && strayed > TIMES_USUAL * self.usual
            && more > DEVIATIONS * self.deviation
            && self.usual > 0.0;
        if far {
            return Some(Strayed { began: self.began, usual: self.usual, strayed });
        }
        self.days = self.days.saturating_add(1);
        let rate = (1.0 / f64::from(self.days)).max(1.0 / DAYS_REMEMBERED);
        self.usual += rate * more;
        if self.days > 1 {
            self.deviation += rate * (more.abs() - self.deviation);
        }
        None
    }
}
