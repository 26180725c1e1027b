//! What was applied, as people meet it in git: a real daemon with a modelled host, and its repository read with the real git.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "../../history/tests/peer/mod.rs"]
mod peer;
#[path = "daemon/running.rs"]
mod running;

use std::path::PathBuf;
use std::process::Command;

use home::Home;
use peer::{MARKER, Peer};
use running::{Looking, Running, wait_for, wait_until};
use serde_json::Value;

/// A modelled host that gets into trouble after half a day of its time, and may be helped at once.
fn home(more: &str) -> Home {
    let home = Home::made("hst");
    let target = "{ name: box-1, driver: sim, seed: 7, speed: 3600, trouble: memory, starts_at: tier-one }";
    home.configure(&format!("steward:\n  targets:\n    - {target}\n{more}"));
    home
}

fn repository(home: &Home) -> PathBuf {
    home.path().join("state/history/repository.git")
}

/// As a person runs it, with nothing of this machine's settings; what it says, if it worked.
fn git(home: &Home, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository(home)).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C.UTF-8");
    let who = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "ana"));
    command.envs(who).envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ana@example.org")));
    let ran = command.output().unwrap();
    ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
}

fn heads(home: &Home) -> Vec<String> {
    let said = git(home, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]).unwrap_or_default();
    said.lines().map(str::to_owned).collect()
}

fn episodes(home: &Home) -> Vec<Value> {
    home.json(&["steward", "episodes"])["episodes"].as_array().unwrap().clone()
}

fn ended(home: &Home, outcome: &str) -> Value {
    wait_for(outcome, || episodes(home).into_iter().find(|episode| episode["outcome"] == outcome))
}

fn history(home: &Home) -> Value {
    home.json(&["steward", "history"])
}

/// Every commit of the journal is in the repository.
fn written(home: &Home) -> Value {
    wait_for("the repository has it", || Some(history(home)).filter(|it| it["standing"] == "whole"))
}

/// Whether people were told something that has these words in it.
fn people_heard(home: &Home, words: &str) -> bool {
    let raised = home.bodies("notice.message.raised");
    raised.iter().any(|body| body["message"].as_str().is_some_and(|text| text.contains(words)))
}

#[test]
fn what_was_kept_is_a_signed_commit_and_a_repository_that_is_lost_or_changed_is_put_right() {
    let home = home("");
    assert!(history(&home)["targets"].as_array().unwrap().is_empty());
    home.run(&["steward", "history"]).ok().shows("nothing was applied yet");
    let daemon = Running::on(&home);
    let kept = ended(&home, "kept");
    let id = kept["episode"].as_str().unwrap().to_owned();
    daemon.terminated().well();
    assert!(home.run(&["steward", "history", "box-9"]).ends(1).err.contains("HF-STW-003"));
    // Nothing is written meanwhile, so that what is compared stays.
    home.configure("steward:\n  targets: []\n");
    let daemon = Running::on(&home);
    let told = written(&home);
    let commits = told["targets"][0]["commits"].as_array().unwrap().clone();
    let commit = commits.iter().find(|it| it["episode"] == id.as_str()).unwrap().clone();
    assert_eq!((&commit["what"], &commit["signed"]), (&"kept".into(), &true.into()), "{commit}");
    let name = commit["commit"].as_str().unwrap();
    let message = git(&home, &["log", "-1", "--format=%B", name]).unwrap();
    assert!(message.contains(&format!("Episode: {id}")) && message.contains("Because "), "{message}");
    assert!(git(&home, &["verify-commit", name]).is_some(), "a person's git verifies it");
    assert!(git(&home, &["merge-base", "--is-ancestor", name, "deployed/box-1"]).is_some());
    wait_until("its episode is over", || heads(&home) == ["deployed/box-1", "main"]);
    let shown = home
        .run(&["steward", "history", "box-1"])
        .ok()
        .shows("task-runner.service")
        .shows("log -p deployed/");
    assert!(shown.out.contains(&name[..8]), "{}", shown.out);

    // Somebody's hand: moved while it runs, then gone, then broken.
    let refs = git(&home, &["for-each-ref"]).unwrap();
    let tree = git(&home, &["rev-parse", "deployed/box-1^{tree}"]).unwrap();
    let theirs = git(&home, &["commit-tree", "-m", "mine", &tree]).unwrap();
    git(&home, &["update-ref", "refs/heads/deployed/box-1", &theirs]).unwrap();
    daemon.terminated().well();
    home.run(&["steward", "history"]).ok().shows("not have all of it yet");
    let daemon = Running::on(&home);
    wait_until("people are told", || people_heard(&home, "Somebody moved deployed/box-1"));
    git(&home, &["update-ref", "-d", &format!("refs/aside/{theirs}")]).unwrap();
    assert_eq!(git(&home, &["for-each-ref"]).unwrap(), refs);
    daemon.terminated().well();
    std::fs::remove_dir_all(repository(&home)).unwrap();
    home.run(&["steward", "history"]).ok().shows("there is no repository yet");
    let daemon = Running::on(&home);
    written(&home);
    assert_eq!(git(&home, &["for-each-ref"]).unwrap(), refs, "the same commits, from the journal");
    daemon.terminated().well();
    std::fs::write(repository(&home).join("HEAD"), "?").unwrap();
    home.run(&["steward", "history"]).ok().shows("from the journal alone");
    let _daemon = Running::on(&home);
    wait_until("people are told", || people_heard(&home, "was damaged"));
    wait_until("it is made again", || git(&home, &["for-each-ref"]).is_some_and(|it| it == refs));
}

