//! What the modelled host is asked to do: its services, how people set them up, and the spells of trouble its seed chooses.
//!
//! A spell is half a day. The first is quiet, so that what comes after can be told from it. What a spell does it does through
//! demand alone: whether a change helps follows from the machine, not from anything decided here.

use holdfast_config::Trouble;
use holdfast_lifeline::Steady;
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::setting::{Property, UnitName, Value};
use holdfast_steward_host::{Course, Demand, LIMIT, Leak, Machine, Part, estate, workload};

/// How long one load lasts.
pub(super) const SPELL: u64 = 12 * 3_600_000;

/// What all memory limits together stay under.
pub(super) const MEMORY_BUDGET: u64 = (7 << 30) / 2;

const PROCESSORS: f64 = 2.0;
const MIB: u64 = 1 << 20;

/// What the managed service wants in quiet times: two thirds of what it may have, and half of its quota.
const USUAL_MEMORY: f64 = 600.0 * MIB as f64;
const USUAL_PROCESSORS: f64 = 0.45;
/// Where its throttle is before anything was changed.
const THROTTLE: f64 = (LIMIT / 8 * 7) as f64;
/// The part of its memory that cannot be reclaimed.
const FIRM: f64 = 0.75;

/// What is kept of what a neighbour usually has: its throttle leaves it a third more.
const BACKUP_MEMORY: f64 = 360.0 * MIB as f64;
const BACKUP_THROTTLE: u64 = 480 * MIB;
/// People gave the backup more weight than the service it backs up, which nobody feels until both want to run.
const BACKUP_NICE: i64 = -4;

fn unit(name: &str) -> UnitName {
    name.parse().unwrap_or_else(|_| unreachable!("the names of this file are good ones"))
}

fn backup() -> UnitName {
    unit("backup.service")
}

fn proxy() -> UnitName {
    unit("proxy.service")
}

/// The host as people set it up: the managed service and two neighbours.
pub(super) fn setup() -> Com {
    let mut com = estate();
    let neighbour = |high: u64, nice: i64| UnitModel {
        enabled: true,
        settings: [
            (Property::MemoryHigh, Value::Bytes(high)),
            (Property::MemoryMax, Value::Bytes(high / 4 * 5)),
            (Property::Nice, Value::Number(nice)),
        ]
        .into(),
        ..UnitModel::default()
    };
    com.units.insert(backup(), neighbour(BACKUP_THROTTLE, BACKUP_NICE));
    com.units.insert(proxy(), neighbour(256 * MIB, 0));
    com
}

/// Its machine in quiet times.
pub(super) fn machine(seed: u32) -> Machine {
    let managed = workload();
    let parts = demands(Spell::Quiet)
        .map(|(unit, demand)| Part { managed: unit == managed, unit, demand })
        .into_iter()
        .collect();
    Machine::new(u64::from(seed), PROCESSORS, &setup(), parts)
}

/// What one spell is like, and by how much, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spell {
    Quiet,
    /// Its working set is beyond its throttle.
    Memory(f64),
    /// So far beyond that it is killed for it.
    Killed(f64),
    /// It wants more than its quota.
    Processor(f64),
    /// A neighbour that weighs more wants every processor.
    Nice(f64),
    Leak {
        from: Steady,
        share: f64,
    },
    /// A neighbour is short of memory.
    Neighbour(f64),
}

/// The spell of this moment.
pub(super) fn spell(seed: u32, trouble: Trouble, at: Steady) -> Spell {
    let number = at.0 / SPELL;
    if number == 0 || trouble == Trouble::Nothing {
        return Spell::Quiet;
    }
    let from = Steady(if trouble == Trouble::Mixed { number * SPELL } else { SPELL });
    // One kind of trouble lasts, so its size is drawn once.
    let size = drawn(seed, b"size", if trouble == Trouble::Mixed { number } else { 1 });
    match trouble {
        Trouble::Nothing => Spell::Quiet,
        Trouble::Memory => Spell::Memory(size),
        Trouble::Processor => Spell::Processor(size),
        Trouble::Nice => Spell::Nice(size),
        Trouble::Leak => Spell::Leak { from, share: size },
        Trouble::Neighbour => Spell::Neighbour(size),
        Trouble::Mixed if number == 1 => Spell::Memory(size),
        Trouble::Mixed => match (drawn(seed, b"kind", number) * 12.0) as u32 {
            0..=5 => Spell::Quiet,
            6 => Spell::Memory(size),
            7 => Spell::Killed(size),
            8 => Spell::Processor(size),
            9 => Spell::Nice(size),
            10 => Spell::Leak { from, share: size },
            _ => Spell::Neighbour(size),
        },
    }
}

