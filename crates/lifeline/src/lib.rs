//! The lifeline: what brings a target back when everything else is broken, as decisions without hands.
//!
//! A trial is never left to whoever started it. Three things undo it, each without the others:
//! 1. the **lease** on the target ([`Desk`]): armed before the trial, renewed while it goes well, and when nobody renews it
//!    the target puts itself back;
//! 2. the **controller**, through the rollback [`Cascade`]: first route, second route, reboot;
//! 3. the **tripwire** ([`Tripwire`]), a process of its own, with the same cascade.
//!
//! Who may act is settled by the [`WindowRecord`] beside them and by the target's own [`Desk`], which takes each step of
//! an episode at most once and refuses what comes too late. In reading order: `identity.rs`, `time.rs`, `desk.rs`, `window.rs`,
//! `cascade.rs`, `tripwire.rs`. `flaw.rs` holds the switches by which the simulator breaks the design on purpose.
//!
//! What holds:
//! - going back always names what to go back to; nothing here knows "the previous one";
//! - undoing a trial never touches what the target boots into;
//! - a rollback has succeeded when the wanted identity is seen running, and not before;
//! - a controller that cannot see anything blames itself, and reboots nobody.
//!
//! Absent on purpose: no I/O, no clock, no async, no randomness, and nothing of the steward: the tripwire lives without it.

mod cascade;
mod desk;
mod flaw;
mod identity;
#[cfg(test)]
mod testing;
mod time;
mod tripwire;
mod window;

pub use cascade::{Cascade, CascadeEnd, CascadeInput, CascadeStep, Channel, Order, Sighting, Trying};
pub use desk::{Armed, Desk, Ended, Lease, Refused, Restored};
pub use flaw::{Flaw, Sound};
pub use identity::{BootId, EpisodeId, Identity, TargetName};
pub use time::{Now, Steady};
pub use tripwire::{GRACE, PERIOD, Sight, Tripwire, TripwireEffect, TripwireInput, Watch};
pub use window::{Claim, Owner, WindowRecord, WindowState};
