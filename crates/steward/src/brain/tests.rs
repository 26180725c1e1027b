//! Failure classes by table, the rules by table, and what every proposal keeps to.

mod judgement;
mod shared;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::outcome::Outcome;
use crate::setting::{Change, Property, Setting, UnitName, Value};

const MIB: u64 = 1 << 20;

fn end() -> BrainEnd {
    BrainEnd { exit: Some(0), stdout_len: 400, ..BrainEnd::default() }
}

fn error(exit: i32, http_status: Option<u16>, error_type: Option<&str>) -> BrainEnd {
    BrainEnd { exit: Some(exit), http_status, error_type: error_type.map(str::to_owned), ..end() }
}

// shows: STW-365, STW-107
#[test]
fn a_failure_is_classed_by_status_and_structure_never_by_words() {
    use Failure::{Auth, InvalidOutput, Network, Quota, Timeout};
    for (name, end, class) in [
        ("an answer", end(), Ok(())),
        ("an answer over HTTP", error(0, Some(200), None), Ok(())),
        ("an answer without a process", BrainEnd { exit: None, ..error(0, Some(200), None) }, Ok(())),
        ("an answer as long as may be", BrainEnd { stdout_len: ANSWER_BYTES_MAX, ..end() }, Ok(())),
        ("401", error(1, Some(401), None), Err(Auth)),
        ("401 called a bad request", error(1, Some(401), Some("invalid_request_error")), Err(Auth)),
        ("403", error(1, Some(403), None), Err(Auth)),
        ("401 though it exits with 0", error(0, Some(401), None), Err(Auth)),
        ("a refused credential by name", error(1, None, Some("authentication_error")), Err(Auth)),
        ("an expired token by name", error(1, None, Some("token_expired")), Err(Auth)),
        (
            "words that only sound like it",
            error(1, None, Some("session expired: invalid token, HTTP 401")),
            Err(InvalidOutput),
        ),
        ("401 as an exit code", error(401, None, None), Err(InvalidOutput)),
        ("429", error(1, Some(429), Some("rate_limit_error")), Err(Quota)),
        ("402", error(1, Some(402), None), Err(Quota)),
        ("no quota left, by name", error(1, None, Some("insufficient_quota")), Err(Quota)),
        ("a bad request about billing", error(1, Some(400), Some("billing_error")), Err(Quota)),
        ("529", error(1, Some(529), Some("overloaded_error")), Err(Network)),
        ("500", error(1, Some(500), None), Err(Network)),
        ("not reached", BrainEnd { exit: Some(1), connected: Some(false), ..end() }, Err(Network)),
        ("no name server, by name", error(1, None, Some("dns_error")), Err(Network)),
        (
            "its deadline passed",
            BrainEnd { exit: None, signal: Some(9), timed_out: true, ..end() },
            Err(Timeout),
        ),
        ("408", error(1, Some(408), None), Err(Timeout)),
        (
            "a refused credential tried until the deadline",
            BrainEnd { timed_out: true, signal: Some(9), ..error(1, Some(401), None) },
            Err(Auth),
        ),
        ("400", error(1, Some(400), Some("invalid_request_error")), Err(InvalidOutput)),
        ("404", error(0, Some(404), None), Err(InvalidOutput)),
        ("out of turns", error(0, None, Some("error_max_turns")), Err(InvalidOutput)),
        ("an error nobody knows", error(0, None, Some("something_new")), Err(InvalidOutput)),
        ("nothing said", BrainEnd { stdout_len: 0, ..end() }, Err(InvalidOutput)),
        ("too much said", BrainEnd { stdout_len: ANSWER_BYTES_MAX + 1, ..end() }, Err(InvalidOutput)),
        ("exit 1", error(1, None, None), Err(InvalidOutput)),
        ("killed by somebody else", BrainEnd { exit: None, signal: Some(9), ..end() }, Err(InvalidOutput)),
        ("never started", BrainEnd { exit: None, stdout_len: 0, ..end() }, Err(InvalidOutput)),
    ] {
        assert_eq!(classify(&end), class, "{name}");
    }
}

