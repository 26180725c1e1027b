//! Parsing, series and marks.

use std::time::Duration;

use super::*;
use crate::setting::UnitName;
use proptest::prelude::*;

fn minutes(count: u64) -> Steady {
    Steady(count * 60_000)
}

fn unit(name: &str) -> UnitName {
    name.parse().unwrap()
}

// shows: STW-375
#[test]
fn what_is_not_set_is_absent_with_its_reason_and_never_a_figure() {
    for (text, read) in [
        ("104857600\n", Reading::Known(104_857_600)),
        ("0", Reading::Known(0)),
        ("18446744073709551614", Reading::Known(u64::MAX - 1)),
        ("18446744073709551615", Reading::Absent(Absent::NotSet)),
        ("[not set]", Reading::Absent(Absent::NotSet)),
        ("[not set]\n", Reading::Absent(Absent::NotSet)),
        ("", Reading::Absent(Absent::NotSet)),
        ("[no data]", Reading::Absent(Absent::Unsupported)),
        ("99999999999999999999", Reading::Absent(Absent::Malformed)),
        ("-1", Reading::Absent(Absent::Malformed)),
        ("+1", Reading::Absent(Absent::Malformed)),
        ("1.5", Reading::Absent(Absent::Malformed)),
        ("infinity", Reading::Absent(Absent::Malformed)),
    ] {
        assert_eq!(parse_count(text), read, "{text:?}");
    }
    assert_eq!(Sample::known(Steady(1), f64::NAN).reading(), Reading::Absent(Absent::Malformed));
    assert_eq!(Sample::known(Steady(1), f64::INFINITY).value(), None);
}

// shows: STW-376
#[test]
fn a_counter_gives_count_and_rate_and_a_decrease_starts_a_new_series() {
    let mut counter = Counter::default();
    let first = Reading::Absent(Absent::FirstOfSeries);
    for (at, count, per_second, series) in [
        (minutes(0), Reading::Known(1_000), first, 0),
        (minutes(1), Reading::Known(7_000), Reading::Known(100.0), 0),
        (minutes(2), Reading::Absent(Absent::NotRead), Reading::Absent(Absent::NotRead), 0),
        (minutes(3), Reading::Known(7_600), Reading::Known(5.0), 0),
        (minutes(3), Reading::Known(9_999), Reading::Absent(Absent::NotRead), 0),
        (minutes(4), Reading::Known(60), first, 1),
        (minutes(5), Reading::Known(120), Reading::Known(1.0), 1),
        (minutes(6), Reading::Known(120), Reading::Known(0.0), 1),
    ] {
        assert_eq!(counter.step(at, count), Counted { count, per_second, series }, "at {at}");
        counter = serde_json::from_str(&serde_json::to_string(&counter).unwrap()).unwrap();
    }
}

#[test]
fn pressure_is_read_as_the_kernel_writes_it() {
    let averages = |avg10, avg60, avg300| Averages { avg10, avg60, avg300 };
    let malformed = Reading::Absent(Absent::Malformed);
    let some = averages(59.12, 12.3, 3.0);
    for (text, read) in [
        (
            "some avg10=59.12 avg60=12.30 avg300=3.00 total=8123456\nfull avg10=40.00 avg60=8.01 avg300=1.99 total=512\n",
            Reading::Known(Pressure { some, full: Some(averages(40.0, 8.01, 1.99)) }),
        ),
        (
            "some avg10=59.12 avg60=12.30 avg300=3.00 total=8123456\n",
            Reading::Known(Pressure { some, full: None }),
        ),
        ("", Reading::Absent(Absent::Unsupported)),
        ("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", malformed),
        ("some avg10=59.12 avg60=12.30 total=8123456\n", malformed),
        ("some avg10=59.12 avg60=101.0 avg300=3.00\n", malformed),
        ("some avg10=NaN avg60=0 avg300=0\n", malformed),
        ("something avg10=1.00 avg60=1.00 avg300=1.00\n", malformed),
    ] {
        assert_eq!(parse_pressure(text), read, "{text:?}");
    }
}

// shows: STW-377
#[test]
fn a_metric_is_known_by_scope_name_and_window_or_refused() {
    for known in [
        "psi_mem_some_avg60",
        "psi_mem_full_avg10",
        "task-runner.service:psi_mem_some_avg300",
        "task-runner.service:memory_current",
        "task-runner.service:latency_ms",
        "cpu_use",
    ] {
        assert_eq!(known.parse::<Metric>().unwrap().to_string(), known);
        let json = serde_json::to_string(&known.parse::<Metric>().unwrap()).unwrap();
        assert_eq!(json, format!("\"{known}\""));
    }
    let text = |text: &str| text.to_owned();
    for (refused, why) in [
        ("psi_mem_some", MetricError::NoWindow { text: text("psi_mem_some") }),
        ("memory_current_avg60", MetricError::NeedlessWindow { text: text("memory_current_avg60") }),
        ("psi_io_some_avg60", MetricError::Unknown { text: text("psi_io_some_avg60") }),
        ("../x:cpu_use", MetricError::Unknown { text: text("../x:cpu_use") }),
        ("", MetricError::Unknown { text: text("") }),
    ] {
        assert_eq!(refused.parse::<Metric>(), Err(why), "{refused}");
    }
    assert_eq!("psi_mem_some_avg60".parse(), Ok(Metric::primary()));
    assert_eq!(Metric::new(Scope::Host, Quantity::PsiMemSome, Window::None), None);
}

