//! Noticing: the one place where the demo's lookout and its sentence are chosen.

use std::sync::LazyLock;

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_plot::{Band, number};
use holdfast_steward::detect::Direction;
use holdfast_steward::lookout::{Asked, Kind, Lookout, sentence};
use holdfast_steward_host::Quirk;

use crate::host::Host;
use crate::load::{Load, PERIOD};
use crate::world::time_of;

/// A week and a day before the curtain rises, in pieces that are quick to live through.
const PIECES: u32 = 8 * 12;
const SAMPLES_A_PIECE: u32 = 240;
const BEFORE: Duration = Duration::from_secs(PIECES as u64 * SAMPLES_A_PIECE as u64 * PERIOD.as_secs());

/// What was noticed, and how it is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Noticed {
    pub at: Steady,
    pub began: Steady,
    pub direction: Direction,
    pub from: f64,
    pub to: f64,
    /// How sure it is, from 0 to 1.
    pub sure: f64,
    pub sentence: String,
}

/// A lookout at work on one metric of one host.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    host: String,
    lookout: Lookout,
}

impl Seen {
    pub(crate) fn new(host: &str) -> Seen {
        Seen { host: host.to_owned(), lookout: QUIET_WEEK.lookout.clone() }
    }

    /// Takes a sample. A spike is nothing that anybody is sent for.
    pub(crate) fn step(&mut self, at: Steady, value: f64) -> Option<Noticed> {
        let finding = self.lookout.step(at.plus(BEFORE), Some(value)).finding?;
        let direction = finding.direction.filter(|_| matches!(finding.kind, Kind::Shift | Kind::Drift))?;
        let percent = |value: f64| format!("{} %", number(value.round()));
        let what = format!("Memory pressure on {}", self.host);
        Some(Noticed {
            at,
            began: on_stage(finding.began),
            direction,
            from: finding.before,
            to: finding.now,
            sure: finding.sure,
            sentence: sentence(&finding, &what, percent, |at| time_of(on_stage(at))),
        })
    }

    pub(crate) fn rebase(&mut self) {
        self.lookout.rebase();
    }

    /// What is normal on this host.
    pub(crate) fn normal() -> Band {
        QUIET_WEEK.normal
    }
}

/// A moment of the lookout's time, which began earlier, as one of the host's.
fn on_stage(at: Steady) -> Steady {
    Steady(at.0.saturating_sub(BEFORE.as_millis() as u64))
}

struct Learned {
    lookout: Lookout,
    normal: Band,
}

/// What a lookout has learned in a week in which nothing happens to such a host.
static QUIET_WEEK: LazyLock<Learned> = LazyLock::new(|| {
    let mut lookout = Lookout::new(Asked { period: Some(PERIOD), ..Asked::default() });
    let mut normal = Band { low: 0.0, high: 0.0 };
    for (at, value) in (0..PIECES).flat_map(piece) {
        let judgement = lookout.step(at, Some(value));
        normal = Band { low: judgement.low.max(0.0), high: judgement.high };
    }
    Learned { lookout, normal }
});

fn piece(which: u32) -> Vec<(Steady, f64)> {
    let host = Host::new(which.into(), Quirk::Fine);
    let load = Load { seed: which.into(), ..Load::default() };
    let offset = PERIOD * (which * SAMPLES_A_PIECE);
    let mut at = Steady(0);
    let mut samples = Vec::new();
    for _ in 0..SAMPLES_A_PIECE {
        let next = at.plus(PERIOD);
        host.advance(at, next, &load);
        at = next;
        samples.push((at.plus(offset), host.seen().metric()));
    }
    samples
}
