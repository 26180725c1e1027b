//! The cage: runs somebody else's program with exactly the rights it was given, says what held, and ends it completely.
//!
//! Begin with [`Policy`], what is granted as data; [`Plan::of`] makes of it what is done on this machine; [`Launcher`]
//! does it, through a small program of its own (`bin/holdfast-cage`), and gives [`Evidence`].
//!
//! What holds: what is not granted is refused, by more than one layer where there is more than one; nothing is inherited,
//! neither descriptors nor variables; when the program ends, or whoever ran it does, everything that came of it ends;
//! where the machine lacks a piece, the plan says so before anything runs. Absent on purpose: subordinate users, a shell,
//! rights of root, a terminal.
#![forbid(unsafe_code)]

pub mod amount;
pub mod calls;
mod error;
mod evidence;
pub mod filter;
pub mod host;
pub mod layer;
pub mod line;
mod numbers;
pub mod plan;
pub mod planted;
mod policy;
mod proxy;
mod run;
mod terminal;
mod tree;
pub mod wire;

pub use error::CageError;
pub use evidence::Evidence;
pub use layer::Layer;
pub use plan::{Call, Identity, Plan, Refusal};
pub use planted::LeftBehind;
pub use policy::{
    Access, CallGroup, Deed, Destination, Files, HOME, Lacking, Limits, Places, Planting, Policy,
    PolicyError, Service, Variable, Without,
};
pub use run::{Input, Launcher, Running, Sinks};
pub use terminal::ForTerminal;
pub use tree::{Entry, Kind, Machine, NANOSECONDS, Tree};
