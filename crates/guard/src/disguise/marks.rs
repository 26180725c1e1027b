//! Where a text may be read in another way. Asked at few bytes and answered from a few neighbours: nearly all text has none.

use std::ops::Range;

use super::characters::{self, Reads};
use super::escapes::{self, Backslash, Escape};
use super::reader::{char_at, char_before};
use super::{markup, wrapped};
use crate::pass::is_token_byte;

/// A stretch that may be read in another way.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(super) at: Range<usize>,
    pub(super) signs: Signs,
    /// It lies in what is taken out anyway.
    pub(super) covered: bool,
    /// What it marks ends with it.
    pub(super) is_whole: bool,
}

impl Mark {
    fn new(at: Range<usize>, signs: Signs) -> Mark {
        Mark { at, signs, covered: false, is_whole: false }
    }

    /// The mark in a text of which so much was taken away.
    pub(crate) fn moved(self, gone: usize) -> Option<Mark> {
        let start = self.at.start.checked_sub(gone)?;
        Some(Mark { at: start..self.at.end - gone, ..self })
    }

    pub(crate) fn start(&self) -> usize {
        self.at.start
    }

    /// Whether a place lies in bytes that it marks.
    pub(crate) fn wraps(&self, place: usize) -> bool {
        self.signs.has(Signs::WRAPPED) && self.at.contains(&place)
    }
}

/// In which ways it may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signs(u16);

impl Signs {
    pub(super) const NONE: Signs = Signs(0);
    /// Letters that are not shown or stand for others.
    pub(super) const LETTERS: Signs = Signs(1);
    /// Escapes, tags, sequences and seams: what the usual way of reading knows.
    pub(super) const WRITTEN: Signs = Signs(2);
    /// Hex or base64.
    pub(super) const WRAPPED: Signs = Signs(4);
    pub(super) const MAIL: Signs = Signs(8);
    /// Lines that end as a line does that mail continues; so do many values in base64.
    pub(super) const SOFT_BREAKS: Signs = Signs(16384);
    pub(super) const TAGS: Signs = Signs(16);
    pub(super) const SELECTORS: Signs = Signs(32);
    pub(super) const HEX_ESCAPES: Signs = Signs(64);
    pub(super) const BARE_ESCAPES: Signs = Signs(128);
    pub(super) const DELETES: Signs = Signs(256);
    /// Literals that are put together.
    pub(super) const SEAMS: Signs = Signs(512);
    pub(super) const LISTS: Signs = Signs(1024);
    /// Letters of other scripts.
    pub(super) const LIKES: Signs = Signs(2048);
    /// The cursor goes back over a line.
    pub(super) const OVERWRITES: Signs = Signs(4096);
    pub(super) const DUMPS: Signs = Signs(8192);

    pub(super) fn has(self, other: Signs) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn with(self, other: Signs) -> Signs {
        Signs(self.0 | other.0)
    }
}

/// What a byte may begin that has to be looked at; nothing for nearly all. It is asked of every byte that is no letter, so
/// most are turned away by the byte behind them: [`worth_a_look`].
pub(crate) const fn may_begin(byte: u8) -> u8 {
    match byte {
        b'"' | b'\'' => QUOTE,
        b'=' => EQUALS,
        b'<' => TAG,
        b'&' => REFERENCE,
        b'%' => PERCENT,
        b'+' | b'*' | b'{' | b'$' => PAIR,
        b'\\' | b'`' | b'^' | 0x7f => OTHER,
        // Lead bytes of Chinese and Korean are left out: none of their letters reads as another.
        0xc2..=0xe3 | 0xea | 0xee..=0xf4 => OTHER,
        0..=0x1f if !matches!(byte, b'\n' | b'\t') => OTHER,
        _ => 0,
    }
}

const QUOTE: u8 = 1;
const EQUALS: u8 = 2;
const TAG: u8 = 4;
const REFERENCE: u8 = 8;
const PERCENT: u8 = 16;
/// Signs that count only with one certain other behind them.
const PAIR: u8 = 32;
const OTHER: u8 = 64;

