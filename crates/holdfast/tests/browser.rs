//! The gateway as people meet it: a real Chromium with virtual passkeys before a real daemon with modelled hosts.
//!
//! Each test has a house and a browser of its own. Where the other engines have no virtual passkeys, the ceremonies are
//! tried without a browser by the tests of `holdfast-gateway`. Pictures of every page are left in `target/screenshots`,
//! or in `HOLDFAST_SCREENSHOTS`.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers are shared, measurements are printed, and a test stops where it cannot go on"
)]

mod home;
#[path = "daemon/running.rs"]
mod running;

#[path = "browser/chrome.rs"]
mod chrome;
#[path = "browser/house.rs"]
mod house;
#[path = "browser/person.rs"]
mod person;
#[path = "browser/steps.rs"]
mod steps;

#[path = "browser/acting.rs"]
mod acting;
#[path = "browser/coming_in.rs"]
mod coming_in;
#[path = "browser/entering.rs"]
mod entering;
#[path = "browser/everywhere.rs"]
mod everywhere;
#[path = "browser/looking.rs"]
mod looking;
#[path = "browser/staying_out.rs"]
mod staying_out;

// shows: GTW-085, GTW-F28
#[test]
fn the_browser_tests_are_these() {
    let own = std::env::current_exe().unwrap();
    let listed = std::process::Command::new(own).args(["--list", "--format=terse"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    names.sort_unstable();
    assert!(names.len() > 10, "{names:?}");
    insta::assert_snapshot!(names.join("\n"));
}
