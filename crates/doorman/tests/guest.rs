//! The doorman on a real machine, through its sshd: what is tried, kept and undone there, as the kernel says.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod target;

use std::time::Duration;

use holdfast_doorman::wire::{Ask, Reply, Role};
use holdfast_lifeline::{Ended, EpisodeId, Identity, Refused};
use holdfast_steward::effect::Activation;
use holdfast_steward::setting::{Change, Property, Setting, Value};
use target::{Target, wait_until};

const MIB: u64 = 1 << 20;

fn episode(number: u32) -> EpisodeId {
    format!("ep_{number}").parse().unwrap()
}

fn change(property: Property, from: Value, to: Value) -> Change {
    Change { setting: Setting { unit: "web.service".parse().unwrap(), property }, from, to }
}

fn high(from: u64, to: u64) -> Change {
    change(Property::MemoryHigh, Value::Bytes(from * MIB), Value::Bytes(to * MIB))
}

fn staged(target: &Target, number: u32, base: Identity, changes: Vec<Change>) -> Identity {
    match target.ask(Role::Act, &Ask::Stage { episode: episode(number), base, changes }) {
        Reply::Staged(Ok(staged)) => staged.identity,
        other => panic!("{other:?}"),
    }
}

fn armed(target: &Target, number: u32, known_good: Identity, candidate: Identity, lasts_seconds: u64) {
    let episode = episode(number);
    let reply =
        target.ask(Role::Act, &Ask::Arm { episode, known_good, candidate, lasts_seconds, cap_seconds: 600 });
    assert!(matches!(reply, Reply::Armed(_)), "{reply:?}");
}

fn tried(target: &Target, number: u32, candidate: Identity) {
    assert_eq!(target.ask(Role::Act, &Ask::Try { episode: episode(number), candidate }), Reply::Accepted);
    wait_until("it is activated", Duration::from_secs(60), || {
        match target.ask(Role::Act, &Ask::Poll { episode: episode(number) }) {
            Reply::Activation(Activation::Done { identity, .. }) => {
                assert_eq!(identity, candidate);
                true
            }
            Reply::Activation(Activation::Running) => false,
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_change_is_tried_kept_and_taken_back_and_a_lease_that_nobody_renews_undoes_it() {
    let Some(target) = Target::enrolled(90, 60) else { return };
    let found = target.state();
    assert_eq!((found.running, found.leased), (found.boots_into, false));
    let full = found.full.as_ref().unwrap();
    let unit = "web.service".parse().unwrap();
    assert_eq!(full.com.units[&unit].settings[&Property::MemoryHigh], Value::Bytes(60 * MIB));
    assert!(full.com.ssh_enabled && found.workload.active, "{:?}", found.workload);
    let before = target.everything();

    // Real pressure, seen without rights.
    wait_until("there is pressure", Duration::from_secs(60), || {
        let Reply::Collected(found) = target.ask(Role::Observe, &Ask::Collect { cursor: None }) else {
            panic!()
        };
        assert_eq!(found.failed, []);
        assert_eq!(found.units.len(), 1);
        let of_unit = found.pressure.iter().find(|it| it.unit.is_some() && it.resource == "memory").unwrap();
        of_unit.some[0] > 1.0
    });

    // A trial that nobody renews.
    let candidate = staged(&target, 1, found.running, vec![high(60, 120)]);
    target.is_as(&before, "staging changes nothing");
    armed(&target, 1, found.running, candidate, 25);
    tried(&target, 1, candidate);
    let trial = target.state();
    assert_eq!((trial.running, trial.boots_into, trial.leased), (candidate, found.boots_into, true));
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    wait_until("the lease runs out", Duration::from_secs(90), || !target.state().leased);
    let undone = target.state();
    assert_eq!(
        (undone.running, undone.boots_into, undone.ended),
        (found.running, found.boots_into, Some(Ended::Expired))
    );
    target.is_as(&before, "the lease has run out");
    // Too late for everything that belonged to it.
    let late = target.ask(Role::Act, &Ask::Keep { episode: episode(1), candidate });
    assert_eq!(late, Reply::Refused(Refused::HasEnded(Ended::Expired)));

    // One that is renewed, and kept.
    let candidate = staged(&target, 2, found.running, vec![high(60, 120)]);
    armed(&target, 2, found.running, candidate, 60);
    tried(&target, 2, candidate);
    let renewing = Ask::State { full: false, renew: Some(episode(2)), about: None };
    assert!(matches!(target.ask(Role::Act, &renewing), Reply::State(_)));
    assert_eq!(target.ask(Role::Act, &Ask::Keep { episode: episode(2), candidate }), Reply::Accepted);
    let kept = target.state();
    assert_eq!((kept.running, kept.boots_into, kept.leased), (candidate, candidate, false));
    assert_eq!(target.limit("memory.high"), (120 * MIB).to_string());
    let written = target.must(&["cat", "/etc/systemd/system/web.service.d/50-holdfast-MemoryHigh.conf"]);
    assert!(written.contains("[Service]\nMemoryHigh=125829120\n"), "{written}");
    assert_eq!(
        target
            .must(&[
                "sh",
                "-c",
                "ls -A /run/systemd/system /run/systemd/system.control 2>/dev/null | grep -c web || true"
            ])
            .trim(),
        "0"
    );

    // The guard takes it back with its own key.
    let back = Ask::Restore { episode: episode(2), wanted: found.running };
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted);
    assert_eq!(target.ask(Role::Rescue, &back), Reply::Accepted, "once more changes nothing");
    let restored = target.state();
    assert_eq!((restored.running, restored.boots_into), (found.running, found.boots_into));
    target.is_as(&before, "taken back");
}
