//! The experience library: fixes, patterns and decisions, mined from the history of a repository and matched before a brain is asked.
//!
//! The caller runs git and hands in [`Commit`]s; [`mine`] says what is to be learnt from them. [`Library::matched`] answers an
//! error text or a situation with the experiences that fit, each with a score and why.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_types::printable;
use serde::Serialize;

use crate::record::{ExperienceRecord, Shelf};
use crate::text::{Content, LABEL_MAX, Label};
use crate::words::{is_specific, words};

/// A change as it stands in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub title: String,
    pub body: String,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experience {
    pub record: ExperienceRecord,
    pub content: Content,
}

/// A pattern is what was done this often.
const PATTERN_MIN: u32 = 3;
const FILES_MAX: usize = 8;
/// Error lines kept of one commit, and characters of each.
const ERRORS_MAX: usize = 8;
const LINE_MAX: usize = 300;

/// What is to be learnt from the history, each thing once, in the order of its signature.
pub fn mine(commits: &[Commit]) -> Vec<Experience> {
    let mut found: BTreeMap<(Shelf, String), Experience> = BTreeMap::new();
    let mut places: BTreeMap<String, Vec<&Commit>> = BTreeMap::new();
    for commit in commits {
        let Some(shelf) = shelf_of(commit) else { continue };
        if shelf == Shelf::Fix
            && let Some(place) = commit.files.first()
        {
            places.entry(place.clone()).or_default().push(commit);
        }
        if let Some(experience) = experience(shelf, commit) {
            let key = (shelf, experience.record.signature.as_str().to_owned());
            found.entry(key).and_modify(|held| held.record.seen += 1).or_insert(experience);
        }
    }
    let patterns = places.into_iter().filter(|(_, fixes)| fixes.len() >= PATTERN_MIN as usize);
    let patterns: Vec<Experience> = patterns.filter_map(|(place, fixes)| pattern(&place, &fixes)).collect();
    found.into_values().chain(patterns).collect()
}

/// Words of a title that say what kind of change it was.
fn shelf_of(commit: &Commit) -> Option<Shelf> {
    const FIXES: [&str; 14] = [
        "fix", "fixes", "fixed", "bugfix", "hotfix", "resolve", "resolves", "resolved", "repair", "repairs",
        "lint", "correct", "revert", "reverts",
    ];
    const DECISIONS: [&str; 9] =
        ["decide", "decided", "decision", "adr", "choose", "adopt", "replace", "switch", "deprecate"];
    let title = words(&commit.title);
    let has = |list: &[&str]| {
        title.iter().take(6).any(|word| word.split(['(', ':', '/']).any(|part| list.contains(&part)))
    };
    if has(&FIXES) {
        Some(Shelf::Fix)
    } else if has(&DECISIONS) {
        Some(Shelf::Decision)
    } else {
        None
    }
}

fn experience(shelf: Shelf, commit: &Commit) -> Option<Experience> {
    let errors = errors(&commit.body);
    // What repeats is the error where there is one, and the wording of the title elsewhere.
    let about = errors.first().map_or(commit.title.as_str(), String::as_str);
    let signature = label(&signature(about))?;
    let mut text = line(&commit.title);
    for error in &errors {
        text += &format!("\nError: {error}");
    }
    let why = commit.body.lines().map(str::trim).find(|line| !line.is_empty() && !is_error(line));
    if let Some(why) = why {
        text += &format!("\nWhy: {}", line(why));
    }
    if !commit.files.is_empty() {
        let files: Vec<String> = commit.files.iter().take(FILES_MAX).map(|file| line(file)).collect();
        text += &format!("\nFiles: {}", files.join(", "));
    }
    let record = ExperienceRecord {
        shelf,
        signature,
        commit: label(&commit.id)?,
        files: labels(&commit.files),
        seen: 1,
    };
    Some(Experience { record, content: Content::new(text).ok()? })
}

