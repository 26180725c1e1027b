//! What a lookout promises, on made series at 30 seconds.

mod step;
mod week;

use proptest::prelude::*;

use super::pace::DAY;
use super::*;
use crate::detect::Direction;

const PERIOD: u64 = 30_000;
const DAY_SAMPLES: u64 = DAY / PERIOD;

/// Normal figures from a seed: the sum of twelve even ones (good to about three spreads, which is enough here).
struct Dice(u64);

impl Dice {
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

fn at(index: u64) -> Steady {
    Steady(index * PERIOD)
}

/// All findings of a series.
fn findings(samples: u64, value: impl FnMut(u64) -> Option<f64>) -> Vec<Finding> {
    found_by(&mut Lookout::new(Asked::default()), 0..samples, value)
}

fn found_by(
    watch: &mut Lookout,
    samples: std::ops::Range<u64>,
    mut value: impl FnMut(u64) -> Option<f64>,
) -> Vec<Finding> {
    samples.filter_map(|index| watch.step(at(index), value(index)).finding).collect()
}

/// Noise that keeps a share of its last figure, with a spread of one.
fn noise(seed: u64, kept: f64) -> impl FnMut() -> f64 {
    let (mut dice, mut last) = (Dice(seed), 0.0);
    move || {
        last = kept * last + (1.0 - kept * kept).sqrt() * dice.normal();
        last
    }
}

const BEFORE: u64 = 7 * DAY_SAMPLES;

/// The findings of noise about 50 to which something is added from [`BEFORE`] on.
fn after(seed: u64, kept: f64, samples: u64, mut changed: impl FnMut(u64, f64) -> f64) -> Vec<Finding> {
    let mut noise = noise(seed, kept);
    let all = findings(BEFORE + samples, |index| {
        let plain = noise();
        Some(50.0 + if index < BEFORE { plain } else { changed(index - BEFORE, plain) })
    });
    all.into_iter().filter(|finding| finding.at >= at(BEFORE)).collect()
}

// shows: STW-385
#[test]
fn a_lasting_shift_is_found_within_three_minutes() {
    // Heights in spreads: pressure from 2 % to 31 %, and a modest one.
    for (height, seed) in
        [29.0, 3.0, -3.0, -29.0].into_iter().flat_map(|height| (0..10).map(move |seed| (height, seed)))
    {
        let found = after(seed, 0.0, 60, |_, plain| plain + height);
        let first = found.first().unwrap_or_else(|| panic!("{height} with seed {seed} is not found"));
        let wanted = if height > 0.0 { Direction::Up } else { Direction::Down };
        assert_eq!((first.kind, first.direction), (Kind::Shift, Some(wanted)), "{height}, seed {seed}");
        assert!(first.at.since(at(BEFORE)) < Duration::from_secs(180), "{height}, seed {seed}: {first:?}");
        assert_eq!(found.len(), 1, "one change is told once");
    }
}

#[test]
fn a_lone_spike_of_any_height_is_never_a_shift() {
    for height in [3.0, 5.0, 10.0, 100.0, 1e4, 1e9, 1e300, -10.0, -1e9] {
        for kept in [-0.6, 0.0, 0.5, 0.9] {
            let found = after(3, kept, 40, |index, plain| if index == 0 { plain + height } else { plain });
            assert!(found.iter().all(|finding| finding.kind == Kind::Spike), "{height}, {kept}: {found:?}");
            assert!(found.len() <= 1, "{height}, {kept}");
        }
    }
}

#[test]
fn a_high_spike_is_told_as_one() {
    let found = after(3, 0.0, 40, |index, plain| if index == 7 { 60.0 } else { plain });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].direction), (Kind::Spike, Some(Direction::Up)));
    assert_eq!(found[0].began, at(BEFORE + 7));
    assert!((found[0].now - 110.0).abs() < 1e-9);
}

