//! From facts to diagnoses: what is wrong that a setting might heal, and what is wrong that none would.

use std::cmp::Reverse;

use super::{MIB, bytes};
use crate::brain::diagnosis::Diagnosis;
use crate::brain::history::Life;
use crate::brain::view::{Neighbour, UnitView, View};
use crate::setting::{UnitName, Value};

/// A unit's own memory pressure from which it is worth acting, in percent. Below the 5 % that users begin to notice, so
/// that what is healed is healed with something to spare.
pub(super) const PRESSURE_MIN: f64 = 3.0;
/// The same for the host as a whole, where nothing is known of the unit itself.
const HOST_PRESSURE_MIN: f64 = 10.0;
/// Pressure of the host that its units do not feel is another's from here on.
const ELSEWHERE_MIN: f64 = 5.0;
/// Use beyond this share of a limit is at the limit, in percent.
const CLOSE_PERCENT: u64 = 95;
/// Restarts that make a unit suspect, if memory is also at its limit.
const RESTARTS_MIN: u64 = 3;
/// The share of scheduling periods in which a quota stopped the unit, from which it holds the unit back.
pub(super) const THROTTLED_MIN: f64 = 0.05;
/// The share of time a unit waits for a processor, from which somebody takes it away, in percent.
pub(super) const WAIT_MIN: f64 = 3.0;
/// Processors are taken when this share of them is in use.
const TAKEN_SHARE: f64 = 0.85;
/// Memory of the host below which more for one is less for another.
const LEFT_MIN: u64 = 128 * MIB;
/// A life that ends in a kill within this time had no time to leak: what it needs at once does not fit.
const SHORT_LIFE_SECONDS: u64 = 3600;
/// Lives before these were another configuration's.
const LIVES_READ: usize = 3;

/// Something wrong that a setting might heal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trouble<'a> {
    pub(super) diagnosis: Diagnosis,
    pub(super) unit: &'a UnitName,
    pub(super) seen: &'a UnitView,
    /// In percent of time or of periods.
    pub(super) severity: f64,
}

#[derive(Debug, Default)]
pub(super) struct Signs<'a> {
    /// The most harmful first.
    pub(super) troubles: Vec<Trouble<'a>>,
    /// What is wrong and not to be healed by anything in scope, a sentence each.
    pub(super) ruled_out: Vec<String>,
}

pub(super) fn read(view: &View) -> Signs<'_> {
    let mut signs = Signs::default();
    for (unit, seen) in &view.units {
        signs.memory(unit, seen, view);
        signs.quota(unit, seen);
        signs.processors(unit, seen, view);
    }
    signs.elsewhere(view);
    // Kills before all else; then memory, because every trial is judged by how much the host waits for it: what is tried while
    // that goes up and down is blamed for it. Then whoever waits most; of equals the kind that comes first, then the name.
    let killed = |trouble: &Trouble<'_>| trouble.diagnosis == Diagnosis::LimitTooLow;
    let memory = |trouble: &Trouble<'_>| trouble.diagnosis == Diagnosis::ThrottleTooLow;
    signs.troubles.sort_by_key(|trouble| {
        let weight = if killed(trouble) { trouble.seen.oom_kills } else { 0 };
        let waits = if killed(trouble) { 0 } else { trouble.severity as u64 };
        (
            Reverse(killed(trouble)),
            Reverse(weight),
            Reverse(memory(trouble)),
            Reverse(waits),
            trouble.diagnosis,
        )
    });
    signs
}

impl<'a> Signs<'a> {
    fn add(&mut self, diagnosis: Diagnosis, unit: &'a UnitName, seen: &'a UnitView, severity: f64) {
        let severity = if severity.is_finite() { severity.clamp(0.0, 100.0) } else { 0.0 };
        self.troubles.push(Trouble { diagnosis, unit, seen, severity });
    }

    fn memory(&mut self, unit: &'a UnitName, seen: &'a UnitView, view: &View) {
        let killed = seen.is_short_of_memory();
        let waits = seen.waits_for_memory(view);
        if !killed && waits.is_none() {
            return;
        }
        if seen.leaks() {
            self.ruled_out.push(format!(
                "the memory of {unit} grows for as long as it runs, {}: more of it would only put the end off",
                seen.growth_in_words()
            ));
            return;
        }
        if view.on_host.memory_left.is_some_and(|left| left < LEFT_MIN) {
            self.ruled_out.push(format!("{unit} wants memory that the host does not have"));
            return;
        }
        match (killed, waits) {
            (true, waits) => self.add(Diagnosis::LimitTooLow, unit, seen, waits.unwrap_or(100.0)),
            (false, Some(waits)) if seen.is_at_its_throttle() => {
                self.add(Diagnosis::ThrottleTooLow, unit, seen, waits);
            }
            (false, Some(waits)) => self.ruled_out.push(format!(
                "{unit} waits for memory {waits:.0} % of the time without being held at its throttle: the host is short of it"
            )),
            (false, None) => {}
        }
    }

