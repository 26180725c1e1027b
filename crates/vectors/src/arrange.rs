//! The order of rows in a base: like beside like, so that a walk touches few pages and evenly spaced rows are a good sample.
//!
//! Some rows are pivots; every row goes to the pivot it is nearest to, and pivots are in turn arranged the same way. The order follows
//! from the codes alone.

use std::num::NonZeroUsize;

use crate::measure::Means;
use crate::shelf::Shelf;
use crate::spread::spread;
use crate::vector::WIDTH;

/// Rows for each pivot: a few pages of codes.
const ROWS_EACH: usize = 256;

/// Pivots at most: their codes fit into a processor's second cache, and comparing with them stays a small part of building.
const PIVOTS_MAX: usize = 2048;

/// Which row comes first, second, and so on.
pub(crate) fn arrange(shelf: &Shelf, threads: NonZeroUsize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..shelf.rows()).collect();
    let pivots = (order.len() / ROWS_EACH).min(PIVOTS_MAX);
    if pivots < 2 {
        return order;
    }
    let mut chosen = Shelf::default();
    for n in 0..pivots {
        let row = (n * order.len() / pivots) as u32;
        chosen.codes.extend_from_slice(shelf.code(row));
        chosen.scales.push(shelf.scales[row as usize]);
        chosen.errors.push(shelf.errors[row as usize]);
    }
    let inner = arrange(&chosen, threads);
    chosen.reorder(&inner);
    let nearest = spread(
        order.len(),
        threads,
        || vec![0.0; pivots],
        |scores, row| nearest(shelf, &chosen, row, scores),
    );
    order.sort_by(|a, b| {
        let ((a_pivot, a_score), (b_pivot, b_score)) = (nearest[*a as usize], nearest[*b as usize]);
        a_pivot.cmp(&b_pivot).then(b_score.total_cmp(&a_score))
    });
    order
}

/// The pivot a row is nearest to, and how near.
fn nearest(shelf: &Shelf, pivots: &Shelf, row: usize, scores: &mut [f32]) -> (u32, f32) {
    debug_assert_eq!(pivots.codes.len(), scores.len() * WIDTH);
    Means::best().scores_run(&shelf.probe(row as u32), &pivots.codes, &pivots.scales, scores);
    let best = scores.iter().enumerate().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
    best.map_or((0, 0.0), |(pivot, score)| (pivot as u32, *score))
}
