//! One whole collection of a target: what was read inside it, what the monitor saw from outside, what could not be read.
//!
//! A collection that failed in part is kept with what it has. It counts as a success when every mandatory read worked.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ERRORS_PER_SNAPSHOT_MAX, EndpointName, Label, LogEntry, Reading};
use crate::setting::UnitName;
use crate::time::Steady;

/// Data older than this decides nothing. Five missed collections at two minutes.
pub const STALE_AFTER: Duration = Duration::from_secs(600);

/// More failures of one collection are counted by none: a collection has fewer reads than this.
const FAILURES_MAX: usize = 256;

/// When a collection last succeeded.
///
/// It is counted in time the controller was seen running. Whoever starts a controller begins with
/// [`Freshness::default`]: it cannot know how long it was off, so nothing is fresh until it has collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Freshness {
    pub last_success: Option<Steady>,
}

impl Freshness {
    /// Ten minutes to the millisecond are not stale; more are, and so is never.
    pub fn is_stale(&self, now: Steady) -> bool {
        self.last_success.is_none_or(|last| now.since(last) > STALE_AFTER)
    }

    /// Moves on with a collection that succeeded, and stays where it is with one that did not.
    #[must_use]
    pub fn after(self, snapshot: &Snapshot) -> Freshness {
        match snapshot.is_success() {
            true => Freshness { last_success: self.last_success.max(Some(snapshot.at)) },
            false => self,
        }
    }
}

/// Whether a collection can do without a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    Mandatory,
    Optional,
}

/// A read that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub need: Need,
    pub exit: Option<i32>,
    pub why: Label,
}

/// Whether a unit runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Active {
    Active,
    Inactive,
    Failed,
    Unknown,
}

/// The figures of a unit that was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    pub memory_bytes: Reading<u64>,
    pub cpu_nanoseconds: Reading<u64>,
    pub cpu_per_second: Reading<f64>,
    pub restarts: Reading<u64>,
    pub oom_kills: Reading<u64>,
    pub active: Active,
}

/// A unit in one collection. Without both memory and CPU there are no figures: half a row misleads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    Read(Figures),
    CollectionFailed,
}

impl Service {
    pub fn figures(&self) -> Option<&Figures> {
        match self {
            Service::Read(figures) => Some(figures),
            Service::CollectionFailed => None,
        }
    }
}

/// Memory pressure of the host over the last minute, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPressure {
    pub some_avg60: f64,
    pub full_avg60: Option<f64>,
}

/// What the monitor says of an endpoint, and when it measured that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub healthy: bool,
    pub latency_ms: Option<u32>,
    pub measured_at: Steady,
}

/// One collection. What was not read is absent, never a guess.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    pub at: Steady,
    /// As it was before this collection.
    pub freshness: Freshness,
    failures: BTreeMap<Label, Failure>,
    pub services: BTreeMap<UnitName, Service>,
    pub pressure: Reading<HostPressure>,
    pub endpoints: BTreeMap<EndpointName, Endpoint>,
    /// What runs, in the driver's own words; during a trial this is not the generation.
    pub running: Option<String>,
    pub generation: Option<String>,
    pub boot: Option<String>,
    log: Vec<LogEntry>,
    log_left_out: u32,
}

impl Snapshot {
    pub fn new(at: Steady, freshness: Freshness) -> Snapshot {
        Snapshot {
            at,
            freshness,
            failures: BTreeMap::new(),
            services: BTreeMap::new(),
            pressure: Reading::Absent(super::Absent::NotRead),
            endpoints: BTreeMap::new(),
            running: None,
            generation: None,
            boot: None,
            log: Vec::new(),
            log_left_out: 0,
        }
    }

    /// Whether every mandatory read worked.
    pub fn is_success(&self) -> bool {
        self.failures.values().all(|failure| failure.need == Need::Optional)
    }

    pub fn fail(&mut self, label: Label, failure: Failure) {
        // A mandatory failure must show even where the table is full.
        if self.failures.len() < FAILURES_MAX || failure.need == Need::Mandatory && self.is_success() {
            self.failures.insert(label, failure);
        }
    }

    pub fn failures(&self) -> &BTreeMap<Label, Failure> {
        &self.failures
    }

    /// Keeps an entry that matters. Beyond the first fifty they are only counted.
    pub fn add_log(&mut self, entry: LogEntry) {
        if entry.kind().is_none() {
            return;
        }
        if self.log.len() < ERRORS_PER_SNAPSHOT_MAX {
            self.log.push(entry.shortened());
        } else {
            self.log_left_out = self.log_left_out.saturating_add(1);
        }
    }

    pub fn log(&self) -> &[LogEntry] {
        &self.log
    }

    pub fn log_left_out(&self) -> u32 {
        self.log_left_out
    }

    /// Whether the data as of this collection is too old to decide by.
    pub fn is_stale(&self) -> bool {
        self.freshness.after(self).is_stale(self.at)
    }
}
