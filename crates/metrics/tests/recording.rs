//! One observation at a time: what is stored, what is left out, what is found again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use holdfast_metrics::{
    AnomalyKind, Endpoint, Failed, Freshness, LeftOut, Limits, Metrics, Observation, Outcome, Scope, Sign,
    Stored,
};
use holdfast_store::Error;
use shared::{Kept, TARGET, all, at, clock, count, metric, seen};

fn kept() -> Kept {
    Kept::new(Limits::default())
}

#[test]
fn an_observation_is_found_again_whole_and_by_its_figures() {
    let kept = kept();
    let mut observation = seen(0);
    (observation.generation, observation.running) = (Some(7), Some("abc".to_owned()));
    observation.gauges = vec![(metric("psi_mem_some_avg60"), 2.5), (metric("web.service:memory"), 1048576.0)];
    observation.endpoints =
        vec![Endpoint { name: "https://a/".to_owned(), healthy: true, latency_ms: Some(31) }];
    observation.snapshot =
        serde_json::json!({"inside": {"units": [1, 2.5, null]}, "outside": "ünd\u{1F600}"});
    assert_eq!(kept.metrics.record(&observation).unwrap().stored, Stored::New);
    let (when, snapshot) = kept.metrics.snapshot(TARGET, at(5)).unwrap().unwrap();
    assert_eq!((when, snapshot), (at(0), observation.snapshot));
    let series = kept.metrics.series(TARGET, &metric("psi_mem_some_avg60"), all()).unwrap();
    assert_eq!(series.iter().map(|it| (it.at, it.value)).collect::<Vec<_>>(), [(at(0), 2.5)]);
    assert_eq!(kept.metrics.metrics_of(TARGET).unwrap().len(), 2);
    assert_eq!(kept.metrics.endpoint(TARGET, "https://a/", all()).unwrap()[0].1, observation.endpoints[0]);
    let row = "SELECT count(*) FROM observations WHERE generation = 7 AND running = 'abc' AND boot = 'a' AND failures = 0";
    assert_eq!(kept.number(row), 1);
    assert_eq!(kept.metrics.targets().unwrap(), [TARGET]);
}

#[test]
fn the_same_observation_twice_is_one() {
    let kept = kept();
    let mut observation = seen(0);
    observation.gauges = vec![(metric("load"), 1.0)];
    observation.counters = vec![(metric("web.service:cpu"), count(9))];
    observation.signs =
        vec![Sign { kind: AnomalyKind::Oom, scope: Scope::Host, message: "killed".to_owned() }];
    assert_eq!(kept.metrics.record(&observation).unwrap().stored, Stored::New);
    let before = kept.number("SELECT (SELECT count(*) FROM gauges) + (SELECT count(*) FROM counters) * 100 + (SELECT sum(times) FROM anomalies) * 10000");
    // Also one that says something else about the same moment: what is kept is not rewritten.
    observation.gauges[0].1 = 99.0;
    assert_eq!(kept.metrics.record(&observation).unwrap().stored, Stored::Already);
    let after = kept.number("SELECT (SELECT count(*) FROM gauges) + (SELECT count(*) FROM counters) * 100 + (SELECT sum(times) FROM anomalies) * 10000");
    assert_eq!((before, after), (10_101, 10_101));
    assert_eq!(kept.metrics.series(TARGET, &metric("load"), all()).unwrap()[0].value, 1.0);
}

#[test]
fn figures_that_are_none_are_left_out_and_named() {
    let kept = kept();
    let mut observation = seen(0);
    observation.gauges = vec![
        (metric("load"), f64::NAN),
        (metric("memory_available"), f64::INFINITY),
        (metric("free_space"), f64::NEG_INFINITY),
        (metric("psi_mem_some_avg60"), 1.0),
        (metric("psi_mem_some_avg60"), 2.0),
        (metric("web.service:cpu"), 2.0),
    ];
    observation.counters = vec![
        (metric("web.service:cpu"), count(u64::MAX)),
        (metric("web.service:kills"), count(1)),
        (metric("web.service:memory"), count(1)),
    ];
    let recorded = kept.metrics.record(&observation).unwrap();
    let left_out: Vec<(&str, &str)> =
        recorded.left_out.iter().map(|LeftOut { what, why }| (what.as_str(), *why)).collect();
    assert_eq!(
        left_out,
        [
            ("load", "it is not a number"),
            ("memory_available", "it is not a number"),
            ("free_space", "it is not a number"),
            ("psi_mem_some_avg60", "it was given twice"),
            ("web.service:cpu", "it is a counter"),
            ("web.service:cpu", "it is larger than any counter"),
            ("web.service:memory", "it is no counter"),
        ]
    );
    assert_eq!(kept.number("SELECT count(*) FROM gauges"), 1);
    assert_eq!(kept.number("SELECT count(*) FROM counters"), 1);
}

