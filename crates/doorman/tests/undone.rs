//! Whatever happens while something is tried on a real machine, it is undone there: nothing is left behind, and what a boot gives is
//! never touched. Through its sshd and the doorman, as a controller would.
//!
//! A machine takes a while, and a lease that runs out takes as long as it lasts; so what can happen is told in lists, of which `make test`
//! has one for each release. `HOLDFAST_SOAK=1` goes through all of them on both.
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

use std::time::{Duration, Instant};

use holdfast_doorman::Place;
use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_lifeline::{Ended, Refused};
use holdfast_steward::effect::Activation;
use holdfast_steward::setting::{Property, Value};
use holdfast_testkit::rounds;
use steps::{
    Before, MIB, activation, armed, arming, begun, brief, change, episode, fill, high, log, seen, staged,
    tried, wait_slowly,
};
use target::{Target, service, wait_until};

/// Long enough to stage, arm and try on a slow machine, and not longer: it is waited for.
const LEASE: u64 = 20;
/// What the service is throttled at, in MiB. It holds less, and sleeps: an emulated machine has little time.
const HIGH: u64 = 60;
/// People's, and it is raised together with the other.
const QUOTA: u32 = 50;
const SLEEPER: &str = "import time\nheld = b'x' * (40 << 20)\nwhile True:\n    time.sleep(60)\n";

/// Something that happens, with the numbers its episodes have.
type Trouble = fn(&Target, &Before, u32);

/// What a machine of either release goes through in `make test`.
const ON_BOOKWORM: [Trouble; 2] = [
    a_change_is_tried_kept_and_taken_back_and_a_lease_that_nobody_renews_undoes_it,
    the_machine_boots_in_the_window,
];
const ON_TRIXIE: [Trouble; 3] = [
    an_activation_that_is_killed_has_failed,
    a_link_is_cut_for_longer_than_the_window_and_the_disk_is_full,
    a_change_that_breaks_the_service_is_undone_and_the_machine_was_frozen_meanwhile,
];
/// And what both go through beyond that in `make soak`.
const BEYOND: [Trouble; 4] = [
    two_controllers_do_not_get_in_each_other_s_way,
    a_doorman_that_is_killed_is_followed_by_one_that_settles_it,
    what_lies_where_ours_should_is_not_followed,
    sshd_starts_again_in_the_window,
];

#[test]
fn what_happens_to_a_trial_on_bookworm_leaves_nothing_behind() {
    happens("bookworm", &ON_BOOKWORM);
    if rounds(0, 1) == 1 {
        happens("bookworm", &ON_TRIXIE);
        happens("bookworm", &BEYOND);
    }
}

#[test]
fn what_happens_to_a_trial_on_trixie_leaves_nothing_behind() {
    happens("trixie", &ON_TRIXIE);
    if rounds(0, 1) == 1 {
        happens("trixie", &ON_BOOKWORM);
        happens("trixie", &BEYOND);
    }
}

fn happens(release: &str, troubles: &[Trouble]) {
    let Some(target) = Target::of(release, SLEEPER, &with_quota(&service(HIGH))) else { return };
    let before = Before::of(&target);
    for (at, trouble) in (1..).zip(troubles) {
        let began = Instant::now();
        trouble(&target, &before, at * 10);
        eprintln!("{release}: {at} took {:?}", began.elapsed());
    }
}

fn with_quota(service: &str) -> String {
    service.replacen("[Service]\n", &format!("[Service]\nCPUQuota={QUOTA}%\n"), 1)
}

/// Stages, arms and tries what does no harm.
fn on_trial(target: &Target, before: &Before, number: u32, lease: u64) -> holdfast_lifeline::Identity {
    let known_good = before.state.running;
    let quota = change(Property::CpuQuota, Value::Percent(QUOTA), Value::Percent(60));
    let candidate = staged(target, number, known_good, vec![high(HIGH, 120), quota]);
    armed(target, number, known_good, candidate, lease);
    tried(target, number, candidate);
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    assert_eq!(target.limit("cpu.max"), "60000 100000");
    candidate
}

#[track_caller]
fn it_runs_out(target: &Target, number: u32) {
    wait_slowly("the lease runs out", || !seen(target, number).leased);
    assert_eq!(seen(target, number).ended, Some(Ended::Expired));
}

