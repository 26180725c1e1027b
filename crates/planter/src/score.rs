//! The marking: what a tool said, against the truth. Pure.
//!
//! A secret is found when a finding stands on one of its lines. A finding on a line without a secret is a false alarm.
//! Lines count once, however often a tool speaks of them, and a secret of many lines counts once, so that nobody looks
//! precise by naming each line of a key. Asides never count.

use std::collections::{BTreeMap, BTreeSet};

use crate::truth::{Corpus, Group};

/// What a tool said, as far as it can be compared: a line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub file: String,
    pub line: usize,
}

/// Of so many, so many were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub planted: usize,
    pub found: usize,
}

/// How a tool did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub all: Tally,
    pub by_group: BTreeMap<Group, Tally>,
    pub by_kind: BTreeMap<&'static str, Tally>,
    /// Lines with findings that have no secret.
    pub false_alarms: usize,
    /// Of those, the ones on decoys, by the kind of decoy. A line with two decoys counts for both.
    pub fooled_by: BTreeMap<&'static str, usize>,
    /// Lines with findings that have a secret; a secret of several lines counts as one.
    pub right: usize,
    /// For each planted secret of the corpus, in its order: was it found?
    pub found: Vec<bool>,
}

impl Tally {
    /// Between 0 and 1; of nothing, all is found.
    pub fn recall(self) -> f64 {
        if self.planted == 0 { 1.0 } else { self.found as f64 / self.planted as f64 }
    }

    fn count(&mut self, found: bool) {
        self.planted += 1;
        self.found += usize::from(found);
    }
}

impl Score {
    /// Between 0 and 1: of the places a tool pointed at, those with a secret. Who says nothing is never wrong.
    pub fn precision(&self) -> f64 {
        let said = self.right + self.false_alarms;
        if said == 0 { 1.0 } else { self.right as f64 / said as f64 }
    }

    pub fn recall(&self) -> f64 {
        self.all.recall()
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }
}

/// Marks the findings of one tool. A finding in a file the corpus does not have is a false alarm.
pub fn score<'a>(corpus: &Corpus, findings: impl IntoIterator<Item = &'a Finding>) -> Score {
    let said: BTreeSet<(&str, usize)> = findings.into_iter().map(|f| (f.file.as_str(), f.line)).collect();
    let mut score = Score::default();
    let (mut secret_lines, mut right) = (BTreeSet::new(), BTreeSet::new());
    for planted in &corpus.planted {
        let mut lines = (planted.first_line..=planted.last_line).map(|line| (planted.file.as_str(), line));
        secret_lines.extend(lines.clone());
        let found = lines.any(|line| said.contains(&line));
        if found {
            right.insert((planted.file.as_str(), planted.first_line));
        }
        score.all.count(found);
        score.by_group.entry(planted.group).or_default().count(found);
        score.by_kind.entry(planted.kind).or_default().count(found);
        score.found.push(found);
    }
    let asides: BTreeSet<(&str, usize)> = corpus.asides.iter().map(|a| (a.file.as_str(), a.line)).collect();
    score.right = right.len();
    let wrong: BTreeSet<_> =
        said.difference(&secret_lines).filter(|line| !asides.contains(*line)).copied().collect();
    score.false_alarms = wrong.len();
    let decoys: BTreeSet<_> = corpus.decoys.iter().map(|d| (d.kind, d.file.as_str(), d.line)).collect();
    for (kind, file, line) in decoys {
        if wrong.contains(&(file, line)) {
            *score.fooled_by.entry(kind).or_default() += 1;
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::{Aside, Decoy, Planted};

    fn example() -> Corpus {
        let planted = |first_line, last_line, kind, group| Planted {
            file: "a".into(),
            first_line,
            last_line,
            column: 1,
            kind,
            group,
            secret: "s".into(),
        };
        Corpus {
            files: Vec::new(),
            planted: vec![
                planted(1, 1, "one", Group::KeyValue),
                planted(3, 9, "key", Group::PrivateKey),
                planted(20, 20, "one", Group::KeyValue),
            ],
            decoys: vec![Decoy { file: "a".into(), line: 12, kind: "uuid" }],
            asides: vec![Aside { file: "a".into(), line: 15 }],
        }
    }

    fn check(lines: &[usize], found: usize, false_alarms: usize, right: usize) -> Score {
        let findings: Vec<Finding> =
            lines.iter().map(|line| Finding { file: "a".into(), line: *line }).collect();
        let score = score(&example(), &findings);
        assert_eq!(
            (score.all.found, score.false_alarms, score.right),
            (found, false_alarms, right),
            "{lines:?}"
        );
        score
    }

    #[test]
    fn a_secret_is_found_on_any_of_its_lines_and_a_line_counts_once() {
        check(&[], 0, 0, 0);
        check(&[1], 1, 0, 1);
        check(&[1, 1, 1], 1, 0, 1);
        check(&[5], 1, 0, 1);
        check(&[3, 5, 9], 1, 0, 1);
        check(&[2, 10, 10], 0, 2, 0);
    }

    #[test]
    fn asides_count_for_nobody_and_decoys_are_named() {
        let score = check(&[12, 15], 0, 1, 0);
        assert_eq!(score.fooled_by, BTreeMap::from([("uuid", 1)]));
    }

    #[test]
    fn recall_is_told_by_kind_and_group() {
        let score = check(&[1, 4, 2], 2, 1, 2);
        assert_eq!(score.by_kind["one"], Tally { planted: 2, found: 1 });
        assert_eq!(score.by_group[&Group::PrivateKey], Tally { planted: 1, found: 1 });
        assert_eq!(score.found, [true, true, false]);
        assert!((score.precision() - 2.0 / 3.0).abs() < 1e-9);
        assert!((score.recall() - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn who_says_nothing_is_never_wrong_and_finds_nothing() {
        let score = check(&[], 0, 0, 0);
        assert_eq!((score.precision(), score.recall(), score.f1()), (1.0, 0.0, 0.0));
    }

    #[test]
    fn a_file_nobody_made_is_a_false_alarm() {
        let finding = Finding { file: "elsewhere".into(), line: 1 };
        assert_eq!(score(&example(), [&finding]).false_alarms, 1);
    }
}
