//! What was collected of a target, for whoever asks. A daemon has the figures open; without one the office opens them itself.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_control::{
    Answer, StewardAnomaly, StewardFailed, StewardGap, StewardHour, StewardMetrics, StewardUnit,
};
use holdfast_metrics::{
    Anomaly, Failed, Metric, Metrics, Name, Report, Resource, Scope, Share, UnitReport, Window,
};
use holdfast_types::Timestamp;

use super::Office;
use crate::problem::Result;
use crate::steward::{places_of, which};

/// In microseconds.
const HOUR: i64 = 3_600_000_000;
const DAY: Duration = Duration::from_secs(86_400);
/// Hours are kept this long.
const DAYS_MAX: u32 = 400;

impl Office {
    pub(super) fn steward_metrics(&self, target: Option<&str>, days: u32) -> Result<Answer> {
        let places = places_of(&self.config().config.steward, &self.journal.origin().to_string());
        let target = which(&places, target)?;
        Ok(Answer::StewardMetrics(Box::new(self.metrics_of(&target, days)?)))
    }

    /// What was collected of a target over so many days.
    pub(crate) fn metrics_of(&self, target: &str, days: u32) -> Result<StewardMetrics> {
        let now = self.clock.now();
        let from = now.as_micros().saturating_sub((DAY * days.clamp(1, DAYS_MAX)).as_micros() as i64);
        let from = Timestamp::from_micros(from).unwrap_or(Timestamp::EPOCH);
        told(self.metrics()?, target, from, now)
    }
}

fn told(metrics: &Metrics, target: &str, from: Timestamp, now: Timestamp) -> Result<StewardMetrics> {
    let Report {
        target,
        from,
        to,
        observations,
        psi_mem_some,
        units,
        gaps,
        gaps_left_off,
        gap_seconds,
        gaps_known_from,
    } = metrics.report(target, from..now)?;
    let (failures, failed) = metrics.failures_of_last(&target)?.unwrap_or_default();
    let unit = |unit: UnitReport| {
        let UnitReport { unit, memory_mib, cpu, psi_mem_some, samples } = unit;
        StewardUnit { unit, memory_mib, cpu, psi_mem_some, samples }
    };
    let anomaly = |it: Anomaly| StewardAnomaly {
        kind: it.kind.to_string(),
        scope: it.scope.to_string(),
        message: it.message,
        since: it.detected_at,
        times: it.times,
    };
    Ok(StewardMetrics {
        observations,
        last_success: metrics.last_success(&target)?,
        stale: metrics.staleness(&target, now)?.is_stale(),
        failures,
        failed: failed.into_iter().map(|Failed { label, why }| StewardFailed { label, why }).collect(),
        psi_mem_some,
        hours: hours(metrics, &target, from, to)?,
        units: units.into_iter().map(unit).collect(),
        gaps: gaps.into_iter().map(|gap| StewardGap { from: gap.from, to: gap.to }).collect(),
        gaps_left_off,
        gap_seconds,
        gaps_known_from,
        anomalies: metrics.open_anomalies(&target)?.into_iter().map(anomaly).collect(),
        target,
        from,
        to,
    })
}

/// The host's memory pressure, hour by hour: of what is still there as it came, and of what was rolled up before.
fn hours(metrics: &Metrics, target: &str, from: Timestamp, to: Timestamp) -> Result<Vec<StewardHour>> {
    let name = Name::Pressure(Resource::Memory, Share::Some, Window::S60);
    let Ok(metric) = Metric::new(Scope::Host, name) else { return Ok(Vec::new()) };
    let mut hours: BTreeMap<Timestamp, (f64, f64, f64)> = BTreeMap::new();
    for point in metrics.series(target, &metric, from..to)? {
        let begins = point.at.as_micros().div_euclid(HOUR) * HOUR;
        let Ok(begins) = Timestamp::from_micros(begins) else { continue };
        let (sum, count, max) = hours.entry(begins).or_insert((0.0, 0.0, f64::MIN));
        (*sum, *count, *max) = (*sum + point.value, *count + 1.0, max.max(point.value));
    }
    let mut told: BTreeMap<Timestamp, StewardHour> = BTreeMap::new();
    for hour in metrics.hourly(target, &metric, from..to)? {
        told.insert(hour.from, StewardHour { from: hour.from, mean: hour.mean, max: hour.max });
    }
    for (from, (sum, count, max)) in hours {
        told.entry(from).or_insert(StewardHour { from, mean: sum / count, max });
    }
    Ok(told.into_values().collect())
}
