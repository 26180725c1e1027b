//! The words of an episode as a test says them, what has to be as it was afterwards, and what can happen to a machine meanwhile.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_journal::{VerifyOptions, View, verify};
use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::{Activation, TargetState};
use holdfast_steward::setting::{Change, Property, Setting, Value};

use crate::target::{Target, run, wait_until};

pub const MIB: u64 = 1 << 20;

pub fn episode(number: u32) -> EpisodeId {
    format!("ep_{number}").parse().unwrap()
}

pub fn change(property: Property, from: Value, to: Value) -> Change {
    Change { setting: Setting { unit: "web.service".parse().unwrap(), property }, from, to }
}

pub fn high(from: u64, to: u64) -> Change {
    change(Property::MemoryHigh, Value::Bytes(from * MIB), Value::Bytes(to * MIB))
}

#[track_caller]
pub fn staged(target: &Target, number: u32, base: Identity, changes: Vec<Change>) -> Identity {
    match target.ask(Role::Act, &Ask::Stage { episode: episode(number), base, changes }) {
        Reply::Staged(Ok(staged)) => staged.identity,
        other => panic!("{other:?}"),
    }
}

pub fn arming(number: u32, known_good: Identity, candidate: Identity, lasts_seconds: u64) -> Ask {
    Ask::Arm { episode: episode(number), known_good, candidate, lasts_seconds, cap_seconds: 600 }
}

#[track_caller]
pub fn armed(target: &Target, number: u32, known_good: Identity, candidate: Identity, lasts_seconds: u64) {
    let reply = target.ask(Role::Act, &arming(number, known_good, candidate, lasts_seconds));
    assert!(matches!(reply, Reply::Armed(_)), "{reply:?}");
}

#[track_caller]
pub fn begun(target: &Target, number: u32, candidate: Identity) {
    assert_eq!(target.ask(Role::Act, &Ask::Try { episode: episode(number), candidate }), Reply::Accepted);
}

/// How it went, as soon as it is over.
pub fn activation(target: &Target, number: u32) -> Activation {
    let mut found = Activation::Running;
    wait_until("the activation is over", Duration::from_secs(60), || {
        match target.ask(Role::Act, &Ask::Poll { episode: episode(number) }) {
            Reply::Activation(activation) => found = activation,
            other => panic!("{other:?}"),
        }
        found != Activation::Running
    });
    found
}

#[track_caller]
pub fn tried(target: &Target, number: u32, candidate: Identity) {
    begun(target, number, candidate);
    let done = activation(target, number);
    assert!(matches!(done, Activation::Done { identity, .. } if identity == candidate), "{done:?}");
}

/// What the target says about itself and this episode.
#[track_caller]
pub fn seen(target: &Target, number: u32) -> TargetState {
    let ask = Ask::State { full: false, renew: None, about: Some(episode(number)) };
    match target.ask(Role::Act, &ask) {
        Reply::State(state) => *state,
        other => panic!("{other:?}"),
    }
}

/// For what takes as long as a lease: whoever asks all the time takes an emulated machine the time to do it.
#[track_caller]
pub fn wait_slowly(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < until, "it did not come to that: {what}");
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// Everything on a target that has to be as it was.
pub struct Before {
    pub state: TargetState,
    files: BTreeSet<String>,
}

impl Before {
    pub fn of(target: &Target) -> Before {
        // What was started for the tests is over.
        nothing_of_ours_is_left(target);
        Before { state: target.state(), files: files(target) }
    }

    /// Says only what differs, which is short.
    #[track_caller]
    pub fn is_now(&self, target: &Target, when: &str) {
        nothing_of_ours_is_left(target);
        let now = files(target);
        let differing: Vec<&String> = self.files.symmetric_difference(&now).collect();
        assert!(differing.is_empty(), "{when}: {differing:#?}");
        let state = seen(target, 1);
        let (known, was) = ((state.running, state.boots_into, state.leased), &self.state);
        assert_eq!(known, (was.running, was.boots_into, false), "{when}");
        assert_eq!(state.people, was.people, "{when}");
        assert!(state.workload.active, "{when}");
    }
}

/// Of us there is neither a unit nor a timer, whatever became of it, nor a file that the manager keeps of one.
#[track_caller]
pub fn nothing_of_ours_is_left(target: &Target) {
    let list = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "--no-pager", "holdfast-*"];
    let mut left = String::new();
    // A unit that has just done its work is gone a moment later; who asks all the time takes it the time for that.
    for _ in 0..40 {
        left = target.must(&list);
        if left.trim().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    let at_work = target.must(&["ps", "-eo", "pid,ppid,etimes,stat,wchan:24,args"]);
    let at_work: Vec<&str> =
        at_work.lines().filter(|line| ["holdfast", "system"].iter().any(|it| line.contains(it))).collect();
    panic!("still there: {left}{at_work:#?}");
}

