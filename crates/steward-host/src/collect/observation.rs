//! A collection as `metrics.db` keeps it: figures, counters, what is wrong, what is well. Pure.

use std::collections::BTreeSet;

use holdfast_doorman::wire::{Collected, Entry, Pressure, UnitFigures};
use holdfast_metrics::{
    AnomalyKind, Count, Endpoint, Failed, Metric, Name, Observation, Outcome, Resource, Scope, Share, Sign,
    Window,
};
use holdfast_steward::setting::UnitName;
use holdfast_types::Timestamp;

/// Percent of a minute in which something waited for memory, from which on it is called a spike; it is over below half of it.
pub const PSI_SPIKE: f64 = 20.0;
/// Reads without which a collection is no success. What else a target cannot or may not tell is named, and does not stop it.
const MANDATORY: [&str; 3] = ["boot", "memory", "units"];

/// What one cycle saw of a target, from inside and from outside.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub target: &'a str,
    pub at: Timestamp,
    /// From inside, or why there is nothing.
    pub inside: Result<&'a Collected, &'a str>,
    /// From outside: it needs nothing of the target, and is there also when it cannot be reached.
    pub outside: &'a [Endpoint],
    /// The one before, for kills that the journal does not tell.
    pub before: Option<&'a Collected>,
}

/// What is kept of it. Texts that the target wrote go through `screen` first: they may hold secrets.
pub fn observation(seen: Seen<'_>, screen: &dyn Fn(&str) -> String) -> Observation {
    let mut observation = match seen.inside {
        Ok(found) => Writing::of(seen, &screened(found, screen)),
        Err(why) => Observation::unreached(seen.target, seen.at, &screen(why)),
    };
    observation.endpoints = seen.outside.to_vec();
    if let Some(sick) = seen.outside.iter().find(|it| !it.healthy) {
        let message = screen(&format!("{} does not answer well", sick.name));
        observation.signs.push(Sign { kind: AnomalyKind::HealthFail, scope: Scope::Host, message });
    } else if !seen.outside.is_empty() {
        observation.well.push((AnomalyKind::HealthFail, Scope::Host));
    }
    let inside = seen.inside.ok().map(|found| screened(found, screen));
    observation.snapshot = serde_json::json!({
        "inside": inside,
        "inside_missing": seen.inside.err().map(screen),
        "outside": seen.outside,
    });
    observation
}

fn screened(found: &Collected, screen: &dyn Fn(&str) -> String) -> Collected {
    let mut found = found.clone();
    for entry in &mut found.entries {
        entry.message = screen(&entry.message);
    }
    for (_, why) in found.failed.iter_mut().chain(&mut found.absent) {
        *why = screen(why);
    }
    found
}

struct Writing<'a> {
    found: &'a Collected,
    before: Option<&'a Collected>,
    watched: BTreeSet<UnitName>,
    out: Observation,
}

