//! Each predicate with a configuration where it holds and one where it does not, and the evaluated-value check.

use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::gates::evaluated;
use holdfast_steward::properties::{self, PREDICATES};
use holdfast_steward::setting::{Change, Property, Value};
use proptest::prelude::*;

use crate::world::*;

fn failing(before: &Com, after: &Com) -> Option<(&'static str, String)> {
    properties::check(PREDICATES, before, after, &rules()).err()
}

fn check(edit: impl FnOnce(&mut Com), expected: Option<(&str, &str)>) {
    let after = com_with(edit);
    match (failing(&com(), &after), expected) {
        (None, None) => {}
        (Some((name, reason)), Some((predicate, part))) => {
            assert_eq!(name, predicate, "{reason}");
            assert!(reason.contains(part), "{reason}");
        }
        (found, expected) => panic!("found {found:?}, expected {expected:?}"),
    }
}

fn new_unit(com: &mut Com, name: &str, edit: impl FnOnce(&mut UnitModel)) {
    let model = com.units.entry(unit(name)).or_default();
    edit(model);
}

// shows: STW-135
#[test]
fn no_two_services_bind_the_same_port() {
    let clash = Some(("ports_are_bound_once", "both listen on port 22"));
    check(|_| {}, None);
    check(|com| new_unit(com, "b.service", |unit| unit.listens = vec![81]), None);
    check(|com| new_unit(com, "sshd.socket", |unit| unit.listens = vec![22]), None);
    check(|com| new_unit(com, "b.service", |unit| unit.listens = vec![22]), clash);
    check(|com| new_unit(com, "b.socket", |unit| unit.listens = vec![80, 22]), clash);
}

// shows: STW-136
#[test]
fn the_ssh_daemon_stays_enabled() {
    check(|com| com.ssh_enabled = true, None);
    check(|com| com.ssh_enabled = false, Some(("ssh_stays_enabled", "not enabled")));
}

// shows: STW-137
#[test]
fn the_vpn_stays_enabled() {
    check(|com| com.vpn_enabled = Some(true), None);
    check(|com| com.vpn_enabled = Some(false), Some(("vpn_stays_enabled", "not enabled")));
    check(|com| com.vpn_enabled = None, Some(("vpn_stays_enabled", "gone")));
    let without = com_with(|com| com.vpn_enabled = None);
    assert_eq!(failing(&without, &without), None);
}

// shows: STW-138
#[test]
fn the_workload_stays_enabled() {
    let off = Some(("workload_stays_enabled", WORKLOAD));
    check(|com| new_unit(com, WORKLOAD, |unit| unit.enabled = true), None);
    check(|com| new_unit(com, WORKLOAD, |unit| unit.enabled = false), off);
    check(|com| drop(com.units.remove(&unit(WORKLOAD))), off);
}

#[test]
fn the_firewall_stays_enabled() {
    check(|com| com.firewall_enabled = false, Some(("firewall_stays_enabled", "not enabled")));
}

/// 1536M of the workload, 256M of another, four that use 64M each and have no limit: 2048M of 3584M.
const SUM: u64 = 2048 * MIB;

// shows: STW-139, STW-355
#[test]
fn the_memory_limits_stay_under_the_budget() {
    let over = Some(("memory_stays_within_budget", "have to stay under 3584M"));
    let max = |bytes| {
        move |com: &mut Com| {
            new_unit(com, "b.service", |unit| {
                unit.settings.insert(Property::MemoryMax, Value::Bytes(bytes));
            })
        }
    };
    let left = 3584 * MIB - SUM;
    check(max(left - 1), None);
    check(max(left), over);
    check(max(left + 1), over);
    check(max(u64::MAX), over);
    // Without a limit a service counts by the most it was seen to use.
    let peak = |peak| move |com: &mut Com| new_unit(com, "b.service", |unit| unit.peak_memory = Some(peak));
    check(peak(left - 1), None);
    check(peak(left), over);
    let endless = |peak| {
        move |com: &mut Com| {
            new_unit(com, WORKLOAD, |unit| {
                unit.settings.insert(Property::MemoryMax, Value::Infinity);
                unit.settings.remove(&Property::MemoryHigh);
                unit.peak_memory = peak;
            })
        }
    };
    check(endless(Some(left)), None);
    check(endless(Some(left + 1536 * MIB)), over);
    check(endless(None), Some(("memory_stays_within_budget", "never measured")));
    // A slice is the sum of what is inside of it.
    check(
        |com| {
            new_unit(com, "b.slice", |unit| {
                unit.settings.insert(Property::MemoryMax, Value::Bytes(8 * GIB));
            })
        },
        None,
    );
}

