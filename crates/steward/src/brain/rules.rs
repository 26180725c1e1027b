//! The brain that is built in: a few rules about memory and CPU, in the order of their urgency.
//!
//! What holds: an answer changes one setting, or memory's limit and throttle together; each step stays within the
//! bounds it is given, within the memory that is left, and is a whole number of MiB; a value that was rolled back or
//! rejected lately is not proposed again. Settings without a value are left alone: giving a first one is for people.

mod proposal;

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::policy;
use crate::sample::{EndpointName, Label};
use crate::setting::{Change, Property, Setting, UnitName, Value};

use proposal::{Answer, Proposal};

const MIB: u64 = 1 << 20;

/// Mean memory pressure from which it is worth acting, in percent.
const PRESSURE_MIN: f64 = 10.0;

/// Use beyond this share of a limit is at the limit, in percent.
const CLOSE_PERCENT: u64 = 95;

/// Restarts that make a unit suspect, if memory is also at its limit.
const RESTARTS_MIN: u64 = 3;

/// The share of scheduling periods in which a quota stopped the unit, from which it holds the unit back.
const THROTTLED_MIN: f64 = 0.1;

/// A unit that never used half of its limit has memory to give back.
const UNUSED_PERCENT: u64 = 50;

/// Steps tried in turn, as percent of the largest allowed: where the full step is barred, a smaller one may do.
const STEPS: [u64; 3] = [100, 50, 25];

/// How much of the largest allowed step is given back at once: half of it. Too little memory hurts, too much does not.
const GIVE_BACK: [u64; 2] = [50, 25];

/// How far a change may go: as far as the policy lets the steward go by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub memory_max: policy::Bounds,
    pub memory_high: policy::Bounds,
    pub cpu_quota: policy::Bounds,
    pub nice: policy::Bounds,
}

impl Default for Bounds {
    fn default() -> Bounds {
        use policy::table::{CPU_QUOTA, MEMORY_HIGH, MEMORY_MAX, NICE};
        Bounds { memory_max: MEMORY_MAX, memory_high: MEMORY_HIGH, cpu_quota: CPU_QUOTA, nice: NICE }
    }
}

/// A managed unit: its settings now, and what was seen of it lately.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitView {
    pub memory_max: Value,
    pub memory_high: Value,
    pub cpu_quota: Value,
    pub nice: Value,
    /// The most memory it used; none where it is not known.
    pub peak: Option<u64>,
    pub oom_kills: u64,
    pub restarts: u64,
    /// The share of scheduling periods in which its quota stopped it, from 0 to 1.
    pub throttled: f64,
    /// The endpoint it answers, if the monitor has one.
    pub endpoint: Option<EndpointName>,
}

/// What became of an earlier change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub change: Change,
    pub outcome: Outcome,
}

/// All that the rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub units: BTreeMap<UnitName, UnitView>,
    /// Mean memory pressure of the host lately, in percent.
    pub pressure: Option<f64>,
    /// How much the memory limits may still grow together.
    pub headroom: u64,
    pub outcomes: Vec<Earlier>,
    pub bounds: Bounds,
    /// Whether something outside the recent pattern is asked for.
    pub exploration: bool,
    /// Old data proposes nothing.
    pub stale: bool,
    /// Where the target is probed.
    pub host: Label,
}

/// The answer to a view, as JSON: one proposal, or why there is none.
pub fn propose(view: &View) -> String {
    let answer = match choose(view) {
        Ok(proposal) => Answer::Proposal(Box::new(proposal)),
        Err(why) => Answer::NoAction { no_action: why },
    };
    // Strings, numbers and a finite float: there is nothing in it that could fail.
    serde_json::to_string(&answer)
        .unwrap_or_else(|_| r#"{"no_action":"the answer could not be written"}"#.to_owned())
}

fn choose(view: &View) -> Result<Proposal, &'static str> {
    if view.stale {
        return Err("the data is too old to decide by");
    }
    let ideas = ideas(view);
    let some = !ideas.is_empty();
    let fits = |idea: &Idea| !view.exploration || !was_tried(view, idea);
    let found = ideas.into_iter().filter(|idea| fits(idea)).find_map(|idea| idea.within(view));
    found.map(|step| step.proposal(view)).ok_or(match (some, view.exploration) {
        (false, _) => "nothing was seen that one of the settings in scope would help",
        (true, true) => "every setting that might help was tried lately",
        (true, false) => "what might help is barred by bounds, by the memory left, or by an earlier rollback",
    })
}

