//! What the steward did lately, told to its own planner: the self-profile.
//!
//! Counted from the verdicts that stand, so a success that turned out harmful is counted as harm and only once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::explore::Cycles;
use crate::outcome::{Book, Outcome, Record};
use crate::setting::{Setting, TargetName};
use crate::time::Steady;

/// How far back "lately" reaches.
pub const LATELY: Duration = Duration::from_secs(30 * 24 * 3600);

/// A share with the range it may really be in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub hits: u32,
    pub of: u32,
    pub low: f64,
    pub high: f64,
}

impl Rate {
    /// The Wilson interval at 95 %: honest for few trials and for shares near nothing or all. No trials, no rate.
    pub fn wilson(hits: u32, of: u32) -> Option<Rate> {
        const Z: f64 = 1.959_963_984_540_054;
        if of == 0 || hits > of {
            return None;
        }
        let (n, share) = (f64::from(of), f64::from(hits) / f64::from(of));
        let scale = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(Rate { hits, of, low: (centre - half).max(0.0), high: (centre + half).min(1.0) })
    }

    pub fn share(&self) -> f64 {
        f64::from(self.hits) / f64::from(self.of)
    }
}

/// How one setting fared lately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingProfile {
    pub setting: Setting,
    /// How often a change of it was tried.
    pub changed: u32,
    pub kept: u32,
    pub neutral: u32,
    pub inconclusive: u32,
    pub rolled_back: u32,
    pub delayed_negative: u32,
    pub interrupted: u32,
    pub rejected: u32,
    /// Successes out of the trials that showed something: interruptions and undecided ones are left out.
    pub success: Option<Rate>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub target: TargetName,
    /// Settings with anything to tell, in their order.
    pub settings: Vec<SettingProfile>,
    /// Of the settings in scope, those of which no change was ever tried.
    pub never_tried: Vec<Setting>,
    pub cycles_finished: u64,
    pub cycles_since_exploration: u64,
    /// Whole hours; nothing when none ever finished.
    pub hours_since_exploration: Option<u64>,
}

/// Draws up the profile of a target. `scope` is what the steward may change there.
pub fn profile(book: &Book, target: &TargetName, scope: &[Setting], cycles: &Cycles, now: Steady) -> Profile {
    let mut counts: BTreeMap<&Setting, BTreeMap<Outcome, u32>> = BTreeMap::new();
    for record in book.standing(target).filter(|record| now.since(record.at) <= LATELY) {
        for change in record.changes() {
            *counts.entry(&change.setting).or_default().entry(record.outcome).or_default() += 1;
        }
    }
    let was_tried = |setting: &Setting| {
        let by_record = |record: &Record| record.outcome.was_tried() && record.is_about(setting);
        let by_pattern = book.patterns().any(|pattern| {
            pattern.target == *target
                && pattern.setting == *setting
                && pattern.members.iter().any(|member| member.outcome.was_tried())
        });
        by_pattern || book.standing(target).any(by_record)
    };
    Profile {
        target: target.clone(),
        settings: counts.into_iter().map(|(setting, counts)| one(setting, &counts)).collect(),
        never_tried: scope.iter().filter(|setting| !was_tried(setting)).cloned().collect(),
        cycles_finished: cycles.finished(),
        cycles_since_exploration: cycles.since_exploration(),
        hours_since_exploration: cycles.explored_at().map(|at| now.since(at).as_secs() / 3600),
    }
}

fn one(setting: &Setting, counts: &BTreeMap<Outcome, u32>) -> SettingProfile {
    let sum = |is: fn(Outcome) -> bool| counts.iter().filter(|(o, _)| is(**o)).map(|(_, n)| n).sum::<u32>();
    let count = |outcome: Outcome| counts.get(&outcome).copied().unwrap_or(0);
    let kept = sum(Outcome::is_success);
    let neutral = count(Outcome::Neutral);
    SettingProfile {
        setting: setting.clone(),
        changed: sum(Outcome::was_tried),
        kept,
        neutral,
        inconclusive: count(Outcome::Inconclusive),
        rolled_back: count(Outcome::RolledBack),
        delayed_negative: count(Outcome::DelayedNegative),
        interrupted: count(Outcome::Interrupted),
        rejected: count(Outcome::GateRejected) + count(Outcome::Refused),
        success: Rate::wilson(kept, kept + neutral + sum(Outcome::is_harm)),
    }
}
