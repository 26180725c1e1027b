//! Vectors made up for measuring: of a seed, alike on every machine.
//!
//! Sentence embeddings lie near a surface of few dimensions and gather in topics of very different sizes. These are made that way: a
//! topic is a point in a small space, a text lies around its topic, and the small space is laid into the wide one with some noise of
//! its own.

/// Width of a vector.
pub const WIDTH: usize = 384;

/// Dimensions of the small space.
const LATENT: usize = 32;

/// Makes vectors one after another.
#[derive(Debug)]
pub struct Made {
    rng: Rng,
    /// `WIDTH` rows of `LATENT`.
    laid: Vec<f32>,
    topics: Vec<f32>,
    /// Running sums of the topics' shares.
    shares: Vec<f64>,
}

impl Made {
    /// What `seed` gives; with about one topic for 250 of `count` vectors.
    pub fn new(count: usize, seed: u64) -> Made {
        let mut rng = Rng(seed);
        let laid = (0..WIDTH * LATENT).map(|_| rng.normal() / (LATENT as f32).sqrt()).collect();
        let topics = (count / 250).max(8);
        let centres = (0..topics * LATENT).map(|_| rng.normal()).collect();
        let mut sum = 0.0;
        let shares = (0..topics).map(|rank| {
            sum += 1.0 / (rank as f64 + 10.0);
            sum
        });
        Made { rng, laid, topics: centres, shares: shares.collect() }
    }

    /// The next vector, of length 1.
    pub fn next(&mut self, into: &mut [f32; WIDTH]) {
        let total = self.shares[self.shares.len() - 1];
        let drawn = self.rng.unit() * total;
        let topic = self.shares.partition_point(|&sum| sum < drawn).min(self.shares.len() - 1);
        let centre = &self.topics[topic * LATENT..][..LATENT];
        let point: Vec<f32> = centre.iter().map(|at| at + 0.6 * self.rng.normal()).collect();
        for (value, row) in into.iter_mut().zip(self.laid.chunks_exact(LATENT)) {
            let laid: f32 = row.iter().zip(&point).map(|(a, b)| a * b).sum();
            *value = laid + 0.25 * self.rng.normal();
        }
        let length = into.iter().map(|v| v * v).sum::<f32>().sqrt();
        into.iter_mut().for_each(|v| *v /= length);
    }
}

/// SplitMix64: small, and good enough for noise.
#[derive(Debug)]
struct Rng(u64);

impl Rng {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Near enough to a normal one: the sum of eight even ones, of variance 1.
    fn normal(&mut self) -> f32 {
        let (a, b) = (self.bits(), self.bits());
        let sum: u64 = (0..4).map(|i| ((a >> (16 * i)) & 0xffff) + ((b >> (16 * i)) & 0xffff)).sum();
        (sum as f32 / 65536.0 - 4.0) * 1.224_744_9
    }
}
