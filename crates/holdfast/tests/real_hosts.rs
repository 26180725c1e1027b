//! Real hosts under a real daemon: the machine it runs on, one over SSH, and what is said of one that cannot be reached or is not
//! the one it was.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "daemon/running.rs"]
mod running;

use std::fs::File;
use std::path::Path;
use std::process::Command;

use holdfast_testkit::{Guest, lab};
use home::Home;
use running::{Looking as _, Running, wait_until};
use serde_json::Value;

fn home(target: &str) -> Home {
    let home = Home::made("real");
    home.configure(&format!("steward:\n  targets:\n    - {target}\n"));
    home
}

fn json(home: &Home, args: &[&str]) -> Value {
    home.run(&[&["--json"], args].concat()).json()
}

fn target(home: &Home) -> Value {
    json(home, &["steward", "status"])["targets"][0].clone()
}

#[test]
fn the_machine_itself_is_looked_at_and_never_changed() {
    let home = home("{ name: here, driver: local, units: [holdfast-made-up.service] }");
    let daemon = Running::on(&home);
    wait_until("it was looked at", || json(&home, &["steward", "metrics"])["observations"] == 1);
    let found = json(&home, &["steward", "metrics"]);
    // There is no such unit, so it was not a whole collection; what else there is was read.
    assert_eq!(found["last_success"], Value::Null, "{found}");
    assert!(found["failures"].as_u64().unwrap() > 0, "{found}");
    let said = home.run(&["steward", "metrics"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(
        said.out.contains("nothing was collected yet") && said.out.contains("not read: "),
        "{}",
        said.out
    );
    let refused = home.run(&["steward", "level", "here", "plan"]);
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("by the driver local it is only looked at"), "{}", refused.err);
    assert_eq!(target(&home)["level"], "observe");
    daemon.terminated();
    // What was seen is there without a daemon too.
    assert_eq!(json(&home, &["steward", "metrics", "here", "--days", "1"])["observations"], 1);
}

#[test]
fn a_host_that_cannot_be_reached_is_said_to_be_and_why() {
    let home = home("{ name: box-1, driver: systemd, address: 127.0.0.1, port: 1, units: [web.service] }");
    let daemon = Running::on(&home);
    let trouble = || target(&home)["trouble"].as_str().unwrap_or_default().to_owned();
    wait_until("it is said that its keys are missing", || trouble().contains("has no pinned host key at"));
    assert!(trouble().contains("`holdfast target add` makes it"), "{}", trouble());
    let ordered = home.run(&["steward", "trigger", "box-1"]);
    assert_eq!(ordered.code, 3, "{}", ordered.err);
    daemon.terminated();
}

/// A key of this name in a folder; gives its public half.
fn key(folder: &Path, name: &str) -> String {
    let key = folder.join(name);
    let mut made = Command::new("ssh-keygen");
    made.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key);
    assert!(made.status().unwrap().success());
    std::fs::read_to_string(key.with_extension("pub")).unwrap()
}

/// Keys of its own for a target, with this host key pinned.
fn pinned(home: &Home, guest: &Guest, target: &str, host_key: &str) {
    let folder = home.path().join("state/steward").join(target);
    std::fs::create_dir_all(&folder).unwrap();
    for role in ["observe", "act", "rescue"] {
        key(&folder, role);
        let public = File::open(folder.join(role).with_extension("pub")).unwrap();
        let added = guest.call(&["tee", "-a", "/etc/ssh/lab_keys"]).stdin_from(public).run();
        assert!(added.status.success());
    }
    std::fs::write(folder.join("known_hosts"), format!("{target} {host_key}\n")).unwrap();
}

#[test]
fn a_host_is_looked_at_over_ssh_and_one_with_another_key_is_asked_nothing() {
    let Some(guest) = lab::guest("trixie") else { return };
    assert!(guest.run(&["usermod", "-aG", "systemd-journal", "agent"]).status.success());
    let port = guest.port();
    let home = home(&format!(
        "{{ name: box-1, driver: agentless, address: 127.0.0.1, port: {port}, observer: agent, units: [ssh.service] }}\n    \
         - {{ name: box-2, driver: systemd, address: 127.0.0.1, port: {port}, units: [ssh.service] }}"
    ));
    let theirs = std::fs::read_to_string(guest.known_hosts()).unwrap();
    pinned(&home, &guest, "box-1", theirs.trim().strip_prefix("guest ").unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    pinned(&home, &guest, "box-2", key(elsewhere.path(), "another").trim());
    let daemon = Running::on(&home);
    let seen = || json(&home, &["steward", "metrics", "box-1"]);
    wait_until("it was looked at", || !seen()["last_success"].is_null());
    assert_eq!(seen()["failures"], 0, "{}", seen());
    let trouble =
        |at: usize| json(&home, &["steward", "status"])["targets"][at]["trouble"].as_str().map(str::to_owned);
    wait_until("the other key is noticed", || trouble(1).is_some());
    let said = trouble(1).unwrap();
    assert!(said.starts_with("box-2 shows another host key than the one that was pinned"), "{said}");
    assert!(said.contains("until a person has looked"), "{said}");
    assert_eq!(trouble(0), None);
    let shown = home.run(&["steward", "status"]);
    assert!(shown.out.contains("another host key"), "{}", shown.out);
    // Nothing was said to it: its sshd saw connections that ended before anybody logged in.
    let log = guest.run(&["journalctl", "-t", "sshd", "-t", "sshd-session", "--no-pager", "-o", "cat"]);
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert!(log.contains("Accepted publickey for agent"), "{log}");
    assert!(!log.contains("Invalid user"), "somebody who is not known there tried to log in: {log}");
    daemon.terminated();
}
