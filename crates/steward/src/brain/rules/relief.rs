//! What similar changes did: how much of the symptom one per cent more takes away, here and elsewhere.
//!
//! Nothing is known at first but a guess. Each experience of the same diagnosis and option counts by its similarity: a unit of
//! the same kind in full, another by a quarter. Of what they say the lower quartile is taken, since a step that turns out
//! too small costs a whole further cycle, and the guess fades as they become more.

use super::stem;
use crate::brain::diagnosis::Diagnosis;
use crate::brain::view::{Experience, View};
use crate::profile::Rate;
use crate::setting::{Property, UnitName};

/// How many experiences the guess is worth.
const GUESS_WEIGHT: f64 = 2.0;
/// What a unit of another kind counts.
const OTHER_KIND: f64 = 0.25;
/// Relief below this is none, and its inverse would be a step without bound.
const RELIEF_MIN: f64 = 0.2;
/// A symptom that is not a tenth less was not relieved.
const RELIEVED: f64 = 0.9;
/// Changes in a row without relief after which there are no more.
const USELESS_MAX: usize = 2;
/// A symptom beyond this no longer shows how much is missing, in percent.
const SATURATED: f64 = 85.0;
/// Experiences of one kind that are needed before they speak against a remedy.
const DOUBT_MIN: u32 = 5;
/// More experience than this says nothing new: the latest count.
const EXPERIENCES_MAX: usize = 4000;

/// Points of the symptom that one per cent more takes away, before anybody knows; for a nice value, one step.
///
/// Memory: a store that scans its pages waits ten points for each per cent it lacks, a batch job three. A quota is stopped
/// in every period when it lacks a third. One step of nice is a quarter more weight.
fn guess(diagnosis: Diagnosis) -> f64 {
    match diagnosis {
        Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow => 6.0,
        Diagnosis::QuotaTooLow => 3.0,
        Diagnosis::NiceTooHigh => 8.0,
    }
}

/// Points per per cent (or per step of nice) to be expected.
pub(super) fn expected(view: &View, diagnosis: Diagnosis, property: &Property, unit: &UnitName) -> f64 {
    let mut told: Vec<(f64, f64)> = similar(view, diagnosis, property)
        .filter(|it| it.outcome.was_committed())
        .filter_map(|it| {
            let per = if *property == Property::Nice { it.step } else { it.step * 100.0 };
            let relief = (it.before - it.after) / per;
            let weight = if stem(&it.unit) == stem(unit) { 1.0 } else { OTHER_KIND };
            (per > 0.0 && relief.is_finite()).then_some((relief.max(RELIEF_MIN), weight))
        })
        .collect();
    told.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = told.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    let quartile = told.iter().find(|(_, weight)| {
        sum += weight;
        sum >= whole / 4.0
    });
    let learnt = quartile.map_or(0.0, |(relief, _)| *relief);
    (guess(diagnosis) * GUESS_WEIGHT + learnt * whole) / (GUESS_WEIGHT + whole)
}

/// Whether experience speaks against the remedy: most of what was tried for units of this kind surely did not help.
pub(super) fn is_doubtful(view: &View, diagnosis: Diagnosis, property: &Property, unit: &UnitName) -> bool {
    let of_kind = || similar(view, diagnosis, property).filter(|it| stem(&it.unit) == stem(unit));
    let helped = of_kind().filter(|it| it.outcome.was_committed() && it.after < it.before * RELIEVED);
    let (hits, of) = (helped.count() as u32, of_kind().count() as u32);
    of >= DOUBT_MIN && Rate::wilson(hits, of).is_some_and(|rate| rate.high < 0.5)
}

/// Whether the last two such changes on this very unit did nothing: then more of the same will not either. One may have
/// been outrun by the load.
pub(super) fn was_useless_here(
    view: &View,
    diagnosis: Diagnosis,
    property: &Property,
    unit: &UnitName,
) -> bool {
    let here = |it: &&Experience| it.here && it.unit == *unit && it.outcome.was_committed();
    let all: Vec<&Experience> = similar(view, diagnosis, property).filter(here).collect();
    // A symptom that is at its worst cannot be told from one that is less bad than before.
    let useless = |it: &&&Experience| it.before < SATURATED && it.after >= it.before * RELIEVED;
    all.iter().rev().take_while(useless).count() >= USELESS_MAX
}

fn similar<'a>(
    view: &'a View,
    diagnosis: Diagnosis,
    property: &'a Property,
) -> impl Iterator<Item = &'a Experience> {
    let skipped = view.experience.len().saturating_sub(EXPERIENCES_MAX);
    let latest = view.experience.iter().skip(skipped);
    latest.filter(move |it| it.diagnosis == diagnosis && it.property == *property)
}
