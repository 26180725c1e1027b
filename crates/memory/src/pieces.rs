//! A file's text in pieces that can be memories: paragraphs, and items of lists each for itself.

use std::ops::Range;

use crate::text::CONTENT_MAX;

/// Where each piece is, in bytes. A paragraph that is longer than a memory may be is cut between lines, and a line between characters.
pub fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let here = at..at + line.len();
        at = here.end;
        if line.trim().is_empty() || is_rule(line) {
            found.extend(open.take());
            continue;
        }
        let begins = is_item(line) || is_heading(line);
        let fits = |held: &Range<usize>| here.end - held.start <= CONTENT_MAX;
        open = match open.take() {
            Some(held) if !begins && fits(&held) => Some(held.start..here.end),
            held => {
                found.extend(held);
                Some(here)
            }
        };
        // A heading says what follows; by itself it says nothing.
        if is_heading(line) {
            open = None;
        }
    }
    found.extend(open);
    found.into_iter().flat_map(|range| cut(text, range)).map(|range| trimmed(text, range)).collect()
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (1..=3).contains(&digits) && line[digits..].starts_with(". ")
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

/// A line across, or the fence of a code block.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("```") || line.len() >= 3 && line.bytes().all(|b| matches!(b, b'-' | b'=' | b'*' | b'_'))
}

fn cut(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = range.start;
    while range.end - from > CONTENT_MAX {
        let to = (from..=from + CONTENT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(range.end);
        parts.push(from..to);
        from = to;
    }
    parts.push(from..range.end);
    parts
}

/// Without the blanks around it and the mark of an item.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let mut inner = part.trim();
    if is_item(inner) {
        inner = inner.split_once(' ').map_or(inner, |(_, rest)| rest).trim_start();
    }
    let from = range.start + (inner.as_ptr() as usize - part.as_ptr() as usize);
    from..from + inner.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn paragraphs_and_items_stand_alone_and_headings_and_rules_are_none() {
        let text = "# Title\n\nOne paragraph\nof two lines.\n\n- first item\n- second\n  goes on\n1. third\n---\nlast\n```\n";
        assert_eq!(
            texts(text),
            ["One paragraph\nof two lines.", "first item", "second\n  goes on", "third", "last"]
        );
        assert!(texts(" \n\n# only\n").is_empty());
    }

    proptest! {
        #[test]
        fn pieces_are_in_order_apart_and_short_enough(text in "(?s).{0,400}", long in 0usize..3) {
            let text = text + &"wörd ".repeat(long * 6_000);
            let mut end = 0;
            for range in pieces(&text) {
                prop_assert!(range.start >= end && range.len() <= CONTENT_MAX);
                prop_assert!(!text[range.clone()].trim().is_empty());
                end = range.end;
            }
        }
    }
}
