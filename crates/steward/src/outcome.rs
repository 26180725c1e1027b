//! What became of an episode: one record, one list of outcomes, for every store and every reader.
//!
//! A [`Record`] is never rewritten. A later verdict about the same episode supersedes an earlier one by its id, in whatever
//! order the two arrive: that it was kept yields to what is found a day later. [`Book`] holds the records a planner
//! may be shown; the journal holds them all. [`Metadata`] is the record as it is stored beside its prose, and the door
//! through which records of earlier designs come in.

mod book;
mod metadata;

use std::fmt;

use holdfast_types::{Timestamp, printable};
use serde::{Deserialize, Serialize};

pub use book::{
    Added, Book, NEAREST_MAX, RECORDS_MAX, Recall, Recalled, Recollection, Subject, WARNINGS_MAX,
};
pub use metadata::{Context, Metadata, NotARecord};

use crate::sample::{Metric, Summary};
use crate::setting::{Change, EpisodeId, Setting, TargetName};
use crate::time::{Now, Steady};

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Verified and made permanent; whether it did any good is not known yet.
    #[serde(alias = "SUCCESS", alias = "success")]
    Kept,
    /// Kept, and a day later the primary metric was better.
    Improved,
    /// Kept, and a day later nothing had changed. No success.
    Neutral,
    /// Kept, and a day later the figures could not carry a verdict.
    Inconclusive,
    /// Kept, and a day later things were worse.
    DelayedNegative,
    /// Tried and undone because verification failed.
    #[serde(alias = "ROLLBACK", alias = "rollback")]
    RolledBack,
    /// Tried and undone for a reason that says nothing about the change: the controller restarted or was cut off, or
    /// somebody else changed the target.
    Interrupted,
    /// Stopped by a gate before anything was tried.
    #[serde(alias = "GATE_REJECTED", alias = "rejected")]
    GateRejected,
    /// There was nothing to do.
    NoAction,
    /// Passed every gate and was written down for people to read.
    Planned,
    /// A person refused it, or nobody answered in time.
    Refused,
    /// Ended by an error of our own before anything was tried.
    Failed,
}

impl Outcome {
    pub const ALL: [Outcome; 12] = [
        Outcome::Kept,
        Outcome::Improved,
        Outcome::Neutral,
        Outcome::Inconclusive,
        Outcome::DelayedNegative,
        Outcome::RolledBack,
        Outcome::Interrupted,
        Outcome::GateRejected,
        Outcome::NoAction,
        Outcome::Planned,
        Outcome::Refused,
        Outcome::Failed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Kept => "kept",
            Outcome::Improved => "improved",
            Outcome::Neutral => "neutral",
            Outcome::Inconclusive => "inconclusive",
            Outcome::DelayedNegative => "delayed_negative",
            Outcome::RolledBack => "rolled_back",
            Outcome::Interrupted => "interrupted",
            Outcome::GateRejected => "gate_rejected",
            Outcome::NoAction => "no_action",
            Outcome::Planned => "planned",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        }
    }

    /// Whether the change was live on the target, if only for a moment.
    pub fn was_tried(self) -> bool {
        self.was_committed() || matches!(self, Outcome::RolledBack | Outcome::Interrupted)
    }

    /// Whether the change was made permanent.
    pub fn was_committed(self) -> bool {
        self.is_accepted() || self == Outcome::DelayedNegative
    }

    /// Whether the change was made permanent and nothing spoke against it since.
    pub fn is_accepted(self) -> bool {
        self.is_success() || matches!(self, Outcome::Neutral | Outcome::Inconclusive)
    }

    /// Whether it counts as a success. What had no effect does not.
    pub fn is_success(self) -> bool {
        matches!(self, Outcome::Kept | Outcome::Improved)
    }

    /// Whether the change itself did harm.
    pub fn is_harm(self) -> bool {
        matches!(self, Outcome::RolledBack | Outcome::DelayedNegative)
    }

    /// What a planner must always be told: harm, and what gates or people turned down.
    pub fn is_warning(self) -> bool {
        self.is_harm() || matches!(self, Outcome::GateRejected | Outcome::Refused)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The primary metric before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub metric: Metric,
    pub before: Summary,
    pub after: Summary,
}

