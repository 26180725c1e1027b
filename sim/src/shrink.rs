//! Makes a failing world smaller: takes away faults, one by one, as long as the same rule is still broken.

use holdfast_lifeline::Sound;

use crate::check::Violation;
use crate::plan::Plan;
use crate::world::World;

/// The first violation of a world, if there is one.
pub fn first_violation(plan: &Plan, sound: Sound) -> Option<Violation> {
    World::new(plan.clone(), sound, false).run().violations.into_iter().next()
}

/// The numbers of the faults that are needed for the same rule to be broken.
pub fn shrink(seed: u64, sound: Sound, rule: &str) -> Vec<usize> {
    let whole = Plan::draw(seed);
    let mut needed: Vec<usize> = (0..whole.faults.len()).collect();
    let mut at = 0;
    while at < needed.len() {
        let mut fewer = needed.clone();
        fewer.remove(at);
        let plan = with_faults(&whole, &fewer);
        if first_violation(&plan, sound).is_some_and(|violation| violation.rule == rule) {
            needed = fewer;
        } else {
            at += 1;
        }
    }
    needed
}

/// A world with some of its faults only.
pub fn with_faults(whole: &Plan, wanted: &[usize]) -> Plan {
    let faults = whole.faults.iter().enumerate().filter(|(n, _)| wanted.contains(n)).map(|(_, fault)| *fault);
    Plan { faults: faults.collect(), ..whole.clone() }
}
