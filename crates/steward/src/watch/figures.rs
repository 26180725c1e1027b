//! The metrics of a host: which there are, where each is read, and how it is named and written for people.

use super::sighting::{Sighting, UNITS_MAX};
use crate::sample::{Metric, Quantity, Scope, Window};
use crate::setting::UnitName;

/// What is watched: waiting for memory on the host as a whole, and of each managed service its memory, how often its quota stops
/// it, and how long it takes to answer.
pub fn metrics(managed: &[UnitName]) -> Vec<Metric> {
    let of_one = |unit: &UnitName| {
        [Quantity::MemoryCurrent, Quantity::CpuThrottled, Quantity::Latency]
            .into_iter()
            .filter_map(|quantity| Metric::new(Scope::Unit(unit.clone()), quantity, Window::None))
            .collect::<Vec<_>>()
    };
    std::iter::once(Metric::primary()).chain(managed.iter().take(UNITS_MAX).flat_map(of_one)).collect()
}

/// What it reads now; nothing where the host does not have it.
pub fn figure(metric: &Metric, seen: &Sighting) -> Option<f64> {
    let unit = match metric.scope() {
        Scope::Host => None,
        Scope::Unit(unit) => Some(seen.unit(unit)?),
    };
    match (metric.quantity(), unit) {
        (Quantity::PsiMemSome, None) => seen.pressure,
        (Quantity::PsiMemSome, Some(unit)) => unit.pressure,
        (Quantity::PsiMemFull, Some(unit)) => unit.pressure_full,
        (Quantity::MemoryCurrent, Some(unit)) => unit.memory.map(|bytes| bytes as f64),
        (Quantity::CpuUse, Some(unit)) => unit.cpu_use,
        (Quantity::CpuThrottled, Some(unit)) => unit.throttled,
        (Quantity::Latency, Some(unit)) => unit.latency,
        _ => None,
    }
}

/// What a proposal may speak of, as a mean over these collections; nothing where a metric was in none of them.
pub fn means(managed: &[UnitName], seen: &[&Sighting]) -> Vec<(Metric, f64)> {
    let pressure =
        |unit: &UnitName| Metric::new(Scope::Unit(unit.clone()), Quantity::PsiMemSome, Window::Avg60);
    let all = metrics(managed).into_iter().chain(managed.iter().take(UNITS_MAX).filter_map(pressure));
    let mean = |metric: Metric| {
        let (sum, count) = seen
            .iter()
            .filter_map(|one| figure(&metric, one))
            .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        (count > 0).then(|| (metric, sum / f64::from(count)))
    };
    all.filter_map(mean).collect()
}

/// How people call it: "Memory pressure", "Latency of task-runner.service".
pub fn name(metric: &Metric) -> String {
    let what = match metric.quantity() {
        Quantity::PsiMemSome => "memory pressure",
        Quantity::PsiMemFull => "full memory pressure",
        Quantity::MemoryCurrent => "memory",
        Quantity::CpuUse => "processor use",
        Quantity::CpuThrottled => "throttling",
        Quantity::Restarts => "restarts",
        Quantity::OomKills => "kills",
        Quantity::Latency => "latency",
        Quantity::Throughput => "throughput",
    };
    match metric.scope() {
        Scope::Host => what.to_owned(),
        Scope::Unit(unit) => format!("{what} of {unit}"),
    }
}

/// A figure of it with its unit.
pub fn shown(metric: &Metric, value: f64) -> String {
    match metric.quantity() {
        Quantity::PsiMemSome | Quantity::PsiMemFull => format!("{value:.0} %"),
        Quantity::CpuThrottled => format!("{:.0} %", value * 100.0),
        Quantity::MemoryCurrent => format!("{:.0} MiB", value / f64::from(1 << 20)),
        Quantity::Latency => format!("{value:.0} ms"),
        Quantity::CpuUse => format!("{value:.2} processors"),
        Quantity::Restarts | Quantity::OomKills | Quantity::Throughput => format!("{value:.2} a second"),
    }
}

/// By how much it must be away from what is usual before anybody would notice, in its own unit.
pub fn noticeable(metric: &Metric, usual: f64) -> f64 {
    match metric.quantity() {
        Quantity::PsiMemSome | Quantity::PsiMemFull => 2.0,
        Quantity::CpuThrottled => 0.03,
        Quantity::MemoryCurrent
        | Quantity::CpuUse
        | Quantity::Restarts
        | Quantity::OomKills
        | Quantity::Latency
        | Quantity::Throughput => 0.15 * usual.abs(),
    }
}

/// The spread is never taken for less, in its own unit: a figure that is nothing as long as all is well would otherwise alarm
/// at its first stir. A quarter of what anybody would notice.
pub(super) fn floor(metric: &Metric) -> f64 {
    noticeable(metric, 0.0) / 4.0
}

/// Whether more of it is bad in itself. Memory in use is not: it is there to be used.
pub(super) fn hurts(metric: &Metric) -> bool {
    match metric.quantity() {
        Quantity::PsiMemSome
        | Quantity::PsiMemFull
        | Quantity::CpuThrottled
        | Quantity::Restarts
        | Quantity::OomKills
        | Quantity::Latency => true,
        Quantity::MemoryCurrent | Quantity::CpuUse | Quantity::Throughput => false,
    }
}
