//! How a metric usually behaves, and from when on a difference counts.
//!
//! A [`Calibration`] comes from at least seven days of samples. Its threshold `h` follows from how often a false alarm
//! is acceptable. For that the mean time between false alarms of a CUSUM is taken from Siegmund's approximation
//! (D. Siegmund, "Sequential Analysis", 1985): one side with allowance `k` and threshold `h` runs on average
//! `(exp(2kb) − 2kb − 1) / 2k²` samples, `b = h + 1.166`, and two sides half as long. It holds for independent, normal
//! samples. Samples that resemble the one before (a pressure averaged over a minute, read twice a minute) would alarm
//! far too often, so the spread is widened by what their resemblance adds to the spread of a mean, and the threshold
//! follows from that. `tests/false_alarms.rs` measures what comes out: within a factor of two where samples are
//! independent, of three where they resemble each other. Figures with heavy tails alarm more often than asked.
//!
//! What holds: a calibration's figures are finite, its spread, allowance and threshold positive, and no calibration of
//! a metric has a version that another had.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sample::{Marked, Metric, Quantity, Sample, Summary};
use crate::time::Steady;

/// Shorter pasts have not seen a week's ups and downs.
pub const SPAN_MIN: Duration = Duration::from_secs(7 * 86_400);

/// The share of samples that must be there and unmarked, in percent.
pub const PRESENT_PERCENT_MIN: u64 = 80;

/// A new mean after a commit needs this many samples: two hours at 30 seconds, the time of probation.
pub const REBASE_SAMPLES_MIN: u64 = 240;

/// A metric with more samples than this is sampled too often to be calibrated in one go.
const SAMPLES_MAX: usize = 2_000_000;

/// By how much a discrete walk overshoots its threshold, in standard deviations (Siegmund).
const OVERSHOOT: f64 = 1.166;

/// Resemblance beyond this is a trend or a daily round, and widening further would make the detector blind.
const RESEMBLANCE_MAX: f64 = 0.95;

/// Beyond this the correction of the threshold for resemblance was not seen to hold; without more of it alarms are
/// rarer than asked.
const CARRIED_RESEMBLANCE_MAX: f64 = 0.8;

/// Whatever rate is asked for, one sample within three spreads is no shift.
const THRESHOLD_MIN: f64 = 3.0;

/// No rate that may be asked for needs more.
const THRESHOLD_MAX: f64 = 400.0;

/// The spread is never taken for less than this share of the mean: a figure that did not move in a week would
/// otherwise alarm at its first stir.
const SIGMA_RELATIVE_MIN: f64 = 0.01;

/// What a calibration is asked to achieve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The time between two samples.
    pub period: Duration,
    /// The smallest lasting shift worth a look, in standard deviations.
    pub shift: f64,
    /// How far apart false alarms should be on average.
    pub false_alarm_every: Duration,
    /// The spread is never taken for less than this, in the metric's own unit.
    pub sigma_floor: f64,
}

impl Wanted {
    /// A shift of one standard deviation, one false alarm in 30 days, and a floor that fits the metric.
    pub fn usual(metric: &Metric, period: Duration) -> Wanted {
        let sigma_floor = match metric.quantity() {
            Quantity::PsiMemSome | Quantity::PsiMemFull => 0.25,
            Quantity::MemoryCurrent => 4.0 * 1024.0 * 1024.0,
            Quantity::CpuUse | Quantity::CpuThrottled => 0.01,
            Quantity::Restarts | Quantity::OomKills => 0.001,
            Quantity::Latency => 5.0,
            Quantity::Throughput => 0.01,
        };
        Wanted { period, shift: 1.0, false_alarm_every: Duration::from_secs(30 * 86_400), sigma_floor }
    }

    /// Half the shift: the allowance that finds a shift of that size soonest.
    fn allowance(&self) -> f64 {
        self.shift / 2.0
    }

    fn samples_between_false_alarms(&self) -> f64 {
        self.false_alarm_every.as_secs_f64() / self.period.as_secs_f64()
    }

    fn check(&self) -> Result<(), Refusal> {
        let sane = !self.period.is_zero()
            && (0.1..=10.0).contains(&self.shift)
            && self.sigma_floor.is_finite()
            && self.sigma_floor > 0.0
            && (10.0..=1e12).contains(&self.samples_between_false_alarms());
        sane.then_some(()).ok_or(Refusal::Wanted)
    }
}

