//! Every invariant, forced at every moment: before a trial it bars the trial, after it the trial is undone.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_lifeline::{BootId, Identity, Steady};
use holdfast_sim::plain::{self, Alter, Calm, OTHER_ENDPOINT};
use holdfast_steward::effect::{Looked, Probe, TargetState};
use holdfast_steward::episode::Ending;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::invariant::{Moment, Seen};
use holdfast_steward::outcome::Outcome;

fn one(moment: Moment, alter: Alter) -> (Vec<Record>, Ending) {
    let records = plain::episodes_in(1, Calm::but(moment, alter)).unwrap();
    let ending = records.iter().find_map(|record| match &record.event {
        Event::Ended { ending, .. } => Some(ending.clone()),
        _ => None,
    });
    (records, ending.unwrap())
}

fn target(looked: &mut Looked) -> &mut TargetState {
    looked.target.as_mut().unwrap()
}

fn unreachable(looked: &mut Looked) {
    looked.ssh = Probe::Failed;
    looked.target = None;
}

fn unhealthy(looked: &mut Looked) {
    looked
        .endpoints
        .iter_mut()
        .find(|(name, _)| name == OTHER_ENDPOINT)
        .unwrap()
        .1
        .as_mut()
        .unwrap()
        .healthy = false;
}

fn set_space(looked: &mut Looked, space: u64) {
    if let Some(full) = &mut target(looked).full {
        full.space = space;
    }
}

// shows: STW-152, STW-154, STW-157, STW-158, STW-160, STW-328, STW-332, STW-284, STW-295, STW-304
#[test]
fn what_does_not_hold_before_a_trial_bars_it() {
    let table: &[(&str, Alter, &str)] = &[
        ("ssh", unreachable, "did not answer"),
        ("ssh that takes too long", |looked| looked.ssh = Probe::TimedOut, "does not answer over SSH"),
        ("vpn", |looked| looked.vpn = Some(Seen::No), "VPN"),
        ("monitor", unhealthy, "box-1-web is not healthy"),
        (
            "monitor does not know it",
            |looked| looked.endpoints.retain(|(name, _)| name != OTHER_ENDPOINT),
            "not known to the monitor",
        ),
        (
            "monitor is old",
            |looked| looked.endpoints[1].1.as_mut().unwrap().at = Steady(0),
            "not looked at lately",
        ),
        ("one way back", |looked| looked.rehearsed.truncate(1), "1 ways back"),
        (
            "tripwire",
            |looked| looked.heartbeat = looked.heartbeat.map(|at| Steady(at.0 - 31_000)),
            "tripwire",
        ),
        ("tripwire was never seen", |looked| looked.heartbeat = None, "tripwire"),
        ("integrity", |looked| looked.integrity = false, "safety part"),
        ("space here", |looked| looked.space_here = 999_999_999, "controller has"),
        ("space there", |looked| set_space(looked, 4_999_999_999), "target has"),
    ];
    for (what, alter, reason) in table {
        let (records, ending) = one(Moment::Preflight, *alter);
        assert_eq!((ending.outcome, ending.tried), (Outcome::Failed, false), "{what}: {}", ending.reason);
        assert!(ending.reason.contains(reason), "{what}: {}", ending.reason);
        assert!(
            !records.iter().any(|record| matches!(record.event, Event::Counted { .. })),
            "{what}: a trial began"
        );
    }
    let enough: &[(&str, Alter)] = &[
        ("space here", |looked| looked.space_here = 1_000_000_000),
        ("space there", |looked| set_space(looked, 5_000_000_000)),
        ("tripwire", |looked| looked.heartbeat = looked.heartbeat.map(|at| Steady(at.0 - 30_000))),
        // The service the change is to help may be ill.
        ("the service itself", |looked| looked.endpoints[0].1.as_mut().unwrap().healthy = false),
    ];
    for (what, alter) in enough {
        assert_eq!(one(Moment::Preflight, *alter).1.outcome, Outcome::Kept, "{what}");
    }
}

// shows: STW-155, STW-174, STW-169, STW-212, STW-286, STW-287
#[test]
fn what_does_not_hold_after_it_undoes_it() {
    let table: &[(&str, Alter, Outcome, &str)] = &[
        ("ssh", unreachable, Outcome::RolledBack, "two cycles in a row"),
        (
            "ssh that takes too long",
            |looked| looked.ssh = Probe::TimedOut,
            Outcome::RolledBack,
            "two cycles in a row",
        ),
        ("monitor", unhealthy, Outcome::RolledBack, "two cycles in a row"),
        ("tripwire", |looked| looked.heartbeat = None, Outcome::Interrupted, "tripwire was silent"),
        (
            "the tripwire does not know of it",
            |looked| looked.watched = None,
            Outcome::Interrupted,
            "tripwire was silent",
        ),
        ("integrity", |looked| looked.integrity = false, Outcome::RolledBack, "last five cycles"),
        (
            "nobody can tell",
            |looked| {
                unreachable(looked);
                looked.references = false;
            },
            Outcome::Interrupted,
            "too few cycles",
        ),
        (
            "identity",
            |looked| target(looked).running = Identity([9; 32]),
            Outcome::Interrupted,
            "something else was running",
        ),
        ("boot", |looked| target(looked).boot = BootId(9), Outcome::Interrupted, "booted"),
        ("people", |looked| target(looked).people += 1, Outcome::Interrupted, "people changed"),
        ("kills", |looked| target(looked).workload.kills += 1, Outcome::RolledBack, "want of memory"),
        ("restarts", |looked| target(looked).workload.restarts += 1, Outcome::RolledBack, "restarted"),
        (
            "failed units",
            |looked| target(looked).workload.failed_units += 1,
            Outcome::RolledBack,
            "a unit failed",
        ),
        ("not running", |looked| target(looked).workload.active = false, Outcome::RolledBack, "not running"),
        ("metric", |looked| target(looked).metric = Some(40.0), Outcome::RolledBack, "metric"),
    ];
    for (what, alter, outcome, reason) in table {
        let (records, ending) = one(Moment::Window, *alter);
        assert_eq!((ending.outcome, ending.tried), (*outcome, true), "{what}: {}", ending.reason);
        assert!(ending.reason.contains(reason), "{what}: {}", ending.reason);
        assert!(
            !records.iter().any(|record| matches!(record.event, Event::Kept { .. })),
            "{what}: it was kept"
        );
    }
}

#[test]
fn what_does_not_hold_on_probation_takes_it_back() {
    let table: &[(&str, Alter)] = &[("ssh", unreachable), ("monitor", unhealthy)];
    for (what, alter) in table {
        let (records, ending) = one(Moment::Probation, *alter);
        assert_eq!(ending.outcome, Outcome::RolledBack, "{what}: {}", ending.reason);
        assert!(records.iter().any(|record| matches!(record.event, Event::Kept { .. })), "{what}");
        assert!(records.iter().any(|record| matches!(record.event, Event::Restored { .. })), "{what}");
    }
}
