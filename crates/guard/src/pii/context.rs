//! The words around a number that say what it is.
//!
//! A list entry matches a whole word whatever its case; one that ends in `*` matches the beginning of a word. A capital
//! after a small letter begins a word too, so `userPhone` and `phone_number` both hold "phone".

/// How far before a number a word still speaks about it.
const REACH_BEFORE: usize = 56;
/// How far after it.
const REACH_AFTER: usize = 28;

/// No list has more words.
const WORDS_MAX: usize = 160;
/// Letters whatever their case, and the rest of the bytes, fall into this many buckets.
const BUCKETS: usize = 32;

/// A list of words, laid out when the program is built so that only those with the right first letter are compared.
pub(super) struct Words {
    list: &'static [&'static str],
    /// Where each bucket begins in `order`.
    starts: [u8; BUCKETS + 1],
    order: [u8; WORDS_MAX],
}

impl Words {
    pub(super) const fn new(list: &'static [&'static str]) -> Words {
        let mut words = Words { list, starts: [0; BUCKETS + 1], order: [0; WORDS_MAX] };
        let (mut bucket, mut filled) = (0, 0);
        while bucket < BUCKETS {
            words.starts[bucket] = filled as u8;
            let mut index = 0;
            while index < list.len() {
                if bucket_of(list[index].as_bytes()[0]) == bucket {
                    words.order[filled] = index as u8;
                    filled += 1;
                }
                index += 1;
            }
            bucket += 1;
        }
        words.starts[BUCKETS] = filled as u8;
        words
    }

    /// The length of the one of the words that begins here.
    pub(super) fn at(&self, rest: &[u8]) -> Option<usize> {
        let bucket = bucket_of(*rest.first()?);
        let (from, to) = (self.starts[bucket], self.starts[bucket + 1]);
        self.order[usize::from(from)..usize::from(to)]
            .iter()
            .find_map(|index| matches(rest, self.list[usize::from(*index)]))
    }
}

const fn bucket_of(byte: u8) -> usize {
    byte as usize % BUCKETS
}

/// The text before `start` that may speak about it: its own line, and the line above if it is the first thing on its line.
pub(super) fn before(text: &[u8], start: usize) -> &[u8] {
    let from = start.saturating_sub(REACH_BEFORE);
    let window = &text[from..start];
    let own = window.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let leads = window[own..].iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80);
    if leads {
        return &window[own..];
    }
    let above = &window[..own];
    let filled = above.iter().rposition(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let line = above[..filled].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    &window[line..]
}

/// The text after `end`, to the end of the line.
pub(super) fn after(text: &[u8], end: usize) -> &[u8] {
    let window = text.get(end..).unwrap_or_default();
    let window = &window[..window.len().min(REACH_AFTER)];
    let line = window.iter().position(|b| *b == b'\n').unwrap_or(window.len());
    &window[..line]
}

/// One of the words stands before the number.
pub(super) fn says(text: &[u8], start: usize, words: &Words) -> bool {
    nearest(before(text, start), words).is_some()
}

/// How many bytes lie between the last of the words and the end of the window.
pub(super) fn nearest(window: &[u8], words: &Words) -> Option<usize> {
    (0..window.len()).rev().filter(|at| begins(window, *at)).find_map(|at| {
        let length = words.at(&window[at..])?;
        Some(window.len() - at - length)
    })
}

/// How many bytes stand before the first of the words.
pub(super) fn first(window: &[u8], words: &Words) -> Option<usize> {
    (0..window.len()).find(|at| word_at(window, *at, words).is_some())
}

/// The window begins with one of the words once spaces, hyphens, commas and brackets are passed over.
pub(super) fn follows(window: &[u8], words: &Words) -> bool {
    let at = window.iter().take_while(|b| matches!(b, b' ' | b'-' | b'(' | b',' | b'[' | b':')).count();
    at < window.len() && word_at(window, at, words).is_some()
}

/// The length of the one of the words that begins at `at`.
fn word_at(window: &[u8], at: usize, words: &Words) -> Option<usize> {
    if begins(window, at) { words.at(&window[at..]) } else { None }
}

#[inline]
fn begins(window: &[u8], at: usize) -> bool {
    let here = window[at];
    if !here.is_ascii_alphabetic() && here < 0xC0 {
        return false;
    }
    at == 0
        || !window[at - 1].is_ascii_alphabetic()
        || (window[at - 1].is_ascii_lowercase() && here.is_ascii_uppercase())
}

fn matches(rest: &[u8], word: &str) -> Option<usize> {
    let (word, open) = word.strip_suffix('*').map_or((word, false), |word| (word, true));
    let word = word.as_bytes();
    let head = rest.get(..word.len())?;
    if !head.eq_ignore_ascii_case(word) {
        return None;
    }
    let next = rest.get(word.len()).copied().unwrap_or(b' ');
    let camel = next.is_ascii_uppercase() && head.last().is_some_and(u8::is_ascii_lowercase);
    (open || camel || !next.is_ascii_alphabetic()).then_some(word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, words: &'static [&'static str], expected: Option<usize>) {
        assert_eq!(nearest(before(text.as_bytes(), text.len()), &Words::new(words)), expected, "{text:?}");
    }

    #[test]
    fn words_are_found_whole_and_whatever_their_case() {
        check("my Phone: ", &["phone"], Some(2));
        check("saxophone: ", &["phone"], None);
        check("phones ", &["phone"], None);
        check("phones ", &["phone*"], Some(2));
        check("userPhone=", &["phone"], Some(1));
        check("phoneNumber=", &["phone"], Some(7));
        check("Tél. ", &["tél"], Some(2));
        check("тел. ", &["тел"], Some(2));
    }

    #[test]
    fn the_line_above_speaks_only_for_what_begins_a_line() {
        check("Phone:\n", &["phone"], Some(2));
        check("Phone:\n\n", &["phone"], Some(3));
        check("Phone:\nRoom ", &["phone"], None);
        check("Phone:\nRoom 5\n", &["phone"], None);
    }

    #[test]
    fn a_word_may_follow() {
        assert!(follows(after(b"1-Office\\,", 1), &Words::new(&["office"])));
        assert!(follows(after(b"1 (mobile)", 1), &Words::new(&["mobile"])));
        assert!(!follows(after(b"1 at the office", 1), &Words::new(&["office"])));
    }
}