impl Writing<'_> {
    fn of(seen: Seen<'_>, found: &Collected) -> Observation {
        let failed_units = found.failed.iter().filter_map(|(label, _)| label.parse::<UnitName>().ok());
        let watched = found.units.iter().map(|it| it.unit.clone()).chain(failed_units).collect();
        let out = Observation {
            outcome: Outcome::Whole,
            generation: found.generation.map(u64::from),
            running: found.running.map(|it| it.to_string()),
            boot: found.boot.map(|boot| format!("{:016x}", boot.0)),
            failed: found
                .failed
                .iter()
                .map(|(label, why)| Failed { label: label.clone(), why: why.clone() })
                .collect(),
            signs: Vec::new(),
            ..Observation::unreached(seen.target, seen.at, "")
        };
        let mut writing = Writing { found, before: seen.before, watched, out };
        writing.host();
        found.units.iter().for_each(|unit| writing.unit(unit));
        found.pressure.iter().for_each(|it| writing.pressure(it));
        writing.entries();
        writing.whole_or_not();
        writing.out
    }

    fn gauge(&mut self, scope: &Scope, name: Name, value: Option<f64>) {
        if let (Some(value), Ok(metric)) = (value, Metric::new(scope.clone(), name)) {
            self.out.gauges.push((metric, value));
        }
    }

    fn counter(&mut self, scope: &Scope, name: Name, value: Option<u64>, since: Option<u64>) {
        if let (Some(value), Ok(metric)) = (value, Metric::new(scope.clone(), name)) {
            self.out.counters.push((metric, Count { value, since }));
        }
    }

    fn host(&mut self) {
        let found = self.found;
        self.gauge(&Scope::Host, Name::MemoryAvailable, found.memory_available.map(|it| it as f64));
        self.gauge(&Scope::Host, Name::Load, found.load);
        self.gauge(&Scope::Host, Name::FreeSpace, found.free_space.map(|it| it as f64));
    }

    /// A unit that runs has a row when both its memory and its processor time were read; otherwise it was not collected.
    fn unit(&mut self, unit: &UnitFigures) {
        let Ok(scope) = Scope::unit(unit.unit.as_str()) else { return };
        self.counter(&scope, Name::Restarts, unit.restarts.map(u64::from), None);
        if !unit.active {
            return;
        }
        let (Some(memory), Some(cpu)) = (unit.memory, unit.cpu_nanos) else {
            return self.not_collected(&scope, "its memory or its processor time could not be read");
        };
        self.out.well.push((AnomalyKind::CollectionFailure, scope.clone()));
        self.gauge(&scope, Name::Memory, Some(memory as f64));
        self.counter(&scope, Name::Cpu, Some(cpu), unit.started_micros);
        self.counter(&scope, Name::Throttled, unit.throttled_micros, unit.started_micros);
        self.counter(&scope, Name::Kills, unit.kills, unit.started_micros);
        if self.kills_rose(unit) {
            let message = format!("the kernel killed a process of {} for want of memory", unit.unit);
            self.out.signs.push(Sign { kind: AnomalyKind::Oom, scope, message });
        }
    }

    fn kills_rose(&self, unit: &UnitFigures) -> bool {
        let before = self.before.filter(|it| it.boot == self.found.boot);
        let before = before.and_then(|it| it.units.iter().find(|it| it.unit == unit.unit));
        let same = before.filter(|it| it.started_micros == unit.started_micros);
        same.is_some_and(|it| it.kills.is_some() && it.kills < unit.kills)
    }

    fn not_collected(&mut self, scope: &Scope, why: &str) {
        self.out.outcome = Outcome::Partly;
        let message = format!("not collected: {why}");
        self.out.signs.push(Sign { kind: AnomalyKind::CollectionFailure, scope: scope.clone(), message });
    }

    /// Of the host every window, of a unit the one that is decided by; the others are in the snapshot.
    fn pressure(&mut self, it: &Pressure) {
        let resource = match it.resource.as_str() {
            "memory" => Resource::Memory,
            "cpu" => Resource::Cpu,
            "io" => Resource::Io,
            _ => return,
        };
        let scope = match &it.unit {
            None => Scope::Host,
            Some(unit) => match Scope::unit(unit.as_str()) {
                Ok(scope) => scope,
                Err(_) => return,
            },
        };
        for (n, window) in Window::ALL.into_iter().enumerate() {
            if scope == Scope::Host || window == Window::S60 {
                let full = it.full.map(|full| full[n]);
                self.gauge(&scope, Name::Pressure(resource, Share::Some, window), Some(it.some[n]));
                self.gauge(&scope, Name::Pressure(resource, Share::Full, window), full);
            }
        }
        if resource == Resource::Memory {
            self.spike(scope, it.some[1]);
        }
    }

    fn spike(&mut self, scope: Scope, percent: f64) {
        if percent >= PSI_SPIKE {
            let message = format!("memory pressure is {percent:.1} %");
            self.out.signs.push(Sign { kind: AnomalyKind::PsiSpike, scope, message });
        } else if percent < PSI_SPIKE / 2.0 {
            self.out.well.push((AnomalyKind::PsiSpike, scope));
        }
    }

    fn entries(&mut self) {
        let found = self.found;
        for entry in &found.entries {
            let kind = if entry.out_of_memory { AnomalyKind::Oom } else { AnomalyKind::ErrorLog };
            let message = format!("{}: {}", entry.unit, entry.message);
            self.out.signs.push(Sign { kind, scope: self.scope_of(entry), message });
        }
        // What could not be read says nothing about what was not in it.
        if found.failed.iter().all(|(label, _)| label != "journal") {
            let units = self.watched.iter().filter_map(|unit| Scope::unit(unit.as_str()).ok());
            for scope in units.chain([Scope::Host]) {
                self.out.well.push((AnomalyKind::Oom, scope.clone()));
                self.out.well.push((AnomalyKind::ErrorLog, scope));
            }
        }
    }

    /// A unit that is watched, or the host.
    fn scope_of(&self, entry: &Entry) -> Scope {
        let unit = entry.unit.parse::<UnitName>().ok().filter(|unit| self.watched.contains(unit));
        unit.and_then(|unit| Scope::unit(unit.as_str()).ok()).unwrap_or(Scope::Host)
    }

    fn whole_or_not(&mut self) {
        let found = self.found;
        for (label, why) in &found.failed {
            if MANDATORY.contains(&label.as_str()) {
                self.not_collected(&Scope::Host, &format!("{label}: {why}"));
            } else if let Some(scope) =
                label.parse::<UnitName>().ok().and_then(|it| Scope::unit(it.as_str()).ok())
            {
                self.not_collected(&scope, why);
            }
        }
        if self.out.outcome == Outcome::Whole {
            self.out.well.push((AnomalyKind::CollectionFailure, Scope::Host));
        }
    }
}

