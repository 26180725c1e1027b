//! The records a planner may be shown, newest last, and the choice of the few it is shown.
//!
//! Whether a record is archived is where it lies: in `current` or in `archive`. Both are bounded; what falls off the far
//! end is in the journal.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Outcome, Record, TEXT_MAX, bounded};
use crate::consolidate::Pattern;
use crate::setting::{Change, EpisodeId, Setting, TargetName};
use crate::time::Steady;

/// Two thousand episodes are two years at three trials a day.
pub const RECORDS_MAX: usize = 2000;
/// A pattern stands for six episodes or more.
const PATTERNS_MAX: usize = RECORDS_MAX / 6;
const KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);
/// How many of the nearest records a planner is shown.
pub const NEAREST_MAX: usize = 5;
/// How many further warnings it is shown; the rest is counted.
pub const WARNINGS_MAX: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    current: VecDeque<Record>,
    archive: VecDeque<Record>,
    patterns: VecDeque<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// The same verdict about the same episode was there: nothing changed.
    Known,
    /// Added, and overridden at once: a later verdict about the episode was there first.
    Late,
}

/// What a planner is about to think about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub target: TargetName,
    pub setting: Setting,
}

/// How much of the past a planner is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    Everything,
    /// What went wrong, and nothing that went well.
    WarningsOnly,
    /// Nothing: the other arm of a comparison.
    Off,
}

/// A record as it is recalled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recalled<'a> {
    pub record: &'a Record,
    /// The same value of the same setting also ended the other way.
    pub contradicted: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recollection<'a> {
    /// At most [`NEAREST_MAX`]: the same setting first, then the same unit; newest first.
    pub nearest: Vec<Recalled<'a>>,
    /// Further warnings about the unit, at most [`WARNINGS_MAX`], newest first: a run of successes never hides a rollback.
    pub warnings: Vec<Recalled<'a>>,
    pub warnings_left_off: usize,
    /// Patterns about the setting first, then the unit; newest first, at most [`NEAREST_MAX`].
    pub patterns: Vec<&'a Pattern>,
}

impl Book {
    /// Adds a verdict. Of several about one episode one stands, whatever order they came in.
    pub fn add(&mut self, record: Record) -> Added {
        let mut record = record.bounded();
        record.superseded_by = None;
        for other in self.archive.iter_mut().chain(&mut self.current) {
            if other.episode != record.episode {
                continue;
            }
            if other.outcome == record.outcome {
                return Added::Known;
            }
            if other.superseded_by.is_some() {
                continue;
            }
            if outweighs(&record, other) {
                other.superseded_by = Some(record.outcome);
            } else {
                record.superseded_by = Some(other.outcome);
            }
        }
        let added = if record.superseded_by.is_some() { Added::Late } else { Added::New };
        self.current.push_back(record);
        while self.current.len() > RECORDS_MAX {
            let oldest = self.current.pop_front();
            self.archive.extend(oldest);
        }
        self.bound_archive();
        added
    }

    /// Adds a pattern; says no when it is there already.
    pub fn add_pattern(&mut self, pattern: Pattern) -> bool {
        if self.patterns.iter().any(|known| known.is_same(&pattern)) {
            return false;
        }
        self.patterns.push_back(pattern);
        if self.patterns.len() > PATTERNS_MAX {
            self.patterns.pop_front();
        }
        true
    }

    /// Attaches what a brain learned from an episode to the verdict that stands.
    pub fn attach_lesson(&mut self, episode: &EpisodeId, lesson: &str) -> bool {
        let mut standing = self.current.iter_mut().filter(|r| r.superseded_by.is_none());
        let record = standing.find(|record| record.episode == *episode);
        record.map(|record| record.lesson = Some(bounded(lesson, TEXT_MAX))).is_some()
    }

    /// Moves what is older than 90 days out of planning. Says how many.
    pub fn archive_old(&mut self, now: Steady) -> usize {
        self.archive_where(|record| now.since(record.at) > KEPT_FOR)
    }

