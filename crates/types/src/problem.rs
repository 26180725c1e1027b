//! What an operator is told when something goes wrong: a stable code, what happened, what was left
//! untouched, and what to do next.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::Exit;

/// The rooms that have error codes, as they are written in one. A code from another process is read against it.
const ROOMS: &[&str] = &[
    "API", "APR", "CAG", "CFG", "CLI", "CRD", "CTL", "GTW", "JRN", "KEY", "LDG", "MEM", "NTC", "SCN", "STO",
    "STW",
];

/// `HF-ROOM-NNN`; the number is stable for ever and looked up in `docs/errors.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct ProblemCode {
    pub room: &'static str,
    pub number: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an error code of this program")]
pub struct NotACode(String);

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HF-{}-{:03}", self.room, self.number)
    }
}

impl FromStr for ProblemCode {
    type Err = NotACode;

    fn from_str(text: &str) -> Result<ProblemCode, NotACode> {
        let parts = || {
            let (room, number) = text.strip_prefix("HF-")?.split_once('-')?;
            let room = ROOMS.iter().find(|known| **known == room)?;
            Some(ProblemCode { room, number: number.parse().ok()? })
        };
        parts()
            .filter(|code| code.to_string() == text)
            .ok_or_else(|| NotACode(text.chars().take(40).collect()))
    }
}

/// By hand: derived, the room's `'static` would be asked of the input.
impl<'de> Deserialize<'de> for ProblemCode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ProblemCode, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl From<ProblemCode> for String {
    fn from(code: ProblemCode) -> String {
        code.to_string()
    }
}

/// An error and what led to it, as one sentence; what the error says already is not said twice.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = e.source();
    }
    text
}

/// One operator-facing error. The cause chain stays with the error it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_back_and_nothing_else_is_one() {
        let code = ProblemCode { room: "JRN", number: 7 };
        assert_eq!("HF-JRN-007".parse(), Ok(code));
        for text in ["HF-JRN-7", "HF-XXX-007", "JRN-007", "HF-JRN-", "HF-JRN-0007", "", "HF-JRN-99999"] {
            assert!(text.parse::<ProblemCode>().is_err(), "{text}");
        }
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        #[derive(Debug, thiserror::Error)]
        #[error("outer: {0}")]
        struct Said(#[source] std::io::Error);
        let cause = || std::io::Error::other("inner");
        assert_eq!(with_causes(&Outer(cause())), "outer: inner");
        assert_eq!(with_causes(&Said(cause())), "outer: inner");
    }

    #[test]
    fn a_problem_crosses_a_wire_unchanged() {
        let problem = Problem {
            code: ProblemCode { room: "CTL", number: 1 },
            exit: Exit::Busy,
            what: "w".into(),
            untouched: "u".into(),
            hint: "h".into(),
        };
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }
}
