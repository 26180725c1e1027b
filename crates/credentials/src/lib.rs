//! Finds secrets in ordered places and hands them out as a type that never prints.
//!
//! The configuration names places ([`Source`]) in order; [`Credentials::find`] asks them in that order for a
//! [`SecretName`] and gives back a [`Secret`] with the [`Place`] it came from. Begin with `find.rs` (the order),
//! then one file per kind of place: `systemd.rs`, `age_file.rs`, `environment.rs`, `command.rs`. `private_file.rs`
//! is how every file is opened and judged.
//!
//! What holds:
//! - a place that does not have the name is passed over; a place that *fails* stops the search, so that a
//!   weaker place never answers for a stronger one that is out of order;
//! - a value appears in no debug form, no message and no error, and is wiped from memory when dropped;
//! - a decrypted file exists in memory only; nothing is ever asked at a terminal;
//! - every file, value, output and wait is bounded.
//!
//! Absent on purpose: no writing of secrets, no shell, no network, no async runtime. A search may block for as
//! long as the time limits of its commands add up to; a task of a runtime calls it on a blocking thread.

mod age_file;
mod command;
mod environment;
mod error;
mod find;
mod name;
mod private_file;
mod secret;
mod source;
mod systemd;

pub use age_file::AgeFile;
pub use command::CommandSource;
pub use environment::{Environment, Variables};
pub use error::{Error, Failure, Result};
pub use find::{Credentials, Found, State};
pub use name::SecretName;
pub use secret::{NotASecret, Secret, VALUE_MAX};
pub use source::{Place, Source};
