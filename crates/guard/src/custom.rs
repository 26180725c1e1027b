//! Patterns of a user's own, as regular expressions.
//!
//! They are added to what is found, never put in the place of a built-in kind: nobody switches the guard off by naming a
//! pattern `private_key_pem`. The engine behind them takes linear time whatever the expression; its size is bounded. In a text that
//! comes in pieces a match is sure to be found whole if it is no longer than what the stream holds back, four kibibytes.

use std::collections::HashSet;
use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use crate::finding::{Confidence, Finding, Method};
use crate::kind::{Action, Family, Kind};
use crate::rule::RuleError;

const LONGEST_PATTERN: usize = 1000;
const MOST_PATTERNS: usize = 200;
const LARGEST_PROGRAM: usize = 1 << 20;
const LONGEST_REPLACEMENT: usize = 100;

/// A pattern as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomPattern {
    pub name: String,
    pub regex: String,
    /// Literal: `$1` stands for itself.
    pub replacement: Option<String>,
    /// Nothing of a text in which it is found is kept.
    pub block: bool,
    /// Texts it must find something in, tried when the settings are read.
    pub found: Vec<String>,
    /// Texts it must find nothing in.
    pub kept: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct CustomPatterns(Vec<Ready>);

#[derive(Debug)]
struct Ready {
    kind: Kind,
    regex: Regex,
    found: Vec<String>,
    kept: Vec<String>,
}

impl CustomPatterns {
    pub(crate) fn new(
        patterns: &[CustomPattern],
        taken: &mut HashSet<String>,
    ) -> Result<CustomPatterns, RuleError> {
        if patterns.len() > MOST_PATTERNS {
            return Err(RuleError::Rule {
                id: "custom".to_owned(),
                what: "too many patterns of your own; 200 at most",
            });
        }
        patterns.iter().map(|p| ready(p, taken)).collect::<Result<_, _>>().map(CustomPatterns)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.0.iter().map(|p| &p.kind)
    }

    pub(crate) fn find<'g>(&'g self, text: &[u8], within: Range<usize>, out: &mut Vec<Finding<'g>>) {
        for pattern in &self.0 {
            let matches =
                pattern.regex.find_iter(text).filter(|m| !m.is_empty() && within.contains(&m.start()));
            out.extend(matches.map(|m| Finding {
                kind: &pattern.kind,
                span: m.range(),
                confidence: Confidence::percent(95),
                method: Method::Pattern,
                reason: "a pattern of your own settings",
            }));
        }
    }

    pub(crate) fn check_examples(&self) -> Result<(), RuleError> {
        for pattern in &self.0 {
            let id = || pattern.kind.id.clone();
            if let Some(missed) =
                pattern.found.iter().position(|text| !pattern.regex.is_match(text.as_bytes()))
            {
                return Err(RuleError::Missed { id: id(), number: missed + 1 });
            }
            if let Some(taken) = pattern.kept.iter().position(|text| pattern.regex.is_match(text.as_bytes()))
            {
                return Err(RuleError::Taken { id: id(), number: taken + 1 });
            }
        }
        Ok(())
    }
}

fn ready(pattern: &CustomPattern, taken: &mut HashSet<String>) -> Result<Ready, RuleError> {
    let id = pattern.name.clone();
    let refuse = |what| RuleError::Rule { id: id.clone(), what };
    let named_well = !id.is_empty()
        && id.len() <= 60
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !named_well {
        return Err(refuse("a name is lower-case letters, digits and underscores, 60 at most"));
    }
    if !taken.insert(id.clone()) {
        return Err(refuse("the name is taken; patterns are added, never replaced"));
    }
    if pattern.regex.len() > LONGEST_PATTERN {
        return Err(refuse("the expression is longer than 1000 bytes"));
    }
    let regex =
        RegexBuilder::new(&pattern.regex).size_limit(LARGEST_PROGRAM).dfa_size_limit(LARGEST_PROGRAM).build();
    let regex = regex.map_err(|_| refuse("the expression cannot be read, or is too large"))?;
    if regex.is_match(b"") {
        return Err(refuse("the expression matches nothing at all, and so would be found everywhere"));
    }
    let replacement =
        pattern.replacement.clone().unwrap_or_else(|| format!("[REDACTED_{}]", id.to_ascii_uppercase()));
    if replacement.len() > LONGEST_REPLACEMENT || regex.is_match(replacement.as_bytes()) {
        return Err(refuse("the replacement is too long, or is itself found by the expression"));
    }
    let action = if pattern.block { Action::Block } else { Action::Replace };
    let kind =
        Kind { id, what: "a pattern of your own".to_owned(), replacement, family: Family::Secret, action };
    Ok(Ready { kind, regex, found: pattern.found.clone(), kept: pattern.kept.clone() })
}
