//! From start to stop: ready when it answers, one daemon per home, stopping in bounded time and in words.

use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::{Duration, Instant};

use holdfast_testkit::files::tree_bytes;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fill::fill;
use crate::home::{Home, run};
use crate::running::{LONG, Looking, NO_GATEWAY, Running, an_address, up, wait_until};

#[test]
fn up_makes_the_home_and_is_ready_when_its_doors_answer_and_down_ends_it() {
    let home = Home::bare();
    let daemon = Running::on(&home);
    assert_eq!(daemon.ready["pid"], daemon.pid());
    assert_eq!(daemon.health().0, 200);
    let status = home.run(&["--json", "status"]).ok().json();
    assert_eq!(status["pid"], daemon.pid());
    home.run(&["--json", "down", "--dry-run"]).ok();
    let down = home.run(&["down"]).ok().shows("nothing was cut off");
    assert!(down.out.starts_with("● stopped after "), "{}", down.out);
    daemon.ended().well();
    assert!(!home.socket().exists());
    let kinds: Vec<Value> = home.entries().iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds[0], "holdfast.instance.initialised");
    assert_eq!(kinds[1], "holdfast.daemon.started");
    assert_eq!(kinds.last().unwrap(), "holdfast.daemon.stopped");
    assert_eq!(home.bodies("holdfast.daemon.stopped"), [json!({"cut_off": []})]);
    home.run(&["audit", "verify"]).ok();
    home.run(&["down"]).ok().shows("no daemon runs here");
}

#[test]
fn either_signal_ends_it_cleanly_and_it_says_so() {
    let home = Home::bare();
    for signal in [Signal::TERM, Signal::INT] {
        let daemon = Running::on(&home);
        daemon.signal(signal);
        daemon.ended().well();
    }
    let daemon =
        home.command(&["up", "--set", &format!("health.listen={}", an_address()), "--set", NO_GATEWAY]);
    let reader = std::thread::spawn(move || run(daemon, None));
    wait_until("it answers", || home.run(&["status"]).code == 0);
    home.run(&["down"]).ok();
    reader.join().unwrap().ok().shows("● up: holdfast/").shows(", nothing was cut off");
}

#[test]
fn the_service_manager_is_told_ready_alive_and_stopping_when_it_is_so() {
    let home = Home::bare();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(LONG)).unwrap();
    let next = || {
        let mut bytes = [0; 256];
        let len = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap().trim().to_owned()
    };
    // Started from another thread, so that this one can knock the moment it is told.
    let (home_path, socket) = (home.path().to_owned(), home.socket());
    let starting = std::thread::spawn(move || {
        Running::with(&Home::at(&home_path), |command| command.env("NOTIFY_SOCKET", path))
    });
    let mut heard = Vec::new();
    while !heard.contains(&"READY=1".to_owned()) {
        let word = next();
        if word == "READY=1" {
            let mut stream = UnixStream::connect(&socket).expect("it said ready and nobody listens");
            stream.set_read_timeout(Some(LONG)).unwrap();
            let mut hello = [0; 1];
            std::io::Read::read_exact(&mut stream, &mut hello).expect("it said ready and does not answer");
        }
        heard.push(word);
    }
    let daemon = starting.join().unwrap();
    while !heard.contains(&"WATCHDOG=1".to_owned()) {
        heard.push(next());
    }
    daemon.signal(Signal::TERM);
    while heard.last().unwrap() != "STOPPING=1" {
        heard.push(next());
    }
    daemon.ended().well();
    assert_eq!(heard.iter().filter(|word| *word == "READY=1").count(), 1, "{heard:?}");
}

#[test]
fn a_second_daemon_on_the_same_home_is_refused_and_the_first_goes_on() {
    let home = Home::bare();
    let first = Running::on(&home);
    let ran = run(up(&home, an_address()), None).ends(6);
    assert_eq!(ran.error()["code"], "HF-CTL-008");
    // The same port as well: the other daemon is still the news.
    assert_eq!(run(up(&home, first.health), None).ends(6).error()["code"], "HF-CTL-008");
    assert_eq!(home.run(&["--json", "status"]).ok().json()["pid"], first.pid());
    assert_eq!(home.bodies("holdfast.daemon.started").len(), 1);
    first.terminated().well();
}

