//! What is counted: recall at 1, 5, 10, 20 and the reciprocal rank.

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
