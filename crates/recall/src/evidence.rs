//! What the indexes say of each entry of the field, made safe to calculate with.

use crate::field::Field;
use crate::query::Query;
use crate::shelf::Shelf;

/// A word's score is at most its rarity times a small factor; more is a broken index.
const WORD_SCORE_MAX: f64 = 1000.0;

#[derive(Debug)]
pub(crate) struct Evidence {
    /// One for each term of the query, in its order.
    pub(crate) words: Vec<WordEvidence>,
    /// The cosine to the query for each entry; `None` without a vector.
    pub(crate) closeness: Vec<Option<f64>>,
}

#[derive(Debug)]
pub(crate) struct WordEvidence {
    pub(crate) rarity: f64,
    pub(crate) scores: Vec<f64>,
}

impl Evidence {
    pub(crate) fn collect(query: &Query, field: &Field, shelf: &impl Shelf) -> Evidence {
        let seqs = field.seqs();
        let words =
            query.terms().iter().map(|term| WordEvidence::collect(&term.word, &seqs, shelf)).collect();
        let mut closeness = shelf.closeness(&seqs);
        closeness.resize(seqs.len(), None);
        for cosine in &mut closeness {
            *cosine = cosine.filter(|c| c.is_finite()).map(|c| c.clamp(-1.0, 1.0));
        }
        Evidence { words, closeness }
    }
}

impl WordEvidence {
    fn collect(word: &str, seqs: &[u64], shelf: &impl Shelf) -> WordEvidence {
        let rarity = sound(shelf.rarity(word));
        let mut scores = if rarity > 0.0 { shelf.word_scores(word, seqs) } else { Vec::new() };
        scores.resize(seqs.len(), 0.0);
        for score in &mut scores {
            *score = sound(*score);
        }
        WordEvidence { rarity, scores }
    }
}

fn sound(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, WORD_SCORE_MAX) } else { 0.0 }
}
