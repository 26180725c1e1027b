//! Vectors and indexes that the tests share, and a search so plain that it cannot be wrong.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use holdfast_testkit::made::{Made, WIDTH};
use holdfast_vectors::{Answer, Effort, Hit, Index, Key, Model, Query, Vector};

pub const MODEL: Model = Model([0x5a; 32]);

pub fn key(entry: u64) -> Key {
    Key { entry, chunk: 0 }
}

/// The first vectors of a seed.
pub fn vectors(count: usize, seed: u64) -> Vec<Vector> {
    let mut made = Made::new(count, seed);
    let mut one = [0.0; WIDTH];
    let next = |_| {
        made.next(&mut one);
        Vector::new(&one).unwrap()
    };
    (0..count).map(next).collect()
}

/// Under the keys 0, 1, 2, …
pub fn keyed(vectors: &[Vector]) -> Vec<(Key, Vector)> {
    vectors.iter().zip(0..).map(|(vector, entry)| (key(entry), vector.clone())).collect()
}

pub fn open(folder: &Path) -> Index {
    Index::open(folder, MODEL).unwrap()
}

/// What the index should hold.
pub type Truth = BTreeMap<Key, Vector>;

/// The nearest by a plain sum in doubles, of what a filter lets through.
pub fn plainly(
    truth: &Truth,
    vector: &Vector,
    limit: usize,
    counts: impl Fn(Key) -> bool,
) -> Vec<(Key, f64)> {
    let product = |other: &Vector| -> f64 {
        vector.numbers().iter().zip(other.numbers()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let counted = truth.iter().filter(|(key, _)| counts(**key));
    let mut all: Vec<(Key, f64)> = counted.map(|(key, other)| (*key, product(other))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(limit);
    all
}

/// That hits are what the plain search found: the same scores place by place, and the same keys where no other is as near.
#[track_caller]
pub fn assert_same(hits: &[Hit], plainly: &[(Key, f64)]) {
    const ROUNDING: f64 = 1e-6;
    assert_eq!(hits.len(), plainly.len(), "{hits:?} {plainly:?}");
    for (place, (hit, (key, score))) in hits.iter().zip(plainly).enumerate() {
        assert!(
            (f64::from(hit.score) - score).abs() < ROUNDING,
            "place {place}: {hit:?}, not {key:?} {score}"
        );
        let near = |other: &(Key, f64)| (other.1 - score).abs() < ROUNDING;
        let alone = plainly.iter().filter(|other| near(other)).count() == 1 && place + 1 < plainly.len();
        assert!(!alone || hit.key == *key, "place {place}: {hit:?}, not {key:?} {score}");
    }
}

/// Rebuilds in this thread and switches.
pub fn rebuild(index: &mut Index, graph_beyond: usize) {
    let rebuild = index.begin_rebuild().unwrap().with_graph_beyond(graph_beyond);
    let rebuilt = rebuild.run(threads(1), &|| true).unwrap();
    index.adopt(rebuilt).unwrap().shred().unwrap();
}

pub fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

pub fn exactly(index: &Index, vector: &Vector, limit: usize) -> Answer {
    index.search(&Query { effort: Effort::Exact, ..Query::nearest(vector, limit) }).unwrap()
}

/// An index over these vectors with a base and a graph.
pub fn with_graph(folder: &Path, vectors: &[Vector]) -> Index {
    let mut index = open(folder);
    index.put(&keyed(vectors)).unwrap();
    rebuild(&mut index, 0);
    index
}
