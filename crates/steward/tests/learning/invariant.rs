//! What must hold before, during and after a trial.

use std::time::Duration;

use holdfast_steward::invariant::*;
use holdfast_steward::time::Steady;

use super::*;

const NOW: u64 = 10 * DAY;
const ACTIVATION: u64 = NOW - 120_000;
const MOMENTS: [Moment; 4] = [Moment::Preflight, Moment::Window, Moment::BeforeCommit, Moment::Probation];

fn seconds_ago(seconds: u64) -> Steady {
    Steady(NOW - seconds * 1000)
}

fn health(healthy: bool, seconds: u64) -> Option<Health> {
    Some(Health { healthy, at: seconds_ago(seconds) })
}

/// Makes one thing go wrong.
type Spoil = fn(&mut Facts, &mut Expectations);

/// A target with which all is well.
fn well() -> Facts {
    let channel = |name: &str| Channel { name: name.into(), rehearsed: Some(seconds_ago(3600)) };
    Facts {
        now: Steady(NOW),
        ssh: Seen::Yes,
        vpn: Seen::Yes,
        endpoints: vec![("ssh".into(), health(true, 20)), ("runner".into(), health(true, 20))],
        generations: Some(3),
        channels: vec![channel("ssh over the VPN"), channel("timer on the target")],
        heartbeat: Some(seconds_ago(5)),
        integrity: Seen::Yes,
    }
}

fn expected(moment: Moment) -> Expectations {
    let activation = (moment != Moment::Preflight).then_some(Steady(ACTIVATION));
    Expectations { endpoints: vec!["ssh".into(), "runner".into()], activation, ..Expectations::default() }
}

/// What is found of one check at each of the four moments: `F` failure, `?` inconclusive, `.` nothing.
fn found(check_of: Check, spoil: impl Fn(&mut Facts, &mut Expectations)) -> String {
    let at = |moment| {
        let (mut facts, mut expected) = (well(), expected(moment));
        spoil(&mut facts, &mut expected);
        let found = check(moment, &facts, &expected);
        assert!(
            found.iter().all(|violation| violation.check == check_of),
            "only {check_of} was spoiled: {found:?}"
        );
        found.iter().map(|violation| violation.weight).max()
    };
    MOMENTS
        .map(|moment| match at(moment) {
            None => '.',
            Some(Weight::Inconclusive) => '?',
            Some(Weight::Failure) => 'F',
        })
        .into_iter()
        .collect()
}

