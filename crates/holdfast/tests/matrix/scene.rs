//! A home in some state, and the program run in it.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use holdfast_journal::SystemClock;
use holdfast_testkit::files::copy_tree;
use holdfast_types::Clock as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::home::{Home, PROGRAM, Ran};
use super::table::{Row, TABLE};
use super::transcript::{told, values};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home with a bit of everything, and beside it what commands take as arguments. Made once, copied for each cell.
pub(crate) struct Template {
    dir: tempfile::TempDir,
    stranger: String,
}

/// A copy of the template, or another place that commands are run in.
pub(crate) struct Scene {
    _dir: Option<tempfile::TempDir>,
    /// What the home and the files beside it lie in.
    top: PathBuf,
    stranger: String,
    address: String,
}

/// How the three streams of a command are set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    Plain,
    /// Nothing on stdin, not even an end of file, and no terminal to be found.
    NoTerminal,
    /// Whoever was to read stdout has gone.
    ReaderLeft,
    /// As usual, and nothing says where the home is.
    NoHome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    People,
    Json,
}

pub(crate) const FORMS: [Form; 2] = [Form::People, Form::Json];

/// One command in one state: how it ended.
pub(crate) struct Cell {
    pub(crate) row: Row,
    pub(crate) form: Form,
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    /// As a user would have typed it.
    pub(crate) typed: String,
    /// As it stands in a transcript.
    pub(crate) told: String,
    /// What changed in the home and beside it.
    pub(crate) changed: Vec<String>,
}

impl Template {
    pub(crate) fn new() -> Template {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home"));
        let file = |name: &str| dir.path().join(name).display().to_string();
        home.run(&["init", "--name", "web-1"]).ok();
        home.log_many(2);
        std::fs::write(file("text"), "dear diary").unwrap();
        std::fs::write(file("series.csv"), "timestamp,value\n2026-11-15,3\n2026-11-16,4\n2026-11-17,\n")
            .unwrap();
        std::fs::write(
            file("lines.jsonl"),
            "{\"id\":\"D1\",\"content\":\"The harbour master is called Ines.\",\"agent\":\"scout\"}\nno line\n",
        )
        .unwrap();
        std::fs::write(
            file("notes.md"),
            "# Ferry\n\nThe ferry leaves at nine on weekdays.\n\n- Let me check the timetable first.\n",
        )
        .unwrap();
        std::fs::write(file("queries.jsonl"), "{\"id\":1,\"query\":\"which port\",\"agent\":\"main\"}\n")
            .unwrap();
        let blob = ["audit", "log", "--actor", "ana", "--kind", "memory.text.kept", "--blob", &file("text")];
        home.run(&blob).ok();
        let keep = |name: &str, text: &str| std::fs::write(file(name), text).unwrap();
        let vkey = home.json(&["audit", "witness", "init", "--name", "w1"])["vkey"].clone();
        home.run(&["audit", "witness", "trust", vkey.as_str().unwrap()]).ok();
        keep("proof.json", &home.run(&["--json", "audit", "prove", "1"]).ok().out);
        let request = || home.run(&["audit", "witness", "request", "--witness", "w1"]).ok().out;
        keep("request", &request());
        keep("cosigned", &home.run(&["audit", "witness", "cosign", &file("request")]).ok().out);
        home.run(&["audit", "witness", "accept", &file("cosigned")]).ok();
        keep("request", &request());
        home.log("{\"n\":2}").ok();
        home.run(&["rebuild"]).ok();
        home.run(&["backup"]).ok();
        let stranger = Home::bare();
        let vkey = stranger.json(&["audit", "witness", "init", "--name", "w2"])["vkey"].clone();
        Template { dir, stranger: vkey.as_str().unwrap().to_owned() }
    }

    pub(crate) fn copy(&self) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        self.fill(dir.path());
        Scene { top: dir.path().to_owned(), _dir: Some(dir), ..self.scene() }
    }

    /// A copy in a directory of the caller's.
    pub(crate) fn copy_to(&self, top: &Path) -> Scene {
        self.fill(top);
        Scene { top: top.to_owned(), ..self.scene() }
    }

    /// Only what is beside the home.
    pub(crate) fn without_home(&self) -> Scene {
        let scene = self.copy();
        std::fs::remove_dir_all(scene.home()).unwrap();
        scene
    }

    fn fill(&self, top: &Path) {
        copy_tree(self.dir.path(), top);
    }

    fn scene(&self) -> Scene {
        let (stranger, address) = (self.stranger.clone(), free_address());
        Scene { _dir: None, top: PathBuf::new(), stranger, address }
    }
}

