//! Settings that change while the daemon runs: at once where they can, after a restart where not, and not at all when
//! the file is wrong.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::Home;
use crate::receiver::Receiver;
use crate::running::{Looking, Running, wait_until};

fn keys(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|change| change["key"].as_str().unwrap()).collect()
}

#[test]
fn a_live_key_holds_at_once_and_another_is_said_to_need_a_restart() {
    let home = Home::made("web-1");
    home.configure("log: { level: error }\n");
    let daemon = Running::on(&home);
    wait_until("a channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="log"}"#).is_some());
    home.run(&["notice", "raise", "too small to tell", "--severity", "info"]).ok();
    assert_eq!(daemon.log(), "");

    home.configure(
        "log: { level: info }\nnotifications: { min_severity: info }\ndisk: { budget_mib: 100 }\njournal: { cap_mib: 500 }\n",
    );
    let done = home.json(&["config", "reload"]);
    assert_eq!(keys(&done["live"]), ["log.level", "disk.budget_mib", "notifications.min_severity"]);
    assert_eq!(keys(&done["needs_restart"]), ["journal.cap_mib"]);
    let status = home.status();
    assert_eq!(status["disk"]["budget_bytes"], 100 << 20);
    assert_eq!(status["journal"]["cap_bytes"], 4096_u64 << 20, "not before a restart");
    home.run(&["notice", "raise", "large enough now", "--severity", "info"]).ok();
    wait_until("it is told", || home.told().iter().any(|n| n["message"] == "large enough now"));
    assert!(!home.told().iter().any(|n| n["message"] == "too small to tell"));

    // The signal does the same.
    home.configure("log: { level: info }\ndisk: { budget_mib: 200 }\n");
    daemon.signal(Signal::HUP);
    wait_until("it is read again", || home.status()["disk"]["budget_bytes"] == 200 << 20);
    wait_until("and said", || daemon.log().contains("configuration read again"));
    let written = home.bodies("holdfast.config.changed");
    assert_eq!(written.len(), 2);
    assert_eq!(keys(&written[0]["needs_restart"]), ["journal.cap_mib"]);
    assert_eq!(written[1]["live"][0], json!({"key": "disk.budget_mib", "before": "100", "after": "200"}));
    assert_eq!(daemon.metric(r#"holdfast_config_reloads_total{result="ok"}"#), Some(2.0));
    // Nothing new: nothing is written.
    assert_eq!(home.json(&["config", "reload"]), json!({"live": [], "needs_restart": [], "dry_run": false}));
    assert_eq!(home.bodies("holdfast.config.changed").len(), 2);
    daemon.terminated().well();
    let daemon = Running::on(&home);
    assert_eq!(home.status()["journal"]["cap_bytes"], 4096_u64 << 20);
    daemon.terminated().well();
}

// shows: HRD-010, HRD-F15
#[test]
fn a_pattern_of_ones_own_holds_from_the_reload_on_and_every_change_of_it_is_written_down() {
    let home = Home::made("web-1");
    let patterns = |yaml: &str| home.configure(&format!("guard: {{ custom_patterns: [{yaml}] }}\n"));
    let noted = || home.bodies("captain.note.added").last().unwrap()["text"].as_str().unwrap().to_owned();
    let note = |text: &str| {
        home.log(&json!({ "text": text }).to_string()).ok();
        noted()
    };
    let daemon = Running::on(&home);
    assert_eq!(note("badge AB-1234 was used"), "badge AB-1234 was used");
    patterns(r#"{ name: badge, regex: "[A-Z]{2}-[0-9]{4}", found: [AB-1234], kept: [AB-12] }"#);
    home.run(&["config", "reload"]).ok().shows("guard.custom_patterns");
    assert_eq!(note("badge AB-1234 was used"), "badge [REDACTED_BADGE] was used");
    // The expression changes and the name does not; then it refuses whole texts.
    patterns(r#"{ name: badge, regex: "[A-Z]{3}-[0-9]{4}", replacement: "[BADGE]" }"#);
    home.run(&["config", "reload"]).ok();
    assert_eq!(note("badge ABC-1234, not AB-1234"), "badge [BADGE], not AB-1234");
    patterns(r#"{ name: badge, regex: "[A-Z]{3}-[0-9]{4}", block: true }"#);
    home.run(&["config", "reload"]).ok();
    home.log(r#"{"text":"badge ABC-1234"}"#).ends(4).says("HF-JRN-011");
    // A built-in kind cannot be replaced by a pattern of its name, and what was in force stays.
    patterns("{ name: private_key_pem, regex: never-there }");
    home.run(&["config", "reload"]).ends(2).says("never replaced");
    home.log(r#"{"text":"badge ABC-1234"}"#).ends(4);
    let changes = home.bodies("holdfast.config.changed");
    let told = |n: usize| &changes[n]["live"][0];
    assert_eq!(changes.len(), 3);
    assert_eq!(*told(0), json!({"key": "guard.custom_patterns", "before": "[]", "after": "[badge]"}));
    assert_eq!(told(1)["before"], told(1)["after"]);
    assert!(told(1)["digest"].as_str().unwrap().starts_with("blake3:"));
    assert_ne!(told(1)["digest"], told(2)["digest"]);
    daemon.terminated().well();
}

#[test]
fn a_wrong_file_is_refused_and_the_settings_in_force_stay() {
    let home = Home::made("web-1");
    home.configure("disk: { budget_mib: 100 }\n");
    let daemon = Running::on(&home);
    for wrong in ["disk: { budget_mib: 7 }\n", "disk: { bugdet_mib: 200 }\n", "]\n", "log: { level: loud }\n"]
    {
        home.configure(wrong);
        home.run(&["config", "reload"]).ends(2).says("HF-CFG-001");
    }
    // A secret that is nowhere is wrong too, and only the daemon can know.
    home.configure(&Receiver::away().settings());
    home.run(&["config", "reload"]).ends(3).says("HF-CRD-003");
    daemon.signal(Signal::HUP);
    wait_until("it says so", || daemon.log().contains("configuration not taken, the old one stays"));
    assert_eq!(daemon.metric(r#"holdfast_config_reloads_total{result="problem"}"#), Some(2.0));
    assert_eq!(home.status()["disk"]["budget_bytes"], 100 << 20);
    assert!(home.bodies("holdfast.config.changed").is_empty());
    daemon.terminated().well();
    // At a start a wrong file is the end of it, before anything is written.
    home.configure("disk: { budget_mib: 7 }\n");
    let before = home.entries().len();
    home.run(&["up"]).ends(2).says("HF-CFG-001");
    assert_eq!(home.entries().len(), before);
    assert!(!home.socket().exists());
}

#[test]
fn a_webhook_that_is_added_live_is_told_from_then_on() {
    let home = Home::made("web-1");
    let receiver = Receiver::away();
    receiver.come();
    let daemon = Running::with(&home, |command| receiver.secrets(command));
    wait_until("a channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="log"}"#).is_some());
    home.run(&["notice", "raise", "before"]).ok();
    home.configure(&receiver.settings());
    home.run(&["config", "reload"]).ok().shows("notifications.channels");
    wait_until("the channel is open", || {
        daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#).is_some()
    });
    home.run(&["notice", "raise", "after"]).ok();
    wait_until("it is told", || !receiver.said("after").is_empty());
    assert!(receiver.said("before").is_empty());
    home.configure("");
    home.run(&["config", "reload"]).ok();
    wait_until("it is closed", || daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#).is_none());
    daemon.terminated().well();
}

// shows: HRD-F68
#[test]
fn settings_are_the_owners_alone_and_a_change_is_written_down_and_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::made("web-1");
    home.configure("disk: { budget_mib: 100 }\n");
    let config = home.path().join("etc/config.yaml");
    let allow = |mode| std::fs::set_permissions(&config, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o666);
    home.run(&["up"]).ends(4).says("HF-CFG-004");
    allow(0o600);
    let daemon = Running::on(&home);
    wait_until("a channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="log"}"#).is_some());
    home.configure("disk: { budget_mib: 300 }\n");
    allow(0o666);
    home.run(&["config", "reload"]).ends(4).says("HF-CFG-004");
    assert_eq!(home.status()["disk"]["budget_bytes"], 100 << 20);
    allow(0o600);
    home.json(&["config", "reload"]);
    assert_eq!(home.bodies("holdfast.config.changed").len(), 1);
    wait_until("people are told", || {
        home.told().iter().any(|n| n["message"].as_str().is_some_and(|text| text.contains("disk.budget_mib")))
    });
    daemon.terminated().well();
}
