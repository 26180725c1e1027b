//! The lookout over one metric: what is normal here, how far out is this sample, and has something really changed?
//!
//! A [`Lookout`] takes samples one by one and keeps a few kilobytes, however long it runs. Each sample goes through four
//! rooms: `expect` says what it should be, from a level, a daily or a weekly round and the sample before; `evidence`
//! tells how rarely chance brings such a miss, alone or as part of a run; `find` says what it is, and `settle` waits to see
//! what stays; and what comes out is a [`Judgement`] with, now and then, a [`Finding`].
//!
//! How rare something is comes from the metric's own past, whatever its distribution. So false alarms are about as far
//! apart as [`Asked`], and one threshold of the score suits all metrics.
//!
//! What holds: nothing here reads a clock; the same samples give the same judgements; a lookout that was stored and read
//! back goes on as if it had never stopped; all figures are finite whatever comes in; a lone spike is never a shift.

mod account;
mod centre;
mod echo;
mod evidence;
mod expect;
mod find;
mod finding;
mod leap;
mod pace;
mod round;
mod settle;
mod steps;
mod sums;
mod tail;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use account::{Account, TOLD_MAX, together};
pub use finding::{Finding, Kind, sentence};

use crate::time::Steady;
use echo::Echo;
use evidence::{Deviation, Evidence, Follows, Weighed};
use expect::{Expect, Expected, Step};
use find::Pending;
use pace::Pace;
use round::Rounds;
use settle::Attention;

/// Nothing is found in the first samples: two hours at 30 seconds.
pub const LEARNING_SAMPLES: u32 = 240;

/// Samples are not weighed before this many came: there is no spread yet to weigh them by.
const WEIGHED_FROM: u64 = 32;

/// Samples missing for this many usual periods are missing.
const MISSING_PERIODS: f64 = 5.0;

/// Figures further out are as good as this far. Leaves room for squares and sums of them.
const FIGURE_MAX: f64 = 1e30;

/// Deviations further out are as good as this many spreads.
const SPREADS_MAX: f64 = 1e6;

/// A spread is never taken for less than this share of the figure itself, nor for less than this at all: a figure that
/// never moved would otherwise alarm at its first stir.
const SPREAD_RELATIVE_MIN: f64 = 1e-3;
const SPREAD_MIN: f64 = 1e-12;

/// The spread of a normal figure, in mean absolute deviations: the root of half of pi.
const SPREAD_PER_DEVIATION: f64 = 1.253_314_137_315_5;

/// One sample moves the spread by no more than it would if it lay this many mean absolute deviations out.
const DEVIATIONS_MAX: f64 = 8.0;

/// What is carried over to the next sample moves by no more than this many spreads at a time.
const CARRIED_MAX: f64 = 4.0;

/// Tails are fitted, and the picture is chosen, each so many samples; more often at first, when much is still new.
const FITTED_EACH: u64 = 1024;
const FITTED_EACH_AT_FIRST: u64 = 64;
const AT_FIRST: u64 = 4096;

/// A rate of one in a thousand, as a natural logarithm: beyond the band is what comes less often on its side.
const BAND_LOG_RATE: f64 = -6.907_755;

/// What a lookout is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// How far apart false alarms should be on average, once the lookout has learned.
    pub false_alarm_every: Duration,
    /// The time between two samples; learned when it is not given.
    pub period: Option<Duration>,
    /// The spread is never taken for less than this, in the metric's own unit.
    pub floor: f64,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { false_alarm_every: Duration::from_secs(30 * 86_400), period: None, floor: 0.0 }
    }
}

/// What a lookout says about one sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// How unusual it is, 0 to 1: one half is what chance brings once in ten thousand samples. What only echoes
    /// something just judged unusual has a low score.
    pub score: f64,
    pub expected: f64,
    /// Between these is normal here.
    pub low: f64,
    pub high: f64,
    pub finding: Option<Finding>,
}

