//! Many clients at once, clients that do not behave, and clients that are somebody else's.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::home::{Home, PROGRAM};
use crate::running::{Looking, Running, wait_until};

#[test]
fn a_thousand_commands_at_once_are_all_answered_and_each_entry_is_there_once() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    let next = AtomicU32::new(0);
    // As many as two cores can start; each begins the next as soon as its own is over.
    std::thread::scope(|s| {
        for _ in 0..48 {
            s.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    match n {
                        1000.. => break,
                        n if n % 4 == 3 => drop(home.run(&["--json", "status"]).ok()),
                        n => drop(home.log(&format!("{{\"n\":{n}}}")).ok()),
                    }
                }
            });
        }
    });
    let bodies = home.bodies("captain.note.added");
    let there: BTreeSet<u64> = bodies.iter().map(|body| body["n"].as_u64().unwrap()).collect();
    assert_eq!(bodies.len(), 750);
    assert_eq!(there, (0..1000).filter(|n| n % 4 != 3).collect());
    assert_eq!(daemon.metric(r#"holdfast_requests_total{request="append",result="ok"}"#), Some(750.0));
    wait_until("the index has followed", || home.status()["projections"][0]["behind"] == 0);
    daemon.terminated().well();
    home.run(&["audit", "verify"]).ok();
}

#[test]
fn clients_that_stop_half_way_hold_up_nobody() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    let knock = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(home.socket()).unwrap();
        let mut hello = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let silent = b"";
    let half = br#"{"protocol":1,"request":{"do":"stat"#;
    let deaf = b"{\"protocol\":1,\"request\":{\"do\":\"rebuild\"}}\n";
    let held: Vec<UnixStream> = (0..40).flat_map(|_| [&silent[..], half, deaf]).map(knock).collect();
    let began = Instant::now();
    for n in 0..10 {
        home.log(&format!("{{\"n\":{n}}}")).ok();
        home.run(&["status"]).ok();
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    // Nor do they hold up the end: the silent ones are not waited for.
    home.run(&["down"]).ok();
    drop(held);
    daemon.ended().well();
}

/// The modes are opened on purpose, so that only the kernel's word about the peer is left to refuse it.
#[test]
fn another_users_command_is_refused_with_its_own_exit_code() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    let open =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("holdfast");
    std::fs::copy(PROGRAM, &program).unwrap();
    let above = home.path().parent().unwrap();
    for path in [dir.path(), &program, above, home.path(), &home.path().join("run")] {
        open(path, 0o755);
    }
    open(&home.socket(), 0o666);
    let theirs = |args: &[&str]| {
        let mut command = as_nobody();
        command.arg(&program).arg("--home").arg(home.path()).arg("--json").args(args).current_dir("/");
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    for args in [&["status"][..], &["down"], &["resume", "--all"], &["disk"]] {
        let (code, said) = theirs(args);
        assert_eq!(code, Some(4), "{args:?}: {said}");
        assert!(said.contains("HF-CTL-001"), "{said}");
    }
    assert_eq!(daemon.metric("holdfast_refused_clients_total{}"), Some(4.0));
    home.run(&["status"]).ok();
    daemon.terminated().well();
}

/// Another user's process: root becomes one, everybody else asks sudo.
fn as_nobody() -> Command {
    let program = if rustix::process::geteuid().is_root() { "setpriv" } else { "sudo" };
    let mut command = Command::new(program);
    match program {
        "setpriv" => command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]),
        _ => command.args(["-n", "-u", "#65534", "--"]),
    };
    command
}
