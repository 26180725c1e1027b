//! What an operator is told when something goes wrong: a stable code, what happened, what was left
//! untouched, and what to do next.

use std::fmt;

use crate::Exit;

/// `HF-ROOM-NNN`; the number is stable for ever and looked up in `docs/errors.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProblemCode {
    pub room: &'static str,
    pub number: u16,
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HF-{}-{:03}", self.room, self.number)
    }
}

/// One operator-facing error. The cause chain stays with the error it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub code: ProblemCode,
    pub exit: Exit,
    /// What happened, as a sentence.
    pub what: String,
    /// What is as it was before.
    pub untouched: String,
    /// What to do now.
    pub hint: String,
}
