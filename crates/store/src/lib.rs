//! SQLite databases, one per owner: migrations with a backup first, projections of the journal that can be made
//! again at any time, online backups.
//!
//! A [`Database`] is one file with one [`Schema`]: one writer, a few readers, never two owners. Begin with
//! `database.rs` (open, write, read), then `look.rs` (what is at a path, decided before anything is touched) and
//! `migrate.rs`. [`Index`] is `index.db`: a set of [`Projection`]s, each with the seq it has applied, committed
//! together with its rows; `index.rs` is its face, `feed.rs` carries entries from the log to the tables, and
//! [`EntriesProjection`] is the one that every house has. [`Samples`] is `metrics.db`. [`backup()`] copies a
//! database while it is being written; `copies.rs` names the copies and lets old ones go. [`databases`] lists them all.
//!
//! What holds:
//! - a file that is newer, damaged, or somebody else's is refused before a byte of it changes; only a projection
//!   is set aside and made again, because the journal has everything in it;
//! - a migration is applied whole, with its number, or not at all, and a verified backup comes first;
//! - rows and progress are one transaction: an entry is applied once, however often the process is killed;
//! - a rebuild shows itself whole or not at all: readers see the old tables until the new ones are in place;
//! - a backup has its name only when it is whole and has been checked.
//!
//! Absent on purpose: no async runtime, no network, no clock but the one handed in, no knowledge of what bodies
//! mean. Threads: one reader of the log while an index catches up.

mod backup;
mod catalogue;
mod claim;
mod connect;
mod copies;
mod damaged;
mod database;
mod digest;
mod entries;
mod error;
mod feed;
mod files;
mod filter;
mod index;
mod log;
mod look;
mod migrate;
mod observed;
mod progress;
mod projection;
mod readers;
mod room;
mod samples;
mod schema;
mod seen;

pub use backup::{BackedUp, Copied, backup};
pub use catalogue::{Listed, databases};
pub use copies::{backup_name, prune_backups};
pub use database::{Database, Opened};
pub use entries::EntriesProjection;
pub use error::{Error, Result};
pub use filter::{Filter, Order, QUERY_MAX, count_by_kind, find};
pub use index::{CaughtUp, Follower, Index, IndexOpened, SetAside, WhyRebuilt};
pub use log::Log;
pub use progress::{Halted, Progress, Standing};
pub use projection::{Halt, Projection};
pub use samples::{METRICS, SERIES_MAX, Sample, Samples, SamplesAppended, Series, SweepStep};
pub use schema::{Migration, Schema, Truth};
pub use seen::Seen;
