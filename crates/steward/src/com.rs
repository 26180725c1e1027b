//! The configuration of a target as it was evaluated: the object every gate judges.
//!
//! Drivers fill it (a model, `systemctl show`, an evaluated system), the gates only read it. It holds in full what a
//! gate looks at, and a digest of everything else, so that no difference between two evaluations goes unseen. What
//! was measured and not configured ([`UnitModel::peak_memory`]) is carried for the sums and is no difference.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{self, Limits, Unreadable};
use crate::setting::{Change, Property, Setting, UnitName, Value};

/// A host with thousands of units stays below; more is no configuration but a mistake.
pub const COM_LIMITS: Limits = Limits { bytes_max: 4 << 20, depth_max: 6 };
pub const UNITS_MAX: usize = 4096;
pub const SETTINGS_PER_UNIT_MAX: usize = 128;
pub const PORTS_PER_UNIT_MAX: usize = 256;
pub const DIGEST_LEN_MAX: usize = 160;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Com {
    pub memory_total: u64,
    pub swap: bool,
    pub ssh_enabled: bool,
    /// Nothing where the target has no VPN; then it is no condition either.
    pub vpn_enabled: Option<bool>,
    pub firewall_enabled: bool,
    pub units: BTreeMap<UnitName, UnitModel>,
    /// Digest of everything else: files of people, options no gate looks at.
    pub rest: String,
    /// Digest of the steward's own configuration on the controller.
    pub own_configuration: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitModel {
    pub enabled: bool,
    pub settings: BTreeMap<Property, Value>,
    pub listens: Vec<u16>,
    /// The most memory it was seen to use. Measured, so it is part of no difference and no digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// Digest of what people wrote for this unit.
    pub definition: String,
}

/// One way in which two evaluations differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    Setting(Change),
    UnitAdded { unit: UnitName },
    UnitRemoved { unit: UnitName },
    Enabled { unit: UnitName, now: bool },
    Ports { unit: UnitName, before: Vec<u16>, after: Vec<u16> },
    Definition { unit: UnitName },
    Ssh { now: bool },
    Vpn { before: Option<bool>, after: Option<bool> },
    Firewall { now: bool },
    Swap { now: bool },
    MemoryTotal { before: u64, after: u64 },
    Rest,
    OwnConfiguration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("the evaluated configuration does not fit its schema: {0}")]
    Schema(String),
    #[error("the evaluated configuration has {count} {what}, and may have {max}")]
    TooMany { what: &'static str, count: usize, max: usize },
}

impl Com {
    /// Reads an evaluation that came from a target: strict, bounded, and brought into its one form.
    pub fn parse(text: &str) -> Result<Com, ComError> {
        let value = json::read(text, COM_LIMITS)?;
        let com: Com = serde_json::from_value(value).map_err(|e| {
            ComError::Schema(holdfast_types::printable(&e.to_string().chars().take(200).collect::<String>()))
        })?;
        com.within_limits()?;
        Ok(com.canonical())
    }

    /// The value of a setting, `Unset` where nothing says so.
    pub fn value(&self, setting: &Setting) -> Value {
        self.units.get(&setting.unit).map_or(Value::Unset, |unit| unit.value(&setting.property))
    }

    /// What the change would make of it. A unit that is not there becomes one, and so a visible difference.
    pub fn with(&self, change: &Change) -> Com {
        let mut com = self.clone();
        let unit = com.units.entry(change.setting.unit.clone()).or_default();
        match change.to {
            Value::Unset => unit.settings.remove(&change.setting.property),
            Value::Bytes(_) | Value::Percent(_) | Value::Number(_) | Value::Infinity => {
                unit.settings.insert(change.setting.property.clone(), change.to)
            }
        };
        com
    }

    /// Everything that is not the same, in a fixed order; empty exactly when both are the same configuration.
    pub fn differences(&self, after: &Com) -> Vec<Difference> {
        let mut found = Vec::new();
        self.host_differences(after, &mut found);
        for (name, unit) in &self.units {
            match after.units.get(name) {
                Some(now) => unit.differences(name, now, &mut found),
                None => found.push(Difference::UnitRemoved { unit: name.clone() }),
            }
        }
        let added = after.units.keys().filter(|name| !self.units.contains_key(*name));
        found.extend(added.map(|name| Difference::UnitAdded { unit: name.clone() }));
        found
    }

    /// The one text of this configuration, to be hashed by whoever needs its digest. Without what was measured.
    pub fn canonical_text(&self) -> String {
        let mut com = self.clone().canonical();
        com.units.values_mut().for_each(|unit| unit.peak_memory = None);
        // Plain data with text keys always serialises.
        serde_json::to_string(&com).unwrap_or_default()
    }