const BEGINS: [u8; 256] = {
    let mut begins = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        begins[byte] = may_begin(byte as u8);
        byte += 1;
    }
    begins
};

/// What a byte may be behind.
const BEHIND: [u8; 256] = {
    let mut behind = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric()
            || matches!(
                b,
                b' ' | b'\n'
                    | b'\r'
                    | b'\t'
                    | b'+'
                    | b'.'
                    | b'&'
                    | b'|'
                    | b'/'
                    | b'"'
                    | b'\''
                    | b','
                    | b'-'
                    | b'_'
                    | b'='
            )
        {
            behind[byte] |= QUOTE;
        }
        if b.is_ascii_hexdigit() || matches!(b, b'?' | b'\n' | b'\r' | b' ' | b'\t') {
            behind[byte] |= EQUALS;
        }
        if b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?') {
            behind[byte] |= TAG;
        }
        if b.is_ascii_alphabetic() || b == b'#' {
            behind[byte] |= REFERENCE;
        }
        if b.is_ascii_hexdigit() || matches!(b, b'u' | b'U') {
            behind[byte] |= PERCENT;
        }
        if matches!(b, b'A' | b'*' | b'}' | b'@') {
            behind[byte] |= PAIR;
        }
        byte += 1;
    }
    behind
};

/// Whether the byte behind one that may begin a mark lets it.
#[inline]
pub(crate) fn worth_a_look(text: &[u8], at: usize) -> bool {
    let next = text.get(at + 1).copied().unwrap_or(b'\n');
    let begins = BEGINS[text[at] as usize];
    begins & BEHIND[next as usize] != 0 && (begins != QUOTE || quote_worth_a_look(text, at, next))
}

/// JSON has a quote every few bytes: one that opens a word is none of a seam, and one before a comma only where another opens
/// a short word that a comma follows.
#[inline]
fn quote_worth_a_look(text: &[u8], at: usize, next: u8) -> bool {
    let before = if at == 0 { b' ' } else { text[at - 1] };
    if before <= b' ' || matches!(before, b',' | b':' | b'{' | b'[' | b'(' | b'=') {
        return false;
    }
    match next {
        b',' => {
            let opens = at + 2 + usize::from(text.get(at + 2) == Some(&b' '));
            match text.get(opens) {
                Some(quote) if *quote == text[at] => {
                    let member = text[opens + 1..].iter().take(markup::SHORT + 1).position(|b| b == quote);
                    member.is_some_and(|length| text.get(opens + 2 + length) == Some(&b','))
                }
                Some(b'\n' | b'\r' | b' ' | b'\t') => true,
                _ => false,
            }
        }
        next if next.is_ascii_alphanumeric() => before.is_ascii_alphanumeric(),
        _ => true,
    }
}

/// Whether a word of digits may be the first of bytes that are printed one by one, or in groups.
#[inline]
pub(crate) fn may_begin_bytes(text: &[u8], word: &Range<usize>) -> bool {
    let first = text[word.start].is_ascii_hexdigit()
        && matches!(text[word.start + 1], b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'x' | b'X');
    let sign = matches!(text.get(word.end), Some(b' ' | b',' | b':' | b'-' | b'\n' | b'\r' | b';'));
    let next = text.get(word.end + 1);
    first && sign && next.is_some_and(|b| b.is_ascii_hexdigit() || b.is_ascii_whitespace())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'=' | b'.')
}