/// The state of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookout {
    asked: Asked,
    pace: Pace,
    expect: Expect,
    evidence: Evidence,
    rounds: Rounds,
    echo: Echo,
    attention: Attention,
    pending: Option<Pending>,
    missing: Silence,
    samples: u64,
    /// The mean absolute miss.
    miss: f64,
    /// What was expected last, and the band about it.
    usual: Usual,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Usual {
    expected: f64,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Silence {
    None,
    Told,
}

/// A sample on its way through the rooms.
struct Looked {
    at: Steady,
    value: f64,
    expected: Expected,
    deviation: Deviation,
    /// The spread of misses, and of what the picture leaves over, in the metric's unit.
    unit: f64,
    place: f64,
}

impl Lookout {
    pub fn new(asked: Asked) -> Lookout {
        Lookout {
            asked,
            pace: Pace::new(asked.period),
            expect: Expect::new(),
            evidence: Evidence::new(),
            rounds: Rounds::default(),
            echo: Echo::default(),
            attention: Attention::Learning { left: LEARNING_SAMPLES },
            pending: None,
            missing: Silence::None,
            samples: 0,
            miss: 0.0,
            usual: Usual::default(),
        }
    }

    /// Takes the next sample, or that there was none. One not later than the last changes nothing.
    pub fn step(&mut self, at: Steady, value: Option<f64>) -> Judgement {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return self.absent(at);
        };
        if self.pace.last().is_some_and(|last| at <= last) {
            return self.judgement(0.0, None);
        }
        let missed = self.tell_missing(at);
        self.missing = Silence::None;
        let looked = self.look(at, value.clamp(-FIGURE_MAX, FIGURE_MAX));
        self.pace.take(at);
        let weighed = self.weigh(&looked);
        let found = self.find(&looked, &weighed);
        self.learn(&looked);
        let strayed = self.compare_days(&looked);
        self.usual = self.band(&looked);
        let score = self.echo.score(weighed.single_surprise(), weighed.fast.surprise);
        self.judgement(score, found.or(strayed).or(missed))
    }

    /// Between which values the last sample would have been normal; nothing before it has learned that.
    pub fn usual(&self) -> Option<(f64, f64)> {
        let Usual { low, high, .. } = self.usual;
        (!self.learns() && high > low).then_some((low, high))
    }

    /// After a committed change the old level is wrong: it is learned anew. Rounds, spreads and tails are kept.
    pub fn rebase(&mut self) {
        self.expect.forget_level();
        self.evidence.drop_runs();
        self.pending = None;
        self.attention = Attention::Relearning { left: LEARNING_SAMPLES };
    }

    fn absent(&mut self, at: Steady) -> Judgement {
        let finding = self.tell_missing(at);
        self.judgement(0.0, finding)
    }

    fn judgement(&self, score: f64, finding: Option<Finding>) -> Judgement {
        let Usual { expected, low, high } = self.usual;
        Judgement { score, expected, low, high, finding }
    }

    fn band(&self, looked: &Looked) -> Usual {
        let expected = looked.expected.base;
        let (below, above) = self.evidence.band(BAND_LOG_RATE);
        Usual { expected, low: expected - below * looked.place, high: expected + above * looked.place }
    }

    /// Samples that fail to come are told once, while they are missing or when they come again.
    fn tell_missing(&mut self, at: Steady) -> Option<Finding> {
        let last = self.pace.last()?;
        if self.missing == Silence::Told || self.pace.periods_since(at) <= MISSING_PERIODS || self.learns() {
            return None;
        }
        self.missing = Silence::Told;
        let usual = self.usual.expected;
        let began = last.plus(Duration::from_millis(self.pace.period() as u64));
        let kind = Kind::Missing;
        Some(Finding {
            kind,
            direction: None,
            at,
            began,
            before: usual,
            now: usual,
            sure: 1.0,
            surprise: 0.0,
        })
    }

    fn learns(&self) -> bool {
        matches!(self.attention, Attention::Learning { .. })
    }

    fn floor(&self, value: f64) -> f64 {
        let asked = if self.asked.floor.is_finite() { self.asked.floor.min(FIGURE_MAX) } else { 0.0 };
        asked.max(SPREAD_RELATIVE_MIN * value.abs()).max(SPREAD_MIN)
    }

    fn look(&self, at: Steady, value: f64) -> Looked {
        let expected = self.expect.expected(at.0, self.pace.periods_since(at));
        let floor = self.floor(expected.base);
        let unit = (SPREAD_PER_DEVIATION * self.miss).max(floor) * expected.widened;
        let place = (SPREAD_PER_DEVIATION * expected.error).max(floor);
        let (missed, left_over) = match self.samples {
            0 => (0.0, 0.0),
            _ => (value - self.expect.nearest(&expected, value), value - expected.base),
        };
        let spreads = (missed / unit).clamp(-SPREADS_MAX, SPREADS_MAX);
        let out = (left_over / place).clamp(-SPREADS_MAX, SPREADS_MAX);
        let follows = if expected.widened > 1.0 { Follows::AfterGap } else { Follows::Closely };
        let kept = expected.kept;
        let deviation = Deviation { at, spreads, missed, left_over, out, kept, unit, place, follows };
        Looked { at, value, expected, deviation, unit, place }
    }

    fn weigh(&mut self, looked: &Looked) -> Weighed {
        if self.samples < WEIGHED_FROM {
            return Weighed::nothing();
        }
        match self.attention {
            Attention::Listening => self.evidence.weigh(&looked.deviation, self.pace.rate()),
            Attention::Learning { .. } => self.evidence.acquaint(&looked.deviation, self.pace.rate()),
            Attention::Relearning { .. } | Attention::Settling(_) => {
                self.evidence.weigh_alone(&looked.deviation)
            }
        }
    }

    fn learn(&mut self, looked: &Looked) {
        self.samples = self.samples.saturating_add(1);
        let (missed, floor) = (looked.deviation.missed, self.floor(looked.expected.base));
        let young = self.samples < 8;
        if self.samples > 1 {
            let bound = if young { f64::MAX } else { DEVIATIONS_MAX * self.miss.max(floor) };
            let rate = (1.0 / (self.samples - 1) as f64).max(self.pace.rate());
            self.miss += rate * (missed.abs().min(bound) - self.miss);
        }
        let bound = if young { f64::MAX } else { CARRIED_MAX * looked.unit };
        let step = Step { rate: self.pace.rate(), floor, period: self.pace.period() };
        self.expect.learn(looked.at.0, looked.value, &looked.expected, missed.clamp(-bound, bound), &step);
        let each = if self.samples < AT_FIRST { FITTED_EACH_AT_FIRST } else { FITTED_EACH };
        if self.samples.is_multiple_of(each) {
            self.evidence.fit();
            self.expect.choose(self.pace.day_samples());
        }
    }
}

#[cfg(test)]
mod tests;
