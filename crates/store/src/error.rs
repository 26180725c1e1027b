//! What can go wrong, one variant per thing a caller could do differently.

use std::io;
use std::path::{Path, PathBuf};

use holdfast_types::{Exit, Problem, ProblemCode, with_causes};
use rusqlite::ErrorCode;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} has version {found}, and this program knows versions up to {known}", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{} is {found}, and not the database {wanted}", path.display())]
    OtherDatabase { path: PathBuf, found: String, wanted: &'static str },
    #[error("migration {number} of {} was applied with another text than this program has", path.display())]
    MigrationChanged { path: PathBuf, number: u32 },
    #[error("migration {number} ({name}) of {} failed: {why}", path.display())]
    MigrationFailed { path: PathBuf, number: u32, name: &'static str, why: String },
    #[error("{} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("the disk is full: {}", path.display())]
    DiskFull { path: PathBuf },
    #[error("not allowed here: {} is read-only or belongs to someone else", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} is in use: {who}", path.display())]
    Busy { path: PathBuf, who: &'static str },
    #[error("there is no database at {}", path.display())]
    Missing { path: PathBuf },
    #[error("there is already a file at {}", path.display())]
    BackupExists { path: PathBuf },
    #[error("the copy of {} is not whole: {what}", path.display())]
    BackupBad { path: PathBuf, what: String },
    #[error("not possible as a series or sample: {why}")]
    BadSample { why: String },
    #[error("the database could not be read or written")]
    Sql(#[from] rusqlite::Error),
    #[error("a file of the store could not be read or written")]
    Io(#[source] io::Error),
    #[error("the journal could not be read")]
    Journal(#[from] holdfast_journal::Error),
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Error::Io(e)
    }
}

impl Error {
    /// The same failure, told apart by what SQLite or the kernel said, with the file it happened to.
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            Error::Sql(e) => match sql_cause(&e) {
                Some(Cause::Full) => Error::DiskFull { path },
                Some(Cause::ReadOnly) => Error::ReadOnly { path },
                Some(Cause::Busy) => Error::Busy { path, who: "another connection holds it" },
                Some(Cause::Damage) => Error::Damaged { path, what: e.to_string() },
                None => Error::Sql(e),
            },
            Error::Io(e) => match e.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { path },
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    Error::ReadOnly { path }
                }
                _ => Error::Io(e),
            },
            other => other,
        }
    }

    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        if let Error::Journal(e) = self {
            return e.problem();
        }
        let (number, exit, untouched, hint) = self.explain();
        let what = with_causes(self);
        let code = ProblemCode { room: "STO", number };
        Problem { code, exit, what, untouched: untouched.into(), hint: hint.into() }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        use Exit::{Busy, CouldNotCheck, Damaged, Refused, Usage};
        const UNTOUCHED: &str = "The file was not touched.";
        const COMMITTED: &str = "Everything committed before is kept; nothing of the failed change is.";
        match self {
            Error::Newer { .. } => (1, Refused, UNTOUCHED, "Use the newer holdfast that wrote it."),
            Error::OtherDatabase { .. } => {
                (2, Refused, UNTOUCHED, "Move the file away, and put the right one in its place.")
            }
            Error::MigrationChanged { .. } => (
                3,
                Refused,
                UNTOUCHED,
                "Use the holdfast release that migrated it; a released migration never changes.",
            ),
            Error::MigrationFailed { .. } => (
                4,
                CouldNotCheck,
                "The database is at the version before that migration; a backup of it is in `backups`.",
                "Go on with the release before, and report this with the text above.",
            ),
            Error::Damaged { .. } => (
                5,
                Damaged,
                UNTOUCHED,
                "For index.db run `holdfast rebuild`; for any other restore the newest file in `backups`.",
            ),
            Error::DiskFull { .. } => (6, CouldNotCheck, COMMITTED, "Free some space and try again."),
            Error::ReadOnly { .. } => {
                (7, CouldNotCheck, COMMITTED, "Check the owner and mount options of the state directory.")
            }
            Error::Busy { .. } => (8, Busy, COMMITTED, "Wait for the other one to end, or stop it."),
            Error::Missing { .. } => {
                (9, CouldNotCheck, "Nothing was written.", "Check the path, or HOLDFAST_HOME.")
            }
            Error::BackupExists { .. } => (
                10,
                Refused,
                "The file that is there was not touched.",
                "Choose another name: a backup never overwrites.",
            ),
            Error::BackupBad { .. } => (
                11,
                Damaged,
                "The copy was removed; earlier backups and the database are as they were.",
                "Keep the earlier backups, and check the disk: the database itself may be damaged.",
            ),
            Error::BadSample { .. } => (12, Usage, "Nothing was written.", "Correct it as the text says."),
            Error::Sql(_) => (13, CouldNotCheck, COMMITTED, "Look at the cause above."),
            // The journal's own codes are shown for the last; see `problem`.
            Error::Io(_) | Error::Journal(_) => (14, CouldNotCheck, COMMITTED, "Look at the cause above."),
        }
    }

    /// One of each with a number of this room, for `docs/errors.md`. What the journal says has its own codes.
    pub fn samples() -> Vec<Error> {
        let path = || PathBuf::from("metrics.db");
        vec![
            Error::Newer { path: path(), found: 3, known: 2 },
            Error::OtherDatabase { path: path(), found: "another program's".into(), wanted: "metrics" },
            Error::MigrationChanged { path: path(), number: 2 },
            Error::MigrationFailed {
                path: path(),
                number: 2,
                name: "add units",
                why: "no such table: series".into(),
            },
            Error::Damaged { path: path(), what: "it does not begin like a database".into() },
            Error::DiskFull { path: path() },
            Error::ReadOnly { path: path() },
            Error::Busy { path: path(), who: "another connection holds it" },
            Error::Missing { path: path() },
            Error::BackupExists { path: "backups/metrics.db".into() },
            Error::BackupBad { path: path(), what: "row 7 missing from index".into() },
            Error::BadSample { why: "a name has 1 to 128 characters".into() },
            Error::Sql(rusqlite::Error::InvalidQuery),
            Error::Io(io::Error::other("input/output error")),
        ]
    }
}

/// What of SQLite's many codes a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Full,
    ReadOnly,
    Busy,
    Damage,
}

pub(crate) fn sql_cause(e: &rusqlite::Error) -> Option<Cause> {
    /// The shared-memory file could not grow: on a full disk this comes before SQLITE_FULL does.
    const IOERR_SHMSIZE: i32 = 10 | (19 << 8);
    let rusqlite::Error::SqliteFailure(failure, _) = e else { return None };
    match failure.code {
        ErrorCode::DiskFull => Some(Cause::Full),
        ErrorCode::SystemIoFailure if failure.extended_code == IOERR_SHMSIZE => Some(Cause::Full),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(Cause::ReadOnly),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Cause::Busy),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Some(Cause::Damage),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous_and_every_problem_says_what_to_do() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=problems.len() as u16).collect::<Vec<_>>());
        for p in problems {
            assert!(!p.what.is_empty() && p.untouched.ends_with('.') && p.hint.ends_with('.'), "{p:?}");
        }
    }

    #[test]
    fn what_the_journal_says_keeps_its_own_code() {
        let e = Error::from(holdfast_journal::Error::Gone { seq: 3, oldest: 9 });
        assert_eq!(e.problem().code.to_string(), "HF-JRN-013");
    }
}
