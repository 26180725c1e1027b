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
    fn ratios_pair_slices_and_keep_their_spread() {
        let ratios = ratios(&[2.0, 3.0, 10.0], &[1.0, 3.0, 2.0]);
        assert_eq!(ratios, [2.0, 1.0, 5.0]);
        let spread = Spread::of(&ratios);
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 5.0));
    }
}
