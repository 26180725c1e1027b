//! The one pass over a text.
//!
//! Every byte is looked at once, by its class. Runs of letters and digits are words; a word is asked three cheap
//! questions (can a rule begin here, may it promise a secret, has it a digit in it) and nearly always answers no. What
//! is left goes to the judges: shapes, names and their values, long runs, addresses, people.
//!
//! What is decided of a place depends on at most [`BEHIND`] bytes before it and [`AHEAD`] after it. The stream relies on it.

use std::ops::Range;

use crate::armour;
use crate::assign;
use crate::columns;
use crate::decode;
use crate::hit::{Hit, Known};
use crate::judge::{self, Look};
use crate::keyname::{self, Promise, Stems};
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
/// The most that is believed of a name.
const LONGEST_NAME: usize = 64;

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const LETTER: u8 = 4;
/// Joins words to runs.
const JOINER: u8 = 8;
/// Something may begin at this byte that is no word.
const OPENER: u8 = 16;

const CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'0'..=b'9' => WORD | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' => WORD | LETTER,
            b'_' | b'+' | b'=' | b'.' => JOINER,
            b'-' | b'/' => JOINER | OPENER,
            b'@' | b':' | b'$' | b'{' | b'*' | b'%' | b'~' => OPENER,
            _ => 0,
        };
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
    hits: Vec<Hit>,
    ways: Vec<Way>,
    /// Up to where names, people and addresses have been judged.
    named: usize,
    people: usize,
    address: usize,
    ruled: usize,
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
            hits: Vec::new(),
            ways: Vec::new(),
            named: 0,
            people: 0,
            address: 0,
            ruled: 0,
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
            if class & OPENER != 0 {
                self.opener(i);
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
            if seen & DIGIT != 0 && end - start >= 8 {
                self.free_rules(start);
            }
        }
        if start > 0 {
            match self.text[start - 1] {
                b'-' => self.flag(start, end),
                b'\\' | b'%' => self.after_escape(start, end),
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
        let skip = match (self.text[start - 1], self.text[start]) {
            (b'\\', b'n' | b't' | b'r') => 1,
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

    /// Tries the rules that may begin here.
    #[inline(never)]
    fn rules(&mut self, at: usize) {
        let tables = self.lore.tables;
        let mut best: Option<(usize, Way)> = None;
        let first_eight = eight_at(self.text, at);
        for beginning in tables.beginnings_at(self.text, at) {
            if beginning.fits(first_eight)
                && let Some(end) = self.whole_token(beginning.way, at, true)
                && best.is_none_or(|(longest, _)| end > longest)
            {
                best = Some((end, beginning.way));
            }
        }
        if let Some((end, way)) = best {
            self.rule_found(way, at, end);
        }
    }

    /// Rules that begin with a long class.
    fn free_rules(&mut self, at: usize) {
        if at > 0 && matches!(self.text[at - 1], b'_' | b'-' | b'.' | b'+' | b'/') {
            return;
        }
        let tables = self.lore.tables;
        for way in &tables.free {
            if let Some(end) = self.whole_token(*way, at, true) {
                self.rule_found(*way, at, end);
            }
        }
    }

    fn rule_found(&mut self, way: Way, start: usize, end: usize) {
        let rule = &self.lore.tables.rules[way.rule as usize];
        self.ruled = end;
        if self.scene.stand_ins_are_kept && is_made_up(&self.text[start..end]) {
            self.remark(start..end, "has the form of a token", "kept: it stands in for one");
            return;
        }
        self.remark(start..end, "has the form of a token", "found");
        let reason = if rule.near.is_empty() {
            "it has the form of such a token"
        } else {
            "it has the length of such a key, and the provider is named before it"
        };
        self.found.push(Candidate {
            what: What::Rule(way.rule),
            start,
            end,
            confidence: rule.confidence,
            reason,
            from: start,
        });
    }

    /// Where the branch matches, if what it matches is a whole token.
    fn whole_token(&self, way: Way, at: usize, loose: bool) -> Option<usize> {
        let branch = &self.lore.tables.rules[way.rule as usize].shape.branches()[way.branch as usize];
        let mut end = branch.matches(self.text, at)?;
        if let Some(set) = branch.open_ended() {
            while end < self.text.len() && end - at < AHEAD && set.has(self.text[end]) {
                end += 1;
            }
        }
        // Longer than any token: whatever it is, it is not looked at again from every place inside it.
        if end - at >= AHEAD {
            return Some(end);
        }
        let after = self.text.get(end).copied().unwrap_or(b' ');
        let goes_on = after.is_ascii_alphanumeric()
            || matches!(after, b'_')
            || (after == b'-' && (!loose || self.text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric)));
        (!goes_on).then_some(end)
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
            b'/' => self.pair(at),
            _ => {
                if self.lore.tables.may_begin(self.text, at) {
                    self.rules(at);
                }
            }
        }
    }

    /// A name and a password before a host, outside an address: `user:password@tcp(host)` as a driver for Go writes it,
    /// `oracle:thin:user/password@host`, `register => user:password@host`, `user:password@10.1.2.3` in a message.
    fn driver_address(&mut self, at: usize) {
        let after = &self.text[at + 1..self.text.len().min(at + 16)];
        let line = self.text[at.saturating_sub(128)..at].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let says = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        let number = after.first().is_some_and(u8::is_ascii_digit)
            && after.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').filter(|b| **b == b'.').count()
                == 3;
        let oracle = says(b"oracle:thin:");
        let known = after.starts_with(b"tcp(")
            || after.starts_with(b"unix(")
            || oracle
            || number
            || (says(b"register") && says(b"=>"));
        if !known || at < self.address {
            return;
        }
        let before = line
            .iter()
            .rev()
            .take_while(|b| {
                !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b'=' | b'>' | b'(' | b'[')
            })
            .count();
        let pair = at - before..at;
        let (from, sign) = match memchr::memmem::rfind(&self.text[pair.clone()], b"thin:") {
            Some(thin) => (pair.start + thin + 5, b'/'),
            None => (pair.start, b':'),
        };
        let Some(split) = self.text[from..at].iter().position(|b| *b == sign) else { return };
        let user = from..from + split;
        let password = Some(from + split + 1..at).filter(|p| p.len() >= 4);
        let odd = |range: &Range<usize>| self.text[range.clone()].iter().any(|b| matches!(b, b'/' | b':'));
        if user.is_empty() || password.as_ref().is_none_or(|p| number && odd(p)) || odd(&user) {
            return;
        }
        let credentials = link::Credentials { user, password, host: at + 1..at + 2 };
        self.joined.push((pair.start, at + 2));
        self.credentials(pair.start, &credentials);
    }

    /// `ann / …` alone on a line of notes: a name and a password.
    fn pair(&mut self, at: usize) {
        if self.scene.file != FileKind::Text
            || at < 2
            || self.text[at - 1] != b' '
            || self.text.get(at + 1) != Some(&b' ')
        {
            return;
        }
        let before =
            self.text[at.saturating_sub(48)..at - 1].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let label = before.rsplit(|b| matches!(b, b' ' | b'(')).next().unwrap_or_default();
        let bare = label.strip_prefix(b"`").and_then(|l| l.strip_suffix(b"`"));
        let lead = before[..before.len() - label.len()].trim_ascii_end();
        let alone = !self.scene.stand_ins_are_kept
            || bare.is_some()
            || lead.is_empty()
            || lead.ends_with(b":")
            || matches!(lead.trim_ascii(), b"-" | b"*")
            || [&b"login"[..], b"user", b"creds", b"credentials", b"account", b"username"]
                .iter()
                .any(|w| lead.to_ascii_lowercase().ends_with(w));
        let named = alone
            && label.len() >= 2
            && bare
                .unwrap_or(label)
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@'));
        let word = self.next_word(at + 1);
        let ends = self.text.get(word.end).is_none_or(|b| matches!(b, b'\n' | b'\r' | b'`' | b'"'));
        let look = Look::at(&self.text[word.clone()]);
        let strong = word.len() >= 8
            && look.digits > 0
            && (look.classes() == 4 || (look.classes() == 3 && look.is_random(self.lore.threshold)));
        if named && ends && strong {
            self.judged(
                at - 1 - label.len(),
                word,
                b"",
                Promise::Password,
                value::Dress::Spoken,
                FileKind::Text,
                Known::NamedPassword,
            );
        }
    }

    /// Three characters, a digit, `Q~`, and thirty-one to thirty-four more.
    fn entra_secret(&mut self, at: usize) {
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'~' | b'-');
        let Some(start) = at.checked_sub(5) else { return };
        let head = &self.text[start..at];
        let begins = head[4] == b'Q'
            && head[3].is_ascii_digit()
            && head[..3].iter().all(part)
            && (start == 0 || !part(&self.text[start - 1]));
        let length = self.text[at + 1..].iter().take(48).take_while(|b| part(b)).count();
        if begins && (31..=34).contains(&length) {
            self.found.push(Candidate {
                what: What::Known(Known::EntraSecret),
                start,
                end: at + 1 + length,
                confidence: 95,
                reason: "it has the form of such a token",
                from: start,
            });
        }
    }

    /// What stands under the heading of a column that promises a secret.
    fn columns(&mut self) {
        for cell in columns::cells(self.text) {
            let promise = cell.promise.max(Promise::Secret);
            let heading = &self.text[cell.heading.clone()];
            self.judged(
                cell.heading.start,
                cell.value,
                heading,
                promise,
                value::Dress::Bare,
                FileKind::Settings,
                Known::NamedPassword,
            );
        }
    }

    /// A file of fields: the secret is where its format says.
    fn fields(&mut self, fields: Fields) {
        let mut start = 0;
        for line in self.text.split(|b| *b == b'\n') {
            let here = start;
            start += line.len() + 1;
            let line = line.trim_ascii_end();
            if line.is_empty() || line.len() > assign::LONGEST_VALUE || line.starts_with(b"#") {
                continue;
            }
            let Some(value) = field(line, fields) else { continue };
            let secret = &line[value.clone()];
            let kept = value.len() < 4
                || value::is_reference(secret)
                || value::is_stand_in(secret, b"", &Look::at(secret), true);
            let confidence = if kept { 0 } else { 85 };
            self.found.push(Candidate {
                what: What::Known(Known::NamedPassword),
                start: here + value.start,
                end: here + value.end,
                confidence,
                reason: "where this kind of file keeps its secrets",
                from: here,
            });
        }
    }

    fn dashes(&mut self, at: usize) {
        if !self.text[at..].starts_with(b"----") || (at > 0 && self.text[at - 1] == b'-') {
            return;
        }
        let Some(key) = armour::private_key(self.text, at) else { return };
        // A redactor does not wait for proof where the last line is there too; a scan wants to see a key.
        let believed =
            key.has_body || (key.has_last_line && !self.scene.stand_ins_are_kept) || self.depth > 0;
        if !believed {
            self.remark(at..key.end, "the first line of a private key", "kept: no key follows it");
            return;
        }
        self.remark(at..key.end, "the first line of a private key", "found");
        self.found.push(Candidate {
            what: What::Known(Known::PrivateKey),
            start: at,
            end: key.end,
            confidence: 99,
            reason: "a private key in armour",
            from: at,
        });
    }

    fn colon(&mut self, at: usize) {
        let rest = &self.text[at..];
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

    fn link(&mut self, colon: usize) {
        let scheme = self.text[colon.saturating_sub(24)..colon]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
            .count();
        let from = colon - scheme;
        let seen = self.found.len();
        if self.lore.tables.may_begin(self.text, from) {
            self.rules(from);
        }
        if self.found.len() > seen {
            return;
        }
        if let Some(found) = link::credentials(self.text, colon) {
            self.joined.push((from, found.host.end));
            self.address = found.host.end;
            self.credentials(from, &found);
            return;
        }
        if self.scene.looking.addresses() {
            let resume = pii::scheme(self.text, colon, &mut self.hits);
            self.take_hits(from, resume);
            self.address = resume;
        }
    }

    fn credentials(&mut self, from: usize, found: &link::Credentials) {
        let (span, reason) = match &found.password {
            Some(password) => (password.clone(), "a password in an address"),
            None if found.user.len() >= 16
                && Look::at(&self.text[found.user.clone()]).is_random(self.lore.threshold) =>
            {
                (found.user.clone(), "a token in an address")
            }
            None => return,
        };
        let password = &self.text[span.clone()];
        let user = &self.text[found.user.clone()];
        let look = Look::at(password);
        let templated = value::is_reference(password)
            || password.iter().any(|b| matches!(b, b'{' | b'}' | b'$' | b'<' | b'>' | b'[' | b']'))
                && look.digits == 0;
        let stood_in = self.scene.stand_ins_are_kept
            && (value::is_stand_in(password, user, &look, true) || password.len() < 4);
        if templated || stood_in {
            self.remark(span, reason, "kept: it stands in for one");
            return;
        }
        self.remark(span.clone(), reason, "found");
        self.found.push(Candidate {
            what: What::Known(Known::PasswordInUrl),
            start: span.start,
            end: span.end,
            confidence: 92,
            reason,
            from,
        });
    }

    /// `-u user:password`, `-pPASSWORD`, `sshpass -p PASSWORD`: flags of one letter.
    fn flag(&mut self, start: usize, end: usize) {
        if start < 2
            || self.text[start - 1] != b'-'
            || !matches!(self.text[start - 2], b' ' | b'\t' | b'"' | b'\'' | b',')
        {
            return;
        }
        let line =
            self.text[start.saturating_sub(120)..start].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let says = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        let one = end - start == 1;
        let value = match self.text[start] {
            b'u' if one && (says(b"curl") || says(b"http") || says(b"wget")) => {
                match self.user_and_password(end, b':') {
                    Some(value) => value,
                    None => return,
                }
            }
            b'U' if one && says(b"smb") => match self.user_and_password(end, b'%') {
                Some(value) => value,
                None => return,
            },
            b'p' if says(b"mysql") || says(b"mariadb") => self.glued_word(start + 1),
            b'p' if one
                && (says(b"sshpass")
                    || says(b"docker login")
                    || says(b"twine")
                    || says(b"az login")
                    || says(b"podman login")
                    || says(b"mongo")) =>
            {
                self.next_word(end)
            }
            b'w' if one && says(b"ldap") => self.next_word(end),
            b'a' if one && says(b"redis-cli") => self.next_word(end),
            b'k' if one && says(b"openssl enc") => self.next_word(end),
            b'P' if one && (says(b"sqlcmd") || says(b"bcp ") || says(b"ipmitool")) => self.next_word(end),
            _ => return,
        };
        if value.len() < 5 {
            return;
        }
        self.judged(
            start,
            value,
            b"password",
            Promise::Password,
            value::Dress::Bare,
            FileKind::Shell,
            Known::NamedPassword,
        );
    }

    fn next_word(&self, after: usize) -> Range<usize> {
        let blanks = self.text[after..].iter().take(8).take_while(|b| matches!(b, b' ' | b'=')).count();
        let mut start = after + blanks;
        let quote = self.text.get(start).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
        start += usize::from(quote.is_some());
        let rest = &self.text[start.min(self.text.len())..self.text.len().min(start + 160)];
        let stop = rest
            .iter()
            .position(|b| quote.map_or(b.is_ascii_whitespace() || *b == b'`', |q| *b == q || *b == b'\n'));
        // What does not end is no argument.
        let whole = stop.or_else(|| (rest.len() < 160).then_some(rest.len()));
        start..start + whole.unwrap_or(0)
    }

    /// `-pPASSWORD`, `-p'PASSWORD'`.
    fn glued_word(&self, at: usize) -> Range<usize> {
        match self.text.get(at) {
            Some(b' ') | None => at..at,
            _ => self.next_word(at),
        }
    }

    fn user_and_password(&self, after: usize, sign: u8) -> Option<Range<usize>> {
        let word = self.next_word(after);
        let at = self.text[word.clone()].iter().position(|b| *b == sign)?;
        Some(word.start + at + 1..word.end)
    }

    /// A word that may promise a secret: the whole name, and what stands behind it.
    #[inline(never)]
    fn name(&mut self, start: usize, end: usize) {
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let before =
            self.text[start.saturating_sub(LONGEST_NAME)..start].iter().rev().take_while(|b| part(b)).count();
        let after =
            self.text[end..self.text.len().min(end + LONGEST_NAME)].iter().take_while(|b| part(b)).count();
        let mut name = start - before..end + after;
        while name.end > end && matches!(self.text[name.end - 1], b'-' | b'.') {
            name.end -= 1;
        }
        while name.start < start && matches!(self.text[name.start], b'-' | b'.') {
            name.start += 1;
        }
        // An escaped line end before the name is no part of it.
        if name.start > 0
            && self.text[name.start - 1] == b'\\'
            && matches!(self.text[name.start], b'n' | b't' | b'r')
            && name.start < start
        {
            name.start += 1;
        }
        self.named = name.end;
        if self.text[name.end..].starts_with(b"-stdin")
            || self.text[name.clone()].ends_with(b"-stdin")
            || self.text[name.clone()].eq_ignore_ascii_case(b"chpasswd")
        {
            self.piped(&name);
            return;
        }
        if self.text[name.clone()].eq_ignore_ascii_case(b"basic") {
            self.basic(&name);
            return;
        }
        match self.promise_at(&name) {
            Some(promise) => self.assigned(name, promise),
            None => self.remark(name, "a name", "promises nothing"),
        }
    }

    /// What a name promises, by itself or with the word before it or the sign behind it.
    fn promise_at(&self, name: &Range<usize>) -> Option<Promise> {
        let spelled = &self.text[name.clone()];
        let line = self.text[name.start.saturating_sub(40)..name.start]
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default();
        if spelled.eq_ignore_ascii_case(b"community") && memchr::memmem::find(line, b"snmp").is_some() {
            return Some(Promise::Password);
        }
        if let Some(promise) = keyname::promise(spelled) {
            return Some(promise);
        }
        if spelled.eq_ignore_ascii_case(b"identified")
            || self.text.get(name.end) == Some(&b'(')
            || spelled.eq_ignore_ascii_case(b"ConvertTo-SecureString")
        {
            return Some(Promise::Password);
        }
        if !spelled.eq_ignore_ascii_case(b"key") {
            return None;
        }
        let before = line.trim_ascii_end();
        if before.len() < line.len() && !before.is_empty() {
            // `the API key is …`, `tacacs-server key …`
            let from = before.iter().rposition(|b| b.is_ascii_whitespace()).map_or(0, |p| p + 1);
            let word = before[from..].to_ascii_lowercase();
            let promising = [
                &b"api"[..],
                b"secret",
                b"access",
                b"private",
                b"shared",
                b"pre-shared",
                b"preshared",
                b"license",
                b"licence",
                b"signing",
                b"encryption",
                b"master",
                b"account",
                b"auth",
                b"deploy",
                b"service",
                b"recovery",
            ];
            if promising.contains(&word.as_slice()) {
                return Some(Promise::Secret);
            }
            let network = [&b"tacacs"[..], b"radius", b"isakmp"]
                .iter()
                .any(|w| memchr::memmem::find(line, w).is_some());
            return network.then_some(Promise::Password);
        }
        // `"Key": "…"` says little; what is thoroughly random under it says the rest.
        matches!(self.scene.file, FileKind::Source | FileKind::Json).then_some(Promise::Weak)
    }

    /// `Basic dXNlcjpwYXNz`, in any header, string or sentence.
    fn basic(&mut self, name: &Range<usize>) {
        if self.text.get(name.end) != Some(&b' ') {
            return;
        }
        let start = name.end + 1;
        let length = self.text[start..self.text.len().min(start + 512)]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'))
            .count();
        let value = &self.text[start..start + length];
        if self.is_pair(value) {
            self.joined.push((name.start, start + length));
            self.found.push(Candidate {
                what: What::Known(Known::BasicAuth),
                start,
                end: start + length,
                confidence: 90,
                reason: "a name and a password in a basic header",
                from: name.start,
            });
        }
    }

    /// Whether base64 says a name and a password, and not the ones of examples.
    fn is_pair(&self, value: &[u8]) -> bool {
        let Some(plain) =
            decode::base64_text(value).filter(|plain| value.len() >= 8 && !plain.contains(&b' '))
        else {
            return false;
        };
        let Some(colon) = plain.iter().position(|b| *b == b':') else { return false };
        let (user, password) = (&plain[..colon], &plain[colon + 1..]);
        let stood_in =
            value::is_reference(password) || value::is_stand_in(password, user, &Look::at(password), true);
        !(self.scene.stand_ins_are_kept && stood_in)
    }

    /// `echo 'ann:…' | chpasswd`, `echo … | tool --password-stdin`: the secret stands before the name.
    fn piped(&mut self, name: &Range<usize>) {
        let from = name.start.saturating_sub(160);
        let line = self.text[from..name.start].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let line_start = name.start - line.len();
        let (Some(echo), Some(pipe)) =
            (memchr::memmem::find(line, b"echo "), line.iter().rposition(|b| *b == b'|'))
        else {
            return;
        };
        if pipe < echo {
            return;
        }
        let said = &line[echo + 5..pipe];
        let said_start = line_start + echo + 5;
        let skipped = said.iter().take_while(|b| matches!(b, b' ' | b'"' | b'\'' | b'-' | b'n')).count();
        let said_end =
            said.len() - said.iter().rev().take_while(|b| matches!(b, b' ' | b'"' | b'\'')).count();
        if skipped >= said_end {
            return;
        }
        let colon = said[skipped..said_end]
            .iter()
            .position(|b| *b == b':')
            .filter(|_| self.text[name.clone()].eq_ignore_ascii_case(b"chpasswd"));
        let value = said_start + skipped + colon.map_or(0, |c| c + 1)..said_start + said_end;
        self.joined.push((line_start, name.end));
        self.judged(
            line_start,
            value,
            b"password",
            Promise::Password,
            value::Dress::Bare,
            FileKind::Shell,
            Known::NamedPassword,
        );
    }

    fn assigned(&mut self, name: Range<usize>, promise: Promise) {
        // `password=password=password=…`: each is the value of the one before it, and judging all of them would take for ever.
        self.inner_names = if name.start < self.valued { self.inner_names + 1 } else { 0 };
        if self.inner_names > MOST_INNER_NAMES {
            return;
        }
        let Some(found) = assign::value_of(self.text, name.clone(), self.scene.file) else {
            self.remark(name, "a name that promises a secret", "no value behind it");
            return;
        };
        self.joined.push((name.start, found.value.end));
        self.valued = self.valued.max(found.value.end);
        let spelled = &self.text[name.clone()];
        let scheme = self.text[name.end..found.value.start].to_ascii_lowercase();
        let says =
            |word: &[u8]| memchr::memmem::find(&scheme, word).is_some() || spelled.eq_ignore_ascii_case(word);
        let known = if says(b"bearer") {
            Known::BearerToken
        } else if says(b"basic") {
            Known::BasicAuth
        } else if promise == Promise::Password {
            Known::NamedPassword
        } else {
            Known::NamedSecret
        };
        if known == Known::BasicAuth && self.is_pair(&self.text[found.value.clone()]) {
            self.found.push(Candidate {
                what: What::Known(known),
                start: found.value.start,
                end: found.value.end,
                confidence: 88,
                reason: "a name and a password in a basic header",
                from: name.start,
            });
            return;
        }
        // What a call or a pair hands over as its secret is one, whatever the name of the call promises.
        let handed = scheme.contains(&b'(') && promise >= Promise::Token;
        let promise = match known {
            Known::BearerToken => Promise::Token,
            _ if handed => Promise::Password,
            _ => promise,
        };
        self.judged(name.start, found.value, &self.text[name], promise, found.dress, found.file, known);
    }

    #[expect(clippy::too_many_arguments, reason = "what a judge hears is what there is to hear")]
    fn judged(
        &mut self,
        from: usize,
        value: Range<usize>,
        name: &'t [u8],
        promise: Promise,
        dress: value::Dress,
        file: FileKind,
        known: Known,
    ) {
        let text = &self.text[value.clone()];
        if self.scene.file == FileKind::Digests
            && (judge::has_digest_length(text) || text.starts_with(b"sha"))
        {
            return;
        }
        if judge::has_digest_length(text)
            && text.iter().all(u8::is_ascii_hexdigit)
            && self.says_checksum(from)
        {
            self.remark(
                value,
                "the value of a name that promises a secret",
                "kept: a digest, as the words before it say",
            );
            return;
        }
        // Sealed with a key that is elsewhere.
        let sealed = text.len() >= 100
            && memchr::memmem::find(&self.text[from.saturating_sub(BEHIND)..from], b"encryptedData")
                .is_some();
        if sealed {
            self.remark(value, "the value of a name that promises a secret", "kept: it is sealed");
            return;
        }
        let strict = self.scene.stand_ins_are_kept;
        match value::judge(text, name, promise, dress, file, strict) {
            Judgement::Secret { confidence, reason } => {
                // A value in base64 that says a name and a password is one whatever it looks like.
                self.remark(value.clone(), "the value of a name that promises a secret", reason);
                self.found.push(Candidate {
                    what: What::Known(known),
                    start: value.start,
                    end: value.end,
                    confidence,
                    reason,
                    from,
                });
            }
            Judgement::Kept { reason } => {
                let wrapped = reason != "it stands in for a secret"
                    && promise >= Promise::Token
                    && text.len() >= 8
                    && decode::base64_text(text)
                        .is_some_and(|t| t.len() >= 6 && t.contains(&b':') && !t.contains(&b' '));
                if wrapped {
                    self.found.push(Candidate {
                        what: What::Known(Known::BasicAuth),
                        start: value.start,
                        end: value.end,
                        confidence: 80,
                        reason: "a name and a password in base64",
                        from,
                    });
                } else {
                    self.remark(value, "the value of a name that promises a secret", reason);
                }
            }
        }
    }

    /// `%XX` inside a run: what it says is looked at once more.
    fn percent(&mut self, at: usize) {
        let is_code =
            |i: usize| self.text.get(i + 1..i + 3).is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit));
        if at < self.ruled || self.depth >= DEEPEST || !is_code(at) {
            return;
        }
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'%' | b'~' | b'+');
        let before =
            self.text[at.saturating_sub(BEHIND / 2)..at].iter().rev().take_while(|b| part(b)).count();
        let start = at - before;
        // Only the first code of a run is looked at; it sees the others.
        if self.text[start..at].contains(&b'%') {
            return;
        }
        let end = at + self.text[at..self.text.len().min(at + 1024)].iter().take_while(|b| part(b)).count();
        self.joined.push((start, end));
        if let Some(plain) = decode::percent_text(&self.text[start..end]) {
            self.unwrapped(&plain, start..end, "percent signs hide it");
        }
    }

    /// Looks at what was unwrapped; what is found in it is found where it was wrapped.
    fn unwrapped(&mut self, plain: &[u8], place: Range<usize>, reason: &'static str) {
        let mut scene = self.scene;
        scene.looking = crate::scene::Looking::Named;
        let mut inner = Pass::new(plain, scene, self.lore);
        inner.depth = self.depth + 1;
        inner.run(0, false);
        let rank = |c: &&Candidate| (c.confidence, c.end - c.start);
        let best = inner
            .found
            .iter()
            .filter(|c| c.confidence >= 75 && !matches!(c.what, What::Known(Known::HighEntropy)))
            .max_by_key(rank);
        if let Some(best) = best {
            self.remark(place.clone(), "unwrapped", "found");
            self.found.push(Candidate {
                what: best.what,
                start: place.start,
                end: place.end,
                confidence: best.confidence.saturating_sub(3),
                reason,
                from: place.start,
            });
        }
    }

    /// A long run of token characters: tokens by their neighbours, wrapped text, and what only looks random.
    #[inline(never)]
    fn long_run(&mut self, start: usize, end: usize) {
        let text = self.text;
        let mut from = start;
        while from < end {
            let rest = &text[from..end];
            let stop = piece_end(rest);
            let piece = from..from + stop;
            if piece.len() >= SHORTEST_RUN {
                self.piece(piece.clone());
            }
            from = piece.end + 1;
        }
    }

    fn piece(&mut self, piece: Range<usize>) {
        let piece = trimmed(self.text, piece);
        if piece.len() < SHORTEST_RUN || (piece.start < self.ruled && piece.end <= self.ruled) {
            return;
        }
        let text = &self.text[piece.clone()];
        let head = &text[..text.len().min(LONGEST_TOKEN)];
        let digits = head.iter().filter(|b| b.is_ascii_digit()).count();
        if digits == 0 && head.len() < 24 {
            return;
        }
        if text.len() >= 24 && self.depth < DEEPEST {
            let wrapped = &text[..text.len().min(LONGEST_RUN)];
            if let Some(plain) = decode::base64_text(wrapped) {
                self.unwrapped(&plain, piece.clone(), "base64 hides it");
            }
        }
        if text.len() > LONGEST_TOKEN {
            return;
        }
        if digits > 0 && changes(head) >= 3 {
            self.near_rules(&piece);
        }
        if piece.len() == 40 {
            self.aws_secret(&piece, &Look::at(text));
        }
        // In files, random strings without a name are digests, ids and data. In what an agent says or remembers, they are not
        // worth the risk.
        if self.scene.looking.random() && self.depth == 0 {
            let look = Look::at(text);
            self.random(piece, &look);
        }
    }

    fn near_rules(&mut self, piece: &Range<usize>) {
        if self.scene.file == FileKind::Digests {
            return;
        }
        let mut ways = std::mem::take(&mut self.ways);
        ways.clear();
        self.lore.tables.ways_near(&self.text[piece.start.saturating_sub(NEAR)..piece.start], &mut ways);
        for way in &ways {
            if let Some(end) = self.whole_token(*way, piece.start, false)
                && Look::at(&self.text[piece.start..end]).distinct >= 6
                && !(judge::has_digest_length(&self.text[piece.start..end])
                    && self.digest_context(piece.start))
                && !self.names_no_secret(piece.start)
            {
                self.rule_found(*way, piece.start, end);
                break;
            }
        }
        self.ways = ways;
    }

    /// Whether the name right before a value says that it is something else: `username`, `client_id`.
    fn names_no_secret(&self, at: usize) -> bool {
        let line = self.text[at.saturating_sub(48)..at].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let end = line.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |p| p + 1);
        let length = line[..end]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        let name = line[end - length..end].to_ascii_lowercase();
        [&b"username"[..], b"user", b"email", b"url", b"host", b"region"].iter().any(|n| name.ends_with(n))
    }

    /// Forty characters of base64, with a word of Amazon's before or an access key beside it.
    fn aws_secret(&mut self, piece: &Range<usize>, look: &Look) {
        if look.is_hex() || !look.is_random(self.lore.threshold) || self.text[piece.clone()].contains(&b'-') {
            return;
        }
        let before = &self.text[piece.start.saturating_sub(200)..piece.start];
        let line = before.rsplit(|b| *b == b'\n').next().unwrap_or_default().to_ascii_lowercase();
        let after = &self.text[piece.end..self.text.len().min(piece.end + 200)];
        let says = |word: &[u8]| memchr::memmem::find(&line, word).is_some();
        let beside = |text: &[u8]| {
            memchr::memmem::find(text, b"AKIA").is_some() || memchr::memmem::find(text, b"ASIA").is_some()
        };
        let other_key = says(b"site") || says(b"public");
        let near = !other_key
            && (says(b"aws")
                || says(b"secret")
                || says(b"access_key")
                || says(b"accesskey")
                || beside(before)
                || beside(after));
        if near && !self.digest_context(piece.start) {
            let stood_in = self.scene.stand_ins_are_kept && is_made_up(&self.text[piece.clone()]);
            if !stood_in {
                self.found.push(Candidate {
                    what: What::Known(Known::AwsSecret),
                    start: piece.start,
                    end: piece.end,
                    confidence: 86,
                    reason: "forty random characters beside an access key or its name",
                    from: piece.start,
                });
            }
        }
    }

    /// `checksum/secret: …`: the digest of a secret.
    fn says_checksum(&self, at: usize) -> bool {
        let before = self.text[at.saturating_sub(24)..at].rsplit(|b| *b == b'\n').next().unwrap_or_default();
        [&b"checksum"[..], b"digest", b"sha256", b"hash"]
            .iter()
            .any(|w| memchr::memmem::find(before, w).is_some())
    }

    /// Whether what stands just before says that a digest follows.
    fn digest_context(&self, start: usize) -> bool {
        const WORDS: &[&str] = &[
            "sha1",
            "sha-1",
            "sha2",
            "sha3",
            "sha5",
            "sha256",
            "sha512",
            "md5",
            "blake",
            "digest",
            "checksum",
            "integrity",
            "commit",
            "revision",
            "rev ",
            "rev=",
            "rev:",
            "git",
            "hash",
            "etag",
            "merge",
            "tree ",
            "parent ",
            "object",
            "fingerprint",
            "cherry",
            "sha:",
            "sha ",
            "sha=",
            "crc",
            "@sha",
            "root ",
            "blob",
            "cksum",
            "head ",
            "uuid",
            "guid",
            "build id",
            "build-id",
            "buildid",
            "trace",
            "span",
        ];
        let from = start.saturating_sub(40);
        let before =
            self.text[from..start].rsplit(|b| *b == b'\n').next().unwrap_or_default().to_ascii_lowercase();
        WORDS.iter().any(|w| memchr::memmem::find(&before, w.as_bytes()).is_some())
    }

    /// What only looks random.
    fn random(&mut self, piece: Range<usize>, look: &Look) {
        // The public half of a key for SSH says so in its first bytes.
        if [&b"AAAAB3NzaC1"[..], b"AAAAC3NzaC1", b"AAAAE2Vj", b"AAAAGnNr", b"AAAAInNr"]
            .iter()
            .any(|head| self.text[piece.clone()].starts_with(head))
        {
            return;
        }
        if piece.len() >= self.lore.shortest && self.is_random_piece(&piece, look) {
            self.random_found(piece);
            return;
        }
        // A path or a dashed name may carry one random part.
        let mut start = piece.start;
        while start < piece.end {
            let stop = self.text[start..piece.end]
                .iter()
                .position(|b| matches!(b, b'/' | b'-' | b'_' | b'+'))
                .map_or(piece.end, |p| start + p);
            let part = start..stop;
            if part.len() >= self.lore.shortest && part.len() < piece.len() {
                let look = Look::at(&self.text[part.clone()]);
                if self.is_random_piece(&part, &look) {
                    self.random_found(part);
                }
            }
            start = stop + 1;
        }
    }

    fn is_random_piece(&mut self, piece: &Range<usize>, look: &Look) -> bool {
        let text = &self.text[piece.clone()];
        if judge::is_uuid(text) || !look.is_random(self.lore.threshold) {
            return false;
        }
        if judge::has_digest_length(text) && self.digest_context(piece.start) {
            self.remark(piece.clone(), "looks random", "kept: a digest, as the words before it say");
            return false;
        }
        // A path of words and numbers is not random because its parts are many.
        let slashes = text.iter().filter(|b| **b == b'/').count();
        !(slashes >= 3 && look.likeness() > -20 && slashes * 14 > text.len())
    }

    fn random_found(&mut self, piece: Range<usize>) {
        self.remark(piece.clone(), "looks random", "found");
        self.found.push(Candidate {
            what: What::Known(Known::HighEntropy),
            start: piece.start,
            end: piece.end,
            confidence: 60,
            reason: "it looks random",
            from: piece.start,
        });
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
