//! Reads a text as it is meant: what is not shown is left out, what is written in another way is written plainly.

use super::characters::{self, Reads};
use super::escapes::{self, Backslash};
use super::markup;
use super::reading::Reading;
use super::wrapped;
use crate::pass::is_token_byte;

/// How an ambiguous character is meant. Each way is tried where the text has something that could be meant so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) backslash: Backslash,
    pub(super) mail: Mail,
    /// The delete character takes the letter before it back.
    pub(super) delete_takes_back: bool,
    pub(super) joined: Joined,
    /// Escapes, references, tags and sequences are what they stand for; otherwise only letters are read in another way.
    pub(super) written: bool,
    /// Letters that look plain are, also in words of their own script.
    pub(super) likes_everywhere: bool,
    pub(super) hidden: Hidden,
}

/// What characters that are not shown carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Nothing.
    Nothing,
    /// Tag characters are letters.
    Tags,
    /// As before, and stand apart from what is shown around them.
    TagsApart,
    /// Variation selectors are bytes.
    Selectors,
}

/// What equals signs and plus signs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mail {
    Nothing,
    /// Characters, as mail writes them.
    Characters,
    /// And that a line goes on.
    Lines,
}

/// Which literals are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    None,
    /// Those beside one another, or with an operator between them.
    Beside,
    /// The members of a list.
    Listed,
}

impl Way {
    pub(super) const USUAL: Way = Way {
        backslash: Backslash::Literal,
        mail: Mail::Nothing,
        delete_takes_back: false,
        joined: Joined::None,
        written: true,
        likes_everywhere: false,
        hidden: Hidden::Nothing,
    };
}

/// How far back and ahead it is looked whether a letter stands among plain ones.
const RUN: usize = 256;
/// Fewer characters that are not shown carry no text as bits.
const SHORTEST_BITS: usize = 64;
const MOST_BITS: usize = 8 * 1024;

const PLAIN: u8 = 0;
const SPECIAL: u8 = 1;

/// The bytes at which something may have to be read in another way.
const CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        let special = matches!(
            byte as u8,
            b'\\' | b'&' | b'%' | b'<' | b']' | b'=' | b'"' | b'\'' | b'`' | b'^' | b'*' | b'{' | b'+' | b'$'
        ) || (byte < 0x20 && !matches!(byte as u8, b'\n' | b'\t'))
            || byte >= 0x7f;
        class[byte] = if special { SPECIAL } else { PLAIN };
        byte += 1;
    }
    class
};

/// Reads a text in one way; `wraps` says where wrapped text begins.
pub(super) fn read(text: &[u8], way: Way, wraps: &[usize]) -> Reading {
    let reading = Reading::with_capacity(text.len());
    let mut reader =
        Reader { text, way, at: 0, wraps, reading, run: (0, false), no_bits: 0, apart: usize::MAX };
    reader.run();
    reader.reading
}

#[derive(Debug)]
struct Reader<'t> {
    text: &'t [u8],
    way: Way,
    at: usize,
    wraps: &'t [usize],
    reading: Reading,
    /// Up to where it is known whether letters stand among plain ones, and whether they do.
    run: (usize, bool),
    /// Up to where there are no bits.
    no_bits: usize,
    /// Where the last letter ended that is not shown.
    apart: usize,
}