fn entry(priority: u8, from_kernel: bool, id: Option<&str>, message: &str) -> LogEntry {
    let message_id = id.map(|id| id.parse().unwrap());
    LogEntry { priority, unit: None, from_kernel, message_id, message: message.to_owned() }
}

// shows: STW-374
#[test]
fn a_kill_for_want_of_memory_is_known_by_who_says_it_not_by_words() {
    const MEMCG: &str = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/system.slice/hog.service,task_memcg=/system.slice/hog.service,task=python3,pid=411,uid=0";
    const KILLED: &str = "Memory cgroup out of memory: Killed process 411 (python3) total-vm:170276kB, anon-rss:60500kB, oom_score_adj:0";
    const HOST: &str = "Out of memory: Killed process 9 (stress) total-vm:8388608kB";
    const UNIT_OOM: &str = "fe6faa94e7774663a0da52717891d8ef";
    for (entry, kind) in [
        (entry(3, true, None, KILLED), Some(LogKind::Oom)),
        (entry(3, true, None, HOST), Some(LogKind::Oom)),
        (entry(6, true, None, MEMCG), Some(LogKind::Oom)),
        (entry(5, false, Some(UNIT_OOM), "a process of this unit has been killed"), Some(LogKind::Oom)),
        (entry(6, false, None, KILLED), None),
        (entry(3, false, None, KILLED), Some(LogKind::Error)),
        (entry(6, true, None, "note: Out of memory: Killed process 9"), None),
        (entry(3, false, None, "could not write"), Some(LogKind::Error)),
        (entry(4, false, None, "could not write"), None),
        (entry(0, true, None, "panic"), Some(LogKind::Error)),
    ] {
        assert_eq!(entry.kind(), kind, "{entry:?}");
    }
    assert_eq!(entry(3, true, None, MEMCG).subject(), Some(unit("hog.service")));
    assert_eq!(entry(3, true, None, HOST).subject(), None);
    assert_eq!(
        parse_oom_kills("low 0\nhigh 12\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n"),
        Reading::Known(2)
    );
    assert_eq!(parse_oom_kills("low 0\n"), Reading::Absent(Absent::Malformed));
    assert_eq!(parse_oom_kills(""), Reading::Absent(Absent::Unsupported));
}

#[test]
fn a_snapshot_keeps_fifty_entries_and_counts_the_rest() {
    let mut snapshot = Snapshot::new(minutes(1), Freshness::default());
    for _ in 0..60 {
        snapshot.add_log(entry(3, false, None, &"é".repeat(2_000)));
        snapshot.add_log(entry(6, false, None, "of no interest"));
    }
    assert_eq!((snapshot.log().len(), snapshot.log_left_out()), (50, 10));
    assert_eq!(snapshot.log()[0].message.chars().count(), 500);
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
}

#[test]
fn data_is_stale_after_ten_minutes_and_not_at_ten() {
    let fresh = Freshness { last_success: Some(minutes(5)) };
    for (freshness, now, stale) in [
        (fresh, minutes(5), false),
        (fresh, minutes(15), false),
        (fresh, minutes(15).plus(Duration::from_millis(1)), true),
        (fresh, minutes(15).plus(Duration::from_secs(1)), true),
        (fresh, minutes(0), false),
        (Freshness::default(), minutes(0), true),
    ] {
        assert_eq!(freshness.is_stale(now), stale, "{freshness:?} at {now}");
    }
}

#[test]
fn only_a_collection_whose_mandatory_reads_worked_is_a_success() {
    let before = Freshness { last_success: Some(minutes(1)) };
    let failed = |need| Failure { need, exit: Some(255), why: "no answer".parse().unwrap() };
    let mut snapshot = Snapshot::new(minutes(3), before);
    assert_eq!(before.after(&snapshot).last_success, Some(minutes(3)));
    snapshot.fail("generation".parse().unwrap(), failed(Need::Optional));
    assert_eq!(before.after(&snapshot).last_success, Some(minutes(3)));
    snapshot.fail("pressure".parse().unwrap(), failed(Need::Mandatory));
    assert_eq!(before.after(&snapshot).last_success, Some(minutes(1)));
    assert_eq!(snapshot.failures().len(), 2);
}

fn samples(values: &[(u64, Option<f64>)]) -> Vec<Sample> {
    let sample = |(minute, value): &(u64, Option<f64>)| {
        let at = minutes(*minute);
        value.map_or(Sample::absent(at, Absent::NotRead), |value| Sample::known(at, value))
    };
    values.iter().map(sample).collect()
}

