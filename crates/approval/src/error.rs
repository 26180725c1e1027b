//! What can go wrong, one variant per thing a caller could do differently.

use holdfast_keys::CanonicalError;
use holdfast_types::{Actor, Exit, Kind, Problem, ProblemCode, with_causes};

use crate::refusal::Refusal;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("it cannot be asked for: {why}")]
    BadAsk { why: String },
    #[error("the action is not JSON that has one encoding")]
    NotCanonical(#[source] CanonicalError),
    #[error("something in it looks like a secret, and would not be stored as it is")]
    Secret,
    #[error("{actor} has {open} asks open, and may have {max}")]
    TooManyOpen { actor: Actor, open: u64, max: u64 },
    #[error("{open} asks are open, and there may be {max}")]
    InboxFull { open: u64, max: u64 },
    #[error("{actor} has asked {asked} times within an hour, and may {max} times")]
    TooOften { actor: Actor, asked: u64, max: u64 },
    #[error("{actor} cannot withdraw what {owner} asked for")]
    NotYours { actor: Actor, owner: Actor },
    #[error("entries of the kind {kind} are written by approvals alone")]
    Reserved { kind: Kind },
    #[error("the key {key} belongs to approvals")]
    ReservedKey { key: holdfast_types::Key },
    #[error("the inbox cannot be brought up to date: {why}")]
    Behind { why: String },
    #[error("the system gave no random bytes for an id")]
    NoRandomness,
    #[error(transparent)]
    Journal(#[from] holdfast_journal::Error),
    #[error(transparent)]
    Store(#[from] holdfast_store::Error),
}

/// How many numbers the refusals take before those of this enum begin.
const REFUSALS: u16 = 17;

impl Error {
    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = match self {
            Error::Journal(e) => return e.problem(),
            Error::Store(e) => return e.problem(),
            Error::Refused(refusal) => {
                let (number, exit, hint) = refusal.explain();
                (number, exit, "Nothing was approved, used or done.", hint)
            }
            other => other.explain(),
        };
        let code = ProblemCode { room: "APR", number };
        Problem { code, exit, what: with_causes(self), untouched: untouched.into(), hint: hint.into() }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        const NOTHING: &str = "Nothing was asked, and nothing was written.";
        let (number, exit, untouched, hint) = match self {
            Error::BadAsk { .. } => (1, Exit::Usage, NOTHING, "Make it shorter, or clearer, and ask again."),
            Error::NotCanonical(_) => {
                (2, Exit::Usage, NOTHING, "Write large numbers as text, and no key twice.")
            }
            Error::Secret => {
                (3, Exit::Refused, NOTHING, "Name the secret instead of holding it, and ask again.")
            }
            Error::TooManyOpen { .. } => {
                (4, Exit::Refused, NOTHING, "Decide some of them: `holdfast approvals list`.")
            }
            Error::InboxFull { .. } => {
                (5, Exit::Refused, NOTHING, "Decide some of them: `holdfast approvals list`.")
            }
            Error::TooOften { .. } => (
                6,
                Exit::Refused,
                NOTHING,
                "Look at what asks so often, and why: `holdfast approvals list --all`.",
            ),
            Error::NotYours { .. } => {
                (7, Exit::Refused, "It is as it was.", "A person rejects it: `holdfast reject`.")
            }
            Error::Reserved { .. } => (
                8,
                Exit::Refused,
                "Nothing was written.",
                "Use `holdfast approve` or `holdfast reject`, or log it under a kind of your own.",
            ),
            Error::ReservedKey { .. } => {
                (9, Exit::Refused, "Nothing was written.", "Choose a key that does not begin with approval-.")
            }
            Error::Behind { .. } => (
                10,
                Exit::CouldNotCheck,
                "Nothing was approved, used or done.",
                "See `holdfast status`; a newer holdfast may have written entries that this one does not know.",
            ),
            Error::NoRandomness => {
                (11, Exit::CouldNotCheck, NOTHING, "See whether getrandom(2) is allowed here.")
            }
            // Told by whoever they came from; see `problem`.
            Error::Refused(_) | Error::Journal(_) | Error::Store(_) => (0, Exit::CouldNotCheck, "", ""),
        };
        (REFUSALS + number, exit, untouched, hint)
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        let mut all: Vec<Error> = Refusal::samples().into_iter().map(Error::Refused).collect();
        all.extend([
            Error::BadAsk { why: "it must hold for at least a minute and at most seven days".into() },
            Error::NotCanonical(CanonicalError::NotUtf8 { offset: 7 }),
            Error::Secret,
        ]);
        let names = "agent-1".parse::<Actor>().into_iter().zip("steward".parse::<Actor>());
        for (actor, owner) in names {
            all.extend([
                Error::TooManyOpen { actor: actor.clone(), open: 16, max: 16 },
                Error::InboxFull { open: 256, max: 256 },
                Error::TooOften { actor: actor.clone(), asked: 60, max: 60 },
                Error::NotYours { actor, owner },
            ]);
        }
        all.extend("approval.verdict.given".parse().map(|kind| Error::Reserved { kind }));
        all.extend("approval-used:1".parse().map(|key| Error::ReservedKey { key }));
        all.extend([Error::Behind { why: "it stands still at entry 41".into() }, Error::NoRandomness]);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous_and_every_error_says_what_to_do() {
        let problems: Vec<Problem> = Error::samples().iter().map(Error::problem).collect();
        let numbers: Vec<u16> = problems.iter().map(|p| p.code.number).collect();
        assert_eq!(numbers, (1..=28).collect::<Vec<u16>>());
        for p in problems {
            assert!(p.what.len() > 10 && p.hint.len() > 10 && !p.untouched.is_empty(), "{p:?}");
            assert_ne!(p.exit, Exit::Ok, "{p:?}");
        }
        assert_eq!(usize::from(REFUSALS), Refusal::samples().len());
    }
}
