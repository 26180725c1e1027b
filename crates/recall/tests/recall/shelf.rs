//! A shelf in memory: each entry is a text and what a test says about it.

use std::cell::Cell;

use holdfast_recall::{Facts, Found, Marks, Query, Ranked, Shelf, Terms, Traits, rank};
use holdfast_types::{Timestamp, Trust};

pub(crate) struct Memory {
    pub(crate) facts: Vec<Facts>,
    texts: Vec<String>,
    pub(crate) closeness: Vec<Option<f64>>,
    /// How many windows were asked for.
    pub(crate) windows: Cell<usize>,
}

impl Memory {
    /// Entries 10, 20, 30 and so on, all of one moment and one source, without vectors.
    pub(crate) fn of(texts: &[&str]) -> Memory {
        let facts = (1_u64..).zip(texts).map(|(n, text)| Facts {
            seq: 10 * n,
            at: Some(time("2023-05-08T12:00:00")),
            source: Some(1),
            traits: Traits::of(text),
            labels: Marks::default(),
            trust: Trust::SemiTrusted,
            citations: 0,
            eligible: true,
        });
        Memory {
            facts: facts.collect(),
            texts: texts.iter().map(|t| t.to_lowercase()).collect(),
            closeness: vec![None; texts.len()],
            windows: Cell::new(0),
        }
    }

    pub(crate) fn with(mut self, place: usize, change: impl FnOnce(&mut Facts)) -> Memory {
        change(&mut self.facts[place]);
        self
    }

    /// Every entry is a candidate.
    pub(crate) fn ask(&self, question: &str) -> Vec<Ranked> {
        self.ask_at(question, None)
    }

    pub(crate) fn ask_at(&self, question: &str, now: Option<Timestamp>) -> Vec<Ranked> {
        let all: Vec<u64> = self.facts.iter().map(|f| f.seq).collect();
        rank(&Query::of(question, now), &Found { lexical: &all, vector: &[] }, self, &Terms::default())
    }

    /// The texts in their order, best first.
    pub(crate) fn order(&self, question: &str) -> Vec<u64> {
        self.ask(question).iter().map(|hit| hit.seq).collect()
    }

    fn has(&self, place: usize, word: &str) -> bool {
        self.texts[place].split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == word)
    }

    fn place(&self, seq: u64) -> Option<usize> {
        self.facts.iter().position(|f| f.seq == seq)
    }
}

impl Shelf for Memory {
    fn around(&self, seq: u64, reach: usize) -> Vec<Facts> {
        self.windows.set(self.windows.get() + 1);
        let Some(place) = self.place(seq) else { return Vec::new() };
        self.facts[place.saturating_sub(reach)..(place + reach + 1).min(self.facts.len())].to_vec()
    }

    fn rarity(&self, word: &str) -> f64 {
        if (0..self.texts.len()).any(|place| self.has(place, word)) { 3.0 } else { 0.0 }
    }

    fn word_scores(&self, word: &str, seqs: &[u64]) -> Vec<f64> {
        let score =
            |seq: &u64| self.place(*seq).map_or(0.0, |place| if self.has(place, word) { 3.0 } else { 0.0 });
        seqs.iter().map(score).collect()
    }

    fn closeness(&self, seqs: &[u64]) -> Vec<Option<f64>> {
        seqs.iter().map(|seq| self.closeness[self.place(*seq)?]).collect()
    }
}

/// "2023-05-08T12:00:00": the fraction every time is written with is added.
pub(crate) fn time(text: &str) -> Timestamp {
    format!("{text}.000000Z").parse().expect("a time")
}
