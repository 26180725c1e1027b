//! What is written between letters and not shown: tags, terminal sequences, and the seams of literals that are joined.

/// Longer than this nothing is taken for a tag, a sequence or a seam.
const LONGEST: usize = 256;
/// A comment may be longer.
const LONGEST_COMMENT: usize = 1024;
/// Elements that may stand inside a word without breaking it.
const INLINE: &[&[u8]] = &[
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"big", b"code", b"del", b"em", b"font", b"g", b"i", b"ins", b"kbd",
    b"mark", b"nobr", b"q", b"s", b"samp", b"small", b"span", b"strike", b"strong", b"sub", b"sup", b"text",
    b"tspan", b"tt", b"u", b"var", b"wbr",
];
/// Elements whose content is not shown.
const HIDDEN: &[&[u8]] = &[b"script", b"style", b"template"];

/// How many bytes at a `<` are not shown.
pub(super) fn tag(text: &[u8]) -> Option<usize> {
    let bounded = &text[..text.len().min(LONGEST_COMMENT)];
    if bounded.starts_with(b"<!--") {
        // `<!-->` is a whole comment.
        let end = if bounded[4..].starts_with(b">") {
            4
        } else {
            4 + memchr::memmem::find(&bounded[4..], b"-->")? + 2
        };
        return Some(end + 1);
    }
    if bounded.starts_with(b"<![CDATA[") {
        return Some(9);
    }
    if bounded.starts_with(b"<?") {
        return Some(memchr::memmem::find(bounded, b"?>")? + 2);
    }
    let closes = usize::from(text.get(1) == Some(&b'/'));
    let name = name(&bounded[1 + closes..]);
    let end = tag_end(bounded)?;
    if INLINE.iter().any(|inline| name.eq_ignore_ascii_case(inline)) {
        let is_hidden = closes == 0 && is_styled_away(&bounded[..end]);
        return Some(if is_hidden { element_end(bounded, end, name)? } else { end });
    }
    let hides = closes == 0 && HIDDEN.iter().any(|hidden| name.eq_ignore_ascii_case(hidden));
    hides.then(|| element_end(bounded, end, name)).flatten()
}

fn name(text: &[u8]) -> &[u8] {
    let length = text.iter().take(16).take_while(|b| b.is_ascii_alphanumeric()).count();
    &text[..length]
}

/// Behind the `>` that ends a tag; one in quotes does not.
fn tag_end(text: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.iter().enumerate().take(LONGEST).skip(1) {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'<') => return None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Whether a tag's style keeps its words from being seen.
fn is_styled_away(tag: &[u8]) -> bool {
    let tag: Vec<u8> = tag.iter().filter(|b| !b.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
    [&b"display:none"[..], b"visibility:hidden", b"font-size:0", b"opacity:0"]
        .iter()
        .any(|style| memchr::memmem::find(&tag, style).is_some())
}

/// Behind the end tag of the element whose start tag ends at `from`.
fn element_end(text: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memmem::find(&text[at..], b"</")? + 2;
        let rest = &text[at..];
        if rest.len() > name.len()
            && rest[..name.len()].eq_ignore_ascii_case(name)
            && rest[name.len()] == b'>'
        {
            return Some(at + name.len() + 1);
        }
    }
}

/// What a terminal does at an escape character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) length: usize,
    /// By how many letters it goes back over what was written.
    pub(super) back: usize,
}

/// At an escape character.
pub(super) fn sequence(text: &[u8]) -> Option<Sequence> {
    let shown = |length| Some(Sequence { length, back: 0 });
    match *text.get(1)? {
        b'[' => control(&text[2..]).map(|s| Sequence { length: s.length + 2, ..s }),
        b']' | b'P' | b'_' | b'^' | b'X' => {
            let bounded = &text[..text.len().min(LONGEST)];
            let end = bounded.iter().enumerate().skip(2).find_map(|(at, byte)| match byte {
                0x07 => Some(at + 1),
                0x1b if bounded.get(at + 1) == Some(&b'\\') => Some(at + 2),
                _ => None,
            })?;
            shown(end)
        }
        b'(' | b')' | b'*' | b'+' | b'-' | b'.' | b'/' | b'#' | b'%' | b' ' => shown(3.min(text.len())),
        0x20..=0x7e => shown(2),
        _ => None,
    }
}

/// What follows the introducer of a control sequence.
pub(super) fn control(text: &[u8]) -> Option<Sequence> {
    let parameters = text.iter().take(LONGEST).take_while(|b| matches!(b, 0x30..=0x3f)).count();
    let between = text[parameters..].iter().take(8).take_while(|b| matches!(b, 0x20..=0x2f)).count();
    let last = *text.get(parameters + between)?;
    if !matches!(last, 0x40..=0x7e) {
        return None;
    }
    let count = || str::from_utf8(&text[..parameters]).ok().and_then(|n| n.parse().ok()).unwrap_or(1).max(1);
    let back = if last == b'D' { count() } else { 0 };
    Some(Sequence { length: parameters + between + 1, back })
}