/// A trial is tried, watched and taken back while the repository cannot be written at all.
// shows: STW-304
#[test]
fn a_repository_that_cannot_be_written_holds_up_neither_a_trial_nor_a_way_back() {
    let home = home("");
    // A file where its folder should be.
    std::fs::create_dir_all(home.path().join("state/history")).unwrap();
    std::fs::write(repository(&home), "in the way").unwrap();
    let daemon = Running::on(&home);
    ended(&home, "kept");
    assert_eq!(history(&home)["standing"], "absent");
    home.run(&["steward", "history"]).ok().shows("task-runner.service").shows("no repository yet");
    wait_until("people are told", || people_heard(&home, "cannot be written"));
    wait_until("it is undone", || {
        home.run(&["steward", "rollback"]);
        episodes(&home).iter().any(|it| it["outcome"] == "interrupted" || it["outcome"] == "rolled_back")
    });
    // At a start it is tried at once.
    daemon.terminated().well();
    std::fs::remove_file(repository(&home)).unwrap();
    let _daemon = Running::on(&home);
    let told = written(&home);
    assert!(told["targets"][0]["commits"].as_array().unwrap().len() >= 2, "{told}");
}

/// A scripted forge with a real repository, down at first: what is kept here does not wait for it, and is there when it is back.
// shows: STW-175
#[test]
fn what_was_kept_is_pushed_and_asked_about_when_the_forge_is_there() {
    let peer = Peer::start();
    peer.change(|inside| inside.down = true);
    let home = home(&format!(
        "  history:\n    remote: {}\n    token: {{ secret: forge-token }}\n    forge: forgejo\n",
        peer.address()
    ));
    let start = || Running::with(&home, |command| command.env("HOLDFAST_SECRET_FORGE_TOKEN", MARKER));
    let daemon = start();
    let id = ended(&home, "kept")["episode"].as_str().unwrap().to_owned();
    written(&home);
    assert!(peer.inside().requests.is_empty() && home.bodies("history.branch.pushed").is_empty());
    wait_until("people are told", || people_heard(&home, "cannot be shown in the repository elsewhere"));
    // Killed meanwhile: nothing of it was only in memory.
    daemon.killed();
    peer.change(|inside| inside.down = false);
    let _daemon = start();
    let head = format!("steward/{id}");
    let request = wait_for("it is asked about", || {
        peer.inside().requests.into_iter().find(|request| request.0 == head && !request.3.is_empty())
    });
    assert_eq!(request.3, ["steward"]);
    wait_until("it is written down", || {
        home.bodies("history.request.opened").iter().any(|it| it["episode"] == id)
    });
    let refs = |args: &[&str]| {
        let ran = Command::new("git").arg("-C").arg(peer.repository()).args(args).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let there = refs(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert!(
        there.contains("deployed/box-1\n") && there.contains(&head) && there.contains("main\n"),
        "{there}"
    );
    let whole = home.run(&["--json", "audit", "tail", "--from", "0"]).ok().out;
    assert!(!whole.contains(MARKER), "a token is in no record");
}
