//! The ledger: numbers that are given out once and stay. Uids, ports, subnets, routing marks, interface names.
//!
//! Whoever needs a number makes an [`Ask`] and gets it ([`Ledger::give`]); asking again gives the same one. Every gift,
//! release, reclaim and rename is an entry of the journal, and what the entries fold to is the ledger ([`State`]).
//!
//! In reading order: `name.rs` (who holds, and what for), `series.rs` (the kinds of number, their base and first value), `number.rs`,
//! `range.rs` (what an ask may be given), `occupied.rs` (what the machine uses already), `event.rs` (the entries),
//! `state.rs` (what they come to), `decide.rs` (every yes and no, pure), `projection.rs` (the entries kept in the index),
//! `ledger.rs` (the only file that writes). `system.rs` looks at the machine it runs on.
//!
//! What holds:
//! - a number is on the disk before anybody hears of it, and nobody else ever holds it or a part of it;
//! - whoever comes or goes moves nobody else's number; a range that is declared otherwise later moves none either;
//! - a number that was released stays where it is, as a tombstone. It is given again only after somebody reclaimed it,
//!   and said why nothing owns it any more; and then only when nothing fresh is left;
//! - a number that something else used at the moment of the ask is set aside, and never tried again unless reclaimed;
//! - a rename keeps all numbers;
//! - entries that cannot be read, or that contradict those before them, stop the ledger. It never guesses.
//!
//! # Two at once
//!
//! An entry names its turn: how many entries counted before it. Of two with the same turn the first counts, and the
//! other is passed over by everybody who reads. Whoever wrote it sees that, and decides again. An idempotency key keeps
//! the second out of the log in nearly all cases, but nothing rests on it.
//!
//! Absent on purpose: no clock, no async runtime, no IPv6. Nothing is made on the machine: a uid here is a number, not a
//! user. Users that are not in `/etc/passwd` and listeners of other network namespaces are not seen. Nobody chooses
//! a number: what was there before the ledger is set aside, not taken over.

mod decide;
mod error;
mod event;
mod ledger;
mod name;
mod number;
mod occupied;
mod projection;
mod range;
mod series;
mod state;
mod system;

pub use decide::{Ask, HELD_PER_HOLDER_MAX, SKIPPED_MAX};
pub use error::{Error, Result};
pub use event::{KINDS, Misfit};
pub use ledger::{Given, Ledger, Renamed, refuse_reserved};
pub use name::{Evidence, Holder, InterfaceName, Purpose};
pub use number::{NotANumber, Number, Value};
pub use occupied::{InUse, Occupied};
pub use projection::LedgerProjection;
pub use range::Range;
pub use series::{MARK_MASK, Series, Space};
pub use state::{Line, Standing, State};
pub use system::Machine;