#[test]
fn a_port_in_use_ends_the_start_before_anything_is_written() {
    let taken = an_address();
    let _listener = TcpListener::bind(taken).unwrap();
    let new = Home::bare();
    assert_eq!(run(up(&new, taken), None).ends(6).error()["code"], "HF-CLI-022");
    assert!(!new.path().exists());
    let home = Home::made("web-1");
    home.log_many(2);
    // All but the name of who had the journal last.
    let files = || tree_bytes(home.path()).into_iter().filter(|(path, _)| !path.ends_with("LOCK"));
    let before = files();
    assert_eq!(run(up(&home, taken), None).ends(6).error()["code"], "HF-CLI-022");
    assert!(before.eq(files()));
    assert!(!home.socket().exists());
}

#[test]
fn what_a_killed_daemon_leaves_is_no_obstacle() {
    let home = Home::bare();
    Running::on(&home).killed();
    assert!(home.socket().exists());
    // Without a daemon a command does the work itself, whatever lies there.
    home.log("{}").ok();
    home.run(&["status"]).ends(3);
    let daemon = Running::on(&home);
    home.run(&["status"]).ok();
    daemon.terminated().well();
}

/// A source of secrets that hangs is the longest work there is: it sees no stop.
#[test]
fn what_does_not_end_within_the_grace_is_cut_off_and_named() {
    let home = Home::bare();
    let source = "credentials: { sources: [command], command: [/bin/sh, -c, sleep 9, \"{name}\"], timeout_seconds: 60 }\n";
    home.configure(source);
    let daemon = Running::with(&home, |command| command.args(["--set", "shutdown.grace_seconds=1"]));
    // The first round of checks would hang in the same place.
    wait_until("a round of checks is over", || home.state("log/health.jsonl").exists());
    home.configure(&format!(
        "{source}notifications:\n  channels: [log, webhook]\n  webhook: {{ url: {{ secret: a }}, sign_with: {{ secret: b }} }}\n",
    ));
    let hanging = home.command(&["--json", "config", "reload"]);
    let hanging = std::thread::spawn(move || run(hanging, None));
    wait_until("the reload is under way", || daemon.has_children());
    let began = Instant::now();
    let down = home.run(&["--json", "down"]).ends(1).json();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let uid = rustix::process::geteuid().as_raw();
    let cut_off = json!(["control", format!("the request reload of uid {uid}")]);
    assert_eq!(down["cut_off"], cut_off);
    let ended = daemon.ended();
    assert_eq!(ended.code, Some(1));
    assert_eq!(serde_json::from_str::<Value>(&ended.word).unwrap()["cut_off"], cut_off);
    assert_eq!(home.bodies("holdfast.daemon.stopped"), [json!({"cut_off": cut_off})]);
    // Whoever waited is not left waiting, and is told that nothing is known.
    assert_eq!(hanging.join().unwrap().ends(3).error()["code"], "HF-CTL-005");
    home.run(&["audit", "verify"]).ok();
}

#[test]
fn a_rebuild_under_way_ends_promptly_at_a_stop_and_the_old_index_stays_good() {
    let home = Home::made("web-1");
    fill(&home, 6_000, 200);
    let daemon = Running::with(&home, |command| command.args(["--set", "shutdown.grace_seconds=1"]));
    wait_until("the index is there", || home.status()["projections"][0]["behind"] == 0);
    let rebuild = home.command(&["--json", "rebuild"]);
    let rebuild = std::thread::spawn(move || run(rebuild, None));
    wait_until("a new index is being made", || home.state("index.db.new").exists());
    let began = Instant::now();
    home.run(&["down"]).ok().shows("nothing was cut off");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    daemon.ended().well();
    assert_eq!(rebuild.join().unwrap().ends(3).error()["code"], "HF-CLI-024");
    assert!(home.bodies("holdfast.index.rebuilt").is_empty());
    assert!(!home.state("index.db.new").exists());
    // It goes on from where it was: with all but the last few entries applied.
    let daemon = Running::on(&home);
    wait_until("the index is up to date", || home.status()["projections"][0]["behind"] == 0);
    assert!(!daemon.log().contains("made anew"), "{}", daemon.log());
    daemon.terminated().well();
}
