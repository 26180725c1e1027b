//! A real machine is brought back by the guard alone: its real process, real SSH, the doorman, systemd and the kernel; no steward runs. What
//! a steward would have done before (tried a change, kept it, opened the window) is done here by hand.
//!
//! The provider is this test's own, over HTTP: a soft reboot is a reset that a frozen machine ignores. `make test` has the first list
//! on one release, `HOLDFAST_SOAK=1` all of them on both.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod guarded;
#[path = "../../doorman/tests/target/steps.rs"]
mod steps;
#[path = "../../doorman/tests/target/mod.rs"]
mod target;

use std::time::{Duration, Instant};

use guarded::{Answers, Guarded, With};
use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_lifeline::Ended;
use holdfast_testkit::lab::RELEASES;
use holdfast_testkit::rounds;
use steps::{Before, MIB, armed, high, seen, staged, tried};
use target::{Target, service, wait_until};

const HIGH: u64 = 60;
/// Longer than any of this takes: it is not the lease that brings the machine back here.
const LEASE: u64 = 600;
const SLEEPER: &str = "import time\nheld = b'x' * (40 << 20)\nwhile True:\n    time.sleep(60)\n";

/// Something that happens to what is tried, with the number of its episode.
type Trouble = fn(&Target, &Before, u32);

// A machine lives ten minutes, so there are several lists.
const WAYS: [Trouble; 2] = [the_first_route_is_dead_and_the_second_is_not, what_was_kept_fails_on_probation];
const HINDRANCES: [Trouble; 3] = [
    nobody_can_claim_the_record,
    the_record_is_destroyed_and_the_guard_killed,
    an_accepted_undo_does_nothing,
];
const PATIENCE: [Trouble; 3] =
    [every_word_is_said_twice, no_way_works_for_an_hour, nothing_is_undone_while_the_guard_is_cut_off];
const BOOTS: [Trouble; 3] = [sshd_is_broken, the_network_is_down, a_frozen_machine_ignores_the_soft_reboot];

// shows: STW-259
#[test]
fn the_guard_alone_brings_a_machine_back() {
    happens("trixie", &WAYS);
    if rounds(0, 1) == 1 {
        happens("bookworm", &WAYS);
    }
}

#[test]
fn the_guard_is_stopped_by_nothing_that_stands_in_its_way() {
    in_soak(&HINDRANCES);
}

#[test]
fn the_guard_is_patient_with_others_and_with_itself() {
    in_soak(&PATIENCE);
}

#[test]
fn the_guard_has_a_machine_started_again_when_nothing_else_helps() {
    in_soak(&BOOTS);
}

/// Some minutes for each release.
fn in_soak(troubles: &[Trouble]) {
    if rounds(0, 1) == 1 {
        RELEASES.iter().for_each(|release| happens(release, troubles));
    }
}

fn happens(release: &str, troubles: &[Trouble]) {
    let Some(target) = Target::of(release, SLEEPER, &service(HIGH)) else { return };
    let before = Before::of(&target);
    for (at, trouble) in (1..).zip(troubles) {
        let began = Instant::now();
        trouble(&target, &before, at * 10);
        eprintln!("{release}: {at} took {:?}", began.elapsed());
    }
}

/// Stages, arms and tries what does no harm, as a steward would.
fn on_trial(target: &Target, before: &Before, number: u32) -> holdfast_lifeline::Identity {
    let known_good = before.state.running;
    let candidate = staged(target, number, known_good, vec![high(HIGH, 120)]);
    armed(target, number, known_good, candidate, LEASE);
    tried(target, number, candidate);
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    candidate
}

/// It is back, the guard says by which way, and what a boot gives was never another.
#[track_caller]
fn is_back(guarded: &Guarded, before: &Before, number: u32, by: &str) {
    let target = guarded.target;
    guarded.wait_for("tripwire.episode.undone", Duration::from_secs(240));
    target.guest.wait_until_back();
    target.hang_up();
    assert_eq!(guarded.undone_by(), by);
    assert!(guarded.is_closed());
    let ended = seen(target, number).ended;
    assert!(matches!(ended, Some(Ended::Restored | Ended::LostAtBoot)), "{ended:?}");
    wait_until("the service runs", Duration::from_secs(90), || seen(target, number).workload.active);
    guarded.put_away();
    before.is_now(target, by);
    // Its log is whole.
    guarded.verified();
}

