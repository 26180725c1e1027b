//! Servers that would keep a visitor for ever. Every look ends in time, and none passes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_probe::{Found, HttpError, Method, Request, http, run};

use crate::peer::{PLENTY, answer, assert_found, check, heard, now, page, peer, terms};

const WITHIN: Duration = Duration::from_millis(300);
const SLACK: Duration = Duration::from_millis(200);

/// Runs it and asserts that it ends in time. On a busy machine a thread may be late by itself, so it is late three times or not at all.
fn in_time<T>(who: &str, mut look: impl FnMut() -> T) -> T {
    for _ in 0..3 {
        let began = Instant::now();
        let found = look();
        if began.elapsed() <= WITHIN + SLACK {
            return found;
        }
    }
    panic!("{who} kept us");
}

fn hold(_visitor: &TcpStream) {
    thread::sleep(PLENTY);
}

/// Says the same again and again, with a pause between.
fn repeat(visitor: &mut TcpStream, text: &[u8], pause: Duration) {
    while visitor.write_all(text).is_ok() {
        thread::sleep(pause);
    }
}

fn never_accepts() -> SocketAddr {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &any).unwrap();
    listen(&listener, 0).unwrap();
    let address: SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
    // Those that fill the queue, and the listener, stay open until the process ends.
    for _ in 0..4 {
        std::mem::forget(TcpStream::connect_timeout(&address, Duration::from_millis(50)));
    }
    std::mem::forget(listener);
    address
}

fn unfriendly() -> Vec<(&'static str, SocketAddr)> {
    let drip = Duration::from_millis(10);
    vec![
        ("one that never accepts", never_accepts()),
        ("one that says nothing", peer(|visitor| hold(&visitor))),
        (
            "one that hears and says nothing",
            peer(|mut visitor| {
                heard(&mut visitor);
                hold(&visitor);
            }),
        ),
        (
            "one that drips a head",
            peer(move |mut visitor| {
                let _gone = visitor.write_all(b"HTTP/1.1 200 OK\r\nX: ");
                repeat(&mut visitor, b"x", drip);
            }),
        ),
        ("one that drips lines", peer(move |mut visitor| repeat(&mut visitor, b"x\r\n", drip))),
        (
            "one that drips a body",
            peer(move |mut visitor| {
                heard(&mut visitor);
                let _gone = visitor.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                repeat(&mut visitor, b"x", drip);
            }),
        ),
        (
            "one that drips chunks",
            peer(move |mut visitor| {
                heard(&mut visitor);
                let _gone = visitor.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                repeat(&mut visitor, b"1\r\nx\r\n", drip);
            }),
        ),
        (
            "one whose body never ends",
            peer(|mut visitor| {
                heard(&mut visitor);
                let _gone = visitor.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                repeat(&mut visitor, &[b'x'; 65536], Duration::ZERO);
            }),
        ),
        ("one that floods", peer(|mut visitor| repeat(&mut visitor, &[b'x'; 65536], Duration::ZERO))),
        (
            "one that floods with lines",
            peer(|mut visitor| {
                repeat(&mut visitor, &b"A: x\r\n".repeat(9999), Duration::ZERO);
            }),
        ),
        (
            "one that says rubbish and stays",
            peer(|mut visitor| {
                let _gone = visitor.write_all(b"\0\xff\x1b[2J\r\n\r\n\x16\x03");
                hold(&visitor);
            }),
        ),
        (
            "one that is late within a TLS record",
            peer(move |mut visitor| {
                let _gone = visitor.write_all(&[0x16, 3, 3, 0x40, 0]);
                repeat(&mut visitor, &[2], drip);
            }),
        ),
        (
            "one that drips TLS warnings",
            peer(move |mut visitor| {
                repeat(&mut visitor, &[0x15, 3, 3, 0, 2, 1, 90], drip);
            }),
        ),
        ("one that hangs up at once", peer(drop)),
        ("one that hangs up after listening", peer(|mut visitor| drop(visitor.read(&mut [0; 16])))),
    ]
}

