//! What is kept how long: roll-ups, ages, the bound on size, reports over all of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::time::Duration;

use holdfast_metrics::{Limits, Metrics, Observation, Pruned, Stored};
use holdfast_types::Timestamp;
use shared::{Kept, TARGET, all, at, count, metric, seen};

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

/// Steps until there is nothing more to do; each did something.
fn prune(metrics: &Metrics, now: Timestamp) -> Vec<Pruned> {
    let mut steps = Vec::new();
    loop {
        let step = metrics.prune(now).unwrap();
        let more = step.more;
        steps.push(step);
        if !more {
            return steps;
        }
        assert!(steps.len() < 10_000, "it does not end");
    }
}

/// Every `every` seconds from 0, with a load and a counter that grows by ten a second.
fn record(metrics: &Metrics, from: i64, to: i64, every: i64) {
    let times = (0..).map(|n| from + n * every).take_while(|seconds| *seconds < to);
    let observations: Vec<Observation> = times
        .map(|seconds| {
            let mut observation = seen(seconds);
            observation.gauges =
                vec![(metric("load"), seconds as f64), (metric("web.service:memory"), 1048576.0)];
            observation.counters = vec![(metric("web.service:cpu"), count((seconds - from) as u64 * 10))];
            observation
        })
        .collect();
    for batch in observations.chunks(500) {
        assert!(metrics.record_all(batch).unwrap().iter().all(|it| it.stored == Stored::New));
    }
}

#[test]
fn an_hour_is_rolled_up_when_it_is_over_and_again_when_something_came_late() {
    let kept = Kept::new(Limits::default());
    record(&kept.metrics, 0, HOUR, 600);
    let hours = || kept.metrics.hourly(TARGET, &metric("load"), all()).unwrap();
    prune(&kept.metrics, at(HOUR + 599));
    assert_eq!(hours(), []);
    prune(&kept.metrics, at(HOUR + 600));
    let found = hours();
    assert_eq!(found.len(), 1);
    let figures = |hour: &holdfast_metrics::Hour| (hour.from, hour.count, hour.min, hour.max, hour.mean);
    assert_eq!(figures(&found[0]), (at(0), 6, 0.0, 3000.0, 1500.0));
    let cpu = kept.metrics.hourly(TARGET, &metric("web.service:cpu"), all()).unwrap();
    assert_eq!(figures(&cpu[0]), (at(0), 5, 10.0, 10.0, 10.0), "the first has no rate");
    record(&kept.metrics, 3500, 3501, 1);
    prune(&kept.metrics, at(2 * HOUR));
    assert_eq!(hours()[0].count, 7);
    // Done again it comes to the same.
    let before = hours();
    prune(&kept.metrics, at(2 * HOUR));
    assert_eq!(hours(), before);
}

#[test]
fn raw_data_goes_with_its_age_and_its_hours_stay_until_theirs() {
    let kept = Kept::new(Limits::default());
    record(&kept.metrics, 0, 40 * DAY, 1200);
    let steps = prune(&kept.metrics, at(40 * DAY + 600));
    assert!(steps.iter().all(|step| step.observations <= 6 * 3 && step.hours <= 48), "bounded steps");
    assert_eq!(steps.iter().map(|step| step.observations).sum::<u64>(), 10 * 72 - 3);
    assert_eq!(
        kept.number("SELECT min(collected_at) FROM observations"),
        at(10 * DAY).as_micros() - 3_600_000_000
    );
    for table in ["gauges", "counters"] {
        let sql =
            format!("SELECT count(*) FROM {table} WHERE at < (SELECT min(collected_at) FROM observations)");
        assert_eq!(kept.number(&sql), 0, "{table}");
    }
    assert_eq!(kept.metrics.hourly(TARGET, &metric("load"), all()).unwrap().len(), 40 * 24);
    // What is older than what is kept does not come back in.
    assert_eq!(kept.metrics.record(&seen(5 * DAY + 7)).unwrap().stored, Stored::TooOld);
    // A clock far ahead takes nothing that has no newer observation beside it.
    prune(&kept.metrics, at(100 * DAY));
    assert!(kept.number("SELECT count(*) FROM observations") >= 30 * 72);
    prune(&kept.metrics, at(420 * DAY));
    assert_eq!(kept.metrics.hourly(TARGET, &metric("load"), all()).unwrap().len(), 20 * 24);
    prune(&kept.metrics, at(600 * DAY));
    assert_eq!(kept.metrics.hourly(TARGET, &metric("load"), all()).unwrap().len(), 0);
}

