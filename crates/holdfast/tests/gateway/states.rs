//! A house with something of everything in it, and the states that starve it: each brought about for real, as the kernel or the house's own bounds do it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holdfast_journal::{Limits, Space};
use holdfast_testkit::files::copy_tree;
use holdfast_testkit::{NoDisk, SmallDisk, require};
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::browser::{Browser, Reply, an_address};
use crate::home::{self, Home, Ran};
use crate::house::{House, modelled};
use crate::rights::There;
use crate::running::{Ended, Looking as _, Running, wait_until};
use crate::scene::{Scene as Files, Template};
use crate::table::Row;

/// Two MiB: ordinary entries stop 128 KiB below that. What the daemon would do by itself at some moment is left out.
const SETTINGS: &str = "journal: { segment_mib: 1, keep_segments: 1, warn_mib: 1, cap_mib: 2 }\nbackup: { enabled: false }\nverify: { every_hours: 0 }\n\
    gateway:\n  services:\n    - { name: echo, host: echo.localhost, to: 127.0.0.1:9, role: operator }\n";
const ORDINARY_STOPS: u64 = (2 << 20) - (128 << 10);

/// Roomy enough that the daemon does not pause by itself before the disk is filled: below 32 MiB it counts as full.
const DISK_BYTES: u64 = 96 << 20;
const DISK_INODES: u64 = 1_000;

/// A user who is nobody else, for a daemon whose threads are limited: the limit does not hold for root.
const SOMEBODY: u32 = 54_321;

/// In which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Calm,
    /// Ordinary entries fit no more.
    LogFull,
    /// Nor do those of people.
    ReserveFull,
    DiskFull,
    InodesFull,
    NoDescriptors,
    /// The system gives the daemon no thread beyond those that it has.
    NoThreads,
    /// The journal's file system failed under the daemon, and became read-only.
    JournalReadOnly,
    /// So did that of the whole home.
    HomeReadOnly,
    /// The house uses all that `disk.budget_mib` gives it.
    BudgetUsed,
    /// The disk below the memories answers nothing: whoever writes to it waits, with the thread that they have.
    MemoryHangs,
}

/// How a state ends before the daemon goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mending {
    /// While the daemon runs.
    Live,
    /// It takes a stop.
    Stopped,
}

impl State {
    fn disk(self) -> Option<Result<SmallDisk, NoDisk>> {
        match self {
            State::DiskFull => Some(SmallDisk::tmpfs(DISK_BYTES)),
            State::InodesFull => Some(SmallDisk::tmpfs_with_inodes(DISK_BYTES, DISK_INODES)),
            State::JournalReadOnly | State::HomeReadOnly | State::MemoryHangs => {
                Some(SmallDisk::ext4(DISK_BYTES))
            }
            State::Calm
            | State::LogFull
            | State::ReserveFull
            | State::NoDescriptors
            | State::NoThreads
            | State::BudgetUsed => None,
        }
    }

    /// What lies on that disk, where it is not the whole home.
    fn apart(self) -> Option<&'static str> {
        match self {
            State::JournalReadOnly => Some("journal"),
            State::MemoryHangs => Some("memory"),
            _ => None,
        }
    }

    /// Settings that it takes.
    fn settings(self) -> &'static str {
        match self {
            State::BudgetUsed => "disk: { budget_mib: 64 }\n",
            State::MemoryHangs => "control: { clients_max: 8 }\n",
            _ => "",
        }
    }

    /// Whether a daemon can be started in it. On a journal that takes no entry nothing is started that could act.
    pub fn lets_a_daemon_start(self) -> bool {
        !matches!(self, State::JournalReadOnly | State::HomeReadOnly)
    }

    pub fn mending(self) -> Mending {
        match self {
            // Nothing leaves a journal without an archive, so a larger cap is what an operator gives it.
            State::LogFull | State::ReserveFull | State::JournalReadOnly | State::HomeReadOnly => {
                Mending::Stopped
            }
            State::Calm
            | State::DiskFull
            | State::InodesFull
            | State::NoDescriptors
            | State::NoThreads
            | State::BudgetUsed
            | State::MemoryHangs => Mending::Live,
        }
    }
}

/// Reads what was added to the journal since the last look.
pub struct Tail {
    journal: PathBuf,
    read: BTreeMap<PathBuf, usize>,
}

impl Tail {
    pub fn new(journal: &Path) -> Tail {
        let mut tail = Tail { journal: journal.to_owned(), read: BTreeMap::new() };
        tail.next();
        tail
    }

