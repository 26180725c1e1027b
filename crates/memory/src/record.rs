//! What an entry of a kind holds beside its prose. It is part of the body, because it is as private as the text.
//!
//! Rows are keyed by what stays (an episode, a document's id) and never by a path, which is renamed and used again.

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::text::Label;

/// The schema of each kind. Plain for session facts, which are prose alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    #[default]
    SessionFact,
    Outcome(OutcomeRecord),
    Directive(DirectiveRecord),
    UserInput(UserInputRecord),
    VersionSnapshot(VersionSnapshotRecord),
    RunTrajectory(RunTrajectoryRecord),
    DocTrajectory(DocTrajectoryRecord),
    Experience(ExperienceRecord),
}

impl Record {
    pub fn kind(&self) -> Kind {
        match self {
            Record::SessionFact => Kind::SessionFact,
            Record::Outcome(_) => Kind::Outcome,
            Record::Directive(_) => Kind::Directive,
            Record::UserInput(_) => Kind::UserInput,
            Record::VersionSnapshot(_) => Kind::VersionSnapshot,
            Record::RunTrajectory(_) => Kind::RunTrajectory,
            Record::DocTrajectory(_) => Kind::DocTrajectory,
            Record::Experience(_) => Kind::Experience,
        }
    }

    pub fn is_plain(&self) -> bool {
        *self == Record::SessionFact
    }

    /// A later record of the same kind and key takes this one's place.
    pub fn key(&self) -> Option<String> {
        let of = |parts: &[&Label]| Some(parts.iter().map(|p| p.as_str()).collect::<Vec<_>>().join("\u{1f}"));
        match self {
            Record::Outcome(r) => of(&[r.episode.as_ref()?]),
            Record::Directive(r) => of(&[&r.directive_id]),
            Record::RunTrajectory(r) => of(&[&r.run_id]),
            Record::DocTrajectory(r) => of(&[&r.document_id]),
            Record::Experience(r) => of(&[&r.signature]),
            Record::SessionFact | Record::UserInput(_) | Record::VersionSnapshot(_) => None,
        }
    }

    /// What others call it when they point at it.
    pub fn name(&self) -> Option<&Label> {
        match self {
            Record::VersionSnapshot(r) => Some(&r.version_id),
            Record::UserInput(r) => Some(&r.input_id),
            Record::RunTrajectory(r) => Some(&r.run_id),
            Record::DocTrajectory(r) => Some(&r.document_id),
            Record::Directive(r) => Some(&r.directive_id),
            Record::Outcome(r) => r.episode.as_ref(),
            Record::SessionFact | Record::Experience(_) => None,
        }
    }

    /// The host it is about.
    pub fn host(&self) -> Option<&Label> {
        match self {
            Record::Outcome(r) => r.target_host.as_ref(),
            Record::Directive(r) => r.target_host.as_ref(),
            Record::SessionFact
            | Record::UserInput(_)
            | Record::VersionSnapshot(_)
            | Record::RunTrajectory(_)
            | Record::DocTrajectory(_)
            | Record::Experience(_) => None,
        }
    }

    /// What it points at, for whoever widens a search from it.
    pub fn edges(&self) -> Vec<Edge<'_>> {
        match self {
            Record::VersionSnapshot(r) => {
                let revisions = r.was_revision_of.iter().map(Edge::WasRevisionOf);
                let sources = r.had_primary_source.iter().map(Edge::HadPrimarySource);
                revisions.chain(sources).chain(r.citation_ids.iter().map(Edge::Cites)).collect()
            }
            Record::UserInput(r) => r.base_version_id.iter().map(Edge::WasRevisionOf).collect(),
            Record::SessionFact
            | Record::Outcome(_)
            | Record::Directive(_)
            | Record::RunTrajectory(_)
            | Record::DocTrajectory(_)
            | Record::Experience(_) => Vec::new(),
        }
    }
}

/// A relation that a search is widened along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge<'a> {
    WasRevisionOf(&'a Label),
    HadPrimarySource(&'a Label),
    Cites(&'a Label),
}

/// The same without what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    WasRevisionOf,
    HadPrimarySource,
    Cites,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::WasRevisionOf, Way::HadPrimarySource, Way::Cites];
}

impl<'a> Edge<'a> {
    pub fn way(self) -> Way {
        match self {
            Edge::WasRevisionOf(_) => Way::WasRevisionOf,
            Edge::HadPrimarySource(_) => Way::HadPrimarySource,
            Edge::Cites(_) => Way::Cites,
        }
    }

