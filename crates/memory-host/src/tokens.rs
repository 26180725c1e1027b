//! How long a text is for whoever reads it: by the model's own pieces where the model is there, and else by a guess that is rather too
//! high.

use holdfast_embed::{VOCABULARY, WordPiece};
use holdfast_memory::Tokens;
use holdfast_types::Digest;

/// The pieces of the embedding model. Other models cut in much the same way.
pub(crate) struct Pieces<'a>(pub(crate) &'a WordPiece);

impl Tokens for Pieces<'_> {
    fn count(&self, text: &str) -> usize {
        self.0.tokens(text).len()
    }

    fn digest(&self) -> Digest {
        Digest::sha256(crate::model::digest_of(&VOCABULARY))
    }
}

/// A token for every four letters of a word, and one for every other character that is seen.
pub(crate) struct Guessed;

/// Letters of one token. English has a little more than four.
const LETTERS: usize = 4;

impl Tokens for Guessed {
    fn count(&self, text: &str) -> usize {
        let (mut tokens, mut letters) = (0, 0);
        for c in text.chars() {
            if c.is_ascii_alphabetic() {
                letters += 1;
                continue;
            }
            tokens += usize::div_ceil(letters, LETTERS) + usize::from(!c.is_whitespace());
            letters = 0;
        }
        tokens + letters.div_ceil(LETTERS)
    }

    fn digest(&self) -> Digest {
        Digest::blake3(*blake3::hash(b"holdfast guess of tokens v1").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_counts_words_digits_marks_and_other_scripts() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("port", 1),
            ("ports", 2),
            ("the port is 9096.", 8),
            ("数据库", 3),
            (" \n ", 0),
        ] {
            assert_eq!(Guessed.count(text), tokens, "{text:?}");
        }
    }
}
