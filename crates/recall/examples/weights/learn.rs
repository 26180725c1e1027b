//! How the weights were found: the softmax over a question's hits should put its mass on the relevant ones.

use holdfast_recall::{Ranked, Signal, Terms};

/// The signals whose weights are learnt; the others are equal on these sets.
const LEARNT: usize = 9;
/// Pulls weights to nothing; larger values cost recall, smaller ones changed nothing.
const L2: f64 = 0.003;
const STEPS: usize = 600;
const PACE: f64 = 0.05;

pub(crate) type Weights = [f64; LEARNT];

/// One question: what the signals saw in each hit, and which hits are relevant.
pub(crate) struct Example {
    hits: Vec<Weights>,
    relevant: Vec<usize>,
}

/// With these every part is what its signal saw, in thousandths so that millionths of a score lose nothing.
pub(crate) fn plain() -> Terms {
    terms(&[SCALE; LEARNT])
}

const SCALE: f64 = 1000.0;

pub(crate) fn terms(w: &Weights) -> Terms {
    let [words, meaning, surroundings, answer, speaker, voice, when, period, slight] = *w;
    Terms { words, meaning, surroundings, answer, speaker, voice, when, period, slight, ..Terms::default() }
}

impl Example {
    /// `None` when nothing relevant is among the hits: there is nothing to learn from it.
    pub(crate) fn of(hits: &[Ranked], relevant: &[u64]) -> Option<Example> {
        let seen = |hit: &Ranked| {
            let mut row = Weights::default();
            row.iter_mut().zip(Signal::ALL).for_each(|(r, s)| *r = hit.parts.share(s).value() / SCALE);
            row
        };
        let places: Vec<usize> =
            relevant.iter().filter_map(|r| hits.iter().position(|hit| hit.seq == *r)).collect();
        (!places.is_empty()).then(|| Example { hits: hits.iter().map(seen).collect(), relevant: places })
    }

    /// Adds the slope of this question's loss.
    fn slope(&self, weights: &Weights, slope: &mut Weights) {
        let scores: Vec<f64> =
            self.hits.iter().map(|h| h.iter().zip(weights).map(|(a, b)| a * b).sum()).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let total: f64 = powers.iter().sum();
        for (hit, power) in self.hits.iter().zip(powers) {
            slope.iter_mut().zip(hit).for_each(|(s, x)| *s += power / total * x);
        }
        for &place in &self.relevant {
            slope.iter_mut().zip(&self.hits[place]).for_each(|(s, x)| *s -= x / self.relevant.len() as f64);
        }
    }
}

/// Gradient descent with a pace of its own for each weight (Adam). The scale of signals differs, so the penalty is on
/// weights as they act: relative to the defaults.
pub(crate) fn learn<'a>(examples: impl Iterator<Item = &'a Example> + Clone) -> Weights {
    let scale: Weights = [8.0, 8.0, 8.0, 8.0, 1.0, 1.0, 1.0, 1.0, 4.0];
    let count = examples.clone().count() as f64;
    let (mut acting, mut first, mut second) = (Weights::default(), Weights::default(), Weights::default());
    for step in 1..=STEPS {
        let weights: Weights = std::array::from_fn(|i| acting[i] * scale[i]);
        let mut slope = Weights::default();
        examples.clone().for_each(|example| example.slope(&weights, &mut slope));
        for i in 0..LEARNT {
            let pull = slope[i] * scale[i] / count + 2.0 * L2 * acting[i];
            first[i] = 0.9 * first[i] + 0.1 * pull;
            second[i] = 0.999 * second[i] + 0.001 * pull * pull;
            let (m, v) = (
                first[i] / (1.0 - 0.9_f64.powi(step as i32)),
                second[i] / (1.0 - 0.999_f64.powi(step as i32)),
            );
            acting[i] -= PACE * m / (v.sqrt() + 1e-9);
        }
    }
    std::array::from_fn(|i| acting[i] * scale[i])
}
