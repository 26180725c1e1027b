//! What others would say: three textbook ways to find change points, each with its usual settings.

/// The first part of a series, taken as normal by [`cusum`].
const NORMAL_SHARE: f64 = 0.15;
const NORMAL_LEAST: usize = 30;
/// The allowance and threshold in spreads that textbooks begin with (Montgomery, Introduction to Statistical Quality Control).
const ALLOWANCE: f64 = 0.5;
const THRESHOLD: f64 = 5.0;

/// Two-sided CUSUM over standardised samples; mean and spread from the first 15 % (30 samples at least), begun anew after an
/// alarm. A change point is where the run that led to the alarm began.
pub fn cusum(values: &[f64]) -> Vec<usize> {
    let normal = ((values.len() as f64 * NORMAL_SHARE) as usize).max(NORMAL_LEAST).min(values.len());
    let count = normal.max(1) as f64;
    let mean = values[..normal].iter().sum::<f64>() / count;
    let variance = values[..normal].iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let spread = variance.sqrt().max(1e-12);
    let mut alarms = Vec::new();
    let (mut up, mut down) = ((0.0, 0), (0.0, 0));
    for (at, value) in values.iter().enumerate().skip(normal) {
        let deviation = (value - mean) / spread;
        up = summed(up, deviation - ALLOWANCE, at);
        down = summed(down, -deviation - ALLOWANCE, at);
        for side in [up, down] {
            if side.0 > THRESHOLD {
                alarms.push(side.1);
                (up, down) = ((0.0, at), (0.0, at));
            }
        }
    }
    alarms.sort_unstable();
    alarms.dedup();
    alarms
}

fn summed(side: (f64, usize), excess: f64, at: usize) -> (f64, usize) {
    let began = if side.0 <= 0.0 { at } else { side.1 };
    ((side.0 + excess).max(0.0), began)
}

/// The penalty of Schwarz's criterion for a new level and its place, the variance of the noise taken from differences.
pub fn schwarz_penalty(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let spread = steps.get(steps.len() / 2).copied().unwrap_or(0.0) * 1.4826 / std::f64::consts::SQRT_2;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let variance =
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64;
    2.0 * (values.len().max(2) as f64).ln() * (spread * spread).max(1e-6 * variance).max(1e-300)
}

/// Binary segmentation: the best cut first, then the best cut of what is left, until none pays.
pub fn binary_segmentation(values: &[f64], penalty: f64, min_length: usize) -> Vec<usize> {
    let squares = Squares::of(values);
    let mut cuts = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((from, until)) = open.pop() {
        let least = min_length.max(1);
        let places = from + least..(until + 1).saturating_sub(least);
        let best = places
            .map(|at| (squares.left(from, until) - squares.left(from, at) - squares.left(at, until), at))
            .max_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((gain, at)) = best
            && gain > penalty
        {
            cuts.push(at);
            open.extend([(from, at), (at, until)]);
        }
    }
    cuts.sort_unstable();
    cuts
}

/// Squares about the mean of any stretch, from running sums.
struct Squares {
    sums: Vec<(f64, f64)>,
}

impl Squares {
    fn of(values: &[f64]) -> Squares {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            sum += value - mean;
            squares += (value - mean).powi(2);
            sums.push((sum, squares));
        }
        Squares { sums }
    }

    fn left(&self, from: usize, until: usize) -> f64 {
        let (low, high) = (self.sums[from], self.sums[until]);
        high.1 - low.1 - (high.0 - low.0).powi(2) / (until - from).max(1) as f64
    }
}

/// PELT (Killick, Fearnhead and Eckley, 2012): the cheapest partition, beginnings that can never win again dropped.
/// Written from the paper and apart from the product's own search, so that each checks the other.
pub fn pelt(values: &[f64], penalty: f64, min_length: usize) -> Vec<usize> {
    let least = min_length.max(1);
    let squares = Squares::of(values);
    let mut cheapest = vec![f64::INFINITY; values.len() + 1];
    let mut before = vec![0; values.len() + 1];
    cheapest[0] = -penalty;
    // Beginnings still in the race, each with the end at which it was first beaten.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for until in least..=values.len() {
        // What beats a beginning is itself one only `least` samples later; until then the beaten one may be needed.
        open.retain(|(_, beaten)| until < beaten.saturating_add(least));
        let newest = until - least;
        if cheapest[newest].is_finite() {
            open.push((newest, usize::MAX));
        }
        for (from, _) in &open {
            let total = cheapest[*from] + squares.left(*from, until) + penalty;
            if total < cheapest[until] {
                cheapest[until] = total;
                before[until] = *from;
            }
        }
        for (from, beaten) in &mut open {
            if *beaten == usize::MAX && cheapest[*from] + squares.left(*from, until) >= cheapest[until] {
                *beaten = until;
            }
        }
    }
    let mut begins = Vec::new();
    let mut at = values.len();
    while before.get(at).is_some_and(|from| *from > 0) {
        at = before[at];
        begins.push(at);
    }
    begins.reverse();
    begins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_finds_a_plain_step() {
        let values: Vec<f64> =
            (0..100).map(|at| if at < 60 { (at % 3) as f64 } else { 20.0 + (at % 3) as f64 }).collect();
        let penalty = schwarz_penalty(&values);
        assert_eq!(binary_segmentation(&values, penalty, 2), vec![60]);
        assert_eq!(pelt(&values, penalty, 2), vec![60]);
        // A run may have begun with the sample before.
        assert!(cusum(&values).first().is_some_and(|at| at.abs_diff(60) <= 2));
    }
}
