//! From two collections of a real host in a row to what is seen of it: counters become rates, and what cannot be known from
//! them is nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_doorman::wire::{Collected, Pressure, UnitFigures};
use holdfast_lifeline::{BootId, Steady};
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::{Sighting, UnitSighting};

/// Collections of one host, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    before: Option<(Steady, Collected)>,
    /// Counted from what the journal says: a unit's own count begins anew with each start.
    kills: BTreeMap<UnitName, u32>,
}

impl Follow {
    /// The collection that was taken last.
    pub fn last(&self) -> Option<&Collected> {
        self.before.as_ref().map(|(_, collected)| collected)
    }

    /// Takes the next collection. `latency` is what the first of the managed units takes to answer, in milliseconds.
    pub fn next(
        &mut self,
        at: Steady,
        collected: Collected,
        managed: &[UnitName],
        latency: Option<f64>,
    ) -> Sighting {
        for entry in collected.entries.iter().filter(|entry| entry.out_of_memory) {
            if let Some(unit) = managed.iter().find(|unit| unit.as_str() == entry.unit) {
                let count = self.kills.entry(unit.clone()).or_default();
                *count = count.saturating_add(1);
            }
        }
        let of_unit = |figures: &UnitFigures| {
            let is_managed = managed.contains(&figures.unit);
            let mut seen = self.unit(at, figures, &collected);
            seen.managed = is_managed;
            seen.latency = latency.filter(|_| managed.first() == Some(&figures.unit));
            (figures.unit.clone(), seen)
        };
        let sighting = Sighting {
            pressure: minute(&collected.pressure, None, "memory").map(|it| it.some[1]),
            processors: collected.processors.map(f64::from),
            memory_left: collected.memory_available,
            units: collected.units.iter().map(of_unit).collect(),
        };
        self.before = Some((at, collected));
        sighting
    }

    fn unit(&self, at: Steady, now: &UnitFigures, collected: &Collected) -> UnitSighting {
        let of = |resource| minute(&collected.pressure, Some(&now.unit), resource);
        let before = self.same_run(collected.boot, now);
        let memory = of("memory");
        UnitSighting {
            managed: false,
            memory: now.memory,
            pressure: memory.map(|it| it.some[1]),
            pressure_full: memory.and_then(|it| it.full).map(|full| full[1]),
            throttled: before.and_then(|(_, before)| throttled(before, now)),
            cpu_use: before.and_then(|(then, before)| cpu_use(at.since(then), before, now)),
            cpu_wait: of("cpu").map(|it| it.some[1]),
            nice: now.nice,
            latency: None,
            restarts: now.restarts.unwrap_or(0),
            kills: self.kills.get(&now.unit).copied().unwrap_or(0),
        }
    }

    /// The same run of this unit, as it was the last time.
    fn same_run(&self, boot: Option<BootId>, now: &UnitFigures) -> Option<(Steady, &UnitFigures)> {
        let (at, before) = self.before.as_ref()?;
        let unit = before.units.iter().find(|it| it.unit == now.unit)?;
        let is_same =
            before.boot == boot && unit.started_micros.is_some() && unit.started_micros == now.started_micros;
        is_same.then_some((*at, unit))
    }
}

fn cpu_use(apart: Duration, before: &UnitFigures, now: &UnitFigures) -> Option<f64> {
    let nanos = now.cpu_nanos?.checked_sub(before.cpu_nanos?)?;
    (!apart.is_zero()).then(|| nanos as f64 / 1e9 / apart.as_secs_f64())
}

/// Without a quota there are no periods, and nothing is stopped.
fn throttled(before: &UnitFigures, now: &UnitFigures) -> Option<f64> {
    let periods = now.periods?.checked_sub(before.periods?)?;
    let stopped = now.periods_throttled?.checked_sub(before.periods_throttled?)?;
    Some(if periods == 0 { 0.0 } else { (stopped as f64 / periods as f64).min(1.0) })
}

fn minute<'a>(all: &'a [Pressure], unit: Option<&UnitName>, resource: &str) -> Option<&'a Pressure> {
    all.iter().find(|it| it.unit.as_ref() == unit && it.resource == resource)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_doorman::wire::Entry;

    fn web() -> UnitName {
        "web.service".parse().unwrap()
    }

    fn collected(cpu_nanos: u64, periods: u64, stopped: u64, started_micros: u64) -> Collected {
        let unit = UnitFigures {
            unit: web(),
            active: true,
            memory: Some(5 << 20),
            memory_peak: None,
            cpu_nanos: Some(cpu_nanos),
            throttled_micros: None,
            periods: Some(periods),
            periods_throttled: Some(stopped),
            nice: Some(3),
            restarts: Some(1),
            kills: None,
            started_micros: Some(started_micros),
        };
        let host = Pressure { unit: None, resource: "memory".to_owned(), some: [9.0, 5.0, 1.0], full: None };
        let own =
            Pressure { unit: Some(web()), resource: "cpu".to_owned(), some: [0.0, 7.0, 0.0], full: None };
        Collected {
            units: vec![unit],
            pressure: vec![host, own],
            processors: Some(2),
            ..Collected::default()
        }
    }

    #[test]
    fn counters_become_rates_and_a_new_start_begins_anew() {
        let mut follow = Follow::default();
        let managed = [web()];
        let mut next = |at: u64, collected| follow.next(Steady(at), collected, &managed, Some(12.0));
        let first = next(0, collected(1_000_000_000, 100, 0, 7));
        let unit = *first.unit(&web()).unwrap();
        assert_eq!((unit.cpu_use, unit.throttled), (None, None), "nothing to compare with");
        assert_eq!((first.pressure, first.processors), (Some(5.0), Some(2.0)));
        assert_eq!((unit.cpu_wait, unit.pressure, unit.latency), (Some(7.0), None, Some(12.0)));
        let second = next(120_000, collected(61_000_000_000, 1300, 300, 7));
        let unit = *second.unit(&web()).unwrap();
        assert_eq!((unit.cpu_use, unit.throttled), (Some(0.5), Some(0.25)));
        // Started again, or counted backwards: no figure, and none that is negative.
        for odd in [collected(5, 1300, 300, 8), collected(4, 1200, 300, 8)] {
            let unit = *next(240_000, odd).unit(&web()).unwrap();
            assert_eq!(unit.cpu_use, None);
        }
        let quiet = next(360_000, collected(9, 1200, 300, 8));
        assert_eq!(quiet.unit(&web()).unwrap().throttled, Some(0.0), "no quota, or no period since");
    }

    #[test]
    fn kills_are_counted_from_the_journal_and_only_those_of_managed_units() {
        let mut follow = Follow::default();
        let entry = |unit: &str, out_of_memory| Entry {
            at_micros: 1,
            priority: 4,
            unit: unit.to_owned(),
            message: String::new(),
            out_of_memory,
        };
        let entries = vec![
            entry("web.service", true),
            entry("web.service", false),
            entry("db.service", true),
            entry("", true),
        ];
        let with = Collected { entries, ..collected(1, 1, 1, 1) };
        assert_eq!(follow.next(Steady(0), with.clone(), &[web()], None).kills(), 1);
        assert_eq!(follow.next(Steady(1), with, &[web()], None).kills(), 2);
        assert_eq!(follow.next(Steady(2), collected(1, 1, 1, 1), &[web()], None).kills(), 2);
    }
}
