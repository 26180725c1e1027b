//! The one pass over a text.
//!
//! Every byte is looked at once, by its class. Runs of letters and digits are words; a word is asked three cheap
//! questions (can a rule begin here, may it promise a secret, has it a digit in it) and nearly always answers no. What
//! is left goes to the judges: shapes, names and their values, long runs, addresses, people.
//!
//! What is decided of a place depends on at most [`BEHIND`] bytes before it and [`AHEAD`] after it. The stream relies on it.

mod addresses;
mod names;
mod shell;
mod tokens;
mod wrapped;

use std::ops::Range;

use crate::armour;
use crate::assign;
use crate::columns;
use crate::decode;
use crate::disguise::{self, Mark};
use crate::hit::{Hit, Known};
use crate::judge::{self, Look};
use crate::keyname::{self, Promise, Stems};
use crate::line::line_before;
use crate::link;
use crate::pii;
use crate::scene::{Fields, FileKind, Scene};
use crate::tables::{NEAR, Tables, Way, eight_at};
use crate::value::{self, Judgement};

pub(crate) const BEHIND: usize = 512;
pub(crate) const AHEAD: usize = 4096;
/// A run of token characters longer than this is judged by its beginning only.
pub(crate) const LONGEST_RUN: usize = 8 * 1024;
/// A run shorter than this is nobody's token.
const SHORTEST_RUN: usize = 16;
/// A run longer than this is data, not a token; it is unwrapped but not called a secret for looking random.
const LONGEST_TOKEN: usize = 512;
/// How often what is unwrapped is unwrapped again.
const DEEPEST: u8 = 2;
/// How many names inside a value are followed.
const MOST_INNER_NAMES: usize = 6;
/// What may stand between a name and a value that is tried as a token first: a sign and blanks.
const ADJACENT: usize = 4;
/// The most that is believed of a name.
const LONGEST_NAME: usize = 64;

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const LETTER: u8 = 4;
/// Joins words to runs.
const JOINER: u8 = 8;
/// Something may begin at this byte that is no word.
const OPENER: u8 = 16;
/// A disguise may begin here.
const MARKER: u8 = 32;

const CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'0'..=b'9' => WORD | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' => WORD | LETTER,
            b'_' | b'+' | b'=' | b'.' => JOINER,
            b'-' | b'/' => JOINER | OPENER,
            b'@' | b':' | b'$' | b'{' | b'*' | b'%' | b'~' | 0xef => OPENER,
            _ => 0,
        };
        if disguise::may_begin(byte as u8) != 0 {
            class[byte] |= MARKER;
        }
        byte += 1;
    }
    class
};

/// The same byte eight times over.
const fn eight(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Where the word that begins at a place ends, and what it is made of. Eight bytes are looked at in one go: most words are
/// shorter, and a loop over their bytes would be mispredicted at the end of each.
#[inline]
fn word_end(text: &[u8], start: usize) -> (usize, u8) {
    const HIGH: u64 = eight(0x80);
    let mut at = start;
    let mut seen = WORD;
    while let Some(bytes) = text.get(at..at + 8).and_then(|b| <[u8; 8]>::try_from(b).ok()) {
        let bytes = u64::from_le_bytes(bytes);
        let low = bytes & !HIGH;
        // Adding lifts a byte's highest bit where it is at least the bound; the sums stay within their byte.
        let folded = low | eight(0x20);
        let letters = (folded + eight(0x80 - b'a')) & !(folded + eight(0x80 - b'z' - 1)) & !bytes & HIGH;
        let digits = (low + eight(0x80 - b'0')) & !(low + eight(0x80 - b'9' - 1)) & !bytes & HIGH;
        let words = letters | digits;
        let length = (!words & HIGH).trailing_zeros() as usize / 8;
        let within = if length == 8 { u64::MAX } else { (1 << (8 * length)) - 1 };
        seen |= if digits & within != 0 { DIGIT } else { 0 } | if letters & within != 0 { LETTER } else { 0 };
        at += length;
        if length < 8 {
            return (at, seen);
        }
    }
    while at < text.len() && CLASS[text[at] as usize] & WORD != 0 {
        seen |= CLASS[text[at] as usize];
        at += 1;
    }
    (at, seen)
}

/// Whether a byte can be part of a run of token characters.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    CLASS[byte as usize] & (WORD | JOINER) != 0
}

