//! What is refused, with which code, and that nothing was changed by it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use std::sync::Arc;

use holdfast_journal::{Journal, Limits, Options, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_testkit::files::find_bytes;
use holdfast_testkit::{SmallDisk, require};
use home::{Home, bare_command, run};

fn hold(home: &Home) -> Journal {
    let key = file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key;
    Journal::open(Options {
        dir: home.journal(),
        signers: vec![key],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock: Arc::new(SystemClock::new()),
        vault: None,
        archive: None,
        limits: Limits::default(),
    })
    .unwrap()
}

#[test]
fn while_another_process_has_the_journal_open_it_is_read_and_not_written() {
    let home = Home::made("web-1");
    let journal = hold(&home);
    home.log("{}").ends(6).says("✕ HF-JRN-001  another process has the journal open: pid ");
    home.run(&["audit", "checkpoint", "--new"]).ends(6);
    home.run(&["audit", "prove", "0"]).ends(6);
    home.run(&["audit", "tail"]).ok();
    home.run(&["init"]).ok().shows("complete");
    home.run(&["audit", "checkpoint"]).ok();
    home.run(&["audit", "verify"]).ok().shows("another process has the journal open");
    drop(journal);
    home.log("{}").ok();
}

#[test]
fn commands_at_the_same_time_take_turns() {
    let home = Home::made("web-1");
    let seqs: Vec<u64> = std::thread::scope(|s| {
        let runs: Vec<_> = (0..6).map(|_| s.spawn(|| home.log("{}").ok())).collect();
        runs.into_iter().map(|r| r.join().unwrap().out.split(' ').next().unwrap().parse().unwrap()).collect()
    });
    let mut sorted = seqs.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..7).collect::<Vec<u64>>(), "{seqs:?}");
}