    pub(crate) fn archive_where(&mut self, leaves: impl Fn(&Record) -> bool) -> usize {
        let before = self.current.len();
        let (gone, stay) = std::mem::take(&mut self.current).into_iter().partition(leaves);
        self.current = stay;
        self.archive.extend::<VecDeque<Record>>(gone);
        self.bound_archive();
        before - self.current.len()
    }

    fn bound_archive(&mut self) {
        let excess = self.archive.len().saturating_sub(RECORDS_MAX);
        self.archive.drain(..excess);
    }

    /// The records planning sees, oldest first, superseded ones among them.
    pub fn current(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.current.iter()
    }

    pub fn archived(&self) -> impl Iterator<Item = &Record> {
        self.archive.iter()
    }

    pub fn patterns(&self) -> impl DoubleEndedIterator<Item = &Pattern> {
        self.patterns.iter()
    }

    /// The one verdict that stands for each episode of a target, archived or not.
    pub fn standing<'a>(&'a self, target: &'a TargetName) -> impl Iterator<Item = &'a Record> {
        let all = self.archive.iter().chain(&self.current);
        all.filter(move |record| record.superseded_by.is_none() && record.target == *target)
    }

    /// Chooses what a planner is shown of the past of one target.
    pub fn for_planning<'a>(&'a self, subject: &Subject, recall: Recall) -> Recollection<'a> {
        let shown: fn(Outcome) -> bool = match recall {
            Recall::Everything => |_| true,
            Recall::WarningsOnly => Outcome::is_warning,
            Recall::Off => return Recollection::default(),
        };
        let relevant = || {
            let newest_first = self.current.iter().rev();
            newest_first.filter(move |r| {
                r.superseded_by.is_none()
                    && r.target == subject.target
                    && shown(r.outcome)
                    && subject.is_near(r)
            })
        };
        let same = relevant().filter(|record| record.is_about(&subject.setting));
        let beside = relevant().filter(|record| !record.is_about(&subject.setting));
        let nearest: Vec<&Record> = same.chain(beside).take(NEAREST_MAX).collect();

        let chosen = |record: &&Record| !nearest.iter().any(|near| std::ptr::eq(*near, *record));
        let mut further = relevant().filter(|record| record.outcome.is_warning()).filter(chosen);
        let warnings = further.by_ref().take(WARNINGS_MAX).map(|record| self.recalled(record)).collect();
        Recollection {
            warnings,
            warnings_left_off: further.count(),
            patterns: if recall == Recall::Everything { self.patterns_for(subject) } else { Vec::new() },
            nearest: nearest.iter().map(|record| self.recalled(record)).collect(),
        }
    }

    fn patterns_for<'a>(&'a self, subject: &Subject) -> Vec<&'a Pattern> {
        let of_target = |pattern: &&Pattern| pattern.target == subject.target;
        let same = self.patterns().rev().filter(of_target).filter(|p| p.setting == subject.setting);
        let beside = self
            .patterns()
            .rev()
            .filter(of_target)
            .filter(|p| p.setting != subject.setting && p.setting.unit == subject.setting.unit);
        same.chain(beside).take(NEAREST_MAX).collect()
    }

    fn recalled<'a>(&'a self, record: &'a Record) -> Recalled<'a> {
        let other_way = |other: &Record| {
            (record.outcome.is_success() && other.outcome.is_harm())
                || (record.outcome.is_harm() && other.outcome.is_success())
        };
        let contradicted = record.change.as_ref().is_some_and(|change| {
            self.standing(&record.target).any(|other| other_way(other) && reached_the_same(other, change))
        });
        Recalled { record, contradicted }
    }
}

impl Subject {
    fn is_near(&self, record: &Record) -> bool {
        record.changes().any(|change| change.setting.unit == self.setting.unit)
    }
}

fn reached_the_same(record: &Record, change: &Change) -> bool {
    record.change.as_ref().is_some_and(|other| other.setting == change.setting && other.to == change.to)
}

/// Whether a verdict stands over another one about the same episode: the later one does, except that a change was merely
/// kept yields to all else that is said of it, also when that was heard first.
fn outweighs(record: &Record, other: &Record) -> bool {
    let weight = |r: &Record| (r.outcome != Outcome::Kept, r.at, r.outcome);
    weight(record) > weight(other)
}