/// What was found, before overlaps are resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Rule(u16),
    Known(Known),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) what: What,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) confidence: u8,
    pub(crate) reason: &'static str,
    /// The place whose look led to it: the name before a value, the first byte of a token.
    pub(crate) from: usize,
}

/// One remark on how a judgement was come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) at: Range<usize>,
    pub(crate) what: &'static str,
    pub(crate) outcome: &'static str,
}

/// What a pass needs to know beside the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lore<'g> {
    pub(crate) tables: &'g Tables,
    pub(crate) stems: &'g Stems,
    pub(crate) threshold: f32,
    pub(crate) shortest: usize,
}

/// A pass under way.
#[derive(Debug)]
pub(crate) struct Pass<'t, 'g> {
    text: &'t [u8],
    scene: Scene,
    lore: Lore<'g>,
    depth: u8,
    pub(crate) found: Vec<Candidate>,
    /// Places within which the pass must not be cut: what was looked at as one.
    pub(crate) joined: Vec<(usize, usize)>,
    pub(crate) remarks: Option<Vec<Remark>>,
    /// Where the text may be read in another way, if that is wanted.
    pub(crate) marks: Option<Vec<Mark>>,
    hits: Vec<Hit>,
    ways: Vec<Way>,
    /// Up to where names, people and addresses have been judged.
    named: usize,
    people: usize,
    address: usize,
    ruled: usize,
    /// The last value that is taken out for its name.
    taken: Range<usize>,
    /// Up to where the last value reached, and how many names inside it have been followed.
    valued: usize,
    inner_names: usize,
}

impl<'t, 'g> Pass<'t, 'g> {
    pub(crate) fn new(text: &'t [u8], scene: Scene, lore: Lore<'g>) -> Pass<'t, 'g> {
        Pass {
            text,
            scene,
            lore,
            depth: 0,
            found: Vec::new(),
            joined: Vec::new(),
            remarks: None,
            marks: None,
            hits: Vec::new(),
            ways: Vec::new(),
            named: 0,
            people: 0,
            address: 0,
            ruled: 0,
            taken: 0..0,
            valued: 0,
            inner_names: 0,
        }
    }

    /// Looks at everything that begins at `from` or later. `in_run` says that `from` lies inside a run whose beginning
    /// was judged before.
    pub(crate) fn run(&mut self, from: usize, in_run: bool) {
        let text = self.text;
        let mut i = from;
        // Where the run under way began; the end of the text where it was judged already.
        let mut run = if in_run { usize::MAX } else { from };
        (self.named, self.people, self.address, self.ruled) = (from, from, from, from);
        if let Some(fields) = self.scene.fields.filter(|_| from == 0) {
            self.fields(fields);
        }
        if self.scene.stand_ins_are_kept && self.scene.file == FileKind::Text && self.depth == 0 && from == 0
        {
            self.columns();
        }
        while i < text.len() {
            let class = CLASS[text[i] as usize];
            if class & WORD != 0 {
                let (end, seen) = word_end(text, i);
                self.word(i, end, seen);
                i = end;
                continue;
            }
            if class & (OPENER | MARKER) != 0 {
                if class & OPENER != 0 {
                    self.opener(i);
                }
                if class & MARKER != 0 && disguise::worth_a_look(text, i) {
                    self.mark(i);
                }
            }
            if class & JOINER == 0 {
                self.run_ends(run, i);
                run = i + 1;
            }
            i += 1;
        }
        self.run_ends(run, text.len());
    }

    /// A run from `start` to `end`, if there is one; of an endless one, its beginning.
    #[inline]
    fn run_ends(&mut self, start: usize, end: usize) {
        if end >= start.saturating_add(SHORTEST_RUN) {
            self.long_run(start, end.min(start + LONGEST_RUN));
        }
    }

    #[inline(never)]
    fn mark(&mut self, at: usize) {
        // In files only letters are looked behind: sources are full of escapes that are meant.
        if let Some(marks) = &mut self.marks
            && (self.text[at] >= 0x80 || !self.scene.stand_ins_are_kept)
            && let Some(mark) = disguise::mark_at(self.text, at)
        {
            marks.push(mark);
        }
    }

