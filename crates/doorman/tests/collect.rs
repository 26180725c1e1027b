//! A real machine, measured through its doorman and over a plain account, and what is kept of it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::io::Read as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Collected, Role};
use holdfast_doorman::{Place, authorized_line};
use holdfast_metrics::{AnomalyKind, Limits, Metrics, Outcome};
use holdfast_steward_host::Unreached;
use holdfast_steward_host::collect::{Seen, Source, Taken, observation, rates};
use holdfast_steward_host::{Line, Way};
use holdfast_testkit::{Guest, TestClock, lab, rounds};
use holdfast_types::Timestamp;

/// Holds some memory, and works a little all the time: an emulated machine has not much to give.
const PROGRAM: &str = "import time\nheld = bytearray(b'x') * (20 << 20)\nwhile True:\n    for at in range(0, len(held), 1 << 16):\n        held[at] = 1\n    time.sleep(0.5)\n";
const SERVICE: &str = "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py\nRestart=always\nRestartSec=1\n[Install]\nWantedBy=multi-user.target\n";

/// Where whoever comes from outside comes from, as a guest sees it.
const US: &str = "10.0.2.2";

/// Set for a run of these tests on another machine.
const HERE: &str = "HOLDFAST_TEST_HERE";

struct Host {
    guest: Guest,
    keys: tempfile::TempDir,
}

impl Host {
    fn new(release: &str) -> Option<Host> {
        let host = Host { guest: lab::guest(release)?, keys: tempfile::tempdir().unwrap() };
        let program = Place::default().program;
        let doorman = lab::stripped(env!("CARGO_BIN_EXE_holdfast-doorman"), host.keys.path());
        host.guest.put(doorman, program.to_str().unwrap()).unwrap();
        host.write("/usr/local/lib/web.py", PROGRAM);
        host.write("/etc/systemd/system/web.service", SERVICE);
        let settings = r#"{"units":["web.service"],"ssh":"ssh.service","vpn":null,"firewall":null}"#;
        let setup = r#"systemctl daemon-reload && systemctl enable --now --quiet web.service && "$1" enrol "$2" &&
            useradd --create-home --shell /bin/sh plain && useradd --create-home --shell /bin/sh reader &&
            usermod -aG systemd-journal agent && usermod -aG systemd-journal reader"#;
        host.must(&["sh", "-c", setup, "setup", program.to_str().unwrap(), settings]);
        let observe = host.key("observe");
        host.authorize("agent", &authorized_line(&Place::default(), Role::Observe, &observe, &[]).unwrap());
        for user in ["plain", "reader"] {
            let public = host.key(user);
            host.authorize(user, &public);
        }
        // It says every session it starts. And an emulated machine needs seconds for the way of agreeing on a key that comes first.
        let keys = "AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\nLogLevel VERBOSE\nKexAlgorithms curve25519-sha256\n";
        host.write("/etc/ssh/sshd_config.d/00-keys.conf", keys);
        host.must(&["systemctl", "reload", "ssh.service"]);
        host.wait_for_sshd();
        Some(host)
    }