#[test]
fn a_quota_waits_and_a_credential_does_not_count_against_the_plans() {
    use Failure::{Auth, InvalidOutput, Network, Quota, Timeout};
    for (failure, counts, passes) in [
        (Auth, false, false),
        (Quota, false, true),
        (Network, false, true),
        (Timeout, true, true),
        (InvalidOutput, true, false),
    ] {
        assert_eq!(
            (failure.counts_as_failed_plan(), failure.passes_by_waiting()),
            (counts, passes),
            "{failure:?}"
        );
    }
}

fn unit() -> UnitName {
    "a.service".parse().unwrap()
}

fn mebi(count: u64) -> Value {
    Value::Bytes(count * MIB)
}

/// A unit that wants for nothing: 600 MiB used of 1000.
fn content() -> UnitView {
    UnitView {
        memory_max: mebi(1000),
        memory_high: mebi(800),
        cpu_quota: Value::Percent(100),
        nice: Value::Number(0),
        peak: Some(600 * MIB),
        oom_kills: 0,
        restarts: 0,
        throttled: 0.0,
        people: None,
        facts: Facts::default(),
        endpoint: Some("web".parse().unwrap()),
    }
}

fn view(seen: UnitView) -> View {
    View {
        units: BTreeMap::from([(unit(), seen)]),
        pressure: Some(1.0),
        headroom: 1000 * MIB,
        outcomes: Vec::new(),
        experience: Vec::new(),
        on_host: HostView::default(),
        bounds: Bounds::default(),
        exploration: false,
        spent_today: false,
        take_back: Vec::new(),
        stale: false,
        host: "box-1".parse().unwrap(),
    }
}

fn earlier(property: Property, from: Value, to: Value, outcome: Outcome) -> Earlier {
    Earlier { change: Change { setting: Setting { unit: unit(), property }, from, to }, outcome, age: None }
}

fn answer(view: &View) -> Json {
    serde_json::from_str(&propose(view)).unwrap()
}

/// What a view is answered with: option, value, and the other half of a pair; nothing for no action.
fn changes(view: &View) -> Vec<(String, String)> {
    let answer = answer(view);
    let text = |part: &Json, field: &str| part[field].as_str().unwrap().to_owned();
    let change = |part: &Json| (text(part, "target_option"), text(part, "new_value"));
    match answer.get("no_action") {
        Some(why) => {
            assert!((1..=500).contains(&why.as_str().unwrap().len()));
            assert_eq!(answer.as_object().unwrap().len(), 1);
            Vec::new()
        }
        None => [Some(&answer), answer.get("also")].into_iter().flatten().map(change).collect(),
    }
}

fn check(name: &str, view: &View, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect();
    assert_eq!(changes(view), expected, "{name}");
}