    /// Bytes printed one by one, or in groups.
    #[inline(never)]
    fn mark_bytes(&mut self, start: usize, end: usize) {
        if let Some(marks) = &mut self.marks
            && !self.scene.stand_ins_are_kept
            && disguise::may_begin_bytes(self.text, &(start..end))
            && marks.last().is_none_or(|last| !last.wraps(start))
            && let Some(mark) = disguise::mark_of_bytes(self.text, start..end)
        {
            marks.push(mark);
        }
    }

    fn remark(&mut self, at: Range<usize>, what: &'static str, outcome: &'static str) {
        if let Some(remarks) = &mut self.remarks {
            remarks.push(Remark { at, what, outcome });
        }
    }

    #[inline]
    fn word(&mut self, start: usize, end: usize, seen: u8) {
        if start >= self.ruled && self.lore.tables.may_begin(self.text, start) {
            self.rules(start);
        }
        if end - start == 2 && self.text[start..end].eq_ignore_ascii_case(b"pw") && start >= self.named {
            self.name(start, end);
        }
        if end - start >= 3 {
            if seen & LETTER != 0
                && self.lore.stems.may_promise(&self.text[start..end])
                && start >= self.named
            {
                self.name(start, end);
            }
            if seen & DIGIT != 0 {
                if end - start >= 8 {
                    self.free_rules(start, end);
                }
                if matches!(end - start, 4 | 7 | 8 | 16) {
                    self.mark_bytes(start, end);
                }
            }
        } else if end - start == 2 && seen & DIGIT != 0 {
            self.mark_bytes(start, end);
        }
        if start > 0 {
            match self.text[start - 1] {
                b'-' => self.flag(start, end),
                b'\\' | b'%' | b'[' | b';' => self.after_escape(start, end),
                _ => {}
            }
        }
        if self.scene.looking.people() {
            if seen & DIGIT != 0 && start >= self.people {
                let resume = pii::word(self.text, start, end, &mut self.hits);
                self.take_hits(start, resume);
                self.people = resume.max(end);
            } else if end - start == 3
                && self.scene.looking.addresses()
                && self.text[start..end].eq_ignore_ascii_case(b"www")
                && self.text.get(end) == Some(&b'.')
                && start >= self.address
            {
                let resume = pii::www(self.text, start, &mut self.hits);
                self.take_hits(start, resume);
                self.address = resume;
            }
        }
    }

