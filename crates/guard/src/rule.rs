//! Rules for tokens that have a form of their own, as data.
//!
//! A rule file is TOML, a table a rule:
//!
//! ```toml
//! [[rule]]
//! id = "digitalocean_personal_token"        # lower case, digits, underscores; unique
//! what = "DigitalOcean personal access token"
//! shape = "dop_v1_[a-f0-9]{64}"              # see `shape`; matched on whole tokens
//! near = []                                  # words, one of which must stand shortly before a shape that says too little
//! replace = "[REDACTED_TOKEN]"               # optional
//! confidence = 97                            # optional, percent
//! found = ["dop_v1_<hex:64>"]                # at least one; see `example`
//! kept = ["dop_v1_<hex:63>"]                 # at least one
//! ```
//!
//! A shape begins with a literal of two bytes or more, or with a class counted eight times or more (after one literal
//! byte at most), or the rule names words that must be `near`. Nothing is believed
//! unread: a rule whose examples do not come out as it says is refused when the rules are loaded.

use std::collections::HashSet;

use crate::example::{self, ExampleError};
use crate::kind::{Action, Family, Kind};
use crate::shape::{Shape, ShapeError};

/// A rule as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    id: &'static str,
    what: &'static str,
    shape: &'static str,
    near: &'static [&'static str],
    replace: Option<&'static str>,
    confidence: Option<u8>,
    block: bool,
    found: &'static [&'static str],
    kept: &'static [&'static str],
}

/// The rules that come with the program; the build makes the list of the files in `rules/`.
const WRITTEN: &[Written] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// A rule that can be matched.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    pub(crate) near: &'static [&'static str],
    pub(crate) confidence: u8,
    written: &'static Written,
}

/// Why a rule was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("rule {id}: {source}")]
    Shape { id: String, source: ShapeError },
    #[error("rule {id}: {source}")]
    Example { id: String, source: ExampleError },
    #[error("rule {id}: {what}")]
    Rule { id: String, what: &'static str },
    #[error("rule {id}: example {number} of what it must find is not found by it")]
    Missed { id: String, number: usize },
    #[error("rule {id}: example {number} of what it must keep is found by it")]
    Taken { id: String, number: usize },
}

const DEFAULT_REPLACEMENT: &str = "[REDACTED_TOKEN]";

/// Reads the rules that come with the program. Their examples are tried later, by the engine they become part of.
pub(crate) fn read(taken: &mut HashSet<String>) -> Result<Vec<Rule>, RuleError> {
    WRITTEN.iter().map(|rule| understood(rule, taken)).collect()
}

fn understood(rule: &'static Written, taken: &mut HashSet<String>) -> Result<Rule, RuleError> {
    let refuse = |what| RuleError::Rule { id: rule.id.to_owned(), what };
    let named_well = rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if rule.id.is_empty() || rule.id.len() > 60 || !named_well {
        return Err(refuse("an id is lower-case letters, digits and underscores, 60 at most"));
    }
    if !taken.insert(rule.id.to_owned()) {
        return Err(refuse("the id is taken; rules are added, never replaced"));
    }
    if rule.found.is_empty() || rule.kept.is_empty() {
        return Err(refuse("a rule needs an example of what it finds and one of what it keeps"));
    }
    let shape =
        Shape::parse(rule.shape).map_err(|source| RuleError::Shape { id: rule.id.to_owned(), source })?;
    if rule.near.is_empty() && shape.branches().iter().any(|b| b.prefix().len() < 2 && !b.begins_long()) {
        return Err(refuse(
            "a shape that begins with neither two literal bytes nor a long class needs words that stand near",
        ));
    }
    if rule.near.iter().any(|word| word.len() < 3 || word.bytes().any(|b| b.is_ascii_uppercase())) {
        return Err(refuse("words that stand near are lower case, three bytes or more"));
    }
    if shape.shortest() < 8 {
        return Err(refuse("a token has eight bytes or more"));
    }
    let action = if rule.block { Action::Block } else { Action::Replace };
    let replacement = rule.replace.unwrap_or(DEFAULT_REPLACEMENT).to_owned();
    let kind = Kind {
        id: rule.id.to_owned(),
        what: rule.what.to_owned(),
        replacement,
        family: Family::Secret,
        action,
    };
    let confidence = rule.confidence.unwrap_or(if rule.near.is_empty() { 97 } else { 85 }).min(100);
    Ok(Rule { kind, shape, near: rule.near, confidence, written: rule })
}

impl Rule {
    /// The examples of what it must find, written out.
    pub(crate) fn found(&self) -> Result<Vec<String>, RuleError> {
        self.examples(self.written.found)
    }

    /// The examples of what it must keep, written out.
    pub(crate) fn kept(&self) -> Result<Vec<String>, RuleError> {
        self.examples(self.written.kept)
    }

    fn examples(&self, examples: &[&str]) -> Result<Vec<String>, RuleError> {
        let written = examples.iter().map(|e| example::written_out(e));
        written
            .collect::<Result<_, _>>()
            .map_err(|source| RuleError::Example { id: self.kind.id.clone(), source })
    }
}
