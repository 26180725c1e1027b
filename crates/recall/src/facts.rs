//! What the caller knows of an entry.

use holdfast_types::{Timestamp, Trust};

use crate::traits::Traits;
use crate::word::{Word, words};

/// What is known of one entry, beside its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Its place in the journal; ties are decided by it.
    pub seq: u64,
    /// When it was, if that is known. Entries of one session may share one moment.
    pub at: Option<Timestamp>,
    /// The caller's number for where it came from: a session, a file, a channel.
    pub source: Option<u64>,
    pub traits: Traits,
    /// Marks of its tags and of its source's name, so that a query may name them.
    pub labels: Marks,
    pub trust: Trust,
    /// How often it was cited.
    pub citations: u32,
    /// Whether it passed the filters of this search.
    pub eligible: bool,
}

impl Facts {
    /// Whether the entry's speaker or one of its labels is called so.
    pub(crate) fn is_labelled(&self, mark: u64) -> bool {
        self.traits.speaker.has(mark) || self.labels.has(mark)
    }
}

/// Names kept as numbers: they can be compared and not read. Holds the first few words and lets the rest go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks([u64; Marks::MAX]);

impl Marks {
    /// Enough for a name of three words or a few tags; keeps [`Facts`] small enough to copy.
    pub const MAX: usize = 4;

    /// The marks of a name's words.
    pub fn of(name: &str) -> Marks {
        Marks::of_all([name])
    }

    /// The marks of several names' words.
    pub fn of_all<'a>(names: impl IntoIterator<Item = &'a str>) -> Marks {
        let mut marks = Marks::default();
        let all = names.into_iter().flat_map(|name| words(name).map(Word::lower));
        for (slot, word) in marks.0.iter_mut().zip(all) {
            *slot = mark(&word);
        }
        marks
    }

    /// As they are kept: 0 is an empty place.
    pub const fn numbers(&self) -> [u64; Marks::MAX] {
        self.0
    }

    /// What [`Marks::numbers`] gave.
    pub const fn from_numbers(numbers: [u64; Marks::MAX]) -> Marks {
        Marks(numbers)
    }

    pub(crate) fn has(&self, mark: u64) -> bool {
        self.0.contains(&mark)
    }
}

/// FNV-1a; never zero, which stands for an empty place.
pub(crate) fn mark(lower: &str) -> u64 {
    let hash = lower
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_possessive() {
        assert_eq!(Marks::of("Caroline's"), Marks::of("caroline"));
        assert!(Marks::of_all(["ops", "Mary Ann"]).has(mark("ann")));
    }

    #[test]
    fn more_names_than_fit_are_let_go_and_an_empty_place_matches_nothing() {
        let marks = Marks::of("a1 b2 c3 d4 e5");
        assert!(marks.has(mark("d4")) && !marks.has(mark("e5")));
        assert!(!Marks::default().has(mark("")));
    }
}
