//! Findings that come together are one story, and what lasts is offered again.

use holdfast_config::Trouble;

use std::time::Duration;

use holdfast_steward::trigger::COOL_DOWN;

use super::super::model::{Model, Which, quiet_week, workload};
use super::*;

const HOUR: u64 = 3_600_000;
/// Twice a day in the end.
const RESTS_MAX: Duration = Duration::from_secs(12 * 3600);
/// The trouble begins after half a day.
const ONSET: u64 = 12 * HOUR;

/// Everything that was offered until then, with its sentence.
fn offered(trouble: Trouble, seed: u32, until: u64) -> Vec<(Steady, Metric, String)> {
    let which = Which { seed, trouble };
    let (model, _) = Model::built_up(which, &[], Steady(0));
    let mut watch = Watch::new(&[workload()], &quiet_week(seed, Steady(0)));
    let every = COLLECT_EVERY.as_millis() as u64;
    let mut all = Vec::new();
    for at in (0..until).step_by(every as usize).map(Steady) {
        model.advance(at);
        if let Some((metric, _)) = watch.step(at, &model.sight().machine) {
            let told = watch.noticed("box-1", |at| format!("{} s", at.0 / 1000)).unwrap();
            all.push((at, metric, told.sentence));
        }
    }
    all
}

#[test]
fn want_of_memory_is_one_trigger_that_names_every_metric_it_shows_in() {
    for seed in 0..6 {
        let all = offered(Trouble::Memory, seed, ONSET + 25 * 60_000);
        let [(at, _, sentence)] = all.as_slice() else { panic!("{seed}: {all:?}") };
        assert!(at.0 >= ONSET && at.0 < ONSET + 20 * 60_000, "{seed}: {at}");
        for what in ["On box-1", "memory pressure", "latency of task-runner.service", "memory of task-runner"]
        {
            assert!(sentence.contains(what), "{seed}: {sentence}");
        }
        assert_eq!(sentence.matches('.').count(), 1 + sentence.matches(".service").count(), "{sentence}");
    }
}

#[test]
fn what_lasts_is_offered_again_after_a_while_and_no_sooner() {
    let all = offered(Trouble::Memory, 3, ONSET + 48 * HOUR);
    assert!((6..10).contains(&all.len()), "{all:?}");
    let mut rests = COOL_DOWN;
    for pair in all.windows(2) {
        assert!(pair[1].0.since(pair[0].0) >= rests, "{all:?}");
        assert_eq!(pair[0].1, pair[1].1, "the same cause, so that a queue knows it");
        rests = (rests * 2).min(RESTS_MAX);
    }
}

#[test]
fn what_moves_about_out_there_is_no_other_story() {
    for seed in 0..6 {
        let all = offered(Trouble::Memory, seed, ONSET + 24 * HOUR);
        let first = all.first().unwrap();
        for (at, metric, sentence) in &all {
            assert_eq!((metric, sentence), (&first.1, &first.2), "{seed}: at {at}");
        }
    }
}

#[test]
fn a_quiet_host_is_not_looked_into() {
    for seed in 0..4 {
        assert_eq!(offered(Trouble::Nothing, seed, 5 * 24 * HOUR), [], "{seed}");
    }
}

#[test]
fn a_single_finding_says_by_how_much() {
    let all = offered(Trouble::Neighbour, 1, ONSET + HOUR);
    let (_, metric, sentence) = all.first().unwrap();
    assert_eq!(*metric, Metric::primary());
    assert!(sentence.starts_with("Memory pressure on box-1 rose from 0 % to"), "{sentence}");
}

// shows: STW-384
#[test]
fn after_a_commit_a_new_mean_is_taken_without_what_was_our_own_doing() {
    use holdfast_steward::sample::Why;
    let old = *holdfast_steward_host::CALIBRATION;
    let every = COLLECT_EVERY.as_millis() as u64;
    let at = |n: u64| Steady(n * every);
    let (level, trial) = (old.mean() + 5.0, 60..=90);
    let samples: Vec<(Steady, f64)> =
        (1..=300).map(|n| (at(n), if trial.contains(&n) { 90.0 } else { level })).collect();
    let after = |marked: &Marked| {
        let mut plain = Plain { detector: Detector::new(), calibration: Ok(old), outdated: None };
        plain.rebase(at(0));
        for n in 1..=samples.len() {
            plain.step(samples[n - 1].0, samples[n - 1].1, &samples[..n], marked);
        }
        plain.calibration.unwrap()
    };
    let mut marked = Marked::default();
    marked.add(at(*trial.start()), at(*trial.end()), Why::Trial);
    let new = after(&marked);
    assert_eq!(new.version(), old.version() + 1, "which one it is can be told");
    assert!((new.mean() - level).abs() < 1e-9, "{} and not {level}", new.mean());
    assert!(after(&Marked::default()).mean() > level + 1.0, "else nothing was shown");
}
