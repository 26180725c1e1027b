//! Limits the kernel keeps, in a guest that has cgroups with controllers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast_intruder::{Decoys, Layer, Outcome, Report};
use holdfast_testkit::Guest;
use serde_json::Value;
use support::launcher;

/// Without what only a debugger reads: what is carried over is carried slowly.
fn stripped(program: &Path, into: &Path) -> PathBuf {
    let to = into.join(program.file_name().unwrap());
    let done = Command::new("strip").arg("-o").arg(&to).arg(program).status().unwrap();
    assert!(done.success());
    to
}

fn carry(guest: &Guest) {
    put(guest, "holdfast-cage");
    put(guest, "examples/caged");
    assert!(guest.run(&["install", "-d", "-o", "agent", "-g", "agent", "/srv/work"]).status.success());
}

/// One of the programs that are built together.
fn put(guest: &Guest, program: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = launcher().path().with_file_name(program);
    let to = Path::new("/usr/local/bin").join(program.file_name().unwrap());
    guest.put(stripped(&program, folder.path()), to.to_str().unwrap()).unwrap();
}

/// What the guest's example prints.
fn caged(output: &std::process::Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)))
}

fn limited<'a>(memory: &'a str, processes: &'a str, cpu: &'a str, program: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["caged", "/usr/local/bin/holdfast-cage", "/srv/work", "1000", memory, processes, cpu, "--"];
    fixed.into_iter().chain(program.iter().copied()).collect()
}