    pub fn label(self) -> &'a Label {
        match self {
            Edge::WasRevisionOf(label) | Edge::HadPrimarySource(label) | Edge::Cites(label) => label,
        }
    }
}

/// How an episode ended. The words are those the steward writes; those of earlier designs are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[serde(alias = "SUCCESS", alias = "success")]
    Kept,
    Improved,
    Neutral,
    Inconclusive,
    DelayedNegative,
    #[serde(alias = "ROLLBACK", alias = "rollback")]
    RolledBack,
    Interrupted,
    #[serde(alias = "GATE_REJECTED", alias = "rejected")]
    GateRejected,
    NoAction,
    Planned,
    Refused,
    Failed,
}

impl Outcome {
    /// Harm, and what gates or people turned down: a planner is always shown these.
    pub fn is_warning(self) -> bool {
        use Outcome::{DelayedNegative, GateRejected, Refused, RolledBack};
        matches!(self, RolledBack | DelayedNegative | GateRejected | Refused)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_host: Option<Label>,
    #[serde(default, alias = "target_service", skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    #[serde(default, alias = "target_option", skip_serializing_if = "Option::is_none")]
    pub option: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Label>,
    #[serde(default, alias = "proposed_value", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Label>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Label>,
    #[serde(default, alias = "rejection_reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<Label>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub exploration: bool,
    /// Many episodes told as one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub consolidated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_count: Option<u32>,
    /// The same value did good at one time and harm at another.
    #[serde(default, skip_serializing_if = "is_false")]
    pub contradicted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectiveRecord {
    pub directive_id: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_host: Option<Label>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserInputRecord {
    pub input_id: Label,
    pub surface: Label,
    pub desktop_id: Label,
    pub session_id: Label,
    pub thread_id: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_path: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version_id: Option<Label>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionSnapshotRecord {
    pub version_id: Label,
    pub document_id: Label,
    /// Where it lay at that time. It informs, and identifies nothing.
    pub document_path: Label,
    pub objective: Label,
    pub loop_id: Label,
    pub run_id: Label,
    pub chunk_hash: Label,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub was_revision_of: Vec<Label>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub had_primary_source: Vec<Label>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citation_ids: Vec<Label>,
}

/// Who says that a run went well. Least believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    SelfReported,
    PersonAccepted,
    CheckPassed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOutcome {
    pub success: bool,
    pub said_by: Witness,
}

impl RunOutcome {
    /// How much a run counts when approaches are ranked. A success nobody checked stays below any that was.
    pub fn weight(self) -> f64 {
        match (self.success, self.said_by) {
            (true, Witness::CheckPassed) => 1.0,
            (true, Witness::PersonAccepted) => 0.9,
            (true, Witness::SelfReported) => 0.3,
            (false, Witness::CheckPassed | Witness::PersonAccepted | Witness::SelfReported) => 0.1,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTrajectoryRecord {
    pub loop_id: Label,
    pub run_id: Label,
    pub worker_type: Label,
    pub objective: Label,
    pub steps_taken: u32,
    pub outcome: RunOutcome,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocTrajectoryRecord {
    pub document_id: Label,
    pub document_path: Label,
    pub version_count: u32,
    pub run_count: u32,
    pub last_loop_id: Label,
    pub last_updated_at: Timestamp,
}

/// Where in the library an experience stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    Fix,
    Pattern,
    Decision,
}

impl Shelf {
    /// Its folder in the library.
    pub fn folder(self) -> &'static str {
        match self {
            Shelf::Fix => "experiences/fixes",
            Shelf::Pattern => "experiences/patterns",
            Shelf::Decision => "experiences/decisions",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperienceRecord {
    pub shelf: Shelf,
    /// What it is about, reduced to what repeats. Two of the same signature are one experience.
    pub signature: Label,
    /// The change it was learnt from.
    pub commit: Label,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Label>,
    /// How often it was seen.
    pub seen: u32,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str) -> Record {
        let record: Record = serde_json::from_str(json).unwrap();
        let again = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&again).unwrap(), record);
        record
    }

    // shows: STW-217, STW-219
    #[test]
    fn an_outcome_has_the_fields_the_steward_writes() {
        let record = parsed(
            r#"{"kind":"outcome","episode":"ep_1","target_host":"web-1","service":"nginx.service","option":"MemoryMax",
                "old_value":"1536M","new_value":"2048M","outcome":"kept","timestamp":"2026-11-15T08:17:16.000000Z"}"#,
        );
        assert_eq!(record.kind(), Kind::Outcome);
        for (word, warns) in
            [("SUCCESS", false), ("ROLLBACK", true), ("GATE_REJECTED", true), ("delayed_negative", true)]
        {
            let Record::Outcome(r) = parsed(&format!(r#"{{"kind":"outcome","outcome":"{word}"}}"#)) else {
                panic!("{word}")
            };
            assert_eq!(r.outcome.is_warning(), warns, "{word}");
        }
    }

    // shows: STW-218
    #[test]
    fn a_rejection_in_the_old_words_is_read_as_the_same_record() {
        let Record::Outcome(r) = parsed(
            r#"{"kind":"outcome","outcome":"gate_rejected","gate":"property_tests","target_option":"MemoryMax",
                "proposed_value":"3200M","rejection_reason":"budget test failed"}"#,
        ) else {
            panic!()
        };
        assert_eq!(r.option.unwrap().as_str(), "MemoryMax");
        assert_eq!(r.new_value.unwrap().as_str(), "3200M");
        assert_eq!(r.reason.unwrap().as_str(), "budget test failed");
    }

    // shows: DOC-134
    #[test]
    fn a_user_input_has_its_schema() {
        let record = parsed(
            r#"{"kind":"user_input","input_id":"i","surface":"writer","desktop_id":"d","session_id":"s",
                "thread_id":"t","base_version_id":"v1","created_at":"2026-11-15T08:17:16.000000Z"}"#,
        );
        let base = Label::new("v1").unwrap();
        assert_eq!(record.edges(), [Edge::WasRevisionOf(&base)]);
        let missing = r#"{"kind":"user_input","input_id":"i","surface":"writer"}"#;
        assert!(serde_json::from_str::<Record>(missing).unwrap_err().to_string().contains("desktop_id"));
    }

    // shows: DOC-135
    #[test]
    fn a_snapshot_names_its_revision_source_and_citations() {
        let record = parsed(
            r#"{"kind":"version_snapshot","version_id":"v2","document_id":"doc","document_path":"a.qwy","objective":"o",
                "loop_id":"l","run_id":"r","chunk_hash":"h","created_at":"2026-11-15T08:17:16.000000Z",
                "was_revision_of":["v1"],"had_primary_source":["s"],"citation_ids":["c"]}"#,
        );
        let [v1, s, c] = ["v1", "s", "c"].map(|text| Label::new(text).unwrap());
        assert_eq!(record.edges(), [Edge::WasRevisionOf(&v1), Edge::HadPrimarySource(&s), Edge::Cites(&c)]);
    }

    // shows: DOC-136, DOC-F42
    #[test]
    fn a_false_success_does_not_outrank_a_verified_run() {
        let run = |by: &str| {
            let Record::RunTrajectory(r) = parsed(&format!(
                r#"{{"kind":"run_trajectory","loop_id":"l","run_id":"r","worker_type":"w","objective":"o","steps_taken":3,
                    "outcome":{{"success":true,"said_by":"{by}"}},"created_at":"2026-11-15T08:17:16.000000Z"}}"#,
            )) else {
                panic!()
            };
            r.outcome.weight()
        };
        assert!(run("check_passed") > run("person_accepted"));
        assert!(run("person_accepted") > run("self_reported"));
    }

    // shows: DOC-137, DOC-F41
    #[test]
    fn a_renamed_document_keeps_one_trajectory() {
        let at = |path: &str| {
            parsed(&format!(
                r#"{{"kind":"doc_trajectory","document_id":"doc-7","document_path":"{path}","version_count":2,"run_count":2,
                    "last_loop_id":"l","last_updated_at":"2026-11-15T08:17:16.000000Z"}}"#,
            ))
        };
        assert_eq!(at("old/name.qwy").key(), at("new/name.qwy").key());
        assert!(at("a.qwy").key().is_some());
    }

    #[test]
    fn an_unknown_field_is_refused_and_a_session_fact_needs_none() {
        assert_eq!(parsed(r#"{"kind":"session_fact"}"#), Record::default());
        assert!(
            serde_json::from_str::<Record>(r#"{"kind":"outcome","outcome":"kept","colour":"red"}"#).is_err()
        );
    }
}
