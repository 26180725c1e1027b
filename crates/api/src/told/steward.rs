//! What the steward says beyond how its targets stand: what was applied, its own review, series, and the hosts that were taken in.

use holdfast_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// What was applied to the targets, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct History {
    /// The folder of the repository that has the same as git.
    pub repository: String,
    /// How that repository stands to the journal: `whole`, `behind`, `absent` or `unreadable`.
    pub standing: String,
    /// Null unless it is unreadable.
    pub why: Option<String>,
    pub targets: Vec<HistoryOfTarget>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryOfTarget {
    pub target: String,
    /// The newest first.
    pub commits: Vec<HistoryCommit>,
    /// How many older ones there are.
    pub more: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryCommit {
    pub entry: u64,
    pub at: Timestamp,
    /// `began`, `kept`, `taken_back`, `drifted` or `accepted`.
    pub what: String,
    pub episode: Option<String>,
    pub title: String,
    pub notes: Vec<String>,
    /// Null when the repository does not have it.
    pub commit: Option<String>,
    pub signed: Option<bool>,
}

/// The steward's look at its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reports {
    pub reports: Vec<StewardReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StewardReport {
    pub target: String,
    pub markdown: String,
}

/// What a detector makes of a series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Detected {
    pub samples: u64,
    pub missing: u64,
    /// The times say nothing, and rows count as evenly spaced.
    pub evenly: bool,
    pub findings: Vec<DetectedFinding>,
    /// Empty where nobody asked for them.
    pub change_points: Vec<ChangePoint>,
    /// The anomaly score of every row, where they were asked for.
    pub scores: Option<Vec<f64>>,
    /// The series and what was found in it as a picture, where it was asked for.
    pub svg: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DetectedFinding {
    /// `spike`, `shift`, `drift`, `spread`, `cycle` or `missing`.
    pub kind: String,
    /// `up`, `down`, or null for a round or missing samples.
    pub direction: Option<String>,
    /// The row at which it was noticed.
    pub index: u64,
    pub timestamp: String,
    pub began_index: u64,
    pub began: String,
    pub before: f64,
    pub now: f64,
    /// From 0 to 1.
    pub sure: f64,
    pub sentence: String,
}

/// Where a regime begins, with the whole series in view.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangePoint {
    pub index: u64,
    pub timestamp: String,
    /// `level`, `slope`, `spread` or `cycle`.
    pub what: String,
    pub level: f64,
    pub before: f64,
    pub sure: f64,
}

/// What came of calibrating the plain detector.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Calibrated {
    pub target: String,
    pub metric: String,
    pub path: String,
    /// The entry, null in a dry run.
    pub recorded_as: Option<u64>,
    pub dry_run: bool,
    /// The calibration before, where there was one.
    pub old: Option<CalibrationTold>,
    pub new: CalibrationTold,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CalibrationTold {
    pub version: u32,
    pub mean: f64,
    pub sigma: f64,
    pub k: f64,
    pub h: f64,
    pub shift: f64,
    pub samples: u64,
    pub resemblance: f64,
}

/// The hosts that were taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Targets {
    pub targets: Vec<Target>,
}

/// A host as it was on the day it was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Target {
    pub target: String,
    pub address: String,
    pub port: u16,
    /// The fingerprint that a person has seen.
    pub host_key: String,
    pub user: String,
    pub units: Vec<String>,
    pub endpoint: Option<String>,
    pub since: String,
    /// Whether taking it in was done and proved whole.
    pub finished: bool,
    pub guarded: bool,
    pub inventory: Option<TargetInventory>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetInventory {
    pub os: String,
    pub kernel: String,
    pub machine: String,
    pub systemd: u32,
    /// Whether the kernel measures pressure.
    pub pressure: bool,
    /// The units that keep it reachable.
    pub reached_by: Vec<String>,
    pub services: Vec<TargetService>,
    pub tools: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetService {
    pub unit: String,
    pub ports: Vec<u16>,
}

/// A host that was looked at again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetChecked {
    pub target: String,
    pub address: String,
    pub port: u16,
    pub good: bool,
    pub findings: Vec<TargetFinding>,
    /// What is there now; null where nobody could look.
    pub inventory: Option<TargetInventory>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetFinding {
    pub what: String,
    /// `good`, `noted` or `bad`.
    pub verdict: String,
}
