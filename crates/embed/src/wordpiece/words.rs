//! A text as the words a vocabulary is asked about: what is left out, what is made small, where a word ends.

use unicode_normalization::char::{canonical_combining_class, decompose_canonical, is_combining_mark};

use super::WORD_CHARS_MAX;
use super::classes::{ALONE, DROPPED, MARKS, SPACES};

/// A word as it is looked up, and where each of its characters came from.
#[derive(Debug, Default)]
pub(super) struct Word {
    text: String,
    chars: Vec<Origin>,
    /// How many characters it would have; those beyond the longest a word may be are counted and not kept.
    count: usize,
    /// Where it begins and ends in the text, all of it.
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    /// Where the character ends in the word.
    until: u32,
    start: u32,
    end: u32,
}

impl Word {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The word's characters in a range. Of a word that is too long the first ones can be asked for.
    pub(super) fn text(&self, from: usize, to: usize) -> &str {
        &self.text[self.begins(from)..self.begins(to)]
    }

    /// The bytes of the text that a range of the word's characters came from.
    pub(super) fn origin(&self, from: usize, to: usize) -> (u32, u32) {
        match self.chars.get(from..to) {
            Some(chars) => around(chars.iter().map(|it| (it.start, it.end))),
            None => (self.start, self.end),
        }
    }

    fn begins(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.chars[before].until as usize)
    }

    fn push(&mut self, c: char, (start, end): (u32, u32)) {
        (self.start, self.end) =
            if self.count == 0 { (start, end) } else { (self.start.min(start), self.end.max(end)) };
        self.count += 1;
        if self.count <= WORD_CHARS_MAX {
            self.text.push(c);
            self.chars.push(Origin { until: self.text.len() as u32, start, end });
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.chars.clear();
        self.count = 0;
    }
}

fn around(ranges: impl Iterator<Item = (u32, u32)>) -> (u32, u32) {
    ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d))).unwrap_or((0, 0))
}

/// Calls `with` for every word of a text that begins at `offset`.
pub(super) fn each(text: &str, offset: u32, with: impl FnMut(&Word)) {
    let mut cutter = Cutter { word: Word::default(), marks: Vec::new(), with };
    for (at, c) in text.char_indices() {
        let start = offset + at as u32;
        cutter.take(c, (start, start + c.len_utf8() as u32));
    }
    cutter.end_word();
}

struct Cutter<F> {
    word: Word,
    /// Marks on the last letter, until it is known in which order they go.
    marks: Vec<Mark>,
    with: F,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Marks on one letter stand in the order of their classes, however they were typed.
    class: u8,
    c: char,
    origin: (u32, u32),
}

impl<F: FnMut(&Word)> Cutter<F> {
    fn take(&mut self, c: char, origin: (u32, u32)) {
        match Class::of(c) {
            Class::Letter if c.is_ascii() => {
                self.order_marks();
                self.word.push(c.to_ascii_lowercase(), origin);
            }
            Class::Space => self.end_word(),
            Class::Alone => self.alone(c, origin),
            Class::Dropped if !is_combining_mark(c) => {}
            Class::Dropped | Class::Letter => decompose_canonical(c, |part| self.part(part, origin)),
        }
    }

    fn alone(&mut self, c: char, origin: (u32, u32)) {
        self.end_word();
        // Some signs have a mark, and a few ideographs are written in two ways of which one is in the vocabulary.
        decompose_canonical(c, |part| {
            if Class::of(part) != Class::Dropped {
                self.letter(part, origin);
            }
        });
        self.end_word();
    }

    /// One of the characters another was taken apart into.
    fn part(&mut self, c: char, origin: (u32, u32)) {
        match Class::of(c) {
            Class::Space => self.end_word(),
            Class::Alone => self.alone(c, origin),
            // Characters younger than the reference are letters to it, whatever they are by now.
            Class::Letter if !is_in(&MARKS, c) => self.letter(c, origin),
            Class::Dropped | Class::Letter => match canonical_combining_class(c) {
                0 => self.order_marks(),
                class => self.marks.push(Mark { class, c, origin }),
            },
        }
    }

    fn letter(&mut self, c: char, origin: (u32, u32)) {
        self.order_marks();
        c.to_lowercase().for_each(|small| self.word.push(small, origin));
    }

    /// Those that are dropped still have a place in the order. A place's origin stays where it is, whichever mark comes to it: so
    /// does the reference count.
    fn order_marks(&mut self) {
        if self.marks.is_empty() {
            return;
        }
        let mut marks = std::mem::take(&mut self.marks);
        let origins: Vec<(u32, u32)> = marks.iter().map(|it| it.origin).collect();
        marks.sort_by_key(|it| it.class);
        for (mark, origin) in marks.iter().zip(origins) {
            if Class::of(mark.c) != Class::Dropped {
                mark.c.to_lowercase().for_each(|small| self.word.push(small, origin));
            }
        }
        marks.clear();
        self.marks = marks;
    }

    fn end_word(&mut self) {
        self.order_marks();
        if self.word.count > 0 {
            (self.with)(&self.word);
            self.word.clear();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Dropped,
    Space,
    Alone,
    Letter,
}

impl Class {
    fn of(c: char) -> Class {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
            ' ' => Class::Space,
            _ if is_in(&ALONE, c) => Class::Alone,
            _ if is_in(&DROPPED, c) => Class::Dropped,
            _ if is_in(&SPACES, c) => Class::Space,
            _ => Class::Letter,
        }
    }
}

fn is_in(ranges: &[(u32, u32)], c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c as u32);
    after > 0 && c as u32 <= ranges[after - 1].1
}
