//! The forms a text may have: each a pattern for the document and the same as code, which refuses.
//!
//! The patterns keep to what regular expressions of every language mean alike: classes are spelled out, since languages differ in what
//! counts as a space. What the rest of the house bounds in bytes is bounded so that every text of the pattern fits: long where it is
//! ASCII, half of it where letters are from Europe or the Near East, and a quarter of it otherwise.

use holdfast_types::{Actor, ApprovalId, Digest, Kind, Origin, RunId, Timestamp, drives_a_terminal};

/// What a text has to be.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// In words, after "it is".
    pub said: &'static str,
    /// For the document. Anchored, unless any text will do.
    pub pattern: Option<&'static str>,
    /// In characters.
    pub shortest: usize,
    pub longest: usize,
    /// In UTF-8. Where it is more than the pattern gives away, a text of many large characters may be too long although its schema holds.
    pub bytes_max: usize,
    fits: fn(&str) -> bool,
}

impl Shape {
    pub(crate) fn takes(&self, text: &str) -> bool {
        text.len() <= self.bytes_max
            && (self.shortest..=self.longest).contains(&text.chars().count())
            && (self.fits)(text)
    }
}

/// Says the class of characters of a line: none that a terminal obeys or a reader cannot see.
macro_rules! line_class {
    ($first:literal) => {
        concat!(
            "[^",
            $first,
            r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
        )
    };
}

/// The letters that take two bytes, but for those that nobody sees.
macro_rules! two_byte_class {
    ($first:literal) => {
        concat!("[", $first, r"-~\u00a1-\u00ac\u00ae-\u061b\u061d-\u07ff]")
    };
}

/// A line of so many characters of ASCII, of fewer that take two bytes, or of still fewer of any: all fit in as many bytes.
macro_rules! line_pattern {
    ($ascii:literal, $two:literal, $other:literal) => {
        concat!(
            "^(?:[!-~](?:[ -~]{0,",
            $ascii,
            "}[!-~])?|",
            two_byte_class!("!"),
            "(?:",
            two_byte_class!(" "),
            "{0,",
            $two,
            "}",
            two_byte_class!("!"),
            ")?|",
            line_class!(r"\s"),
            "(?:",
            line_class!(""),
            "{0,",
            $other,
            "}",
            line_class!(r"\s"),
            ")?)$"
        )
    };
}

pub(crate) const NAME_MAX: usize = 64;
pub(crate) const LABEL_MAX: usize = 512;

/// An agent's name, or a tag.
pub(crate) const NAME: Shape = Shape {
    said: "a line of at most 64 bytes that neither begins nor ends with a space",
    pattern: Some(line_pattern!("62", "30", "14")),
    shortest: 1,
    longest: NAME_MAX,
    bytes_max: NAME_MAX,
    fits: |text| is_line(text, NAME_MAX),
};

/// A host, a conversation, the name of a file.
pub(crate) const LABEL: Shape = Shape {
    said: "a line of at most 512 bytes that neither begins nor ends with a space",
    pattern: Some(line_pattern!("510", "254", "126")),
    shortest: 1,
    longest: LABEL_MAX,
    bytes_max: LABEL_MAX,
    fits: |text| is_line(text, LABEL_MAX),
};

fn is_line(text: &str, bytes_max: usize) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    let widest = match text.chars().max() {
        Some('\0'..='\u{7f}') | None => 1,
        Some('\u{80}'..='\u{7ff}') => 2,
        Some(_) => 4,
    };
    // A space that is not of ASCII is in no class of two bytes.
    let widest = if text.contains('\u{a0}') { 4 } else { widest };
    edge(text.chars().next())
        && edge(text.chars().last())
        && !text.chars().any(drives_a_terminal)
        && text.chars().count() <= bytes_max / widest
}

/// Text that says something, of bounded length: line feeds and tabs, and no other control characters.
const fn prose(said: &'static str, longest: usize, bytes_max: usize) -> Shape {
    let pattern = Some(concat!(
        r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*",
        r"[^\s\u0000-\u001f\u007f\u0085\ufeff]",
        r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$"
    ));
    Shape { said, pattern, shortest: 1, longest, bytes_max, fits: is_prose }
}