/// How many bytes from a quote on are the seam between two literals that make one: `" + "`, `' . '`, `" "`.
pub(super) fn seam(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    // At most so many empty literals in between.
    for _ in 0..4 {
        at += blank(&text[at..]);
        at += operator(&text[at..]);
        at += blank(&text[at..]);
        let letters =
            text[at..].iter().take(2).take_while(|b| matches!(b, b'f' | b'r' | b'b' | b'u')).count();
        let quote = *text.get(at + letters)?;
        if at > LONGEST || !matches!(quote, b'"' | b'\'') {
            return None;
        }
        at += letters + 1;
        // An empty literal in between is part of the seam.
        match text.get(at) {
            Some(next) if *next == quote && seam_goes_on(&text[at + 1..]) => at += 1,
            _ => return Some(at),
        }
    }
    None
}

/// Whether behind an empty literal another one follows.
fn seam_goes_on(text: &[u8]) -> bool {
    let mut at = blank(text);
    at += operator(&text[at..]);
    at += blank(&text[at..]);
    matches!(text.get(at), Some(b'"' | b'\''))
}

/// Blanks and comments.
fn blank(text: &[u8]) -> usize {
    let blanks = |text: &[u8]| text.iter().take(LONGEST).take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = blanks(text);
    if text[at..].starts_with(b"/*") {
        let rest = &text[at..text.len().min(at + LONGEST)];
        if let Some(end) = memchr::memmem::find(rest, b"*/") {
            at += end + 2;
            at += blanks(&text[at..]);
        }
    }
    at
}

fn operator(text: &[u8]) -> usize {
    match text {
        [b'.', b'.', ..] | [b'|', b'|', ..] => 2,
        [b'+' | b'.' | b'&', ..] => 1,
        _ => 0,
    }
}

/// As [`seam`], between two short members of a list that is joined.
pub(super) fn list_seam(text: &[u8]) -> Option<usize> {
    let opens = next_member(text)?;
    let closes = opens + text[opens..].iter().take(SHORT + 1).position(|b| *b == text[0])?;
    (closes > opens).then_some(opens)
}

/// The longest member of a list that is no word by itself.
pub(super) const SHORT: usize = 8;

/// Where, from a quote that ends a member, the next one begins behind its quote.
fn next_member(text: &[u8]) -> Option<usize> {
    let comma = 1 + blank(&text[1..]);
    if text.get(comma) != Some(&b',') {
        return None;
    }
    let opens = comma + 1 + blank(&text[comma + 1..]);
    (text.get(opens) == Some(&text[0])).then_some(opens + 1)
}

/// How many seams of short members follow one another from here on, up to so many.
pub(super) fn list_seams(text: &[u8], most: usize) -> usize {
    let mut at = 0;
    let mut seams = 0;
    while seams < most
        && let Some(length) = list_seam(&text[at..])
        && let Some(member) = text[at + length..].iter().take(SHORT + 1).position(|b| *b == text[0])
    {
        at += length + member;
        seams += 1;
    }
    seams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_break_no_word() {
        for (text, length) in [
            ("<wbr>x", 5),
            ("</b>x", 4),
            ("<span class=\"a>b\">x", 18),
            ("<!-- a\n> b -->x", 14),
            ("<!---->x", 7),
            ("<![CDATA[x", 9),
            ("<?x y?>z", 7),
            ("<script>1</script>x", 18),
            ("<i style='font-size:0'>q</i>x", 28),
        ] {
            assert_eq!(tag(text.as_bytes()), Some(length), "{text}");
        }
        for text in ["<", "<td>", "< b>", "<u8", "<b", "a<b && c>d"] {
            assert_eq!(tag(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn sequences_of_terminals() {
        for (text, length, back) in [
            ("\u{1b}[0mx", 4, 0),
            ("\u{1b}[38;5;196mx", 11, 0),
            ("\u{1b}[2 qx", 5, 0),
            ("\u{1b}]0;sh\u{7}x", 7, 0),
            ("\u{1b}]8;;\u{1b}\\x", 7, 0),
            ("\u{1b}(Bx", 3, 0),
            ("\u{1b}7x", 2, 0),
            ("\u{1b}[3Dx", 4, 3),
            ("\u{1b}[Dx", 3, 1),
        ] {
            assert_eq!(sequence(text.as_bytes()), Some(Sequence { length, back }), "{text:?}");
        }
        assert_eq!((sequence(b"\x1b"), sequence(b"\x1b[1;")), (None, None));
    }

    #[test]
    fn seams_between_literals() {
        for (text, length) in [
            ("\" + \"x", 5),
            ("\"\n    + \"x", 9),
            ("' . 'x", 5),
            ("\" /* x */ + \"x", 13),
            ("\" + \"\" + \"x", 10),
            ("\"\"x", 2),
            ("\" \"\" 'x", 6),
            ("' || 'x", 6),
            ("\" f\"x", 4),
        ] {
            assert_eq!(seam(text.as_bytes()), Some(length), "{text:?}");
        }
        for text in ["\", \"", "\": \"", "\"", "\" x", "\" - \""] {
            assert_eq!(seam(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(list_seam(b"', 'abc'"), Some(4));
        assert_eq!(list_seam(b"', 'abcdefghijk'"), None);
    }
}
