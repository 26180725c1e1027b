//! What speaks for a change: one sample far out, runs to one side, a leap that stays, and runs of unusual scatter. Each kind
//! of evidence is told as how rarely it comes by chance, counted from the metric's own past, so kinds and metrics can be
//! compared.
//!
//! Single samples are judged as they are. Runs are sums of samples that are centred, scaled and bounded first, so one
//! sample however far out adds no more than a few spreads: a lone spike cannot be a run.

use serde::{Deserialize, Serialize};

use super::centre::Centre;
use super::finding::Kind;
use super::leap::{Landed, Leap};
use super::steps::Steps;
use super::sums::{Run, Side, Summed};
use super::tail::{Fall, Scheme, Tail};
use crate::detect::Direction;
use crate::time::Steady;

/// The logarithm of how many spreads a sample is out. Guessed before anything is known: a power law of third degree, as
/// heavy as the tails of latencies and loads commonly are.
const SPIKE: Scheme = Scheme { low: 0.0, width: 0.125, guessed_share: 0.15, guessed_fall: 3.0 };

/// Sums with these allowances: half the shift that is found soonest, so shifts of two spreads and of half a spread. The
/// tail of such a sum falls by twice the allowance for normal samples (Siegmund, 1985); guessed is somewhat less.
const FAST_ALLOWANCE: f64 = 1.0;
const FAST: Scheme = Scheme { low: 0.0, width: 0.25, guessed_share: 0.12, guessed_fall: 1.5 };
const SLOW_ALLOWANCE: f64 = 0.25;
const SLOW: Scheme = Scheme { low: 0.0, width: 0.75, guessed_share: 0.15, guessed_fall: 0.4 };
const SPREAD_ALLOWANCE: f64 = 0.5;
const SPREAD: Scheme = Scheme { low: 0.0, width: 0.5, guessed_share: 0.15, guessed_fall: 0.8 };

/// How the false alarms that are asked for are shared out. They add up to more than one because kinds often alarm at the
/// same run; the sum was set by measuring false alarms on made noise. Single samples get least: their tail is the hardest to tell,
/// and nothing is planned because of them.
const SHARE_SPIKE: f64 = 0.06;
const SHARE_FAST: f64 = 0.53;
const SHARE_SLOW: f64 = 0.40;
const SHARE_LEAP: f64 = 0.09;
const SHARE_SPREAD: f64 = 0.245;

/// What a sample adds to a run is bounded here, in spreads: three samples in a row of a large shift suffice, one does not.
const BOUND: f64 = 3.0;

/// A shift has at least this many samples on its side, a change of scatter this many beyond its allowance.
const SHIFT_SAMPLES_MIN: u32 = 3;
const SPREAD_SAMPLES_MIN: u32 = 6;

/// Scatter is reckoned in logarithms of spreads between these: nothing smaller or larger says more about it.
const SCATTER_MIN: f64 = 0.1;
const SCATTER_MAX: f64 = 7.0;

/// Single samples further out count as this far, where the last bin lies: a metric that is still most of the time has a
/// tiny spread, and must not surprise anew each time it moves.
const SPREADS_TOLD: f64 = 180.0;

/// A sample within this many spreads of what was expected is just as expected. A metric of which this share of samples
/// are is mostly still; how long it stays so says nothing about its scatter.
const STILL: f64 = 0.25;
const STILL_SHARE: f64 = 0.5;

/// A sample, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deviation {
    pub(super) at: Steady,
    /// By how many spreads it missed what was expected.
    pub(super) spreads: f64,
    /// The same in the metric's unit.
    pub(super) missed: f64,
    /// By how much it missed what the picture says, without what is carried over from the last sample.
    pub(super) left_over: f64,
    /// The same in spreads of what the picture leaves over: how far out of place the sample is, however it got there.
    pub(super) out: f64,
    /// The share that is kept of the last sample.
    pub(super) kept: f64,
    /// The spread of misses, and of what the picture leaves over, in the metric's unit.
    pub(super) unit: f64,
    pub(super) place: f64,
    pub(super) follows: Follows,
}

/// Whether a sample follows the last one closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    Closely,
    AfterGap,
}

/// One kind of evidence at this sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weight {
    pub(super) direction: Direction,
    /// The logarithm of how many samples go by until chance brings as much, the share of the kind taken into account.
    pub(super) surprise: f64,
    pub(super) run: Run,
}

/// All evidence at one sample; each kind with its weightier side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed {
    pub(super) spike: Weight,
    pub(super) fast: Weight,
    pub(super) slow: Weight,
    pub(super) leap: Weight,
    pub(super) spread: Weight,
}

impl Weighed {
    pub(super) fn nothing() -> Weighed {
        let nothing = Weight::NOTHING;
        Weighed { spike: nothing, fast: nothing, slow: nothing, leap: nothing, spread: nothing }
    }