    fn next(&mut self) -> Vec<Value> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&self.journal).unwrap().flatten().map(|one| one.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        files.sort();
        let mut new = Vec::new();
        for path in files {
            let text = std::fs::read(&path).unwrap();
            let end = text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 2).min(text.len());
            let from = self.read.insert(path, end).unwrap_or(0);
            new.extend(
                text[from.min(end)..end]
                    .split(|byte| *byte == b'\n')
                    .filter_map(|line| serde_json::from_slice(line).ok()),
            );
        }
        new
    }

    /// Kinds of what was recorded of an act. What the daemon writes by itself meanwhile is not about it.
    pub fn kinds(&mut self) -> Vec<String> {
        let own = [
            "notice.",
            "steward.",
            "holdfast.health.",
            "holdfast.daemon.",
            "holdfast.journal.",
            "gateway.request.",
        ];
        // So does a full disk have it pause, once a minute.
        let by_itself =
            |entry: &Value| entry["kind"] == "holdfast.autonomy.paused" && entry["actor"] == "holdfast";
        // A line that was erased has no kind any more, nor is it new.
        let acts = self.next().into_iter().filter(|entry| !by_itself(entry));
        let kinds = acts.filter_map(|entry| entry["kind"].as_str().map(str::to_owned));
        let mut kinds: Vec<String> =
            kinds.filter(|kind| !own.iter().any(|begin| kind.starts_with(begin))).collect();
        kinds.dedup();
        kinds
    }
}

/// What single rows of the table are about, so that each finds what it needs whatever the others did before.
pub struct More {
    /// Asks that wait: for `approve`, for `reject`, for an order to the API.
    asks: [String; 3],
    /// What the API is handed for the last of them.
    pub verdict: Vec<u8>,
    /// Memories: forgotten on the page, forgotten by the command, and for everything else.
    pub memories: [String; 3],
    /// An entry with a sealed text, which the API erases.
    pub blob: u64,
    /// A real repository, of whoever runs the commands.
    repository: PathBuf,
}

/// A house in some states.
pub struct Scene {
    pub house: House,
    pub owner: Browser,
    /// The same person in another browser, who signs out and whose sessions are ended.
    pub second: Browser,
    pub token: String,
    pub guest: String,
    /// Another device of the owner's.
    pub device: String,
    pub link: String,
    pub codes: Vec<String>,
    pub there: There,
    pub more: More,
    states: Vec<State>,
    /// The daemon runs as somebody whose threads can be limited.
    as_somebody: bool,
    files: Files,
    /// Where commands put what they write for people.
    out: tempfile::TempDir,
    disk: Option<SmallDisk>,
}

impl Scene {
    /// `None` where the machine has no such disk, and that is known.
    pub async fn new(template: &Template, states: &[State]) -> Option<Scene> {
        let disk = match states.iter().find_map(|state| state.disk()) {
            Some(disk) => Some(require(disk)?),
            None => None,
        };
        let apart = states.iter().find_map(|state| state.apart());
        let files = match &disk {
            Some(disk) if apart.is_none() => template.copy_to(disk.path()),
            _ => template.copy(),
        };
        let mut house = House { home: Home::at(&files.home()), ..House::bare() };
        if let (Some(disk), Some(apart)) = (&disk, apart) {
            let (there, here) = (disk.path().join(apart), house.home.path().join("state").join(apart));
            // Nothing was remembered yet, so the daemon would make its folder.
            std::fs::create_dir_all(&here).unwrap();
            copy_tree(&here, &there);
            std::fs::remove_dir_all(&here).unwrap();
            std::os::unix::fs::symlink(&there, &here).unwrap();
        }
        house.home.configure(&settings(2, states));
        if let Some(disk) = &disk {
            // What was laid there so is not the daemon's to make durable; a disk that fails forgets it.
            rustix::fs::syncfs(std::fs::File::open(disk.path()).unwrap()).unwrap();
        }
        let waits = |why: &str| house.ask("Raise swap on web-1.", why, crate::running::LONG * 100);
        let (ask, asks) = (waits("none"), ["more", "still more", "most"].map(waits));
        let states = states.to_vec();
        let as_somebody = states.contains(&State::NoThreads);
        if as_somebody && geteuid().is_root() {
            give_away(house.home.path());
        }
        start(&mut house, as_somebody).unwrap();
        let remember =
            |text: &str| house.home.json(&["memory", "add", text])["id"].as_str().unwrap().to_owned();
        let there = There { ask, memory: remember("The gateway of staging listens on port 9096.") };
        let memories = [
            "The staging database listens on port 5433.",
            "The harbour master of Kiel is called Ines.",
            "The backup server keeps copies for 30 days.",
        ]
        .map(remember);
        let out = tempfile::tempdir().unwrap();
        let text = files.filled("TEXT", out.path());
        let log = ["audit", "log", "--actor", "ana", "--kind", "memory.text.kept", "--blob", &text];
        let kept = house.home.json(&log);
        let more = More {
            verdict: signed(&house, &asks[2], out.path(), as_somebody),
            asks,
            memories,
            blob: kept["seq"].as_u64().unwrap(),
            repository: repository(out.path(), as_somebody),
        };
        let mut scene = populated(house, there, more, files, out).await;
        (scene.as_somebody, scene.disk) = (as_somebody, disk);
        if !states.contains(&State::MemoryHangs) {
            // The tables of memory have what was remembered. Where its disk hangs, that is left for whoever remembers next, and waits.
            scene.run(&["memory", "stats"]).ok();
        }
        for state in states {
            scene.bring_about(state);
        }
        Some(scene)
    }