fn kinds(found: &[Finding]) -> Vec<(Kind, Option<Direction>)> {
    found.iter().map(|finding| (finding.kind, finding.direction)).collect()
}

/// In how many of ten runs the change is told as this, before anything else. What goes on may first be told as a shift.
fn told_as(wanted: (Kind, Direction), changed: &dyn Fn(u64, f64) -> f64) -> usize {
    let right = |seed: &u64| {
        let found = after(*seed, 0.0, 400, changed);
        let mut told =
            kinds(&found).into_iter().filter(|told| wanted.0 != Kind::Drift || told.0 != Kind::Shift);
        told.next() == Some((wanted.0, Some(wanted.1)))
    };
    (0..10).filter(right).count()
}

#[test]
fn changes_are_told_apart() {
    let check = |name: &str, wanted: (Kind, Direction), changed: &dyn Fn(u64, f64) -> f64| {
        let right = told_as(wanted, changed);
        // A few wide samples in a row on one side cannot be told from a shift.
        let least = if wanted == (Kind::Spread, Direction::Up) { 7 } else { 9 };
        assert!(right >= least, "{name}: {right} of 10");
    };
    check("step up", (Kind::Shift, Direction::Up), &|_, plain| plain + 4.0);
    check("step down", (Kind::Shift, Direction::Down), &|_, plain| plain - 4.0);
    check("leak", (Kind::Drift, Direction::Up), &|index, plain| plain + index as f64 * 0.02);
    check("slow fall", (Kind::Drift, Direction::Down), &|index, plain| plain - index as f64 * 0.02);
    check("scatters more", (Kind::Spread, Direction::Up), &|_, plain| plain * 2.5);
    check("scatters less", (Kind::Spread, Direction::Down), &|_, plain| plain * 0.1);
    check("one spike", (Kind::Spike, Direction::Up), &|index, plain| {
        plain + if index == 9 { 40.0 } else { 0.0 }
    });
}

#[test]
fn the_beginning_is_told_to_within_a_few_samples() {
    let mut off: Vec<u64> = (0..21)
        .map(|seed| {
            let found = after(seed, 0.0, 100, |_, plain| plain + 2.0);
            found[0].began.0.abs_diff(at(BEFORE).0) / PERIOD
        })
        .collect();
    off.sort_unstable();
    assert!(off[10] <= 2, "median {off:?}");
}

#[test]
fn the_level_before_and_now_is_told() {
    let found = after(5, 0.0, 60, |_, plain| plain + 20.0);
    assert!((found[0].before - 50.0).abs() < 0.5 && (found[0].now - 70.0).abs() < 2.0, "{found:?}");
    assert!(found[0].sure > 0.9);
}

#[test]
fn after_a_shift_the_new_level_is_normal() {
    let mut noise = noise(1, 0.0);
    let mut watch = Lookout::new(Asked::default());
    found_by(&mut watch, 0..BEFORE, |_| Some(noise()));
    let found = found_by(&mut watch, BEFORE..BEFORE + 2 * DAY_SAMPLES, |_| Some(30.0 + noise()));
    assert_eq!(kinds(&found), [(Kind::Shift, Some(Direction::Up))]);
    let last = watch.step(at(BEFORE + 2 * DAY_SAMPLES), Some(30.0));
    assert!(last.low > 20.0 && last.high < 40.0 && (last.expected - 30.0).abs() < 0.5, "{last:?}");
}

/// A daily round of height 5 with noise of spread one.
fn daily(index: u64) -> f64 {
    5.0 * (std::f64::consts::TAU * (index % DAY_SAMPLES) as f64 / DAY_SAMPLES as f64).sin()
}

