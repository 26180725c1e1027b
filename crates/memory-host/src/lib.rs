//! Remembers: captures into the journal, keeps what can be searched of each agent's space, consolidates, finds, forgets.
//!
//! `holdfast-memory` decides and this crate acts. The way of a memory: [`Memories::capture`] redacts and judges it, seals it beside the
//! journal and returns when it is durable; whoever looks next brings the spaces up to date (`follow.rs`, `space.rs`): a row in the table
//! (`table.rs`), its words in the concordance, a row of facts for ranking (`rows.rs`); [`Memories::embed_some`] gives it a vector in a quiet
//! moment; [`Memories::consolidate`] decides what stays; [`Memories::search`] finds it again (`search.rs`); [`Memories::forget`] destroys its key and
//! everything that was made of it.
//!
//! What holds:
//! - the journal is the truth: a space that is damaged, lost or behind is made again from it;
//! - a capture that returned is durable, and waits for no index;
//! - each agent has a space of its own, and no search reads another's;
//! - when a forget has returned, nothing of the text can be read from any file here.
//!
//! No threads of its own, no network, no clock but the one handed in.

mod agent;
mod consolidate;
mod error;
mod follow;
mod forget;
mod heard;
mod import;
mod memories;
mod model;
mod only;
mod rows;
mod screened;
mod sealed;
mod search;
mod space;
mod table;

pub use agent::AgentName;
pub use consolidate::Consolidated;
pub use error::{Error, Result};
pub use forget::{Gone, Proof};
pub use import::{Imported, Line, NotALine};
pub use memories::{By, Captured, Memories, Options, Outcome, SPACE_OPENED};
pub use only::Only;
pub use screened::Screened;
pub use search::{Ask, Found, Hit, TOP_MAX, TOP_USUAL};
pub use table::{Counted, Row};
