//! No way back works and nothing can be written: people are told all the same, by the real program.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use holdfast_lifeline::{Identity, Owner, Steady, WindowRecord, WindowState};
use holdfast_tripwire::clock::Moment;
use holdfast_tripwire::window::{Granted, WindowFile};
use serde_json::{Value, json};

/// Ended with the test, whatever becomes of it.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// What a receiver of webhooks was told, one body after the other.
fn receive(listener: TcpListener) -> mpsc::Receiver<Value> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
            let body = loop {
                let read = stream.read(&mut piece).unwrap_or(0);
                heard.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&heard).into_owned();
                let whole = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
                if whole.is_some() || read == 0 {
                    break whole;
                }
            };
            let _left =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            if body.is_some_and(|body| tell.send(body).is_err()) {
                return;
            }
        }
    });
    told
}

/// A window that the guard has taken over and not undone yet, as an earlier life of it would have left it.
fn taken_over(windows: &Path) {
    let target = "box-1".parse().unwrap();
    let record = WindowRecord {
        episode: "ep_1".parse().unwrap(),
        known_good: Identity([1; 32]),
        candidate: Identity([2; 32]),
        state: WindowState::Open,
        deadline: Steady(u64::MAX / 4),
    };
    let file = WindowFile::of(windows, &target);
    assert!(matches!(file.open(&record, Moment::now(Steady(5))), Granted::Won));
    let claim = holdfast_lifeline::Claim::Undo { by: Owner::Tripwire };
    assert!(matches!(file.claim(&record.episode, claim, None), Granted::Won));
}

// shows: STW-178, STW-179
#[test]
fn when_no_way_back_works_people_are_told_also_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("windows")).unwrap();
    taken_over(&place("windows"));
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let reference = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(place("webhook"), format!("http://{}/hook\n", receiver.local_addr().unwrap())).unwrap();
    let told = receive(receiver);
    let settings = json!({
        "windows": place("windows"), "run": place("run"), "webhook": place("webhook"), "pace": 60,
        // There it is, and nobody can write to it, not even root.
        "state": "/proc/tty",
        "targets": [{
            // Nobody takes connections there.
            "name": "box-1", "first": {"address": "127.0.0.1", "port": 1}, "second": {"address": "127.0.0.1", "port": 2},
            "key": place("key"), "known_hosts": place("known_hosts"),
            "references": [{"tcp": {"address": reference.local_addr().unwrap().to_string()}}],
        }],
    });
    std::fs::write(place("tripwire.json"), settings.to_string()).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_holdfast-tripwire"));
    program.arg("run").arg(place("tripwire.json")).stdin(Stdio::null()).stdout(Stdio::null());
    let mut guard = Guard(program.stderr(Stdio::piped()).spawn().unwrap());
    let log = BufReader::new(guard.0.stderr.take().unwrap());
    let (line, lines) = mpsc::channel();
    std::thread::spawn(move || log.lines().map_while(Result::ok).all(|it| line.send(it).is_ok()));

    let failed = std::iter::from_fn(|| told.recv_timeout(Duration::from_secs(120)).ok())
        .find(|body| body["event"] == "rollback_failed")
        .expect("people are told that no way back worked");
    assert_eq!((&failed["severity"], &failed["target"]), (&json!("critical"), &json!("box-1")), "{failed}");
    let mut said = std::iter::from_fn(|| lines.recv_timeout(Duration::from_secs(20)).ok());
    // Level 0 is what a system's log calls an emergency.
    assert!(said.any(|line| line.starts_with("<0>box-1: no way back worked, and ep_1 is not undone")));
    assert!(guard.0.try_wait().unwrap().is_none(), "and it goes on trying");
}
