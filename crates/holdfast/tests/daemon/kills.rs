//! A daemon killed with SIGKILL at random moments: the next one starts well, and nothing acknowledged is gone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holdfast_control::{Answer, Append, Content, Request, connect};
use holdfast_journal::{SystemClock, View};
use holdfast_notice::NoticeProjection;
use holdfast_store::{EntriesProjection, Index};
use holdfast_testkit::crash::{Child, Crash};
use holdfast_testkit::{Rng, Seed, rounds};
use holdfast_types::Trust;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value};

use crate::fill::fill;
use crate::home::{Home, PROGRAM};
use crate::running::{LONG, Looking, NO_GATEWAY, an_address, wait_until};

/// How soon a daemon is to be ready and well after a kill, on the slowest machine that runs these tests.
const SOON: Duration = Duration::from_secs(10);

fn daemon(home: &Home) -> Child {
    let crash = Crash::program(PROGRAM).arg("--json").arg("--home").arg(home.path().display());
    let crash = crash.arg("up").arg("--set").arg(format!("health.listen={}", an_address()));
    let crash = crash.arg("--set").arg(NO_GATEWAY);
    crash.timeout(LONG * 6).spawn().unwrap()
}

fn millis(rng: &mut Rng, most: u64) -> Duration {
    Duration::from_micros(rng.range(0..most * 1000))
}

/// Starts one and waits until it is ready, well and up to date.
fn good_start(home: &Home) -> Child {
    let began = Instant::now();
    let child = daemon(home);
    // Counted from what is there: a line for the home comes first where it was made.
    let ready = |line: &String| line.contains("\"ready\":true");
    while !child.lines().iter().any(ready) {
        assert!(began.elapsed() < SOON, "not ready in time: {:?}", child.lines());
        std::thread::sleep(Duration::from_millis(1));
    }
    loop {
        let status = home.status();
        let behind = status["projections"].as_array().unwrap().iter().any(|p| p["behind"] != 0);
        if status["healthy"] == true && !behind {
            break;
        }
        assert!(began.elapsed() < SOON, "not well in time: {status:#}");
    }
    only_known_files(home);
    child
}

/// Whatever was half done is gone, set aside under a name that says so, or named as what it is.
fn only_known_files(home: &Home) {
    let names = |dir: &Path| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
        entries.flatten().map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    // The last one lies ready for a pause on a full disk.
    let known = ["journal", "backups", "log", "findings.json", "paused.ready"];
    let database = |name: &str| {
        let stem = ["index.db", "metrics.db"].iter().find_map(|stem| name.strip_prefix(stem));
        stem.is_some_and(|rest| ["", "-wal", "-shm"].contains(&rest))
    };
    for name in names(&home.state("")) {
        assert!(known.contains(&name.as_str()) || database(&name), "{name} is left in the state directory");
    }
    for name in names(&home.journal()) {
        let first = name.trim_start_matches(|c: char| c.is_ascii_digit());
        let fine =
            ["LOCK", "META", "tree", ".jsonl", ".checkpoints"].contains(&first) || first.contains(".torn-");
        assert!(fine, "{name} is left in the journal");
    }
}

/// A torn end may be there, damage may not.
fn not_damaged(home: &Home) {
    let ran = home.run(&["audit", "verify"]);
    assert!([0, 1].contains(&ran.code), "{}{}", ran.out, ran.err);
}

fn stop(home: &Home, child: Child) {
    home.run(&["down"]).ok();
    let _ = child.wait().unwrap();
    home.run(&["audit", "verify"]).ok();
}

#[test]
fn a_kill_during_the_start_or_during_the_stop_harms_nothing() {
    let home = Home::bare();
    let seed = Seed::from_env_or(31);
    let mut rng = seed.rng();
    let (mut in_start, mut in_stop) = (0, 0);
    for round in 0..rounds(20, 100) {
        let remains = daemon(&home).kill_after(millis(&mut rng, 60)).unwrap();
        in_start += u32::from(!remains.lines.iter().any(|line| line.contains("\"ready\"")));
        let child = good_start(&home);
        kill_process(Pid::from_raw(child.pid() as i32).unwrap(), Signal::TERM).unwrap();
        let remains = child.kill_after(millis(&mut rng, 30)).unwrap();
        in_stop += u32::from(remains.was_killed());
        not_damaged(&home);
        assert!(home.entries().len() > round as usize, "{seed}");
    }
    assert!(in_start > 0 && in_stop > 0, "{in_start} kills in starts, {in_stop} in stops");
    let child = good_start(&home);
    stop(&home, child);
    same_as_rebuilt(&home);
}

