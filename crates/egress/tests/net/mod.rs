//! A small world with a real packet filter: two network namespaces with a link between. Inside live the users and the program under test;
//! outside are the servers, with a name server whose answers a test can change.
//!
//! A thread of the test becomes a user inside by its number: the filter asks the kernel whose socket it is, and so do we.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_egress::Status;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space, set_thread_uid};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const DAEMON: u32 = 47_001;
pub(crate) const TRIPWIRE: u32 = 47_002;
pub(crate) const OTHER: u32 = 47_003;
/// CI is slow and everything runs side by side.
const SOON: Duration = Duration::from_secs(60);
/// What is dropped is never answered; what is open answers in a moment.
const NOT_ANSWERED: Duration = Duration::from_millis(300);
/// Ports that somebody outside takes connections on, at every address.
const PORTS: [u16; 5] = [22, 80, 443, 2222, 8080];
pub(crate) const RESOLVER: &str = "10.9.0.53";

/// A namespace, for as long as this lives.
struct Namespace {
    holder: Child,
}

impl Namespace {
    fn new() -> Namespace {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "unshare", "--net", "--", "sleep", "infinity"]);
        let holder = command.stdin(Stdio::null()).spawn().unwrap();
        let namespace = Namespace { holder };
        let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
        wait_until("a namespace", || {
            std::fs::read_link(namespace.path()).is_ok_and(|theirs| theirs != ours)
                && std::fs::read_to_string(format!("/proc/{}/comm", namespace.holder.id()))
                    .is_ok_and(|name| name.trim() == "sleep")
        });
        namespace
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.holder.id()).into()
    }

    fn command(&self, argv: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").args(argv);
        command.stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, argv: &[&str]) -> String {
        let output = self.command(argv).output().unwrap();
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Does something in a thread that is in this namespace, as this user.
    fn within<T: Send>(&self, uid: u32, deed: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(self.path()).unwrap();
        thread::scope(|scope| {
            let thread = scope.spawn(move || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                if uid != 0 {
                    set_thread_uid(rustix::process::Uid::from_raw(uid)).unwrap();
                }
                deed()
            });
            thread.join().unwrap()
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// What the name server says; nothing while it is silent.
#[derive(Clone, Default)]
pub(crate) struct Names {
    records: Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>,
    silent: Arc<Mutex<bool>>,
    seconds: Arc<Mutex<u32>>,
}

impl Names {
    pub(crate) fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|ip| ip.parse().unwrap()).collect();
        self.records.lock().unwrap().insert(name.to_owned(), addresses);
    }

    pub(crate) fn silence(&self, silent: bool) {
        *self.silent.lock().unwrap() = silent;
    }

    pub(crate) fn hold_for(&self, seconds: u32) {
        *self.seconds.lock().unwrap() = seconds;
    }

    fn serve(&self, socket: &UdpSocket) {
        let mut bytes = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            if let Some(answer) = self.answer(&bytes[..length]) {
                let _ = socket.send_to(&answer, from);
            }
        }
    }

    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        if *self.silent.lock().unwrap() {
            return None;
        }
        let (mut at, mut labels) = (12, Vec::new());
        while question[at] != 0 {
            let length = usize::from(question[at]);
            labels.push(String::from_utf8_lossy(&question[at + 1..at + 1 + length]).into_owned());
            at += 1 + length;
        }
        let kind = u16::from_be_bytes([question[at + 1], question[at + 2]]);
        let end = at + 5;
        let found = self.records.lock().unwrap().get(&labels.join(".")).cloned();
        let mut answer = question[..end].to_vec();
        answer[2..4].copy_from_slice(if found.is_some() { &[0x81, 0x80] } else { &[0x81, 0x83] });
        let wanted = |ip: &IpAddr| ip.is_ipv4() == (kind == 1);
        let found: Vec<IpAddr> = found.unwrap_or_default().into_iter().filter(wanted).collect();
        answer[6..8].copy_from_slice(&(found.len() as u16).to_be_bytes());
        answer[8..12].fill(0);
        for ip in found {
            let data = match ip {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            answer.extend([0xc0, 12]);
            answer.extend(kind.to_be_bytes());
            answer.extend([0, 1]);
            answer.extend(self.seconds.lock().unwrap().to_be_bytes());
            answer.extend((data.len() as u16).to_be_bytes());
            answer.extend(data);
        }
        Some(answer)
    }
}

