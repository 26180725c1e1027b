//! What a calibration asks for, and what it comes to.

use super::*;
use crate::sample::{Absent, Why};

const PERIOD: Duration = Duration::from_secs(120);
const WEEK: u64 = 7 * 720;

fn wanted() -> Wanted {
    Wanted::usual(&Metric::primary(), PERIOD)
}

fn at(index: u64) -> Steady {
    Steady(index * 120_000)
}

/// In turn 9, 11, 11, 9: mean 10, spread 1, and no resemblance of neighbours.
fn figure(index: u64) -> f64 {
    [9.0, 11.0, 11.0, 9.0][(index % 4) as usize]
}

fn samples(count: u64) -> Vec<Sample> {
    (0..count).map(|index| Sample::known(at(index), figure(index))).collect()
}

fn calibrate(samples: Vec<Sample>, marked: &Marked) -> Result<Calibration, Refusal> {
    Calibration::from_samples(samples, marked, &wanted())
}

#[test]
fn a_week_gives_mean_spread_and_threshold() {
    let made = calibrate(samples(WEEK), &Marked::default()).unwrap();
    assert_eq!((made.version(), made.mean(), made.k(), made.samples()), (1, 10.0, 0.5, WEEK));
    assert!((made.sigma() - 1.0).abs() < 0.001, "{made:?}");
    // One alarm in 21 600 samples: (e^b − b − 1) · 2 = 43 200 for b = h + 1.166, so b = ln 21 611 = 9.981.
    assert!((made.h() - 8.815).abs() < 0.001, "{made:?}");
}

#[test]
fn less_than_a_week_or_too_little_of_it_is_refused() {
    let with_gap = |missing: u64| {
        let gap = |sample: Sample, index: u64| match (100..100 + missing).contains(&index) {
            true => Sample::absent(sample.at, Absent::NotRead),
            false => sample,
        };
        samples(WEEK).into_iter().zip(0..).map(|(sample, index)| gap(sample, index)).collect::<Vec<_>>()
    };
    let dropped = |missing: u64| {
        let mut kept = samples(WEEK);
        kept.drain(100..100 + missing as usize);
        kept
    };
    for (name, given, refused) in [
        ("nothing", vec![], Some(Refusal::TooShort { seconds: 0 })),
        ("six days", samples(WEEK / 7 * 6), Some(Refusal::TooShort { seconds: 6 * 86_400 })),
        ("one sample short", samples(WEEK - 1), Some(Refusal::TooShort { seconds: 7 * 86_400 - 120 })),
        ("a fifth absent", with_gap(WEEK / 5), None),
        (
            "more than a fifth absent",
            with_gap(WEEK / 5 + 1),
            Some(Refusal::TooManyMissing { present: WEEK - WEEK / 5 - 1, expected: WEEK }),
        ),
        ("a fifth never taken", dropped(WEEK / 5), None),
        (
            "more than a fifth never taken",
            dropped(WEEK / 5 + 1),
            Some(Refusal::TooManyMissing { present: WEEK - WEEK / 5 - 1, expected: WEEK }),
        ),
    ] {
        assert_eq!(calibrate(given, &Marked::default()).err(), refused, "{name}");
    }
}

#[test]
fn marked_intervals_do_not_count() {
    let mut disturbed = samples(WEEK);
    for sample in &mut disturbed[1_000..1_100] {
        *sample = Sample::known(sample.at, 95.0);
    }
    let mut marked = Marked::default();
    marked.add(at(1_000), at(1_099), Why::Trial);
    let (clean, without) =
        (calibrate(samples(WEEK), &marked).unwrap(), calibrate(disturbed, &marked).unwrap());
    assert_eq!(without, clean);
    marked.add(at(2_000), at(4_000), Why::Outage);
    assert!(matches!(calibrate(samples(WEEK), &marked), Err(Refusal::TooManyMissing { .. })));
}

// shows: STW-383
#[test]
fn a_figure_that_never_moved_has_the_floor_for_its_spread() {
    for (level, sigma) in [(0.0, 0.25), (10.0, 0.25), (80.0, 0.8)] {
        let flat = (0..WEEK).map(|index| Sample::known(at(index), level)).collect();
        assert_eq!(calibrate(flat, &Marked::default()).unwrap().sigma(), sigma, "{level}");
    }
}

