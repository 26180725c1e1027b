//! Texts, and an index that is slow and plain.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_concordance::{Bm25, Concordance, Hit, Query, Wanted, analyse};
use holdfast_testkit::Rng;

pub(crate) fn open(path: &Path) -> Concordance {
    Concordance::open(path, Bm25::default()).unwrap()
}

pub(crate) fn put(index: &Concordance, seq: u64, text: &str) {
    index.add(seq, text).unwrap();
}

/// A word of a vocabulary in which few words are common and most are rare.
pub(crate) fn word(rng: &mut Rng) -> String {
    const COMMON: [&str; 12] = [
        "the",
        "of",
        "server",
        "disk",
        "is",
        "not",
        "restarted",
        "backup",
        "Caroline's",
        "a",
        "log_file",
        "to",
    ];
    match rng.below(10) {
        0..5 => COMMON[(rng.below(12) * rng.below(12) / 12) as usize].to_owned(),
        5..9 => {
            let bits = rng.below(9);
            format!("w{}", rng.below(1 << bits))
        }
        _ => format!("host{}.example.com", rng.below(50)),
    }
}

pub(crate) fn sentence(rng: &mut Rng, words: u64) -> String {
    (0..words).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

/// Short ones, long ones, and some that are one word over and over.
pub(crate) fn entry(rng: &mut Rng) -> String {
    let words = match rng.below(20) {
        0 => rng.below(3),
        1 => rng.range(100..400),
        2 => return format!("{} ", word(rng)).repeat(rng.range(1..40) as usize),
        _ => rng.range(3..50),
    };
    sentence(rng, words)
}

pub(crate) fn ids_of(hits: &[Hit]) -> Vec<(u64, f64)> {
    hits.iter().map(|hit| (hit.id, hit.score.as_f64())).collect()
}

/// Scores every entry, from the formula in `score.rs` and from nothing else of the index.
pub(crate) struct Plain {
    bm25: Bm25,
    entries: BTreeMap<u64, (BTreeMap<String, u32>, u32)>,
}

impl Plain {
    pub(crate) fn new(bm25: Bm25) -> Plain {
        Plain { bm25, entries: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, id: u64, text: &str) {
        let analysed = analyse(text);
        if analysed.words == 0 {
            return;
        }
        let mut counts = BTreeMap::new();
        analysed.tokens.into_iter().for_each(|token| *counts.entry(token.term).or_insert(0) += 1);
        self.entries.insert(id, (counts, coarse(analysed.words)));
    }

    pub(crate) fn erase(&mut self, ids: &[u64]) {
        ids.iter().for_each(|id| drop(self.entries.remove(id)));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        self.entries.contains_key(&id)
    }

    /// Every entry that has more than nothing, the best first.
    pub(crate) fn ranked(&self, query: &Query) -> Vec<(u64, f64)> {
        let n = self.entries.len() as f64;
        let words: u64 = self.entries.values().map(|(_, len)| u64::from(*len)).sum();
        let average = (words as f64 / n.max(1.0)).max(1.0);
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        let (k1, b) = (self.bm25.k1(), self.bm25.b());
        for Wanted { term, share, is_common } in query.wanted() {
            let df = self.entries.values().filter(|(counts, _)| counts.contains_key(term)).count() as f64;
            let idf = ((n + 1.0) / (df + 0.5)).ln().max(0.0);
            let weight = idf * (k1 + 1.0) * share * if *is_common { self.bm25.common() } else { 1.0 };
            let weight = (weight * 16384.0).floor() as u64;
            for (id, (counts, len)) in &self.entries {
                let Some(tf) = counts.get(term).map(|tf| f64::from((*tf).min(15))) else { continue };
                let k = k1 * (1.0 - b + b * f64::from(*len) / average);
                *sums.entry(*id).or_default() += (weight * ((tf / (tf + k)) * 16384.0).floor() as u64) >> 12;
            }
        }
        let mut ranked: Vec<(u64, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
        ranked.sort_by_key(|(id, sum)| (std::cmp::Reverse(*sum), *id));
        ranked.into_iter().map(|(id, sum)| (id, sum as f64 / 65536.0)).collect()
    }
}

fn coarse(words: u32) -> u32 {
    if words < 128 { words } else { words >> (words.ilog2() - 4) << (words.ilog2() - 4) }
}
