//! A real daemon on a home, with everything a test wants to ask it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::home::Home;

/// Far beyond what anything here takes on a slow machine.
pub const LONG: Duration = Duration::from_secs(20);

pub struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    said: tempfile::NamedTempFile,
    pub health: SocketAddr,
    /// What it said when it was ready.
    pub ready: Value,
}

/// How a daemon ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    /// The last line of its output.
    pub word: String,
    pub log: String,
}

impl Running {
    pub fn on(home: &Home) -> Running {
        Running::with(home, |command| command)
    }

    /// With other variables, or further settings (`--set`).
    pub fn with(home: &Home, change: impl FnOnce(&mut Command) -> &mut Command) -> Running {
        let mut command = up(home, an_address());
        change(&mut command);
        Running::start(command)
    }

    pub fn start(command: Command) -> Running {
        let told = format!("{command:?}");
        Running::try_start(command).unwrap_or_else(|ended| {
            panic!("{told} was never ready, {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr))
        })
    }

    /// The same; how it ended where it was never ready.
    pub fn try_start(mut command: Command) -> Result<Running, Output> {
        let said = tempfile::NamedTempFile::new().unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(said.reopen().unwrap());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let Some(ready) = ready_line(&mut out) else {
            let status = child.wait().unwrap();
            return Err(Output { status, stdout: Vec::new(), stderr: read(said.path()).into_bytes() });
        };
        let health = ready["health"].as_str().unwrap();
        let health = health.strip_prefix("http://").unwrap().strip_suffix("/health").unwrap();
        Ok(Running { child, out, said, health: health.parse().unwrap(), ready })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether it has started a process that still runs.
    pub fn has_children(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        tasks.flatten().any(|task| !read(&task.path().join("children")).trim().is_empty())
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        read(self.said.path())
    }

    /// Status code and body of a page of the health door.
    pub fn get(&self, path: &str) -> (u16, String) {
        get(self.health, path)
    }

    pub fn health(&self) -> (u16, Value) {
        let (code, body) = self.get("/health");
        (code, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// The value of a metric, named with its labels as it is written.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics").1;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }

    /// Waits until it has ended.
    pub fn ended(mut self) -> Ended {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        let word = rest.lines().last().unwrap_or_default().to_owned();
        Ended { code, word, log: self.log() }
    }

    pub fn terminated(self) -> Ended {
        self.signal(Signal::TERM);
        self.ended()
    }

    pub fn killed(self) {
        self.signal(Signal::KILL);
        self.ended();
    }
}

/// No test leaves a daemon behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// It stopped as it should, and nothing was cut off.
    #[track_caller]
    pub fn well(self) -> Ended {
        let word: Value = serde_json::from_str(&self.word).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert_eq!((self.code, &word["stopped"], &word["cut_off"]), (Some(0), &json!(true), &json!([])));
        self
    }
}

/// The command that runs a daemon.
/// Daemons of many tests run at once, and the gateway has one port. Those that are about it say otherwise.
pub const NO_GATEWAY: &str = "gateway.enabled=false";

pub fn up(home: &Home, health: SocketAddr) -> Command {
    home.command(&["--json", "up", "--set", &format!("health.listen={health}"), "--set", NO_GATEWAY])
}

/// An address nobody else has: all of 127.0.0.0/8 is this machine.
pub fn an_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, high, b, c] = std::process::id().to_be_bytes();
    let last = u8::try_from(1 + n % 250).unwrap();
    // Up to 64 ports for one process, and as many again for each of those whose number ends the same.
    let port = 9095 + u16::from(high) * 64 + n / 250 % 64;
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(127, b, c, last), port))
}

fn ready_line(out: &mut BufReader<ChildStdout>) -> Option<Value> {
    loop {
        let mut line = String::new();
        if out.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let value: Value = serde_json::from_str(&line).unwrap();
        if value["ready"] == true {
            return Some(value);
        }
    }
}

pub fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = tell(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (code.unwrap_or_else(|| panic!("no answer to {path}: {answer:?}")), body.to_owned())
}

/// Sends bytes to the health door and gives what comes back.
pub fn tell(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect_timeout(&address, LONG).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // A server that has seen enough closes early.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Waits for a state, and says which one it waited for in vain.
#[track_caller]
pub fn wait_for<T>(what: &str, mut state: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(found) = state() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not come to that: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
pub fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    wait_for(what, || state().then_some(()));
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// More of a home than the tests without a daemon look at.
pub trait Looking {
    fn status(&self) -> Value;
    fn entries(&self) -> Vec<Value>;
    /// The bodies of all entries of a kind.
    fn bodies(&self, kind: &str) -> Vec<Value>;
    fn configure(&self, yaml: &str);
    fn state(&self, name: &str) -> PathBuf;
    fn socket(&self) -> PathBuf;
    /// What has been told through the log, in order.
    fn told(&self) -> Vec<Value>;
}

impl Looking for Home {
    fn status(&self) -> Value {
        let ran = self.run(&["--json", "status"]);
        assert!([0, 1, 3].contains(&ran.code), "{}", ran.err);
        ran.json()
    }

    fn entries(&self) -> Vec<Value> {
        let out = self.run(&["--json", "audit", "tail", "--from", "0"]).ok().out;
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn bodies(&self, kind: &str) -> Vec<Value> {
        let of_kind = self.entries().into_iter().filter(|entry| entry["kind"] == kind);
        of_kind.map(|entry| entry["body"].clone()).collect()
    }

    fn configure(&self, yaml: &str) {
        std::fs::create_dir_all(self.path().join("etc")).unwrap();
        std::fs::write(self.path().join("etc/config.yaml"), format!("version: 1\n{yaml}")).unwrap();
    }

    fn state(&self, name: &str) -> PathBuf {
        self.path().join("state").join(name)
    }

    fn socket(&self) -> PathBuf {
        self.path().join("run/holdfast.sock")
    }

    fn told(&self) -> Vec<Value> {
        let text = read(&self.state("log/notices.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A file that takes so many MiB of the disk.
pub fn take_space(path: &Path, mib: u64) {
    let file = File::create(path).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, mib << 20).unwrap();
}