#[test]
fn what_cannot_be_wanted_is_refused() {
    let usual = wanted();
    for (name, bad) in [
        ("no period", Wanted { period: Duration::ZERO, ..usual }),
        ("no shift", Wanted { shift: 0.0, ..usual }),
        ("no number", Wanted { shift: f64::NAN, ..usual }),
        ("no floor", Wanted { sigma_floor: 0.0, ..usual }),
        ("alarms all the time", Wanted { false_alarm_every: PERIOD, ..usual }),
    ] {
        let made = Calibration::from_samples(samples(WEEK), &Marked::default(), &bad);
        assert_eq!(made, Err(Refusal::Wanted), "{name}");
    }
}

#[test]
fn a_rarer_alarm_takes_a_higher_threshold() {
    let h = |days: u64| threshold(0.5, days as f64 * 2_880.0, 0.0);
    assert!(h(1) < h(30) && h(30) < h(365));
    for resemblance in [0.0, 0.3, 0.6] {
        let found = threshold(0.5, 86_400.0, resemblance);
        assert!((run_length(0.5, found, resemblance) / 86_400.0 - 1.0).abs() < 1e-6);
    }
    // Where a lower one would do, one spike must still be none.
    assert!(threshold(0.5, 10.0, 0.8) >= THRESHOLD_MIN);
}

#[test]
fn a_new_mean_after_a_commit_needs_two_hours_of_samples() {
    let old = calibrate(samples(WEEK), &Marked::default()).unwrap();
    let since = |count| Summary::new(30.0, 1.0, count).unwrap();
    assert_eq!(old.rebased(&since(239)), Err(Refusal::TooFew { present: 239 }));
    let new = old.rebased(&since(400)).unwrap();
    assert_eq!((new.version(), new.mean(), new.sigma(), new.h()), (2, 30.0, old.sigma(), old.h()));
    assert_eq!(new.k(), 0.5 + 0.05);
    assert_eq!(new.rebased(&since(10_000)).unwrap().k(), 0.5 + 0.01);
}

#[test]
fn a_new_calibration_replaces_the_old_and_tells_both() {
    let mut parameters = Parameters::default();
    let made = calibrate(samples(WEEK), &Marked::default()).unwrap();
    let first = parameters.replace(Metric::primary(), made);
    assert_eq!((first.old, first.new.version()), (None, 1));
    let second = parameters.replace(Metric::primary(), made);
    assert_eq!((second.old, second.new.version()), (Some(first.new), 2));
    assert_eq!(parameters.get(&Metric::primary()), Some(&second.new));
}

#[test]
fn the_parameters_are_written_as_one_file_and_a_damaged_one_is_refused() {
    let mut parameters = Parameters::default();
    parameters.replace(Metric::primary(), calibrate(samples(WEEK), &Marked::default()).unwrap());
    let json = serde_json::to_string_pretty(&parameters).unwrap();
    assert_eq!(serde_json::from_str::<Parameters>(&json).unwrap(), parameters);
    insta::assert_snapshot!(json, @r#"
    {
      "format": 1,
      "calibrations": {
        "psi_mem_some_avg60": {
          "version": 1,
          "mean": 10.0,
          "sigma": 1.0000992211144972,
          "k": 0.5,
          "h": 8.814956842123708,
          "shift": 1.0,
          "samples": 5040,
          "resemblance": 0.0
        }
      }
    }
    "#);
    for (from, to) in [
        ("\"format\": 1", "\"format\": 2"),
        ("\"mean\"", "\"meant\""),
        ("\"k\": 0.5", "\"k\": 0.0"),
        ("\"k\": 0.5", "\"k\": -0.5"),
        ("\"version\": 1", "\"version\": 0"),
        ("psi_mem_some_avg60", "psi_mem_some"),
    ] {
        assert!(json.contains(from), "{from}");
        assert!(serde_json::from_str::<Parameters>(&json.replace(from, to)).is_err(), "{to}");
    }
}
