//! Sentences, and the parts of them the noise gate looks at.

use crate::words::{bare, is_capitalised, is_specific, words};

use super::phrase::Phrases;

#[derive(Clone, Debug)]
pub(crate) struct Sentence<'a> {
    pub(crate) raw: &'a str,
    pub(crate) words: Vec<String>,
}

impl<'a> Sentence<'a> {
    pub(crate) fn new(raw: &'a str) -> Sentence<'a> {
        Sentence { raw, words: words(raw) }
    }

    pub(crate) fn is_question(&self) -> bool {
        let end = self.raw.trim_end_matches(|c: char| c.is_whitespace() || "\"'»”)*_".contains(c));
        end.ends_with(['?', '？', '؟']) || self.raw.starts_with('¿')
    }

    /// Names something particular: a number, a path, a symbol, or a name within the sentence.
    pub(crate) fn is_specific(&self) -> bool {
        let mut tokens = self.raw.split_whitespace().map(bare).filter(|token| !token.is_empty());
        let first = tokens.next();
        first.is_some_and(is_specific)
            || tokens.any(|token| is_specific(token) || is_capitalised(token) && token.chars().count() > 1)
    }

    /// The same without names that only a capital shows.
    pub(crate) fn names_a_thing(&self) -> bool {
        self.raw.split_whitespace().map(bare).any(is_specific)
    }

    pub(crate) fn has_number(&self) -> bool {
        self.words.iter().any(|word| word.chars().any(|c| c.is_ascii_digit()))
    }

    /// What follows when the words up to and including the first mark of this kind are left out.
    fn after_mark(&self, marks: &[char]) -> Option<Sentence<'a>> {
        let at = self.raw.find(marks)?;
        let width = self.raw[at..].chars().next().map_or(1, char::len_utf8);
        Some(Sentence::new(self.raw[at + width..].trim()))
    }

    /// Without words said by the way at its head: "Okay, …", "Sure! …", "Now …".
    pub(crate) fn without_interjections(self, openers: &Phrases, adverbs: &Phrases) -> Sentence<'a> {
        let mut sentence = self;
        // Each turn takes words away, and more than a few of these in a row is nobody's sentence.
        for _ in 0..4 {
            let head =
                sentence.raw.find([',', '!', '.', ':', ';', '–', '—']).map(|at| words(&sentence.raw[..at]));
            let opens = head.is_some_and(|head| (1..=4).contains(&head.len()) && openers.begin(&head));
            let next = if opens {
                sentence.after_mark(&[',', '!', '.', ':', ';', '–', '—'])
            } else {
                sentence.without_first(adverbs)
            };
            match next {
                Some(rest) => sentence = rest,
                None => break,
            }
        }
        sentence
    }

    fn without_first(&self, adverbs: &Phrases) -> Option<Sentence<'a>> {
        adverbs.length_at(&self.words, 0)?;
        let (_, rest) = self.raw.split_once(char::is_whitespace)?;
        Some(Sentence::new(rest.trim_start()))
    }
}

/// The sentences of a line. A full stop within a word (`v2.4`, `main.rs`) or after a title ends none.
pub(crate) fn sentences(line: &str) -> Vec<Sentence<'_>> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let spaced = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let end = match c {
            '.' => spaced && !ends_in_a_title(&line[from..at]),
            '!' | '?' | '…' => spaced,
            '。' | '？' | '！' => true,
            _ => false,
        };
        if end {
            push(&line[from..at + c.len_utf8()], &mut out);
            from = at + c.len_utf8();
        }
    }
    push(&line[from..], &mut out);
    out
}

fn push<'a>(raw: &'a str, out: &mut Vec<Sentence<'a>>) {
    let sentence = Sentence::new(raw.trim());
    if !sentence.words.is_empty() {
        out.push(sentence);
    }
}

fn ends_in_a_title(text: &str) -> bool {
    const TITLES: [&str; 16] = [
        "Mr", "Mrs", "Ms", "Dr", "Prof", "Hr", "Fr", "Sr", "Sra", "St", "No", "Nr", "e.g", "i.e", "z.B", "vs",
    ];
    text.split_whitespace()
        .next_back()
        .is_some_and(|last| TITLES.contains(&last) || last.chars().count() == 1 && last != "I")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stop_inside_a_word_or_after_a_title_ends_no_sentence() {
        let said = |text| sentences(text).iter().map(|s| s.raw).collect::<Vec<_>>();
        assert_eq!(
            said("See main.rs of v2.4. Ask Mrs. Okafor!"),
            ["See main.rs of v2.4.", "Ask Mrs. Okafor!"]
        );
        assert_eq!(said("... Done…"), ["Done…"]);
        assert!(said(" … ! ?").is_empty());
    }
}
