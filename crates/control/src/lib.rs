//! The local socket: one typed request, who is asking, and the answer or the progress on the way to it.
//!
//! A connection carries one question: the server says hello, the client sends one [`Request`] as a line of JSON,
//! the server sends [`Step`]s while it works and then one [`Answer`] or one problem. `frame.rs` has the lines,
//! `client.rs` asks (blocking, for the command line), `server.rs` listens (tokio, for the daemon). The bytes are
//! drawn in `docs/formats/control.md`.
//!
//! What holds:
//! - only root and the user the server runs as are answered, by what the kernel says about the peer;
//! - every length, count and wait is bounded; a client that does not read or does not ask holds up nobody;
//! - a newer or older protocol is refused in words, not guessed at.
//!
//! Absent on purpose: nothing here knows how a request is carried out; that is the [`Desk`]'s, which the binary
//! brings, and which answers the same way when there is no socket in between.

mod address;
mod answer;
mod client;
mod desk;
mod error;
mod frame;
mod memory;
mod request;
mod server;

pub use answer::{
    Answer, Appended, ApprovalLine, ApprovalState, BackedUp, Backup, Checkpoint, Cosigned, DatabaseState,
    Decision, DiskState, DiskUse, GatewayAnswer, GatewayLink, GatewayOpenLink, GatewayPerson, JournalState,
    Listening, NoticesState, PartLine, PauseState, ProjectionState, Rebuilt, Reloaded, ReloadedKey,
    SinkState, Status, StewardAnomaly, StewardDone, StewardFailed, StewardGap, StewardHour, StewardLast,
    StewardMetrics, StewardNoticed, StewardOpen, StewardState, StewardTargetState, StewardUnit, VerdictTaken,
    WitnessRequest,
};
pub use client::{Client, PATIENCE, connect, connect_within};
pub use desk::{Desk, Peer, Watch};
pub use error::Error;
pub use frame::{Hello, PROTOCOL, Step};
pub use memory::{
    MemoryAdded, MemoryAnswer, MemoryAnswered, MemoryAsk, MemoryBrief, MemoryCited, MemoryCount, MemoryDoubt,
    MemoryDraft, MemoryEmbedded, MemoryFilter, MemoryFound, MemoryGone, MemoryHit, MemoryImported,
    MemoryLine, MemoryLines, MemoryMatch, MemoryMerged, MemoryMined, MemoryNotes, MemoryOrigin, MemoryPack,
    MemoryPacked, MemoryPage, MemoryPortion, MemoryProof, MemoryQuery, MemoryRead, MemoryRun, MemorySearch,
    MemoryShared, MemoryShown, MemoryStats, MemoryTold, MemoryWhy, MemoryWritten, MemoryWrong,
};
pub use request::{Append, Content, GatewayAsk, Request, Severity, StewardOrder, Subject};
pub use server::{Counts, Limits, Server, Unfinished};
