//! Marks within a text while it is being written, and their places once it stands.
//!
//! A mark is two characters that no file has (from Unicode's private area) around the marked text. So a text may be
//! shuffled, indented and nested before anybody has to know on which line it ends up.

use std::ops::Range;

const CLOSE: char = '\u{E000}';
/// The opening character says which mark it is: this one is the first.
const FIRST: u32 = 0xE001;
/// The private area ends at U+F8FF.
const MARKS_MAX: usize = 0xF8FF - 0xE001 + 1;

/// What a mark says of the text within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Secret(&'static str),
    Decoy(&'static str),
    Aside,
}

/// The marks of one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ink {
    marks: Vec<Mark>,
}

/// A marked piece of a finished text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) mark: Mark,
    pub(crate) range: Range<usize>,
}

impl Ink {
    pub(crate) fn mark(&mut self, mark: Mark, text: &str) -> String {
        assert!(self.marks.len() < MARKS_MAX, "one text has room for {MARKS_MAX} marks");
        let number = FIRST + self.marks.len() as u32;
        self.marks.push(mark);
        let open = char::from_u32(number).unwrap_or(CLOSE);
        format!("{open}{text}{CLOSE}")
    }

    /// Takes the marks out. They come in the order they begin.
    pub(crate) fn dry(self, text: &str) -> (String, Vec<Spot>) {
        let mut out = String::with_capacity(text.len());
        let (mut spots, mut open) = (Vec::new(), Vec::new());
        for c in text.chars() {
            if c == CLOSE {
                let at: usize = open.pop().unwrap_or_default();
                let spot: &mut Spot = &mut spots[at];
                spot.range.end = out.len();
            } else if let Some(mark) = (c as u32).checked_sub(FIRST).and_then(|n| self.marks.get(n as usize))
            {
                open.push(spots.len());
                spots.push(Spot { mark: *mark, range: out.len()..out.len() });
            } else {
                out.push(c);
            }
        }
        (out, spots)
    }
}

/// Line and column of a byte, both from 1.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_out_and_their_places_given() {
        let mut ink = Ink::default();
        let inner = ink.mark(Mark::Secret("a"), "two\nlines");
        let outer = ink.mark(Mark::Decoy("b"), &format!("é{inner}."));
        let (text, spots) = ink.dry(&format!("x\n y{outer}z"));
        assert_eq!(text, "x\n yétwo\nlines.z");
        let pieces: Vec<_> = spots.iter().map(|s| (s.mark, &text[s.range.clone()])).collect();
        assert_eq!(pieces, [(Mark::Decoy("b"), "étwo\nlines."), (Mark::Secret("a"), "two\nlines")]);
        assert_eq!(place(&text, spots[1].range.start), (2, 4));
        assert_eq!(place(&text, spots[1].range.end), (3, 6));
    }
}
