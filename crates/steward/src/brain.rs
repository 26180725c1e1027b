//! The brain seen from outside: how a run of it ended, and the one that is built in.
//!
//! [`classify`] tells apart what a caller treats differently: a credential that is refused, a quota to wait for, a
//! network that is away, a run that took too long, an answer that is none. It goes by exit status and by fields a
//! brain reports in its structured output. Ordinary text is not looked at: a proposal may well say "expired".
//!
//! [`propose`] is the brain without a model: rules in a fixed order, the same answer to the same view.

mod diagnosis;
mod history;
mod intent;
mod rules;
mod view;

use serde::{Deserialize, Serialize};

pub use diagnosis::Diagnosis;
pub use history::{Facts, Growth, History, Life, Seen};
pub use intent::{Intent, Thought};
pub use rules::{consider, propose};
pub use view::{Bounds, Earlier, Experience, HostView, Neighbour, People, UnitView, View};

/// A longer answer is no proposal.
pub const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// How a run of the brain ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrainEnd {
    /// None when it was killed, never started, or is no process of ours.
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    /// Whether its deadline passed and we ended it.
    pub timed_out: bool,
    /// Whether the other side could be reached at all; none when nobody tried to tell.
    pub connected: Option<bool>,
    /// The status its API answered with, from structured output or from the response itself.
    pub http_status: Option<u16>,
    /// The kind of error its structured output names.
    pub error_type: Option<String>,
    /// The length of what it answered.
    pub stdout_len: u64,
}

/// Why a run of the brain gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The credential is refused: nothing runs until there is a new one.
    Auth,
    /// The allowance is used up: wait, nothing is wrong.
    Quota,
    /// The other side is not to be reached, or not in order.
    Network,
    Timeout,
    /// It ended without something that could be a proposal.
    InvalidOutput,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Failure::Auth => "its credential was refused",
            Failure::Quota => "its allowance is used up",
            Failure::Network => "it could not be reached",
            Failure::Timeout => "it took too long",
            Failure::InvalidOutput => "its answer was none",
        })
    }
}

impl Failure {
    /// Whether it says something about the planning, and counts toward the limit of failing plans. Credentials,
    /// quotas and networks say nothing about it.
    pub fn counts_as_failed_plan(self) -> bool {
        match self {
            Failure::Timeout | Failure::InvalidOutput => true,
            Failure::Auth | Failure::Quota | Failure::Network => false,
        }
    }

    /// Whether the same run may succeed later without anybody doing anything.
    pub fn passes_by_waiting(self) -> bool {
        match self {
            Failure::Quota | Failure::Network | Failure::Timeout => true,
            Failure::Auth | Failure::InvalidOutput => false,
        }
    }
}

/// Error kinds brains name, matched whole. The families of the `anthropic` and `openai` interfaces and of their
/// command lines; a kind that is not here decides nothing.
const ERROR_TYPES: [(&str, Failure); 27] = [
    ("authentication_error", Failure::Auth),
    ("permission_error", Failure::Auth),
    ("invalid_api_key", Failure::Auth),
    ("invalid_token", Failure::Auth),
    ("token_expired", Failure::Auth),
    ("unauthorized", Failure::Auth),
    ("rate_limit_error", Failure::Quota),
    ("rate_limit_exceeded", Failure::Quota),
    ("insufficient_quota", Failure::Quota),
    ("usage_limit_reached", Failure::Quota),
    ("billing_error", Failure::Quota),
    ("overloaded_error", Failure::Network),
    ("api_error", Failure::Network),
    ("server_error", Failure::Network),
    ("service_unavailable", Failure::Network),
    ("connection_error", Failure::Network),
    ("dns_error", Failure::Network),
    ("tls_error", Failure::Network),
    ("timeout_error", Failure::Timeout),
    ("request_timeout", Failure::Timeout),
    ("error_max_turns", Failure::InvalidOutput),
    ("error_during_execution", Failure::InvalidOutput),
    ("invalid_request_error", Failure::InvalidOutput),
    ("not_found_error", Failure::InvalidOutput),
    ("request_too_large", Failure::InvalidOutput),
    ("context_length_exceeded", Failure::InvalidOutput),
    ("content_filter", Failure::InvalidOutput),
];

/// Whether a run gave something to be read as a proposal, or the class of its failure.
///
/// The surest witness is heard first: a status that means one thing, then the kind of error named, then the deadline,
/// then the rest. A brain that keeps trying with a refused credential until its deadline is refused, not slow.
pub fn classify(end: &BrainEnd) -> Result<(), Failure> {
    let named = end.error_type.as_deref();
    let by_name =
        named.and_then(|name| ERROR_TYPES.iter().find(|(known, _)| *known == name)).map(|(_, class)| *class);
    let by_status = end.http_status.and_then(of_status);
    match by_status.or(by_name) {
        Some(failure) => return Err(failure),
        None if end.timed_out => return Err(Failure::Timeout),
        None if end.connected == Some(false) => return Err(Failure::Network),
        None => {}
    }
    let fine = |status: u16| (200..300).contains(&status);
    let ended_well = match (end.exit, end.http_status) {
        (Some(code), status) => code == 0 && status.is_none_or(fine),
        // Without a process of ours the response is all there is.
        (None, status) => status.is_some_and(fine),
    };
    let answered = ended_well && end.signal.is_none() && named.is_none();
    if answered && (1..=ANSWER_BYTES_MAX).contains(&end.stdout_len) {
        Ok(())
    } else {
        Err(Failure::InvalidOutput)
    }
}

/// What a status alone says. Those it says nothing by are left to the kind of error.
fn of_status(status: u16) -> Option<Failure> {
    match status {
        401 | 403 | 407 => Some(Failure::Auth),
        402 | 429 => Some(Failure::Quota),
        408 => Some(Failure::Timeout),
        500..=599 => Some(Failure::Network),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
