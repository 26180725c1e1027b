//! What the texts of programs mean.

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_lifeline::{BootId, Steady};
use holdfast_steward::com::{COM_LIMITS, Com, UNITS_MAX, UnitModel};
use holdfast_steward::json;
use holdfast_steward::setting::{Property, UnitName, Value};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::store::StorePath;

/// A numbered link of the profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    pub number: u32,
    pub system: StorePath,
}

/// `system-12-link /nix/store/…`, a line each, in any order. What is not of that form is not one.
pub fn generations(store: &Path, profile: &Path, text: &str) -> Vec<Generation> {
    let name = profile.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let one = |line: &str| {
        let (link, target) = line.split_once(' ')?;
        let number = link.strip_prefix(&name)?.strip_prefix('-')?.strip_suffix("-link")?;
        Some(Generation { number: number.parse().ok()?, system: StorePath::parse(store, target).ok()? })
    };
    let mut all: Vec<Generation> = text.lines().filter_map(one).collect();
    all.sort();
    all
}

/// Seconds since the boot, with a fraction.
pub(crate) fn uptime(text: &str) -> Option<Steady> {
    let seconds: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(Steady((seconds * 1000.0) as u64))
}

pub(crate) fn boot_id(text: &str) -> Option<BootId> {
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
    (digits.len() == 32).then(|| u64::from_str_radix(digits.get(..16)?, 16).ok()).flatten().map(BootId)
}

/// Bytes of memory altogether.
pub(crate) fn memory_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The share of the last minute in which something waited for memory.
pub(crate) fn pressure(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace().find_map(|part| part.strip_prefix("avg60="))?.parse().ok()
}

pub(crate) fn space(text: &str) -> Option<u64> {
    text.lines().last()?.trim().parse().ok()
}

pub(crate) fn kills(text: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// What is shown of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) state: String,
    pub(crate) restarts: u32,
    pub(crate) group: String,
}

