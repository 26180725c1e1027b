//! What a unit would use if nothing held it back: a course over time for memory and for processors.

use std::time::Duration;

use holdfast_lifeline::Steady;

const DAY: f64 = 86_400_000.0;
const HOUR: f64 = 3_600_000.0;
/// Noise is drawn anew this often, and goes straight from one draw to the next: load wanders, it does not jump.
const WANDERS_EVERY: u64 = 300_000;

/// A figure over time: a level, its steps, a daily round, and some wandering.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    pub level: f64,
    /// How far the daily round goes up and down, as a share of the level.
    pub daily: f64,
    /// When the round is at its middle and rising, as a share of the day.
    pub phase: f64,
    /// How far it wanders, as a share of the level.
    pub wander: f64,
    /// From these moments on the level is so many times itself, in the order of time.
    pub steps: Vec<(Steady, f64)>,
}

impl Course {
    pub fn steady(level: f64) -> Course {
        Course { level, daily: 0.0, phase: 0.0, wander: 0.0, steps: Vec::new() }
    }

    pub fn at(&self, now: Steady, seed: u64) -> f64 {
        let step = self.steps.iter().rev().find(|(from, _)| *from <= now).map_or(1.0, |(_, factor)| *factor);
        let round = if self.daily == 0.0 {
            0.0
        } else {
            self.daily * ((now.0 as f64 / DAY + self.phase) * std::f64::consts::TAU).sin()
        };
        let wander = if self.wander == 0.0 { 0.0 } else { self.wander * wandering(now, seed) };
        (self.level * step * (1.0 + round + wander)).max(0.0)
    }
}

/// Memory that is taken and never given back, from a moment on, in every life of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leak {
    pub from: Steady,
    pub per_hour: f64,
}

impl Leak {
    /// What a process that has lived for so long has lost.
    pub(super) fn lost(&self, now: Steady, age: Duration) -> f64 {
        let leaking = now.since(self.from).min(age);
        self.per_hour * leaking.as_millis() as f64 / HOUR
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The working set in bytes.
    pub memory: Course,
    /// The part of it that cannot be had back by reclaiming: what lies beyond the limit of this is a kill.
    pub firm: f64,
    pub leak: Option<Leak>,
    /// Processors.
    pub cpu: Course,
    /// How steeply want of memory turns into waiting: a store that scans its pages suffers at once, a batch job hardly.
    pub sensitivity: f64,
    /// How long an answer takes when nothing is in the way, in milliseconds.
    pub latency: f64,
}

/// From −1 to 1, the same for the same moment and seed.
fn wandering(now: Steady, seed: u64) -> f64 {
    let cell = now.0 / WANDERS_EVERY;
    let part = (now.0 % WANDERS_EVERY) as f64 / WANDERS_EVERY as f64;
    let draw = |cell: u64| unit_interval(hash(seed, cell)) * 2.0 - 1.0;
    draw(cell) * (1.0 - part) + draw(cell + 1) * part
}

/// SplitMix64 of the two.
pub(super) fn hash(seed: u64, number: u64) -> u64 {
    let mut z = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(super) fn unit_interval(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