#[test]
fn the_rules_answer_what_was_seen() {
    let killed = || UnitView { oom_kills: 2, ..content() };
    check("nothing to do", &view(content()), &[]);
    check("killed", &view(killed()), &[("MemoryMax", "1200M"), ("MemoryHigh", "960M")]);
    check(
        "killed, no throttle",
        &view(UnitView { memory_high: Value::Unset, ..killed() }),
        &[("MemoryMax", "1200M")],
    );
    check(
        "killed, no limit",
        &view(UnitView { memory_max: Value::Infinity, memory_high: Value::Unset, ..killed() }),
        &[],
    );
    let looping = UnitView { restarts: 3, peak: Some(990 * MIB), ..content() };
    check("crash loop at the limit", &view(looping), &[("MemoryMax", "1200M"), ("MemoryHigh", "960M")]);
    check("crash loop for another reason", &view(UnitView { restarts: 9, ..content() }), &[]);
    let little = View { headroom: 50 * MIB, ..view(killed()) };
    check("little memory left", &little, &[("MemoryMax", "1050M"), ("MemoryHigh", "960M")]);
    check("no memory left", &View { headroom: 0, ..view(killed()) }, &[]);
    let large = UnitView { memory_max: mebi(3000), memory_high: Value::Unset, ..killed() };
    check("at the ceiling", &view(large), &[("MemoryMax", "3G")]);
    let throttled_memory = UnitView { peak: Some(790 * MIB), ..content() };
    let pressed = |seen| View { pressure: Some(25.0), ..view(seen) };
    check("pressure at the throttle", &pressed(throttled_memory.clone()), &[("MemoryHigh", "960M")]);
    check("pressure from elsewhere", &pressed(content()), &[]);
    check("at the throttle, no pressure", &view(throttled_memory), &[]);
    let tight = UnitView { memory_high: mebi(1000), peak: Some(990 * MIB), ..content() };
    check("throttle at the limit", &pressed(tight), &[("MemoryMax", "1200M"), ("MemoryHigh", "1200M")]);
    let stopped = UnitView { throttled: 0.4, ..content() };
    check("stopped by its quota", &view(stopped.clone()), &[("CPUQuota", "117%")]);
    check("quota at the top", &view(UnitView { cpu_quota: Value::Percent(400), ..stopped.clone() }), &[]);
    check("no quota", &view(UnitView { cpu_quota: Value::Unset, ..stopped }), &[]);
    let idle = UnitView { memory_high: mebi(700), peak: Some(300 * MIB), ..content() };
    let scarce = |seen| View { headroom: 100 * MIB, ..view(seen) };
    check("memory to give back", &scarce(idle.clone()), &[("MemoryMax", "900M")]);
    check("nobody needs it", &view(idle.clone()), &[]);
    let idle_high = UnitView { memory_high: mebi(980), ..idle.clone() };
    check("with the throttle above it", &scarce(idle_high), &[("MemoryMax", "900M"), ("MemoryHigh", "882M")]);
    check("not under pressure", &View { headroom: 0, ..pressed(idle) }, &[]);
    check("a day has had its trials", &View { spent_today: true, ..view(killed()) }, &[]);
    check("old data", &View { stale: true, ..view(killed()) }, &[]);
}

#[test]
fn what_was_undone_or_refused_is_not_proposed_again_with_the_same_value() {
    let killed = UnitView { oom_kills: 2, memory_high: Value::Unset, ..content() };
    let mut view = view(killed);
    for (verdict, next) in [
        (Outcome::RolledBack, &[("MemoryMax", "1100M")][..]),
        (Outcome::GateRejected, &[("MemoryMax", "1050M")]),
        (Outcome::RolledBack, &[]),
    ] {
        let (_, value) = changes(&view).remove(0);
        let to = Value::parse(&Property::MemoryMax, &value).unwrap();
        view.outcomes.push(earlier(Property::MemoryMax, mebi(1000), to, verdict));
        check("after another", &view, next);
    }
    // A value that was kept may come again, and so may another unit's.
    let kept =
        View { outcomes: vec![earlier(Property::MemoryMax, mebi(1000), mebi(1200), Outcome::Kept)], ..view };
    check("kept before", &kept, &[("MemoryMax", "1200M")]);
}

// shows: STW-390
#[test]
fn memory_that_was_raised_for_a_reason_is_not_given_back() {
    let idle = UnitView { memory_high: Value::Unset, peak: Some(300 * MIB), ..content() };
    let raised = earlier(Property::MemoryMax, mebi(900), mebi(1000), Outcome::Kept);
    let scarce = View { headroom: 0, ..view(idle) };
    check("never raised", &scarce, &[("MemoryMax", "900M")]);
    check("raised lately", &View { outcomes: vec![raised], ..scarce }, &[]);
}

