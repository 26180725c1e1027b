//! Reads the document line by line. What is not understood is left alone.

use holdfast_types::Timestamp;

use super::{
    Approval, BYTES_MAX, Boundary, EvolutionRule, Flag, Identity, IdentityError, Principle, Section, Style,
    Version,
};

pub(super) fn identity(text: &str) -> Result<Identity, IdentityError> {
    if text.len() > BYTES_MAX {
        return Err(IdentityError::TooLarge { bytes: text.len() });
    }
    let lines: Vec<&str> = text.lines().collect();
    let ranges = sections(&lines)?;
    let of = |section: Section| &lines[ranges[section as usize].clone()];
    let head = &lines[..ranges.iter().map(|range| range.start).min().unwrap_or(0)];
    Ok(Identity {
        text: text.to_owned(),
        principles: parts(of(Section::CorePrinciples)).map(principle).collect::<Result<_, _>>()?,
        operational_stance: items(of(Section::OperationalStance)).map(str::to_owned).collect(),
        interaction_style: style(of(Section::InteractionStyle))?,
        boundaries: parts(of(Section::Boundaries)).map(boundary).collect::<Result<_, _>>()?,
        evolution_rules: parts(of(Section::SelfEvolution)).map(rule).collect::<Result<_, _>>()?,
        last_modified: last_modified(head)?,
        version: version(head)?,
    })
}

/// The lines of each section, without its heading.
pub(super) fn sections(lines: &[&str]) -> Result<Vec<std::ops::Range<usize>>, IdentityError> {
    let headings: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("## ")).collect();
    let range = |section: Section| {
        let is_it = |at: &&usize| lines[**at][3..].trim() == section.title();
        let mut found = headings.iter().filter(is_it);
        let at = *found.next().ok_or(IdentityError::MissingSection(section))?;
        if found.next().is_some() {
            return Err(IdentityError::DoubledSection(section));
        }
        let end = headings.iter().copied().find(|&other| other > at).unwrap_or(lines.len());
        Ok(at + 1..end)
    };
    Section::ALL.into_iter().map(range).collect()
}

/// Each `### name` with the lines below it.
pub(super) fn parts<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a [&'a str])> {
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("### ")).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]).collect::<Vec<_>>();
    starts.into_iter().zip(ends).map(|(start, end)| (lines[start][4..].trim(), &lines[start + 1..end]))
}

fn items<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    lines.iter().filter_map(|line| line.strip_prefix("- ")).map(str::trim)
}

fn field<'a>(lines: &'a [&'a str], name: &str) -> Option<&'a str> {
    let value = |line: &&'a str| line.strip_prefix(name)?.strip_prefix(':').map(str::trim);
    lines.iter().find_map(value).filter(|value| !value.is_empty())
}

fn listed(lines: &[&str], name: &str) -> Vec<String> {
    let value = |item: &str| item.strip_prefix(name)?.strip_prefix(':').map(|rest| rest.trim().to_owned());
    items(lines).filter_map(value).collect()
}

fn needed(
    what: &'static str,
    name: &str,
    lines: &[&str],
    field: &'static str,
) -> Result<String, IdentityError> {
    let missing = || IdentityError::Missing { what, name: short(name), field };
    self::field(lines, field).map(str::to_owned).ok_or_else(missing)
}

fn principle((name, lines): (&str, &[&str])) -> Result<Principle, IdentityError> {
    let why = needed("the principle", name, lines, "Why")?;
    Ok(Principle { name: name.to_owned(), why, examples: listed(lines, "Example") })
}

fn boundary((action, lines): (&str, &[&str])) -> Result<Boundary, IdentityError> {
    let reason = needed("the boundary", action, lines, "Reason")?;
    Ok(Boundary { action: action.to_owned(), reason, exceptions: listed(lines, "Exception") })
}

fn rule((trigger, lines): (&str, &[&str])) -> Result<EvolutionRule, IdentityError> {
    let change = needed("the rule", trigger, lines, "Change")?;
    let approval = match needed("the rule", trigger, lines, "Approval")?.as_str() {
        "auto" => Approval::Auto,
        "human" => Approval::Human,
        other => return Err(IdentityError::UnknownApproval { name: short(trigger), approval: short(other) }),
    };
    Ok(EvolutionRule { trigger: trigger.to_owned(), change, approval })
}

fn style(lines: &[&str]) -> Result<Style, IdentityError> {
    let is_set = |flag: Flag| {
        let marked =
            |line: &&str| flag_line(line).filter(|(name, _)| *name == flag.as_str()).map(|(_, set)| set);
        lines.iter().find_map(marked).ok_or(IdentityError::MissingFlag(flag))
    };
    Ok(Style {
        concise: is_set(Flag::Concise)?,
        opinionated: is_set(Flag::Opinionated)?,
        resourceful: is_set(Flag::Resourceful)?,
        procedural: is_set(Flag::Procedural)?,
        transparent: is_set(Flag::Transparent)?,
    })
}

/// `- [x] concise: …`
pub(super) fn flag_line<'a>(line: &&'a str) -> Option<(&'a str, bool)> {
    let rest = line.strip_prefix("- [")?;
    let (mark, rest) = rest.split_once("] ")?;
    let set = match mark {
        "x" | "X" => true,
        " " => false,
        _ => return None,
    };
    Some((rest.split([':', ' ']).next()?, set))
}

fn version(head: &[&str]) -> Result<Version, IdentityError> {
    let parsed = field(head, "Version").and_then(|text| {
        let mut numbers = text.split('.').map(|part| part.parse::<u32>().ok());
        let version = Version { major: numbers.next()??, minor: numbers.next()??, patch: numbers.next()?? };
        (numbers.next().is_none() && version.to_string() == text).then_some(version)
    });
    parsed.ok_or(IdentityError::Field { field: "Version" })
}

fn last_modified(head: &[&str]) -> Result<Timestamp, IdentityError> {
    let parsed = field(head, "Last modified").and_then(|text| text.parse().ok());
    parsed.ok_or(IdentityError::Field { field: "Last modified" })
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
