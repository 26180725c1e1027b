//! The switch that halts all autonomy: it turns whatever state the rest is in, and stays turned.

use std::time::{Duration, Instant};

use holdfast_testkit::files::{copy_tree, flip_bit};
use holdfast_testkit::{SmallDisk, require};
use rustix::process::Signal;
use serde_json::Value;

use crate::home::Home;
use crate::running::{Looking, Running, wait_until};

fn is_paused(home: &Home) -> bool {
    home.status()["pause"]["paused"] == true
}

fn turns(home: &Home) -> Vec<String> {
    let entries = home.entries();
    let kinds = entries.iter().map(|entry| entry["kind"].as_str().unwrap());
    kinds.filter_map(|kind| kind.strip_prefix("holdfast.autonomy.")).map(str::to_owned).collect()
}

#[test]
fn a_pause_holds_with_and_without_a_daemon_and_across_every_kind_of_end() {
    let home = Home::made("web-1");
    let done = home.json(&["pause", "--all", "--reason", "storm", "--actor", "ana"]);
    assert_eq!((&done["paused"], &done["recorded_as"]), (&true.into(), &1.into()));
    assert!(is_paused(&home));
    let daemon = Running::on(&home);
    let status = home.status();
    assert_eq!((&status["pause"]["by"], &status["pause"]["reason"]), (&"ana".into(), &"storm".into()));
    assert_eq!(daemon.metric("holdfast_paused"), Some(1.0));
    home.run(&["resume", "--all"]).ok().shows("autonomy goes on");
    assert!(!is_paused(&home));
    // Turned by the same command, now with a daemon; a second time changes nothing.
    assert_eq!(home.json(&["pause", "--all"])["repeated"], false);
    assert_eq!(home.json(&["pause", "--all"])["repeated"], true);
    assert!(is_paused(&home));
    daemon.killed();
    assert!(is_paused(&home));
    let daemon = Running::on(&home);
    assert!(is_paused(&home));
    daemon.terminated().well();
    let daemon = Running::on(&home);
    assert!(is_paused(&home));
    daemon.terminated().well();
    home.run(&["resume", "--all"]).ok();
    assert_eq!(turns(&home), ["paused", "resumed", "paused", "resumed"]);
}

#[test]
fn a_daemon_that_hangs_keeps_nobody_from_pausing() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    daemon.signal(Signal::STOP);
    let began = Instant::now();
    let ran = home.run(&["--json", "pause", "--all"]).ok().says("could not be written down");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((&ran.json()["paused"], &ran.json()["recorded_as"]), (&true.into(), &Value::Null));
    assert!(home.state("paused.json").exists());
    daemon.signal(Signal::CONT);
    assert!(is_paused(&home));
    daemon.killed();
    // What could not be written down is, at the next start: once, and in the name of who did it.
    let daemon = Running::on(&home);
    wait_until("it is written down", || !turns(&home).is_empty());
    daemon.terminated().well();
    assert_eq!(turns(&home), ["paused"]);
    assert!(is_paused(&home));
}

#[test]
fn a_damaged_journal_keeps_nobody_from_pausing_and_everybody_from_resuming() {
    let home = Home::made("web-1");
    flip_bit(home.journal().join("META"), 20, 3);
    home.run(&["pause", "--all"]).ok().says("paused, but it could not be written down");
    assert!(home.state("paused.json").exists());
    // Recorded first: what cannot be recorded does not go on.
    home.run(&["resume", "--all"]).ends(7);
    assert!(home.state("paused.json").exists());
}

#[test]
fn a_journal_nobody_can_write_to_keeps_nobody_from_pausing() {
    let Some(disk) = require(SmallDisk::tmpfs(8 << 20)) else { return };
    let home = Home::made("web-1");
    copy_tree(home.journal(), disk.path().join("journal"));
    std::fs::remove_dir_all(home.journal()).unwrap();
    std::os::unix::fs::symlink(disk.path().join("journal"), home.journal()).unwrap();
    home.log("{}").ok();
    disk.remount_read_only().unwrap();
    let ran = home.run(&["--json", "pause", "--all"]).ok().says("could not be written down");
    assert_eq!(ran.json()["recorded_as"], Value::Null);
    assert!(is_paused(&home));
    assert_ne!(home.run(&["resume", "--all"]).code, 0);
    assert!(is_paused(&home));
    disk.remount_read_write().unwrap();
    home.run(&["resume", "--all"]).ok();
    assert!(!is_paused(&home));
}

/// The four ways in which the file and the journal can differ, each after a start.
#[test]
fn where_switch_and_journal_differ_a_start_makes_them_agree_on_paused() {
    let check = |turned: &[&str], file: bool, paused: bool, then: &[&str]| {
        let home = Home::made("web-1");
        for turn in turned {
            home.run(&[turn, "--all"]).ok();
        }
        if file {
            std::fs::write(home.state("paused.json"), "not even JSON").unwrap();
        } else {
            let _ = std::fs::remove_file(home.state("paused.json"));
        }
        let daemon = Running::on(&home);
        wait_until("they agree", || {
            (is_paused(&home), turns(&home)) == (paused, then.iter().map(|t| (*t).to_owned()).collect())
        });
        daemon.terminated().well();
        assert_eq!((is_paused(&home), turns(&home).len()), (paused, then.len()));
    };
    check(&[], true, true, &["paused"]);
    check(&["pause"], false, true, &["paused"]);
    check(&["pause", "resume"], true, true, &["paused", "resumed", "paused"]);
    check(&["pause", "resume"], false, false, &["paused", "resumed"]);
}
