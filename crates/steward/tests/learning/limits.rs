//! What holds the steward back: trials a day, the breaker, failing plans.

use std::time::Duration;

use holdfast_steward::limits::*;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::time::Steady;
use proptest::prelude::*;

use super::*;

// shows: STW-027
#[test]
fn the_fourth_trial_waits_until_the_first_is_a_day_old() {
    let (limits, mut trials) = (Limits::default(), Trials::default());
    for (number, hour) in [(1, 0), (2, 1), (3, 20)] {
        assert_eq!(trials.start(&episode(number), &limits, Steady(hour * HOUR)), Ok(()));
    }
    let refused = trials.start(&episode(4), &limits, Steady(DAY - 1)).unwrap_err();
    assert_eq!(refused, LimitReached { started: 3, limit: 3, until: Steady(DAY) });
    assert_eq!(
        refused.to_string(),
        "3 trials were started within 24 hours and 3 are allowed: the next may start at 24:00:00"
    );
    assert_eq!(
        trials.start(&episode(2), &limits, Steady(DAY - 1)),
        Ok(()),
        "a repeated start is the same start"
    );
    assert_eq!(trials.start(&episode(4), &limits, Steady(DAY)), Ok(()));
    assert_eq!(trials.may_start(&limits, Steady(DAY)).unwrap_err().until, Steady(DAY + HOUR));
}

#[test]
fn a_lowered_limit_counts_at_once_and_none_means_never() {
    let mut trials = Trials::default();
    for number in 0..3 {
        trials.start(&episode(number), &Limits::default(), Steady(number * HOUR)).unwrap();
    }
    let limited = |trials_per_day| Limits { trials_per_day, ..Limits::default() };
    assert_eq!(trials.may_start(&limited(1), Steady(3 * HOUR)).unwrap_err().until, Steady(DAY + 2 * HOUR));
    assert_eq!(trials.may_start(&limited(0), Steady(9 * DAY)).unwrap_err().until, Steady(u64::MAX));
}

proptest! {
    /// The wall clock jumps, the controller restarts, starts are repeated: no 24 hours hold more than the limit.
    // shows: STW-368
    #[test]
    fn no_day_holds_more_trials_than_allowed(
        limit in 0u32..5,
        steps in prop::collection::vec((0u64..10 * HOUR, -72i64..72, any::<bool>(), 0u64..3), 1..80),
    ) {
        let limits = Limits { trials_per_day: limit, ..Limits::default() };
        let (mut trials, mut now, mut wall) = (Trials::default(), Steady(0), 0i64);
        let mut started: Vec<(u64, Steady)> = Vec::new();
        for (number, (pause, jump, restart, repeats)) in steps.into_iter().enumerate() {
            now = now.plus(Duration::from_millis(pause));
            wall += jump;
            if restart {
                trials = restarted(&trials);
            }
            let number = number as u64;
            if trials.start(&episode(number), &limits, now).is_ok() {
                started.push((number, now));
                for _ in 0..repeats {
                    prop_assert_eq!(trials.start(&episode(number), &limits, now), Ok(()));
                }
            }
        }
        for (_, from) in &started {
            let within = started.iter().filter(|(_, at)| at >= from && at.since(*from) < Duration::from_secs(86400));
            prop_assert!(within.count() <= limit as usize, "the wall was off by {} h", wall);
        }
    }
}

fn ended(number: u64, outcome: Outcome) -> Event {
    Event::Ended { episode: episode(number), outcome, at: Steady(number) }
}

fn breaker(events: &[Event]) -> Breaker {
    let limits = Limits::default();
    events.iter().fold(Breaker::default(), |breaker, event| breaker.step(event, &limits))
}

// shows: STW-028
#[test]
fn three_rollbacks_in_a_row_open_the_breaker_and_a_person_closes_it() {
    let rolled = |n| ended(n, Outcome::RolledBack);
    let cases = [
        ("two", vec![rolled(1), rolled(2)], false),
        ("three", vec![rolled(1), rolled(2), rolled(3)], true),
        ("one told three times", vec![rolled(1), rolled(1), rolled(1)], false),
        ("a kept one ends the row", vec![rolled(1), rolled(2), ended(3, Outcome::Kept), rolled(4)], false),
        ("open stays open", vec![rolled(1), rolled(2), rolled(3), ended(4, Outcome::Kept)], true),
        ("a person resets", vec![rolled(1), rolled(2), rolled(3), Event::Reset], false),
        (
            "and counting begins anew",
            vec![rolled(1), rolled(2), rolled(3), Event::Reset, rolled(4), rolled(5)],
            false,
        ),
        (
            "a reset also clears a row that is not full",
            vec![rolled(1), rolled(2), Event::Reset, rolled(3)],
            false,
        ),
    ];
    for (case, events, open) in cases {
        assert_eq!(breaker(&events).is_open(), open, "{case}");
    }
    let open = breaker(&[rolled(1), rolled(2), rolled(3)]);
    let rolled_back = vec![episode(1), episode(2), episode(3)];
    assert_eq!(open, Breaker::Open { rolled_back, since: Steady(3) }, "it says what opened it");
}

#[test]
fn only_what_was_tried_and_rolled_back_counts_and_only_what_was_kept_ends_the_row() {
    for outcome in Outcome::ALL {
        let thrice: Vec<_> = (1..=3).map(|n| ended(n, outcome)).collect();
        assert_eq!(breaker(&thrice).is_open(), outcome == Outcome::RolledBack, "{outcome} alone");
        let between: Vec<_> =
            [ended(1, Outcome::RolledBack), ended(2, Outcome::RolledBack), ended(3, outcome)]
                .into_iter()
                .chain([ended(4, Outcome::RolledBack)])
                .collect();
        assert_eq!(breaker(&between).is_open(), outcome != Outcome::Kept, "{outcome} in between");
    }
}

fn plans(ends: impl IntoIterator<Item = PlanEnd>) -> Planning {
    ends.into_iter().fold(Planning::default(), |p, end| p.step(end, &Limits::default(), Steady(HOUR)))
}

#[test]
fn ten_failing_plans_in_a_row_pause_planning_for_a_day() {
    let failing = |count| std::iter::repeat_n(PlanEnd::Invalid, count);
    assert_eq!(plans(failing(9)), Planning::Open { failed_in_a_row: 9 });
    assert_eq!(plans(failing(10)), Planning::Paused { until: Steady(HOUR + DAY) });
    assert_eq!(plans(failing(9).chain([PlanEnd::Valid])), Planning::Open { failed_in_a_row: 0 });

    let paused = plans(failing(10));
    assert_eq!(paused.paused_until(Steady(DAY)), Some(Steady(HOUR + DAY)));
    assert_eq!(paused.paused_until(Steady(HOUR + DAY)), None);
    let after = paused.step(PlanEnd::Invalid, &Limits::default(), Steady(HOUR + DAY));
    assert_eq!(after, Planning::Open { failed_in_a_row: 1 }, "after the pause a row begins anew");
}

#[test]
fn a_credential_or_an_allowance_is_nobodys_failing_plan() {
    assert_eq!(plans(std::iter::repeat_n(PlanEnd::Network, 50)), Planning::default());
    let nine = std::iter::repeat_n(PlanEnd::Invalid, 9);
    let mixed = plans(nine.chain([PlanEnd::Network]));
    assert_eq!(mixed, Planning::Open { failed_in_a_row: 9 }, "it neither counts nor clears");
    let ten: Vec<_> = (0..10).map(|n| ended(n, Outcome::Failed)).collect();
    assert_eq!(breaker(&ten), Breaker::default(), "and the breaker does not hear of it");
}
