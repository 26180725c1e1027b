//! Did what is left over grow wider or narrower? And the list of all changes, with what each one is.

use super::cycle::Cycle;
use super::select::{Description, Segment, Shape};
use super::{Change, Prepared, Search, What};

/// A spread has to grow or shrink by this factor to be seen.
const FACTOR_LEAST: f64 = 2.0;
/// Spreads are harder to know than levels: each side needs so many samples for each that a level needs.
const LENGTHS: usize = 3;
/// Residuals further out than this many spreads count as this far: one of them is no wider spread.
const FURTHEST: f64 = 3.0;
/// What the wider side has to be of the variance of the whole: on a plot, narrower noise is a line (a tenth of the spread).
const VISIBLE_LEAST: f64 = 0.01;
/// Places tried on each side of the search; long stretches are asked in steps and set exactly afterwards.
const PLACES_MOST: usize = 2_000;
const DEPTH_MOST: usize = 12;

/// All changes in order: those of level and slope, and between them those of spread.
pub(super) fn with_changes_of_spread(
    prepared: &Prepared,
    search: &Search,
    description: &Description,
) -> Vec<Change> {
    let mut changes: Vec<Change> = described(description);
    let (squares, usual) = squares(prepared, description);
    let mut sums = vec![0.0; squares.len() + 1];
    for (at, square) in squares.iter().enumerate() {
        sums[at + 1] = sums[at] + square;
    }
    let watch = Watch {
        price: search.price * tails(&squares),
        false_alarms: search.false_alarms,
        // Nights may be calmer than days: with a cycle only whole rounds are compared.
        least: (LENGTHS * search.min_length).max(2 * prepared.cycle.as_ref().map_or(0, Cycle::period)),
        widest_least: VISIBLE_LEAST / (usual * usual),
        sums,
    };
    let what = if prepared.cycle.is_some() { What::Cycle } else { What::Spread };
    for segment in &description.segments {
        watch.split(segment.from, segment.until, DEPTH_MOST, &mut |at, sure| {
            changes.push(Change { at, what, sure })
        });
    }
    changes.sort_by_key(|change| change.at);
    changes
}

fn described(description: &Description) -> Vec<Change> {
    description
        .segments
        .windows(2)
        .zip(&description.sure)
        .map(|(pair, sure)| Change { at: pair[1].from, what: what(&pair[0], &pair[1]), sure: *sure })
        .collect()
}

fn what(before: &Segment, after: &Segment) -> What {
    if before.shape == Shape::Line || after.shape == Shape::Line { What::Slope } else { What::Level }
}

/// Squared innovations about the description, clipped, in units of their usual size; and that size.
fn squares(prepared: &Prepared, description: &Description) -> (Vec<f64>, f64) {
    let left = innovations_of(prepared, description);
    let mean = left.iter().map(|figure| figure.abs()).sum::<f64>() / left.len().max(1) as f64;
    let usual = (1.25 * mean).max(1e-9);
    let squares = left.iter().map(|figure| (figure / usual).clamp(-FURTHEST, FURTHEST).powi(2)).collect();
    (squares, usual)
}

/// What the description leaves of every sample: its innovation.
pub(super) fn innovations_of(prepared: &Prepared, description: &Description) -> Vec<f64> {
    let segments = description.segments.iter();
    segments.flat_map(|segment| innovations(prepared, segment, description.memory)).collect()
}

fn innovations(prepared: &Prepared, segment: &Segment, memory: f64) -> Vec<f64> {
    let values = &prepared.values[segment.from..segment.until];
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let along = count * (count * count - 1.0) / 12.0;
    let across: f64 =
        values.iter().enumerate().map(|(at, value)| (at as f64 - middle) * (value - mean)).sum();
    let slope = if segment.shape == Shape::Line && along > 0.0 { across / along } else { 0.0 };
    let about = |at: usize| values[at] - mean - slope * (at as f64 - middle);
    (0..values.len())
        .map(|at| {
            if at == 0 {
                about(0) * (1.0 - memory * memory).sqrt()
            } else {
                about(at) - memory * about(at - 1)
            }
        })
        .collect()
}

/// How much dearer a change of spread is when tails are heavy: squares then vary more than those of normal noise,
/// whose squares have variance 2.
fn tails(squares: &[f64]) -> f64 {
    let count = squares.len().max(1) as f64;
    let mean = squares.iter().sum::<f64>() / count;
    let variance = squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / count;
    if mean > 0.0 { (variance / (mean * mean) / 2.0).max(1.0) } else { 1.0 }
}

struct Watch {
    price: f64,
    false_alarms: f64,
    least: usize,
    /// The wider side has to be this wide, in squares.
    widest_least: f64,
    sums: Vec<f64>,
}

impl Watch {
    fn split(&self, from: usize, until: usize, depth: usize, tell: &mut impl FnMut(usize, f64)) {
        if until - from < 2 * self.least || depth == 0 {
            return;
        }
        let Some((gain, at)) = self.best(from, until) else { return };
        let (before, after) = (self.mean(from, at), self.mean(at, until));
        let factor = (before.max(after) / before.min(after).max(1e-6)).sqrt();
        if gain < self.price || factor < FACTOR_LEAST || before.max(after) < self.widest_least {
            return;
        }
        self.split(from, at, depth - 1, tell);
        tell(at, (1.0 - self.false_alarms * (-(gain - self.price) / 2.0).exp()).clamp(0.0, 1.0));
        self.split(at, until, depth - 1, tell);
    }

    fn best(&self, from: usize, until: usize) -> Option<(f64, usize)> {
        let step = ((until - from) / PLACES_MOST).max(1);
        let (low, high) = (from + self.least, until - self.least);
        let coarse = self.best_of(from, until, (low..=high).step_by(step))?;
        let near = coarse.1.saturating_sub(step).max(low)..=(coarse.1 + step).min(high);
        self.best_of(from, until, near)
    }

    fn best_of(
        &self,
        from: usize,
        until: usize,
        places: impl Iterator<Item = usize>,
    ) -> Option<(f64, usize)> {
        let whole = self.cost(from, until);
        places
            .map(|at| (whole - self.cost(from, at) - self.cost(at, until), at))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn mean(&self, from: usize, until: usize) -> f64 {
        (self.sums[until] - self.sums[from]) / (until - from).max(1) as f64
    }

    /// Deviance of normal noise of its own width.
    fn cost(&self, from: usize, until: usize) -> f64 {
        (until - from) as f64 * self.mean(from, until).max(0.01).ln()
    }
}
