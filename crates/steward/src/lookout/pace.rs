//! When samples come: the usual time between two, and how many of them make a day.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Steady;

/// In milliseconds.
pub(super) const DAY: u64 = 86_400_000;
pub(super) const WEEK: u64 = 7 * DAY;

/// What is learned remembers a day, but never fewer and never more samples than these.
const REMEMBERED_MIN: f64 = 100.0;
const REMEMBERED_MAX: f64 = 20_000.0;

/// Until two samples came, they are thought to come this often, in milliseconds.
const PERIOD_GUESSED: f64 = 30_000.0;

/// How many gaps between samples the usual one remembers.
const GAPS_REMEMBERED: f64 = 64.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pace {
    last: Option<Steady>,
    /// In milliseconds.
    period: f64,
    gaps: f64,
    fixed: bool,
}

impl Pace {
    pub(super) fn new(period: Option<Duration>) -> Pace {
        let asked = period.map(|period| period.as_millis() as f64).filter(|period| *period >= 1.0);
        Pace { last: None, period: asked.unwrap_or(PERIOD_GUESSED), gaps: 0.0, fixed: asked.is_some() }
    }

    pub(super) fn last(&self) -> Option<Steady> {
        self.last
    }

    pub(super) fn period(&self) -> f64 {
        self.period
    }

    pub(super) fn day_samples(&self) -> f64 {
        (DAY as f64 / self.period).max(1.0)
    }

    /// The share of a new sample in what remembers a day.
    pub(super) fn rate(&self) -> f64 {
        1.0 / self.day_samples().clamp(REMEMBERED_MIN, REMEMBERED_MAX)
    }

    /// How many usual periods after the last sample this is.
    pub(super) fn periods_since(&self, at: Steady) -> f64 {
        self.last.map_or(1.0, |last| at.since(last).as_millis() as f64 / self.period)
    }

    /// Follows the gaps between samples; one much longer than usual counts little.
    pub(super) fn take(&mut self, at: Steady) {
        if let Some(last) = self.last
            && !self.fixed
        {
            let gap = (at.since(last).as_millis() as f64).max(1.0);
            self.gaps = (self.gaps + 1.0).min(GAPS_REMEMBERED);
            let bounded = if self.gaps < 3.0 { gap } else { gap.min(3.0 * self.period) };
            self.period = (self.period + (bounded - self.period) / self.gaps).max(1.0);
        }
        self.last = Some(at);
    }
}
