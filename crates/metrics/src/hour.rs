//! An hour of one metric in five numbers, and what several hours come to. Pure.

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) const HOUR_MICROS: i64 = 3_600_000_000;

/// The hour a moment belongs to, counted from 1970. Before 1970 it counts downwards.
pub(crate) fn hour_of(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(HOUR_MICROS)
}

/// What an hour came to. With the count, means of hours make the mean of days.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// When it began.
    pub from: Timestamp,
    pub count: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
}

/// A mean that grows by single values and by whole hours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    count: u64,
    mean: f64,
}

impl Mean {
    /// So many more values with this mean. Weighted step by step: a sum of a month of bytes would lose its last digits.
    pub(crate) fn add(&mut self, count: u64, mean: f64) {
        if count > 0 {
            self.count += count;
            self.mean += (mean - self.mean) * (count as f64 / self.count as f64);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Nothing where there was nothing.
    pub(crate) fn get(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_values_have_no_mean() {
        let mut mean = Mean::default();
        mean.add(0, 7.0);
        assert_eq!((mean.get(), mean.count()), (None, 0));
        mean.add(1, 7.0);
        assert_eq!(mean.get(), Some(7.0));
    }

    #[test]
    fn hours_begin_on_the_hour_also_before_1970() {
        let of = |micros| hour_of(Timestamp::from_micros(micros).unwrap());
        assert_eq!([0, HOUR_MICROS - 1, HOUR_MICROS, -1].map(of), [0, 0, 1, -1]);
    }

    proptest! {
        #[test]
        fn the_mean_of_hours_is_the_mean_of_all(hours in proptest::collection::vec(proptest::collection::vec(0.0..1e12, 1..40), 1..30)) {
            let mut by_hours = Mean::default();
            for hour in &hours {
                by_hours.add(hour.len() as u64, hour.iter().sum::<f64>() / hour.len() as f64);
            }
            let all: Vec<f64> = hours.concat();
            let plain = all.iter().sum::<f64>() / all.len() as f64;
            prop_assert_eq!(by_hours.count(), all.len() as u64);
            prop_assert!((by_hours.get().unwrap() - plain).abs() <= plain.abs() * 1e-9 + 1e-9);
        }
    }
}
