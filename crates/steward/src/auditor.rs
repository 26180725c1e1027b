//! The auditor: reads what would really be written — paths and text — and refuses early what the table forbids.
//!
//! It is an extra. What may be changed is an allow-list over evaluated configurations ([`crate::policy::judge`]); no
//! pattern can see through a nested set, a forced priority or a variable, and none has to. Paths are held against
//! paths and options against options: a comment that mentions a key file is a comment.
//!
//! Everything that belongs to the steward itself is stratum 0: only people change it, the steward may draft.

use serde::{Deserialize, Serialize};

use crate::com::Com;
use crate::policy::{self, Rule, Verdict, coupled};
use crate::setting::{Change, Property, Setting, UnitName};

/// More than any overlay the steward renders.
pub const RENDERED_LEN_MAX: usize = 64 << 10;
pub const FINDINGS_MAX: usize = 16;

/// How the rendered text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// Sections and `Key=value` lines of a unit.
    DropIn,
    /// An attribute set of a configured system.
    Module,
}

/// The strictest verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub subject: String,
    pub verdict: Verdict,
    /// It belongs to the steward itself.
    pub own: bool,
    pub why: String,
}

impl Audit {
    fn nothing_found() -> Audit {
        Audit { verdict: Verdict::Autonomous, findings: Vec::new() }
    }

    fn add(&mut self, subject: &str, rule: &Rule) {
        self.note(subject, rule.effective_tier().verdict(), rule.own, rule.why);
    }

    fn note(&mut self, subject: &str, verdict: Verdict, own: bool, why: &str) {
        self.verdict = self.verdict.max(verdict);
        if verdict > Verdict::Autonomous && self.findings.len() < FINDINGS_MAX {
            let subject = holdfast_types::printable(&subject.chars().take(200).collect::<String>());
            self.findings.push(Finding { subject, verdict, own, why: why.to_owned() });
        }
    }
}

/// Audits what a driver would write: the paths it would touch and the text it would put there. What no row names is
/// not found here; it is the policy gate that lets nothing unknown pass.
pub fn audit(paths: &[&str], rendered: &str, syntax: Syntax, workload: &UnitName) -> Audit {
    let mut audit = Audit::nothing_found();
    for path in paths {
        if let Some(rule) = policy::listed_path(path) {
            audit.add(path, rule);
        }
    }
    if rendered.len() > RENDERED_LEN_MAX {
        audit.note("the rendered text", Verdict::Blocked, false, "it is too long to be an overlay");
        return audit;
    }
    if !quotes_are_plain(rendered) {
        audit.note("the rendered text", Verdict::Blocked, false, "its quotes cannot be read plainly");
    }
    for assignment in assignments(&without_comments(rendered, syntax)) {
        if let Some(rule) = policy::listed_option(&assignment.option, assignment.value, workload) {
            audit.add(&assignment.option, rule);
        }
    }
    audit
}

/// Audits the typed difference: the same table on unit and property names.
pub fn audit_changes(changes: &[Change], workload: &UnitName) -> Audit {
    let mut audit = Audit::nothing_found();
    for change in changes {
        let (option, value) = (change.setting.property.as_str(), change.to.to_string());
        audit.add(option, policy::option_rule(option, &value, workload));
        if let Some(rule) = policy::listed_unit(&change.setting.unit) {
            audit.add(change.setting.unit.as_str(), rule);
        }
    }
    audit
}

/// Checks an overlay module against the configuration it would be added to: it sets one option of one unit or a
/// coupled pair, and says its priority where the option already has a value, because two plain definitions conflict.
pub fn lint_overlay(rendered: &str, before: &Com) -> Result<Vec<Setting>, Vec<String>> {
    let text = without_comments(rendered, Syntax::Module);
    let mut settings = Vec::new();
    let mut problems = Vec::new();
    if !quotes_are_plain(rendered) {
        problems.push("the quotes of the overlay cannot be read plainly".to_owned());
    }
    for assignment in assignments(&text) {
        match unit_setting(&assignment.option) {
            None => problems.push(format!("{} is no setting of a unit", assignment.option)),
            Some(setting) => {
                let defined = before.value(&setting) != crate::setting::Value::Unset;
                if defined
                    && !assignment.value.contains("mkForce")
                    && !assignment.value.contains("mkOverride")
                {
                    problems.push(format!("{setting} is already defined, and the overlay gives no priority"));
                }
                settings.push(setting);
            }
        }
    }
    match settings.as_slice() {
        [_] => {}
        [one, other] if one.unit == other.unit && coupled(&one.property, &other.property) => {}
        several => {
            problems.push(format!("the overlay sets {} options, and one may be set or a pair", several.len()))
        }
    }
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

/// `systemd.services.<unit>.serviceConfig.<property>` as a setting.
fn unit_setting(option: &str) -> Option<Setting> {
    let (unit, property) = option.strip_prefix("systemd.services.")?.split_once(".serviceConfig.")?;
    let property: Property = property.parse().ok()?;
    Some(Setting { unit: format!("{unit}.service").parse().ok()?, property })
}

struct Assignment<'a> {
    option: String,
    value: &'a str,
}

/// Everything that looks like `option = value`, in a drop-in as in a module. Quotes around parts of a name are
/// dropped: they do not change what it names.
fn assignments(text: &str) -> impl Iterator<Item = Assignment<'_>> {
    text.match_indices('=').filter_map(|(at, _)| {
        let (left, right) = (&text[..at], &text[at + 1..]);
        if left.ends_with(['=', '!', '<', '>']) || right.starts_with('=') {
            return None;
        }
        let name = left.trim_end();
        let start = name.rfind(|c: char| c.is_whitespace() || "{}();=,".contains(c)).map_or(0, |i| i + 1);
        let option: String = name[start..].chars().filter(|c| *c != '"').collect();
        let value = right.trim_start();
        let end = value.find([';', '\n', '}']).unwrap_or(value.len());
        (!option.is_empty()).then(|| Assignment { option, value: value[..end].trim_end() })
    })
}

/// The text without what is only said in passing. Each syntax has its own comments: taking one's for the other's
/// would hide a line that counts.
fn without_comments(text: &str, syntax: Syntax) -> String {
    match syntax {
        Syntax::DropIn => text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])).fold(
            String::with_capacity(text.len()),
            |mut kept, line| {
                kept.extend([line, "\n"]);
                kept
            },
        ),
        Syntax::Module => module_without_comments(text),
    }
}

/// A mark of a comment inside of a quoted text is part of that text.
fn module_without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        match comment_len(rest).filter(|_| !quoted) {
            Some(len) => {
                out.push(' ');
                rest = &rest[len..];
            }
            None => {
                quoted ^= c == '"';
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// How long the comment is that begins here, if one does.
fn comment_len(rest: &str) -> Option<usize> {
    if rest.starts_with('#') {
        Some(rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        Some(rest.find("*/").map_or(rest.len(), |end| end + 2))
    } else {
        None
    }
}

/// Whether quotes can be told apart without an evaluator: nothing escaped, no second kind of quote. What the steward
/// renders never has either.
fn quotes_are_plain(text: &str) -> bool {
    !text.contains('\\') && !text.contains("''")
}
