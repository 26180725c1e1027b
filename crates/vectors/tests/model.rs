//! Any sequence of operations, beside a map that does the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::sync::LazyLock;

use holdfast_vectors::{Effort, How, Index, Query, Rebuilt, Vector};
use proptest::prelude::*;
use shared::{Truth, assert_same, key, open, plainly, threads, vectors};

static POOL: LazyLock<Vec<Vector>> = LazyLock::new(|| vectors(64, 3));

/// Keys, so few that they meet again.
const KEYS: u64 = 24;

#[derive(Clone, Debug)]
enum Step {
    Put(u64, usize),
    Forget(u64),
    Begin,
    Adopt,
    Reopen,
    Ask(usize, usize, Option<u64>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..KEYS, 0..64_usize).prop_map(|(key, vector)| Step::Put(key, vector)),
        2 => (0..KEYS).prop_map(Step::Forget),
        1 => Just(Step::Begin),
        1 => Just(Step::Adopt),
        1 => Just(Step::Reopen),
        3 => (0..64_usize, 0..30_usize, prop::option::of(0..KEYS)).prop_map(|(v, n, pin)| Step::Ask(v, n, pin)),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_index_answers_as_a_map_does_whatever_was_done_to_it(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut index, mut truth) = (Some(open(folder.path())), Truth::new());
        let mut made: Option<Rebuilt> = None;
        for step in steps {
            let open_index = index.as_mut().unwrap();
            match step {
                Step::Put(entry, n) => {
                    open_index.put(&[(key(entry), POOL[n].clone())]).unwrap();
                    truth.insert(key(entry), POOL[n].clone());
                }
                Step::Forget(entry) => {
                    let there = open_index.forget(&[key(entry)]).unwrap();
                    prop_assert_eq!(there, usize::from(truth.remove(&key(entry)).is_some()));
                }
                Step::Begin => {
                    drop(made.take());
                    let rebuild = open_index.begin_rebuild().unwrap().with_graph_beyond(3);
                    made = Some(rebuild.run(threads(1), &|| true).unwrap());
                }
                Step::Adopt => if let Some(rebuilt) = made.take() {
                    open_index.adopt(rebuilt).unwrap().shred().unwrap();
                },
                Step::Reopen => {
                    drop((made.take(), index.take()));
                    index = Some(open(folder.path()));
                }
                Step::Ask(n, limit, pin) => ask(open_index, &truth, &POOL[n], limit, pin),
            }
            let open_index = index.as_ref().unwrap();
            prop_assert_eq!(open_index.len(), truth.len());
            open_index.verify().unwrap();
        }
    }
}

fn ask(index: &Index, truth: &Truth, vector: &Vector, limit: usize, pin: Option<u64>) {
    let plain = plainly(truth, vector, limit, |key| pin.is_none_or(|pin| key.entry <= pin));
    for effort in [Effort::Exact, Effort::Usual] {
        let answer = index.search(&Query { upto: pin, effort, ..Query::nearest(vector, limit) }).unwrap();
        // A walk over so few that keeps more of them finds all.
        assert!(answer.how == How::Exact || effort == Effort::Usual);
        assert_same(&answer.hits, &plain);
    }
    let keys: Vec<_> = truth.keys().copied().chain([key(KEYS + 1)]).collect();
    let ranked = index.rank(vector, &keys, pin).unwrap();
    assert_same(&ranked[..limit.min(ranked.len())], &plain);
}
