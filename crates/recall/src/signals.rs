//! What each signal sees in an entry, before it is weighed: mostly 0 to 1.

use std::time::Duration;

use holdfast_types::Trust;

use crate::evidence::Evidence;
use crate::field::{Entry, Field, LENT_REACH};
use crate::query::Query;
use crate::rank::Signal;

/// What a word is worth at a place before (index 0: directly before) or after the entry, of what it is worth within. Set by the
/// learnt weights of single places; what precedes an answer says more about it than what follows.
const LENT_BEFORE: [f64; 3] = [0.7, 0.45, 0.25];
const LENT_AFTER: [f64; 3] = [0.4, 0.4, 0.2];
/// The same for the words of a question that stands directly before.
const LENT_BY_QUESTION: f64 = 0.9;

/// Closeness of the entries beside it. The one directly before counts only when it asks, as a signal of its own: learnt, its
/// weight without that was none.
const NEAR_BEFORE_2: f64 = 0.4;
const NEAR_AFTER_1: f64 = 0.4;
const NEAR_AFTER_2: f64 = 0.15;

/// The cosine that texts without anything in common have with this model; an entry without a vector is taken for one.
const CLOSENESS_OF_STRANGERS: f64 = 0.12;

/// Added to the rarity of the whole query, so that one common word found does not count as everything found.
const RARITY_FLOOR: f64 = 1.0;

/// What hearing a name says about the speaker fades by this with each turn.
const VOICE_FADES: f64 = 0.8;

/// Words at which a spoken entry is half as slight as an empty one.
const SLIGHT_WORDS: f64 = 6.0;

/// The bits of a count of citations above which more do not count: 31.
const CITATION_BITS_MAX: u32 = 5;

const RECENCY_HALF: Duration = Duration::from_secs(30 * 86_400);

/// Everything the signals look at in one search.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) query: &'a Query,
    pub(crate) field: &'a Field,
    pub(crate) evidence: &'a Evidence,
    /// For each term: whether an entry of the field has it as its speaker or as a label.
    labels: Vec<bool>,
    rarity: f64,
}

impl<'a> View<'a> {
    pub(crate) fn new(query: &'a Query, field: &'a Field, evidence: &'a Evidence) -> View<'a> {
        let labels =
            query.terms().iter().map(|t| field.entries.iter().any(|e| e.facts.is_labelled(t.mark))).collect();
        let rarity = evidence.words.iter().map(|w| w.rarity).sum::<f64>() + RARITY_FLOOR;
        View { query, field, evidence, labels, rarity }
    }

    pub(crate) fn see(&self, signal: Signal, index: usize) -> f64 {
        let entry = &self.field.entries[index];
        match signal {
            Signal::Words => self.words(index),
            Signal::Meaning => self.closeness(index),
            Signal::Surroundings => self.surroundings(index),
            Signal::Answer => self.answer(index),
            Signal::Speaker => self.speaker(entry),
            Signal::Voice => self.voice(entry, index),
            Signal::When => truth(self.query.asks_when && entry.facts.traits.tells_time),
            Signal::Period => {
                self.query.period.zip(entry.facts.at).map_or(0.0, |(period, at)| period.fit(at))
            }
            Signal::Slight => {
                entry.conversation * SLIGHT_WORDS / (SLIGHT_WORDS + f64::from(entry.facts.traits.words))
            }
            Signal::Citations => {
                f64::from(citation_bits(entry.facts.citations)) / f64::from(CITATION_BITS_MAX)
            }
            Signal::Trust => trust(entry.facts.trust),
            Signal::Recency => self.recency(entry),
        }
    }

    /// Each word of the query counts once, where it stands closest.
    fn words(&self, index: usize) -> f64 {
        let found: f64 = self.evidence.words.iter().map(|word| self.closest(&word.scores, index)).sum();
        found / self.rarity
    }

    fn closest(&self, scores: &[f64], index: usize) -> f64 {
        self.field.beside(index, LENT_REACH).fold(scores[index], |best, beside| {
            let place = beside.offset.unsigned_abs() - 1;
            let lent = match beside.offset {
                -1 if self.field.entries[beside.index].facts.traits.asks => LENT_BY_QUESTION,
                ..0 => LENT_BEFORE.get(place).copied().unwrap_or(0.0),
                _ => LENT_AFTER.get(place).copied().unwrap_or(0.0),
            };
            best.max(lent * beside.tie * scores[beside.index])
        })
    }

    fn closeness(&self, index: usize) -> f64 {
        self.evidence.closeness[index].map_or(0.0, |cosine| cosine - CLOSENESS_OF_STRANGERS)
    }

    fn surroundings(&self, index: usize) -> f64 {
        let share = |offset: isize| match offset {
            -2 => NEAR_BEFORE_2,
            1 => NEAR_AFTER_1,
            2 => NEAR_AFTER_2,
            _ => 0.0,
        };
        self.field.beside(index, 2).map(|b| share(b.offset) * b.tie * self.closeness(b.index)).sum()
    }

    fn answer(&self, index: usize) -> f64 {
        let asked = self.field.beside(index, 1).find(|b| b.offset == -1);
        let asked = asked.filter(|b| self.field.entries[b.index].facts.traits.asks);
        asked.map_or(0.0, |b| b.tie * self.closeness(b.index))
    }

    fn speaker(&self, entry: &Entry) -> f64 {
        truth(self.query.terms().iter().any(|term| entry.facts.is_labelled(term.mark)))
    }

    /// In a conversation of two, who is called by name in one turn speaks in the next and spoke in the one before.
    fn voice(&self, entry: &Entry, index: usize) -> f64 {
        let unlabelled = self.query.terms().iter().zip(&self.evidence.words).zip(&self.labels);
        let names = unlabelled.filter(|((term, _), labelled)| term.is_name && !**labelled);
        names.map(|((_, word), _)| self.called(&word.scores, entry, index)).sum::<f64>().clamp(-1.0, 1.0)
    }

    fn called(&self, scores: &[f64], entry: &Entry, index: usize) -> f64 {
        let here = -entry.conversation * truth(scores[index] > 0.0);
        self.field.beside(index, LENT_REACH).fold(here, |sum, beside| {
            let turns = beside.offset.unsigned_abs();
            let fades = (0..turns).fold(1.0, |f, _| f * VOICE_FADES);
            let sign = if turns.is_multiple_of(2) { -1.0 } else { 1.0 };
            sum + sign * fades * beside.tie * truth(scores[beside.index] > 0.0)
        })
    }

    fn recency(&self, entry: &Entry) -> f64 {
        let age = self.query.now.zip(entry.facts.at).map(|(now, at)| now.since(at).as_secs_f64());
        age.map_or(0.0, |age| 1.0 / (1.0 + age / RECENCY_HALF.as_secs_f64()))
    }
}

/// The whole part of the logarithm of one more than the count: the same on every machine.
fn citation_bits(citations: u32) -> u32 {
    citations.saturating_add(1).ilog2().min(CITATION_BITS_MAX)
}

fn trust(trust: Trust) -> f64 {
    match trust {
        Trust::Disposable => 0.0,
        Trust::Untrusted => 0.25,
        Trust::SemiTrusted => 0.5,
        Trust::Trusted => 0.75,
        Trust::Admin => 1.0,
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}
