//! A setting of a target, its value, and the one change of it that an episode is about.
//!
//! Values are typed and have one spelling: two that mean the same are equal, so that what a brain says, what the
//! target says and what was tried can be compared.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use holdfast_lifeline::{EpisodeId, TargetName};
use serde::{Deserialize, Serialize};

holdfast_types::names! {
    /// A unit of the target: `task-runner.service`. It goes into file names, so the alphabet is small.
    UnitName, "unit", is_unit,
        "a unit is 1 to 128 characters of a-z A-Z 0-9 . _ @ -, starts with a letter or digit, and ends in .service, .slice, .socket, .timer, .mount or .scope";
    /// The name of a property that no bound is known for. It is carried so that it can be refused by name.
    PropertyName, "property", is_property,
        "a property is 1 to 128 characters of letters, digits, . _ [ ] - and starts with a letter";
}

fn is_unit(text: &str) -> bool {
    const KINDS: [&str; 6] = [".service", ".slice", ".socket", ".timer", ".mount", ".scope"];
    (1..=128).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@-".contains(&b))
        && !text.contains("..")
        && KINDS.iter().any(|kind| text.ends_with(kind) && text.len() > kind.len())
}

fn is_property(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphabetic()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._[]-".contains(&b))
}

/// What of a unit is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Property {
    MemoryMax,
    MemoryHigh,
    CpuQuota,
    Nice,
    /// `nix.settings.max-jobs`, on targets that have it.
    MaxJobs,
    /// `nix.settings.cores`, on targets that have it.
    Cores,
    /// Anything else: the policy says what it is, and what it does not name is for people.
    Other(PropertyName),
}

