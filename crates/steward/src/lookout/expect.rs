//! What should the next sample be? Three pictures of the metric, of which the one that has predicted best is used: one
//! level, a daily round, and a weekly round. What a picture leaves over is followed from sample to sample, because it
//! usually fades rather than vanishes (an autoregression of first order).
//!
//! A round is used only after it has been seen once in full and has then predicted clearly better than the simpler
//! picture. Outliers move nothing by more than a few spreads.

use serde::{Deserialize, Serialize};

use super::pace::{DAY, WEEK};

const DAY_ROWS: usize = 4;
const DAY_BINS: usize = DAY_ROWS * 24;
const WEEK_ROWS: usize = 7;
const WEEK_BINS: usize = WEEK_ROWS * 24;

/// Marks a bin nothing was seen in. Stored as it is, so it must be a finite figure.
const EMPTY: f32 = f32::MAX;

/// A round follows what changed in it within about this many turns.
const TURNS_REMEMBERED: f64 = 6.0;

/// A round must leave over less than this share of what the simpler picture leaves.
const BETTER: f64 = 0.9;

/// What the first samples are like is not known yet: nothing is bounded by them.
const YOUNG: f64 = 8.0;

/// What is further out than this many mean absolute errors counts as this far.
const ERRORS_MAX: f64 = 8.0;

/// After a shift the level rests on so many samples, or as many as there were: fewer would make it follow noise.
const SHIFTED_SAMPLES: f64 = 240.0;

/// A sample so many usual periods after the last keeps less of it.
const GAP_PERIODS: f64 = 1.5;

/// One sample strays from its day's bin by no more than this many mean absolute errors of the level.
const STRAYED_MAX: f64 = 20.0;

/// What is left over fades by at least this much from one sample to the next.
const KEPT_MAX: f64 = 0.995;

/// One picture: how wrong it is on average, and how much of that is left at the next sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    /// The level, or by how much a round lies above what its bins hold.
    level: f64,
    error: f64,
    product: f64,
    square: f64,
    last: f64,
    samples: f64,
    /// How many samples the level rests on.
    level_samples: f64,
}

impl Picture {
    fn left_over(&self, value: f64, bin: f64) -> f64 {
        value - bin - self.level
    }

    /// The share of what is left over that is still there at the next sample.
    fn kept(&self) -> f64 {
        if self.square > 0.0 { (self.product / self.square).clamp(-KEPT_MAX, KEPT_MAX) } else { 0.0 }
    }

    fn learn(&mut self, left_over: f64, rate_min: f64, floor: f64) {
        self.samples += 1.0;
        self.level_samples += 1.0;
        let young = self.samples < YOUNG || self.level_samples < YOUNG;
        let unit = self.error.max(floor);
        let bound = if young { f64::MAX } else { ERRORS_MAX * unit };
        let bounded = left_over.clamp(-bound, bound);
        self.level += (1.0 / self.level_samples).max(rate_min) * bounded;
        self.error += (1.0 / self.samples).max(rate_min) * (bounded.abs() - self.error);
        if !young {
            self.follow(bounded / unit, self.last / unit, rate_min);
        }
        self.last = bounded;
    }

    /// Learns how much of what is left over stays, in units of the usual error. The first samples have no usual error yet.
    fn follow(&mut self, now: f64, last: f64, rate_min: f64) {
        let rate = (1.0 / (self.samples - YOUNG + 1.0)).max(rate_min);
        let last = last.clamp(-ERRORS_MAX, ERRORS_MAX);
        self.product += rate * (now * last - self.product);
        self.square += rate * (now * now - self.square);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    flat: Picture,
    daily: Picture,
    weekly: Picture,
    day: [[f32; 24]; DAY_ROWS],
    week: [[f32; 24]; WEEK_ROWS],
    used: Used,
    /// What the last sample left over in the picture used, outliers bounded.
    carried: f64,
    /// The same, outliers and all.
    left_over: f64,
    /// When the first sample came, in milliseconds.
    first: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Used {
    #[default]
    Flat,
    Daily,
    Weekly,
}

/// What is expected of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// What the picture says.
    pub(super) base: f64,
    /// What the picture says together with what is carried over from the last sample.
    pub(super) value: f64,
    pub(super) kept: f64,
    /// The mean absolute error of the picture alone.
    pub(super) error: f64,
    /// How much wider the miss may be than usual, because the last sample is longer ago.
    pub(super) widened: f64,
}

impl Expect {
    pub(super) fn new() -> Expect {
        Expect {
            flat: Picture::default(),
            daily: Picture::default(),
            weekly: Picture::default(),
            day: [[EMPTY; 24]; DAY_ROWS],
            week: [[EMPTY; 24]; WEEK_ROWS],
            used: Used::Flat,
            carried: 0.0,
            left_over: 0.0,
            first: None,
        }
    }

