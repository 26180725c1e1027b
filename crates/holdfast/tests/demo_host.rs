//! The modelled host that `make up` keeps beside the real daemon: `scripts/demo-host.sh` as it is run there.

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

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use home::{Home, PROGRAM, Ran, run};
use running::{Running, an_address, wait_until};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/demo-host.sh");
/// Half a quiet day, and a trial with its probation after it, at an hour a second; and a slow machine.
const KEPT_WITHIN: Duration = Duration::from_secs(60);

fn script(args: &[&str]) -> Command {
    let mut command = Command::new(SCRIPT);
    command.args(args).env("HOLDFAST_DEMO_SPEED", "3600");
    command.env("HOLDFAST_DEMO_LISTEN", an_address().to_string()).env_remove("HOLDFAST_HOME");
    command.env("HOLDFAST_DEMO_GATEWAY", free_port().to_string());
    command
}

/// A gateway takes its port on all of loopback, so an address of its own is not enough.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn started(beside: &Path, owner: u32) -> Ran {
    run(script(&["start", PROGRAM, beside.to_str().unwrap(), &owner.to_string()]), None)
}

fn stopped(beside: &Path) -> Ran {
    run(script(&["stop", PROGRAM, beside.to_str().unwrap()]), None)
}

/// Stops it also where a test fails half way.
struct Beside(PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        stopped(&self.0);
    }
}

// shows: GTW-003
#[test]
fn whoever_starts_it_is_shown_a_link_by_which_the_first_owner_comes_in() {
    let home = Home::made("web-1");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/sign-in-link.sh");
    let shown = || {
        let mut command = Command::new(script);
        command.args([PROGRAM, home.path().to_str().unwrap(), "http://localhost:9096"]);
        run(command, None).ok().out
    };
    assert!(shown().starts_with("http://localhost:9096/register#"), "{}", shown());
    let up = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/up.sh")).unwrap();
    assert_eq!(up.matches("scripts/sign-in-link.sh").count(), 2, "for the house, and for the modelled host");
}

#[test]
fn it_starts_beside_a_daemon_keeps_a_change_and_ends_with_that_daemon() {
    let real = Home::made("real");
    let daemon = Running::on(&real);
    let beside = Beside(real.beside("home-demo"));
    started(&beside.0, daemon.pid()).ok();
    let demo = Home::at(&beside.0);

    let deadline = Instant::now() + KEPT_WITHIN;
    let kept = loop {
        // No daemon answers there yet, or it has nothing to tell.
        let ran = demo.run(&["--json", "steward", "episodes"]);
        let episodes = if ran.code == 0 { ran.json()["episodes"].clone() } else { serde_json::json!([]) };
        let all = episodes.as_array().unwrap();
        let found = all.iter().find(|one| one["outcome"] == "kept" || one["outcome"] == "improved").cloned();
        if let Some(kept) = found {
            break kept;
        }
        assert!(
            Instant::now() < deadline,
            "nothing was kept: {episodes} {}",
            running::read(&beside.0.join("log"))
        );
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(kept["target"], "demo-1");
    assert!(kept["change"].as_str().unwrap().contains("task-runner.service"), "{kept}");
    demo.run(&["steward", "status"]).ok().shows("demo-1").shows("accelerated 3600×");
    // Nothing of it is in the real home.
    real.run(&["steward", "status"]).ok().shows("looks after nothing");

    daemon.terminated().well();
    wait_until("it ended too", || demo.run(&["steward", "status"]).code == 3);
    stopped(&beside.0).ok();
    assert!(!beside.0.exists(), "its home is gone");
}

#[test]
fn a_daemon_that_is_killed_takes_it_along() {
    let real = Home::made("real");
    let daemon = Running::on(&real);
    let beside = Beside(real.beside("home-demo"));
    started(&beside.0, daemon.pid()).ok();
    let demo = Home::at(&beside.0);
    wait_until("it is at work", || demo.run(&["steward", "status"]).code == 0);
    daemon.killed();
    wait_until("it ended too", || demo.run(&["steward", "status"]).code == 3);
    // Started again it is made anew, and an hour of the host's time has not passed.
    let daemon = Running::on(&real);
    started(&beside.0, daemon.pid()).ok();
    wait_until("it is at work again", || demo.run(&["steward", "status"]).code == 0);
    let episodes = demo.json(&["steward", "episodes"]);
    assert_eq!(episodes["episodes"], serde_json::json!([]));
}

#[test]
fn a_folder_that_it_did_not_make_is_left_alone() {
    let real = Home::made("real");
    let folder = real.beside("home-demo");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("thesis.txt"), "years of work").unwrap();
    let ran = started(&folder, std::process::id()).ends(3);
    ran.says("is not a home it made");
    stopped(&folder).ok();
    assert_eq!(std::fs::read_to_string(folder.join("thesis.txt")).unwrap(), "years of work");
    run(script(&["start", PROGRAM]), None).ends(2).says("usage");
}

/// The moment is made rather than raced for: what makes the folder is wrapped.
#[test]
fn a_home_that_somebody_else_makes_meanwhile_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (beside, decoy) = (at("web-demo"), at("decoy"));
    std::fs::write(&decoy, "kept").unwrap();
    std::fs::create_dir(at("wrapped")).unwrap();
    let plant =
        format!("/bin/mkdir {0} && ln -s {1} {0}/a-demo-host-of-holdfast", beside.display(), decoy.display());
    let wrapper =
        format!("#!/bin/sh\n[ -e {} ] || {{ {plant}; }}\nexec /bin/mkdir \"$@\"\n", beside.display());
    std::fs::write(at("wrapped/mkdir"), wrapper).unwrap();
    std::fs::set_permissions(at("wrapped/mkdir"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", at("wrapped").display(), std::env::var("PATH").unwrap());
    let mut start = script(&["start", PROGRAM, beside.to_str().unwrap(), &std::process::id().to_string()]);
    let refused = start.env("PATH", path).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(std::fs::read_to_string(&decoy).unwrap(), "kept");
}
