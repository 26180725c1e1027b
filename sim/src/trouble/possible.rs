//! Whether any allowed sequence of Tier 1 steps would heal a host: asked of the machine, by trying, and never of a brain.
//!
//! What a week allows spans a box of settings. Its corners and what lies between are tried from the largest change down. A
//! sequence counts only when each of its steps could be kept: a step under which the unit is still killed is undone by
//! whoever watches it, whatever comes after.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::com::Com;
use holdfast_steward::policy;
use holdfast_steward::setting::{Property, Setting, UnitName, Value};

use super::host::{BUDGET, DAY, HOUR, Host, Kind};
use super::symptom::{Band, Course, Symptom};

/// Ticks of a minute: what is asked is where it settles.
const TICK: Duration = Duration::from_secs(60);
/// A leak needs longer to show than a daily round: the slowest here takes a day to fill what people allowed, and four times as
/// long what a week's steps allow at most.
const LEAK_HORIZON: u64 = 6 * DAY;
const HORIZON: u64 = 26 * HOUR;
/// The first two hours after a change are not judged.
const SETTLES: usize = 2;
/// How much of what a week allows is tried.
const LEVELS: [f64; 4] = [1.0, 0.66, 0.33, 0.0];

/// Whether the trouble of this host is to be seen at all when nobody does anything.
pub(super) fn shows(host: &Host) -> bool {
    let bad = run(host, &host.com);
    (host.kind == Kind::Healthy) != bad
}

/// Whether some sequence of allowed steps heals it.
pub fn can_be_healed(host: &Host) -> bool {
    if host.kind == Kind::Healthy {
        return false;
    }
    let mut combinations = vec![host.com.clone()];
    for unit in &host.managed {
        combinations = combinations.iter().flat_map(|com| settings(host, com, unit)).collect();
    }
    combinations.iter().any(|com| fits(com) && !run(host, com) && can_be_reached(host, com))
}

/// Whether the first step of memory would be kept by whoever watches it: nothing is killed under it, and the host does not wait
/// more than before by what its law calls worse.
fn can_be_reached(host: &Host, goal: &Com) -> bool {
    let memory = |com: &Com, unit: &UnitName, property| com.value(&Setting { unit: unit.clone(), property });
    let first = host.managed.iter().fold(host.com.clone(), |com, unit| {
        [Property::MemoryMax, Property::MemoryHigh].into_iter().fold(com, |com, property| {
            let (from, to) =
                (memory(&host.com, unit, property.clone()), memory(goal, unit, property.clone()));
            let reach = policy::alone(&property).and_then(|bounds| bounds.reach(from));
            let step = match (to, reach) {
                (Value::Bytes(to), Some((_, most))) => {
                    Value::Bytes(to.min(u64::try_from(most).unwrap_or(to)))
                }
                _ => to,
            };
            set(&com, unit, property, step)
        })
    });
    let ((kills, pressure), (_, untouched)) = (tried(host, &first), tried(host, &host.com));
    kills == 0 && pressure <= untouched * 1.05 + 0.5
}

/// Kills and mean pressure in the first hours.
fn tried(host: &Host, com: &Com) -> (u32, f64) {
    let mut machine = host.machine().with_tick(TICK);
    machine.set(com, Steady(0), false);
    let from = host.onset.0 / 60_000 * 60_000;
    machine.advance(Steady(from), false);
    let (mut sum, mut count) = (0.0, 0.0);
    for at in (from..from + 3 * HOUR).step_by(60_000) {
        machine.advance(Steady(at), true);
        sum += machine.pressure().some;
        count += 1.0;
    }
    (machine.workload().kills, sum / count)
}

/// All that a week allows for a unit, the largest change first. What has nothing to do with any symptom stays as it is.
fn settings(host: &Host, com: &Com, unit: &UnitName) -> Vec<Com> {
    let levels = |band: Band| {
        let about =
            |symptom: &Symptom| symptom.unit.as_ref().is_none_or(|of| of == unit && symptom.band == band);
        if host.symptoms.iter().any(about) { &LEVELS[..] } else { &LEVELS[3..] }
    };
    let mut found = Vec::new();
    for memory in levels(Band::Memory) {
        for quota in levels(Band::Quota) {
            for nice in levels(Band::Processor) {
                let with_max = raised(com, unit, Property::MemoryMax, *memory);
                let with_high = raised(&with_max, unit, Property::MemoryHigh, *memory);
                let with_quota = raised(&with_high, unit, Property::CpuQuota, *quota);
                found.push(lowered_nice(&with_quota, unit, *nice));
            }
        }
    }
    found
}

fn set(com: &Com, unit: &UnitName, property: Property, to: Value) -> Com {
    let setting = Setting { unit: unit.clone(), property };
    com.with(&holdfast_steward::setting::Change { from: com.value(&setting), setting, to })
}

/// A week allows half as much again.
fn raised(com: &Com, unit: &UnitName, property: Property, share: f64) -> Com {
    let now = com.value(&Setting { unit: unit.clone(), property: property.clone() });
    let max = policy::alone(&property).map_or(i128::MAX, |bounds| bounds.max);
    let more = |amount: f64| ((amount * (1.0 + 0.5 * share)) as i128).min(max);
    let to = match now {
        Value::Bytes(bytes) => Value::Bytes(u64::try_from(more(bytes as f64)).unwrap_or(bytes).max(bytes)),
        Value::Percent(percent) => {
            Value::Percent(u32::try_from(more(f64::from(percent))).unwrap_or(percent).max(percent))
        }
        other => other,
    };
    set(com, unit, property, to)
}

/// A week allows six steps, and −5 is the least without asking.
fn lowered_nice(com: &Com, unit: &UnitName, share: f64) -> Com {
    let setting = Setting { unit: unit.clone(), property: Property::Nice };
    match com.value(&setting) {
        Value::Number(nice) => {
            let to = (nice - (6.0 * share) as i64).max(-5).min(nice);
            set(com, unit, Property::Nice, Value::Number(to))
        }
        _ => com.clone(),
    }
}

/// Whether the limits stay under the budget.
fn fits(com: &Com) -> bool {
    let limit = |unit: &holdfast_steward::com::UnitModel| match unit.value(&Property::MemoryMax) {
        Value::Bytes(bytes) => bytes,
        _ => 64 << 20,
    };
    com.units.values().map(limit).sum::<u64>() < BUDGET
}

/// Whether the host is in trouble under these settings, from the onset on.
fn run(host: &Host, com: &Com) -> bool {
    let mut machine = host.machine().with_tick(TICK);
    machine.set(com, Steady(0), false);
    let from = host.onset.0 / 60_000 * 60_000;
    machine.advance(Steady(from), false);
    let horizon = if host.kind == Kind::Leak { LEAK_HORIZON } else { HORIZON };
    let mut course = Course::default();
    let symptoms =
        if host.symptoms.is_empty() { super::symptom::all(&host.managed) } else { host.symptoms.clone() };
    for at in (from..from + horizon).step_by(300_000) {
        machine.advance(Steady(at), true);
        course.take(Steady(at), &symptoms, &machine);
    }
    (SETTLES..course.hours.len()).any(|hour| course.is_bad(hour))
}
