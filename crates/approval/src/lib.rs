//! Approvals: what a person has to allow before it happens, whichever room wants to do it.
//!
//! A part that needs one makes an [`Action`] and asks ([`Approvals::ask`]). The ask lies in the inbox until a person
//! signs a [`Verdict`] with the approvals key, in a process of their own; here it is only verified and written down
//! ([`Approvals::give`]). The part then redeems it ([`Approvals::redeem`]) and gets a [`Redeemed`], which nothing else
//! can make: a function that must not run without an approval takes one.
//!
//! In reading order: `action.rs` (what exactly is allowed, and its digest), `ask.rs`, `verdict.rs` (the signed object),
//! `event.rs` (the entries), `life.rs` (what the entries of one ask come to), `decide.rs` (every yes and no, pure),
//! `projection.rs` (the inbox as tables), `approvals.rs` (the only file that writes). The bytes are drawn in
//! `docs/formats/approvals.md`.
//!
//! What holds:
//! - an approval fits one ask of one instance and one action, to the byte;
//! - it is used at most once: the use is on the disk before [`Approvals::redeem`] returns, so a crash after it loses
//!   the approval and never doubles the action;
//! - it counts only while the ask and the approval have not expired, by a clock that is known to be good;
//! - the signature is checked when the verdict comes and again when it is used, against the trust set of that moment,
//!   so a key that was revoked in between counts for nothing;
//! - an ask that the screen would change is refused: what a person reads is what the digest was made of;
//! - what cannot be written down does not happen.
//!
//! # Time
//!
//! While the clock is not known to be good ([`Now::Unsure`]), nothing expires, nothing is asked, approved or redeemed;
//! rejecting and withdrawing go on, since they only take away. A clock that is behind the time an ask or its verdict
//! was made at is treated the same way for that ask. An expiry that was written down is never undone by a clock that
//! goes back.
//!
//! Absent on purpose: no signing key is read here, no socket, no clock, no async runtime. Nobody is told that
//! something waits: [`Asked::fresh`] says when there is something to tell.

mod action;
mod approvals;
mod ask;
mod decide;
mod error;
mod event;
mod ledger;
mod life;
mod name;
mod projection;
mod refusal;
mod time;
mod verdict;

pub use action::{ACTION_BYTES_MAX, Action};
pub use approvals::{Approvals, Asked, Redeemed, Taken, refuse_reserved};
pub use ask::{Ask, LIFETIME_DEFAULT, LIFETIME_MAX, LIFETIME_MIN, NewAsk, TEXT_BYTES_MAX};
pub use decide::{ASKS_PER_HOUR_MAX, OPEN_MAX, OPEN_PER_ACTOR_MAX};
pub use error::{Error, Result};
pub use event::KINDS;
pub use ledger::Ledger;
pub use life::{Given, Life, Standing, State};
pub use name::{Subject, Target};
pub use projection::ApprovalProjection;
pub use refusal::Refusal;
pub use time::Now;
pub use verdict::{DOCUMENT_BYTES_MAX, PURPOSE, REASON_CHARS_MAX, Verdict, Word, believe, sign};
