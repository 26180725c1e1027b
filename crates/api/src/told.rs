//! What is answered beyond what the control plane answers itself: lists, entries of the log, proofs, episodes; in `told/` what the house, the
//! steward and a check of the log say. Commands with `--json` say the same in the same form.

mod house;
mod log;
mod steward;

use holdfast_control::{ApprovalLine, MemoryAnswered, MemoryMatch, MemoryNotes, MemoryRun};
use holdfast_types::{
    Actor, AgentId, Digest, Exit, Key, Kind, Origin, Room, RunId, TargetId, Timestamp, Trust,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use house::{
    Disk, DiskConsequences, Doctor, DoctorCheck, Egress, EgressChecked, EgressDestination, EgressFinding,
    EgressGap, EgressPackets, EgressRefusal, EgressRefusals, EgressUser, LinkList, Model, ModelFile,
    ModelVerified, PeopleList, Redacted, Redaction, Setting, Settings, SettingsChecked, SettingsExample,
    SettingsWrong,
};
pub use log::{LastCosigned, LogFinding, LogUnchecked, LogVerified, TrustedLog, TrustedWitness, Witnesses};
pub use steward::{
    Calibrated, CalibrationTold, ChangePoint, Detected, DetectedFinding, History, HistoryCommit,
    HistoryOfTarget, Reports, StewardReport, Target, TargetChecked, TargetFinding, TargetInventory,
    TargetService, Targets,
};

/// Does anything need me? The short form of the status.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Health {
    /// Nothing needs a person; null when nobody can tell.
    pub healthy: Option<bool>,
    /// What needs a person, in sentences.
    pub needs_you: Vec<String>,
    /// Whether autonomy is halted.
    pub paused: bool,
    pub version: String,
    /// Entries of the journal.
    pub entries: u64,
}

/// What waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalList {
    pub approvals: Vec<ApprovalLine>,
}

/// The answers to many questions, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FoundMany {
    pub answers: Vec<MemoryAnswered>,
}

/// What consolidation decided, agent by agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunList {
    pub runs: Vec<MemoryRun>,
}

/// What was learnt that fits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MatchList {
    pub matches: Vec<MemoryMatch>,
}

/// What was written of an agent's notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotesWritten {
    pub agent: String,
    /// Files that are other than before.
    pub files: Vec<String>,
    pub edits: Vec<NoteEdit>,
    /// Whether git was given a commit, and if not, why.
    pub committed: String,
}

/// An entry whose text somebody changed in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteEdit {
    pub id: String,
    /// What became of the change.
    pub outcome: String,
}

impl From<MemoryNotes> for NotesWritten {
    fn from(written: MemoryNotes) -> NotesWritten {
        // Where they lie is nobody's business over HTTP.
        let MemoryNotes { agent, folder: _, files, edits, committed } = written;
        let edits = edits.into_iter().map(|(id, outcome)| NoteEdit { id, outcome }).collect();
        NotesWritten { agent, files, edits, committed }
    }
}

/// What came of trying each channel of notices.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoticesTried {
    pub results: Vec<NoticeTried>,
}

/// One channel that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoticeTried {
    pub sink: String,
    pub delivered: bool,
    /// Why it did not arrive.
    pub why: Option<String>,
    pub do_next: Option<String>,
}

/// A page of the log. Each entry is written exactly as it stands there.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entries {
    #[schemars(with = "Vec<Entry>")]
    pub entries: Vec<Box<RawValue>>,
    /// Where the next page begins, in the order that was asked for; null after the last.
    pub next: Option<u64>,
    /// How many entries the log has.
    pub size: u64,
}

/// An entry of the log. It is only described here: what is sent is the line itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Entry {
    seq: u64,
    /// The version of the kind's body.
    v: u16,
    at: Timestamp,
    origin: Origin,
    room: Room,
    kind: Kind,
    actor: Actor,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<TargetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The entry that led to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    trust: Trust,
    /// Readable for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Map<String, Value>>,
    /// The name and the place of a sealed text.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<SealedText>,
    /// CRC-32C of the line before it.
    crc: String,
}

/// Names a sealed text without saying anything about it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SealedText {
    name: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// A proof that can be checked elsewhere, with `holdfast audit prove --check` or any tool for RFC 6962 and C2SP notes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Proof {
    pub format: u64,
    pub origin: String,
    #[serde(flatten)]
    pub claim: Claim,
    /// Base64 of SHA-256: what leads from the claim to its root.
    pub hashes: Vec<String>,
    /// From the claim's root to the checkpoint's, where the checkpoint is over more entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_checkpoint: Option<Vec<String>>,
    /// A C2SP signed note.
    pub checkpoint: String,
    /// The key it can be checked by; believe it only if you know it from elsewhere.
    pub vkey: String,
}

/// What is proved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Claim {
    /// Entry `seq` is in the log of `size` entries.
    Inclusion { seq: u64, size: u64, root: String, leaf: String, line: String },
    /// The log of `new` entries continues the log of `old` entries.
    Consistency { old: u64, new: u64, old_root: String, new_root: String },
}

/// What the steward planned and tried, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Episodes {
    pub episodes: Vec<Episode>,
    /// How many older ones there are.
    pub more: u64,
}

/// An episode in a row of a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Episode {
    pub episode: String,
    pub target: String,
    pub opened: Timestamp,
    /// Null while it is open.
    pub ended: Option<Timestamp>,
    pub why: String,
    /// What it changes, once that is known.
    pub change: Option<String>,
    /// Where it stands while it is open.
    pub phase: String,
    /// Null while it is open.
    pub outcome: Option<String>,
    pub reason: Option<String>,
}

/// An episode from beginning to end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EpisodeStory {
    #[serde(flatten)]
    pub episode: Episode,
    /// How many times faster than real time; null when the target is not configured any more.
    pub speed: Option<u32>,
    pub lines: Vec<EpisodeLine>,
    /// Null when nothing was tried.
    pub window: Option<EpisodeWindow>,
}

/// A sentence of the story, with the entry that proves it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EpisodeLine {
    pub entry: u64,
    pub at: Timestamp,
    /// Of the target's time since it was opened.
    pub seconds: u64,
    pub what: String,
    /// Null on lines that are not about the window.
    pub score: Option<i32>,
}

/// The cycles that were judged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EpisodeWindow {
    /// A letter a cycle: g grace, p passed, f failed, t timed out, i inconclusive.
    pub cells: String,
    pub score: i32,
    pub needed: u32,
    pub cycles: u32,
}

/// Why it was not done.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Refusal {
    pub error: Refused,
}

/// The same words that a command would end with.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Refused {
    /// Stable for ever; looked up in docs/errors.md.
    pub code: String,
    pub message: String,
    /// What is as it was before.
    pub untouched: String,
    /// What to do now.
    pub hint: String,
    pub exit: Exit,
    /// The parameter or field it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}