#[test]
fn what_did_nothing_is_taken_back_when_all_is_calm_and_not_proposed_again_within_a_week() {
    let change = |from, to| Change {
        setting: Setting { unit: unit(), property: Property::MemoryMax },
        from: mebi(from),
        to: mebi(to),
    };
    let take_back = || vec![vec![change(1000, 900)]];
    let calm = View { take_back: take_back(), ..view(content()) };
    check("all is calm", &calm, &[("MemoryMax", "900M")]);
    let killed = View { take_back: take_back(), ..view(UnitView { oom_kills: 2, ..content() }) };
    assert_ne!(changes(&killed), changes(&calm), "something else is wrong");
    check("explored", &View { exploration: true, ..calm.clone() }, &[]);
    check("the day is spent", &View { spent_today: true, ..calm.clone() }, &[]);
    check("changed since", &View { take_back: vec![vec![change(1100, 900)]], ..calm.clone() }, &[]);
    let undone = vec![earlier(Property::MemoryMax, mebi(1000), mebi(900), Outcome::RolledBack)];
    check("going back was undone", &View { outcomes: undone, ..calm }, &[]);
    // It was raised, did nothing, was taken back: raising it to the very same value again would go on for ever.
    let day = std::time::Duration::from_secs(86_400);
    let neutral = earlier(Property::MemoryMax, mebi(1000), mebi(1200), Outcome::Neutral);
    let back = earlier(Property::MemoryMax, mebi(1200), mebi(1000), Outcome::Kept);
    let outcomes = vec![Earlier { age: Some(3 * day), ..neutral }, Earlier { age: Some(day), ..back }];
    let again = View { outcomes, ..view(UnitView { oom_kills: 2, ..content() }) };
    assert!(
        !changes(&again).contains(&("MemoryMax".to_owned(), "1200M".to_owned())),
        "{:?}",
        changes(&again)
    );
}

#[test]
fn the_unit_worst_off_comes_first() {
    let mut view = view(UnitView { oom_kills: 1, ..content() });
    view.units.insert("b.service".parse().unwrap(), UnitView { oom_kills: 5, ..content() });
    assert_eq!(answer(&view)["target_service"], "b.service");
}

#[test]
fn a_proposal_says_what_it_hopes_for_and_how_that_is_seen() {
    let text = propose(&view(UnitView { oom_kills: 2, ..content() }));
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Json>(&text).unwrap()).unwrap();
    insta::assert_snapshot!(pretty, @r#"
    {
      "also": {
        "new_value": "960M",
        "old_value": "800M",
        "target_option": "MemoryHigh"
      },
      "expected_outcome": {
        "direction": "minimize",
        "metric": "psi_mem_some_avg60",
        "relative_change": -0.2
      },
      "hypothesis": "a.service is killed for want of memory; with 1200M it keeps running",
      "new_value": "1200M",
      "old_value": "1000M",
      "rationale": "2 kills and 0 restarts, peak 600 MiB, limit 1000M",
      "target_option": "MemoryMax",
      "target_service": "a.service",
      "verification_checks": [
        {
          "endpoint": "web",
          "timeout_seconds": 120,
          "type": "health_check"
        },
        {
          "host": "box-1",
          "timeout_seconds": 10,
          "type": "ssh_probe"
        }
      ]
    }
    "#);
}

fn any_limit() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (1u64..5_000_000_000).prop_map(Value::Bytes),
        4 => (1u64..4_000).prop_map(|count| Value::Bytes(count * MIB)),
        1 => Just(Value::Infinity),
        1 => Just(Value::Unset),
    ]
}

prop_compose! {
    fn any_unit()(
        memory_max in any_limit(),
        memory_high in any_limit(),
        cpu_quota in prop_oneof![(1u32..600).prop_map(Value::Percent), Just(Value::Unset)],
        nice in prop_oneof![(-20i64..20).prop_map(Value::Number), Just(Value::Unset)],
        peak in prop::option::of(0u64..5_000_000_000),
        oom_kills in 0u64..3,
        restarts in 0u64..5,
        throttled in 0.0..1.0f64,
        facts in judgement::any_facts(),
    ) -> UnitView {
        // Where both are set, the throttle is not above the limit: the target would not have it otherwise.
        let memory_high = match (memory_max, memory_high) {
            (Value::Bytes(max), Value::Bytes(high)) => Value::Bytes(high.min(max)),
            (_, other) => other,
        };
        UnitView { memory_max, memory_high, cpu_quota, nice, peak, oom_kills, restarts, throttled, people: None, facts, endpoint: None }
    }
}

