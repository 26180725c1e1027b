//! What series are drawn with: a seed is a series.

use crate::chance;

/// Draws of many kinds from one seed.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub fn draw(&mut self) -> u64 {
        chance::draw(&mut self.0)
    }

    /// Above 0, below 1.
    pub fn unit(&mut self) -> f64 {
        chance::even(&mut self.0)
    }

    /// At least `from`, less than `to`.
    pub fn whole(&mut self, from: usize, to: usize) -> usize {
        if to <= from { from } else { from + (self.draw() % (to - from) as u64) as usize }
    }

    pub fn real(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    pub fn sign(&mut self) -> f64 {
        if self.draw() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    pub fn pick(&mut self, from: &[usize]) -> usize {
        from[self.whole(0, from.len())]
    }

    /// Normal, mean 0, variance 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Student's t with 3 degrees of freedom.
    pub fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// A count with this mean (Knuth's product of uniforms; means are small here).
    pub fn count(&mut self, mean: f64) -> f64 {
        let bar = (-mean).exp();
        let (mut product, mut count) = (self.unit(), 0.0);
        while product > bar {
            product *= self.unit();
            count += 1.0;
        }
        count
    }

    /// Noise with this memory and variance 1.
    pub fn correlated(&mut self, length: usize, memory: f64) -> Vec<f64> {
        let mut last = self.normal();
        let width = (1.0 - memory * memory).sqrt();
        (0..length)
            .map(|_| {
                last = memory * last + width * self.normal();
                last
            })
            .collect()
    }
}