impl Reader<'_> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            if self.apart == self.at && char_at(self.rest()).is_none_or(|c| characters::tag(c).is_none()) {
                self.reading.replace(self.at..self.at, b" ");
                self.apart = usize::MAX;
            }
            while self.wraps.first().is_some_and(|wrap| *wrap < self.at) {
                self.wraps = &self.wraps[1..];
            }
            if self.wraps.first() == Some(&self.at)
                && let Some(wrapped) = wrapped::unwrap(&self.text[self.at..])
            {
                self.reading.replace(self.at..self.at + wrapped.length, &wrapped.plain);
                self.at += wrapped.length;
                continue;
            }
            let stop = self.wraps.first().map_or(self.text.len(), |wrap| (*wrap).max(self.at + 1));
            let plain = self.text[self.at..stop].iter().take_while(|b| CLASS[**b as usize] == PLAIN).count();
            if plain > 0 {
                self.show(plain);
            } else {
                self.special();
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    /// Reads so many bytes as they are.
    fn show(&mut self, length: usize) {
        let end = (self.at + length).min(self.text.len());
        self.reading.copy(&self.text[self.at..end]);
        self.at = end;
    }

    fn leave_out(&mut self, length: usize) {
        self.reading.leave_out(self.at..self.at + length);
        self.at += length;
    }

    fn replace(&mut self, length: usize, with: &[u8]) {
        self.reading.replace(self.at..self.at + length, with);
        self.at += length;
    }

    fn take_back(&mut self, length: usize) {
        self.reading.take_back(self.at..self.at + length);
        self.at += length;
    }

    /// Whether a token may go on from what was read last.
    fn goes_on(&self) -> bool {
        self.reading.text.last().is_some_and(|b| is_token_byte(*b))
    }

    fn next_is_token(&self, from: usize) -> bool {
        self.text.get(self.at + from).is_some_and(|b| is_token_byte(*b) || *b >= 0x80)
    }

    fn special(&mut self) {
        let byte = self.text[self.at];
        if byte >= 0x80 {
            return self.character();
        }
        let done = match byte {
            0x08 if self.way.written => {
                self.take_back(1);
                true
            }
            0x7f if self.way.delete_takes_back => {
                self.take_back(1);
                true
            }
            b'\r' => false,
            0..=0x1a | 0x1c..=0x1f | 0x7f => self.out(Some(1)),
            _ if !self.way.written => false,
            b'\\' => self.hex_literal() || self.escape(escapes::backslash(self.rest(), self.way.backslash)),
            b'&' => self.escape(escapes::reference(self.rest())),
            b'%' => self.escape(escapes::percent(self.rest())),
            b'=' | b'+' if self.way.mail != Mail::Nothing => self.mail(),
            b'<' => self.out(markup::tag(self.rest())),
            b']' => self.out(self.rest().starts_with(b"]]>").then_some(3)),
            b'"' | b'\'' => self.quote(),
            b'`' | b'^' => self.mark(),
            b'*' => self.out(
                (self.rest().starts_with(b"**") && (self.goes_on() || self.next_is_token(2))).then_some(2),
            ),
            b'{' => self.out(self.rest().starts_with(b"{}").then_some(2)),
            b'$' => self.out((self.rest().starts_with(b"$@") && self.goes_on()).then_some(2)),
            0x1b => match markup::sequence(self.rest()) {
                Some(sequence) => self.sequence(sequence),
                None => self.out(Some(1)),
            },
            _ => false,
        };
        if !done {
            self.show(1);
        }
    }

    fn out(&mut self, length: Option<usize>) -> bool {
        let Some(length) = length else { return false };
        self.leave_out(length.min(self.text.len() - self.at));
        true
    }

    fn escape(&mut self, escape: Option<escapes::Escape>) -> bool {
        let Some(escape) = escape else { return false };
        match escape.reads {
            escapes::Reads::Nothing => self.leave_out(escape.length),
            escapes::Reads::Char(c) => self.replace(escape.length, c.encode_utf8(&mut [0; 4]).as_bytes()),
            escapes::Reads::Byte(byte) => self.replace(escape.length, &[byte]),
        }
        true
    }

    /// `\x` and a long row of digits, as a database prints bytes.
    fn hex_literal(&mut self) -> bool {
        const LONG: usize = 16;
        let rest = self.rest();
        let digits = rest.iter().skip(2).take(LONG).take_while(|b| b.is_ascii_hexdigit()).count();
        if !rest.starts_with(b"\\x") || digits < LONG {
            return false;
        }
        let Some(wrapped) = wrapped::unwrap(&rest[2..]) else { return false };
        self.replace(2 + wrapped.length, &wrapped.plain);
        true
    }

    fn sequence(&mut self, sequence: markup::Sequence) -> bool {
        let at = self.at;
        for _ in 0..sequence.back.min(RUN) {
            self.reading.take_back(at..at);
        }
        self.leave_out(sequence.length);
        true
    }

    fn quote(&mut self) -> bool {
        let seam = match self.way.joined {
            Joined::None => None,
            Joined::Beside => markup::seam(self.rest()),
            Joined::Listed => markup::list_seam(self.rest()),
        };
        if seam.is_some() {
            return self.out(seam);
        }
        // A part of a shell's word, or an empty one.
        let empty = self.rest().starts_with(b"\"\"") || self.rest().starts_with(b"''");
        if empty && self.goes_on() && self.next_is_token(2) {
            return self.out(Some(2));
        }
        let letter = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b >= 0x80);
        let inside =
            self.text[self.at] == b'"' && letter(self.reading.text.last()) && letter(self.rest().get(1));
        self.out(inside.then_some(1))
    }

    /// Marks of a shell that say that the next letter is itself, and marks of a text around a word.
    fn mark(&mut self) -> bool {
        let rest = self.rest();
        if rest.starts_with(b"^^") && rest.len() > 3 && rest[2..4].iter().all(u8::is_ascii_hexdigit) {
            let code = str::from_utf8(&rest[2..4]).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
            return self
                .escape(code.map(|byte| escapes::Escape { length: 4, reads: escapes::Reads::Byte(byte) }));
        }
        if rest.starts_with(b"`u{") {
            let length = rest.iter().take(12).position(|b| *b == b'}').map(|end| end + 1);
            let code = length
                .and_then(|end| str::from_utf8(&rest[3..end - 1]).ok())
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32);
            if let (Some(length), Some(c)) = (length, code) {
                return self.escape(Some(escapes::Escape { length, reads: escapes::Reads::Char(c) }));
            }
        }
        let bare = self.way.backslash == Backslash::Bare && (self.next_is_token(1) || self.goes_on());
        self.out(bare.then_some(1))
    }

    fn mail(&mut self) -> bool {
        if self.text[self.at] == b'+' {
            return self.utf7();
        }
        if self.rest().starts_with(b"=?") {
            return self.encoded_word();
        }
        let escape = escapes::quoted_printable(self.rest());
        self.escape(escape.filter(|e| e.reads != escapes::Reads::Nothing || self.way.mail == Mail::Lines))
    }

    /// `+AGc-`: UTF-16 in base64.
    fn utf7(&mut self) -> bool {
        let rest = self.rest();
        let letters =
            rest[1..].iter().take(1024).take_while(|b| b.is_ascii_alphanumeric() || **b == b'/').count();
        let end = 1 + letters;
        if letters < 3 || !rest[1..].starts_with(b"A") {
            return false;
        }
        let length = end + usize::from(rest.get(end) == Some(&b'-'));
        let Some(units) = wrapped::decode(&rest[1..end]) else { return false };
        let ascii = units.chunks_exact(2).all(|unit| unit[0] == 0 && unit[1] < 0x80);
        let plain: Vec<u8> = units.chunks_exact(2).map(|unit| unit[1]).collect();
        if ascii && !plain.is_empty() {
            self.replace(length, &plain);
        }
        ascii && !plain.is_empty()
    }

    /// `=?utf-8?Q?…?=`, and the blanks to the next one.
    fn encoded_word(&mut self) -> bool {
        let rest = &self.rest()[..self.rest().len().min(RUN * 4)];
        let mut marks = rest.iter().enumerate().skip(2).filter(|(_, b)| **b == b'?').map(|(at, _)| at);
        let (Some(charset), Some(encoding)) = (marks.next(), marks.next()) else { return false };
        let Some(end) = memchr::memmem::find(&rest[encoding + 1..], b"?=").map(|at| encoding + 1 + at) else {
            return false;
        };
        if encoding != charset + 2 || charset > 40 {
            return false;
        }
        let inner = &rest[encoding + 1..end];
        let mut length = end + 2;
        let blanks = rest[length..].iter().take(8).take_while(|b| b.is_ascii_whitespace()).count();
        if rest[length + blanks..].starts_with(b"=?") {
            length += blanks;
        }
        let plain = match rest[charset + 1] {
            b'B' | b'b' => wrapped::decode(inner),
            b'Q' | b'q' => Some(quoted_printable(inner)),
            _ => None,
        };
        let Some(plain) = plain else { return false };
        self.replace(length, &plain);
        true
    }

    fn character(&mut self) {
        let Some(c) = char_at(self.rest()) else { return self.show(1) };
        let length = c.len_utf8();
        if c == '\u{9b}'
            && let Some(sequence) = markup::control(&self.rest()[length..])
        {
            self.sequence(markup::Sequence { length: sequence.length + length, ..sequence });
            return;
        }
        if self.way.written
            && c == '\u{ff}'
            && self.rest()[length..].starts_with("\u{fe}".as_bytes())
            && self.rest().get(length + 3) == Some(&0)
        {
            // The mark of wide characters, read as two letters.
            return self.leave_out(length + 2);
        }
        let flag = c == '\u{1f3f4}' && char_at(&self.rest()[length..]).and_then(characters::tag).is_some();
        if flag && self.way.hidden != Hidden::Nothing {
            return self.leave_out(length);
        }
        if self.hidden(c, length) || (c == '\u{202e}' && self.turned(length)) {
            return;
        }
        match characters::reads(c) {
            Reads::Nothing => {
                if !self.bits(c) {
                    self.leave_out(length);
                }
            }
            Reads::Same(plain) | Reads::Accented(plain) => self.replace(length, plain.bytes()),
            Reads::Like(plain) if self.way.likes_everywhere || self.stands_among_plain() => {
                self.replace(length, plain.bytes())
            }
            Reads::Like(_) | Reads::Itself => self.show(length),
        }
    }

    /// Letters turned around between an override and its end.
    fn turned(&mut self, length: usize) -> bool {
        let rest = &self.rest()[..self.rest().len().min(RUN * 4)];
        let Some(end) = memchr::memmem::find(rest, "\u{202c}".as_bytes()) else { return false };
        let Ok(inner) = str::from_utf8(&rest[length..end]) else { return false };
        let turned: String = inner.chars().rev().collect();
        self.replace(end + "\u{202c}".len(), turned.as_bytes());
        true
    }

    /// Reads what a character carries that is not shown.
    fn hidden(&mut self, c: char, length: usize) -> bool {
        let carried = match self.way.hidden {
            Hidden::Nothing => None,
            Hidden::Tags | Hidden::TagsApart => characters::tag(c),
            Hidden::Selectors => characters::selector(c).and_then(|number| u8::try_from(number).ok()),
        };
        if let Some(byte) = carried {
            let apart = self.way.hidden == Hidden::TagsApart;
            if apart && self.apart != self.at {
                self.reading.replace(self.at..self.at, b" ");
            }
            self.replace(length, &[byte]);
            self.apart = if apart { self.at } else { usize::MAX };
        }
        carried.is_some()
    }

    /// Whether a letter that only looks plain stands among plain ones.
    fn stands_among_plain(&mut self) -> bool {
        if self.at < self.run.0 {
            return self.run.1;
        }
        let before = self.reading.text.last();
        if before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'=')) {
            return true;
        }
        let run = self.rest().iter().take(RUN).take_while(|b| is_token_byte(**b) || **b >= 0x80);
        let (mut length, mut plain) = (0, 0);
        for byte in run {
            length += 1;
            if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
                plain = length;
            }
        }
        self.run = if plain > 0 { (self.at + plain, true) } else { (self.at + length, false) };
        plain > 0
    }

    /// Reads a row of two characters that are not shown as bits.
    fn bits(&mut self, first: char) -> bool {
        if self.at < self.no_bits {
            return false;
        }
        let mut other = None;
        let mut bits = Vec::new();
        let mut end = self.at;
        while let Some(c) = char_at(&self.text[end..]).filter(|_| bits.len() < MOST_BITS) {
            if c != first && !(other == Some(c) || (other.is_none() && characters::is_not_shown(c))) {
                break;
            }
            if c != first {
                other = Some(c);
            }
            bits.push(c != first);
            end += c.len_utf8();
        }
        self.no_bits = end;
        if bits.len() < SHORTEST_BITS || bits.len() % 8 != 0 || other.is_none() {
            return false;
        }
        let byte = |eight: &[bool]| eight.iter().fold(0u8, |sum, bit| sum << 1 | u8::from(*bit));
        let plain: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
        let turned: Vec<u8> = plain.iter().map(|b| !b).collect();
        let Some(plain) = [plain, turned].into_iter().find(|p| wrapped::begins_text(p)) else { return false };
        self.replace(end - self.at, &plain);
        true
    }
}

