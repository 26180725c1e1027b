//! What can go wrong, one variant per thing a caller could do differently.

use std::io;

use holdfast_types::{Exit, Key, Kind, NameError, Problem, ProblemCode, with_causes};

use crate::name::{Holder, Purpose};
use crate::number::Number;
use crate::range::Range;
use crate::series::{Series, Space};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{first} to {last} cannot be a range: {why}")]
    BadRange { first: Number, last: Number, why: &'static str },
    #[error("no {} is left from {range}; {in_use} that nobody holds are in use on this machine", range.series())]
    Exhausted { range: Range, in_use: usize },
    #[error("more than {max} free numbers of {series} in a row are in use on this machine")]
    Crowded { series: Series, max: usize },
    #[error("{holder} holds {max} numbers, which is all that one holder may")]
    HoldsTooMany { holder: Holder, max: usize },
    #[error("it cannot be seen which {space} are in use on this machine")]
    CannotLook { space: Space, source: io::Error },
    #[error("{holder} has no {series} for {purpose}")]
    NotHeld { series: Series, holder: Holder, purpose: Purpose },
    #[error("{number} was never given as {}, so there is nothing to reclaim", number.series())]
    NeverGiven { number: Number },
    #[error("{number} is held by {holder}")]
    StillHeld { number: Number, holder: Holder },
    #[error("something on this machine uses {number}")]
    StillInUse { number: Number },
    #[error("{holder} holds nothing")]
    HoldsNothing { holder: Holder },
    #[error("{from} and {to} both hold numbers")]
    BothHold { from: Holder, to: Holder },
    #[error("something in it looks like a secret, and would not be stored as it is")]
    Secret,
    #[error("entries of the kind {kind} are written by the ledger alone")]
    Reserved { kind: Kind },
    #[error("the key {key} belongs to the ledger")]
    ReservedKey { key: Key },
    #[error("the ledger cannot be brought up to date: {why}")]
    Behind { why: String },
    #[error("others wrote to the ledger each of the {attempts} times this was about to be written")]
    Contended { attempts: u32 },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Journal(#[from] holdfast_journal::Error),
    #[error(transparent)]
    Store(#[from] holdfast_store::Error),
}

impl Error {
    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = match self {
            Error::Journal(e) => return e.problem(),
            Error::Store(e) => return e.problem(),
            other => other.explain(),
        };
        let code = ProblemCode { room: "LDG", number };
        Problem { code, exit, what: with_causes(self), untouched: untouched.into(), hint: hint.into() }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        const NOTHING: &str = "Nothing was given, and nothing was written.";
        const AS_IT_WAS: &str = "Every number is where it was.";
        match self {
            Error::BadRange { .. } => {
                (1, Exit::Usage, NOTHING, "Declare a range of one kind of number, the smaller end first.")
            }
            Error::Exhausted { .. } => (
                2,
                Exit::Negative,
                NOTHING,
                "Declare a wider range, which moves nothing that was given; or reclaim released numbers, once it is \
                 shown that nothing owns them.",
            ),
            Error::Crowded { .. } => (
                3,
                Exit::Negative,
                NOTHING,
                "Declare a range that begins where the machine uses less; for subnets, look for a wide route with \
                 `ip route`.",
            ),
            Error::HoldsTooMany { .. } => (
                4,
                Exit::Refused,
                NOTHING,
                "Release what it does not need, or give each part a holder of its own.",
            ),
            Error::CannotLook { .. } => (
                5,
                Exit::CouldNotCheck,
                NOTHING,
                "See that the file named above can be read; a number is not given blindly.",
            ),
            Error::NotHeld { .. } => {
                (6, Exit::Usage, AS_IT_WAS, "Look at what the holder has, and name that.")
            }
            Error::NeverGiven { .. } => (
                7,
                Exit::Usage,
                AS_IT_WAS,
                "Name a number that was released or set aside, with the kind it was given as.",
            ),
            Error::StillHeld { .. } => {
                (8, Exit::Refused, AS_IT_WAS, "Release it first, and only if the holder is really gone.")
            }
            Error::StillInUse { .. } => {
                (9, Exit::Negative, AS_IT_WAS, "Find what uses it and end that, then reclaim it again.")
            }
            Error::HoldsNothing { .. } => (
                10,
                Exit::Usage,
                AS_IT_WAS,
                "Name the holder as it is called now; one that has nothing needs no rename.",
            ),
            Error::BothHold { .. } => (
                11,
                Exit::Refused,
                AS_IT_WAS,
                "Two holders are not made one: release what the one has, or choose a name nobody has.",
            ),
            Error::Secret => (12, Exit::Refused, NOTHING, "Choose another name or other words."),
            Error::Reserved { .. } => {
                (13, Exit::Refused, "Nothing was written.", "Log it under a kind of your own.")
            }
            Error::ReservedKey { .. } => {
                (14, Exit::Refused, "Nothing was written.", "Choose a key that does not begin with ledger-.")
            }
            Error::Behind { .. } => (
                15,
                Exit::CouldNotCheck,
                "Nothing was given, released or moved.",
                "See `holdfast status`; a newer holdfast may have written entries that this one does not know.",
            ),
            Error::Contended { .. } => (16, Exit::Busy, NOTHING, "Ask again; it is safe to repeat."),
            Error::Name(_) => (17, Exit::Usage, NOTHING, "Write the name as the rule above says."),
            // Told by whoever they came from; see `problem`.
            Error::Journal(_) | Error::Store(_) => (0, Exit::CouldNotCheck, "", ""),
        }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<Error> {
        let port = Series::VncPort.first();
        let mut all = vec![
            Error::BadRange { first: Series::VncPort.last(), last: port, why: "it ends before it begins" },
            Error::Exhausted { range: Range::of(Series::VncPort), in_use: 3 },
            Error::Crowded { series: Series::Uid, max: crate::decide::SKIPPED_MAX },
        ];
        let names = "agent/researcher".parse::<Holder>().into_iter();
        let names = names.zip("agent/reader".parse::<Holder>()).zip("screen".parse::<Purpose>());
        for ((holder, other), purpose) in names {
            let cannot = io::Error::other("/proc/net/tcp: permission denied");
            all.extend([
                Error::HoldsTooMany { holder: holder.clone(), max: crate::decide::HELD_PER_HOLDER_MAX },
                Error::CannotLook { space: Space::Ports, source: cannot },
                Error::NotHeld { series: Series::VncPort, holder: holder.clone(), purpose },
                Error::NeverGiven { number: port },
                Error::StillHeld { number: port, holder: holder.clone() },
                Error::StillInUse { number: port },
                Error::HoldsNothing { holder: holder.clone() },
                Error::BothHold { from: holder, to: other },
                Error::Secret,
            ]);
        }
        all.extend("ledger.number.given".parse().map(|kind| Error::Reserved { kind }));
        all.extend("ledger-turn:7".parse().map(|key| Error::ReservedKey { key }));
        all.extend([
            Error::Behind { why: "it stands still at entry 41".into() },
            Error::Contended { attempts: 64 },
        ]);
        all.extend("Agent/One".parse::<Holder>().err().map(Error::Name));
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
        assert_eq!(numbers, (1..=17).collect::<Vec<u16>>());
        for p in problems {
            assert!(p.what.len() > 10 && p.hint.len() > 10 && !p.untouched.is_empty(), "{p:?}");
            assert_ne!(p.exit, Exit::Ok, "{p:?}");
        }
    }
}
