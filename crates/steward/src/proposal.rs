//! What a brain answered: untrusted text, read strictly into one proposal or the word that nothing is to be done.
//!
//! Three doors, one behind the other, because each is a gate of its own: [`read_schema`] (the fields, and nothing but
//! the fields), [`WrittenProposal::parse`] (names, and values that fit on one line of a drop-in), [`Proposal::check_types`]
//! (values in the grammar of their option). [`parse`] goes through all three.
//!
//! There is no path, file name or id in a proposal: the steward issues ids and renders the overlay itself.

mod written;

use serde::{Deserialize, Serialize};

use crate::constitution::Direction;
use crate::json::Limits;
use crate::policy;
use crate::setting::{Change, Property, Setting, UnitName, Value};

pub use written::{Written, WrittenProposal, read_schema};

pub const ANSWER_LIMITS: Limits = Limits { bytes_max: 64 << 10, depth_max: 4 };
/// `hypothesis` and `rationale`: a page, not a book.
pub const PROSE_LEN_MAX: usize = 2_000;
pub const WHY_LEN_MAX: usize = 500;
pub const NAME_LEN_MAX: usize = 128;
pub const VALUE_LEN_MAX: usize = 32;
pub const CHECKS_MAX: usize = 8;
/// A check that takes longer than this would hold up a whole verification window.
pub const CHECK_TIMEOUT_SECONDS_MAX: u32 = 300;

/// What a brain may answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    NoAction { why: String },
    Proposal(Box<Proposal>),
}

/// One change of one option, or of a coupled pair, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub hypothesis: String,
    pub target_service: UnitName,
    pub target_option: Property,
    pub old_value: String,
    pub new_value: String,
    pub rationale: String,
    pub verification_checks: Vec<Check>,
    pub expected_outcome: Expected,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exploration: bool,
    /// The second half of a coupled pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Also>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Also {
    pub target_option: Property,
    pub old_value: String,
    pub new_value: String,
}

/// A check to be made in addition to those that are always made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    HealthCheck {
        /// The second name is that of an earlier design.
        #[serde(alias = "gatus_endpoint")]
        endpoint: String,
        timeout_seconds: u32,
    },
    SshProbe {
        host: String,
        timeout_seconds: u32,
    },
}

/// What the change is expected to do to a metric; checked inside the verification window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub metric: String,
    pub direction: Direction,
    pub relative_change: f64,
}

/// Why an answer is none. `option` and `value` say what it is about, where that is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Malformed {
    pub option: Option<String>,
    pub value: Option<String>,
    pub reason: String,
}

/// All three doors at once.
pub fn parse(text: &str) -> Result<Answer, Malformed> {
    match read_schema(text)? {
        Written::NoAction { why } => Ok(Answer::NoAction { why }),
        Written::Proposal(written) => {
            let proposal = written.parse()?;
            proposal.check_types()?;
            Ok(Answer::Proposal(Box::new(proposal)))
        }
    }
}

impl Proposal {
    /// The third door: each value is written in the grammar of its option. An option whose values nobody reads here
    /// passes, because the policy says what it is, and nothing of it is ever applied.
    pub fn check_types(&self) -> Result<(), Malformed> {
        for (option, old, new) in self.halves() {
            for text in [old, new] {
                if let Some(Err(error)) = policy::read_value(option, text) {
                    return Err(about(option.as_str(), text, error.to_string()));
                }
            }
        }
        Ok(())
    }

    /// What is to be changed: one, or a coupled pair. Empty when a value cannot be read, which no cleared one has.
    pub fn changes(&self) -> Vec<Change> {
        let read = |option: &Property, text: &str| policy::read_value(option, text).and_then(Result::ok);
        let change = |(option, old, new): (&Property, &str, &str)| {
            let (from, to): (Value, Value) = (read(option, old)?, read(option, new)?);
            Some(Change { setting: self.setting(option), from, to })
        };
        self.halves().map(change).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Option, old and new value as written, for each half.
    pub fn halves(&self) -> impl Iterator<Item = (&Property, &str, &str)> {
        let first = (&self.target_option, self.old_value.as_str(), self.new_value.as_str());
        let also = self.also.as_ref();
        std::iter::once(first)
            .chain(also.map(|also| (&also.target_option, also.old_value.as_str(), also.new_value.as_str())))
    }

    pub fn setting(&self, option: &Property) -> Setting {
        Setting { unit: self.target_service.clone(), property: option.clone() }
    }
}

impl Check {
    pub fn place(&self) -> &str {
        match self {
            Check::HealthCheck { endpoint, .. } => endpoint,
            Check::SshProbe { host, .. } => host,
        }
    }
}

fn malformed(reason: impl Into<String>) -> Malformed {
    Malformed { option: None, value: None, reason: reason.into() }
}

fn about(option: &str, value: &str, reason: String) -> Malformed {
    let shown = |text: &str| (!text.is_empty()).then(|| shortened(text));
    Malformed { option: shown(option), value: shown(value), reason: shortened(&reason) }
}

/// Foreign text in a reason is short and safe to show.
fn shortened(text: &str) -> String {
    holdfast_types::printable(&text.chars().take(300).collect::<String>())
}