/// The mark that begins at a place [`worth_a_look`].
#[inline(never)]
pub(crate) fn mark_at(text: &[u8], at: usize) -> Option<Mark> {
    let before = at.checked_sub(1).map(|i| text[i]);
    let rest = &text[at..];
    let mark = |length: usize, signs: Signs| Some(Mark::new(at..at + length, signs));
    let token = |byte: Option<u8>| byte.is_some_and(is_token_byte);
    let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let next = rest.get(1).copied();
    match rest[0] {
        b'\\' if before == Some(b'\\') => None,
        b'\\' => backslash(before, rest).and_then(|(length, signs)| mark(length, signs)),
        b'&' if matches!(next, Some(b'#' | b'a'..=b'z' | b'A'..=b'Z')) => {
            let escape = escapes::reference(rest).filter(|e| matters(e, b"<>\"'"))?;
            let again =
                matches!(escape.reads, escapes::Reads::Char('&')) && rest.get(escape.length) != Some(&b'#');
            if again { None } else { mark(escape.length, Signs::WRITTEN) }
        }
        b'%' => {
            let escape = escapes::percent(rest)?;
            // What addresses are full of.
            if matters(&escape, b"/:=+@,?;()[]{}|<>\"'") { mark(escape.length, Signs::WRITTEN) } else { None }
        }
        b'<' => {
            let inside = before.is_some_and(|b| b.is_ascii_graphic() || b >= 0x80);
            let length = if inside && matches!(next, Some(b'/' | b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z')) {
                markup::tag(rest)?
            } else {
                return None;
            };
            let after = rest.get(length).copied();
            let goes_on = after.is_some_and(|b| b.is_ascii_graphic() || b >= 0x80);
            if goes_on { mark(length, Signs::WRITTEN) } else { None }
        }
        b'"' | b'\'' => quote(before, rest).and_then(|(length, signs)| mark(length, signs)),
        b'`' | b'^' => {
            let escape = rest.starts_with(b"`u{") || rest.starts_with(b"^^");
            let each = token(next) && rest.get(2) == Some(&rest[0]);
            let signs = Signs::WRITTEN.with(Signs::BARE_ESCAPES);
            let inside = token(before) && letter(next.as_ref());
            if escape || each || inside { mark(1, signs) } else { None }
        }
        b'*' if next == Some(b'*') && token(before) && token(rest.get(2).copied()) => mark(2, Signs::WRITTEN),
        b'{' if next == Some(b'}') && token(before) && letter(rest.get(2)) => mark(2, Signs::WRITTEN),
        b'$' if next == Some(b'@') && token(before) && token(rest.get(2).copied()) => mark(2, Signs::WRITTEN),
        b'=' => mail(text, at).and_then(|(length, signs)| mark(length, signs)),
        b'+' if next == Some(b'A') => {
            let letters =
                rest[1..].iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || **b == b'/').count();
            let whole = letters >= 3 && (rest.get(1 + letters) == Some(&b'-') || letters == 64);
            if whole { mark(1 + letters, Signs::MAIL) } else { None }
        }
        0x1b => {
            let length = markup::sequence(rest)?.length;
            let after = rest.get(length).copied();
            let goes_on = after.is_some_and(|b| b.is_ascii_graphic() || is_control(b) || b >= 0x80);
            if matches!(rest[length - 1], b'G' | b'C') && next == Some(b'[') {
                return mark(length, Signs::WRITTEN.with(Signs::OVERWRITES));
            }
            let inside = before.is_some_and(|b| b.is_ascii_graphic() || is_control(b) || b >= 0x80);
            if goes_on && inside { mark(length, Signs::WRITTEN) } else { None }
        }
        b'\r' if matches!(next, None | Some(b'\n' | b'\r')) => None,
        b'\r' => mark(1, Signs::OVERWRITES),
        0x08 => mark(1, Signs::WRITTEN),
        byte if is_control(byte) => {
            let inside =
                |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_graphic() || is_control(b) || b >= 0x80);
            let signs = if byte == 0x7f { Signs::LETTERS.with(Signs::DELETES) } else { Signs::LETTERS };
            if inside(before) && inside(next) { mark(1, signs) } else { None }
        }
        0xc2.. => character(text, at).and_then(|(length, signs)| mark(length, signs)),
        _ => None,
    }
}

