//! From raw values to figures that can be reckoned with: finite, on a scale of their own, spikes clipped, cycle out.

use super::cycle::{self, Cycle};
use super::select::{Description, Shape};
use super::{Change, Regime, What};

/// Beyond this many widths a figure is as good as this far out; it keeps every sum finite.
const FURTHEST: f64 = 1e6;
/// A sample so many spreads from the median around it is a spike. Among a thousand normal samples, none is.
const SPIKE: f64 = 5.0;
/// Spikes are rare. Where more would be clipped the values are of a kind that jumps, and the bar is raised.
const SPIKES_SHARE_MOST: f64 = 0.04;
/// What is this many times beyond the bar is not clipped but left out: where long regimes are asked for, a short one would be told
/// by its clipped rest. F1 over the twelve kinds is the same at twice this and without it; at half, spreads are told worse (0.92
/// instead of 0.95).
const FAR_BEYOND: f64 = 2.0;
/// Half the window of the running median at most: its work grows with the window.
const HALF_WINDOW_MOST: usize = 50;

/// Less variance than this, in widths of the middle part, is rounding.
const VARIANCE_LEAST: f64 = 1e-20;

/// The samples that are there, ready to be partitioned.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// Where each sample stands in the series.
    pub(super) at: Vec<usize>,
    /// About zero, in spreads of the series with its cycle; spikes clipped, cycle taken out.
    pub(super) values: Vec<f64>,
    pub(super) cycle: Option<Cycle>,
    centre: f64,
    scale: f64,
}

impl Prepared {
    /// The series as it is, and once more with its cycle taken out, if one may be there. Both are in the same measure.
    pub(super) fn of(values: &[Option<f64>], min_length: usize) -> (Prepared, Option<Prepared>) {
        let (at, raw): (Vec<usize>, Vec<f64>) = values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| value.filter(|value| value.is_finite()).map(|value| (at, value)))
            .unzip();
        let (figures, centre, scale) = scaled(&raw);
        let half = (min_length - 1).min(HALF_WINDOW_MOST);
        let calm = without_spikes(&figures, half);
        let measure = Measure { centre, scale, variance: variance(&calm).1 };
        let cycled = cycle::found(&calm, &at, values.len()).map(|cycle| {
            let rest: Vec<f64> = figures.iter().zip(&at).map(|(figure, at)| figure - cycle.at(*at)).collect();
            measure.prepared(at.clone(), without_spikes(&rest, half), Some(cycle))
        });
        (measure.prepared(at, calm, None), cycled)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The regimes as they are told: in the place and the unit of the values that came in.
    pub(super) fn told(&self, length: usize, description: &Description, changes: &[Change]) -> Vec<Regime> {
        let mut begins = vec![Change { at: 0, what: What::First, sure: 1.0 }];
        begins.extend(changes.iter().filter(|change| change.at > 0 && change.at < self.len()));
        let place = |at: usize| if at == 0 { 0 } else { self.at.get(at).copied().unwrap_or(length) };
        (0..begins.len())
            .map(|number| {
                let change = begins[number];
                let until = begins.get(number + 1).map_or(self.len(), |next| next.at);
                let shape = description.shape_at(change.at);
                let (level, slope, spread) = self.figures(change.at, until, shape);
                Regime {
                    begins: place(change.at),
                    ends: if until == self.len() { length } else { place(until) },
                    level,
                    spread,
                    slope,
                    cycle: self.cycle.as_ref().map(Cycle::period),
                    change: change.what,
                    sure: change.sure,
                }
            })
            .collect()
    }

