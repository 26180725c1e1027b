//! From a text to its terms; the same way for entries and for questions.
//!
//! A text is brought to plain letters (`analyse/fold.rs`) and walked once (`analyse/walk.rs`). What stands together without a space is a
//! compound such as `/etc/nginx/nginx.conf`, `10.0.0.1:8080`, `maxRetries` or `don't`; it is indexed whole and in
//! parts. Scripts without spaces are indexed by pairs of characters. English words are brought to their stem (`analyse/stem.rs`).
//!
//! What holds, for any text: time is linear in its length, a term has at most [`TERM_LEN_MAX`] bytes, and there are at most [`WORDS_MAX`] words;
//! of what is beyond, [`Analysed::cut`] tells. Equal texts give equal terms on every machine, for one [`ANALYSIS`].

mod compound;
mod fold;
pub(crate) mod stem;
pub(crate) mod stop;
mod walk;

/// The version of everything in this module. An index made by another is made again: raise it with any change of a term.
pub const ANALYSIS: u32 = 1;

/// Bytes of a term. Longer ones are cut and end in a digest of the whole, so that they are still told apart.
pub const TERM_LEN_MAX: usize = 64;

/// Words of one text. An entry has some dozens; this is for what somebody pastes.
pub const WORDS_MAX: u32 = 32_000;

/// Where a term stands, seen from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One word further on.
    Next,
    /// At the same word: the whole and its parts.
    Same,
}

/// One term of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub term: String,
    /// The number of the word, from 0.
    pub word: u32,
}

/// The terms of a text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysed {
    pub tokens: Vec<Token>,
    /// How many words there are.
    pub words: u32,
    /// The text had more than [`WORDS_MAX`] words; those beyond are not here.
    pub cut: bool,
}

/// The terms of a text.
pub fn analyse(text: &str) -> Analysed {
    let mut found = Analysed::default();
    let walked = each_term(text, |term, place| {
        found.words += u32::from(place == Place::Next);
        found.tokens.push(Token { term: term.to_owned(), word: found.words.saturating_sub(1) });
    });
    found.cut = walked == Walked::Cut;
    found
}

/// Whether a walk came to the end of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    Whole,
    Cut,
}

/// Hands out the terms of a text one by one. The first is [`Place::Next`].
pub(crate) fn each_term(text: &str, to: impl FnMut(&str, Place)) -> Walked {
    let plain = fold::plain(text);
    let mut sink = Sink::new(to);
    walk::walk(&plain, &mut sink);
    if sink.words > WORDS_MAX { Walked::Cut } else { Walked::Whole }
}

/// Counts words, shortens what is too long, and passes terms on.
pub(super) struct Sink<F> {
    to: F,
    words: u32,
    /// The next term is a word further on.
    moves: bool,
    term: String,
}

impl<F: FnMut(&str, Place)> Sink<F> {
    fn new(to: F) -> Sink<F> {
        Sink { to, words: 0, moves: true, term: String::new() }
    }

    fn is_full(&self) -> bool {
        self.words > WORDS_MAX
    }

    /// A term that stands for several words, of which the first comes next.
    fn whole(&mut self, text: &str) {
        self.emit(text, Stem::No);
    }

    /// The same, where it may be an English word.
    fn whole_word(&mut self, text: &str) {
        self.emit(text, Stem::Yes);
    }

    /// A term that is one word.
    fn word(&mut self, text: &str) {
        self.emit(text, Stem::Yes);
        self.moves = true;
    }

    fn emit(&mut self, text: &str, stem: Stem) {
        self.term.clear();
        text.chars().for_each(|c| fold::push_folded(c, &mut self.term));
        if self.term.is_empty() {
            return;
        }
        if stem == Stem::Yes {
            stem::stem(&mut self.term);
        }
        shorten(&mut self.term);
        let place = if std::mem::take(&mut self.moves) { Place::Next } else { Place::Same };
        self.words += u32::from(place == Place::Next);
        if self.words <= WORDS_MAX {
            (self.to)(&self.term, place);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stem {
    Yes,
    No,
}

/// Sixteen digits of a digest and the mark before them.
const DIGEST_LEN: usize = 17;

fn shorten(term: &mut String) {
    if term.len() <= TERM_LEN_MAX {
        return;
    }
    // FNV-1a: it has to tell apart what people paste, not to withstand them.
    let digest =
        term.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    term.truncate(term.floor_char_boundary(TERM_LEN_MAX - DIGEST_LEN));
    term.push_str(&format!("~{digest:016x}"));
}

#[cfg(test)]
mod tests;
