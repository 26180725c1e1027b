//! The doorman: what stands behind an SSH key on a target, and the words both sides use with it.
//!
//! A controller never gets a shell. Its key runs this program, and the program knows a handful of words. Each has typed
//! arguments that come as one JSON document; the command line holds the word and nothing more, so there is nothing in it to
//! quote, to inject or to read twice.
//!
//! In reading order: `wire.rs` (words, roles, asks and replies: shared by both sides), `layer.rs` (what the steward has set, its
//! identity, and the drop-ins it comes to), `place.rs` (where everything lies), `program.rs` (other programs, run without a shell
//! and with a limit), `systemd.rs` (what the service manager says and does), `kernel.rs` (what the kernel really does),
//! `ours.rs` (files of ours among those of units), `room.rs` (the durable state, under one lock) with `reserve.rs` (room on the disk
//! for the way back), `force.rs` (files become what the kernel does), `deed.rs` (the words that change something), `sight.rs` (those that look), `collect.rs`
//! (what is measured, also by a program of this machine that is no doorman) with `reading.rs` (what the texts mean), `survey.rs` (what is
//! on the target), `enrol.rs`
//! (the first day), `arrival.rs` (how the doorman comes and leaves), `door.rs` (one call from the key to the reply), `log.rs` (what was done, for whoever asks afterwards).
//!
//! What holds:
//! - only files whose names say that they are ours are written or removed;
//! - whether a step still belongs to an open episode is decided by [`holdfast_lifeline::Desk`], here, under the lock;
//! - a trial lies below `/run`, so a boot undoes it; what is kept lies below `/etc`;
//! - what counts as applied is what the kernel says.

mod arrival;
mod assigned;
pub mod collect;
mod deed;
pub mod door;
mod enrol;
mod force;
mod kernel;
pub mod layer;
mod log;
mod ours;
mod place;
mod program;
pub mod reading;
mod reserve;
mod room;
mod sight;
mod survey;
mod systemd;
pub mod wire;

pub use arrival::{Arrival, Left, NotArrived, OBSERVER};
pub use enrol::{Enrolment, NotEnrolled, authorized_line};
pub use log::KINDS;
pub use place::Place;
pub use program::{Trouble, ended_within};
pub use survey::SCRIPT as SURVEY;
