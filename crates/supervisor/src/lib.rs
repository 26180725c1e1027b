//! The supervisor: runs the daemon's parts, starts again those that end, and stops them all within a bounded
//! time.
//!
//! A [`Part`] is a name, how long it may be silent, and a future that is made anew for each life. Each life
//! gets a [`Life`]: a token that says when to stop and a [`Beat`] to show that it is alive. [`Supervisor::start`]
//! runs every part in a task of its own; [`Board`] tells anyone how they are. Whether and when a part is started
//! again is decided in `restart.rs`, which is pure.
//!
//! What holds:
//! - a part that ends, fails or panics is started again, later each time, and never holds up another;
//! - the supervisor never waits on what it supervises, but at the end, and then only for the grace it was given;
//! - what did not stop in time is cut off and named.
//!
//! Absent on purpose: no knowledge of what a part does, no process of its own, no state on disk.

mod board;
mod part;
mod restart;
mod run;

pub use board::{Board, PartState, PartStatus};
pub use part::{Beat, Failed, Importance, Life, Part, Wave};
pub use restart::{Restarts, STEADY_AFTER, delay_after};
pub use run::{Stopped, Supervisor};
