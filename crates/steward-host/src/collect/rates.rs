//! Two collections in a row, and how fast what they count has grown in between. Pure.

use holdfast_doorman::wire::{Collected, UnitFigures};
use holdfast_metrics::{Begun, Counted, Rated, rate_of};
use holdfast_steward::setting::UnitName;
use holdfast_types::Timestamp;

/// A collection and when it was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken<'a> {
    pub at: Timestamp,
    pub found: &'a Collected,
}

/// What a unit did between two collections. Absent where it was started or the host was booted in between, or one of the two did not
/// have the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitRates {
    pub unit: UnitName,
    /// Processors in use, as a share of one.
    pub cpu: Option<f64>,
    /// The share of the time in which it was held back by its quota; more than one when several of its processes were.
    pub throttled: Option<f64>,
    /// Restarts an hour.
    pub restarts: Option<f64>,
    /// Kills for want of memory an hour.
    pub kills: Option<f64>,
}

/// The rates of every unit that the later one has.
pub fn rates(before: Option<Taken<'_>>, now: Taken<'_>) -> Vec<UnitRates> {
    now.found.units.iter().map(|unit| unit_rates(before, now, unit)).collect()
}

fn unit_rates(before: Option<Taken<'_>>, now: Taken<'_>, unit: &UnitFigures) -> UnitRates {
    let earlier = before.and_then(|before| {
        let same = before.found.units.iter().find(|it| it.unit == unit.unit)?;
        Some((before, same))
    });
    let rate = |since: fn(&UnitFigures) -> Option<u64>, of: fn(&UnitFigures) -> Option<u64>| {
        let count = |taken: Taken<'_>, unit: &UnitFigures| {
            let boot = taken.found.boot.map(|boot| format!("{:016x}", boot.0));
            let begun = Begun { boot, since: since(unit) };
            Some(Counted { at: taken.at.as_micros(), value: of(unit)?, begun })
        };
        let before = earlier.and_then(|(taken, unit)| count(taken, unit))?;
        match rate_of(Some(&before), &count(now, unit)?) {
            Rated::GoesOn { per_second } => Some(per_second),
            Rated::Begins => None,
        }
    };
    let started = |unit: &UnitFigures| unit.started_micros;
    UnitRates {
        unit: unit.unit.clone(),
        cpu: rate(started, |it| it.cpu_nanos).map(|nanos| nanos / 1e9),
        throttled: rate(started, |it| it.throttled_micros).map(|micros| micros / 1e6),
        // Counted over starts: it goes on when the unit is started again.
        restarts: rate(|_| None, |it| it.restarts.map(u64::from)).map(|it| it * 3600.0),
        kills: rate(started, |it| it.kills).map(|it| it * 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use holdfast_lifeline::BootId;

    use super::*;

    fn found(boot: u64, started: u64, cpu_nanos: Option<u64>, restarts: u32) -> Collected {
        let unit = UnitFigures {
            unit: "web.service".parse().unwrap(),
            active: true,
            memory: None,
            memory_peak: None,
            cpu_nanos,
            throttled_micros: Some(0),
            periods: None,
            periods_throttled: None,
            nice: None,
            restarts: Some(restarts),
            kills: None,
            started_micros: Some(started),
        };
        Collected { boot: Some(BootId(boot)), units: vec![unit], ..Collected::default() }
    }

    #[test]
    fn a_unit_has_rates_while_it_goes_on() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000).unwrap();
        let first = found(1, 5, Some(1_000_000_000), 3);
        let before = Taken { at: at(0), found: &first };
        let check = |seconds, now: &Collected, cpu: Option<f64>, restarts: Option<f64>| {
            let rates = rates(Some(before), Taken { at: at(seconds), found: now });
            assert_eq!((rates[0].cpu, rates[0].restarts, rates[0].kills), (cpu, restarts, None), "{now:?}");
        };
        check(120, &found(1, 5, Some(61_000_000_000), 3), Some(0.5), Some(0.0));
        // It was started again: its own counters begin anew, the count of restarts goes on.
        check(120, &found(1, 6, Some(61_000_000_000), 5), None, Some(60.0));
        check(120, &found(1, 5, Some(7), 3), None, Some(0.0));
        check(120, &found(1, 5, None, 3), None, Some(0.0));
        check(120, &found(2, 5, Some(61_000_000_000), 3), None, None);
        check(0, &found(1, 5, Some(61_000_000_000), 3), None, None);
        let alone = rates(None, before);
        assert_eq!((alone[0].cpu, alone[0].restarts), (None, None));
    }
}
