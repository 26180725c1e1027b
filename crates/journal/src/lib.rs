//! The journal: the one append-only log everything else rests on.
//!
//! An entry goes [`Draft`] → [`Screen`] → one line of JSON → a batch shared with whoever else is appending →
//! disk, and [`Journal::append`] returns when it is durable. Behind the writer the notary hashes durable lines
//! into an RFC 6962 tree and signs checkpoints that foreign tools can check. Readers pull from any seq
//! ([`Journal::read`], [`Journal::subscribe`]). Text that may have to be forgotten is sealed beside the log
//! ([`Content::Blob`]) and forgotten by destroying its key ([`Journal::erase`]).
//!
//! Begin with `journal.rs` (the public face), then `commit.rs` (group commit), `turn.rs` (a batch becomes
//! bytes), `notary.rs` (hash, sign, seal, let go) and `open.rs` (what a start checks). The bytes are drawn in
//! `docs/formats/journal.md`.
//!
//! What holds:
//! - an acknowledged entry is on the disk, once, and is never changed;
//! - a checkpoint is signed only over durable entries;
//! - nothing is skipped silently: a torn end is set aside and reported, any other damage stops the opening;
//! - nothing unscreened is written: [`Options`] cannot be built without a screen.
//!
//! Absent on purpose: no async runtime, no network, no knowledge of what entries mean. Threads of its own:
//! the notary; once somebody appends without blocking, the clerk; under load, a filler. All end with the journal.

mod checkpoint;
mod clock;
mod commit;
mod durable_mark;
mod entry;
mod error;
mod foreign;
mod journal;
mod kinds;
mod layout;
mod line;
pub mod merkle;
mod notary;
mod open;
mod options;
mod pack;
mod read;
mod recent;
mod retention;
mod scan;
mod screen;
mod seals;
mod seek;
mod segment;
mod spare;
mod tail;
mod turn;
mod vault;
mod verify;
mod view;
mod witness;

pub use checkpoint::{Checkpoint, NotACheckpoint};
pub use clock::SystemClock;
pub use commit::{Appended, OnItsWay};
pub use entry::{BlobRef, Content, Draft, Entry, NotAnEntry, Place, Preview, Space, Stored, Subject};
pub use error::{Damage, Error, Result};
pub use foreign::Ingested;
pub use journal::{BLOB_MAX, Journal, SignedCheckpoint, Status};
pub use kinds::KINDS;
pub use layout::Meta;
pub use open::{Hold, OpenReport, TornEnd};
pub use options::{Limits, Options};
pub use read::{Delivery, Entries, RawEntry, Subscription};
pub use retention::{Archive, DirArchive};
pub use screen::{Blocked, Screen, Verdict};
pub use vault::Vault;
pub use verify::{Finding, Progress, Verification, VerifyOptions, trusted_signer, verify};
pub use view::View;
pub use witness::{Cosigned, Refused, Request, Witness};
