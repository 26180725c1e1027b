//! What is done when nothing is wrong: mostly nothing.
//!
//! Exploring never lowers, never touches a unit that had anything undone lately, takes a quarter of a step, and only
//! where a unit is close to feeling a limit. Memory is given back only where there is none left for others.

use super::remedy::{self, Step};
use super::signs::{PRESSURE_MIN, THROTTLED_MIN};
use super::{MIB, Move, Reason, bytes, past};
use crate::brain::view::{UnitView, View};
use crate::setting::{Change, Property, UnitName, Value};

/// A quarter of the largest step of memory, and of a quota.
const MEMORY_SHARE: f64 = 0.05;
const QUOTA_SHARE: f64 = 0.06;
/// From this part of where trouble begins a limit is close to being felt.
const CLOSE: f64 = 0.2;
/// A unit that never used half of its limit has memory to give back.
const UNUSED_PERCENT: u64 = 50;
/// How far a limit is lowered at once, as a share: half of what may be. Too little memory hurts, too much does not.
const GIVE_BACK: f64 = 0.1;
/// Only where the limits together have less than this left to grow does anybody need it.
const SCARCE: u64 = 256 * MIB;

pub(super) fn explore(view: &View) -> Option<Step<'_>> {
    view.units.iter().filter(|(unit, _)| !had_trouble(view, unit)).find_map(|(unit, seen)| {
        let pressed = seen.facts.pressure.is_some_and(|own| own >= PRESSURE_MIN * CLOSE);
        let at_throttle = seen.is_close_to(seen.memory_high, seen.peak);
        let stopped = seen.throttled >= THROTTLED_MIN * CLOSE;
        let fresh = |property: Property| !was_tried(view, unit, &property);
        let step = |change: Move| Step { reason: Reason::Explore, unit, seen, change, also: None };
        let memory = (pressed || at_throttle) && fresh(Property::MemoryHigh);
        let quota = stopped && fresh(Property::CpuQuota);
        let raised = memory
            .then(|| remedy::more_before_throttling(unit, seen, view, MEMORY_SHARE))
            .flatten()
            .map(|(change, also)| Step { also, ..step(change) });
        raised.or_else(|| quota.then(|| remedy::more_cpu(unit, seen, view, QUOTA_SHARE)).flatten().map(step))
    })
}

/// Anything undone or refused within a week, a kill that is still remembered, or memory that only grows is reason enough
/// to leave the unit alone.
fn had_trouble(view: &View, unit: &UnitName) -> bool {
    let died = |seen: &UnitView| seen.leaks() || seen.facts.lives.iter().any(|life| life.killed);
    if view.units.get(unit).is_some_and(died) {
        return true;
    }
    let of_unit = |property| past::of(view, unit, property).any(|earlier| earlier.outcome.is_warning());
    [Property::MemoryMax, Property::MemoryHigh, Property::CpuQuota, Property::Nice].iter().any(of_unit)
}

/// Exploring means a setting that the recent past did not keep changing.
fn was_tried(view: &View, unit: &UnitName, property: &Property) -> bool {
    past::of(view, unit, property).any(|earlier| earlier.outcome.is_accepted())
}

/// Goes back from a change that had no effect: what does nothing is not kept for ever. Never where trouble was, and never where the
/// setting was changed again since.
pub(super) fn undo_what_did_nothing(view: &View) -> Option<Step<'_>> {
    if view.spent_today {
        return None;
    }
    view.take_back.iter().find_map(|back| {
        let (first, also) = back.split_first()?;
        let (unit, seen) = view.units.get_key_value(&first.setting.unit)?;
        let as_left = |change: &Change| seen.value(&change.setting.property) == change.from;
        let step = |change: &Change| Move {
            property: change.setting.property.clone(),
            from: change.from,
            to: change.to,
        };
        let barred = back.iter().any(|change| past::is_barred(view, unit, &step(change)));
        let fits = back.iter().all(as_left) && also.len() < 2 && !barred && !had_trouble(view, unit);
        let change = step(first);
        fits.then(|| Step { reason: Reason::NoEffect, unit, seen, change, also: also.first().map(step) })
    })
}

/// Lowers a limit to what leaves the peak half as much again, and the throttle with it where that was set. A limit that
/// was raised for a reason is not lowered again.
pub(super) fn give_back(view: &View) -> Option<Step<'_>> {
    if view.headroom >= SCARCE {
        return None;
    }
    view.units.iter().filter(|(unit, _)| !had_trouble(view, unit)).find_map(|(unit, seen)| {
        let (limit, peak) = (bytes(seen.memory_max)?, seen.peak?);
        let unused = u128::from(peak) * 100 < u128::from(limit) * u128::from(UNUSED_PERCENT);
        let pressed = view.pressure.is_some_and(|pressure| pressure >= PRESSURE_MIN);
        if !unused || pressed || was_tried(view, unit, &Property::MemoryMax) {
            return None;
        }
        let floor = peak.saturating_add(peak / 2);
        let to = lowered(unit, seen, view, &Property::MemoryMax, floor)?;
        let also = match bytes(seen.memory_high) {
            Some(high) if high > to => {
                // Nothing to pair the limit with: left above it, the throttle would never act.
                let new = lowered(unit, seen, view, &Property::MemoryHigh, floor).filter(|new| *new <= to)?;
                Some(Move { property: Property::MemoryHigh, from: seen.memory_high, to: Value::Bytes(new) })
            }
            Some(_) | None => None,
        };
        let change = Move { property: Property::MemoryMax, from: seen.memory_max, to: Value::Bytes(to) };
        let barred = std::iter::once(&change).chain(&also).any(|one| past::is_barred(view, unit, one));
        (!barred).then_some(Step { reason: Reason::GiveBack, unit, seen, change, also })
    })
}

fn lowered(unit: &UnitName, seen: &UnitView, view: &View, property: &Property, floor: u64) -> Option<u64> {
    let from = bytes(seen.value(property))?;
    let (least, most) = past::reach(view, unit, seen, property)?;
    let goal = (from as f64 * (1.0 - GIVE_BACK)) as u64;
    let to = goal.max(u64::try_from(least).ok()?).max(floor);
    let whole = to.div_ceil(MIB).saturating_mul(MIB);
    (whole < from && i128::from(whole) <= most).then_some(whole)
}
