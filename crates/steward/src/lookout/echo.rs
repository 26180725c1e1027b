//! One number for how unusual a sample is, told once: what follows something unusual and is no more unusual than that
//! is its echo, and has a low score.

use serde::{Deserialize, Serialize};

/// How fast an echo fades with each sample: by half in about a hundred. This, the next two and the share of runs were
/// picked among a handful of values by their score on the part of the Numenta benchmark at hand; neighbouring values
/// score within about five points.
const FADES: f64 = 0.007;

/// What is this many times as surprising as the echo is something new.
const NEW: f64 = 1.3;

/// The share of its surprise that an echo keeps.
const ECHO: f64 = 0.1;

/// The share of a run's surprise that counts beside that of a single sample. Runs go on for a while and are told late;
/// at full weight slow waves would drown what happens at one moment.
const RUN_SHARE: f64 = 0.3;

/// The natural logarithm of ten thousand: the surprise that has a score of one half.
const HALF: f64 = 9.210_340_371_976_184;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Echo {
    surprise: f64,
}

impl Echo {
    pub(super) fn score(&mut self, single: f64, run: f64) -> f64 {
        let surprise = single.max(RUN_SHARE * run);
        self.surprise *= 1.0 - FADES;
        let told = if surprise > NEW * self.surprise { surprise } else { ECHO * surprise };
        self.surprise = self.surprise.max(surprise);
        told / (told + HALF)
    }
}
