//! The best partition of a series into levels and lines, computed exactly.
//!
//! The boundaries to choose among are given. The work grows with their square, so [`super::screen`] keeps them few.

use super::cost::{Costs, Left};
use super::select::{Segment, Shape};

/// What every stretch between two of the given boundaries leaves.
#[derive(Debug)]
pub(super) struct Table {
    left: Vec<Left>,
    /// Where the row of each boundary begins: row `until` holds the stretches that end there.
    rows: Vec<usize>,
}

impl Table {
    pub(super) fn new(costs: &Costs<'_>, boundaries: &[usize]) -> Table {
        let mut left = Vec::with_capacity(boundaries.len() * boundaries.len() / 2);
        let mut rows = Vec::with_capacity(boundaries.len());
        for (number, until) in boundaries.iter().enumerate() {
            rows.push(left.len());
            left.extend(boundaries[..number].iter().map(|from| costs.left(*from, *until)));
        }
        Table { left, rows }
    }

    #[inline]
    fn row(&self, until: usize) -> &[Left] {
        &self.left[self.rows[until]..self.rows[until] + until]
    }
}

/// What has to be paid, in the unit of what is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) change: f64,
    pub(super) slope: f64,
    pub(super) min_length: usize,
}

/// The cheapest partition with its boundaries among those given (the first is 0, the last the length).
pub(super) fn best(table: &Table, boundaries: &[usize], prices: &Prices) -> Vec<Segment> {
    let mut least = vec![f64::INFINITY; boundaries.len()];
    let mut before = vec![(0, Shape::Level); boundaries.len()];
    least[0] = -prices.change;
    for until in 1..boundaries.len() {
        let mut cheapest = f64::INFINITY;
        for (from, left) in table.row(until).iter().enumerate() {
            if boundaries[until] - boundaries[from] < prices.min_length {
                break;
            }
            let cost = least[from] + prices.change + left.level.min(left.line + prices.slope);
            if cost < cheapest {
                cheapest = cost;
                let shape = if left.level <= left.line + prices.slope { Shape::Level } else { Shape::Line };
                before[until] = (from, shape);
            }
        }
        least[until] = cheapest;
    }
    traced(boundaries, &before)
}

fn traced(boundaries: &[usize], before: &[(usize, Shape)]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut until = boundaries.len() - 1;
    while until > 0 {
        let (from, shape) = before[until];
        segments.push(Segment { from: boundaries[from], until: boundaries[until], shape });
        until = from;
    }
    segments.reverse();
    segments
}
