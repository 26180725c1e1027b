//! The steward as people meet it: a real daemon with a modelled host, its command line, and a daemon that dies.
//!
//! A target starts at the lowest level and takes days of its time to be trusted. Where a test needs more, the records that say
//! so are written before the daemon starts, as the steward itself would have written them.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;
#[path = "daemon/receiver.rs"]
mod receiver;
#[path = "daemon/running.rs"]
mod running;

#[path = "steward/asking.rs"]
mod asking;
#[path = "steward/limits.rs"]
mod limits;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use holdfast_journal::{Journal, Options, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_lifeline::{Identity, Sound, Steady};
use holdfast_steward::brain::Diagnosis;
use holdfast_steward::com::Com;
use holdfast_steward::episode::Ending;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::lesson::Lesson;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::setting::Property;
use holdfast_steward_host::{SimHost, entry_of};
use holdfast_types::Clock as _;
use home::{Home, filters};
use running::{Looking, Running, wait_for, wait_until};
use serde_json::{Value, json};

const HOUR: u64 = 3_600_000;
/// The modelled host is calm for half a day, and pressed for the next.
const CALM: u64 = 11 * HOUR + HOUR / 2;
const PRESSED: u64 = 13 * HOUR;

/// As fast as it goes, and slow enough that a person could step in: a window of ten minutes takes twenty seconds.
const FAST: u32 = 3600;
const SLOW: u32 = 30;

fn home(speed: u32) -> Home {
    let home = Home::made("stw");
    home.configure(&format!(
        "steward:\n  targets:\n    - {{ name: box-1, driver: sim, seed: 7, speed: {speed} }}\n"
    ));
    home
}

/// What a modelled host runs before anything was changed on it.
fn untouched() -> Identity {
    let bare = Com {
        memory_total: 1 << 30,
        swap: false,
        ssh_enabled: true,
        vpn_enabled: None,
        firewall_enabled: true,
        units: BTreeMap::new(),
        rest: String::new(),
        own_configuration: String::new(),
    };
    SimHost::new(bare, 1, Sound::YES).running()
}

/// Writes records of the target on a home that nobody has open.
fn write(home: &Home, at: u64, events: Vec<Event>) {
    write_of(home, "box-1", at, events);
}

fn write_of(home: &Home, target: &str, at: u64, events: Vec<Event>) {
    let clock = Arc::new(SystemClock::new());
    let wall = clock.now();
    let journal = Journal::open(Options {
        dir: home.journal(),
        signers: vec![file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock,
        vault: None,
        archive: None,
        limits: Default::default(),
    });
    let journal = journal.unwrap();
    let (target, actor) = (target.parse().unwrap(), "holdfast".parse().unwrap());
    for event in events {
        let record = Record { at: Steady(at), wall, synced: false, event };
        let appended = journal.append(&entry_of(&record, &target, &actor).unwrap()).unwrap();
        assert_eq!(appended.redactions, 0, "a record is kept as it is");
    }
}

/// A home whose target has been trusted before, at a moment of its time.
fn trusted(speed: u32, level: Level, at: u64) -> Home {
    let home = home(speed);
    let why = "for a test".to_owned();
    let raised = Event::LevelSet { from: Level::Observe, to: level, by_person: true, why };
    write(&home, at, vec![Event::Enrolled { known_good: untouched() }, raised]);
    home
}

fn target(home: &Home) -> Value {
    let ran = home.run(&["--json", "steward", "status"]);
    assert!([0, 1, 3].contains(&ran.code), "{}", ran.err);
    ran.json()["targets"][0].clone()
}

/// Under pressure that began before anybody watched, a person has to ask.
fn asked(home: &Home) {
    wait_until("it is asked", || home.run(&["steward", "trigger"]).code == 0);
}

fn phase(home: &Home) -> Option<String> {
    target(home)["open"]["phase"].as_str().map(str::to_owned)
}

fn episodes(home: &Home) -> Vec<Value> {
    home.json(&["steward", "episodes"])["episodes"].as_array().unwrap().clone()
}

/// The first episode that ended so.
fn ended(home: &Home, outcome: &str) -> Value {
    wait_for(outcome, || episodes(home).into_iter().find(|episode| episode["outcome"] == outcome))
}

fn story(home: &Home, episode: &Value) -> String {
    let shown = home.json(&["steward", "show", episode["episode"].as_str().unwrap()]);
    let lines = shown["lines"].as_array().unwrap().iter();
    lines.map(|line| format!("{}\n", line["what"].as_str().unwrap())).collect()
}

/// What differs from run to run, and from one seed of the model to another.
fn same(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim_end().trim_end_matches(',');
        let is_id =
            bare.starts_with("ep_") || bare.len() == 12 && bare.bytes().all(|b| b.is_ascii_hexdigit());
        out.push_str(&if is_id { word.replace(bare, "[ID]") } else { word.to_owned() });
    }
    out
}

#[test]
fn without_a_target_it_says_how_to_have_one() {
    let home = Home::made("stw");
    let _daemon = Running::on(&home);
    home.run(&["steward", "status"]).ok().shows("looks after nothing").shows("driver: sim");
    home.run(&["steward", "trigger"]).ends(1).says("HF-STW-004");
    home.run(&["steward", "episodes"]).ok().shows("no episode yet");
    home.run(&["steward", "show", "ep_1"]).ends(1).says("HF-STW-006").says("steward episodes");
    home.run(&["steward", "approve", "ep_1", "--yes"]).ends(1).says("HF-STW-006");
}

// shows: STW-030
#[test]
fn at_observe_nothing_is_opened_and_no_level_is_given_without_evidence() {
    let home = home(FAST);
    let daemon = Running::on(&home);
    wait_until("it is taken in", || target(&home)["known_good"].is_string());
    assert_eq!(target(&home)["level"], "observe");
    let refused = home.run(&["steward", "level", "box-1", "plan"]).ends(4).says("HF-STW-001");
    assert!(refused.err.contains("of 168 hours of metrics"), "{}", refused.err);
    home.run(&["steward", "level", "box-1", "tier-two"]).ends(4).says("HF-STW-001");
    home.run(&["steward", "level", "box-1", "observe"]).ok().shows("already");
    home.run(&["steward", "level", "box-9", "plan"]).ends(1).says("HF-STW-003");
    home.run(&["steward", "trigger"]).ends(4).says("nothing is planned");
    home.run(&["steward", "rollback"]).ends(1).says("HF-STW-010");
    // Long enough that its load has risen, which at any other level is a reason to plan.
    wait_until("fourteen hours of its time have passed", || {
        let said = home.run(&["steward", "level", "box-1", "plan"]).err;
        let hours = said.split(" of 168").next().unwrap().rsplit(' ').next().unwrap().parse::<u64>();
        hours.unwrap() >= 14
    });
    assert_eq!(target(&home)["open"], Value::Null);
    assert!(episodes(&home).is_empty());
    let kinds: Vec<Value> = home.entries().into_iter().map(|entry| entry["kind"].clone()).collect();
    let of_ours = kinds.iter().filter(|kind| kind.as_str().unwrap().starts_with("steward.")).count();
    assert_eq!(of_ours, 1, "that it was taken in, and nothing else: {kinds:?}");
    daemon.terminated().well();
    // Down to nothing: the journal tells, and says that it is the journal.
    let ran = home.run(&["steward", "status"]).ends(3).shows("no daemon runs").shows("observe");
    ran.shows("accelerated 3600×");
    home.run(&["steward", "trigger"]).ends(3).says("HF-CLI-019");
}

// shows: STW-075, STW-229
#[test]
fn an_episode_is_opened_tried_kept_and_told_by_the_journal_alone() {
    let home = trusted(FAST, Level::TierOne, CALM);
    let daemon = Running::on(&home);
    wait_until("it is at work", || home.run(&["steward", "trigger", "--actor", "ana"]).code == 0);
    let asked = ended(&home, "no_action");
    assert_eq!(asked["why"], "ana asked");
    // Its load rises half an hour later, and that alone is a reason.
    let kept = ended(&home, "kept");
    let why = kept["why"].as_str().unwrap();
    assert!(why.starts_with("on box-1") && why.contains("memory pressure rose"), "{why}");
    assert!(why.contains("latency of task-runner.service rose"), "one sentence names them all: {why}");
    let told = home.entries().into_iter().filter(|entry| {
        entry["kind"] == "steward.trigger.queued" && entry["body"]["cause"]["noticed"].is_object()
    });
    let told: Vec<Value> = told.map(|entry| entry["body"]["cause"]["noticed"]["told"].clone()).collect();
    assert_eq!(told[0]["metrics"].as_array().unwrap().len(), 3, "{told:?}");
    let opened = episodes(&home).iter().filter(|one| one["why"] == kept["why"]).count();
    assert!(opened <= 2, "several metrics, one story: {:?}", episodes(&home));
    assert!(kept["change"].as_str().unwrap().contains("task-runner.service"), "{kept}");
    assert_ne!(target(&home)["known_good"], json!(untouched()));
    // Memory has it too, where a person or an agent looks for what was tried before.
    let remembered = ["memory", "search", "task-runner", "--agent", "steward", "--kind", "outcomes"];
    wait_until("it is remembered", || home.run(&remembered).out.contains("kept"));
    let whole = home.run(&["--json", "audit", "tail", "--from", "0"]).ok().out;
    assert!(!whole.contains("REDACTED"), "a record that is not kept as it is cannot be followed");
    daemon.terminated().well();

    let id = kept["episode"].as_str().unwrap();
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(same(&story(&home, &kept)));
    });
    let shown = home.run(&["steward", "show", &id[id.len() - 4..]]).ok().shows("accelerated 3600×");
    assert!(shown.out.contains("●●●●●"), "{}", shown.out);
    let window = home.json(&["steward", "show", id])["window"].clone();
    assert_eq!((&window["needed"], &window["cycles"]), (&json!(12), &json!(20)), "{window}");
    home.run(&["steward", "show", "ep_"]).ends(1).says("HF-STW-007");
    home.run(&["steward", "report"]).ok().shows("box-1");
    // What was kept is still there when it starts again: the modelled host is what the records say.
    let _again = Running::on(&home);
    wait_until("it is at work again", || home.run(&["steward", "trigger", "--actor", "bo"]).code == 0);
    let looked = wait_for("it has looked", || {
        episodes(&home)
            .into_iter()
            .find(|one| one["why"].as_str().unwrap().contains("bo asked") && one["outcome"].is_string())
    });
    assert_ne!(looked["outcome"], "failed", "{looked}");
    assert_eq!(target(&home)["drifted"], false);
    assert_ne!(target(&home)["known_good"], json!(untouched()));
}

