//! The whole house at work on a real machine, in real time: the daemon under a user of its own, the guard under another, SSH, the doorman,
//! systemd and the kernel. A service that is killed for want of memory is seen, given more, watched and kept; with the daemon's whole user
//! killed, or its disk filled, in the middle of it, the machine is as before; and for an hour nothing is undone that is well.
//!
//! All of it takes minutes to an hour, so it runs with `HOLDFAST_SOAK=1` alone. `make test` has the same steps where time can be made
//! faster: `crates/doorman/tests/{loop,undone,killed}.rs`, `crates/tripwire/tests/{rescued,quiet}.rs`.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "enrolment/hosts.rs"]
mod hosts;
#[path = "daemon/running.rs"]
mod running;

use std::fs::Permissions;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_journal::{Journal, Options, SystemClock, View};
use holdfast_keys::{Role, file};
use holdfast_lifeline::Steady;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward_host::entry_of;
use holdfast_testkit::lab::stripped;
use holdfast_testkit::{Guest, SmallDisk, rounds};
use holdfast_types::Clock as _;
use home::{Home, PROGRAM, Ran};
use running::{Running, an_address};
use serde_json::{Value, json};

/// Who does what. Each test has two of its own, because all processes of a user are killed. ssh wants users that have a name, and these are on
/// every Debian and run nothing.
#[derive(Clone, Copy)]
struct Users {
    steward: u32,
    guard: u32,
}

const NEWS_AND_UUCP: Users = Users { steward: 9, guard: 10 };
const LIST_AND_IRC: Users = Users { steward: 38, guard: 39 };
const PROXY_AND_LP: Users = Users { steward: 13, guard: 7 };
/// Who may write the window records.
const RECORDS: u32 = 65_103;

/// Holds little until it is told that there is more to do, and then a little more than it may.
const PROGRAM_THERE: &str = "import os, time\nheld = []\n\
    while True:\n    most = 260 if os.path.exists('/var/lib/lab/busy') else 60\n    \
    while len(held) < most:\n        held.append(bytearray(b'x' * (1 << 20)))\n    time.sleep(0.2)\n";
/// Started again however often it is killed: a quick machine would otherwise give it up before anybody has looked.
const SERVICE: &str = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/oom.py\nMemoryMax=256M\nRestart=always\n\
    RestartSec=1\n\
    [Install]\nWantedBy=multi-user.target\n";
const SSHD: &str =
    "AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\nKexAlgorithms curve25519-sha256\n";
const LIMIT: &str = "/sys/fs/cgroup/system.slice/oom.service/memory.max";
const BEFORE: u64 = 256 << 20;

struct House {
    // In the order in which they end.
    daemon: Option<Running>,
    guard: Child,
    references: Option<TcpListener>,
    home: Home,
    disk: Option<SmallDisk>,
    folder: tempfile::TempDir,
    guest: Guest,
    users: Users,
}

/// The words of a user, and of no other.
fn by(user: u32, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={user}"))
        .arg(format!("--groups={RECORDS}"))
        .arg("--")
        .arg(program);
    command
}

fn give(path: &Path, owner: u32, group: u32) {
    let given = Command::new("chown").arg("-R").arg(format!("{owner}:{group}")).arg(path).status().unwrap();
    assert!(given.success());
}

