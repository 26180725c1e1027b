//! What people read: the messages of commits, the notes beside them, and the page in each target's folder.
//!
//! This is form 1. The names of commits follow from these bytes, so a later form begins with the entries after it and leaves
//! earlier ones as they are.

use holdfast_lifeline::{EpisodeId, Identity, TargetName};
use holdfast_steward::episode::Cleared;
use holdfast_steward::setting::{Change, Setting};
use holdfast_types::{Timestamp, printable};

use crate::applied::Applied;
use crate::object::Oid;

const COLUMNS: usize = 72;
/// Of somebody else's text so much is told.
const TEXT_MAX: usize = 2000;

/// The page at the top of every branch.
pub(crate) const FRONT: &str = "\
# What was applied

Holdfast keeps here what it has set on hosts, above what people wrote. The journal is the truth; this is made from it, and made again
when it is lost or changed.

- `deployed/TARGET` is what is in force on a target, as far as the steward set it. `git log deployed/TARGET` is its story.
- `steward/EPISODE` is a change that is judged, tried, or asked for.
- In each folder of a target there is a folder for each unit and in it a file for each setting.
- Commits are signed; `git log --show-signature` checks them. What came of a change stands in its notes.
";

pub(crate) const ROOT: &str = "What was applied to hosts begins here\n";

/// A commit's message from its parts: a title, paragraphs, and what programs look for at its end.
fn message(title: &str, paragraphs: &[String], trailers: &[(&str, String)]) -> String {
    let mut out = format!("{}\n", printable(title));
    for paragraph in paragraphs.iter().filter(|text| !text.is_empty()) {
        out.push('\n');
        out.push_str(&wrapped(paragraph));
    }
    out.push('\n');
    for (name, value) in trailers {
        out.push_str(&format!("{name}: {}\n", printable(value)));
    }
    out
}

/// In lines, broken between words.
fn wrapped(text: &str) -> String {
    let text = printable(&text.chars().take(TEXT_MAX).collect::<String>());
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > COLUMNS {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// A sentence with a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut rest = text.trim().chars();
    let Some(first) = rest.next() else { return String::new() };
    let whole: String = first.to_uppercase().chain(rest).collect();
    if whole.ends_with(['.', '!', '?']) { whole } else { format!("{whole}.") }
}

/// One change as a title: `web.service: MemoryMax 512M → 768M`.
pub(crate) fn title(changes: &[Change]) -> String {
    let Some(Change { setting: Setting { unit, property }, from, to }) = changes.first() else {
        return "nothing is changed".to_owned();
    };
    let more = match changes.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{unit}: {property} {from} → {to}{more}")
}

pub(crate) struct About<'a> {
    pub(crate) target: &'a TargetName,
    pub(crate) episode: &'a EpisodeId,
    /// The entry of the journal this follows from.
    pub(crate) seq: u64,
}

impl About<'_> {
    fn trailers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Target", self.target.to_string()),
            ("Episode", self.episode.to_string()),
            ("Entry", self.seq.to_string()),
        ]
    }
}

/// A change that passed the gates.
pub(crate) fn candidate(
    about: &About<'_>,
    because: &str,
    reverts: Option<&EpisodeId>,
    cleared: &Cleared,
) -> String {
    let mut paragraphs = vec![sentence(&format!("because {because}")), sentence(&cleared.hypothesis)];
    if let Some(episode) = reverts {
        paragraphs.push(format!("It takes back what {episode} had set."));
    }
    paragraphs.extend(cleared.changes.iter().map(|change| sentence(&change.to_string())));
    message(&title(&cleared.changes), &paragraphs, &about.trailers())
}

/// What was kept on top of something that was not there when it was judged.
pub(crate) fn kept(about: &About<'_>, because: &str, changes: &[Change]) -> String {
    let mut paragraphs = vec![sentence(&format!("because {because}"))];
    paragraphs.extend(changes.iter().map(|change| sentence(&change.to_string())));
    message(&title(changes), &paragraphs, &about.trailers())
}

