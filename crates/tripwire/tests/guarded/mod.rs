//! A machine with a guard: the real process with its own settings, a provider that can start the machine again, an endpoint that can fall,
//! and hosts that have nothing to do with it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_doorman::wire::Role;
use holdfast_journal::{VerifyOptions, View, verify};
use holdfast_lifeline::{Identity, Steady, WindowRecord, WindowState};
use holdfast_testkit::SmallDisk;
use holdfast_tripwire::clock::Moment;
use holdfast_tripwire::heart::Heart;
use holdfast_tripwire::window::{Found, Granted, WindowFile};
use serde_json::{Value, json};

use crate::steps::episode;
use crate::target::{Target, wait_until};

/// What there is besides the first route.
#[derive(Clone, Copy, Debug)]
pub struct With {
    pub second_route: bool,
    pub provider: bool,
    pub endpoint: bool,
    /// The records lie on a disk of their own.
    pub small_disk: bool,
    pub answers: Answers,
    pub pace: u32,
}

impl Default for With {
    fn default() -> With {
        With {
            second_route: false,
            provider: false,
            endpoint: false,
            small_disk: false,
            answers: Answers::Truly,
            pace: 3,
        }
    }
}

/// How the doorman behind the guard's key behaves, on the first route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    Truly,
    /// After a while.
    Late,
    /// It says that it has gone back, and has not.
    Lies,
    /// Everything is done twice.
    Twice,
}

pub struct Guarded<'a> {
    pub target: &'a Target,
    folder: tempfile::TempDir,
    windows: PathBuf,
    disk: Option<SmallDisk>,
    guard: Option<Child>,
    references: Arc<Mutex<Option<TcpListener>>>,
    endpoint: Arc<Mutex<Option<TcpListener>>>,
    provider: Provider,
    line: String,
}

