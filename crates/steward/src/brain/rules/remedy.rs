//! From a diagnosis to a step: which setting, how far, and whether anything bars it.

use super::sharing::{Set, Sharing, When};
use super::signs::{Trouble, WAIT_MIN};
use super::{MIB, Move, Reason, bytes, past, relief};
use crate::brain::diagnosis::Diagnosis;
use crate::brain::view::{UnitView, View};
use crate::setting::{Property, UnitName, Value};

/// Steps tried in turn, as percent of the one that is wanted: where that is barred, a smaller one may do.
const SIZES: [u64; 3] = [100, 50, 25];
/// A smaller step would not show above the noise, as a share.
const STEP_MIN: f64 = 0.05;
/// What is given beyond what is missing, as a share: load wanders by about as much.
const SPARE: f64 = 0.03;
/// The throttle stays this far below the limit, as a share, so that a unit is slowed before it is killed.
const APART: f64 = 0.04;
/// All the nice values there are; how many may be passed at once is for the bounds.
const NICE_STEPS_MAX: f64 = 40.0;

/// A change that may be proposed, with its other half where it has one.
#[derive(Clone, Debug)]
pub(super) struct Step<'a> {
    pub(super) reason: Reason,
    pub(super) unit: &'a UnitName,
    pub(super) seen: &'a UnitView,
    pub(super) change: Move,
    pub(super) also: Option<Move>,
}

/// The step that helps most and that nothing bars, or what does.
pub(super) fn of<'a>(trouble: &Trouble<'a>, view: &'a View) -> Result<Step<'a>, String> {
    let Trouble { diagnosis, unit, seen, severity } = *trouble;
    let property = match diagnosis {
        Diagnosis::LimitTooLow => Property::MemoryMax,
        Diagnosis::ThrottleTooLow => Property::MemoryHigh,
        Diagnosis::QuotaTooLow => Property::CpuQuota,
        Diagnosis::NiceTooHigh => Property::Nice,
    };
    let now = seen.value(&property);
    if matches!(now, Value::Unset | Value::Infinity) {
        return Err(format!("{property} has no value: giving it a first one is for people"));
    }
    if let Some(spent) = past::is_spent(view, unit, &property) {
        return Err(spent.to_owned());
    }
    let others_pay = match diagnosis {
        Diagnosis::QuotaTooLow | Diagnosis::NiceTooHigh => others_wait(view, unit),
        Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow => false,
    };
    if others_pay {
        return Err("another managed unit is short of the processors that it would take".to_owned());
    }
    if relief::was_useless_here(view, diagnosis, &property, unit) {
        return Err(format!("the last changes of {property} did not relieve it"));
    }
    if relief::is_doubtful(view, diagnosis, &property, unit) {
        return Err(format!("changes of {property} have not helped units like it"));
    }
    let wanted = wanted(trouble, view, &property);
    let found = SIZES.iter().find_map(|size| {
        let (change, also) = sized(trouble, view, wanted * (*size as f64) / 100.0)?;
        let barred = std::iter::once(&change).chain(&also).any(|one| past::is_barred(view, unit, one));
        (!barred).then_some((change, also))
    });
    let (change, also) = found.ok_or_else(|| {
        format!("{property} at {now} cannot be moved further: bounds, the week, the memory left or an earlier rollback bar it")
    })?;
    Ok(Step { reason: Reason::Heal { diagnosis, severity }, unit, seen, change, also })
}

/// Whether another managed unit waits for a processor: what this one gets, that one would pay for.
fn others_wait(view: &View, unit: &UnitName) -> bool {
    let mut others = view.units.iter().filter(|(name, _)| *name != unit);
    others.any(|(_, seen)| seen.facts.cpu_wait.is_some_and(|waits| waits >= WAIT_MIN))
}

/// How far the setting should be moved by what is missing, as a share; for a nice value in steps.
fn wanted(trouble: &Trouble<'_>, view: &View, property: &Property) -> f64 {
    let relief = relief::expected(view, trouble.diagnosis, property, trouble.unit).max(f64::MIN_POSITIVE);
    let largest = largest(trouble, view, property);
    match trouble.diagnosis {
        // Whoever is still killed afterwards is undone: there is one try, and it is the largest.
        Diagnosis::LimitTooLow => largest,
        Diagnosis::ThrottleTooLow if trouble.seen.facts.pressure.is_none() => largest,
        Diagnosis::ThrottleTooLow | Diagnosis::QuotaTooLow => {
            (trouble.severity / relief / 100.0 + SPARE).max(STEP_MIN).min(largest)
        }
        Diagnosis::NiceTooHigh => (trouble.severity / relief).ceil().clamp(1.0, NICE_STEPS_MAX),
    }
}

/// The largest step up there is now, as a share.
fn largest(trouble: &Trouble<'_>, view: &View, property: &Property) -> f64 {
    let reach = past::reach(view, trouble.unit, trouble.seen, property);
    match reach.zip(past::amount(trouble.seen.value(property))) {
        Some(((_, most), from)) if from > 0 => ((most - from) as f64 / from as f64).max(0.0),
        _ => 0.0,
    }
}

fn sized(trouble: &Trouble<'_>, view: &View, wanted: f64) -> Option<(Move, Option<Move>)> {
    let Trouble { unit, seen, .. } = *trouble;
    match trouble.diagnosis {
        Diagnosis::LimitTooLow => more_memory(unit, seen, view, wanted),
        Diagnosis::ThrottleTooLow => more_before_throttling(unit, seen, view, wanted),
        Diagnosis::QuotaTooLow => more_cpu(unit, seen, view, wanted).map(|change| (change, None)),
        Diagnosis::NiceTooHigh => more_weight(unit, seen, view, wanted).map(|change| (change, None)),
    }
}

