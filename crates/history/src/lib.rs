//! What was applied to hosts, as a git repository that people read.
//!
//! The journal is the truth; the repository is made from it. Records are folded into commits ([`Book`], pure: the same records give the
//! same commits, to the byte), and a pass ([`keep()`]) brings the repository to them however it was found. `deployed/TARGET` is what is in
//! force on a target and the base of every candidate; `steward/EPISODE` is there from the moment a candidate passed the gates until its
//! episode is over. What came of a commit stands in its notes, which `git log` shows.
//!
//! In reading order: `applied.rs` (what is set), `line.rs` (one target's commits), `book.rs` (all of them), `text.rs` (what people read),
//! `object.rs`, `shelf.rs` and `pack.rs` (git's objects), `settle.rs` (which references move), `repository.rs` and
//! `keep.rs` (the repository on the disk). Then what happens elsewhere: `kinds.rs` (what is written down of it), `outward.rs` (what should happen
//! there, pure), `remote.rs` (pushing), `forge.rs` (change requests) and `errand.rs` (one round).
//!
//! What holds:
//! - nothing here decides anything about a target, and nothing waits for it: a repository that is lost, damaged or locked delays the story
//!   and nothing else;
//! - a reference is moved only from where it was seen; what somebody else put there is kept aside and told;
//! - nothing of a user's or of a repository's settings runs anything; every call has a deadline and a limit;
//! - nothing is pushed that was not verified and kept, and a token is in no argument, no message and no record.

mod applied;
mod book;
mod errand;
mod forge;
mod keep;
mod kinds;
mod line;
mod object;
mod outward;
mod pack;
mod remote;
mod repository;
mod settle;
mod shelf;
mod text;

pub use applied::{Applied, Held};
pub use book::{Book, DEPLOYED, MAIN, NOTES, Refs, STEWARD, address};
pub use errand::{Also, Elsewhere, NotYet, Note, round};
pub use forge::{Forge, ForgeError, ForgeKind, Request, State};
pub use holdfast_git::{Git, NotDone};
pub use keep::{Look, Told, keep};
pub use kinds::{Event, Gone, KINDS, ROOM};
pub use line::{Deed, What};
pub use object::{Commit, Entry, KeySigner, Kind, NotAnOid, Object, Oid, Signer};
pub use outward::{BRANCHES_FOR, Outward, Pushes};
pub use remote::{Address, NotAnAddress, Remote};
pub use repository::{Prepared, Repository, Trouble, Written};
pub use settle::{ASIDE, Move, Settlement, settle};