#[test]
fn a_daily_round_is_learned_and_what_is_wrong_for_the_hour_is_found() {
    let mut noise = noise(2, 0.0);
    let mut watch = Lookout::new(Asked::default());
    found_by(&mut watch, 0..14 * DAY_SAMPLES, |index| Some(daily(index) + noise()));
    let quiet = 14 * DAY_SAMPLES..16 * DAY_SAMPLES;
    assert!(found_by(&mut watch, quiet, |index| Some(daily(index) + noise())).is_empty());
    // What is usual in the morning is not in the evening.
    let evening = 16 * DAY_SAMPLES + 18 * DAY_SAMPLES / 24;
    found_by(&mut watch, 16 * DAY_SAMPLES..evening, |index| Some(daily(index) + noise()));
    let found = found_by(&mut watch, evening..evening + 20, |_| Some(5.0 + noise()));
    assert_eq!(kinds(&found), [(Kind::Shift, Some(Direction::Up))]);
}

#[test]
fn a_round_that_changes_is_told_as_such() {
    let mut noise = noise(2, 0.0);
    let found = findings(16 * DAY_SAMPLES, |index| {
        let hour = if index < 14 * DAY_SAMPLES { index } else { index + DAY_SAMPLES / 2 };
        Some(daily(hour) + noise())
    });
    let cycles: Vec<&Finding> = found.iter().filter(|finding| finding.kind == Kind::Cycle).collect();
    assert_eq!(cycles.len(), 1);
    assert!(cycles[0].began.0.abs_diff(14 * DAY) < DAY / 24, "{cycles:?}");
}

#[test]
fn a_gap_is_missing_samples_and_no_shift() {
    for told in [true, false] {
        let mut noise = noise(4, 0.9);
        let mut watch = Lookout::new(Asked::default());
        let mut found = Vec::new();
        for index in 0..BEFORE + 400 {
            let value = noise();
            let gap = (BEFORE..BEFORE + 200).contains(&index);
            if !gap {
                found.extend(watch.step(at(index), Some(value)).finding);
            } else if told {
                found.extend(watch.step(at(index), None).finding);
            }
        }
        found.retain(|finding| finding.at >= at(BEFORE));
        assert_eq!(kinds(&found), [(Kind::Missing, None)], "told: {told}");
        assert_eq!(found[0].began, at(BEFORE));
    }
}

#[test]
fn outliers_do_not_blind_it() {
    let mut dice = Dice(8);
    let found = after(8, 0.0, 60, |index, plain| {
        let outlier = if dice.even() < 0.03 { 200.0 } else { 0.0 };
        plain + outlier + if index >= 20 { 6.0 } else { 0.0 }
    });
    assert!(
        found.iter().any(|finding| finding.kind == Kind::Shift && finding.at < at(BEFORE + 20 + 12)),
        "{found:?}"
    );
}

#[test]
fn still_and_coarse_and_mostly_zero_series_are_left_alone() {
    let mut dice = Dice(9);
    assert!(findings(BEFORE, |_| Some(45.0)).is_empty());
    assert!(findings(BEFORE, |_| Some(0.0)).is_empty());
    assert!(findings(BEFORE, |_| None).is_empty());
    let coarse = findings(BEFORE, |_| Some(dice.normal().round()));
    assert!(coarse.is_empty(), "{coarse:?}");
    let rare = findings(BEFORE, |_| Some(if dice.even() < 0.02 { 5.0 + dice.even() } else { 0.0 }));
    assert!(rare.len() <= 1, "{rare:?}");
}

#[test]
fn after_rebase_the_new_level_is_learned_without_a_finding() {
    let mut noise = noise(6, 0.5);
    let mut watch = Lookout::new(Asked::default());
    found_by(&mut watch, 0..BEFORE, |_| Some(10.0 + noise()));
    watch.rebase();
    let quiet = found_by(&mut watch, BEFORE..BEFORE + DAY_SAMPLES, |_| Some(200.0 + noise()));
    assert!(quiet.is_empty(), "{quiet:?}");
    let from = BEFORE + DAY_SAMPLES;
    let found = found_by(&mut watch, from..from + 20, |_| Some(210.0 + noise()));
    assert_eq!(kinds(&found), [(Kind::Shift, Some(Direction::Up))]);
}