/// Exploring means a setting that the recent past did not keep changing. One that was rolled back may be tried
/// differently; the same value never is.
fn was_tried(view: &View, idea: &Idea) -> bool {
    let same = |earlier: &Earlier| {
        earlier.change.setting.unit == *idea.unit && earlier.change.setting.property == idea.kind.property()
    };
    view.outcomes.iter().any(|earlier| same(earlier) && earlier.outcome.is_accepted())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    RelieveKills,
    RelievePressure,
    Unthrottle,
    Prefer,
    GiveBack,
}

impl Kind {
    fn property(self) -> Property {
        match self {
            Kind::RelieveKills | Kind::GiveBack => Property::MemoryMax,
            Kind::RelievePressure => Property::MemoryHigh,
            Kind::Unthrottle => Property::CpuQuota,
            Kind::Prefer => Property::Nice,
        }
    }
}

/// Something that would help a unit, before it is known how far it may go.
struct Idea<'a> {
    kind: Kind,
    unit: &'a UnitName,
    seen: &'a UnitView,
}

/// What would help, the most urgent first; among equals the worst off, then by name.
fn ideas(view: &View) -> Vec<Idea<'_>> {
    let pressed = view.pressure.is_some_and(|mean| mean >= PRESSURE_MIN);
    let mut ideas = Vec::new();
    for (unit, seen) in &view.units {
        let mut add = |kind, applies| {
            if applies {
                ideas.push(Idea { kind, unit, seen });
            }
        };
        let short = seen.is_short_of_memory();
        add(Kind::RelieveKills, short);
        add(Kind::RelievePressure, pressed && seen.is_close_to(seen.memory_high));
        add(Kind::Unthrottle, seen.throttled >= THROTTLED_MIN);
        // A little more of the processor helps now and then; it is a guess, so only exploring makes it.
        add(Kind::Prefer, view.exploration && pressed);
        add(Kind::GiveBack, !short && !pressed && seen.has_memory_to_spare());
    }
    ideas.sort_by_key(|idea| (idea.kind, std::cmp::Reverse(idea.seen.oom_kills)));
    ideas
}

impl UnitView {
    fn is_short_of_memory(&self) -> bool {
        self.oom_kills > 0 || self.restarts >= RESTARTS_MIN && self.is_close_to(self.memory_max)
    }

    fn is_close_to(&self, limit: Value) -> bool {
        let share =
            |peak: u64, limit: u64| u128::from(peak) * 100 >= u128::from(limit) * u128::from(CLOSE_PERCENT);
        self.peak.zip(bytes(limit)).is_some_and(|(peak, limit)| share(peak, limit))
    }

    fn has_memory_to_spare(&self) -> bool {
        let share =
            |peak: u64, limit: u64| u128::from(peak) * 100 < u128::from(limit) * u128::from(UNUSED_PERCENT);
        self.peak.zip(bytes(self.memory_max)).is_some_and(|(peak, limit)| share(peak, limit))
    }
}

fn bytes(value: Value) -> Option<u64> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Percent(_) | Value::Number(_) | Value::Infinity | Value::Unset => None,
    }
}

/// A change that may be proposed, with its other half where it has one.
struct Step<'a> {
    idea: Idea<'a>,
    change: Move,
    also: Option<Move>,
}

#[derive(Clone, PartialEq)]
struct Move {
    property: Property,
    from: Value,
    to: Value,
}

