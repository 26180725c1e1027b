//! The guard's part of the page: who finds which secrets, and who cries wolf.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use holdfast_planter::{Group, Score};

use super::whole;
use crate::guard::quality::{Candidate, Examined};

/// Kinds and decoys beyond these are told as a number.
const ROWS_MAX: usize = 40;

pub(super) fn sections(out: &mut String, e: &Examined) {
    introduction(out, e);
    marks(out, e);
    groups(out, e);
    missed_by_us(out, e);
    found_by_us_alone(out, e);
    found_by_nobody(out, e);
    fooled(out, e);
}

fn introduction(out: &mut String, e: &Examined) {
    let kinds: BTreeSet<&str> = e.corpus.planted.iter().map(|p| p.kind).collect();
    let decoys: BTreeSet<&str> = e.corpus.decoys.iter().map(|d| d.kind).collect();
    let _ = writeln!(
        out,
        "\n## Secrets: who finds them\n\n\
         A tree of {} files with {} lines, drawn from the seed {}: {} invented secrets of {} kinds, and {} lines with\n\
         decoys of {} kinds that only look like secrets. The list of kinds was written apart from the product's rules,\n\
         from what issuers say of their tokens and how people keep passwords. Every tool scanned the same tree, offline.\n\
         Each peer is shown as it comes and, where settings matter, at the one that had the best F1 of those tried on a\n\
         tree of another seed.\n\n\
         A secret is found when a tool points at one of its lines. A line that was pointed at and holds no secret is a\n\
         false alarm. Each line counts once, and so does a key of many lines. On {} lines good judges may differ\n\
         (publishable keys, ids that go with a secret), and nobody is counted there.",
        whole(e.files as f64),
        whole(e.lines as f64),
        e.seed,
        whole(e.corpus.planted.len() as f64),
        kinds.len(),
        whole(e.corpus.decoys.len() as f64),
        decoys.len(),
        e.corpus.asides.len()
    );
}

fn marks(out: &mut String, e: &Examined) {
    out.push_str(
        "\n| tool | setting | found | recall | false alarms | precision | F1 |\n|---|---|---|---|---|---|---|\n",
    );
    for c in &e.candidates {
        let name = format!("{} {}", c.name, c.version);
        let _ = match &c.marks {
            Ok(s) => writeln!(
                out,
                "| {name} | {} | {} | {} | {} | {} | {:.3} |",
                setting(c),
                whole(s.all.found as f64),
                percent(s.recall()),
                whole(s.false_alarms as f64),
                percent(s.precision()),
                s.f1()
            ),
            Err(why) => {
                writeln!(out, "| {name} | {} | did not run: {} | – | – | – | – |", setting(c), cell(why))
            }
        };
    }
}

fn groups(out: &mut String, e: &Examined) {
    out.push_str("\n### Recall by group\n\n| tool | setting |");
    let planted = |group: Group| e.corpus.planted.iter().filter(|p| p.group == group).count();
    for group in Group::ALL {
        let _ = write!(out, " {} ({}) |", group.name().replace('_', " "), whole(planted(group) as f64));
    }
    let _ = writeln!(out, "\n|---|---|{}", "---|".repeat(Group::ALL.len()));
    for (c, s) in ran(e) {
        let _ = write!(out, "| {} | {} |", c.name, setting(c));
        for group in Group::ALL {
            let tally = s.by_group.get(&group).copied().unwrap_or_default();
            let _ = write!(out, " {} |", percent(tally.recall()));
        }
        out.push('\n');
    }
}

/// What another tool finds and ours does not, by kind: the list a reviewer would ask for.
fn missed_by_us(out: &mut String, e: &Examined) {
    out.push_str("\n### Found by others, not by Holdfast\n\n");
    let Some((_, ours)) = ran(e).find(|(c, _)| c.ours) else {
        out.push_str("Holdfast's scanner did not run here, so there is nothing to compare.\n");
        return;
    };
    let mut missed: BTreeMap<&str, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for (at, planted) in e.corpus.planted.iter().enumerate().filter(|(at, _)| !ours.found[*at]) {
        // A tool that finds it at any of its settings.
        let finders: BTreeSet<&str> =
            ran(e).filter(|(c, s)| !c.ours && s.found[at]).map(|(c, _)| c.name).collect();
        if finders.is_empty() {
            continue;
        }
        let (count, by) = missed.entry(planted.kind).or_default();
        *count += 1;
        finders.into_iter().for_each(|name| *by.entry(name).or_default() += 1);
    }
    if missed.is_empty() {
        out.push_str("Nothing.\n");
        return;
    }
    out.push_str("| kind | missed | by whom it is found |\n|---|---|---|\n");
    let mut rows: Vec<_> = missed.into_iter().collect();
    rows.sort_by_key(|(kind, (count, _))| (usize::MAX - count, *kind));
    for (kind, (count, by)) in rows.iter().take(ROWS_MAX) {
        let finders: Vec<String> = by.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let _ = writeln!(out, "| {kind} | {count} | {} |", finders.join(", "));
    }
    more(out, rows.len());
}

