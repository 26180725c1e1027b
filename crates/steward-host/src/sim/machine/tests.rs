//! That changes act through the mechanism, each the way it should.

use holdfast_steward::com::UnitModel;
use holdfast_steward::setting::{Change, Setting};

use super::*;

const MIB: f64 = 1024.0 * 1024.0;
const HOUR: u64 = 3_600_000;

fn name(text: &str) -> UnitName {
    text.parse().unwrap()
}

fn web() -> UnitName {
    name("web.service")
}

fn demand(memory_mib: f64, cpu: f64) -> Demand {
    Demand {
        memory: Course::steady(memory_mib * MIB),
        firm: 0.8,
        leak: None,
        cpu: Course::steady(cpu),
        sensitivity: 6.0,
        latency: 20.0,
    }
}

/// Two units under 1000M, throttled at 900M, with a processor each and a nice value of 5 and 0.
fn com() -> Com {
    let unit = |nice| UnitModel {
        enabled: true,
        settings: [
            (Property::MemoryMax, Value::Bytes(1000 << 20)),
            (Property::MemoryHigh, Value::Bytes(900 << 20)),
            (Property::CpuQuota, Value::Percent(100)),
            (Property::Nice, Value::Number(nice)),
        ]
        .into(),
        ..UnitModel::default()
    };
    Com {
        memory_total: 4 << 30,
        swap: true,
        ssh_enabled: true,
        vpn_enabled: None,
        firewall_enabled: true,
        units: [(web(), unit(5)), (name("batch.service"), unit(0))].into(),
        rest: String::new(),
        own_configuration: String::new(),
    }
}

fn with(changes: &[(Property, Value)]) -> Com {
    changes.iter().fold(com(), |com, (property, to)| {
        let setting = Setting { unit: web(), property: property.clone() };
        com.with(&Change { from: com.value(&setting), setting, to: *to })
    })
}

fn machine(com: &Com, of_web: Demand, of_batch: Demand) -> Machine {
    let part = |unit, managed, demand| Part { unit, managed, demand };
    Machine::new(7, 2.0, com, vec![part(web(), true, of_web), part(name("batch.service"), false, of_batch)])
}

/// What the managed unit looks like after some hours.
fn after(hours: u64, mut machine: Machine) -> UnitSight {
    machine.advance(Steady(hours * HOUR), true);
    machine.sight(&web()).unwrap()
}

fn high(mib: u64) -> (Property, Value) {
    (Property::MemoryHigh, Value::Bytes(mib << 20))
}

fn max(mib: u64) -> (Property, Value) {
    (Property::MemoryMax, Value::Bytes(mib << 20))
}

#[test]
fn more_memory_before_throttling_lowers_pressure_as_far_as_it_goes() {
    let pressure = |com: Com| after(1, machine(&com, demand(1050.0, 0.2), demand(100.0, 0.1))).pressure.some;
    let starved = pressure(with(&[max(1400)]));
    let a_little = pressure(with(&[max(1400), high(950)]));
    let enough = pressure(with(&[max(1400), high(1060)]));
    let less = pressure(with(&[max(1400), high(800)]));
    assert!(starved > 40.0, "{starved}");
    assert!(a_little < starved - 5.0 && a_little > 20.0, "{a_little}");
    assert!(enough < 0.1, "{enough}");
    assert!(less > starved + 10.0, "below the working set it harms: {less}");
}

#[test]
fn firm_memory_beyond_the_limit_kills_again_and_again_and_more_of_it_ends_that() {
    let killed = after(1, machine(&com(), demand(1400.0, 0.2), demand(100.0, 0.1)));
    assert!(killed.kills > 5 && killed.kills == killed.restarts, "{killed:?}");
    let relieved = with(&[max(1200), high(1150)]);
    let well = after(1, machine(&relieved, demand(1400.0, 0.2), demand(100.0, 0.1)));
    assert_eq!(well.kills, 0);
    assert!(well.pressure.some > 20.0, "it still waits: {well:?}");
}

