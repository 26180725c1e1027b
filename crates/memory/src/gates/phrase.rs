//! Finds phrases as whole words, any case, in one walk over the words of a text.

use std::collections::HashMap;

/// Phrases, by their first word.
#[derive(Debug)]
pub(crate) struct Phrases {
    /// By the first byte of a first word, which lengths there are. Nearly every word of a text is turned away here, without being hashed.
    lengths: [u64; 256],
    by_first: HashMap<&'static str, Vec<Vec<&'static str>>>,
}

impl Phrases {
    /// Each line is a list of phrases with commas between them.
    pub(crate) fn new(lines: &[&'static str]) -> Phrases {
        let mut by_first: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
        let mut lengths = [0; 256];
        for phrase in lines.iter().flat_map(|line| line.split(',')) {
            let mut words = phrase.split_whitespace();
            if let Some(first) = words.next() {
                lengths[leading(first)] |= length_bit(first);
                by_first.entry(first).or_default().push(words.collect());
            }
        }
        Phrases { lengths, by_first }
    }

    pub(crate) fn occur_in(&self, words: &[String]) -> bool {
        (0..words.len()).any(|at| self.length_at(words, at).is_some())
    }

    pub(crate) fn begin(&self, words: &[String]) -> bool {
        self.length_at(words, 0).is_some()
    }

    pub(crate) fn contain(&self, word: &str) -> bool {
        self.beginning(word).is_some_and(|rests| rests.iter().any(Vec::is_empty))
    }

    /// What follows a first word in each of its phrases.
    fn beginning(&self, word: &str) -> Option<&Vec<Vec<&'static str>>> {
        let may_be = self.lengths[leading(word)] & length_bit(word) != 0;
        may_be.then(|| self.by_first.get(word)).flatten()
    }

    /// How many words the longest phrase that begins here has.
    pub(crate) fn length_at(&self, words: &[String], at: usize) -> Option<usize> {
        let rests = self.beginning(words.get(at)?)?;
        let after = &words[at + 1..];
        let fits =
            |rest: &&Vec<&str>| after.len() >= rest.len() && rest.iter().zip(after).all(|(a, b)| *a == b);
        rests.iter().filter(fits).map(|rest| rest.len() + 1).max()
    }
}

fn leading(word: &str) -> usize {
    word.as_bytes().first().copied().map_or(0, usize::from)
}

/// Long ones share a bit.
fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn a_phrase_is_found_as_whole_words_only() {
        let phrases = Phrases::new(&["this time, right now", "today"]);
        for (text, found) in [
            ("It worked this time.", true),
            ("this timeout is 5 s", false),
            ("RIGHT   NOW", true),
            ("copyright nowhere", false),
            ("Today!", true),
            ("this", false),
        ] {
            assert_eq!(phrases.occur_in(&words(text)), found, "{text}");
        }
    }
}
