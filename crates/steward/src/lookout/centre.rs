//! Mean and spread of a figure, as remembered over about a day: where a sample lies among those before.

use serde::{Deserialize, Serialize};

/// How many samples the guess of a centre weighs.
const CENTRE_GUESS: f64 = 20.0;

/// The variance of a bounded figure is never taken for less: a metric that hardly moves would seem to move much.
const VARIANCE_MIN: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Centre {
    mean: f64,
    square: f64,
    pub(super) samples: f64,
}

impl Centre {
    pub(super) fn guessed(mean: f64) -> Centre {
        Centre { mean, square: 1.0, samples: CENTRE_GUESS }
    }

    /// How many spreads the figure lies from the mean, bounded.
    pub(super) fn standard(&self, figure: f64, bound: f64) -> f64 {
        ((figure - self.mean) / self.square.max(VARIANCE_MIN).sqrt()).clamp(-bound, bound)
    }

    pub(super) fn learn(&mut self, figure: f64, rate_min: f64) {
        self.samples += 1.0;
        let rate = (1.0 / self.samples).max(rate_min);
        let away = figure - self.mean;
        self.mean += rate * away;
        self.square += rate * (away * away - self.square);
    }
}
