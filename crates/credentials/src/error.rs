//! What can go wrong, one variant per thing a caller could do differently. No message holds a value.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_types::{Exit, Problem, ProblemCode};

use crate::name::SecretName;
use crate::secret::NotASecret;
use crate::source::Place;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("that is not the name of a secret: a name is {}", SecretName::RULE)]
    NotAName,
    #[error("the place {place} cannot be used: {why}")]
    NotASource { place: &'static str, why: String },
    #[error("there is no secret {name}: looked in {}", listed(looked))]
    Missing { name: SecretName, looked: Vec<Place> },
    #[error("{place} could not be asked for the secret {name}: {failure}")]
    Failed { place: Place, name: SecretName, failure: Failure },
}

/// Why a place that may hold a secret could not say.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{} {why}", path.display())]
    TooOpen { path: PathBuf, why: &'static str },
    #[error("the value there cannot be used: {0}")]
    Value(#[from] NotASecret),
    #[error("{} holds no age identity that can be used: {why}", path.display())]
    Identity { path: PathBuf, why: String },
    #[error("none of the identities opens {}", path.display())]
    WrongIdentity { path: PathBuf },
    #[error("{} is locked with a passphrase, and nobody is here to type it", path.display())]
    Passphrase { path: PathBuf },
    #[error("{} is not what it should be: {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("it did not answer within {} ms and was stopped", limit.as_millis())]
    TimedOut { limit: Duration },
    #[error("it failed: {why}")]
    Command { why: String },
    /// Others than root and we could have put it there.
    #[error("{} {why}", path.display())]
    Untrusted { path: PathBuf, why: &'static str },
}

fn listed(looked: &[Place]) -> String {
    match looked {
        [] => "no place, because none is configured".to_owned(),
        places => places.iter().map(Place::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl Error {
    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, hint) = self.explain();
        Problem {
            code: ProblemCode { room: "CRD", number },
            exit,
            what: self.to_string(),
            untouched: match self {
                Error::Failed { .. } => "Nothing was changed, and no later place was asked instead.",
                _ => "Nothing was changed.",
            }
            .into(),
            hint: hint.into(),
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str) {
        match self {
            Error::NotAName => (1, Exit::Usage, "Correct the name; the value itself goes into a place."),
            Error::NotASource { .. } => (2, Exit::Usage, "Correct the place in the configuration."),
            Error::Missing { .. } => {
                (3, Exit::CouldNotCheck, "Put the secret into one of these places, or configure another.")
            }
            Error::Failed { failure, .. } => failure.explain(),
        }
    }

    /// One of each, for the page that lists them.
    pub fn samples() -> Vec<Error> {
        let name = || SecretName::try_from("api-key".to_owned()).ok();
        let path = || PathBuf::from("/etc/holdfast/secrets.age");
        let failures = [
            Failure::Unreadable { path: path(), cause: io::ErrorKind::PermissionDenied.into() },
            Failure::TooOpen { path: path(), why: "may be read by others than its owner" },
            Failure::Value(NotASecret::Empty),
            Failure::Identity { path: path(), why: "line 1 is no identity".into() },
            Failure::WrongIdentity { path: path() },
            Failure::Passphrase { path: path() },
            Failure::Damaged { path: path(), why: "it is not an age file".into() },
            Failure::TimedOut { limit: Duration::from_secs(10) },
            Failure::Command { why: "it ended with status 2".into() },
            Failure::Untrusted { path: path(), why: "is a symbolic link" },
        ];
        let mut all = vec![
            Error::NotAName,
            Error::NotASource { place: "command", why: "the program must be an absolute path".into() },
        ];
        all.extend(name().map(|name| Error::Missing { name, looked: vec![Place::systemd()] }));
        all.extend(
            failures.into_iter().filter_map(|failure| {
                Some(Error::Failed { place: Place::systemd(), name: name()?, failure })
            }),
        );
        all
    }
}

impl Failure {
    fn explain(&self) -> (u16, Exit, &'static str) {
        match self {
            Failure::Unreadable { .. } => {
                (4, Exit::CouldNotCheck, "Check that the file is there and that this user may read it.")
            }
            Failure::TooOpen { .. } => (
                5,
                Exit::Refused,
                "Take the permissions away (`chmod go= FILE`), and change the secret if others may have read it.",
            ),
            Failure::Value(_) => (6, Exit::Refused, "Store a non-empty text of at most 64 KiB."),
            Failure::Identity { .. } => {
                (7, Exit::CouldNotCheck, "Use a file as `age-keygen` writes it, without a passphrase.")
            }
            Failure::WrongIdentity { .. } => (
                8,
                Exit::CouldNotCheck,
                "Encrypt the file to this identity, or configure the other identity.",
            ),
            Failure::Passphrase { .. } => {
                (9, Exit::Refused, "Encrypt the file to an identity instead: `age -r RECIPIENT`.")
            }
            Failure::Damaged { .. } => {
                (10, Exit::Damaged, "Encrypt it anew; inside must be one JSON object of texts.")
            }
            Failure::TimedOut { .. } => {
                (11, Exit::TimedOut, "Run the command by hand, or raise its time limit.")
            }
            Failure::Command { .. } => (
                12,
                Exit::CouldNotCheck,
                "Run the command by hand: 0 means found, 1 means not here, anything else is a failure.",
            ),
            Failure::Untrusted { .. } => (
                13,
                Exit::Refused,
                "Put a plain file of root's or this user's there, in a folder that only they can write.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous_and_every_error_says_what_to_do() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=13).collect::<Vec<u16>>());
        for p in problems {
            assert!(p.what.len() > 10 && p.hint.len() > 10 && !p.untouched.is_empty(), "{p:?}");
        }
    }
}