#[test]
fn a_body_that_two_readers_could_read_differently_is_refused_with_its_place() {
    let home = Home::made("web-1");
    let before = std::fs::read(home.segment()).unwrap();
    for (body, code, place) in [
        (r#"{"a": [1, }"#, "HF-CLI-006", "$.a[1] (line 1, column 11)"),
        (r#"{"a": {"n": 9007199254740993}}"#, "HF-CLI-006", "9007199254740993 at $.a.n"),
        (r#"{"a": 1, "a": 2}"#, "HF-CLI-006", "the key at $.a is there twice"),
        ("[1]", "HF-CLI-007", "a list"),
        ("7", "HF-CLI-007", "a number"),
        ("", "HF-CLI-006", "line 1"),
        ("-7", "HF-CLI-007", "a number"),
    ] {
        home.log(body).ends(2).says(code).says(place).says("next: ");
    }
    home.run_with(&["audit", "log", "--actor", "a", "--kind", "a.b.c", "--body", "-"], b"\xff{}")
        .ends(2)
        .says("UTF-8");
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    home.run_with(&["audit", "log", "--actor", "a", "--kind", "a.b.c", "--body", "-"], large.as_bytes())
        .ends(2)
        .says("HF-JRN-009");
    let larger = "x".repeat((1 << 20) + 1);
    home.run_with(&["audit", "log", "--actor", "a", "--kind", "a.b.c", "--body", "-"], larger.as_bytes())
        .ends(2)
        .says("HF-CLI-008");
    assert_eq!(std::fs::read(home.segment()).unwrap(), before);
}

#[test]
fn arguments_that_are_not_possible_are_wrong_usage() {
    let home = Home::made("web-1");
    let log = |extra: &[&str]| home.run(&[&["audit", "log", "--body", "{}"], extra].concat());
    log(&["--actor", "a b", "--kind", "a.b.c"]).ends(2).says("an actor is");
    log(&["--actor", "ana", "--kind", "a.b"]).ends(2).says("room.noun.verb_past");
    log(&["--actor", "ana", "--kind", "a.b.c", "--trust", "much"]).ends(2).says("semi-trusted");
    log(&["--actor", "ana", "--kind", "a.b.c", "--agent", "run_x"]).ends(2).says("agt_");
    log(&["--actor", "ana", "--kind", "a.b.c", "--blob", "x"]).ends(2);
    log(&["--kind", "a.b.c"]).ends(2);
    home.run(&["audit", "log", "--actor", "ana", "--kind", "a.b.c"]).ends(2);
    home.run(&["frobnicate"]).ends(2);
    home.run(&[]).ends(2);
    home.run(&["init", "--name", "Web 1"]).ends(2);
    home.run(&["audit", "tail", "--archive", "/nowhere"]).ends(2).says("HF-CLI-017");
    home.run(&["audit", "prove", "--check", "/nowhere"]).ends(3).says("HF-CLI-003");
    home.run(&["audit", "prove", "--check", "-", "--vkey", "w+1+x"]).ends(2).says("HF-KEY-081");
    home.run(&["--version"]).ok().shows(env!("CARGO_PKG_VERSION"));
    home.run(&["help"]).ok().shows("audit");
    home.run(&["audit", "log", "--help"]).ok().shows("JSON fields: seq");
}

#[test]
fn a_secret_is_replaced_or_refused_and_is_nowhere_in_the_home() {
    let home = Home::made("web-1");
    let token = format!("ghp_{}", "a1B2".repeat(9));
    home.log(&format!("{{\"note\":\"use {token} now\"}}"))
        .ok()
        .says("▲ 1 place that looked like a secret was replaced before anything was stored");
    home.run(&["--json", "audit", "tail"]).ok().shows("use [REDACTED_GITHUB_TOKEN] now");
    let key = ["-----BEGIN ", "PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG"].concat();
    home.log(&format!("{{\"note\":\"{key}\"}}")).ends(4).says("HF-JRN-011");
    home.run(&[
        "audit",
        "log",
        "--dry-run",
        "--actor",
        "a",
        "--kind",
        "a.b.c",
        "--body",
        &format!("{{\"{key}\":1}}"),
    ])
    .ends(4);
    let shown = home
        .run(&[
            "audit",
            "log",
            "--dry-run",
            "--actor",
            "a",
            "--kind",
            "a.b.c",
            "--body",
            &format!("{{\"k\":\"{token}\"}}"),
        ])
        .ok();
    assert!(!shown.out.contains(&token) && !shown.err.contains(&token));
    for secret in [token, key] {
        assert!(find_bytes(home.path(), secret.as_bytes()).is_empty());
    }
}

#[test]
fn a_home_that_cannot_be_written_is_said_with_a_hint_and_still_read() {
    let Some(disk) = require(SmallDisk::tmpfs(8 << 20)) else {
        return;
    };
    let home = Home::at(&disk.path().join("home"));
    home.run(&["init", "--name", "web-1"]).ok();
    disk.remount_read_only().unwrap();
    home.log("{}").ends(3).says("HF-JRN-008").says("Read-only file system").says("next: ");
    home.run(&["init"]).ok();
    home.run(&["audit", "tail"]).ok();
    home.run(&["audit", "verify"]).ok();
    let other = Home::at(&disk.path().join("other"));
    let said = other
        .run(&["init"])
        .ends(3)
        .says("HF-CLI-004")
        .says("could not be written: Read-only file system")
        .err;
    assert!(said.lines().all(|l| l.len() < 200), "{said}");
}

#[test]
fn a_disk_that_is_full_at_any_step_of_init_leaves_what_the_next_one_completes() {
    const PAGE: u64 = 4096;
    for free_pages in 0..16 {
        let Some(disk) = require(SmallDisk::tmpfs(4 << 20)) else {
            return;
        };
        let filler = disk.path().join("filler");
        std::fs::write(&filler, vec![0; (4 << 20) - (free_pages * PAGE) as usize]).unwrap();
        let home = Home::at(&disk.path().join("home"));
        let ran = home.run(&["init", "--name", "web-1"]);
        assert!([0, 3].contains(&ran.code), "{free_pages} pages free: {}", ran.err);
        std::fs::remove_file(&filler).unwrap();
        home.run(&["init", "--name", "web-1"]).ok();
        home.run(&["audit", "verify"]).ok();
    }
}

#[test]
fn without_a_home_the_message_says_what_to_set() {
    run(bare_command(&["audit", "tail"]), None)
        .ends(2)
        .says("HF-CLI-002  there is no place for Holdfast's files: neither HOLDFAST_HOME nor HOME is set")
        .says("next: Set HOLDFAST_HOME");
    let home = Home::bare();
    for args in [
        &["audit", "tail"][..],
        &["audit", "verify"],
        &["audit", "checkpoint", "--new"],
        &["audit", "log", "--actor", "a", "--kind", "a.b.c", "--body", "{}"],
        &["audit", "prove", "0"],
        &["audit", "export", "--out", "-"],
    ] {
        home.run(args).ends(3).says("HF-JRN-002").says("Run `holdfast init`");
        assert!(!home.path().exists(), "{args:?} made something");
    }
    // The user's own home is the place where nothing else is said.
    let mut command = bare_command(&["init", "--name", "web-1"]);
    command.env("HOME", home.path());
    run(command, None).ok();
    assert!(home.path().join(".local/state/holdfast/etc/trust.json").exists());
}

#[test]
fn a_key_that_others_may_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::made("web-1");
    let key = home.path().join("etc/keys/log.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    home.log("{}").ends(4).says("HF-KEY-024").says("next: chmod 600");
}