    /// From now on it is in this one too.
    pub fn bring_about(&mut self, state: State) {
        self.states.push(state);
        match state {
            State::Calm => {}
            State::LogFull | State::ReserveFull => self.fill_log(state),
            State::DiskFull | State::InodesFull => self.fill_disk(state),
            State::NoDescriptors => self.limit_descriptors(true),
            State::NoThreads => self.limit_threads(true),
            State::JournalReadOnly | State::HomeReadOnly => self.disk.as_ref().unwrap().fail().unwrap(),
            State::BudgetUsed => self.use_budget(),
            State::MemoryHangs => self.disk.as_ref().unwrap().freeze().unwrap(),
        }
    }

    /// Ends all of it. A state that takes a stop leaves the daemon stopped when it was; else it runs afterwards.
    pub fn mend(&mut self) {
        let was_running = self.house.daemon.is_some();
        if self.states.iter().any(|state| state.mending() == Mending::Stopped) && was_running {
            self.stop();
        }
        for state in std::mem::take(&mut self.states) {
            match state {
                State::Calm => {}
                State::LogFull | State::ReserveFull => self.house.home.configure(&settings(4, &[])),
                State::DiskFull | State::InodesFull => std::fs::remove_dir_all(self.filler()).unwrap(),
                State::NoDescriptors if self.house.daemon.is_some() => self.limit_descriptors(false),
                State::NoThreads if self.house.daemon.is_some() => self.limit_threads(false),
                State::NoDescriptors | State::NoThreads => {}
                State::BudgetUsed => std::fs::remove_file(self.more_state()).unwrap(),
                State::MemoryHangs => self.disk.as_ref().unwrap().thaw().unwrap(),
                State::JournalReadOnly | State::HomeReadOnly => {
                    self.disk.as_ref().unwrap().mend().unwrap();
                }
            }
        }
        if self.house.daemon.is_none() {
            self.start().unwrap();
        }
    }

    pub fn stop(&mut self) -> Ended {
        self.house.stop()
    }

    /// Starts the daemon in the state that there is; what it ended with where it cannot.
    pub fn start(&mut self) -> Result<(), Ran> {
        start(&mut self.house, self.as_somebody)?;
        if self.states.contains(&State::NoThreads) {
            self.limit_threads(true);
        }
        if self.states.contains(&State::NoDescriptors) {
            self.limit_descriptors(true);
        }
        Ok(())
    }

    /// A command as the user types it who runs the daemon.
    pub fn run(&self, args: &[&str]) -> Ran {
        home::run(as_its_user(self.as_somebody, self.house.home.command(args)), None)
    }

    /// The arguments of a row, with what is there put in.
    pub fn words(&self, row: &Row) -> Vec<String> {
        let out = self.out.path().join(row.command.replace(' ', "-"));
        let args = row.args.iter().map(|word| match self.is_there(row.command, word) {
            Some(there) => there,
            None => self.files.filled(word, &out),
        });
        let mut words: Vec<String> = row.command.split(' ').map(str::to_owned).chain(args).collect();
        if row.command.starts_with("cage ") && geteuid().is_root() && !self.as_somebody {
            // Root's cages are somebody's.
            let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
            words.splice(at..at, ["--user".to_owned(), SOMEBODY.to_string()]);
        }
        words
    }

