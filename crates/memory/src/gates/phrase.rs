//! Finds phrases as whole words, any case, in one walk over the words of a text.

use std::collections::HashMap;

/// Phrases, by their first word.
#[derive(Debug)]
pub(crate) struct Phrases {
    by_first: HashMap<&'static str, Vec<Vec<&'static str>>>,
}

impl Phrases {
    /// Each line is a list of phrases with commas between them.
    pub(crate) fn new(lines: &[&'static str]) -> Phrases {
        let mut by_first: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
        for phrase in lines.iter().flat_map(|line| line.split(',')) {
            let mut words = phrase.split_whitespace();
            if let Some(first) = words.next() {
                by_first.entry(first).or_default().push(words.collect());
            }
        }
        Phrases { by_first }
    }

    pub(crate) fn occur_in(&self, words: &[String]) -> bool {
        (0..words.len()).any(|at| self.length_at(words, at).is_some())
    }

    pub(crate) fn begin(&self, words: &[String]) -> bool {
        self.length_at(words, 0).is_some()
    }

    pub(crate) fn contain(&self, word: &str) -> bool {
        self.by_first.get(word).is_some_and(|rests| rests.iter().any(Vec::is_empty))
    }

    /// How many words the longest phrase that begins here has.
    pub(crate) fn length_at(&self, words: &[String], at: usize) -> Option<usize> {
        let rests = self.by_first.get(words.get(at)?.as_str())?;
        let after = &words[at + 1..];
        let fits =
            |rest: &&Vec<&str>| after.len() >= rest.len() && rest.iter().zip(after).all(|(a, b)| *a == b);
        rests.iter().filter(fits).map(|rest| rest.len() + 1).max()
    }
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
