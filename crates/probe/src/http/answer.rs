//! Reads the answer of an HTTP server that may say anything: a head of bounded size, then as much of the body as is kept.

use std::fmt;
use std::io::{BufRead, Read as _};

use crate::found::Trouble;

/// Heads of honest servers have about one kilobyte.
const HEAD_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 100;
/// A server may say that it is still there (status 1xx) before it answers.
const INTERIM_MAX: usize = 4;
/// The size of a chunk, with extensions nobody uses.
const CHUNK_LINE_MAX: u64 = 256;
const CHUNK_MAX: u64 = 1 << 32;

#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// Whether that is all of the body.
    pub whole: bool,
}

/// Without the body: it is somebody else's, and may answer a secret with another.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { status, body, whole } = self;
        f.debug_struct("Answer")
            .field("status", status)
            .field("body_len", &body.len())
            .field("whole", whole)
            .finish()
    }
}

/// How the end of a body is known.
enum Ends {
    AtOnce,
    After(u64),
    ByChunks,
    WithTheConnection,
}

struct Head {
    status: u16,
    ends: Ends,
}

pub(super) fn read(from: &mut impl BufRead, body_max: usize) -> Result<Answer, Trouble> {
    for _ in 0..=INTERIM_MAX {
        let head = Head::parse(&head_bytes(from)?)?;
        if !(100..200).contains(&head.status) {
            let (body, whole) = body(from, head.ends, body_max)?;
            return Ok(Answer { status: head.status, body, whole });
        }
    }
    Err(garbled())
}

fn garbled() -> Trouble {
    Trouble::theirs("what it answered is not HTTP")
}

fn early() -> Trouble {
    Trouble::theirs("its answer ended early")
}

/// Everything up to and with the empty line.
fn head_bytes(from: &mut impl BufRead) -> Result<Vec<u8>, Trouble> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        from.take((HEAD_MAX - before) as u64).read_until(b'\n', &mut head)?;
        match &head[before..] {
            b"\r\n" | b"\n" if before > 0 => return Ok(head),
            [.., b'\n'] => {}
            _ if head.len() == HEAD_MAX => return Err(Trouble::theirs("the head of its answer is too long")),
            [] if before == 0 => return Err(Trouble::theirs("it ended the connection without an answer")),
            _ => return Err(early()),
        }
    }
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Head, Trouble> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut headers);
        let is_whole = parsed.parse(bytes).is_ok_and(|it| it.is_complete());
        let Some(status) = parsed.code.filter(|code| is_whole && (100..600).contains(code)) else {
            return Err(garbled());
        };
        let ends = match status {
            100..200 | 204 | 304 => Ends::AtOnce,
            _ => ends(parsed.headers)?,
        };
        Ok(Head { status, ends })
    }
}

