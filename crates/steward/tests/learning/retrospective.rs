//! The look a day later: when it is due, what it says, and that it says it once.

use std::time::Duration;

use holdfast_steward::constitution::Constitution;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::retrospective::*;
use holdfast_steward::sample::Interval;
use holdfast_steward::time::Steady;
use holdfast_types::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn due(number: u64, switched: Now) -> Due {
    Due { episode: episode(number), switched: switched.into() }
}

fn mean(mean: f64) -> Summary {
    Summary::new(mean, 0.1, 720).unwrap()
}

/// The wall clock put forward or back while steady time stays.
fn jumped(now: Now, hours: i64) -> Now {
    let micros = now.wall.as_micros() + hours * 3_600_000_000;
    Now { wall: Timestamp::from_micros(micros).unwrap(), ..now }
}

#[test]
fn it_is_due_after_a_day_that_surely_passed() {
    let unsynced = |now: Now| Now { synced: false, ..now };
    let cases = [
        ("a minute early", at(0), at(DAY - 60_000), false),
        ("on the day", at(0), at(DAY), true),
        ("the clock went back a day", at(0), jumped(at(DAY), -24), true),
        ("the controller was off for half of it, its clock good", at(0), jumped(at(12 * HOUR), 12), true),
        ("it was off for longer: too little can have been seen", at(0), jumped(at(12 * HOUR - 1), 13), false),
        ("the clock was put forward", at(0), jumped(at(HOUR), 24 * 365), false),
        ("the controller was off, its clock not yet good", at(0), unsynced(jumped(at(13 * HOUR), 23)), false),
        ("the switch was made with a bad clock", unsynced(at(0)), jumped(at(13 * HOUR), 48), false),
        ("a bad clock on both ends, and a day of steady time", unsynced(at(0)), unsynced(at(DAY)), true),
    ];
    for (case, switched, now, expected) in cases {
        assert_eq!(due(1, switched).is_due(now), expected, "{case}");
    }
}

fn law(settings: serde_json::Value) -> Constitution {
    serde_json::from_value(settings).unwrap()
}

fn no_guards() -> Constitution {
    law(json!({"guards": []}))
}

fn verdict(before: f64, after: f64, law: &Constitution) -> Verdict {
    judge(Some(mean(before)), Some(mean(after)), &[], law, Overlap::Alone)
}

fn worse(metric: &str) -> Verdict {
    Verdict::Worse { metric: metric.parse().unwrap() }
}

// shows: STW-391
#[test]
fn a_change_counts_when_it_is_large_enough_both_relatively_and_absolutely() {
    let primary = "psi_mem_some_avg60";
    let cases = [
        ("five per cent", 20.0, 19.0, Verdict::Improved),
        ("less than five per cent", 20.0, 19.1, Verdict::Neutral),
        ("exactly five per cent worse is not beyond it", 20.0, 21.0, Verdict::Neutral),
        ("beyond five per cent worse", 20.0, 21.1, worse(primary)),
        ("from nothing to next to nothing", 0.0, 0.01, Verdict::Neutral),
        ("a tenth of very little", 0.10, 0.01, Verdict::Neutral),
        ("from nothing to something", 0.0, 0.6, worse(primary)),
        ("half a point of little", 0.6, 0.1, Verdict::Improved),
    ];
    for (case, before, after, expected) in cases {
        assert_eq!(verdict(before, after, &no_guards()), expected, "{case}");
    }
    let rising = law(json!({"guards": [], "direction": "maximize", "primary_metric": "throughput"}));
    assert_eq!(verdict(20.0, 22.0, &rising), Verdict::Improved);
    assert_eq!(verdict(20.0, 18.0, &rising), worse("throughput"));

    // The baseline is the same length before, without marked intervals, and knows its samples.
    let switched = Steady(3 * DAY);
    let (before, after) = (Span::before(switched), Span::after(switched));
    assert_eq!(before.to.since(before.from), after.to.since(after.from));
    assert_eq!(after.to.since(after.from), Duration::from_secs(24 * 3600));
    let samples = (0..6 * 24).map(|hour| (Steady(hour * HOUR), if hour < 60 { 1.0 } else { 3.0 }));
    let build = Interval {
        from: Steady(60 * HOUR),
        to: Some(Steady(61 * HOUR)),
        why: holdfast_steward::sample::Why::OwnBuild,
    };
    let whole = Summary::of(samples.clone(), before, &[]).unwrap();
    let without = Summary::of(samples, before, &[build]).unwrap();
    assert_eq!((whole.count(), without.count()), (24, 22));
    assert!((whole.mean() - 2.0).abs() < 1e-12 && (without.mean() - (12.0 + 30.0) / 22.0).abs() < 1e-12);
    assert_eq!(Summary::of([(Steady(0), f64::NAN)], after, &[]), None);
}

