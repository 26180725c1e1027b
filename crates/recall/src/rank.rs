//! From candidate lists to hits in their order, each explained.

use std::fmt;

use crate::evidence::Evidence;
use crate::field::Field;
use crate::query::Query;
use crate::shelf::Shelf;
use crate::signals::View;
use crate::terms::Terms;

/// What the two indexes found, best first. Only the sequence numbers matter: scores are asked of the [`Shelf`], for these and
/// for what stands beside them. Each list should have [`LIST_LEN`](crate::LIST_LEN) entries; of one more than twice as long the
/// rest is not looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found<'a> {
    pub lexical: &'a [u64],
    pub vector: &'a [u64],
}

/// A hit, with what made it one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub seq: u64,
    pub score: Score,
    pub parts: Parts,
}

/// What was weighed. The order is the one in which people are shown the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Words,
    Meaning,
    Surroundings,
    Answer,
    Speaker,
    Voice,
    When,
    Period,
    Slight,
    Citations,
    Trust,
    Recency,
}

/// A score in whole millionths, so that equal is equal everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(i64);

/// The share of each signal; they add up to the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Score; Signal::ALL.len()]);

/// The candidates and their tied neighbours that may be shown, best first; equal scores go to the smaller `seq`.
pub fn rank(query: &Query, found: &Found<'_>, shelf: &impl Shelf, terms: &Terms) -> Vec<Ranked> {
    let field = Field::gather(found, shelf);
    let evidence = Evidence::collect(query, &field, shelf);
    let view = View::new(query, &field, &evidence);
    let judged = (0..field.entries.len()).filter(|&i| field.entries[i].judged);
    let mut hits: Vec<Ranked> = judged.map(|i| hit(field.entries[i].facts.seq, &view, i, terms)).collect();
    hits.sort_unstable_by_key(|hit| (std::cmp::Reverse(hit.score), hit.seq));
    hits
}

fn hit(seq: u64, view: &View<'_>, index: usize, terms: &Terms) -> Ranked {
    let parts = Parts(Signal::ALL.map(|signal| Score::of(signal.weight(terms) * view.see(signal, index))));
    Ranked { seq, score: parts.sum(), parts }
}

impl Signal {
    pub const ALL: [Signal; 12] = [
        Signal::Words,
        Signal::Meaning,
        Signal::Surroundings,
        Signal::Answer,
        Signal::Speaker,
        Signal::Voice,
        Signal::When,
        Signal::Period,
        Signal::Slight,
        Signal::Citations,
        Signal::Trust,
        Signal::Recency,
    ];

    /// What a person is told who asks why a hit is one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Signal::Words => "its words, or those beside it",
            Signal::Meaning => "its meaning",
            Signal::Surroundings => "the meaning of what stands beside it",
            Signal::Answer => "it answers such a question",
            Signal::Speaker => "who speaks, or a label",
            Signal::Voice => "who seems to speak",
            Signal::When => "it tells a time",
            Signal::Period => "it is of that time",
            Signal::Slight => "it says little",
            Signal::Citations => "it was cited",
            Signal::Trust => "it is trusted",
            Signal::Recency => "it is recent",
        }
    }

    const fn weight(self, terms: &Terms) -> f64 {
        match self {
            Signal::Words => terms.words,
            Signal::Meaning => terms.meaning,
            Signal::Surroundings => terms.surroundings,
            Signal::Answer => terms.answer,
            Signal::Speaker => terms.speaker,
            Signal::Voice => terms.voice,
            Signal::When => terms.when,
            Signal::Period => terms.period,
            Signal::Slight => terms.slight,
            Signal::Citations => terms.citations,
            Signal::Trust => terms.trust,
            Signal::Recency => terms.recency,
        }
    }
}

impl Score {
    const MILLIONTHS: f64 = 1e6;

    /// Weights come from settings: what is no number counts as nothing, and what is too large is held.
    fn of(value: f64) -> Score {
        const MAX: f64 = 1e6;
        let bounded = if value.is_nan() { 0.0 } else { value.clamp(-MAX, MAX) };
        Score((bounded * Score::MILLIONTHS).round() as i64)
    }

    pub const fn millionths(self) -> i64 {
        self.0
    }

    pub fn value(self) -> f64 {
        self.0 as f64 / Score::MILLIONTHS
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.value())
    }
}

impl Parts {
    pub fn share(&self, signal: Signal) -> Score {
        self.0[signal as usize]
    }

    /// The signals that counted, the strongest first, whether for or against.
    pub fn strongest(&self) -> Vec<(Signal, Score)> {
        let mut shares: Vec<_> =
            Signal::ALL.into_iter().zip(self.0).filter(|(_, share)| share.0 != 0).collect();
        shares.sort_by_key(|(signal, share)| (std::cmp::Reverse(share.0.abs()), *signal as usize));
        shares
    }

    fn sum(&self) -> Score {
        Score(self.0.iter().map(|part| part.0).sum())
    }
}