    /// A word after `\n` written as two characters, or after `%3D`, begins behind the escape.
    fn after_escape(&mut self, start: usize, end: usize) {
        let is_hex = |at: usize, count: usize| {
            self.text.get(at..at + count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        let skip = match (self.text[start - 1], self.text[start]) {
            (b'\\', b'n' | b't' | b'r') => 1,
            (b'\\', b'u') if is_hex(start + 1, 4) => 5,
            (b'\\', b'x') if is_hex(start + 1, 2) => 3,
            (b'[' | b';', _) => match self.colour_ends(start) {
                Some(length) => length,
                None => return,
            },
            (b'%', _) if end - start > 2 && self.text[start..start + 2].iter().all(u8::is_ascii_hexdigit) => {
                2
            }
            _ => return,
        };
        let start = start + skip;
        if start >= end {
            return;
        }
        if self.lore.tables.may_begin(self.text, start) {
            self.rules(start);
        }
        if end - start >= 3 && self.lore.stems.may_promise(&self.text[start..end]) && start >= self.named {
            self.name(start, end);
        }
    }

    /// How many bytes of a word are the rest of what sets a terminal's colour: `31m` of `ESC[31m`.
    fn colour_ends(&self, start: usize) -> Option<usize> {
        let before = &self.text[start.saturating_sub(12)..start];
        let escape = before.iter().rposition(|b| *b == 0x1b)?;
        let inside = before[escape + 1..].iter().all(|b| b.is_ascii_digit() || matches!(b, b'[' | b';'));
        let digits = self.text[start..].iter().take(4).take_while(|b| b.is_ascii_digit()).count();
        (inside && self.text.get(start + digits) == Some(&b'm')).then_some(digits + 1)
    }

    fn take_hits(&mut self, from: usize, resume: usize) {
        if resume > from {
            self.joined.push((from, resume));
        }
        for hit in self.hits.drain(..) {
            if hit.known == Known::Url && !self.scene.looking.addresses() {
                continue;
            }
            self.found.push(Candidate {
                what: What::Known(hit.known),
                start: hit.start,
                end: hit.end,
                confidence: hit.confidence,
                reason: hit.reason,
                from,
            });
        }
    }

    /// A byte that is no word and at which something may begin.
    #[inline(never)]
    fn opener(&mut self, at: usize) {
        match self.text[at] {
            b'-' => self.dashes(at),
            b':' => self.colon(at),
            b'@' => {
                self.driver_address(at);
                if self.scene.looking.people() {
                    pii::at_sign(self.text, at, &mut self.hits);
                    let from = self.hits.iter().map(|h| h.start).min().unwrap_or(at);
                    self.take_hits(from, at + 1);
                }
            }
            b'%' => self.percent(at),
            b'~' => self.entra_secret(at),
            // The colon of Chinese and Japanese texts.
            0xef if self.text[at..].starts_with("：".as_bytes()) => self.named_abroad(at),
            0xef => {}
            b'/' => self.pair(at),
            _ => {
                if self.lore.tables.may_begin(self.text, at) {
                    self.rules(at);
                }
            }
        }
    }

    fn dashes(&mut self, at: usize) {
        if !self.text[at..].starts_with(b"----") || (at > 0 && self.text[at - 1] == b'-') {
            return;
        }
        let Some(key) = armour::private_key(self.text, at) else {
            self.public(at);
            return;
        };
        // A redactor does not wait for proof where the last line is there too; a scan wants to see a key.
        let believed =
            key.has_body || (key.has_last_line && !self.scene.stand_ins_are_kept) || self.depth > 0;
        if !believed {
            self.remark(at..key.end, "the first line of a private key", "kept: no key follows it");
            return;
        }
        self.remark(at..key.end, "the first line of a private key", "found");
        // Its lines are long and random, and have been judged now.
        self.ruled = key.end;
        self.found.push(Candidate {
            what: What::Known(Known::PrivateKey),
            start: at,
            end: key.end,
            confidence: 99,
            reason: "a private key in armour",
            from: at,
        });
    }

    /// A public key or a certificate: what is in it looks random and is meant to be seen.
    fn public(&mut self, at: usize) {
        let rest = &self.text[at..self.text.len().min(at + AHEAD)];
        let label =
            rest.strip_prefix(b"-----BEGIN ").and_then(|l| l.get(..l.len().min(48))).unwrap_or_default();
        let public = [&b"PUBLIC KEY"[..], b"CERTIFICATE", b"SIGNATURE"]
            .iter()
            .any(|word| memchr::memmem::find(label, word).is_some());
        if let Some(end) = memchr::memmem::find(rest, b"-----END ").filter(|_| public) {
            self.ruled = at + end;
            self.joined.push((at, at + end));
        }
    }

    fn colon(&mut self, at: usize) {
        let rest = &self.text[at..];
        if at > 0 && self.text[at - 1] >= 0x80 {
            self.named_abroad(at);
        }
        if rest.starts_with(b"://") && at >= self.address {
            self.link(at);
        } else if rest.starts_with(b"::")
            && self.scene.looking.people()
            && (at == 0 || self.text[at - 1] != b':')
            && at >= self.people
        {
            let resume = pii::double_colon(self.text, at, &mut self.hits);
            self.take_hits(at, resume);
            self.people = resume;
        }
    }
}

/// Where the secret of a line is.
fn field(line: &[u8], fields: Fields) -> Option<Range<usize>> {
    match fields {
        Fields::Pgpass => {
            // A colon in a field is written with a backslash before it.
            let colons: Vec<usize> =
                (0..line.len()).filter(|i| line[*i] == b':' && (*i == 0 || line[*i - 1] != b'\\')).collect();
            (colons.len() >= 4).then(|| colons[3] + 1..line.len())
        }
        Fields::Chap => {
            let mut words = words_of(line);
            let (start, end) = words.nth(2)?;
            let quoted = end - start >= 2 && line[start] == b'"' && line[end - 1] == b'"';
            Some(if quoted { start + 1..end - 1 } else { start..end })
        }
        Fields::Sasl => {
            let (start, end) = words_of(line).nth(1)?;
            let colon = line[start..end].iter().position(|b| *b == b':')?;
            Some(start + colon + 1..end)
        }
        Fields::Ipsec => {
            let open = line.iter().position(|b| *b == b'"')? + 1;
            let close = line.iter().rposition(|b| *b == b'"').filter(|close| *close > open)?;
            line[..open].contains(&b':').then_some(open..close)
        }
        Fields::Whole => {
            let key = line.len() >= 16
                && line
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'));
            key.then_some(0..line.len())
        }
    }
}

fn words_of(line: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].iter().position(|b| !b.is_ascii_whitespace())?;
        let end = line[start..].iter().position(u8::is_ascii_whitespace).map_or(line.len(), |p| start + p);
        at = end;
        Some((start, end))
    })
}

