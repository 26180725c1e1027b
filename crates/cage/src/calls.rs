//! System calls: their names and numbers, the groups policies grant, and what is asked of their arguments.
//!
//! The data is `calls.toml`; here it is read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::numbers;

/// What is asked of one argument of a call that is granted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub call: String,
    pub why: String,
    pub argument: u8,
    /// Which bits of it count; all unless told.
    #[serde(default = "all_bits")]
    pub mask: u32,
    #[serde(default)]
    pub one_of: Vec<u32>,
    #[serde(default)]
    pub none_of: Vec<u32>,
    /// None of these bits may be set.
    #[serde(default)]
    pub without_bits: u32,
    /// Asked only where another argument is so.
    pub when: Option<When>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    pub argument: u8,
    #[serde(default = "all_bits")]
    pub mask: u32,
    pub is: u32,
}

fn all_bits() -> u32 {
    u32::MAX
}

impl Condition {
    /// Whether it lets a call with these arguments through.
    pub fn holds(&self, arguments: &[u64; 6]) -> bool {
        let low = |argument: u8| arguments[usize::from(argument)] as u32;
        if self.when.is_some_and(|when| low(when.argument) & when.mask != when.is) {
            return true;
        }
        let value = low(self.argument) & self.mask;
        (self.one_of.is_empty() || self.one_of.contains(&value))
            && !self.none_of.contains(&value)
            && value & self.without_bits == 0
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    why: String,
    calls: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Absent {
    call: String,
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: Vec<Group>,
    condition: Vec<Condition>,
    absent: Vec<Absent>,
}

/// All groups, conditions and calls that are answered as if the kernel had none.
#[derive(Debug)]
pub struct Calls {
    groups: BTreeMap<String, BTreeSet<u32>>,
    conditions: BTreeMap<u32, Vec<Condition>>,
    absent: BTreeSet<u32>,
}

impl Calls {
    /// What comes with the program.
    pub fn builtin() -> &'static Calls {
        static BUILTIN: OnceLock<Calls> = OnceLock::new();
        BUILTIN.get_or_init(|| match Calls::read(include_str!("calls.toml")) {
            Ok(calls) => calls,
            // Part of the program, and a test reads it; without it nothing may run.
            Err(wrong) => unreachable!("the calls that come with the program: {wrong}"),
        })
    }

    fn read(text: &str) -> Result<Calls, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let number = |name: &str| number_of(name).ok_or_else(|| format!("no system call is named {name}"));
        let mut calls =
            Calls { groups: BTreeMap::new(), conditions: BTreeMap::new(), absent: BTreeSet::new() };
        for group in file.group {
            if group.why.is_empty() {
                return Err(format!("the group {} gives no reason", group.name));
            }
            // A call this kind of machine does not have needs no grant.
            let numbers = group.calls.iter().filter_map(|call| number_of(call)).collect();
            let unknown = group.calls.iter().find(|call| !is_known_anywhere(call));
            if let Some(unknown) = unknown {
                return Err(format!("no system call is named {unknown}"));
            }
            calls.groups.insert(group.name, numbers);
        }
        for condition in file.condition {
            let asked =
                [!condition.one_of.is_empty(), !condition.none_of.is_empty(), condition.without_bits != 0];
            if asked.iter().filter(|asked| **asked).count() != 1
                || condition.argument > 5
                || condition.why.is_empty()
            {
                return Err(format!("a condition on {} is not one question with a reason", condition.call));
            }
            if let Some(number) = number_of(&condition.call) {
                calls.conditions.entry(number).or_default().push(condition);
            }
        }
        for absent in file.absent {
            if absent.why.is_empty() {
                return Err(format!("{} is absent without a reason", absent.call));
            }
            calls.absent.insert(number(&absent.call)?);
        }
        Ok(calls)
    }

    pub fn group(&self, name: &str) -> Option<&BTreeSet<u32>> {
        self.groups.get(name)
    }

    pub fn conditions(&self, number: u32) -> &[Condition] {
        self.conditions.get(&number).map_or(&[], Vec::as_slice)
    }

    pub fn absent(&self) -> &BTreeSet<u32> {
        &self.absent
    }
}

