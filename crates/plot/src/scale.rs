//! Ranges, ticks and numbers: how values and times become positions and labels, and how many points become few.

use crate::figure::{Figure, Point, Series};

/// Values beyond this are drawn at it. Far from where a difference of two would overflow.
const VALUE_MAX: f64 = 1e300;

/// Values and times that are in sight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Frame {
    pub(crate) fn of(figure: &Figure) -> Frame {
        let (from_ms, to_ms) = times(figure);
        let (low, high) = values(figure, (from_ms, to_ms));
        Frame { from_ms, to_ms, low, high }
    }

    /// Where a time lies, from 0 at the left to 1 at the right; nothing outside.
    pub(crate) fn across(&self, at_ms: i64) -> Option<f64> {
        if at_ms < self.from_ms || at_ms > self.to_ms {
            return None;
        }
        let whole = self.to_ms.saturating_sub(self.from_ms).max(1) as f64;
        Some(at_ms.saturating_sub(self.from_ms) as f64 / whole)
    }

    /// Where a value lies, from 0 at the bottom to 1 at the top; held at the edge.
    pub(crate) fn up(&self, value: f64) -> f64 {
        ((held(value) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

fn held(value: f64) -> f64 {
    value.clamp(-VALUE_MAX, VALUE_MAX)
}

fn times(figure: &Figure) -> (i64, i64) {
    let points = || figure.series.iter().flat_map(Series::in_order).map(|point| point.at_ms);
    let all = points().min().zip(points().max());
    let (from, to) = figure.span_ms.or(all).unwrap_or((0, 0));
    (from, to.max(from.saturating_add(1)))
}

fn values(figure: &Figure, (from, to): (i64, i64)) -> (f64, f64) {
    let seen = figure.series.iter().flat_map(Series::in_order);
    let seen = seen.filter(|point| (from..=to).contains(&point.at_ms)).filter_map(|point| point.number());
    let band = figure.band.iter().flat_map(|band| [band.low, band.high]);
    let least = figure.least.iter().flat_map(|(low, high)| [*low, *high]);
    let line = figure.threshold.iter().map(|threshold| threshold.value);
    let all = seen.chain(band).chain(least).chain(line).filter(|value| value.is_finite()).map(held);
    let (low, high) =
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let span = high - low;
    // Where nothing differs, or by less than a double can tell apart, the value is drawn in the middle of something.
    if span <= low.abs().max(high.abs()) * 1e-9 || span < f64::MIN_POSITIVE {
        let room = low.abs().max(1.0) * 0.5;
        return (low - room, high + room);
    }
    (low, high)
}

/// Round values within a range, at most `most` of them: a step of 1, 2 or 5 times a power of ten.
pub(crate) fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let most = most.max(2);
    let raw = (high - low) / (most - 1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    if !raw.is_finite() || !power.is_finite() || power <= 0.0 {
        return vec![low, high];
    }
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(raw);
    let first = (low / step).ceil();
    let ticks: Vec<f64> = (0..=most)
        .map(|n| (first + n as f64) * step)
        .take_while(|tick| *tick <= high + step * 1e-9)
        // Minus zero is no label.
        .map(|tick| if tick.abs() < step * 1e-9 { 0.0 } else { tick })
        .collect();
    if ticks.is_empty() { vec![low, high] } else { ticks }
}

/// A number as people read it: few digits, and powers of ten where it would be long.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = match size {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e6).contains(&size) => return format!("{value:.1e}"),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    };
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    short.replacen('-', "−", 1)
}

/// `4:12`, `1:04:12`: minutes and seconds that are left.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Steps between labelled times, in seconds.
const TIME_STEPS: [i64; 16] =
    [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800];

/// Times to label, with their labels: whole steps before and after `now`.
pub(crate) fn time_ticks(frame: &Frame, now_ms: i64, most: usize) -> Vec<(i64, String)> {
    let whole = frame.to_ms.saturating_sub(frame.from_ms);
    let most = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let fits = |step: &i64| whole / step.saturating_mul(1000) < most;
    let step = TIME_STEPS.iter().copied().find(fits).unwrap_or_else(|| whole / 1000 / most + 1);
    let step = step.saturating_mul(1000);
    let first = frame.from_ms.saturating_sub(now_ms).div_euclid(step);
    let mut ticks = Vec::new();
    for n in 0..=most.saturating_add(1) {
        let offset = first.saturating_add(n).saturating_mul(step);
        let at = now_ms.saturating_add(offset);
        if at >= frame.from_ms && at <= frame.to_ms {
            ticks.push((at, relative(offset)));
        }
    }
    ticks
}

fn relative(offset_ms: i64) -> String {
    if offset_ms == 0 {
        return "now".to_owned();
    }
    let seconds = offset_ms.unsigned_abs() / 1000;
    let sign = if offset_ms < 0 { "−" } else { "+" };
    let (n, unit) = match seconds {
        s if s % 86_400 == 0 => (s / 86_400, "d"),
        s if s % 3_600 == 0 => (s / 3_600, "h"),
        s if s % 60 == 0 => (s / 60, "min"),
        s => (s, "s"),
    };
    format!("{sign}{n} {unit}")
}

/// What fell into one column of a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) at: usize,
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether the line goes on from the column before.
    pub(crate) joined: bool,
}

/// The columns that have something, from left to right. However many points fall into one, its extremes stay.
pub(crate) fn columns(series: &Series, frame: &Frame, count: usize) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut before: Option<Point> = None;
    for point in series.in_order() {
        let Some(value) = point.number().map(held) else {
            before = None;
            continue;
        };
        let Some(across) = frame.across(point.at_ms) else { continue };
        let joined = before.is_some_and(|before| series.joins(before.at_ms, point.at_ms));
        before = Some(point);
        let at = (across * count.saturating_sub(1) as f64).round() as usize;
        match columns.last_mut().filter(|column| column.at == at) {
            Some(column) => {
                column.last = value;
                column.low = column.low.min(value);
                column.high = column.high.max(value);
            }
            None => {
                columns.push(Column { at, first: value, last: value, low: value, high: value, joined });
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (low, high, most, expected) in [
            (0.0, 30.0, 4, vec![0.0, 10.0, 20.0, 30.0]),
            (0.0, 1.0, 3, vec![0.0, 0.5, 1.0]),
            (-7.0, 7.0, 3, vec![0.0]),
            (3.0, 24.0, 5, vec![10.0, 20.0]),
        ] {
            assert_eq!(ticks(low, high, most), expected, "{low} to {high}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (6.04, "6"),
            (21.46, "21.5"),
            (-3.25, "−3.2"),
            (1234.5, "1234"),
            (0.0125, "0.013"),
            (1e300, "1.0e300"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn what_is_left_reads_as_a_clock() {
        for (seconds, text) in [(0, "0:00"), (72, "1:12"), (252, "4:12"), (3852, "1:04:12")] {
            assert_eq!(clock(seconds), text);
        }
    }

    #[test]
    fn extremes_survive_the_sampling_down() {
        let points: Vec<Point> = (0..100_000)
            .map(|n| Point { at_ms: n, value: Some(if n == 50_123 { 99.0 } else { (n % 7) as f64 }) })
            .collect();
        let series = Series { points, ..Series::default() };
        let frame = Frame { from_ms: 0, to_ms: 99_999, low: 0.0, high: 99.0 };
        let columns = columns(&series, &frame, 80);
        assert_eq!(columns.len(), 80);
        assert_eq!(columns.iter().map(|column| column.high).fold(0.0, f64::max), 99.0);
        assert!(columns.iter().all(|column| column.low == 0.0));
    }

    #[test]
    fn a_gap_is_not_joined() {
        let at = |at_ms, value| Point { at_ms, value };
        let points = vec![
            at(0, Some(1.0)),
            at(10, None),
            at(20, Some(1.0)),
            at(30, Some(f64::NAN)),
            at(40, Some(2.0)),
        ];
        let series = Series { points, ..Series::default() };
        let frame = Frame { from_ms: 0, to_ms: 40, low: 0.0, high: 2.0 };
        assert!(columns(&series, &frame, 41).iter().all(|column| !column.joined));
    }
}
