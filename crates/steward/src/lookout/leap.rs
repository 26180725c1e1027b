//! A step that stays: the level leaps at one sample, and the next two are still there.
//!
//! In noise that resembles the sample before, sums of misses hardly see a step: only its first sample misses by all of it,
//! and what follows resembles that one. So the last three samples are weighed together against what the one before them
//! lets expect, as the likelihood ratio of a step weighs them. The least of the three has a say: a spike of one or two
//! samples is no leap, however high. How rarely chance leaps as far is counted from the metric's own past.

use serde::{Deserialize, Serialize};

use super::sums::{Run, Summed};
use super::tail::{Fall, Scheme, Tail};
use crate::detect::Direction;
use crate::time::Steady;

/// The logarithm of how many spreads a leap is wide. Guessed to fall like that of single samples, and at first to be rarer
/// by a third.
const LEAP: Scheme = Scheme { low: 0.0, width: 0.08, guessed_share: 0.1, guessed_fall: 3.0 };

/// A leap is at most this many times as wide as the least of its samples is away. From two to four it is alike; at one, only half
/// as many steps of three spreads are found within six samples in noise that keeps 0.7.
const LEAST_TIMES: f64 = 3.0;

/// From a sample further out of place than this many spreads nothing leaps: it comes back. One in eighty normal samples is.
const FROM_MAX: f64 = 2.5;

/// The samples before this one, as what they left over in the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leap {
    tail: Tail,
    /// The latest last; and when the later two came.
    left: [f64; 3],
    at: [Steady; 2],
    /// How many there are without a gap.
    known: u32,
}

/// A sample as it landed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    pub(super) at: Steady,
    pub(super) left_over: f64,
    /// The share that is kept from sample to sample.
    pub(super) kept: f64,
    /// The spread of misses, and of what samples leave over.
    pub(super) unit: f64,
    pub(super) place: f64,
}

impl Leap {
    pub(super) fn new() -> Leap {
        Leap { tail: Tail::new(&LEAP), left: [0.0; 3], at: [Steady(0); 2], known: 0 }
    }

    /// What came before is no longer to be compared with.
    pub(super) fn forget(&mut self) {
        self.known = 0;
    }

    pub(super) fn fit(&mut self) {
        self.tail.fit(&LEAP, Fall::Guessed);
    }

    /// Takes a sample. If a leap ends with it: its way, how surprising it is, and the three samples as a run.
    pub(super) fn step(&mut self, landed: &Landed) -> Option<(Direction, f64, Run)> {
        let wide = (self.known >= 3).then(|| self.wide(landed));
        let [_, first, second] = self.left;
        let began = self.at[0];
        self.left = [first, second, landed.left_over];
        self.at = [self.at[1], landed.at];
        self.known = (self.known + 1).min(3);
        let wide = wide?;
        self.tail.sample();
        if wide.abs() < 1.0 {
            return None;
        }
        let height = wide.abs().ln();
        let surprise = -self.tail.log_rate_of_size(&LEAP, height);
        self.tail.count(&LEAP, height);
        let direction = if wide > 0.0 { Direction::Up } else { Direction::Down };
        let figures = [first, second, landed.left_over];
        let samples = figures.map(|figure| Summed { at: landed.at, figure, signed: figure });
        Some((direction, surprise, Run::of(began, &samples)))
    }

    /// How far the last three samples together lie to one side of what the one before them lets expect, in spreads. A step
    /// is whole in its first miss; of the later ones it is what is not kept. All three must lie to that side of what was
    /// expected of them, and of their place.
    fn wide(&self, landed: &Landed) -> f64 {
        let Landed { kept, unit, place, left_over: third, .. } = *landed;
        let [before, first, second] = self.left;
        if before.abs() > FROM_MAX * place {
            return 0.0;
        }
        let new = 1.0 - kept;
        let misses = (first - kept * before) + new * (second - kept * first + third - kept * second);
        let together = misses / (1.0 + 2.0 * new * new).sqrt();
        let (sign, mut expected, mut least) = (together.signum(), before, f64::INFINITY);
        for figure in [first, second, third] {
            expected *= kept;
            least = least.min(sign * figure).min(sign * (figure - expected));
        }
        sign * (together.abs().min(LEAST_TIMES * least) / unit).max(0.0)
    }
}
