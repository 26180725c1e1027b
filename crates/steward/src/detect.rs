//! Has the mean of a metric shifted for good? A two-sided CUSUM over standardised samples.
//!
//! Each side sums how far samples lie beyond the allowance `k` in its direction, never below zero, and fires above the
//! threshold `h`, both in spreads of the [`Calibration`]. So one sample further out than `h + k` fires at once, and a
//! single one within, after quiet, never does: many small deviations in a row are a shift, one is a spike.
//!
//! Samples without a figure, and samples not later than the last, change nothing; the sums wait over a gap. After
//! firing both sums begin anew and the detector holds off for a while. The state is small and serialisable: stored
//! after each step and read back, it goes on as if it had never stopped.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::calibrate::Calibration;
use crate::sample::Sample;
use crate::time::Steady;

/// How long a detector is silent after it fired: the cool-down of the triggers it feeds.
pub const HOLD_OFF: Duration = Duration::from_secs(30 * 60);

/// Further out is as good as this far. It keeps the sums finite whatever a target reports.
const DEVIATION_MAX: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

/// A lasting shift of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    pub direction: Direction,
    pub at: Steady,
    /// The first sample of the run that led here: about when the mean shifted.
    pub began: Steady,
    /// How far the sum is, in spreads. Above the threshold.
    pub score: f64,
    /// The mean since it began, in the metric's own unit.
    pub mean_now: f64,
}

/// One side: nothing summed, or a run of samples with what it comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Side {
    #[default]
    Zero,
    Run {
        score: f64,
        began: Steady,
        samples: u32,
    },
}

impl Side {
    #[inline]
    fn score(self) -> f64 {
        match self {
            Side::Zero => 0.0,
            Side::Run { score, .. } => score,
        }
    }

    #[inline]
    fn next(self, excess: f64, at: Steady) -> Side {
        let score = self.score() + excess;
        match self {
            _ if score <= 0.0 => Side::Zero,
            Side::Zero => Side::Run { score, began: at, samples: 1 },
            Side::Run { began, samples, .. } => {
                Side::Run { score, began, samples: samples.saturating_add(1) }
            }
        }
    }

    fn fired(self, direction: Direction, at: Steady, calibration: &Calibration) -> Option<Shift> {
        match self {
            Side::Run { score, began, samples } if score > calibration.h() => {
                // The score is the sum of what lay beyond the allowance, so the run's mean follows from it.
                let deviation = (score / f64::from(samples) + calibration.k()) * calibration.sigma();
                let mean_now = match direction {
                    Direction::Up => calibration.mean() + deviation,
                    Direction::Down => calibration.mean() - deviation,
                };
                Some(Shift { direction, at, began, score, mean_now })
            }
            Side::Run { .. } | Side::Zero => None,
        }
    }
}

/// Whether the detector listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Attention {
    #[default]
    Listening,
    /// It fired; samples before this time are passed over.
    HoldingOff { until: Steady },
    /// The target was changed: the mean of this calibration, and of any before it, is wrong now.
    AwaitingCalibration { after: u32 },
}

/// The state of one metric's detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detector {
    up: Side,
    down: Side,
    last: Option<Steady>,
    attention: Attention,
    /// Version of the calibration the sums were made with; sums of another mean nothing.
    calibration: u32,
}

impl Detector {
    pub fn new() -> Detector {
        Detector::default()
    }

    /// Takes the next sample, and says so when the mean has shifted.
    #[inline]
    pub fn step(&mut self, calibration: &Calibration, sample: Sample) -> Option<Shift> {
        if self.last.is_some_and(|last| sample.at <= last) {
            return None;
        }
        let value = sample.value()?;
        self.last = Some(sample.at);
        if self.calibration != calibration.version() {
            self.begin_anew(calibration.version());
        }
        if !self.listens(calibration, sample.at) {
            return None;
        }
        let deviation =
            ((value - calibration.mean()) / calibration.sigma()).clamp(-DEVIATION_MAX, DEVIATION_MAX);
        self.up = self.up.next(deviation - calibration.k(), sample.at);
        self.down = self.down.next(-deviation - calibration.k(), sample.at);
        if self.up.score() <= calibration.h() && self.down.score() <= calibration.h() {
            return None;
        }
        self.fire(calibration, sample.at)
    }

    /// After a commit: the old mean no longer holds. Silent until a calibration comes that is newer than this one.
    pub fn rebase(&mut self, outdated: &Calibration) {
        self.begin_anew(outdated.version());
        self.attention = Attention::AwaitingCalibration { after: outdated.version() };
    }

    /// Whether it is silent until a new calibration comes.
    pub fn awaits_calibration(&self) -> bool {
        matches!(self.attention, Attention::AwaitingCalibration { .. })
    }

    /// The sums of both sides, to be shown: upwards, downwards.
    pub fn scores(&self) -> (f64, f64) {
        (self.up.score(), self.down.score())
    }

    fn begin_anew(&mut self, version: u32) {
        (self.up, self.down) = (Side::Zero, Side::Zero);
        self.calibration = version;
    }

    fn listens(&mut self, calibration: &Calibration, at: Steady) -> bool {
        let listens = match self.attention {
            Attention::Listening => return true,
            Attention::HoldingOff { until } => at >= until,
            Attention::AwaitingCalibration { after } => calibration.version() > after,
        };
        if listens {
            self.attention = Attention::Listening;
        }
        listens
    }

    fn fire(&mut self, calibration: &Calibration, at: Steady) -> Option<Shift> {
        let shift = self
            .up
            .fired(Direction::Up, at, calibration)
            .or_else(|| self.down.fired(Direction::Down, at, calibration));
        self.begin_anew(calibration.version());
        self.attention = Attention::HoldingOff { until: at.plus(HOLD_OFF) };
        shift
    }
}

#[cfg(test)]
mod tests;
