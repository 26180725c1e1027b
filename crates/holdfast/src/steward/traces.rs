//! What was measured on a target lately, kept for whoever wants to see it drawn: a day of each metric that is watched, what is normal
//! there, and what changed.
//!
//! It is shared between the worker that measures and whoever shows it, so that nobody who looks waits for a target that takes its time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_plot::{Band, Figure, Mark, Point, Series};
use holdfast_steward::sample::{Metric, Quantity};
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::{COLLECT_EVERY, Noticed, Sighting, Watch, figure, metrics, name};

/// A day of collections.
const ROWS_MAX: usize = 720;
/// Points further apart than this are not joined: two collections were missed.
const GAP: Duration = Duration::from_secs(3 * COLLECT_EVERY.as_secs());

/// A handle on the traces of one target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traces(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    metrics: Vec<Metric>,
    rows: VecDeque<(Steady, Vec<Option<f64>>)>,
    usual: Vec<Option<(f64, f64)>>,
    noticed: Option<Noticed>,
}

/// The latest of the primary metric, for a line in a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spark {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    /// Oldest first.
    pub(crate) values: Vec<Option<f64>>,
    pub(crate) normal: Option<Band>,
}

impl Traces {
    /// Begins anew, for a worker that begins anew.
    pub(super) fn begin(&self, managed: &[UnitName]) {
        let metrics = metrics(managed);
        *self.kept() = Kept { usual: vec![None; metrics.len()], metrics, ..Kept::default() };
    }

    pub(super) fn add(&self, at: Steady, seen: &Sighting) {
        let mut kept = self.kept();
        let values = kept.metrics.iter().map(|metric| figure(metric, seen).map(|it| it * scale(metric)));
        let row = (at, values.collect());
        kept.rows.push_back(row);
        let surplus = kept.rows.len().saturating_sub(ROWS_MAX);
        kept.rows.drain(..surplus);
    }

    /// What is normal now, and what is not.
    pub(super) fn judge(&self, watch: Option<&Watch>, noticed: Option<Noticed>) {
        let mut kept = self.kept();
        let usual = |metric: &Metric| {
            let (low, high) = watch?.usual(metric)?;
            Some((low * scale(metric), high * scale(metric)))
        };
        kept.usual = kept.metrics.iter().map(usual).collect();
        kept.noticed = noticed;
    }

    /// Every metric that was ever measured, drawn.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let kept = self.kept();
        let measured = |at: &usize| kept.rows.iter().any(|(_, values)| values[*at].is_some());
        (0..kept.metrics.len()).filter(measured).map(|at| kept.figure(at)).collect()
    }

    /// The last so many of the primary metric.
    pub(crate) fn spark(&self, points: usize) -> Spark {
        let kept = self.kept();
        let Some(primary) = kept.metrics.first() else { return Spark::default() };
        let from = kept.rows.len().saturating_sub(points);
        let values = kept.rows.iter().skip(from).map(|(_, values)| values[0]).collect();
        Spark { metric: name(primary), unit: unit(primary), values, normal: kept.band(0) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Every change of it is whole: a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Nothing that is measured here is ever below nothing.
    fn band(&self, at: usize) -> Option<Band> {
        self.usual[at].map(|(low, high)| Band { low: low.max(0.0), high })
    }

    fn figure(&self, at: usize) -> Figure {
        let metric = &self.metrics[at];
        let point =
            |(then, values): &(Steady, Vec<Option<f64>>)| Point { at_ms: millis(*then), value: values[at] };
        let told = self.noticed.as_ref().filter(|noticed| noticed.metrics.contains(metric));
        Figure {
            title: name(metric),
            sentence: told.map(|noticed| noticed.sentence.clone()),
            series: vec![Series {
                name: name(metric),
                points: self.rows.iter().map(point).collect(),
                gap_after_ms: Some(GAP.as_millis() as i64),
            }],
            band: self.band(at),
            began: told
                .map(|noticed| Mark { at_ms: millis(noticed.began), word: "the change began".to_owned() }),
            unit: unit(metric).to_owned(),
            least: Some((0.0, 1.0)),
            now_ms: self.rows.back().map(|(then, _)| millis(*then)),
            ..Figure::default()
        }
    }
}

fn millis(at: Steady) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// What people read it in.
fn unit(metric: &Metric) -> &'static str {
    match metric.quantity() {
        Quantity::PsiMemSome | Quantity::PsiMemFull | Quantity::CpuThrottled => "%",
        Quantity::MemoryCurrent => "MiB",
        Quantity::Latency => "ms",
        Quantity::CpuUse => "processors",
        Quantity::Restarts | Quantity::OomKills | Quantity::Throughput => "a second",
    }
}

/// From what is measured to what people read.
fn scale(metric: &Metric) -> f64 {
    match metric.quantity() {
        Quantity::CpuThrottled => 100.0,
        Quantity::MemoryCurrent => 1.0 / f64::from(1 << 20),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pressure: f64) -> Sighting {
        Sighting { pressure: Some(pressure), ..Sighting::default() }
    }

    #[test]
    fn a_day_is_kept_and_drawn_with_what_is_normal_and_where_a_change_began() {
        let traces = Traces::default();
        assert_eq!(traces.spark(8), Spark::default(), "before anything was measured");
        traces.begin(&["web.service".parse().unwrap()]);
        let at = |n: u64| Steady(n * COLLECT_EVERY.as_millis() as u64);
        let watch = Watch::new(&["web.service".parse().unwrap()], &[]);
        (0..1_000).for_each(|n| traces.add(at(n), &seen((n % 7) as f64)));
        let noticed = Noticed {
            sentence: "Memory pressure on web-1 rose.".to_owned(),
            metrics: vec![Metric::primary()],
            began: at(900),
        };
        traces.judge(Some(&watch), Some(noticed));
        let figures = traces.figures();
        assert_eq!(figures.len(), 1, "what was never measured is not drawn");
        let pressure = &figures[0];
        assert_eq!(pressure.series[0].points.len(), ROWS_MAX);
        assert_eq!(pressure.began.as_ref().map(|mark| mark.at_ms), Some(millis(at(900))));
        assert_eq!(pressure.sentence.as_deref(), Some("Memory pressure on web-1 rose."));
        assert_eq!(pressure.band, None, "it has not learned yet what is normal");
        assert_eq!(traces.spark(3).values, [Some(3.0), Some(4.0), Some(5.0)]);
        traces.begin(&[]);
        assert!(traces.figures().is_empty());
    }
}
