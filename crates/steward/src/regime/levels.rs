//! The plain textbook task, every sample a possible boundary: levels, squares about their means, one penalty.
//!
//! It is here so that speed and answers can be compared with others on equal terms. The answer is the cheapest partition,
//! exactly; the way there is functional pruning (FPOP: Maidstone, Hocking, Rigaill and Fearnhead, 2017), here with a least
//! length. For each level the last stretch might have, only the cheapest beginning is kept: a beginning that is cheapest for no
//! level can never win again. A handful survive, so the work grows about linearly also where nothing changes, where pruning
//! by inequality drops nothing.

/// Figures further from their mean count as this far: squares of them, summed up, stay finite.
const FURTHEST: f64 = 1e140;

/// Where levels begin (the first sample left out), with the least sum of squares about the mean of each stretch plus
/// `penalty` for each beginning. Stretches have `min_length` samples or more; figures that are not finite count as the mean.
pub fn partition_into_levels(values: &[f64], penalty: f64, min_length: usize) -> Vec<usize> {
    let least = min_length.max(1);
    if values.len() < 2 * least || penalty.is_nan() || penalty == f64::INFINITY {
        return Vec::new();
    }
    let mut race = Race::new(values, penalty.max(0.0));
    for until in least..=values.len() {
        let newest = until - least;
        if newest == 0 || newest >= least {
            race.enter(newest);
        }
        race.settle(until);
    }
    race.beginnings()
}

/// The levels for which the stretch that began here is the cheapest so far.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: usize,
    low: f64,
    high: f64,
}

struct Race {
    /// Sums of the figures and of their squares before each sample.
    sums: Vec<(f64, f64)>,
    penalty: f64,
    /// What the best partition up to each sample costs, and where its last stretch begins.
    cheapest: Vec<(f64, usize)>,
    pieces: Vec<Piece>,
    spare: Vec<Piece>,
    low: f64,
    high: f64,
}

impl Race {
    fn new(values: &[f64], penalty: f64) -> Race {
        let finite = |value: &f64| value.is_finite().then_some(*value);
        let count = values.iter().filter_map(finite).count().max(1) as f64;
        let mean: f64 = values.iter().filter_map(finite).map(|value| value / count).sum();
        let (mut sums, mut sum, mut squares) = (vec![(0.0, 0.0)], 0.0, 0.0);
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for value in values {
            let about = (finite(value).unwrap_or(mean) - mean).clamp(-FURTHEST, FURTHEST);
            (low, high) = (low.min(about), high.max(about));
            sum += about;
            squares += about * about;
            sums.push((sum, squares));
        }
        let mut cheapest = vec![(f64::INFINITY, 0); values.len() + 1];
        cheapest[0] = (-penalty, 0);
        // Where all figures are the same there would be no level between the least and the greatest, and nobody could have it.
        (low, high) = (low - 1.0, high + 1.0);
        Race { sums, penalty, cheapest, pieces: Vec::new(), spare: Vec::new(), low, high }
    }

    /// A beginning joins, and takes every level for which it is cheaper than the one that has it. The difference of the two
    /// is a parabola that no later sample changes.
    fn enter(&mut self, newest: usize) {
        self.spare.clear();
        if self.pieces.is_empty() {
            self.spare.push(Piece { from: newest, low: self.low, high: self.high });
        }
        for number in 0..self.pieces.len() {
            let piece = self.pieces[number];
            let (keeps_low, keeps_high) = self.older_is_cheaper(piece.from, newest);
            let (low, high) = (piece.low.max(keeps_low), piece.high.min(keeps_high));
            if low < high {
                self.give(newest, piece.low, low);
                self.spare.push(Piece { from: piece.from, low, high });
                self.give(newest, high, piece.high);
            } else {
                self.give(newest, piece.low, piece.high);
            }
        }
        std::mem::swap(&mut self.pieces, &mut self.spare);
    }

    /// Adds a piece for the newest, joined to the one before where that is the newest's too.
    fn give(&mut self, newest: usize, low: f64, high: f64) {
        if low >= high {
            return;
        }
        match self.spare.last_mut() {
            Some(last) if last.from == newest => last.high = high,
            _ => self.spare.push(Piece { from: newest, low, high }),
        }
    }