    /// How surprising the sample is by itself, whatever share of false alarms single samples have.
    pub(super) fn single_surprise(&self) -> f64 {
        if self.spike.surprise > 0.0 { self.spike.surprise - (SHARE_SPIKE / 0.3).ln() } else { 0.0 }
    }

    /// The run that is beyond the limit, if any, and whether it is one of level or of scatter. A change of level also
    /// scatters, and more scatter also makes runs to one side: which it is shows in whether samples lie to both sides.
    pub(super) fn run_beyond(&self, limit: f64, slow: Slow) -> Option<(Kind, &Weight)> {
        let level = match slow {
            Slow::Counts if self.slow.surprise > self.fast.surprise => &self.slow,
            Slow::Counts | Slow::Waits => &self.fast,
        };
        let level = if self.leap.surprise > level.surprise { &self.leap } else { level };
        let wider = self.spread.direction == Direction::Up && self.spread.surprise > SPEAKS * level.surprise;
        let one_sided = self.spread.run.one_sided() >= ONE_SIDED;
        if level.surprise > limit && (one_sided || !wider) {
            return Some((Kind::Shift, level));
        }
        let narrower = self.spread.direction == Direction::Down;
        (self.spread.surprise > limit && (narrower || !one_sided)).then_some((Kind::Spread, &self.spread))
    }
}

/// Whether slow changes are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slow {
    Counts,
    Waits,
}

/// Of samples that scatter about an unchanged level, more than this rarely lies to one side on balance.
const ONE_SIDED: f64 = 0.6;

/// From this share of a level's surprise on, scatter has a say in what the level's run is.
const SPEAKS: f64 = 0.15;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Evidence {
    level: Centre,
    scatter: Centre,
    /// The share of samples that are just as expected.
    still: f64,
    level_steps: Steps,
    scatter_steps: Steps,
    spike: [Tail; 2],
    fast: [Side; 2],
    slow: [Side; 2],
    spread: [Side; 2],
    leap: Leap,
}

/// Whether a sample counts among those that tell how rare others are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Yes,
    No,
}

const DIRECTIONS: [(Direction, f64); 2] = [(Direction::Up, 1.0), (Direction::Down, -1.0)];

impl Evidence {
    pub(super) fn new() -> Evidence {
        Evidence {
            level: Centre::guessed(0.0),
            // The mean logarithm of a normal figure's size, with SCATTER_MIN added, lies about here.
            scatter: Centre::guessed(-0.4),
            still: 0.0,
            level_steps: Steps::new(),
            scatter_steps: Steps::new(),
            spike: [(); 2].map(|()| Tail::new(&SPIKE)),
            fast: [(); 2].map(|()| Side::new(&FAST)),
            slow: [(); 2].map(|()| Side::new(&SLOW)),
            spread: [(); 2].map(|()| Side::new(&SPREAD)),
            leap: Leap::new(),
        }
    }

    /// Weighs a sample and learns from it. `rate` is its share in what remembers a day.
    pub(super) fn weigh(&mut self, deviation: &Deviation, rate: f64) -> Weighed {
        let (level, scatter) = self.learn(deviation, rate);
        let Deviation { at, missed, left_over, .. } = *deviation;
        let moved = Summed { at, figure: left_over, signed: left_over };
        let scattered = Summed { at, figure: missed.abs(), signed: missed };
        let fast = weigh_runs(&mut self.fast, &FAST, level, FAST_ALLOWANCE, &moved);
        let slow = weigh_runs(&mut self.slow, &SLOW, level, SLOW_ALLOWANCE, &moved);
        let spread = weigh_runs(&mut self.spread, &SPREAD, scatter, SPREAD_ALLOWANCE, &scattered);
        let spread = if self.still < STILL_SHARE { spread } else { Weight::NOTHING };
        Weighed {
            spike: self.weigh_single(deviation.out, Count::Yes),
            fast: fast.shared(SHARE_FAST, SHIFT_SAMPLES_MIN),
            slow: slow.shared(SHARE_SLOW, SHIFT_SAMPLES_MIN),
            leap: self.weigh_leap(deviation),
            spread: spread.shared(SHARE_SPREAD, SPREAD_SAMPLES_MIN),
        }
    }

    /// Learns from a sample and weighs it by itself, while too little is known for runs.
    pub(super) fn acquaint(&mut self, deviation: &Deviation, rate: f64) -> Weighed {
        self.learn(deviation, rate);
        Weighed { spike: self.weigh_single(deviation.out, Count::Yes), ..Weighed::nothing() }
    }

