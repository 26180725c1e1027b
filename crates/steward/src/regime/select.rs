//! Which description of the series is the shortest: how many stretches, level or line, in noise of which memory?
//!
//! For each memory from none to a random walk, and for each width of noise, the best partition is computed; the one with the least
//! deviance plus prices wins (Schwarz's criterion, with a dearer price for a boundary than for a figure because its place
//! is chosen among many). Steps in white noise and a random walk are thus two hypotheses about the same data, and neither is assumed.

use super::cost::Costs;
use super::cycle::Cycle;
use super::partition::{self, Prices, Table};
use super::{Prepared, Search, screen};

/// Memories tried. The last is a random walk for any series met in practice.
const MEMORIES: [f64; 9] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.995, 0.9995];
/// Noise narrower than this share of the variance of the whole is not visible on a plot of it (a twentieth of its spread).
pub(super) const NOISE_LEAST: f64 = 0.0025;
/// Widths of noise tried, as shares of the variance of the whole.
const WIDTHS: [f64; 11] = [0.00025, 0.0008, 0.0025, 0.006, 0.015, 0.035, 0.08, 0.18, 0.35, 0.6, 1.0];

const PRICE_OF_PHASE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Level,
    Line,
}

/// A stretch and what describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: usize,
    pub(super) until: usize,
    pub(super) shape: Shape,
}

/// A series as stretches in noise.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) segments: Vec<Segment>,
    pub(super) memory: f64,
    /// Variance of the innovations.
    pub(super) noise: f64,
    /// Deviance and prices: the length of the description.
    score: f64,
    /// How sure each change is, in the order of the segments after the first.
    pub(super) sure: Vec<f64>,
}

impl Description {
    pub(super) fn shape_at(&self, at: usize) -> Shape {
        self.segments
            .iter()
            .find(|segment| at >= segment.from && at < segment.until)
            .map_or(Shape::Level, |segment| segment.shape)
    }
}

/// What a slope has to gain: it is one more figure.
pub(super) fn price_of_slope(length: usize) -> f64 {
    2.0 * (length.max(2) as f64).ln()
}

/// The shortest description, of the series as it is or with its cycle taken out. Steps that happen to return are two
/// hypotheses as well; each phase of a cycle is a figure that has to pay (Akaike, 1974).
pub(super) fn with_or_without_cycle(
    plain: Prepared,
    cycled: Option<Prepared>,
    search: &Search,
) -> (Prepared, Description) {
    let description = best(&plain, search);
    if let Some(cycled) = cycled {
        let other = best(&cycled, search);
        let phases = cycled.cycle.as_ref().map_or(0, Cycle::figures) as f64;
        if other.score + PRICE_OF_PHASE * phases < description.score {
            return (cycled, other);
        }
    }
    (plain, description)
}

/// The shortest description.
fn best(prepared: &Prepared, search: &Search) -> Description {
    let length = prepared.len();
    let plain = Costs::new(&prepared.values, &prepared.at, 0.0);
    let boundaries = screen::boundaries(&plain, length, search.min_length);
    let mut best = Description {
        segments: vec![Segment { from: 0, until: length, shape: Shape::Level }],
        memory: 0.0,
        noise: 1.0,
        score: f64::INFINITY,
        sure: Vec::new(),
    };
    if length < 2 * search.min_length {
        return best;
    }
    for memory in MEMORIES {
        let costs = Costs::new(&prepared.values, &prepared.at, memory);
        let table = Table::new(&costs, &boundaries);
        for width in WIDTHS {
            let prices = Prices {
                change: width * price_of_change(search, memory),
                slope: width * price_of_slope(length),
                min_length: search.min_length,
            };
            let segments = partition::best(&table, &boundaries, &prices);
            let (score, noise) = judged(&costs, search, length, &segments);
            if score < best.score {
                best = Description { segments, memory, noise, score, sure: Vec::new() };
            }
        }
    }
    best
}

/// The first sample of a stretch tells little of its level when noise has a long memory: the likelihood says so too.
pub(super) fn price_of_change(search: &Search, memory: f64) -> f64 {
    search.price - (1.0 - memory * memory).ln()
}

/// The narrowest innovations believed: those of noise that is just not visible. Noise with a memory is wider than they are.
pub(super) fn noise_least(memory: f64) -> f64 {
    NOISE_LEAST * (1.0 - memory * memory)
}

/// Deviance plus prices, and the variance of the innovations. Few samples with many figures fit too well by themselves:
/// that part is added back (Hurvich and Tsai, 1989).
fn judged(costs: &Costs<'_>, search: &Search, length: usize, segments: &[Segment]) -> (f64, f64) {
    let left: f64 = segments.iter().map(|segment| left(costs, segment)).sum();
    let lines = segments.iter().filter(|segment| segment.shape == Shape::Line).count() as f64;
    let count = length as f64;
    let figures = 2.0 * segments.len() as f64 - 1.0 + lines;
    let noise = (left / (count - figures).max(1.0)).max(noise_least(costs.memory()));
    let score = count * noise.ln()
        + left / noise
        + figures * count / (count - figures - 1.0).max(1.0)
        + (segments.len() as f64 - 1.0) * price_of_change(search, costs.memory())
        - (1.0 - costs.memory() * costs.memory()).ln()
        + lines * price_of_slope(length);
    (score, noise)
}

/// What a stretch leaves as it is described.
pub(super) fn left(costs: &Costs<'_>, segment: &Segment) -> f64 {
    let left = costs.left(segment.from, segment.until);
    match segment.shape {
        Shape::Level => left.level,
        Shape::Line => left.line,
    }
}
