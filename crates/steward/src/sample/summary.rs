//! A metric over a stretch of time, in four figures.

use serde::{Deserialize, Serialize};

use super::marked::Interval;
use crate::time::Steady;

/// A metric over a time: finite figures only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSummary", into = "RawSummary")]
pub struct Summary {
    mean: f64,
    deviation: f64,
    count: u32,
    /// As how many independent samples they count.
    effective: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSummary {
    mean: f64,
    sd: f64,
    count: u32,
    /// Left out where every sample counts in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effective: Option<f64>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a summary needs a finite mean, a finite deviation that is not negative, and no more effective samples than there are"
)]
pub struct NotASummary;

impl Summary {
    pub fn new(mean: f64, deviation: f64, count: u32) -> Result<Summary, NotASummary> {
        let good = mean.is_finite() && deviation.is_finite() && deviation >= 0.0;
        let effective = f64::from(count);
        if good { Ok(Summary { mean, deviation, count, effective }) } else { Err(NotASummary) }
    }

    /// The same figures, of samples that resemble each other: they count as so many independent ones.
    pub fn counting_as(self, effective: f64) -> Result<Summary, NotASummary> {
        let most = f64::from(self.count);
        let good = effective.is_finite() && effective >= 0.0 && effective <= most;
        if good { Ok(Summary { effective, ..self }) } else { Err(NotASummary) }
    }

    /// Sums up figures. Those that are no numbers are left out; with none left there is no summary.
    pub fn of_values(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let (mut count, mut mean, mut squares) = (0u32, 0.0f64, 0.0f64);
        for value in values.iter().copied() {
            // Welford: no sum of squares that would swallow small differences of large figures.
            count = count.saturating_add(1);
            let off = value - mean;
            mean += off / f64::from(count);
            squares += off * (value - mean);
        }
        let deviation = if count < 2 { 0.0 } else { (squares.max(0.0) / f64::from(count - 1)).sqrt() };
        if count == 0 {
            return None;
        }
        let summary = Summary::new(mean, deviation, count).ok()?;
        summary.counting_as(effective(&values, deviation)).ok()
    }

    /// Sums up the samples within `span`, without those in an interval that was marked (a build, a trial, an outage of
    /// our own).
    pub fn of(
        samples: impl IntoIterator<Item = (Steady, f64)>,
        span: Span,
        marked: &[Interval],
    ) -> Option<Summary> {
        let counts = |at: Steady| span.holds(at) && !marked.iter().any(|interval| interval.holds(at));
        Summary::of_values(samples.into_iter().filter(|(at, _)| counts(*at)).map(|(_, value)| value))
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// As how many independent samples they count: fewer than there are when each resembles the one before.
    pub fn effective(&self) -> f64 {
        self.effective
    }

    /// How far off the mean may be, as one standard deviation of it.
    pub fn error(&self) -> f64 {
        if self.effective > 0.0 { self.deviation / self.effective.sqrt() } else { 0.0 }
    }
}

/// With fewer samples no blocks can be made of them.
const BLOCKS_FROM: usize = 16;

/// The method of batch means: blocks as many as they are long, and what their means vary by is what the whole mean is off by.
/// Resemblance from one sample to the next, and a course within the time, both make blocks differ more than chance would.
fn effective(values: &[f64], deviation: f64) -> f64 {
    let count = values.len() as f64;
    if values.len() < BLOCKS_FROM || deviation == 0.0 {
        return count;
    }
    let length = (count.sqrt() as usize).max(1);
    let means: Vec<f64> =
        values.chunks_exact(length).map(|block| block.iter().sum::<f64>() / length as f64).collect();
    let blocks = means.len() as f64;
    let middle = means.iter().sum::<f64>() / blocks;
    let between = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / (blocks - 1.0);
    let effective = deviation * deviation / (between / blocks);
    // Never more than there are; blocks that do not differ at all say nothing against any of them.
    if effective.is_finite() { effective.clamp(1.0, count) } else { count }
}

impl TryFrom<RawSummary> for Summary {
    type Error = NotASummary;

    fn try_from(raw: RawSummary) -> Result<Summary, NotASummary> {
        let summary = Summary::new(raw.mean, raw.sd, raw.count)?;
        raw.effective.map_or(Ok(summary), |effective| summary.counting_as(effective))
    }
}

impl From<Summary> for RawSummary {
    fn from(summary: Summary) -> RawSummary {
        let whole = summary.effective == f64::from(summary.count);
        let effective = (!whole).then_some(summary.effective);
        RawSummary { mean: summary.mean, sd: summary.deviation, count: summary.count, effective }
    }
}

/// A stretch of time: its start belongs to it, its end does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub from: Steady,
    pub to: Steady,
}

impl Span {
    pub fn holds(&self, at: Steady) -> bool {
        self.from <= at && at < self.to
    }
}
