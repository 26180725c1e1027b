//! A metric over a stretch of time, in three figures.

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
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSummary {
    mean: f64,
    sd: f64,
    count: u32,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a summary needs a finite mean and a finite deviation that is not negative")]
pub struct NotASummary;

impl Summary {
    pub fn new(mean: f64, deviation: f64, count: u32) -> Result<Summary, NotASummary> {
        let good = mean.is_finite() && deviation.is_finite() && deviation >= 0.0;
        if good { Ok(Summary { mean, deviation, count }) } else { Err(NotASummary) }
    }

    /// Sums up figures. Those that are no numbers are left out; with none left there is no summary.
    pub fn of_values(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let (mut count, mut mean, mut squares) = (0u32, 0.0f64, 0.0f64);
        for value in values.into_iter().filter(|value| value.is_finite()) {
            // Welford: no sum of squares that would swallow small differences of large figures.
            count = count.saturating_add(1);
            let off = value - mean;
            mean += off / f64::from(count);
            squares += off * (value - mean);
        }
        let deviation = if count < 2 { 0.0 } else { (squares.max(0.0) / f64::from(count - 1)).sqrt() };
        if count == 0 { None } else { Summary::new(mean, deviation, count).ok() }
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
}

impl TryFrom<RawSummary> for Summary {
    type Error = NotASummary;

    fn try_from(raw: RawSummary) -> Result<Summary, NotASummary> {
        Summary::new(raw.mean, raw.sd, raw.count)
    }
}

impl From<Summary> for RawSummary {
    fn from(summary: Summary) -> RawSummary {
        RawSummary { mean: summary.mean, sd: summary.deviation, count: summary.count }
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
