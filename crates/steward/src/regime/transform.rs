//! Autocorrelation of a whole series in `n log n`, by the fast Fourier transform (Cooley and Tukey, 1965).

use std::f64::consts::TAU;

/// Autocorrelation at the lags below `lags`; 1 at lag zero, all zero for a series that never varies.
pub(super) fn autocorrelation(figures: &[f64], lags: usize) -> Vec<f64> {
    let lags = lags.min(figures.len());
    let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    let size = (2 * figures.len()).next_power_of_two();
    let mut points: Vec<(f64, f64)> = figures.iter().map(|figure| (figure - mean, 0.0)).collect();
    points.resize(size, (0.0, 0.0));
    transform(&mut points);
    for point in &mut points {
        *point = (point.0 * point.0 + point.1 * point.1, 0.0);
    }
    transform(&mut points);
    let whole = points.first().map_or(0.0, |point| point.0);
    points.iter().take(lags).map(|point| if whole > 0.0 { point.0 / whole } else { 0.0 }).collect()
}

/// In place; the length is a power of two.
fn transform(points: &mut [(f64, f64)]) {
    let size = points.len();
    let bits = size.trailing_zeros();
    for at in 0..size {
        let other = at.reverse_bits() >> (usize::BITS - bits.max(1));
        if bits > 0 && at < other {
            points.swap(at, other);
        }
    }
    let mut step = 2;
    while step <= size {
        let turns: Vec<(f64, f64)> = (0..step / 2)
            .map(|turn| {
                let angle = -TAU * turn as f64 / step as f64;
                (angle.cos(), angle.sin())
            })
            .collect();
        for block in points.chunks_exact_mut(step) {
            let (low, high) = block.split_at_mut(step / 2);
            for ((low, high), turn) in low.iter_mut().zip(high).zip(&turns) {
                let turned = (high.0 * turn.0 - high.1 * turn.1, high.0 * turn.1 + high.1 * turn.0);
                *high = (low.0 - turned.0, low.1 - turned.1);
                *low = (low.0 + turned.0, low.1 + turned.1);
            }
        }
        step *= 2;
    }
}
