//! How alike two texts are by their words, and the number such a likeness is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::words::words;

/// From 0 to 1, never a NaN.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Similarity(f64);

impl Similarity {
    pub const NONE: Similarity = Similarity(0.0);

    /// What is no number is no likeness, and rounding beyond the ends is held there.
    pub fn new(value: f64) -> Similarity {
        if value.is_nan() { Similarity::NONE } else { Similarity(value.clamp(0.0, 1.0) + 0.0) }
    }

    pub fn get(self) -> f64 {
        self.0
    }

    /// Millionths: what is logged, hashed and compared, so that two machines agree.
    pub fn millionths(self) -> u32 {
        (self.0 * 1e6).round() as u32
    }
}

impl Eq for Similarity {}

impl PartialOrd for Similarity {
    fn partial_cmp(&self, other: &Similarity) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Similarity {
    fn cmp(&self, other: &Similarity) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl std::fmt::Debug for Similarity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl From<f64> for Similarity {
    fn from(value: f64) -> Similarity {
        Similarity::new(value)
    }
}

impl From<Similarity> for f64 {
    fn from(similarity: Similarity) -> f64 {
        similarity.0
    }
}

/// The cosine of two vectors. Vectors of unequal or no length are not alike.
pub fn cosine(a: &[f32], b: &[f32]) -> Similarity {
    if a.len() != b.len() {
        return Similarity::NONE;
    }
    let (mut dot, mut aa, mut bb) = (0.0f64, 0.0f64, 0.0f64);
    for (&x, &y) in a.iter().zip(b) {
        let (x, y) = (f64::from(x), f64::from(y));
        dot += x * y;
        aa += x * x;
        bb += y * y;
    }
    let length = (aa * bb).sqrt();
    if length > 0.0 { Similarity::new(dot / length) } else { Similarity::NONE }
}

/// The words of a text as a set: what [`jaccard`] compares.
pub fn word_set(text: &str) -> BTreeSet<String> {
    words(text).into_iter().collect()
}

/// Shared words as a part of all words. Short words count: "no" turns a sentence round. Two empty sets are not alike.
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Similarity {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { Similarity::NONE } else { Similarity::new(shared as f64 / all as f64) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn likeness(a: &str, b: &str) -> f64 {
        jaccard(&word_set(a), &word_set(b)).get()
    }

    // shows: MEM-085, MEM-F37
    #[test]
    fn no_words_are_not_alike_and_short_words_count() {
        assert_eq!(likeness("", ""), 0.0);
        assert_eq!(likeness("… !", "?"), 0.0);
        assert!(likeness("no root login", "root login") < 0.8);
        assert_eq!(likeness("Root, LOGIN!", "root login"), 1.0);
        assert!(likeness("a b", "c d") < 0.1);
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_not_alike() {
        assert_eq!(cosine(&[], &[]), Similarity::NONE);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), Similarity::NONE);
        assert_eq!(cosine(&[1.0], &[1.0, 0.0]), Similarity::NONE);
        assert_eq!(cosine(&[f32::NAN], &[1.0]), Similarity::NONE);
        assert_eq!(cosine(&[f32::MAX], &[f32::MAX]).get(), 1.0);
        assert_eq!(cosine(&[3.0, 4.0], &[3.0, 4.0]).get(), 1.0);
    }

    proptest! {
        #[test]
        fn likeness_is_symmetric_and_bounded(a in ".{0,80}", b in ".{0,80}") {
            prop_assert_eq!(likeness(&a, &b), likeness(&b, &a));
            prop_assert!((0.0..=1.0).contains(&likeness(&a, &b)));
            prop_assert!(word_set(&a).is_empty() || likeness(&a, &a) == 1.0);
        }
    }
}
