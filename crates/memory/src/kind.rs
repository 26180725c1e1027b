//! The kinds of memory and the policy of each: one table, and nothing decides by kind anywhere else.

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What an agent learns while it works.
    #[default]
    SessionFact,
    /// What became of a change the steward made or was kept from making.
    Outcome,
    /// What a person ordered.
    Directive,
    /// What a person put in on any surface: an objective, the words of an edit.
    UserInput,
    /// A document as it was when a run of its writer was over.
    VersionSnapshot,
    /// One run: what it was for, which tools it used, what came of it.
    RunTrajectory,
    /// All runs on one document, told as one.
    DocTrajectory,
    /// A fix, a pattern or a decision mined from history.
    Experience,
}

/// What the gates' verdict does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gating {
    /// What a gate refuses is not stored.
    Enforced,
    /// It is stored, marked with what the gates think of it. For words that are kept because of who said them.
    Reported,
    /// No gate is asked: a part of the product wrote it.
    Exempt,
}

/// Whether entries that say the same become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    BySimilarity,
    /// Two of them may differ by one number, and that number is the lesson.
    Never,
}

/// What takes an entry's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Succession {
    /// The survivor of a merge, and nothing else.
    ByMerge,
    /// A later record with the same key: a verdict on the same episode, a roll-up of the same document.
    ByKey,
    /// Nothing: each stands for itself.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub kind: Kind,
    /// The name of its collection, wherever one is named.
    pub collection: &'static str,
    pub gating: Gating,
    pub merging: Merging,
    pub succession: Succession,
    /// When it leaves planning. It is found as before by whoever searches for all.
    pub archived_after: Duration,
}

/// Three months: long enough for a change to show what it does, and what is older is seldom what planning needs.
const QUARTER: Duration = Duration::from_secs(90 * 24 * 3600);

const fn policy(
    kind: Kind,
    collection: &'static str,
    gating: Gating,
    merging: Merging,
    succession: Succession,
) -> Policy {
    Policy { kind, collection, gating, merging, succession, archived_after: QUARTER }
}

use Gating::{Enforced, Exempt, Reported};
use Merging::{BySimilarity, Never};
use Succession::{ByKey, ByMerge};

/// In the order of [`Kind`].
static POLICIES: [Policy; 8] = [
    policy(Kind::SessionFact, "session_facts", Enforced, BySimilarity, ByMerge),
    policy(Kind::Outcome, "outcomes", Exempt, Never, ByKey),
    policy(Kind::Directive, "directives", Reported, Never, ByKey),
    policy(Kind::UserInput, "user_inputs", Reported, Never, Succession::None),
    policy(Kind::VersionSnapshot, "version_snapshots", Exempt, Never, Succession::None),
    policy(Kind::RunTrajectory, "run_trajectories", Exempt, Never, ByKey),
    policy(Kind::DocTrajectory, "doc_trajectories", Exempt, Never, ByKey),
    policy(Kind::Experience, "experiences", Exempt, Never, ByKey),
];

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::SessionFact,
        Kind::Outcome,
        Kind::Directive,
        Kind::UserInput,
        Kind::VersionSnapshot,
        Kind::RunTrajectory,
        Kind::DocTrajectory,
        Kind::Experience,
    ];

    pub fn policy(self) -> &'static Policy {
        &POLICIES[self as usize]
    }

    /// The kind of a collection by its name.
    pub fn of_collection(name: &str) -> Option<Kind> {
        POLICIES.iter().find(|policy| policy.collection == name).map(|policy| policy.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_kind_in_its_place() {
        for kind in Kind::ALL {
            assert_eq!(kind.policy().kind, kind);
            assert_eq!(Kind::of_collection(kind.policy().collection), Some(kind));
        }
    }

    // shows: DOC-F12
    #[test]
    fn the_four_collections_of_documents_have_one_set_of_names() {
        let names = [Kind::UserInput, Kind::VersionSnapshot, Kind::RunTrajectory, Kind::DocTrajectory]
            .map(|kind| kind.policy().collection);
        assert_eq!(names, ["user_inputs", "version_snapshots", "run_trajectories", "doc_trajectories"]);
        for foreign in ["episodic", "artifacts", "trajectories", "citations"] {
            assert_eq!(Kind::of_collection(foreign), None);
        }
    }

    #[test]
    fn only_session_facts_are_merged_by_similarity() {
        let merged = Kind::ALL.into_iter().filter(|kind| kind.policy().merging == BySimilarity);
        assert_eq!(merged.collect::<Vec<_>>(), [Kind::SessionFact]);
    }
}