fn folder_of(path: PathBuf, owner: u32, group: u32, mode: u32) -> PathBuf {
    std::fs::create_dir_all(&path).unwrap();
    give(&path, owner, group);
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

impl House {
    /// A machine that was taken in and is trusted with small changes, with a guard beside it. The home lies on a disk of this size.
    fn of(release: &str, users: Users, life: Duration, disk: Option<u64>) -> House {
        let guest = Guest::resume_for(life, release).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let disk = disk.map(|bytes| SmallDisk::tmpfs(bytes).unwrap());
        let under = disk.as_ref().map_or_else(|| folder.path().to_owned(), |disk| disk.path().to_owned());
        std::fs::set_permissions(&under, Permissions::from_mode(0o755)).unwrap();
        let home = Home::at(&under.join("home"));
        settle(&guest);
        home.run(&["init", "--name", "soak"]).ok();
        take_in(&guest, &home, folder.path());

        let place = |name: &str| folder.path().join(name);
        let windows = folder_of(place("windows"), 0, RECORDS, 0o2770);
        folder_of(place("hearts"), users.guard, users.guard, 0o755);
        folder_of(place("guard"), users.guard, users.guard, 0o700);
        configure(&home, guest.port(), &windows, &place("hearts"));
        let references = TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = guard_settings(&guest, &home, folder.path(), &references, users.guard);
        give(home.path(), users.steward, users.steward);
        let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name("holdfast-tripwire");
        let program = stripped(program, folder.path());
        let said = std::fs::File::create(place("guard-said")).unwrap();
        let guard = by(users.guard, &program)
            .arg("run")
            .arg(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn();
        stripped(PROGRAM, folder.path());
        let (guard, references) = (guard.unwrap(), Some(references));
        let mut house = House { daemon: None, guard, references, home, disk, folder, guest, users };
        house.wait("the guard has rehearsed a way", Duration::from_secs(120), |house| {
            house.guarded("tripwire.way.rehearsed") > 0
        });
        house.trust();
        house
    }

    /// The daemon takes note of the target, and a person trusts it. The evidence for that takes a week, which is not what is shown here.
    fn trust(&mut self) {
        self.start();
        self.wait("it is known", Duration::from_secs(120), |house| house.status()["level"] == "observe");
        self.daemon.take().unwrap().terminated();
        // Keys are read by whoever owns them.
        give(self.home.path(), 0, 0);
        let clock = Arc::new(SystemClock::new());
        let wall = clock.now();
        let journal = Journal::open(Options {
            dir: self.home.journal(),
            signers: vec![file::read_key(&self.home.path().join("etc/keys/log.key"), Role::Log).unwrap().key],
            screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
            clock,
            vault: None,
            archive: None,
            limits: Default::default(),
        })
        .unwrap();
        let why = "for a test".to_owned();
        let event = Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why };
        let record = Record { at: Steady(0), wall, synced: false, event };
        let entry = entry_of(&record, &"guest".parse().unwrap(), &"holdfast".parse().unwrap()).unwrap();
        journal.append(&entry).unwrap();
        drop(journal);
        give(self.home.path(), self.users.steward, self.users.steward);
        self.start();
        self.wait("it is trusted", Duration::from_secs(60), |house| house.status()["level"] == "tier-one");
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("holdfast")
    }

    fn start(&mut self) {
        let mut command = by(self.users.steward, &self.program());
        command.args(["--json", "up", "--set", &format!("health.listen={}", an_address())]);
        command.args(["--set", "gateway.enabled=false"]);
        command.env("HOLDFAST_HOME", self.home.path()).env_remove("HOME");
        self.daemon = Some(Running::start(command));
    }

    fn ask(&self, args: &[&str]) -> Ran {
        let mut command = by(self.users.steward, &self.program());
        command.arg("--json").args(args).env("HOLDFAST_HOME", self.home.path()).env_remove("HOME");
        home::run(command, None)
    }

    fn status(&self) -> Value {
        self.ask(&["steward", "status"]).json()["targets"][0].clone()
    }

    fn episodes(&self) -> Vec<Value> {
        self.ask(&["steward", "episodes"]).json()["episodes"].as_array().cloned().unwrap_or_default()
    }

    /// What the guard wrote down of this kind.
    fn guarded(&self, kind: &str) -> usize {
        let Ok(view) = View::open(&self.folder.path().join("guard/state/log"), None) else { return 0 };
        let entries =
            view.entries(0).map_while(Result::ok).map(|raw| serde_json::from_slice::<Value>(&raw.line));
        entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry["kind"] == kind)).count()
    }

    /// What the kernel holds the service by; nothing while it is being started again.
    fn limit(&self) -> Option<u64> {
        let output = self.guest.run(&["cat", LIMIT]);
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    }

    #[track_caller]
    fn wait(&self, what: &str, within: Duration, state: impl Fn(&House) -> bool) {
        let until = Instant::now() + within;
        while !state(self) {
            if Instant::now() >= until {
                let log = self.daemon.as_ref().map(Running::log).unwrap_or_default();
                let guard =
                    std::fs::read_to_string(self.folder.path().join("guard-said")).unwrap_or_default();
                panic!(
                    "it did not come to that: {what}\n{:#}\n{:#?}\n{log}\n{guard}",
                    self.status(),
                    self.episodes()
                );
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// There is more to do than the service may hold, and the steward tries something about it.
    fn comes_to_a_trial(&self) -> u64 {
        must(&self.guest, &["sh", "-c", "mkdir -p /var/lib/lab && touch /var/lib/lab/busy"]);
        let began = Instant::now();
        self.wait("more is tried", Duration::from_secs(420), |house| {
            house.limit().is_some_and(|limit| limit > BEFORE)
        });
        eprintln!("tried {:?} after there was more to do", began.elapsed());
        // Whoever looks sees what is left of its lease, and never more than there is.
        self.wait("its lease is told", Duration::from_secs(60), |house| {
            let open = &house.status()["open"];
            let (left, whole) = (open["undone_in_seconds"].as_u64(), open["lease_seconds"].as_u64());
            left.zip(whole).is_some_and(|(left, whole)| 0 < left && left <= whole)
        });
        self.limit().unwrap()
    }

    /// As before, now and after the next boot, and nobody has to do anything.
    fn is_as_before(&self, within: Duration) {
        let began = Instant::now();
        self.wait("it is as before", within, |house| house.limit() == Some(BEFORE));
        eprintln!("as before after {:?}", began.elapsed());
        // The lease itself is a unit of ours, and ends when it has done its work.
        self.wait("nothing of ours is in force", Duration::from_secs(60), |house| {
            let ours = ["find", "/etc/systemd/system", "/run/systemd", "-name", "*holdfast*"];
            must(&house.guest, &ours).is_empty()
        });
    }

    /// Proportional memory of both, in KiB.
    fn memory(&self) -> u64 {
        let of = |pid: u32| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
            line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
        };
        of(self.daemon.as_ref().unwrap().pid()) + of(self.guard.id())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.daemon.take();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        // Shared connections of its own stay for a while.
        let Users { steward, guard } = self.users;
        let _ = Command::new("pkill").args(["-KILL", "-u", &format!("{steward},{guard}")]).status();
    }
}

#[track_caller]
fn must(guest: &Guest, argv: &[&str]) -> String {
    let output = guest.run(argv);
    assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The service, and an sshd that reads people's own keys.
fn settle(guest: &Guest) {
    let write = |path: &str, text: &str| {
        must(guest, &["sh", "-c", r#"printf '%s' "$2" >"$1""#, "write", path, text]);
    };
    write("/usr/local/lib/oom.py", PROGRAM_THERE);
    write("/etc/systemd/system/oom.service", SERVICE);
    write("/etc/ssh/sshd_config.d/00-keys.conf", SSHD);
    must(guest, &["systemctl", "daemon-reload"]);
    must(guest, &["systemctl", "enable", "--now", "--quiet", "oom.service"]);
    must(guest, &["systemctl", "reload", "ssh.service"]);
    let until = Instant::now() + Duration::from_secs(60);
    while !greets(guest.port()) {
        assert!(Instant::now() < until, "sshd did not come back");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Whether an sshd says its name there.
fn greets(port: u16) -> bool {
    let mut said = [0; 4];
    let stream = TcpStream::connect(("127.0.0.1", port)).and_then(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        Ok(stream)
    });
    stream.is_ok_and(|mut stream| stream.read_exact(&mut said).is_ok() && said == *b"SSH-")
}

fn take_in(guest: &Guest, home: &Home, folder: &Path) {
    let identity = folder.join("key");
    std::fs::copy(guest.known_hosts().with_file_name("key"), &identity).unwrap();
    let (port, identity) = (guest.port().to_string(), identity.display().to_string());
    let doorman = hosts::doorman(folder);
    let args = [
        ["target", "add", "root@127.0.0.1"].as_slice(),
        &["--port", &port, "--name", "guest", "--unit", "oom.service"],
        &["--identity", &identity, "--doorman", &doorman, "--yes"],
    ];
    home.run(&args.concat()).ok();
}

/// The shortest window there is, and where the guard is. sshd is where it answers: nothing else of it is forwarded.
fn configure(home: &Home, port: u16, windows: &Path, hearts: &Path) {
    let file = home.path().join("etc/config.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let more = format!("units: [oom.service], endpoint: \"127.0.0.1:{port}\", window_seconds: 300");
    let text = text.replace("units: [oom.service]", &more);
    let (windows, hearts) = (windows.display(), hearts.display());
    let text = format!("{text}  tripwire:\n    windows: {windows}\n    hearts: {hearts}\n");
    std::fs::write(&file, text).unwrap();
}

/// The key that undoes is the guard's alone from here on.
fn guard_settings(
    guest: &Guest,
    home: &Home,
    folder: &Path,
    references: &TcpListener,
    guard: u32,
) -> PathBuf {
    let (keys, own) = (home.path().join("state/steward/guest"), folder.join("guard"));
    for name in ["rescue", "known_hosts"] {
        std::fs::copy(keys.join(name), own.join(name)).unwrap();
    }
    std::fs::remove_file(keys.join("rescue")).unwrap();
    let settings = json!({
        "windows": folder.join("windows"), "state": own.join("state"), "run": folder.join("hearts"),
        "targets": [{
            "name": "guest",
            "first": {"address": "127.0.0.1", "port": guest.port()},
            "key": own.join("rescue"),
            "known_hosts": own.join("known_hosts"),
            "references": [{"tcp": {"address": references.local_addr().unwrap().to_string()}}],
        }]
    });
    let path = own.join("tripwire.json");
    std::fs::write(&path, settings.to_string()).unwrap();
    give(&own, guard, guard);
    std::fs::set_permissions(own.join("rescue"), Permissions::from_mode(0o600)).unwrap();
    path
}

fn in_soak() -> bool {
    rounds(0, 1) == 1
}

#[test]
fn the_whole_user_of_the_daemon_is_killed_in_a_trial_and_the_machine_is_as_before() {
    if !in_soak() {
        return;
    }
    let mut house = House::of("trixie", NEWS_AND_UUCP, Duration::from_secs(1500), None);
    house.comes_to_a_trial();
    let killed =
        Command::new("pkill").args(["-KILL", "-u", &house.users.steward.to_string()]).status().unwrap();
    assert!(killed.success());
    house.daemon.take();
    // Nobody renews the lease.
    house.is_as_before(Duration::from_secs(180));
    // It comes back, finds what was in the middle, and ends it.
    house.start();
    house.wait("the episode is settled", Duration::from_secs(180), |house| {
        house.episodes().first().is_some_and(|it| !it["outcome"].is_null() && it["outcome"] != "kept")
    });
    // It is killed and started again all the while.
    house.wait("it is still as before", Duration::from_secs(60), |house| house.limit() == Some(BEFORE));
}

#[test]
fn the_daemons_disk_is_filled_in_a_trial_and_the_machine_is_as_before() {
    if !in_soak() {
        return;
    }
    // Nothing is tried where less than 100 MiB are free.
    let mut house = House::of("bookworm", LIST_AND_IRC, Duration::from_secs(1500), Some(160 << 20));
    house.comes_to_a_trial();
    let fill = house.disk.as_ref().unwrap().path().join("fill");
    let mut file = std::fs::File::create(&fill).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    house.is_as_before(Duration::from_secs(480));
    std::fs::remove_file(&fill).unwrap();
    house.daemon.take().map(Running::terminated);
    house.start();
    house.wait("the episode is settled", Duration::from_secs(180), |house| {
        house.episodes().first().is_some_and(|it| !it["outcome"].is_null() && it["outcome"] != "kept")
    });
}

#[test]
fn for_an_hour_what_is_well_is_kept_and_nothing_is_undone() {
    if !in_soak() {
        return;
    }
    let began = Instant::now();
    let mut house = House::of("trixie", PROXY_AND_LP, Duration::from_secs(5400), None);
    let tried = house.comes_to_a_trial();
    assert!(house.guarded("tripwire.window.seen") > 0, "the guard has seen it");
    house.wait("it is kept", Duration::from_secs(720), |house| {
        house.episodes().first().is_some_and(|it| it["outcome"] == "kept")
            || house.status()["open"]["phase"] == "probation"
    });
    eprintln!("kept after {:?}", began.elapsed());
    // On probation for what is left of the hour: sshd is started again, is away for a moment, and the guard's own network is.
    let mut most = 0;
    for turn in 0.. {
        if began.elapsed() >= Duration::from_secs(3600) {
            break;
        }
        match turn % 3 {
            0 => drop(must(&house.guest, &["systemctl", "restart", "ssh.service"])),
            1 => drop(must(
                &house.guest,
                &[
                    "systemd-run",
                    "--quiet",
                    "sh",
                    "-c",
                    "systemctl stop ssh.service; sleep 10; systemctl start ssh.service",
                ],
            )),
            _ => drop(house.references.take()),
        }
        std::thread::sleep(Duration::from_secs(90));
        if house.references.is_none() {
            // Whatever took its port meanwhile is as good.
            let settings = std::fs::read_to_string(house.folder.path().join("guard/tripwire.json")).unwrap();
            let settings: Value = serde_json::from_str(&settings).unwrap();
            let address = settings["targets"][0]["references"][0]["tcp"]["address"].as_str().unwrap();
            house.references = TcpListener::bind(address).ok();
        }
        std::thread::sleep(Duration::from_secs(90));
        most = most.max(house.memory());
        for kind in ["tripwire.window.lost", "tripwire.alarm.raised", "tripwire.episode.undone"] {
            assert_eq!(house.guarded(kind), 0, "{kind}");
        }
        assert_eq!(house.limit(), Some(tried));
    }
    eprintln!("both together held {most} KiB at most");
    assert_eq!(house.daemon.as_ref().unwrap().health().0, 200);
}
