//! One place that turns the errors of this crate into what an operator is told. The numbers behind
//! `HF-KEY-` are handed out here, a range per module, and are never reused:
//!
//! | range | module |
//! |---|---|
//! | 001–009 | canonical |
//! | 010–019 | key |
//! | 020–049 | file |
//! | 050–059 | trust: changing or reading the set |
//! | 060–069 | trust: why a key is not accepted |
//! | 070–079 | document |
//! | 080–099 | note |

use std::fmt::Display;

use holdfast_types::{Exit, Problem, ProblemCode};

/// What an error adds to its own sentence.
#[derive(Debug)]
pub(crate) struct Advice {
    pub(crate) number: u16,
    pub(crate) exit: Exit,
    pub(crate) untouched: &'static str,
    pub(crate) hint: String,
}

pub(crate) fn advice(number: u16, exit: Exit, untouched: &'static str, hint: impl Into<String>) -> Advice {
    Advice { number, exit, untouched, hint: hint.into() }
}

pub(crate) fn problem(error: &impl Display, advice: Advice) -> Problem {
    Problem {
        code: ProblemCode { room: "KEY", number: advice.number },
        exit: advice.exit,
        what: error.to_string(),
        untouched: advice.untouched.to_owned(),
        hint: advice.hint,
    }
}

/// Nothing in this crate but `file` can change anything, and it says so itself.
pub(crate) const NOTHING_CHANGED: &str = "nothing was changed";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{canonical, document, file, key, note, trust};

    fn every_problem() -> Vec<Problem> {
        let mut all = Vec::new();
        all.extend(canonical::samples().iter().map(canonical::CanonicalError::problem));
        all.extend(key::samples().iter().map(key::KeyError::problem));
        all.extend(file::samples().iter().map(file::FileError::problem));
        all.extend(trust::samples().iter().map(trust::TrustError::problem));
        all.extend(trust::distrust_samples().iter().map(trust::Distrust::problem));
        all.extend(document::samples().iter().map(document::DocumentError::problem));
        all.extend(note::samples().iter().map(note::NoteError::problem));
        all
    }

    #[test]
    fn every_error_has_a_code_of_its_own_and_says_what_to_do() {
        let all = every_problem();
        let codes: BTreeSet<_> = all.iter().map(|p| p.code).collect();
        assert_eq!(
            codes.len(),
            all.len(),
            "{:#?}",
            all.iter().map(|p| p.code.to_string()).collect::<Vec<_>>()
        );
        for p in &all {
            assert_eq!(p.code.room, "KEY");
            assert!(p.what.len() > 10 && !p.untouched.is_empty() && p.hint.len() > 10, "{p:?}");
            assert_ne!(p.exit, Exit::Ok);
        }
    }

    /// The list of codes is a promise; a number that moves shows up here.
    #[test]
    fn the_numbers_are_the_published_ones() {
        let numbers: Vec<u16> = every_problem().iter().map(|p| p.code.number).collect();
        let expected: Vec<u16> =
            [1..=8, 10..=14, 20..=35, 50..=60 - 1, 60..=66, 70..=75, 80..=91].into_iter().flatten().collect();
        assert_eq!(numbers, expected);
    }
}
