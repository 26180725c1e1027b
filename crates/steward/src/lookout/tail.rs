//! How often does a figure come out this high? Counts of what was seen, and beyond them a fitted tail.
//!
//! Heights are counted in bins. The highest few hundred of them give the rate at which the tail falls, as the mean by
//! which they pass the level they begin at: the likeliest rate of an exponential tail. Sums of bounded steps that fall
//! on average have such a tail whatever the steps are (Cramér and Lundberg); figures of which the logarithm is counted
//! get a power law (Hill, 1975), or the tail of a Weibull distribution where it plainly falls faster (Girard, 2004). So rates
//! far beyond what was seen can be told, for any distribution.
//!
//! Before anything was seen there is a guess, which weighs as much as a few dozen samples.

use serde::{Deserialize, Serialize};

const ROWS: usize = 3;
const COLUMNS: usize = 14;
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
const GUESS_HEIGHTS: f64 = 20.0;

/// How many heights the theory of sums weighs. It is exact for independent steps; heights seen speak where steps are not.
const THEORY_HEIGHTS: f64 = 500.0;

/// Where theory tells how a tail falls, no more than these heights are asked: theory holds only far out. Steps are bounded, so
/// in heavy tails many runs are one step of full size and come to the very same height. With five hundred heights the tail began
/// there, and false alarms at one a week were 1.4 times as many as asked; sixty and a hundred and fifty do as well as a hundred.
const THEORY_FITTED_MAX: f64 = 100.0;

/// How fast a tail falls, as a power of the size and in shares of how rare it is where it begins: a power law of third degree has
/// about 0.4 there, an exponential tail 1, a normal one up to 2. Below the first figure it is taken for a power law, above the
/// second for one whose logarithm falls with a power of the size; between them for something between.
const LIKE_POWER: f64 = 0.9;
const LIKE_WEIBULL: f64 = 1.3;

/// No tail is taken to fall faster than a normal one: what seems to is a coarse figure, of which many are alike.
const NORMAL: f64 = 2.0;

/// How many samples the guess weighs in the counts. Both weights were picked by their score on the part of the Numenta
/// benchmark at hand.
const GUESS_SAMPLES: f32 = 250.0;

/// Counts are halved at this many samples: at one each 30 seconds the past of about three months counts most.
const SAMPLES_MAX: f32 = 400_000.0;

/// Counts are halved also whenever there are this many times the samples that the last halving left: what came while
/// little was known yet weighs ever less.
const HALVED_TIMES: f32 = 3.0;

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

/// Where the rate at which a tail falls is known from, besides what was seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fall {
    /// From the scheme's guess.
    Guessed,
    /// From the theory of sums.
    Theory(f64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    counts: [[f32; COLUMNS]; ROWS],
    samples: f32,
    /// How many samples there were after the counts were last halved.
    halved: f32,
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
        let mut above = f64::from(GUESS_SAMPLES) * scheme.guessed_share;
        let left = (-scheme.guessed_fall * scheme.width).exp();
        for count in tail.counts.iter_mut().flatten() {
            *count = (above * (1.0 - left)) as f32;
            above *= left;
        }
        tail.fit(scheme, Fall::Guessed);
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

    /// The same for logarithms of sizes, of which the tail may fall faster than any power.
    pub(super) fn log_rate_of_size(&self, scheme: &Scheme, height: f64) -> f64 {
        let (beyond, at_level) = (height - f64::from(self.level), -f64::from(self.log_rate));
        if beyond <= 0.0 || at_level <= 0.0 {
            return self.log_rate(scheme, height);
        }
        let index = (f64::from(self.fall) / at_level).min(NORMAL);
        // One for a power law; towards nought the root below becomes the exponential, and the tail that of Weibull.
        let bend = ((LIKE_WEIBULL - index) / (LIKE_WEIBULL - LIKE_POWER)).clamp(0.01, 1.0);
        (-at_level * (1.0 + bend * index * beyond).powf(1.0 / bend)).clamp(LOG_RATE_MIN, 0.0)
    }

    /// The height passed at a rate with this logarithm; no lower than where the tail begins.
    pub(super) fn height_at(&self, log_rate: f64) -> f64 {
        f64::from(self.level) + ((f64::from(self.log_rate) - log_rate) / f64::from(self.fall)).max(0.0)
    }

    /// Takes what was counted since into the tail.
    pub(super) fn fit(&mut self, scheme: &Scheme, known: Fall) {
        let total: f64 = self.counts.iter().flatten().copied().map(f64::from).sum();
        let most = match known {
            Fall::Guessed => FITTED_MAX,
            Fall::Theory(_) => THEORY_FITTED_MAX,
        };
        let wanted = (FITTED_SHARE * total).clamp(FITTED_MIN, most);
        let (from, above) = self.highest(wanted);
        let excess = self.excess(from, above) * scheme.width;
        self.fall = match known {
            Fall::Guessed => seen(above, excess, scheme.guessed_fall, GUESS_HEIGHTS) as f32,
            Fall::Theory(fall) => fall_of_sums(above, excess, fall) as f32,
        };
        self.level = (scheme.low + from as f64 * scheme.width) as f32;
        self.log_rate = log_share(above, self.samples) as f32;
        self.log_rate_low = (log_share(total, self.samples) as f32).max(self.log_rate);
    }
}

/// The rate at which so many heights fall that pass their level by so much together, with a guess that weighs some heights.
fn seen(above: f64, excess: f64, guess: f64, weight: f64) -> f64 {
    (above + weight) / (excess + weight / guess)
}

/// What is seen may contradict theory when steps depend on each other: then the tail falls more slowly. That it seems to fall
/// faster says only that it is not seen far enough out.
fn fall_of_sums(above: f64, excess: f64, theory: f64) -> f64 {
    let plainly = seen(above, excess, theory, GUESS_HEIGHTS);
    if plainly * (1.0 + CONTRADICTS / above.max(1.0).sqrt()) < theory {
        plainly
    } else {
        seen(above, excess, theory, THEORY_HEIGHTS).min(theory)
    }
}

impl Tail {
    /// The bin from which on there are at least so many heights, and how many there are.
    fn highest(&self, wanted: f64) -> (usize, f64) {
        let mut above = 0.0;
        for (bin, count) in self.counts.as_flattened().iter().enumerate().rev() {
            above += f64::from(*count);
            if above >= wanted {
                return (bin, above);
            }
        }
        (0, above)
    }

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

fn log_share(count: f64, samples: f32) -> f64 {
    (count / f64::from(samples).max(1.0)).clamp(1e-9, 1.0).ln()
}
