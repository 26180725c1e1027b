//! What a span of time came to, unit by unit, and where nothing was seen.

use std::collections::BTreeMap;
use std::ops::Range;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::hour::Mean;
use crate::metric::{Name, Resource, Scope, Share, Window};

/// Gaps that are listed; more are counted.
const GAPS_MAX: usize = 1000;
const MIB: f64 = (1 << 20) as f64;
/// The pressure that a report is about.
pub(crate) const PRESSURE: Name = Name::Pressure(Resource::Memory, Share::Some, Window::S60);

/// As `--json` prints it: the fields are stable, times are RFC 3339, an absent figure is `null` and never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub target: String,
    pub from: Timestamp,
    pub to: Timestamp,
    /// Times the target was reached in the span.
    pub observations: u64,
    /// The host's own memory pressure, `some` over 60 s, in percent.
    pub psi_mem_some: Option<f64>,
    pub units: Vec<UnitReport>,
    /// Spans of more than five minutes without an observation.
    pub gaps: Vec<Gap>,
    pub gaps_left_off: u64,
    /// All gaps together.
    pub gap_seconds: u64,
    /// Observations before this are gone, so gaps are told from here on, and means before it are of hours. Absent when the
    /// whole span is kept.
    pub gaps_known_from: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitReport {
    pub unit: String,
    pub memory_mib: Option<f64>,
    /// Processors in use, as a share of one.
    pub cpu: Option<f64>,
    pub psi_mem_some: Option<f64>,
    /// How many figures the mean of the memory stands on.
    pub samples: u64,
}

/// So many values of one figure with this mean.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) scope: Scope,
    pub(crate) name: Name,
    pub(crate) count: u64,
    pub(crate) mean: f64,
}

/// What a report is made of, as the tables have it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) parts: Vec<Part>,
    pub(crate) observations: u64,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) gaps_known_from: Option<Timestamp>,
}

#[derive(Default)]
struct Means {
    memory: Mean,
    cpu: Mean,
    pressure: Mean,
}

impl Means {
    fn add(&mut self, part: &Part) {
        match part.name {
            Name::Memory => self.memory.add(part.count, part.mean),
            Name::Cpu => self.cpu.add(part.count, part.mean),
            name if name == PRESSURE => self.pressure.add(part.count, part.mean),
            _ => {}
        }
    }
}

/// Puts it together.
pub(crate) fn report(target: &str, span: &Range<Timestamp>, found: Found) -> Report {
    let mut scopes: BTreeMap<&Scope, Means> = BTreeMap::new();
    for part in &found.parts {
        scopes.entry(&part.scope).or_default().add(part);
    }
    let psi_mem_some = scopes.get(&Scope::Host).and_then(|means| means.pressure.get());
    let units = scopes.iter().filter_map(|(scope, means)| match scope {
        Scope::Host => None,
        Scope::Unit(unit) => Some(UnitReport {
            unit: unit.clone(),
            memory_mib: means.memory.get().map(|bytes| bytes / MIB),
            cpu: means.cpu.get().map(|nanos| nanos / 1e9),
            psi_mem_some: means.pressure.get(),
            samples: means.memory.count(),
        }),
    });
    let gap_seconds = found.gaps.iter().map(|gap| gap.lasts().as_secs()).sum();
    Report {
        target: target.to_owned(),
        from: span.start,
        to: span.end,
        observations: found.observations,
        psi_mem_some,
        units: units.collect(),
        gaps_left_off: found.gaps.len().saturating_sub(GAPS_MAX) as u64,
        gap_seconds,
        gaps_known_from: found.gaps_known_from,
        gaps: found.gaps.into_iter().take(GAPS_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_and_what_was_not_measured_is_absent() {
        let unit = Scope::unit("web.service").unwrap();
        let part = |scope: &Scope, name, count, mean| Part { scope: scope.clone(), name, count, mean };
        let parts = vec![
            part(&unit, Name::Memory, 1, 4.0 * MIB),
            part(&unit, Name::Memory, 3, 8.0 * MIB),
            part(&unit, Name::Cpu, 2, 5e8),
            part(&Scope::Host, PRESSURE, 2, 1.5),
        ];
        let span = Timestamp::EPOCH..Timestamp::EPOCH.plus(std::time::Duration::from_secs(9));
        let found = Found { parts, observations: 4, gaps: Vec::new(), gaps_known_from: None };
        let said = report("host", &span, found);
        assert_eq!(said.psi_mem_some, Some(1.5));
        let expected = UnitReport {
            unit: "web.service".to_owned(),
            memory_mib: Some(7.0),
            cpu: Some(0.5),
            psi_mem_some: None,
            samples: 4,
        };
        assert_eq!(said.units, [expected]);
        let json = serde_json::to_value(&said).unwrap();
        assert_eq!(json["from"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(json["units"][0]["psi_mem_some"], serde_json::Value::Null);
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), said);
    }
}