prop_compose! {
    fn any_view()(
        units in prop::collection::vec(any_unit(), 0..4),
        pressure in prop::option::of(0.0..100.0f64),
        headroom in prop_oneof![Just(0u64), 0u64..3_000_000_000],
        exploration: bool,
        undone in prop::collection::vec((0usize..4, 200u64..4_000, any::<bool>()), 0..6),
    ) -> View {
        let name = |number: usize| format!("u{number}.service").parse::<UnitName>().unwrap();
        let outcomes = undone.into_iter().map(|(number, to, memory_max)| {
            let property = if memory_max { Property::MemoryMax } else { Property::MemoryHigh };
            let change = Change { setting: Setting { unit: name(number), property }, from: mebi(1000), to: mebi(to) };
            Earlier { change, outcome: Outcome::RolledBack, age: None }
        });
        View {
            units: units.into_iter().enumerate().map(|(number, unit)| (name(number), unit)).collect(),
            pressure,
            headroom,
            outcomes: outcomes.collect(),
            experience: Vec::new(),
            on_host: HostView::default(),
            bounds: Bounds::default(),
            exploration,
            spent_today: false,
        take_back: Vec::new(),
            stale: false,
            host: "box-1".parse().unwrap(),
        }
    }
}

/// Checks one half of an answer against what the unit has now, and returns it typed.
fn keeps_to_bounds(view: &View, unit: &UnitName, part: &Json) -> (Property, Value, Value) {
    let property: Property = part["target_option"].as_str().unwrap().parse().unwrap();
    let read = |field: &str| Value::parse(&property, part[field].as_str().unwrap()).unwrap();
    let (from, to) = (read("old_value"), read("new_value"));
    let seen = &view.units[unit];
    let least = if property == Property::MemoryMax { 256 * MIB } else { 128 * MIB };
    match (&property, from, to) {
        (Property::MemoryMax | Property::MemoryHigh, Value::Bytes(old), Value::Bytes(new)) => {
            let current = if property == Property::MemoryMax { seen.memory_max } else { seen.memory_high };
            assert_eq!(from, current);
            assert!(u128::from(old.abs_diff(new)) * 100 <= u128::from(old) * 20 && old != new, "{old} {new}");
            assert!((least..=3072 * MIB).contains(&new) && new % MIB == 0, "{new}");
        }
        (Property::CpuQuota, Value::Percent(old), Value::Percent(new)) => {
            assert_eq!(from, seen.cpu_quota);
            assert!(new > old && u64::from(new - old) * 100 <= u64::from(old) * 25, "{old} {new}");
            assert!((25..=400).contains(&new));
        }
        (Property::Nice, Value::Number(old), Value::Number(new)) => {
            assert_eq!(from, seen.nice);
            assert!(old != new && old.abs_diff(new) <= 3 && (-5..=19).contains(&new));
        }
        other => panic!("{other:?}"),
    }
    let undone = |earlier: &Earlier| {
        earlier.change.setting.unit == *unit
            && earlier.change.setting.property == property
            && earlier.change.to == to
    };
    assert!(!view.outcomes.iter().any(undone), "proposed again: {property} {to}");
    (property, from, to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_proposal_is_one_change_or_a_pair_within_all_bounds(view in any_view()) {
        let text = propose(&view);
        prop_assert_eq!(&text, &propose(&view.clone()));
        let answer: Json = serde_json::from_str(&text).unwrap();
        if answer.get("no_action").is_some() {
            return Ok(());
        }
        let unit: UnitName = answer["target_service"].as_str().unwrap().parse().unwrap();
        let (property, from, to) = keeps_to_bounds(&view, &unit, &answer);
        let other = answer.get("also").map(|also| keeps_to_bounds(&view, &unit, also));
        if let Some((other, _, _)) = &other {
            prop_assert_eq!((&property, other), (&Property::MemoryMax, &Property::MemoryHigh));
        }
        if property == Property::MemoryMax {
            let grown = to.amount().unwrap() - from.amount().unwrap();
            prop_assert!(grown <= view.headroom as f64);
        }
        // Afterwards the throttle is not above the limit.
        let seen = &view.units[&unit];
        let pick = |wanted: &Property, now: Value| match (&property == wanted, &other) {
            (true, _) => to,
            (false, Some((second, _, new))) if second == wanted => *new,
            (false, _) => now,
        };
        let (max, high) = (pick(&Property::MemoryMax, seen.memory_max), pick(&Property::MemoryHigh, seen.memory_high));
        if let (Value::Bytes(max), Value::Bytes(high)) = (max, high) {
            prop_assert!(high <= max, "{} above {}", high, max);
        }
    }
}
