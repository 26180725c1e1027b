//! How often does a figure come out this high? Counts of what was seen, and beyond them a fitted tail.
//!
//! Heights are counted in bins. The highest few hundred of them give the rate at which the tail falls, as the mean by
//! which they pass the level they begin at: the likeliest rate of an exponential tail. Sums of bounded steps that fall
//! on average have such a tail whatever the steps are (Cramér and Lundberg); figures of which the logarithm is counted
//! get a power law (Hill, 1975). So rates far beyond what was seen can be told, for any distribution.
//!
//! Before anything was seen there is a guess, which weighs as much as a few dozen samples.

use serde::{Deserialize, Serialize};

const ROWS: usize = 3;
const COLUMNS: usize = 16;
const BINS: usize = ROWS * COLUMNS;

/// The tail is fitted to this share of all heights, but to no fewer and no more than these.
const FITTED_SHARE: f64 = 0.1;
const FITTED_MIN: f64 = 15.0;
const FITTED_MAX: f64 = 500.0;

/// The highest of five hundred exponential heights passes the level by about this many times the mean.
const EXCESS_MAX: f64 = 7.0;

/// Heights contradict what is expected of the tail when it falls more slowly by this many standard errors.
const CONTRADICTS: f64 = 3.0;

/// How many heights the guess weighs when the tail is fitted.
pub(super) const GUESS_HEIGHTS: f64 = 20.0;

/// How many samples the guess weighs in the counts. Both weights were picked by their score on the part of the Numenta
/// benchmark at hand.
const GUESS_SAMPLES: f64 = 250.0;

/// Counts are halved at this many samples: at one each 30 seconds the past of about three months counts most.
const SAMPLES_MAX: f64 = 400_000.0;

/// Counts are halved also whenever there are this many times the samples that the last halving left: what came while
/// little was known yet weighs ever less.
const HALVED_TIMES: f64 = 3.0;

/// The natural logarithm of the lowest rate told. Beyond it nothing differs for any purpose.
const LOG_RATE_MIN: f64 = -200.0;

/// Where the bins lie, and what is guessed before anything was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheme {
    /// The lower edge of the first bin.
    pub(super) low: f64,
    pub(super) width: f64,
    /// The share of samples at which there is a height at all.
    pub(super) guessed_share: f64,
    /// The rate at which the tail falls, per unit of height.
    pub(super) guessed_fall: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    counts: [[f32; COLUMNS]; ROWS],
    samples: f64,
    /// How many samples there were after the counts were last halved.
    halved: f64,
    /// The level the tail begins at, the logarithm of the rate there, and how fast it falls from there on.
    level: f32,
    log_rate: f32,
    fall: f32,
    /// The logarithm of the rate at the lowest level.
    log_rate_low: f32,
}

impl Tail {
    pub(super) fn new(scheme: &Scheme) -> Tail {
        let mut tail = Tail {
            counts: [[0.0; COLUMNS]; ROWS],
            samples: GUESS_SAMPLES,
            halved: GUESS_SAMPLES,
            level: 0.0,
            log_rate: 0.0,
            fall: 1.0,
            log_rate_low: 0.0,
        };
        let mut above = GUESS_SAMPLES * scheme.guessed_share;
        let left = (-scheme.guessed_fall * scheme.width).exp();
        for count in tail.counts.iter_mut().flatten() {
            *count = (above * (1.0 - left)) as f32;
            above *= left;
        }
        tail.fit(scheme, (scheme.guessed_fall, GUESS_HEIGHTS));
        tail
    }

    /// One more sample was seen, whether or not it brought a height.
    pub(super) fn sample(&mut self) {
        self.samples += 1.0;
        if self.samples >= (HALVED_TIMES * self.halved).min(SAMPLES_MAX) {
            self.samples /= 2.0;
            self.halved = self.samples;
            self.counts.iter_mut().flatten().for_each(|count| *count /= 2.0);
        }
    }

    pub(super) fn count(&mut self, scheme: &Scheme, height: f64) {
        let bin = ((height - scheme.low) / scheme.width).clamp(0.0, (BINS - 1) as f64) as usize;
        if let Some(count) = self.counts.as_flattened_mut().get_mut(bin) {
            *count += 1.0;
        }
    }

    /// The logarithm of the rate per sample of heights of at least this much.
    pub(super) fn log_rate(&self, scheme: &Scheme, height: f64) -> f64 {
        let (level, at_level) = (f64::from(self.level), f64::from(self.log_rate));
        let log_rate = if height >= level {
            at_level - f64::from(self.fall) * (height - level)
        } else {
            let (low, share) = (f64::from(self.log_rate_low), (height - scheme.low) / (level - scheme.low));
            low + share.clamp(0.0, 1.0) * (at_level - low)
        };
        log_rate.clamp(LOG_RATE_MIN, 0.0)
    }

    /// The height passed at a rate with this logarithm; no lower than where the tail begins.
    pub(super) fn height_at(&self, log_rate: f64) -> f64 {
        f64::from(self.level) + ((f64::from(self.log_rate) - log_rate) / f64::from(self.fall)).max(0.0)
    }

    /// Takes what was counted since into the tail. `guess` is how fast it should fall, and how many heights that weighs.
    pub(super) fn fit(&mut self, scheme: &Scheme, guess: (f64, f64)) {
        let (fall, weight) = guess;
        let total: f64 = self.counts.iter().flatten().copied().map(f64::from).sum();
        let wanted = (FITTED_SHARE * total).clamp(FITTED_MIN, FITTED_MAX);
        let (mut above, mut from) = (0.0, BINS);
        for (bin, count) in self.counts.as_flattened().iter().enumerate().rev() {
            above += f64::from(*count);
            from = bin;
            if above >= wanted {
                break;
            }
        }
        let excess = self.excess(from, above) * scheme.width;
        self.level = (scheme.low + from as f64 * scheme.width) as f32;
        self.log_rate = log_share(above, self.samples) as f32;
        self.log_rate_low = (log_share(total, self.samples) as f32).max(self.log_rate);
        let seen = (above + GUESS_HEIGHTS) / (excess + GUESS_HEIGHTS / fall);
        let contradicts = seen * (1.0 + CONTRADICTS / above.max(1.0).sqrt()) < fall;
        let fall = if contradicts { seen } else { (above + weight) / (excess + weight / fall) };
        self.fall = fall as f32;
    }
}

impl Tail {
    /// By how many bins all heights together pass the level of a bin. What lies further beyond than an exponential tail
    /// ever comes was no chance, and counts as that far.
    fn excess(&self, from: usize, above: f64) -> f64 {
        let sum = |bound: f64| -> f64 {
            let beyond = self.counts.as_flattened().iter().skip(from).enumerate();
            beyond.map(|(bins, count)| f64::from(*count) * (bins as f64 + 0.5).min(bound)).sum()
        };
        let mean = sum(f64::MAX) / above.max(1.0);
        sum((EXCESS_MAX * mean).max(1.0))
    }
}

fn log_share(count: f64, samples: f64) -> f64 {
    (count / samples.max(1.0)).clamp(1e-9, 1.0).ln()
}
