//! Changes to the document, made in its lines.

use std::fmt;

use holdfast_types::{Timestamp, drives_a_terminal};

use super::parse::{flag_line, sections};
use super::{Approval, Boundary, EvolutionRule, Flag, Identity, Principle, Section, UpdateError, Version};

/// One change. Text is on one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    AddPrinciple(Principle),
    SetWhy { principle: String, why: String },
    AddExample { principle: String, example: String },
    AddStance(String),
    SetStyle { flag: Flag, on: bool },
    AddBoundary(Boundary),
    RemoveBoundary { action: String },
    AddRule(EvolutionRule),
}

impl Edit {
    pub fn section(&self) -> Section {
        match self {
            Edit::AddPrinciple(_) | Edit::SetWhy { .. } | Edit::AddExample { .. } => Section::CorePrinciples,
            Edit::AddStance(_) => Section::OperationalStance,
            Edit::SetStyle { .. } => Section::InteractionStyle,
            Edit::AddBoundary(_) | Edit::RemoveBoundary { .. } => Section::Boundaries,
            Edit::AddRule(_) => Section::SelfEvolution,
        }
    }
}

/// The most characters of one line of an edit.
const LINE_MAX: usize = 1_000;

/// The text with all edits made, and the sections they touched.
pub(super) fn edited(identity: &Identity, edits: &[Edit]) -> Result<(String, Vec<Section>), UpdateError> {
    let mut lines: Vec<String> = identity.text().split('\n').map(str::to_owned).collect();
    let mut touched: Vec<Section> = Vec::new();
    for edit in edits {
        one(&mut lines, edit)?;
        touched.push(edit.section());
    }
    touched.sort_unstable();
    touched.dedup();
    Ok((lines.join("\n"), touched))
}

fn one(lines: &mut Vec<String>, edit: &Edit) -> Result<(), UpdateError> {
    let section = edit.section();
    match edit {
        Edit::AddPrinciple(Principle { name, why, examples }) => {
            let mut block = vec![heading(name)?, String::new(), labelled("Why", why)?];
            block.extend(
                examples.iter().map(|example| item("Example", example)).collect::<Result<Vec<_>, _>>()?,
            );
            add_part(lines, section, "principle", name, block)
        }
        Edit::SetWhy { principle, why } => {
            let part = part(lines, section, "principle", principle)?;
            let at = part.clone().find(|&at| lines[at].starts_with("Why:"));
            let at = at.ok_or_else(|| not_found("principle", principle))?;
            lines[at] = labelled("Why", why)?;
            Ok(())
        }
        Edit::AddExample { principle, example } => {
            let part = part(lines, section, "principle", principle)?;
            let end = end_of(lines, part);
            lines.insert(end, item("Example", example)?);
            Ok(())
        }
        Edit::AddStance(stance) => {
            let range = range(lines, section)?;
            let end = end_of(lines, range);
            lines.insert(end, format!("- {}", checked("the stance", stance)?));
            Ok(())
        }
        Edit::SetStyle { flag, on } => set_style(lines, *flag, *on),
        Edit::AddBoundary(Boundary { action, reason, exceptions }) => {
            let mut block = vec![heading(action)?, String::new(), labelled("Reason", reason)?];
            block.extend(
                exceptions
                    .iter()
                    .map(|exception| item("Exception", exception))
                    .collect::<Result<Vec<_>, _>>()?,
            );
            add_part(lines, section, "boundary", action, block)
        }
        Edit::RemoveBoundary { action } => {
            let part = part(lines, section, "boundary", action)?;
            lines.drain(part.start - 1..part.end);
            Ok(())
        }
        Edit::AddRule(EvolutionRule { trigger, change, approval }) => {
            let approval = match approval {
                Approval::Auto => "auto",
                Approval::Human => "human",
            };
            let block = vec![
                heading(trigger)?,
                String::new(),
                labelled("Change", change)?,
                format!("Approval: {approval}"),
            ];
            add_part(lines, section, "rule", trigger, block)
        }
    }
}

