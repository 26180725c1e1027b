//! Entries with their terms, on their way into a segment: added one by one, taken from segments that are merged, or kept while others go.

use std::collections::HashMap;

use crate::analyse::Place;
use crate::list::DOCS_MAX;
use crate::score::class_of;

/// Terms of one segment. It bounds what a merge or an erasure has to hold in memory and to write anew: some dozens of megabytes.
pub(crate) const TOKENS_MAX: usize = 6 << 20;

/// Entries in the order of their ids, each as the sequence of its terms.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) ids: Vec<u64>,
    /// The length class of each.
    pub(crate) lengths: Vec<u8>,
    /// Where the tokens of each end.
    pub(crate) ends: Vec<u32>,
    pub(crate) tokens: Vec<Token>,
    vocabulary: HashMap<Box<str>, u32>,
}

/// One term of an entry: the number of the term, and whether it stands at the word before it, in the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u32);

impl Token {
    pub(crate) fn new(number: u32, place: Place) -> Token {
        Token(number << 1 | u32::from(place == Place::Same))
    }

    pub(crate) fn number(self) -> u32 {
        self.0 >> 1
    }

    pub(crate) fn place(self) -> Place {
        if self.0 & 1 == 1 { Place::Same } else { Place::Next }
    }
}

impl Gathered {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether so many more tokens of one more entry have room.
    pub(crate) fn has_room(&self, tokens: usize) -> bool {
        self.len() < DOCS_MAX && (self.is_empty() || self.tokens.len() + tokens <= TOKENS_MAX)
    }

    pub(crate) fn number_of(&mut self, term: &str) -> u32 {
        if let Some(number) = self.vocabulary.get(term) {
            return *number;
        }
        let number = self.vocabulary.len() as u32;
        self.vocabulary.insert(term.into(), number);
        number
    }

    pub(crate) fn known_number_of(&self, term: &str) -> Option<u32> {
        self.vocabulary.get(term).copied()
    }

    /// Adds an entry whose id is above all others.
    pub(crate) fn push(&mut self, id: u64, tokens: impl Iterator<Item = Token>) {
        let from = self.tokens.len();
        self.tokens.extend(tokens);
        let words = self.tokens[from..].iter().filter(|token| token.place() == Place::Next).count();
        self.ids.push(id);
        self.lengths.push(class_of(words as u32));
        self.ends.push(self.tokens.len() as u32);
    }

    /// Every entry with its tokens.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, &[Token])> {
        (0..self.len()).map(|doc| (self.ids[doc], self.tokens_of(doc)))
    }

    pub(crate) fn tokens_of(&self, doc: usize) -> &[Token] {
        let start = doc.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tokens[start as usize..self.ends[doc] as usize]
    }

    /// The texts of the terms, by number.
    pub(crate) fn terms(&self) -> Vec<&str> {
        let mut terms = vec![""; self.vocabulary.len()];
        self.vocabulary.iter().for_each(|(term, number)| terms[*number as usize] = term);
        terms
    }

    /// Adds those entries of another that are to stay. A term that none of them has does not come along.
    pub(crate) fn take_from(
        &mut self,
        terms: &[&str],
        entries: impl Iterator<Item = (u64, Vec<Token>)>,
        stays: &dyn Fn(u64) -> bool,
    ) {
        let mut numbers: Vec<Option<u32>> = vec![None; terms.len()];
        for (id, tokens) in entries.filter(|(id, _)| stays(*id)) {
            for token in &tokens {
                let number = &mut numbers[token.number() as usize];
                if number.is_none() {
                    *number = Some(self.number_of(terms[token.number() as usize]));
                }
            }
            let renumbered = |token: Token| {
                numbers[token.number() as usize].map(|number| Token::new(number, token.place()))
            };
            self.push(id, tokens.into_iter().filter_map(renumbered));
        }
    }
}