/// Why there is no calibration.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("calibration needs 7 days of samples, and there are {} hours", seconds / 3600)]
    TooShort { seconds: u64 },
    #[error(
        "calibration needs {PRESENT_PERCENT_MIN} % of the samples, and {present} of {expected} are there and unmarked"
    )]
    TooManyMissing { present: u64, expected: u64 },
    #[error("a new mean needs {REBASE_SAMPLES_MIN} samples since the commit, and there are {present}")]
    TooFew { present: u64 },
    #[error("calibration takes at most {SAMPLES_MAX} samples")]
    TooManySamples,
    #[error(
        "what is wanted cannot be: the period must not be zero, the shift between 0.1 and 10, the floor positive, \
         and at least ten samples between two false alarms"
    )]
    Wanted,
    #[error("the calibration holds a figure that cannot be: {figure}")]
    Figure { figure: String },
}

/// How a metric usually behaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Calibration {
    version: u32,
    mean: f64,
    sigma: f64,
    k: f64,
    h: f64,
    shift: f64,
    samples: u64,
    resemblance: f64,
}

impl Calibration {
    /// From samples in the order of time, as version 1. [`Parameters::replace`] gives the version that follows.
    pub fn from_samples(
        samples: impl IntoIterator<Item = Sample>,
        marked: &Marked,
        wanted: &Wanted,
    ) -> Result<Calibration, Refusal> {
        wanted.check()?;
        let samples: Vec<Sample> = samples.into_iter().take(SAMPLES_MAX + 1).collect();
        if samples.len() > SAMPLES_MAX {
            return Err(Refusal::TooManySamples);
        }
        let span = check_span(&samples, wanted.period)?;
        let summary = check_present(marked.summary(samples.iter().copied()), span, wanted.period)?;
        let resemblance = resemblance(&samples, marked, &summary, wanted.period);
        let widened = summary.deviation() * ((1.0 + resemblance) / (1.0 - resemblance)).sqrt();
        Stored {
            version: 1,
            mean: summary.mean(),
            sigma: widened.max(wanted.sigma_floor).max(SIGMA_RELATIVE_MIN * summary.mean().abs()),
            k: wanted.allowance(),
            h: threshold(wanted.allowance(), wanted.samples_between_false_alarms(), resemblance),
            shift: wanted.shift,
            samples: summary.count().into(),
            resemblance,
        }
        .try_into()
    }

    /// The same spread about the mean since a commit. The allowance grows by the new mean's standard error, so that
    /// the little that is known of it yet does not turn into false alarms.
    pub fn rebased(&self, since_commit: &Summary) -> Result<Calibration, Refusal> {
        let present = u64::from(since_commit.count());
        if present < REBASE_SAMPLES_MIN {
            return Err(Refusal::TooFew { present });
        }
        let rebased = Stored {
            mean: since_commit.mean(),
            sigma: self.sigma.max(SIGMA_RELATIVE_MIN * since_commit.mean().abs()),
            samples: present,
            // The spread was widened for resemblance already, so this is the mean's standard error in spreads.
            k: self.shift / 2.0 + 1.0 / f64::from(since_commit.count()).sqrt(),
            ..(*self).into()
        };
        rebased.try_into().map(|new: Calibration| new.following(self.version))
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// The usual mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The spread that differences are measured in: floored, and widened where samples resemble each other.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The allowance, in spreads.
    pub fn k(&self) -> f64 {
        self.k
    }

    /// The threshold, in spreads.
    pub fn h(&self) -> f64 {
        self.h
    }

    /// The shift that is looked for, in spreads.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// How much a sample resembles the one before, from 0 to 0.95.
    pub fn resemblance(&self) -> f64 {
        self.resemblance
    }

    fn following(self, version: u32) -> Calibration {
        Calibration { version: version.saturating_add(1), ..self }
    }
}

fn check_span(samples: &[Sample], period: Duration) -> Result<Duration, Refusal> {
    let span = match (samples.first(), samples.last()) {
        (Some(first), Some(last)) => last.at.since(first.at) + period,
        _ => Duration::ZERO,
    };
    if span < SPAN_MIN { Err(Refusal::TooShort { seconds: span.as_secs() }) } else { Ok(span) }
}

fn check_present(summary: Option<Summary>, span: Duration, period: Duration) -> Result<Summary, Refusal> {
    let expected = u64::try_from(span.as_millis() / period.as_millis().max(1)).unwrap_or(u64::MAX);
    let present = summary.map_or(0, |summary| u64::from(summary.count()));
    let enough = u128::from(present) * 100 >= u128::from(expected) * u128::from(PRESENT_PERCENT_MIN);
    summary.filter(|_| enough).ok_or(Refusal::TooManyMissing { present, expected })
}

/// The correlation of each sample with the one right before it, from 0 to [`RESEMBLANCE_MAX`].
fn resemblance(samples: &[Sample], marked: &Marked, summary: &Summary, period: Duration) -> f64 {
    let mut walk = marked.walk();
    let mut before: Option<(Steady, f64)> = None;
    let (mut products, mut pairs) = (0.0, 0u64);
    for sample in samples {
        let passed_over = walk.passes(sample.at);
        let Some(value) = sample.value().filter(|_| !passed_over) else {
            before = None;
            continue;
        };
        let off = value - summary.mean();
        if let Some((at, other)) = before
            && sample.at.since(at) < period * 2
        {
            products += off * other;
            pairs += 1;
        }
        before = Some((sample.at, off));
    }
    let variance = summary.deviation() * summary.deviation();
    if pairs == 0 || variance <= 0.0 {
        return 0.0;
    }
    (products / pairs as f64 / variance).clamp(0.0, RESEMBLANCE_MAX)
}

/// Mean samples between false alarms of both sides together.
fn run_length(k: f64, h: f64, resemblance: f64) -> f64 {
    // On the way to an alarm the mean stands about k higher. Samples that resemble each other carry that on for
    // ρ/(1 − ρ) samples more, so the sum lags by this much at the threshold, and as much where it left zero.
    let carried = resemblance.min(CARRIED_RESEMBLANCE_MAX);
    let b = h + OVERSHOOT + 2.0 * k * carried / (1.0 - carried);
    let reach = 2.0 * k * b;
    (reach.exp() - reach - 1.0) / (2.0 * k * k) / 2.0
}

/// The smallest threshold whose run length is what is wanted: it grows with the threshold, so halving finds it.
fn threshold(k: f64, wanted: f64, resemblance: f64) -> f64 {
    let (mut low, mut high) = (THRESHOLD_MIN, THRESHOLD_MAX);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if run_length(k, middle, resemblance) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    mean: f64,
    sigma: f64,
    k: f64,
    h: f64,
    shift: f64,
    samples: u64,
    resemblance: f64,
}

impl TryFrom<Stored> for Calibration {
    type Error = Refusal;

