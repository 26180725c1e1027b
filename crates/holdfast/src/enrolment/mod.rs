//! Taking a host in and letting it go: what `holdfast target` does.
//!
//! In reading order: `error.rs` (what goes wrong, and what was undone), `person.rs` (the person's own ssh), `survey.rs` (what is there, and
//! whether it will do), `inventory.rs` (what is kept of that, and how it differs later), `record.rs` (what is done, written down before it is), `steps.rs` (each step and its undoing), `proof.rs` (whether
//! the keys do what they are for, and nothing else), `configure.rs` (the target in config.yaml), `edit.rs` (a change of it, and nothing else), `pipe.rs`,
//! `hand.rs` and `guard.rs` (a guard for it), `warrant.rs` and `hands.rs` (what stays root's), `interrupt.rs` (a person who leaves).
//!
//! What holds:
//! - nothing of what a user typed is ever put into a shell there: scripts are fixed, and everything else goes as JSON or a file over
//!   standard input;
//! - whatever is done, there or here, stands in the record before it is done, so that it can be undone from any step;
//! - the host's key is the one a person has seen: another one ends everything.

pub(crate) mod configure;
pub(crate) mod edit;
mod error;
pub(crate) mod guard;
pub(crate) mod hand;
pub(crate) mod hands;
pub(crate) mod interrupt;
pub(crate) mod inventory;
pub(crate) mod person;
mod pipe;
pub(crate) mod proof;
pub(crate) mod record;
pub(crate) mod steps;
pub(crate) mod survey;
pub(crate) mod warrant;

pub(crate) use error::{Aftermath, EnrolError, Fault, remedy};
