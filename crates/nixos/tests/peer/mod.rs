//! A scripted NixOS. It is none: git, the evaluation, the build, the store and the profile are real programs on real files, while
//! activation, the service manager, the clock and the boot are played by this file.
//!
//! It is told argument lists, as a host would be, knows exactly those it should be told, and stops the test at any other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use holdfast_laws::{NotHere, Subject};
use holdfast_nixos::{Machine, NixosHost, NotRun, Place, Programs, Said, Step};
use holdfast_steward::setting::{Property, Setting, UnitName, Value};
use holdfast_steward_host::Driver;
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;
const ACTIVATION_TAKES: Duration = Duration::from_secs(6);
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// What goes wrong with the next activation of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Everything is switched, and some units do not start.
    UnitsFail,
    /// Somebody else is switching: nothing is done.
    Locked,
    /// It fails at once and nothing is done.
    Fails,
    /// The process dies before anything is switched.
    DiesBefore,
    /// The process dies when the system is switched and nothing else is done.
    DiesAfter,
    /// It goes on for ever.
    Hangs,
}

#[derive(Debug)]
struct Unit {
    name: String,
    /// Nothing for one that never ends.
    due: Option<Duration>,
    args: Vec<String>,
    is_timer: bool,
}

#[derive(Debug, Default)]
struct Inner {
    clock: Duration,
    booted_at: Duration,
    boots: u64,
    units: Vec<Unit>,
    names: Vec<String>,
    mishaps: VecDeque<(&'static str, Mishap)>,
    cut: bool,
    /// After so many more steps over the line nothing goes through.
    steps_left: Option<u32>,
    told: Vec<Vec<String>>,
}

#[derive(Debug)]
pub struct Peer {
    pub folder: TempDir,
    pub place: Place,
    pub programs: Programs,
    inner: RefCell<Inner>,
}

/// A way to the peer: the controller's, which can be cut, or the host's own.
#[derive(Clone, Debug)]
pub struct Way {
    peer: Rc<Peer>,
    is_line: bool,
}

impl Machine for Way {
    fn run(&self, place: &Place, step: &Step) -> Result<Said, NotRun> {
        if self.is_line && self.peer.is_cut() {
            return Err(NotRun::Unreachable);
        }
        self.peer.run(&step.argv(place), step.within())
    }
}

impl Peer {
    fn new() -> Peer {
        // In memory where that can be: every small file here is synced, and a busy disk would be what is measured.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let at = |name: &str| folder.path().join(name);
        let place = Place {
            store: at("store"),
            profile: at("var/profiles/system"),
            current: at("run/current-system"),
            repository: at("configuration"),
            state: at("holdfast"),
            program: "/run/current-system/sw/bin/holdfast-doorman".into(),
            ..Place::of("target-1".parse().unwrap())
        };
        for made in ["store", "var/profiles", "var/gcroots", "run", "home", "log", "conf"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        // As a NixOS has it: what runs is kept in the store.
        symlink(&place.current, at("var/gcroots/current-system")).unwrap();
        let conf = "build-users-group =\nsandbox = false\nsubstitute = false\nsubstituters =\n";
        fs::write(at("conf/nix.conf"), conf).unwrap();
        let environment = vec![
            ("NIX_STORE_DIR", at("store")),
            ("NIX_STATE_DIR", at("var")),
            ("NIX_LOG_DIR", at("log")),
            ("NIX_CONF_DIR", at("conf")),
            ("NIX_REMOTE", "local".into()),
            ("HOME", at("home")),
        ];
        let inner = RefCell::new(Inner { boots: 1, ..Inner::default() });
        Peer { folder, place, programs: Programs { environment }, inner }
    }

    fn is_cut(&self) -> bool {
        let mut inner = self.inner.borrow_mut();
        if let Some(left) = &mut inner.steps_left {
            if *left == 0 {
                return true;
            }
            *left -= 1;
        }
        inner.cut
    }

    /// Everything it was told, for whoever wants to know.
    pub fn told(&self) -> Vec<Vec<String>> {
        self.inner.borrow().told.clone()
    }

    fn run(&self, argv: &[String], within: Duration) -> Result<Said, NotRun> {
        self.inner.borrow_mut().told.push(argv.to_vec());
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let said = |text: String| Ok(Said { text, ..Said::default() });
        let place = &self.place;
        let is = |word: &str, path: &Path| Path::new(word) == path;
        match words.as_slice() {
            // --- real programs, on real files
            ["readlink", "--canonicalize-existing", "--", path] if is(path, &place.current) || is(path, &place.profile) => {
                self.programs.run_argv(argv, within)
            }
            ["find", _, "-maxdepth", "1", "-type", "l", "-name", "system-*-link", "-printf", "%f %l\\n"]
            | ["df", "--block-size=1", "--output=avail", "--", _]
            | ["nix-instantiate", "--parse", "--", _]
            | ["nix-store", "--check-validity", "--", _]
            | ["nix-store", "--add-root", _, "--indirect", "--realise", "--", _]
            | ["nix-store", "--gc"]
            | ["nix-env", "--profile", _, "--set" | "--switch-generation", _]
            | ["nix-env", "--profile", _, "--delete-generations", ..] => self.programs.run_argv(argv, within),
            ["nix", "--extra-experimental-features", "nix-command flakes", "--option", "allow-import-from-derivation", "false", "--max-jobs", "1", rest @ ..] =>
            {
                let _known @ (["eval", "--json", "--no-write-lock-file", "--no-update-lock-file", _, "--apply", _]
                | ["flake", "check", "--no-build", "--no-write-lock-file", "--no-update-lock-file", _]
                | ["build", "--cores", "1", "--out-link", _, "--no-write-lock-file", "--no-update-lock-file", _]) = rest
                else {
                    panic!("nobody tells a host {argv:?}")
                };
                self.programs.run_argv(argv, within)
            }
            // --- played
            ["cat", "--", "/proc/uptime"] => said(format!("{:.2} 0.00\n", self.uptime().as_secs_f64())),
            ["cat", "--", "/proc/sys/kernel/random/boot_id"] => {
                said(format!("{:08x}-0000-4000-8000-000000000000\n", self.inner.borrow().boots))
            }
            ["cat", "--", "/proc/meminfo"] => said("MemTotal:        4194304 kB\nMemFree: 1 kB\n".to_owned()),
            ["cat", "--", "/proc/pressure/memory"] => {
                said("some avg10=0.00 avg60=0.25 avg300=0.10 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n".to_owned())
            }
            ["cat", "--", path] if path.starts_with("/sys/fs/cgroup/system.slice/") => said("oom 2\noom_kill 1\n".to_owned()),
            ["systemctl", "show", "--property=Id,ActiveState,NRestarts,ControlGroup", "--", units @ ..] => {
                let one = |unit: &&str| {
                    format!("Id={unit}\nActiveState=active\nNRestarts=0\nControlGroup=/system.slice/{unit}\n")
                };
                said(units.iter().map(one).collect::<Vec<_>>().join("\n"))
            }
            ["systemctl", "show", "--property=ActiveState", "--value", "--", unit] => {
                let runs = self.inner.borrow().units.iter().any(|it| !it.is_timer && format!("{}.service", it.name) == **unit);
                said(if runs { "active\n" } else { "inactive\n" }.to_owned())
            }
            ["systemctl", "stop", "--", unit] => {
                self.inner.borrow_mut().units.retain(|it| it.is_timer || format!("{}.service", it.name) != **unit);
                said(String::new())
            }
            ["systemd-run", "--quiet", "--collect", "--no-block", unit, "--", program, "activate", episode, candidate]
                if is(program, &place.program) =>
            {
                let due = self.inner.borrow().clock + ACTIVATION_TAKES;
                self.start(unit, Some(due), &["activate", episode, candidate], false);
                said(String::new())
            }
            ["systemd-run", "--quiet", "--collect", unit, after, "--timer-property=AccuracySec=100ms", "--property=Restart=on-failure", "--property=RestartSec=5s", "--property=StartLimitIntervalSec=0", "--", program, "expire"]
                if is(program, &place.program) =>
            {
                let seconds = after.strip_prefix("--on-active=").unwrap().strip_suffix('s').unwrap().parse().unwrap();
                let due = self.inner.borrow().clock + Duration::from_secs(seconds);
                self.start(unit, Some(due), &["expire"], true);
                said(String::new())
            }
            [program, how @ ("test" | "boot" | "switch")] if program.ends_with("/bin/switch-to-configuration") => {
                Ok(self.switch(program, how))
            }
            _ => panic!("nobody tells a host {argv:?}"),
        }
    }

    fn uptime(&self) -> Duration {
        let inner = self.inner.borrow();
        inner.clock - inner.booted_at
    }

    /// As the manager does it, a name is taken once.
    fn start(&self, unit: &str, due: Option<Duration>, args: &[&str], is_timer: bool) {
        let name = unit.strip_prefix("--unit=").unwrap().to_owned();
        let mut inner = self.inner.borrow_mut();
        assert!(!inner.names.contains(&name), "{name} was used before");
        inner.names.push(name.clone());
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        inner.units.push(Unit { name, due, args, is_timer });
    }

    /// The next activation of this kind goes wrong.
    pub fn next(&self, how: &'static str, mishap: Mishap) {
        self.inner.borrow_mut().mishaps.push_back((how, mishap));
    }

    fn mishap(&self, how: &str) -> Option<Mishap> {
        let mut inner = self.inner.borrow_mut();
        let at = inner.mishaps.iter().position(|(of, _)| *of == how)?;
        inner.mishaps.remove(at).map(|it| it.1)
    }

    fn switch(&self, program: &str, how: &str) -> Said {
        let system = program.strip_suffix("/bin/switch-to-configuration").unwrap();
        // The program is really there: what was built, and is still in the store.
        assert!(Path::new(program).is_file(), "{program} is gone");
        let failed = |code| Said { code, complaint: "it is not to be\n".to_owned(), ..Said::default() };
        match self.mishap(how) {
            Some(Mishap::Locked) => return failed(11),
            Some(Mishap::Fails) => return failed(1),
            Some(Mishap::UnitsFail) => {
                self.switched(system, how);
                return failed(4);
            }
            Some(other @ (Mishap::DiesBefore | Mishap::DiesAfter | Mishap::Hangs)) => {
                panic!("{other:?} is for activations in a unit of their own")
            }
            None => {}
        }
        self.switched(system, how);
        Said::default()
    }

    fn switched(&self, system: &str, how: &str) {
        if how != "boot" {
            self.run_this(Path::new(system));
        }
        if how != "test" {
            fs::write(self.folder.path().join("boot-default"), system).unwrap();
        }
    }

    fn run_this(&self, system: &Path) {
        let _ = fs::remove_file(&self.place.current);
        symlink(system, &self.place.current).unwrap();
    }

    /// What the boot loader would start.
    pub fn boot_default(&self) -> String {
        fs::read_to_string(self.folder.path().join("boot-default")).unwrap()
    }

    #[track_caller]
    pub fn must(&self, argv: &[&str]) -> String {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let said = self.programs.run_argv(&argv, Duration::from_secs(60)).unwrap();
        assert_eq!(said.code, 0, "{argv:?}: {}", said.complaint);
        said.text.trim().to_owned()
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let repository = self.place.repository.to_str().unwrap();
        self.must_git(&[["-C", repository].as_slice(), args].concat())
    }

    /// People's git, with whatever their repository says.
    #[track_caller]
    pub fn must_git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).env("HOME", self.folder.path().join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "ana").env(format!("GIT_{role}_EMAIL"), "ana@localhost");
            command.env(format!("GIT_{role}_DATE"), "@0 +0000");
        }
        let out = command.output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Every file that git keeps of people's clone, with its time of change.
    pub fn git_state(&self) -> Vec<(PathBuf, SystemTime)> {
        let mut open = vec![self.place.repository.join(".git")];
        let mut all = Vec::new();
        while let Some(folder) = open.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => open.push(path),
                    false => all.push((path.clone(), path.metadata().unwrap().modified().unwrap())),
                }
            }
        }
        all.sort();
        all
    }

    /// What Nix keeps of what it fetched.
    pub fn forget_fetched(&self) {
        fs::remove_dir_all(self.folder.path().join("home/.cache")).unwrap();
    }

    /// What people's clone builds now, as they would deploy it.
    pub fn built(&self) -> PathBuf {
        let link = self.folder.path().join("peoples-build");
        let flake = format!(
            "git+file://{}#nixosConfigurations.\"target-1\".config.system.build.toplevel",
            self.place.repository.display()
        );
        let features = ["nix", "--extra-experimental-features", "nix-command flakes"];
        self.must(&[features.as_slice(), &["build", "--out-link", link.to_str().unwrap(), &flake]].concat());
        fs::read_link(link).unwrap()
    }

    /// People deploy what their clone says, as `nixos-rebuild switch` would.
    pub fn deploy(&self) {
        let system = self.built();
        self.must(&[
            "nix-env",
            "--profile",
            self.place.profile.to_str().unwrap(),
            "--set",
            system.to_str().unwrap(),
        ]);
        self.switched(system.to_str().unwrap(), "switch");
    }
}

