//! Memory's judgement: what is worth keeping, what is the same, what contradicts, what is shown to whom.
//!
//! The way of a memory: a draft is redacted and gated ([`consider`]), becomes an [`Entry`] and an event, and is in the session. A run
//! ([`plan`]) promotes it, merges it, refuses it or marks a contradiction. Later it is found, cited, packed for an agent ([`pack()`]),
//! archived ([`due`]), forgotten with all it replaced ([`Memory::lineage`]). Where each stands is folded from events ([`Memory`]).
//!
//! In reading order: `entry.rs` with `id.rs`, `day.rs`, `text.rs`; `kind.rs` and `record.rs` (kinds with their policy and schema);
//! `capture.rs`, `gates.rs` and its folder; `event.rs`, `state.rs`; `words.rs`, `similar.rs`, `differs.rs`, `consolidate.rs`, `audit.rs`, `age.rs`;
//! `cite.rs`, `render.rs`, `pack.rs`; `usage.rs`; `pieces.rs`; `notes.rs`; `identity.rs`; `experience.rs`.
//!
//! What holds:
//! - a value of one of these types is valid and bounded: sizes, numbers, ids, trust;
//! - no event, refusal or log word holds anything of a memory's text; text is shown to agents only as quoted data with its origin;
//! - each entry of a run is promoted, deduplicated or rejected, exactly one of them; what differs by a number, a name or a "not" is
//!   never merged;
//! - reading events twice is reading them once, and any prefix of them is a valid state;
//! - equal inputs give equal results, to the byte.
//!
//! Absent on purpose: I/O, async, clocks, randomness, the index and the model. Neighbours, tokens and redaction are asked for through
//! small traits ([`Neighbours`], [`Tokens`], [`Redactor`]).

mod age;
pub mod audit;
mod capture;
mod cite;
mod consolidate;
mod day;
mod differs;
mod entry;
pub mod event;
mod experience;
mod gates;
mod id;
pub mod identity;
mod kind;
pub mod notes;
mod pack;
mod pieces;
mod record;
mod render;
mod similar;
mod state;
mod text;
pub mod usage;
mod words;

#[cfg(test)]
mod build;

pub use age::{due, is_due, is_old, recency};
pub use capture::{Accepted, Considered, Redaction, Redactor, consider};
pub use cite::{Citations, Vote, Voter};
pub use consolidate::{
    Counts, Decision, MergeReason, MergeRecord, Method, NEIGHBOURS_MAX, Near, Neighbours, Plan, Unbalanced,
    plan, review,
};
pub use day::{Day, Month, NotADay};
pub use differs::{Apart, Difference, Traits, difference, frame_similarity};
pub use entry::{
    Body, Confidence, Draft, DraftError, Entry, EntryType, Header, Mark, NotAConfidence, NotASpan,
    ORIGINS_MAX, Origin, Provenance, RawDraft, Said, Scope, Source, Span, Stamp, TooManyOrigins,
};
pub use event::{Event, EventError, KINDS};
pub use experience::{Commit, Experience, Library, MATCH_MIN, Match, mine, signature};
pub use gates::{Action, Gate, GateName, Gates, Judgement, Reason, Refusal, Rule};
pub use id::{MemoryId, NotAMemoryId};
pub use kind::{Gating, Kind, Merging, Policy, Succession};
pub use pack::{CANDIDATES_MAX, Candidate, Item, Pack, Request, Signals, Tokens, pack};
pub use pieces::{parts, pieces};
pub use record::{
    DirectiveRecord, DocTrajectoryRecord, Edge, ExperienceRecord, Outcome, OutcomeRecord, Record, RunOutcome,
    RunTrajectoryRecord, Shelf, UserInputRecord, VersionSnapshotRecord, Way, Witness,
};
pub use render::{PREAMBLE, quoted, quoted_from};
pub use similar::{Similarity, cosine, jaccard, word_set};
pub use state::{Change, Counters, Known, Memory, Standing};
pub use text::{CONTENT_MAX, Content, LABEL_MAX, Label, TAG_MAX, TAGS_MAX, Tags, TextError};
pub use words::words;