/// What had been kept is taken back.
pub(crate) fn revert(about: &About<'_>, title: &str, commit: Oid, why: &str) -> String {
    let paragraphs = [
        format!("It had been kept, and was taken back: {why}."),
        format!("This reverts commit {commit}."),
        "The target was seen running, and booting into, what it did before.".to_owned(),
    ];
    message(&format!("Revert \"{title}\""), &paragraphs, &about.trailers())
}

fn of_target(target: &TargetName, seq: u64, identity: Identity) -> Vec<(&'static str, String)> {
    vec![("Target", target.to_string()), ("Identity", identity.to_string()), ("Entry", seq.to_string())]
}

pub(crate) fn began(target: &TargetName, seq: u64, found: Identity) -> String {
    let paragraphs = ["As it was found, nothing of the steward's is on it.".to_owned()];
    message(&format!("{target} is looked after from here on"), &paragraphs, &of_target(target, seq, found))
}

pub(crate) fn drifted(target: &TargetName, seq: u64, expected: Identity, found: Identity) -> String {
    let paragraphs = [format!(
        "Somebody else changed it: {expected:?} was left there, and {found:?} was found. Nothing is tried until a person has looked. \
         What is here is what the steward set last."
    )];
    message(&format!("{target} is not what it was left as"), &paragraphs, &of_target(target, seq, found))
}

pub(crate) fn accepted(target: &TargetName, seq: u64, good: Identity) -> String {
    let paragraphs = ["A person looked at what runs there, and said that it is good.".to_owned()];
    message(&format!("what runs on {target} was accepted"), &paragraphs, &of_target(target, seq, good))
}

/// What came of a commit, a line for each thing.
pub(crate) fn note(lines: &[String]) -> String {
    lines.iter().map(|line| wrapped(line)).collect()
}

/// A setting as its own file has it.
pub(crate) fn setting(setting: &Setting, value: impl std::fmt::Display) -> String {
    format!("{}={value}\n", setting.property)
}

/// The page of a target: what is set, where it came from, and since when.
pub(crate) fn page(target: &TargetName, applied: &Applied) -> String {
    let mut out = format!("# {target}\n\n");
    if applied.is_empty() {
        out.push_str("Nothing of the steward's is on it: it is as people wrote it.\n");
        return out;
    }
    out.push_str("What the steward has set here, above what people wrote.\n\n");
    out.push_str("| unit | setting | people's | now | since | episode |\n|---|---|---|---|---|---|\n");
    for (setting, held) in applied.iter() {
        let Setting { unit, property } = setting;
        let (people, since) = (held.people, day_and_minute(held.since));
        out.push_str(&format!(
            "| {unit} | {property} | {people} | {} | {since} | {} |\n",
            held.value, held.episode
        ));
    }
    out
}

/// `2026-11-16 18:48 UTC`.
pub(crate) fn day_and_minute(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_else_s_text_stays_in_its_paragraph() {
        let about = |text: &str| {
            message("title\nEntry: 1", &[text.to_owned()], &[("Entry", "7".to_owned())])
                .lines()
                .filter(|line| line.starts_with("Entry:"))
                .count()
        };
        assert_eq!(about("one\n\nEntry: 9\n"), 1, "only ours stands at the beginning of a line");
        let long = "word ".repeat(4000);
        let text = message("t", &[long], &[]);
        assert!(
            text.lines().all(|line| line.chars().count() <= COLUMNS) && text.len() < 2200,
            "{}",
            text.len()
        );
        assert!(!message("t", &["\u{1b}[2J".to_owned()], &[]).contains('\u{1b}'));
    }

    #[test]
    fn a_time_is_told_to_the_minute() {
        assert_eq!(day_and_minute(Timestamp::EPOCH), "1970-01-01 00:00 UTC");
    }
}
