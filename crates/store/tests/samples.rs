//! Samples: stored, ranged over, swept; and the file as the first release wrote it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_store::{Error, METRICS, SERIES_MAX, Sample, Samples, Series, backup};
use holdfast_testkit::house::NOON;
use holdfast_types::Timestamp;
use shared::{assert_sound, clock, go_on, version_of};

fn at(second: u64) -> Timestamp {
    NOON.parse::<Timestamp>().unwrap().plus(Duration::from_secs(second))
}

fn open(path: &Path) -> Samples {
    Samples::open(path, &clock()).unwrap().0
}

fn load(host: &str) -> Series {
    Series::new("load", &[("host", host), ("core", "0")]).unwrap()
}

fn values(samples: &Samples, series: &Series, from: u64, to: u64) -> Vec<f64> {
    samples.range(series, at(from)..at(to)).unwrap().iter().map(|s| s.value).collect()
}

#[test]
fn samples_come_back_in_order_and_the_last_of_one_moment_counts() {
    let dir = tempfile::tempdir().unwrap();
    let samples = open(&dir.path().join("metrics.db"));
    let sample = |second, value| (load("a"), Sample { at: at(second), value });
    let batch = [sample(2, 0.2), sample(1, 0.1), sample(3, f64::INFINITY), sample(1, 1.5)];
    assert_eq!(samples.append(&batch).unwrap().stored, 4);
    samples.append(&[(load("b"), Sample { at: at(1), value: 9.0 })]).unwrap();
    assert_eq!(values(&samples, &load("a"), 0, 9), [1.5, 0.2, f64::INFINITY]);
    assert_eq!(values(&samples, &load("a"), 2, 3), [0.2], "the end is not part of the span");
    assert_eq!(values(&samples, &load("c"), 0, 9), [0.0; 0]);
    let same = Series::new("load", &[("core", "0"), ("host", "a")]).unwrap();
    assert_eq!(same, load("a"), "the order of labels does not matter");
    assert_eq!(samples.series(Some("load")).unwrap(), [load("a"), load("b")]);
    assert_eq!(load("a").labels()["host"], "a");
}

#[test]
fn what_cannot_be_a_series_or_a_sample_is_refused_whole() {
    let long = "x".repeat(129);
    for (name, labels) in [
        ("", vec![]),
        (long.as_str(), vec![]),
        ("a\nb", vec![]),
        ("a", vec![("k", "v"), ("k", "w")]),
        ("a", vec![("", "v")]),
        ("a", vec![("k", long.as_str())]),
    ] {
        assert!(matches!(Series::new(name, &labels), Err(Error::BadSample { .. })), "{name} {labels:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let samples = open(&dir.path().join("metrics.db"));
    let batch = [1.0, f64::NAN].map(|value| (load("a"), Sample { at: at(1), value }));
    assert!(matches!(samples.append(&batch), Err(Error::BadSample { .. })));
    assert_eq!(samples.series(None).unwrap(), []);
}

#[test]
fn series_are_bounded_and_a_sweep_makes_room_in_bounded_steps() {
    let dir = tempfile::tempdir().unwrap();
    let samples = open(&dir.path().join("metrics.db"));
    let named = |n: usize| Series::new(&format!("s{n}"), &[]).unwrap();
    let batch: Vec<_> =
        (0..SERIES_MAX + 5).map(|n| (named(n), Sample { at: at(n as u64 % 2), value: 1.0 })).collect();
    let appended = samples.append(&batch).unwrap();
    assert_eq!((appended.stored, appended.over_limit), (SERIES_MAX, 5));
    let more: Vec<_> = (0..20_000).map(|n| (named(0), Sample { at: at(100 + n), value: 2.0 })).collect();
    assert_eq!(samples.append(&more).unwrap().stored, 20_000, "those that are known go on");
    let (mut removed, mut steps) = (0, 0);
    loop {
        let step = samples.sweep(at(15_100)).unwrap();
        assert!(step.removed <= 10_000);
        (removed, steps) = (removed + step.removed, steps + 1);
        if !step.more {
            break;
        }
    }
    assert_eq!((removed, steps), (SERIES_MAX + 15_000, 3));
    assert_eq!(samples.series(None).unwrap(), [named(0)], "what has no sample left is gone");
    assert_eq!(values(&samples, &named(0), 0, 30_000).len(), 5000);
    assert_eq!(samples.append(&batch[SERIES_MAX..]).unwrap().over_limit, 0);
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/metrics-v1.db")
}

/// A released version's file is never written again; with `UPDATE=1` this makes one that is not there yet.
#[test]
fn the_metrics_of_the_first_release_open_and_go_on() {
    let dir = tempfile::tempdir().unwrap();
    if !golden().exists() && std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        let samples = open(&dir.path().join("made.db"));
        samples.append(&[1, 2, 3].map(|n| (load("a"), Sample { at: at(n), value: n as f64 / 2.0 }))).unwrap();
        backup(samples.database().path(), &golden(), &mut go_on).unwrap().unwrap();
    }
    assert_eq!(version_of_copy(dir.path()), 1);
    let path = dir.path().join("metrics.db");
    let (samples, opened) = Samples::open(&path, &clock()).unwrap();
    assert_eq!(opened.migrated_from.is_some(), METRICS.version() > 1);
    assert_eq!(values(&samples, &load("a"), 0, 9), [0.5, 1.0, 1.5]);
    samples.append(&[(load("a"), Sample { at: at(4), value: 2.0 })]).unwrap();
    assert_eq!(values(&samples, &load("a"), 0, 9), [0.5, 1.0, 1.5, 2.0]);
    drop(samples);
    assert_sound(&path);
}

fn version_of_copy(dir: &Path) -> u32 {
    let path = dir.join("metrics.db");
    std::fs::copy(golden(), &path).unwrap();
    version_of(&path)
}
