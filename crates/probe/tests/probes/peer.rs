//! Peers to look at: a listener on this machine whose manners are a function, and the terms to look under.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use holdfast_probe::{Check, Found, Terms, run};
use holdfast_types::Timestamp;

/// Longer than anything friendly takes on a busy machine.
pub(crate) const PLENTY: Duration = Duration::from_secs(10);

pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap()
}

pub(crate) fn terms(within: Duration) -> Terms {
    Terms { within, now: now(), not_before: None }
}

pub(crate) fn check(json: &str) -> Check {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{json}: {e}"))
}

pub(crate) fn found(json: &str) -> Found {
    run(&check(json), &terms(PLENTY))
}

/// One word for what was found, with why.
pub(crate) fn word(found: &Found) -> (&'static str, &str) {
    match found {
        Found::Passed { .. } => ("passed", ""),
        Found::Failed { why } => ("failed", why),
        Found::TimedOut => ("timed out", ""),
        Found::Unknown { why } => ("unknown", why),
    }
}

/// Asserts what was found, and a part of why.
pub(crate) fn assert_found(found: &Found, expected: &str, part: &str) {
    let (word, why) = word(found);
    assert!(word == expected && why.contains(part), "{found:?}, expected {expected}: {part}");
}

/// Listens until the process ends; each visitor is served in a thread of its own.
pub(crate) fn peer(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for visitor in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(visitor));
        }
    });
    address
}

/// The head of a request.
pub(crate) fn heard(visitor: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && visitor.read(&mut byte).is_ok_and(|len| len > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A server that answers every request with these bytes.
pub(crate) fn page(says: impl Into<String>) -> SocketAddr {
    let says = says.into();
    peer(move |mut visitor| {
        heard(&mut visitor);
        let _the_visitor_may_be_gone = visitor.write_all(says.as_bytes());
    })
}

/// A whole answer with this body.
pub(crate) fn answer(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