    fn canonical(mut self) -> Com {
        for unit in self.units.values_mut() {
            unit.settings.retain(|_, value| *value != Value::Unset);
            unit.listens = sorted(&unit.listens);
        }
        self
    }

    fn within_limits(&self) -> Result<(), ComError> {
        at_most("units", self.units.len(), UNITS_MAX)?;
        at_most("characters in a digest", self.rest.len().max(self.own_configuration.len()), DIGEST_LEN_MAX)?;
        for unit in self.units.values() {
            at_most("settings of one unit", unit.settings.len(), SETTINGS_PER_UNIT_MAX)?;
            at_most("ports of one unit", unit.listens.len(), PORTS_PER_UNIT_MAX)?;
            at_most("characters in a digest", unit.definition.len(), DIGEST_LEN_MAX)?;
        }
        Ok(())
    }

    fn host_differences(&self, after: &Com, found: &mut Vec<Difference>) {
        if self.ssh_enabled != after.ssh_enabled {
            found.push(Difference::Ssh { now: after.ssh_enabled });
        }
        if self.vpn_enabled != after.vpn_enabled {
            found.push(Difference::Vpn { before: self.vpn_enabled, after: after.vpn_enabled });
        }
        if self.firewall_enabled != after.firewall_enabled {
            found.push(Difference::Firewall { now: after.firewall_enabled });
        }
        if self.swap != after.swap {
            found.push(Difference::Swap { now: after.swap });
        }
        if self.memory_total != after.memory_total {
            found.push(Difference::MemoryTotal { before: self.memory_total, after: after.memory_total });
        }
        if self.rest != after.rest {
            found.push(Difference::Rest);
        }
        if self.own_configuration != after.own_configuration {
            found.push(Difference::OwnConfiguration);
        }
    }
}

impl UnitModel {
    pub fn value(&self, property: &Property) -> Value {
        self.settings.get(property).copied().unwrap_or(Value::Unset)
    }

    fn differences(&self, name: &UnitName, after: &UnitModel, found: &mut Vec<Difference>) {
        if self.enabled != after.enabled {
            found.push(Difference::Enabled { unit: name.clone(), now: after.enabled });
        }
        if self.definition != after.definition {
            found.push(Difference::Definition { unit: name.clone() });
        }
        if self.listens != after.listens {
            let (before, after) = (sorted(&self.listens), sorted(&after.listens));
            if before != after {
                found.push(Difference::Ports { unit: name.clone(), before, after });
            }
        }
        if self.settings != after.settings {
            self.setting_differences(name, after, found);
        }
    }

    fn setting_differences(&self, name: &UnitName, after: &UnitModel, found: &mut Vec<Difference>) {
        let only_after = after.settings.keys().filter(|property| !self.settings.contains_key(*property));
        for property in self.settings.keys().chain(only_after) {
            let (from, to) = (self.value(property), after.value(property));
            if from != to {
                let setting = Setting { unit: name.clone(), property: property.clone() };
                found.push(Difference::Setting(Change { setting, from, to }));
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |now: &bool| if *now { "is switched on" } else { "is switched off" };
        match self {
            Difference::Setting(change) => write!(f, "{change}"),
            Difference::UnitAdded { unit } => write!(f, "{unit} is new"),
            Difference::UnitRemoved { unit } => write!(f, "{unit} is gone"),
            Difference::Enabled { unit, now } => write!(f, "{unit} {}", flag(now)),
            Difference::Ports { unit, before, after } => {
                write!(f, "{unit} listens on {after:?} instead of {before:?}")
            }
            Difference::Definition { unit } => write!(f, "what people wrote for {unit} is changed"),
            Difference::Ssh { now } => write!(f, "the SSH daemon {}", flag(now)),
            Difference::Vpn { before: _, after: Some(now) } => write!(f, "the VPN {}", flag(now)),
            Difference::Vpn { before: _, after: None } => write!(f, "the VPN is gone"),
            Difference::Firewall { now } => write!(f, "the firewall {}", flag(now)),
            Difference::Swap { now } => write!(f, "swap {}", flag(now)),
            Difference::MemoryTotal { before, after } => {
                write!(f, "memory is {after} instead of {before} bytes")
            }
            Difference::Rest => f.write_str("something outside of all units is changed"),
            Difference::OwnConfiguration => f.write_str("the steward's own configuration is changed"),
        }
    }
}

fn sorted(ports: &[u16]) -> Vec<u16> {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn at_most(what: &'static str, count: usize, max: usize) -> Result<(), ComError> {
    if count > max { Err(ComError::TooMany { what, count, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
