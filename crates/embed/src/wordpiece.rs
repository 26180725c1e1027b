//! The model's own way to cut text into pieces it has numbers for, equal to the reference's for every text.
//!
//! A text becomes words ([`words`]): control characters and accents go, letters become small, punctuation and Chinese
//! ideographs stand alone. A word becomes the longest pieces the vocabulary has, from the left. Each token knows which bytes of the
//! text it came from.
//!
//! The five names in square brackets are tokens wherever they stand in a text, as in the reference.

mod classes;
mod words;

use std::collections::HashMap;
use std::path::Path;

use crate::error::ModelError;
use crate::pinned::{self, VOCABULARY};
use words::Word;

/// A word longer than this becomes one unknown token: the reference's setting.
const WORD_CHARS_MAX: usize = 100;

/// What the model has a number for that is not a piece of a word.
const NAMED: [(&str, u32); 5] =
    [("[PAD]", 0), ("[UNK]", UNKNOWN), ("[CLS]", FIRST), ("[SEP]", LAST), ("[MASK]", 103)];
const UNKNOWN: u32 = 100;
/// The token every sequence begins with.
pub(crate) const FIRST: u32 = 101;
/// The token every sequence ends with.
pub(crate) const LAST: u32 = 102;

/// A piece of a text, and the bytes of the text it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    pub start: u32,
    pub end: u32,
}

/// Cuts text into tokens.
#[derive(Clone, Debug)]
pub struct WordPiece {
    /// Pieces that begin a word.
    begins: HashMap<Box<str>, u32>,
    /// Pieces that go on with one, without the `##` they have in the file.
    goes_on: HashMap<Box<str>, u32>,
    /// The longest piece: nothing longer is looked up, which bounds the work for a word.
    piece_chars_max: usize,
}

impl WordPiece {
    /// Reads the vocabulary from a model's folder, if it is the one we know.
    pub fn open(folder: &Path) -> Result<WordPiece, ModelError> {
        let bytes = pinned::read_checked(folder, &VOCABULARY)?;
        // What has the right digest is text; were it not, it would not have it.
        Ok(WordPiece::of_vocabulary(&String::from_utf8_lossy(&bytes)))
    }

    /// A line for each piece, the first has number zero.
    fn of_vocabulary(lines: &str) -> WordPiece {
        let mut it = WordPiece { begins: HashMap::new(), goes_on: HashMap::new(), piece_chars_max: 0 };
        for (id, line) in (0..).zip(lines.lines()) {
            let (map, piece) = match line.strip_prefix("##") {
                Some(rest) => (&mut it.goes_on, rest),
                None => (&mut it.begins, line),
            };
            it.piece_chars_max = it.piece_chars_max.max(piece.chars().count());
            map.insert(piece.into(), id);
        }
        it
    }

    /// The tokens of a text, without the two that stand around a sequence. Positions are in bytes; a text has at most 4 GiB.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        let mut from = 0;
        while let Some((at, name, id)) = next_named(text, from) {
            self.plain(&text[from..at], from, &mut tokens);
            from = at + name.len();
            tokens.push(Token { id, start: at as u32, end: from as u32 });
        }
        self.plain(&text[from..], from, &mut tokens);
        tokens
    }

    /// Text that has no named tokens in it, and where it begins in the whole.
    fn plain(&self, text: &str, offset: usize, tokens: &mut Vec<Token>) {
        words::each(text, offset as u32, |word| self.pieces(word, tokens));
    }

    fn pieces(&self, word: &Word, tokens: &mut Vec<Token>) {
        let whole = word.len();
        let before = tokens.len();
        let mut from = 0;
        while from < whole {
            match self.longest(word, from) {
                Some((id, to)) => {
                    tokens.push(token(id, word, from, to));
                    from = to;
                }
                None => {
                    tokens.truncate(before);
                    tokens.push(token(UNKNOWN, word, 0, whole));
                    return;
                }
            }
        }
    }

    /// The longest piece that stands in the word at a place, and where it ends.
    fn longest(&self, word: &Word, from: usize) -> Option<(u32, usize)> {
        if word.len() > WORD_CHARS_MAX {
            return None;
        }
        let map = if from == 0 { &self.begins } else { &self.goes_on };
        let last = word.len().min(from + self.piece_chars_max);
        (from + 1..=last).rev().find_map(|to| map.get(word.text(from, to)).map(|id| (*id, to)))
    }
}

fn token(id: u32, word: &Word, from: usize, to: usize) -> Token {
    let (start, end) = word.origin(from, to);
    Token { id, start, end }
}

/// The first named token at or after a place.
fn next_named(text: &str, from: usize) -> Option<(usize, &'static str, u32)> {
    text[from..].match_indices('[').find_map(|(at, _)| {
        let at = from + at;
        NAMED.into_iter().find(|(name, _)| text[at..].starts_with(name)).map(|(name, id)| (at, name, id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> WordPiece {
        WordPiece::of_vocabulary("un\n##aff\n##able\nable\n,\n##a\na")
    }

    fn ids(text: &str) -> Vec<u32> {
        small().tokens(text).iter().map(|t| t.id).collect()
    }

    #[test]
    fn the_longest_piece_is_taken_first_and_a_word_that_does_not_come_out_is_unknown() {
        assert_eq!(ids("unaffable, ABLE"), [0, 1, 2, 4, 3]);
        assert_eq!(ids("unaffablex un"), [UNKNOWN, 0]);
        assert!(ids("").is_empty());
    }

    #[test]
    fn a_word_of_a_hundred_characters_is_cut_and_a_longer_one_is_unknown() {
        let hundred = "a".repeat(WORD_CHARS_MAX);
        assert_eq!(ids(&hundred).len(), WORD_CHARS_MAX);
        assert_eq!(ids(&(hundred + "a")), [UNKNOWN]);
    }

    #[test]
    fn a_token_knows_the_bytes_it_came_from() {
        let text = "  Un\u{301}áffable\u{200d}[SEP]á";
        let tokens = small().tokens(text);
        let cut: Vec<_> = tokens.iter().map(|t| (t.id, &text[t.start as usize..t.end as usize])).collect();
        assert_eq!(cut, [(0, "Un"), (1, "áff"), (2, "able"), (LAST, "[SEP]"), (6, "á")]);
    }

    #[test]
    fn a_name_in_brackets_counts_only_when_it_is_whole() {
        assert_eq!(ids("[SEP][SEP"), [LAST, UNKNOWN, UNKNOWN]);
        assert_eq!(ids("[[CLS]"), [UNKNOWN, FIRST]);
    }
}
