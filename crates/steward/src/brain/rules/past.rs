//! What a week still allows, and what became of earlier changes of the same setting.

use std::time::Duration;

use super::Move;
use crate::brain::view::{Earlier, People, UnitView, View};
use crate::outcome::Outcome;
use crate::policy;
use crate::setting::{Property, UnitName, Value};

/// As long as a change counts against what a week allows.
const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// After so many that were undone within a week the setting is left alone: one more in a row would open the breaker.
const UNDONE_MAX: usize = 2;
/// How long a refused value is not proposed again.
const REFUSED_FOR: Duration = Duration::from_secs(86_400);

/// The earlier changes of one setting within a week, and of unknown age.
pub(super) fn of<'a>(
    view: &'a View,
    unit: &'a UnitName,
    property: &'a Property,
) -> impl Iterator<Item = &'a Earlier> {
    view.outcomes.iter().filter(move |earlier| {
        let setting = &earlier.change.setting;
        setting.unit == *unit && setting.property == *property && earlier.age.is_none_or(|age| age < WEEK)
    })
}

/// How far up and down the setting may be moved now without asking: one step, the limits, and the week.
pub(super) fn reach(
    view: &View,
    unit: &UnitName,
    seen: &UnitView,
    property: &Property,
) -> Option<(i128, i128)> {
    let bounds = match property {
        Property::MemoryMax => &view.bounds.memory_max,
        Property::MemoryHigh => &view.bounds.memory_high,
        Property::CpuQuota => &view.bounds.cpu_quota,
        Property::Nice => &view.bounds.nice,
        Property::MaxJobs | Property::Cores | Property::Other(_) => return None,
    };
    let from = seen.value(property);
    let (least, most) = bounds.reach(from)?;
    let people = amount(seen.people.as_ref().map_or(from, |people| people.value(property)))?;
    let span = match bounds.weekly {
        policy::Step::Percent(percent) => people.abs() * i128::from(percent) / 100,
        policy::Step::Amount(amount) => amount,
        policy::Step::Free => i128::MAX / 4,
    };
    // What was tried and undone may have been kept for a while, so it counts like what was kept.
    let tried = of(view, unit, property).filter(|earlier| earlier.outcome.was_tried());
    let held = tried.flat_map(|earlier| [earlier.change.from, earlier.change.to]).filter_map(amount);
    let (low, high) = std::iter::once(amount(from)?)
        .chain(held)
        .fold((i128::MAX, i128::MIN), |(low, high), value| (low.min(value), high.max(value)));
    Some((least.max(high.saturating_sub(span)), most.min(low.saturating_add(span))))
}

/// Why nothing more is done about this setting, where that is so.
pub(super) fn is_spent(view: &View, unit: &UnitName, property: &Property) -> Option<&'static str> {
    let undone = of(view, unit, property).filter(|earlier| earlier.outcome.is_harm()).count();
    if undone >= UNDONE_MAX {
        return Some("what would help was tried twice within a week and undone");
    }
    if !matches!(property, Property::MemoryMax | Property::MemoryHigh) {
        // A change is judged a day later by memory pressure, which says nothing about processors.
        return None;
    }
    let latest = of(view, unit, property)
        .filter(|earlier| earlier.outcome.was_tried())
        .min_by_key(|earlier| earlier.age.unwrap_or_default());
    match latest.map(|earlier| earlier.outcome) {
        Some(Outcome::Neutral) => Some("what might help was tried within a week and changed nothing"),
        _ => None,
    }
}

/// Whether this very value was undone or refused lately, or did nothing. What was undone stays so; a refusal by a person or a gate
/// may have been about the moment, and holds for a day; that it did nothing holds for a week.
pub(super) fn is_barred(view: &View, unit: &UnitName, change: &Move) -> bool {
    did_nothing(view, unit, change) || was_turned_down(view, unit, change)
}

/// Only memory is judged by what a day later says about memory.
fn did_nothing(view: &View, unit: &UnitName, change: &Move) -> bool {
    let is_memory = matches!(change.property, Property::MemoryMax | Property::MemoryHigh);
    let same = |earlier: &Earlier| earlier.outcome == Outcome::Neutral && earlier.change.to == change.to;
    is_memory && of(view, unit, &change.property).any(same)
}

fn was_turned_down(view: &View, unit: &UnitName, change: &Move) -> bool {
    let of_the_moment = |earlier: &Earlier| {
        matches!(earlier.outcome, Outcome::Refused | Outcome::GateRejected)
            && earlier.age.is_some_and(|age| age >= REFUSED_FOR)
    };
    view.outcomes.iter().any(|earlier| {
        let setting = &earlier.change.setting;
        earlier.outcome.is_warning()
            && !of_the_moment(earlier)
            && setting.unit == *unit
            && setting.property == change.property
            && earlier.change.to == change.to
    })
}

/// What people set; where that is not known, what the first change that still counts began from.
pub(super) fn at_first(view: &View, unit: &UnitName, seen: &UnitView, property: &Property) -> Value {
    if let Some(people) = &seen.people {
        return people.value(property);
    }
    let kept = of(view, unit, property).filter(|earlier| earlier.outcome.was_committed());
    let first = kept.max_by_key(|earlier| earlier.age.unwrap_or_default());
    first.map_or(seen.value(property), |earlier| earlier.change.from)
}

/// The nice value that weight was given back to within a week, because another paid for it: below it would be the same again.
pub(super) fn given_back(view: &View, unit: &UnitName, property: &Property) -> Option<i128> {
    let kept = of(view, unit, property).filter(|earlier| earlier.outcome.was_committed());
    let moved = kept.filter_map(|earlier| amount(earlier.change.from).zip(amount(earlier.change.to)));
    moved.filter(|(from, to)| to > from).map(|(_, to)| to).max()
}

impl People {
    fn value(&self, property: &Property) -> Value {
        match property {
            Property::MemoryMax => self.memory_max,
            Property::MemoryHigh => self.memory_high,
            Property::CpuQuota => self.cpu_quota,
            Property::Nice => self.nice,
            Property::MaxJobs | Property::Cores | Property::Other(_) => Value::Unset,
        }
    }
}

pub(super) fn amount(value: Value) -> Option<i128> {
    match value {
        Value::Bytes(bytes) => Some(i128::from(bytes)),
        Value::Percent(percent) => Some(i128::from(percent)),
        Value::Number(number) => Some(i128::from(number)),
        Value::Infinity | Value::Unset => None,
    }
}