    fn figures(&self, from: usize, until: usize, shape: Shape) -> (f64, f64, f64) {
        let values = self.values.get(from..until).unwrap_or(&[]);
        let places = self.at.get(from..until).unwrap_or(&[]);
        if values.is_empty() {
            return (finite(self.centre), 0.0, 0.0);
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let middle = places.iter().map(|at| *at as f64).sum::<f64>() / count;
        let (mut along, mut across) = (0.0, 0.0);
        for (value, at) in values.iter().zip(places) {
            along += (*at as f64 - middle).powi(2);
            across += (*at as f64 - middle) * (value - mean);
        }
        let slope = if shape == Shape::Line && along > 0.0 { across / along } else { 0.0 };
        let rest = values
            .iter()
            .zip(places)
            .map(|(value, at)| (value - mean - slope * (*at as f64 - middle)).powi(2))
            .sum::<f64>();
        (
            finite(self.centre + mean * self.scale),
            finite(slope * self.scale),
            finite((rest / count).sqrt() * self.scale),
        )
    }
}

fn finite(figure: f64) -> f64 {
    if figure.is_nan() { 0.0 } else { figure.clamp(f64::MIN, f64::MAX) }
}

/// The values about their median, in widths of their middle part; with that median and width.
fn scaled(raw: &[f64]) -> (Vec<f64>, f64, f64) {
    if raw.is_empty() {
        return (Vec::new(), 0.0, 1.0);
    }
    let mut sorted = raw.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let centre = quantile(0.5);
    // Quarters before the difference: it must not overflow.
    let width = [(0.25, 0.75), (0.1, 0.9), (0.02, 0.98), (0.0, 1.0)]
        .into_iter()
        .map(|(low, high)| quantile(high) * 0.25 - quantile(low) * 0.25)
        .find(|width| *width > 0.0 && width.is_normal())
        .unwrap_or(1.0);
    let figures =
        raw.iter().map(|value| ((value * 0.25 - centre * 0.25) / width).clamp(-FURTHEST, FURTHEST)).collect();
    (figures, centre, finite(width * 4.0))
}

/// How figures relate to the values that came in.
struct Measure {
    centre: f64,
    scale: f64,
    /// Of the series with its cycle: that is what a plot shows.
    variance: f64,
}

impl Measure {
    /// To mean zero, in spreads of the whole. All alike stay zero.
    fn prepared(&self, at: Vec<usize>, figures: Vec<f64>, cycle: Option<Cycle>) -> Prepared {
        let mean = variance(&figures).0;
        let varies = self.variance > VARIANCE_LEAST;
        let spread = if varies { self.variance.sqrt() } else { 1.0 };
        let values =
            figures.iter().map(|figure| if varies { (figure - mean) / spread } else { 0.0 }).collect();
        Prepared { at, values, cycle, centre: self.centre + mean * self.scale, scale: self.scale * spread }
    }
}

fn variance(figures: &[f64]) -> (f64, f64) {
    let count = figures.len().max(1) as f64;
    let mean = figures.iter().sum::<f64>() / count;
    (mean, figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / count)
}

/// Puts the median around it in the place of what stands out alone. Whatever lasts longer than `half` samples is its own median and stays.
fn without_spikes(figures: &[f64], half: usize) -> Vec<f64> {
    let around = running_median(figures, half);
    let mut apart: Vec<f64> =
        figures.iter().zip(&around).map(|(figure, middle)| (figure - middle).abs()).collect();
    apart.sort_by(f64::total_cmp);
    if apart.is_empty() {
        return Vec::new();
    }
    let spread = 1.4826 * apart[apart.len() / 2];
    let kept = ((apart.len() - 1) as f64 * (1.0 - SPIKES_SHARE_MOST)).floor() as usize;
    let bar = (SPIKE * spread).max(1.5 * apart[kept]).max(1e-9);
    let calmed = |(figure, middle): (&f64, &f64)| {
        // What is far beyond the bar says nothing of the level; what is just beyond may be a corner, and is clipped.
        if (figure - middle).abs() > FAR_BEYOND * bar {
            *middle
        } else {
            figure.clamp(middle - bar, middle + bar)
        }
    };
    figures.iter().zip(&around).map(calmed).collect()
}

/// The median of each sample and `half` neighbours on both sides; at the ends of the samples nearest the end.
fn running_median(figures: &[f64], half: usize) -> Vec<f64> {
    let length = figures.len();
    let mut window = Vec::with_capacity(2 * half + 1);
    (0..length)
        .map(|at| {
            // Windows stay centred as long as they hold five, so that a slope is no spike at the ends.
            let reach = half.min(at).min(length - 1 - at).max(half.min(2));
            let from = at.saturating_sub(reach).min(length.saturating_sub(2 * reach + 1));
            let until = (from + 2 * reach + 1).min(length);
            window.clear();
            window.extend_from_slice(&figures[from..until]);
            let middle = window.len() / 2;
            *window.select_nth_unstable_by(middle, f64::total_cmp).1
        })
        .collect()
}
