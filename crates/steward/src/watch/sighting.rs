//! What is seen of a host at one moment. What could not be measured is nothing, never zero.

use crate::setting::UnitName;

/// More managed units than this are not watched one by one: each has lookouts of its own.
pub const UNITS_MAX: usize = 16;

/// The figures of a host at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sighting {
    /// Waiting for memory on the host as a whole, over a minute, in percent.
    pub pressure: Option<f64>,
    pub processors: Option<f64>,
    /// Memory that nobody uses.
    pub memory_left: Option<u64>,
    pub units: Vec<(UnitName, UnitSighting)>,
}

/// The figures of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitSighting {
    /// Whether the steward may change it.
    pub managed: bool,
    pub memory: Option<u64>,
    /// Waiting for memory, over a minute, in percent: by some of its processes, and by all.
    pub pressure: Option<f64>,
    pub pressure_full: Option<f64>,
    /// The share of scheduling periods in which its quota stopped it, from 0 to 1.
    pub throttled: Option<f64>,
    /// Processors in use.
    pub cpu_use: Option<f64>,
    /// The share of time it could have run and waited for a processor, over a minute, in percent.
    pub cpu_wait: Option<f64>,
    pub nice: Option<i64>,
    /// How long it takes to answer, in milliseconds.
    pub latency: Option<f64>,
    /// Counted since something began; only differences mean anything.
    pub restarts: u32,
    pub kills: u32,
}

impl Sighting {
    pub fn unit(&self, name: &UnitName) -> Option<&UnitSighting> {
        self.units.iter().find(|(unit, _)| unit == name).map(|(_, seen)| seen)
    }

    /// Restarts and kills of the managed units together.
    pub fn restarts(&self) -> u32 {
        self.managed().map(|unit| unit.restarts).fold(0, u32::saturating_add)
    }

    pub fn kills(&self) -> u32 {
        self.managed().map(|unit| unit.kills).fold(0, u32::saturating_add)
    }

    /// The first managed unit that was killed since it was seen like this.
    pub fn killed_since(&self, before: &Sighting) -> Option<&UnitName> {
        let counted = |name: &UnitName| before.unit(name).map_or(0, |unit| unit.kills);
        let mut managed = self.units.iter().filter(|(_, seen)| seen.managed);
        managed.find(|(name, seen)| seen.kills > counted(name)).map(|(name, _)| name)
    }

    fn managed(&self) -> impl Iterator<Item = &UnitSighting> {
        self.units.iter().map(|(_, seen)| seen).filter(|seen| seen.managed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_killed_since_is_named() {
        let unit = |name: &str, managed, kills| {
            (name.parse().unwrap(), UnitSighting { managed, kills, ..UnitSighting::default() })
        };
        let seen = |a, b, other| Sighting {
            units: vec![
                unit("a.service", true, a),
                unit("b.service", true, b),
                unit("c.service", false, other),
            ],
            ..Sighting::default()
        };
        let killed = |now: &Sighting, before: &Sighting| now.killed_since(before).map(ToString::to_string);
        assert_eq!(killed(&seen(1, 2, 3), &seen(1, 2, 3)), None);
        assert_eq!(killed(&seen(1, 3, 3), &seen(1, 2, 3)).as_deref(), Some("b.service"));
        assert_eq!(killed(&seen(1, 2, 9), &seen(1, 2, 3)), None, "it is not ours to help");
        assert_eq!(killed(&seen(0, 2, 0), &Sighting::default()).as_deref(), Some("b.service"));
        // A count that began anew is no kill.
        assert_eq!(killed(&seen(0, 0, 0), &seen(5, 5, 5)), None);
    }
}
