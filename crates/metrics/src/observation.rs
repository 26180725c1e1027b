//! One observation of one target, as it is handed in. Whoever collects decides what it means; here it is only bounded.

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::anomaly::{AnomalyKind, Sign};
use crate::metric::{Metric, Scope};

/// Reads that failed and are named one by one; more are counted.
pub const FAILED_MAX: usize = 200;
/// A snapshot of a host with hundreds of units is well below this. A longer one is left out, and its figures are kept.
pub const SNAPSHOT_MAX: usize = 1 << 20;

/// How far the collection came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything that has to be read was read. Only this moves the time of the last success.
    Whole,
    /// The target was reached, and something that has to be read was not.
    Partly,
    /// The target was not reached: there is nothing from inside.
    Unreached,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Whole => "whole",
            Outcome::Partly => "partly",
            Outcome::Unreached => "unreached",
        }
    }
}

/// A read that failed: what it was for, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub label: String,
    pub why: String,
}

/// A counter as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub value: u64,
    /// When what it counts for was started, on a clock that begins with the boot; absent where it counts from the boot.
    pub since: Option<u64>,
}

/// A place that was asked from outside, and how it answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub name: String,
    pub healthy: bool,
    /// Absent when there was no answer.
    pub latency_ms: Option<u64>,
}

/// Everything that one cycle found out about one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub target: String,
    pub at: Timestamp,
    pub outcome: Outcome,
    /// The number that a boot gives, where it could be read.
    pub generation: Option<u64>,
    /// What truly runs, which during a trial is another.
    pub running: Option<String>,
    pub boot: Option<String>,
    pub gauges: Vec<(Metric, f64)>,
    pub counters: Vec<(Metric, Count)>,
    pub endpoints: Vec<Endpoint>,
    pub failed: Vec<Failed>,
    /// What is wrong now.
    pub signs: Vec<Sign>,
    /// What was looked at and is well: it resolves what was wrong before. What was not looked at resolves nothing.
    pub well: Vec<(AnomalyKind, Scope)>,
    /// All of it, from inside and outside, as it came.
    pub snapshot: serde_json::Value,
}

impl Observation {
    /// One of a target that could not be reached.
    pub fn unreached(target: &str, at: Timestamp, why: &str) -> Observation {
        Observation {
            target: target.to_owned(),
            at,
            outcome: Outcome::Unreached,
            generation: None,
            running: None,
            boot: None,
            gauges: Vec::new(),
            counters: Vec::new(),
            endpoints: Vec::new(),
            failed: vec![Failed { label: "target".to_owned(), why: why.to_owned() }],
            signs: vec![Sign {
                kind: AnomalyKind::CollectionFailure,
                scope: Scope::Host,
                message: format!("the target was not reached: {why}"),
            }],
            well: Vec::new(),
            snapshot: serde_json::Value::Null,
        }
    }
}