/// All of `/etc` and of `/run/systemd`: what each name is, whose, with which rights, where it leads, what it holds; and every
/// limit of every service, as the kernel has it. Left out, because it changes by itself:
/// - `sessions`, `users`, `inhibit`, `seats`, and scopes of sessions: somebody logs in, as these tests do;
/// - `journal`: the system's log counts its entries there, and has a file for each start of a service;
/// - where `units/invocation:…` lead, a number for each start of a unit, and those of units that are nobody's concern here: a first boot
///   has others than a second; and `netif`: the network's own state;
/// - the folder `transient` itself, which stays once it was needed; what is in it counts;
/// - a service's quota of processor time that is none: whether the file is there depends on who else has one.
fn files(target: &Target) -> BTreeSet<String> {
    let script = r#"
        cd / && {
            find etc run/systemd \( -path run/systemd/sessions -o -path run/systemd/users -o -path run/systemd/inhibit \
                -o -path run/systemd/seats -o -path run/systemd/journal -o -path run/systemd/netif \) -prune \
                -o -printf '%y %m %U:%G %p -> %l\n' | sed 's/\(units\/invocation:.*\) -> .*/\1/' | grep -v 'session-[^/]*\.scope\|user-runtime-dir\|user@'
            find etc run/systemd \( -path run/systemd/sessions -o -path run/systemd/users -o -path run/systemd/inhibit \
                -o -path run/systemd/seats -o -path run/systemd/journal -o -path run/systemd/netif \) -prune \
                -o -type f ! -path '*/session-*.scope*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
            cd /sys/fs/cgroup/system.slice && for file in memory.max memory.high memory.low memory.min memory.swap.max cpu.max cpu.weight pids.max; do
                for at in "$file" ssh.service/$file web.service/$file; do
                    [ ! -e "$at" ] || printf '%s %s\n' "$at" "$(cat "$at")"
                done
            done | grep -v 'cpu\.max max 100000$\|cpu\.weight 100$'
        }"#;
    let is_noise = |line: &&str| {
        let of_others = line.contains("units/invocation:")
            && !["holdfast", "web.service"].iter().any(|it| line.contains(it));
        of_others || line.ends_with("run/systemd/transient -> ")
    };
    target.must(&["sh", "-c", script]).lines().filter(|line| !is_noise(line)).map(str::to_owned).collect()
}

/// Takes every byte of the file system in which this path lies.
pub fn fill(target: &Target, path: &str) {
    let script = "import os, sys\n\
        file, end = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600), 0\n\
        for size in (1 << 28, 1 << 24, 1 << 20, 1 << 16, 1 << 12):\n    \
            while True:\n        \
                try:\n            os.posix_fallocate(file, end, size)\n            end += size\n        \
                except OSError:\n            break\n";
    target.must(&["python3", "-c", script, path]);
    let probe = format!("{path}.more");
    let more =
        target.guest.run(&["dd", "if=/dev/zero", &format!("of={probe}"), "bs=64k", "count=1", "status=none"]);
    assert!(!more.status.success(), "there is still room");
    target.must(&["rm", "-f", &probe]);
}

/// The doorman's own log, copied from the target: each entry, in order. It has to verify to its last entry.
pub fn log(target: &Target) -> Vec<serde_json::Value> {
    let packed = target.guest.run(&["tar", "-C", "/var/lib/holdfast-doorman", "-cf", "-", "log"]);
    assert!(packed.status.success());
    let folder = tempfile::tempdir().unwrap();
    let mut tar = std::process::Command::new("tar");
    tar.arg("-C").arg(folder.path()).args(["-xf", "-"]);
    assert!(run(tar, &packed.stdout).status.success());
    entries(&folder.path().join("log"))
}

fn entries(log: &Path) -> Vec<serde_json::Value> {
    let view = View::open(log, None).unwrap();
    assert!(view.origin().to_string().starts_with("holdfast/doorman-"));
    let entries: Vec<serde_json::Value> =
        view.entries(0).map(|raw| serde_json::from_slice(&raw.unwrap().line).unwrap()).collect();
    let (trust, vault, archive) = (None, None, None);
    let options = VerifyOptions { trust, vault, archive, every_signature: true, progress: &mut |_| {} };
    let verified = verify(log, options).unwrap();
    assert!(verified.is_good(), "{:?}", verified.findings);
    assert_eq!(
        (verified.size, verified.checkpointed),
        (entries.len() as u64, verified.size),
        "signed to its end"
    );
    entries
}

/// An entry in short: what was said, for whom, what came of it.
pub fn brief(entry: &serde_json::Value) -> String {
    let body = &entry["body"];
    let text = |name: &str| body[name].as_str().unwrap_or("-").to_owned();
    match entry["kind"].as_str().unwrap() {
        "doorman.word.answered" => format!("{} {} {}", text("word"), text("episode"), text("answer")),
        kind => format!("{kind} {}", text("episode")),
    }
}