#[test]
fn a_daemon_that_is_killed_in_the_middle_of_a_trial_undoes_it_when_it_is_back() {
    let home = trusted(SLOW, Level::TierOne, PRESSED);
    let daemon = Running::on(&home);
    asked(&home);
    wait_until("a trial is watched", || phase(&home).as_deref() == Some("verifying"));
    home.run(&["steward", "status"]).ok().shows("on trial").shows("undone by itself in");
    daemon.killed();
    home.run(&["steward", "status"]).ends(3).shows("verifying");
    let _again = Running::on(&home);
    let undone = ended(&home, "interrupted");
    assert!(undone["reason"].as_str().unwrap().contains("restarted in the middle"), "{undone}");
    assert!(story(&home, &undone).contains("seen on the target"), "{}", story(&home, &undone));
    assert_eq!(target(&home)["known_good"], json!(untouched()));
}

// shows: STW-148
#[test]
fn nothing_is_tried_while_another_program_lies_where_this_one_was_started_from() {
    let home = trusted(SLOW, Level::TierOne, PRESSED);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("holdfast");
    std::fs::copy(home::PROGRAM, &program).unwrap();
    let _daemon = Running::with(&home, |command| {
        let mut moved = Command::new(&program);
        moved.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => moved.env(name, value),
                None => moved.env_remove(name),
            };
        }
        *command = moved;
        command
    });
    // A file that runs cannot be written to, only exchanged.
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/true\n").unwrap();
    asked(&home);
    let barred = ended(&home, "failed");
    assert!(barred["reason"].as_str().unwrap().contains("a safety part is not the one"), "{barred}");
    assert_eq!(target(&home)["known_good"], json!(untouched()));
    // The same program in another file is the same program.
    std::fs::remove_file(&program).unwrap();
    std::fs::copy(home::PROGRAM, &program).unwrap();
    asked(&home);
    wait_until("a trial is watched", || phase(&home).as_deref() == Some("verifying"));
}

