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
