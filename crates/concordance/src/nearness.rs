//! Whether the words of a question stand together in an entry, which BM25 does not see: "no root" is not "root, no password".

use crate::analyse::Place;
use crate::gathered::Token;
use crate::query::Query;
use crate::score::Score;

/// Words further apart than this are not near. What people call one thing is said in five words.
const NEAR_MAX: u32 = 5;

/// What two neighbours in the question are worth when the entry has them in the same order: the smaller of their weights, divided by how many words
/// lie from one to the other. The sum over all neighbours; `ranks` are the numbers the entry's part has for the terms.
pub(crate) fn nearness(query: &Query, weights: &[u32], ranks: &[Option<u32>], tokens: &[Token]) -> Score {
    let places = places_of(ranks, tokens);
    let pair = |pair: &[usize]| {
        let (first, second) = (pair[0], pair[1]);
        let apart = nearest(&places[first], &places[second])?;
        // Weights are in 1/2^14, scores in 1/2^16.
        Some((weights[first].min(weights[second]) << 2) / apart)
    };
    Score(
        query
            .words()
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .filter_map(pair)
            .fold(0, u32::saturating_add),
    )
}

/// At which words of the entry each term of the question stands.
fn places_of(ranks: &[Option<u32>], tokens: &[Token]) -> Vec<Vec<u32>> {
    let mut places = vec![Vec::new(); ranks.len()];
    let mut words = 0_u32;
    for token in tokens {
        words += u32::from(token.place() == Place::Next);
        for (at, _) in ranks.iter().enumerate().filter(|(_, rank)| **rank == Some(token.number())) {
            places[at].push(words);
        }
    }
    places
}

/// How many words on the second stands behind the first, where that is nearest.
fn nearest(first: &[u32], second: &[u32]) -> Option<u32> {
    let mut nearest = None;
    let mut behind = second.iter().copied().peekable();
    for from in first {
        while behind.next_if(|to| to <= from).is_some() {}
        nearest = behind.peek().map(|to| to - from).into_iter().chain(nearest).min();
    }
    nearest.filter(|apart| *apart <= NEAR_MAX)
}
