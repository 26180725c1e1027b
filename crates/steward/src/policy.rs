//! What may be changed, by how much, and who has to agree: one table, and the gate that applies it.
//!
//! Begin with [`TABLE`]: each option, unit and path has one tier there, and the tier alone gives the verdict. What the
//! table does not name is for people. [`judge`] applies it to the *evaluated* difference of two configurations;
//! nobody's word about a change counts. The same table writes the constraints into a brain's task, so what is told
//! is what is enforced.

mod bounds;
mod difference;
mod glob;
pub(crate) mod table;

use serde::{Deserialize, Serialize};

use crate::setting::{Property, UnitName, Value, ValueError};

pub use bounds::{Bounds, Grammar, Range, Step};
pub use difference::{Allowed, Refusal, Standing, classify, judge};
pub use table::{Rule, Subject, TABLE, UNKNOWN_OPTION, UNKNOWN_PATH};

/// Who has to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Nobody: the bounds are enough.
    One,
    /// A person, before the trial.
    Two,
    /// A person does it; the steward only drafts.
    Three,
    /// It is not even drafted.
    Never,
}

/// The tier, said as what happens to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Autonomous,
    Supervised,
    DraftOnly,
    Blocked,
}

impl Tier {
    pub const fn verdict(self) -> Verdict {
        match self {
            Tier::One => Verdict::Autonomous,
            Tier::Two => Verdict::Supervised,
            Tier::Three => Verdict::DraftOnly,
            Tier::Never => Verdict::Blocked,
        }
    }
}

/// What the configuration of a target says about it. Nothing in here comes from a brain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRules {
    /// The units that may be adjusted: `tier1.services`.
    pub services: Vec<UnitName>,
    /// The unit the target is there for.
    pub workload: UnitName,
    /// The units that keep the target reachable: SSH, VPN, firewall.
    pub critical: Vec<UnitName>,
    /// The sum of all memory limits stays below this many bytes.
    pub memory_budget: u64,
    /// The endpoints of the monitor that a proposal may ask to be checked.
    pub endpoints: Vec<String>,
    /// The hosts that a proposal may ask to be probed.
    pub probe_hosts: Vec<String>,
}

/// Options that are changed together and count as one change, because one alone may be impossible: a lower
/// `MemoryMax` would fall below `MemoryHigh`, and `MemoryHigh` may not rise above `MemoryMax`.
pub const COUPLED: &[(Property, Property)] = &[(Property::MemoryHigh, Property::MemoryMax)];

/// What an option is declared to change together with.
pub fn other_half(property: &Property) -> Option<Property> {
    let of_pair = |(one, other): &(Property, Property)| match property {
        property if property == one => Some(other.clone()),
        property if property == other => Some(one.clone()),
        _ => None,
    };
    COUPLED.iter().find_map(of_pair)
}

/// Whether the two are declared to change together.
pub fn coupled(one: &Property, other: &Property) -> bool {
    other_half(one).as_ref() == Some(other)
}

/// The unit that carries the options of the host's package manager, so that they have a unit like all others.
pub const HOST_OPTIONS_UNIT: &str = "nix-daemon.service";

/// The word for a setting about which nothing is said.
pub const UNSET: &str = "unset";

/// Reads a value by the grammar the table gives its option. Nothing for an option whose values are not read.
pub fn read_value(property: &Property, text: &str) -> Option<Result<Value, ValueError>> {
    let bounds = table::option_bounds(property.as_str())?;
    if text == UNSET {
        return Some(Ok(Value::Unset));
    }
    let renamed = |error: ValueError| ValueError { property: property.to_string(), ..error };
    Some(Value::parse(&bounds.grammar.example(), text).map_err(renamed))
}

/// The rule for an option set to a value. What is not listed is for people.
pub fn option_rule(option: &str, value: &str, workload: &UnitName) -> &'static Rule {
    listed_option(option, value, workload).unwrap_or(&UNKNOWN_OPTION)
}

/// The rule for a path. What is not listed is for people.
pub fn path_rule(path: &str) -> &'static Rule {
    listed_path(path).unwrap_or(&UNKNOWN_PATH)
}

pub use table::{listed_option, listed_path, listed_unit};

/// The bounds within which an option may be changed without asking; none where a person has to agree to each change.
pub fn alone(property: &Property) -> Option<&'static Bounds> {
    let mut tier_one = TABLE.iter().filter(|rule| rule.effective_tier() == Tier::One);
    tier_one.find(|rule| rule.subject.pattern() == property.as_str())?.bounds.as_ref()
}

/// The bounds of Tier 1 as sentences, for the task of a brain.
pub fn constraints() -> Vec<String> {
    let tier_one = TABLE.iter().filter(|rule| rule.tier == Tier::One);
    tier_one
        .filter_map(|rule| rule.bounds.as_ref().map(|bounds| bounds.sentence(rule.subject.pattern())))
        .collect()
}
