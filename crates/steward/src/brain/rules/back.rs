//! What is taken back: weight that was given to one managed unit and that another pays for since.
//!
//! A host in trouble has no quiet day to compare with, and what changed for the worse may have many causes. So the cost is not guessed
//! from before and after: a unit that waits for a processor is asked what it would get if the change had not been made. Only where
//! that is clearly more does the change go back, one step at a time, the last one first.

use super::remedy::{self, Step};
use super::sharing::{Set, Sharing, When};
use super::signs::Trouble;
use super::{Move, Reason, past};
use crate::brain::diagnosis::Diagnosis;
use crate::brain::view::{Earlier, UnitView, View};
use crate::setting::{Property, UnitName, Value};

/// What a unit must lose before somebody else's change is blamed, as a share of what it wants. At a fiftieth less of the processors
/// an answer takes about a tenth longer, where each answer waits for its turn a few times.
const PAYS_FROM: f64 = 0.02;

/// The step that gives another managed unit back what it pays, or nothing where nobody does.
pub(super) fn owed<'a>(troubles: &[Trouble<'a>], view: &'a View) -> Option<Step<'a>> {
    let waits = |trouble: &&Trouble<'_>| trouble.diagnosis == Diagnosis::NiceTooHigh;
    // Whoever can be given weight without anybody paying for it needs nothing back.
    let in_need = |trouble: &&Trouble<'_>| remedy::of(trouble, view).is_err();
    troubles.iter().filter(waits).filter(in_need).find_map(|trouble| {
        let others = view.units.iter().filter(|(unit, _)| *unit != trouble.unit);
        others.filter_map(|(unit, seen)| taken_back(trouble, unit, seen, view)).next()
    })
}

fn taken_back<'a>(
    trouble: &Trouble<'a>,
    unit: &'a UnitName,
    seen: &'a UnitView,
    view: &'a View,
) -> Option<Step<'a>> {
    let to = goal(view, unit, seen)?;
    let pays = pays(trouble.unit, view)? >= PAYS_FROM && helps(trouble.unit, unit, to, view);
    (pays && past::is_spent(view, unit, &Property::Nice).is_none()).then(|| Step {
        reason: Reason::TakeBack { waits: trouble.severity },
        unit,
        seen,
        change: back_to(seen, to),
        also: None,
    })
}

fn back_to(seen: &UnitView, nice: i64) -> Move {
    Move { property: Property::Nice, from: seen.nice, to: Value::Number(nice) }
}

/// Where the last step began, or further back where going there was undone before; never beyond what people set.
fn goal(view: &View, unit: &UnitName, seen: &UnitView) -> Option<i64> {
    let nearest = before(view, unit, seen)?;
    let (_, most) = past::reach(view, unit, seen, &Property::Nice)?;
    let people = past::amount(past::at_first(view, unit, seen, &Property::Nice))?;
    let most = i64::try_from(most.min(people)).ok()?;
    (nearest..=most).find(|to| !past::is_barred(view, unit, &back_to(seen, *to)))
}

/// What the unit had before the last change that gave it weight and that still holds.
fn before(view: &View, unit: &UnitName, seen: &UnitView) -> Option<i64> {
    let Value::Number(now) = seen.nice else { return None };
    let from = |earlier: &Earlier| match earlier.change.from {
        Value::Number(from) if earlier.outcome.was_committed() && earlier.change.to == seen.nice => {
            Some(from)
        }
        _ => None,
    };
    let gave = past::of(view, unit, &Property::Nice).filter_map(|earlier| {
        Some((earlier.age.unwrap_or_default(), from(earlier).filter(|from| *from > now)?))
    });
    gave.min_by_key(|(age, _)| *age).map(|(_, from)| from)
}

/// How much less the unit gets than if nobody had changed anything, as a share of what it wants.
fn pays(unit: &UnitName, view: &View) -> Option<f64> {
    let now = Sharing::read(view, When::Now, Set::AsItIs)?;
    let untouched = Sharing::read(view, When::Now, Set::ByPeople)?;
    let wants = untouched.wants(unit);
    (wants > 0.0).then(|| (untouched.gets(unit) - now.gets(unit)) / wants)
}

/// Whether it would get more if the other had this nice value again.
fn helps(payer: &UnitName, unit: &UnitName, nice: i64, view: &View) -> bool {
    let now = Sharing::read(view, When::Now, Set::AsItIs);
    now.is_some_and(|now| now.clone().with_nice(unit, nice).gets(payer) > now.gets(payer))
}
