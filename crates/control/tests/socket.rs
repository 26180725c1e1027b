//! A real socket, real clients: many, slow, silent, garbled, gone, and of another user.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use holdfast_control::{Answer, Appended, Desk, Error, Limits, Peer, Request, Server, Step, Watch, connect};
use holdfast_types::{Exit, Problem};
use tokio_util::sync::CancellationToken;

/// Answers `checkpoint` with a problem, `rebuild` with endless steps, the rest with a number.
#[derive(Default)]
struct TestDesk {
    answered: AtomicU64,
    rebuild_was_told_to_stop: AtomicBool,
}

impl Desk for TestDesk {
    fn answer(&self, peer: Peer, request: Request, watch: &mut Watch<'_>) -> Result<Answer, Problem> {
        match request {
            Request::Checkpoint {} => return Err(Error::Cut.problem()),
            Request::Backup {} => panic!("a bug"),
            Request::Rebuild {} => {
                for done in 0.. {
                    let step = Step { what: "rebuilding".into(), done, of: None, unit: "entries".into() };
                    if watch(step) == ControlFlow::Break(()) {
                        self.rebuild_was_told_to_stop.store(true, Ordering::SeqCst);
                        return Ok(Answer::Done);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            _ => {}
        }
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        let seq = self.answered.fetch_add(1, Ordering::SeqCst);
        Ok(Answer::Appended(Appended { seq, repeated: false, redactions: 0, warnings: vec![] }))
    }
}

struct Running {
    dir: tempfile::TempDir,
    desk: Arc<TestDesk>,
    server: Arc<Server>,
    stop: CancellationToken,
    serving: Option<tokio::task::JoinHandle<()>>,
    runtime: tokio::runtime::Runtime,
}

impl Running {
    fn start(limits: Limits) -> Running {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("holdfast.sock");
        let server = runtime.block_on(async { Server::bind(&path, limits, "0.0.0-test") }).unwrap();
        let (server, desk, stop) =
            (Arc::new(server), Arc::new(TestDesk::default()), CancellationToken::new());
        let serving = {
            let (server, desk, stop) = (server.clone(), desk.clone(), stop.clone());
            runtime.spawn(async move { server.serve(desk, &stop, || {}, |_| false).await })
        };
        Running { dir, desk, server, stop, serving: Some(serving), runtime }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("holdfast.sock")
    }

    fn stop_and_wait(&mut self) {
        self.stop.cancel();
        self.runtime.block_on(self.serving.take().unwrap()).unwrap();
    }
}

/// Ends long work, which the runtime would wait for.
impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn ask(path: &Path, request: Request) -> Result<Answer, Problem> {
    connect(path)?.expect("a daemon listens").ask(request, &mut |_| {})
}

fn raw(path: &Path) -> BufReader<UnixStream> {
    let mut stream = BufReader::new(UnixStream::connect(path).unwrap());
    let mut hello = String::new();
    stream.read_line(&mut hello).unwrap();
    assert!(hello.contains("\"protocol\":1"), "{hello}");
    stream
}

fn tell(stream: &mut BufReader<UnixStream>, text: &str) -> String {
    stream.get_mut().write_all(text.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_line(&mut reply).unwrap();
    reply
}

#[test]
fn a_question_is_answered_and_a_problem_arrives_whole() {
    let running = Running::start(Limits::default());
    assert!(matches!(ask(&running.path(), Request::Status {}), Ok(Answer::Appended(_))));
    let problem = ask(&running.path(), Request::Checkpoint {}).unwrap_err();
    assert_eq!(problem, Error::Cut.problem());
    // A desk that panics is a bug; the client is told that there is no answer, and the next one is served.
    assert_eq!(ask(&running.path(), Request::Backup {}).unwrap_err().code.to_string(), "HF-CTL-005");
    assert!(ask(&running.path(), Request::Status {}).is_ok());
}

#[test]
fn a_thousand_clients_at_once_all_get_their_answer() {
    let running = Running::start(Limits::default());
    let path = running.path();
    std::thread::scope(|s| {
        for _ in 0..1000 {
            s.spawn(|| ask(&path, Request::Status {}).unwrap());
        }
    });
    assert_eq!(running.desk.answered.load(Ordering::SeqCst), 1000);
}

#[test]
fn clients_that_do_not_ask_or_do_not_read_hold_up_nobody() {
    let running = Running::start(Limits { clients_max: 64, ..Limits::default() });
    let path = running.path();
    let _silent: Vec<_> = (0..20).map(|_| raw(&path)).collect();
    let _deaf: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = raw(&path);
            stream.get_mut().write_all(b"{\"protocol\":1,\"request\":{\"do\":\"rebuild\"}}\n").unwrap();
            stream
        })
        .collect();
    for _ in 0..100 {
        ask(&path, Request::Status {}).unwrap();
    }
}

#[test]
fn a_client_that_does_not_ask_is_let_go_in_time() {
    let limits = Limits { clients_max: 1, client_timeout: Duration::from_millis(100) };
    let running = Running::start(limits);
    let mut silent = raw(&running.path());
    // The only place is taken, so this one is served when the silent one has been let go.
    ask(&running.path(), Request::Status {}).unwrap();
    let mut rest = Vec::new();
    assert_eq!(silent.read_to_end(&mut rest).unwrap(), 0);
}

#[test]
fn what_is_no_question_is_refused_in_words() {
    let running = Running::start(Limits::default());
    for (text, said) in [
        ("\n", "HF-CTL-004"),
        ("hello\n", "HF-CTL-004"),
        ("{\"protocol\":1,\"request\":{\"do\":\"dance\"}}\n", "HF-CTL-004"),
        ("{\"protocol\":2,\"request\":{\"do\":\"dance\"}}\n", "HF-CTL-002"),
        ("\u{0}\u{1}\n", "HF-CTL-004"),
    ] {
        let reply = tell(&mut raw(&running.path()), text);
        assert!(reply.contains(said), "{text:?}: {reply}");
    }
    ask(&running.path(), Request::Status {}).unwrap();
}

#[test]
fn a_question_without_an_end_is_bounded() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running.path());
    let chunk = vec![b'x'; 1024 * 1024];
    // The server reads up to its limit, answers and closes; then writing fails.
    let mut sent = 0;
    while sent < 64 && stream.get_mut().write_all(&chunk).is_ok() {
        sent += 1;
    }
    assert!(sent <= 32, "{sent} MiB were taken");
}

