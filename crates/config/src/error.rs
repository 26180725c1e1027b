//! What can go wrong, one variant per thing a caller could do differently.

use std::io;
use std::path::PathBuf;

use holdfast_types::{Exit, Problem, ProblemCode};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::read::VERSION;
use crate::source::{BYTES_MAX, Place, SourceKind};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Show [`Diagnostics::render`] before the problem: the sentence here has room for the first only.
    #[error("the configuration is wrong: {0}")]
    Wrong(Diagnostics),
    #[error("{file}:{line}: the file has version {found}, and this program reads version {VERSION}")]
    Newer { file: String, line: usize, found: i64 },
    #[error("{} is {what}, and the configuration is a plain file", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{} can be written by others: its mode is {mode:04o}", path.display())]
    WritableByOthers { path: PathBuf, mode: u32 },
    #[error("{} belongs to uid {owner}, which is neither root nor uid {expected}", path.display())]
    ForeignOwner { path: PathBuf, owner: u32, expected: u32 },
    #[error("{} has more than {BYTES_MAX} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} could not be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl Error {
    /// Everything that is wrong, where that is what happened.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self {
            Error::Wrong(diagnostics) => Some(diagnostics),
            _ => None,
        }
    }

    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, hint) = self.explain();
        let mut what = self.to_string();
        if let Some(cause) = std::error::Error::source(self) {
            what.push_str(&format!(": {cause}"));
        }
        Problem {
            code: ProblemCode { room: "CFG", number },
            exit,
            what,
            untouched: "Nothing was started or changed, and the file is as it was.".into(),
            hint,
        }
    }

    fn explain(&self) -> (u16, Exit, String) {
        match self {
            Error::Wrong(_) => (1, Exit::Usage, "Correct it, then look with `holdfast config check`.".into()),
            Error::Newer { .. } => {
                (2, Exit::Refused, "Use the newer holdfast that the file was written for.".into())
            }
            Error::NotAFile { .. } => (
                3,
                Exit::Refused,
                "Put a plain file there: whoever can turn a link can change the settings.".into(),
            ),
            Error::WritableByOthers { path, .. } => {
                (4, Exit::Refused, format!("Take the right from them: chmod go-w {}", path.display()))
            }
            Error::ForeignOwner { path, .. } => (
                5,
                Exit::Refused,
                format!("Read it, and if it is as it should be: chown root {}", path.display()),
            ),
            Error::TooLarge { .. } => (6, Exit::Usage, "Check that this is the right file.".into()),
            Error::Unreadable { path, .. } => (
                7,
                Exit::CouldNotCheck,
                format!("Check the path, and who may read it: ls -ld {}", path.display()),
            ),
        }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        let path = || PathBuf::from("/etc/holdfast/config.yaml");
        let unknown = Diagnostic {
            file: "/etc/holdfast/config.yaml".into(),
            kind: SourceKind::File,
            order: 0,
            place: Place { line: 7, column: 1, len: 5 },
            code: Code::UnknownKey,
            message: "unknown key `helth`".into(),
            help: Some("write `health`".into()),
            snippet: None,
            related: Vec::new(),
        };
        vec![
            Error::Wrong(unknown.into()),
            Error::Newer { file: "/etc/holdfast/config.yaml".into(), line: 1, found: 2 },
            Error::NotAFile { path: path(), what: "a symbolic link" },
            Error::WritableByOthers { path: path(), mode: 0o664 },
            Error::ForeignOwner { path: path(), owner: 1000, expected: 0 },
            Error::TooLarge { path: path() },
            Error::Unreadable { path: path(), source: io::Error::from(io::ErrorKind::PermissionDenied) },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_own_number_in_order() {
        let numbers: Vec<u16> = Error::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=7).collect::<Vec<u16>>());
    }
}
