//! All that the rules look at: the units with their settings and facts, the host, and what became of earlier changes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::diagnosis::Diagnosis;
use super::history::Facts;
use crate::com::Com;
use crate::outcome::Outcome;
use crate::policy;
use crate::sample::{EndpointName, Label};
use crate::setting::{Change, Property, UnitName, Value};

/// How far a change may go: as far as the policy lets the steward go by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub memory_max: policy::Bounds,
    pub memory_high: policy::Bounds,
    pub cpu_quota: policy::Bounds,
    pub nice: policy::Bounds,
}

impl Default for Bounds {
    fn default() -> Bounds {
        use policy::table::{CPU_QUOTA, MEMORY_HIGH, MEMORY_MAX, NICE};
        Bounds { memory_max: MEMORY_MAX, memory_high: MEMORY_HIGH, cpu_quota: CPU_QUOTA, nice: NICE }
    }
}

/// What people set for a unit. A week's changes are measured against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct People {
    pub memory_max: Value,
    pub memory_high: Value,
    pub cpu_quota: Value,
    pub nice: Value,
}

/// A managed unit: its settings now, and what was seen of it lately.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitView {
    pub memory_max: Value,
    pub memory_high: Value,
    pub cpu_quota: Value,
    pub nice: Value,
    /// Nothing where it is not known; then what is there now stands in.
    pub people: Option<People>,
    /// The most memory it used; none where it is not known.
    pub peak: Option<u64>,
    pub oom_kills: u64,
    pub restarts: u64,
    /// The share of scheduling periods in which its quota stopped it, from 0 to 1.
    pub throttled: f64,
    pub facts: Facts,
    /// The endpoint it answers, if the monitor has one.
    pub endpoint: Option<EndpointName>,
}

impl UnitView {
    /// A unit as it is configured, of which nothing else is known.
    pub fn of(com: &Com, unit: &UnitName) -> UnitView {
        let model = com.units.get(unit);
        let value = |property| model.map_or(Value::Unset, |model| model.value(&property));
        UnitView {
            memory_max: value(Property::MemoryMax),
            memory_high: value(Property::MemoryHigh),
            cpu_quota: value(Property::CpuQuota),
            nice: value(Property::Nice),
            people: None,
            peak: model.and_then(|model| model.peak_memory),
            oom_kills: 0,
            restarts: 0,
            throttled: 0.0,
            facts: Facts::default(),
            endpoint: None,
        }
    }
}

/// Another unit of the host, which the steward does not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    pub unit: UnitName,
    pub nice: i64,
    /// Processors in use.
    pub cpu_use: f64,
    /// Its own memory pressure, in percent.
    pub pressure: f64,
}

/// The host as a whole, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostView {
    pub processors: Option<f64>,
    /// Memory that nobody uses.
    pub memory_left: Option<u64>,
    pub neighbours: Vec<Neighbour>,
}

/// What became of an earlier change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub change: Change,
    pub outcome: Outcome,
    /// How long ago that was; nothing where nobody knows, which counts as just now.
    pub age: Option<Duration>,
}

/// What a change did to the symptom it was made for, here or elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Experience {
    pub diagnosis: Diagnosis,
    pub property: Property,
    /// The unit it was about. Units of one kind share the stem of their name.
    pub unit: UnitName,
    /// How far the setting was moved, as a share of what it was; for a nice value in whole steps.
    pub step: f64,
    /// The symptom before and after, in its own unit.
    pub before: f64,
    pub after: f64,
    pub outcome: Outcome,
    /// Whether it was on this very host.
    pub here: bool,
}

/// All that the rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub units: BTreeMap<UnitName, UnitView>,
    pub on_host: HostView,
    /// Mean memory pressure of the host lately, in percent.
    pub pressure: Option<f64>,
    /// How much the memory limits may still grow together.
    pub headroom: u64,
    pub outcomes: Vec<Earlier>,
    /// What similar changes did. Empty where nothing is to be learnt from.
    pub experience: Vec<Experience>,
    pub bounds: Bounds,
    /// Whether something outside the recent pattern is asked for.
    pub exploration: bool,
    /// Whether as many trials were made as a day may have: then nothing is proposed that would only be refused.
    pub spent_today: bool,
    /// The way back from each change that had no effect.
    pub take_back: Vec<Vec<Change>>,
    /// Old data proposes nothing.
    pub stale: bool,
    /// Where the target is probed.
    pub host: Label,
}
