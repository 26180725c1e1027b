//! Where regimes begin, with the whole series in view.
//!
//! A regime is a stretch that one description fits: a level or a straight line, with noise of one width and one memory
//! around it, and perhaps a cycle. [`regimes`] finds the fewest such stretches that explain a series, so that noise,
//! a lone spike, a steady trend, a returning cycle and a wandering walk are each *one* regime.
//!
//! The way through: values are put on a scale of their own and spikes are clipped ([`prepare`]); a proven cycle is taken out
//! ([`cycle`]); places where something might begin are gathered ([`screen`]); the best partition among them is computed
//! exactly, for noise of every memory from none to a random walk, and the description of least length wins
//! ([`select`], [`partition`], [`cost`]); changes that are not plain to see are taken back and the rest are moved to the
//! exact sample ([`prune`]); what is left over is asked for changes of spread ([`spread`]).
//!
//! What holds: every figure is finite whatever comes in; work and memory grow about linearly with the length; moving or
//! stretching the values moves no boundary.

mod cost;
mod curve;
mod cycle;
mod levels;
mod partition;
mod prepare;
mod prune;
mod screen;
mod select;
mod spread;
mod transform;

use serde::{Deserialize, Serialize};

pub use levels::partition_into_levels;

use prepare::Prepared;

/// How short a regime may be, and how sure to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The fewest samples that make a regime. `None` follows the length of the series: 3 for a handful, 10 for
    /// hundreds and more.
    pub min_length: Option<usize>,
    /// In what share of series in which nothing changes a change may be reported all the same.
    pub false_alarms: f64,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted { min_length: None, false_alarms: 0.05 }
    }
}

impl Wanted {
    fn min_length_for(&self, length: usize) -> usize {
        // Half the square root: the eye asks for more of a long plot than of a short one, up to a point.
        self.min_length.unwrap_or(((length as f64).sqrt() / 2.0).round() as usize).clamp(
            MIN_LENGTH_LEAST,
            if self.min_length.is_some() { MIN_LENGTH_MOST } else { MIN_LENGTH_USUAL_MOST },
        )
    }

    fn false_alarms(&self) -> f64 {
        if self.false_alarms.is_finite() { self.false_alarms.clamp(1e-9, 0.5) } else { 0.05 }
    }
}

/// With fewer samples a level and its noise cannot be told apart.
const MIN_LENGTH_LEAST: usize = 3;
const MIN_LENGTH_USUAL_MOST: usize = 10;
/// Keeps windows that follow from it small.
const MIN_LENGTH_MOST: usize = 100_000;

/// What became different where a regime begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Nothing: the series begins here.
    First,
    Level,
    Slope,
    Spread,
    /// The cycle grew or faded.
    Cycle,
}

/// A stretch that one description fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Its first sample.
    pub begins: usize,
    /// One past its last sample.
    pub ends: usize,
    /// Its mean, spikes clipped and the cycle taken out, in the unit of the values.
    pub level: f64,
    /// How widely samples lie about its level or line, as a standard deviation.
    pub spread: f64,
    /// Change per sample; zero where a level fits as well as a line.
    pub slope: f64,
    /// Samples in one round of the cycle, where one is proven.
    pub cycle: Option<usize>,
    pub change: What,
    /// How sure the change is: 0 not at all, 1 beyond doubt. The first regime is certain.
    pub sure: f64,
}

/// The regimes of a series of evenly spaced samples, in order; a missing sample is `None`, and so is one that is no
/// number. The first begins at 0, each ends where the next begins. No samples, no regimes.
pub fn regimes(values: &[Option<f64>], wanted: &Wanted) -> Vec<Regime> {
    if values.is_empty() {
        return Vec::new();
    }
    let min_length = wanted.min_length_for(values.len());
    let (plain, cycled) = Prepared::of(values, min_length);
    let search = Search {
        min_length,
        false_alarms: wanted.false_alarms(),
        // Chance passes a gain of g at one place with about exp(-g/2); places add up (Bonferroni).
        price: 2.0 * (plain.len().max(2) as f64 / wanted.false_alarms()).ln(),
    };
    let (prepared, description) = select::with_or_without_cycle(plain, cycled, &search);
    let description = prune::weak_taken_back(&prepared, &search, description);
    let changes = spread::with_changes_of_spread(&prepared, &search, &description);
    prepared.told(values.len(), &description, &changes)
}

/// What is asked of a change, for all steps alike.
#[derive(Clone, Copy, Debug)]
struct Search {
    min_length: usize,
    false_alarms: f64,
    /// What a change has to gain in deviance (twice the log-likelihood) to be worth reporting.
    price: f64,
}

/// A boundary found: the sample (of those present) that begins a regime, and how it came about.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    at: usize,
    what: What,
    sure: f64,
}

#[cfg(test)]
mod tests;
