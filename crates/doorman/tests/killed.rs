//! A controller is killed at any point of its way, with `kill -9`, as a process of its own: the real steward and its runner, over real SSH,
//! against a real machine. Whatever it was about to do, what is on the machine afterwards is what was there before, or, once it had said
//! that it keeps the change, that change and nothing else.
//!
//! The controller says where it is; where it is to die it waits for it, or is killed while a word is on its way. Each next one knows nothing of
//! the one before: its journal is gone.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

#[path = "target/steps.rs"]
mod steps;
mod target;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_lifeline::{EpisodeId, Identity, Steady};
use holdfast_sim::plain::{self, Calm, Timed};
use holdfast_steward::Settings;
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{Answer, Fault, Full, TargetState, Verb};
use holdfast_steward::event::Event;
use holdfast_steward::setting::{Property, Setting, UnitName};
use holdfast_steward_host::{Driver, SystemdHost, Way};
use holdfast_testkit::crash::{self, Crash, Report};
use holdfast_testkit::lab::RELEASES;
use holdfast_testkit::rounds;
use serde_json::json;
use steps::{Before, MIB, nothing_of_ours_is_left, seen, wait_slowly};
use target::{Target, run, service};

/// A lease of the steward's lasts 90 s of its time: so much less here, because it is waited for.
const PACE: u32 = 4;
/// Its window, in its own time: a few looks are as good as many.
const WINDOW: Duration = Duration::from_secs(120);
const HIGH: u64 = 130;
const RAISED: u64 = 150;
const SLEEPER: &str = "import time\nheld = b'x' * (40 << 20)\nwhile True:\n    time.sleep(60)\n";
/// A machine lives ten minutes.
const ROUNDS_PER_MACHINE: usize = 5;

/// When the controller dies, as seen from a call it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    /// So many thousandths of a second after it began: the word is on its way, or being done.
    During(u64),
    After,
}

/// Which call: its name, and which one of that name.
type Call = (&'static str, u32);

/// Forty points of the way. The first eight are those of `make test`: one for each thing that can be on its way.
const POINTS: [(Call, When); 40] = [
    (("stage", 1), When::During(400)),
    (("arm", 1), When::During(500)),
    (("try", 1), When::During(700)),
    (("poll", 1), When::During(1500)),
    (("renew", 2), When::During(200)),
    (("keep", 1), When::Before),
    (("keep", 1), When::During(1500)),
    (("keep", 1), When::After),
    (("list", 1), When::Before),
    (("list", 1), When::During(100)),
    (("look", 1), When::Before),
    (("look", 1), When::During(300)),
    (("look", 1), When::After),
    (("check", 1), When::Before),
    (("check", 1), When::During(500)),
    (("check", 1), When::After),
    (("stage", 1), When::Before),
    (("stage", 1), When::During(1500)),
    (("stage", 1), When::After),
    (("arm", 1), When::Before),
    (("arm", 1), When::During(100)),
    (("arm", 1), When::During(1000)),
    (("arm", 1), When::After),
    (("try", 1), When::Before),
    (("try", 1), When::During(200)),
    (("try", 1), When::During(1500)),
    (("try", 1), When::After),
    (("poll", 1), When::Before),
    (("poll", 1), When::During(300)),
    (("poll", 1), When::During(3000)),
    (("renew", 1), When::Before),
    (("renew", 1), When::During(400)),
    (("renew", 1), When::After),
    (("renew", 2), When::After),
    (("renew", 3), When::During(600)),
    (("renew", 3), When::After),
    (("keep", 1), When::During(100)),
    (("keep", 1), When::During(600)),
    (("keep", 1), When::During(3000)),
    (("keep", 1), When::During(6000)),
];

/// The controller, when this is it.
#[test]
fn controller() {
    crash::child_main("controller", |args, report| {
        let way: Vec<&str> = args.iter().map(String::as_str).collect();
        let [port, known_hosts, keys, sockets, instance, dies_at] = way.as_slice() else {
            panic!("{args:?}")
        };
        let way = Way {
            address: "127.0.0.1".to_owned(),
            port: port.parse().unwrap(),
            alias: "guest".to_owned(),
            known_hosts: PathBuf::from(known_hosts),
            keys: PathBuf::from(keys),
            observer: "agent".to_owned(),
            actor: "root".to_owned(),
            sockets: PathBuf::from(sockets),
        };
        let host = SystemdHost::paced(way, PACE);
        let told =
            Told { host, report: report.clone(), dies_at: (*dies_at).to_owned(), calls: BTreeMap::new() };
        let settings = Settings { instance: instance.parse().unwrap(), ..settings() };
        let settled = |event: &Event| matches!(event, Event::Kept { .. } | Event::Ended { .. });
        let ran = plain::run_until(1, settings, told, Calm::saying(more), settled).unwrap();
        let last = ran.log().records.iter().rev().find(|record| settled(&record.event)).map(|it| &it.event);
        report.line(format!("settled: {last:?}"));
        // It was quicker than its death, which comes.
        if !dies_at.is_empty() {
            std::thread::sleep(Duration::from_secs(600));
        }
    });
}

/// The real host, and a word to the parent before and after each call.
struct Told {
    host: SystemdHost,
    report: Report,
    dies_at: String,
    calls: BTreeMap<&'static str, u32>,
}

impl Told {
    fn around<T>(&mut self, name: &'static str, call: impl FnOnce(&mut SystemdHost) -> T) -> T {
        let nth = self.calls.entry(name).and_modify(|nth| *nth += 1).or_insert(1);
        let (before, after) = (format!("{name} {nth} before"), format!("{name} {nth} after"));
        self.point(&before);
        let answer = call(&mut self.host);
        self.point(&after);
        answer
    }

    fn point(&self, point: &str) {
        self.report.line(point);
        if self.dies_at == point {
            // Until it is killed. Its time limit ends it should nobody do that.
            std::thread::sleep(Duration::from_secs(600));
        }
    }
}

impl Driver for Told {
    fn kind(&self) -> &'static str {
        self.host.kind()
    }
    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        if let Verb::Arm { episode, .. } = verb {
            self.report.line(format!("episode {episode}"));
        }
        self.around(verb.name(), |host| host.call(verb))
    }
    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        let name = if renew.is_some() { "renew" } else { "look" };
        // Pressure over a minute of the host says nothing where a whole window takes half of one.
        self.around(name, |host| host.state(full, renew, about))
            .map(|state| TargetState { metric: None, ..state })
    }
    /// What it finds is what is booted into: generations that were taken back are newer and not it.
    fn generations(&self) -> Vec<Identity> {
        self.point("list 1 before");
        let listed = self.host.generations();
        self.point("list 1 after");
        assert!(!listed.is_empty());
        let ask = Ask::State { full: false, renew: None, about: None };
        match self.host.way().ask(Role::Act, &ask, Duration::from_secs(30)) {
            Ok(Reply::State(state)) => vec![state.boots_into],
            other => panic!("{other:?}"),
        }
    }
    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.host.collect_garbage(keep)
    }
    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.host.reboot(reset)
    }
}

