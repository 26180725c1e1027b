//! What the daemon looks after by itself: room on the disk, copies, and the whole journal checked now and then.

use holdfast_testkit::files::flip_bit;

use crate::fill::{fill, old_segment};
use crate::home::Home;
use crate::running::{Looking, Running, take_space, wait_until};

fn copies(home: &Home) -> usize {
    std::fs::read_dir(home.state("backups")).map_or(0, |entries| entries.flatten().count())
}

#[test]
fn a_budget_that_runs_out_lets_old_copies_go_tells_people_and_pauses_autonomy() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    for _ in 0..3 {
        home.run(&["backup"]).ok();
    }
    assert!(copies(&home) >= 3);
    // Tight: what can wait waits, and nothing is paused.
    take_space(&home.state("dummy"), 60);
    home.configure("disk: { budget_mib: 64 }\n");
    home.run(&["config", "reload"]).ok();
    wait_until("only the newest copy is left", || copies(&home) == 1);
    home.run(&["disk"]).ends(1).shows("▲ tight:");
    wait_until("people are told", || {
        home.told().iter().any(|n| n["message"] == "This instance is degraded now.")
    });
    assert_eq!(home.status()["pause"]["paused"], false);
    // Full.
    take_space(&home.state("more"), 10);
    home.run(&["config", "reload"]).ok();
    wait_until("autonomy is paused", || home.status()["pause"]["paused"] == true);
    let status = home.status();
    assert_eq!(status["pause"]["by"], "holdfast");
    assert!(status["pause"]["reason"].as_str().unwrap().contains("disk is full"), "{status}");
    assert_eq!(home.bodies("holdfast.autonomy.paused").len(), 1);
    wait_until("people are told", || {
        home.told().iter().any(|n| {
            n["severity"] == "critical"
                && n["context"]["finding_1"].as_str().is_some_and(|f| f.starts_with("disk: "))
        })
    });
    home.run(&["disk"]).ends(1).shows("▲ full:");
    // Room again is not yet a person's word.
    std::fs::remove_file(home.state("dummy")).unwrap();
    home.run(&["config", "reload"]).ok();
    wait_until("it is roomy", || home.run(&["disk"]).code == 0);
    assert_eq!(home.status()["pause"]["paused"], true);
    daemon.terminated().well();
}

#[test]
fn the_whole_journal_is_checked_when_due_and_not_again_before() {
    let home = Home::made("web-1");
    fill(&home, 60, 40_000);
    let daemon = Running::on(&home);
    let verified = || home.bodies("holdfast.journal.verified");
    wait_until("it is checked", || !verified().is_empty());
    assert_eq!(verified()[0]["findings"], 0);
    assert_eq!(daemon.metric("holdfast_verify_findings"), Some(0.0));
    let at = daemon.metric("holdfast_verify_finished_seconds").unwrap();
    wait_until("a copy is made", || copies(&home) == 1);
    daemon.terminated().well();
    // Not due again, and known all the same.
    let daemon = Running::on(&home);
    wait_until("it is known", || daemon.metric("holdfast_verify_finished_seconds") > Some(0.0));
    assert!((daemon.metric("holdfast_verify_finished_seconds").unwrap() - at).abs() < 1.0);
    daemon.terminated().well();
    assert_eq!(verified().len(), 1);
}

#[test]
fn damage_in_an_old_segment_is_found_told_and_counted() {
    let home = Home::made("web-1");
    fill(&home, 60, 40_000);
    let daemon = Running::with(&home, |command| command.args(["--set", "verify.every_hours=0"]));
    wait_until("the index is there", || home.status()["projections"][0]["behind"] == 0);
    daemon.terminated().well();
    // Opening the journal looks at its end; what lies behind is the full check's to find.
    flip_bit(old_segment(&home), 500, 1);
    let daemon = Running::on(&home);
    wait_until("it is found", || daemon.metric("holdfast_verify_findings") > Some(0.0));
    wait_until("people are told", || {
        home.told().iter().any(|n| {
            n["severity"] == "critical"
                && n["message"].as_str().unwrap().starts_with("The journal is damaged.")
        })
    });
    // What is not damaged can still be read.
    let last = home.run(&["--json", "audit", "tail", "-n", "4"]).ok().out;
    let verified = last.lines().find(|line| line.contains("holdfast.journal.verified")).unwrap();
    let verified: serde_json::Value = serde_json::from_str(verified).unwrap();
    assert!(verified["body"]["findings"].as_u64() > Some(0), "{verified}");
    assert!(!verified["body"]["first_finding"].is_null(), "{verified}");
    daemon.terminated().well();
    home.run(&["audit", "verify"]).ends(7);
}

#[test]
fn samples_that_cannot_be_kept_do_not_keep_the_daemon_from_starting_and_are_a_finding() {
    let home = Home::made("web-1");
    Running::on(&home).terminated().well();
    let samples = home.path().join("state/metrics.db");
    std::fs::write(&samples, "no database").unwrap();
    let daemon = Running::on(&home);
    wait_until("it is said", || home.status()["needs_you"].to_string().contains("samples could not be kept"));
    assert_eq!(home.status()["healthy"], false);
    assert_eq!(std::fs::read(&samples).unwrap(), b"no database", "what is damaged is left as it was");
    daemon.terminated().well();
}
