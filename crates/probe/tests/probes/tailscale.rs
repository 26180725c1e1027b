//! The program `tailscale`, scripted: it cannot be installed here. The documents have the form of its `status --json`, version 1.90.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdfast_probe::{Found, run};

use crate::peer::{PLENTY, assert_found, check, terms};

/// A program that does this when it is asked for its status as JSON.
fn program(folder: &Path, does: &str) -> PathBuf {
    let path = folder.join("tailscale");
    let text = format!("#!/bin/sh\n[ \"$*\" = 'status --json' ] || exit 64\n{does}\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn look(program: &Path, within: Duration) -> Found {
    let look = format!(r#"{{"tailscale":{{"id":"nTarget7CNTRL","program":"{}"}}}}"#, program.display());
    run(&check(&look), &terms(within))
}

/// What is made of this document.
fn asked(document: &str) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("status.json");
    fs::write(&file, document).unwrap();
    look(&program(folder.path(), &format!("exec cat '{}'", file.display())), PLENTY)
}

/// A tailnet with these fields for the target between many others, all of them online.
fn tailnet(target: &str, others: usize) -> String {
    let mut peers = String::new();
    for n in 0..others {
        // One in the middle has what a search by key or by name would fall for.
        let name = if n == others / 2 { "nTarget7CNTRL" } else { "büro-日本 ●" };
        let key = if n == others / 2 { "nTarget7CNTRL".to_owned() } else { format!("nodekey:{n:064x}") };
        write!(
            peers,
            r#""{key}":{{"ID":"n{n:06}CNTRL","PublicKey":"{key}","HostName":"{name}","DNSName":"host{n}.tail0a1b2.ts.net.","OS":"linux","UserID":1234567890,"TailscaleIPs":["100.101.{}.{}","fd7a:115c:a1e0::{n:x}"],"AllowedIPs":["100.101.0.1/32"],"Tags":["tag:server"],"Addrs":null,"CurAddr":"","Relay":"fra","RxBytes":0,"TxBytes":0,"Created":"2026-01-15T09:30:11.123456789Z","LastWrite":"0001-01-01T00:00:00Z","LastSeen":"2026-11-15T11:58:00.1Z","LastHandshake":"0001-01-01T00:00:00Z","Online":true,"ExitNode":false,"ExitNodeOption":false,"Active":false,"PeerAPIURL":["http://100.101.0.1:43210"],"InNetworkMap":true,"InMagicSock":true,"InEngine":false}},"#,
            n / 256, n % 256
        )
        .unwrap();
    }
    format!(
        r#"{{"Version":"1.90.6-tabc","TUN":true,"BackendState":"Running","HaveNodeKey":true,"AuthURL":"","TailscaleIPs":["100.101.0.9"],"Self":{{"ID":"nSelf1CNTRL","PublicKey":"nodekey:aa","HostName":"here","Online":true,"CapMap":{{"funnel":null}}}},"Health":[],"MagicDNSSuffix":"tail0a1b2.ts.net","CurrentTailnet":{{"Name":"example.org"}},"CertDomains":null,"Peer":{{{peers}"nodekey:7f":{{{target}}}}},"User":{{"1234567890":{{"ID":1234567890,"LoginName":"someone@example.org"}}}},"ClientVersion":null}}"#
    )
}

// shows: STW-284, STW-337
#[test]
fn a_peer_is_known_by_its_stable_id() {
    let target = |online: &str| tailnet(&format!(r#""ID":"nTarget7CNTRL","HostName":"büro"{online}"#), 200);
    assert_found(&asked(&target(r#","Online":true"#)), "passed", "");
    assert_found(&asked(&target(r#","Online":false"#)), "failed", "offline");
    assert_found(&asked(&target("")), "unknown", "does not say");
    assert_found(&asked(&target(r#","Online":null"#)), "unknown", "does not say");
}

// shows: STW-337
#[test]
fn what_is_not_there_is_unknown() {
    let there = tailnet(r#""ID":"nTarget7CNTRL","Online":true"#, 3);
    let cases = [
        ("nobody has the id", tailnet(r#""ID":"nOther1CNTRL","Online":true"#, 3), "no peer"),
        ("the peer has no id", tailnet(r#""HostName":"nTarget7CNTRL","Online":true"#, 3), "no peer"),
        ("two have it", there.replace("n000001CNTRL", "nTarget7CNTRL"), "several"),
        ("nobody is there", r#"{"BackendState":"Running","Peer":null}"#.to_owned(), "no peer"),
        ("nothing is said", "{}".to_owned(), "no peer"),
        ("it is us", r#"{"Self":{"ID":"nTarget7CNTRL","Online":true},"Peer":{}}"#.to_owned(), "no peer"),
        ("it is stopped", there.replace("Running", "Stopped"), "not running here: Stopped"),
        ("we are offline", there.replace(r#""here","Online":true"#, r#""here","Online":false"#), "offline"),
        ("the id is a number", r#"{"Peer":{"a":{"ID":7,"Online":true}}}"#.to_owned(), "cannot be read"),
        ("it is cut", there[..there.len() - 200].to_owned(), "cannot be read"),
        ("it is no JSON", "Tailscale is stopped.".to_owned(), "cannot be read"),
        ("it is deep", "[".repeat(100_000), "cannot be read"),
        ("it is nothing", String::new(), "cannot be read"),
        ("it is huge", tailnet(r#""ID":"nTarget7CNTRL","Online":true"#, 3000), "too much"),
    ];
    for (case, document, part) in cases {
        let found = asked(&document);
        assert!(matches!(&found, Found::Unknown { why } if why.contains(part)), "{case}: {found:?}");
    }
}

#[test]
fn a_program_that_hangs_floods_or_fails_is_ended_and_says_nothing() {
    let there = r#"echo '{"Peer":{"k":{"ID":"nTarget7CNTRL","Online":true}}}'"#;
    let cases = [
        ("hangs", "exec sleep 60".to_owned(), "in time"),
        ("says it and hangs", format!("{there}; exec sleep 60"), "in time"),
        ("says it, closes and hangs", format!("{there}; exec >&-; sleep 60"), "in time"),
        ("leaves somebody behind", format!("sleep 60 & {there}"), "in time"),
        ("drips", "while :; do echo; sleep 0.05; done".to_owned(), "in time"),
        ("floods", "exec cat /dev/zero".to_owned(), "too much"),
        ("fails", format!("{there}; exit 1"), "exit status: 1"),
        ("says nothing", "exit 0".to_owned(), "cannot be read"),
    ];
    for (case, does, part) in cases {
        let folder = tempfile::tempdir().unwrap();
        let program = program(folder.path(), &does);
        // Time enough to get there on a busy machine, except where all of it passes.
        let within = if part == "in time" { Duration::from_millis(400) } else { PLENTY };
        let began = Instant::now();
        let found = look(&program, within);
        assert!(began.elapsed() < within + Duration::from_secs(1), "{case}: {:?}", began.elapsed());
        assert!(matches!(&found, Found::Unknown { why } if why.contains(part)), "{case}: {found:?}");
    }
    assert_found(&look(Path::new("/no/such/tailscale"), PLENTY), "unknown", "tailscale:");
}

#[test]
fn nothing_of_a_program_that_was_ended_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    // The child of the child would write after a second, if it lived.
    let does = format!("(sleep 1; echo > '{}') & sleep 60", alive.display());
    assert_found(&look(&program(folder.path(), &does), Duration::from_millis(200)), "unknown", "in time");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!alive.exists());
}

#[test]
fn a_program_sees_no_variable_of_ours_but_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    // Cargo sets some for every test.
    look(&program(folder.path(), &format!("env > '{}'", seen.display())), PLENTY);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("CARGO"), "{seen}");
}