impl Property {
    const KNOWN: [(Property, &'static str); 6] = [
        (Property::MemoryMax, "MemoryMax"),
        (Property::MemoryHigh, "MemoryHigh"),
        (Property::CpuQuota, "CPUQuota"),
        (Property::Nice, "Nice"),
        (Property::MaxJobs, "nix.settings.max-jobs"),
        (Property::Cores, "nix.settings.cores"),
    ];

    pub fn as_str(&self) -> &str {
        match self {
            Property::Other(name) => name.as_str(),
            known => Property::KNOWN.iter().find(|(p, _)| p == known).map_or("", |(_, name)| name),
        }
    }

    /// Whether a running unit takes the new value only when it is started again.
    pub fn needs_restart(&self) -> bool {
        matches!(self, Property::Nice)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Property {
    type Err = holdfast_types::NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Property::KNOWN.iter().find(|(_, name)| *name == text) {
            Some((known, _)) => Ok(known.clone()),
            None => text.parse().map(Property::Other),
        }
    }
}

impl TryFrom<String> for Property {
    type Error = holdfast_types::NameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Property> for String {
    fn from(property: Property) -> String {
        property.as_str().to_owned()
    }
}

/// A value in its own unit: bytes, percent, or a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    Bytes(u64),
    Percent(u32),
    Number(i64),
    /// No limit, said so.
    Infinity,
    /// Nothing was ever said.
    Unset,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is no value of {property}: {rule}")]
pub struct ValueError {
    pub property: String,
    pub text: String,
    pub rule: &'static str,
}

impl Value {
    /// Reads a value as its property writes it: sizes with K, M, G or T (1024), percents with %, whole numbers.
    pub fn parse(property: &Property, text: &str) -> Result<Value, ValueError> {
        let (read, rule): (fn(&str) -> Option<Value>, _) = match property {
            Property::MemoryMax | Property::MemoryHigh => {
                (read_bytes, "expected a size such as 512M or 2G, or infinity")
            }
            Property::CpuQuota => (read_percent, "expected a percentage such as 150%, or infinity"),
            Property::Nice | Property::MaxJobs | Property::Cores => {
                (read_number, "expected a whole number such as 5 or -3")
            }
            Property::Other(_) => {
                (|_| None, "no bound is known for this property, so no value of it is read")
            }
        };
        let shown = || text.chars().take(40).collect();
        let error = || ValueError { property: property.to_string(), text: shown(), rule };
        if text.len() > 32 { Err(error()) } else { read(text).ok_or_else(error) }
    }

    /// The value as a unit's file says it; nothing where the property cannot have it, or belongs to no unit.
    pub fn in_unit(self, property: &Property) -> Option<String> {
        match (property, self) {
            (Property::MemoryMax | Property::MemoryHigh, Value::Bytes(bytes)) => {
                (bytes > 0).then(|| bytes.to_string())
            }
            (Property::MemoryMax | Property::MemoryHigh, Value::Infinity) => Some("infinity".to_owned()),
            (Property::CpuQuota, Value::Percent(percent)) => (percent > 0).then(|| format!("{percent}%")),
            // An empty assignment is how no quota is said.
            (Property::CpuQuota, Value::Infinity) => Some(String::new()),
            (Property::Nice, Value::Number(nice)) => (-20..=19).contains(&nice).then(|| nice.to_string()),
            (
                Property::MemoryMax
                | Property::MemoryHigh
                | Property::CpuQuota
                | Property::Nice
                | Property::MaxJobs
                | Property::Cores
                | Property::Other(_),
                _,
            ) => None,
        }
    }

    /// What a unit's file says, as a value.
    pub fn of_unit(property: &Property, text: &str) -> Option<Value> {
        match (property, text) {
            (Property::CpuQuota, "") => Some(Value::Infinity),
            _ => Value::parse(property, text).ok(),
        }
    }

    /// The value as a number, to compare and to plot; nothing where there is none.
    pub fn amount(self) -> Option<f64> {
        match self {
            Value::Bytes(bytes) => Some(bytes as f64),
            Value::Percent(percent) => Some(f64::from(percent)),
            Value::Number(number) => Some(number as f64),
            Value::Infinity | Value::Unset => None,
        }
    }
}

fn read_bytes(text: &str) -> Option<Value> {
    if text == "infinity" {
        return Some(Value::Infinity);
    }
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let amount = whole(digits)?;
    amount.checked_mul(1 << shift).map(Value::Bytes)
}

fn read_percent(text: &str) -> Option<Value> {
    if text == "infinity" {
        return Some(Value::Infinity);
    }
    u32::try_from(whole(text.strip_suffix('%')?)?).ok().map(Value::Percent)
}

fn read_number(text: &str) -> Option<Value> {
    match text.strip_prefix('-') {
        Some(digits) => whole(digits).and_then(|n| i64::try_from(n).ok()).map(|n| Value::Number(-n)),
        None => whole(text).and_then(|n| i64::try_from(n).ok()).map(Value::Number),
    }
}

/// Digits alone: the parser of the standard library also takes a sign.
fn whole(digits: &str) -> Option<u64> {
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Bytes(bytes) => {
                const STEPS: [(u64, &str); 4] =
                    [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
                match STEPS.iter().find(|(step, _)| bytes >= *step && bytes % step == 0) {
                    Some((step, letter)) => write!(f, "{}{letter}", bytes / step),
                    None => write!(f, "{bytes}"),
                }
            }
            Value::Percent(percent) => write!(f, "{percent}%"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Infinity => f.write_str("infinity"),
            Value::Unset => f.write_str("unset"),
        }
    }
}

/// One property of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    pub unit: UnitName,
    pub property: Property,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.property, self.unit)
    }
}

/// One setting from one value to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    pub setting: Setting,
    pub from: Value,
    pub to: Value,
}

impl Change {
    /// The way back.
    pub fn reversed(&self) -> Change {
        Change { setting: self.setting.clone(), from: self.to, to: self.from }
    }
}

