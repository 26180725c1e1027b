//! The head of a request that hands a verdict in, judged. Pure, and stricter than HTTP has to be: what could be read in two ways
//! is refused, and so is whatever this door has no use for.

/// Where verdicts are handed in.
pub(super) const PATH: &str = "/approvals/verdict";

/// What the head announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) length: usize,
    /// The sender waits for a word before it sends the rest.
    pub(super) waits: bool,
}

/// Why a request is not read further: a status, and why in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) status: &'static str,
    pub(super) why: &'static str,
}

const fn unread(status: &'static str, why: &'static str) -> Unread {
    Unread { status, why }
}

pub(super) const BAD: &str = "400 Bad Request";
pub(super) const TOO_LARGE: Unread = unread("413 Content Too Large", "it has more than 8192 bytes");
pub(super) const TOO_SLOW: Unread = unread("408 Request Timeout", "it did not come in time");
pub(super) const HEAD_TOO_LARGE: Unread =
    unread("431 Request Header Fields Too Large", "its head has more than 8192 bytes");
pub(super) const CUT_SHORT: Unread = unread(BAD, "it ended before it was whole");
pub(super) const TOO_MUCH: Unread = unread(BAD, "more came than it said");

/// Judges a head, without the empty line at its end. At most `length_max` bytes may follow.
pub(super) fn judge(head: &[u8], length_max: usize) -> Result<Announced, Unread> {
    let text = std::str::from_utf8(head).map_err(|_| unread(BAD, "it is not a request"))?;
    let mut lines = text.split("\r\n");
    first_line(lines.next().unwrap_or_default())?;
    let mut fields = Fields::default();
    for line in lines {
        fields.take(line)?;
    }
    fields.judged(length_max)
}

fn first_line(line: &str) -> Result<(), Unread> {
    let mut words = line.split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    if !matches!(version, Some("HTTP/1.1" | "HTTP/1.0")) || words.next().is_some() {
        return Err(unread(BAD, "it is not a request"));
    }
    match (path, method) {
        (Some(PATH), Some("POST")) => Ok(()),
        (Some(PATH), _) => Err(unread("405 Method Not Allowed", "a verdict is handed in with POST")),
        _ => Err(unread("404 Not Found", "there is /approvals/verdict")),
    }
}

/// The header fields that matter here.
#[derive(Debug, Default)]
struct Fields<'h> {
    length: Option<&'h str>,
    kind: Option<&'h str>,
    encoding: Option<&'h str>,
    expects: Option<&'h str>,
    in_pieces: bool,
}

impl<'h> Fields<'h> {
    fn take(&mut self, line: &'h str) -> Result<(), Unread> {
        let odd = unread(BAD, "a line of its head cannot be read");
        let (name, value) = line.split_once(':').ok_or(odd)?;
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        // A line that goes on from the one before, or a name with a space behind it, is read differently by different readers.
        if name.is_empty() || !name.bytes().all(is_name) || value.chars().any(|c| c.is_control() && c != '\t')
        {
            return Err(odd);
        }
        let value = value.trim_matches([' ', '\t']);
        let place = match name.to_ascii_lowercase().as_str() {
            "content-length" => &mut self.length,
            "content-type" => &mut self.kind,
            "content-encoding" => &mut self.encoding,
            "expect" => &mut self.expects,
            "transfer-encoding" => {
                self.in_pieces = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(unread(BAD, "its head says the same thing twice")),
        }
    }

    fn judged(&self, length_max: usize) -> Result<Announced, Unread> {
        if self.in_pieces {
            return Err(unread("411 Length Required", "it is to come in one piece, with its length"));
        }
        let length = self.length.ok_or(unread("411 Length Required", "it does not say how long it is"))?;
        if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unread(BAD, "its length is not a number"));
        }
        // More digits than a number holds are more bytes than there may be.
        let length = length.parse().unwrap_or(usize::MAX);
        if length > length_max {
            return Err(TOO_LARGE);
        }
        if !self.kind.is_some_and(is_json)
            || !self.encoding.is_none_or(|it| it.eq_ignore_ascii_case("identity"))
        {
            return Err(unread("415 Unsupported Media Type", "it is to be application/json, as it is"));
        }
        match self.expects {
            None => Ok(Announced { length, waits: false }),
            Some(word) if word.eq_ignore_ascii_case("100-continue") => Ok(Announced { length, waits: true }),
            Some(_) => Err(unread("417 Expectation Failed", "it expects what is not known here")),
        }
    }
}

