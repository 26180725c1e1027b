//! Runs over small sessions, case by case.

use std::collections::BTreeMap;

use holdfast_types::Trust;
use proptest::prelude::*;

use super::*;
use crate::build::{self, Build, fact, id};
use crate::entry::{EntryType, Scope};
use crate::gates::{Gate, GateName};
use crate::record::{OutcomeRecord, Record};
use crate::similar::{jaccard, word_set};

/// An index over given likenesses, or over shared words where none is given.
struct Index {
    method: Method,
    durable: Vec<Entry>,
    session: Vec<Entry>,
    given: BTreeMap<(MemoryId, MemoryId), f64>,
}

impl Index {
    fn new(method: Method, durable: &[Entry], session: &[Entry]) -> Index {
        Index { method, durable: durable.to_vec(), session: session.to_vec(), given: BTreeMap::new() }
    }

    fn alike(mut self, a: u32, b: u32, similarity: f64) -> Index {
        self.given.insert((id(a), id(b)), similarity);
        self
    }

    fn likeness(&self, a: &Entry, b: &Entry) -> f64 {
        let given = self.given.get(&(a.id(), b.id())).or_else(|| self.given.get(&(b.id(), a.id())));
        given.copied().unwrap_or_else(|| jaccard(&word_set(a.text()), &word_set(b.text())).get())
    }
}

impl Neighbours for Index {
    fn method(&self) -> Method {
        self.method
    }

    fn nearest(&self, entry: &Entry, limit: usize) -> Vec<Near> {
        let mut near: Vec<Near> = self
            .durable
            .iter()
            .chain(&self.session)
            .map(|other| Near { id: other.id(), similarity: Similarity::new(self.likeness(entry, other)) })
            .collect();
        near.sort_by(|a, b| b.similarity.cmp(&a.similarity).then(a.id.cmp(&b.id)));
        near.truncate(limit);
        near
    }

    fn durable(&self, id: MemoryId) -> Option<Entry> {
        self.durable.iter().find(|entry| entry.id() == id).cloned()
    }
}

fn planned(session: &[Entry], index: &Index) -> Plan {
    plan(session, index, &Gates::consolidation()).unwrap()
}

const TEXT: &str = "The gateway keeps its sessions for a whole week.";

fn said(n: u32) -> Entry {
    fact(TEXT).entry(n)
}

fn counts(plan: &Plan) -> (u64, u64, u64) {
    (plan.counts.promoted, plan.counts.deduplicated, plan.counts.rejected)
}

// shows: MEM-074
#[test]
fn a_cosine_of_850_merges_and_of_849_does_not() {
    for (similarity, merged) in [(0.849, 0), (0.850, 1)] {
        let session = [said(2)];
        let index = Index::new(Method::Semantic, &[said(1)], &session).alike(1, 2, similarity);
        assert_eq!(planned(&session, &index).merged().count(), merged, "{similarity}");
    }
}

// shows: MEM-075
#[test]
fn shared_words_of_80_percent_merge_and_of_79_do_not() {
    for (similarity, merged) in [(0.79, 0), (0.80, 1)] {
        let session = [said(2)];
        let index = Index::new(Method::Lexical, &[said(1)], &session).alike(1, 2, similarity);
        let plan = planned(&session, &index);
        assert_eq!(plan.merged().count(), merged, "{similarity}");
        assert!(plan.fallback_used());
    }
    // Eight shared words of ten.
    let (a, b) = ("a b c d e f g h i", "a b c d e f g h j");
    assert_eq!(jaccard(&word_set(a), &word_set(b)).get(), 0.8);
}

// shows: MEM-077, MEM-F34
#[test]
fn the_best_match_decides() {
    let session = [said(3)];
    let durable = [said(1), said(2)];
    let index = Index::new(Method::Semantic, &durable, &session).alike(1, 3, 0.86).alike(2, 3, 0.99);
    let first = planned(&session, &index).merged().next().cloned().unwrap();
    assert_eq!((first.kept, first.discarded, first.similarity.get()), (id(3), id(2), 0.99));
}

