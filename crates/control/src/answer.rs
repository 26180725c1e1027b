//! What is answered. These are also the documented JSON fields of the commands that ask.

use std::path::PathBuf;

use holdfast_types::{Actor, AgentId, ApprovalId, Digest, Origin, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::memory::MemoryAnswer;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Status(Box<Status>),
    Appended(Appended),
    Checkpoint(Checkpoint),
    WitnessRequest(WitnessRequest),
    Cosigned(Cosigned),
    Paused(PauseState),
    Rebuilt(Rebuilt),
    BackedUp(BackedUp),
    Reloaded(Reloaded),
    Notices(NoticesState),
    Approvals(Vec<ApprovalLine>),
    Approval(Box<ApprovalState>),
    Verdict(VerdictTaken),
    Steward(Box<StewardState>),
    StewardDone(StewardDone),
    StewardMetrics(Box<StewardMetrics>),
    Gateway(GatewayAnswer),
    Memory(Box<MemoryAnswer>),
    /// The order was taken.
    Done,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Appended {
    pub seq: u64,
    pub repeated: bool,
    pub redactions: u32,
    /// What the journal wants a person to know.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    pub origin: Origin,
    pub size: u64,
    /// Base64.
    pub root: String,
    pub note: String,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessRequest {
    pub old_size: u64,
    pub request: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cosigned {
    pub witness: String,
    pub at: Timestamp,
    pub size: u64,
}

/// Whether autonomy is halted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PauseState {
    pub paused: bool,
    pub since: Option<Timestamp>,
    pub by: Option<Actor>,
    pub reason: Option<String>,
    /// It was so before; nothing was changed.
    pub repeated: bool,
    /// The entry that says so; absent when the journal could not take it yet.
    pub recorded_as: Option<u64>,
    /// It could not be written to the disk yet. Until it is, it is in memory: it ends when the machine restarts, or the daemon where nothing
    /// else took it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_restart: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuilt {
    pub entries: u64,
    pub seconds: f64,
    pub projections: Vec<ProjectionState>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectionState {
    pub name: String,
    /// The seq that comes next.
    pub next_seq: u64,
    /// Entries of the journal not applied yet.
    pub behind: u64,
    /// Why it does not go on, if it does not.
    pub halted: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackedUp {
    pub copies: Vec<Backup>,
    /// Older copies that were removed.
    pub removed: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backup {
    pub database: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub digest: String,
}

/// What reading the configuration again changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    pub live: Vec<ReloadedKey>,
    pub needs_restart: Vec<ReloadedKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadedKey {
    pub key: String,
    pub before: String,
    pub after: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoticesState {
    pub enabled: bool,
    pub sinks: Vec<SinkState>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinkState {
    pub sink: String,
    pub pending: u64,
    /// Messages its receiver accepted, and messages given up.
    pub delivered: u64,
    pub abandoned: u64,
    pub last_delivered: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Until when what waits there waits for the end of quiet hours.
    #[serde(default)]
    pub quiet_until: Option<Timestamp>,
}

/// How everything is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub version: String,
    /// Absent when no daemon runs.
    pub pid: Option<u32>,
    pub up_seconds: Option<f64>,
    /// Nothing needs a person: absent when no daemon runs to tell.
    pub healthy: Option<bool>,
    /// What needs a person, in sentences.
    pub needs_you: Vec<String>,
    pub parts: Vec<PartLine>,
    /// Where it listens; nowhere when no daemon runs.
    #[serde(default)]
    pub listening: Vec<Listening>,
    pub journal: JournalState,
    pub projections: Vec<ProjectionState>,
    pub databases: Vec<DatabaseState>,
    pub pause: PauseState,
    pub notices: Option<NoticesState>,
    pub disk: DiskState,
}

/// One door.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listening {
    /// health, verdicts or gateway.
    pub door: String,
    pub addresses: Vec<String>,
    /// A loopback address that it would hold too and that this machine does not have.
    pub without: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartLine {
    pub name: String,
    /// running, stale, waiting or stopped.
    pub state: String,
    pub why: Option<String>,
    pub safety: bool,
    pub restarts: u64,
    pub silent_seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalState {
    pub origin: Origin,
    pub entries: u64,
    pub checkpointed: u64,
    pub bytes: u64,
    pub cap_bytes: u64,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseState {
    pub name: String,
    pub bytes: u64,
    pub last_backup: Option<Timestamp>,
}

/// What the disk budget is and what of it is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskState {
    pub budget_bytes: u64,
    pub used_bytes: u64,
    pub free_bytes: u64,
    /// roomy, tight or full.
    pub level: String,
    pub parts: Vec<DiskUse>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskUse {
    pub part: String,
    pub bytes: u64,
    /// The most it will use, where that is bounded.
    pub at_most: Option<u64>,
}

/// An ask, as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalLine {
    pub id: ApprovalId,
    /// asked, approved, rejected, withdrawn, used or expired.
    pub state: String,
    pub subject: String,
    pub target: String,
    /// Of the exact action.
    pub digest: Digest,
    /// Who asks.
    pub actor: Actor,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The first line of what would be done.
    pub summary: String,
}

/// An ask in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalState {
    pub id: ApprovalId,
    pub state: String,
    pub subject: String,
    pub target: String,
    pub digest: Digest,
    /// What the digest was made of, with subject and target.
    pub action: Value,
    pub summary: Vec<String>,
    pub evidence: Vec<String>,
    pub actor: Actor,
    pub agent: Option<AgentId>,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The log it was asked in: an approval names it.
    pub origin: Origin,
    pub decision: Option<Decision>,
    /// The entry it was made by.
    pub made_as: u64,
    /// The entry that ended it.
    pub ended_as: Option<u64>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// approve or reject.
    pub verdict: String,
    pub by: Actor,
    pub reason: Option<String>,
    pub at: Timestamp,
    pub recorded_as: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictTaken {
    pub id: ApprovalId,
    /// approved or rejected.
    pub state: String,
    pub recorded_as: u64,
    /// It was so before; nothing was written.
    pub repeated: bool,
}

/// What is said of the gateway's accounts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayAnswer {
    People(Vec<GatewayPerson>),
    Link(GatewayLink),
    Links(Vec<GatewayOpenLink>),
}

/// A one-time link that is still to be used. What stands in it is nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayOpenLink {
    pub id: String,
    /// first, invitation, device or recovered.
    pub purpose: String,
    /// Who comes in by it, and as what.
    pub name: String,
    pub role: String,
    pub created: Timestamp,
    pub expires: Timestamp,
}

/// Somebody who may come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayPerson {
    pub id: String,
    pub name: String,
    /// viewer, operator or owner.
    pub role: String,
    pub created: Timestamp,
    pub devices: u32,
    pub sessions: u32,
}

/// A one-time link. Whoever opens it first comes in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatewayLink {
    pub name: String,
    pub url: String,
    pub expires: Timestamp,
    /// An older link of that person was open, and opens nothing any more.
    #[serde(default)]
    pub replaced: bool,
}

/// What the steward looks after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardState {
    /// daemon, or journal where no daemon runs to tell.
    pub source: String,
    pub paused: bool,
    pub targets: Vec<StewardTargetState>,
}

/// One target of the steward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardTargetState {
    pub target: String,
    pub driver: String,
    /// How many times faster than real time the target and its steward live.
    pub speed: u32,
    /// observe, plan, approve-each, tier-one or tier-two.
    pub level: String,
    /// What is gone back to; absent before the target was taken in.
    pub known_good: Option<String>,
    pub open: Option<StewardOpen>,
    pub last: Option<StewardLast>,
    /// Too many trials in a row were undone, and nobody has reset it.
    pub breaker_open: bool,
    /// The target is not what it was left as, and nobody has accepted it.
    pub drifted: bool,
    /// Until a cycle runs without a reason, in the target's own time; absent while none would.
    pub next_routine_seconds: Option<u64>,
    /// What changed on it and lasts; absent when all is as usual, or nobody watches.
    #[serde(default)]
    pub noticed: Option<StewardNoticed>,
    /// Why nothing works on it, if nothing does.
    pub trouble: Option<String>,
}

/// What changed on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardNoticed {
    /// One sentence that names every metric of it.
    pub sentence: String,
    /// The metrics, what moved first at the head.
    pub metrics: Vec<String>,
    /// How long ago the first of it began, in the target's own time.
    pub began_seconds_ago: u64,
}