/// An address of the loopback network that is this process's alone, so that tests do not meet at a port.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let [_, a, b, c] = std::process::id().to_be_bytes();
    format!("127.{a}.{b}.{c}:{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Scene {
    /// A place where nothing is, neither a home nor anything beside it.
    pub(crate) fn empty() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().to_owned();
        Scene { _dir: Some(dir), top, stranger: "w2+[KEY]".into(), address: free_address() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    pub(crate) fn run(&self, row: Row, form: Form, streams: Streams) -> Cell {
        let name =
            format!("{}{}", row.command.replace(' ', "-"), if form == Form::Json { "-json" } else { "" });
        self.run_args(row, row.args, form, streams, &self.top.join(name))
    }

    /// The row with other arguments.
    pub(crate) fn run_args(&self, row: Row, args: &[&str], form: Form, streams: Streams, out: &Path) -> Cell {
        let mut words: Vec<String> = if form == Form::Json { vec!["--json".into()] } else { vec![] };
        words.extend(row.command.split(' ').map(str::to_owned));
        words.extend(args.iter().map(|word| self.filled(word, out)));
        let before = self.files();
        let ran = self.ran(&words, streams, row.command == "up");
        let typed = words.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" ");
        let typed = self.same(&format!("$ holdfast {typed}"));
        let told = self.same(&told(&typed, &ran, form));
        let changed = differences(&before, &self.files());
        Cell { row, form, code: ran.code, out: ran.out, err: ran.err, typed, told, changed }
    }

    pub(crate) fn filled(&self, word: &str, out: &Path) -> String {
        let beside = |name: &str| self.top.join(name).display().to_string();
        match word {
            "OUT" => out.display().to_string(),
            "TEXT" => beside("text"),
            "BESIDE" => self.top.display().to_string(),
            "SERIES" => beside("series.csv"),
            "LINES" => beside("lines.jsonl"),
            "NOTES" => beside("notes.md"),
            "QUERIES" => beside("queries.jsonl"),
            // The first that is captured on this day.
            "MEMORY" => format!("{}001", todays()),
            // Not in any repository: what these do in one is shown elsewhere, with the real git.
            "NOWHERE" => beside("nowhere"),
            "PROOF" => beside("proof.json"),
            "REQUEST" => beside("request"),
            "COSIGNED" => beside("cosigned"),
            "STRANGER" => self.stranger.clone(),
            other => other.replace("ADDRESS", &self.address),
        }
    }

    fn ran(&self, words: &[String], streams: Streams, is_daemon: bool) -> Ran {
        let mut command = command(words, streams);
        if streams != Streams::NoHome {
            command.env("HOLDFAST_HOME", self.home());
        }
        if is_daemon { self.until_ready(command, streams) } else { Running::new(&mut command, streams).end() }
    }

    /// Runs a daemon until it answers, then stops it as a service manager does.
    fn until_ready(&self, mut command: Command, streams: Streams) -> Ran {
        // A daemon that is there already answers; the new one then ends by itself.
        let others = self.is_answered();
        let mut running = Running::new(&mut command, streams);
        let began = Instant::now();
        while running.is_there() {
            if !others && self.is_answered() {
                running.terminate();
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{command:?} neither came up nor ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.end()
    }

    fn is_answered(&self) -> bool {
        UnixStream::connect(self.home().join("run/holdfast.sock")).is_ok()
    }

    /// Whether the daemon has caught up with the journal, so that what it says does not depend on when it is asked.
    fn is_settled(&self) -> bool {
        let ran = self.ran(&["--json".to_owned(), "status".to_owned()], Streams::Plain, false);
        let Ok([status]) = <[Value; 1]>::try_from(values(&ran.out).unwrap_or_default()) else { return false };
        let projections = status["projections"].as_array().into_iter().flatten();
        status["pause"]["paused"] == false && projections.into_iter().all(|p| p["behind"] == 0)
    }

    /// The text with what differs from copy to copy taken out.
    pub(crate) fn same(&self, text: &str) -> String {
        text.replace(&self.home().display().to_string(), "[HOME]")
            .replace(&self.top.display().to_string(), "[BESIDE]")
            .replace(&self.address, "[ADDRESS]")
            .replace(PROGRAM, "[PROGRAM]")
            .replace(&todays(), "mem-[DAY]-")
            .replace(&self.stranger, "w2+[KEY]")
    }

    /// Everything in the home and beside it. Of a lock the name alone: who held it last is no state.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut todo = vec![self.top.clone()];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.top).unwrap().to_owned();
                let kind = path.symlink_metadata().unwrap().file_type();
                if kind.is_dir() {
                    todo.push(path.clone());
                }
                if !is_companion(&name) {
                    let bytes = kind.is_file() && !is_lock(&name);
                    all.insert(name, if bytes { std::fs::read(&path).unwrap() } else { vec![] });
                }
            }
        }
        all
    }
}

