//! What is counted: recall at 1, 5, 10, 20 and the reciprocal rank, by category; and whether a difference is one.

/// Recall at 1, 5, 10 and 20, then the reciprocal rank of the first that is relevant.
pub(crate) type Row = [f64; 5];

const DEPTHS: [usize; 4] = [1, 5, 10, 20];

pub(crate) fn row(order: &[u64], relevant: &[u64]) -> Row {
    let ranks: Vec<usize> = relevant.iter().filter_map(|r| order.iter().position(|seq| seq == r)).collect();
    let within = |depth| ranks.iter().filter(|rank| **rank < depth).count() as f64 / relevant.len() as f64;
    let [a, b, c, d] = DEPTHS.map(within);
    [a, b, c, d, ranks.iter().min().map_or(0.0, |first| 1.0 / (1 + first) as f64)]
}

pub(crate) fn mean(rows: &[Row]) -> Row {
    let mut sum = Row::default();
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(s, value)| *s += value / rows.len() as f64);
    }
    sum
}

/// The middle 95 % of the mean difference when questions are drawn again 10,000 times.
pub(crate) fn bootstrap(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    const DRAWS: usize = 10_000;
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
    let mut state = 42_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        differences[(state >> 33) as usize % differences.len()]
    };
    let count = differences.len();
    let mut means: Vec<f64> =
        (0..DRAWS).map(|_| (0..count).map(|_| draw()).sum::<f64>() / count as f64).collect();
    means.sort_by(f64::total_cmp);
    (means[DRAWS / 40], means[DRAWS - DRAWS / 40])
}