#[test]
fn what_waits_for_a_person_goes_on_when_they_approve_and_ends_when_they_reject() {
    for (verdict, outcome) in [("approve", "kept"), ("reject", "refused")] {
        let home = trusted(FAST / 2, Level::ApproveEach, PRESSED);
        let daemon = Running::on(&home);
        asked(&home);
        wait_until("it waits", || phase(&home).as_deref() == Some("waiting"));
        let ran = home.run(&["steward", "status"]).ends(1).shows("needs you");
        let open = target(&home)["open"].clone();
        let id = open["episode"].as_str().unwrap();
        ran.shows(&format!("holdfast steward approve {id}"));
        let asked = wait_for("it is in the inbox", || {
            home.json(&["approvals"])["approvals"].as_array().unwrap().first().cloned()
        });
        assert_eq!((&asked["subject"], &asked["target"]), (&json!("steward.trial"), &json!("box-1")));
        home.run(&["steward", verdict, id]).ends(2).says("HF-CLI-031");
        // It waits on: also over a restart, and what was asked is asked once.
        daemon.killed();
        let _again = Running::on(&home);
        wait_until("it waits again", || phase(&home).as_deref() == Some("waiting"));
        home.run(&["steward", verdict, &id[id.len() - 4..], "--yes", "--reason", "seen"]).ok();
        let over = ended(&home, outcome);
        assert_eq!(over["episode"], id);
        let all = home.json(&["approvals", "list", "--all"])["approvals"].clone();
        let states: Vec<&Value> = all.as_array().unwrap().iter().map(|ask| &ask["state"]).collect();
        assert_eq!(
            states.last(),
            Some(&&json!(if verdict == "approve" { "used" } else { "rejected" })),
            "{all}"
        );
    }
}

