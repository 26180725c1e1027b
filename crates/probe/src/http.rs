//! One HTTP/1.1 exchange over a connection of its own: asked, answered, closed.
//!
//! Written out here, in the little that is needed, instead of taken from a client library: the connection has to keep one deadline from the
//! look-up of the name to the last byte, and no message may have an address or a header in it.

mod answer;

use std::fmt;
use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_types::Timestamp;

pub use answer::Answer;

use crate::address::Url;
use crate::found::{Trouble, shown};
use crate::line::Line;
use crate::look_up::addresses;
use crate::tls::Trust;
use crate::until::Until;

/// What is kept of an answer's body. Interfaces of providers answer with a few kilobytes.
pub(crate) const BODY_MAX: usize = 64 * 1024;
/// What the exchange itself depends on is not for callers to say.
const RESERVED: [&str; 7] =
    ["accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding", "user-agent"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

/// Whether a request may go over the network unencrypted. To this machine itself it always may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    Refused,
    Allowed,
}

/// What to ask. Its debug form has neither headers nor body nor the path, which in a webhook is the secret.
#[derive(Clone)]
pub struct Request {
    method: Method,
    url: Url,
    /// Checked when they came in.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    plain: Plain,
    roots: Option<PathBuf>,
}

impl Request {
    pub fn new(method: Method, url: Url) -> Request {
        Request { method, url, headers: Vec::new(), body: Vec::new(), plain: Plain::Refused, roots: None }
    }

    /// One header more; its value may be a secret.
    pub fn header(mut self, name: &str, value: &str) -> Result<Request, HttpError> {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let is_text = |b: u8| b == b' ' || b == b'\t' || b.is_ascii_graphic();
        let is_reserved = RESERVED.contains(&name.to_ascii_lowercase().as_str());
        if name.is_empty() || is_reserved || !name.bytes().all(is_token) || !value.bytes().all(is_text) {
            return Err(HttpError::Header { name: shown(name.as_bytes()) });
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    pub fn body(self, body: Vec<u8>) -> Request {
        Request { body, ..self }
    }

    pub fn plain(self, plain: Plain) -> Request {
        Request { plain, ..self }
    }

    /// A file of PEM certificates to trust instead of the machine's own.
    pub fn roots(self, roots: Option<PathBuf>) -> Request {
        Request { roots, ..self }
    }

    fn head(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method.word(), self.url.target());
        let mut say = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
        say("Host", &self.url.authority());
        say("User-Agent", &format!("holdfast/{version}"));
        say("Accept-Encoding", "identity");
        say("Connection", "close");
        if !self.body.is_empty() || matches!(self.method, Method::Post | Method::Put) {
            say("Content-Length", &self.body.len().to_string());
        }
        for (name, value) in &self.headers {
            say(name, value);
        }
        head + "\r\n"
    }

    /// Whether it may go to these addresses.
    fn may_go_to(&self, addresses: &[SocketAddr]) -> bool {
        let is_here = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
        self.url.is_secure() || self.plain == Plain::Allowed || addresses.iter().all(is_here)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, host) = (self.method, &self.url.address().host);
        f.debug_struct("Request").field("method", &method).field("host", &host).finish_non_exhaustive()
    }
}

/// Why there is no answer. None has an address, a header's value or a body in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("the header {name:?} cannot be sent")]
    Header { name: String },
    #[error("the address is not https and does not lead to this machine, so nothing was sent")]
    Plain,
    /// It may have been heard all the same.
    #[error("no answer came in time")]
    TimedOut,
    #[error("there was no usable answer: {why}")]
    Failed { why: String },
    /// It failed on this side: no name, no network, no certificates to trust.
    #[error("it could not be asked from here: {why}")]
    Here { why: String },
}

impl From<Trouble> for HttpError {
    fn from(trouble: Trouble) -> HttpError {
        match trouble {
            Trouble::Late => HttpError::TimedOut,
            Trouble::Theirs(why) => HttpError::Failed { why },
            Trouble::Ours(why) => HttpError::Here { why },
        }
    }
}

/// Asks once. An answer of any status is an answer; redirects are not followed. Never takes longer than `within`.
pub fn http(request: &Request, within: Duration, now: Timestamp) -> Result<Answer, HttpError> {
    let until = Until::after(within);
    let address = request.url.address();
    let addresses = addresses(&address.host, address.port, until)?;
    if !request.may_go_to(&addresses) {
        return Err(HttpError::Plain);
    }
    Ok(exchange(request, &addresses, BODY_MAX, until, now)?)
}

/// The same for a look, which may go anywhere and keeps so much of the body; with 0 the body is not waited for.
pub(crate) fn get(
    url: Url,
    roots: Option<PathBuf>,
    body_max: usize,
    until: Until,
    now: Timestamp,
) -> Result<Answer, Trouble> {
    let addresses = addresses(&url.address().host, url.address().port, until)?;
    exchange(&Request::new(Method::Get, url).roots(roots), &addresses, body_max, until, now)
}

fn exchange(
    request: &Request,
    addresses: &[SocketAddr],
    body_max: usize,
    until: Until,
    now: Timestamp,
) -> Result<Answer, Trouble> {
    // Before the connection: a server is not to be called only to hang up on it.
    let trust = match request.url.is_secure() {
        true => Some(Trust::new(request.roots.as_deref(), now)?),
        false => None,
    };
    let line = Line::to_any(addresses, until)?;
    match trust {
        Some(trust) => over(trust.greet(&request.url.address().host, line)?, request, body_max),
        None => over(line, request, body_max),
    }
}

fn over(mut stream: impl Read + Write, request: &Request, body_max: usize) -> Result<Answer, Trouble> {
    stream.write_all(request.head().as_bytes())?;
    stream.write_all(&request.body)?;
    stream.flush()?;
    answer::read(&mut BufReader::new(stream), body_max)
}

/// Whether a page is as it should be.
pub(crate) fn judge(answer: &Answer, status: Option<u16>, contains: Option<&str>) -> Result<(), Trouble> {
    let is_right = match status {
        Some(wanted) => answer.status == wanted,
        None => (200..400).contains(&answer.status),
    };
    if !is_right {
        return Err(Trouble::Theirs(format!("it answered with status {}", answer.status)));
    }
    let Some(text) = contains.filter(|text| !text.is_empty()) else { return Ok(()) };
    if answer.body.windows(text.len()).any(|part| part == text.as_bytes()) {
        return Ok(());
    }
    Err(Trouble::theirs(match answer.whole {
        true => "its answer does not have the text that is wanted",
        false => "the first 64 KiB of its answer do not have the text that is wanted",
    }))
}