/// The character that some bytes begin with.
pub(super) fn char_at(bytes: &[u8]) -> Option<char> {
    let length = match *bytes.first()? {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    str::from_utf8(bytes.get(..length)?).ok()?.chars().next()
}

/// The character that ends before a place.
pub(super) fn char_before(text: &[u8], at: usize) -> Option<char> {
    let start = (at.saturating_sub(4)..at).rev().find(|i| text[*i] & 0xc0 != 0x80)?;
    char_at(&text[start..at])
}

/// The bytes that variation selectors carry, counted from one of them on, in place of all that is shown among them.
pub(super) fn only_selectors(text: &[u8], from: u16) -> Reading {
    let mut selectors = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let c = char_at(&text[at..]);
        let length = c.map_or(1, char::len_utf8);
        let number = c.and_then(characters::selector).and_then(|number| number.checked_sub(from));
        if let Some(byte) = number.and_then(|number| u8::try_from(number).ok()) {
            selectors.push((at..at + length, byte));
        }
        at += length;
    }
    let mut reading = Reading::with_capacity(text.len());
    let (Some((first, _)), Some((last, _))) = (selectors.first(), selectors.last()) else { return reading };
    let (first, last) = (first.start, last.end);
    // The first one hangs on the letter before it.
    let shown = first - char_before(text, first).filter(|c| !c.is_whitespace()).map_or(0, char::len_utf8);
    reading.copy(&text[..shown]);
    let mut read = shown;
    for (at, byte) in selectors {
        reading.leave_out(read..at.start);
        read = at.end;
        reading.replace(at, &[byte]);
    }
    reading.copy(&text[last..]);
    reading
}

fn quoted_printable(inner: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        match escapes::quoted_printable(&inner[at..]).filter(|_| inner[at] == b'=') {
            Some(escape) => {
                match escape.reads {
                    escapes::Reads::Char(c) => plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    escapes::Reads::Byte(byte) => plain.push(byte),
                    escapes::Reads::Nothing => {}
                }
                at += escape.length;
            }
            None => {
                plain.push(if inner[at] == b'_' { b' ' } else { inner[at] });
                at += 1;
            }
        }
    }
    plain
}
