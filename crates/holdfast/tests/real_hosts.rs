//! Real hosts under a real daemon: the machine it runs on, and what is said of one that cannot be reached.

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
    assert!(trouble().contains("docs/real-hosts.md"), "{}", trouble());
    let ordered = home.run(&["steward", "trigger", "box-1"]);
    assert_eq!(ordered.code, 3, "{}", ordered.err);
    daemon.terminated();
}
