//! The intruder without a cage, as an ordinary user, against decoys of the test's own making: what no fence keeps it
//! from it must reach, or it would not see a hole in a cage either.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_intruder::{ATTEMPTS, Decoys, Group, Outcome, Report, try_apart};
use support::{Proxy, World};

/// What an ordinary user reaches on any Linux without a cage: files, links, sockets, processes, descriptors, signals,
/// shared memory, the loopback, the environment.
const REACHED: &[&str] = &[
    "read-outside-file",
    "read-outside-by-dotdot",
    "read-outside-from-current-folder",
    "read-outside-by-long-path",
    "read-outside-by-proc-self-root",
    "read-outside-by-proc-thread-root",
    "read-outside-by-openat2",
    "read-outside-by-climbing-descriptors",
    "hold-outside-file-by-path-descriptor",
    "stat-outside-file",
    "list-outside-folder",
    "enter-outside-folder",
    "watch-outside-file",
    "write-outside-file",
    "truncate-outside-file",
    "change-mode-of-outside-file",
    "create-in-outside-folder",
    "make-folder-outside",
    "bind-socket-outside",
    "hard-link-outside-file-into-work",
    "hard-link-work-file-out",
    "rename-work-file-out",
    "write-read-only-file",
    "append-to-read-only-file",
    "truncate-read-only-file",
    "create-in-read-only-folder",
    "make-folder-in-read-only-folder",
    "make-link-in-read-only-folder",
    "make-pipe-in-read-only-folder",
    "hard-link-read-only-file-beside",
    "hard-link-read-only-file-into-work",
    "rename-read-only-file",
    "change-mode-of-read-only-file",
    "change-mode-by-descriptor",
    "change-owner-of-read-only-file",
    "set-times-of-read-only-file",
    "write-read-only-file-by-proc-self-fd",
    "write-read-only-file-by-link",
    "write-read-only-file-by-proc-self-root",
    "read-hidden-file",
    "read-hidden-file-by-proc-self-root",
    "read-hidden-file-by-dotdot",
    "read-hidden-file-by-link",
    "read-hidden-file-by-hard-link",
    "read-hidden-file-by-descriptor",
    "follow-link-in-work",
    "follow-own-link",
    "follow-chain-of-links",
    "follow-relative-link",
    "follow-link-to-folder",
    "follow-link-from-proc-self-cwd",
    "follow-link-from-proc-self-fd",
    "follow-own-link-to-proc-root",
    "proc-decoy-environ",
    "proc-decoy-cmdline",
    "proc-decoy-maps",
    "proc-decoy-cwd",
    "proc-decoy-root",
    "proc-decoy-oom-score",
    "proc-list-processes",
    "read-inherited-descriptor",
    "find-inherited-descriptors",
    "receive-descriptor-from-outside",
    "take-descriptors-at-all",
    "list-descriptors-of-decoy",
    "name-descriptor-of-decoy",
    "connect-to-abstract-socket",
    "take-abstract-name",
    "connect-to-path-socket",
    "connect-to-path-socket-by-proc-self-root",
    "connect-to-path-socket-by-link",
    "connect-to-path-socket-by-hard-link",
    "send-to-path-socket",
    "handle-of-decoy",
    "group-of-decoy",
    "limits-of-decoy",
    "priority-of-decoy",
    "processors-of-decoy",
    "disk-priority-of-decoy",
    "locks-of-decoy",
    "own-signals-to-decoy",
    "signal-decoy",
    "signal-group-of-decoy",
    "signal-everyone",
    "signal-thread-of-decoy",
    "signal-decoy-as-thread",
    "signal-decoy-by-handle",
    "queue-signal-to-decoy",
    "queue-signal-to-thread-of-decoy",
    "open-shared-memory",
    "open-shared-memory-by-key",
    "open-semaphores-by-key",
    "open-queue-by-key",
    "open-queue-by-name",
    "list-shared-memory",
    "find-landlock-missing",
    "find-no-filter",
    "read-environment-secret",
    "read-environment-secret-by-proc",
    "read-environment-of-parent",
    "send-to-abstract-socket",
    "open-descriptor-of-decoy",
    "connect-to-host-loopback",
    "connect-to-host-loopback-mapped",
    "connect-to-host-by-any-address",
    "connect-to-host-loopback-by-fast-open",
    "send-to-host-loopback",
    "connect-to-link-local",
    "ask-resolver",
    "connect-to-resolver",
    "take-port-of-host",
    "direct-connection-beside-proxy",
    "see-host-name",
    "allow-new-privileges-again",
    "share-mount-namespace",
    "share-user-namespace",
    "share-process-namespace",
    "share-network-namespace",
    "share-shared-memory-namespace",
    "share-host-name-namespace",
    "share-control-group-namespace",
    "enter-namespaces-at-all",
    "type-on-terminal",
    "paste-on-console",
    "make-hook",
    "change-hook",
    "make-hook-by-link",
    "make-hook-below-proc-self-root",
    "change-mode-of-hooks",
    "move-hooks-away",
    "change-git-configuration",
    "move-git-configuration-away",
    "replace-git-configuration",
    "replace-git-configuration-by-exchange",
    "name-git-configuration-again",
    "lead-git-to-another-folder",
    "move-repository-away",
    "move-folder-above-repository-away",
    "move-second-folder-above-repository-away",
    "lead-submodule-to-another-folder",
    "change-submodule-configuration",
    "make-submodule-hook",
    "change-shell-settings-of-folder",
    "change-tasks-of-editor",
    "move-link-to-repository-away",
    "change-hook-that-settings-name",
    "change-monitor-that-settings-name",
    "put-folder-over-hooks",
    "open-other-netlink-families",
    "open-generic-netlink",
    "open-kernel-events",
    "raw-local-socket",
    "take-console-output",
    "set-discipline-of-line",
];

