//! Who gets how much of the processors: what a change for one managed unit costs the others, reckoned before it is made.
//!
//! Processors are shared by weight, and nobody gets more than they want; what one leaves goes to the others. So a unit that gets less
//! than its fair share gets all it wants, and whoever gets more may want any amount.

use super::past;
use crate::brain::view::{Neighbour, UnitView, View};
use crate::setting::{Property, UnitName, Value};

/// Each nice value weighs a quarter more than the next, as in the kernel's table.
const WEIGHT_PER_NICE: f64 = 1.25;
/// Waiting beyond this says no more about how much is wanted, in percent.
const WAIT_MAX: f64 = 90.0;
/// A neighbour that uses this part of its fair share may want more than it uses.
const AT_ITS_SHARE: f64 = 0.8;

/// When the reckoning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Now,
    /// The hour of the day when every managed unit wants most.
    Peak,
}

/// Whose settings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    AsItIs,
    /// As people set it, before anything was changed; where that is not known, as it was before the changes of a week.
    ByPeople,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    wants: f64,
    weight: f64,
}

/// The processors of a host, and who wants them.
#[derive(Clone, Debug)]
pub(super) struct Sharing<'a> {
    processors: f64,
    managed: Vec<(&'a UnitName, Claim)>,
    others: Vec<Claim>,
}

impl<'a> Sharing<'a> {
    /// Nothing where it is not known how many processors there are.
    pub(super) fn read(view: &'a View, when: When, set: Set) -> Option<Sharing<'a>> {
        let processors = view.on_host.processors.filter(|all| all.is_finite() && *all > 0.0)?;
        let managed: Vec<_> = view
            .units
            .iter()
            .map(|(unit, seen)| (unit, claim(view, unit, when, set, seen, processors)))
            .collect();
        let mut others: Vec<Claim> =
            view.on_host.neighbours.iter().map(|other| neighbour(other, processors)).collect();
        let whole: f64 = managed.iter().map(|(_, it)| it.weight).sum::<f64>()
            + others.iter().map(|it| it.weight).sum::<f64>();
        for other in &mut others {
            if other.wants >= AT_ITS_SHARE * processors * other.weight / whole {
                other.wants = processors;
            }
        }
        Some(Sharing { processors, managed, others })
    }

    /// The same, with another nice value for one unit.
    pub(super) fn with_nice(mut self, unit: &UnitName, nice: i64) -> Sharing<'a> {
        for (_, claim) in self.managed.iter_mut().filter(|(name, _)| *name == unit) {
            claim.weight = weight(nice);
        }
        self
    }

    /// What a managed unit gets of the processors.
    pub(super) fn gets(&self, unit: &UnitName) -> f64 {
        let Some((_, own)) = self.managed.iter().find(|(name, _)| *name == unit) else { return 0.0 };
        let mut open: Vec<Claim> =
            self.managed.iter().map(|(_, claim)| *claim).chain(self.others.iter().copied()).collect();
        let mut left = self.processors;
        // Each round serves somebody in full or is the last.
        loop {
            let whole: f64 = open.iter().map(|claim| claim.weight).sum();
            let fair = |claim: &Claim| left * claim.weight / whole;
            if own.wants <= fair(own) {
                return own.wants;
            }
            let served: f64 =
                open.iter().filter(|claim| claim.wants <= fair(claim)).map(|claim| claim.wants).sum();
            let hungry: Vec<Claim> = open.iter().filter(|claim| claim.wants > fair(claim)).copied().collect();
            if hungry.len() == open.len() {
                return fair(own);
            }
            (open, left) = (hungry, (left - served).max(0.0));
        }
    }

    /// What a managed unit wants of them.
    pub(super) fn wants(&self, unit: &UnitName) -> f64 {
        self.managed.iter().find(|(name, _)| *name == unit).map_or(0.0, |(_, claim)| claim.wants)
    }
}

fn claim(view: &View, unit: &UnitName, when: When, set: Set, seen: &UnitView, processors: f64) -> Claim {
    let value = |property| match set {
        Set::AsItIs => seen.value(&property),
        Set::ByPeople => past::at_first(view, unit, seen, &property),
    };
    let (quota, nice) = (value(Property::CpuQuota), value(Property::Nice));
    let waits = seen.facts.cpu_wait.filter(|waits| waits.is_finite()).unwrap_or(0.0);
    let now = seen.facts.cpu_use.unwrap_or(0.0) / (1.0 - waits.clamp(0.0, WAIT_MAX) / 100.0);
    let wants = match when {
        When::Now => now,
        When::Peak => now.max(seen.facts.cpu_peak.unwrap_or(0.0)),
    };
    let most = match quota {
        Value::Percent(percent) => (f64::from(percent) / 100.0).min(processors),
        Value::Bytes(_) | Value::Number(_) | Value::Infinity | Value::Unset => processors,
    };
    // More than there is of them is as much as any more.
    let wants = if wants.is_nan() { 0.0 } else { wants.clamp(0.0, most) };
    Claim { wants, weight: weight(number(nice)) }
}

fn neighbour(other: &Neighbour, processors: f64) -> Claim {
    let wants = if other.cpu_use.is_nan() { 0.0 } else { other.cpu_use.clamp(0.0, processors) };
    Claim { wants, weight: weight(other.nice) }
}

fn number(nice: Value) -> i64 {
    match nice {
        Value::Number(nice) => nice,
        Value::Bytes(_) | Value::Percent(_) | Value::Infinity | Value::Unset => 0,
    }
}

fn weight(nice: i64) -> f64 {
    WEIGHT_PER_NICE.powi(-(nice.clamp(-20, 19) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gets(processors: f64, own: Claim, others: Vec<Claim>) -> f64 {
        let unit = "a.service".parse().unwrap();
        Sharing { processors, managed: vec![(&unit, own)], others }.gets(&unit)
    }

    #[test]
    fn what_one_leaves_goes_to_the_others_by_their_weight() {
        let claim = |wants, weight| Claim { wants, weight };
        for (what, own, others, expected) in [
            ("alone", claim(1.5, 1.0), vec![], 1.5),
            ("there is no more", claim(9.0, 1.0), vec![], 2.0),
            ("enough for both", claim(0.5, 1.0), vec![claim(1.0, 1.0)], 0.5),
            ("both want all", claim(2.0, 1.0), vec![claim(2.0, 3.0)], 0.5),
            ("a small one is served first", claim(2.0, 1.0), vec![claim(0.2, 1.0), claim(2.0, 1.0)], 0.9),
            ("and it is served in full", claim(0.2, 0.1), vec![claim(0.1, 1.0), claim(0.5, 1.0)], 0.2),
            ("it wants nothing", claim(0.0, 1.0), vec![claim(2.0, 1.0)], 0.0),
        ] {
            let got = gets(2.0, own, others);
            assert!((got - expected).abs() < 1e-9, "{what}: {got} instead of {expected}");
        }
    }
}
