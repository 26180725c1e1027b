//! Whatever the lists and the port say: bounded work, sound scores, one order.

use crate::shelf::Memory;
use holdfast_recall::{Facts, Found, LIST_LEN, Query, Shelf, Signal, Terms, rank};
use proptest::prelude::*;

#[test]
fn nothing_found_is_no_hits() {
    let memory = Memory::of(&[]);
    assert!(memory.ask("anything").is_empty());
    assert!(
        rank(&Query::of("", None), &Found { lexical: &[7], vector: &[8] }, &memory, &Terms::default())
            .is_empty()
    );
}

#[test]
fn equal_entries_are_ordered_by_their_number() {
    let order = Memory::of(&["The limit.", "The limit.", "The limit."]).order("limit");
    assert_eq!(order, [10, 20, 30]);
}

#[test]
fn endless_lists_cost_a_bounded_number_of_looks() {
    let memory = Memory::of(&["The limit."]);
    let endless: Vec<u64> = (0..1_000_000).collect();
    let found = Found { lexical: &endless, vector: &endless };
    rank(&Query::of("limit", None), &found, &memory, &Terms::default());
    assert!(memory.windows.get() <= 4 * LIST_LEN);
}

#[test]
fn the_order_of_the_lists_and_what_is_in_both_change_nothing() {
    let memory = Memory::of(&["I like my piano.", "You like my cello?", "I do.", "The limit."]);
    let query = Query::of("Who likes the cello?", None);
    let ask = |lexical: &[u64], vector: &[u64]| {
        rank(&query, &Found { lexical, vector }, &memory, &Terms::default())
    };
    let once = ask(&[10, 20], &[40]);
    assert_eq!(once, ask(&[20, 10, 20], &[40, 10]));
    assert_eq!(once, ask(&[40], &[10, 20]));
}

/// A port that answers anything at all.
#[derive(Debug)]
struct Broken {
    facts: Vec<Facts>,
    numbers: Vec<f64>,
}

impl Shelf for Broken {
    fn around(&self, _: u64, _: usize) -> Vec<Facts> {
        self.facts.clone()
    }
    fn rarity(&self, word: &str) -> f64 {
        self.numbers.get(word.len()).copied().unwrap_or(f64::NAN)
    }
    fn word_scores(&self, _: &str, _: &[u64]) -> Vec<f64> {
        self.numbers.clone()
    }
    fn closeness(&self, _: &[u64]) -> Vec<Option<f64>> {
        self.numbers.iter().map(|n| Some(*n)).collect()
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), -2.0..2.0]
}

fn any_facts() -> impl Strategy<Value = Facts> {
    (0_u64..50, "(Ann: )?(Hey|The) [a-z ]{0,20}\\??", any::<u32>(), any::<bool>()).prop_map(
        |(seq, text, n, eligible)| {
            let memory = Memory::of(&[&text]);
            Facts { seq, citations: n, source: Some(u64::from(n % 3)), eligible, ..memory.facts[0] }
        },
    )
}

proptest! {
    #[test]
    fn a_port_that_lies_never_breaks_a_score(
        facts in prop::collection::vec(any_facts(), 0..40),
        numbers in prop::collection::vec(any_number(), 0..60),
        seqs in prop::collection::vec(0_u64..50, 0..20),
        question in ".{0,60}",
        weight in any_number(),
    ) {
        let shelf = Broken { facts, numbers };
        let terms = Terms { words: weight, meaning: weight, ..Terms::default() };
        let found = Found { lexical: &seqs, vector: &seqs };
        let hits = rank(&Query::of(&question, None), &found, &shelf, &terms);
        for pair in hits.windows(2) {
            prop_assert!((pair[1].score, pair[0].seq) < (pair[0].score, pair[1].seq));
        }
        for hit in &hits {
            let sum: i64 = Signal::ALL.iter().map(|s| hit.parts.share(*s).millionths()).sum();
            prop_assert_eq!(sum, hit.score.millionths());
            prop_assert!(shelf.facts.iter().any(|f| f.seq == hit.seq));
        }
        prop_assert_eq!(hits, rank(&Query::of(&question, None), &found, &shelf, &terms));
    }

    #[test]
    fn any_text_can_be_a_question_and_an_entry(text in ".{0,300}") {
        Query::of(&text, None);
        Memory::of(&[&text]).ask(&text);
    }
}
