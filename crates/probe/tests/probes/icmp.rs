//! Echoes of this machine.

use std::net::Ipv6Addr;
use std::process::Command;
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

/// Set for the process that looks from within.
const WITHIN: &str = "HOLDFAST_PROBE_ECHO";

/// What this very test finds when it runs in a network of its own, with this range of groups that may ping (a new network has none)
/// and with this done to CAP_NET_RAW.
fn found_within(range: &str, raw: &str) -> String {
    let script = "ip link set lo up && { [ -z \"$1\" ] || echo \"$1\" > /proc/sys/net/ipv4/ping_group_range; } && \
        exec setpriv --bounding-set \"$2\" \"$3\" --exact --nocapture icmp::echoes_need_the_group_or_the_capability";
    let output = own_network()
        .args(["sh", "-c", script, "sh", range, raw])
        .arg(std::env::current_exe().unwrap())
        .env(WITHIN, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().find_map(|line| line.strip_prefix("found: ")).unwrap_or_else(|| panic!("{said}")).to_owned()
}

fn own_network() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net"]);
    command
}

#[test]
fn echoes_need_the_group_or_the_capability() {
    if std::env::var_os(WITHIN).is_some() {
        let found = ["127.0.0.1", "::1"].map(|host| found(&format!(r#"{{"icmp":{{"host":"{host}"}}}}"#)));
        return eprintln!("\nfound: {:?}", found.each_ref().map(word));
    }
    if !own_network().arg("true").status().is_ok_and(|it| it.success()) {
        return eprintln!("left out: there can be no network of our own here");
    }
    let passed = format!("{:?}", [("passed", ""); 2]);
    for (range, raw, is_allowed) in
        [("0 0", "-net_raw", true), ("", "+net_raw", true), ("", "-net_raw", false)]
    {
        let found = found_within(range, raw);
        assert_eq!(found == passed, is_allowed, "{range}, {raw}: {found}");
        assert!(is_allowed || found.matches("may not send echoes").count() == 2, "{range}, {raw}: {found}");
    }
}
