//! The driver of a NixOS host, as far as it can be shown without one (`docs/decisions/0039-the-nixos-driver.md`).
//!
//! What the steward sets is a handful of modules in a folder of its own, above what people wrote. A candidate is a commit of the host's
//! own repository with those modules in it: parsed, evaluated, compared with what was asked, built, and from then on known by its path in
//! the store and by nothing else. A trial activates that path without a boot leading to it.
//!
//! In reading order: `text.rs` and `overlay.rs` (settings as modules), `com.nix` (what an evaluation is asked for), `store.rs` (paths and
//! commits), `place.rs`, `step.rs` (every step with its exact arguments), `machine.rs` (who runs them), `reading.rs` (what their texts mean),
//! `room.rs` (what is remembered, under one lock), `repository.rs` (commits, in a repository of ours), `candidate.rs` (from a change to a built system),
//! `target.rs` (the words), `host.rs` (the driver).
//!
//! What holds:
//! - a commit of ours differs from people's in the overlay area alone, and nothing is written into their clone;
//! - neither git nor Nix reads the clone's settings, hooks or attributes: both work in an empty repository of ours that borrows its objects;
//! - whether a step still belongs to an open episode is decided by [`holdfast_lifeline::Desk`], on the host, under the lock;
//! - what is kept is the path that was built, tried and verified: nothing is evaluated again;
//! - a trial never touches the profile or the boot loader; going back names a path, never "the one before".

mod candidate;
mod host;
mod machine;
mod overlay;
mod place;
mod reading;
mod repository;
mod room;
mod step;
mod store;
mod target;
mod text;

pub use host::NixosHost;
pub use machine::{Machine, NotRun, Programs, Said};
pub use overlay::{Module, NotWritten, Overlay, PRIORITY, module_of, setting_of};
pub use place::Place;
pub use reading::{Generation, com, generations};
pub use room::Trouble;
pub use step::{How, Step};
pub use store::{Commit, StorePath};
pub use target::Target;
pub use text::literal;