#[cfg(test)]
mod tests {
    use holdfast_lifeline::BootId;
    use holdfast_metrics::{Limits, Metrics};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    fn found() -> Collected {
        let unit = UnitFigures {
            unit: "web.service".parse().unwrap(),
            active: true,
            memory: Some(4096),
            memory_peak: None,
            cpu_nanos: Some(1000),
            throttled_micros: Some(0),
            periods: None,
            periods_throttled: None,
            nice: None,
            restarts: Some(0),
            kills: Some(1),
            started_micros: Some(5),
        };
        let pressure = |unit: Option<&str>, some: f64| Pressure {
            unit: unit.map(|it| it.parse().unwrap()),
            resource: "memory".to_owned(),
            some: [some; 3],
            full: None,
        };
        Collected {
            boot: Some(BootId(1)),
            generation: Some(4),
            units: vec![unit],
            pressure: vec![pressure(None, 1.0), pressure(Some("web.service"), 31.0)],
            memory_total: Some(1),
            load: Some(0.5),
            ..Collected::default()
        }
    }

    fn observed(found: &Collected, before: Option<&Collected>) -> Observation {
        let seen = Seen { target: "web-1", at: at(0), inside: Ok(found), outside: &[], before };
        observation(seen, &str::to_owned)
    }

    fn signs(observation: &Observation) -> Vec<(AnomalyKind, String)> {
        observation.signs.iter().map(|sign| (sign.kind, sign.scope.to_string())).collect()
    }

    #[test]
    fn what_is_wrong_is_told_by_kind_and_by_whose_it_is() {
        let web = || "unit/web.service".to_owned();
        assert_eq!(signs(&observed(&found(), None)), [(AnomalyKind::PsiSpike, web())]);
        let entry = |unit: &str, out_of_memory| Entry {
            at_micros: 1,
            priority: 3,
            unit: unit.to_owned(),
            message: "m".to_owned(),
            out_of_memory,
        };
        let mut now = found();
        now.pressure.clear();
        now.entries =
            vec![entry("web.service", true), entry("other.service", false), entry("web.service", false)];
        let expected = [
            (AnomalyKind::Oom, web()),
            (AnomalyKind::ErrorLog, "host".to_owned()),
            (AnomalyKind::ErrorLog, web()),
        ];
        assert_eq!(signs(&observed(&now, None)), expected);
        // A kill that only the kernel counts.
        let mut later = now.clone();
        later.entries.clear();
        later.units[0].kills = Some(2);
        assert_eq!(signs(&observed(&later, Some(&now))), [(AnomalyKind::Oom, web())]);
        later.units[0].started_micros = Some(6);
        assert_eq!(signs(&observed(&later, Some(&now))), []);
    }

    // shows: STW-059
    #[test]
    fn a_unit_without_memory_or_processor_time_is_not_stored_and_is_an_anomaly() {
        for (memory, cpu) in [(None, Some(1)), (Some(1), None), (None, None)] {
            let mut found = found();
            (found.units[0].memory, found.units[0].cpu_nanos) = (memory, cpu);
            let observation = observed(&found, None);
            assert_eq!(observation.outcome, Outcome::Partly);
            assert!(
                signs(&observation)
                    .contains(&(AnomalyKind::CollectionFailure, "unit/web.service".to_owned()))
            );
            let of_unit = |metric: &Metric| matches!(metric.name(), Name::Memory | Name::Cpu);
            assert!(!observation.gauges.iter().any(|(metric, _)| of_unit(metric)));
            assert!(!observation.counters.iter().any(|(metric, _)| of_unit(metric)));
        }
    }