/// The whole of it.
pub(crate) struct Net {
    inside: Namespace,
    _outside: Namespace,
    pub(crate) names: Names,
    home: TempDir,
}

impl Net {
    pub(crate) fn new() -> Net {
        assert!(
            rustix::process::geteuid().is_root(),
            "this takes root: namespaces, users and a packet filter"
        );
        let (inside, outside) = (Namespace::new(), Namespace::new());
        let peer = outside.holder.id().to_string();
        inside.run(&["ip", "link", "set", "lo", "up"]);
        inside.run(&["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", &peer]);
        for (namespace, last) in [(&inside, "2"), (&outside, "1")] {
            namespace.run(&["ip", "addr", "add", &format!("10.9.0.{last}/24"), "dev", "eth0"]);
            namespace.run(&["ip", "addr", "add", &format!("fd09::{last}/64"), "dev", "eth0", "nodad"]);
            namespace.run(&["ip", "link", "set", "eth0", "up"]);
        }
        for last in ["10", "11", "12", "13", "20", "53", "54"] {
            outside.run(&["ip", "addr", "add", &format!("10.9.0.{last}/24"), "dev", "eth0"]);
            outside.run(&["ip", "addr", "add", &format!("fd09::{last}/64"), "dev", "eth0", "nodad"]);
        }
        // Whoever is told to go elsewhere finds nobody, but has a way.
        inside.run(&["ip", "route", "add", "default", "via", "10.9.0.1"]);
        let names = Names::default();
        names.hold_for(60);
        serve(&outside, &names);
        let net = Net { inside, _outside: outside, names, home: tempfile::tempdir().unwrap() };
        for folder in ["etc", "state", "run"] {
            std::fs::create_dir(net.home().join(folder)).unwrap();
        }
        net.put("etc/passwd", &passwd(DAEMON, TRIPWIRE));
        net.put("etc/resolv.conf", &format!("nameserver {RESOLVER}\n"));
        net.put("etc/hosts", "127.0.0.1 localhost\n");
        net
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Written aside and put in its place, as people's editors do.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        let aside = self.home().join("aside");
        std::fs::write(&aside, text).unwrap();
        std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o644)).unwrap();
        holdfast_durable::replace(&path, text.as_bytes(), holdfast_durable::Mode::Readable).unwrap();
    }

    pub(crate) fn config(&self, body: &str) {
        self.put("etc/config.yaml", &format!("version: 1\n{body}"));
    }

    /// Settings of a tripwire with one target.
    pub(crate) fn tripwire(&self, target: &Value) {
        let mut whole = json!({
            "name": "box-1", "key": "/k", "known_hosts": "/h",
            "references": [{ "tcp": { "address": "10.9.0.1:80" } }],
        });
        whole.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
        let settings = json!({ "windows": "/w", "state": "/s", "run": "/r", "targets": [whole] });
        self.put("etc/tripwire.json", &settings.to_string());
    }

    /// The program, at work.
    pub(crate) fn start(&self, pace: u32) -> Program {
        let program = self.launch(pace);
        wait_until("the first rules", || self.status().is_some());
        program
    }

    pub(crate) fn launch(&self, pace: u32) -> Program {
        let log = self.home().join("said");
        let said = File::options().create(true).append(true).open(&log).unwrap();
        let (home, pace) = (self.home().to_str().unwrap(), pace.to_string());
        let argv = [env!("CARGO_BIN_EXE_holdfast-egress"), "run", "--home", home, "--pace", &pace];
        let mut command = self.inside.command(&argv);
        let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        Program { child }
    }

    /// Somebody who lends these, as root. Where it is open is waited for.
    pub(crate) fn lend(&self, pace: u32, places: &[&str]) -> Lender {
        let (home, pace) = (self.home().to_str().unwrap(), pace.to_string());
        let argv = [env!("CARGO_BIN_EXE_holdfast-egress"), "lend", "--home", home, "--pace", &pace];
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).args(places).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "lent, until standard input ends\n", "{}", self.rules());
        Lender { child }
    }

    /// What it said on standard error, all lives together.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.home().join("said")).unwrap_or_default()
    }

    pub(crate) fn clear(&self) -> Output {
        self.inside.command(&[env!("CARGO_BIN_EXE_holdfast-egress"), "clear"]).output().unwrap()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        Status::read(&self.home().join("run/egress")).unwrap()
    }

    pub(crate) fn forget_status(&self) {
        std::fs::remove_file(self.home().join("run/egress/status.json")).unwrap();
    }

    #[track_caller]
    pub(crate) fn nft(&self, argv: &[&str]) -> String {
        self.inside.run(&[&["nft"], argv].concat())
    }

    pub(crate) fn has_table(&self) -> bool {
        self.nft(&["list", "tables"]).contains("holdfast_egress")
    }

    pub(crate) fn inside(&self, argv: &[&str]) -> String {
        self.inside.run(argv)
    }

    pub(crate) fn within<T: Send>(&self, uid: u32, deed: impl FnOnce() -> T + Send) -> T {
        self.inside.within(uid, deed)
    }

    /// Whether somebody takes this user's connection, and waits as long as it takes.
    #[track_caller]
    pub(crate) fn reaches(&self, uid: u32, address: &str) {
        let address: SocketAddr = address.parse().unwrap();
        let connected = self.inside.within(uid, || TcpStream::connect_timeout(&address, SOON));
        assert!(connected.is_ok(), "{uid} to {address}: {connected:?}\n{}", self.rules());
    }

    /// Whether it does at once; no when nobody answers.
    pub(crate) fn gets_through(&self, uid: u32, address: &str) -> bool {
        let address: SocketAddr = address.parse().unwrap();
        self.inside.within(uid, || TcpStream::connect_timeout(&address, NOT_ANSWERED)).is_ok()
    }

    /// That the packet is refused, and that this is written down.
    #[track_caller]
    pub(crate) fn is_refused(&self, uid: u32, address: &str) {
        let to: SocketAddr = address.parse().unwrap();
        let connected = self.inside.within(uid, || TcpStream::connect_timeout(&to, NOT_ANSWERED));
        let error = connected.err().map(|e| e.kind());
        assert_eq!(error, Some(io::ErrorKind::TimedOut), "{uid} to {address}\n{}", self.rules());
        wait_until(&format!("the refusal of {address} is listed"), || {
            let rows = self.status().map(|status| status.refusals).unwrap_or_default();
            rows.iter().any(|row| row.address == to.ip() && row.port == to.port())
        });
    }

    pub(crate) fn rules(&self) -> String {
        let listed =
            self.inside.command(&["nft", "list", "table", "inet", "holdfast_egress"]).output().unwrap();
        format!("{}\n{}", String::from_utf8_lossy(&listed.stdout), self.said())
    }

    /// The signed log: kinds and bodies.
    pub(crate) fn entries(&self) -> Vec<(String, Value)> {
        let view = holdfast_journal::View::open(&self.home().join("state/egress/log"), None).unwrap();
        view.entries(0)
            .map(|raw| {
                let entry: Value = serde_json::from_slice(&raw.unwrap().line).unwrap();
                (entry["kind"].as_str().unwrap().to_owned(), entry["body"].clone())
            })
            .collect()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.entries().iter().filter(|(it, _)| it == kind).count()
    }
}

