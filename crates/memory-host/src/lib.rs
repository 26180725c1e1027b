//! Remembers: captures into the journal, keeps what can be searched of each agent's space, consolidates, finds, forgets.
//!
//! `holdfast-memory` decides and this crate acts. The way of a memory: [`Memories::capture`] redacts and judges it, seals it beside the
//! journal and returns when it is durable; whoever looks next brings the spaces up to date (`follow.rs`, `space.rs`): a row in the table
//! (`table.rs`), its words in the concordance, a row of facts for ranking (`rows.rs`); [`Memories::embed_some`] gives it a vector in a quiet
//! moment; [`Memories::consolidate`] decides what stays; [`Memories::search`] finds it again (`search.rs`); [`Memories::forget`] destroys its key and
//! everything that was made of it.
//!
//! Besides: `pack.rs` puts together what goes with an objective; `share.rs` lets another agent read what is named, `cite.rs` counts who found it of
//! use; `records.rs` and `age.rs` say what was replaced and what grew old; `notes.rs` writes it all down for people, and sealed for git;
//! `import.rs`, `files.rs` with `read_in.rs`, and `experience.rs` bring in what others wrote, `export.rs` gives it out; `identity.rs` keeps who an agent is meant to be.
//!
//! What holds:
//! - the journal is the truth: a space that is damaged, lost or behind is made again from it;
//! - a capture that returned is durable, and waits for no index;
//! - each agent has a space of its own; a search reads of another's what was shared by name, and nothing else;
//! - what is trusted less takes no other's place;
//! - when a forget has returned, nothing of the text can be read from any file here, nor from any copy of the notes in git.
//!
//! No threads of its own, no network, no clock but the one handed in.

mod age;
mod agent;
mod bundle;
mod cite;
mod consolidate;
mod error;
mod experience;
mod export;
mod files;
mod follow;
mod forget;
mod heard;
mod identity;
mod import;
mod memories;
mod model;
mod notes;
mod only;
mod pack;
mod read_in;
mod records;
mod rows;
mod screened;
mod sealed;
mod search;
mod share;
mod show;
mod space;
mod stats;
mod table;
mod tokens;
mod usage;

pub use agent::AgentName;
pub use bundle::{Unpacked, not_whole};
pub use consolidate::Consolidated;
pub use error::{Error, Result};
pub use experience::{COMMITS_MAX, History, Matched, Mined};
pub use export::{Exported, Exporting};
pub use files::{Files, Part, Skipped, WrittenFile, is_prose};
pub use forget::{Gone, Proof};
pub use identity::IdentityFile;
pub use import::{Imported, Line, NotALine, moment_of, preview};
pub use memories::{By, Captured, Memories, Options, Outcome, Passage, SPACE_OPENED};
pub use notes::{Committed, Copy, Written};
pub use only::Only;
pub use pack::ToPack;
pub use read_in::{ReadIn, TakenIn, WouldTake, would_take};
pub use records::Expanded;
pub use screened::Screened;
pub use search::{Ask, Found, Hit, SharedBy, TOP_MAX, TOP_USUAL};
pub use share::Portion;
pub use show::Shown;
pub use stats::Stats;
pub use table::{Counted, Row};
