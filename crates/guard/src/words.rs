//! Lists of words that are asked about every name and every value.
//!
//! A list answers nearly every no from a small table, without a look at its words: most of what it is asked about is not in
//! it.

/// Words that are looked for as a whole.
pub(crate) struct Whole {
    words: &'static [&'static str],
    /// By the first byte, which lengths words that begin so have; the last bit stands for all longer ones.
    lengths: [u32; 256],
}

impl Whole {
    pub(crate) const fn of(words: &'static [&'static str]) -> Whole {
        let mut lengths = [0u32; 256];
        let mut i = 0;
        while i < words.len() {
            lengths[words[i].as_bytes()[0] as usize] |= length_bit(words[i].len());
            i += 1;
        }
        Whole { words, lengths }
    }

    fn may_have(&self, first: u8, length: usize) -> bool {
        self.lengths[usize::from(first)] & length_bit(length) != 0
    }

    pub(crate) fn has(&self, word: &[u8]) -> bool {
        word.first().is_some_and(|first| self.may_have(*first, word.len()))
            && self.words.iter().any(|w| w.as_bytes() == word)
    }

    /// Capitals count as small letters; the list is written in small ones.
    pub(crate) fn has_in_any_case(&self, word: &[u8]) -> bool {
        word.first().is_some_and(|first| self.may_have(first.to_ascii_lowercase(), word.len()))
            && self.words.iter().any(|w| w.as_bytes().eq_ignore_ascii_case(word))
    }
}

/// What a text may begin with, two bytes or more each.
pub(crate) struct Heads {
    heads: &'static [&'static str],
    /// By the first byte, a bit for what may be second.
    seconds: [u32; 256],
}

impl Heads {
    pub(crate) const fn of(heads: &'static [&'static str]) -> Heads {
        let mut seconds = [0u32; 256];
        let mut i = 0;
        while i < heads.len() {
            let head = heads[i].as_bytes();
            seconds[head[0] as usize] |= 1 << (head[1] & 31);
            i += 1;
        }
        Heads { heads, seconds }
    }

    /// Whether the text begins with one of them. Capitals count as small letters; the list is written in small ones.
    pub(crate) fn begin(&self, text: &[u8]) -> bool {
        let [first, second, ..] = text else { return false };
        // Case is one bit of a letter, and the five lowest bits do not have it.
        self.seconds[usize::from(first.to_ascii_lowercase())] >> (second & 31) & 1 == 1
            && self.heads.iter().any(|head| {
                text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head.as_bytes()))
            })
    }
}

/// What a word may end with, two bytes or more each.
pub(crate) struct Tails {
    tails: &'static [&'static str],
    /// By the last byte, a bit for what may stand before it.
    seconds: [u32; 256],
}

impl Tails {
    pub(crate) const fn of(tails: &'static [&'static str]) -> Tails {
        let mut seconds = [0u32; 256];
        let mut i = 0;
        while i < tails.len() {
            let tail = tails[i].as_bytes();
            seconds[tail[tail.len() - 1] as usize] |= 1 << (tail[tail.len() - 2] & 31);
            i += 1;
        }
        Tails { tails, seconds }
    }

    pub(crate) fn end(&self, word: &[u8]) -> bool {
        let [.., second, last] = word else { return false };
        self.seconds[usize::from(*last)] >> (second & 31) & 1 == 1
            && self.tails.iter().any(|tail| word.ends_with(tail.as_bytes()))
    }

    pub(crate) fn end_in_any_case(&self, word: &[u8]) -> bool {
        let [.., second, last] = word else { return false };
        self.seconds[usize::from(last.to_ascii_lowercase())] >> (second & 31) & 1 == 1
            && self.tails.iter().any(|tail| {
                let from = word.len().checked_sub(tail.len());
                from.is_some_and(|from| word[from..].eq_ignore_ascii_case(tail.as_bytes()))
            })
    }
}

const fn length_bit(length: usize) -> u32 {
    1 << if length < 31 { length } else { 31 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[&str] = &["key", "keyring", "token", "a-rather-long-word-of-forty-letters-or-so", "ab"];

    #[test]
    fn a_list_has_its_words_and_no_others() {
        static WHOLE: Whole = Whole::of(WORDS);
        for word in WORDS {
            assert!(WHOLE.has(word.as_bytes()) && WHOLE.has_in_any_case(word.to_uppercase().as_bytes()));
            assert!(!WHOLE.has(word.to_uppercase().as_bytes()), "{word}");
        }
        for word in ["", "k", "ke", "kex", "keyrings", "tokes", "a-rather-long-word-of-forty-letters-or-se"] {
            assert!(!WHOLE.has(word.as_bytes()) && !WHOLE.has_in_any_case(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn heads_and_tails_are_seen_in_longer_texts() {
        static HEADS: Heads = Heads::of(WORDS);
        static TAILS: Tails = Tails::of(WORDS);
        for word in WORDS {
            assert!(
                HEADS.begin(format!("{word}!").as_bytes()) && HEADS.begin(word.to_uppercase().as_bytes())
            );
            assert!(
                TAILS.end(format!("my{word}").as_bytes())
                    && TAILS.end_in_any_case(word.to_uppercase().as_bytes())
            );
        }
        for text in ["", "k", "ke", "kex", "xkey", "tok"] {
            assert!(!HEADS.begin(text.as_bytes()), "{text}");
        }
        for text in ["", "y", "ey", "keyx", "KEY"] {
            assert!(!TAILS.end(text.as_bytes()), "{text}");
        }
    }
}