/// Where the first piece of a run ends: at a full stop, or at an equals sign that is not padding.
fn piece_end(run: &[u8]) -> usize {
    let mut i = 0;
    while i < run.len() {
        match run[i] {
            b'.' => return i,
            b'=' if run[i..].iter().any(|b| *b != b'=') => {
                let padding = run[i..].iter().take_while(|b| **b == b'=').count();
                return if padding > 1 && i > 0 { i + padding - 1 } else { i };
            }
            _ => i += 1,
        }
    }
    run.len()
}

/// How often letters and digits, or small letters and capitals, take turns. In a name they seldom do, in a token all the time.
fn changes(piece: &[u8]) -> usize {
    let sort = |b: u8| if b.is_ascii_digit() { 1 } else { 2 + u8::from(b.is_ascii_uppercase()) };
    piece
        .windows(2)
        .filter(|pair| pair.iter().all(u8::is_ascii_alphanumeric) && sort(pair[0]) != sort(pair[1]))
        .count()
}

/// Without the joiners at its ends, padding aside.
fn trimmed(text: &[u8], mut piece: Range<usize>) -> Range<usize> {
    while piece.start < piece.end && matches!(text[piece.start], b'-' | b'/' | b'=' | b'_') {
        piece.start += 1;
    }
    while piece.end > piece.start && matches!(text[piece.end - 1], b'-' | b'/' | b'_' | b'+') {
        piece.end -= 1;
    }
    piece
}

/// Whether a token is plainly not a real one: one character over and over, `EXAMPLE`, an alphabet.
fn is_made_up(token: &[u8]) -> bool {
    let token = &token[..token.len().min(LONGEST_TOKEN)];
    let body = &token[token.len().min(4)..];
    let look = Look::at(body);
    if body.len() >= 12 && look.distinct <= 4 {
        return true;
    }
    let small = token.to_ascii_lowercase();
    let holds = |word: &[u8]| memchr::memmem::find(&small, word).is_some();
    if [
        &b"example"[..],
        b"xxxxx",
        b"00000000",
        b"your",
        b"placeholder",
        b"1234567890",
        b"abcdefghij",
        b"changeme",
        b"deadbeef",
        b"aaaaaaaa",
        b"fake",
        b"dummy",
        b"testtest",
    ]
    .iter()
    .any(|w| holds(w))
    {
        return true;
    }
    let steps = small.windows(2).filter(|w| w[1] == w[0].wrapping_add(1)).count();
    steps * 2 > small.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_ends_where_its_letters_and_digits_end_whatever_stands_there() {
        let slow = |text: &[u8], start: usize| {
            let word = text[start..].iter().take_while(|b| b.is_ascii_alphanumeric());
            word.fold((start, WORD), |(end, seen), b| (end + 1, seen | CLASS[*b as usize]))
        };
        for byte in 0..=255u8 {
            for length in [0, 1, 6, 7, 8, 9, 15, 16, 17] {
                let mut text = vec![b'a'; length];
                text.push(byte);
                text.extend_from_slice(b"Z9 and more");
                assert_eq!(word_end(&text, 0), slow(&text, 0), "{byte} after {length}");
            }
        }
        assert_eq!(word_end(b"abc", 0), (3, WORD | LETTER));
    }
}
