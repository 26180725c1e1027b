//! What was seen of a unit in the last two days, and the facts that follow from it.
//!
//! A process has lives: each restart begins one. How memory goes within a life tells a working set that does not fit
//! (back at the limit within minutes of every start) from a leak (hours, and the same way each time).

mod round;

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Steady;

/// Two daily rounds: each moment of the last can be held against the same one of the day before.
const KEPT_FOR: Duration = Duration::from_secs(48 * 3600);
/// More would be sampled too often to be of use: two days at 30 seconds.
const SEEN_MAX: usize = 5760;
const DAY: Duration = Duration::from_secs(24 * 3600);
const LIVES_MAX: usize = 8;
/// Figures that change by the minute are averaged over this.
const LATELY: Duration = Duration::from_secs(15 * 60);
/// What a process takes in its first minutes is its start and no growth.
const WARM_AFTER: Duration = Duration::from_secs(10 * 60);
/// Readings that differ by less stand still: in points, and as a share.
const MOVING_MIN: f64 = 3.0;
const MOVING_SHARE: f64 = 0.2;
/// Over which time a rise counts as a jump and not as growth.
const JUMP_WITHIN: Duration = Duration::from_secs(15 * 60);

/// One collection of one unit. Nothing where it could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    pub memory: Option<u64>,
    /// Its own memory pressure, `some` over a minute, in percent.
    pub pressure: Option<f64>,
    pub throttled: Option<f64>,
    pub cpu_use: Option<f64>,
    /// The share of time it waited for a processor, in percent.
    pub cpu_wait: Option<f64>,
    pub latency: Option<f64>,
    pub restarts: u64,
    pub kills: u64,
}

/// Waiting beyond this says no more about how much was wanted, in percent.
const WAIT_MAX: f64 = 90.0;

impl Seen {
    /// The processors it would have used had it not waited for any.
    fn cpu_wanted(&self) -> Option<f64> {
        let waits = self.cpu_wait.filter(|waits| waits.is_finite()).unwrap_or(0.0);
        self.cpu_use.map(|used| used / (1.0 - waits.clamp(0.0, WAIT_MAX) / 100.0))
    }
}

/// How memory went in one life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    pub lasted: Duration,
    /// From the least to the most, as a share of what is in use.
    pub rise: f64,
    /// The furthest it fell on the way, as a share of the rise.
    pub fall: f64,
    /// The most it rose at once, as a share of the rise.
    pub jump: f64,
}

/// A rise worth calling growth: a tenth, which no wandering of a settled working set reaches.
const RISE_MIN: f64 = 0.1;
/// What falls by a third of its rise gives memory back, and what jumps by that much was asked for more.
const FALL_MAX: f64 = 0.33;
const JUMP_MAX: f64 = 0.33;
/// Less is a start.
const GROWS_FOR_MIN: Duration = Duration::from_secs(2 * 3600);

impl Growth {
    /// Whether it only ever grew.
    pub fn is_endless(&self) -> bool {
        self.lasted >= GROWS_FOR_MIN
            && self.rise >= RISE_MIN
            && self.fall <= FALL_MAX
            && self.jump <= JUMP_MAX
    }
}

/// A life that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    pub lasted: Duration,
    pub killed: bool,
    /// Nothing where too little was seen of it.
    pub growth: Option<Growth>,
}

/// What follows from all that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    pub memory: Option<u64>,
    pub pressure: Option<f64>,
    pub cpu_use: Option<f64>,
    pub cpu_wait: Option<f64>,
    /// The most processors it is to be expected to want within a day.
    pub cpu_peak: Option<f64>,
    /// Answer time lately, and what is usual, in milliseconds.
    pub latency: Option<f64>,
    pub latency_usual: Option<f64>,
    /// The life that goes on.
    pub growth: Option<Growth>,
    /// Those that are over, the latest last.
    pub lives: Vec<Life>,
    /// Whether what it suffers from is still changing by the minute.
    pub moving: bool,
    /// For how long it has been watched.
    pub watched: Duration,
}