/// What each unit wants in a spell.
pub(super) fn demands(spell: Spell) -> [(UnitName, Demand); 3] {
    let course = |level: f64| Course { daily: 0.06, phase: 0.2, wander: 0.02, ..Course::steady(level) };
    let mut service = Demand {
        memory: course(USUAL_MEMORY),
        firm: FIRM,
        leak: None,
        cpu: course(USUAL_PROCESSORS),
        sensitivity: 6.0,
        latency: 20.0,
    };
    let neighbour = |memory: f64, processors: f64| Demand {
        memory: course(memory),
        firm: 0.6,
        leak: None,
        cpu: course(processors),
        sensitivity: 6.0,
        latency: 40.0,
    };
    let mut backup_wants = neighbour(BACKUP_MEMORY, 0.15);
    match spell {
        Spell::Quiet => {}
        Spell::Memory(by) => service.memory.level = THROTTLE * (1.04 + 0.14 * by),
        Spell::Killed(by) => service.memory.level = LIMIT as f64 / FIRM * (1.08 + 0.04 * by),
        Spell::Processor(by) => service.cpu.level = 1.02 + 0.2 * by,
        Spell::Nice(by) => {
            service.cpu.level = 0.72 + 0.1 * by;
            backup_wants.cpu.level = PROCESSORS * 3.0;
        }
        Spell::Leak { from, share } => {
            // What is left of the limit is gone within four to eight hours.
            let left = LIMIT as f64 - USUAL_MEMORY * FIRM;
            service.leak = Some(Leak { from, per_hour: left / (8.0 - 4.0 * share) });
        }
        Spell::Neighbour(by) => backup_wants.memory.level = BACKUP_THROTTLE as f64 * (1.08 + 0.12 * by),
    }
    [(workload(), service), (backup(), backup_wants), (proxy(), neighbour(140.0 * MIB as f64, 0.1))]
}

/// From 0 to 1, the same for the same seed and matter.
fn drawn(seed: u32, about: &[u8], number: u64) -> f64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(about);
    hasher.update(&number.to_le_bytes());
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HOUR: u64 = 3_600_000;

    /// The machine some hours into a kind of trouble.
    fn after(trouble: Trouble, hours: u64) -> Machine {
        let mut machine = machine(7);
        for (unit, demand) in demands(spell(7, trouble, Steady(SPELL))) {
            machine.set_demand(&unit, &demand);
        }
        machine.advance(Steady(SPELL), false);
        machine.advance(Steady(SPELL + hours * HOUR), true);
        machine
    }

    #[test]
    fn each_trouble_shows_where_it_should_and_nowhere_else() {
        let of = |trouble| {
            let machine = after(trouble, 2);
            let sight = machine.sight(&workload()).unwrap();
            (machine.pressure().some, sight.pressure.some, sight.throttled * 100.0, sight.cpu_wait)
        };
        let (host, own, stopped, waits) = of(Trouble::Nothing);
        assert!(host < 2.0 && own < 0.5 && stopped == 0.0 && waits < 0.5, "{:?}", of(Trouble::Nothing));
        let (_, own, stopped, waits) = of(Trouble::Memory);
        assert!(own > 10.0 && stopped == 0.0 && waits < 0.5, "{:?}", of(Trouble::Memory));
        let (_, own, stopped, waits) = of(Trouble::Processor);
        assert!(own < 0.5 && stopped > 10.0 && waits < 0.5, "{:?}", of(Trouble::Processor));
        let (_, own, stopped, waits) = of(Trouble::Nice);
        assert!(own < 0.5 && stopped < 5.0 && waits > 5.0, "{:?}", of(Trouble::Nice));
        let (host, own, ..) = of(Trouble::Neighbour);
        assert!(host > 10.0 && own < 0.5, "{:?}", of(Trouble::Neighbour));
        let leaking = after(Trouble::Leak, 2).sight(&workload()).unwrap().memory as f64;
        assert!(leaking > USUAL_MEMORY * 1.1, "{leaking}");
    }

    #[test]
    fn the_first_spell_is_quiet_and_one_kind_of_trouble_lasts() {
        for seed in 0..50 {
            assert_eq!(spell(seed, Trouble::Mixed, Steady(SPELL - 1)), Spell::Quiet);
            assert!(matches!(spell(seed, Trouble::Mixed, Steady(SPELL)), Spell::Memory(_)));
            let nice = |number: u64| spell(seed, Trouble::Nice, Steady(number * SPELL));
            assert_eq!(nice(1), nice(9));
        }
        let kinds = (2..400).map(|number| spell(3, Trouble::Mixed, Steady(number * SPELL)));
        let kinds: std::collections::BTreeSet<String> =
            kinds.map(|spell| format!("{spell:?}").chars().take(4).collect()).collect();
        assert_eq!(kinds.len(), 7, "{kinds:?}");
        assert!(Duration::from_millis(SPELL) > Duration::from_secs(3600));
    }
}
