//! What a check of the whole log found, and who has witnessed it.

use holdfast_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Every byte of the log against every promise it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogVerified {
    /// `verified`, `torn`, `damaged` or `unchecked`.
    pub verdict: String,
    pub origin: String,
    /// The first entry that is here; those before it are in the archive.
    pub first: u64,
    pub size: u64,
    pub root: String,
    pub segments: u64,
    pub bytes: u64,
    pub checkpoints: u64,
    pub signatures: u64,
    pub checkpointed: u64,
    /// Entries that no checkpoint covers yet.
    pub unsigned: u64,
    pub trusted: bool,
    pub blobs: u64,
    pub blobs_erased: u64,
    /// Whether sealed texts were opened to see that they are what they were.
    pub blobs_opened: bool,
    pub witnessed: u64,
    pub clock_steps_back: u64,
    pub being_written: bool,
    pub findings: Vec<LogFinding>,
    pub findings_left_out: u64,
    /// What could not be checked. It is never counted as good.
    pub unchecked: Vec<LogUnchecked>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogFinding {
    /// `torn` or `damaged`.
    pub kind: String,
    pub file: String,
    pub offset: u64,
    pub seq: Option<u64>,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogUnchecked {
    pub what: String,
    pub why: String,
}

/// Whom this house believes about logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Witnesses {
    pub witnesses: Vec<TrustedWitness>,
    /// Logs of others that this house witnesses for.
    pub logs: Vec<TrustedLog>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustedWitness {
    #[serde(flatten)]
    pub key: TrustedLog,
    /// The newest cosignature that is here.
    pub last: Option<LastCosigned>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrustedLog {
    pub name: String,
    pub id: String,
    pub vkey: String,
    pub revoked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LastCosigned {
    pub size: u64,
    pub at: Timestamp,
}