#[test]
fn a_pause_takes_a_trial_back_and_nothing_is_begun_until_it_is_lifted() {
    let home = trusted(SLOW, Level::TierOne, PRESSED);
    let _daemon = Running::on(&home);
    asked(&home);
    wait_until("a trial is watched", || phase(&home).as_deref() == Some("verifying"));
    home.run(&["steward", "pause", "--reason", "moving house"]).ok().shows("paused");
    let undone =
        wait_for("it is undone", || episodes(&home).into_iter().find(|one| one["outcome"].is_string()));
    assert!(undone["reason"].as_str().unwrap().contains("autonomy was paused"), "{undone}");
    assert_eq!(target(&home)["known_good"], json!(untouched()));
    home.run(&["steward", "status"]).ok().shows("autonomy is paused");
    home.run(&["steward", "trigger"]).ends(4).says("autonomy is paused");
    home.run(&["steward", "resume"]).ok().shows("goes on");
    wait_until("it may plan again", || home.run(&["steward", "trigger", "--dry-run"]).code == 0);
}

#[test]
fn a_person_takes_a_trial_back_and_lowers_the_level_at_once() {
    let home = trusted(SLOW, Level::TierOne, PRESSED);
    let _daemon = Running::on(&home);
    asked(&home);
    wait_until("a trial is watched", || phase(&home).as_deref() == Some("verifying"));
    home.run(&["steward", "rollback", "--dry-run"]).ok().shows("would be taken");
    home.run(&["steward", "rollback", "box-1"]).ok().shows("is undone");
    let undone =
        wait_for("it is undone", || episodes(&home).into_iter().find(|one| one["outcome"].is_string()));
    assert!(undone["reason"].as_str().unwrap().contains("a person asked"), "{undone}");
    home.run(&["steward", "level", "box-1", "plan"]).ok().shows("from tier-one to plan");
    assert_eq!(target(&home)["level"], "plan");
    home.run(&["steward", "level", "box-1", "tier-one"]).ends(4).says("HF-STW-001");
    // What a person says counts as evidence, once, and stands in the journal under their name.
    let episode = undone["episode"].as_str().unwrap();
    let missing = || home.run(&["steward", "level", "box-1", "approve-each"]).ends(4).err;
    assert!(missing().contains("0 of 5 proposals were read by a person"), "{}", missing());
    home.run(&["steward", "review", episode, "--dry-run"]).ok().shows("would be taken");
    home.run(&["steward", "review", episode, "--actor", "ana"]).ok().shows("was read by a person");
    home.run(&["steward", "review", episode]).ok().shows("was read before");
    assert!(missing().contains("1 of 5 proposals"), "{}", missing());
    home.run(&["steward", "rehearsed", "box-1", "tripwire", "--actor", "ana"])
        .ok()
        .shows("counts for 30 days");
    home.run(&["steward", "review", "ep_no_such"]).ends(1);
    let lately = home.run(&["audit", "tail", "-n", "20"]).ok().out;
    let by_ana =
        lately.lines().filter(|line| line.contains("holdfast.steward.ordered") && line.contains("ana"));
    assert_eq!(by_ana.count(), 2, "{lately}");
}