// shows: STW-141, STW-355
#[test]
fn the_stewards_own_configuration_is_unchanged() {
    let changed = Some(("own_configuration_is_unchanged", "own configuration"));
    check(|com| com.own_configuration = com.own_configuration.clone(), None);
    check(|com| com.own_configuration = "sha256:other".into(), changed);
}

// shows: STW-142
#[test]
fn swap_is_not_removed() {
    check(|com| com.swap = true, None);
    check(|com| com.swap = false, Some(("swap_is_kept", "removed")));
    let without = com_with(|com| com.swap = false);
    assert_eq!(failing(&without, &without), None);
}

proptest! {
    // shows: STW-140
    #[test]
    fn memory_high_is_never_above_memory_max(high in 0..2 * GIB, max in 0..2 * GIB, near in -1i64..=1, on: bool) {
        let high = if on { max.saturating_add_signed(near) } else { high };
        let after = com_with(|com| {
            set(com, WORKLOAD, Property::MemoryHigh, Value::Bytes(high));
            set(com, WORKLOAD, Property::MemoryMax, Value::Bytes(max));
        });
        let found = failing(&com(), &after);
        prop_assert_eq!(found.is_some_and(|(name, _)| name == "memory_high_is_not_above_max"), high > max);
    }
}

fn raised() -> Change {
    change(WORKLOAD, Property::MemoryMax, Value::Bytes(1536 * MIB), Value::Bytes(1792 * MIB))
}

fn check_evaluated(edit: impl FnOnce(&mut Com), changes: &[Change], expected: Result<(), &str>) {
    let mut after = com().with(&raised());
    edit(&mut after);
    match (evaluated(&com(), &after, changes, &rules()), expected) {
        (Ok(()), Ok(())) => {}
        (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
        (found, expected) => panic!("found {found:?}, expected {expected:?}"),
    }
}

// shows: STW-149, STW-276, STW-346
#[test]
fn what_was_evaluated_is_exactly_what_was_proposed() {
    check_evaluated(|_| {}, &[raised()], Ok(()));
    check_evaluated(|com| com.ssh_enabled = false, &[raised()], Err("SSH daemon is not enabled"));
    check_evaluated(|com| com.vpn_enabled = Some(false), &[raised()], Err("VPN is not enabled"));
    check_evaluated(|com| com.firewall_enabled = false, &[raised()], Err("firewall is not enabled"));
    check_evaluated(|com| com.rest = "x".into(), &[raised()], Err("outside of all units"));
    check_evaluated(|com| com.own_configuration = "x".into(), &[raised()], Err("own configuration"));
    check_evaluated(|com| com.swap = false, &[raised()], Err("swap"));
    let nice = |com: &mut Com| set(com, WORKLOAD, Property::Nice, Value::Number(1));
    check_evaluated(nice, &[raised()], Err("more than was proposed: Nice"));
    check_evaluated(
        |com| drop(com.units.remove(&unit("other.service"))),
        &[raised()],
        Err("other.service is gone"),
    );
    check_evaluated(|com| new_unit(com, "b.service", |_| {}), &[raised()], Err("b.service is new"));
    check_evaluated(|com| *com = crate::world::com(), &[raised()], Err("does not hold what was proposed"));
    check_evaluated(|com| *com = crate::world::com(), &[], Err("nothing was proposed"));
    let other = |com: &mut Com| set(com, WORKLOAD, Property::MemoryMax, Value::Bytes(1793 * MIB));
    check_evaluated(other, &[raised()], Err("more than was proposed"));
    check_evaluated(
        |com| new_unit(com, "nft.service", |unit| unit.enabled = false),
        &[raised()],
        Err("nft.service"),
    );
    let ssh = change("sshd.service", Property::MemoryMax, Value::Unset, Value::Bytes(GIB));
    check_evaluated(
        |com| *com = com.with(&ssh.clone()),
        &[raised(), ssh.clone()],
        Err("has no overlay of the steward"),
    );
}

#[test]
fn what_was_measured_may_move_in_between() {
    check_evaluated(|com| new_unit(com, WORKLOAD, |unit| unit.peak_memory = Some(GIB)), &[raised()], Ok(()));
}
