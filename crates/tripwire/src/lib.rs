//! The guard beside the steward, as a process of its own: `holdfast-tripwire`.
//!
//! It decides nothing new: [`holdfast_lifeline::Tripwire`] says when a window is lost and what is ordered then. Here are its eyes and hands,
//! in the way a look takes:
//! 1. `window.rs` reads the record of what is being tried, which the steward and the guard share, and claims it;
//! 2. `look.rs` probes the target, and hosts that have nothing to do with it, and says whether the target is well;
//! 3. `keeper.rs` hands both to the decision, and carries out what it orders: over `rescue.rs` (the doorman, with the guard's own key) and
//!    `provider.rs` (a reboot by whoever provides the machine);
//! 4. `heart.rs` tells the steward that somebody watches, and which ways back were rehearsed lately.
//!
//! `parts.rs` compares what is installed with the manifest of it; `rehearsal.rs` tries every way back without going it; `charge.rs` puts a target into the settings and takes it out.
//!
//! What holds:
//! - it needs nothing of the steward: neither its process, nor its user, its keys, its state;
//! - a disk that is full, a record that cannot be read or claimed, and a log that cannot be written stop no undo;
//! - everything it waits for has a limit, so that no round is missed;
//! - what it is doing outlives it: a start goes on.
//!
//! Absent on purpose: no async runtime, no configuration that can be written by whoever plans.

pub mod charge;
pub mod clock;
pub mod heart;
pub mod keeper;
pub mod look;
pub mod parts;
pub mod provider;
pub mod rehearsal;
pub mod rescue;
pub mod settings;
pub mod tell;
pub mod window;
