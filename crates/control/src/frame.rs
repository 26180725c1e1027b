//! The lines that cross the socket: JSON objects, one a line, each of bounded length.

use holdfast_types::Problem;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::request::Request;

/// Raised when a line changes its meaning. Both sides must speak the same.
pub const PROTOCOL: u32 = 1;

/// Longest question: the largest sealed text in base64, and its envelope.
pub(crate) const QUESTION_MAX: usize = 24 * 1024 * 1024;

/// Longest line of an answer.
pub(crate) const REPLY_MAX: usize = 4 * 1024 * 1024;

/// The first line, from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program.
    pub holdfast: String,
    pub protocol: u32,
    pub pid: u32,
}

/// The second line, from the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) protocol: u32,
    pub(crate) request: Request,
}

/// Every line after that, from the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Step(Step),
    Answer(Answer),
    Problem(Problem),
}

/// How far long work is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub what: String,
    pub done: u64,
    /// Absent when nobody knows how much there is.
    pub of: Option<u64>,
    /// What is counted: entries, pages.
    pub unit: String,
}

impl Step {
    /// Nothing to count, but still at work.
    pub(crate) fn still_at(what: &str) -> Step {
        Step { what: what.to_owned(), done: 0, of: None, unit: String::new() }
    }
}

/// One line with its newline.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    // Every type here has string keys and no failing parts; were one added, the peer would see an empty line
    // and say that it is none of ours.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
