//! A question: its terms in order, each once, with how much it is asked for.

use crate::analyse::stop::is_common;
use crate::analyse::{Place, each_term};

/// Terms of one question. A whole page may be asked with; what it has beyond is not looked for, and [`Query::is_cut`] tells.
pub const TERMS_MAX: usize = 128;

/// A term that is asked for several times counts so many times at most.
const ASKED_MAX: f64 = 4.0;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    terms: Vec<Wanted>,
    /// Indexes into `terms`, word by word; the parts of one word are not in it, only what comes first.
    words: Vec<usize>,
    cut: bool,
}

/// A term that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub term: String,
    /// How often it is asked for, or which share of its weight it has; above 0, at most 4.
    pub share: f64,
    /// It is one of the commonest words, which weigh little.
    pub is_common: bool,
}

impl Query {
    /// The terms of a text, as those of an entry are found.
    pub fn of(text: &str) -> Query {
        let mut query = Query::default();
        each_term(text, |term, place| {
            let at = query.put(term, 1.0);
            if let (Some(at), Place::Next) = (at, place) {
                query.words.push(at);
            }
        });
        query
    }

    /// Asks for one more term (as [`analyse`](crate::analyse()) gives them), with so much of the weight it would have; for words that came from
    /// elsewhere than the question.
    #[must_use]
    pub fn also(mut self, term: &str, share: f64) -> Query {
        if share.is_finite() && share > 0.0 {
            self.put(term, share);
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// There were more terms than are looked for.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The terms, each once, in the order they were asked for.
    pub fn wanted(&self) -> &[Wanted] {
        &self.terms
    }

    /// Which term each word of the question is.
    pub(crate) fn words(&self) -> &[usize] {
        &self.words
    }

    fn put(&mut self, term: &str, share: f64) -> Option<usize> {
        if let Some(at) = self.terms.iter().position(|wanted| wanted.term == term) {
            let wanted = &mut self.terms[at];
            wanted.share = (wanted.share + share).min(ASKED_MAX);
            return Some(at);
        }
        if self.terms.len() == TERMS_MAX {
            self.cut = true;
            return None;
        }
        self.terms.push(Wanted {
            term: term.to_owned(),
            share: share.min(ASKED_MAX),
            is_common: is_common(term),
        });
        Some(self.terms.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_is_asked_for_twice_is_one_that_counts_twice() {
        let query = Query::of("restart the proxy, then restart it")
            .also("cach", 0.5)
            .also("restart", 9.0)
            .also("x", f64::NAN);
        assert_eq!(
            query.wanted().iter().map(|wanted| wanted.term.as_str()).collect::<Vec<_>>(),
            ["restart", "the", "proxi", "then", "it", "cach"]
        );
        let shares: Vec<f64> = query.wanted().iter().map(|wanted| wanted.share).collect();
        assert_eq!(shares, [4.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
        assert_eq!(query.words(), [0, 1, 2, 3, 0, 4]);
        assert!(query.wanted()[1].is_common && !query.wanted()[0].is_common);
    }

    #[test]
    fn a_whole_page_is_asked_with_its_first_terms_and_says_so() {
        let page: String = (0..1000).map(|n| format!("w{n}x ")).collect();
        let query = Query::of(&page);
        assert_eq!((query.wanted().len(), query.is_cut()), (TERMS_MAX, true));
        assert!(!Query::of("short").is_cut());
    }
}
