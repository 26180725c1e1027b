//! What is wrong with a call, before anybody was asked.

use holdfast_types::{Exit, Problem, ProblemCode};

/// Why a call is not taken. Of what was sent, no more than the name of a field is repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    #[error("there is nothing at this path")]
    NoSuchPath,
    #[error("this path takes {}", allowed.join(", "))]
    WrongMethod { allowed: Vec<&'static str> },
    #[error("{field} is not known here")]
    Unknown { field: String },
    #[error("{field} is missing")]
    Missing { field: String },
    #[error("{field} is there twice")]
    Twice { field: String },
    #[error("{field} has to be {why}")]
    Wrong { field: String, why: String },
    #[error("{place} cannot be read: {why}")]
    Encoding { place: &'static str, why: &'static str },
    #[error("the body is not JSON that can be relied on: {why}")]
    NotJson { why: String },
    #[error("the body has to be {wanted}")]
    MediaType { wanted: &'static str },
    #[error("the body has more than {most} bytes")]
    TooLong { most: usize },
    #[error("this call takes no body")]
    NoBodyTaken,
    #[error("exactly one of {} is wanted", of.join(", "))]
    OneOf { of: &'static [&'static str] },
    #[error("there is no {what} {name:?}")]
    NotThere { what: &'static str, name: String },
    #[error("entries of the room {room} are written by the program alone")]
    Reserved { room: String },
    #[error("the answer is not one to what was asked")]
    Unexpected,
    /// A name in a path that nothing can have.
    #[error("there is nothing at this path: {field} has to be {why}")]
    NoSuchName { field: String, why: String },
}

/// Characters of a name that somebody sent and that is repeated.
const SHOWN_MAX: usize = 60;

impl ApiError {
    pub(crate) fn unknown(field: &str) -> ApiError {
        ApiError::Unknown { field: shown(field) }
    }

    pub(crate) fn twice(field: &str) -> ApiError {
        ApiError::Twice { field: shown(field) }
    }

    /// The field it is about, where it is about one.
    pub fn field(&self) -> Option<&str> {
        match self {
            ApiError::Unknown { field }
            | ApiError::Missing { field }
            | ApiError::Twice { field }
            | ApiError::Wrong { field, .. }
            | ApiError::NoSuchName { field, .. } => Some(field),
            _ => None,
        }
    }

    /// What the answer's status is.
    pub const fn status(&self) -> u16 {
        match self {
            ApiError::NoSuchPath | ApiError::NotThere { .. } | ApiError::NoSuchName { .. } => 404,
            ApiError::WrongMethod { .. } => 405,
            ApiError::MediaType { .. } => 415,
            ApiError::TooLong { .. } => 413,
            ApiError::Reserved { .. } => 403,
            ApiError::Unexpected => 500,
            ApiError::Unknown { .. }
            | ApiError::Missing { .. }
            | ApiError::Twice { .. }
            | ApiError::Wrong { .. }
            | ApiError::Encoding { .. }
            | ApiError::NotJson { .. }
            | ApiError::NoBodyTaken
            | ApiError::OneOf { .. } => 400,
        }
    }

    pub fn problem(&self) -> Problem {
        const NOTHING: &str = "Nothing was done.";
        const SEE: &str = "See /api/v1/openapi.json for what can be asked, and how.";
        let (number, exit, untouched, hint) = match self {
            ApiError::NoSuchPath => (1, Exit::Usage, NOTHING, SEE),
            ApiError::WrongMethod { .. } => (2, Exit::Usage, NOTHING, SEE),
            ApiError::Unknown { .. } => {
                (3, Exit::Usage, NOTHING, "Leave it out, or check how it is spelled.")
            }
            ApiError::Missing { .. } => (4, Exit::Usage, NOTHING, "Say it, and ask again."),
            ApiError::Twice { .. } => (5, Exit::Usage, NOTHING, "Say it once."),
            ApiError::Wrong { .. } => (6, Exit::Usage, NOTHING, "Mend it, and ask again."),
            ApiError::Encoding { .. } => {
                (7, Exit::Usage, NOTHING, "Encode it as UTF-8, percent-encoded where a URL needs it.")
            }
            ApiError::NotJson { .. } => {
                (8, Exit::Usage, NOTHING, "Send one JSON object in which every name stands once.")
            }
            ApiError::MediaType { .. } => (9, Exit::Usage, NOTHING, "Name it in the header Content-Type."),
            ApiError::TooLong { .. } => (10, Exit::Usage, NOTHING, "Split it."),
            ApiError::NoBodyTaken => (11, Exit::Usage, NOTHING, "Send none."),
            ApiError::OneOf { .. } => {
                (12, Exit::Usage, NOTHING, "Say one of them, and leave the others out.")
            }
            ApiError::NotThere { .. } => (13, Exit::Negative, NOTHING, "List what is there first."),
            ApiError::Reserved { .. } => (14, Exit::Refused, NOTHING, "Log it under a room of your own."),
            ApiError::Unexpected => (
                15,
                Exit::CouldNotCheck,
                "What was asked may have been done.",
                "Look at the daemon's log, and report it.",
            ),
            ApiError::NoSuchName { .. } => (16, Exit::Usage, NOTHING, "List what is there first."),
        };
        let code = ProblemCode { room: "API", number };
        let (untouched, hint) = (untouched.to_owned(), hint.to_owned());
        Problem { code, exit, what: self.to_string(), untouched, hint }
    }

    /// One of each, for `docs/errors.md`.
    pub fn samples() -> Vec<ApiError> {
        let field = || "limit".to_owned();
        vec![
            ApiError::NoSuchPath,
            ApiError::WrongMethod { allowed: vec!["GET", "POST"] },
            ApiError::Unknown { field: "limits".into() },
            ApiError::Missing { field: field() },
            ApiError::Twice { field: field() },
            ApiError::Wrong { field: field(), why: "a whole number from 1 to 500".into() },
            ApiError::Encoding { place: "the path", why: "a % is not followed by two hexadecimal digits" },
            ApiError::NotJson { why: "it ends too early".into() },
            ApiError::MediaType { wanted: "application/json" },
            ApiError::TooLong { most: 65_536 },
            ApiError::NoBodyTaken,
            ApiError::OneOf { of: &["body", "blob"] },
            ApiError::NotThere { what: "target", name: "box-7".into() },
            ApiError::Reserved { room: "steward".into() },
            ApiError::Unexpected,
            ApiError::NoSuchName { field: "target".into(), why: "the name of a target".into() },
        ]
    }
}

fn shown(name: &str) -> String {
    holdfast_types::printable(&name.chars().take(SHOWN_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_own_number_in_order_and_a_status_of_whose_fault_it_is() {
        let samples = ApiError::samples();
        let numbers: Vec<u16> = samples.iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=16).collect::<Vec<u16>>());
        for error in samples {
            let ours = error == ApiError::Unexpected;
            assert_eq!(error.status() >= 500, ours, "{error}");
            assert_eq!(error.problem().code.to_string().parse(), Ok(error.problem().code));
        }
    }

    #[test]
    fn a_name_that_was_sent_is_cut_and_spelled_out() {
        let error = ApiError::unknown(&format!("\u{1b}[2J{}", "x".repeat(500)));
        assert!(error.to_string().len() < 120 && !error.to_string().contains('\u{1b}'), "{error}");
    }
}
