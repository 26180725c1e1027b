//! The health page: good when what safety rests on is alive, not otherwise, and never held up by its clients.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use holdfast_testkit::files::flip_bit;

use crate::fill::{fill, old_segment};
use crate::home::Home;
use crate::running::{LONG, Looking, Running, get, tell, wait_until};

/// An index that is to be made from a journal with a damaged entry cannot go on.
#[test]
fn a_safety_part_that_is_down_turns_the_page_to_503_and_names_it_until_the_cause_is_gone() {
    let home = Home::made("web-1");
    fill(&home, 60, 40_000);
    let damaged = |bit| flip_bit(old_segment(&home), 500, bit);
    damaged(1);
    let daemon = Running::on(&home);
    wait_until("the page says so", || daemon.health().0 == 503);
    let (_, page) = daemon.health();
    assert_eq!((&page["safe"], &page["healthy"]), (&false.into(), &false.into()));
    let parts = page["parts"].as_array().unwrap();
    let down: Vec<_> = parts.iter().filter(|part| part["state"] != "running").collect();
    assert_eq!(down.len(), 1, "{page}");
    let of = |field: &str| down[0][field].clone();
    assert_eq!((of("name"), of("state"), of("safety")), ("index".into(), "waiting".into(), true.into()));
    assert_eq!(daemon.metric(r#"holdfast_part_up{part="index",safety="true"}"#), Some(0.0));
    assert_eq!(daemon.metric("holdfast_healthy"), Some(0.0));
    // Its owner is told why.
    home.run(&["status"]).ends(1).shows("The part index is waiting: HF-");
    let doctor = home.run(&["--json", "doctor"]).ends(1).json();
    assert_eq!(
        (&doctor["checks"][3]["check"], &doctor["checks"][3]["status"]),
        (&"daemon".into(), &"failed".into())
    );

    damaged(1);
    wait_until("it is started again", || daemon.health().0 == 200);
    wait_until("the index has followed", || home.status()["projections"][0]["behind"] == 0);
    assert!(daemon.metric(r#"holdfast_part_restarts_total{part="index"}"#) >= Some(1.0));
    daemon.terminated().well();
}

#[test]
fn what_is_no_request_is_refused_in_words_and_the_page_goes_on() {
    let home = Home::bare();
    let daemon = Running::on(&home);
    for (bytes, said) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "HTTP/1.1 404 "),
        (b"GET /health/../metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
        (b"POST /health HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        (b"hello\r\n\r\n", "HTTP/1.1 400 "),
        (b"GET /health HTTP/9\r\n\r\n", "HTTP/1.1 400 "),
        (b"\x16\x03\x01\x02\x00\x01\x00\xff\r\n\r\n", "HTTP/1.1 400 "),
        (&[0xff; 9000], "HTTP/1.1 400 "),
    ] {
        let answer = tell(daemon.health, bytes);
        // A head beyond the limit is answered and the rest left unread, which may cut the answer short.
        assert!(answer.starts_with(said) || (answer.is_empty() && bytes.len() > 8192), "{answer}");
    }
    assert_eq!(daemon.health().0, 200);
    assert_eq!(daemon.get("/metrics?from=anywhere").0, 200);
    daemon.terminated().well();
}

#[test]
fn ten_thousand_connections_that_never_finish_their_request_cost_little_and_keep_nobody_away() {
    let home = Home::bare();
    let daemon = Running::on(&home);
    let address = daemon.health;
    let files = || std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
    let before = files();
    let began = Instant::now();
    let (mut held, mut most) = (VecDeque::new(), 0);
    for n in 0..10_000 {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nX: ");
        held.push_back(stream);
        // Far more than there are places for.
        if held.len() > 500 {
            held.pop_front();
        }
        if n % 500 == 499 {
            most = most.max(files());
            home.run(&["status"]).ok();
            assert_eq!(get(address, "/health").0, 200, "while they are held");
        }
    }
    assert!(most <= before + 32 + 16, "{before} files were open before, {most} meanwhile");
    let mut first = held.pop_front().unwrap();
    first.set_read_timeout(Some(LONG)).unwrap();
    let gone = match first.read(&mut [0]) {
        Ok(n) => n == 0,
        // What it had sent was not read yet.
        Err(e) => e.kind() == ErrorKind::ConnectionReset,
    };
    assert!(gone, "whoever waited longest was let go");
    drop(held);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    daemon.terminated().well();
}

// shows: STW-252, STW-060
#[test]
fn the_page_says_how_it_stands_with_each_target_and_a_failed_collection_is_told() {
    let home = Home::made("web-1");
    // Of the second there is no key, so nothing can be read of it.
    home.configure(
        "steward:\n  targets:\n    - { name: box-1, driver: sim, seed: 7 }\n    \
         - { name: box-2, driver: agentless, address: 127.0.0.1, units: [web.service] }\n",
    );
    let daemon = Running::on(&home);
    let of = |name: &str| {
        let targets = daemon.health().1["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().find(|target| target["target"] == name)
    };
    wait_until("the first was collected", || {
        of("box-1").is_some_and(|target| target["last_collection_failures"] == 0)
    });
    wait_until("the second was tried", || daemon.log().contains("a collection ended with reads that failed"));
    assert!(daemon.log().contains("failures=1"), "{}", daemon.log());
    wait_until("which is counted", || daemon.health().1["last_collection_failures"] == 1);
    let (status, page) = daemon.health();
    assert_eq!((status, &page["circuit_breaker_open"]), (200, &false.into()), "{page}");
    assert!(page["last_collection_age_seconds"].as_u64().is_some_and(|age| age < 60), "{page}");
    assert_eq!((&page["overdue_retrospectives"], &page["auth"]), (&0.into(), &"not needed".into()));
    let first = of("box-1").unwrap();
    assert_eq!((&first["tripwire"], &first["circuit_breaker_open"]), (&"not needed".into(), &false.into()));
    assert!(first["open_episode"].is_null(), "{first}");
    wait_until("the disk was looked at", || daemon.health().1["disk"] == "roomy");
    daemon.terminated().well();
}