/// Whether what an escape says can be part of a token, or lead to another escape; what is often escaped is not asked for.
fn matters(escape: &Escape, common: &[u8]) -> bool {
    match escape.reads {
        escapes::Reads::Char(c) if c.is_ascii() => {
            let byte = c as u8;
            (byte.is_ascii_graphic() && !common.contains(&byte)) || is_control(byte)
        }
        escapes::Reads::Char(_) | escapes::Reads::Nothing | escapes::Reads::Byte(_) => true,
    }
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && !byte.is_ascii_whitespace()) || byte == 0x7f
}

fn backslash(before: Option<u8>, rest: &[u8]) -> Option<(usize, Signs)> {
    let token = |byte: Option<u8>| byte.is_some_and(is_token_byte);
    let slashes = rest.iter().take(16).take_while(|b| **b == b'\\').count();
    let kind = *rest.get(slashes)?;
    let after = rest.get(slashes + 1).copied();
    let escape = || escapes::backslash(rest, Backslash::Literal).filter(|e| e.length > 2);
    let hex = rest[slashes..].iter().take(6).take_while(|b| b.is_ascii_hexdigit()).count();
    let signs = match kind {
        b'u' | b'U' | b'x' | b'N' | b'o' | b'0'..=b'7' if escape().is_some_and(|e| matters(&e, b"<>\"'")) => {
            if hex >= 2 {
                Signs::WRITTEN.with(Signs::HEX_ESCAPES)
            } else {
                Signs::WRITTEN
            }
        }
        b'\'' | b'c' if escape().is_some() => Signs::WRITTEN,
        b'0' => Signs::WRITTEN,
        b'+' => Signs::WRITTEN.with(Signs::HEX_ESCAPES),
        b'e' if after == Some(b'[') => Signs::WRITTEN,
        b'\n' | b'\r' if token(before) => Signs::WRITTEN,
        _ if hex >= 2 => Signs::WRITTEN.with(Signs::HEX_ESCAPES).with(Signs::BARE_ESCAPES),
        b'n' | b'r' | b't' if slashes > 1 && after != Some(b'\\') => Signs::WRITTEN,
        b'n' | b'r' | b't' | b'"' | b'\'' => return None,
        _ if after == Some(b'\\') && kind.is_ascii_graphic() => Signs::WRITTEN.with(Signs::BARE_ESCAPES),
        _ if token(before) && (is_token_byte(kind) || kind == b'&') => {
            Signs::WRITTEN.with(Signs::BARE_ESCAPES)
        }
        _ => return None,
    };
    Some((slashes + 1, signs))
}

fn quote(before: Option<u8>, rest: &[u8]) -> Option<(usize, Signs)> {
    /// Fewer short members in a row are a list of words.
    const MANY: usize = 3;
    let quote = rest[0];
    let letter = |byte: u8| byte.is_ascii_alphanumeric();
    // What is put together ends in something, and goes on with something.
    let ends =
        before.is_some_and(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b'[' | b'{' | b',' | b'=' | b':'));
    let seam = || {
        let length = markup::seam(rest).filter(|_| ends)?;
        let goes_on =
            rest.get(length).is_some_and(|b| b.is_ascii_graphic() && !matches!(b, b')' | b',' | b';' | b']'));
        goes_on.then_some((length, Signs::SEAMS))
    };
    let list = || (markup::list_seams(rest, MANY) == MANY).then_some((1, Signs::LISTS));
    match *rest.get(1)? {
        b',' => list(),
        b' ' | b'\n' | b'\r' | b'\t' | b'+' | b'.' | b'&' | b'|' | b'/' => seam().or_else(list),
        next if next == quote && before.is_some_and(letter) && rest.get(2).copied().is_some_and(letter) => {
            Some((2, Signs::WRITTEN.with(Signs::SEAMS)))
        }
        b'"' | b'\'' => seam(),
        next if quote == b'"' && letter(next) && before.is_some_and(letter) => Some((1, Signs::WRITTEN)),
        _ => None,
    }
}

