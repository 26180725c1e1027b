//! From byte offsets to lines and columns, the way an editor counts: from 1, columns in characters.

/// A place in a text. Columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Place {
    pub(crate) const START: Place = Place { line: 1, column: 1 };

    /// Where one stands after these bytes.
    fn after(self, bytes: &[u8]) -> Place {
        let feeds = memchr::memchr_iter(b'\n', bytes).count() as u64;
        let (column, rest) = match memchr::memrchr(b'\n', bytes) {
            Some(last) => (1, &bytes[last + 1..]),
            None => (self.column, bytes),
        };
        Place { line: self.line + feeds, column: column + characters(rest) }
    }
}

/// Reads places off a text from front to back: each byte is counted once, however many places are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    place: Place,
}

impl<'a> Lines<'a> {
    /// The text stands at `start` of something larger.
    pub(crate) fn new(bytes: &'a [u8], start: Place) -> Lines<'a> {
        Lines { bytes, at: 0, place: start }
    }

    /// The place of an offset that is no smaller than the last one asked for.
    pub(crate) fn place(&mut self, offset: usize) -> Place {
        let offset = offset.clamp(self.at, self.bytes.len());
        self.place = self.place.after(&self.bytes[self.at..offset]);
        self.at = offset;
        self.place
    }
}

/// The bytes of one line of a text, by its number; without its line feed.
pub(crate) fn line_at(bytes: &[u8], line: u64) -> Option<std::ops::Range<usize>> {
    let before = usize::try_from(line.checked_sub(1)?).ok()?;
    let start = match before.checked_sub(1) {
        None => 0,
        Some(n) => memchr::memchr_iter(b'\n', bytes).nth(n)? + 1,
    };
    let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |n| start + n);
    Some(start..end)
}

/// Every byte that does not continue a character begins one; a byte that is no text counts as one.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_count_characters() {
        let text = "één = 1\n  schlüssel: x\n".as_bytes();
        let mut lines = Lines::new(text, Place::START);
        let at = |needle: &str| memchr::memmem::find(text, needle.as_bytes()).unwrap();
        assert_eq!(lines.place(at("1")), Place { line: 1, column: 7 });
        assert_eq!(lines.place(at("x")), Place { line: 2, column: 14 });
        assert_eq!(lines.place(text.len() + 9), Place { line: 3, column: 1 });
    }

    #[test]
    fn a_line_is_found_by_its_number() {
        let text = b"a\nbc\n";
        assert_eq!(
            [0, 1, 2, 3, 4].map(|n| line_at(text, n)),
            [None, Some(0..1), Some(2..4), Some(5..5), None]
        );
    }

    proptest! {
        #[test]
        fn places_do_not_depend_on_where_one_stopped_before(text in "[a\n é]{0,60}", stops in prop::collection::vec(0_usize..80, 0..6)) {
            let mut stops = stops;
            stops.sort_unstable();
            let mut once = Lines::new(text.as_bytes(), Place::START);
            for stop in stops {
                prop_assert_eq!(once.place(stop), Lines::new(text.as_bytes(), Place::START).place(stop));
            }
        }
    }
}
