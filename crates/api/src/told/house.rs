//! What the house says of itself: checks, settings, disk, destinations, the model. The fields are those of the commands with `--json`.

use std::collections::BTreeMap;

use holdfast_control::{DiskUse, GatewayOpenLink, GatewayPerson};
use holdfast_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A round of checks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Doctor {
    /// `healthy`, `degraded`, `could not check`, `timed out` or `unhealthy`: the worst that was found.
    pub verdict: String,
    pub seconds: f64,
    pub checks: Vec<DoctorCheck>,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DoctorCheck {
    pub check: String,
    pub status: String,
    pub looked_at: String,
    pub message: String,
    /// What to do, when something is wrong.
    pub hint: Option<String>,
    pub figures: BTreeMap<String, f64>,
}

/// What is set, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Settings {
    /// Null when there is none and defaults hold.
    pub file: Option<String>,
    pub settings: Vec<Setting>,
}

/// One key. Where it names a secret, the name stands here and never the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    pub key: String,
    /// As it would be written in the file.
    pub value: String,
    /// `default`, `file`, `environment` or `flag`.
    pub from: String,
    pub line: Option<u64>,
    pub column: Option<u64>,
    pub variable: Option<String>,
    /// Whether it takes effect when the configuration is read again; otherwise at the next start.
    pub live: bool,
    pub doc: String,
}

/// Whether a configuration would be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingsChecked {
    pub right: bool,
    /// Every mistake with its place, in the order it is written.
    pub diagnostics: Vec<SettingsWrong>,
    /// How many more there are than are listed.
    pub more: u64,
}

/// A mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingsWrong {
    pub code: String,
    pub line: u64,
    pub column: u64,
    pub length: u64,
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// A config.yaml with every key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingsExample {
    pub example: String,
}

/// The disk budget, and what happens when it runs short.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Disk {
    pub budget_bytes: u64,
    pub used_bytes: u64,
    pub free_bytes: u64,
    /// `roomy`, `tight` or `full`.
    pub level: String,
    pub parts: Vec<DiskUse>,
    pub consequences: DiskConsequences,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiskConsequences {
    pub tight: String,
    pub full: String,
}

/// What the daemon and the tripwire may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Egress {
    pub users: Vec<EgressUser>,
    pub resolvers: Vec<String>,
    /// Settings whose destination is not known.
    pub unknown: Vec<EgressGap>,
    /// The rules as the packet filter is given them, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nft: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressUser {
    pub user: String,
    /// Null where there is no such user.
    pub uid: Option<u32>,
    pub destinations: Vec<EgressDestination>,
    /// Ports that others may call.
    pub serves: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressDestination {
    pub host: String,
    /// Null where the protocol has none.
    pub port: Option<u16>,
    pub protocol: String,
    /// The settings that want it.
    #[serde(rename = "for")]
    pub wanted_by: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressGap {
    pub user: String,
    pub setting: String,
    pub why: String,
}

/// Whether the rules are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressChecked {
    /// `good`, `wrong` or `unknown`.
    pub verdict: String,
    pub findings: Vec<EgressFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressFinding {
    pub what: String,
    pub state: String,
    pub message: String,
}

/// What was refused in the last day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressRefusals {
    pub at: Timestamp,
    pub refusals: Vec<EgressRefusal>,
    /// Packets to destinations that are not listed.
    pub unlisted: u64,
    pub refused_packets: Vec<EgressPackets>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressRefusal {
    pub user: String,
    pub protocol: String,
    pub address: String,
    pub port: u16,
    /// Declared for something else under this name.
    pub name: Option<String>,
    pub packets: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EgressPackets {
    pub user: String,
    pub packets: u64,
}

/// The embedding model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Model {
    pub id: String,
    pub folder: String,
    /// Without it memory goes by words alone.
    pub there: bool,
    pub package: String,
    /// Numbers of a vector.
    pub width: u64,
    /// Tokens that are read at once.
    pub window: u64,
    pub instructions: String,
    pub files: Vec<ModelFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelFile {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

/// That every byte of the model is the pinned one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelVerified {
    pub folder: String,
    pub files: Vec<ModelFile>,
    pub holds: bool,
}

/// Who may come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PeopleList {
    pub people: Vec<GatewayPerson>,
}

/// One-time links that are still to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkList {
    pub links: Vec<GatewayOpenLink>,
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Redacted {
    /// Empty when it is blocked.
    pub text: String,
    /// It holds a key that cannot be cut out safely.
    pub blocked: bool,
    pub reason: Option<String>,
    pub redactions: Vec<Redaction>,
}

/// What was taken out, by its place in the bytes that were sent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Redaction {
    #[serde(rename = "type")]
    pub kind: String,
    pub start: u64,
    pub end: u64,
    pub method: String,
    pub confidence: f64,
}