#[test]
fn odd_names_and_long_texts_are_refused_or_bounded() {
    let kept = kept();
    for bad in ["", "a\nb", "a\u{202e}b", "\0", &"x".repeat(129)] {
        let observation = Observation { target: bad.to_owned(), ..seen(0) };
        assert!(matches!(kept.metrics.record(&observation), Err(Error::BadSample { .. })), "{bad:?}");
    }
    let mut observation = Observation { target: "wéb '1'; --".to_owned(), ..seen(0) };
    observation.snapshot = serde_json::json!("x".repeat(2 << 20));
    let long = "\u{1b}[2J".repeat(9999);
    observation.failed = (0..500).map(|_| Failed { label: long.clone(), why: long.clone() }).collect();
    observation.endpoints = vec![Endpoint { name: long, healthy: false, latency_ms: Some(u64::MAX) }];
    assert_eq!(kept.metrics.record(&observation).unwrap().stored, Stored::New);
    let (count, named) = kept.metrics.failures_of_last(&observation.target).unwrap().unwrap();
    assert_eq!((count, named.len()), (500, 200));
    assert!(named.iter().all(|it| it.why.len() <= 300 && !it.why.contains('\u{1b}')));
    let (_, snapshot) = kept.metrics.snapshot(&observation.target, at(0)).unwrap().unwrap();
    assert_eq!(snapshot, serde_json::json!({ "left_out_bytes": (2 << 20) + 2 }));
}

#[test]
fn there_are_only_so_many_metrics() {
    let kept = Kept::new(Limits { metrics_max: 3, ..Limits::default() });
    let mut observation = seen(0);
    observation.gauges = (0..5).map(|n| (metric(&format!("u{n}.service:memory")), 1.0)).collect();
    let recorded = kept.metrics.record(&observation).unwrap();
    assert_eq!(recorded.left_out.len(), 2);
    assert_eq!(kept.number("SELECT count(*) FROM metrics"), 3);
}

// shows: STW-376
#[test]
fn a_counter_is_kept_with_its_rate_and_a_decrease_begins_a_new_run() {
    let kept = kept();
    let cpu = metric("web.service:cpu");
    // seconds, boot, started, value; then the run and the rate expected.
    let steps = [
        (0, "a", 5, 1_000, 0, None),
        (120, "a", 5, 121_000, 0, Some(1000.0)),
        (240, "a", 5, 1_000, 1, None),
        (360, "a", 5, 13_000, 1, Some(100.0)),
        (480, "a", 6, 99_000, 2, None),
        (600, "b", 6, 199_000, 3, None),
        (720, "b", 6, 199_000, 3, Some(0.0)),
    ];
    for (seconds, boot, since, value, _, _) in steps {
        let mut observation = seen(seconds);
        observation.boot = Some(boot.to_owned());
        observation.counters = vec![(cpu.clone(), holdfast_metrics::Count { value, since: Some(since) })];
        kept.metrics.record(&observation).unwrap();
    }
    let counts = kept.metrics.counts(TARGET, &cpu, all()).unwrap();
    let found: Vec<_> = counts.iter().map(|it| (it.at, it.value, it.run, it.rate)).collect();
    let expected: Vec<_> =
        steps.iter().map(|(seconds, _, _, value, run, rate)| (at(*seconds), *value, *run, *rate)).collect();
    assert_eq!(found, expected);
    assert_eq!(kept.metrics.series(TARGET, &cpu, all()).unwrap().len(), 3, "only rates are drawn");
}