#[test]
fn a_target_that_somebody_else_changed_is_left_alone_until_a_person_accepts_it() {
    let home = trusted(SLOW, Level::TierOne, CALM);
    write(&home, CALM, vec![Event::Drifted { expected: untouched(), found: Identity([7; 32]) }]);
    let _daemon = Running::on(&home);
    wait_until("it is at work", || target(&home)["trouble"].is_null());
    home.run(&["steward", "status"]).ends(1).shows("not what it was left as");
    home.run(&["steward", "trigger"]).ends(4).says("steward accept box-1");
    home.run(&["steward", "reset", "box-1"]).ok().shows("the breaker is closed");
    home.run(&["steward", "accept", "box-1"]).ok().shows("gone back to from now on");
    home.run(&["steward", "status"]).ok();
    home.run(&["steward", "trigger"]).ok();
}

#[test]
fn nobody_else_writes_in_the_steward_s_room() {
    let home = Home::made("stw");
    let log = ["audit", "log", "--actor", "ana", "--body", "{}", "--kind"];
    let with = |kind| log.into_iter().chain([kind]).collect::<Vec<_>>();
    home.run(&with("steward.target.level_set")).ends(4).says("HF-STW-014");
    home.run(&with("steward.note.added")).ends(4).says("HF-STW-014");
    let append = holdfast_control::Request::Append(Box::new(holdfast_control::Append {
        kind: "steward.target.level_set".parse().unwrap(),
        actor: "ana".parse().unwrap(),
        subject: None,
        run: None,
        cause: None,
        key: None,
        trust: holdfast_types::Trust::Trusted,
        content: holdfast_control::Content::Body(serde_json::Map::new()),
    }));
    let _daemon = Running::on(&home);
    let client = holdfast_control::connect(&home.socket()).unwrap().unwrap();
    let refused = client.ask(append, &mut |_| {}).unwrap_err();
    assert_eq!(refused.code.to_string(), "HF-STW-014");
}

/// A week and more of a quiet metric, every five minutes.
fn quiet(days: u64) -> String {
    let rows = (0..days * 288).map(|n| {
        let noise = (n.wrapping_mul(2_654_435_761) >> 7) % 1000;
        format!("{},{}.{noise:03}\n", n * 300, 3 + noise % 2)
    });
    format!("timestamp,value\n{}", rows.collect::<String>())
}