/// Raises the limit, and the throttle below it by the same share.
fn more_memory(unit: &UnitName, seen: &UnitView, view: &View, share: f64) -> Option<(Move, Option<Move>)> {
    let limit = bytes(seen.memory_max)?;
    let ceiling = limit.saturating_add(view.headroom);
    let to = raised(unit, seen, view, &Property::MemoryMax, share, ceiling)?;
    let throttle = raised(unit, seen, view, &Property::MemoryHigh, share, to).map(|new| Move {
        property: Property::MemoryHigh,
        from: seen.memory_high,
        to: Value::Bytes(new),
    });
    Some((Move { property: Property::MemoryMax, from: seen.memory_max, to: Value::Bytes(to) }, throttle))
}

/// Raises the throttle where there is room below the limit, else both.
pub(super) fn more_before_throttling(
    unit: &UnitName,
    seen: &UnitView,
    view: &View,
    share: f64,
) -> Option<(Move, Option<Move>)> {
    let high = bytes(seen.memory_high)?;
    let ceiling = match seen.memory_max {
        Value::Bytes(limit) => limit,
        Value::Infinity | Value::Unset => u64::MAX,
        Value::Percent(_) | Value::Number(_) => return None,
    };
    let goal = raised(unit, seen, view, &Property::MemoryHigh, share, u64::MAX)?;
    let alone = |to: u64| {
        (Move { property: Property::MemoryHigh, from: seen.memory_high, to: Value::Bytes(to) }, None)
    };
    let room = (ceiling as f64 * (1.0 - APART)) as u64;
    if goal <= room {
        return Some(alone(goal));
    }
    // Both together, where that gets the throttle further than it would alone.
    let needed = (goal as f64 / (1.0 - APART) / ceiling as f64 - 1.0).max(0.0);
    let both = more_memory_for(unit, seen, view, needed, goal);
    both.or_else(|| {
        let to = raised(unit, seen, view, &Property::MemoryHigh, share, ceiling)?;
        (to > high).then(|| alone(to))
    })
}

fn more_memory_for(
    unit: &UnitName,
    seen: &UnitView,
    view: &View,
    share: f64,
    goal: u64,
) -> Option<(Move, Option<Move>)> {
    let ceiling = bytes(seen.memory_max)?.saturating_add(view.headroom);
    let to = raised(unit, seen, view, &Property::MemoryMax, share, ceiling)?;
    let high = bytes(seen.memory_high)?;
    let new = goal.min(to) / MIB * MIB;
    let throttle = Move { property: Property::MemoryHigh, from: seen.memory_high, to: Value::Bytes(new) };
    let limit = Move { property: Property::MemoryMax, from: seen.memory_max, to: Value::Bytes(to) };
    (new > high).then_some((limit, Some(throttle)))
}

/// The value that lies this share higher, in whole MiB, no further than anything allows.
fn raised(
    unit: &UnitName,
    seen: &UnitView,
    view: &View,
    property: &Property,
    share: f64,
    ceiling: u64,
) -> Option<u64> {
    let from = bytes(seen.value(property))?;
    let (least, most) = past::reach(view, unit, seen, property)?;
    let most = u64::try_from(most).ok()?.min(ceiling);
    let goal = (from as f64 * (1.0 + share)).min(u64::MAX as f64) as u64;
    let whole = goal.div_ceil(MIB).saturating_mul(MIB).min(most / MIB * MIB);
    (whole > from && i128::from(whole) >= least).then_some(whole)
}

pub(super) fn more_cpu(unit: &UnitName, seen: &UnitView, view: &View, share: f64) -> Option<Move> {
    let Value::Percent(from) = seen.cpu_quota else { return None };
    let (least, most) = past::reach(view, unit, seen, &Property::CpuQuota)?;
    let goal = i128::from((f64::from(from) * (1.0 + share)).ceil() as u64).min(most);
    let to = u32::try_from(goal).ok().filter(|to| *to > from && i128::from(*to) >= least)?;
    Some(Move { property: Property::CpuQuota, from: seen.cpu_quota, to: Value::Percent(to) })
}

/// A lower nice value weighs more.
fn more_weight(unit: &UnitName, seen: &UnitView, view: &View, steps: f64) -> Option<Move> {
    let Value::Number(from) = seen.nice else { return None };
    let (least, most) = past::reach(view, unit, seen, &Property::Nice)?;
    let least = past::given_back(view, unit, &Property::Nice).map_or(least, |given| least.max(given));
    let goal = i128::from(from).checked_sub(i128::from(steps.max(1.0) as u64))?.max(least);
    let goal = i64::try_from(goal).ok()?;
    let spares = |to: &i64| i128::from(*to) <= most && leaves_enough(view, unit, *to);
    let to = (goal..from).find(spares)?;
    Some(Move { property: Property::Nice, from: seen.nice, to: Value::Number(to) })
}

/// What a forecast of the processors may be off by, as a share.
const UNSURE: f64 = 0.01;

/// Whether the other managed units, at the hour when they want most, still get what people's settings would give them, when this
/// one weighs more.
fn leaves_enough(view: &View, unit: &UnitName, nice: i64) -> bool {
    let read = |set| Sharing::read(view, When::Peak, set);
    let Some((untouched, now)) = read(Set::ByPeople).zip(read(Set::AsItIs)) else { return true };
    let then = now.with_nice(unit, nice);
    let mut others = view.units.keys().filter(|other| *other != unit);
    others.all(|other| then.gets(other) >= untouched.gets(other) * (1.0 - UNSURE))
}
