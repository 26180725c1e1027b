//! The line a place stands on, as far as it matters.

/// What stands before a place on its line, `reach` bytes back at most: what is decided of a place may depend on no more.
pub(crate) fn line_before(text: &[u8], at: usize, reach: usize) -> &[u8] {
    let stretch = &text[at.saturating_sub(reach)..at];
    memchr::memrchr(b'\n', stretch).map_or(stretch, |end| &stretch[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::line_before;

    #[test]
    fn it_ends_at_the_place_and_begins_at_the_line_or_at_the_reach() {
        assert_eq!(line_before(b"one\ntwo three", 7, 100), b"two");
        assert_eq!(line_before(b"one\ntwo three", 13, 5), b"three");
        assert_eq!(line_before(b"one\ntwo", 4, 100), b"");
        assert_eq!(line_before(b"", 0, 100), b"");
    }
}