impl Timed for Told {
    fn advance(&mut self, _: Steady) {}
}

/// A little more memory.
fn more(full: &Full) -> Result<String, Failure> {
    let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryHigh };
    Ok(json!({
        "hypothesis": "it is held at its throttle",
        "target_service": "web.service",
        "target_option": "MemoryHigh",
        "old_value": full.com.value(&setting).to_string(),
        "new_value": format!("{RAISED}M"),
        "rationale": "it holds 40M",
        "verification_checks": [],
        "expected_outcome": {"metric": "psi_mem_some_avg60", "direction": "minimize", "relative_change": -0.1},
    })
    .to_string())
}

fn settings() -> Settings {
    let mut settings = plain::settings();
    let web: UnitName = "web.service".parse().unwrap();
    settings.endpoint_of =
        settings.endpoint_of.into_values().map(|endpoint| (web.clone(), endpoint)).collect();
    settings.rules.services = vec![web.clone()];
    settings.rules.workload = web;
    settings.rules.critical = vec!["ssh.service".parse().unwrap()];
    settings.space_there = 64 * MIB;
    settings.window = WINDOW;
    settings
}

// shows: STW-310, STW-412
#[test]
fn a_controller_killed_at_any_point_leaves_nothing_behind_on_bookworm() {
    dies_on("bookworm");
}

#[test]
fn a_controller_killed_at_any_point_leaves_nothing_behind_on_trixie() {
    dies_on("trixie");
}

/// At every other point: the other release has the rest.
fn dies_on(release: &str) {
    let which = RELEASES.iter().position(|it| *it == release).unwrap();
    let points = &POINTS[..rounds(8, 40) as usize];
    let mine: Vec<_> = points.iter().skip(which).step_by(RELEASES.len()).collect();
    for (machine, points) in mine.chunks(ROUNDS_PER_MACHINE).enumerate() {
        dies_again_and_again(release, 1000 * (which + 1) + 100 * machine, points);
    }
}

fn dies_again_and_again(release: &str, instance: usize, points: &[&(Call, When)]) {
    let Some(target) = Target::of(release, SLEEPER, &service(HIGH)) else { return };
    let before = Before::of(&target);
    for (at, (call, when)) in points.iter().enumerate() {
        let began = Instant::now();
        // In every other round only the controller dies, and not its machine: its connections live on without it.
        let with_it = if at % 2 == 0 { Dies::WithItsMachine } else { Dies::Alone };
        let kept = dies(&target, &before, instance + at, (*call, *when), with_it);
        eprintln!("{release}: {call:?} {when:?} {with_it:?}: kept {kept}, {:?}", began.elapsed());
    }
    // On one of the two machines where time is short.
    if rounds(0, 1) == 1 || release == RELEASES[1] {
        let began = Instant::now();
        the_next_one_can_work(&target, &before, instance + points.len());
        eprintln!("{release}: the next one, {:?}", began.elapsed());
    }
}