/// The number of a call on this kind of machine.
pub fn number_of(name: &str) -> Option<u32> {
    numbers::all().find(|(known, _)| *known == name).map(|(_, number)| number)
}

/// The name of a call, for people.
pub fn name_of(number: u32) -> Option<&'static str> {
    numbers::all().find(|(_, known)| *known == number).map(|(name, _)| name)
}

/// Every call that has a number here.
pub fn numbers() -> impl Iterator<Item = (&'static str, u32)> {
    numbers::all()
}

#[cfg(target_arch = "x86_64")]
fn is_known_anywhere(name: &str) -> bool {
    number_of(name).is_some()
}

/// Other machines lack what only old programs use.
#[cfg(not(target_arch = "x86_64"))]
fn is_known_anywhere(_name: &str) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_that_come_with_the_program_are_read_and_are_numbered() {
        let calls = Calls::read(include_str!("calls.toml")).unwrap();
        let plain = calls.group("plain").unwrap();
        assert!(plain.contains(&number_of("openat").unwrap()));
        for refused in
            ["mount", "ptrace", "bpf", "unshare", "setns", "keyctl", "clock_settime", "io_uring_enter"]
        {
            let number = number_of(refused).unwrap();
            let granted = calls.groups.values().any(|numbers| numbers.contains(&number));
            assert!(!granted, "{refused}");
        }
    }

    #[test]
    fn wrong_data_is_refused_with_its_name() {
        let base = "condition = []\nabsent = []\n";
        let wrong = [
            (r#"group = [{name="a", why="b", calls=["opennat"]}]"#, "opennat"),
            (r#"group = [{name="a", why="", calls=[]}]"#, "gives no reason"),
            (r#"group = [{name="a", why="b", calls=[], more=1}]"#, "more"),
        ];
        for (text, says) in wrong {
            let told = Calls::read(&format!("{base}{text}\n")).unwrap_err();
            assert!(told.contains(says), "{told}");
        }
    }

    #[test]
    fn a_condition_asks_only_when_it_should() {
        let raw = &Calls::builtin().conditions(number_of("socket").unwrap());
        let lets = |family: u64, kind: u64, speaks: u64| {
            raw.iter().all(|c| c.holds(&[family, kind, speaks, 0, 0, 0]))
        };
        let flags = 0o2_004_000;
        for (family, kind, speaks) in [
            (2, 1, 0),
            (2, 1, 6),
            (2, 2, 0),
            (2, 2, 17),
            (10, 1 | flags, 6),
            (10, 2 | flags, 0),
            (16, 3, 0),
            (16, 2, 0),
            (1, 1, 0),
            (1, 2, 1),
            (1, 5 | flags, 0),
        ] {
            assert!(lets(family, kind, speaks), "{family} {kind} {speaks}");
        }
        for (family, kind) in [
            (2, 3),
            (17, 3),
            (38, 5),
            (40, 1),
            (2, 5),
            (10, 5),
            (1, 3),
            (15, 3),
            (29, 3),
            (30, 5),
            (31, 5),
            (42, 2),
            (43, 1),
            (44, 3),
        ] {
            assert!(!lets(family, kind, 0), "{family} {kind}: raw, packets, ciphers, machines, buses");
        }
        for speaks in (0..600).chain([u64::from(u32::MAX)]) {
            for family in [2, 10] {
                assert_eq!(lets(family, 1, speaks), [0, 6].contains(&speaks), "{family} stream {speaks}");
                assert_eq!(
                    lets(family, 2 | flags, speaks),
                    [0, 17].contains(&speaks),
                    "{family} datagram {speaks}"
                );
            }
            assert_eq!(lets(16, 3, speaks), speaks == 0, "netlink {speaks}");
            assert_eq!(lets(1, 1, speaks), speaks < 2, "local {speaks}");
        }
        let handed = Calls::builtin().conditions(number_of("setsockopt").unwrap());
        let lets = |level: u64, option: u64| handed.iter().all(|c| c.holds(&[3, level, option, 0, 0, 0]));
        assert!(lets(6, 1) && lets(1, 31) && !lets(6, 31), "another protocol on a connection");
    }
}
