//! One walk over a plain text: finds what stands together and hands it on.

use unicode_normalization::char::is_combining_mark;

use super::compound::{self, Compound};
use super::{Place, Sink};

/// Bytes of what stands together. A base64 line is cut into pieces of this size; no name or path people speak of is longer.
const COMPOUND_LEN_MAX: usize = 256;

/// What a character does to the word it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Letters, digits and their marks.
    Word,
    /// A character of a script without spaces.
    Pairs,
    /// Holds two words together when it stands between them.
    Joint,
    Break,
}

fn class_of(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
            '.' | '_' | '-' | '\'' | '/' | '\\' | ':' | '@' => Class::Joint,
            _ => Class::Break,
        };
    }
    if has_no_spaces(c) {
        Class::Pairs
    } else if c.is_alphanumeric() || is_combining_mark(c) {
        Class::Word
    } else if matches!(c, '’' | '‘' | 'ʼ' | '‐' | '‑') {
        Class::Joint
    } else {
        Class::Break
    }
}

/// Han, kana, Hangul, Yi; Thai, Lao, Myanmar, Khmer, Tai scripts.
fn has_no_spaces(c: char) -> bool {
    let written = matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aaf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{30ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}' | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a000}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{1b000}'..='\u{1b2ff}' | '\u{20000}'..='\u{3ffff}');
    written && (c.is_alphanumeric() || is_combining_mark(c))
}

pub(super) fn walk<F: FnMut(&str, Place)>(text: &str, sink: &mut Sink<F>) {
    let mut rest = text;
    while !rest.is_empty() && !sink.is_full() {
        let taken = match rest.chars().next().map(class_of) {
            Some(Class::Word) => compound(rest, sink),
            Some(Class::Pairs) => pairs(rest, sink),
            _ => skipped(rest),
        };
        rest = &rest[taken..];
    }
}

fn skipped(rest: &str) -> usize {
    rest.find(|c: char| matches!(class_of(c), Class::Word | Class::Pairs)).unwrap_or(rest.len())
}

/// Words and what holds them together, up to a space or the longest a compound may be.
fn compound<F: FnMut(&str, Place)>(rest: &str, sink: &mut Sink<F>) -> usize {
    let mut found = Compound::default();
    let mut at = 0;
    loop {
        let end = end_of_run(rest, at);
        found.runs.push((at, end));
        let Some(next) = after_joint(rest, end) else {
            let end = with_sign(rest, &found, end);
            found.runs.last_mut().into_iter().for_each(|run| run.1 = end);
            compound::hand_out(rest, &found, sink);
            return end;
        };
        if next >= COMPOUND_LEN_MAX {
            compound::hand_out(rest, &found, sink);
            return next;
        }
        at = next;
    }
}

/// The end of the letters and digits from here. A comma that parts thousands does not end them.
fn end_of_run(rest: &str, from: usize) -> usize {
    let limit = from + COMPOUND_LEN_MAX;
    for (at, c) in rest[from..].char_indices() {
        let at = from + at;
        if at >= limit || class_of(c) != Class::Word && !parts_thousands(rest.as_bytes(), from, at) {
            return at;
        }
    }
    rest.len()
}

fn parts_thousands(rest: &[u8], from: usize, at: usize) -> bool {
    let digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
    rest[at] == b',' && at > from && (1..=3).all(|n| digit(at + n)) && digit(at - 1) && !digit(at + 4)
}

/// Where the next word begins, when a joint and nothing else stands before it. `::`, `//` and `://` are joints too; two dots or hyphens are not.
fn after_joint(rest: &str, end: usize) -> Option<usize> {
    const JOINT_CHARS_MAX: usize = 3;
    let mut joint = rest[end..].char_indices().take(JOINT_CHARS_MAX + 1);
    let (_, first) = joint.next()?;
    let mut last = first;
    let (next, ends) = joint.find(|(_, c)| {
        let goes_on = class_of(*c) == Class::Joint;
        last = if goes_on { *c } else { last };
        !goes_on
    })?;
    let may_repeat = |c: char| matches!(c, '/' | '\\' | ':' | '_');
    let one = next == first.len_utf8();
    let whole = class_of(first) == Class::Joint && (one || may_repeat(first) && may_repeat(last));
    (whole && class_of(ends) == Class::Word).then_some(end + next)
}

/// C++, C#, F#: a single letter keeps the sign behind it.
fn with_sign(rest: &str, found: &Compound, end: usize) -> usize {
    let lone_letter = found.runs.len() == 1 && end == 1 && rest.as_bytes()[0].is_ascii_alphabetic();
    if !lone_letter {
        return end;
    }
    let sign = ["++", "#"].iter().find(|sign| rest[end..].starts_with(**sign)).map_or(0, |sign| sign.len());
    let ends =
        rest[end + sign..].chars().next().is_none_or(|c| matches!(class_of(c), Class::Break | Class::Joint));
    if ends { end + sign } else { end }
}

/// Two characters at a time; one that stands alone is a term of its own.
fn pairs<F: FnMut(&str, Place)>(rest: &str, sink: &mut Sink<F>) -> usize {
    let run = rest.find(|c: char| class_of(c) != Class::Pairs).unwrap_or(rest.len());
    let starts = || rest[..run].char_indices().map(|(at, _)| at);
    let ends = starts().skip(2).chain([run]);
    if starts().nth(1).is_none() {
        sink.word(&rest[..run]);
        return run;
    }
    for (start, end) in starts().zip(ends) {
        if sink.is_full() {
            break;
        }
        sink.word(&rest[start..end]);
    }
    run
}