#[test]
fn a_client_that_leaves_stops_the_long_work_it_asked_for() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running.path());
    assert!(tell(&mut stream, "{\"protocol\":1,\"request\":{\"do\":\"rebuild\"}}\n").contains("rebuilding"));
    assert_eq!(running.server.under_way()[0].request, "rebuild");
    drop(stream);
    wait_for(|| running.desk.rebuild_was_told_to_stop.load(Ordering::SeqCst));
    wait_for(|| running.server.under_way().is_empty());
}

#[test]
fn stopping_takes_no_new_clients_and_ends_long_work() {
    let mut running = Running::start(Limits::default());
    let path = running.path();
    let long = std::thread::spawn({
        let path = path.clone();
        move || ask(&path, Request::Rebuild {})
    });
    wait_for(|| !running.server.under_way().is_empty());
    running.stop_and_wait();
    assert!(running.desk.rebuild_was_told_to_stop.load(Ordering::SeqCst));
    assert_eq!(long.join().unwrap().unwrap(), Answer::Done);
    let gone = Arc::downgrade(&running.server);
    let dir = std::mem::replace(&mut running.dir, tempfile::tempdir().unwrap());
    drop(running);
    assert!(gone.upgrade().is_none());
    assert!(connect(&dir.path().join("holdfast.sock")).unwrap().is_none());
}

#[test]
fn a_dead_daemons_socket_is_cleared_away_and_a_living_ones_is_not() {
    let running = Running::start(Limits::default());
    let again = running.runtime.block_on(async { Server::bind(&running.path(), Limits::default(), "x") });
    assert!(matches!(again, Err(Error::Taken { .. })));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("holdfast.sock");
    // A listener that is gone leaves its file.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(connect(&path).unwrap().is_none());
    assert!(running.runtime.block_on(async { Server::bind(&path, Limits::default(), "x") }).is_ok());
}

#[test]
fn a_path_too_long_for_an_address_is_no_obstacle() {
    let mut running = Running::start(Limits::default());
    let folder = running.dir.path().join("x".repeat(120));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("holdfast.sock");
    let server = running.runtime.block_on(async { Server::bind(&path, Limits::default(), "x") }).unwrap();
    let (server, desk, stop) = (Arc::new(server), running.desk.clone(), running.stop.clone());
    running.serving =
        Some(running.runtime.spawn(async move { server.serve(desk, &stop, || {}, |_| false).await }));
    assert!(ask(&path, Request::Status {}).is_ok());
}

#[test]
fn a_server_that_goes_late_leaves_the_next_ones_socket_alone() {
    let running = Running::start(Limits::default());
    let path = running.dir.path().join("other.sock");
    let bind = || running.runtime.block_on(async { Server::bind(&path, Limits::default(), "x") }).unwrap();
    let old = bind();
    std::fs::remove_file(&path).unwrap();
    let new = bind();
    drop(old);
    assert!(path.exists());
    drop(new);
    assert!(!path.exists());
}

#[test]
fn the_socket_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let running = Running::start(Limits::default());
    assert_eq!(running.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// The file's mode is opened on purpose, so that only the kernel's word about the peer is left to refuse it.
#[test]
fn another_users_process_is_refused_by_its_credentials() {
    use std::os::unix::fs::PermissionsExt as _;
    let running = Running::start(Limits::default());
    let open =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    open(running.dir.path(), 0o755);
    open(&running.path(), 0o666);
    let script = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9999).decode())";
    let output =
        as_nobody().args(["python3", "-c", script]).arg(running.path()).current_dir("/").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("HF-CTL-001") && said.contains("65534"), "{said}");
    assert!(!said.contains("protocol"), "nothing else is said: {said}");
    assert_eq!(running.server.counts().refused, 1);
    assert_eq!(Error::NotYou { uid: 65534 }.problem().exit, Exit::Refused);
    assert_eq!(running.desk.answered.load(Ordering::SeqCst), 0);
}

/// Another user's process: root becomes one, everybody else asks sudo.
fn as_nobody() -> std::process::Command {
    let program = if rustix::process::geteuid().is_root() { "setpriv" } else { "sudo" };
    let mut command = std::process::Command::new(program);
    // What a user's own PATH leads to may not be for others to run.
    command.env("PATH", "/usr/bin:/bin");
    match program {
        "setpriv" => command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]),
        _ => command.args(["-n", "-u", "#65534", "--"]),
    };
    command
}

fn wait_for(state: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !state() {
        assert!(std::time::Instant::now() < deadline, "it did not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}
