//! The health checks: well in a good home, and each says what is wrong when its thing is broken.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use holdfast_testkit::files::{copy_tree, flip_bit};
use serde_json::Value;

use crate::home::{Home, Ran, bare_command, run};
use crate::receiver::Receiver;
use crate::running::{Looking, Running, an_address, read, take_space, up, wait_until};

const CHECKS: [&str; 10] = [
    "home",
    "configuration",
    "journal",
    "daemon",
    "index",
    "backups",
    "disk",
    "secrets",
    "notices",
    "egress",
];

fn states(ran: &Ran) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    checks.iter().map(|check| (word(&check["check"]), word(&check["status"]))).collect()
}

fn state_of(ran: &Ran, name: &str) -> String {
    states(ran).into_iter().find(|(check, _)| check == name).unwrap().1
}

#[test]
fn a_good_home_with_a_daemon_is_healthy_in_every_check() {
    let home = Home::bare();
    let daemon = Running::on(&home);
    wait_until("a channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="log"}"#).is_some());
    let ran = home.run(&["--json", "doctor"]).ok();
    let healthy = CHECKS.map(|check| (check.to_owned(), "healthy".to_owned()));
    assert_eq!(states(&ran), healthy);
    daemon.terminated().well();
}

// shows: HRD-F62
#[test]
fn each_check_says_what_is_wrong_when_its_thing_is_broken() {
    let good = Home::made("web-1");
    good.log_many(2);
    good.run(&["audit", "checkpoint", "--new"]).ok();
    let foreign = Home::made("web-1");
    let check = |name: &str, state: &str, code: i32, break_it: &dyn Fn(&Home)| {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home"));
        copy_tree(good.path(), home.path());
        break_it(&home);
        let ran = home.run(&["--json", "doctor"]);
        assert_eq!((state_of(&ran, name).as_str(), ran.code), (state, code), "{name}: {}", ran.out);
        let of = |field: &str| {
            let checks = ran.json()["checks"].as_array().unwrap().clone();
            checks.iter().find(|check| check["check"] == name).unwrap()[field].clone()
        };
        assert!(
            of("hint").as_str().is_some_and(|hint| !hint.is_empty()),
            "{name} says what to do: {}",
            ran.out
        );
        assert_eq!(states(&ran).len(), CHECKS.len(), "the others are looked at all the same");
    };
    // Nothing but that no daemon runs.
    check("daemon", "degraded", 2, &|_| {});
    check("home", "failed", 1, &|home| {
        let key = home.path().join("etc/keys/log.key");
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap();
    });
    check("configuration", "failed", 1, &|home| home.configure("disk: { bugdet_mib: 9 }\n"));
    check("journal", "failed", 1, &|home| flip_bit(home.journal().join("META"), 20, 3));
    check("journal", "failed", 1, &|home| {
        std::fs::copy(foreign.path().join("etc/trust.json"), home.path().join("etc/trust.json")).unwrap();
    });
    // What is not there is not "nothing wrong".
    check("journal", "unknown", 3, &|home| std::fs::remove_dir_all(home.journal()).unwrap());
    check("backups", "degraded", 2, &|home| home.configure("backup: { enabled: false }\n"));
    check("notices", "degraded", 2, &|home| home.configure("notifications: { enabled: false }\n"));
    check("disk", "degraded", 2, &|home| {
        home.configure("disk: { budget_mib: 64 }\n");
        take_space(&home.state("dummy"), 60);
    });
    check("disk", "failed", 1, &|home| {
        home.configure("disk: { budget_mib: 64 }\n");
        take_space(&home.state("dummy"), 70);
    });
    check("secrets", "unknown", 3, &|home| home.configure(&Receiver::away().settings()));
}

#[test]
fn a_daemon_that_hangs_leaves_what_only_it_knows_unknown() {
    let home = Home::made("web-1");
    home.configure("health: { timeout_seconds: 1 }\n");
    let daemon = Running::on(&home);
    daemon.signal(rustix::process::Signal::STOP);
    let ran = home.run(&["--json", "doctor"]).ends(124);
    for name in ["daemon", "index", "backups", "notices"] {
        assert_eq!(state_of(&ran, name), "timed out", "{}", ran.out);
    }
    for name in ["home", "configuration", "journal", "disk", "secrets"] {
        assert_eq!(state_of(&ran, name), "healthy", "{}", ran.out);
    }
    daemon.signal(rustix::process::Signal::CONT);
    daemon.terminated().well();
}

// shows: HRD-113
#[test]
fn a_probe_that_hangs_gives_124_in_time_with_the_results_of_the_others_and_is_ended() {
    let home = Home::made("web-1");
    // A span nobody else sleeps for, by which the process is found.
    let span = format!("{}.125", 7000 + std::process::id() % 1000);
    home.configure(&format!(
        "health: {{ timeout_seconds: 1 }}\nnotifications:\n  channels: [log, webhook]\n  \
         webhook: {{ url: {{ secret: a }}, sign_with: {{ secret: b }} }}\n\
         credentials: {{ sources: [command], command: [/bin/sh, -c, sleep {span}, \"{{name}}\"], timeout_seconds: 60 }}\n",
    ));
    let began = Instant::now();
    let ran = home.run(&["--json", "doctor"]).ends(124);
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    assert_eq!(ran.json()["verdict"], "timed out");
    for (check, state) in states(&ran) {
        let expected = match check.as_str() {
            "secrets" => "timed out",
            "daemon" => "degraded",
            // Only a running daemon knows these, and what is not known is not called healthy.
            "index" | "backups" | "notices" => "not looked at",
            _ => "healthy",
        };
        assert_eq!(state, expected, "{check}");
    }
    wait_until("the probe is gone", || !is_running(&span));
    assert_eq!(default_of(&Home::made("web-2"), "health.timeout_seconds"), "30");
}

fn default_of(home: &Home, key: &str) -> Value {
    let settings = home.json(&["config", "show"])["settings"].as_array().unwrap().clone();
    let row = settings.iter().find(|row| row["key"] == key).unwrap();
    assert_eq!(row["from"], "default");
    row["value"].clone()
}

fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut commands = processes.map(|process| read(&process.path().join("cmdline")));
    commands.any(|command| command.split('\0').any(|word| word.ends_with(argument)))
}