impl<'a> Idea<'a> {
    /// The largest step of this idea that nothing bars.
    fn within(self, view: &View) -> Option<Step<'a>> {
        let sizes: &[u64] = if self.kind == Kind::GiveBack { &GIVE_BACK } else { &STEPS };
        let found = sizes.iter().find_map(|size| {
            let (change, also) = self.sized(*size, view)?;
            let barred =
                self.is_barred(view, &change) || also.as_ref().is_some_and(|one| self.is_barred(view, one));
            (!barred).then_some((change, also))
        });
        found.map(|(change, also)| Step { idea: self, change, also })
    }

    fn sized(&self, size: u64, view: &View) -> Option<(Move, Option<Move>)> {
        let bounds = &view.bounds;
        match self.kind {
            Kind::RelieveKills => self.more_memory(size, view),
            Kind::RelievePressure => self.more_before_throttling(size, view),
            Kind::Unthrottle => {
                more_cpu(self.seen.cpu_quota, size, &bounds.cpu_quota).map(|change| (change, None))
            }
            Kind::Prefer => (size == 100)
                .then(|| prefer(self.seen.nice, &bounds.nice))
                .flatten()
                .map(|change| (change, None)),
            Kind::GiveBack => self.less_memory(size, view),
        }
    }

    /// Raises the limit, and the throttle below it by the same share.
    fn more_memory(&self, size: u64, view: &View) -> Option<(Move, Option<Move>)> {
        let limit = bytes(self.seen.memory_max)?;
        let to = raised(limit, size, &view.bounds.memory_max, limit.saturating_add(view.headroom))?;
        let throttle = bytes(self.seen.memory_high)
            .and_then(|high| Some((high, raised(high, size, &view.bounds.memory_high, to)?)))
            .map(|(high, new)| moved(Property::MemoryHigh, high, new));
        Some((moved(Property::MemoryMax, limit, to), throttle))
    }

    /// Raises the throttle where there is room below the limit, else both.
    fn more_before_throttling(&self, size: u64, view: &View) -> Option<(Move, Option<Move>)> {
        let high = bytes(self.seen.memory_high)?;
        let ceiling = match self.seen.memory_max {
            Value::Bytes(limit) => limit,
            Value::Infinity | Value::Unset => u64::MAX,
            Value::Percent(_) | Value::Number(_) => return None,
        };
        match raised(high, size, &view.bounds.memory_high, ceiling) {
            Some(to) => Some((moved(Property::MemoryHigh, high, to), None)),
            None => self.more_memory(size, view).filter(|(_, also)| also.is_some()),
        }
    }

    /// Lowers the limit to what leaves the peak half as much again, and the throttle with it where that was set. A
    /// limit that was raised for a reason is not lowered again.
    fn less_memory(&self, size: u64, view: &View) -> Option<(Move, Option<Move>)> {
        let (limit, peak) = (bytes(self.seen.memory_max)?, self.seen.peak?);
        if self.was_raised(view) {
            return None;
        }
        let floor = peak.saturating_add(peak / 2);
        let to = lowered(limit, size, &view.bounds.memory_max, floor)?;
        let throttle = match bytes(self.seen.memory_high) {
            Some(high) if high > to => {
                // Nothing to pair the limit with: left above it, the throttle would never act.
                let new = lowered(high, size, &view.bounds.memory_high, floor).filter(|new| *new <= to)?;
                Some(moved(Property::MemoryHigh, high, new))
            }
            Some(_) | None => None,
        };
        Some((moved(Property::MemoryMax, limit, to), throttle))
    }

    fn was_raised(&self, view: &View) -> bool {
        view.outcomes.iter().any(|Earlier { change, outcome }| {
            change.setting.unit == *self.unit
                && change.setting.property == Property::MemoryMax
                && outcome.is_accepted()
                && bytes(change.from).zip(bytes(change.to)).is_some_and(|(from, to)| to > from)
        })
    }

    /// Whether this very value was undone or refused lately.
    fn is_barred(&self, view: &View, change: &Move) -> bool {
        let same = |setting: &Setting| setting.unit == *self.unit && setting.property == change.property;
        view.outcomes.iter().any(|earlier| {
            earlier.outcome.is_warning() && same(&earlier.change.setting) && earlier.change.to == change.to
        })
    }
}

fn moved(property: Property, from: u64, to: u64) -> Move {
    Move { property, from: Value::Bytes(from), to: Value::Bytes(to) }
}

/// How far towards the end of its reach: `size` in a hundred.
fn part(from: u64, end: i128, size: u64) -> i128 {
    let from = i128::from(from);
    from + (end - from) * i128::from(size) / 100
}

fn raised(from: u64, size: u64, bounds: &policy::Bounds, ceiling: u64) -> Option<u64> {
    let (least, most) = bounds.reach(Value::Bytes(from))?;
    let to = u64::try_from(part(from, most, size)).ok()?.min(ceiling);
    let whole = to / MIB * MIB;
    (whole > from && i128::from(whole) >= least).then_some(whole)
}

fn lowered(from: u64, size: u64, bounds: &policy::Bounds, floor: u64) -> Option<u64> {
    let (least, most) = bounds.reach(Value::Bytes(from))?;
    let to = u64::try_from(part(from, least, size)).ok()?.max(floor);
    let whole = to.div_ceil(MIB).saturating_mul(MIB);
    (whole < from && i128::from(whole) <= most).then_some(whole)
}

fn more_cpu(quota: Value, size: u64, bounds: &policy::Bounds) -> Option<Move> {
    let Value::Percent(from) = quota else { return None };
    let (least, most) = bounds.reach(quota)?;
    let to = part(u64::from(from), most, size);
    let to = u32::try_from(to).ok().filter(|to| *to > from && i128::from(*to) >= least)?;
    Some(Move { property: Property::CpuQuota, from: quota, to: Value::Percent(to) })
}

/// One step of the smallest kind.
fn prefer(nice: Value, bounds: &policy::Bounds) -> Option<Move> {
    let Value::Number(from) = nice else { return None };
    let (least, most) = bounds.reach(nice)?;
    let to = from.checked_sub(1).filter(|to| (least..=most).contains(&i128::from(*to)))?;
    Some(Move { property: Property::Nice, from: nice, to: Value::Number(to) })
}