/// Who says two different things about where the body ends is not believed.
fn ends(headers: &[httparse::Header<'_>]) -> Result<Ends, Trouble> {
    let named =
        |name: &'static str| headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    let lengths: Vec<u64> =
        named("content-length").map(|it| length(it.value)).collect::<Option<_>>().ok_or_else(garbled)?;
    let mut encodings = named("transfer-encoding");
    match (encodings.next(), lengths.split_first()) {
        (Some(encoding), None)
            if encoding.value.eq_ignore_ascii_case(b"chunked") && encodings.next().is_none() =>
        {
            Ok(Ends::ByChunks)
        }
        (Some(_), _) => Err(garbled()),
        (None, Some((first, others))) if others.iter().all(|other| other == first) => Ok(Ends::After(*first)),
        (None, Some(_)) => Err(garbled()),
        (None, None) => Ok(Ends::WithTheConnection),
    }
}

fn length(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?;
    digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// At most so much of the body, and whether that is all.
fn body(from: &mut impl BufRead, ends: Ends, max: usize) -> Result<(Vec<u8>, bool), Trouble> {
    let mut body = Vec::new();
    let whole = match ends {
        Ends::AtOnce => true,
        Ends::After(length) => part(from, length, max, &mut body)?,
        Ends::ByChunks => chunks(from, max, &mut body)?,
        Ends::WithTheConnection if max == 0 => false,
        Ends::WithTheConnection => {
            from.take(max as u64 + 1).read_to_end(&mut body)?;
            let whole = body.len() <= max;
            body.truncate(max);
            whole
        }
    };
    Ok((body, whole))
}

/// The next so many bytes, or as many as there is room for. Says whether they all fitted.
fn part(from: &mut impl BufRead, length: u64, max: usize, body: &mut Vec<u8>) -> Result<bool, Trouble> {
    let room = (max - body.len()) as u64;
    let wanted = length.min(room);
    let came = from.take(wanted).read_to_end(body)?;
    if (came as u64) < wanted { Err(early()) } else { Ok(length <= room) }
}

fn chunks(from: &mut impl BufRead, max: usize, body: &mut Vec<u8>) -> Result<bool, Trouble> {
    while body.len() < max {
        let length = chunk_length(from)?;
        if length == 0 {
            // What may follow describes the body, and nobody asks here.
            return Ok(true);
        }
        if !part(from, length, max, body)? {
            return Ok(false);
        }
        let mut end = [0; 2];
        from.read_exact(&mut end)?;
        if end != *b"\r\n" {
            return Err(garbled());
        }
    }
    Ok(false)
}

fn chunk_length(from: &mut impl BufRead) -> Result<u64, Trouble> {
    let mut line = Vec::new();
    from.take(CHUNK_LINE_MAX).read_until(b'\n', &mut line)?;
    match httparse::parse_chunk_size(&line) {
        Ok(httparse::Status::Complete((_, length))) if length <= CHUNK_MAX => Ok(length),
        Ok(httparse::Status::Partial) if (line.len() as u64) < CHUNK_LINE_MAX => Err(early()),
        Ok(_) | Err(_) => Err(garbled()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 10;

    /// What is made of these bytes: status, body, whether whole; or why not.
    fn check(said: &str) -> Result<(u16, String, bool), String> {
        match read(&mut said.as_bytes(), MAX) {
            Ok(it) => Ok((it.status, String::from_utf8(it.body).unwrap(), it.whole)),
            Err(Trouble::Theirs(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_ends_where_the_head_says() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyMORE", 200, "body", true),
            ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\nContent-Length: 4\r\n\r\nbody", 200, "body", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n0123456789ab", 200, "0123456789", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", 200, "0123456789", true),
            ("HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end", true),
            ("HTTP/1.0 200 OK\r\n\r\nto the end.", 200, "to the end", false),
            ("HTTP/1.1 200 OK\nConnection: close\n\nbare", 200, "bare", true),
            ("HTTP/1.1 204 No Content\r\n\r\nx", 204, "", true),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, "", true),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
                201,
                "x",
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n3;e=f\r\ncde\r\n0\r\n\r\n",
                200,
                "abcde",
                true,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n0123456789ab\r\n0\r\n\r\n",
                200,
                "0123456789",
                false,
            ),
            ("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", 503, "no", true),
        ];
        for (said, status, body, whole) in cases {
            assert_eq!(check(said), Ok((status, body.to_owned(), whole)), "{said:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_not_taken_for_one() {
        let cases = [
            ("", "without an answer"),
            ("HTTP/1.1 200 OK\r\nContent-Le", "ended early"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", "ended early"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab", "ended early"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4", "ended early"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", "not HTTP"),
            ("HTTP/1.1 099 OK\r\n\r\n", "not HTTP"),
            ("HTTP/1.1 999 OK\r\n\r\n", "not HTTP"),
            ("SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
            ("HTTP/2 200\r\n\r\n", "not HTTP"),
            (&"HTTP/1.1 100 Continue\r\n\r\n".repeat(9), "not HTTP"),
            (&format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(HEAD_MAX)), "too long"),
            (&format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: x\r\n".repeat(HEADERS_MAX + 1)), "not HTTP"),
            (
                &format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(400)),
                "not HTTP",
            ),
        ];
        for (said, expected) in cases {
            let why = check(said).unwrap_err();
            assert!(why.contains(expected), "{why}: {:?}", &said[..said.len().min(80)]);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_not_and_stay_bounded(
            head in "HTTP/1.1 [0-9]{3} OK\r\n((Content-Length|Transfer-Encoding): (chunked|[0-9]{1,22})\r\n){0,2}(\r\n)?",
            rest in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let said = [head.as_bytes(), rest.as_slice()].concat();
            if let Ok(answer) = read(&mut said.as_slice(), MAX) {
                prop_assert!(answer.body.len() <= MAX);
            }
            let _either = read(&mut rest.as_slice(), MAX);
        }

        #[test]
        fn a_body_in_chunks_is_the_same_body(parts in proptest::collection::vec("[a-z]{1,9}", 0..9)) {
            let chunked: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
            let said = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}0\r\n\r\n");
            let answer = read(&mut said.as_bytes(), 1000).unwrap();
            prop_assert_eq!(answer.body, parts.concat().into_bytes());
            prop_assert!(answer.whole);
        }
    }
}
