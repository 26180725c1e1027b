//! Whoever runs a cage may be killed at any moment, and nothing is left of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{Seed, rounds};
use support::{Trial, folder, left_behind, until};

const MARKER: &str = "931.7501";

/// The child: runs cages one after another, each of which leaves processes behind if it can.
#[test]
fn runner() {
    crash::child_main("runner", |args, report| {
        let trial = Trial::of("work", Path::new(&args[0]));
        loop {
            report.line("begin");
            let script = format!("(setsid sleep {MARKER} &); sleep {MARKER} & sleep 0.004");
            let done = trial.sh(&script);
            assert_eq!(done.evidence.code(), 0, "{done:?}");
        }
    });
}

/// Launchers whose caller is gone; those of other tests have theirs.
fn orphans() -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let stats = all.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    // State and parent follow the name. What has ended and is not yet collected by the machine's first process is nothing.
    let orphan = |stat: &String| {
        let mut after = stat.split(") ").nth(1).unwrap_or_default().split(' ');
        stat.contains("(holdfast-cage)") && after.next() != Some("Z") && after.next() == Some("1")
    };
    stats.filter(orphan).collect()
}

/// Every namespace any process is in, and what is mounted here.
fn world() -> (BTreeSet<String>, String) {
    let mut namespaces = BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for link in fs::read_dir(process.path().join("ns")).into_iter().flatten().flatten() {
            if let Ok(to) = fs::read_link(link.path()) {
                namespaces.insert(to.to_string_lossy().into_owned());
            }
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    // Other tests mount disks of their own meanwhile.
    let mounts = mounts.lines().filter(|line| !line.contains(" /tmp/holdfast-disk-"));
    (namespaces, mounts.collect::<Vec<_>>().join("\n"))
}

#[test]
fn killing_whoever_runs_a_cage_at_any_moment_leaves_nothing_behind() {
    let work = folder();
    let (_, mounts_before) = world();
    let mut met = 0;
    crash::run_kills(
        Seed::from_env_or(5),
        rounds(40, 200),
        Duration::from_millis(1)..Duration::from_millis(40),
        |_| Crash::new("runner").arg(work.path().display()),
        |_, remains| {
            met += usize::from(remains.lines.iter().any(|line| line == "begin"));
            until("the end of every process", || left_behind(MARKER).is_empty() && orphans().is_empty());
        },
    );
    assert!(met > 0, "no kill met a cage");
    let (namespaces, mounts) = world();
    assert_eq!(mounts, mounts_before);
    // Other tests come and go; no namespace may be there that only a cage's process could be in.
    until("the end of every namespace", || {
        let now = world().0;
        now.iter().all(|namespace| namespaces.contains(namespace)) || now.len() <= namespaces.len()
    });
}