#[test]
fn a_clock_that_goes_back_makes_no_rate_and_no_freshness() {
    let kept = kept();
    let cpu = metric("web.service:cpu");
    let record = |seconds, value| {
        let mut observation = seen(seconds);
        observation.counters = vec![(cpu.clone(), count(value))];
        kept.metrics.record(&observation).unwrap()
    };
    record(0, 0);
    assert!(!record(7200, 10).clock_went_back);
    assert!(record(120, 1_000_000).clock_went_back);
    assert!(!record(240, 1_000_120).clock_went_back);
    let counts = kept.metrics.counts(TARGET, &cpu, all()).unwrap();
    let rates: Vec<_> = counts.iter().map(|it| (it.run, it.rate)).collect();
    assert_eq!(rates, [(0, None), (1, None), (1, Some(1.0)), (0, Some(10.0 / 7200.0))]);
    // The last one counts by when it came, not by what it says.
    assert_eq!(kept.metrics.last_success(TARGET).unwrap(), Some(at(240)));
    assert!(matches!(kept.metrics.staleness(TARGET, at(0)).unwrap(), Freshness::Unknown { .. }));
}

// shows: STW-062
// shows: STW-061
#[test]
fn a_failed_cycle_counts_its_failures_and_does_not_move_the_last_success() {
    let kept = kept();
    assert_eq!(kept.metrics.failures_of_last(TARGET).unwrap(), None);
    assert_eq!(kept.metrics.last_success(TARGET).unwrap(), None);
    kept.metrics.record(&seen(0)).unwrap();
    assert_eq!(kept.metrics.failures_of_last(TARGET).unwrap(), Some((0, Vec::new())), "zero is written too");
    let failed = vec![Failed { label: "units".to_owned(), why: "no bus".to_owned() }];
    let partly = Observation { outcome: Outcome::Partly, failed: failed.clone(), ..seen(120) };
    kept.metrics.record(&partly).unwrap();
    assert_eq!(kept.metrics.failures_of_last(TARGET).unwrap(), Some((1, failed)));
    kept.metrics.record(&Observation::unreached(TARGET, at(240), "no route")).unwrap();
    assert_eq!(kept.metrics.last_success(TARGET).unwrap(), Some(at(0)));
    kept.metrics.record(&seen(360)).unwrap();
    assert_eq!(kept.metrics.failures_of_last(TARGET).unwrap(), Some((0, Vec::new())));
    assert_eq!(kept.metrics.last_success(TARGET).unwrap(), Some(at(360)));
}

// shows: STW-378
#[test]
fn an_observation_without_a_generation_is_kept() {
    let kept = kept();
    kept.metrics.record(&Observation { generation: None, running: None, ..seen(0) }).unwrap();
    let mut trial = seen(120);
    (trial.generation, trial.running) = (Some(3), Some("tried".to_owned()));
    kept.metrics.record(&trial).unwrap();
    assert_eq!(kept.number("SELECT count(*) FROM observations WHERE generation IS NULL"), 1);
    assert_eq!(
        kept.number("SELECT count(*) FROM observations WHERE generation = 3 AND running = 'tried'"),
        1
    );
}

#[test]
fn an_anomaly_is_open_once_and_resolved_by_a_look_that_found_it_well() {
    let kept = kept();
    let spike = || Sign { kind: AnomalyKind::PsiSpike, scope: Scope::Host, message: "31 %".to_owned() };
    kept.metrics.record(&Observation { signs: vec![spike()], ..seen(0) }).unwrap();
    kept.metrics.record(&Observation { signs: vec![spike(), spike()], ..seen(120) }).unwrap();
    kept.metrics.record(&seen(240)).unwrap();
    let open = kept.metrics.open_anomalies(TARGET).unwrap();
    assert_eq!(
        open.iter().map(|it| (it.times, it.detected_at, it.last_seen)).collect::<Vec<_>>(),
        [(3, at(0), at(120))]
    );
    let well = vec![(AnomalyKind::PsiSpike, Scope::Host)];
    assert_eq!(kept.metrics.record(&Observation { well, ..seen(360) }).unwrap().anomalies_resolved, 1);
    assert_eq!(kept.metrics.open_anomalies(TARGET).unwrap(), []);
    // The same again is another one.
    kept.metrics.record(&Observation { signs: vec![spike()], ..seen(480) }).unwrap();
    let since = kept.metrics.anomalies_since(TARGET, at(-1)).unwrap();
    assert_eq!(since.iter().map(|it| it.resolved_at).collect::<Vec<_>>(), [Some(at(360)), None]);
}

