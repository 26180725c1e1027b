//! A real machine, measured through its doorman and over a plain account, and what is kept of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Collected, Role};
use holdfast_doorman::{Place, authorized_line};
use holdfast_metrics::{AnomalyKind, Limits, Metrics, Outcome};
use holdfast_steward_host::collect::{Seen, Source, Taken, observation, rates};
use holdfast_steward_host::{Line, Way};
use holdfast_testkit::{Guest, TestClock};
use holdfast_types::Timestamp;

/// Works a little all the time, and holds some memory.
const PROGRAM: &str = "import time\nheld = bytearray(20 << 20)\nwhile True:\n    for at in range(0, len(held), 4096):\n        held[at] = 1\n    time.sleep(0.2)\n";
const SERVICE: &str = "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py\nRestart=always\nRestartSec=1\n[Install]\nWantedBy=multi-user.target\n";

struct Host {
    guest: Guest,
    keys: tempfile::TempDir,
}

impl Host {
    fn new() -> Option<Host> {
        let host = Host { guest: Guest::required()?, keys: tempfile::tempdir().unwrap() };
        let program = Place::default().program;
        host.guest.put(env!("CARGO_BIN_EXE_holdfast-doorman"), program.to_str().unwrap()).unwrap();
        host.write("/usr/local/lib/web.py", PROGRAM);
        host.write("/etc/systemd/system/web.service", SERVICE);
        let settings = r#"{"units":["web.service"],"ssh":"ssh.service","vpn":null,"firewall":null}"#;
        let setup = r#"systemctl daemon-reload && systemctl enable --now --quiet web.service && "$1" enrol "$2" &&
            useradd --create-home --shell /bin/sh plain && useradd --create-home --shell /bin/sh reader &&
            usermod -aG systemd-journal agent && usermod -aG systemd-journal reader"#;
        host.must(&["sh", "-c", setup, "setup", program.to_str().unwrap(), settings]);
        let observe = host.key("observe");
        host.authorize("agent", &authorized_line(&Place::default(), Role::Observe, &observe).unwrap());
        for user in ["plain", "reader"] {
            let public = host.key(user);
            host.authorize(user, &public);
        }
        let keys = "AuthorizedKeysFile /etc/ssh/lab_keys .ssh/authorized_keys\n";
        host.write("/etc/ssh/sshd_config.d/00-keys.conf", keys);
        host.must(&["systemctl", "reload", "ssh.service"]);
        Some(host)
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

#[test]
fn a_host_is_measured_through_its_doorman_and_over_a_plain_account() {
    let Some(host) = Host::new() else { return };
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

    journal_over_cycles(&host, &doorman, through.cursor.clone());
    journal_over_cycles(&host, &reader, with.cursor.clone());
    kept(&host, &doorman, &through);
    nothing_is_left_behind(&host, &plain);
    figures_of_cost(&host, &doorman, &plain);
}

fn journal_over_cycles(host: &Host, source: &Source, cursor: Option<String>) {
    let mut cursor = cursor.unwrap();
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
fn kept(host: &Host, source: &Source, first: &Collected) {
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
    let second = collect(source, first.cursor.as_deref());
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

fn nothing_is_left_behind(host: &Host, source: &Source) {
    let files = || {
        host.must(&["sh", "-c", "find /tmp /var/tmp /home/plain /run/user -xdev -type f 2>/dev/null | sort"])
    };
    let before = files();
    collect(source, None);
    assert_eq!(files(), before);
}

/// Printed for whoever asks what a cycle costs; nothing depends on it.
#[expect(clippy::print_stderr, reason = "figures for people")]
fn figures_of_cost(host: &Host, doorman: &Source, plain: &Source) {
    let clock = |source: &Source| {
        let began = Instant::now();
        (0..5).for_each(|_| drop(collect(source, None)));
        began.elapsed() / 5
    };
    let used = |user: &str| {
        let text = host.must(&[
            "sh",
            "-c",
            r#"systemctl show --value -p CPUUsageNSec "user-$(id -u "$1").slice""#,
            "used",
            user,
        ]);
        text.trim().parse::<u64>().unwrap_or(0)
    };
    let before = (used("agent"), used("plain"));
    let (through, over) = (clock(doorman), clock(plain));
    let after = (used("agent"), used("plain"));
    let cpu = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from) / 5);
    eprintln!(
        "a cycle through the doorman: {through:?}, {:?} of processor there; over an account: {over:?}, {:?} ({})",
        cpu(before.0, after.0),
        cpu(before.1, after.1),
        host.guest.accelerator()
    );
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
