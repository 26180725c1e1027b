//! What the steward has set on a host, above what people wrote, as modules of NixOS: one file for each setting with one
//! assignment in it, and a list of them that the host imports once.
//!
//! A value stands at [`PRIORITY`]: it replaces what people wrote plainly or as a default, and gives way to what they force. Where it
//! gives way the evaluated value is not the asked one, and nothing is built.

use std::collections::BTreeMap;

use holdfast_steward::policy::HOST_OPTIONS_UNIT;
use holdfast_steward::setting::{Change, Property, Setting, UnitName, Value, changed};
use serde::{Deserialize, Serialize};

use crate::text::literal;

/// Plain definitions have 100, `mkDefault` has 1000, `mkForce` has 50; the smaller one wins.
pub const PRIORITY: u32 = 60;
/// The list of all others.
pub(crate) const LIST: &str = "default.nix";
/// More than this many settings is no tuning.
const SETTINGS_MAX: usize = 256;
/// Between the unit and the property in a file's name. The last one counts: no property has it.
const BETWEEN: &str = "--";
const SUFFIX: &str = ".nix";
const HEADER: &str = "# Written by holdfast, which takes it away by itself. Yours go elsewhere.\n";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    #[error("{0} is never written here")]
    Property(Setting),
    #[error("{setting} cannot be {value}")]
    Value { setting: Setting, value: Value },
    #[error("NixOS has no {0}")]
    Kind(Setting),
    #[error("more than {SETTINGS_MAX} settings")]
    TooMany,
}

/// A file of the overlay area: its name, and all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    pub text: String,
}

/// Every setting of ours, with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Setting, Value)>", into = "Vec<(Setting, Value)>")]
pub struct Overlay {
    values: BTreeMap<Setting, Value>,
}

impl Overlay {
    pub fn get(&self, setting: &Setting) -> Option<Value> {
        self.values.get(setting).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Setting, Value)> {
        self.values.iter().map(|(setting, value)| (setting, *value))
    }

    /// With these changes in it.
    pub fn with(
        &self,
        changes: &[Change],
        people: impl Fn(&Setting) -> Value,
    ) -> Result<Overlay, NotWritten> {
        Overlay::try_from(changed(&self.values, changes, people).into_iter().collect::<Vec<_>>())
    }

    /// All files of the area, the list first. The same settings are the same files, to the byte.
    pub fn modules(&self) -> Result<Vec<Module>, NotWritten> {
        let mut modules = Vec::new();
        for (setting, value) in self.iter() {
            modules.push(Module { name: name_of(setting), text: module_of(setting, value)? });
        }
        let mut list = format!("{HEADER}{{\n  imports = [\n");
        for module in &modules {
            list.push_str(&format!("    (./. + {})\n", literal(&format!("/{}", module.name))));
        }
        list.push_str("  ];\n}\n");
        modules.insert(0, Module { name: LIST.to_owned(), text: list });
        Ok(modules)
    }

    /// Reads back the files of an area. One with a name of ours that does not hold what we would have written is an error, by name.
    pub fn of_modules(modules: &[Module]) -> Result<Overlay, String> {
        let mut values = Vec::new();
        for module in modules.iter().filter(|module| module.name != LIST) {
            let Some(setting) = setting_of(&module.name) else { continue };
            let value = value_in(&setting, &module.text).ok_or_else(|| module.name.clone())?;
            values.push((setting, value));
        }
        Overlay::try_from(values).map_err(|e| e.to_string())
    }
}

impl TryFrom<Vec<(Setting, Value)>> for Overlay {
    type Error = NotWritten;

    fn try_from(values: Vec<(Setting, Value)>) -> Result<Overlay, NotWritten> {
        if values.len() > SETTINGS_MAX {
            return Err(NotWritten::TooMany);
        }
        for (setting, value) in &values {
            module_of(setting, *value)?;
        }
        Ok(Overlay { values: values.into_iter().collect() })
    }
}

impl From<Overlay> for Vec<(Setting, Value)> {
    fn from(overlay: Overlay) -> Vec<(Setting, Value)> {
        overlay.values.into_iter().collect()
    }
}

/// The module of one setting.
pub fn module_of(setting: &Setting, value: Value) -> Result<String, NotWritten> {
    let (option, value) = (option_of(setting)?, written(setting, value)?);
    Ok(format!("{HEADER}{{ lib, ... }}:\n{{\n  {option} = lib.mkOverride {PRIORITY} {value};\n}}\n"))
}

/// `systemd.services."web".serviceConfig."MemoryMax"`. Names stand in quotes, so nothing in them is more than a name.
fn option_of(setting: &Setting) -> Result<String, NotWritten> {
    let wrong = || NotWritten::Kind(setting.clone());
    let property = setting.property.as_str();
    match &setting.property {
        Property::MaxJobs | Property::Cores if setting.unit.as_str() == HOST_OPTIONS_UNIT => {
            Ok(property.to_owned())
        }
        Property::MaxJobs | Property::Cores => Err(wrong()),
        Property::Other(_) => Err(NotWritten::Property(setting.clone())),
        Property::MemoryMax | Property::MemoryHigh | Property::CpuQuota | Property::Nice => {
            let (name, kind) = setting.unit.as_str().rsplit_once('.').ok_or_else(wrong)?;
            let (units, config) = match kind {
                "service" => ("services", "serviceConfig"),
                "socket" => ("sockets", "socketConfig"),
                "slice" if setting.property != Property::Nice => ("slices", "sliceConfig"),
                _ => return Err(wrong()),
            };
            Ok(format!("systemd.{units}.{}.{config}.{}", literal(name), literal(property)))
        }
    }
}

/// The value as a unit, or Nix itself, reads it.
fn written(setting: &Setting, value: Value) -> Result<String, NotWritten> {
    let wrong = || NotWritten::Value { setting: setting.clone(), value };
    match (&setting.property, value) {
        (Property::MaxJobs | Property::Cores, Value::Number(number)) if (0..=1024).contains(&number) => {
            Ok(number.to_string())
        }
        (Property::Other(_), _) => Err(NotWritten::Property(setting.clone())),
        (property, value) => value.in_unit(property).map(|text| literal(&text)).ok_or_else(wrong),
    }
}

fn name_of(setting: &Setting) -> String {
    format!("{}{BETWEEN}{}{SUFFIX}", setting.unit, setting.property)
}

/// Which setting a file is about; nothing for a file that is not ours.
pub fn setting_of(name: &str) -> Option<Setting> {
    let (unit, property) = name.strip_suffix(SUFFIX)?.rsplit_once(BETWEEN)?;
    let setting = Setting { unit: unit.parse::<UnitName>().ok()?, property: property.parse().ok()? };
    option_of(&setting).is_ok().then_some(setting)
}

/// The value in a file of ours.
fn value_in(setting: &Setting, text: &str) -> Option<Value> {
    let (_, said) = text.rsplit_once(&format!("lib.mkOverride {PRIORITY} "))?;
    let said = said.strip_suffix(";\n}\n")?;
    let said = said.strip_prefix('"').and_then(|said| said.strip_suffix('"')).unwrap_or(said);
    let value = Value::of_unit(&setting.property, said)?;
    (module_of(setting, value).ok()? == text).then_some(value)
}