fn set_style(lines: &mut [String], flag: Flag, on: bool) -> Result<(), UpdateError> {
    let range = range(lines, Section::InteractionStyle)?;
    let is_it = |&at: &usize| flag_line(&lines[at].as_str()).is_some_and(|(name, _)| name == flag.as_str());
    let at = range.clone().find(is_it).ok_or_else(|| not_found("flag", flag.as_str()))?;
    let mark = if on { "- [x] " } else { "- [ ] " };
    lines[at] = format!("{mark}{}", &lines[at]["- [x] ".len()..]);
    Ok(())
}

fn range(lines: &[String], section: Section) -> Result<std::ops::Range<usize>, UpdateError> {
    let views: Vec<&str> = lines.iter().map(String::as_str).collect();
    Ok(sections(&views)?[section as usize].clone())
}

/// The lines below `### name`.
fn part(
    lines: &[String],
    section: Section,
    what: &'static str,
    name: &str,
) -> Result<std::ops::Range<usize>, UpdateError> {
    let range = range(lines, section)?;
    let named = |&at: &usize| lines[at].strip_prefix("### ").is_some_and(|found| found.trim() == name);
    let start = range.clone().find(named).ok_or_else(|| not_found(what, name))? + 1;
    let end = (start..range.end).find(|&at| lines[at].starts_with("### ")).unwrap_or(range.end);
    Ok(start..end)
}

fn add_part(
    lines: &mut Vec<String>,
    section: Section,
    what: &'static str,
    name: &str,
    block: Vec<String>,
) -> Result<(), UpdateError> {
    if part(lines, section, what, name).is_ok() {
        return Err(UpdateError::Exists { what, name: name.chars().take(80).collect() });
    }
    let range = range(lines, section)?;
    let end = end_of(lines, range);
    lines.splice(end..end, [String::new()].into_iter().chain(block));
    Ok(())
}

/// After the last line of it that is not blank.
fn end_of(lines: &[String], range: std::ops::Range<usize>) -> usize {
    range.clone().rev().find(|&at| !lines[at].trim().is_empty()).map_or(range.start, |at| at + 1)
}

fn heading(name: &str) -> Result<String, UpdateError> {
    Ok(format!("### {}", checked("the name", name)?))
}

fn labelled(label: &str, text: &str) -> Result<String, UpdateError> {
    Ok(format!("{label}: {}", checked("the text", text)?))
}

fn item(label: &str, text: &str) -> Result<String, UpdateError> {
    Ok(format!("- {label}: {}", checked("the text", text)?))
}

fn checked<'a>(what: &'static str, text: &'a str) -> Result<&'a str, UpdateError> {
    let bad = text.trim() != text
        || text.is_empty()
        || text.chars().count() > LINE_MAX
        || text.chars().any(drives_a_terminal);
    if bad { Err(UpdateError::BadText { what }) } else { Ok(text) }
}

fn not_found(what: &'static str, name: &str) -> UpdateError {
    UpdateError::NotFound { what, name: name.chars().take(80).collect() }
}

/// The text with its version and time at the head set anew.
pub(super) fn stamped(text: &str, version: Version, now: Timestamp) -> String {
    let mut seen = (false, false);
    let line = |line: &str| {
        if line.starts_with("Version:") && !std::mem::replace(&mut seen.0, true) {
            format!("Version: {version}")
        } else if line.starts_with("Last modified:") && !std::mem::replace(&mut seen.1, true) {
            format!("Last modified: {now}")
        } else {
            line.to_owned()
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Lines that went and lines that came, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    changes: Vec<(char, String)>,
}

impl Diff {
    /// A shortest set of changes. Documents are bounded, so the table is too.
    pub fn between(old: &str, new: &str) -> Diff {
        let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
        let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
        Diff { changes: changes(&a[head..a.len() - tail], &b[head..b.len() - tail]) }
    }

    pub fn len(&self) -> usize {
        self.changes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// By the longest common run of lines.
fn changes(a: &[&str], b: &[&str]) -> Vec<(char, String)> {
    let width = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let here = i * width + j;
            common[here] = if a[i] == b[j] {
                common[here + width + 1] + 1
            } else {
                common[here + width].max(common[here + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            out.push(('-', a[i].to_owned()));
            i += 1;
        } else {
            out.push(('+', b[j].to_owned()));
            j += 1;
        }
    }
    out
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (sign, line)) in self.changes.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{sign}{line}")?;
        }
        Ok(())
    }
}
