//! The load a modelled host is under: restless as real ones are, the same for the same seed, and what the script adds.

use std::time::Duration;

use holdfast_lifeline::Steady;

/// Between two collections, and between two changes of the load.
pub(crate) const PERIOD: Duration = Duration::from_secs(30);
const PERIOD_MS: u64 = 30_000;

/// Memory pressure in quiet times, after the shift, and for the moment of a spike, in percent.
const QUIET: f64 = 7.0;
/// Less than a detector would take one sample's word for: a shift is what stays.
const SHIFTED: f64 = 26.0;
const SPIKE: f64 = 17.0;
/// The sum of three even draws of this reach has this as its spread.
const RESTLESS: f64 = 2.2;

/// What the script does to the load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    /// From then on there is more.
    pub(crate) shifts_at: Option<Steady>,
    /// For one period there is more.
    pub(crate) spikes_at: Option<Steady>,
}

impl Load {
    /// The pressure of the period that begins at this moment.
    pub(crate) fn pressure(&self, at: Steady) -> f64 {
        let period = at.0 / PERIOD_MS;
        let is_in = |moment: Option<Steady>| moment.is_some_and(|moment| moment.0 / PERIOD_MS == period);
        let level = match self.shifts_at {
            Some(shift) if at >= shift => SHIFTED,
            _ if is_in(self.spikes_at) => SPIKE,
            _ => QUIET,
        };
        (level + RESTLESS * unrest(self.seed, period)).max(0.0)
    }
}

/// The beginning of the period after this moment.
pub(crate) fn next_period(at: Steady) -> Steady {
    Steady((at.0 / PERIOD_MS + 1) * PERIOD_MS)
}

/// Around zero with a spread of one: three even draws.
fn unrest(seed: u64, period: u64) -> f64 {
    (0..3).map(|draw| even(seed ^ (period * 3 + draw).wrapping_mul(0x9e37_79b9_7f4a_7c15)) * 2.0 - 1.0).sum()
}

/// Between zero and one, by the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
fn even(mut x: u64) -> f64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    (x >> 11) as f64 / (1u64 << 53) as f64
}