/// One verdict about one episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub episode: EpisodeId,
    pub target: TargetName,
    pub outcome: Outcome,
    /// What it was about; nothing when no change was ever proposed.
    pub change: Option<Change>,
    /// The second half of a coupled pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Change>,
    /// The gate that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    pub reason: String,
    /// What a brain made of it afterwards. Text of a brain: shown, never obeyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    pub at: Steady,
    /// Informs people. Nothing is ordered or timed by it.
    pub wall: Timestamp,
    pub exploration: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// The outcome that overrides this one for the same episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<Outcome>,
}

/// A paragraph. More would drown the five other records a planner is shown.
const TEXT_MAX: usize = 1000;
const GATE_MAX: usize = 64;

impl Record {
    /// A record with what every record has; the rest is filled in by name.
    pub fn new(episode: EpisodeId, target: TargetName, outcome: Outcome, now: Now) -> Record {
        Record {
            episode,
            target,
            outcome,
            change: None,
            also: None,
            gate: None,
            reason: String::new(),
            lesson: None,
            at: now.steady,
            wall: now.wall,
            exploration: false,
            measured: None,
            superseded_by: None,
        }
    }

    /// Whether it is about this setting, in either half of a pair.
    pub fn is_about(&self, setting: &Setting) -> bool {
        self.changes().any(|change| change.setting == *setting)
    }

    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.change.iter().chain(&self.also)
    }

    /// The record as a paragraph, made of its fields alone.
    pub fn content(&self) -> String {
        let mut text = format!("{}: {} {}", self.target, self.subject(), self.predicate());
        if let Some(Measured { metric, before, after }) = &self.measured {
            text += &format!(
                " {metric} went from {:.2} ({} samples) to {:.2} ({} samples).",
                before.mean(),
                before.count(),
                after.mean(),
                after.count()
            );
        }
        for (label, said) in [("Reason", Some(&self.reason)), ("Lesson", self.lesson.as_ref())] {
            if let Some(said) = said.filter(|said| !said.is_empty()) {
                text += &format!(" {label}: {}.", said.trim_end_matches('.'));
            }
        }
        text
    }

    fn subject(&self) -> String {
        match (&self.change, &self.also) {
            (Some(change), Some(also)) => format!("{change}, with {also},"),
            (Some(change), None) | (None, Some(change)) => change.to_string(),
            (None, None) => "a cycle without a change".to_owned(),
        }
    }

    fn predicate(&self) -> String {
        let gate = self.gate.as_deref().unwrap_or("a gate");
        match self.outcome {
            Outcome::Kept => "was verified and kept.".to_owned(),
            Outcome::Improved => "was kept, and a day later it had helped.".to_owned(),
            Outcome::Neutral => "was kept, and a day later it had changed nothing.".to_owned(),
            Outcome::Inconclusive => "was kept, and a day later nobody could tell.".to_owned(),
            Outcome::DelayedNegative => "was kept, and a day later it had done harm.".to_owned(),
            Outcome::RolledBack => "failed its verification and was rolled back.".to_owned(),
            Outcome::Interrupted => "was undone in mid-trial for a reason outside the change.".to_owned(),
            Outcome::GateRejected => format!("was rejected by {gate} before it was tried."),
            Outcome::NoAction => "ended with nothing to do.".to_owned(),
            Outcome::Planned => "passed every gate and was left for people to read.".to_owned(),
            Outcome::Refused => "was refused, or nobody answered in time.".to_owned(),
            Outcome::Failed => "ended in an error before anything was tried.".to_owned(),
        }
    }

    /// Texts cut to their length, without what a terminal would obey.
    fn bounded(mut self) -> Record {
        self.reason = bounded(&self.reason, TEXT_MAX);
        self.gate = self.gate.map(|gate| bounded(&gate, GATE_MAX));
        self.lesson = self.lesson.map(|lesson| bounded(&lesson, TEXT_MAX));
        self
    }
}

pub(crate) fn bounded(text: &str, chars_max: usize) -> String {
    // Escaping only lengthens, so what is cut before is never missed after.
    let head: String = text.chars().take(chars_max).collect();
    printable(&head).chars().take(chars_max).collect()
}
