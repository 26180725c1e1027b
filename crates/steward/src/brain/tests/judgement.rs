//! What the rules make of facts: diagnoses, step sizes, the past, the experience of others, and what they leave alone.

use std::time::Duration;

use super::*;

const HOUR: u64 = 3_600_000;
const MINUTE: u64 = 60_000;

prop_compose! {
    /// Facts of any kind, numbers that are none among them.
    pub(super) fn any_facts()(
        pressure in prop::option::of(any_figure()),
        cpu_wait in prop::option::of(any_figure()),
        cpu_use in prop::option::of(any_figure()),
        memory in prop::option::of(0u64..5_000_000_000),
        moving in prop::bool::weighted(0.1),
        cpu_peak in prop::option::of(any_figure()),
        growth in prop::option::of((any_figure(), 0u64..40)),
    ) -> Facts {
        let growth = growth.map(|(rise, hours)| Growth { lasted: Duration::from_secs(hours * 3600), rise, fall: 0.0, jump: 0.1 });
        Facts { pressure, cpu_wait, cpu_use, cpu_peak, memory, moving, growth, ..Facts::default() }
    }
}

fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..100.0f64,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1.0, 5e-324, 0.0]),
    ]
}

/// A unit that is held at its throttle of 800 MiB, and waits so much of the time.
pub(super) fn held(pressure: f64) -> UnitView {
    let facts = Facts { pressure: Some(pressure), memory: Some(798 * MIB), ..Facts::default() };
    UnitView { facts, peak: Some(798 * MIB), memory_max: mebi(1500), ..content() }
}

