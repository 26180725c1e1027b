//! What was measured: metrics by name, readings that may be absent, and counters that give rates.
//!
//! Text from a target is parsed once, here. What is not set, not supported or not a number becomes [`Reading::Absent`]
//! with its reason and never a figure. Begin with [`Metric`] and [`Sample`]; a [`Summary`] is what many samples come to
//! without the intervals that were [`Marked`]; [`Snapshot`] is one whole collection.

mod log;
mod marked;
mod metric;
mod snapshot;
mod summary;

use serde::{Deserialize, Serialize};

use crate::time::Steady;

pub use log::{ERRORS_PER_SNAPSHOT_MAX, LogEntry, LogKind};
pub use marked::{Interval, MARKS_MAX, Marked, Why};
pub use metric::{Metric, MetricError, Quantity, Scope, Window};
pub use snapshot::{
    Active, Endpoint, Failure, Figures, Freshness, HostPressure, Need, STALE_AFTER, Service, Snapshot,
};
pub use summary::{NotASummary, Span, Summary};

holdfast_types::names! {
    /// An endpoint as the monitor calls it: `box-1-openclaw`, `steward/collector`.
    EndpointName, "endpoint", is_endpoint,
        "an endpoint is 1 to 128 characters of a-z A-Z 0-9 . _ / : @ -, starting with a letter or digit";
    /// The label of one read of a collection: `memory of task-runner.service`.
    Label, "label", is_label,
        "a label is 1 to 160 printable ASCII characters";
}

fn is_endpoint(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/:@-".contains(&b))
}

fn is_label(text: &str) -> bool {
    (1..=160).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// Why there is no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    /// The target says that nothing is set or accounted.
    NotSet,
    /// The target cannot tell: no such file, no such controller.
    Unsupported,
    /// The read failed.
    NotRead,
    /// What came back is no figure.
    Malformed,
    /// A rate needs two values of one series, and this is the first.
    FirstOfSeries,
}

/// A figure, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading<T> {
    Known(T),
    Absent(Absent),
}

impl<T: Copy> Reading<T> {
    pub fn known(self) -> Option<T> {
        match self {
            Reading::Known(value) => Some(value),
            Reading::Absent(_) => None,
        }
    }
}

/// One reading of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub at: Steady,
    reading: Reading<f64>,
}

impl Sample {
    /// A number that is infinite or not one is malformed, so whatever a sample gives can be reckoned with.
    pub fn known(at: Steady, value: f64) -> Sample {
        let reading =
            if value.is_finite() { Reading::Known(value) } else { Reading::Absent(Absent::Malformed) };
        Sample { at, reading }
    }

    pub fn absent(at: Steady, why: Absent) -> Sample {
        Sample { at, reading: Reading::Absent(why) }
    }

    pub fn new(at: Steady, reading: Reading<f64>) -> Sample {
        match reading {
            Reading::Known(value) => Sample::known(at, value),
            Reading::Absent(why) => Sample::absent(at, why),
        }
    }

    pub fn value(&self) -> Option<f64> {
        self.reading.known()
    }

    pub fn reading(&self) -> Reading<f64> {
        self.reading
    }
}

/// Reads a count as systemd and cgroup files write it. `[not set]`, nothing at all and the all-ones value say that
/// nothing is accounted.
pub fn parse_count(text: &str) -> Reading<u64> {
    let text = text.trim_ascii();
    match text {
        "" | "[not set]" | "18446744073709551615" => Reading::Absent(Absent::NotSet),
        "[no data]" => Reading::Absent(Absent::Unsupported),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().map_or(Reading::Absent(Absent::Malformed), Reading::Known)
        }
        _ => Reading::Absent(Absent::Malformed),
    }
}

/// A counter that only grows, until whatever counts is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    last: Option<(Steady, u64)>,
    series: u32,
}

/// One step of a counter: the count as read, what it grew by per second, and in which series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub count: Reading<u64>,
    pub per_second: Reading<f64>,
    pub series: u32,
}

impl Counter {
    /// Takes the next count. A decrease starts a new series, and so has no rate yet; an absent count is passed over
    /// and the next rate spans the gap.
    pub fn step(&mut self, at: Steady, count: Reading<u64>) -> Counted {
        let per_second = match count {
            Reading::Absent(why) => Reading::Absent(why),
            Reading::Known(now) => self.rate(at, now),
        };
        Counted { count, per_second, series: self.series }
    }

    fn rate(&mut self, at: Steady, now: u64) -> Reading<f64> {
        let Some((since, before)) = self.last else {
            self.last = Some((at, now));
            return Reading::Absent(Absent::FirstOfSeries);
        };
        if at <= since {
            // An answer that came late says nothing about the time since.
            return Reading::Absent(Absent::NotRead);
        }
        self.last = Some((at, now));
        if now < before {
            self.series = self.series.saturating_add(1);
            return Reading::Absent(Absent::FirstOfSeries);
        }
        Reading::Known((now - before) as f64 / at.since(since).as_secs_f64())
    }
}

/// The averages of one line of a pressure file, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Averages {
    pub avg10: f64,
    pub avg60: f64,
    pub avg300: f64,
}

/// A pressure file. Kernels that have no `full` line for a resource leave it out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pressure {
    pub some: Averages,
    pub full: Option<Averages>,
}

/// Reads `/proc/pressure/memory`, or `memory.pressure` of a cgroup. Lines and fields it does not know are passed over.
pub fn parse_pressure(text: &str) -> Reading<Pressure> {
    if text.trim_ascii().is_empty() {
        return Reading::Absent(Absent::Unsupported);
    }
    let line = |kind: &str| text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let some = line("some").and_then(parse_averages);
    let full = line("full").map(parse_averages);
    match (some, full) {
        (Some(some), None) => Reading::Known(Pressure { some, full: None }),
        (Some(some), Some(Some(full))) => Reading::Known(Pressure { some, full: Some(full) }),
        (None, _) | (Some(_), Some(None)) => Reading::Absent(Absent::Malformed),
    }
}

fn parse_averages(line: &str) -> Option<Averages> {
    let field = |name: &str| {
        let text =
            line.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        plain.then(|| text.parse::<f64>().ok()).flatten().filter(|percent| *percent <= 100.0)
    };
    Some(Averages { avg10: field("avg10")?, avg60: field("avg60")?, avg300: field("avg300")? })
}

/// Kills for want of memory, from a cgroup's `memory.events`.
pub fn parse_oom_kills(text: &str) -> Reading<u64> {
    if text.trim_ascii().is_empty() {
        return Reading::Absent(Absent::Unsupported);
    }
    match text.lines().find_map(|line| line.strip_prefix("oom_kill ")) {
        Some(count) => parse_count(count),
        None => Reading::Absent(Absent::Malformed),
    }
}

#[cfg(test)]
mod tests;
