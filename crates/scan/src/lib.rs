//! Looks for secrets where they should not be: in a tree of files, in what is staged for a commit, in everything a
//! repository ever held. The engine is `holdfast_guard`; here is what feeds it and what is done with its findings.
//!
//! Begin with [`Scan`]: it says where to look, and [`Scan::run`] gives a [`Report`]. Sources of content ([`Scan`]) hand
//! names and bytes to one function that judges them (`look`), whether they come from a disk, a blob, an archive or a
//! notebook; a [`Review`] of the repository and a [`Baseline`] take out what was accepted; [`json`] and [`sarif`] turn
//! the rest into documents. [`Hook`] puts the scan in front of a commit or a push.
//!
//! What holds: no byte of a secret is in a report, an error or a baseline; what was not looked at is counted with the
//! reason; what could not be read is never called clean; the same content gives the same report, however many threads
//! looked; no archive, however made, takes more than its bounds.
//!
//! Absent on purpose: no network (nothing is tried out at its issuer), no clock (the day is handed in), no printing,
//! nothing is written but the baseline and the hook that was asked for. `git` is run by argument list, never by a shell.

mod accepted;
mod allow;
mod archive;
mod baseline;
mod cat_file;
mod changes;
mod crew;
mod error;
mod explain;
mod found;
mod git;
mod history;
mod hook;
mod json;
mod keystore;
mod lines;
mod look;
mod notebook;
mod review;
mod sarif;
mod scan;
mod shown;
mod staged;
mod text;
mod walk;

pub use baseline::Baseline;
pub use error::{Error, Result};
pub use explain::{Explained, Outcome, explain};
pub use found::{Failed, Found, Note, Report, Skipped, Why};
pub use git::Repository;
pub use holdfast_guard::Confidence;
pub use hook::{Deed, Done, Hook, Standing};
pub use json::json;
pub use review::{REVIEW_FILE, Review};
pub use sarif::sarif;
pub use scan::{IgnoreFiles, Progress, Scan, Where, Which};