    /// The levels for which the older beginning costs less; an empty span where there are none.
    fn older_is_cheaper(&self, older: usize, newer: usize) -> (f64, f64) {
        let count = (newer - older) as f64;
        let sum = self.sums[newer].0 - self.sums[older].0;
        let squares = self.sums[newer].1 - self.sums[older].1;
        let ahead = self.cheapest[newer].0 - self.cheapest[older].0 - squares;
        let middle = sum / count;
        let reach = middle * middle + ahead / count;
        if reach > 0.0 {
            (middle - reach.sqrt(), middle + reach.sqrt())
        } else {
            (f64::INFINITY, f64::NEG_INFINITY)
        }
    }

    /// The best partition up to here. The overall cheapest beginning is cheapest at its own mean, so it is among the pieces.
    fn settle(&mut self, until: usize) {
        let mut best = (f64::INFINITY, 0);
        for piece in &self.pieces {
            let sum = self.sums[until].0 - self.sums[piece.from].0;
            let squares = self.sums[until].1 - self.sums[piece.from].1;
            let total = self.cheapest[piece.from].0 + squares - sum * sum / (until - piece.from) as f64;
            if total < best.0 {
                best = (total, piece.from);
            }
        }
        self.cheapest[until] = (best.0 + self.penalty, best.1);
    }

    fn beginnings(&self) -> Vec<usize> {
        let mut beginnings = Vec::new();
        let mut at = self.cheapest[self.cheapest.len() - 1].1;
        while at > 0 {
            beginnings.push(at);
            at = self.cheapest[at].1;
        }
        beginnings.reverse();
        beginnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum()
    }

    fn cost(values: &[f64], begins: &[usize], penalty: f64) -> f64 {
        let mut edges = vec![0];
        edges.extend_from_slice(begins);
        edges.push(values.len());
        edges.windows(2).map(|pair| squares(&values[pair[0]..pair[1]])).sum::<f64>()
            + penalty * begins.len() as f64
    }

    /// Every beginning tried for every end, nothing pruned.
    fn cheapest_of_all(values: &[f64], penalty: f64, least: usize) -> f64 {
        let mut cheapest = vec![f64::INFINITY; values.len() + 1];
        cheapest[0] = -penalty;
        for until in least..=values.len() {
            for from in (0..=until - least).filter(|from| *from == 0 || *from >= least) {
                let total = cheapest[from] + squares(&values[from..until]) + penalty;
                cheapest[until] = cheapest[until].min(total);
            }
        }
        cheapest[values.len()]
    }

    proptest! {
        #[test]
        fn the_partition_costs_what_the_cheapest_of_all_costs(
            values in prop::collection::vec(-10.0..10.0f64, 2..60),
            penalty in 0.1..60.0f64,
            least in 1usize..6,
        ) {
            prop_assume!(values.len() >= 2 * least);
            let found = partition_into_levels(&values, penalty, least);
            let wanted = cheapest_of_all(&values, penalty, least);
            prop_assert!((cost(&values, &found, penalty) - wanted).abs() < 1e-6);
            let mut edges = vec![0];
            edges.extend(&found);
            edges.push(values.len());
            prop_assert!(edges.windows(2).all(|pair| pair[1] - pair[0] >= least));
        }

        #[test]
        fn one_figure_over_and_over_is_one_level(value in -9..9i8, count in 2usize..40, penalty in 0.1..6.0f64, least in 1usize..5) {
            let values = vec![f64::from(value) / 3.0; count];
            prop_assert_eq!(partition_into_levels(&values, penalty, least), Vec::<usize>::new());
        }

        #[test]
        fn small_whole_figures_with_many_ties_cost_the_same_too(
            values in prop::collection::vec(0..3i8, 2..80),
            penalty in 0.1..6.0f64,
            least in 1usize..5,
        ) {
            prop_assume!(values.len() >= 2 * least);
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = partition_into_levels(&values, penalty, least);
            prop_assert!((cost(&values, &found, penalty) - cheapest_of_all(&values, penalty, least)).abs() < 1e-6);
        }
    }

    #[test]
    fn hostile_figures_leave_an_answer_within_range() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, 0.0] {
            let mut values: Vec<f64> = (0..50).map(|at| (at % 7) as f64).collect();
            values[20] = bad;
            values[31] = -bad;
            for penalty in [0.0, 1.0, f64::NAN, f64::INFINITY, -1.0] {
                let found = partition_into_levels(&values, penalty, 2);
                assert!(
                    found.windows(2).all(|pair| pair[0] < pair[1])
                        && found.iter().all(|at| (1..50).contains(at))
                );
            }
        }
        assert!(partition_into_levels(&[], 1.0, 2).is_empty());
        assert!(partition_into_levels(&[1.0], 1.0, 0).is_empty());
    }
}