// shows: STW-006, STW-267, STW-268, STW-280, STW-288, STW-289, STW-290, STW-291, STW-302, STW-165, STW-258
fn a_change_is_tried_kept_and_taken_back_and_a_lease_that_nobody_renews_undoes_it(
    target: &Target,
    before: &Before,
    number: u32,
) {
    let found = &before.state;
    assert_eq!((found.running, found.leased), (found.boots_into, false));
    let full = found.full.as_ref().unwrap();
    let unit = "web.service".parse().unwrap();
    assert_eq!(full.com.units[&unit].settings[&Property::MemoryHigh], Value::Bytes(HIGH * MIB));
    assert!(full.com.ssh_enabled && found.workload.active, "{:?}", found.workload);

    // A trial that nobody renews.
    let candidate = on_trial(target, before, number, LEASE);
    let trial = target.state();
    assert_eq!((trial.running, trial.boots_into, trial.leased), (candidate, found.boots_into, true));
    it_runs_out(target, number);
    before.is_now(target, "the lease has run out");
    // Too late for everything that belonged to it.
    let late = target.ask(Role::Act, &Ask::Keep { episode: episode(number), candidate });
    assert_eq!(late, Reply::Refused(Refused::HasEnded(Ended::Expired)));

    // One that is renewed, and kept.
    let candidate = on_trial(target, before, number + 1, 60);
    let renewing = Ask::State { full: false, renew: Some(episode(number + 1)), about: None };
    for _ in 0..3 {
        assert!(matches!(target.ask(Role::Act, &renewing), Reply::State(_)));
    }
    let timers = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "holdfast-lease-*.timer"];
    assert_eq!(target.must(&timers).lines().count(), 1, "one timer, however often it is renewed");
    assert_eq!(
        target.ask(Role::Act, &Ask::Keep { episode: episode(number + 1), candidate }),
        Reply::Accepted
    );
    let kept = target.state();
    assert_eq!((kept.running, kept.boots_into, kept.leased), (candidate, candidate, false));
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    let written = target.must(&["cat", "/etc/systemd/system/web.service.d/50-holdfast-MemoryHigh.conf"]);
    assert!(written.contains("[Service]\nMemoryHigh=125829120\n"), "{written}");

    // The guard takes it back with its own key.
    let back = Ask::Restore { episode: episode(number + 1), wanted: found.running };
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted);
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted, "once more changes nothing");
    before.is_now(target, "taken back");
    the_log_tells_it(target, number);
}