impl<'a> Guarded<'a> {
    pub fn of(target: &'a Target, with: With) -> Guarded<'a> {
        let folder = tempfile::tempdir().unwrap();
        let disk = with.small_disk.then(|| SmallDisk::tmpfs(256 << 10).unwrap());
        let windows =
            disk.as_ref().map_or_else(|| folder.path().join("windows"), |disk| disk.path().to_owned());
        let listens = || Arc::new(Mutex::new(Some(TcpListener::bind("127.0.0.1:0").unwrap())));
        let (references, endpoint) = (listens(), listens());
        let address =
            |it: &Arc<Mutex<Option<TcpListener>>>| it.lock().unwrap().as_ref().unwrap().local_addr().unwrap();
        let provider = Provider::new();
        let place = |name: &str| folder.path().join(name);
        let route = |port: u16| json!({"address": "127.0.0.1", "port": port});
        let call = |path: &str| json!({"url": format!("http://{}{path}", provider.address)});
        let settings = json!({
            "windows": windows, "state": place("state"), "run": place("run"), "pace": with.pace,
            "targets": [{
                "name": "guest",
                "first": route(target.guest.port()),
                "second": with.second_route.then(|| route(target.guest.second_port())),
                "key": target.way().keys.join(Role::Rescue.as_str()),
                "known_hosts": target.guest.known_hosts(),
                "provider": with.provider.then(|| json!({"http": {"reboot": call("/reboot"), "reset": call("/reset"), "check": call("/check")}})),
                "probes": if with.endpoint { json!([{"tcp": {"address": address(&endpoint).to_string()}}]) } else { json!([]) },
                "references": [{"tcp": {"address": address(&references).to_string()}}],
            }]
        });
        std::fs::write(place("tripwire.json"), settings.to_string()).unwrap();
        if with.second_route {
            let second =
                ["systemd-run", "--quiet", "--unit=sshd-second", "/usr/sbin/sshd", "-D", "-p", "2222"];
            target.must(&second);
        }
        let line = misbehaves(target, with.answers);
        let mut guarded =
            Guarded { target, folder, windows, disk, guard: None, references, endpoint, provider, line };
        guarded.start();
        guarded.wait_for("tripwire.way.rehearsed", Duration::from_secs(60));
        guarded
    }

    pub fn start(&mut self) {
        let mut guard = Command::new(env!("CARGO_BIN_EXE_holdfast-tripwire"));
        let said = std::fs::File::options().create(true).append(true).open(self.place("said")).unwrap();
        guard
            .arg("run")
            .arg(self.place("tripwire.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        self.guard = Some(guard.spawn().unwrap());
    }

    pub fn kill(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.kill().unwrap();
            guard.wait().unwrap();
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self) -> WindowFile {
        WindowFile::of(&self.windows, &"guest".parse().unwrap())
    }

    fn record(number: u32, known_good: Identity, candidate: Identity, state: WindowState) -> WindowRecord {
        WindowRecord { episode: episode(number), known_good, candidate, state, deadline: Steady(3_600_000) }
    }

    /// Opened by a steward that has seen the change at work for a minute, and is heard of no more.
    pub fn window(&self, number: u32, known_good: Identity, candidate: Identity) {
        let active = WindowState::Active { since: Steady(60_000) };
        self.open(&Guarded::record(number, known_good, candidate, active));
    }

    pub fn probation(&self, number: u32, known_good: Identity, candidate: Identity) {
        let probation = WindowState::Probation { until: Steady(7_200_000 * 60) };
        self.open(&Guarded::record(number, known_good, candidate, probation));
    }

    fn open(&self, record: &WindowRecord) {
        let opened = self.file().open(record, Moment::now(Steady(120_000)));
        assert!(matches!(opened, Granted::Won), "{opened:?}");
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.file().read(), Found::Record(sheet) if sheet.record.state == WindowState::Closed)
    }

    pub fn destroy_the_record(&self) {
        std::fs::write(self.windows.join("guest.window.json"), "{").unwrap();
    }

    pub fn fill_the_records(&self) {
        let mut file = std::fs::File::create(self.disk.as_ref().unwrap().path().join("fill")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    pub fn give_room(&self) {
        std::fs::remove_file(self.disk.as_ref().unwrap().path().join("fill")).unwrap();
    }

    pub fn endpoint_falls(&self) {
        self.endpoint.lock().unwrap().take();
    }

    pub fn references_fall(&self) {
        self.references.lock().unwrap().take();
    }

    /// From here on the provider's soft reboot is ignored.
    pub fn freeze(&self) {
        self.target.guest.freeze();
        self.provider.frozen.store(true, Ordering::SeqCst);
    }

    /// What the guard's own log has, in order.
    pub fn log(&self) -> Vec<Value> {
        let Ok(view) = View::open(&self.place("state").join("log"), None) else { return Vec::new() };
        view.entries(0).map_while(Result::ok).map(|raw| serde_json::from_slice(&raw.line).unwrap()).collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.log().iter().filter(|entry| entry["kind"] == kind).count()
    }

    pub fn field(&self, kind: &str, name: &str) -> String {
        let log = self.log();
        let entry = log.iter().rev().find(|entry| entry["kind"] == kind).unwrap();
        entry["body"][name].as_str().unwrap_or_default().to_owned()
    }

    pub fn undone_by(&self) -> String {
        let log = self.log();
        let entry = log.iter().rev().find(|entry| entry["kind"] == "tripwire.episode.undone").unwrap();
        entry["body"]["end"]["restored"]["by"].as_str().unwrap_or_default().to_owned()
    }

    /// Carries out what the provider was asked meanwhile.
    #[track_caller]
    pub fn wait_for(&self, kind: &str, within: Duration) {
        let until = Instant::now() + within;
        while self.count(kind) == 0 {
            self.provider.carry_out(self.target);
            if Instant::now() >= until {
                let said = std::fs::read_to_string(self.place("said")).unwrap_or_default();
                panic!("it did not come to {kind}: {:#?}\n{said}", self.log());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn heart(&self) -> Heart {
        Heart::read(&self.place("run"), &"guest".parse().unwrap()).unwrap()
    }

    /// Returns when so many more rounds are over.
    #[track_caller]
    pub fn wait_for_rounds(&self, count: usize) {
        for _ in 0..count {
            let before = self.heart().beat_ms;
            wait_until("a round is over", Duration::from_secs(60), || self.heart().beat_ms > before);
        }
    }

    #[track_caller]
    pub fn wait_until_alone(&self) {
        wait_until("the guard sees that it is cut off", Duration::from_secs(60), || self.heart().alone);
    }

    pub fn asked(&self) -> Vec<String> {
        self.provider.asked.lock().unwrap().iter().filter(|it| *it != "/check").cloned().collect()
    }

    pub fn verified(&self) {
        let log = self.place("state").join("log");
        let (trust, vault, archive) = (None, None, None);
        let options = VerifyOptions { trust, vault, archive, every_signature: true, progress: &mut |_| {} };
        let verified = verify(&log, options).unwrap();
        assert!(verified.is_good(), "{:?}", verified.findings);
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(self.place("said")).unwrap_or_default());
            return;
        }
        self.put_away();
    }
}

impl Guarded<'_> {
    /// What was put there for the test goes: back to the doorman's own line, and no second way in.
    pub fn put_away(&self) {
        let back = r#"printf '%s' "$1" >/root/.ssh/authorized_keys; rm -f /root/between
            systemctl stop sshd-second.service 2>/dev/null; systemctl reset-failed sshd-second.service 2>/dev/null; true"#;
        self.target.must(&["sh", "-c", back, "back", &self.line]);
    }
}

/// Puts somebody between the guard's key and the doorman. Gives the lines as they were.
fn misbehaves(target: &Target, answers: Answers) -> String {
    let lines = target.must(&["cat", "/root/.ssh/authorized_keys"]);
    let doorman = "/usr/local/lib/holdfast/holdfast-doorman rescue";
    let first = |deed: &str| {
        format!("#!/bin/sh\ncase \"$SSH_CONNECTION\" in *' 22') {deed};; esac\nexec {doorman}\n")
    };
    let script = match answers {
        Answers::Truly => return lines,
        Answers::Late => first("sleep 3"),
        Answers::Lies => {
            first("[ \"$SSH_ORIGINAL_COMMAND\" != restore ] || { echo '\"accepted\"'; exit 0; }")
        }
        Answers::Twice => first(&format!(
            "said=$(cat); printf '%s' \"$said\" | {doorman} >/dev/null; printf '%s' \"$said\" | {doorman}; exit"
        )),
    };
    target.write("/root/between", &script);
    target.must(&["chmod", "700", "/root/between"]);
    target.write("/root/.ssh/authorized_keys", &lines.replace(doorman, "/root/between"));
    lines
}

/// Paths of requests, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// Whoever provides the machine, over HTTP. What it is asked is done by the test, which alone has the machine in its hands.
struct Provider {
    address: SocketAddr,
    asked: Asked,
    due: Asked,
    frozen: AtomicBool,
}

impl Provider {
    fn new() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, due) = (Asked::default(), Asked::default());
        let (into, then) = (Arc::clone(&asked), Arc::clone(&due));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if let Some(path) = answered(stream) {
                    into.lock().unwrap().push(path.clone());
                    then.lock().unwrap().push(path);
                }
            }
        });
        Provider { address, asked, due, frozen: AtomicBool::new(false) }
    }

    fn carry_out(&self, target: &Target) {
        let due = std::mem::take(&mut *self.due.lock().unwrap());
        for path in due {
            match (path.as_str(), self.frozen.load(Ordering::SeqCst)) {
                ("/reboot", false) => target.guest.reset(),
                ("/reset", frozen) => {
                    if frozen {
                        target.guest.thaw();
                        self.frozen.store(false, Ordering::SeqCst);
                    }
                    target.guest.reset();
                }
                _ => {}
            }
        }
    }
}

/// Reads a request to its end and says yes. Gives its path.
fn answered(mut stream: TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").ok()?;
    first.split_whitespace().nth(1).map(str::to_owned)
}