#[derive(Clone, Debug, Default)]
pub struct History {
    seen: VecDeque<(Steady, Seen)>,
    lives: VecDeque<Life>,
    /// When the life that goes on began; nothing when that was before anybody looked.
    began: Option<Steady>,
    first: Option<Steady>,
}

impl History {
    /// Takes the next collection in. One that is not later than the last is passed over.
    pub fn add(&mut self, at: Steady, seen: Seen) {
        let last = self.seen.back().copied();
        if last.is_some_and(|(then, _)| at <= then) {
            return;
        }
        self.first.get_or_insert(at);
        if let Some((then, before)) = last.filter(|(_, before)| seen.restarts != before.restarts) {
            let since = self.began.or(self.first).unwrap_or(then);
            let killed = seen.kills > before.kills;
            let life = Life { lasted: at.since(since), killed, growth: self.growth() };
            self.lives.push_back(life);
            while self.lives.len() > LIVES_MAX {
                self.lives.pop_front();
            }
            self.began = Some(at);
        }
        self.seen.push_back((at, seen));
        while self.seen.len() > SEEN_MAX
            || self.seen.front().is_some_and(|(then, _)| at.since(*then) > KEPT_FOR)
        {
            self.seen.pop_front();
        }
    }

    /// What was changed is not what was seen before: lives begin anew.
    pub fn forget_lives(&mut self) {
        self.lives.clear();
    }

    /// Kills and restarts within this time.
    pub fn counted_within(&self, span: Duration) -> (u64, u64) {
        let Some((now, last)) = self.seen.back() else { return (0, 0) };
        let within = self.seen.iter().rev().take_while(|(at, _)| now.since(*at) <= span);
        let mut first = last;
        for (_, seen) in within {
            // A count that fell began anew at a boot.
            if seen.restarts > first.restarts || seen.kills > first.kills {
                break;
            }
            first = seen;
        }
        (last.kills.saturating_sub(first.kills), last.restarts.saturating_sub(first.restarts))
    }

    /// The most memory in use within all that is kept.
    pub fn peak(&self) -> Option<u64> {
        self.seen.iter().filter_map(|(_, seen)| seen.memory).max()
    }

    pub fn throttled(&self) -> Option<f64> {
        self.lately(|seen| seen.throttled)
    }

    pub fn facts(&self) -> Facts {
        let last = self.seen.back().map(|(at, _)| *at);
        Facts {
            memory: self.seen.back().and_then(|(_, seen)| seen.memory),
            pressure: self.lately(|seen| seen.pressure),
            cpu_use: self.lately(|seen| seen.cpu_use),
            cpu_wait: self.lately(|seen| seen.cpu_wait),
            cpu_peak: round::peak(self.seen.iter().filter_map(|(at, seen)| Some((*at, seen.cpu_wanted()?)))),
            latency: self.lately(|seen| seen.latency),
            latency_usual: None,
            growth: self.growth(),
            lives: self.lives.iter().copied().collect(),
            moving: self.is_moving(),
            watched: last.zip(self.first).map_or(Duration::ZERO, |(last, first)| last.since(first)),
        }
    }

    /// The mean of the last quarter of an hour, or of the last two readings where that is more: what has just begun is as bad
    /// as it is now.
    fn lately(&self, figure: fn(&Seen) -> Option<f64>) -> Option<f64> {
        let now = self.seen.back()?.0;
        let recent = self.seen.iter().rev().take_while(|(at, _)| now.since(*at) <= LATELY);
        let (mut sum, mut count, mut latest) = (0.0, 0u32, f64::NEG_INFINITY);
        for value in recent.filter_map(|(_, seen)| figure(seen)).filter(|value| value.is_finite()) {
            sum += value;
            count += 1;
            if count <= 2 {
                latest = sum / f64::from(count);
            }
        }
        (count > 0).then(|| (sum / f64::from(count)).max(latest))
    }