/// What root's copies of a program give to whoever starts them; only root can make them.
const REACHED_BY_PRIVILEGED_PROGRAMS: &[&str] =
    &["run-setuid-program", "run-setuid-program-by-link", "run-capable-program"];

/// What a security module may forbid to processes that are not related, cage or not.
const TRACING: &[&str] = &[
    "open-program-of-decoy",
    "proc-decoy-mem",
    "trace-decoy",
    "seize-decoy",
    "trace-parent",
    "ask-to-be-traced",
    "read-memory-of-decoy",
    "write-memory-of-decoy",
    "read-memory-of-parent",
    "take-descriptor-of-decoy",
];

#[test]
fn without_a_cage_the_decoys_are_reached() {
    let world = World::new(Proxy::Open);
    let reports = world.intrude(&[]);
    let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    assert_eq!(names, ATTEMPTS.iter().map(|attempt| attempt.name).collect::<Vec<_>>());
    let expected = REACHED
        .iter()
        .chain(REACHED_BY_PRIVILEGED_PROGRAMS.iter().filter(|_| world.stage.decoys.setuid_program.is_some()))
        .chain(TRACING.iter().filter(|_| !Path::new("/proc/sys/kernel/yama").exists()));
    let missed: Vec<_> = expected.filter(|name| !is_through(&reports, name)).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let unending: Vec<_> = reports.iter().filter(|report| is_unending(&report.outcome)).collect();
    assert!(unending.is_empty(), "{unending:?}");
    let spoken_for = serde_json::to_value(&world.stage.decoys).unwrap();
    for (name, why) in could_not_try(&reports) {
        let decoy = why.split('`').nth(1).unwrap_or_default();
        assert!(spoken_for[decoy].is_null() && why.ends_with("is not set up"), "{name}: {why}");
    }
    until("nothing is left behind", || world.stage.traces().is_empty());
    until("the decoys are as they were", || world.stage.is_unspoilt());
}

#[test]
fn every_attempt_at_an_open_proxy_is_through_and_none_at_a_strict_one() {
    let at_proxy: Vec<&str> = ATTEMPTS
        .iter()
        .filter(|attempt| attempt.group == Group::Proxy && attempt.name != "direct-connection-beside-proxy")
        .map(|attempt| attempt.name)
        .collect();
    let open = World::new(Proxy::Open).intrude(&at_proxy);
    assert!(open.iter().all(|report| matches!(report.outcome, Outcome::Through { .. })), "{open:#?}");
    let strict = World::new(Proxy::Strict).intrude(&at_proxy);
    assert!(strict.iter().all(|report| matches!(report.outcome, Outcome::Refused { .. })), "{strict:#?}");
    assert_eq!(strict.len(), at_proxy.len());
}

#[test]
fn a_decoy_that_is_not_set_up_is_said_to_be_missing() {
    let named = |name: &str| ATTEMPTS.iter().find(|attempt| attempt.name == name).unwrap();
    let outcome = try_apart(named("read-outside-file"), &Decoys::default());
    assert_eq!(outcome, Outcome::CouldNotTry { why: "the decoy `file` is not set up".to_owned() });
}

#[test]
fn the_list_has_a_line_for_each_attempt() {
    let output = intruder(&["list"], "");
    let lines: Vec<serde_json::Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), ATTEMPTS.len());
    assert_eq!(lines[0]["name"], ATTEMPTS[0].name);
    assert_eq!(lines[0]["group"], "files");
    assert_eq!(lines[0]["layers"], serde_json::json!(["view", "landlock"]));
    assert_eq!(lines[0]["harmless"], true);
}

#[test]
fn what_is_not_understood_is_said_and_nothing_is_tried() {
    for (arguments, input, said) in [
        (&["try", "no-such-attempt"][..], "{}", "There is no attempt `no-such-attempt`."),
        (&["try"], "not JSON", "The decoys on standard input are not what is expected"),
        (&["try"], r#"{"unknown": 1}"#, "unknown field `unknown`"),
        (&[], "", "holdfast-intruder list"),
        (&["list", "more"], "", "holdfast-intruder list"),
    ] {
        let output = intruder(arguments, input);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(output.stderr.contains(said), "{arguments:?}: {}", output.stderr);
    }
}

/// The last processes may be on their way out.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !is_so() {
        assert!(Instant::now() < deadline, "not so: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_through(reports: &[Report], name: &str) -> bool {
    reports.iter().any(|report| report.name == name && matches!(report.outcome, Outcome::Through { .. }))
}

/// Ended by its deadline, and not by itself.
fn is_unending(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Through { what } if what.contains("still going on"))
}

fn could_not_try(reports: &[Report]) -> impl Iterator<Item = (&str, &str)> {
    reports.iter().filter_map(|report| match &report.outcome {
        Outcome::CouldNotTry { why } => Some((report.name.as_str(), why.as_str())),
        _ => None,
    })
}

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Without an environment, as in a cage.
fn intruder(arguments: &[&str], input: &str) -> Ran {
    use std::io::Write;
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast-intruder"));
    command.args(arguments).env_clear();
    let mut running =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that does not want its input may have ended already.
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    let output = running.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
