//! What an HTTP/1 request may look like, byte by byte, as a machine without I/O.
//!
//! hyper reads requests too, and is more lenient than a door may be: it takes lines that end in a bare line feed, and a request
//! that names its length twice in different ways. Where two programs can disagree about where a request ends, one request can be
//! hidden in another. So everything passes through here first, and what is not plain is refused: one length or `chunked`, never
//! both and never twice; lines that end in CR LF; no folded lines, no blanks before a colon, no control characters, no chunk
//! extensions; exactly one `Host`.
//!
//! What holds: the bytes that are let through are whole requests in one reading only; the end of each is found here exactly where
//! hyper finds it; memory is bounded by one head.

use memchr::memchr;

use crate::settings::{CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX};

/// Longer than any method there is (`UPDATEREDIRECTREF` has 17).
const METHOD_BYTES_MAX: usize = 24;
/// The method, blanks, `HTTP/1.1` and the line end around the target.
const FIRST_LINE_MORE_BYTES: usize = METHOD_BYTES_MAX + 12;
/// As many digits as fit into a `u64` for certain.
const LENGTH_DIGITS_MAX: usize = 18;

#[derive(Debug)]
pub(crate) struct Framing {
    state: State,
    /// The line that has begun and not ended.
    line: Vec<u8>,
    head: Head,
    heads: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a head.
    Between,
    FirstLine,
    Field,
    Body {
        left: u64,
    },
    ChunkSize,
    Chunk {
        left: u64,
    },
    /// The line end after a chunk.
    ChunkEnd,
    Trailer,
    /// The connection was given to another protocol.
    Open,
}

#[derive(Debug, Default)]
struct Head {
    bytes: usize,
    fields: usize,
    length: Option<u64>,
    chunked: bool,
    hosts: usize,
    is_1_1: bool,
}

/// What a connection is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Between,
    Head,
    Body,
}

/// Where the first byte is that is not let through, counted in the bytes that were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) phase: Phase,
}

struct Wrong;

impl Framing {
    pub(crate) fn new() -> Framing {
        Framing { state: State::Between, line: Vec::new(), head: Head::default(), heads: 0 }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            State::Between => Phase::Between,
            State::FirstLine | State::Field => Phase::Head,
            State::Body { .. }
            | State::ChunkSize
            | State::Chunk { .. }
            | State::ChunkEnd
            | State::Trailer
            | State::Open => Phase::Body,
        }
    }

    /// How many heads were complete so far.
    pub(crate) fn heads(&self) -> u64 {
        self.heads
    }

    /// From here on the bytes are another protocol's.
    pub(crate) fn open(&mut self) {
        self.state = State::Open;
        self.line = Vec::new();
    }

    /// Looks at the next bytes of the connection.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut at = 0;
        while at < bytes.len() {
            let phase = if self.state == State::Between { Phase::Head } else { self.phase() };
            at += self.step(&bytes[at..]).map_err(|Wrong| Fault { at, phase })?;
        }
        Ok(())
    }

    /// Takes one line, or as much data as there is; how many bytes that was.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Wrong> {
        match self.state {
            State::Open => Ok(bytes.len()),
            State::Body { left } => {
                let (taken, left) = part(bytes, left);
                self.state = if left == 0 { State::Between } else { State::Body { left } };
                Ok(taken)
            }
            State::Chunk { left } => {
                let (taken, left) = part(bytes, left);
                self.state = if left == 0 { State::ChunkEnd } else { State::Chunk { left } };
                Ok(taken)
            }
            State::Between => {
                self.head = Head::default();
                self.state = State::FirstLine;
                self.line_of(bytes)
            }
            State::FirstLine | State::Field | State::ChunkSize | State::ChunkEnd | State::Trailer => {
                self.line_of(bytes)
            }
        }
    }

    fn line_of(&mut self, bytes: &[u8]) -> Result<usize, Wrong> {
        let end = memchr(b'\n', bytes);
        let taken = end.map_or(bytes.len(), |n| n + 1);
        self.count(taken)?;
        let Some(end) = end else {
            self.line.extend_from_slice(bytes);
            return Ok(taken);
        };
        // Taken out and put back, so that its room is used again and the line may be looked at while the rest changes.
        let mut held = std::mem::take(&mut self.line);
        let line = if held.is_empty() {
            &bytes[..end]
        } else {
            held.extend_from_slice(&bytes[..end]);
            &held[..]
        };
        let line = line.strip_suffix(b"\r").ok_or(Wrong)?;
        self.end_of_line(line)?;
        held.clear();
        self.line = held;
        Ok(taken)
    }

    /// Every byte of every line is counted before it is kept.
    fn count(&mut self, more: usize) -> Result<(), Wrong> {
        self.head.bytes += more;
        let max = match self.state {
            State::FirstLine => TARGET_BYTES_MAX + FIRST_LINE_MORE_BYTES,
            State::ChunkSize => CHUNK_LINE_BYTES_MAX + 2,
            State::ChunkEnd => 2,
            _ => HEAD_BYTES_MAX,
        };
        if self.head.bytes <= max { Ok(()) } else { Err(Wrong) }
    }

    fn end_of_line(&mut self, line: &[u8]) -> Result<(), Wrong> {
        match self.state {
            State::FirstLine => {
                self.head.is_1_1 = first_line(line)?;
                self.state = State::Field;
            }
            State::Field if line.is_empty() => self.end_of_head()?,
            State::Field => self.field(line)?,
            State::ChunkSize => {
                let left = chunk_size(line)?;
                self.head.bytes = 0;
                self.state = if left == 0 { State::Trailer } else { State::Chunk { left } };
            }
            State::ChunkEnd if line.is_empty() => {
                self.head.bytes = 0;
                self.state = State::ChunkSize;
            }
            State::ChunkEnd => return Err(Wrong),
            State::Trailer if line.is_empty() => self.state = State::Between,
            State::Trailer => self.trailer(line)?,
            State::Between | State::Body { .. } | State::Chunk { .. } | State::Open => {}
        }
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let (name, value) = name_and_value(line)?;
        self.head.fields += 1;
        if self.head.fields > HEADERS_MAX {
            return Err(Wrong);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let before = self.head.length.replace(length(value)?);
            return if before.is_none() { Ok(()) } else { Err(Wrong) };
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            let fits = value.eq_ignore_ascii_case(b"chunked") && !self.head.chunked && self.head.is_1_1;
            self.head.chunked = true;
            return if fits { Ok(()) } else { Err(Wrong) };
        }
        if name.eq_ignore_ascii_case(b"host") {
            self.head.hosts += 1;
        }
        Ok(())
    }

    /// Trailers are checked and counted like fields; what they say is dropped further in. One that would be framing is an attack.
    fn trailer(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let (name, _) = name_and_value(line)?;
        self.head.fields += 1;
        let framing = [&b"content-length"[..], b"transfer-encoding", b"host"];
        let wrong =
            self.head.fields > HEADERS_MAX || framing.iter().any(|bad| name.eq_ignore_ascii_case(bad));
        if wrong { Err(Wrong) } else { Ok(()) }
    }

    fn end_of_head(&mut self) -> Result<(), Wrong> {
        let host_is_clear = if self.head.is_1_1 { self.head.hosts == 1 } else { self.head.hosts <= 1 };
        if !host_is_clear || (self.head.chunked && self.head.length.is_some()) {
            return Err(Wrong);
        }
        self.heads += 1;
        self.head.bytes = 0;
        self.state = match self.head.length {
            _ if self.head.chunked => State::ChunkSize,
            Some(left) if left > 0 => State::Body { left },
            _ => State::Between,
        };
        Ok(())
    }
}