#[test]
fn with_a_cgroup_the_kernel_keeps_the_limits_and_nothing_of_it_is_left() {
    let Some(guest) = Guest::required() else { return };
    carry(&guest);
    // Memory: the kernel ends it, and the group counted the peak of all processes together.
    let hog =
        caged(&guest.run(&limited("48M", "64", "100%", &["sh", "-c", "tail /dev/zero | tail /dev/zero"])));
    let lacks = hog["lacks"].to_string();
    assert!(!lacks.contains("cgroup"), "{lacks}");
    // Its kernel is older than this machine's may be, and the plan says what that means.
    if hog["host"]["landlock"].as_u64().unwrap() < 6 {
        assert!(lacks.contains("newer Landlock") && hog["evidence"]["landlock"] == "in part", "{hog}");
    }
    assert_eq!(hog["evidence"]["end"], "out-of-memory", "{hog}");
    assert_eq!(hog["evidence"]["memory_of"], "cgroup");
    let peak = hog["evidence"]["memory"].as_u64().unwrap();
    assert!((40 << 20..=49 << 20).contains(&peak), "{peak}");
    // Processes: the same bomb as outside, held by the group.
    let bomb = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; exit 0";
    let crowd = caged(&guest.run(&limited("256M", "20", "100%", &["sh", "-c", bomb])));
    assert_eq!(
        (&crowd["evidence"]["end"], &crowd["evidence"]["code"]),
        (&"exited".into(), &2.into()),
        "{crowd}"
    );
    // Processor: a fifth of one, for a second of work.
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let slow = caged(&guest.run(&limited("256M", "20", "20%", &["sh", "-c", busy])));
    let ms =
        |time: &Value| time["secs"].as_u64().unwrap() * 1000 + time["nanos"].as_u64().unwrap() / 1_000_000;
    let (wall, user) =
        (ms(&slow["evidence"]["wall"]), ms(&slow["evidence"]["user"]) + ms(&slow["evidence"]["system"]));
    assert!(user * 2 < wall || wall < 150, "{user} ms of processor time in {wall} ms");
    let left = guest.run(&[
        "sh",
        "-c",
        "ls -d /sys/fs/cgroup/holdfast-cages/cage-* 2>/dev/null; pgrep -x sleep; pgrep tail; true",
    ]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

#[test]
fn an_ordinary_user_with_a_cgroup_handed_over_has_the_same_limits() {
    let Some(guest) = Guest::required() else { return };
    carry(&guest);
    // A shell of its own in the scope's own child, so that the scope itself may have children.
    let inside = "d=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); mkdir $d/own && echo $$ > $d/own/cgroup.procs && \
                  echo '+memory +pids +cpu' > $d/cgroup.subtree_control && exec \"$@\"";
    let mut argv =
        vec!["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", "sh", "-c", inside, "sh"];
    argv.extend(limited("48M", "64", "100%", &["tail", "/dev/zero"]));
    let hog = caged(&guest.run_as("agent", &argv));
    assert_eq!(hog["evidence"]["end"], "out-of-memory", "{hog}");
    assert_eq!(hog["evidence"]["memory_of"], "cgroup", "{hog}");
}

#[test]
fn every_way_out_is_refused_by_a_kernel_that_has_landlock() {
    let Some(guest) = Guest::required() else { return };
    carry(&guest);
    put(&guest, "holdfast-intruder");
    put(&guest, "examples/intrude");
    let programs =
        ["intrude", "/usr/local/bin/holdfast-cage", "/usr/local/bin/holdfast-intruder", "/srv/work"];
    let as_root = guest.run(&[&programs[..], &["1000", "1000"]].concat());
    let as_user = guest.run_as("agent", &[&programs[..], &["1000", "1000"]].concat());
    for (who, output) in [("root", as_root), ("agent", as_user)] {
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines: Vec<&str> = said.lines().collect();
        let evidence: Value = serde_json::from_str(lines.pop().unwrap_or_default())
            .unwrap_or_else(|e| panic!("{who}: {e}: {said} {}", String::from_utf8_lossy(&output.stderr)));
        assert!(["whole", "in part"].contains(&evidence["landlock"].as_str().unwrap()), "{who}: {evidence}");
        let reports: Vec<Report> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(reports.len(), holdfast_intruder::ATTEMPTS.len(), "{who}: {evidence}");
        let is_shut = |report: &&Report| match &report.outcome {
            Outcome::Refused { .. } => false,
            // A decoy that only this machine or only root has.
            Outcome::CouldNotTry { why } => !why.ends_with("is not set up"),
            Outcome::Through { .. } => true,
        };
        let open: Vec<&Report> = reports.iter().filter(is_shut).collect();
        assert!(open.is_empty(), "{who}: {open:#?}");
        let untried = reports.iter().filter(|r| matches!(r.outcome, Outcome::CouldNotTry { .. })).count();
        assert!(untried <= 5, "{who}: {untried} could not be tried");
    }
}

/// The cgroups there are, and what is handed on to those in each of them.
const TREE: &str = "cd /sys/fs/cgroup && find . -name cgroup.subtree_control -exec grep -H '' {} + | sort; \
                    find . -type d | grep -c .";

/// A cgroup anyone may move to, as if everything that keeps users apart had been forgotten.
const DECOY: &str =
    "mkdir /sys/fs/cgroup/decoy && chmod 666 /sys/fs/cgroup/decoy/cgroup.procs /sys/fs/cgroup/cgroup.procs";

#[test]
fn nobody_leaves_their_cgroup_and_asking_what_there_is_makes_none() {
    let Some(guest) = Guest::required() else { return };
    carry(&guest);
    put(&guest, "holdfast-intruder");
    // Asking: the launcher is asked alone, since a run asks it too and then makes one.
    let tree = || String::from_utf8(guest.run(&["sh", "-c", TREE]).stdout).unwrap();
    let before = tree();
    assert!(before.contains("memory"), "{before}");
    let asked = guest.run(&["holdfast-cage", "host"]);
    let host: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert!(host["cgroup"]["controllers"].as_array().is_some_and(|all| all.len() > 2), "{host}");
    assert_eq!(tree(), before);
    // Leaving: refused, by the view; and when there is neither view nor Landlock nor a namespace, it gets through.
    assert!(guest.run(&["sh", "-c", DECOY]).status.success());
    let attempts =
        ["move-to-outside-control-group", "raise-own-control-group-limit", "see-outer-control-group"];
    let decoys = Decoys { control_group: Some("/sys/fs/cgroup/decoy".into()), ..Decoys::default() };
    let intrude = |off: &[&str]| -> Vec<Report> {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(&serde_json::to_vec(&decoys).unwrap()).unwrap();
        input.rewind().unwrap();
        let mut argv = limited("256M", "64", "100%", &["holdfast-intruder", "try"]);
        argv.splice(7..7, off.iter().copied());
        argv.extend(attempts);
        let done = caged(&guest.call(&argv).stdin_from(input).run());
        assert_eq!(done["evidence"]["code"], 0, "{done}");
        let lines = done["output"].as_str().unwrap().lines();
        let reports: Vec<Report> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(reports.len(), attempts.len());
        reports
    };
    let reports = intrude(&[]);
    for report in &reports {
        assert!(matches!(report.outcome, Outcome::Refused { .. }), "{report:?}");
    }
    let by_the_view = matches!(&reports[0].outcome, Outcome::Refused { how } if how.contains("ENOENT"));
    assert!(reports[0].layers.starts_with(&[Layer::View]) && by_the_view, "{:?}", reports[0]);
    // Whoever was there for a moment has left processor time behind.
    let used = || {
        let stat = guest.run(&["grep", "usage_usec", "/sys/fs/cgroup/decoy/cpu.stat"]).stdout;
        String::from_utf8(stat).unwrap().trim().to_owned()
    };
    assert_eq!(used(), "usage_usec 0", "nobody was there");
    let open = intrude(&["view", "landlock", "cgroup-namespace"]);
    for name in [attempts[0], attempts[2]] {
        let report = open.iter().find(|report| report.name == name).unwrap();
        assert!(matches!(report.outcome, Outcome::Through { .. }), "{report:?}");
    }
    assert_ne!(used(), "usage_usec 0", "somebody was there");
    // The right to go before everyone else stays outside too.
    let ahead = ["chrt", "-f", "1", "true"];
    let ahead = [&["prlimit", "--rtprio=40", "--"][..], &limited("256M", "64", "100%", &ahead)].concat();
    assert_eq!(caged(&guest.run(&ahead))["evidence"]["code"], 1);
}
