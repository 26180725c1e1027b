//! Runs of deviations to one side, summed: each sample adds what lies beyond the allowance, the sum never falls below
//! zero, and a run lasts while it is above. How high runs usually come is counted in a [`Tail`], so that the height of a
//! run can be told as a rate.

use serde::{Deserialize, Serialize};

use super::tail::{Scheme, Tail};
use crate::time::Steady;

/// What a run of samples comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) sum: f64,
    peak: f64,
    pub(super) began: Steady,
    pub(super) samples: u32,
    /// Samples that were themselves beyond the allowance.
    pub(super) beyond: u32,
    /// The sums of what the samples left over in the picture, plainly and by their place in the run.
    left_over: f64,
    moment: f64,
    /// The sum of what lay to either side, with its sign.
    signed: f64,
}

impl Run {
    pub(super) const NONE: Run = Run {
        sum: 0.0,
        peak: 0.0,
        began: Steady(0),
        samples: 0,
        beyond: 0,
        left_over: 0.0,
        moment: 0.0,
        signed: 0.0,
    };

    /// The run of these samples, all of them beyond, whatever they sum up to.
    pub(super) fn of(began: Steady, samples: &[Summed]) -> Run {
        let mut run = Run { began, ..Run::NONE };
        samples.iter().for_each(|sample| run.take(sample));
        Run { beyond: run.samples, ..run }
    }

    fn take(&mut self, sample: &Summed) {
        self.moment += f64::from(self.samples) * sample.figure;
        self.left_over += sample.figure;
        self.signed += sample.signed;
        self.samples = self.samples.saturating_add(1);
    }

    /// From 0, when samples lay on both sides alike, to 1, when all lay on one. For runs that sum sizes.
    pub(super) fn one_sided(&self) -> f64 {
        if self.left_over > 0.0 { (self.signed / self.left_over).abs() } else { 0.0 }
    }

    /// What was summed over the run, on average.
    pub(super) fn mean(&self) -> f64 {
        self.left_over / f64::from(self.samples.max(1))
    }

    /// By how much the line fitted through the run rises from its first to its last sample.
    pub(super) fn rise(&self) -> f64 {
        let count = f64::from(self.samples);
        if count < 3.0 {
            return 0.0;
        }
        let middle = (count - 1.0) / 2.0;
        let slope = 12.0 * (self.moment - middle * self.left_over) / (count * (count * count - 1.0));
        slope * (count - 1.0)
    }
}

/// A run begins anew at a sample that adds so much that the sum before is less than this share of it.
const BEGINS_ANEW: f64 = 0.5;

/// What a sample brings to the averages of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summed {
    pub(super) at: Steady,
    pub(super) figure: f64,
    pub(super) signed: f64,
}

/// One side of one statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    pub(super) run: Run,
    pub(super) tail: Tail,
}

impl Side {
    pub(super) fn new(scheme: &Scheme) -> Side {
        Side { run: Run::NONE, tail: Tail::new(scheme) }
    }

    /// Takes what a sample adds to the sum, and with it a figure to be averaged over the run.
    pub(super) fn step(&mut self, scheme: &Scheme, adds: f64, sample: &Summed) {
        self.tail.sample();
        let sum = self.run.sum + adds;
        if sum <= 0.0 {
            self.end(scheme);
            return;
        }
        let run = &mut self.run;
        if run.sum < BEGINS_ANEW * adds {
            // What came before says less than this sample alone: the run really begins here.
            *run = Run { began: sample.at, peak: run.peak, ..Run::NONE };
        }
        run.sum = sum;
        run.peak = run.peak.max(sum);
        run.take(sample);
        run.beyond = run.beyond.saturating_add(u32::from(adds > 0.0));
    }

    /// Ends the run and counts how high it came.
    pub(super) fn end(&mut self, scheme: &Scheme) {
        if self.run.samples > 0 {
            self.tail.count(scheme, self.run.peak);
            self.run = Run::NONE;
        }
    }

    /// Drops the run uncounted: something real made it.
    pub(super) fn drop_run(&mut self) {
        self.run = Run::NONE;
    }

    /// The logarithm of how rarely a run comes as high as this one is now; zero without a run.
    pub(super) fn surprise(&self, scheme: &Scheme) -> f64 {
        if self.run.samples == 0 { 0.0 } else { -self.tail.log_rate(scheme, self.run.sum) }
    }
}
