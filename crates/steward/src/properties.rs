//! What must be true of every configuration that is ever tried: the property tests.
//!
//! A registry and nothing more: an incident that a predicate could have prevented becomes a row of [`PREDICATES`], and
//! the gates take it in without a change.

use std::collections::BTreeMap;

use crate::com::{Com, UnitModel};
use crate::policy::TargetRules;
use crate::setting::{Property, UnitName, Value};

/// One thing that must hold between what is and what would be.
#[derive(Clone, Copy, Debug)]
pub struct Predicate {
    pub name: &'static str,
    /// What happens where it does not hold.
    pub why: &'static str,
    pub holds: fn(before: &Com, after: &Com, rules: &TargetRules) -> Result<(), String>,
}

/// A name is given once, and says it all.
impl PartialEq for Predicate {
    fn eq(&self, other: &Predicate) -> bool {
        self.name == other.name
    }
}

pub const PREDICATES: &[Predicate] = &[
    Predicate {
        name: "ports_are_bound_once",
        why: "the second service on a port does not start",
        holds: ports_are_bound_once,
    },
    SSH_STAYS_ENABLED,
    VPN_STAYS_ENABLED,
    FIREWALL_STAYS_ENABLED,
    Predicate {
        name: "workload_stays_enabled",
        why: "the target is there for it",
        holds: workload_stays_enabled,
    },
    Predicate {
        name: "memory_stays_within_budget",
        why: "the kernel would kill something, and nobody knows what",
        holds: memory_stays_within_budget,
    },
    Predicate {
        name: "memory_high_is_not_above_max",
        why: "a service would be killed before it is throttled",
        holds: memory_high_is_not_above_max,
    },
    Predicate {
        name: "own_configuration_is_unchanged",
        why: "the steward does not change what judges it",
        holds: own_configuration_is_unchanged,
    },
    Predicate { name: "swap_is_kept", why: "builds run out of memory without it", holds: swap_is_kept },
];

/// The three that are asked again of what the target itself evaluated.
pub const CRITICAL: &[Predicate] = &[SSH_STAYS_ENABLED, VPN_STAYS_ENABLED, FIREWALL_STAYS_ENABLED];

const SSH_STAYS_ENABLED: Predicate = Predicate {
    name: "ssh_stays_enabled",
    why: "the target could no longer be reached",
    holds: |_, after, _| ensure(after.ssh_enabled, || "the SSH daemon is not enabled".to_owned()),
};
const VPN_STAYS_ENABLED: Predicate = Predicate {
    name: "vpn_stays_enabled",
    why: "the first way to reach the target would be gone",
    holds: vpn_stays_enabled,
};
const FIREWALL_STAYS_ENABLED: Predicate = Predicate {
    name: "firewall_stays_enabled",
    why: "everything that listens would be open to everybody",
    holds: |_, after, _| ensure(after.firewall_enabled, || "the firewall is not enabled".to_owned()),
};

/// The first of the predicates that does not hold.
pub fn check(
    predicates: &[Predicate],
    before: &Com,
    after: &Com,
    rules: &TargetRules,
) -> Result<(), (&'static str, String)> {
    let failed =
        |predicate: &Predicate, found: String| (predicate.name, format!("{found}: {}", predicate.why));
    predicates.iter().try_for_each(|p| (p.holds)(before, after, rules).map_err(|found| failed(p, found)))
}

/// A target without a VPN needs none; one that has it keeps it.
fn vpn_stays_enabled(before: &Com, after: &Com, _: &TargetRules) -> Result<(), String> {
    match (before.vpn_enabled, after.vpn_enabled) {
        (_, Some(true)) | (None, None) => Ok(()),
        (_, Some(false)) => Err("the VPN is not enabled".to_owned()),
        (Some(_), None) => Err("the VPN is gone".to_owned()),
    }
}

fn workload_stays_enabled(_: &Com, after: &Com, rules: &TargetRules) -> Result<(), String> {
    let enabled = after.units.get(&rules.workload).is_some_and(|unit| unit.enabled);
    ensure(enabled, || format!("the workload {} is not enabled", rules.workload))
}

/// A socket and the service it starts share a port on purpose.
fn ports_are_bound_once(_: &Com, after: &Com, _: &TargetRules) -> Result<(), String> {
    let mut bound: BTreeMap<u16, &UnitName> = BTreeMap::new();
    for (name, unit) in &after.units {
        for port in &unit.listens {
            match bound.insert(*port, name) {
                Some(other) if stem(other) != stem(name) => {
                    return Err(format!("{other} and {name} both listen on port {port}"));
                }
                Some(_) | None => {}
            }
        }
    }
    Ok(())
}

/// The sum stays *under* the budget. A service without a limit counts by the most it was seen to use; one that loses
/// its limit must have been measured.
fn memory_stays_within_budget(before: &Com, after: &Com, rules: &TargetRules) -> Result<(), String> {
    let mut sum: u128 = 0;
    for (name, unit) in after.units.iter().filter(|(name, _)| has_memory_of_its_own(name)) {
        let loses_limit = || before.units.get(name).is_some_and(|was| limit(was).is_some());
        let counted = match (limit(unit), unit.peak_memory) {
            (Some(bytes), _) | (None, Some(bytes)) => bytes,
            (None, None) if loses_limit() => {
                return Err(format!("{name} would have no memory limit, and its use was never measured"));
            }
            (None, None) => 0,
        };
        sum += u128::from(counted);
    }
    let budget = Value::Bytes(rules.memory_budget);
    ensure(sum < u128::from(rules.memory_budget), || {
        let sum = Value::Bytes(u64::try_from(sum).unwrap_or(u64::MAX));
        format!("the memory limits come to {sum}, and have to stay under {budget}")
    })
}

/// No throttle at all is not one above the limit.
fn memory_high_is_not_above_max(_: &Com, after: &Com, _: &TargetRules) -> Result<(), String> {
    let above = after.units.iter().find(|(_, unit)| {
        matches!((unit.value(&Property::MemoryHigh), limit(unit)), (Value::Bytes(high), Some(max)) if high > max)
    });
    match above {
        Some((name, _)) => Err(format!("MemoryHigh of {name} lies above its MemoryMax")),
        None => Ok(()),
    }
}

fn own_configuration_is_unchanged(before: &Com, after: &Com, _: &TargetRules) -> Result<(), String> {
    let same = before.own_configuration == after.own_configuration;
    ensure(same, || "the steward's own configuration would change".to_owned())
}

fn swap_is_kept(before: &Com, after: &Com, _: &TargetRules) -> Result<(), String> {
    ensure(after.swap || !before.swap, || "swap would be removed".to_owned())
}

fn limit(unit: &UnitModel) -> Option<u64> {
    match unit.value(&Property::MemoryMax) {
        Value::Bytes(bytes) => Some(bytes),
        Value::Percent(_) | Value::Number(_) | Value::Infinity | Value::Unset => None,
    }
}

/// A slice is the sum of what runs inside of it and would be counted twice.
fn has_memory_of_its_own(name: &UnitName) -> bool {
    name.as_str().ends_with(".service") || name.as_str().ends_with(".scope")
}

fn stem(name: &UnitName) -> &str {
    let name = name.as_str();
    name.strip_suffix(".socket").or_else(|| name.strip_suffix(".service")).unwrap_or(name)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