/// At an equals sign: what mail writes so.
fn mail(text: &[u8], at: usize) -> Option<(usize, Signs)> {
    /// In a shorter run, two hex digits behind an equals sign are a number.
    const LONG: usize = 20;
    let rest = &text[at..];
    if rest.starts_with(b"=?") {
        return Some((2, Signs::MAIL));
    }
    let before = at.checked_sub(1).is_some_and(|i| is_token_byte(text[i]) && text[i] != b'=');
    let escape = escapes::quoted_printable(rest)?;
    let after = &rest[escape.length..];
    if escape.reads == escapes::Reads::Nothing {
        let word = after.iter().take(LONG).take_while(|b| is_plain(**b) && **b != b'=').count();
        return (before && word > 0 && after.get(word) != Some(&b'=')).then_some((1, Signs::SOFT_BREAKS));
    }
    if !matters(&escape, b"<>\"'") {
        return None;
    }
    let another = after.first() == Some(&b'=') && escapes::quoted_printable(after).is_some();
    if another {
        return Some((escape.length, Signs::MAIL));
    }
    let ahead = rest.iter().take(LONG).take_while(|b| is_token_byte(**b)).count();
    let behind = text[at.saturating_sub(LONG)..at].iter().rev().take_while(|b| is_token_byte(**b)).count();
    (before && ahead + behind >= LONG && !after.is_empty()).then_some((escape.length, Signs::MAIL))
}

/// At a character that is not plain.
fn character(text: &[u8], at: usize) -> Option<(usize, Signs)> {
    let c = char_at(&text[at..])?;
    let length = c.len_utf8();
    let plain = |byte: Option<&u8>| byte.is_some_and(|b| is_plain(*b));
    let before = plain(at.checked_sub(1).map(|i| &text[i]));
    let after = plain(text.get(at + length));
    let letters = Some((length, Signs::LETTERS));
    if c == '\u{9b}' {
        return letters;
    }
    match characters::reads(c) {
        Reads::Itself => None,
        Reads::Nothing if characters::tag(c).is_some() => Some((length, Signs::LETTERS.with(Signs::TAGS))),
        Reads::Nothing if characters::selector(c).is_some_and(|number| number >= 16) => {
            Some((length, Signs::LETTERS.with(Signs::SELECTORS)))
        }
        Reads::Nothing if before || after => letters,
        Reads::Nothing if in_a_row(&text[at + length..]) => letters,
        Reads::Nothing => None,
        Reads::Same(_) if c == '…' => None,
        Reads::Same(read) if read.bytes()[0].is_ascii_alphanumeric() => letters,
        Reads::Same(_) if among_plain(text, at, length) => letters,
        Reads::Same(_) => None,
        Reads::Accented(_) | Reads::Like(_) if is_common(c) => {
            near_digit(text, at, length).then_some((length, Signs::LETTERS))
        }
        Reads::Accented(_) => (near_digit(text, at, length) || accents_follow(&text[at + length..]))
            .then_some((length, Signs::LETTERS)),
        Reads::Like(_) if beside_letter(text, at, length) => {
            Some((length, Signs::LETTERS.with(Signs::LIKES)))
        }
        Reads::Like(_) => None,
    }
}

/// Whether what stands before and behind a mark is read as plain: the marks of Chinese and Japanese stand among their letters.
fn among_plain(text: &[u8], at: usize, length: usize) -> bool {
    let plain = |c: Option<char>| {
        c.is_some_and(|c| c.is_ascii_graphic() || c == '\n' || matches!(characters::reads(c), Reads::Same(_)))
    };
    plain(char_before(text, at)) && plain(char_at(&text[at + length..]))
}

/// Whether a plain letter stands on either side, perhaps behind a sign: a word of another script may end with a full stop or a
/// hyphen, and a token goes on behind it.
fn beside_letter(text: &[u8], at: usize, length: usize) -> bool {
    let letter = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let behind = &text[at + length..];
    let joined = matches!(behind.first(), Some(b'-' | b'.' | b'=')) && letter(behind.get(1));
    letter(at.checked_sub(1).map(|i| &text[i])) || letter(behind.first()) || joined
}

