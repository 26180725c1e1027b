//! `holdfast cage` as people and scripts use it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Nobody on the machine has it: root's tests need a user to be.
const USER: u32 = 48_211;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder.path(), Some(USER), Some(USER)).unwrap();
    }
    folder
}

fn cage(work: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    let (globals, rest): (Vec<&&str>, Vec<&&str>) = arguments.iter().partition(|a| **a == "--json");
    command.args(globals).arg("cage").arg(rest[0]).current_dir(work);
    if rustix::process::geteuid().is_root() && !rest.contains(&&"--user") {
        command.args(["--user", &USER.to_string()]);
    }
    command.args(&rest[1..]).stdin(Stdio::null()).env("TOKEN", "not for the program").output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_programs_words_and_its_code_are_passed_on_and_nothing_else_is_said() {
    let work = folder();
    let done = cage(
        work.path(),
        &["run", "--", "sh", "-c", "echo word; echo aside >&2; echo $TOKEN > kept; exit 5"],
    );
    assert_eq!((out(&done).as_str(), err(&done).as_str()), ("word\n", "aside\n"));
    assert_eq!(done.status.code(), Some(5));
    assert_eq!(fs::read_to_string(work.path().join("kept")).unwrap(), "\n");
}

#[test]
fn what_the_program_cannot_say_itself_is_said_beside_it() {
    let work = folder();
    let late = cage(work.path(), &["run", "--time", "200ms", "--", "sleep", "9"]);
    assert_eq!(late.status.code(), Some(124));
    assert!(err(&late).contains("its time was up"), "{}", err(&late));
    let refused = cage(work.path(), &["run", "--", "sh", "-c", "unshare --user true 2>/dev/null; true"]);
    assert_eq!(refused.status.code(), Some(0));
    assert!(err(&refused).contains("refused calls: unshare ×1"), "{}", err(&refused));
}

#[test]
fn one_answer_has_the_output_and_the_evidence() {
    let work = folder();
    let done = cage(work.path(), &["--json", "run", "--", "sh", "-c", "echo word; kill -9 $$"]);
    assert_eq!(done.status.code(), Some(137));
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((answer["stdout"].as_str(), answer["end"].as_str()), (Some("word\n"), Some("signalled")));
    assert_eq!((answer["code"].as_u64(), answer["policy"].as_str()), (Some(137), Some("work")));
    assert!(answer["memory"].as_u64().unwrap() > 0 && answer["refused"].is_object());
}

#[test]
fn a_dry_run_says_what_would_be_seen_and_runs_nothing() {
    let work = folder();
    let told = cage(work.path(), &["run", "--dry-run", "--reach", "example.org:443", "--", "touch", "made"]);
    assert_eq!(told.status.code(), Some(0), "{}", err(&told));
    let text = out(&told);
    assert!(
        text.contains("would run touch made") && text.contains("example.org:443 through the proxy"),
        "{text}"
    );
    assert!(!work.path().join("made").exists());
    let json = cage(work.path(), &["--json", "run", "--dry-run", "--", "touch", "made"]);
    let plan: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((plan["dry_run"].as_bool(), plan["policy"].as_str()), (Some(true), Some("work")));
    assert!(plan["variables"].as_array().unwrap().iter().all(|name| name != "TOKEN"));
}

#[test]
fn a_policy_of_ones_own_grants_what_it_says_and_one_that_is_untrue_is_refused() {
    let (work, data) = (folder(), folder());
    fs::write(data.path().join("figures"), "42\n").unwrap();
    let policy = |refused: &str| {
        let path = data.path().display();
        let text = format!(
            "name = \"mine\"\nwhy = \"a test\"\nextends = \"quiet\"\n[[files]]\npath = \"{path}\"\naccess = \"read\"\nwhy = \"the figures\"\n\
             allowed = [\"read {path}/figures\"]\nrefused = [\"{refused} {path}/figures\"]\n"
        );
        fs::write(work.path().join("mine.toml"), text).unwrap();
    };
    let figures = data.path().join("figures").display().to_string();
    policy("write");
    let read = cage(work.path(), &["run", "--policy", "./mine.toml", "--", "cat", &figures]);
    assert_eq!(out(&read), "42\n", "{}", err(&read));
    let without = cage(work.path(), &["run", "--policy", "quiet", "--", "cat", &figures]);
    assert_eq!((out(&without).as_str(), without.status.code()), ("", Some(1)));
    policy("read");
    let untrue = cage(work.path(), &["run", "--policy", "./mine.toml", "--", "true"]);
    assert_eq!(untrue.status.code(), Some(2));
    assert!(
        err(&untrue).contains("HF-CAG-001") && err(&untrue).contains("is to be refused, and is allowed"),
        "{}",
        err(&untrue)
    );
}

#[test]
fn what_cannot_be_run_is_refused_with_what_to_do() {
    let work = folder();
    let table: [(&[&str], i32, &str); 5] = [
        (&["run", "--", "no-such-program"], 3, "starting no-such-program"),
        (&["run", "--policy", "loud", "--", "true"], 2, "there are: quiet, work, online, model"),
        (&["run", "--reach", "example.org", "--", "true"], 2, "example.org:443"),
        (&["run", "--time", "soon", "--", "true"], 2, "90s or 10m"),
        (&["run", "--work", "/", "--", "true"], 4, "cannot be the folder to work in"),
    ];
    for (arguments, code, says) in table {
        let done = cage(work.path(), arguments);
        assert_eq!(done.status.code(), Some(code), "{arguments:?} {}", err(&done));
        assert!(err(&done).contains(says), "{arguments:?} {}", err(&done));
    }
    if rustix::process::geteuid().is_root() {
        let root = cage(work.path(), &["run", "--user", "root", "--", "true"]);
        assert_eq!(root.status.code(), Some(4));
        assert!(err(&root).contains("root's own rights"), "{}", err(&root));
    }
}

#[test]
fn explaining_tries_every_wall_and_says_what_held() {
    let work = folder();
    let told = cage(work.path(), &["explain"]);
    assert_eq!(told.status.code(), Some(0), "{}{}", out(&told), err(&told));
    assert!(out(&told).starts_with("● the walls of work held: "), "{}", out(&told));
    let json = cage(work.path(), &["--json", "explain", "--policy", "model"]);
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(answer["open"], 0, "{answer}");
    assert!(answer["held"].as_u64().unwrap() > 400, "the proxy's walls are tried too: {}", answer["held"]);
    assert!(answer["attempts"][0]["layers"].is_array());
}