// shows: HRD-122
#[test]
fn each_check_states_its_purpose_its_owner_and_what_it_does_not_do() {
    let ran = run(bare_command(&["--home", "/nowhere", "--json", "doctor", "--list"]), None).ok();
    let listed = ran.json()["checks"].as_array().unwrap().clone();
    let names: Vec<&str> = listed.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(names, CHECKS);
    for check in &listed {
        for field in ["purpose", "owner", "does_not"] {
            assert!(check[field].as_str().is_some_and(|text| text.len() > 3), "{check}");
        }
    }
    let people = run(bare_command(&["--home", "/nowhere", "doctor", "--list"]), None).ok();
    assert_eq!(people.out.lines().count(), 2 * CHECKS.len());
}

fn findings(home: &Home) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(home.state("findings.json")).ok()?;
    // Replaced as a whole: whoever reads finds one state or another.
    let value: Value = serde_json::from_str(&text).unwrap();
    let found = value["findings"].as_array().unwrap().clone();
    let said = |f: &Value| format!("{} {}", f["check"].as_str().unwrap(), f["status"].as_str().unwrap());
    Some(found.iter().map(said).collect())
}

fn rounds_so_far(home: &Home) -> usize {
    read(&home.state("log/health.jsonl")).lines().count()
}

// shows: HRD-119, HRD-F58, HRD-F59
#[test]
fn the_daemon_keeps_all_findings_in_a_file_until_all_is_well_and_tells_people_once() {
    let home = Home::made("web-1");
    let mode =
        |mode| std::fs::set_permissions(home.state(""), std::fs::Permissions::from_mode(mode)).unwrap();
    home.configure("disk: { budget_mib: 64 }\nnotifications: { min_severity: info }\n");
    let daemon = Running::on(&home);
    wait_until("a round is over", || rounds_so_far(&home) == 1);
    assert_eq!(findings(&home), None);
    // A round after each reload: what is looked for may have changed.
    let next_round = || {
        let before = rounds_so_far(&home);
        home.run(&["config", "reload"]).ok();
        wait_until("the next round is over", || rounds_so_far(&home) > before);
    };
    let told = || -> Vec<String> {
        let notices = home.told().into_iter().map(|n| n["message"].as_str().unwrap().to_owned());
        notices.filter(|message| message.starts_with("This instance is")).collect()
    };
    mode(0o750);
    take_space(&home.state("dummy"), 60);
    next_round();
    // A failure and a warning: neither hides the other.
    assert_eq!(findings(&home).unwrap(), ["home failed", "disk degraded"]);
    wait_until("people are told", || !told().is_empty());
    assert_eq!(home.told()[0]["severity"], "critical");
    (0..3).for_each(|_| next_round());
    assert_eq!(findings(&home).unwrap().len(), 2);
    assert_eq!(told(), ["This instance is unhealthy now."], "a fault that lasts is told once");
    home.run(&["status"]).ends(1).shows("home: others may read or write");
    assert_eq!(daemon.metric(r#"holdfast_check_state{check="home"}"#), Some(2.0));

    mode(0o700);
    std::fs::remove_file(home.state("dummy")).unwrap();
    next_round();
    assert_eq!(findings(&home), None);
    wait_until("people are told that it is over", || told().len() == 2);
    assert_eq!(told()[1], "This instance is healthy now.");
    let changed: Vec<Value> =
        home.bodies("holdfast.health.changed").iter().map(|body| body["verdict"].clone()).collect();
    assert_eq!(changed, ["unhealthy", "healthy"]);
    daemon.terminated().well();
}

// shows: HRD-111
#[test]
fn no_round_of_checks_calls_anything_outside_the_machine() {
    let home = Home::made("web-1");
    let traced = |command: &Command, to: &std::path::Path| {
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o"])
            .arg(to)
            .arg(command.get_program());
        strace.args(command.get_args()).env("HOLDFAST_HOME", home.path());
        strace
    };
    let dir = tempfile::tempdir().unwrap();
    let (of_daemon, of_doctor) = (dir.path().join("daemon"), dir.path().join("doctor"));
    let daemon = Running::start(traced(&up(&home, an_address()), &of_daemon));
    wait_until("a round is over", || rounds_so_far(&home) == 1);
    run(traced(&home.command(&["doctor"]), &of_doctor), None).ok();
    home.run(&["down"]).ok();
    daemon.ended().well();
    let calls = |path| {
        let text = read(path);
        text.lines().filter(|line| line.contains("sa_family=")).map(str::to_owned).collect::<Vec<_>>()
    };
    let abroad = |line: &&String| !line.contains("sa_family=AF_UNIX");
    assert!(!calls(&of_doctor).is_empty(), "the daemon was asked, so there is something to see");
    for calls in [calls(&of_daemon), calls(&of_doctor)] {
        assert_eq!(calls.iter().find(abroad), None);
    }
    assert_eq!(default_of(&home, "health.interval_minutes"), "5");
}

// shows: HRD-115, HRD-F65
#[test]
fn a_journal_above_its_configured_size_is_degraded_with_its_size() {
    let home = Home::made("web-1");
    home.configure("journal: { segment_mib: 1, keep_segments: 1, warn_mib: 1, cap_mib: 64 }\n");
    assert_eq!(state_of(&home.run(&["--json", "doctor"]), "journal"), "healthy");
    let blob = home.path().join("blob");
    std::fs::write(&blob, vec![b'x'; 700 * 1024]).unwrap();
    for _ in 0..2 {
        let blob = blob.to_str().unwrap();
        home.run(&["audit", "log", "--actor", "ana", "--kind", "memory.note.kept", "--blob", blob]).ok();
    }
    let ran = home.run(&["--json", "doctor"]);
    assert_eq!((state_of(&ran, "journal").as_str(), ran.code), ("degraded", 2));
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    let size =
        checks.iter().find(|c| c["check"] == "journal").unwrap()["figures"]["size_mb"].as_f64().unwrap();
    assert!((1.0..10.0).contains(&size), "{size}");
    // The limit is the configuration's, not the program's.
    home.configure("journal: { segment_mib: 1, keep_segments: 1, warn_mib: 32, cap_mib: 64 }\n");
    assert_eq!(state_of(&home.run(&["--json", "doctor"]), "journal"), "healthy");
}
