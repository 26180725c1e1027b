//! What can go wrong, one variant per thing a caller could do differently.
//!
//! A file of a tree that cannot be read is not here: the scan goes on, and the report lists it.

use std::io;
use std::path::PathBuf;

use holdfast_types::{Exit, Problem, ProblemCode, with_causes};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} is in no git repository", path.display())]
    NoRepository { path: PathBuf },
    #[error("git could not be run")]
    NoGit { source: io::Error },
    #[error("git could not say {asked}: {said}")]
    Git { asked: &'static str, said: String },
    #[error("the object {id} could not be read: {why}")]
    Object { id: String, why: String },
    #[error("{} is not the list of exceptions it should be: {why}", path.display())]
    Review { path: PathBuf, why: String },
    #[error("{} is not a baseline: {why}", path.display())]
    Baseline { path: PathBuf, why: String },
    #[error("{} could not be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} could not be written", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} has {lines} lines, and line {line} was asked for", path.display())]
    NoSuchLine { path: PathBuf, line: u64, lines: u64 },
    #[error("{} is not text", path.display())]
    NotText { path: PathBuf },
    #[error("{} is a hook of somebody else's, and the hook kept before it is there too", path.display())]
    TwoHooks { path: PathBuf },
    #[error("{} belongs to user {owner}: somebody else may have written what git would do there", path.display())]
    NotYours { path: PathBuf, owner: u32 },
    #[error("the repository cannot be read as it is: {why}")]
    Unusable { why: String },
}

impl Error {
    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = self.explain();
        Problem {
            code: ProblemCode { room: "SCN", number },
            exit,
            what: with_causes(self),
            untouched: untouched.into(),
            hint: hint.into(),
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        use Exit::{CouldNotCheck, Refused, Usage};
        const NOTHING: &str = "Nothing was changed, and nothing was called clean.";
        match self {
            Error::NoRepository { .. } => {
                (1, CouldNotCheck, NOTHING, "Name a path inside the repository, or run `git init` there.")
            }
            Error::NoGit { .. } => (
                2,
                CouldNotCheck,
                NOTHING,
                "Install git where the system keeps its programs, such as /usr/bin; PATH is not searched.",
            ),
            Error::Git { .. } => (
                3,
                CouldNotCheck,
                NOTHING,
                "`git fsck` finds damage. Where somebody else made the repository, ask it of a clone: git run by hand does what the settings there say.",
            ),
            Error::Object { .. } => (
                4,
                CouldNotCheck,
                NOTHING,
                "Run `git fsck --full`; fetch the object or restore it from a clone.",
            ),
            Error::Review { .. } => {
                (5, Usage, NOTHING, "Correct the file; docs/scanning.md shows how an exception is written.")
            }
            Error::Baseline { .. } => {
                (6, Usage, NOTHING, "Make it anew with `holdfast scan --write-baseline FILE`.")
            }
            Error::Read { .. } => (7, CouldNotCheck, NOTHING, "Check the path, and who may read it."),
            Error::Write { .. } => (
                8,
                CouldNotCheck,
                "What was there before is as it was.",
                "Check the path, the owner and the space.",
            ),
            Error::NoSuchLine { .. } => (9, Usage, NOTHING, "Name a line that is there."),
            Error::NotText { .. } => {
                (10, Usage, NOTHING, "Only lines of text can be explained; scan the file as a whole.")
            }
            Error::TwoHooks { .. } => (
                11,
                Refused,
                "Both hooks are as they were.",
                "Join them by hand into the one kept before, remove the other, and install again.",
            ),
            Error::NotYours { .. } => (
                12,
                CouldNotCheck,
                NOTHING,
                "Scan it as that user, or scan a clone of your own. If you trust them: git config --global --add safe.directory FOLDER",
            ),
            Error::Unusable { .. } => (
                13,
                CouldNotCheck,
                NOTHING,
                "Take away what is named, or scan a clone; `holdfast scan FOLDER` looks at the files alone.",
            ),
        }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        let path = || PathBuf::from("/srv/app/src");
        let list = || PathBuf::from(".holdfast/scan.toml");
        let io = || io::Error::from(io::ErrorKind::PermissionDenied);
        let text = |text: &str| text.to_owned();
        vec![
            Error::NoRepository { path: path() },
            Error::NoGit { source: io::ErrorKind::NotFound.into() },
            Error::Git { asked: "what is staged", said: text("fatal: index file corrupt") },
            Error::Object {
                id: text("587be6b4c3f93f93c489c0111bba5596147a26cb"),
                why: text("git has no such object"),
            },
            Error::Review { path: list(), why: text("exception 2 has no reason") },
            Error::Baseline { path: "baseline.json".into(), why: text("it has version 2") },
            Error::Read { path: list(), source: io() },
            Error::Write { path: "baseline.json".into(), source: io() },
            Error::NoSuchLine { path: "src/main.rs".into(), line: 412, lines: 97 },
            Error::NotText { path: "logo.png".into() },
            Error::TwoHooks { path: ".git/hooks/pre-commit".into() },
            Error::NotYours { path: "/srv/app/.git/config".into(), owner: 1001 },
            Error::Unusable {
                why: text("/srv/app/.git/index is a named pipe, and git would wait for it for ever"),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_own_number_in_order_and_can_be_acted_on() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=13).collect::<Vec<u16>>());
        assert!(problems.iter().all(|p| !p.hint.is_empty() && !p.untouched.is_empty()));
    }
}
