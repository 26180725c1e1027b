//! Echoes of this machine.

use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use holdfast_probe::{Found, run};

use crate::peer::{assert_found, check, found, terms, word};

/// Passed; or unknown where this process may not send echoes, which is then what it says.
fn echoes(host: &str) {
    let found = found(&format!(r#"{{"icmp":{{"host":"{host}"}}}}"#));
    match word(&found) {
        ("unknown", why) if why.contains("may not send") => eprintln!("left out: {why}"),
        _ => assert_found(&found, "passed", ""),
    }
}

#[test]
fn this_machine_echoes_over_both_protocols() {
    echoes("127.0.0.1");
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        echoes("::1");
    }
    echoes("localhost");
}

#[test]
fn a_host_that_is_not_there_does_not_pass_and_ends_in_time() {
    let within = Duration::from_millis(300);
    let began = Instant::now();
    let found = run(&check(r#"{"icmp":{"host":"192.0.2.7"}}"#), &terms(within));
    assert!(!matches!(found, Found::Passed { .. }), "{found:?}");
    assert!(began.elapsed() < Duration::from_secs(3));
}