/// What dies with a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dies {
    WithItsMachine,
    Alone,
}

fn started(target: &Target, instance: usize, dies_at: &str) -> crash::Child {
    let way = target.way();
    Crash::new("controller")
        .arg(way.port)
        .arg(way.known_hosts.display())
        .arg(way.keys.display())
        .arg(way.sockets.display())
        .arg(instance)
        .arg(dies_at)
        .timeout(Duration::from_secs(300))
        .spawn()
        .unwrap()
}

/// One controller, killed there. Says whether the change was kept, in which case it is taken back.
fn dies(
    target: &Target,
    before: &Before,
    instance: usize,
    (call, when): (Call, When),
    with_it: Dies,
) -> bool {
    let what = format!("{call:?} {when:?}");
    let (name, nth) = call;
    let stands = if when == When::After { "after" } else { "before" };
    let point = format!("{name} {nth} {stands}");
    // Who dies during a call does not wait there.
    let waits_at = if matches!(when, When::During(_)) { "somewhere" } else { &point };
    let child = started(target, instance, waits_at);
    child
        .wait_line(&point, Duration::from_secs(240))
        .unwrap_or_else(|e| panic!("{what}: {e} {:#?}", child.lines()));
    if let When::During(millis) = when {
        std::thread::sleep(Duration::from_millis(millis));
    }
    let calls = children(child.pid());
    let remains = child.kill().unwrap();
    assert!(remains.was_killed(), "{what}");
    if with_it == Dies::WithItsMachine {
        calls.into_iter().chain(masters(&target.way())).for_each(kill);
    }
    let said = |start: &str| remains.lines.iter().any(|line| line.starts_with(start));
    let armed = said("arm 1 before");
    if armed {
        is_quiet(target, &what);
    }
    let found = seen(target, 1);
    assert!(!found.leased, "{what}");
    assert_eq!(found.running, found.boots_into, "{what}");
    let kept = found.boots_into != before.state.boots_into;
    if kept {
        assert!(said("keep 1 before"), "{what}: kept, and nobody said so");
        assert_eq!(target.limit("memory.high"), (RAISED * MIB).to_string(), "{what}");
        nothing_of_ours_is_left(target);
        take_back(target, before, &remains.lines);
    }
    before.is_now(target, &what);
    // What lived on without the controller ends, and leaves nothing either.
    masters(&target.way()).into_iter().for_each(kill);
    kept
}

/// With nothing but what the target itself says, and the guard's key.
fn take_back(target: &Target, before: &Before, lines: &[String]) {
    let episode = lines.iter().find_map(|line| line.strip_prefix("episode ")).unwrap().parse().unwrap();
    let back = Ask::Restore { episode, wanted: before.state.running };
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted);
}

/// A new controller, which knows nothing of those before it, goes all the way.
fn the_next_one_can_work(target: &Target, before: &Before, instance: usize) {
    let remains = started(target, instance, "").wait().unwrap();
    assert!(remains.status.success(), "{}", remains.output);
    assert!(remains.lines.iter().any(|line| line.starts_with("settled: Some(Kept")), "{:#?}", remains.lines);
    assert_eq!(target.limit("memory.high"), (RAISED * MIB).to_string());
    take_back(target, before, &remains.lines);
    before.is_now(target, "taken back");
    target.way().hang_up();
    assert!(masters(&target.way()).is_empty(), "a connection is still open");
}

/// No lease, nothing of ours at work: what was on its way has come, and what ran out is undone.
fn is_quiet(target: &Target, what: &str) {
    wait_slowly(what, || {
        let at_work = target.guest.run(&["pgrep", "-x", "holdfast-doorma"]).status.success();
        !at_work && !seen(target, 1).leased
    });
}

/// The processes that it has started and waits for.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task");
    let tasks = std::fs::read_dir(path).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// The connections that stay open behind a controller, by the ids of their processes.
fn masters(way: &Way) -> Vec<u32> {
    let mut found = Vec::new();
    for role in Role::ALL {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-O", "check", "-o"])
            .arg(format!("ControlPath={}", way.sockets.join(role.as_str()).display()));
        ssh.arg("127.0.0.1");
        let said = String::from_utf8_lossy(&run(ssh, b"").stderr).into_owned();
        found.extend(
            said.split_once("(pid=").and_then(|(_, rest)| rest.split_once(')')?.0.parse::<u32>().ok()),
        );
    }
    found
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended by itself.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}