    /// What a command of the table is about here.
    fn is_there(&self, command: &str, word: &str) -> Option<String> {
        let More { asks: [approve, reject, _], memories: [_, forgotten, kept], repository, .. } = &self.more;
        let there = match (command, word) {
            ("approve", id) if id.starts_with("apr_") => approve.clone(),
            ("reject", id) if id.starts_with("apr_") => reject.clone(),
            ("approvals show", id) if id.starts_with("apr_") => self.there.ask.clone(),
            ("memory forget" | "memory prove-forgotten", "MEMORY") => forgotten.clone(),
            (_, "MEMORY") => kept.clone(),
            ("memory notes", "nobody") => "main".to_owned(),
            ("gateway link", "ana") => "owner".to_owned(),
            ("hook install" | "hook remove" | "hook status", "NOWHERE")
            | ("memory experience mine", "BESIDE") => repository.display().to_string(),
            ("cage run" | "cage explain", "loud") => "work".to_owned(),
            _ => return None,
        };
        Some(there)
    }

    /// Fills up what was let go since: a full disk stays full, whoever frees some of it.
    pub fn keep_full(&self) {
        if self.states.contains(&State::DiskFull) {
            let path = self.filler().join("bytes");
            fill_up(&std::fs::File::options().append(true).open(path).unwrap());
        }
    }

    pub fn same(&self, text: &str) -> String {
        self.files.same(text)
    }

    fn filler(&self) -> PathBuf {
        self.house.home.path().join("filler")
    }

    fn fill_disk(&self, state: State) {
        let folder = self.filler();
        std::fs::create_dir(&folder).unwrap();
        if state == State::InodesFull {
            let full = (0..).find(|n| std::fs::File::create(folder.join(n.to_string())).is_err());
            assert!(full.is_some_and(|n| n > 100), "the disk had inodes to fill: {full:?}");
            return;
        }
        fill_up(&std::fs::File::create(folder.join("bytes")).unwrap());
    }

    /// Something of which the house does not know what it is, and which counts.
    fn more_state(&self) -> PathBuf {
        self.house.home.path().join("state/more")
    }

    /// The daemon looks at a start.
    fn use_budget(&mut self) {
        self.stop();
        std::fs::write(self.more_state(), vec![1; 64 << 20]).unwrap();
        self.start().unwrap();
    }

    fn daemon(&self) -> u32 {
        self.house.daemon.as_ref().unwrap().pid()
    }

    /// No number is free below the limit.
    fn limit_descriptors(&self, tight: bool) {
        if !tight {
            return self.limit("nofile", 4_096);
        }
        // Only a process that runs for a while has used up its own: all its parts are there by then.
        let host = self.house.origin().split("://").nth(1).unwrap().to_owned();
        wait_until("the gateway answers", || answers(&host));
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.daemon())).unwrap().flatten();
        let open: BTreeSet<u64> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let free = (0..).find(|number| !open.contains(number));
        self.limit("nofile", free.unwrap());
    }

    /// Its user has more threads than one already, so no further one is given.
    fn limit_threads(&self, tight: bool) {
        self.limit("nproc", if tight { 1 } else { 4_096 });
    }

    /// By whoever the daemon belongs to: nobody else may without more rights than root has in a container.
    fn limit(&self, what: &str, most: u64) {
        let mut command = Command::new("/usr/bin/prlimit");
        command.args(["--pid", &self.daemon().to_string(), &format!("--{what}={most}:")]);
        home::run(as_its_user(self.as_somebody, command), None).ok();
    }

    /// Fills the log as the daemon would, with its own bounds: ordinary entries until none fits, and then those of people where they are to stop too.
    fn fill_log(&mut self, state: State) {
        self.stop();
        crate::fill::fill(&self.house.home, (ORDINARY_STOPS - (48 << 10)) / 4_400, 4_000);
        crate::fill::fill_up(&self.house.home, bounds(), Space::Ordinary);
        if state == State::ReserveFull {
            crate::fill::fill_up(&self.house.home, bounds(), Space::Reserved);
        }
        self.start().unwrap();
    }

    /// As the owner, each time from another address, with a passkey where it takes one.
    pub async fn posts(&mut self, path: &str, body: &Value) -> Reply {
        self.owner.from = an_address();
        self.owner.post(path, body.clone()).await
    }
}

impl Drop for Scene {
    /// A daemon that waits for a disk cannot be ended before the disk goes on.
    fn drop(&mut self) {
        if let Some(disk) = self.disk.as_ref().filter(|_| self.states.contains(&State::MemoryHangs)) {
            disk.thaw().unwrap();
        }
    }
}

/// As in [`SETTINGS`].
fn bounds() -> Limits {
    let mib = 1 << 20;
    Limits { segment_bytes: mib, keep_segments: 1, warn_bytes: mib, cap_bytes: 2 * mib, ..Limits::default() }
}

fn settings(cap_mib: u32, states: &[State]) -> String {
    let cap = format!("cap_mib: {cap_mib}");
    let more: String = states.iter().map(|state| state.settings()).collect();
    format!("{}{more}{}", SETTINGS.replace("cap_mib: 2", &cap), modelled(1))
}