/// JSON, in UTF-8 where anything is said about that.
fn is_json(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    let is_it = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    is_it && parts.all(|part| part.eq_ignore_ascii_case("charset=utf-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "POST /approvals/verdict HTTP/1.1";

    fn check(lines: &[&str], said: Result<usize, &str>) {
        let found = judge(lines.join("\r\n").as_bytes(), 8192);
        match said {
            Ok(length) => assert_eq!(found.map(|it| it.length), Ok(length), "{lines:?}"),
            Err(status) => assert!(found.unwrap_err().status.starts_with(status), "{lines:?}: {found:?}"),
        }
    }

    #[test]
    fn a_plain_post_is_taken_and_the_rest_refused_by_name() {
        let (length, json) = ("Content-Length: 700", "content-type: application/json");
        check(&[FIRST, "Host: box", length, json], Ok(700));
        check(&[FIRST, "CONTENT-LENGTH:700", "Content-Type: Application/JSON; charset=UTF-8"], Ok(700));
        check(&["POST /approvals/verdict HTTP/1.0", length, json], Ok(700));
        check(&[FIRST, "Content-Length: 0", json], Ok(0));
        check(&[FIRST, "Content-Length: 8192", json, "Content-Encoding: identity"], Ok(8192));

        check(&["GET /approvals/verdict HTTP/1.1"], Err("405"));
        check(&["OPTIONS /approvals/verdict HTTP/1.1"], Err("405"));
        check(&["POST /approvals/verdict?x=1 HTTP/1.1", length, json], Err("404"));
        check(&["POST /approvals/../approvals/verdict HTTP/1.1", length, json], Err("404"));
        check(&["GET /metrics HTTP/1.1"], Err("404"));
        check(&["POST /approvals/verdict HTTP/2", length, json], Err("400"));
        check(&["POST  /approvals/verdict HTTP/1.1", length, json], Err("400"));
        check(&["hello"], Err("400"));
        check(&[""], Err("400"));

        check(&[FIRST, json], Err("411"));
        check(&[FIRST, "Transfer-Encoding: chunked", json], Err("411"));
        check(&[FIRST, "transfer-encoding: identity", length, json], Err("411"));
        check(&[FIRST, "Content-Length: 8193", json], Err("413"));
        check(&[FIRST, "Content-Length: 99999999999999999999999999", json], Err("413"));
        check(&[FIRST, length], Err("415"));
        check(&[FIRST, length, "Content-Type: text/plain"], Err("415"));
        check(&[FIRST, length, "Content-Type: application/json; charset=latin1"], Err("415"));
        check(&[FIRST, length, json, "Content-Encoding: gzip"], Err("415"));
        check(&[FIRST, length, json, "Expect: the-impossible"], Err("417"));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let (length, json) = ("Content-Length: 700", "Content-Type: application/json");
        check(&[FIRST, length, length, json], Err("400"));
        check(&[FIRST, length, "Content-Length: 7", json], Err("400"));
        check(&[FIRST, "Content-Length: 7, 7", json], Err("400"));
        check(&[FIRST, "Content-Length: +7", json], Err("400"));
        check(&[FIRST, "Content-Length: -7", json], Err("400"));
        check(&[FIRST, "Content-Length: 0x7", json], Err("400"));
        check(&[FIRST, "Content-Length: ", json], Err("400"));
        check(&[FIRST, "Content-Length : 7", json], Err("400"));
        check(&[FIRST, "X: a", " Content-Length: 7", json], Err("400"));
        check(&[FIRST, "no colon", length, json], Err("400"));
        check(&[FIRST, ": nameless", length, json], Err("400"));
        check(&[FIRST, "X: a\nContent-Length: 7", json], Err("400"));
        check(&[FIRST, "X: a\rb", length, json], Err("400"));
        check(&[FIRST, json, json, length], Err("400"));
        assert!(judge(b"POST /approvals/verdict HTTP/1.1\r\nX: \xff", 8192).is_err());
    }

    #[test]
    fn a_sender_that_waits_for_a_word_is_known() {
        let head = [FIRST, "Content-Length: 7", "Content-Type: application/json", "Expect: 100-Continue"];
        assert_eq!(judge(head.join("\r\n").as_bytes(), 8192), Ok(Announced { length: 7, waits: true }));
    }
}