/// Settings of ours with changes in them. A change back to what people wrote takes our word away.
pub fn changed(
    ours: &BTreeMap<Setting, Value>,
    changes: &[Change],
    people: impl Fn(&Setting) -> Value,
) -> BTreeMap<Setting, Value> {
    let mut values = ours.clone();
    for change in changes {
        if change.to == people(&change.setting) {
            values.remove(&change.setting);
        } else {
            values.insert(change.setting.clone(), change.to);
        }
    }
    values
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.setting, self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_unit_s_file_says_reads_back_and_what_it_cannot_say_is_nothing() {
        for (property, value, text) in [
            (Property::MemoryMax, Value::Bytes(4096), Some("4096")),
            (Property::MemoryHigh, Value::Infinity, Some("infinity")),
            (Property::MemoryMax, Value::Bytes(0), None),
            (Property::CpuQuota, Value::Percent(150), Some("150%")),
            (Property::CpuQuota, Value::Infinity, Some("")),
            (Property::CpuQuota, Value::Percent(0), None),
            (Property::Nice, Value::Number(-20), Some("-20")),
            (Property::Nice, Value::Number(20), None),
            (Property::Nice, Value::Infinity, None),
            (Property::Cores, Value::Number(2), None),
            (Property::MemoryMax, Value::Unset, None),
        ] {
            assert_eq!(value.in_unit(&property).as_deref(), text, "{property} {value}");
            if let Some(text) = text {
                assert_eq!(Value::of_unit(&property, text), Some(value), "{property} {text:?}");
            }
        }
        assert_eq!(Value::of_unit(&Property::MemoryMax, ""), None);
    }

    #[test]
    fn a_change_back_to_what_people_wrote_takes_our_word_away() {
        let setting = |property| Setting { unit: "web.service".parse().unwrap(), property };
        let change = |to| Change { setting: setting(Property::MemoryMax), from: Value::Unset, to };
        let people = |_: &Setting| Value::Bytes(1);
        let ours = BTreeMap::from([(setting(Property::Nice), Value::Number(3))]);
        let more = changed(&ours, &[change(Value::Bytes(2))], people);
        assert_eq!((more.len(), more.get(&setting(Property::MemoryMax))), (2, Some(&Value::Bytes(2))));
        assert_eq!(changed(&more, &[change(Value::Bytes(1))], people), ours);
    }

    #[test]
    fn a_value_is_read_as_its_property_writes_it() {
        for (property, text, value) in [
            (Property::MemoryMax, "2G", Some(Value::Bytes(2 << 30))),
            (Property::MemoryMax, "1536M", Some(Value::Bytes(1536 << 20))),
            (Property::MemoryMax, "infinity", Some(Value::Infinity)),
            (Property::MemoryMax, "2g", None),
            (Property::MemoryMax, "+2G", None),
            (Property::MemoryMax, "-1", None),
            (Property::MemoryMax, "20%", None),
            (Property::MemoryMax, "99999999999T", None),
            (Property::CpuQuota, "150%", Some(Value::Percent(150))),
            (Property::CpuQuota, "150", None),
            (Property::CpuQuota, "1.5%", None),
            (Property::Nice, "-3", Some(Value::Number(-3))),
            (Property::Nice, "--3", None),
            (Property::Nice, "", None),
        ] {
            assert_eq!(Value::parse(&property, text).ok(), value, "{property} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_size_has_one_spelling(bytes: u64) {
            let value = Value::Bytes(bytes);
            prop_assert_eq!(Value::parse(&Property::MemoryMax, &value.to_string()), Ok(value));
        }
    }

    // shows: STW-269
    #[test]
    fn a_unit_that_could_leave_its_folder_is_no_unit() {
        for bad in
            ["../x.service", "a/b.service", ".service", "x", "a..b.service", "a b.service", "", "é.service"]
        {
            assert!(bad.parse::<UnitName>().is_err(), "{bad}");
        }
        assert!("getty@tty1.service".parse::<UnitName>().is_ok());
    }
}