/// The episode under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardOpen {
    pub episode: String,
    pub opened: Timestamp,
    /// How long it has been open, in the target's own time.
    pub open_seconds: u64,
    pub phase: String,
    pub why: String,
    /// What it changes, once that is known.
    pub change: Option<String>,
    /// Until the target undoes it by itself unless it is kept; absent while nothing is on trial.
    pub undone_in_seconds: Option<u64>,
    /// How long a renewal of that lasts.
    pub lease_seconds: Option<u64>,
    /// Cycles of the window that were judged, of how many, and the score.
    pub seen: Option<u32>,
    pub cycles: Option<u32>,
    pub score: Option<i32>,
    /// It waits for a person.
    pub needs_you: bool,
}

/// The episode that ended last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardLast {
    pub episode: String,
    pub ended: Timestamp,
    pub outcome: String,
    pub reason: String,
    pub change: Option<String>,
}

/// What an order to the steward came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardDone {
    pub target: String,
    /// In a sentence.
    pub said: String,
    pub level: String,
    /// The episode it is about, or the one that was opened by it.
    pub episode: Option<String>,
    /// It was so before; nothing was changed.
    pub repeated: bool,
    pub dry_run: bool,
}

/// What was collected of a target. A figure that was not measured is absent and never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardMetrics {
    pub target: String,
    pub from: Timestamp,
    pub to: Timestamp,
    /// Times the target was reached.
    pub observations: u64,
    /// When everything that has to be read was read last.
    pub last_success: Option<Timestamp>,
    /// That is too long ago to decide anything by.
    pub stale: bool,
    /// Reads of the last collection that failed.
    pub failures: u64,
    pub failed: Vec<StewardFailed>,
    /// Mean memory pressure of the host, `some` over 60 s, in percent, over all and hour by hour.
    pub psi_mem_some: Option<f64>,
    pub hours: Vec<StewardHour>,
    pub units: Vec<StewardUnit>,
    /// Spans of more than five minutes without an observation.
    pub gaps: Vec<StewardGap>,
    pub gaps_left_off: u64,
    pub gap_seconds: u64,
    /// Gaps are told from here on, where older observations are gone.
    pub gaps_known_from: Option<Timestamp>,
    /// What is wrong now.
    pub anomalies: Vec<StewardAnomaly>,
}

/// A read that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardFailed {
    pub label: String,
    pub why: String,
}

/// Memory pressure of one hour, in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardHour {
    pub from: Timestamp,
    pub mean: f64,
    pub max: f64,
}

/// Means of one unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardUnit {
    pub unit: String,
    pub memory_mib: Option<f64>,
    /// Processors in use.
    pub cpu: Option<f64>,
    /// In percent.
    pub psi_mem_some: Option<f64>,
    pub samples: u64,
}

/// A span without an observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardGap {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// Something that is wrong on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StewardAnomaly {
    pub kind: String,
    /// `host`, or `unit/` and its name.
    pub scope: String,
    pub message: String,
    pub since: Timestamp,
    pub times: u64,
}