#[test]
fn samples_that_are_not_later_change_nothing() {
    let mut watch = Lookout::new(Asked::default());
    for index in 0..100 {
        watch.step(at(index), Some(index as f64));
    }
    let before = watch.clone();
    watch.step(at(99), Some(1e9));
    watch.step(at(3), Some(1e9));
    assert_eq!(watch, before);
}

#[test]
fn a_lookout_takes_no_more_than_four_kilobytes() {
    // Nothing in it lies on the heap: the serialised form has no list longer than its arrays.
    assert!(size_of::<Lookout>() <= 4096, "{} bytes", size_of::<Lookout>());
}

/// False alarms in two million samples, per one that was asked for.
fn alarms_per_asked(kept: f64, every: Duration) -> f64 {
    let (learning, samples) = (BEFORE, 500_000);
    let mut alarms = 0;
    for seed in 0..4 {
        let mut noise = noise(100 + seed, kept);
        let mut watch = Lookout::new(Asked { false_alarm_every: every, ..Asked::default() });
        found_by(&mut watch, 0..learning, |_| Some(noise()));
        alarms += found_by(&mut watch, learning..learning + samples, |_| Some(noise())).len();
    }
    alarms as f64 / (4.0 * samples as f64 * PERIOD as f64 / 1000.0 / every.as_secs_f64())
}

#[test]
fn false_alarms_are_as_rare_as_asked() {
    for kept in [0.0, 0.5, 0.9] {
        let ratio = alarms_per_asked(kept, Duration::from_secs(86_400));
        assert!((0.8..1.2).contains(&ratio), "{kept}: {ratio}");
    }
}

/// Anything a target might report.
fn hostile() -> impl Strategy<Value = Vec<(u64, Option<f64>)>> {
    let value = prop_oneof![
        4 => (-10.0..10.0).prop_map(Some),
        1 => any::<f64>().prop_map(Some),
        1 => Just(None),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1e308, 1e308, 5e-324, 0.0, -0.0]).prop_map(Some),
    ];
    let step = prop_oneof![8 => Just(PERIOD), 1 => 0..5 * PERIOD, 1 => any::<u64>()];
    prop::collection::vec((step, value), 0..600).prop_map(|steps| {
        let mut now = 0_u64;
        steps
            .into_iter()
            .map(|(step, value)| {
                now = now.wrapping_add(step);
                (now, value)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_in_what_comes_out_is_finite(series in hostile(), floor in any::<f64>(), period in any::<Option<u32>>()) {
        let period = period.map(|period| Duration::from_millis(period.into()));
        let mut watch = Lookout::new(Asked { floor, period, ..Asked::default() });
        for (at, value) in series {
            let judged = watch.step(Steady(at), value);
            prop_assert!((0.0..=1.0).contains(&judged.score));
            prop_assert!(judged.expected.is_finite() && judged.low.is_finite() && judged.high.is_finite());
            prop_assert!(judged.low <= judged.expected && judged.expected <= judged.high);
            if let Some(found) = judged.finding {
                prop_assert!((0.0..=1.0).contains(&found.sure) && found.before.is_finite() && found.now.is_finite());
                prop_assert!(found.began <= found.at);
            }
        }
        prop_assert!(serde_json::to_string(&watch).is_ok());
    }

    #[test]
    fn stored_and_read_back_it_goes_on_as_if_it_had_never_stopped(series in hostile(), cut in 0_usize..600) {
        let mut whole = Lookout::new(Asked { floor: 0.5, ..Asked::default() });
        let mut stored = whole.clone();
        for (index, (at, value)) in series.into_iter().enumerate() {
            if index == cut {
                stored = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
            }
            prop_assert_eq!(whole.step(Steady(at), value), stored.step(Steady(at), value));
        }
        prop_assert_eq!(whole, stored);
    }
}