// shows: MEM-078, MEM-F33, MEM-F41
#[test]
fn the_same_text_twice_in_a_batch_is_promoted_once_and_nothing_merges_with_itself() {
    let session = [said(1), said(2)];
    let plan = planned(&session, &Index::new(Method::Semantic, &[], &session));
    assert_eq!(counts(&plan), (1, 1, 0));
    let alone = [said(1)];
    let again = planned(&alone, &Index::new(Method::Semantic, &alone, &alone));
    assert_eq!((counts(&again), again.merged().count()), ((1, 0, 0), 0));
}

// shows: MEM-079, MEM-083, MEM-082, MEM-F38, MEM-F39
#[test]
fn confidence_decides_then_age_and_the_reason_tells_the_truth() {
    use MergeReason::{HigherConfidence, LowerConfidence, NewerSameConfidence};
    for (old, new, kept, reason) in [
        (0.7, 0.7, 2, NewerSameConfidence),
        (0.7, 0.8, 2, HigherConfidence),
        (0.7, 0.9, 2, HigherConfidence),
        (0.8, 0.7, 1, LowerConfidence),
        (0.8, 0.8, 2, NewerSameConfidence),
        (0.8, 0.9, 2, HigherConfidence),
        (0.9, 0.7, 1, LowerConfidence),
        (0.9, 0.8, 1, LowerConfidence),
        (0.9, 0.9, 2, NewerSameConfidence),
    ] {
        let session = [fact(TEXT).confidence(new).entry(2)];
        let index = Index::new(Method::Semantic, &[fact(TEXT).confidence(old).entry(1)], &session);
        let plan = planned(&session, &index);
        let record = plan.merged().next().unwrap();
        assert_eq!((record.kept, record.reason), (id(kept), reason), "{old} {new}");
    }
    let text = serde_json::to_string(&MergeReason::OlderSameConfidence).unwrap();
    assert_eq!(text, r#""older+same_confidence""#);
}

// shows: MEM-080
#[test]
fn whoever_is_kept_carries_the_tags_of_both() {
    for (old, new, kept) in [(0.7, 0.9, 2), (0.9, 0.7, 1)] {
        let session = [fact(TEXT).tags(&["new", "net"]).confidence(new).entry(2)];
        let durable = [fact(TEXT).tags(&["old", "net"]).confidence(old).entry(1)];
        let plan = planned(&session, &Index::new(Method::Semantic, &durable, &session));
        assert_eq!(plan.tags[&id(kept)].iter().collect::<Vec<_>>(), ["net", "new", "old"]);
    }
}

// shows: MEM-071, MEM-F61
#[test]
fn an_entry_that_displaces_an_old_one_is_counted_once() {
    let session = [said(2)];
    let plan = planned(&session, &Index::new(Method::Semantic, &[said(1)], &session));
    assert_eq!(counts(&plan), (1, 0, 0));
    assert!(matches!(plan.decisions[..], [Decision::Promote { .. }, Decision::Displace(_)]));
}

// shows: MEM-037, MEM-F30
#[test]
fn what_the_stricter_gates_refuse_displaces_nothing() {
    let session = [fact(TEXT).confidence(0.55).entry(2)];
    let index = Index::new(Method::Semantic, &[fact(TEXT).confidence(0.52).entry(1)], &session);
    let plan = planned(&session, &index);
    assert_eq!(counts(&plan), (0, 0, 1));
    let refused = plan.decisions.iter().find_map(|d| match d {
        Decision::Reject { refusal, .. } => Some(refusal.gate),
        _ => None,
    });
    assert_eq!((refused, plan.merged().count()), (Some(GateName::Confidence), 0));
}

#[test]
fn type_and_scope_keep_entries_apart() {
    for other in [fact(TEXT).of_type(EntryType::Decision), fact(TEXT).scope(Scope::Global)] {
        let session = [other.entry(2)];
        let plan = planned(&session, &Index::new(Method::Semantic, &[said(1)], &session));
        assert_eq!((plan.merged().count(), plan.counts.promoted), (0, 1));
    }
}

#[test]
fn a_contradiction_is_kept_and_marked() {
    for (old, new, by, method) in [
        (
            "Root login is enabled on mars.",
            "Root login is disabled on mars.",
            Difference::Opposites,
            Method::Semantic,
        ),
        (
            "The sidecar listens on port 8384.",
            "The sidecar listens on port 8385.",
            Difference::Numbers,
            Method::Semantic,
        ),
        ("The port is 8384 there.", "The port is 8385 there.", Difference::Numbers, Method::Lexical),
    ] {
        let session = [fact(new).entry(2)];
        let mut index = Index::new(method, &[fact(old).entry(1)], &session);
        if method == Method::Semantic {
            index = index.alike(1, 2, 0.98);
        }
        let plan = planned(&session, &index);
        let conflict = Decision::Conflict { pair: (id(1), id(2)), by };
        assert!(plan.decisions.contains(&conflict) && plan.counts.promoted == 1, "{:?}", plan.decisions);
    }
}

#[test]
fn what_is_trusted_less_displaces_nothing() {
    let planted = fact(TEXT).confidence(1.0).trust(Trust::Untrusted).entry(2);
    let session = [planted];
    let durable = [fact(TEXT).confidence(0.7).trust(Trust::Trusted).entry(1)];
    let plan = planned(&session, &Index::new(Method::Semantic, &durable, &session));
    let record = plan.merged().next().unwrap();
    assert_eq!((record.kept, record.reason), (id(1), MergeReason::LessTrusted));
}

#[test]
fn outcomes_that_differ_by_one_number_are_all_promoted_ungated() {
    let outcome = Record::Outcome(serde_json::from_str::<OutcomeRecord>(r#"{"outcome":"kept"}"#).unwrap());
    let session = [1, 2].map(|n| fact("ok 1").record(outcome.clone()).entry(n));
    let plan = planned(&session, &Index::new(Method::Semantic, &[], &session));
    assert_eq!(counts(&plan), (2, 0, 0));
}

#[test]
fn nothing_to_do_is_an_empty_plan() {
    let plan = planned(&[], &Index::new(Method::Semantic, &[said(1)], &[]));
    assert!(plan.is_empty());
}

#[test]
fn comparisons_grow_with_the_batch_and_not_with_what_is_kept() {
    let durable: Vec<Entry> =
        (1..=400).map(|n| fact(&format!("Rule {n} of the house is kept in drawer {n}.")).entry(n)).collect();
    let session: Vec<Entry> = (401..=420)
        .map(|n| fact(&format!("Rule {n} of the house is kept in drawer {n}.")).entry(n))
        .collect();
    let plan = planned(&session, &Index::new(Method::Semantic, &durable, &session));
    assert!(plan.compared <= session.len() * NEIGHBOURS_MAX, "{}", plan.compared);
    assert_eq!(plan.counts.promoted, 20);
}

#[test]
fn merges_without_the_model_are_looked_at_again_with_it() {
    let likeness = |a: MemoryId, _| match a.number().get() {
        1 => Some(Similarity::new(0.85)),
        2 => Some(Similarity::new(0.3)),
        _ => None,
    };
    let again = review([(id(1), id(9)), (id(2), id(9)), (id(3), id(9))], likeness);
    assert_eq!(again, [Decision::Confirm { entry: id(1) }, Decision::Restore { entry: id(2) }]);
}

#[test]
fn a_large_run_is_written_in_parts_that_fit_a_line() {
    let record = MergeRecord {
        kept: id(u32::MAX),
        discarded: id(u32::MAX - 1),
        similarity: Similarity::new(0.123_456_789_012_345),
        reason: MergeReason::NewerSameConfidence,
        method: Method::Semantic,
    };
    // Each promotion with as many displacements as there can be.
    let group = || {
        [Decision::Promote { entry: id(1) }]
            .into_iter()
            .chain(vec![Decision::Displace(record.clone()); NEIGHBOURS_MAX])
    };
    let plan = Plan {
        method: Method::Semantic,
        decisions: (0..100).flat_map(|_| group()).collect(),
        counts: Counts::default(),
        tags: BTreeMap::new(),
        compared: 0,
    };
    let parts = plan.parts();
    assert_eq!(parts.concat(), plan.decisions);
    for part in parts {
        assert!(
            matches!(part[0], Decision::Promote { .. }) && matches!(part.last(), Some(Decision::Displace(_)))
        );
        let bytes = serde_json::to_string(part).unwrap().len();
        assert!(bytes < 60 * 1024, "{bytes}");
    }
}

fn any_batch() -> impl Strategy<Value = Vec<Entry>> {
    let text = prop_oneof![
        Just("The gateway listens on port 9096.".to_owned()),
        Just("The gateway listens on port 9097.".to_owned()),
        Just("the gateway listens on port 9096".to_owned()),
        Just("Let me check the logs.".to_owned()),
        Just("Ana prefers short answers in German.".to_owned()),
        Just("Ana never prefers short answers in German.".to_owned()),
        "[a-z ]{1,40}",
    ];
    let entry = (text, 0.0f64..=1.0, any::<bool>(), any::<bool>());
    prop::collection::vec(entry, 0..24).prop_map(|all| {
        let made = |(n, (text, confidence, global, decision)): (usize, (String, f64, bool, bool))| {
            let text = if text.trim().is_empty() { "x".to_owned() } else { text };
            let mut build: Build = fact(&text).confidence(confidence);
            if global {
                build = build.scope(Scope::Global);
            }
            if decision {
                build = build.of_type(EntryType::Decision);
            }
            build.entry(n as u32 + 1)
        };
        all.into_iter().enumerate().map(made).collect()
    })
}

proptest! {
    // shows: MEM-071
    #[test]
    fn every_entry_is_decided_once_in_any_batch_and_any_order(batch in any_batch(), split in 0usize..24, method in prop_oneof![Just(Method::Semantic), Just(Method::Lexical)]) {
        let (durable, session) = batch.split_at(split.min(batch.len()));
        let index = Index::new(method, durable, session);
        let plan = planned(session, &index);
        prop_assert!(plan.counts.balance());
        let mut decided: Vec<MemoryId> = plan.decisions.iter().filter_map(|decision| match decision {
            Decision::Promote { entry } | Decision::Reject { entry, .. } => Some(*entry),
            Decision::Merge(record) => Some(record.discarded),
            _ => None,
        }).collect();
        decided.sort_unstable();
        prop_assert_eq!(decided, session.iter().map(Entry::id).collect::<Vec<_>>());

        let mut backwards = session.to_vec();
        backwards.reverse();
        prop_assert_eq!(planned(&backwards, &index), plan);
    }

    #[test]
    fn what_is_discarded_has_a_survivor_that_is_not(batch in any_batch()) {
        let plan = planned(&batch, &Index::new(Method::Lexical, &[], &batch));
        let gone: BTreeSet<MemoryId> = plan.merged().map(|record| record.discarded).collect();
        prop_assert_eq!(gone.len(), plan.merged().count());
        for record in plan.merged() {
            let mut at = record.kept;
            for _ in 0..=batch.len() {
                match plan.merged().find(|record| record.discarded == at) {
                    Some(next) => at = next.kept,
                    None => break,
                }
            }
            prop_assert!(!gone.contains(&at));
        }
    }
}

// shows: MEM-038
#[test]
fn a_run_takes_the_gates_it_is_given() {
    let session = [build::fact("Let me check the logs.").entry(1)];
    let index = Index::new(Method::Semantic, &[], &session);
    let plan = plan(&session, &index, &Gates::only(Gate::Temporal)).unwrap();
    assert_eq!(plan.counts.promoted, 1);
}
