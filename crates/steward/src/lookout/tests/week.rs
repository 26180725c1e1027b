//! A metric that is busy on working days and quiet at weekends.

use super::*;

const WEEK_SAMPLES: u64 = 7 * DAY_SAMPLES;
const HOUR_SAMPLES: u64 = DAY_SAMPLES / 24;
const SUNDAY: u64 = 6;

/// Eight spreads higher from nine to five, on five days of seven; the first day is a Monday.
fn working_week(day: u64, of_day: u64) -> f64 {
    let busy = (9 * HOUR_SAMPLES..17 * HOUR_SAMPLES).contains(&of_day) && day % 7 < 5;
    20.0 + if busy { 8.0 } else { 0.0 }
}

/// What is found in the fifth week when each of its days looks like the day that `like` says.
fn fifth_week(seed: u64, like: impl Fn(u64) -> u64) -> Vec<Finding> {
    let mut noise = noise(seed, 0.3);
    let all = findings(5 * WEEK_SAMPLES, |index| {
        let (day, of_day) = (index / DAY_SAMPLES, index % DAY_SAMPLES);
        let looks = if index < 4 * WEEK_SAMPLES { day } else { like(day % 7) };
        Some(working_week(looks, of_day) + noise())
    });
    all.into_iter().filter(|finding| finding.at >= at(4 * WEEK_SAMPLES)).collect()
}

#[test]
fn a_week_like_other_weeks_is_left_alone() {
    for seed in 0..4 {
        let found = fifth_week(seed, |day| day);
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_sunday_that_looks_like_a_monday_is_found_on_that_morning() {
    for seed in 0..4 {
        let found = fifth_week(seed, |day| if day == SUNDAY { 0 } else { day });
        let opens = 4 * WEEK_SAMPLES + SUNDAY * DAY_SAMPLES + 9 * HOUR_SAMPLES;
        let first = found.first().unwrap_or_else(|| panic!("seed {seed}: nothing is found"));
        assert_eq!((first.kind, first.direction), (Kind::Shift, Some(Direction::Up)), "seed {seed}");
        assert!(first.at >= at(opens) && first.at < at(opens + 6), "seed {seed}: {first:?}");
    }
}