    fn quota(&mut self, unit: &'a UnitName, seen: &'a UnitView) {
        if seen.throttled >= THROTTLED_MIN {
            self.add(Diagnosis::QuotaTooLow, unit, seen, seen.throttled * 100.0);
        }
    }

    fn processors(&mut self, unit: &'a UnitName, seen: &'a UnitView, view: &View) {
        let Some(waits) = seen.facts.cpu_wait.filter(|waits| *waits >= WAIT_MIN) else { return };
        let others = &view.on_host.neighbours;
        let in_use: f64 = others.iter().map(|other| other.cpu_use).sum::<f64>()
            + view.units.values().filter_map(|unit| unit.facts.cpu_use).sum::<f64>();
        let taken = view.on_host.processors.is_some_and(|all| in_use >= all * TAKEN_SHARE);
        if taken {
            self.add(Diagnosis::NiceTooHigh, unit, seen, waits);
        } else {
            self.ruled_out.push(format!(
                "{unit} waits for a processor {waits:.0} % of the time although some are free"
            ));
        }
    }

    /// Pressure of the host that no managed unit feels.
    fn elsewhere(&mut self, view: &View) {
        let felt = view.units.values().filter_map(|unit| unit.facts.pressure).fold(0.0, f64::max);
        let known = view.units.values().all(|unit| unit.facts.pressure.is_some());
        let Some(pressure) = view.pressure.filter(|pressure| known && *pressure >= ELSEWHERE_MIN) else {
            return;
        };
        if felt >= PRESSURE_MIN {
            return;
        }
        let worst = |a: &&Neighbour, b: &&Neighbour| a.pressure.total_cmp(&b.pressure);
        let who = view.on_host.neighbours.iter().max_by(worst).filter(|other| other.pressure > felt);
        let who = who.map_or_else(|| "something else".to_owned(), |other| other.unit.to_string());
        self.ruled_out.push(format!(
            "memory pressure on the host is {pressure:.0} %, and it is {who} that waits, which is not in scope"
        ));
    }
}

impl Trouble<'_> {
    pub(super) fn sentence(&self) -> String {
        let (unit, severity) = (self.unit, self.severity);
        match self.diagnosis {
            Diagnosis::LimitTooLow => format!("{unit} is killed for want of memory"),
            Diagnosis::ThrottleTooLow => format!("{unit} waits for memory {severity:.0} % of the time"),
            Diagnosis::QuotaTooLow => {
                format!("{unit} is stopped by its quota in {severity:.0} % of its periods")
            }
            Diagnosis::NiceTooHigh => format!("{unit} waits for a processor {severity:.0} % of the time"),
        }
    }
}

impl UnitView {
    fn is_short_of_memory(&self) -> bool {
        self.oom_kills > 0 || self.restarts >= RESTARTS_MIN && self.is_close_to(self.memory_max, self.peak)
    }

    /// How much of the time it waits for memory, when that is worth acting on.
    fn waits_for_memory(&self, view: &View) -> Option<f64> {
        match self.facts.pressure {
            Some(own) => Some(own).filter(|own| *own >= PRESSURE_MIN),
            None => view.pressure.filter(|host| *host >= HOST_PRESSURE_MIN && self.is_at_its_throttle()),
        }
    }

    fn is_at_its_throttle(&self) -> bool {
        let used = self.facts.memory.max(self.peak);
        self.is_close_to(self.memory_high, used) || self.is_close_to(self.memory_max, used)
    }

    pub(super) fn is_close_to(&self, limit: Value, used: Option<u64>) -> bool {
        let share =
            |used: u64, limit: u64| u128::from(used) * 100 >= u128::from(limit) * u128::from(CLOSE_PERCENT);
        used.zip(bytes(limit)).is_some_and(|(used, limit)| share(used, limit))
    }

    /// It grows in every life. A life that ended within the hour speaks against it: what did not fit was wanted at once.
    pub(super) fn leaks(&self) -> bool {
        let short = |life: &Life| life.killed && life.lasted.as_secs() < SHORT_LIFE_SECONDS;
        let grew = |life: &Life| life.killed && life.growth.is_some_and(|growth| growth.is_endless());
        let lately = || self.facts.lives.iter().rev().take(LIVES_READ);
        if lately().any(short) {
            return false;
        }
        self.facts.growth.is_some_and(|growth| growth.is_endless()) || lately().any(grew)
    }

    fn growth_in_words(&self) -> String {
        let ended = self.facts.lives.iter().rev().find_map(|life| life.growth);
        let growth = self.facts.growth.filter(|growth| growth.is_endless()).or(ended);
        growth.map_or_else(
            || "again and again".to_owned(),
            |growth| {
                let hours = growth.lasted.as_secs() / 3600;
                format!("by {:.0} % of what it has in {hours} hours", growth.rise * 100.0)
            },
        )
    }
}
