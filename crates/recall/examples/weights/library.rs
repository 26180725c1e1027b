//! The port over one set in memory, and the two searches that fill the candidate lists.

use holdfast_recall::{Facts, Found, Marks, Query, Ranked, Shelf, Terms, Traits, rank, spoken_part};
use holdfast_types::Trust;

use crate::data::Set;
use crate::lexicon::Lexicon;

pub(crate) struct Library<'a> {
    pub(crate) set: &'a Set,
    lexicon: Lexicon,
    facts: Vec<Facts>,
}

impl<'a> Library<'a> {
    pub(crate) fn new(set: &'a Set) -> Library<'a> {
        let lexicon = Lexicon::new(set.entries.iter().map(|e| spoken_part(&e.content)));
        let facts = (0_u64..).zip(&set.entries).map(|(seq, entry)| Facts {
            seq,
            at: entry.at,
            source: Some(entry.source),
            traits: Traits::of(&entry.content),
            labels: Marks::of(&entry.label),
            trust: Trust::SemiTrusted,
            citations: 0,
            eligible: true,
        });
        Library { set, lexicon, facts: facts.collect() }
    }

    /// BM25 over the words that bear on the question; those without any are left out.
    pub(crate) fn lexical(&self, question: usize) -> Vec<u64> {
        let query = Query::of(&self.set.questions[question].text, None);
        let score = |seq: u64| query.terms().iter().map(|t| self.lexicon.score(&t.word, seq)).sum::<f64>();
        let scored = (0..self.facts.len() as u64).map(|seq| (seq, score(seq))).filter(|(_, s)| *s > 0.0);
        best_first(scored.collect())
    }

    pub(crate) fn vector(&self, question: usize) -> Vec<u64> {
        best_first((0_u64..).zip(self.set.closeness[question].iter().copied()).collect())
    }

    pub(crate) fn hybrid(&self, question: usize, lists: &(Vec<u64>, Vec<u64>), terms: &Terms) -> Vec<Ranked> {
        let query = Query::of(&self.set.questions[question].text, None);
        let found = Found { lexical: &lists.0, vector: &lists.1 };
        rank(&query, &found, &Search { library: self, closeness: &self.set.closeness[question] }, terms)
    }
}

fn best_first(mut scored: Vec<(u64, f64)>) -> Vec<u64> {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().map(|(seq, _)| seq).collect()
}

struct Search<'a> {
    library: &'a Library<'a>,
    closeness: &'a [f64],
}

impl Shelf for Search<'_> {
    fn around(&self, seq: u64, reach: usize) -> Vec<Facts> {
        let place = seq as usize;
        let end = (place + reach + 1).min(self.library.facts.len());
        self.library.facts[place.saturating_sub(reach)..end].to_vec()
    }

    fn rarity(&self, word: &str) -> f64 {
        self.library.lexicon.rarity(word)
    }

    fn word_scores(&self, word: &str, seqs: &[u64]) -> Vec<f64> {
        self.library.lexicon.scores(word, seqs)
    }

    fn closeness(&self, seqs: &[u64]) -> Vec<Option<f64>> {
        seqs.iter().map(|&seq| Some(self.closeness[seq as usize])).collect()
    }
}