    /// It lets nobody in while it reads its settings.
    fn wait_for_sshd(&self) {
        let greeting = || -> std::io::Result<[u8; 4]> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.guest.port()))?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            let mut greeting = [0; 4];
            stream.read_exact(&mut greeting)?;
            Ok(greeting)
        };
        let until = Instant::now() + Duration::from_secs(30);
        while !greeting().is_ok_and(|it| it == *b"SSH-") {
            assert!(Instant::now() < until, "sshd is not back");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes a key and gives its public half.
    fn key(&self, name: &str) -> String {
        let key = self.keys.path().join(name);
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key);
        assert!(keygen.status().unwrap().success());
        std::fs::read_to_string(key.with_extension("pub")).unwrap()
    }

    fn authorize(&self, user: &str, line: &str) {
        let append = r#"mkdir -p "/home/$1/.ssh" && printf '%s\n' "$2" >>"/home/$1/.ssh/authorized_keys" && chown -R "$1" "/home/$1/.ssh" && chmod -R go= "/home/$1/.ssh""#;
        self.must(&["sh", "-c", append, "append", user, line.trim()]);
    }

    fn sockets(&self) -> PathBuf {
        let folder = self.keys.path().join("s");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn doorman(&self) -> Source {
        Source::Doorman(Way {
            address: "127.0.0.1".to_owned(),
            port: self.guest.port(),
            alias: "guest".to_owned(),
            known_hosts: self.guest.known_hosts(),
            keys: self.keys.path().to_owned(),
            observer: "agent".to_owned(),
            actor: "root".to_owned(),
            sockets: self.sockets(),
        })
    }

    fn account(&self, user: &str, units: &[&str]) -> Source {
        let line = Line {
            address: "127.0.0.1".to_owned(),
            port: self.guest.port(),
            alias: "guest".to_owned(),
            known_hosts: self.guest.known_hosts(),
            key: self.keys.path().join(user),
            user: user.to_owned(),
            socket: self.sockets().join(user),
        };
        Source::Account { line, units: units.iter().map(|it| it.parse().unwrap()).collect() }
    }

    /// How many connections this user was let in with, and how many programs were started for them.
    fn visits(&self, user: &str) -> (usize, usize) {
        let said = self.must(&[
            "sh",
            "-c",
            "journalctl --sync && journalctl --quiet --output=cat -t sshd -t sshd-session",
        ]);
        let count = |words: &str, of: &str| {
            said.lines().filter(|line| line.starts_with(words) && line.contains(of)).count()
        };
        (
            count("Accepted publickey for ", &format!(" for {user} from {US} ")),
            count("Starting session: ", &format!(" for {user} from {US} ")),
        )
    }

    #[track_caller]
    fn must(&self, argv: &[&str]) -> String {
        let output = self.guest.run(argv);
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn write(&self, path: &str, text: &str) {
        self.must(&["sh", "-c", r#"printf '%s' "$2" >"$1""#, "write", path, text]);
    }

    /// Says so many errors, and waits until the journal has them.
    fn complain(&self, from: u32, to: u32) {
        let say =
            r#"seq "$1" "$2" | sed 's/^/complaint /' | systemd-cat -t test -p err && journalctl --sync"#;
        self.must(&["sh", "-c", say, "say", &from.to_string(), &to.to_string()]);
    }
}

#[track_caller]
fn collect(source: &Source, cursor: Option<&str>) -> Collected {
    source.collect(cursor).unwrap_or_else(|e| panic!("{e}"))
}

/// The numbers of our own complaints; others say things too.
fn complaints(found: &Collected) -> Vec<u32> {
    let number = |message: &str| message.strip_prefix("complaint ")?.parse().ok();
    found.entries.iter().filter_map(|entry| number(&entry.message)).collect()
}

fn failed(found: &Collected) -> Vec<&str> {
    found.failed.iter().map(|(label, _)| label.as_str()).collect()
}

/// What both ways have to see alike.
fn check_figures(found: &Collected, way: &str) {
    assert!(found.boot.is_some() && found.memory_total.is_some() && found.load.is_some(), "{way}: {found:?}");
    assert!(found.free_space.is_some_and(|it| it > 1 << 20), "{way}: {found:?}");
    let unit = found.units.iter().find(|it| it.unit.as_str() == "web.service").unwrap();
    assert!(unit.active && unit.memory.unwrap() > 20 << 20 && unit.cpu_nanos.unwrap() > 0, "{way}: {unit:?}");
    assert!(unit.started_micros.is_some() && unit.kills == Some(0), "{way}: {unit:?}");
    for of in [None, Some("web.service")] {
        let pressure = found.pressure.iter().filter(|it| it.unit.as_ref().map(|it| it.as_str()) == of);
        let resources: Vec<&str> = pressure.map(|it| it.resource.as_str()).collect();
        assert_eq!(resources, ["memory", "cpu", "io"], "{way}");
    }
}

fn now() -> Timestamp {
    TestClock::at("2026-11-16T00:00:00.000000Z").now()
}

// shows: STW-054, STW-055, STW-057, STW-063, STW-373, STW-381, STW-294
#[test]
fn a_host_is_measured_through_its_doorman_and_over_a_plain_account() {
    // The older one in `make soak`.
    for release in lab::RELEASES.into_iter().filter(|release| *release == "trixie" || rounds(0, 1) == 1) {
        let Some(host) = Host::new(release) else { return };
        measured(&host);
    }
}

/// What depends on the release of systemd and of its kernel is looked at in both; the rest in one.
fn measured(host: &Host) {
    let (doorman, plain, reader) = (
        host.doorman(),
        host.account("plain", &["web.service"]),
        host.account("reader", &["web.service", "nothing.service"]),
    );

    // Alike, but for what only a doorman knows and what needs rights.
    let through = collect(&doorman, None);
    check_figures(&through, "doorman");
    assert_eq!((failed(&through), through.generation), (vec![], Some(0)));
    assert!(through.running.is_some() && through.cursor.is_some());
    let without = collect(&plain, None);
    check_figures(&without, "account");
    assert_eq!(
        (failed(&without), without.cursor.as_deref()),
        (vec!["journal"], None),
        "{:?}",
        without.failed
    );
    assert_eq!((without.generation, without.running), (None, None));
    let with = collect(&reader, None);
    assert_eq!((failed(&with), with.cursor.is_some()), (vec!["nothing.service"], true), "{:?}", with.failed);
    assert_eq!(through.boot, without.boot);
    figures_are_the_kernel_s_own(host, &doorman);

    one_connection_and_one_program_each_time(host, &[(&doorman, "agent"), (&plain, "plain")]);
    // Both ask the same program, which is another one in the other release.
    let is_newer = host.guest.release() == "trixie";
    journal_over_cycles(host, if is_newer { &doorman } else { &reader });
    pressure_that_is_not_there(host, &[&doorman, &plain]);
    nothing_is_left_behind(host, &[&doorman, &plain]);
    if is_newer {
        another_host_key_stops_it(host);
        kept(host, &doorman);
        a_link_that_is_cut(host, &doorman);
    }
}

/// What stood still meanwhile can be compared: the figures are the kernel's and the manager's.
fn figures_are_the_kernel_s_own(host: &Host, doorman: &Source) {
    let look = r#"systemctl show --value -p MemoryCurrent web.service &&
        sed -n 's/^usage_usec //p' /sys/fs/cgroup/system.slice/web.service/cpu.stat &&
        sed 's/ total=.*//; s/avg10=[^ ]* avg60=[^ ]* //' /proc/pressure/memory"#;
    let look = || host.must(&["sh", "-c", look]);
    host.must(&["systemctl", "freeze", "web.service"]);
    let still = (0..20).find_map(|_| {
        let (before, found, after) = (look(), collect(doorman, None), look());
        (before == after).then_some((found, after))
    });
    host.must(&["systemctl", "thaw", "web.service"]);
    let (found, shown) = still.expect("nothing of a unit that is frozen changes");
    let unit = found.units.iter().find(|it| it.unit.as_str() == "web.service").unwrap();
    let (some, full) = (found.pressure[0].some[2], found.pressure[0].full.unwrap()[2]);
    let figures = format!(
        "{}\n{}\nsome avg300={some:.2}\nfull avg300={full:.2}\n",
        unit.memory.unwrap(),
        unit.cpu_nanos.unwrap() / 1000
    );
    assert_eq!(figures, shown);
}

fn one_connection_and_one_program_each_time(host: &Host, sources: &[(&Source, &str)]) {
    for (source, user) in sources {
        let before = host.visits(user);
        assert_eq!(before.0, 1, "{user} has come in once: {before:?}");
        for _ in 0..3 {
            collect(source, None);
        }
        assert!(before.1 > 0);
        assert_eq!(host.visits(user), (1, before.1 + 3), "{user}");
    }
}

fn another_host_key_stops_it(host: &Host) {
    let known = host.keys.path().join("known_hosts");
    std::fs::write(&known, format!("guest {}", host.key("other"))).unwrap();
    let sockets = host.keys.path().join("o");
    std::fs::create_dir_all(&sockets).unwrap();
    let Source::Doorman(way) = host.doorman() else { panic!("it is one") };
    let before = host.visits("agent");
    let refused = Source::Doorman(Way { known_hosts: known, sockets, ..way }).collect(None).unwrap_err();
    assert!(matches!(refused, Unreached::AnotherKey { .. }), "{refused}");
    assert_eq!(host.visits("agent"), before, "nothing was asked of it");
}

/// What the kernel does not measure is absent, what may not be read has failed, and neither is a figure.
fn pressure_that_is_not_there(host: &Host, sources: &[&Source]) {
    let group = "/sys/fs/cgroup/system.slice/web.service/cgroup.pressure";
    let hide = r#"mount -t tmpfs -o mode=0755 nothing /proc/pressure && echo 0 >"$1" &&
        (umask 077 && echo secret >/proc/pressure/io)"#;
    host.must(&["sh", "-c", hide, "hide", group]);
    for source in sources {
        let found = collect(source, None);
        assert_eq!(found.pressure, [], "none of it is 0");
        let of_unit = |resource| format!("web.service pressure of {resource}");
        for label in ["pressure of memory".to_owned(), "pressure of cpu".to_owned()]
            .into_iter()
            .chain(["memory", "cpu", "io"].map(of_unit))
        {
            assert!(found.absent.iter().any(|(it, _)| *it == label), "{label}: {:?}", found.absent);
        }
        let denied = found.failed.iter().find(|(it, _)| it == "pressure of io");
        assert!(denied.is_some_and(|(_, why)| why.contains("Permission denied")), "{:?}", found.failed);
        let seen = Seen { target: "guest", at: now(), inside: Ok(&found), outside: &[], before: None };
        let observation = observation(seen, &str::to_owned);
        assert_eq!(observation.outcome, Outcome::Whole, "a host without it is measured all the same");
        assert!(!observation.gauges.iter().any(|(metric, _)| metric.to_string().contains("psi")));
    }
    host.must(&["sh", "-c", r#"umount /proc/pressure && echo 1 >"$1""#, "show", group]);
}

/// A call is over in time when nobody answers, and what was said meanwhile comes with the next.
fn a_link_that_is_cut(host: &Host, source: &Source) {
    let cursor = collect(source, None).cursor;
    host.complain(80, 82);
    host.guest.cut();
    let began = Instant::now();
    let late = source.collect_within(cursor.as_deref(), Duration::from_secs(2)).unwrap_err();
    assert!(matches!(late, Unreached::TimedOut { .. }), "{late}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    host.guest.join();
    host.guest.wait_until_back();
    assert_eq!(complaints(&collect(source, cursor.as_deref())), [80, 81, 82]);
}

fn journal_over_cycles(host: &Host, source: &Source) {
    let mut cursor = collect(source, None).cursor.unwrap();
    let cycle = |cursor: &mut String| {
        let found = collect(source, Some(cursor));
        *cursor = found.cursor.clone().unwrap();
        found
    };
    host.complain(1, 3);
    assert_eq!(complaints(&cycle(&mut cursor)), [1, 2, 3]);
    assert_eq!(complaints(&cycle(&mut cursor)), [0; 0], "nothing comes twice");
    // A file that is put away is still read.
    host.complain(4, 5);
    host.must(&["journalctl", "--quiet", "--rotate"]);
    host.complain(6, 6);
    assert_eq!(complaints(&cycle(&mut cursor)), [4, 5, 6], "nothing is lost");
    // Sixty, of which fifty are shown.
    host.complain(10, 69);
    let many = cycle(&mut cursor);
    assert_eq!(many.entries.len(), 50);
    assert!(many.left_off >= 10, "{}", many.left_off);
    assert_eq!(complaints(&cycle(&mut cursor)), [0; 0]);
    // What was read to is thrown away: said, and gone on from what is there.
    host.complain(70, 70);
    host.must(&["journalctl", "--quiet", "--rotate", "--vacuum-time=1us"]);
    host.complain(71, 72);
    let gone = cycle(&mut cursor);
    assert!(failed(&gone).contains(&"journal"), "{:?}", gone.failed);
    assert_eq!(complaints(&gone), [71, 72]);
    // And one that no journal would give.
    let odd = collect(source, Some("s=nonsense"));
    assert!(failed(&odd).contains(&"journal") && odd.cursor.is_some(), "{odd:?}");
    host.complain(73, 73);
    assert_eq!(complaints(&collect(source, odd.cursor.as_deref())), [73]);
}

/// Into the database and out again, with rates between two, and an unreached one after.
fn kept(host: &Host, source: &Source) {
    let first = &collect(source, None);
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::at("2026-11-16T00:00:00.000000Z");
    let (metrics, _) = Metrics::open(&folder.path().join("metrics.db"), Limits::default(), &clock).unwrap();
    let begin = now();
    let at = |seconds| begin.plus(Duration::from_secs(seconds));
    let record = |seconds, inside: Result<&Collected, &str>, before| {
        let seen = Seen { target: "guest", at: at(seconds), inside, outside: &[], before };
        metrics.record(&observation(seen, &str::to_owned)).unwrap()
    };
    record(0, Ok(first), None);
    // It works every half second, and two looks may fall between two of these.
    let used = |found: &Collected| found.units[0].cpu_nanos;
    let worked = || Some(collect(source, first.cursor.as_deref())).filter(|found| used(found) > used(first));
    let second = (0..20).find_map(|_| worked()).expect("the service works");
    record(120, Ok(&second), Some(first));
    let taken = |at, found| Taken { at, found };
    let between = rates(Some(taken(at(0), first)), taken(at(120), &second));
    assert!(between[0].cpu.is_some_and(|it| it > 0.0), "{between:?}");
    let drawn = metrics.series("guest", &"web.service:cpu".parse().unwrap(), at(0)..at(999)).unwrap();
    assert_eq!(drawn.len(), 1);
    assert!((drawn[0].value / 1e9 - between[0].cpu.unwrap()).abs() < 1e-9);
    // Killed by the kernel: told by the journal.
    host.must(&["sh", "-c", "systemd-run --quiet --wait --collect --unit=hungry -p MemoryMax=8M -p MemorySwapMax=0 python3 -c 'x = bytearray(64 << 20)'; journalctl --sync"]);
    let third = collect(source, second.cursor.as_deref());
    assert!(third.entries.iter().any(|it| it.out_of_memory), "{:?}", third.entries);
    record(240, Ok(&third), Some(&second));
    assert!(metrics.open_anomalies("guest").unwrap().iter().any(|it| it.kind == AnomalyKind::Oom));
    record(360, Err("the link is cut"), Some(&third));
    assert_eq!(metrics.last_success("guest").unwrap(), Some(at(240)));
    let report = metrics.report("guest", at(0)..at(400)).unwrap();
    assert_eq!((report.observations, report.units.len(), report.gaps.len()), (3, 1, 0));
    assert!(report.units[0].memory_mib.unwrap() > 20.0);
    let (_, snapshot) = metrics.snapshot("guest", at(240)).unwrap().unwrap();
    assert_eq!(serde_json::from_value::<Collected>(snapshot["inside"].clone()).unwrap(), third);
    let unreached = observation(
        Seen { target: "guest", at: at(0), inside: Err("x"), outside: &[], before: None },
        &str::to_owned,
    );
    assert_eq!(unreached.outcome, Outcome::Unreached);
}

/// Nothing is written to any disk of it, but what it writes itself when somebody comes in; also when nobody waits for the answer.
fn nothing_is_left_behind(host: &Host, sources: &[&Source]) {
    let look = "find / -xdev -newer /root/mark -type f ! -path '/var/log/*' ! -path '/root/*'; \
        find /tmp /var/tmp /run/user /dev/shm -newer /root/mark -type f 2>/dev/null";
    host.must(&["sh", "-c", "touch /root/mark && sleep 0.02"]);
    for source in sources {
        collect(source, None);
        let cut_short = source.collect_within(None, Duration::from_millis(30));
        assert!(matches!(cut_short, Err(Unreached::TimedOut { .. }) | Ok(_)), "{cut_short:?}");
    }
    assert_eq!(host.must(&["sh", "-c", look]), "");
}

/// Not a test of its own: what `this_machine_is_measured_without_ssh` runs on another machine.
#[test]
#[expect(clippy::print_stdout, reason = "it is read by who started it")]
fn here_child() {
    let Ok(cursor) = std::env::var(HERE) else { return };
    let source =
        Source::Here { units: vec!["web.service".parse().unwrap(), "dbus.service".parse().unwrap()] };
    let found = collect(&source, Some(cursor.as_str()).filter(|it| !it.is_empty()));
    println!("\n{}", serde_json::to_string(&found).unwrap());
}

/// On a machine with systemd, and without any ssh on it.
#[test]
fn a_machine_with_systemd_is_measured_by_itself_without_ssh() {
    let Some(container) = lab::container("bookworm") else { return };
    container.put(std::env::current_exe().unwrap(), "/root/here").unwrap();
    let must = |argv: &[&str]| {
        let output = container.run(argv);
        assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let setup = r#"rm /usr/bin/ssh && printf '%s' "$1" >/etc/systemd/system/web.service && systemctl daemon-reload &&
        systemctl start web.service"#;
    must(&["sh", "-c", setup, "setup", "[Service]\nExecStart=/bin/sleep infinity\n"]);
    let here = |cursor: &str| -> Collected {
        let said =
            must(&["env", &format!("{HERE}={cursor}"), "/root/here", "--exact", "here_child", "--nocapture"]);
        let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
        serde_json::from_str(line).unwrap()
    };
    let first = here("");
    let units: Vec<_> =
        first.units.iter().map(|it| (it.unit.as_str(), it.active, it.started_micros.is_some())).collect();
    assert_eq!(units, [("web.service", true, true), ("dbus.service", true, true)]);
    assert!(first.boot.is_some() && first.memory_total.is_some() && first.free_space.is_some());
    assert_eq!(failed(&first), [""; 0], "{:?}", first.failed);
    must(&["sh", "-c", "echo complaint 1 | systemd-cat -p err && journalctl --sync"]);
    assert_eq!(complaints(&here(&first.cursor.unwrap())), [1]);
}

#[test]
fn this_machine_is_measured_without_ssh() {
    let source = Source::Here { units: vec!["ssh.service".parse().unwrap()] };
    let found = collect(&source, None);
    assert!(found.boot.is_some() && found.memory_total.is_some() && found.load.is_some(), "{found:?}");
    assert!(found.free_space.is_some());
    let resources: Vec<&str> = found.pressure.iter().map(|it| it.resource.as_str()).collect();
    for resource in ["memory", "cpu", "io"] {
        // Measured, or said to be absent: one of the two.
        let label = format!("pressure of {resource}");
        let said = found.failed.iter().chain(&found.absent).any(|(it, _)| *it == label);
        assert!(resources.contains(&resource) != said, "{found:?}");
    }
    // Where no systemd runs there is no unit, and that is said.
    let is_managed = Path::new("/run/systemd/system").is_dir();
    assert_eq!(is_managed, !failed(&found).contains(&"units"), "{:?}", found.failed);
    let again = collect(&source, found.cursor.as_deref());
    assert_eq!(again.boot, found.boot);
}