// shows: STW-392
#[test]
fn overlapping_switches_and_few_samples_are_inconclusive_and_a_like_baseline_is_preferred() {
    let few = Summary::new(20.0, 0.1, 359).unwrap();
    let (some, enough) = (Some(few), Some(mean(20.0)));
    for (before, after) in [(some, enough), (enough, some), (None, enough), (enough, None), (None, None)] {
        let said = judge(before, after, &[], &no_guards(), Overlap::Alone);
        assert!(
            matches!(said, Verdict::Inconclusive { why: Why::FewSamples { needed: 360, .. } }),
            "{said:?}"
        );
    }
    let said = judge(Some(mean(20.0)), Some(mean(1.0)), &[], &no_guards(), Overlap::Overlapping);
    assert_eq!(said, Verdict::Inconclusive { why: Why::Overlapping });
    assert_eq!(said.outcome(), Outcome::Inconclusive);

    let mut all = Retrospectives::default();
    for (number, millis) in [(1, 0), (2, DAY - 1), (3, 2 * DAY), (4, 3 * DAY)] {
        all.add(due(number, at(millis)));
    }
    let overlaps: Vec<_> = (1..=4).map(|n| all.overlap(&episode(n)) == Overlap::Overlapping).collect();
    assert_eq!(overlaps, [true, true, false, false]);
    // What was undone is not looked back at, and still fell into the time that is compared.
    all.forget(&episode(2));
    assert_eq!(all.overlap(&episode(1)), Overlap::Overlapping);
    assert!(all.due(at(9 * DAY)).all(|due| due.episode != episode(2)));
    assert!(!all.settle(&episode(2), Verdict::Improved));

    let law = no_guards();
    assert_eq!(baseline(Some(mean(5.0)), mean(20.0), &law), mean(5.0));
    assert_eq!(baseline(Some(few), mean(5.0), &law), mean(5.0), "a like day with few samples is no baseline");
    assert_eq!(baseline(None, mean(5.0), &law), mean(5.0));
}

/// So many samples around a level, each with this much of the one before in it, the same each time.
fn resembling(level: f64, count: usize, resemblance: f64) -> Summary {
    let mut state = 1u64;
    let mut last = 0.0;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let values = (0..count).map(|_| {
        last = resemblance * last + draw() * 2.0;
        level + last
    });
    Summary::of_values(values.collect::<Vec<_>>()).unwrap()
}