    /// Whether two whole days were seen: before, a daily round looks like a slow change.
    pub(super) fn knows_days(&self, at: u64) -> bool {
        self.first.is_some_and(|first| at.saturating_sub(first) >= 2 * DAY)
    }

    pub(super) fn used(&self) -> Used {
        self.used
    }

    /// `periods` is how many usual periods ago the last sample was.
    pub(super) fn expected(&self, at: u64, periods: f64) -> Expected {
        let (bin, picture) = match self.used {
            Used::Flat => (0.0, &self.flat),
            Used::Daily => match self.day_bin(at) {
                Some(bin) => (bin, &self.daily),
                None => (0.0, &self.flat),
            },
            Used::Weekly => match self.week_bin(at) {
                Some(bin) => (bin, &self.weekly),
                None => (0.0, &self.flat),
            },
        };
        let base = bin + picture.level;
        let (usual, error) = (picture.kept(), picture.error);
        if periods <= GAP_PERIODS {
            return Expected { base, value: base + usual * self.carried, kept: usual, error, widened: 1.0 };
        }
        let kept = usual.abs().powf(periods);
        let widened = ((1.0 - kept * kept) / (1.0 - usual * usual)).max(1.0).sqrt();
        Expected { base, value: base + kept * self.carried, kept, error, widened }
    }

    /// Of all that can be expected, what comes nearest to this value. After an outlier two things can: that it was alone, and
    /// that the metric goes on from there.
    pub(super) fn nearest(&self, expected: &Expected, value: f64) -> f64 {
        let goes_on = expected.base + expected.kept * self.left_over;
        value.clamp(expected.value.min(goes_on), expected.value.max(goes_on))
    }

    /// Takes a sample. `surprise` is by how much it missed what was expected, outliers bounded.
    pub(super) fn learn(&mut self, at: u64, value: f64, expected: &Expected, surprise: f64, step: &Step) {
        let first = *self.first.get_or_insert(at);
        let age = at.saturating_sub(first);
        self.carried = self.nearest(expected, value) + surprise - expected.base;
        self.left_over = value - expected.base;
        self.flat.learn(self.flat.left_over(value, 0.0), step.rate, step.floor);
        if let Some(bin) = self.day_bin(at).filter(|_| age >= DAY) {
            self.daily.learn(self.daily.left_over(value, bin), step.rate, step.floor);
        }
        if let Some(bin) = self.week_bin(at).filter(|_| age >= WEEK) {
            self.weekly.learn(self.weekly.left_over(value, bin), step.rate, step.floor);
        }
        let bound = 0.5 * ERRORS_MAX * self.flat.error.max(step.floor);
        let rate = step.bin_rate(at, age, DAY, DAY_BINS as u64);
        learn_bin(self.day.as_flattened_mut(), day_index(at), value - self.daily.level, bound, rate);
        let rate = step.bin_rate(at, age, WEEK, WEEK_BINS as u64);
        learn_bin(self.week.as_flattened_mut(), week_index(at), value - self.weekly.level, bound, rate);
    }

