//! The first two doors an answer goes through: its fields, then its names and words.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::json;
use crate::policy::TargetRules;
use crate::proposal::{
    ANSWER_LIMITS, Also, CHECK_TIMEOUT_SECONDS_MAX, CHECKS_MAX, Check, Expected, Malformed, NAME_LEN_MAX,
    PROSE_LEN_MAX, Proposal, VALUE_LEN_MAX, WHY_LEN_MAX, about, malformed, shortened,
};
use crate::setting::{Property, UnitName};

/// An answer whose fields are all there and nothing else is; names and values are still text.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    NoAction { why: String },
    Proposal(Box<WrittenProposal>),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenProposal {
    hypothesis: String,
    target_service: String,
    target_option: String,
    old_value: String,
    new_value: String,
    rationale: String,
    verification_checks: Vec<Check>,
    expected_outcome: Expected,
    #[serde(default)]
    exploration: bool,
    also: Option<WrittenAlso>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAlso {
    target_option: String,
    old_value: String,
    new_value: String,
}

const FIELDS: [&str; 8] = [
    "hypothesis",
    "target_service",
    "target_option",
    "old_value",
    "new_value",
    "rationale",
    "verification_checks",
    "expected_outcome",
];
const OPTIONAL_FIELDS: [&str; 2] = ["exploration", "also"];

/// The first door: one JSON object with exactly the fields of an answer, each of its kind and length.
pub fn read_schema(text: &str) -> Result<Written, Malformed> {
    let value = json::read(text, ANSWER_LIMITS).map_err(|error| malformed(error.to_string()))?;
    let Json::Object(fields) = value else { return Err(malformed("the answer is no JSON object")) };
    no_control_characters(&fields)?;
    if fields.contains_key("no_action") {
        return read_no_action(&fields).map(|why| Written::NoAction { why });
    }
    only_known_fields(&fields)?;
    let written: WrittenProposal = serde_json::from_value(Json::Object(fields))
        .map_err(|error| malformed(shortened(&error.to_string())))?;
    written.within_lengths()?;
    Ok(Written::Proposal(Box::new(written)))
}

fn read_no_action(fields: &Map<String, Json>) -> Result<String, Malformed> {
    match (fields.len(), fields.get("no_action")) {
        (1, Some(Json::String(why))) => {
            length("no_action", why, 1, WHY_LEN_MAX)?;
            Ok(why.clone())
        }
        (1, _) => Err(malformed("the field no_action is no text")),
        (_, _) => Err(malformed("an answer is either no_action alone or a proposal")),
    }
}

fn only_known_fields(fields: &Map<String, Json>) -> Result<(), Malformed> {
    let known = |name: &str| FIELDS.contains(&name) || OPTIONAL_FIELDS.contains(&name);
    if let Some(name) = fields.keys().find(|name| !known(name)) {
        return Err(malformed(format!("the field {:?} is unknown", shortened(name))));
    }
    match FIELDS.iter().find(|name| !fields.contains_key(**name)) {
        Some(name) => Err(malformed(format!("the field {name} is missing"))),
        None => Ok(()),
    }
}

/// No text of an answer may drive a terminal, hide from a reader or break a line. The depth is bounded by now.
fn no_control_characters(fields: &Map<String, Json>) -> Result<(), Malformed> {
    fn clean(value: &Json) -> bool {
        match value {
            Json::String(text) => clean_text(text),
            Json::Array(items) => items.iter().all(clean),
            Json::Object(fields) => fields.iter().all(|(key, value)| clean_text(key) && clean(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) => true,
        }
    }
    fn clean_text(text: &str) -> bool {
        !text.chars().any(holdfast_types::drives_a_terminal)
    }
    match fields.iter().find(|(key, value)| !clean_text(key) || !clean(value)) {
        Some((key, _)) => Err(malformed(format!("the field {:?} holds control characters", shortened(key)))),
        None => Ok(()),
    }
}

impl WrittenProposal {
    fn within_lengths(&self) -> Result<(), Malformed> {
        length("hypothesis", &self.hypothesis, 1, PROSE_LEN_MAX)?;
        length("rationale", &self.rationale, 1, PROSE_LEN_MAX)?;
        length("target_service", &self.target_service, 1, NAME_LEN_MAX)?;
        length("expected_outcome.metric", &self.expected_outcome.metric, 1, NAME_LEN_MAX)?;
        for (option, old, new) in self.halves() {
            length("target_option", option, 1, NAME_LEN_MAX)?;
            length("old_value", old, 1, VALUE_LEN_MAX)?;
            length("new_value", new, 1, VALUE_LEN_MAX)?;
        }
        if self.verification_checks.len() > CHECKS_MAX {
            return Err(malformed(format!("there are more than {CHECKS_MAX} verification_checks")));
        }
        self.verification_checks.iter().try_for_each(Check::within_lengths)?;
        // A relative change below -1 is none, and one beyond tenfold is no small change.
        if !(-1.0..=10.0).contains(&self.expected_outcome.relative_change) {
            return Err(malformed("expected_outcome.relative_change lies outside of -1 to 10"));
        }
        Ok(())
    }

    fn halves(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let first = (self.target_option.as_str(), self.old_value.as_str(), self.new_value.as_str());
        let also = self.also.as_ref();
        std::iter::once(first).chain(
            also.map(|also| (also.target_option.as_str(), also.old_value.as_str(), also.new_value.as_str())),
        )
    }

    /// An exploration is asked for, never taken: the answer says it is one exactly when it was asked to be.
    pub fn says_exploration(&self, asked: bool) -> Result<(), Malformed> {
        match (asked, self.exploration) {
            (true, false) => {
                Err(malformed("an exploration was asked for, and the answer does not say it is one"))
            }
            (false, true) => Err(malformed("the answer says it is an exploration, and none was asked for")),
            (true, true) | (false, false) => Ok(()),
        }
    }

    /// A check may only add to those that are always made, and only at places the target's configuration names.
    pub fn check_places(&self, rules: &TargetRules) -> Result<(), Malformed> {
        let foreign = self.verification_checks.iter().find(|check| match check {
            Check::HealthCheck { endpoint, .. } => !rules.endpoints.contains(endpoint),
            Check::SshProbe { host, .. } => !rules.probe_hosts.contains(host),
        });
        match foreign {
            None => Ok(()),
            Some(check) => {
                let reason = "verification_checks names a place that is not in the target's configuration";
                Err(about("verification_checks", check.place(), reason.to_owned()))
            }
        }
    }

    /// The second door: names are names, and a value is one word of one line, so that what is rendered from it holds
    /// one assignment and nothing else.
    pub fn parse(self) -> Result<Proposal, Malformed> {
        for (option, old, new) in self.halves() {
            for value in [old, new] {
                one_plain_word(option, value)?;
            }
        }
        let unit = self.target_service.parse::<UnitName>();
        let target_service = unit.map_err(|error| about(&self.target_service, "", error.to_string()))?;
        let also = match self.also {
            None => None,
            Some(also) => Some(Also {
                target_option: option_name(&also.target_option)?,
                old_value: also.old_value,
                new_value: also.new_value,
            }),
        };
        Ok(Proposal {
            target_option: option_name(&self.target_option)?,
            target_service,
            also,
            hypothesis: self.hypothesis,
            old_value: self.old_value,
            new_value: self.new_value,
            rationale: self.rationale,
            verification_checks: self.verification_checks,
            expected_outcome: self.expected_outcome,
            exploration: self.exploration,
        })
    }
}

impl Check {
    fn within_lengths(&self) -> Result<(), Malformed> {
        let (Check::HealthCheck { timeout_seconds, .. } | Check::SshProbe { timeout_seconds, .. }) = self;
        length("verification_checks", self.place(), 1, NAME_LEN_MAX)?;
        if !(1..=CHECK_TIMEOUT_SECONDS_MAX).contains(timeout_seconds) {
            return Err(malformed(format!(
                "timeout_seconds lies outside of 1 to {CHECK_TIMEOUT_SECONDS_MAX}"
            )));
        }
        Ok(())
    }
}

/// Letters, digits and what numbers need. A `%` is the sign behind a number and never a specifier; there is no
/// blank, line break, backslash, quote, `=` or `;`, so no second assignment can hide in a value.
fn one_plain_word(option: &str, value: &str) -> Result<(), Malformed> {
    let body = value.strip_suffix('%').unwrap_or(value);
    let plain = body.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-._:/".contains(&b));
    if plain && !body.is_empty() {
        return Ok(());
    }
    Err(about(
        option,
        value,
        "a value is one plain word: letters, digits, + - . _ : / and a % at the end".to_owned(),
    ))
}

fn option_name(text: &str) -> Result<Property, Malformed> {
    text.parse().map_err(|error: holdfast_types::NameError| about(text, "", error.to_string()))
}

/// Counted in characters, as people count.
fn length(field: &str, text: &str, min: usize, max: usize) -> Result<(), Malformed> {
    let count = text.chars().count();
    if (min..=max).contains(&count) {
        return Ok(());
    }
    Err(malformed(format!("the field {field} has {count} characters, and takes {min} to {max}")))
}