#[test]
fn samples_that_resemble_each_other_count_for_fewer() {
    let apart = resembling(10.0, 720, 0.0);
    assert!(apart.effective() > 350.0, "{}", apart.effective());
    // Theory: (1 − r) / (1 + r) of them, 38 at 0.9.
    let alike = resembling(10.0, 720, 0.9);
    assert!((15.0..100.0).contains(&alike.effective()), "{}", alike.effective());
    assert!(alike.error() > 3.0 * apart.error());
    let trend = Summary::of_values((0..720).map(f64::from)).unwrap();
    assert!(trend.effective() < 40.0, "a course within the day is no certainty: {}", trend.effective());
    let flat = Summary::of_values([5.0; 720]).unwrap();
    assert_eq!((flat.effective(), flat.error()), (720.0, 0.0));
    let text = serde_json::to_string(&alike).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), alike);
    let old: Summary = serde_json::from_str(r#"{"mean":1.0,"sd":2.0,"count":9}"#).unwrap();
    assert_eq!(old.effective(), 9.0, "as it was written before anybody asked");
    assert!(serde_json::from_str::<Summary>(r#"{"mean":1.0,"sd":2.0,"count":9,"effective":10.0}"#).is_err());
}

#[test]
fn a_difference_that_chance_alone_might_make_is_no_verdict() {
    let law = no_guards();
    let summary = |mean: f64, sd: f64, effective: f64| {
        Some(Summary::new(mean, sd, 720).unwrap().counting_as(effective).unwrap())
    };
    let cases = [
        ("better, and surely so", (20.0, 4.0, 700.0), (18.0, 4.0, 700.0), "improved"),
        ("better, by samples that are few in truth", (20.0, 4.0, 12.0), (18.0, 4.0, 12.0), "uncertain"),
        ("worse, and surely so", (20.0, 4.0, 700.0), (22.0, 4.0, 700.0), "worse"),
        ("worse, perhaps", (20.0, 4.0, 12.0), (22.0, 4.0, 12.0), "uncertain"),
        ("the same, and an effect would have shown", (20.0, 4.0, 700.0), (20.1, 4.0, 700.0), "neutral"),
        ("the same, as far as anybody can tell", (20.0, 4.0, 12.0), (20.1, 4.0, 12.0), "uncertain"),
    ];
    for (case, before, after, expected) in cases {
        let of = |(mean, sd, effective)| summary(mean, sd, effective);
        let said = judge(of(before), of(after), &[], &law, Overlap::Alone);
        let word = match &said {
            Verdict::Improved => "improved",
            Verdict::Neutral => "neutral",
            Verdict::Worse { .. } => "worse",
            Verdict::Inconclusive { why: Why::Uncertain { low_permille, high_permille, .. } } => {
                assert!(low_permille < high_permille, "{case}");
                "uncertain"
            }
            Verdict::Inconclusive { .. } => "inconclusive",
        };
        assert_eq!(word, expected, "{case}: {said:?}");
    }
    let said = judge(summary(20.0, 4.0, 12.0), summary(18.0, 4.0, 12.0), &[], &law, Overlap::Alone);
    let Verdict::Inconclusive { why } = said else { panic!("{said:?}") };
    assert_eq!(why.to_string(), "psi_mem_some_avg60 changed by something between -28.0 % and +8.0 %");
}

#[test]
fn a_day_is_compared_with_the_same_hours_and_the_same_regime() {
    // Quiet until 20:00 of the second day, then bad; changed at 08:00 of the third.
    let (began, switched) = (Steady(44 * HOUR), Steady(56 * HOUR));
    let level = |hour: u64| match hour {
        0..44 => 1.0,
        44..56 => 30.0,
        // Afterwards the nights are as bad as half of before, and the days are no better.
        hour if hour % 24 >= 20 || hour % 24 < 8 => 15.0,
        _ => 30.0,
    };
    let samples: Vec<_> = (0..84 * 30).map(|n| (Steady(n * HOUR / 30), level(n / 30))).collect();
    let (before, after) = matched(&samples, switched, Some(began), &[]);
    assert_eq!((before.unwrap().mean(), before.unwrap().count()), (30.0, 360));
    assert_eq!((after.unwrap().mean(), after.unwrap().count()), (15.0, 360));
    let (whole, _) = matched(&samples, switched, None, &[]);
    assert!(whole.unwrap().mean() < 16.0, "with the quiet in it a help looks like harm");
    assert_eq!(matched(&[], switched, Some(began), &[]), (None, None));
}

proptest! {
    #[test]
    fn a_verdict_is_finite_whatever_the_figures(
        values in prop::collection::vec(prop_oneof![
            any::<f64>(),
            prop::sample::select(vec![f64::NAN, f64::INFINITY, 1e308, -1e308, 5e-324, 0.0]),
        ], 0..400),
        split in 0usize..400,
    ) {
        let (before, after) = values.split_at(split.min(values.len()));
        let law = law(json!({"guards": [], "samples_min": 1}));
        let sum = |part: &[f64]| Summary::of_values(part.iter().copied());
        for summary in [sum(before), sum(after)].into_iter().flatten() {
            prop_assert!(summary.effective().is_finite() && summary.effective() >= 0.0);
            prop_assert!(summary.error().is_finite());
        }
        // It says something, and does not stop.
        let said = judge(sum(before), sum(after), &[], &law, Overlap::Alone);
        prop_assert!(!said.outcome().as_str().is_empty());
    }
}

// shows: STW-390
#[test]
fn a_guard_that_worsens_outweighs_any_gain_and_one_unseen_leaves_it_unproved() {
    let law = law(json!({"guards": [
        {"metric": "restarts", "direction": "minimize", "floor": 1.0},
        {"metric": "throughput", "direction": "maximize", "floor": 1.0},
    ]}));
    let reading = |metric: &str, before, after| Reading {
        metric: metric.parse().unwrap(),
        before: Some(mean(before)),
        after: Some(mean(after)),
    };
    let check = |after: f64, guards: &[Reading]| {
        judge(Some(mean(20.0)), Some(mean(after)), guards, &law, Overlap::Alone)
    };
    let (calm, steady) = (reading("restarts", 0.0, 0.0), reading("throughput", 100.0, 100.0));
    let gained = reading("throughput", 100.0, 200.0);
    let starved = reading("throughput", 100.0, 60.0);

    assert_eq!(check(10.0, &[calm.clone(), steady.clone()]), Verdict::Improved);
    assert_eq!(check(10.0, &[calm.clone(), starved.clone()]), worse("throughput"));
    assert_eq!(check(20.0, &[calm.clone(), starved]), worse("throughput"));
    assert_eq!(check(20.0, &[calm.clone(), gained]), Verdict::Neutral, "a guard holds, it does not win");
    assert_eq!(check(30.0, &[]), worse("psi_mem_some_avg60"), "harm needs no further proof");
    let unseen = check(10.0, &[calm]);
    assert!(matches!(unseen, Verdict::Inconclusive { why: Why::FewSamples { before: 0, .. } }), "{unseen:?}");
}

#[test]
fn a_verdict_is_recorded_as_what_it_is() {
    let few = Verdict::Inconclusive { why: Why::Overlapping };
    let cases = [
        (Verdict::Improved, Outcome::Improved),
        (Verdict::Neutral, Outcome::Neutral),
        (worse("restarts"), Outcome::DelayedNegative),
        (few, Outcome::Inconclusive),
    ];
    for (verdict, outcome) in cases {
        assert_eq!(verdict.outcome(), outcome);
    }
}

#[test]
fn waiting_ones_are_never_forgotten_for_want_of_room() {
    let mut all = Retrospectives::default();
    for n in 0..1000 {
        assert_eq!(all.add(due(n, at(n))), Added::New);
    }
    assert_eq!(all.add(due(1000, at(1000))), Added::Full);
    assert!(all.settle(&episode(7), Verdict::Neutral));
    assert_eq!(all.add(due(1000, at(1000))), Added::New, "a judged one made room");
    assert_eq!(all.pending().count(), 1000);
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64),
    /// The hourly look: judge what is due, and record the verdict if it was the first.
    Look,
    /// A look that dies after settling in memory, before anything was stored.
    LookAndCrash,
    Restart,
    Wait(u64),
    WallJump(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0u64..4).prop_map(Step::Add),
        Just(Step::Look),
        Just(Step::Look),
        Just(Step::LookAndCrash),
        Just(Step::Restart),
        (0u64..30).prop_map(Step::Wait),
        (-48i64..48).prop_map(Step::WallJump),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    // shows: STW-368
    #[test]
    fn each_fires_once_under_any_repeats_restarts_and_clocks(steps in steps()) {
        let mut all = Retrospectives::default();
        let mut now = at(100 * DAY);
        let mut fired = std::collections::BTreeMap::<EpisodeId, u32>::new();
        let mut added = std::collections::BTreeSet::new();
        for step in steps.into_iter().chain([Step::Wait(24), Step::Look]) {
            match step {
                Step::Add(number) => {
                    let first = added.insert(episode(number));
                    prop_assert_eq!(all.add(due(number, now)) == Added::New, first);
                }
                Step::Look => {
                    for episode in all.due(now).map(|due| due.episode.clone()).collect::<Vec<_>>() {
                        prop_assert!(all.settle(&episode, Verdict::Neutral));
                        prop_assert!(!all.settle(&episode, Verdict::Improved), "the second call says no");
                        prop_assert_eq!(all.verdict(&episode), Some(&Verdict::Neutral));
                        *fired.entry(episode).or_default() += 1;
                    }
                }
                Step::LookAndCrash => {
                    let mut lost = all.clone();
                    for episode in all.due(now).map(|due| due.episode.clone()).collect::<Vec<_>>() {
                        lost.settle(&episode, Verdict::Neutral);
                    }
                }
                Step::Restart => all = restarted(&all),
                Step::Wait(hours) => {
                    now = jumped(Now { steady: Steady(now.steady.0 + hours * HOUR), ..now }, hours as i64);
                }
                Step::WallJump(hours) => now = jumped(now, hours),
            }
        }
        let expected: std::collections::BTreeMap<_, _> = added.into_iter().map(|episode| (episode, 1)).collect();
        prop_assert_eq!(fired, expected);
    }
}
