//! How checks are written in a file, and several at once.

use std::io::Write as _;
use std::time::{Duration, Instant};

use holdfast_probe::{Check, all};

use crate::peer::{PLENTY, assert_found, check, found, peer, terms, word};

#[test]
fn a_check_reads_as_it_is_written() {
    let written = [
        r#"{"tcp":{"address":"example.org:25"}}"#,
        r#"{"http":{"url":"https://example.org/health?token=x"}}"#,
        r#"{"http":{"url":"http://example.org/","status":401,"contains":"who?","roots":"/etc/ca.pem"}}"#,
        r#"{"tls":{"address":"[2001:db8::7]:443","name":"example.org","days_left":14}}"#,
        r#"{"icmp":{"host":"192.0.2.7"}}"#,
        r#"{"ssh":{"address":"example.org:22"}}"#,
        r#"{"gatus":{"url":"https://status.example.org/","endpoints":["core_web"]}}"#,
        r#"{"tailscale":{"id":"nTarget7CNTRL"}}"#,
    ];
    for text in written {
        assert_eq!(serde_json::to_string(&check(text)).unwrap(), text);
    }
}

// shows: STW-328
#[test]
fn a_check_that_could_not_fail_or_is_mistyped_is_refused_when_it_is_read() {
    let refused = [
        r#"{"gatus":{"url":"http://localhost/","endpoints":[]}}"#,
        r#"{"gatus":{"url":"http://localhost/"}}"#,
        r#"{"gatus":{"url":"http://localhost/","endpoints":[" "]}}"#,
        r#"{"http":{"url":"http://localhost/","contain":"x"}}"#,
        r#"{"http":{"url":"http://user:hunter2@localhost/"}}"#,
        r#"{"tcp":{"address":"localhost"}}"#,
        r#"{"tcp":{"address":"localhost:22","port":22}}"#,
        r#"{"ping":{"host":"localhost"}}"#,
        r#"{"tcp":{"address":"a:1"},"ssh":{"address":"a:1"}}"#,
    ];
    for text in refused {
        let refusal = serde_json::from_str::<Check>(text).unwrap_err().to_string();
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

// shows: STW-337
#[test]
fn what_a_vpn_believes_is_no_evidence() {
    assert!(!check(r#"{"tailscale":{"id":"n1"}}"#).is_evidence());
    assert!(check(r#"{"ssh":{"address":"localhost:22"}}"#).is_evidence());
    assert!(check(r#"{"gatus":{"url":"http://localhost/","endpoints":["a"]}}"#).is_evidence());
}

#[test]
fn a_query_is_not_in_the_debug_form() {
    let shown = format!("{:?}", check(r#"{"http":{"url":"https://example.org/a?token=hunter2"}}"#));
    assert!(shown.contains("https://example.org/a") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn several_are_looked_at_at_once_and_told_in_their_order() {
    let silent = peer(|visitor| {
        let _open = visitor;
        std::thread::sleep(PLENTY);
    });
    // Scripted: what an SSH server says first.
    let greets = peer(|mut visitor| drop(visitor.write_all(b"SSH-2.0-OpenSSH_10.0p2\r\n")));
    let ssh = |address| check(&format!(r#"{{"ssh":{{"address":"{address}"}}}}"#));
    // Every second one waits to the end; one after the other that would take six times as long.
    let checks: Vec<Check> = (0..12).map(|n| ssh(if n % 2 == 0 { silent } else { greets })).collect();
    let began = Instant::now();
    let found = all(&checks, &terms(Duration::from_secs(1)));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let words: Vec<_> = found.iter().map(|it| word(it).0).collect();
    assert_eq!(words, ["timed out", "passed"].repeat(6));
    assert!(all(&[], &terms(PLENTY)).is_empty());
}

#[test]
fn a_check_whose_turn_does_not_come_is_unknown_and_not_the_hosts_fault() {
    let silent = peer(|visitor| {
        let _open = visitor;
        std::thread::sleep(PLENTY);
    });
    let one = check(&format!(r#"{{"ssh":{{"address":"{silent}"}}}}"#));
    let found = all(&vec![one; 40], &terms(Duration::from_millis(300)));
    assert_eq!(found.len(), 40);
    assert_found(&found[0], "timed out", "");
    assert_found(&found[39], "unknown", "no time left");
}

#[test]
fn a_port_is_open_or_not() {
    let open = peer(drop);
    assert_found(&found(&format!(r#"{{"tcp":{{"address":"{open}"}}}}"#)), "passed", "");
    // By a name with several addresses, of which only one listens.
    let by_name = format!(r#"{{"tcp":{{"address":"localhost:{}"}}}}"#, open.port());
    assert_found(&found(&by_name), "passed", "");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_found(&found(&format!(r#"{{"tcp":{{"address":"{closed}"}}}}"#)), "failed", "refuses connections");
}

#[test]
fn a_name_nobody_has_says_nothing_about_a_host() {
    assert_found(&found(r#"{"tcp":{"address":"no-such-host.invalid:22"}}"#), "unknown", "looked up");
}
