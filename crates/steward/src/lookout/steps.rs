//! How the steps of a sum are distributed, and how fast the tail of the sum's heights falls because of it.
//!
//! A sum of independent steps that fall on average comes as high as `h` at a rate of about `C·exp(−θh)`, where `θ` is the
//! positive solution of `E[exp(θ·step)] = 1` (Lundberg, 1903). It depends on the bulk of the steps, which is soon known,
//! not on rare heights, which are not.

use serde::{Deserialize, Serialize};

/// Steps lie within this of zero, in spreads.
const REACH: f64 = 3.0;
const BINS: usize = 32;
const WIDTH: f64 = 2.0 * REACH / BINS as f64;

/// Counts are halved at this many samples.
const SAMPLES_MAX: f64 = 200_000.0;

/// The solution is looked for between these.
const FALL_MIN: f64 = 0.05;
const FALL_MAX: f64 = 10.0;

/// How many steps the guess weighs: a normal distribution.
const GUESS_STEPS: f64 = 100.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Steps {
    counts: [f32; BINS],
    samples: f64,
}

impl Steps {
    pub(super) fn new() -> Steps {
        let mut steps = Steps { counts: [0.0; BINS], samples: GUESS_STEPS };
        let density = |middle: f64| (-0.5 * middle * middle).exp();
        let total: f64 = (0..BINS).map(|bin| density(middle(bin))).sum();
        for (bin, count) in steps.counts.iter_mut().enumerate() {
            *count = (GUESS_STEPS * density(middle(bin)) / total) as f32;
        }
        steps
    }

    pub(super) fn count(&mut self, step: f64) {
        let bin = ((step + REACH) / WIDTH).clamp(0.0, (BINS - 1) as f64) as usize;
        if let Some(count) = self.counts.get_mut(bin) {
            *count += 1.0;
        }
        self.samples += 1.0;
        if self.samples >= SAMPLES_MAX {
            self.samples /= 2.0;
            self.counts.iter_mut().for_each(|count| *count /= 2.0);
        }
    }

    /// How fast the tail of heights falls of a sum of `sign` times these steps less the allowance.
    pub(super) fn fall(&self, sign: f64, allowance: f64) -> f64 {
        let total: f64 = self.counts.iter().copied().map(f64::from).sum();
        let mean = self.moment(|middle| middle) / total;
        let excess =
            |fall: f64| self.moment(|middle| (fall * (sign * (middle - mean) - allowance)).exp()) - total;
        let (mut low, mut high) = (FALL_MIN, FALL_MAX);
        // Below the solution the moment is less than one, above it more.
        for _ in 0..20 {
            let middle = 0.5 * (low + high);
            if excess(middle) < 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    fn moment(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.counts.iter().enumerate().map(|(bin, count)| f64::from(*count) * of(middle(bin))).sum()
    }
}

/// What a bin stands for: its middle, and the outermost bins their outer edge, where all bounded steps lie.
fn middle(bin: usize) -> f64 {
    match bin {
        0 => -REACH,
        bin if bin + 1 >= BINS => REACH,
        bin => (bin as f64 + 0.5) * WIDTH - REACH,
    }
}
