//! What a lookout is doing: learning, listening, or waiting to see whether a change it found stays.

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Kind};
use crate::time::Steady;

/// The level has stayed when at least this share of the shift is there on average afterwards.
const STAYED_SHARE: f64 = 0.5;

/// A level that moved by this many times what was first found is still moving: of a step the two are alike, of a ramp the
/// half hour after it was found lies far above.
const WENT_ON: f64 = 1.7;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Attention {
    /// Weighs samples, but knows too little to find anything.
    Learning {
        left: u32,
    },
    Listening,
    /// Learns a level anew and weighs nothing meanwhile.
    Relearning {
        left: u32,
    },
    /// Found something and waits.
    Settling(Settling),
}

/// What samples are like since something was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settling {
    pub(super) kind: Kind,
    pub(super) began: Steady,
    pub(super) before: f64,
    until: Steady,
    claimed: f64,
    samples: f64,
    sum: f64,
    steps: f64,
    last: f64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settled {
    /// By how much the level has moved, if it stayed, and how many samples say so.
    pub(super) moved: Option<(f64, f64)>,
    /// The mean absolute step from sample to sample.
    pub(super) step: Option<f64>,
    /// Whether what seemed a shift went on: by how much it has moved by now.
    pub(super) drifted: Option<f64>,
}

impl Settling {
    /// `claimed` is by how much the level moved, as the run of the finding says.
    pub(super) fn new(finding: &Finding, until: Steady, claimed: f64, left_over: f64) -> Settling {
        let Finding { kind, began, before, .. } = *finding;
        Settling { kind, began, before, until, claimed, samples: 0.0, sum: 0.0, steps: 0.0, last: left_over }
    }

    /// Takes what a sample left over; says what came of the change once the time is up.
    pub(super) fn step(&mut self, at: Steady, left_over: f64) -> Option<Settled> {
        self.samples += 1.0;
        self.sum += left_over;
        self.steps += (left_over - self.last).abs();
        self.last = left_over;
        (at >= self.until).then(|| self.settled())
    }

    fn settled(&self) -> Settled {
        let mean = self.sum / self.samples;
        let stayed = mean * self.claimed > 0.0 && mean.abs() >= STAYED_SHARE * self.claimed.abs();
        let moved = match self.kind {
            Kind::Shift | Kind::Drift if stayed => Some((mean, self.samples)),
            Kind::Shift | Kind::Drift | Kind::Spike | Kind::Spread | Kind::Cycle | Kind::Missing => None,
        };
        let lasting = moved.is_some() || self.kind == Kind::Spread;
        let went_on = stayed && self.kind == Kind::Shift && mean.abs() > WENT_ON * self.claimed.abs();
        Settled { moved, step: lasting.then(|| self.steps / self.samples), drifted: went_on.then_some(mean) }
    }
}