fn pattern(place: &str, fixes: &[&Commit]) -> Option<Experience> {
    let last = fixes.last()?;
    let titles: Vec<String> = fixes.iter().rev().take(5).map(|commit| line(&commit.title)).collect();
    let text = format!("{} was repaired {} times. Last: {}", line(place), fixes.len(), titles.join("; "));
    let record = ExperienceRecord {
        shelf: Shelf::Pattern,
        signature: label(&format!("repairs of {place}"))?,
        commit: label(&last.id)?,
        files: labels(&[place.to_owned()]),
        seen: u32::try_from(fixes.len()).unwrap_or(u32::MAX),
    };
    Some(Experience { record, content: Content::new(text).ok()? })
}

fn errors(body: &str) -> Vec<String> {
    body.lines().map(str::trim).filter(|line| is_error(line)).take(ERRORS_MAX).map(line).collect()
}

fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    [
        "error:",
        "error[",
        "failed:",
        "panicked at",
        "exception",
        "warning:",
        "fatal:",
        "cannot find",
        "not found",
        "e:",
    ]
    .iter()
    .any(|mark| lower.contains(mark))
}

fn line(text: &str) -> String {
    printable(text.trim()).chars().take(LINE_MAX).collect()
}

fn label(text: &str) -> Option<Label> {
    let mut short = printable(text);
    while short.len() > LABEL_MAX {
        short.pop();
    }
    Label::new(short).ok()
}

fn labels(files: &[String]) -> Vec<Label> {
    files.iter().take(FILES_MAX).filter_map(|file| label(file)).collect()
}

/// What repeats of an error: its words, without numbers, paths' folders and quotations that differ from case to case.
pub fn signature(text: &str) -> String {
    let kept = |word: &String| {
        if word.bytes().filter(u8::is_ascii_digit).count() * 2 > word.len() {
            return None;
        }
        let short = word.rsplit('/').next().unwrap_or(word);
        Some(short.split(':').next().unwrap_or(short).to_owned())
    };
    let mut parts: Vec<String> =
        words(text).iter().filter_map(kept).filter(|word| !word.is_empty()).collect();
    parts.truncate(24);
    parts.join(" ")
}

/// A match: which experience, how well it fits, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// Position in the library.
    pub at: usize,
    /// From 0 to 1.
    pub score: f64,
    pub why: String,
}

/// Below this a match is a guess, and asking a brain is better.
pub const MATCH_MIN: f64 = 0.35;

/// Experiences, ready to be matched.
#[derive(Clone, Debug, Default)]
pub struct Library {
    terms: Vec<(Shelf, BTreeSet<String>, String)>,
    by_term: BTreeMap<String, Vec<usize>>,
}