    /// Where the sample and its size lie among those before, bounded, in spreads.
    fn learn(&mut self, deviation: &Deviation, rate: f64) -> (f64, f64) {
        let bounded = deviation.spreads.clamp(-BOUND - 1.0, BOUND + 1.0);
        let level = self.level.standard(bounded, BOUND);
        let size = (deviation.spreads.abs() + SCATTER_MIN).min(SCATTER_MAX).ln();
        let scatter = self.scatter.standard(size, BOUND);
        let still = if deviation.spreads.abs() < STILL { 1.0 } else { 0.0 };
        self.still += (1.0 / self.level.samples).max(rate) * (still - self.still);
        self.level_steps.count(level);
        self.scatter_steps.count(scatter);
        self.level.learn(bounded, rate);
        self.scatter.learn(size, rate);
        (level, scatter)
    }

    fn weigh_leap(&mut self, deviation: &Deviation) -> Weight {
        let Deviation { at, left_over, kept, unit, place, .. } = *deviation;
        if deviation.follows == Follows::AfterGap {
            self.leap.forget();
        }
        let leapt = self.leap.step(&Landed { at, left_over, kept, unit, place });
        // Both ways are counted together, so the share is not halved.
        leapt.map_or(Weight::NOTHING, |(direction, surprise, run)| {
            Weight { direction, surprise, run }.shared(2.0 * SHARE_LEAP, SHIFT_SAMPLES_MIN)
        })
    }

    /// Takes what was counted since into the tails.
    pub(super) fn fit(&mut self) {
        self.spike.iter_mut().for_each(|tail| tail.fit(&SPIKE, Fall::Guessed));
        self.leap.fit();
        let runs = [
            (&mut self.fast, &FAST, &self.level_steps, FAST_ALLOWANCE),
            (&mut self.slow, &SLOW, &self.level_steps, SLOW_ALLOWANCE),
            (&mut self.spread, &SPREAD, &self.scatter_steps, SPREAD_ALLOWANCE),
        ];
        for (sides, scheme, steps, allowance) in runs {
            for ((_, sign), side) in DIRECTIONS.into_iter().zip(sides) {
                side.tail.fit(scheme, Fall::Theory(steps.fall(sign, allowance)));
            }
        }
    }

    /// Ends all runs at a finding. What they came to is counted: were it left out, false alarms would make the tails
    /// seem lighter than they are.
    pub(super) fn end_runs(&mut self) {
        self.leap.forget();
        for (sides, scheme) in [(&mut self.fast, &FAST), (&mut self.slow, &SLOW), (&mut self.spread, &SPREAD)]
        {
            sides.iter_mut().for_each(|side| side.end(scheme));
        }
    }

    /// Drops all runs uncounted.
    pub(super) fn drop_runs(&mut self) {
        self.leap.forget();
        for sides in [&mut self.fast, &mut self.slow, &mut self.spread] {
            sides.iter_mut().for_each(Side::drop_run);
        }
    }

    /// Weighs a sample by itself and learns nothing, while what it would be measured against is not known.
    pub(super) fn weigh_alone(&mut self, deviation: &Deviation) -> Weighed {
        Weighed { spike: self.weigh_single(deviation.out, Count::No), ..Weighed::nothing() }
    }

    /// How many spreads out a sample is, up and down, that comes by chance at a rate with this logarithm.
    pub(super) fn band(&self, log_rate: f64) -> (f64, f64) {
        let [up, down] = &self.spike;
        (down.height_at(log_rate).exp(), up.height_at(log_rate).exp())
    }

    fn weigh_single(&mut self, spreads: f64, count: Count) -> Weight {
        let mut weight = Weight::NOTHING;
        for ((direction, sign), tail) in DIRECTIONS.into_iter().zip(&mut self.spike) {
            let out = (sign * spreads).min(SPREADS_TOLD);
            if out >= 1.0 {
                weight = Weight { direction, surprise: -tail.log_rate(&SPIKE, out.ln()), ..weight };
            }
            if count == Count::Yes {
                tail.sample();
                if out >= 1.0 {
                    tail.count(&SPIKE, out.ln());
                }
            }
        }
        weight.shared(SHARE_SPIKE, 0)
    }
}

impl Weight {
    const NOTHING: Weight = Weight { direction: Direction::Up, surprise: 0.0, run: Run::NONE };

    /// Both sides share the kind's share; a run that is too short yet weighs nothing.
    fn shared(self, share: f64, samples_min: u32) -> Weight {
        let counts = self.run.beyond >= samples_min;
        let surprise = if counts { (self.surprise + (share / 2.0).ln()).max(0.0) } else { 0.0 };
        Weight { surprise, ..self }
    }
}

fn weigh_runs(
    sides: &mut [Side; 2],
    scheme: &Scheme,
    figure: f64,
    allowance: f64,
    sample: &Summed,
) -> Weight {
    let mut weight = Weight::NOTHING;
    for ((direction, sign), side) in DIRECTIONS.into_iter().zip(sides) {
        side.step(scheme, sign * figure - allowance, sample);
        let surprise = side.surprise(scheme);
        if surprise > weight.surprise {
            weight = Weight { direction, surprise, run: side.run };
        }
    }
    weight
}