#[test]
fn a_leak_is_delayed_by_memory_and_never_healed() {
    let leaking =
        || Demand { leak: Some(Leak { from: Steady(0), per_hour: 40.0 * MIB }), ..demand(500.0, 0.2) };
    let kills = |com: &Com| after(96, machine(com, leaking(), demand(100.0, 0.1))).kills;
    let (small, large) = (kills(&com()), kills(&with(&[max(1500), high(1400)])));
    assert!(small > large && large >= 2, "{small} and {large}");
}

#[test]
fn a_quota_stops_a_unit_until_it_is_wide_enough() {
    let stopped = |percent| {
        let com = with(&[(Property::CpuQuota, Value::Percent(percent))]);
        after(1, machine(&com, demand(300.0, 1.2), demand(100.0, 0.1)))
    };
    let (narrow, wider, wide) = (stopped(100), stopped(125), stopped(150));
    assert!(narrow.throttled > wider.throttled && wider.throttled > wide.throttled, "{narrow:?} {wider:?}");
    assert_eq!(wide.throttled, 0.0);
    assert!(narrow.latency > wide.latency * 1.5 && narrow.throughput < 1.0);
}

#[test]
fn a_nice_value_weighs_a_unit_against_its_neighbours() {
    let waits = |nice, of_batch: f64| {
        let mut com = with(&[(Property::Nice, Value::Number(nice))]);
        // The neighbour may use everything.
        if let Some(unit) = com.units.get_mut(&name("batch.service")) {
            unit.settings.remove(&Property::CpuQuota);
        }
        after(1, machine(&com, demand(300.0, 0.9), demand(100.0, of_batch))).cpu_wait
    };
    let (behind, ahead, alone) = (waits(5, 8.0), waits(-1, 8.0), waits(5, 0.5));
    assert!(behind > 20.0 && ahead < 1.0 && alone < 1.0, "{behind} {ahead} {alone}");
}

#[test]
fn a_neighbour_in_want_presses_on_the_host_and_not_on_the_unit() {
    let hungry = demand(1200.0, 0.1);
    let mut pressed = machine(&com(), demand(500.0, 0.2), hungry.clone());
    pressed.advance(Steady(HOUR), true);
    assert!(pressed.pressure().some > 20.0);
    assert!(pressed.sight(&web()).unwrap().pressure.some < 0.1);
    let mut given = machine(&with(&[max(1500), high(1400)]), demand(500.0, 0.2), hungry);
    given.advance(Steady(HOUR), true);
    assert!((given.pressure().some - pressed.pressure().some).abs() < 1.0, "not the unit's to heal");
}

#[test]
fn limits_beyond_what_the_host_has_hurt_the_neighbours() {
    let mut com = with(&[max(5000), high(5000)]);
    com.memory_total = 2 << 30;
    let mut machine = machine(&com, demand(2200.0, 0.2), demand(300.0, 0.1));
    machine.advance(Steady(HOUR), true);
    assert!(machine.sight(&name("batch.service")).unwrap().pressure.some > 10.0);
    assert_eq!(machine.memory_left(), 0);
}

#[test]
fn it_is_the_same_machine_however_it_is_advanced() {
    let restless = || Demand {
        memory: Course { daily: 0.2, phase: 0.3, wander: 0.05, ..Course::steady(950.0 * MIB) },
        ..demand(0.0, 0.9)
    };
    let mut at_once = machine(&com(), restless(), demand(100.0, 0.1));
    let mut in_parts = at_once.clone();
    at_once.advance(Steady(5 * HOUR), true);
    for n in 1..=5 * 360 {
        in_parts.advance(Steady(n * 10_000), true);
    }
    assert_eq!(at_once.sight(&web()), in_parts.sight(&web()));
    assert_eq!(at_once.pressure(), in_parts.pressure());
}

#[test]
fn a_boot_begins_every_count_anew_and_a_host_that_is_down_does_nothing() {
    let mut machine = machine(&com(), demand(1400.0, 0.2), demand(100.0, 0.1));
    machine.advance(Steady(HOUR), true);
    assert!(machine.workload().kills > 0);
    machine.boot(Steady(HOUR));
    assert_eq!((machine.workload().kills, machine.workload().restarts), (0, 0));
    machine.advance(Steady(2 * HOUR), false);
    assert_eq!(machine.workload().kills, 0);
}
