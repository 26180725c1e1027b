//! Hand-computed series, spikes and steps, gaps, restarts.

use super::*;
use crate::sample::{Absent, Summary};
use proptest::prelude::*;

/// Mean 10, spread 2, allowance 0.5, threshold 4: a figure of 10 + 2z lies z spreads out.
fn calibration(version: u32) -> Calibration {
    let json = format!(
        r#"{{"version":{version},"mean":10.0,"sigma":2.0,"k":0.5,"h":4.0,"shift":1.0,"samples":20160,"resemblance":0.0}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn minutes(count: usize) -> Steady {
    Steady(count as u64 * 60_000)
}

fn sample(minute: usize, spreads: f64) -> Sample {
    Sample::known(minutes(minute), 10.0 + 2.0 * spreads)
}

/// Feeds deviations, one a minute from minute 1 on, and returns the minute of the first shift with the shift.
fn first_shift(spreads: &[f64]) -> Option<(usize, Shift)> {
    let mut detector = Detector::new();
    let mut steps = spreads.iter().enumerate();
    steps.find_map(|(index, z)| Some((index + 1, detector.step(&calibration(1), sample(index + 1, *z))?)))
}

// shows: STW-076
#[test]
fn the_sums_are_those_computed_by_hand() {
    let mut detector = Detector::new();
    for (index, (z, up, down)) in [
        (0.0, 0.0, 0.0),
        (1.5, 1.0, 0.0),
        (0.5, 1.0, 0.0),
        (-1.0, 0.0, 0.5),
        (-2.5, 0.0, 2.5),
        (0.25, 0.0, 1.75),
        (3.0, 2.5, 0.0),
        (2.0, 4.0, 0.0),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(detector.step(&calibration(1), sample(index + 1, z)), None, "sample {index}");
        assert_eq!(detector.scores(), (up, down), "sample {index}");
    }
    // At the threshold it is silent, beyond it fires: 4 + 0.75 − 0.5 = 4.25 in three samples since minute 7.
    let shift = detector.step(&calibration(1), sample(9, 0.75)).unwrap();
    let mean_now = 10.0 + 2.0 * (4.25 / 3.0 + 0.5);
    let expected =
        Shift { direction: Direction::Up, at: minutes(9), began: minutes(7), score: 4.25, mean_now };
    assert_eq!(shift, expected);
    assert!((shift.mean_now - (16.0 + 14.0 + 11.5) / 3.0).abs() < 1e-9);
    assert_eq!(detector.scores(), (0.0, 0.0));
}

// shows: STW-385
#[test]
fn a_large_step_may_fire_at_once_and_a_single_small_spike_never_does() {
    // What fires first, and when: a spike within h + k never, one beyond at once, a lasting small shift in time.
    for (name, spreads, fires_at) in [
        ("a spike of exactly h + k", vec![0.0, 4.5, 0.0, 0.0], None),
        ("a spike beyond h + k", vec![0.0, 4.51], Some(2)),
        ("a spike downwards beyond h + k", vec![0.0, -4.51], Some(2)),
        ("spikes with calm between them", [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(50), None),
        ("a lasting shift of one spread", vec![1.0; 9], Some(9)),
        ("the same, one sample before", vec![1.0; 8], None),
        ("a lasting shift of two spreads", vec![2.0; 3], Some(3)),
        ("a lasting shift downwards", vec![-2.0; 3], Some(3)),
        ("a shift within the allowance", vec![0.5; 10_000], None),
        ("up and down in turn", [3.0, -3.0].repeat(5_000), None),
    ] {
        assert_eq!(first_shift(&spreads).map(|(at, _)| at), fires_at, "{name}");
    }
    assert_eq!(first_shift(&[-2.0; 3]).map(|(_, shift)| shift.direction), Some(Direction::Down));
}

// shows: STW-077
#[test]
fn a_lasting_shift_is_a_trigger_and_a_spike_is_none() {
    use crate::sample::Metric;
    use crate::trigger::{Cause, Gate, Offered, Queue};
    let offered = |spreads: &[f64]| {
        let mut queue = Queue::new(minutes(0));
        let (_, shift) = first_shift(spreads)?;
        let cause = Cause::RegimeChange { metric: Metric::primary(), direction: shift.direction };
        assert_eq!(serde_json::to_value(&cause).unwrap()["regime_change"]["direction"], "up");
        Some(queue.offer(shift.at, cause, &Gate::default()))
    };
    assert_eq!(offered(&[0.0, 4.5, 0.0, 0.0, 0.0]), None, "a spike within threshold and allowance");
    assert_eq!(offered(&[&[0.0; 20][..], &[1.5; 20]].concat()), Some(Offered::Accepted), "a step that stays");
}

// shows: STW-383
#[test]
fn gaps_and_samples_that_are_not_new_change_nothing() {
    let calibration = calibration(1);
    let mut detector = Detector::new();
    detector.step(&calibration, sample(5, 3.0));
    let before = detector;
    for passed_over in [
        Sample::absent(minutes(6), Absent::NotRead),
        Sample::known(minutes(7), f64::NAN),
        sample(5, 9.0),
        sample(4, 9.0),
    ] {
        assert_eq!(detector.step(&calibration, passed_over), None);
        assert_eq!(detector, before, "{passed_over:?}");
    }
    assert_eq!(detector.step(&calibration, sample(500, 3.0)).map(|shift| shift.began), Some(minutes(5)));
}

// shows: STW-383
#[test]
fn after_firing_it_holds_off_for_half_an_hour_and_begins_anew() {
    let calibration = calibration(1);
    let mut detector = Detector::new();
    let fired: Vec<usize> =
        (1..=100).filter(|minute| detector.step(&calibration, sample(*minute, 5.0)).is_some()).collect();
    assert_eq!(fired, [1, 31, 61, 91]);
}

#[test]
fn after_a_commit_it_is_silent_until_the_new_mean_is_known() {
    let old = calibration(1);
    let mut detector = Detector::new();
    detector.rebase(&old);
    for minute in 1..=240 {
        assert_eq!(detector.step(&old, sample(minute, 6.0)), None);
    }
    assert!(detector.awaits_calibration());
    let since = Summary::new(22.0, 2.0, 240).unwrap();
    let new = old.rebased(&since).unwrap();
    for minute in 241..=1_000 {
        assert_eq!(detector.step(&new, sample(minute, 6.0)), None);
    }
    assert!(!detector.awaits_calibration());
    let back = (1_001..1_010).find_map(|minute| detector.step(&new, sample(minute, 0.0)));
    assert_eq!(back.map(|shift| shift.direction), Some(Direction::Down));
}

#[test]
fn sums_of_another_calibration_are_dropped() {
    let mut detector = Detector::new();
    detector.step(&calibration(1), sample(1, 4.0));
    assert_eq!(detector.step(&calibration(2), sample(2, 3.0)), None);
    assert_eq!(detector.scores(), (2.5, 0.0));
}

#[test]
fn a_detector_is_small() {
    assert!(size_of::<Detector>() <= 128, "{}", size_of::<Detector>());
}

fn stored(detector: Detector) -> Detector {
    serde_json::from_str(&serde_json::to_string(&detector).unwrap()).unwrap()
}

proptest! {
    // shows: STW-076
    #[test]
    fn the_sums_are_never_negative_and_always_finite(
        values in prop::collection::vec(any::<f64>(), 0..200),
    ) {
        let mut detector = Detector::new();
        for (index, value) in values.into_iter().enumerate() {
            detector.step(&calibration(1), Sample::known(minutes(index + 1), value));
            let (up, down) = detector.scores();
            prop_assert!(up >= 0.0 && down >= 0.0 && up.is_finite() && down.is_finite());
        }
    }

    // shows: STW-383
    #[test]
    fn a_restart_at_any_point_changes_no_firing(
        spreads in prop::collection::vec(-3.0..4.0f64, 1..150),
        restarts in prop::collection::vec(any::<bool>(), 150),
    ) {
        let (mut steady, mut restarted) = (Detector::new(), Detector::new());
        for (index, z) in spreads.iter().enumerate() {
            if restarts[index] {
                restarted = stored(restarted);
            }
            let next = sample(index + 1, *z);
            prop_assert_eq!(steady.step(&calibration(1), next), restarted.step(&calibration(1), next));
        }
        prop_assert_eq!(steady, restarted);
    }

    #[test]
    fn one_sample_within_threshold_and_allowance_never_fires(z in -4.5..=4.5f64, calm in 0usize..20) {
        let mut spreads = vec![0.0; calm];
        spreads.push(z);
        spreads.extend([0.0; 20]);
        prop_assert_eq!(first_shift(&spreads), None);
    }

    // shows: STW-383
    #[test]
    fn a_mirrored_series_fires_mirrored(spreads in prop::collection::vec(-3.0..4.0f64, 1..150)) {
        let mirrored: Vec<f64> = spreads.iter().map(|z| -z).collect();
        let (one, other) = (first_shift(&spreads), first_shift(&mirrored));
        prop_assert_eq!(one.map(|(at, _)| at), other.map(|(at, _)| at));
        prop_assert!(one.zip(other).is_none_or(|((_, a), (_, b))| a.direction != b.direction));
    }
}