// shows: STW-066
#[test]
fn stale_data_is_an_anomaly_until_there_is_fresh_data() {
    let kept = kept();
    kept.metrics.record(&seen(0)).unwrap();
    let open = || kept.metrics.open_anomalies(TARGET).unwrap().iter().map(|it| it.kind).collect::<Vec<_>>();
    assert!(!kept.metrics.note_freshness(TARGET, at(600)).unwrap().is_stale());
    assert_eq!(open(), []);
    assert!(kept.metrics.note_freshness(TARGET, at(601)).unwrap().is_stale());
    assert!(kept.metrics.staleness(TARGET, at(601)).unwrap().is_stale());
    assert_eq!(open(), [AnomalyKind::Stale]);
    // A cycle that failed brings nothing fresh.
    kept.metrics.record(&Observation { outcome: Outcome::Partly, ..seen(700) }).unwrap();
    assert_eq!(open(), [AnomalyKind::Stale]);
    kept.metrics.record(&seen(720)).unwrap();
    assert_eq!(open(), []);
    assert!(kept.metrics.staleness("nobody", at(0)).unwrap().is_stale());
}

// shows: STW-372
#[test]
fn the_table_of_units_joins_the_observation_it_belongs_to() {
    let kept = kept();
    let mut observation = seen(0);
    observation.gauges = vec![(metric("web.service:memory"), 4096.0), (metric("db.service:memory"), 1.0)];
    observation.counters = vec![(metric("web.service:cpu"), count(77))];
    kept.metrics.record(&observation).unwrap();
    let sql = "SELECT memory_bytes * 1000 + cpu_usage_ns FROM service_metrics
               WHERE service = 'web.service' AND collected_at = (SELECT max(collected_at) FROM observations)";
    assert_eq!(kept.number(sql), 4_096_077);
    assert_eq!(
        kept.number("SELECT count(*) FROM service_metrics"),
        1,
        "only with both memory and processor time"
    );
}

// shows: STW-369
#[test]
fn targets_are_apart() {
    let kept = kept();
    for (target, load) in [("a", 1.0), ("b", 2.0)] {
        let mut observation = Observation { target: target.to_owned(), ..seen(0) };
        observation.gauges = vec![(metric("load"), load)];
        kept.metrics.record(&observation).unwrap();
    }
    for (target, load) in [("a", 1.0), ("b", 2.0)] {
        let series = kept.metrics.series(target, &metric("load"), all()).unwrap();
        assert_eq!(series.iter().map(|it| it.value).collect::<Vec<_>>(), [load]);
    }
    assert_eq!(kept.metrics.series("c", &metric("load"), all()).unwrap(), []);
}

#[test]
fn readers_read_while_a_writer_writes() {
    let kept = kept();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..200 {
                let mut observation = seen(n * 120);
                observation.gauges = vec![(metric("load"), 1.0), (metric("free_space"), 1.0)];
                kept.metrics.record(&observation).unwrap();
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let (load, free) = (metric("load"), metric("free_space"));
                    let free = kept.metrics.series(TARGET, &free, all()).unwrap().len();
                    let load = kept.metrics.series(TARGET, &load, all()).unwrap().len();
                    assert!(load >= free, "an observation is there whole or not at all");
                    if load == 200 {
                        break;
                    }
                }
            });
        }
    });
}

#[test]
fn a_later_version_and_a_damaged_file_are_refused_untouched() {
    let kept = kept();
    kept.metrics.record(&seen(0)).unwrap();
    let (path, folder) = (kept.path(), kept.folder);
    drop(kept.metrics);
    let raise = |version: u32| {
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    };
    raise(99);
    let before = std::fs::read(&path).unwrap();
    let refused = Metrics::open(&path, Limits::default(), &clock());
    assert!(matches!(refused, Err(Error::Newer { found: 99, .. })), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::write(&path, vec![7; 9000]).unwrap();
    let refused = Metrics::open(&path, Limits::default(), &clock());
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 9000]);
    drop(folder);
}

#[test]
fn a_log_without_its_file_is_refused_untouched_too() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("metrics.db-wal");
    std::fs::write(&log, [1; 100]).unwrap();
    let refused = Metrics::open(&folder.path().join("metrics.db"), Limits::default(), &clock());
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    assert_eq!(std::fs::read(&log).unwrap(), [1; 100]);
}