fn part(bytes: &[u8], left: u64) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, left - taken as u64)
}

/// Whether it is HTTP/1.1; 1.0 is the only other one.
fn first_line(line: &[u8]) -> Result<bool, Wrong> {
    let mut parts = line.split(|b| *b == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Wrong);
    };
    let fits = (1..=METHOD_BYTES_MAX).contains(&method.len())
        && method.iter().all(u8::is_ascii_uppercase)
        && (1..=TARGET_BYTES_MAX).contains(&target.len())
        && target.iter().all(u8::is_ascii_graphic);
    match version {
        b"HTTP/1.1" if fits => Ok(true),
        b"HTTP/1.0" if fits => Ok(false),
        _ => Err(Wrong),
    }
}

fn name_and_value(line: &[u8]) -> Result<(&[u8], &[u8]), Wrong> {
    let colon = memchr(b':', line).ok_or(Wrong)?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let value_is_text = value.iter().all(|b| *b == b'\t' || (*b >= b' ' && *b != 0x7f));
    if !name.is_empty() && name.iter().all(|b| is_token(*b)) && value_is_text {
        Ok((name, value))
    } else {
        Err(Wrong)
    }
}

/// The characters of a field's name (RFC 9110, 5.6.2).
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

fn length(value: &[u8]) -> Result<u64, Wrong> {
    let digits = (1..=LENGTH_DIGITS_MAX).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).map_err(|_| Wrong)?;
    if digits { text.parse().map_err(|_| Wrong) } else { Err(Wrong) }
}