#[test]
fn too_much_drops_the_oldest_raw_data_first_and_says_so() {
    let limits = Limits { bytes_max: 400 << 10, ..Limits::default() };
    let kept = Kept::new(limits);
    record(&kept.metrics, 0, 5 * DAY, 120);
    let before = kept.metrics.size().unwrap().used;
    assert!(before > limits.bytes_max, "{before}");
    let steps = prune(&kept.metrics, at(5 * DAY + 600));
    let size = kept.metrics.size().unwrap();
    assert!(size.used <= limits.bytes_max, "{size:?}");
    let dropped: Vec<_> = steps.iter().flat_map(|step| &step.dropped_for_size).collect();
    assert_eq!(dropped.first().map(|it| (it.target.as_str(), it.from)), Some((TARGET, at(0))));
    let gone: u64 = dropped.iter().map(|it| it.observations).sum();
    assert_eq!(kept.number("SELECT count(*) FROM observations"), 3600 - gone as i64);
    assert_eq!(
        kept.number("SELECT min(collected_at) FROM observations"),
        dropped.last().unwrap().to.as_micros()
    );
    assert_eq!(steps.iter().map(|step| step.rolled_up_dropped_for_size).sum::<u64>(), 0);
    assert_eq!(
        kept.metrics.hourly(TARGET, &metric("load"), all()).unwrap().len(),
        5 * 24,
        "nothing is lost of the hours"
    );
    // Written on and pruned on, the file does not grow: what became free is used again.
    let file = kept.metrics.size().unwrap().file;
    for day in 5..9 {
        record(&kept.metrics, day * DAY, (day + 1) * DAY, 120);
        prune(&kept.metrics, at((day + 1) * DAY));
    }
    let size = kept.metrics.size().unwrap();
    assert!(size.used <= limits.bytes_max && size.file <= file, "{size:?} {file}");
}

#[test]
fn what_cannot_be_made_small_enough_is_said_and_ends() {
    let kept = Kept::new(Limits { bytes_max: 1, ..Limits::default() });
    record(&kept.metrics, 0, 2 * HOUR, 120);
    let steps = prune(&kept.metrics, at(90 * 60));
    assert!(steps.last().unwrap().still_too_large);
    assert!(kept.number("SELECT count(*) FROM observations") > 0, "an hour that is not over stays");
}

// shows: STW-067
#[test]
fn a_report_has_means_by_unit_and_the_gaps() {
    let kept = Kept::new(Limits::default());
    let mut observations = Vec::new();
    for n in 0..(7 * 720) {
        // An hour on the second day is missing, and one cycle on the third.
        let seconds = n * 120;
        if (DAY..DAY + HOUR).contains(&seconds) || seconds == 2 * DAY {
            continue;
        }
        let mut observation = seen(seconds);
        let mib = if n % 2 == 0 { 100.0 } else { 300.0 };
        observation.gauges = vec![
            (metric("web.service:memory"), mib * 1_048_576.0),
            (metric("web.service:psi_mem_some_avg60"), 4.0),
            (metric("web.service:psi_mem_some_avg10"), 400.0),
            (metric("psi_mem_some_avg60"), 8.0),
        ];
        observations.push(observation);
    }
    kept.metrics.record_all(&observations).unwrap();
    let report = kept.metrics.report(TARGET, at(0)..at(7 * DAY)).unwrap();
    assert_eq!(report.observations, 7 * 720 - 31);
    let [unit] = report.units.as_slice() else { panic!("{report:?}") };
    assert!((unit.memory_mib.unwrap() - 200.0).abs() < 0.1, "{unit:?}");
    assert_eq!((unit.psi_mem_some, report.psi_mem_some, unit.cpu), (Some(4.0), Some(8.0), None));
    let gaps: Vec<_> = report.gaps.iter().map(|gap| (gap.from, gap.to)).collect();
    assert_eq!(gaps, [(at(DAY - 120), at(DAY + HOUR))]);
    assert_eq!((report.gap_seconds, report.gaps_known_from), (3720, None));
}

#[test]
fn a_report_over_rolled_up_hours_has_the_same_means() {
    let kept = Kept::new(Limits { raw: Duration::from_secs(2 * 86_400), ..Limits::default() });
    record(&kept.metrics, 0, 6 * DAY, 300);
    let before = kept.metrics.report(TARGET, at(0)..at(6 * DAY)).unwrap();
    prune(&kept.metrics, at(6 * DAY));
    let after = kept.metrics.report(TARGET, at(0)..at(6 * DAY)).unwrap();
    assert_eq!((before.units[0].memory_mib, after.units[0].memory_mib), (Some(1.0), Some(1.0)));
    assert_eq!(before.units[0].samples, after.units[0].samples);
    let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-15;
    assert!(near(before.units[0].cpu, after.units[0].cpu), "{before:?} {after:?}");
    assert_eq!((before.gaps.len(), after.gaps.len()), (0, 0));
    assert_eq!(after.gaps_known_from, Some(at(4 * DAY - HOUR)));
    let unknown = kept.metrics.report("nobody", at(0)..at(DAY)).unwrap();
    assert_eq!((unknown.units.len(), unknown.gaps.len()), (0, 1));
}

