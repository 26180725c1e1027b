//! Noise with known properties, the same for the same seed: what a detector should leave alone.
//!
//! Most kinds have a spread of about one, so that asked-for shifts mean the same there.

use std::f64::consts::TAU;

use crate::chance;

/// A source of randomness that a seed reproduces.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
    spare: Option<f64>,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { state: seed ^ 0x9e37_79b9_7f4a_7c15, spare: None }
    }

    /// Evenly in 0..1, never zero.
    pub fn even(&mut self) -> f64 {
        chance::even(&mut self.state)
    }

    /// Standard normal, by Box and Muller (1958), who give two at a time.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.even().ln()).sqrt();
        let (sine, cosine) = (TAU * self.even()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}

/// What the noise is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Independent and normal.
    White,
    /// Each sample keeps this share of the one before; the spread stays one.
    Kept { share: f64 },
    /// Student's t with three degrees of freedom, divided by its deviation, the root of three.
    HeavyTailed,
    /// Student's t with so many degrees of freedom, as it is: with two it has no deviation at all.
    Student { degrees: u32 },
    /// Even chances of an exponential figure up or down (Laplace), with a spread of one.
    TwoExponentials,
    /// Normal, but one in twenty is five times as wide; with a spread of about one and a half.
    Contaminated,
    /// The exponential of a normal figure with deviation one half: lopsided, never negative.
    Lopsided,
    /// A daily round of this height, with white noise upon it.
    Daily { height: f64 },
}

/// A run of one kind of noise.
#[derive(Clone, Debug)]
pub struct Run {
    noise: Noise,
    dice: Dice,
    last: f64,
}

impl Run {
    pub fn new(noise: Noise, seed: u64) -> Run {
        let mut dice = Dice::new(seed);
        let last = dice.normal();
        Run { noise, dice, last }
    }

    /// The next figure; only the daily round asks what time it is.
    pub fn next_at(&mut self, milliseconds: u64) -> f64 {
        match self.noise {
            Noise::White => self.dice.normal(),
            Noise::Kept { share } => {
                self.last = share * self.last + (1.0 - share * share).max(0.0).sqrt() * self.dice.normal();
                self.last
            }
            Noise::HeavyTailed => self.student(3) / 3.0_f64.sqrt(),
            Noise::Student { degrees } => self.student(degrees),
            Noise::TwoExponentials => {
                let size = -self.dice.even().ln() / 2.0_f64.sqrt();
                if self.dice.even() < 0.5 { size } else { -size }
            }
            Noise::Contaminated => {
                let wide = self.dice.even() < 0.05;
                self.dice.normal() * if wide { 5.0 } else { 1.0 }
            }
            Noise::Lopsided => (0.5 * self.dice.normal()).exp(),
            Noise::Daily { height } => {
                let turn = (milliseconds % 86_400_000) as f64 / 86_400_000.0;
                height * (TAU * turn).sin() + self.dice.normal()
            }
        }
    }

    fn student(&mut self, degrees: u32) -> f64 {
        let top = self.dice.normal();
        let square: f64 = (0..degrees).map(|_| self.dice.normal().powi(2)).sum();
        top / (square / f64::from(degrees.max(1))).max(f64::MIN_POSITIVE).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(noise: Noise) -> Vec<f64> {
        let mut run = Run::new(noise, 7);
        (0..200_000_u64).map(|step| run.next_at(step * 30_000)).collect()
    }

    fn mean(figures: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = figures.len() as f64;
        figures.sum::<f64>() / count
    }

    fn check(noise: Noise, mean_wanted: f64, spread_wanted: f64, kept_wanted: f64) {
        let figures = figures(noise);
        let middle = mean(figures.iter().copied());
        let variance = mean(figures.iter().map(|figure| (figure - middle).powi(2)));
        let kept = mean(figures.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle))) / variance;
        assert!((middle - mean_wanted).abs() < 0.05, "{noise:?}: mean {middle}");
        assert!((variance.sqrt() - spread_wanted).abs() < 0.1, "{noise:?}: spread {}", variance.sqrt());
        assert!((kept - kept_wanted).abs() < 0.02, "{noise:?}: kept {kept}");
    }

    #[test]
    fn each_noise_has_the_mean_the_spread_and_the_memory_it_states() {
        check(Noise::White, 0.0, 1.0, 0.0);
        check(Noise::Kept { share: 0.5 }, 0.0, 1.0, 0.5);
        check(Noise::Kept { share: 0.9 }, 0.0, 1.0, 0.9);
        check(Noise::HeavyTailed, 0.0, 1.0, 0.0);
        check(Noise::Student { degrees: 5 }, 0.0, (5.0_f64 / 3.0).sqrt(), 0.0);
        check(Noise::TwoExponentials, 0.0, 1.0, 0.0);
        check(Noise::Contaminated, 0.0, 2.2_f64.sqrt(), 0.0);
        check(Noise::Lopsided, 0.125_f64.exp(), 0.604, 0.0);
        check(Noise::Daily { height: 2.0 }, 0.0, 3.0_f64.sqrt(), 2.0 / 3.0);
    }

    #[test]
    fn heavy_tails_are_heavier_than_normal_ones() {
        let far = |noise| figures(noise).iter().filter(|figure| figure.abs() > 4.5).count();
        assert!(far(Noise::White) < 10);
        assert!(far(Noise::HeavyTailed) > 200);
    }

    #[test]
    fn the_same_seed_gives_the_same_noise() {
        assert_eq!(figures(Noise::White), figures(Noise::White));
    }
}