    // shows: STW-371
    #[test]
    fn a_collection_is_a_success_without_the_journal_and_not_without_its_units() {
        let outcome = |label: &str| {
            let mut found = found();
            found.failed.push((label.to_owned(), "no".to_owned()));
            observed(&found, None).outcome
        };
        let expected = [Outcome::Whole, Outcome::Whole, Outcome::Partly, Outcome::Partly, Outcome::Partly];
        assert_eq!(["journal", "free space", "boot", "units", "db.service"].map(outcome), expected);
        assert_eq!(observed(&found(), None).outcome, Outcome::Whole);
        // Both figures, as whoever asks for the health gets them.
        let folder = tempfile::tempdir().unwrap();
        let clock = holdfast_testkit::TestClock::at(holdfast_testkit::house::NOON);
        let (metrics, _) =
            Metrics::open(&folder.path().join("metrics.db"), Limits::default(), &clock).unwrap();
        for (seconds, labels, last) in
            [(0, vec![], 0), (120, vec!["boot", "journal"], 0), (240, vec!["journal"], 240)]
        {
            let mut found = found();
            found.failed = labels.iter().map(|label| (String::from(*label), "no".to_owned())).collect();
            let seen = Seen { target: "t", at: at(seconds), inside: Ok(&found), outside: &[], before: None };
            metrics.record(&observation(seen, &str::to_owned)).unwrap();
            let (failures, _) = metrics.failures_of_last("t").unwrap().unwrap();
            assert_eq!((failures, metrics.last_success("t").unwrap()), (labels.len() as u64, Some(at(last))));
        }
    }

    // shows: STW-003, STW-065
    #[test]
    fn a_target_that_is_not_reached_still_has_what_is_seen_from_outside() {
        let outside = [Endpoint { name: "https://a/".to_owned(), healthy: false, latency_ms: None }];
        let seen =
            Seen { target: "web-1", at: at(0), inside: Err("no route"), outside: &outside, before: None };
        let observation = observation(seen, &str::to_owned);
        assert_eq!(observation.outcome, Outcome::Unreached);
        assert_eq!(observation.snapshot["inside"], serde_json::Value::Null);
        assert_eq!(observation.snapshot["inside_missing"], "no route");
        assert_eq!(observation.snapshot["outside"][0]["healthy"], false);
        assert!(signs(&observation).contains(&(AnomalyKind::HealthFail, "host".to_owned())));
        let folder = tempfile::tempdir().unwrap();
        let clock = holdfast_testkit::TestClock::at(holdfast_testkit::house::NOON);
        let (metrics, _) =
            Metrics::open(&folder.path().join("metrics.db"), Limits::default(), &clock).unwrap();
        metrics.record(&observation).unwrap();
        let (_, snapshot) = metrics.snapshot("web-1", at(0)).unwrap().unwrap();
        assert_eq!(snapshot, observation.snapshot);
        assert_eq!(metrics.endpoint("web-1", "https://a/", at(0)..at(1)).unwrap().len(), 1);
    }

    // shows: STW-382
    #[test]
    fn what_a_target_wrote_is_screened_before_it_is_kept() {
        let mut found = found();
        found.entries = vec![Entry {
            at_micros: 1,
            priority: 3,
            unit: "web.service".to_owned(),
            message: "password is hunter2".to_owned(),
            out_of_memory: false,
        }];
        found.failed = vec![("journal".to_owned(), "hunter2 refused".to_owned())];
        let seen = Seen { target: "t", at: at(0), inside: Ok(&found), outside: &[], before: None };
        let kept = observation(seen, &|text| text.replace("hunter2", "[redacted]"));
        assert!(!format!("{kept:?}").contains("hunter2"));
    }

    #[test]
    fn a_snapshot_reads_back_as_the_collection_it_was() {
        let observation = observed(&found(), None);
        let inside: Collected = serde_json::from_value(observation.snapshot["inside"].clone()).unwrap();
        assert_eq!(inside, found());
    }
}