/// Whether anything is said there on HTTP.
fn answers(host: &str) -> bool {
    let port = host.rsplit(':').next().unwrap();
    let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{port}")) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let asked = format!("GET /login HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).is_ok() && stream.read(&mut [0; 12]).is_ok_and(|read| read > 0)
}

fn fill_up(mut file: &std::fs::File) {
    for size in [1 << 20, 65_536, 4_096] {
        while file.write(&vec![1; size]).is_ok_and(|written| written > 0) {}
    }
}

/// A verdict on an ask, signed with the home's own key as a person elsewhere would.
fn signed(house: &House, ask: &str, out: &Path, as_somebody: bool) -> Vec<u8> {
    let (paper, key) = (out.join("ask.json"), house.home.path().join("etc/keys/approvals.key"));
    std::fs::write(&paper, house.home.run(&["--json", "approvals", "show", ask]).ok().out).unwrap();
    let (paper, key) = (paper.to_str().unwrap(), key.to_str().unwrap());
    let sign = house.home.command(&["approve", "--ask", paper, "--key", key, "--yes"]);
    home::run(as_its_user(as_somebody, sign), None).ok().out.into_bytes()
}

/// A repository with one commit.
fn repository(out: &Path, as_somebody: bool) -> PathBuf {
    let path = out.join("repository");
    std::fs::create_dir(&path).unwrap();
    let who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"];
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "fix: connection refused"]] {
        let mut git = Command::new("/usr/bin/git");
        git.arg("-C").arg(&path).args(who).args(args);
        git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
        home::run(git, None).ok();
    }
    if as_somebody && geteuid().is_root() {
        // Whoever runs the commands must get there.
        give_away(out);
    }
    path
}

/// Everybody who is in it, and what they have.
async fn populated(house: House, there: There, more: More, files: Files, out: tempfile::TempDir) -> Scene {
    let ids = |page: &str, kind: &str| -> String {
        let ids = page.split("name=\"id\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        ids.filter(|id| id.starts_with(kind)).last().unwrap().to_owned()
    };
    let mut owner = house.browser();
    let registered = owner.register(&house.link(None)).await;
    let codes = registered.json["codes"].as_array().unwrap().iter();
    let codes = codes.map(|code| code.as_str().unwrap().to_owned()).collect();
    let token = owner.token("read").await.0;
    house.invited(&mut owner, "Gus", "viewer").await;
    let guest = ids(&owner.get("/settings/people").await.is(200).text, "psn_");
    let link = owner.post("/auth/devices/link", json!({})).await.is(200);
    house.browser().register(link.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap()).await;
    let device = ids(&owner.get("/settings").await.is(200).text, "dev_");
    owner.post("/auth/devices/link", json!({})).await.is(200);
    let link = house.home.json(&["gateway", "links"])["links"][0]["id"].as_str().unwrap().to_owned();
    let mut second = Browser { device: owner.device.clone(), ..house.browser() };
    second.sign_in(None).await.is(200);
    // A session that is left for whoever ends all others.
    Browser { device: owner.device.clone(), ..house.browser() }.sign_in(None).await.is(200);
    second.word().await.unwrap();
    owner.word().await.unwrap();
    Scene {
        house,
        owner,
        second,
        token,
        guest,
        device,
        link,
        codes,
        there,
        more,
        states: Vec::new(),
        as_somebody: false,
        files,
        out,
        disk: None,
    }
}

/// Starts a daemon; gives what it said where it ended instead.
fn start(house: &mut House, as_somebody: bool) -> Result<(), Ran> {
    let command = as_its_user(as_somebody, house.up(&[]));
    house.daemon = Some(Running::try_start(command).map_err(|ended| Ran::of(ended, "up".to_owned()))?);
    Ok(())
}

/// The home belongs to whom the daemon runs as.
fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give_away(&entry.unwrap().path()));
    }
}

/// Limits of threads hold for everybody but root, who may become somebody that may read and write what root may.
fn as_its_user(as_somebody: bool, command: Command) -> Command {
    if !as_somebody || !geteuid().is_root() {
        return command;
    }
    let mut other = Command::new("/usr/bin/setpriv");
    let rights = ["dac_override", "dac_read_search", "fowner"].map(|one| format!(",+{one}")).concat();
    for (option, value) in [("reuid", SOMEBODY), ("regid", SOMEBODY)] {
        other.arg(format!("--{option}={value}"));
    }
    for set in ["inh-caps", "ambient-caps", "bounding-set"] {
        other.arg(format!("--{set}=-all{rights}"));
    }
    other.arg("--clear-groups").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other
}