// shows: STW-331, STW-169
#[test]
fn there_is_one_table_of_check_moment_and_timeout_and_the_function_follows_it() {
    let shown = |check: Check| {
        let cell = |moment| timeout(check, moment).map_or("-".to_owned(), |t| format!("{}s", t.as_secs()));
        format!("{check:<18} {}", MOMENTS.map(cell).join(" "))
    };
    let checks =
        [Check::Ssh, Check::Vpn, Check::Monitor, Check::RollbackRehearsed, Check::Tripwire, Check::Integrity];
    let table = checks.map(shown).join("\n");
    insta::assert_snapshot!(table, @r"
    ssh_reachable      5s 10s 5s 8s
    vpn_online         5s 5s 5s 5s
    monitor_healthy    5s 5s 5s 5s
    rollback_rehearsed 5s - - -
    tripwire_running   5s 5s 5s 5s
    integrity          5s - 5s -
    ");
    let cells: std::collections::BTreeSet<_> = TABLE.iter().map(|row| (row.check, row.moment)).collect();
    assert_eq!(cells.len(), TABLE.len(), "no cell twice");

    // Everything spoiled: what is found at a moment is exactly what the table lists for it.
    for moment in MOMENTS {
        let facts = Facts {
            ssh: Seen::No,
            vpn: Seen::No,
            endpoints: vec![("ssh".into(), health(false, 1)), ("runner".into(), health(false, 1))],
            channels: vec![],
            heartbeat: None,
            integrity: Seen::No,
            ..well()
        };
        let mut found: Vec<_> =
            check(moment, &facts, &expected(moment)).into_iter().map(|v| v.check).collect();
        found.dedup();
        let listed: Vec<_> = TABLE.iter().filter(|row| row.moment == moment).map(|row| row.check).collect();
        assert_eq!(found, listed, "{moment:?}");
    }
    let round = TRIPWIRE_PERIOD;
    assert!(timeout(Check::Ssh, Moment::Probation).unwrap() < round, "a probe is done within a round");
}

// shows: STW-319, STW-284, STW-295, STW-337
#[test]
fn each_check_is_found_where_it_is_made_and_nowhere_else() {
    assert_eq!(found(Check::Ssh, |_, _| {}), "....");
    let cases: [(&str, Check, Spoil, &str); 14] = [
        ("ssh is down", Check::Ssh, |f, _| f.ssh = Seen::No, "FFFF"),
        ("ssh cannot be told", Check::Ssh, |f, _| f.ssh = Seen::Unknown, "????"),
        ("the vpn is down: alone it proves nothing once live", Check::Vpn, |f, _| f.vpn = Seen::No, "F???"),
        ("the vpn is unknown", Check::Vpn, |f, _| f.vpn = Seen::Unknown, "????"),
        ("there is no vpn", Check::Vpn, |f, e| (f.vpn, e.vpn_required) = (Seen::No, false), "...."),
        ("no generation", Check::RollbackRehearsed, |f, _| f.generations = Some(0), "F..."),
        ("one generation, rehearsed", Check::RollbackRehearsed, |f, _| f.generations = Some(1), "...."),
        ("generations unread", Check::RollbackRehearsed, |f, _| f.generations = None, "?..."),
        ("one channel", Check::RollbackRehearsed, |f, _| drop(f.channels.pop()), "F..."),
        (
            "a rehearsal expired",
            Check::RollbackRehearsed,
            |f, _| f.channels[0].rehearsed = Some(seconds_ago(26 * 3600)),
            "F...",
        ),
        ("three rounds of the tripwire", Check::Tripwire, |f, _| f.heartbeat = Some(seconds_ago(30)), "...."),
        ("more than three rounds", Check::Tripwire, |f, _| f.heartbeat = Some(Steady(NOW - 30_001)), "FFFF"),
        ("no heartbeat", Check::Tripwire, |f, _| f.heartbeat = None, "FFFF"),
        ("a safety part was altered", Check::Integrity, |f, _| f.integrity = Seen::No, "F.F."),
    ];
    for (case, check, spoil, expected) in cases {
        assert_eq!(found(check, spoil), expected, "{case}");
    }
}

// shows: STW-328
#[test]
fn endpoints_are_named_present_and_fresh_or_the_check_does_not_pass() {
    let cases: [(&str, Spoil, &str); 9] = [
        ("an empty list", |_, e| e.endpoints.clear(), "FFFF"),
        ("an empty list at both ends", |f, e| (f.endpoints, e.endpoints) = (vec![], vec![]), "FFFF"),
        ("a mistyped name", |_, e| e.endpoints[1] = "runer".into(), "F???"),
        (
            "an irrelevant endpoint is ill",
            |f, _| f.endpoints.push(("other".into(), health(false, 1))),
            "....",
        ),
        ("a named one is ill", |f, _| f.endpoints[1].1 = health(false, 20), "FFFF"),
        ("no result yet", |f, _| f.endpoints[1].1 = None, "????"),
        (
            "fresh at the limit",
            |f, e| (f.endpoints[1].1, e.activation) = (health(true, 180), Some(seconds_ago(200))),
            "....",
        ),
        (
            "stale",
            |f, e| (f.endpoints[1].1, e.activation) = (health(true, 181), Some(seconds_ago(200))),
            "????",
        ),
        ("stale and ill is still stale", |f, _| f.endpoints[1].1 = health(false, 600), "????"),
    ];
    for (case, spoil, expected) in cases {
        assert_eq!(found(Check::Monitor, spoil), expected, "{case}");
    }
}

#[test]
fn what_the_monitor_saw_before_the_trial_never_counts_for_it() {
    let frozen: Spoil = |f, _| {
        f.endpoints
            .iter_mut()
            .for_each(|(_, result)| *result = Some(Health { healthy: true, at: Steady(ACTIVATION) }));
    };
    assert_eq!(found(Check::Monitor, frozen), ".???", "healthy, looked at in the very moment of activation");
    assert_eq!(found(Check::Monitor, |_, e| e.activation = None), ".???", "nobody knows when it went live");
}

#[test]
fn the_service_a_change_is_about_may_be_ill_before_it_and_not_after() {
    let ill: Spoil = |f, e| {
        f.endpoints[1].1 = health(false, 20);
        e.excused = Some("runner".into());
    };
    assert_eq!(found(Check::Monitor, ill), ".FFF");
    let other: Spoil = |f, e| {
        f.endpoints[0].1 = health(false, 20);
        e.excused = Some("runner".into());
    };
    assert_eq!(found(Check::Monitor, other), "FFFF", "nobody else is excused");
    let unknown: Spoil = |f, e| {
        f.endpoints.pop();
        e.excused = Some("runner".into());
    };
    assert_eq!(found(Check::Monitor, unknown), "F???", "ill is excused, mistyped is not");
}

#[test]
fn a_violation_says_what_is_wrong() {
    let facts = Facts { heartbeat: Some(seconds_ago(95)), ssh: Seen::No, ..well() };
    let said: Vec<_> =
        check(Moment::Window, &facts, &expected(Moment::Window)).into_iter().map(|v| v.sentence).collect();
    assert_eq!(
        said,
        ["the target does not answer over SSH", "the tripwire finished its last round 95 s ago"]
    );
}

#[test]
fn old_names_of_checks_are_read() {
    let names = [
        "ssh_reachable",
        "tailscale_online",
        "gatus_all_healthy",
        "rollback_functional",
        "tripwire_running",
        "auditor_integrity",
    ];
    let read: Vec<Check> = serde_json::from_value(serde_json::json!(names)).unwrap();
    let all: std::collections::BTreeSet<_> = TABLE.iter().map(|row| row.check).collect();
    assert_eq!(read.into_iter().collect::<std::collections::BTreeSet<_>>(), all);
    for check in all {
        assert_eq!(serde_json::to_value(check).unwrap(), check.as_str());
    }
}

#[test]
fn a_trial_needs_a_gigabyte_here_and_five_there() {
    const GB: u64 = 1_000_000_000;
    let cases = [
        (Some(GB), Some(5 * GB), 0),
        (Some(GB - 1), Some(5 * GB), 1),
        (Some(GB), Some(5 * GB - 1), 1),
        (None, Some(5 * GB), 1),
        (None, None, 2),
    ];
    for (controller, target, expected) in cases {
        let said = space(FreeSpace { controller, target }, (CONTROLLER_FREE_MIN, TARGET_FREE_MIN));
        assert_eq!(said.len(), expected, "{controller:?} {target:?}: {said:?}");
    }
}

#[test]
fn defaults_are_those_of_the_specification() {
    let expected = Expectations::default();
    assert_eq!(expected.tripwire_period, Duration::from_secs(10));
    assert!(expected.endpoints.is_empty(), "nobody's endpoints are guessed, so the default never passes");
}

#[test]
fn the_tripwire_sees_by_the_same_rules_and_by_nothing_but_what_is_seen_from_outside() {
    use holdfast_lifeline::Sight;
    let table: &[(&str, Spoil, Sight)] = &[
        ("nothing", |_, _| {}, Sight::Well),
        ("ssh", |f, _| f.ssh = Seen::No, Sight::Bad),
        ("nobody knows about ssh", |f, _| f.ssh = Seen::Unknown, Sight::Unsure),
        ("the VPN alone proves nothing", |f, _| f.vpn = Seen::No, Sight::Unsure),
        ("an endpoint", |f, _| f.endpoints[1].1 = health(false, 20), Sight::Bad),
        ("an endpoint, seen before the trial", |f, _| f.endpoints[1].1 = health(false, 130), Sight::Unsure),
        ("an endpoint that nobody looked at", |f, _| f.endpoints[1].1 = None, Sight::Unsure),
        ("its own heartbeat", |f, _| f.heartbeat = None, Sight::Well),
        ("what only a preflight asks", |f, _| f.channels.clear(), Sight::Well),
        ("the parts", |f, _| f.integrity = Seen::No, Sight::Well),
    ];
    for (what, spoil, sight) in table {
        let (mut facts, mut expected) = (well(), expected(Moment::Window));
        spoil(&mut facts, &mut expected);
        assert_eq!(holdfast_steward::invariant::sight(&facts, &expected, true), *sight, "{what}");
        assert_eq!(
            holdfast_steward::invariant::sight(&facts, &expected, false),
            Sight::Unsure,
            "{what}, cut off"
        );
        // What it calls bad the steward calls a failure too.
        let failed = check(Moment::Window, &facts, &expected);
        let failed = failed.iter().any(|it| it.weight == Weight::Failure && it.check != Check::Tripwire);
        assert_eq!(failed, *sight == Sight::Bad, "{what}");
    }
}