#[test]
fn a_summary_leaves_out_what_is_marked_and_what_is_absent() {
    let samples = samples(&[(1, Some(2.0)), (2, None), (3, Some(4.0)), (4, Some(90.0)), (5, Some(6.0))]);
    let mut marked = Marked::default();
    marked.add(minutes(4), minutes(4), Why::OwnBuild);
    assert_eq!(marked.summary(samples.clone()), Some(Summary::new(4.0, 2.0, 3).unwrap()));
    // The other way to ask: pairs within a span, and the intervals by name.
    let pairs = || samples.iter().filter_map(|sample| Some((sample.at, sample.value()?)));
    let span = |from, to| Span { from: minutes(from), to: minutes(to) };
    assert_eq!(Summary::of(pairs(), span(1, 6), marked.intervals()), marked.summary(samples.clone()));
    assert_eq!(Summary::of(pairs(), span(1, 4), &[]), Some(Summary::new(3.0, 2f64.sqrt(), 2).unwrap()));
    assert_eq!(Summary::of(pairs(), span(6, 1), &[]), None);
    marked.begin(minutes(0), Why::Outage);
    assert_eq!(marked.summary(samples.clone()), None);
    assert_eq!(Summary::of(pairs(), span(1, 6), marked.intervals()), None, "it still goes on");
}

#[test]
fn a_summary_holds_only_figures_that_can_be() {
    for (mean, deviation) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, -0.1), (1.0, f64::NAN)] {
        assert!(Summary::new(mean, deviation, 1).is_err(), "{mean} {deviation}");
    }
    assert!(serde_json::from_str::<Summary>(r#"{"mean":1.0,"sd":-1.0,"count":3}"#).is_err());
    assert_eq!(Summary::of_values([f64::NAN, f64::INFINITY]), None);
}

#[test]
fn a_baseline_is_the_same_with_and_without_the_load_of_an_own_build() {
    let quiet: Vec<_> =
        (0..100).filter(|m| !(40..=45).contains(m)).map(|m| (m, Some((m % 7) as f64))).collect();
    let loaded: Vec<_> =
        (0..100).map(|m| (m, Some(if (40..=45).contains(&m) { 80.0 } else { (m % 7) as f64 }))).collect();
    let mut marked = Marked::default();
    marked.begin(minutes(40), Why::OwnBuild);
    marked.end(minutes(45), Why::OwnBuild);
    assert_eq!(marked.summary(samples(&loaded)), Marked::default().summary(samples(&quiet)));
}

#[test]
fn what_goes_on_is_marked_until_it_ends() {
    let mut marked = Marked::default();
    marked.begin(minutes(5), Why::Trial);
    marked.begin(minutes(7), Why::Trial);
    marked.begin(minutes(6), Why::Outage);
    marked.end(minutes(8), Why::Outage);
    assert!(
        !marked.contains(minutes(4)) && marked.contains(minutes(5)) && marked.contains(minutes(1_000_000))
    );
    marked.end(minutes(9), Why::Trial);
    assert!(marked.contains(minutes(9)) && !marked.contains(minutes(10)));
    assert_eq!(marked.intervals().len(), 2);
    marked.forget_before(minutes(9));
    assert_eq!(marked.intervals().len(), 1);
}

#[test]
fn what_goes_on_is_still_marked_when_there_are_too_many() {
    let mut marked = Marked::default();
    marked.begin(minutes(1), Why::Trial);
    marked.begin(minutes(2), Why::Outage);
    for minute in 0..2_000 {
        marked.add(minutes(10 * minute), minutes(10 * minute + 1), Why::OwnBuild);
    }
    assert_eq!(marked.intervals().len(), MARKS_MAX);
    marked.end(minutes(30_000), Why::Outage);
    assert!(marked.contains(minutes(40_000)), "the trial still goes on");
    marked.end(minutes(35_000), Why::Trial);
    assert!(marked.contains(minutes(35_000)) && !marked.contains(minutes(40_000)));
}

proptest! {
    #[test]
    fn marks_are_bounded_and_what_was_marked_stays_marked(
        spans in prop::collection::vec((0u64..100_000, 0u64..50), 0..700),
    ) {
        let mut marked = Marked::default();
        for (from, length) in &spans {
            marked.add(Steady(*from), Steady(from + length), Why::Trial);
        }
        prop_assert!(marked.intervals().len() <= MARKS_MAX);
        for (from, length) in &spans {
            prop_assert!(marked.contains(Steady(*from)) && marked.contains(Steady(from + length)));
        }
    }

    #[test]
    fn a_walk_says_what_a_search_says(
        spans in prop::collection::vec((0u64..500, 0u64..50), 0..20),
    ) {
        let mut marked = Marked::default();
        for (from, length) in &spans {
            marked.add(Steady(*from), Steady(from + length), Why::Outage);
        }
        let mut walk = marked.walk();
        for at in 0..600 {
            let within = spans.iter().any(|(from, length)| (*from..=from + length).contains(&at));
            prop_assert_eq!(walk.passes(Steady(at)), within, "{}", at);
        }
    }
}