#[test]
fn a_kill_during_a_rebuild_with_others_writing_loses_nothing_acknowledged() {
    let home = Home::made("web-1");
    fill(&home, 600, 100);
    let mut rng = Seed::from_env_or(32).rng();
    let mut acknowledged = BTreeSet::new();
    let mut rebuilds = 0;
    for round in 0..rounds(20, 100) {
        let child = good_start(&home);
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            let rebuild = s.spawn(|| home.run(&["rebuild"]).code != 0);
            let (home, stop) = (&home, &stop);
            let writer = |n: u32| move || write_until(home, stop, &format!("{round}-{n}"));
            let writers: Vec<_> = (0..2).map(|n| s.spawn(writer(n))).collect();
            std::thread::sleep(millis(&mut rng, 120));
            let _ = child.kill().unwrap();
            stop.store(true, Ordering::SeqCst);
            acknowledged.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
            rebuilds += u32::from(rebuild.join().unwrap());
        });
        not_damaged(&home);
    }
    assert!(rebuilds > 0, "every rebuild was over before its kill");
    assert!(!acknowledged.is_empty());
    let child = good_start(&home);
    stop(&home, child);
    let keys: Vec<Value> = home.bodies("captain.kill.noted").iter().map(|body| body["id"].clone()).collect();
    let there: BTreeSet<String> = keys.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), there.len(), "an entry is there twice");
    let gone: Vec<_> = acknowledged.difference(&there).collect();
    assert!(gone.is_empty(), "acknowledged and gone: {gone:?}");
    same_as_rebuilt(&home);
}

/// Appends as `audit log` does until the daemon is gone, and says which were acknowledged.
fn write_until(home: &Home, stop: &AtomicBool, name: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let id = format!("{name}-{n}");
        let append = Append {
            kind: "captain.kill.noted".parse().unwrap(),
            actor: "ana".parse().unwrap(),
            subject: None,
            run: None,
            cause: None,
            key: None,
            trust: Trust::Trusted,
            content: Content::Body(Map::from_iter([("id".to_owned(), id.clone().into())])),
        };
        // Nobody there is before the start or after the kill.
        let asked = connect(&home.socket()).ok().flatten();
        let answer = asked.and_then(|client| client.ask(Request::Append(Box::new(append)), &mut |_| {}).ok());
        if let Some(Answer::Appended(_)) = answer {
            acknowledged.push(id);
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    acknowledged
}

#[test]
fn a_kill_during_a_backup_leaves_no_copy_that_is_not_whole() {
    let home = Home::made("web-1");
    let child = good_start(&home);
    wait_until("something is measured", || home.state("log/health.jsonl").exists());
    stop(&home, child);
    let mut rng = Seed::from_env_or(33).rng();
    let mut cut = 0;
    for _ in 0..rounds(20, 100) {
        let child = good_start(&home);
        std::thread::scope(|s| {
            let backup = s.spawn(|| home.run(&["backup"]).code != 0);
            std::thread::sleep(millis(&mut rng, 40));
            let _ = child.kill().unwrap();
            cut += u32::from(backup.join().unwrap());
        });
        not_damaged(&home);
        whole_copies(&home);
    }
    assert!(cut > 0, "every backup was over before its kill");
    let child = good_start(&home);
    home.run(&["backup"]).ok();
    let names: Vec<_> = std::fs::read_dir(home.state("backups")).unwrap().flatten().collect();
    let partial = names.iter().find(|entry| entry.file_name().to_string_lossy().ends_with(".partial"));
    assert!(partial.is_none(), "{partial:?}");
    assert!(names.len() <= 7, "{names:?}");
    stop(&home, child);
}

/// Each file that has a copy's name can be opened and has its samples.
fn whole_copies(home: &Home) {
    let Ok(entries) = std::fs::read_dir(home.state("backups")) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|end| end == "db") {
            let dir = tempfile::tempdir().unwrap();
            let copy = dir.path().join("metrics.db");
            std::fs::copy(&path, &copy).unwrap();
            let (samples, _) = holdfast_store::Samples::open(&copy, &SystemClock::new()).unwrap();
            assert!(!samples.series(None).unwrap().is_empty(), "{}", path.display());
        }
    }
}

/// The index that went through all of it, and one made afresh from the journal, hold the same rows.
fn same_as_rebuilt(home: &Home) {
    let view = View::open(&home.journal(), None).unwrap();
    let projections: Vec<Box<dyn holdfast_store::Projection>> = vec![
        Box::new(EntriesProjection::new(view.origin())),
        Box::new(NoticeProjection::new(view.origin().clone())),
        Box::new(holdfast_approval::ApprovalProjection::new(view.origin().clone())),
    ];
    let clock = Arc::new(SystemClock::new());
    let (index, opened) = Index::open(&home.state("index.db"), projections, clock).unwrap();
    assert_eq!(opened, holdfast_store::IndexOpened::default());
    let go_on = &mut |_| std::ops::ControlFlow::Continue(());
    assert_eq!(index.catch_up(&view, go_on).unwrap().rebuilt, None);
    let before = index.digest().unwrap();
    index.rebuild(&view, go_on).unwrap();
    // All but the time the projections were made.
    let rows = |digests: std::collections::BTreeMap<String, _>| -> Vec<_> {
        digests.into_iter().filter(|(table, _)| !table.starts_with("store_")).collect()
    };
    assert_eq!(rows(index.digest().unwrap()), rows(before));
}
