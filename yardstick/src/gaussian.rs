//! The peer every detector should beat: how far out is a sample in a normal distribution fitted to a window of the past?
//!
//! It is the windowed Gaussian of the Numenta Anomaly Benchmark: a window that moves on in steps, and a score of one less
//! the tail of the normal distribution beyond the sample. Revisions of the benchmark differ in the settings, so both
//! are taken: a window of 6400 in steps of 150 by default, and any other by [`WindowedGaussian::with`].

use std::collections::VecDeque;

const WINDOW: usize = 6400;
const STEP: usize = 150;

/// Taken for the deviation of a window that does not vary.
const DEVIATION_MIN: f64 = 1e-6;

/// The state of one series.
#[derive(Clone, Debug)]
pub struct WindowedGaussian {
    length: usize,
    step: usize,
    window: VecDeque<f64>,
    waiting: Vec<f64>,
    sum: f64,
    squares: f64,
}

impl Default for WindowedGaussian {
    fn default() -> WindowedGaussian {
        WindowedGaussian::new()
    }
}

impl WindowedGaussian {
    pub fn new() -> WindowedGaussian {
        WindowedGaussian::with(WINDOW, STEP)
    }

    /// With a window of this length that moves on in steps of this many samples.
    pub fn with(length: usize, step: usize) -> WindowedGaussian {
        WindowedGaussian {
            length,
            step,
            window: VecDeque::new(),
            waiting: Vec::new(),
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// The score of the next sample, 0.5 for the most usual and towards 1 the further out; 0 for the very first.
    pub fn step(&mut self, value: f64) -> f64 {
        let score = if self.window.is_empty() { 0.0 } else { 1.0 - self.tail(value) };
        self.take(value);
        score
    }

    fn tail(&self, value: f64) -> f64 {
        let count = self.window.len() as f64;
        let mean = self.sum / count;
        let deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        upper_tail((value - mean).abs() / if deviation > 0.0 { deviation } else { DEVIATION_MIN })
    }

    fn take(&mut self, value: f64) {
        if self.window.len() < self.length {
            self.add(value);
            return;
        }
        self.waiting.push(value);
        if self.waiting.len() < self.step {
            return;
        }
        for value in std::mem::take(&mut self.waiting) {
            if let Some(oldest) = self.window.pop_front() {
                self.sum -= oldest;
                self.squares -= oldest * oldest;
            }
            self.add(value);
        }
    }

    fn add(&mut self, value: f64) {
        self.window.push_back(value);
        self.sum += value;
        self.squares += value * value;
    }
}

/// The share of a standard normal distribution above `z`, for `z` of zero or more: the rational approximation 26.2.17
/// of Abramowitz and Stegun, good to 7.5e-8; further out the asymptotic series, good relatively.
fn upper_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 4.0 {
        return density / z * (1.0 - 1.0 / (z * z) + 3.0 / (z * z * z * z));
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let polynomial = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    density * polynomial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_agrees_with_the_printed_table() {
        for (z, tail) in [(0.0, 0.5), (1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350), (5.0, 2.866_5e-7)]
        {
            let found = upper_tail(z);
            assert!((found - tail).abs() < 1e-6 && (found / tail - 1.0).abs() < 0.01, "{z}: {found}");
        }
    }

    #[test]
    fn the_further_out_the_higher_the_score() {
        let mut gaussian = WindowedGaussian::new();
        assert_eq!(gaussian.step(1.0), 0.0);
        for turn in 0..1000 {
            gaussian.step(f64::from(turn % 2));
        }
        let near = gaussian.clone().step(0.6);
        let far = gaussian.clone().step(2.0);
        let further = gaussian.step(3.0);
        assert!(near < 0.6 && near < far && far < further && further <= 1.0, "{near} {far} {further}");
    }

    #[test]
    fn the_window_forgets() {
        let mut gaussian = WindowedGaussian::new();
        for _ in 0..WINDOW {
            gaussian.step(0.0);
        }
        assert!(gaussian.clone().step(100.0) > 0.999);
        for turn in 0..2 * WINDOW {
            gaussian.step(100.0 + (turn % 3) as f64);
        }
        assert!(gaussian.step(101.0) < 0.6);
    }
}