pub(crate) fn passwd(daemon: u32, tripwire: u32) -> String {
    format!(
        "root:x:0:0:root:/root:/bin/bash\nholdfast:x:{daemon}:{daemon}::/:/usr/sbin/nologin\n\
         holdfast-tripwire:x:{tripwire}:{tripwire}::/:/usr/sbin/nologin\nana:x:1000:1000::/home/ana:/bin/bash\n"
    )
}

fn serve(outside: &Namespace, names: &Names) {
    let mut listeners = Vec::new();
    let socket = outside.within(0, || {
        for port in PORTS {
            listeners.push(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).unwrap());
        }
        UdpSocket::bind((RESOLVER, 53)).unwrap()
    });
    // A socket stays in the namespace it was made in. They end with the test's process.
    for listener in listeners {
        thread::spawn(move || while listener.accept().is_ok() {});
    }
    let names = names.clone();
    thread::spawn(move || names.serve(&socket));
}

/// Lends for as long as it lives.
pub(crate) struct Lender {
    child: Child,
}

impl Lender {
    pub(crate) fn give_back(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The running program; killed when this is dropped.
pub(crate) struct Program {
    child: Child,
}

impl Program {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + SOON;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status.code(),
                None if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
                None => return None,
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !is() {
        assert!(Instant::now() < until, "it did not come to that: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