/// A host of the scripted kind, with its line and its own hands.
#[derive(Debug)]
pub struct Scripted {
    pub peer: Rc<Peer>,
    pub driver: NixosHost<Way>,
    own: NixosHost<Way>,
}

pub fn units() -> Vec<UnitName> {
    ["web.service", "batch.slice", "clash.slice", "nix-daemon.service"]
        .map(|unit| unit.parse().unwrap())
        .to_vec()
}

impl Scripted {
    /// A host that runs what its people's repository builds, enrolled.
    pub fn enrolled() -> Scripted {
        let scripted = Scripted::found();
        scripted.own.target().enrol().unwrap();
        scripted
    }

    pub fn found() -> Scripted {
        let peer = Rc::new(Peer::new());
        copy(&stub(), &peer.place.repository);
        peer.git(&["init", "--quiet"]);
        peer.git(&["add", "--all"]);
        peer.git(&["commit", "--quiet", "--message", "as people wrote it"]);
        peer.deploy();
        let host =
            |is_line| NixosHost::new(peer.place.clone(), Way { peer: Rc::clone(&peer), is_line }, units());
        Scripted { driver: host(true), own: host(false), peer }
    }

    pub fn target(&self) -> holdfast_nixos::Target<'_, Way> {
        self.own.target()
    }

    /// The line breaks after so many more steps.
    pub fn cut_after(&mut self, steps: Option<u32>) {
        self.peer.inner.borrow_mut().steps_left = steps;
    }

    pub fn steps_told(&self) -> u32 {
        u32::try_from(self.peer.inner.borrow().told.len()).unwrap()
    }

    /// What happens next, until then.
    fn next_due(&self, until: Duration) -> Option<(usize, Duration)> {
        let inner = self.peer.inner.borrow();
        let due = |(at, unit): (usize, &Unit)| unit.due.filter(|due| *due <= until).map(|due| (at, due));
        inner.units.iter().enumerate().filter_map(due).min_by_key(|it| it.1)
    }

    fn happen(&mut self, at: usize, due: Duration) {
        let mut unit = {
            let mut inner = self.peer.inner.borrow_mut();
            inner.clock = inner.clock.max(due);
            inner.units.remove(at)
        };
        if !unit.is_timer && self.goes_wrong(&mut unit) {
            return;
        }
        // While it runs it is there.
        let (name, args) = (unit.name.clone(), unit.args.clone());
        let is_timer = unit.is_timer;
        if !is_timer {
            self.peer.inner.borrow_mut().units.push(Unit { due: None, ..unit });
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = self.own.target().own(&args);
        let mut inner = self.peer.inner.borrow_mut();
        inner.units.retain(|it| it.name != name);
        if is_timer && done.is_err() {
            let args = args.iter().map(|&arg| arg.to_owned()).collect();
            inner.units.push(Unit { name, due: Some(due + AGAIN_AFTER), args, is_timer });
        }
    }

    /// An activation whose process dies or never ends leaves no word behind.
    fn goes_wrong(&mut self, unit: &mut Unit) -> bool {
        match self.peer.mishap("activate") {
            Some(Mishap::DiesBefore) => true,
            Some(Mishap::DiesAfter) => {
                let identity = unit.args[2].clone();
                let known =
                    fs::read_to_string(self.peer.place.state.join(format!("known/{identity}.json"))).unwrap();
                let known: serde_json::Value = serde_json::from_str(&known).unwrap();
                self.peer.switched(known["system"].as_str().unwrap(), "test");
                true
            }
            Some(Mishap::Hangs) => {
                let (name, args) = (unit.name.clone(), unit.args.clone());
                self.peer.inner.borrow_mut().units.push(Unit { name, due: None, args, is_timer: false });
                true
            }
            Some(other) => panic!("{other:?} is for a switch"),
            None => false,
        }
    }

    /// Nothing was left half-way: one system runs, is in the profile, and is what the boot loader starts.
    #[track_caller]
    pub fn is_one(&self) -> String {
        let (current, profile) = (
            fs::canonicalize(&self.peer.place.current).unwrap(),
            fs::canonicalize(&self.peer.place.profile).unwrap(),
        );
        assert_eq!(current, profile, "what runs and what the profile names");
        assert_eq!(
            current.to_str().unwrap(),
            self.peer.boot_default(),
            "what runs and what the boot loader starts"
        );
        self.peer.boot_default()
    }
}

