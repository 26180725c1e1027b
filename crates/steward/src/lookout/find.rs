//! From evidence to findings: what is beyond the limit, which kind it is, and what becomes of it afterwards.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::evidence::{Slow, Weighed, Weight};
use super::expect::Used;
use super::finding::{Finding, Kind};
use super::pace::DAY;
use super::round::Strayed;
use super::settle::{Attention, Settled, Settling};
use super::{Looked, Lookout, SPREAD_PER_DEVIATION};
use crate::detect::Direction;
use crate::time::Steady;

/// How long a lookout waits after a find, at least: as long as the plain detector holds off, and this many samples.
const SETTLE: Duration = Duration::from_secs(30 * 60);
const SETTLE_SAMPLES: f64 = 30.0;

/// The spread is taken anew after a change when samples scatter more, or less, by this factor.
const SPREAD_CHANGED: f64 = 1.3;

/// A spike is over when the metric is within this many spreads of what its picture says.
const BACK_SPREADS: f64 = 3.0;

/// A spike is one or few samples: at most this many.
const SPIKE_SAMPLES_MAX: u32 = 4;

/// A run that is rising by more than this share of its mean, from first to last sample, is a drift: a step has none, a
/// straight ramp twice its mean.
const DRIFT_RISE: f64 = 1.2;
const DRIFT_SAMPLES_MIN: u32 = 8;

/// A sample far out, of which it is not known yet whether it stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pending {
    at: Steady,
    direction: Direction,
    surprise: f64,
    before: f64,
    value: f64,
    samples: u32,
}

impl Lookout {
    /// The logarithm of how many samples lie between two false alarms that are asked for.
    fn limit(&self) -> f64 {
        (self.asked.false_alarm_every.as_millis() as f64 / self.pace.period()).max(1.0).ln()
    }

    pub(super) fn find(&mut self, looked: &Looked, weighed: &Weighed) -> Option<Finding> {
        match &mut self.attention {
            Attention::Learning { left } | Attention::Relearning { left } => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.attention = Attention::Listening;
                }
                None
            }
            Attention::Settling(settling) => {
                let settled = settling.step(looked.at, looked.deviation.left_over)?;
                let settling = *settling;
                self.settle(&settled, looked);
                settled.drifted.map(|by| self.went_on(&settling, looked.at, by))
            }
            Attention::Listening => {
                let found = self.find_run(looked, weighed);
                if found.is_some() {
                    self.pending = None;
                    return found;
                }
                self.find_spike(looked, &weighed.spike)
            }
        }
    }

    fn find_run(&mut self, looked: &Looked, weighed: &Weighed) -> Option<Finding> {
        let limit = self.limit();
        let slow = if self.expect.knows_days(looked.at.0) { Slow::Counts } else { Slow::Waits };
        let (kind, weight) = weighed.run_beyond(limit, slow)?;
        let (base, mean) = (looked.expected.base, weight.run.mean());
        let (kind, before, now) = match kind {
            Kind::Spread => (kind, looked.unit, SPREAD_PER_DEVIATION * mean),
            _ if drifts(weight) => (Kind::Drift, base, base + mean + weight.run.rise() / 2.0),
            _ => (Kind::Shift, base, base + mean),
        };
        let finding = Finding {
            kind,
            direction: Some(weight.direction),
            at: looked.at,
            began: weight.run.began,
            before,
            now,
            // Runs are bounded; that its samples are far out even one by one makes it surer.
            sure: sure(weight.surprise + weighed.spike.surprise, limit),
            surprise: weight.surprise,
        };
        let wait = SETTLE.max(Duration::from_millis((SETTLE_SAMPLES * self.pace.period()) as u64));
        let left_over = looked.deviation.left_over;
        self.attention = Attention::Settling(Settling::new(&finding, looked.at.plus(wait), mean, left_over));
        self.evidence.end_runs();
        Some(finding)
    }

    /// What was told as a shift is still moving.
    fn went_on(&self, settling: &Settling, at: Steady, by: f64) -> Finding {
        let direction = if by > 0.0 { Direction::Up } else { Direction::Down };
        let Settling { began, before, .. } = *settling;
        let (kind, now, limit) = (Kind::Drift, before + by, self.limit());
        Finding { kind, direction: Some(direction), at, began, before, now, sure: 0.95, surprise: limit }
    }

    /// A sample far out is a spike only once the metric has come back. If it does not, a run will tell.
    fn find_spike(&mut self, looked: &Looked, weight: &Weight) -> Option<Finding> {
        let limit = self.limit();
        let Some(mut pending) = self.pending.take() else {
            self.pending = (weight.surprise > limit).then_some(Pending {
                at: looked.at,
                direction: weight.direction,
                surprise: weight.surprise,
                before: looked.expected.base,
                value: looked.value,
                samples: 1,
            });
            return None;
        };
        if looked.deviation.out.abs() > BACK_SPREADS {
            pending.samples += 1;
            self.pending = (pending.samples <= SPIKE_SAMPLES_MAX).then_some(pending);
            return None;
        }
        Some(Finding {
            kind: Kind::Spike,
            direction: Some(pending.direction),
            at: looked.at,
            began: pending.at,
            before: pending.before,
            now: pending.value,
            sure: sure(pending.surprise, limit),
            surprise: pending.surprise,
        })
    }

    /// The wait is over: what has stayed is the new normal.
    fn settle(&mut self, settled: &Settled, looked: &Looked) {
        self.attention = Attention::Listening;
        self.evidence.drop_runs();
        if let Some((by, samples)) = settled.moved {
            self.expect.shift(by, samples);
        }
        if let Some(step) = settled.step {
            // The step from sample to sample, as the miss that makes such steps when a share is kept.
            let miss = step * ((1.0 + looked.expected.kept) / 2.0).max(0.0).sqrt();
            if miss > SPREAD_CHANGED * self.miss || miss * SPREAD_CHANGED < self.miss {
                self.miss = miss;
            }
        }
    }

    /// At the end of a day: was its round another one?
    pub(super) fn compare_days(&mut self, looked: &Looked) -> Option<Finding> {
        if self.expect.used() == Used::Flat {
            return None;
        }
        let strays = self.expect.strays(looked.at.0, looked.value)?;
        let day = looked.at.0 / DAY;
        let Strayed { began, usual, strayed } =
            self.rounds.step(day, looked.at, strays, self.pace.day_samples())?;
        self.rounds.forget();
        self.expect.forget_rounds(looked.at.0);
        self.evidence.drop_runs();
        Some(Finding {
            kind: Kind::Cycle,
            direction: None,
            at: looked.at,
            began,
            before: usual,
            now: strayed,
            sure: 0.9,
            surprise: self.limit(),
        })
    }
}

fn drifts(weight: &Weight) -> bool {
    let (mean, rise) = (weight.run.mean(), weight.run.rise());
    weight.run.samples >= DRIFT_SAMPLES_MIN && mean * rise > 0.0 && rise.abs() > DRIFT_RISE * mean.abs()
}

/// The chance that it is real, were real changes as frequent as the false alarms that are asked for.
fn sure(surprise: f64, limit: f64) -> f64 {
    1.0 / (1.0 + (limit - surprise).exp())
}
