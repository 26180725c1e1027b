//! The words of the house, as types: what every other crate says and none redefines.
//!
//! Begin with [`name`] (who did what, as bounded text that cannot forge a log line), [`id`] (ids whose
//! kind is part of their text), [`time`] and [`trust`]. [`problem`] is how every room tells a person that
//! something went wrong, and [`exit`] the one table of exit codes. `schema` says in JSON Schema what each looks like on a wire.
//!
//! Absent on purpose: no I/O, no async, no clock, no randomness. A caller hands those in as values.

mod digest;
mod exit;
mod id;
mod kind_def;
mod name;
mod printable;
mod problem;
mod schema;
mod time;
mod trust;

pub use digest::{Algo, Digest, DigestError};
pub use exit::Exit;
pub use id::{AgentId, ApprovalId, IdError, RunId, TargetId};
pub use kind_def::KindDef;
pub use name::{Actor, Key, Kind, NameError, Origin, Room};
pub use printable::{drives_a_terminal, printable};
pub use problem::{NotACode, Problem, ProblemCode, with_causes};
pub use time::{Clock, TimeError, Timestamp};
pub use trust::{Trust, TrustError};