impl Subject for Scripted {
    fn driver(&mut self) -> &mut dyn Driver {
        &mut self.driver
    }

    fn clock(&mut self) -> Duration {
        self.peer.inner.borrow().clock
    }

    fn pass(&mut self, span: Duration) {
        let until = self.clock() + span;
        while let Some((at, due)) = self.next_due(until) {
            self.happen(at, due);
        }
        self.peer.inner.borrow_mut().clock = until;
    }

    fn setting(&self) -> Setting {
        Setting { unit: units()[0].clone(), property: Property::MemoryMax }
    }

    fn value(&self, number: u32) -> Value {
        Value::Bytes((1100 + u64::from(number) * 10) * MIB)
    }

    fn durable(&mut self) -> String {
        let links: Vec<String> = self.driver.generations().iter().map(ToString::to_string).collect();
        let profile = fs::read_link(&self.peer.place.profile).unwrap();
        let people = [self.peer.git(&["rev-parse", "HEAD"]), self.peer.git(&["status", "--porcelain"])];
        format!("{} {profile:?} {links:?} {people:?}", self.peer.boot_default())
    }

    fn cut(&mut self) {
        self.peer.inner.borrow_mut().cut = true;
    }

    fn join(&mut self) {
        self.peer.inner.borrow_mut().cut = false;
    }

    fn boot(&mut self) -> Result<(), NotHere> {
        let mut inner = self.peer.inner.borrow_mut();
        inner.units.clear();
        inner.boots += 1;
        inner.clock += Duration::from_secs(30);
        inner.booted_at = inner.clock;
        drop(inner);
        self.peer.run_this(Path::new(&self.peer.boot_default()));
        Ok(())
    }
}

pub fn stub() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub")
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let there = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &there);
        } else {
            fs::copy(entry.path(), there).unwrap();
        }
    }
}