impl Library {
    pub fn new<'a>(experiences: impl IntoIterator<Item = (&'a ExperienceRecord, &'a str)>) -> Library {
        let mut library = Library::default();
        for (record, text) in experiences {
            let mut terms: BTreeSet<String> = words(&signature(text)).into_iter().collect();
            terms.extend(words(record.signature.as_str()));
            let at = library.terms.len();
            for term in &terms {
                library.by_term.entry(term.clone()).or_default().push(at);
            }
            library.terms.push((record.shelf, terms, record.signature.as_str().to_owned()));
        }
        library
    }

    /// The experiences that fit an error or a situation, best first, at most so many.
    pub fn matched(&self, situation: &str, limit: usize) -> Vec<Match> {
        let asked: BTreeSet<String> = words(&signature(situation)).into_iter().collect();
        let total: f64 = asked.iter().map(|term| self.rarity(term)).sum();
        if total == 0.0 {
            return Vec::new();
        }
        let mut shared: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for term in &asked {
            for &at in self.by_term.get(term).into_iter().flatten() {
                shared.entry(at).or_default().push(term);
            }
        }
        let exact = signature(situation);
        let mut matches: Vec<Match> = shared
            .into_iter()
            .map(|(at, terms)| self.scored(at, &terms, total, &exact))
            .filter(|found| found.score >= MATCH_MIN)
            .collect();
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        matches.truncate(limit);
        matches
    }

    fn scored(&self, at: usize, terms: &[&str], total: f64, exact: &str) -> Match {
        let (shelf, _, signature) = &self.terms[at];
        if signature == exact {
            return Match { at, score: 1.0, why: "the same error".to_owned() };
        }
        let share = terms.iter().map(|term| self.rarity(term)).sum::<f64>() / total;
        let mut telling: Vec<&str> = terms.to_vec();
        telling.sort_by(|a, b| self.rarity(b).total_cmp(&self.rarity(a)).then(a.cmp(b)));
        telling.truncate(4);
        let score = if *shelf == Shelf::Fix { share } else { share * 0.9 };
        Match { at, score: score.min(0.99), why: format!("shares {}", telling.join(", ")) }
    }

    /// Words that few experiences have tell more; names of things tell most. A word nobody has tells against a match.
    fn rarity(&self, term: &str) -> f64 {
        let having = self.by_term.get(term).map_or(0, Vec::len);
        let names = if is_specific(term) { 2.0 } else { 1.0 };
        names * ((self.terms.len() as f64 + 1.0) / (having as f64 + 0.5)).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commit(id: &str, title: &str, body: &str, files: &[&str]) -> Commit {
        let files = files.iter().map(|&file| file.to_owned()).collect();
        Commit { id: id.into(), title: title.into(), body: body.into(), files }
    }

    fn history() -> Vec<Commit> {
        vec![
            commit("a1", "store: open in WAL mode", "Faster.", &["store.rs"]),
            commit(
                "a2",
                "fix: wait for the lock",
                "Two writers met.\nerror: database is locked (code 5)",
                &["crates/store/src/writer.rs"],
            ),
            commit(
                "a3",
                "fix the writer again",
                "error: database is locked (code 6)",
                &["crates/store/src/writer.rs"],
            ),
            commit(
                "a4",
                "Resolve a borrow",
                "error[E0502]: cannot borrow `queue` as mutable",
                &["crates/store/src/writer.rs"],
            ),
            commit("a5", "Decide: SQLite in place of PostgreSQL", "No server is needed.", &["docs/adr.md"]),
            commit("a6", "Revert \"cache: keep two copies\"", "It doubled memory use.", &["cache.rs"]),
        ]
    }

    fn library(experiences: &[Experience]) -> Library {
        Library::new(experiences.iter().map(|e| (&e.record, e.content.as_str())))
    }

    #[test]
    fn fixes_reverts_decisions_and_patterns_are_mined_and_the_same_error_once() {
        let mined = mine(&history());
        let told: Vec<(Shelf, &str, u32)> =
            mined.iter().map(|e| (e.record.shelf, e.record.commit.as_str(), e.record.seen)).collect();
        assert_eq!(
            told,
            [
                (Shelf::Fix, "a2", 2),
                (Shelf::Fix, "a4", 1),
                (Shelf::Fix, "a6", 1),
                (Shelf::Decision, "a5", 1),
                (Shelf::Pattern, "a4", 3),
            ]
        );
        assert!(mined[0].content.as_str().contains("Error: error: database is locked"));
        assert!(mined[0].content.as_str().contains("Why: Two writers met."));
        assert_eq!(Shelf::Fix.folder(), "experiences/fixes");
    }

    #[test]
    fn a_known_error_is_matched_and_an_unknown_one_is_not() {
        let mined = mine(&history());
        let library = library(&mined);
        let same = &library.matched("error: database is locked (code 9)", 3)[0];
        assert_eq!((same.at, same.score, same.why.as_str()), (0, 1.0, "the same error"));
        let near = &library.matched("the database reported that it is locked", 3)[0];
        assert!(near.at == 0 && near.score < 1.0 && near.why.contains("locked"), "{near:?}");
        assert_eq!(library.matched("the printer is out of paper on floor two", 3), []);
        assert_eq!(library.matched("", 3), []);
    }

    proptest! {
        #[test]
        fn any_history_can_be_mined(titles in prop::collection::vec((".{0,80}", ".{0,200}"), 0..12)) {
            let commits: Vec<Commit> = titles.iter().map(|(t, b)| commit("x", &format!("fix {t}"), b, &["f"])).collect();
            let mined = mine(&commits);
            let mut signatures: Vec<_> = mined.iter().map(|e| (e.record.shelf, e.record.signature.clone())).collect();
            signatures.sort();
            signatures.dedup();
            prop_assert_eq!(signatures.len(), mined.len());
            for found in library(&mined).matched(&titles.iter().map(|t| t.0.as_str()).collect::<String>(), 5) {
                prop_assert!((MATCH_MIN..=1.0).contains(&found.score));
            }
        }
    }
}
