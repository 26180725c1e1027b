//! What the steward has set on a target: a value for some settings, above what people wrote. Its identity is the digest of
//! exactly that, and each setting is one drop-in with one section and one assignment.

use std::collections::BTreeMap;

use holdfast_lifeline::Identity;
use holdfast_steward::setting::{Change, Property, Setting, UnitName, Value, changed};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Our files begin so; no other file is ever touched.
pub const KEPT_PREFIX: &str = "50-holdfast-";
/// Sorts after what is kept, and has another name: a file below `/etc` hides one of the same name below `/run`.
pub const TRIAL_PREFIX: &str = "60-holdfast-trial-";
const SUFFIX: &str = ".conf";
/// More than this many settings is no tuning.
const SETTINGS_MAX: usize = 256;

/// The properties that are ever written, with the sections they belong to.
pub const WRITTEN: [Property; 4] =
    [Property::MemoryMax, Property::MemoryHigh, Property::CpuQuota, Property::Nice];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    #[error("{0} is never written here")]
    Property(Setting),
    #[error("{setting} cannot be {value}")]
    Value { setting: Setting, value: Value },
    #[error("a unit of this kind has no {0}")]
    Kind(Setting),
    #[error("more than {SETTINGS_MAX} settings")]
    TooMany,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Setting, Value)>", into = "Vec<(Setting, Value)>")]
pub struct Layer {
    values: BTreeMap<Setting, Value>,
}

impl Layer {
    pub fn get(&self, setting: &Setting) -> Option<Value> {
        self.values.get(setting).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Setting, Value)> {
        self.values.iter().map(|(setting, value)| (setting, *value))
    }

    /// The layer with these changes in it.
    pub fn with(&self, changes: &[Change], people: impl Fn(&Setting) -> Value) -> Result<Layer, NotWritten> {
        Layer::try_from(changed(&self.values, changes, people).into_iter().collect::<Vec<_>>())
    }

    /// The digest of every setting and its value, in order.
    pub fn identity(&self) -> Identity {
        let mut hasher = Sha256::new();
        hasher.update(b"holdfast layer 1\n");
        for (setting, value) in &self.values {
            hasher.update(format!("{}\t{}\t{value}\n", setting.unit, setting.property));
        }
        Identity(hasher.finalize().into())
    }

    /// The settings in which two layers differ.
    pub fn differences(&self, other: &Layer) -> Vec<Setting> {
        let all = self.values.keys().chain(other.values.keys());
        let mut differing: Vec<Setting> = all.filter(|it| self.get(it) != other.get(it)).cloned().collect();
        differing.sort();
        differing.dedup();
        differing
    }

    pub fn insert(&mut self, setting: Setting, value: Value) {
        self.values.insert(setting, value);
    }
}

impl TryFrom<Vec<(Setting, Value)>> for Layer {
    type Error = NotWritten;

    fn try_from(values: Vec<(Setting, Value)>) -> Result<Layer, NotWritten> {
        if values.len() > SETTINGS_MAX {
            return Err(NotWritten::TooMany);
        }
        for (setting, value) in &values {
            text_of(setting, *value)?;
        }
        Ok(Layer { values: values.into_iter().collect() })
    }
}

impl From<Layer> for Vec<(Setting, Value)> {
    fn from(layer: Layer) -> Vec<(Setting, Value)> {
        layer.values.into_iter().collect()
    }
}

/// The drop-in of one setting.
pub fn text_of(setting: &Setting, value: Value) -> Result<String, NotWritten> {
    let section = section_of(setting)?;
    let value = written(setting, value)?;
    let name = setting.property.as_str();
    Ok(format!(
        "# Written by holdfast, which takes it away by itself. Yours go beside it.\n[{section}]\n{name}={value}\n"
    ))
}

/// The value as the service manager reads it.
pub fn written(setting: &Setting, value: Value) -> Result<String, NotWritten> {
    if !WRITTEN.contains(&setting.property) {
        return Err(NotWritten::Property(setting.clone()));
    }
    let wrong = || NotWritten::Value { setting: setting.clone(), value };
    value.in_unit(&setting.property).ok_or_else(wrong)
}

fn section_of(setting: &Setting) -> Result<&'static str, NotWritten> {
    let kind = setting.unit.as_str().rsplit('.').next().unwrap_or_default();
    let section = match kind {
        "service" => "Service",
        "socket" => "Socket",
        "mount" => "Mount",
        "slice" if setting.property != Property::Nice => "Slice",
        "scope" if setting.property != Property::Nice => "Scope",
        _ => return Err(NotWritten::Kind(setting.clone())),
    };
    Ok(section)
}

/// `task-runner.service.d/50-holdfast-MemoryMax.conf`.
pub fn file_of(setting: &Setting, prefix: &str) -> (String, String) {
    (folder_of(&setting.unit), format!("{prefix}{}{SUFFIX}", setting.property))
}

pub fn folder_of(unit: &UnitName) -> String {
    format!("{unit}.d")
}

/// Which setting a file of ours is about; nothing for a file that is not ours.
pub fn setting_of(folder: &str, file: &str, prefix: &str) -> Option<Setting> {
    let unit: UnitName = folder.strip_suffix(".d")?.parse().ok()?;
    let property = file.strip_prefix(prefix)?.strip_suffix(SUFFIX)?;
    let property: Property = property.parse().ok()?;
    WRITTEN.contains(&property).then_some(Setting { unit, property })
}

/// The value in a file of ours; nothing where it does not read as what we would have written.
pub fn value_in(setting: &Setting, text: &str) -> Option<Value> {
    let assigned = text.lines().last()?.strip_prefix(setting.property.as_str())?.strip_prefix('=')?;
    let value = Value::of_unit(&setting.property, assigned)?;
    (text_of(setting, value).ok()? == text).then_some(value)
}

#[cfg(test)]
mod tests;