    /// Chooses the picture anew. Rarely enough that it does not flicker.
    pub(super) fn choose(&mut self, day_samples: f64) {
        let seen = |picture: &Picture| picture.samples >= 0.9 * day_samples;
        let mut used = Used::Flat;
        let mut error = self.flat.error;
        if seen(&self.daily) && self.daily.error < BETTER * error {
            (used, error) = (Used::Daily, self.daily.error);
        }
        if seen(&self.weekly) && self.weekly.error < BETTER * error {
            used = Used::Weekly;
        }
        if used != self.used {
            self.used = used;
            self.left_over = match used {
                Used::Flat => self.flat.last,
                Used::Daily => self.daily.last,
                Used::Weekly => self.weekly.last,
            };
            self.carried = self.left_over;
        }
    }

    /// The level has moved for good, as so many samples say. The picture used moves at once; the others, which may have
    /// expected it, follow what they see.
    pub(super) fn shift(&mut self, by: f64, samples: f64) {
        self.carried -= by;
        self.left_over -= by;
        let used = self.used;
        for (which, picture) in self.pictures() {
            if which == used {
                picture.level += by;
                picture.last -= by;
            }
            picture.level_samples = picture.level_samples.min(SHIFTED_SAMPLES.max(samples));
        }
    }

    fn pictures(&mut self) -> [(Used, &mut Picture); 3] {
        [(Used::Flat, &mut self.flat), (Used::Daily, &mut self.daily), (Used::Weekly, &mut self.weekly)]
    }

    /// The level is wrong and not known yet: it is learned from the next samples on; rounds and spreads are kept.
    pub(super) fn forget_level(&mut self) {
        (self.carried, self.left_over) = (0.0, 0.0);
        for (_, picture) in self.pictures() {
            picture.level_samples = 0.0;
            picture.last = 0.0;
        }
    }

    /// The rounds are wrong: they are learned anew, and used again when they have shown to predict.
    pub(super) fn forget_rounds(&mut self, at: u64) {
        self.first = Some(at);
        self.used = Used::Flat;
        self.carried = self.flat.last;
        self.left_over = self.carried;
        (self.daily.samples, self.weekly.samples) = (0.0, 0.0);
    }

    /// By how much a value strays from what its bin of the day holds.
    pub(super) fn strays(&self, at: u64, value: f64) -> Option<f64> {
        let bound = STRAYED_MAX * self.flat.error;
        self.day_bin(at).map(|bin| (value - bin).clamp(-bound, bound))
    }

    fn day_bin(&self, at: u64) -> Option<f64> {
        bin(self.day.as_flattened(), day_index(at))
    }

    fn week_bin(&self, at: u64) -> Option<f64> {
        bin(self.week.as_flattened(), week_index(at))
    }
}

/// How fast to learn from this sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The share a sample has in a level that remembers about a day.
    pub(super) rate: f64,
    pub(super) floor: f64,
    /// The time between two samples, in milliseconds.
    pub(super) period: f64,
}

impl Step {
    /// The share of a sample in its bin: a plain mean at first, later what came in the last few turns.
    fn bin_rate(&self, at: u64, age: u64, turn: u64, bins: u64) -> f64 {
        let width = turn / bins;
        let samples_a_bin = (width as f64 / self.period).max(1.0);
        let before = samples_a_bin * ((age / turn) as f64).min(TURNS_REMEMBERED);
        let within = (at % width).min(age) as f64 / self.period;
        1.0 / (before + within.floor() + 1.0)
    }
}

fn day_index(at: u64) -> usize {
    (at % DAY * DAY_BINS as u64 / DAY) as usize
}

fn week_index(at: u64) -> usize {
    (at % WEEK * WEEK_BINS as u64 / WEEK) as usize
}

/// What a bin holds, or the one before it when it is empty: samples rarer than bins leave some empty.
fn bin(bins: &[f32], index: usize) -> Option<f64> {
    let before = if index == 0 { bins.len().saturating_sub(1) } else { index - 1 };
    [index, before]
        .iter()
        .filter_map(|index| bins.get(*index).copied())
        .find(|held| *held != EMPTY)
        .map(f64::from)
}

fn learn_bin(bins: &mut [f32], index: usize, value: f64, bound: f64, rate: f64) {
    if let Some(held) = bins.get_mut(index) {
        *held = if *held == EMPTY {
            value as f32
        } else {
            let known = f64::from(*held);
            (known + rate * (value - known).clamp(-bound, bound)) as f32
        };
    }
}
