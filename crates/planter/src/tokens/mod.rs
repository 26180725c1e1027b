//! Tokens: what issuers hand out, each with the names it goes by and its shape.
//!
//! The tables hold shapes only; a whole token exists nowhere but in a corpus. Shapes follow what issuers say or show of
//! them. Where an issuer gives no recognisable shape (thirty-two hex digits), the name beside it is all there is to go by.

mod cloud;
mod code;
mod models;
mod services;

use crate::rng::Rng;

/// A kind of token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: &'static str,
    /// As environment variables; other ways to write them follow.
    pub(crate) names: &'static [&'static str],
    /// With slots for `pen.rs`.
    pub(crate) shape: &'static str,
}

const fn token(kind: &'static str, names: &'static [&'static str], shape: &'static str) -> Token {
    Token { kind, names, shape }
}

impl Token {
    pub(crate) fn all() -> impl Iterator<Item = Token> {
        [code::TOKENS, cloud::TOKENS, models::TOKENS, services::TOKENS].into_iter().flatten().copied()
    }

    pub(crate) fn of(kind: &str) -> Option<Token> {
        Token::all().find(|token| token.kind == kind)
    }
}

/// All kinds, dealt out one by one, so that a corpus has about as many of each.
#[derive(Debug)]
pub(crate) struct Deck {
    rest: Vec<Token>,
}

impl Deck {
    pub(crate) fn new(mut rng: Rng) -> Deck {
        Deck { rest: shuffled(&mut rng) }
    }

    pub(crate) fn deal(&mut self, rng: &mut Rng) -> Token {
        loop {
            match self.rest.pop() {
                Some(token) => return token,
                None => self.rest = shuffled(rng),
            }
        }
    }

    /// Below the others.
    pub(crate) fn put_back(&mut self, token: Token) {
        self.rest.insert(0, token);
    }
}

fn shuffled(rng: &mut Rng) -> Vec<Token> {
    let mut all: Vec<Token> = Token::all().collect();
    rng.shuffle(&mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn kinds_are_named_once_and_none_stands_whole_in_the_tables() {
        let kinds: BTreeSet<&str> = Token::all().map(|t| t.kind).collect();
        assert_eq!(kinds.len(), Token::all().count());
        for token in Token::all() {
            assert!(token.shape.contains('«'), "{} has nothing to draw", token.kind);
            assert!(!token.names.is_empty(), "{} goes by no name", token.kind);
        }
    }

    #[test]
    fn a_deck_deals_each_kind_before_any_comes_twice() {
        let mut rng = Rng::new(1);
        let mut deck = Deck::new(rng.child("deck"));
        let count = Token::all().count();
        let dealt: BTreeSet<&str> = (0..count).map(|_| deck.deal(&mut rng).kind).collect();
        assert_eq!(dealt.len(), count);
    }
}