fn is_prose(text: &str) -> bool {
    let kept = |c: char| matches!(c, '\t' | '\n' | '\r') || !(c < ' ' || c == '\u{7f}');
    let seen = |c: char| !c.is_whitespace() && c >= ' ' && c != '\u{7f}' && c != '\u{feff}';
    text.chars().all(kept) && text.chars().any(seen)
}

/// The most bytes of so many characters.
const fn any(chars: usize) -> usize {
    4 * chars
}

/// As long as a memory may be, which is counted in bytes.
pub(crate) const MEMORY: Shape = prose("text of at most 16384 bytes that is not blank", 16 * 1024, 16 * 1024);
/// A part of a written file.
pub(crate) const WRITTEN: Shape =
    prose("text of at most 131072 characters that is not blank", 128 * 1024, any(128 * 1024));
/// A question, an objective, a situation: a page.
pub(crate) const QUESTION: Shape =
    prose("text of at most 4096 characters that is not blank", 4 * 1024, any(4 * 1024));
/// Any characters at all: what is wrong with a text is what it is looked at for.
pub(crate) const ANY_TEXT: Shape = Shape {
    said: "text of 1 to 262144 characters",
    pattern: None,
    shortest: 1,
    longest: 256 * 1024,
    bytes_max: any(256 * 1024),
    fits: |_| true,
};
/// What a notice says; longer ones would be cut off.
pub(crate) const MESSAGE: Shape =
    prose("text of at most 1000 characters that is not blank", 1_000, any(1_000));
/// Why somebody does something.
pub(crate) const REASON: Shape = prose("text of at most 500 characters that is not blank", 500, any(500));
/// Why somebody decided as they did: approvals take one line.
pub(crate) const VERDICT_REASON: Shape = Shape {
    said: "a line of at most 500 characters",
    pattern: Some(concat!("^", line_class!(""), "{1,500}$")),
    shortest: 1,
    longest: 500,
    bytes_max: 2_000,
    fits: |text| !text.chars().any(drives_a_terminal),
};

/// A signed note; the keys read no more than this.
pub(crate) const NOTE: Shape = prose("a signed note of at most 65536 bytes", 64 * 1024, 64 * 1024);

pub(crate) const TARGET: Shape = Shape {
    said: "the name of a target: 1 to 63 characters of a-z 0-9 -, of which the first is a letter or digit",
    pattern: Some("^[a-z0-9][a-z0-9-]{0,62}$"),
    shortest: 1,
    longest: 63,
    bytes_max: 63,
    fits: |text| is_plain(text, b"-"),
};

pub(crate) const EPISODE: Shape = Shape {
    said: "an episode: 1 to 64 characters of a-z 0-9 _ -, of which the first is a letter or digit",
    pattern: Some("^[a-z0-9][a-z0-9_-]{0,63}$"),
    shortest: 1,
    longest: 64,
    bytes_max: 64,
    fits: |text| is_plain(text, b"_-"),
};

/// Of the host, or of a unit with its name before it.
pub(crate) const METRIC: Shape = Shape {
    said: "a metric: psi_mem_some_avg60, or one of a unit: nginx.service:psi_mem_some_avg60",
    pattern: Some(r"^[A-Za-z0-9][A-Za-z0-9._:@\\-]{0,319}$"),
    shortest: 1,
    longest: 320,
    bytes_max: 320,
    fits: |text| {
        let letter = |b: u8| b.is_ascii_alphanumeric();
        text.bytes().next().is_some_and(letter) && text.bytes().all(|b| letter(b) || b"._:@\\-".contains(&b))
    },
};

fn is_plain(text: &str, marks: &[u8]) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(plain) && text.bytes().all(|b| plain(b) || marks.contains(&b))
}