// shows: STW-079, STW-080
#[test]
fn the_plain_detector_needs_a_calibration_of_a_week_and_a_new_one_is_written_down_with_the_old() {
    let home = Home::made("stw");
    home.configure(
        "steward:\n  targets:\n    - { name: box-1, driver: sim, seed: 7, speed: 3600, detector: plain }\n",
    );
    let (short, whole) = (home.path().join("short.csv"), home.path().join("whole.csv"));
    std::fs::write(&short, quiet(6)).unwrap();
    std::fs::write(&whole, quiet(8)).unwrap();
    let (short, whole) = (short.to_str().unwrap(), whole.to_str().unwrap());

    let daemon = Running::on(&home);
    let trouble = || target(&home)["trouble"].as_str().map(str::to_owned);
    let without = wait_for("its trouble", || trouble().filter(|why| why.contains("calibrat")));
    assert!(without.contains("nothing is noticed"), "{without}");

    let refused = home.run(&["steward", "calibrate", short]).ends(1).says("HF-STW-016");
    assert!(refused.err.contains("7 days") && refused.err.contains("144 hours"), "{}", refused.err);
    assert!(trouble().is_some(), "and nothing was written");

    let first = home.json(&["steward", "calibrate", whole]);
    assert_eq!((&first["old"], &first["new"]["version"]), (&Value::Null, &json!(1)));
    let dry = home.json(&["steward", "calibrate", whole, "--dry-run"]);
    assert_eq!((&dry["new"]["version"], &dry["recorded_as"]), (&json!(2), &Value::Null));
    let second = home.json(&["steward", "calibrate", whole, "--false-alarm-days", "7"]);
    assert_eq!(second["old"], first["new"]);
    assert!(second["new"]["h"].as_f64() < first["new"]["h"].as_f64(), "more alarms, a lower threshold");
    let written = home.entries();
    let entry = written.iter().rfind(|entry| entry["kind"] == "detector.parameters.replaced").unwrap();
    assert_eq!(entry["seq"], second["recorded_as"]);
    assert_eq!(entry["body"]["old"], first["new"], "{entry}");
    assert_eq!(entry["body"]["new"], second["new"]);

    daemon.terminated().well();
    let _daemon = Running::on(&home);
    wait_until("it notices", || target(&home)["level"] == "observe" && trouble().is_none());
}

// shows: STW-360
#[test]
fn a_modelled_host_may_start_higher_on_the_ladder() {
    let home = Home::made("stw");
    home.configure(
        "steward:\n  targets:\n    - { name: box-1, driver: sim, seed: 7, speed: 3600, starts_at: tier-one }\n",
    );
    let _daemon = Running::on(&home);
    wait_until("its level", || target(&home)["level"] == "tier-one");
    let kept = ended(&home, "kept");
    assert!(story(&home, &kept).contains("kept"));
}

/// A home with several modelled hosts that are trusted, each with its own trouble, a moment before that begins.
fn troubled(hosts: &[(&str, &str)], further: &str) -> Home {
    troubled_at(FAST, hosts, further)
}

fn troubled_at(speed: u32, hosts: &[(&str, &str)], further: &str) -> Home {
    let home = Home::made("stw");
    let target = |(name, trouble): &(&str, &str)| {
        format!(
            "    - {{ name: {name}, driver: sim, seed: 7, speed: {speed}, starts_at: tier-one, trouble: {trouble}{further} }}\n"
        )
    };
    let targets: String = hosts.iter().map(target).collect();
    home.configure(&format!("steward:\n  targets:\n{targets}"));
    for (name, _) in hosts {
        let why = "for a test".to_owned();
        let raised = Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why };
        write_of(&home, name, CALM, vec![Event::Enrolled { known_good: untouched() }, raised]);
    }
    home
}

/// The first episode of a target that says this, in its change or in its reason.
fn says(home: &Home, target: &str, text: &str) -> Value {
    wait_for(text, || {
        episodes(home).into_iter().find(|one| {
            let has = |key: &str| one[key].as_str().is_some_and(|said| said.contains(text));
            one["target"] == target && one["outcome"].is_string() && (has("change") || has("reason"))
        })
    })
}

// shows: STW-369
#[test]
fn each_kind_of_trouble_is_told_for_what_it_is() {
    let hosts = [
        ("short", "memory"),
        ("stopped", "processor"),
        ("waits", "nice"),
        ("leaks", "leak"),
        ("beside", "neighbour"),
    ];
    let home = troubled(&hosts, "");
    let _daemon = Running::on(&home);
    for (target, text, outcome) in [
        ("short", "MemoryHigh of task-runner.service from 896M", "kept"),
        ("stopped", "CPUQuota of task-runner.service from 100%", "kept"),
        ("waits", "Nice of task-runner.service from 0", "kept"),
        ("leaks", "the memory of task-runner.service grows for as long as it runs", "no_action"),
        ("beside", "it is backup.service that waits, which is not in scope", "no_action"),
    ] {
        assert_eq!(says(&home, target, text)["outcome"], outcome, "{target}");
    }
    // What lasts is shown for as long as it does.
    let status = home.run(&["--json", "steward", "status"]).json();
    let beside = status["targets"].as_array().unwrap().iter().find(|one| one["target"] == "beside").unwrap();
    let noticed = &beside["noticed"];
    assert_eq!(noticed["metrics"], json!(["psi_mem_some_avg60"]), "{beside}");
    assert!(noticed["sentence"].as_str().unwrap().starts_with("Memory pressure on beside rose"), "{noticed}");
    assert!(noticed["began_seconds_ago"].as_u64().unwrap() > 60, "{noticed}");
    home.run(&["steward", "status"]).shows("noticed  Memory pressure on beside rose from");
    // What was tried is learnt from, and the story says so.
    let learnt = wait_for("what was learnt", || {
        home.entries().into_iter().find(|entry| entry["kind"] == "steward.change.learnt")
    });
    let lesson = &learnt["body"]["lesson"];
    assert!(lesson["after"].as_f64().unwrap() < lesson["before"].as_f64().unwrap(), "{lesson}");
    let id = json!({"episode": learnt["body"]["episode"]});
    assert!(story(&home, &id).contains("learnt that task-runner.service"), "{}", story(&home, &id));
}