/// How the ids of memories begin that are captured today.
fn todays() -> String {
    let now = SystemClock::new().now().to_string();
    format!("mem-{}-", now.split('T').next().unwrap())
}

fn is_lock(name: &Path) -> bool {
    name.extension().is_some_and(|end| end == "lock") || name.ends_with("LOCK")
}

/// What SQLite keeps beside a database: also those that only read make it.
fn is_companion(name: &Path) -> bool {
    let name = name.to_string_lossy();
    name.ends_with(".db-wal") || name.ends_with(".db-shm")
}

/// The program with nothing from this process's environment.
pub(crate) fn command(words: &[String], streams: Streams) -> Command {
    let mut command = match streams {
        Streams::NoTerminal => {
            // Neither a stream nor a controlling terminal to ask anything on.
            let mut command = Command::new("/usr/bin/setsid");
            command.args(["--wait", "/bin/sh", "-c", r#"exec "$@" <&-"#, "sh", PROGRAM]);
            command
        }
        Streams::Plain | Streams::ReaderLeft | Streams::NoHome => Command::new(PROGRAM),
    };
    command.args(words).env_clear();
    command
}

/// A process that does not outlive the test.
pub(crate) struct Running {
    child: Option<Child>,
    command: String,
}

impl Running {
    fn new(command: &mut Command, streams: Streams) -> Running {
        let stdout = match streams {
            Streams::ReaderLeft => std::io::pipe().map(|(_, writer)| Stdio::from(writer)).unwrap(),
            Streams::Plain | Streams::NoTerminal | Streams::NoHome => Stdio::piped(),
        };
        let child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        Running { child: Some(child), command: format!("{command:?}") }
    }

    /// A daemon that has come up in this scene.
    pub(crate) fn daemon(scene: &Scene) -> Running {
        // What it would do by itself at some moment is left out: it writes entries between those of the commands.
        let listen = format!("health.listen={}", scene.address);
        let quiet = ["log.level=error", "verify.every_hours=0", "gateway.enabled=false"];
        let [log, verify, gateway] = quiet;
        let words = ["--json", "up", "--set", &listen, "--set", log, "--set", verify, "--set", gateway];
        let mut command = command(&words.map(str::to_owned), Streams::Plain);
        let mut running = Running::new(command.env("HOLDFAST_HOME", scene.home()), Streams::Plain);
        let began = Instant::now();
        while !(scene.is_answered() && scene.is_settled()) {
            assert!(running.is_there() && began.elapsed() < PATIENCE, "the daemon did not come up");
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    fn is_there(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    fn terminate(&self) {
        let id = self.child.as_ref().map(Child::id).unwrap();
        kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits for it to end.
    pub(crate) fn end(mut self) -> Ran {
        let child = self.child.take().unwrap();
        Ran::of(child.wait_with_output().unwrap(), std::mem::take(&mut self.command))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A word as it would be typed in a shell.
fn typed(word: &str) -> String {
    let plain = !word.is_empty() && !word.contains([' ', '"', '{', '\'']);
    if plain { word.to_owned() } else { format!("'{word}'") }
}

fn differences(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let new_or_other = after.iter().filter(|(name, bytes)| before.get(*name) != Some(*bytes));
    gone.chain(new_or_other.map(|(name, _)| name)).map(|name| name.display().to_string()).collect()
}

/// Every row in both forms, each in a scene of its own, some at the same time; in the order of the table.
pub(crate) fn every_cell(at_once: usize, cell: impl Fn(Row, Form) -> Cell + Sync) -> Vec<Cell> {
    let todo: Vec<(Row, Form)> = TABLE.iter().flat_map(|row| FORMS.map(|form| (*row, form))).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                while let Some((n, (row, form))) = {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    todo.get(n).map(|cell| (n, *cell))
                } {
                    let cell = cell(row, form);
                    done.lock().unwrap().insert(n, cell);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}