/// A host with five units, seen as a doorman sees it.
fn busy_host(target: &str, seconds: i64) -> Observation {
    let noise = |n: i64| (seconds * 7919 + n * 104_729) % 10_000;
    let mut observation = Observation { target: target.to_owned(), ..seen(seconds) };
    let mut figures = Vec::new();
    for resource in ["mem", "cpu", "io"] {
        for share in ["some", "full"] {
            for window in [10, 60, 300] {
                figures.push(format!("psi_{resource}_{share}_avg{window}"));
            }
        }
    }
    let of_unit = |unit: i64, name: &str| metric(&format!("unit-{unit}.service:{name}"));
    let host: Vec<String> = figures
        .iter()
        .cloned()
        .chain(["load", "memory_available", "free_space"].map(str::to_owned))
        .collect();
    observation.gauges =
        host.iter().enumerate().map(|(n, name)| (metric(name), noise(n as i64) as f64 / 100.0)).collect();
    for unit in 0..5 {
        let own = figures.iter().filter(|name| name.ends_with("avg60")).map(String::as_str).chain(["memory"]);
        observation.gauges.extend(own.map(|name| (of_unit(unit, name), noise(unit) as f64 * 4096.0)));
        for name in ["cpu", "throttled", "kills", "restarts"] {
            observation
                .counters
                .push((of_unit(unit, name), count((seconds * 1_000_000 + noise(unit)) as u64)));
        }
    }
    let pressure: Vec<_> = (0..18).map(|n| serde_json::json!({"unit": format!("unit-{}.service", n % 6), "resource": "memory", "some": [noise(n) as f64 / 100.0, 0.5, 0.25], "full": [0.0, noise(n + 1) as f64 / 100.0, 0.0]})).collect();
    let units: Vec<_> = (0..5).map(|n| serde_json::json!({"unit": format!("unit-{n}.service"), "active": true, "memory": noise(n) * 4096, "memory_peak": noise(n) * 8192, "cpu_nanos": seconds * 1_000_000 + noise(n), "throttled_micros": 0, "periods": seconds, "periods_throttled": 0, "nice": 0, "restarts": 0, "kills": 0, "started_micros": 12_345_678})).collect();
    observation.snapshot = serde_json::json!({"inside": {"boot": 123_456_789, "pressure": pressure, "units": units, "load": 0.5, "memory_total": 8_000_000_000_i64, "memory_available": noise(3) * 4096, "cursor": "s=0123456789abcdef;i=1234;b=0123456789abcdef;m=123456;t=123456;x=123456"}, "outside": []});
    observation
}

// shows: STW-380
#[test]
fn many_writers_at_once_lose_nothing_while_it_is_kept_small() {
    let kept = Kept::new(Limits { bytes_max: 900 << 10, ..Limits::default() });
    let cycles = 3 * 30;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let metrics = &kept.metrics;
            scope.spawn(move || {
                for cycle in 0..cycles {
                    let observation = busy_host(&format!("host-{writer}"), cycle * 120);
                    assert_eq!(metrics.record(&observation).unwrap().stored, Stored::New);
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| drop(kept.metrics.prune(at(HOUR)).unwrap())));
    });
    let steps = prune(&kept.metrics, at(4 * HOUR));
    let gone: u64 = steps.iter().flat_map(|step| &step.dropped_for_size).map(|it| it.observations).sum();
    assert!(gone > 0 && kept.metrics.size().unwrap().used <= 900 << 10, "{:?}", kept.metrics.size());
    assert_eq!(kept.number("SELECT count(*) FROM observations") as u64 + gone, 4 * cycles as u64);
    // Every hour of every figure is still there, and no row belongs to nothing.
    assert_eq!(kept.number("SELECT count(DISTINCT hour) FROM hourly"), 3);
    assert_eq!(kept.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(kept.number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

/// What the bound was chosen by; `docs/formats/metrics.md` has the figures.
#[test]
#[expect(clippy::print_stderr, reason = "figures for people")]
fn ten_hosts_with_five_units_fit_for_the_whole_of_both_ages() {
    let kept = Kept::new(Limits::default());
    let empty = kept.metrics.size().unwrap().used;
    let day: Vec<_> = (0..720).map(|n| busy_host("host", n * 120)).collect();
    kept.metrics.record_all(&day).unwrap();
    let raw = kept.metrics.size().unwrap().used - empty;
    prune(&kept.metrics, at(DAY + 600));
    let hourly = kept.metrics.size().unwrap().used - empty - raw;
    eprintln!("a day of a host: {raw} bytes raw, {hourly} bytes in hours");
    let all = 10 * (30 * raw + 400 * hourly);
    assert!(all <= Limits::default().bytes_max, "{all}: {raw} {hourly}");
}