pub(crate) const ACTOR: Shape = Shape {
    said: "an actor: 1 to 128 characters of a-z A-Z 0-9 . _ : @ / -, of which the first is a letter or digit",
    pattern: Some("^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$"),
    shortest: 1,
    longest: 128,
    bytes_max: 128,
    fits: |text| text.parse::<Actor>().is_ok(),
};

/// Shorter than the journal's own: what was given over HTTP gets a prefix.
pub(crate) const KEY: Shape = Shape {
    said: "a key: 1 to 120 characters of a-z A-Z 0-9 . _ : @ / -, of which the first is a letter or digit",
    pattern: Some("^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,119}$"),
    shortest: 1,
    longest: 120,
    bytes_max: 120,
    fits: |text| text.parse::<holdfast_types::Key>().is_ok(),
};

pub(crate) const KIND: Shape = Shape {
    said: "a kind: room.noun.verb_past, three lower-case words of at most 32 letters, digits and _",
    pattern: Some(r"^[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}$"),
    shortest: 5,
    longest: 98,
    bytes_max: 98,
    fits: |text| text.parse::<Kind>().is_ok(),
};

/// A room, a room and a noun, or a whole kind.
pub(crate) const KIND_BEGINNING: Shape = Shape {
    said: "the beginning of a kind in whole words: steward, steward.trial or steward.trial.kept",
    pattern: Some(r"^[a-z][a-z0-9_]{0,31}(?:\.[a-z][a-z0-9_]{0,31}){0,2}$"),
    shortest: 1,
    longest: 98,
    bytes_max: 98,
    fits: |text| {
        let words = text.split('.').count();
        words <= 3 && format!("{text}{}", ".a".repeat(3 - words)).parse::<Kind>().is_ok()
    },
};