pub(super) fn why(view: &View) -> String {
    answer(view)["no_action"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_step_is_as_large_as_what_is_missing() {
    for (pressure, high) in [(3.0, "840M"), (30.0, "864M"), (60.0, "904M"), (95.0, "951M")] {
        check("held at its throttle", &view(held(pressure)), &[("MemoryHigh", high)]);
    }
    let stopped = |throttled| view(UnitView { throttled, ..content() });
    for (throttled, quota) in [(0.05, "105%"), (0.2, "110%"), (0.9, "125%")] {
        check("stopped", &stopped(throttled), &[("CPUQuota", quota)]);
    }
    check("hardly stopped", &stopped(0.04), &[]);
}

#[test]
fn the_limit_moves_with_the_throttle_where_it_is_in_the_way() {
    let tight = UnitView { memory_max: mebi(850), ..held(60.0) };
    check("both", &view(tight), &[("MemoryMax", "942M"), ("MemoryHigh", "904M")]);
}

pub(super) fn hog(nice: i64) -> HostView {
    let hog = Neighbour { unit: "hog.service".parse().unwrap(), nice, cpu_use: 1.6, pressure: 0.0 };
    HostView { processors: Some(2.0), memory_left: Some(1 << 30), neighbours: vec![hog] }
}

pub(super) fn waiting(cpu_wait: f64) -> UnitView {
    let facts =
        Facts { pressure: Some(0.0), cpu_wait: Some(cpu_wait), cpu_use: Some(0.4), ..Facts::default() };
    UnitView { nice: Value::Number(4), facts, ..content() }
}

#[test]
fn a_unit_that_weighs_too_little_is_given_weight_unless_another_pays_for_it() {
    let alone = View { on_host: hog(0), ..view(waiting(30.0)) };
    check("outweighed", &alone, &[("Nice", "1")]);
    check("a little", &View { on_host: hog(0), ..view(waiting(5.0)) }, &[("Nice", "3")]);
    let free = View { on_host: HostView { processors: Some(8.0), ..hog(0) }, ..view(waiting(30.0)) };
    check("processors are free", &free, &[]);
    assert!(why(&free).contains("although some are free"), "{}", why(&free));
    let mut shared = alone;
    let busy = Facts { cpu_use: Some(0.95), ..waiting(0.0).facts };
    shared.units.insert("z.service".parse().unwrap(), UnitView { facts: busy, ..content() });
    check("another managed unit would pay", &shared, &[]);
}

fn life(lasted_minutes: u64, rise: f64) -> Life {
    let lasted = Duration::from_secs(lasted_minutes * 60);
    Life { lasted, killed: true, growth: Some(Growth { lasted, rise, fall: 0.05, jump: 0.1 }) }
}

#[test]
fn a_leak_is_told_from_a_working_set_that_does_not_fit() {
    let killed = |lives: Vec<Life>| {
        let facts = Facts { lives, pressure: Some(10.0), memory: Some(990 * MIB), ..Facts::default() };
        view(UnitView { oom_kills: 2, facts, ..content() })
    };
    let leaking = killed(vec![life(600, 0.4), life(640, 0.4)]);
    check("grows in every life", &leaking, &[]);
    assert!(why(&leaking).contains("would only put the end off"), "{}", why(&leaking));
    let fits_not = killed(vec![life(600, 0.4), life(4, 0.3)]);
    check("back at the limit at once", &fits_not, &[("MemoryMax", "1200M"), ("MemoryHigh", "960M")]);
    check(
        "nothing known of its lives",
        &killed(Vec::new()),
        &[("MemoryMax", "1200M"), ("MemoryHigh", "960M")],
    );
}

#[test]
fn pressure_that_no_managed_unit_feels_is_left_alone_and_named() {
    let calm = Facts { pressure: Some(0.2), ..Facts::default() };
    let hungry = Neighbour { unit: "other.service".parse().unwrap(), nice: 0, cpu_use: 0.1, pressure: 40.0 };
    let on_host = HostView { neighbours: vec![hungry], ..hog(0) };
    let view = View { pressure: Some(40.0), on_host, ..view(UnitView { facts: calm, ..content() }) };
    check("a neighbour's", &view, &[]);
    assert!(why(&view).contains("other.service"), "{}", why(&view));
}

#[test]
fn of_what_is_wrong_at_once_kills_come_first_then_memory_then_whoever_waits_most() {
    // A trial is judged by memory pressure: what is tried while that goes up and down is blamed for it.
    let both = UnitView { throttled: 0.9, ..held(20.0) };
    check("stopped, and held at its throttle", &view(both.clone()), &[("MemoryHigh", "851M")]);
    let spent = View { outcomes: vec![aged(Outcome::Neutral, 851, 30)], ..view(both.clone()) };
    check("more memory changed nothing", &spent, &[("CPUQuota", "125%")]);
    let mut stopped = view(UnitView { throttled: 0.1, ..content() });
    stopped.units.insert("z.service".parse().unwrap(), UnitView { throttled: 0.9, ..content() });
    check("the one that is stopped most", &stopped, &[("CPUQuota", "125%")]);
    let killed = UnitView { oom_kills: 1, ..both };
    check("killed", &view(killed), &[("MemoryMax", "1800M"), ("MemoryHigh", "960M")]);
}

#[test]
fn what_still_changes_by_the_minute_is_waited_for() {
    let mut moving = held(40.0);
    moving.facts.moving = true;
    check("moving", &view(moving.clone()), &[]);
    check(
        "killed meanwhile",
        &view(UnitView { oom_kills: 1, ..moving }),
        &[("MemoryMax", "1800M"), ("MemoryHigh", "960M")],
    );
}

fn aged(outcome: Outcome, to: u64, hours: u64) -> Earlier {
    let age = Some(Duration::from_secs(hours * 3600));
    Earlier { age, ..earlier(Property::MemoryHigh, mebi(800), mebi(to), outcome) }
}

#[test]
fn the_past_bars_what_was_undone_and_backs_off_after_what_changed_nothing() {
    let with = |outcomes: Vec<Earlier>| View { outcomes, ..view(held(60.0)) };
    check("undone once", &with(vec![aged(Outcome::RolledBack, 904, 20)]), &[("MemoryHigh", "852M")]);
    let twice = with(vec![aged(Outcome::RolledBack, 904, 20), aged(Outcome::RolledBack, 852, 10)]);
    check("undone twice", &twice, &[]);
    let neutral = with(vec![aged(Outcome::Kept, 700, 60), aged(Outcome::Neutral, 800, 30)]);
    check("changed nothing", &neutral, &[]);
    assert!(why(&neutral).contains("changed nothing"), "{}", why(&neutral));
    check(
        "changed nothing, long ago",
        &with(vec![aged(Outcome::Neutral, 800, 200)]),
        &[("MemoryHigh", "904M")],
    );
    check("refused a moment ago", &with(vec![aged(Outcome::Refused, 904, 1)]), &[("MemoryHigh", "852M")]);
    check("refused yesterday", &with(vec![aged(Outcome::Refused, 904, 25)]), &[("MemoryHigh", "904M")]);
}

#[test]
fn a_week_allows_half_of_what_people_set() {
    let people = People {
        memory_max: mebi(1500),
        memory_high: mebi(600),
        cpu_quota: Value::Percent(100),
        nice: Value::Number(0),
    };
    let raised = Earlier {
        age: Some(Duration::from_secs(3600)),
        ..earlier(Property::MemoryHigh, mebi(600), mebi(800), Outcome::Kept)
    };
    let unit = UnitView { people: Some(people), ..held(95.0) };
    check(
        "to the end of the week's allowance",
        &View { outcomes: vec![raised], ..view(unit) },
        &[("MemoryHigh", "900M")],
    );
}

/// Eight changes of the throttle of units called so, each of a twentieth, with what was left of 40 points.
fn experience(unit: &str, left: f64) -> Vec<Experience> {
    let one = Experience {
        diagnosis: Diagnosis::ThrottleTooLow,
        property: Property::MemoryHigh,
        unit: unit.parse().unwrap(),
        step: 0.05,
        before: 40.0,
        after: left,
        outcome: Outcome::Kept,
        here: false,
    };
    vec![one; 8]
}

#[test]
fn experience_of_units_like_it_changes_the_size_of_a_step() {
    let size = |experience: Vec<Experience>| changes(&View { experience, ..view(held(40.0)) });
    let high = |text: &str| vec![("MemoryHigh".to_owned(), text.to_owned())];
    assert_eq!(size(Vec::new()), high("878M"));
    assert_eq!(size(experience("a-7.service", 30.0)), high("939M"), "much was needed there");
    assert_eq!(size(experience("a-7.service", 0.0)), high("867M"), "little was");
    assert_eq!(size(experience("b-7.service", 30.0)), high("904M"), "another kind counts for less");
    assert_eq!(size(experience("a-7.service", 40.0)), Vec::new(), "it never helped such units");
    let here = experience("a.service", 39.0).into_iter().map(|it| Experience { here: true, ..it }).take(2);
    assert_eq!(size(here.collect()), Vec::new(), "twice without relief on this very unit");
}

#[test]
fn exploring_takes_small_steps_up_where_a_limit_is_close_and_nothing_is_wrong() {
    let exploring = |unit: UnitView| View { exploration: true, ..view(unit) };
    let close = UnitView { peak: Some(790 * MIB), ..content() };
    check("close to its throttle", &exploring(close.clone()), &[("MemoryHigh", "840M")]);
    assert_eq!(answer(&exploring(close.clone()))["exploration"], json!(true));
    check("at ease", &exploring(content()), &[]);
    check("in trouble", &exploring(held(30.0)), &[]);
    check("killed", &exploring(UnitView { oom_kills: 1, ..close.clone() }), &[]);
    let tried = |outcome| View { outcomes: vec![aged(outcome, 820, 30)], ..exploring(close.clone()) };
    check("tried lately", &tried(Outcome::Kept), &[]);
    check("undone lately", &tried(Outcome::RolledBack), &[]);
}

fn history(samples: impl IntoIterator<Item = (u64, Seen)>) -> History {
    let mut history = History::default();
    samples.into_iter().for_each(|(at, seen)| history.add(crate::time::Steady(at), seen));
    history
}

fn memory(mib: f64) -> Seen {
    Seen { memory: Some((mib * MIB as f64) as u64), ..Seen::default() }
}

#[test]
fn growth_is_endless_only_where_memory_neither_jumps_nor_comes_and_goes() {
    let day = |hour: f64| 60.0 * (hour / 24.0 * std::f64::consts::TAU).sin();
    type Course = fn(f64, f64) -> f64;
    let cases: [(&str, Course, bool); 5] = [
        ("steady", |_, day| 500.0 + day, false),
        ("a leak", |hour, day| 500.0 + day + (hour - 36.0).max(0.0) * 25.0, true),
        ("a leak that is held", |hour, day| (500.0 + day + (hour - 30.0).max(0.0) * 25.0).min(700.0), true),
        ("a jump", |hour, day| 500.0 + day + if hour > 40.0 { 300.0 } else { 0.0 }, false),
        (
            "up and down again",
            |hour, day| 500.0 + day + if (30.0..34.0).contains(&hour) { (hour - 30.0) * 60.0 } else { 0.0 },
            false,
        ),
    ];
    for (name, course, endless) in cases {
        let samples =
            (0..46 * 30).map(|n| (n * 2 * MINUTE, memory(course(n as f64 / 30.0, day(n as f64 / 30.0)))));
        let growth = history(samples).facts().growth.unwrap();
        assert_eq!(growth.is_endless(), endless, "{name}: {growth:?}");
    }
}

#[test]
fn a_restart_ends_a_life_and_a_kill_is_told_from_it() {
    let seen = |restarts, kills| Seen { restarts, kills, ..memory(500.0) };
    let samples = [(0, seen(0, 0)), (HOUR, seen(0, 0)), (2 * HOUR, seen(1, 1)), (3 * HOUR, seen(2, 1))];
    let facts = history(samples).facts();
    let lives: Vec<_> = facts.lives.iter().map(|life| (life.lasted.as_secs() / 3600, life.killed)).collect();
    assert_eq!(lives, [(2, true), (1, false)]);
    assert_eq!(history(samples).counted_within(Duration::from_secs(3600)), (0, 1));
    assert_eq!(history(samples).counted_within(Duration::from_secs(86_400)), (1, 2));
}

proptest! {
    #[test]
    fn facts_are_finite_whatever_was_seen(
        seen in prop::collection::vec((0u64..200 * HOUR, any_figure(), any_figure(), 0u64..u64::MAX, 0u64..3), 0..60),
    ) {
        let samples = seen.into_iter().map(|(at, pressure, latency, memory, restarts)| {
            let seen = Seen { memory: Some(memory), pressure: Some(pressure), latency: Some(latency), cpu_use: Some(latency), cpu_wait: Some(pressure), restarts, ..Seen::default() };
            (at, seen)
        });
        let facts = history(samples).facts();
        let growth = facts.growth.iter().chain(facts.lives.iter().filter_map(|life| life.growth.as_ref()));
        let figures = growth.flat_map(|it| [it.rise, it.fall, it.jump]).chain(facts.pressure).chain(facts.latency).chain(facts.cpu_peak);
        for figure in figures {
            prop_assert!(figure.is_finite(), "{}", figure);
        }
    }
}