fn found_by_us_alone(out: &mut String, e: &Examined) {
    if !ran(e).any(|(c, _)| c.ours) {
        return;
    }
    out.push_str("\n### Found by Holdfast alone\n\n");
    out.push_str(&told(&counted(e, |at| ran(e).all(|(c, s)| c.ours == s.found[at]))));
}

fn found_by_nobody(out: &mut String, e: &Examined) {
    out.push_str("\n### Found by nobody\n\n");
    out.push_str(&told(&counted(e, |at| ran(e).all(|(_, s)| !s.found[at]))));
}

/// The secrets that are wanted, given by their place in the corpus, counted by kind.
fn counted(e: &Examined, wanted: impl Fn(usize) -> bool) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, planted) in e.corpus.planted.iter().enumerate().filter(|(at, _)| wanted(*at)) {
        *counts.entry(planted.kind).or_default() += 1;
    }
    counts
}

fn fooled(out: &mut String, e: &Examined) {
    out.push_str(
        "\n### Decoys taken for secrets\n\n| tool | setting | lines, by kind of decoy |\n|---|---|---|\n",
    );
    for (c, s) in ran(e) {
        let _ = writeln!(out, "| {} | {} | {} |", c.name, setting(c), told(&s.fooled_by).trim_end());
    }
}

/// The candidates that have marks.
fn ran(e: &Examined) -> impl Iterator<Item = (&Candidate, &Score)> {
    e.candidates.iter().filter_map(|c| Some((c, c.marks.as_ref().ok()?)))
}

/// Names with their counts, the largest first.
fn told(counts: &BTreeMap<&str, usize>) -> String {
    let mut rows: Vec<(&str, usize)> = counts.iter().map(|(name, n)| (*name, *n)).collect();
    rows.sort_by_key(|(name, n)| (usize::MAX - n, *name));
    let mut text: Vec<String> = rows.iter().take(ROWS_MAX).map(|(name, n)| format!("{name} {n}")).collect();
    if rows.len() > ROWS_MAX {
        text.push(format!("and {} kinds more", rows.len() - ROWS_MAX));
    }
    if text.is_empty() { "None.\n".to_owned() } else { format!("{}\n", text.join(", ")) }
}

fn more(out: &mut String, rows: usize) {
    if rows > ROWS_MAX {
        let _ = writeln!(out, "\nAnd {} kinds more.", rows - ROWS_MAX);
    }
}

fn setting(c: &Candidate) -> String {
    if c.setting.is_empty() { "as it comes".to_owned() } else { format!("`{}`", c.setting) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Text from elsewhere, so that it cannot break the table.
fn cell(text: &str) -> String {
    let line: String = text.chars().map(|c| if c == '|' || c.is_control() { ' ' } else { c }).collect();
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_planter::{Finding, corpus, score};

    fn candidate(name: &'static str, ours: bool, marks: Result<Score, String>) -> Candidate {
        Candidate { name, setting: "", version: "1.0".into(), ours, marks }
    }

    /// Ours finds all but the first secret; the peer finds it alone, and points at a decoy.
    fn examined() -> Examined {
        let corpus = corpus(1, 60);
        let at = |p: &holdfast_planter::Planted| Finding { file: p.file.clone(), line: p.first_line };
        let lonely = |p: &&holdfast_planter::Planted| {
            corpus.planted.iter().filter(|o| o.file == p.file && o.first_line == p.first_line).count() == 1
        };
        let first = corpus.planted.iter().find(lonely).unwrap();
        let rest: Vec<Finding> = corpus.planted.iter().map(at).filter(|f| *f != at(first)).collect();
        let decoy = corpus.decoys.iter().find(|d| {
            !corpus.planted.iter().any(|p| p.file == d.file && (p.first_line..=p.last_line).contains(&d.line))
        });
        let decoy = decoy.map(|d| Finding { file: d.file.clone(), line: d.line }).unwrap();
        let theirs = vec![at(first), decoy];
        Examined {
            seed: 1,
            files: 60,
            lines: 2000,
            candidates: vec![
                candidate("holdfast", true, Ok(score(&corpus, &rest))),
                candidate("other", false, Ok(score(&corpus, &theirs))),
                candidate("absent", false, Err("not | there".into())),
            ],
            corpus,
        }
    }

    #[test]
    fn what_others_find_and_we_do_not_is_told_by_kind() {
        let mut page = String::new();
        sections(&mut page, &examined());
        let begin = page.find("### Found by others").unwrap();
        let end = begin + page[begin..].find("\n### Found by Holdfast alone").unwrap();
        let section = &page[begin..end];
        assert!(section.contains("| 1 | other 1 |"), "{section}");
        assert!(page.contains("### Found by nobody\n\nNone.\n"), "{page}");
    }

    #[test]
    fn a_tool_that_did_not_run_is_said_to_and_breaks_no_table() {
        let mut page = String::new();
        sections(&mut page, &examined());
        assert!(page.contains("| absent 1.0 | as it comes | did not run: not   there | – |"), "{page}");
    }

    #[test]
    fn without_ours_nothing_is_compared() {
        let mut e = examined();
        e.candidates[0].marks = Err("no".into());
        let mut page = String::new();
        sections(&mut page, &e);
        assert!(page.contains("did not run here, so there is nothing to compare"));
    }
}