/// Blocks of `Name=value`, one for each unit, in the order in which they were asked for.
pub(crate) fn units(text: &str) -> BTreeMap<String, Shown> {
    let mut all = BTreeMap::new();
    for block in text.split("\n\n") {
        let of = |name: &str| {
            block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
        };
        if !of("Id").is_empty() {
            let shown = Shown {
                state: of("ActiveState").to_owned(),
                restarts: of("NRestarts").parse().unwrap_or_default(),
                group: of("ControlGroup").to_owned(),
            };
            all.insert(of("Id").to_owned(), shown);
        }
    }
    all
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluated {
    ssh_enabled: bool,
    vpn_enabled: Option<bool>,
    firewall_enabled: bool,
    swap: bool,
    units: BTreeMap<String, EvaluatedUnit>,
    rest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvaluatedUnit {
    enabled: bool,
    definition: String,
    settings: BTreeMap<String, Option<String>>,
}

/// What `com.nix` gave. Units whose names no gate can speak of, and values that are none, go into the digest of the rest.
pub fn com(text: &str, memory_total: u64) -> Result<Com, String> {
    let value = json::read(text.trim(), COM_LIMITS).map_err(|e| e.to_string())?;
    let evaluated: Evaluated = serde_json::from_value(value)
        .map_err(|e| holdfast_types::printable(&e.to_string().chars().take(200).collect::<String>()))?;
    if evaluated.units.len() > UNITS_MAX {
        return Err(format!("{} units, and there may be {UNITS_MAX}", evaluated.units.len()));
    }
    let mut rest = Sha256::new();
    rest.update(evaluated.rest.as_bytes());
    let mut units = BTreeMap::new();
    for (name, unit) in evaluated.units {
        let mut settings = BTreeMap::new();
        for (property, said) in unit.settings {
            let known = property.parse::<Property>().ok();
            let value =
                known.as_ref().zip(said.as_deref()).and_then(|(known, said)| Value::of_unit(known, said));
            match known.zip(value) {
                Some((property, value)) => drop(settings.insert(property, value)),
                None => rest.update(format!("\n{name}\t{property}\t{said:?}")),
            }
        }
        let model = UnitModel {
            enabled: unit.enabled,
            settings,
            listens: Vec::new(),
            peak_memory: None,
            definition: unit.definition,
        };
        match name.parse::<UnitName>() {
            Ok(name) => drop(units.insert(name, model)),
            Err(_) => rest
                .update(format!("\n{name}\t{}\t{}\t{:?}", model.enabled, model.definition, model.settings)),
        }
    }
    let rest: String = rest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Com {
        memory_total,
        swap: evaluated.swap,
        ssh_enabled: evaluated.ssh_enabled,
        vpn_enabled: evaluated.vpn_enabled,
        firewall_enabled: evaluated.firewall_enabled,
        units,
        rest,
        own_configuration: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use holdfast_steward::setting::Value;

    use super::*;

    // shows: STW-293
    #[test]
    fn generations_are_numbered_links_into_the_store_and_nothing_else() {
        let path = |at: u32| format!("/nix/store/{at:032}-nixos-system-x");
        let text = format!(
            "system-10-link {}\nsystem-9-link {}\nsystem-x-link {}\nother-1-link {}\nsystem-3-link /etc/passwd\nsystem-4-link\n",
            path(10),
            path(9),
            path(8),
            path(7)
        );
        let found = generations(Path::new("/nix/store"), Path::new("/nix/var/nix/profiles/system"), &text);
        let found: Vec<(u32, &str)> = found.iter().map(|it| (it.number, it.system.as_str())).collect();
        assert_eq!(found, [(9, path(9).as_str()), (10, path(10).as_str())]);
    }

    #[test]
    fn what_cannot_be_read_is_nothing_and_never_zero() {
        assert_eq!(uptime("12.34 99.00\n"), Some(Steady(12_340)));
        assert_eq!(boot_id("0f0e0d0c-0b0a-0908-0706-050403020100\n"), Some(BootId(0x0f0e_0d0c_0b0a_0908)));
        assert_eq!(memory_total("MemTotal:  2 kB\n"), Some(2048));
        assert_eq!(pressure("some avg10=1.00 avg60=2.50 avg300=0.00 total=9\n"), Some(2.5));
        assert_eq!(space("    Avail\n123\n"), Some(123));
        assert_eq!(kills("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"), Some(2));
        for text in ["", "\n", "x", "-1 0", "NaN", "some avg10=1.00", "oom_kill many", "MemTotal: 2"] {
            assert_eq!((uptime(text), boot_id(text), memory_total(text)), (None, None, None), "{text:?}");
            assert_eq!((pressure(text), kills(text)), (None, None), "{text:?}");
        }
        let shown = units(
            "Id=a.service\nActiveState=failed\nNRestarts=3\nControlGroup=\n\nId=b.slice\nActiveState=active\n",
        );
        assert_eq!((shown["a.service"].state.as_str(), shown["a.service"].restarts), ("failed", 3));
        assert_eq!((shown["b.slice"].state.as_str(), shown.len()), ("active", 2));
    }

    #[test]
    fn what_no_gate_can_speak_of_is_still_seen_to_change() {
        let text = |max: &str, definition: &str| {
            format!(
                r#"{{"ssh_enabled":true,"vpn_enabled":null,"firewall_enabled":true,"swap":false,"rest":"r","units":{{
                "a.service":{{"enabled":true,"definition":"d","settings":{{"MemoryMax":{max},"Nice":"3"}}}},
                "odd\\x2d name":{{"enabled":true,"definition":"{definition}","settings":{{}}}}}}}}"#
            )
        };
        let plain = com(&text("\"1G\"", "x"), 1).unwrap();
        let unit = "a.service".parse().unwrap();
        assert_eq!(plain.units[&unit].value(&Property::MemoryMax), Value::Bytes(1 << 30));
        assert_eq!(plain.units.len(), 1);
        for other in [text("\"50%\"", "x"), text("null", "x"), text("\"1G\"", "y")] {
            assert_ne!(com(&other, 1).unwrap().rest, plain.rest, "{other}");
        }
        assert!(com(r#"{"ssh_enabled":true}"#, 1).is_err() && com("[]", 1).is_err() && com("", 1).is_err());
    }
}
