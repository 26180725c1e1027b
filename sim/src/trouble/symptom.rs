//! What shows a trouble, and the band within which it counts as gone.

use holdfast_lifeline::Steady;
use holdfast_steward::setting::UnitName;
use holdfast_steward_host::Machine;

use super::host::HOUR;

/// What of a unit is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// Memory pressure below 5 %, and no kill within the hour.
    Memory,
    /// Stopped by its quota in less than a tenth of the periods.
    Quota,
    /// Waits for a processor less than 5 % of the time.
    Processor,
}

/// Pressure of 5 %: an answer takes a third longer at most, and users begin to notice. The same for processors.
const PRESSURE_MAX: f64 = 5.0;
const WAIT_MAX: f64 = 5.0;
/// Stopped in a tenth of the periods.
const STOPPED_MAX: f64 = 0.1;

/// A band, of a unit or of the host as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symptom {
    pub unit: Option<UnitName>,
    pub band: Band,
}

impl Symptom {
    /// How bad it is, in widths of its band: 1 is where it begins to be one.
    pub fn badness(&self, machine: &Machine) -> f64 {
        let sight = self.unit.as_ref().and_then(|unit| machine.sight(unit));
        match (self.band, sight) {
            (Band::Memory, None) => machine.pressure().some / PRESSURE_MAX,
            (Band::Memory, Some(sight)) => sight.pressure.some / PRESSURE_MAX,
            (Band::Quota, Some(sight)) => sight.throttled / STOPPED_MAX,
            (Band::Processor, Some(sight)) => sight.cpu_wait / WAIT_MAX,
            (Band::Quota | Band::Processor, None) => 0.0,
        }
    }

    /// Kills so far, where they are part of it.
    fn kills(&self, machine: &Machine) -> u32 {
        match self.band {
            Band::Memory => {
                self.unit.as_ref().and_then(|unit| machine.sight(unit)).map_or(0, |sight| sight.kills)
            }
            Band::Quota | Band::Processor => 0,
        }
    }
}

/// A host's symptoms hour by hour.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// For each hour the worst symptom's mean, in widths of its band, and whether something was killed.
    pub(super) hours: Vec<(f64, bool)>,
    sums: Vec<f64>,
    count: u32,
    kills: u32,
    killed: bool,
    hour: u64,
}

impl Course {
    pub(super) fn take(&mut self, at: Steady, symptoms: &[Symptom], machine: &Machine) {
        let hour = at.0 / HOUR;
        if hour != self.hour && self.count > 0 {
            self.close();
        }
        self.hour = hour;
        self.sums.resize(symptoms.len(), 0.0);
        for (sum, symptom) in self.sums.iter_mut().zip(symptoms) {
            *sum += symptom.badness(machine);
        }
        let kills = symptoms.iter().map(|symptom| symptom.kills(machine)).sum();
        self.killed |= kills > self.kills;
        self.kills = kills;
        self.count += 1;
    }

    fn close(&mut self) {
        let worst = self.sums.iter().map(|sum| sum / f64::from(self.count)).fold(0.0, f64::max);
        self.hours.push((worst, self.killed));
        self.sums.iter_mut().for_each(|sum| *sum = 0.0);
        (self.count, self.killed) = (0, false);
    }

    pub(super) fn is_bad(&self, hour: usize) -> bool {
        self.hours.get(hour).is_some_and(|(worst, killed)| *worst >= 1.0 || *killed)
    }

    /// The hour from which on it is well until the end, when that is a whole day at least.
    pub(super) fn well_since(&self) -> Option<usize> {
        let last_bad = (0..self.hours.len()).rev().find(|hour| self.is_bad(*hour));
        let since = last_bad.map_or(0, |hour| hour + 1);
        (self.hours.len() >= since + 24).then_some(since)
    }
}

/// Every symptom a unit can have: what a host with nothing wrong is free of.
pub(super) fn all(units: &[UnitName]) -> Vec<Symptom> {
    let of = |unit: &UnitName| {
        [Band::Memory, Band::Quota, Band::Processor].map(|band| Symptom { unit: Some(unit.clone()), band })
    };
    units.iter().flat_map(of).collect()
}
