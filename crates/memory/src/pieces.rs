//! A file's text in pieces that can be memories: paragraphs, and items of lists each for itself.

use std::ops::Range;

use crate::text::CONTENT_MAX;

/// Where each piece is, in bytes. A paragraph that is longer than a memory may be is cut between lines, and a line between characters.
pub fn pieces(text: &str) -> Vec<Range<usize>> {
    paragraphs(text).into_iter().flat_map(|range| pieces_of(text, range)).collect()
}

/// The text in parts that have about so many pieces each, for whoever handles a long one bit by bit: divided between paragraphs, so that the
/// pieces of the parts are the pieces of the whole.
pub fn parts(text: &str, pieces_max: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut room = 0;
    for paragraph in paragraphs(text) {
        let here = pieces_of(text, paragraph.clone()).len();
        match parts.last_mut().filter(|_| here <= room) {
            Some(part) => part.end = paragraph.end,
            None => {
                parts.push(paragraph);
                room = pieces_max;
            }
        }
        room = room.saturating_sub(here);
    }
    parts
}

/// Paragraphs and items as they stand, each from the beginning of a line to the end of one.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
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
    found
}

fn pieces_of(text: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let trimmed = cut(text, paragraph).into_iter().map(|range| trimmed(text, range));
    // A line can be long enough to be cut where there are nothing but blanks.
    trimmed.filter(|range| !range.is_empty()).collect()
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
        let wide = format!("left{}right", " ".repeat(3 * CONTENT_MAX));
        assert_eq!(texts(&wide), ["left", "right"]);
    }

    #[test]
    fn a_part_has_no_more_pieces_than_it_may_and_a_paragraph_is_in_one() {
        let text = "one\n\ntwo\n- three\n# title\nfour\nstill four\n";
        let shown = |max| parts(text, max).into_iter().map(|range| &text[range]).collect::<Vec<_>>();
        assert_eq!(shown(2), ["one\n\ntwo\n", "- three\n# title\nfour\nstill four\n"]);
        assert_eq!(shown(9), [text]);
        assert_eq!(shown(0).len(), 4);
        assert!(parts("\n# only\n", 2).is_empty());
        assert_eq!(parts(&"x".repeat(5 * CONTENT_MAX), 2).len(), 1);
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

        #[test]
        fn the_pieces_of_the_parts_are_those_of_the_whole(
            lines in prop::collection::vec("[-*#1. a\u{e4}\t=`]{0,6}|- - a|- # a|1. ---|- ", 0..40),
            max in 0usize..5,
            long in 0usize..3,
        ) {
            let text = lines.join("\n") + "\n" + &"w\u{f6}rd ".repeat(long * 6_000) + "\nlast";
            let of = |part: Range<usize>| {
                let from = part.start;
                pieces(&text[part]).into_iter().map(move |range| range.start + from..range.end + from)
            };
            let found: Vec<_> = parts(&text, max).into_iter().flat_map(of).collect();
            prop_assert_eq!(found, pieces(&text));
        }
    }
}