    fn try_from(raw: Stored) -> Result<Calibration, Refusal> {
        let positive = |figure: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(Refusal::Figure { figure: format!("{figure} {value}") }),
        };
        positive("sigma", raw.sigma)?;
        positive("k", raw.k)?;
        positive("h", raw.h)?;
        positive("shift", raw.shift)?;
        positive("version", f64::from(raw.version))?;
        if !raw.mean.is_finite() {
            return Err(Refusal::Figure { figure: format!("mean {}", raw.mean) });
        }
        if !(0.0..=RESEMBLANCE_MAX).contains(&raw.resemblance) {
            return Err(Refusal::Figure { figure: format!("resemblance {}", raw.resemblance) });
        }
        let Stored { version, mean, sigma, k, h, shift, samples, resemblance } = raw;
        Ok(Calibration { version, mean, sigma, k, h, shift, samples, resemblance })
    }
}

impl From<Calibration> for Stored {
    fn from(calibration: Calibration) -> Stored {
        let Calibration { version, mean, sigma, k, h, shift, samples, resemblance } = calibration;
        Stored { version, mean, sigma, k, h, shift, samples, resemblance }
    }
}

/// The calibrations of a target: the content of `cusum-params.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    format: Format,
    calibrations: BTreeMap<Metric, Calibration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Format;

impl TryFrom<u32> for Format {
    type Error = String;

    fn try_from(number: u32) -> Result<Format, String> {
        if number == 1 { Ok(Format) } else { Err(format!("format {number} is not known, only 1")) }
    }
}

impl From<Format> for u32 {
    fn from(_: Format) -> u32 {
        1
    }
}

/// What a new calibration took the place of; both go into the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    pub metric: Metric,
    pub old: Option<Calibration>,
    pub new: Calibration,
}

impl Parameters {
    /// The calibration of a metric. Without one the metric cannot be watched.
    pub fn get(&self, metric: &Metric) -> Option<&Calibration> {
        self.calibrations.get(metric)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Metric, &Calibration)> {
        self.calibrations.iter()
    }

    /// Puts a calibration in the place of the one before, with the version that follows.
    pub fn replace(&mut self, metric: Metric, new: Calibration) -> Replaced {
        let old = self.calibrations.get(&metric).copied();
        let new = new.following(old.map_or(0, |old| old.version));
        self.calibrations.insert(metric.clone(), new);
        Replaced { metric, old, new }
    }
}

#[cfg(test)]
mod tests;