/// A day that is none has no memory.
pub(crate) const MEMORY_ID: Shape = Shape {
    said: "a memory's id: mem-2026-11-18-001",
    pattern: Some("^mem-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,10}$"),
    shortest: 18,
    longest: 25,
    bytes_max: 25,
    fits: |text| {
        let digits = |part: Option<&str>, len: std::ops::RangeInclusive<usize>| {
            part.is_some_and(|part| len.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut parts = text.split('-');
        parts.next() == Some("mem")
            && digits(parts.next(), 4..=4)
            && digits(parts.next(), 2..=2)
            && digits(parts.next(), 2..=2)
            && digits(parts.next(), 3..=10)
            && parts.next().is_none()
    },
};

pub(crate) const APPROVAL: Shape = Shape {
    said: "an ask: apr_ and 26 lower-case Crockford characters",
    pattern: Some("^apr_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
    shortest: 30,
    longest: 30,
    bytes_max: 30,
    fits: |text| text.parse::<ApprovalId>().is_ok(),
};

pub(crate) const RUN: Shape = Shape {
    said: "a run: run_ and 26 lower-case Crockford characters",
    pattern: Some("^run_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
    shortest: 30,
    longest: 30,
    bytes_max: 30,
    fits: |text| text.parse::<RunId>().is_ok(),
};

/// Whom or what an entry is about: the id says which.
pub(crate) const ABOUT: Shape = Shape {
    said: "an agent or a target: agt_ or tgt_ and 26 lower-case Crockford characters",
    pattern: Some("^(?:agt|tgt)_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
    shortest: 30,
    longest: 30,
    bytes_max: 30,
    fits: |text| {
        text.parse::<holdfast_types::AgentId>().is_ok() || text.parse::<holdfast_types::TargetId>().is_ok()
    },
};

pub(crate) const DIGEST: Shape = Shape {
    said: "a digest: sha256: or blake3: and 64 lower-case hex digits",
    pattern: Some("^(?:sha256|blake3):[0-9a-f]{64}$"),
    shortest: 71,
    longest: 71,
    bytes_max: 71,
    fits: |text| text.parse::<Digest>().is_ok(),
};

pub(crate) const ORIGIN: Shape = Shape {
    said: "a log: holdfast/ and its instance",
    pattern: Some("^holdfast/[a-z0-9][a-z0-9.-]{0,62}$"),
    shortest: 10,
    longest: 72,
    bytes_max: 72,
    fits: |text| text.parse::<Origin>().is_ok(),
};

/// A moment of a thousand years around ours: every text of the pattern is a day of the calendar.
pub(crate) const TIME: Shape = Shape {
    said: "a moment in UTC with six digits after the second: 2026-11-15T08:17:16.000000Z",
    pattern: Some(concat!(
        "^(?:[12][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)",
        "|02-(?:0[1-9]|1[0-9]|2[0-8]))",
        "|(?:[12][0-9](?:0[48]|[2468][048]|[13579][26])|(?:12|16|20|24|28)00)-02-29)",
        r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$"
    )),
    shortest: 27,
    longest: 27,
    bytes_max: 27,
    fits: |text| text.starts_with(['1', '2']) && text.parse::<Timestamp>().is_ok(),
};

/// The name a witness's key has.
pub(crate) const WITNESS: Shape = Shape {
    said: "the name of a witness: 1 to 255 visible characters of ASCII without +",
    pattern: Some("^[!-*,-~]{1,255}$"),
    shortest: 1,
    longest: 255,
    bytes_max: 255,
    fits: |text| text.bytes().all(|b| b.is_ascii_graphic() && b != b'+'),
};

/// Base64 with one spelling of every text. The bound is that of the largest body there is.
pub(crate) const BLOB: Shape = Shape {
    said: "base64 of at most 720000 characters, padded, in its one spelling",
    pattern: Some(
        "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)$",
    ),
    shortest: 4,
    longest: 720_000,
    bytes_max: 720_000,
    fits: is_base64,
};

fn is_base64(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    let (whole, last) = match text.len().checked_sub(4) {
        Some(at) if text.is_ascii() && text.len().is_multiple_of(4) => text.as_bytes().split_at(at),
        _ => return false,
    };
    whole.iter().copied().all(letter)
        && match *last {
            [a, b, b'=', b'='] => letter(a) && b"AQgw".contains(&b),
            [a, b, c, b'='] => letter(a) && letter(b) && b"AEIMQUYcgkosw048".contains(&c),
            [a, b, c, d] => [a, b, c, d].into_iter().all(letter),
            _ => false,
        }
}

/// Who signed a document.
pub(crate) const SIGNER: Shape = Shape {
    said: "the id of a key: ed25519: and 16 lower-case hex digits",
    pattern: Some("^ed25519:[0-9a-f]{16}$"),
    shortest: 24,
    longest: 24,
    bytes_max: 24,
    fits: |text| {
        text.strip_prefix("ed25519:")
            .is_some_and(|hex| hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    },
};

/// An Ed25519 signature: 64 bytes in base64.
pub(crate) const SIGNATURE: Shape = Shape {
    said: "a signature: 64 bytes in base64",
    pattern: Some("^[A-Za-z0-9+/]{85}[AQgw]==$"),
    shortest: 88,
    longest: 88,
    bytes_max: 88,
    fits: |text| is_base64(text) && text.ends_with("=="),
};

#[cfg(test)]
pub(crate) const ALL: &[(&str, Shape)] = &[
    ("name", NAME),
    ("label", LABEL),
    ("memory", MEMORY),
    ("reason", REASON),
    ("verdict_reason", VERDICT_REASON),
    ("target", TARGET),
    ("episode", EPISODE),
    ("metric", METRIC),
    ("any_text", ANY_TEXT),
    ("actor", ACTOR),
    ("key", KEY),
    ("kind", KIND),
    ("kind_beginning", KIND_BEGINNING),
    ("memory_id", MEMORY_ID),
    ("approval", APPROVAL),
    ("run", RUN),
    ("about", ABOUT),
    ("digest", DIGEST),
    ("origin", ORIGIN),
    ("time", TIME),
    ("witness", WITNESS),
    ("blob", BLOB),
    ("signer", SIGNER),
    ("signature", SIGNATURE),
];