#[test]
fn a_change_is_learnt_from_also_when_the_daemon_was_restarted_in_the_middle() {
    // Slow enough that somebody may be heard during the two hours of probation.
    let home = troubled_at(900, &[("waits", "nice")], "");
    let learnt = || home.entries().into_iter().find(|entry| entry["kind"] == "steward.change.learnt");
    let daemon = Running::on(&home);
    wait_until("it is on probation", || phase(&home).as_deref() == Some("probation"));
    daemon.terminated().well();
    assert!(learnt().is_none());
    let _again = Running::on(&home);
    let lesson = wait_for("it is learnt from", learnt)["body"]["lesson"].clone();
    assert_eq!((&lesson["diagnosis"], &lesson["property"]), (&json!("nice_too_high"), &json!("Nice")));
    assert!(lesson["after"].as_f64().unwrap() < lesson["before"].as_f64().unwrap() / 2.0, "{lesson}");
}

#[test]
fn a_brain_knows_when_the_day_is_spent() {
    let home = troubled(&[("short", "memory")], ", limits: { trials_per_day: 1 }");
    let _daemon = Running::on(&home);
    says(&home, "short", "MemoryHigh of task-runner.service from 896M");
    wait_until("it is asked again", || home.run(&["steward", "trigger"]).code == 0);
    let spent = says(&home, "short", "as many changes were tried as a day may have");
    assert_eq!(spent["outcome"], "no_action");
}

#[test]
fn a_brain_is_shown_what_was_learnt_on_other_targets() {
    let home = troubled(&[("other", "nothing"), ("short", "memory")], "");
    // Six changes for the same want on the other host, none of which helped.
    for number in 0..6 {
        let episode: holdfast_lifeline::EpisodeId = format!("ep_{number:026}").parse().unwrap();
        let ending = Ending { outcome: Outcome::Kept, reason: "for a test".to_owned(), tried: true };
        let lesson = Lesson {
            diagnosis: Diagnosis::ThrottleTooLow,
            unit: "task-runner.service".parse().unwrap(),
            property: Property::MemoryHigh,
            step: 0.1,
            before: 30.0,
            after: 31.0,
        };
        let learnt = Event::Learnt { episode: episode.clone(), lesson: Box::new(lesson) };
        write_of(&home, "other", CALM, vec![Event::Ended { episode, ending }, learnt]);
    }
    let _daemon = Running::on(&home);
    let doubts = says(&home, "short", "changes of MemoryHigh have not helped units like it");
    assert_eq!(doubts["outcome"], "no_action", "{doubts}");
}