// shows: STW-320
#[test]
fn no_look_takes_longer_than_it_was_given_and_none_passes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let roots = crate::tls::authority(file.path());
    let hostile = unfriendly();
    thread::scope(|scope| {
        for (who, address) in &hostile {
            let roots = roots.display();
            let looks = [
                format!(r#"{{"ssh":{{"address":"{address}"}}}}"#),
                format!(r#"{{"http":{{"url":"http://{address}/","contains":"never said"}}}}"#),
                format!(r#"{{"http":{{"url":"https://{address}/","roots":"{roots}"}}}}"#),
                format!(r#"{{"tls":{{"address":"{address}","roots":"{roots}"}}}}"#),
                format!(r#"{{"gatus":{{"url":"http://{address}","endpoints":["web"]}}}}"#),
            ];
            scope.spawn(move || {
                for look in looks {
                    let found = in_time(who, || run(&check(&look), &terms(WITHIN)));
                    assert!(!matches!(found, Found::Passed { .. }), "{who}: {look}: {found:?}");
                    // A monitor's manners are not the target's fault.
                    let is_unsure = matches!(found, Found::Unknown { .. });
                    assert_eq!(is_unsure, look.contains("gatus"), "{who}: {look}: {found:?}");
                }
            });
        }
    });
}

#[test]
fn a_call_ends_in_time_too_and_keeps_a_bounded_body() {
    let ask = |address| Request::new(Method::Get, format!("http://{address}/").parse().unwrap());
    for (who, address) in unfriendly() {
        let answer = in_time(who, || http(&ask(address), WITHIN, now()));
        if let Ok(answer) = answer {
            assert_eq!(
                (who, answer.body.len(), answer.whole),
                ("one whose body never ends", 64 * 1024, false)
            );
        }
    }
    // One that does not read: eight megabytes fit into no buffer between us.
    let deaf = peer(|visitor| hold(&visitor));
    let url = format!("http://{deaf}/").parse().unwrap();
    let long = Request::new(Method::Post, url).body(vec![0; 8 << 20]);
    assert_eq!(in_time("a deaf one", || http(&long, WITHIN, now())), Err(HttpError::TimedOut));
}

#[test]
fn a_page_whose_body_never_ends_passes_when_only_its_status_is_wanted() {
    let endless = peer(|mut visitor| {
        heard(&mut visitor);
        let _gone = visitor.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        repeat(&mut visitor, &[b'x'; 65536], Duration::ZERO);
    });
    let look = check(&format!(r#"{{"http":{{"url":"http://{endless}/"}}}}"#));
    assert_found(&run(&look, &terms(PLENTY)), "passed", "");
    let wanted = check(&format!(r#"{{"http":{{"url":"http://{endless}/","contains":"y"}}}}"#));
    assert_found(&run(&wanted, &terms(PLENTY)), "failed", "first 64 KiB");
}

#[test]
fn what_a_stranger_says_cannot_drive_a_terminal() {
    let rude = peer(|mut visitor| drop(visitor.write_all("\u{1b}[2J\u{202e}hello\r\n".repeat(9).as_bytes())));
    let found = run(&check(&format!(r#"{{"ssh":{{"address":"{rude}"}}}}"#)), &terms(PLENTY));
    assert_found(&found, "failed", "hello");
    let Found::Failed { why } = found else { unreachable!() };
    assert!(!why.chars().any(holdfast_types::drives_a_terminal) && why.len() < 400, "{why:?}");
}

#[test]
fn no_time_at_all_is_over_at_once() {
    let friendly = page(answer(200, ""));
    let look = check(&format!(r#"{{"http":{{"url":"http://{friendly}/"}}}}"#));
    assert_found(&run(&look, &terms(Duration::ZERO)), "timed out", "");
    assert_found(&run(&look, &terms(Duration::MAX)), "passed", "");
}