/// Exactly what was done, signed, and nobody else's to read or write.
fn the_log_tells_it(target: &Target, number: u32) {
    let (first, second) = (episode(number), episode(number + 1));
    let told: Vec<String> = log(target).iter().map(brief).collect();
    let expected = [
        format!("stage {first} accepted"),
        format!("arm {first} accepted"),
        format!("try {first} accepted"),
        format!("doorman.lease.expired {first}"),
        format!("keep {first} refused"),
        format!("stage {second} accepted"),
        format!("arm {second} accepted"),
        format!("try {second} accepted"),
        format!("keep {second} accepted"),
        format!("restore {second} accepted"),
        format!("restore {second} accepted"),
    ];
    assert_eq!(told, expected);
    let state = Place::default().state;
    let try_as_observer = |argv: &[&str]| target.guest.run_as("agent", argv).status.success();
    for file in ["log.key", "reserve"] {
        assert!(!try_as_observer(&["cat", &state.join(file).display().to_string()]), "{file} can be read");
    }
    for file in ["desk.json", "log.key", "log/META", "staged/x", "x"] {
        let path = state.join(file).display().to_string();
        assert!(!try_as_observer(&["sh", "-c", r#"echo x >>"$1""#, "write", &path]), "{file} can be written");
    }
}

/// Two instances, both with the key that acts: the second waits until the first is through, and undoes nothing of its.
fn two_controllers_do_not_get_in_each_other_s_way(target: &Target, before: &Before, number: u32) {
    let known_good = before.state.running;
    let (first, second) = (number, number + 1);
    let candidate = on_trial(target, before, first, 120);
    let act = |ask: &Ask| target.ask(Role::Act, ask);
    let changes = vec![high(HIGH, 100)];
    assert_eq!(
        act(&Ask::Stage { episode: episode(second), base: known_good, changes }),
        Reply::Refused(Refused::Busy)
    );
    assert_eq!(Refused::Busy.to_string(), "another episode is being tried here");
    assert_eq!(act(&arming(second, known_good, candidate, 60)), Reply::Refused(Refused::Busy));
    let refused = Reply::Refused(Refused::NotArmed);
    assert_eq!(act(&Ask::Try { episode: episode(second), candidate }), refused);
    assert_eq!(act(&Ask::Keep { episode: episode(second), candidate }), refused);
    // Its own episode is given up and taken back, which is nothing to the one that is being tried.
    assert_eq!(act(&Ask::Cancel { episode: episode(second) }), Reply::Accepted);
    assert_eq!(act(&Ask::Restore { episode: episode(second + 1), wanted: known_good }), Reply::Accepted);
    let trial = seen(target, first);
    assert_eq!((trial.running, trial.leased, trial.ended), (candidate, true, None));
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    // The first gives up, and the second may.
    assert_eq!(act(&Ask::Cancel { episode: episode(first) }), Reply::Accepted);
    before.is_now(target, "the first gave up");
    let number = second + 2;
    let candidate = on_trial(target, before, number, 120);
    assert_eq!(seen(target, number).running, candidate);
    assert_eq!(act(&Ask::Restore { episode: episode(number), wanted: known_good }), Reply::Accepted);
    before.is_now(target, "the second undid its own");
}

/// While it tries. What it was about to leave with the manager is left there, and the note that it is ours.
// shows: STW-309
fn an_activation_that_is_killed_has_failed(target: &Target, before: &Before, number: u32) {
    let known_good = before.state.running;
    let candidate = staged(target, number, known_good, vec![high(HIGH, 120)]);
    armed(target, number, known_good, candidate, 120);
    begun(target, number, candidate);
    let kill = "for n in $(seq 400); do systemctl kill --signal=KILL 'holdfast-trial-*.service' 2>/dev/null && break; sleep 0.02; done; \
        systemctl list-units --plain --no-legend 'holdfast-trial-*'";
    target.must(&["sh", "-c", kill]);
    // It tells the truth: failed, or, where it was quicker than the kill, done.
    let went = activation(target, number);
    assert!(matches!(went, Activation::Failed | Activation::Done { .. }), "{went:?}");
    assert_eq!(target.ask(Role::Act, &Ask::Cancel { episode: episode(number) }), Reply::Accepted);
    before.is_now(target, "the activation was killed");
}

/// Killed in the middle of other things: whoever comes next finds it, and ends it.
fn a_doorman_that_is_killed_is_followed_by_one_that_settles_it(
    target: &Target,
    before: &Before,
    number: u32,
) {
    // Exactly between two of the manager's deeds, and with nobody left who would have come back: the next who looks settles it.
    target.must(&["systemctl", "set-property", "--runtime", "web.service", "MemoryHigh=100M"]);
    let note = r#"{"applying":[{"unit":"web.service","property":"MemoryHigh"},{"bytes":104857600}]}"#;
    target.must(&["mkdir", "-p", "/run/holdfast-doorman"]);
    target.write("/run/holdfast-doorman/passing.json", note);
    seen(target, number);
    before.is_now(target, "what was left with the manager was taken away");
    assert!(!target.guest.run(&["test", "-e", "/run/holdfast-doorman"]).status.success());

    // The same from a person has no note: it stays, and nothing is tried beside it.
    target.must(&["systemctl", "set-property", "--runtime", "web.service", "MemoryHigh=100M"]);
    let checked = target.ask(Role::Act, &Ask::Check { changes: vec![high(100, 120)] });
    let Reply::Checked(Err(why)) = checked else { panic!("{checked:?}") };
    assert!(why.starts_with("somebody set limits of web.service at run time"), "{why}");
    assert_eq!(target.limit("memory.high"), (100 * MIB).to_string());
    target.must(&["systemctl", "revert", "web.service"]);
    target.must(&["systemctl", "set-property", "--runtime", "web.service", "MemoryHigh=60M"]);
    target.must(&["rm", "-r", "/run/systemd/system.control"]);

    // People's quota may be finer than ours can be: nobody could go back to it.
    target.must(&["mkdir", "-p", "/etc/systemd/system/web.service.d"]);
    let theirs = "/etc/systemd/system/web.service.d/quota.conf";
    target.write(theirs, "[Service]\nCPUQuota=12.5%\n");
    target.must(&["systemctl", "daemon-reload"]);
    let raise = change(Property::CpuQuota, Value::Percent(13), Value::Percent(16));
    let checked = target.ask(Role::Act, &Ask::Check { changes: vec![raise] });
    let Reply::Checked(Err(why)) = checked else { panic!("{checked:?}") };
    assert_eq!(why, "people set CPUQuota of web.service finer than a change could go back to");
    target.must(&["rm", theirs]);

    // While it keeps: files below `/etc` are written, and that they are kept is not.
    let text = "# Written by holdfast, which takes it away by itself. Yours go beside it.\n[Service]\nMemoryHigh=125829120\n";
    target.must(&["mkdir", "-p", "/etc/systemd/system/web.service.d"]);
    target.write("/etc/systemd/system/web.service.d/50-holdfast-MemoryHigh.conf", text);
    target.write("/var/lib/holdfast-doorman/rewriting.json", "[]");
    target.must(&["systemctl", "daemon-reload"]);
    seen(target, number);
    before.is_now(target, "a rewriting that did not end");

    // With a lease that ran out while nobody could act on it.
    let _candidate = on_trial(target, before, number + 1, LEASE);
    target.must(&["sh", "-c", "systemctl stop 'holdfast-lease-*.timer'"]);
    it_runs_out(target, number + 1);
    before.is_now(target, "who looks undoes what ran out");

    // The desk itself is gone: nobody knows what was agreed on, so what is tried is undone.
    let (desk, copy) = ("/var/lib/holdfast-doorman/desk.json", "/root/desk.json");
    target.must(&["cp", desk, copy]);
    let _candidate = on_trial(target, before, number + 2, 300);
    target.write(desk, "{");
    target.must(&[Place::default().program.to_str().unwrap(), "expire"]);
    assert_eq!(target.limit("memory.high"), (HIGH * MIB).to_string());
    target.must(&["cp", copy, desk]);
    target.must(&["sh", "-c", "systemctl stop 'holdfast-lease-*.timer'"]);
    before.is_now(target, "undone without a desk");
}

/// Links, folders, and other files in the place of ours: refused, and nothing is written through them.
// shows: STW-273
fn what_lies_where_ours_should_is_not_followed(target: &Target, before: &Before, number: u32) {
    let known_good = before.state.running;
    let folder = "/etc/systemd/system/web.service.d";
    let refused = Reply::Refused(Refused::NotKnownGood);
    let staging =
        |number| Ask::Stage { episode: episode(number), base: known_good, changes: vec![high(HIGH, 120)] };
    target.write("/root/prey", "precious\n");
    // A file of ours that is a link, and one that is a folder.
    target.must(&["mkdir", folder]);
    target.must(&["ln", "-s", "/root/prey", &format!("{folder}/50-holdfast-MemoryHigh.conf")]);
    assert_eq!(target.ask(Role::Act, &staging(number)), refused, "a link");
    target.must(&["rm", "-r", folder]);
    target.must(&["mkdir", "-p", &format!("{folder}/50-holdfast-MemoryHigh.conf")]);
    assert_eq!(target.ask(Role::Act, &staging(number)), refused, "a folder");
    target.must(&["rm", "-r", folder]);
    // The folder is a link: it can be tried, below `/run`; and what is to be kept is not written through it.
    target.must(&["mkdir", "/root/elsewhere"]);
    target.must(&["ln", "-s", "/root/elsewhere", folder]);
    let candidate = on_trial(target, before, number, 120);
    let kept = target.ask(Role::Act, &Ask::Keep { episode: episode(number), candidate });
    assert!(matches!(&kept, Reply::Broken { why } if why.ends_with("is not a folder")), "{kept:?}");
    target.must(&["rm", folder]);
    assert_eq!(target.must(&["ls", "-A", "/root/elsewhere"]), "");
    assert_eq!(target.must(&["cat", "/root/prey"]), "precious\n");
    assert_eq!(target.ask(Role::Act, &Ask::Cancel { episode: episode(number) }), Reply::Accepted);
    before.is_now(target, "what could not be kept was undone");

    // Exchanged between staging and trying.
    let number = number + 1;
    let candidate = staged(target, number, known_good, vec![high(HIGH, 120)]);
    let file = format!("/var/lib/holdfast-doorman/staged/{candidate}.json");
    target.must(&["sed", "-i", "s/125829120/136314880/", &file]);
    armed(target, number, known_good, candidate, 120);
    begun(target, number, candidate);
    assert_eq!(activation(target, number), Activation::Failed);
    assert_eq!(target.limit("memory.high"), (HIGH * MIB).to_string());
    assert_eq!(target.ask(Role::Act, &Ask::Cancel { episode: episode(number) }), Reply::Accepted);

    // A state folder that others can write is worked in by nobody.
    target.must(&["chmod", "o+w", "/var/lib/holdfast-doorman"]);
    let asked = target.ask(Role::Act, &staging(number + 1));
    assert!(matches!(&asked, Reply::Broken { why } if why.ends_with("only root can write")), "{asked:?}");
    target.must(&["chmod", "o-w", "/var/lib/holdfast-doorman"]);
    before.is_now(target, "nothing was followed");
}

/// Nobody reaches it, and there is no room, neither on its disk nor below `/run`.
fn a_link_is_cut_for_longer_than_the_window_and_the_disk_is_full(
    target: &Target,
    before: &Before,
    number: u32,
) {
    let known_good = before.state.running;
    // There is no room from the start: nothing is begun, and the reason is told.
    let candidate = staged(target, number, known_good, vec![high(HIGH, 120)]);
    target.must(&["rm", "/var/lib/holdfast-doorman/reserve"]);
    fill(target, "/fill");
    let arming = target.ask(Role::Act, &arming(number, known_good, candidate, 60));
    let no_room = "no room is left on the disk of this target for the way back";
    assert!(matches!(&arming, Reply::Broken { why } if why.starts_with(no_room)), "{arming:?}");
    let changes = vec![high(HIGH, 120)];
    let staging = target.ask(Role::Act, &Ask::Stage { episode: episode(number), base: known_good, changes });
    assert!(matches!(&staging, Reply::Staged(Err(why)) if why.starts_with(no_room)), "{staging:?}");
    target.must(&["rm", "/fill"]);
    before.is_now(target, "nothing was begun");

    // It fills while something is tried, and the link is cut.
    on_trial(target, before, number, LEASE);
    fill(target, "/fill");
    target.guest.cut();
    std::thread::sleep(Duration::from_secs(LEASE + 6));
    target.guest.join();
    target.guest.wait_until_back();
    assert_eq!(target.limit("memory.high"), (HIGH * MIB).to_string(), "undone while nobody could reach it");
    it_runs_out(target, number);
    target.must(&["rm", "/fill"]);
    before.is_now(target, "undone on a full disk");

    // Neither a file nor a unit can be made below `/run`: the manager reads nothing, and the kernel is told at once.
    let candidate = on_trial(target, before, number + 1, 300);
    fill(target, "/run/fill");
    let broken = target.ask(Role::Act, &Ask::Cancel { episode: episode(number + 1) });
    assert!(matches!(broken, Reply::Broken { .. }), "{broken:?}");
    assert_eq!(target.limit("memory.high"), (HIGH * MIB).to_string(), "back without the manager");
    assert_eq!(seen(target, number + 1).ended, None, "what is not wholly undone has not ended");
    target.must(&["rm", "/run/fill"]);
    assert_eq!(target.ask(Role::Act, &Ask::Cancel { episode: episode(number + 1) }), Reply::Accepted);
    before.is_now(target, "undone when there was room");
    let late = target.ask(Role::Act, &Ask::Keep { episode: episode(number + 1), candidate });
    assert_eq!(late, Reply::Refused(Refused::HasEnded(Ended::Expired)));
    // The log says what it could; it is whole, and goes on.
    let told: Vec<String> = log(target).iter().map(brief).collect();
    assert_eq!(told.last(), Some(&format!("keep {} refused", episode(number + 1))));
}

/// Too little memory kills it over and over, until the manager gives it up. Undone by whoever verifies, and undone by the lease; then
/// it runs again.
fn a_change_that_breaks_the_service_is_undone_and_the_machine_was_frozen_meanwhile(
    target: &Target,
    before: &Before,
    number: u32,
) {
    let known_good = before.state.running;
    let too_little = || vec![change(Property::MemoryMax, Value::Infinity, Value::Bytes(24 * MIB))];
    let is_broken = || {
        let shown =
            target.must(&["systemctl", "show", "--property=Result,NRestarts,ActiveState", "web.service"]);
        !shown.contains("Result=success") || !shown.contains("ActiveState=active")
    };
    let candidate = staged(target, number, known_good, too_little());
    armed(target, number, known_good, candidate, 120);
    begun(target, number, candidate);
    wait_until("it breaks", Duration::from_secs(60), is_broken);
    let _went = activation(target, number);
    let back = Ask::Restore { episode: episode(number), wanted: known_good };
    assert_eq!(target.ask(Role::Act, &back), Reply::Accepted);
    wait_until("it runs again", Duration::from_secs(60), || !is_broken());
    before.is_now(target, "undone by whoever verifies");

    let candidate = staged(target, number + 1, known_good, too_little());
    armed(target, number + 1, known_good, candidate, LEASE);
    begun(target, number + 1, candidate);
    wait_until("it breaks", Duration::from_secs(60), is_broken);
    // Nothing happens in it for longer than the lease lasts, and its clocks stand still; what was left of the lease is left.
    target.guest.freeze();
    std::thread::sleep(Duration::from_secs(LEASE + 2));
    target.guest.thaw();
    target.guest.wait_until_back();
    it_runs_out(target, number + 1);
    wait_until("it runs again", Duration::from_secs(60), || !is_broken());
    before.is_now(target, "undone by the lease, after the machine was frozen");
    let late = target.ask(Role::Act, &Ask::Keep { episode: episode(number + 1), candidate });
    assert_eq!(late, Reply::Refused(Refused::HasEnded(Ended::Expired)));
}

fn sshd_starts_again_in_the_window(target: &Target, before: &Before, number: u32) {
    // The trial goes on and can be kept.
    let candidate = on_trial(target, before, number, 120);
    target.must(&["systemctl", "restart", "ssh.service"]);
    target.hang_up();
    let trial = seen(target, number);
    assert_eq!((trial.running, trial.leased), (candidate, true));
    assert_eq!(target.ask(Role::Act, &Ask::Keep { episode: episode(number), candidate }), Reply::Accepted);
    let kept = seen(target, number);
    assert_eq!((kept.running, kept.boots_into, kept.ended), (candidate, candidate, Some(Ended::Kept)));
    let back = Ask::Restore { episode: episode(number), wanted: before.state.running };
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted);
    before.is_now(target, "taken back");

    // It does not come up again, and nobody gets in any more.
    on_trial(target, before, number + 1, LEASE);
    target.must(&["systemctl", "stop", "ssh.service", "ssh.socket"]);
    target.hang_up();
    assert!(!target.say(Role::Act, "ping", b"").status.success());
    wait_until("it is undone", Duration::from_secs(90), || {
        target.limit("memory.high") == (HIGH * MIB).to_string()
    });
    target.must(&["systemctl", "start", "ssh.service"]);
    it_runs_out(target, number + 1);
    before.is_now(target, "undone without a sshd");
}

// shows: STW-004, STW-292
fn the_machine_boots_in_the_window(target: &Target, before: &Before, number: u32) {
    on_trial(target, before, number, 300);
    target.guest.reset();
    target.guest.wait_until_back();
    target.hang_up();
    wait_until("the service runs", Duration::from_secs(90), || seen(target, number).workload.active);
    let after = seen(target, number);
    assert_eq!((after.ended, after.leased), (Some(Ended::LostAtBoot), false));
    assert_ne!(after.boot, before.state.boot);
    before.is_now(target, "a boot undoes it");
}
