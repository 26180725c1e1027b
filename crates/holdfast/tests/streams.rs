//! Where output goes: JSON everywhere, readers that leave, no colour where nobody sees it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use home::Home;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn every_command_answers_in_json() {
    let home = Home::bare();
    let at = |name: &str| home.beside(name).display().to_string();
    let (proof, export) = (at("proof.json"), at("export"));
    home.json(&["init", "--dry-run", "--name", "web-1"]);
    home.json(&["init", "--name", "web-1"]);
    let log = ["audit", "log", "--actor", "ana", "--kind", "a.b.c"];
    let appended = home.json(&[&log[..], &["--body", "{}"]].concat());
    assert_eq!(appended, serde_json::json!({"seq": 1, "repeated": false, "redactions": 0}));
    home.json(&[&log[..], &["--body", "{}", "--dry-run"]].concat());
    std::fs::write(home.beside("blob"), "text").unwrap();
    home.json(&[&log[..], &["--blob", &at("blob")]].concat());
    home.json(&["audit", "tail", "-n", "1"]);
    home.json(&["audit", "verify"]);
    home.json(&["audit", "checkpoint", "--new"]);
    home.json(&["audit", "checkpoint"]);
    let document = home.json(&["audit", "prove", "1"]);
    std::fs::write(&proof, document.to_string()).unwrap();
    assert_eq!(home.json(&["audit", "prove", "--check", &proof])["holds"], true);
    home.json(&["audit", "prove", "--from", "1"]);
    home.json(&["audit", "text", "2"]);
    home.json(&["audit", "erase", "2", "--dry-run"]);
    assert_eq!(home.json(&["audit", "erase", "2", "--yes"])["recorded_as"], 3);
    home.json(&["audit", "export", "--out", &export]);
    let witness = home.json(&["audit", "witness", "init", "--name", "w1"]);
    home.json(&["audit", "witness", "trust", witness["vkey"].as_str().unwrap()]);
    let request = home.json(&["audit", "witness", "request", "--witness", "w1"]);
    std::fs::write(at("request"), request["request"].as_str().unwrap()).unwrap();
    let cosigned = home.json(&["audit", "witness", "cosign", &at("request")]);
    std::fs::write(at("cosigned"), cosigned["note"].as_str().unwrap()).unwrap();
    assert_eq!(home.json(&["audit", "witness", "accept", &at("cosigned")])["size"], 4);
    home.json(&["audit", "witness", "list"]);
}

#[test]
fn errors_and_warnings_are_json_too() {
    let home = Home::made("web-1");
    let error = |args: &[&str], code: i32| home.run(args).ends(code).error();
    let e = error(&["--json", "audit", "text", "9"], 2);
    assert_eq!((&e["code"], &e["exit"]), (&"HF-JRN-014".into(), &2.into()));
    for field in ["message", "untouched", "hint"] {
        assert!(!e[field].as_str().unwrap().is_empty());
    }
    assert_eq!(error(&["audit", "frobnicate", "--json"], 2)["code"], "HF-CLI-001");
    assert_eq!(error(&["--json", "audit", "erase", "0"], 2)["code"], "HF-CLI-018");
    let secret = format!("{{\"k\":\"ghp_{}\"}}", "a1B2".repeat(9));
    let ran =
        home.run(&["--json", "audit", "log", "--actor", "a", "--kind", "a.b.c", "--body", &secret]).ok();
    assert_eq!(ran.json()["redactions"], 1);
    assert!(ran.err.starts_with("{\"warning\":"), "{}", ran.err);
}

#[test]
fn nothing_is_coloured_where_there_is_no_terminal() {
    let home = Home::made("web-1");
    for args in [&["audit", "verify"][..], &["audit", "text", "9"], &["audit", "tail"], &["frobnicate"]] {
        let ran = home.run(args);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let home = Home::made("web-1");
    // More than a pipe holds.
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(60_000));
    (0..4).for_each(|_| {
        home.log(&body).ok();
    });
    let export = ["audit", "export", "--out", "-"];
    let mut child = home.command(&export).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stderr.len()), (Some(0), 0));
}

#[test]
fn output_that_cannot_be_written_is_said() {
    let home = Home::made("web-1");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = home.command(&["audit", "tail"]);
    let done = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("HF-CLI-005"), "{said}");
}

struct Following {
    child: Child,
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn follow_shows_what_comes_and_ends_when_the_reader_leaves() {
    let home = Home::made("web-1");
    let follow = ["--json", "audit", "tail", "--follow", "-n", "1"];
    let child = home.command(&follow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut following = Following { child };
    let mut lines = BufReader::new(following.child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"seq\":0,"), "{line}");
    for seq in 1..=3 {
        home.log("{}").ok();
        line.clear();
        lines.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"seq\":{seq},")), "{line}");
    }
    drop(lines);
    // Nothing more is written to the log: it must notice by itself.
    let started = Instant::now();
    let status = loop {
        if let Some(status) = following.child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < PATIENCE, "it did not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0));
}