    /// Whether what it suffers from is still on the move: the last two readings differ by a fifth, and by points that matter.
    fn is_moving(&self) -> bool {
        let mut newest = self.seen.iter().rev().map(|(_, seen)| seen);
        let (Some(last), Some(before)) = (newest.next(), newest.next()) else { return false };
        let figures: [fn(&Seen) -> Option<f64>; 3] =
            [|seen| seen.pressure, |seen| seen.cpu_wait, |seen| seen.throttled.map(|share| share * 100.0)];
        figures.iter().any(|figure| {
            let pair = figure(last).zip(figure(before));
            pair.is_some_and(|(now, then)| (now - then).abs() > MOVING_MIN.max(now.abs() * MOVING_SHARE))
        })
    }

    /// How memory went in the life that goes on, without its start. A life that saw the day before is held against
    /// that, so that a daily round is no growth; a younger one can only be held against itself.
    fn growth(&self) -> Option<Growth> {
        let from = self.began.map(|began| began.plus(WARM_AFTER)).or(self.first)?;
        let last = self.seen.back()?.0;
        let life = self.seen.iter().filter(|(at, _)| *at >= from);
        let mut life = life.filter_map(|(at, seen)| Some((*at, seen.memory? as f64)));
        let mut course = Rising::default();
        if last.since(from) <= DAY.saturating_add(GROWS_FOR_MIN) {
            life.for_each(|(at, memory)| course.take(at, memory));
            return course.growth(from, 0.0);
        }
        let mut yesterday = self.seen.iter().filter(|(at, _)| *at >= from);
        let (mut then, mut usual) = (Steady(0), None);
        let mut level = 0.0;
        for (at, memory) in life.by_ref().skip_while(|(at, _)| at.since(from) < DAY) {
            while then.plus(DAY) < at {
                let Some((next, seen)) = yesterday.next() else { break };
                (then, usual) = (*next, seen.memory.map(|memory| memory as f64).or(usual));
            }
            if let Some(usual) = usual {
                course.take(at, memory - usual);
                level = usual;
            }
        }
        course.growth(from, level)
    }
}

/// One walk over a life, in blocks of a quarter of an hour, so that wandering is not taken for a fall.
#[derive(Default)]
struct Rising {
    least: Option<f64>,
    most: f64,
    /// The furthest below the most so far, and what of it had been made up for.
    dip: f64,
    fall: f64,
    jump: f64,
    /// The two blocks before, the latest first.
    before: [Option<f64>; 2],
    last: Option<(Steady, f64)>,
    block: Option<(Steady, f64, u32)>,
}

impl Rising {
    fn take(&mut self, at: Steady, value: f64) {
        match &mut self.block {
            Some((began, sum, count)) if at.since(*began) < JUMP_WITHIN => {
                *sum += value;
                *count += 1;
            }
            _ => {
                self.close();
                self.block = Some((at, value, 1));
            }
        }
        if let Some((_, sum, count)) = self.block {
            self.last = Some((at, sum / f64::from(count)));
        }
    }

    fn close(&mut self) {
        let Some((_, sum, count)) = self.block.take() else { return };
        let value = sum / f64::from(count);
        if self.least.is_none_or(|least| value < least) {
            // From a new least on everything begins anew: what came before is no part of this rise.
            (self.least, self.most, self.fall, self.jump) = (Some(value), value, 0.0, 0.0);
            self.dip = 0.0;
            self.before = [None; 2];
        }
        // A fall counts once it was made up for: held at its throttle, a unit cannot rise any further.
        self.dip = self.dip.max(self.most - value);
        if value >= self.most {
            (self.most, self.fall) = (value, self.dip);
        }
        if let Some(before) = self.before[1].or(self.before[0]) {
            self.jump = self.jump.max(value - before);
        }
        self.before = [Some(value), self.before[0]];
    }

    /// `level` is what is in use beside what was taken in here.
    fn growth(&self, began: Steady, level: f64) -> Option<Growth> {
        let ((at, last), least) = (self.last?, self.least?);
        // What has given half of it back does not grow any more.
        let rise = if last >= (self.most + least) / 2.0 { self.most.max(last) - least } else { last - least };
        let share = |part: f64| if rise > 0.0 { part / rise } else { 0.0 };
        let in_use = level + last;
        let of_use = if in_use > 0.0 { rise / in_use } else { 0.0 };
        Some(Growth { lasted: at.since(began), rise: of_use, fall: share(self.fall), jump: share(self.jump) })
    }
}