fn chunk_size(line: &[u8]) -> Result<u64, Wrong> {
    let digits = (1..CHUNK_LINE_BYTES_MAX).contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(line).map_err(|_| Wrong)?;
    if digits { u64::from_str_radix(text, 16).map_err(|_| Wrong) } else { Err(Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The only caller in the tables: the whole text at once and byte by byte must come to the same.
    fn heads_in(text: &[u8]) -> Option<u64> {
        let mut whole = Framing::new();
        let at_once = whole.take(text).ok().map(|()| whole.heads());
        let mut drip = Framing::new();
        let dripped = text.iter().try_for_each(|b| drip.take(&[*b])).ok().map(|()| drip.heads());
        assert_eq!(at_once, dripped, "{:?}", String::from_utf8_lossy(text));
        at_once
    }

    #[test]
    fn plain_requests_pass_one_after_another() {
        for (text, heads) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1),
            ("GET / HTTP/1.0\r\n\r\n", 1),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                2,
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 1),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                2,
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 2),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: \r\nY: \u{e9}\r\n\r\n", 1),
        ] {
            assert_eq!(heads_in(text.as_bytes()), Some(heads), "{text:?}");
        }
    }

    #[test]
    fn whatever_two_programs_could_read_differently_is_refused() {
        let post = |fields: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}");
        for text in [
            post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"),
            post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"),
            post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"),
            post("Content-Length: 3, 3\r\n", "abc"),
            post("Content-Length: +3\r\n", "abc"),
            post("Content-Length: 0x3\r\n", "abc"),
            post("Content-Length:\r\n", ""),
            post("Content-Length: 99999999999999999999\r\n", ""),
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: identity\r\n", ""),
            post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding:\u{b}chunked\r\n", "0\r\n\r\n"),
            post(" Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            post("X: y\r\n folded\r\n", ""),
            post("X: y\r\n\tfolded\r\n", ""),
            post("X: y\nContent-Length: 3\r\n", "abc"),
            post("X: y\rZ: a\r\n", ""),
            post("X: \0\r\n", ""),
            post("X\0: y\r\n", ""),
            post(": y\r\n", ""),
            post("no colon\r\n", ""),
            post("Host: b\r\n", ""),
            post("Transfer-Encoding: chunked\r\n", "3;ext=1\r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "3 \r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "3\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "-3\r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "0x3\r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "\r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff1\r\nabc"),
            post("Transfer-Encoding: chunked\r\n", "0\r\nContent-Length: 9\r\n\r\n"),
            "GET / HTTP/1.1\nHost: a\n\n".into(),
            "GET / HTTP/1.1\r\n\r\n".into(),
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "GET / HTTP/1.1 \r\nHost: a\r\n\r\n".into(),
            "GET / HTTP/2.0\r\nHost: a\r\n\r\n".into(),
            "GET /\r\n".into(),
            "get / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(),
        ] {
            assert_eq!(heads_in(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_long_or_too_much_is_refused_before_it_is_kept() {
        let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(TARGET_BYTES_MAX));
        assert_eq!(heads_in(long.as_bytes()), None);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(HEADERS_MAX));
        assert_eq!(heads_in(many.as_bytes()), None);
        let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(HEAD_BYTES_MAX));
        assert_eq!(heads_in(large.as_bytes()), None);
        let mut endless = Framing::new();
        let drip = (0..2 * HEAD_BYTES_MAX).try_for_each(|_| endless.take(b"A"));
        assert!(drip.is_err() && endless.line.len() <= TARGET_BYTES_MAX + FIRST_LINE_MORE_BYTES);
        let fits = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(HEADERS_MAX - 1));
        assert_eq!(heads_in(fits.as_bytes()), Some(1));
    }

    #[test]
    fn the_fault_is_placed_at_the_line_it_is_in() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nBad : x\r\n";
        let fault = Framing::new().take(text).unwrap_err();
        assert_eq!((fault.phase, &text[fault.at..fault.at + 3]), (Phase::Head, &b"Bad"[..]));
        let body = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(Framing::new().take(body).unwrap_err().phase, Phase::Body);
    }

    #[test]
    fn after_an_upgrade_everything_passes() {
        let mut framing = Framing::new();
        framing.take(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        framing.open();
        framing.take(b"\0\n\xff anything").unwrap();
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stop_or_keep_more_than_a_head(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
            let cut = cut.min(bytes.len());
            let mut framing = Framing::new();
            let in_two = framing.take(&bytes[..cut]).and_then(|()| framing.take(&bytes[cut..])).is_ok();
            prop_assert_eq!(in_two, Framing::new().take(&bytes).is_ok());
            prop_assert!(framing.line.len() <= HEAD_BYTES_MAX);
        }

        #[test]
        fn a_request_is_seen_the_same_wherever_it_is_cut(body in "[a-z]{0,30}", n in 1usize..4, cut in 0usize..600) {
            let one = format!("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let text = one.repeat(n);
            let cut = cut.min(text.len());
            let mut framing = Framing::new();
            framing.take(&text.as_bytes()[..cut]).map_err(|f| TestCaseError::fail(format!("{f:?}")))?;
            framing.take(&text.as_bytes()[cut..]).map_err(|f| TestCaseError::fail(format!("{f:?}")))?;
            prop_assert_eq!((framing.heads(), framing.phase()), (n as u64, Phase::Between));
        }
    }
}
