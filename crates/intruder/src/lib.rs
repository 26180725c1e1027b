//! The intruder: a program that is put inside a cage and tries to get out of it.
//!
//! [`ATTEMPTS`] is the catalogue. Each attempt aims at a decoy that the harness set up for it ([`Decoys`]) or at the
//! intruder's own process, says which fences ought to refuse it ([`Layer`]) and ends in an [`Outcome`].
//! [`try_apart`] runs one of them in a child of its own, so that a crash, a kill by the system-call filter or a
//! hang becomes an outcome too. [`Stage`] sets the decoys up.
//!
//! What holds:
//! - Nothing is aimed at anything but decoys. Where a system call concerns the whole machine (the clock, a reboot,
//!   kernel modules), its arguments are such that the kernel turns them down after its permission check. An error
//!   of permission is then a refusal; an error about the arguments means that the fences let the call through.
//! - An attempt that gets through undoes what it did. What it makes is named `intruder-PID` and is cleared away
//!   even if it dies half-way.
//! - `unsafe` is in `raw` and in the stage's `objects` only, and each block says why it is sound.
//!
//! Absent on purpose: exploits. An attempt asks the kernel for what the fences forbid and takes no for an answer.

mod aim;
mod attempt;
mod calls;
mod catalogue;
mod decoys;
mod errno;
mod files;
mod judge;
mod marks;
mod raw;
mod runner;
mod stage;
mod who;

pub use attempt::{Attempt, Group, Layer, Outcome, Report};
pub use catalogue::ATTEMPTS;
pub use decoys::Decoys;
pub use runner::{DEADLINE, try_apart};
pub use stage::{SECRET, Stage};
pub use who::Who;
