//! The audit log of consolidation: one line of JSON for each entry that was decided about, and nothing of what it says.

use holdfast_types::Timestamp;
use serde::Serialize;

use crate::consolidate::{Decision, MergeRecord, Method, Plan};
use crate::gates::{GateName, Reason};
use crate::id::MemoryId;
use crate::similar::Similarity;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Promote,
    Merge,
    Reject,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub timestamp: Timestamp,
    pub action: Action,
    pub entry_id: MemoryId,
    pub details: Details,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_with: Option<MemoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<Similarity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_gate: Option<GateName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    pub fallback_used: bool,
}

/// The lines of a run. What was displaced has one too; a contradiction is between two entries that have theirs.
pub fn lines(plan: &Plan, timestamp: Timestamp) -> Vec<Line> {
    let fallback_used = plan.fallback_used();
    let line = |action, entry_id, details: Details| {
        Some(Line { timestamp, action, entry_id, details: Details { fallback_used, ..details } })
    };
    let told = |decision: &Decision| match decision {
        Decision::Promote { entry } => line(Action::Promote, *entry, Details::default()),
        Decision::Merge(record) | Decision::Displace(record) => {
            line(Action::Merge, record.discarded, merged(record))
        }
        Decision::Reject { entry, refusal } => {
            let (rejection_reason, quality_gate) = (Some(refusal.reason), Some(refusal.gate));
            line(Action::Reject, *entry, Details { rejection_reason, quality_gate, ..Details::default() })
        }
        Decision::Conflict { .. } | Decision::Restore { .. } | Decision::Confirm { .. } => None,
    };
    plan.decisions.iter().filter_map(told).collect()
}

fn merged(record: &MergeRecord) -> Details {
    let MergeRecord { kept, similarity, method, .. } = record;
    Details {
        merged_with: Some(*kept),
        similarity: Some(*similarity),
        method: Some(*method),
        ..Details::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::build::{at, id};
    use crate::consolidate::{Counts, MergeReason};
    use crate::differs::Difference;
    use crate::gates::Refusal;

    // shows: MEM-088, MEM-089, MEM-F43
    #[test]
    fn every_decided_entry_has_a_line_of_the_schema() {
        let record = MergeRecord {
            kept: id(1),
            discarded: id(2),
            similarity: Similarity::new(0.9),
            reason: MergeReason::HigherConfidence,
            method: Method::Lexical,
        };
        let refusal = Refusal { gate: GateName::Noise, reason: Reason::Greeting };
        let decisions = vec![
            Decision::Promote { entry: id(1) },
            Decision::Merge(record),
            Decision::Reject { entry: id(3), refusal },
            Decision::Conflict { pair: (id(1), id(4)), by: Difference::Numbers },
        ];
        let counts = Counts::default();
        let plan = Plan { method: Method::Lexical, decisions, counts, tags: BTreeMap::new(), compared: 0 };
        let told: Vec<String> =
            lines(&plan, at(0)).iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        let head = |action| {
            format!(
                r#"{{"timestamp":"2026-11-18T10:00:00.000000Z","action":"{action}","entry_id":"mem-2026-11-18-"#
            )
        };
        assert_eq!(
            told,
            [
                head("promote") + r#"001","details":{"fallback_used":true}}"#,
                head("merge")
                    + r#"002","details":{"merged_with":"mem-2026-11-18-001","similarity":0.9,"method":"lexical","fallback_used":true}}"#,
                head("reject")
                    + r#"003","details":{"rejection_reason":"greeting","quality_gate":"noise","fallback_used":true}}"#,
            ]
        );
    }
}