// shows: STW-177
fn the_first_route_is_dead_and_the_second_is_not(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { second_route: true, provider: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    // While it is well nothing happens.
    guarded.wait_for_rounds(2);
    assert_eq!(guarded.count("tripwire.window.lost"), 0, "{:#?}", guarded.log());
    // Its folder goes with it, and the other sshd needs it too.
    target.must(&["sh", "-c", "systemctl stop ssh.service ssh.socket; mkdir -p /run/sshd"]);
    let lost = Instant::now();
    guarded.wait_for("tripwire.window.lost", Duration::from_secs(60));
    eprintln!("from the loss to the rollback: {:?}", lost.elapsed());
    guarded.wait_for("tripwire.episode.undone", Duration::from_secs(120));
    target.must(&["systemctl", "start", "ssh.service"]);
    is_back(&guarded, before, number, "second");
    assert_eq!(guarded.asked(), Vec::<String>::new(), "nobody was rebooted");
}

/// Nothing is leased any more: what was kept is what a boot would give, so a reboot would not help, and the change is taken back.
// shows: STW-315
fn what_was_kept_fails_on_probation(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { endpoint: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    let keep = Ask::Keep { episode: steps::episode(number), candidate };
    assert_eq!(target.ask(Role::Act, &keep), Reply::Accepted);
    assert_eq!(target.state().boots_into, candidate);
    guarded.probation(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.endpoint_falls();
    is_back(&guarded, before, number, "first");
}

/// The folder of the records is full: nothing can be claimed there, and what is open is undone all the same.
fn nobody_can_claim_the_record(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { endpoint: true, small_disk: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.fill_the_records();
    guarded.endpoint_falls();
    guarded.wait_for("tripwire.episode.undone", Duration::from_secs(120));
    assert_eq!(guarded.field("tripwire.window.lost", "claimed"), "unknown");
    before.is_now(target, "undone without a claim");
    guarded.give_room();
}

// shows: STW-184
fn the_record_is_destroyed_and_the_guard_killed(target: &Target, before: &Before, number: u32) {
    let mut guarded = Guarded::of(target, With { endpoint: true, answers: Answers::Late, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.destroy_the_record();
    guarded.endpoint_falls();
    guarded.wait_for("tripwire.window.lost", Duration::from_secs(60));
    // In the middle of its way back.
    guarded.kill();
    guarded.start();
    guarded.wait_for("tripwire.episode.undone", Duration::from_secs(120));
    before.is_now(target, "undone by the next guard");
}

/// The doorman behind the first route says yes and does nothing.
// shows: STW-307
fn an_accepted_undo_does_nothing(target: &Target, before: &Before, number: u32) {
    let with = With { endpoint: true, second_route: true, answers: Answers::Lies, ..With::default() };
    let guarded = Guarded::of(target, with);
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.endpoint_falls();
    is_back(&guarded, before, number, "second");
}

// shows: STW-303
fn every_word_is_said_twice(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { endpoint: true, answers: Answers::Twice, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.endpoint_falls();
    is_back(&guarded, before, number, "first");
}

/// An hour by the guard's own count, which goes sixty times as fast here. What was kept has no lease that would bring it back.
// shows: STW-335
fn no_way_works_for_an_hour(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { pace: 60, ..With::default() });
    let candidate = on_trial(target, before, number);
    let keep = Ask::Keep { episode: steps::episode(number), candidate };
    assert_eq!(target.ask(Role::Act, &keep), Reply::Accepted);
    guarded.probation(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    target.guest.cut();
    guarded.wait_for("tripwire.alarm.raised", Duration::from_secs(120));
    // It is an hour by its count that passes here, and there is nothing else to wait for.
    std::thread::sleep(Duration::from_secs(60));
    assert_eq!(guarded.count("tripwire.episode.undone"), 0);
    target.guest.join();
    is_back(&guarded, before, number, "first");
}

/// Neither the target nor anybody else answers: that is the guard's own trouble, and nobody is rebooted for it.
fn nothing_is_undone_while_the_guard_is_cut_off(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { provider: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.references_fall();
    target.guest.cut();
    guarded.wait_until_alone();
    guarded.wait_for_rounds(5);
    assert_eq!(guarded.count("tripwire.window.lost"), 0, "{:#?}", guarded.log());
    assert_eq!(guarded.asked(), Vec::<String>::new());
    target.guest.join();
    target.guest.wait_until_back();
    target.hang_up();
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string(), "what is tried goes on");
    let cancel = Ask::Cancel { episode: steps::episode(number) };
    assert_eq!(target.ask(Role::Act, &cancel), Reply::Accepted);
    before.is_now(target, "given up by the steward");
}

// shows: STW-292
fn sshd_is_broken(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { second_route: true, provider: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    target.must(&["sh", "-c", "systemctl stop sshd-second.service; systemctl stop ssh.service ssh.socket"]);
    is_back(&guarded, before, number, "reboot");
    assert_eq!(guarded.asked(), ["/reboot"]);
}

fn the_network_is_down(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { provider: true, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    target.must(&["systemd-run", "--quiet", "--on-active=1", "ip", "link", "set", "eth0", "down"]);
    is_back(&guarded, before, number, "reboot");
    assert_eq!(guarded.asked(), ["/reboot"]);
}

// shows: STW-313
fn a_frozen_machine_ignores_the_soft_reboot(target: &Target, before: &Before, number: u32) {
    let guarded = Guarded::of(target, With { provider: true, pace: 4, ..With::default() });
    let candidate = on_trial(target, before, number);
    guarded.window(number, before.state.running, candidate);
    guarded.wait_for("tripwire.window.seen", Duration::from_secs(30));
    guarded.freeze();
    is_back(&guarded, before, number, "reset");
    assert_eq!(guarded.asked(), ["/reboot", "/reset"]);
}
