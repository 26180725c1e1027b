//! Medians, quantiles, ratios and their spread. Pure.
//!
//! Everything takes durations or rates as `f64` and ignores order. An empty slice gives NaN, which the page
//! shows as "–" and no goal counts as met.

/// The smallest, the middle and the largest of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Spread {
        Spread { min: quantile(values, 0.0), median: median(values), max: quantile(values, 1.0) }
    }
}

/// The middle value; of an even number, the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The smallest measured value that at least the share `q` of all values do not exceed (nearest rank): always
/// something that happened, never something in between.
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(rank.saturating_sub(1).min(last)).copied().unwrap_or(f64::NAN)
}

/// How many times as large `ours` is as `theirs`, slice by slice: both of a pair saw the same weather.
pub(crate) fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(a, b)| a / b).collect()
}

/// The middle 95 % of the mean of `ours - theirs`, pair by pair, when the pairs are drawn again and again (the bootstrap). Fixed draws: the same
/// values give the same answer.
pub(crate) fn bootstrap(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    const DRAWS: usize = 10_000;
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
    let count = differences.len();
    if count == 0 {
        return (f64::NAN, f64::NAN);
    }
    let mut rng = holdfast_testkit::Seed::new(42).rng();
    let mut draw = || (0..count).map(|_| rng.pick(&differences)).sum::<f64>() / count as f64;
    let means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    (quantile(&means, 0.025), quantile(&means, 0.975))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        for (values, expected) in [
            (vec![3.0], 3.0),
            (vec![9.0, 1.0, 5.0], 5.0),
            (vec![4.0, 1.0, 3.0, 2.0], 2.5),
            (vec![1.0, 1.0, 1.0, 1000.0], 1.0),
        ] {
            assert_eq!(median(&values), expected, "{values:?}");
        }
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_quantile_is_a_value_that_was_measured() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (q, expected) in
            [(0.0, 1.0), (0.01, 1.0), (0.5, 50.0), (0.99, 99.0), (0.995, 100.0), (1.0, 100.0)]
        {
            assert_eq!(quantile(&hundred, q), expected, "{q}");
        }
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert!(quantile(&[], 0.99).is_nan());
    }

    #[test]
    fn a_difference_that_is_always_there_is_told_from_one_that_is_chance() {
        let theirs: Vec<f64> = (0..200).map(|n| f64::from(n % 7) / 7.0).collect();
        let better: Vec<f64> = theirs.iter().map(|value| value + 0.1).collect();
        let (low, high) = bootstrap(&better, &theirs);
        assert!(low > 0.099 && high < 0.101, "{low} {high}");
        let moved: Vec<f64> = (0..200).map(|n| theirs[n] + if n % 2 == 0 { 0.3 } else { -0.3 }).collect();
        let (low, high) = bootstrap(&moved, &theirs);
        assert!(low < 0.0 && high > 0.0, "{low} {high}");
        assert!(bootstrap(&[], &[]).0.is_nan());
    }

    #[test]
    fn ratios_pair_slices_and_keep_their_spread() {
        let ratios = ratios(&[2.0, 3.0, 10.0], &[1.0, 3.0, 2.0]);
        assert_eq!(ratios, [2.0, 1.0, 5.0]);
        let spread = Spread::of(&ratios);
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 5.0));
    }
}