#[test]
fn what_the_lookouts_have_learnt_outlives_a_restart_and_what_is_damaged_is_learnt_anew() {
    let home = troubled(&[("beside", "neighbour")], "");
    let file = home.path().join("state/steward/beside.lookouts.json");
    let noticed = || Some(target(&home)["noticed"].clone()).filter(Value::is_object);
    let ago = |noticed: &Value| noticed["began_seconds_ago"].as_u64().unwrap();
    let daemon = Running::on(&home);
    let first = wait_for("two hours into it", || noticed().filter(|noticed| ago(noticed) > 7200));
    daemon.terminated().well();
    let stored: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&stored["format"], &stored["target"]), (&json!(1), &json!("beside")));
    let stored_at = stored["at"].as_u64().unwrap();

    let daemon = Running::on(&home);
    let again = wait_for("it goes on", noticed);
    assert_eq!(again["sentence"], first["sentence"], "the same story, found once");
    assert!(ago(&again) >= ago(&first), "its time goes on from there: {again}");
    assert!(!daemon.log().contains("learnt anew"), "{}", daemon.log());
    daemon.terminated().well();
    let stored: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(stored["at"].as_u64().unwrap() > stored_at);

    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 3]).unwrap();
    let daemon = Running::on(&home);
    wait_for("it is noticed anew", noticed);
    assert!(daemon.log().contains("learnt anew"), "{}", daemon.log());
    assert_eq!(std::fs::read(file.with_extension("json.set-aside")).unwrap(), &whole[..whole.len() / 3]);
    let told = home.bodies("notice.message.raised").into_iter();
    let told: Vec<String> = told.map(|body| body.to_string()).collect();
    assert!(told.iter().any(|body| body.contains("had learnt is learnt anew")), "{told:?}");
    daemon.terminated().well();
    assert!(std::fs::metadata(&file).unwrap().len() > 1000, "and stored again");
}

/// A metric about 3, and from a row on about 20.
fn shifted(rows: usize, at: usize) -> String {
    let row = |n: usize| {
        let noise = (n.wrapping_mul(2_654_435_761) >> 7) % 1000;
        let level = if n < at { 2 } else { 19 };
        format!("2026-11-{:02} {:02}:{:02}:00,{level}.{noise:03}\n", 1 + n / 288, n / 12 % 24, n % 12 * 5)
    };
    format!("timestamp,value\n{}", (0..rows).map(row).collect::<String>())
}

#[test]
fn a_series_is_scored_row_by_row_by_what_came_before_and_needs_no_home() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let whole = shifted(2000, 1500);
    std::fs::write(path("whole.csv"), &whole).unwrap();
    let part: Vec<&str> = whole.lines().take(1520).collect();
    std::fs::write(path("part.csv"), part.join("\n")).unwrap();
    let scored = |name: &str| {
        let out = path(&format!("{name}-scored.csv"));
        let args = ["steward", "detect", &path(&format!("{name}.csv")), "--scores", &out];
        home::run(home::bare_command(&args), None).ok();
        std::fs::read_to_string(out).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, some) = (scored("whole"), scored("part"));
    assert_eq!(all[0], "timestamp,value,anomaly_score");
    assert_eq!((all.len(), some.len()), (2001, 1520));
    assert_eq!(all[..1520], some[..], "what comes later changes no score");
    let mut highest = (0.0, 0);
    for (n, (row, line)) in whole.lines().zip(&all).enumerate().skip(1) {
        let score: f64 = line.strip_prefix(&format!("{row},")).unwrap().parse().unwrap();
        assert!((0.0..=1.0).contains(&score), "{line}");
        if score > highest.0 && n > 300 {
            highest = (score, n - 1);
        }
    }
    assert!((1500..1510).contains(&highest.1), "the shift scores highest: {highest:?}");

    let args = ["--json", "steward", "detect", &path("whole.csv"), "--change-points"];
    let said = home::run(home::bare_command(&args), None).ok().json();
    let indices: Vec<u64> =
        said["change_points"].as_array().unwrap().iter().map(|c| c["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [1500], "where regimes begin, without the first");
    let svg = path("whole.svg");
    let args = ["--json", "steward", "detect", &path("whole.csv"), "--svg", &svg];
    let said = home::run(home::bare_command(&args), None).ok().json();
    let sentence =
        said["findings"].as_array().unwrap().iter().find(|found| found["kind"] == "shift").unwrap();
    let told = sentence["sentence"].as_str().unwrap();
    assert!(told.contains("rose from") && told.contains("2026-11-06 05:00:00"), "{told}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    home::run(home::bare_command(&["steward", "detect", &path("none.csv")]), None).ends(3);
    std::fs::write(path("bad.csv"), "timestamp,value\n1,2\n2,two\n").unwrap();
    home::run(home::bare_command(&["steward", "detect", &path("bad.csv")]), None).ends(2).says("line 3");
}