/// Dashes that prose is full of.
fn is_common(c: char) -> bool {
    matches!(c, '\u{2012}'..='\u{2015}')
}

/// Whether two more characters that are not shown follow.
fn in_a_row(rest: &[u8]) -> bool {
    let is_hidden = |c: &char| characters::is_not_shown(*c) || characters::is_mark(*c);
    let hidden = |rest: &[u8]| char_at(rest).filter(is_hidden).map(char::len_utf8);
    hidden(rest).is_some_and(|length| hidden(&rest[length..]).is_some())
}

/// Whether two more letters with accents follow: no word has three in a row.
fn accents_follow(rest: &[u8]) -> bool {
    let accented = |rest: &[u8]| {
        char_at(rest).filter(|c| matches!(characters::reads(*c), Reads::Accented(_))).map(char::len_utf8)
    };
    accented(rest).is_some_and(|length| accented(&rest[length..]).is_some())
}

/// Whether a digit or an underscore stands close by: words have letters with accents, tokens have digits too.
fn near_digit(text: &[u8], at: usize, length: usize) -> bool {
    const NEAR: usize = 10;
    let near = &text[at.saturating_sub(NEAR)..text.len().min(at + length + NEAR)];
    near.iter().any(|b| b.is_ascii_digit() || *b == b'_')
}

/// The mark of a long run of token characters: text in hex or in base64.
pub(crate) fn mark_of_run(text: &[u8], run: Range<usize>) -> Option<Mark> {
    let letters = &text[run.clone()];
    let digits = letters.strip_prefix(b"0x").or_else(|| letters.strip_prefix(b"0X")).unwrap_or(letters);
    let head = &digits[..digits.len().min(16)];
    let is_text = if head.iter().all(u8::is_ascii_hexdigit) {
        digits.len().is_multiple_of(2) && wrapped::hex_begins_text(head)
    } else {
        wrapped::base64_begins_text(letters)
    };
    let is_padded = text.get(run.end) == Some(&b'=') || letters.ends_with(b"=");
    let next_line = text.get(run.end).is_some_and(u8::is_ascii_whitespace);
    is_text.then(|| Mark { is_whole: is_padded || !next_line, ..Mark::new(run, Signs::WRAPPED) })
}

/// The mark of bytes printed one by one, or in groups, of which the first is the word given.
#[inline(never)]
pub(crate) fn mark_of_bytes(text: &[u8], word: Range<usize>) -> Option<Mark> {
    /// Enough to tell whether they are text.
    const NEAR: usize = 128;
    let length = word.len();
    let group = &text[word.clone()];
    let marked = group.starts_with(b"0x") || group.starts_with(b"0X");
    let digits = if marked { &group[2..] } else { group };
    let is_group = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    if !is_group(digits) || !(marked || length.is_power_of_two() || length == 7) {
        return None;
    }
    // Only the first group of a row is marked.
    let sign = |byte: u8| matches!(byte, b' ' | b'\n' | b':' | b',' | b'-');
    let follows = word.start > length
        && sign(text[word.start - 1])
        && is_group(&text[word.start - 1 - length..word.start - 1])
        && !text[..word.start - 1 - length].last().is_some_and(u8::is_ascii_alphanumeric)
        && !marked;
    if follows {
        return None;
    }
    if begins_dump(text, &word) {
        return Some(Mark::new(word, Signs::DUMPS));
    }
    let row = wrapped::hex_row(&text[word.start..text.len().min(word.start + NEAR)])?;
    Some(Mark::new(word.start..word.start + row, Signs::WRAPPED))
}

/// Whether a word is the offset of the first row of a dump.
fn begins_dump(text: &[u8], word: &Range<usize>) -> bool {
    let first = word.start == 0 || !is_token_byte(text[word.start - 1]) || text[word.start - 1] == b'=';
    let zeros = word.len() >= 7 && text[word.clone()].iter().all(|b| *b == b'0');
    first && zeros && matches!(text.get(word.end), Some(b':' | b' '))
}
