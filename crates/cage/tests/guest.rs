//! Limits the kernel keeps, in a guest that has cgroups with controllers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

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
    let folder = tempfile::tempdir().unwrap();
    let example = launcher().path().with_file_name("examples").join("caged");
    guest.put(stripped(launcher().path(), folder.path()), "/usr/local/bin/holdfast-cage").unwrap();
    guest.put(stripped(&example, folder.path()), "/usr/local/bin/caged").unwrap();
    assert!(guest.run(&["install", "-d", "-o", "agent", "-g", "agent", "/srv/work"]).status.success());
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
