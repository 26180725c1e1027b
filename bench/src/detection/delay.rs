//! How long a step stays unnoticed by what looks sample by sample: the lookout, and the plain CUSUM with its calibration.

use std::time::Duration;

use anyhow::Result;
use holdfast_lifeline::Steady;
use holdfast_steward::calibrate::{Calibration, Wanted};
use holdfast_steward::detect::{Detector, Direction};
use holdfast_steward::lookout::{Asked, Kind, Lookout};
use holdfast_steward::sample::{Marked, Metric, Sample};
use holdfast_yardstick::noise::{Noise, Run};

use super::{LEARNING, PERIOD_MS};

/// In spreads of the noise.
pub(crate) const STEP: f64 = 3.0;
/// Three minutes.
pub(crate) const IN_TIME: u64 = 6;
/// Longer is not waited for.
const WAITED: u64 = 240;
/// Both are asked for one false alarm in this time.
const EVERY: Duration = Duration::from_secs(30 * 86_400);
/// The plain one's spread is never taken for less; far below what these noises have.
const SIGMA_FLOOR: f64 = 1e-6;

/// A step in one noise.
#[derive(Clone, Debug)]
pub(crate) struct OnStep {
    pub(crate) noise: &'static str,
    /// Of the lookout and of the plain CUSUM.
    pub(crate) told: [Told; 2],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The sample by which each step was told, the first of the step being 1; nothing where it was not waited for any longer.
    delays: Vec<Option<u64>>,
}

impl Told {
    /// The share told in three minutes.
    pub(crate) fn in_time(&self) -> f64 {
        let told = self.delays.iter().flatten().filter(|delay| **delay <= IN_TIME).count();
        told as f64 / self.delays.len().max(1) as f64
    }

    /// The sample by which one half were told.
    pub(crate) fn median(&self) -> Option<u64> {
        let mut delays: Vec<u64> = self.delays.iter().map(|delay| delay.unwrap_or(u64::MAX)).collect();
        delays.sort_unstable();
        delays.get(delays.len() / 2).copied().filter(|delay| *delay < u64::MAX)
    }
}

pub(super) fn measure(lives: u64) -> Result<Vec<OnStep>> {
    let noises = [
        ("white", Noise::White),
        ("autocorrelated, 0.5", Noise::Kept { share: 0.5 }),
        ("autocorrelated, 0.7", Noise::Kept { share: 0.7 }),
        ("autocorrelated, 0.9", Noise::Kept { share: 0.9 }),
        ("heavy-tailed (t, 3 degrees)", Noise::HeavyTailed),
    ];
    noises.into_iter().map(|(name, noise)| on_step(name, noise, lives)).collect()
}

fn on_step(name: &'static str, noise: Noise, lives: u64) -> Result<OnStep> {
    let mut told = [Told::default(), Told::default()];
    for seed in 0..lives {
        // Seeds that nothing was set with.
        let mut run = Run::new(noise, 90_000 + seed);
        let week: Vec<f64> = (0..LEARNING).map(|index| run.next_at(index * PERIOD_MS)).collect();
        let after: Vec<f64> =
            (LEARNING..LEARNING + WAITED).map(|index| run.next_at(index * PERIOD_MS) + STEP).collect();
        told[0].delays.push(by_lookout(&week, &after));
        told[1].delays.push(by_cusum(&week, &after)?);
    }
    Ok(OnStep { noise: name, told })
}

fn at(index: usize) -> Steady {
    Steady(index as u64 * PERIOD_MS)
}

fn by_lookout(week: &[f64], after: &[f64]) -> Option<u64> {
    let mut lookout = Lookout::new(Asked { false_alarm_every: EVERY, ..Asked::default() });
    for (index, value) in week.iter().enumerate() {
        lookout.step(at(index), Some(*value));
    }
    let told = after.iter().enumerate().position(|(index, value)| {
        let found = lookout.step(at(week.len() + index), Some(*value)).finding;
        found.is_some_and(|it| it.kind == Kind::Shift && it.direction == Some(Direction::Up))
    });
    told.map(|index| index as u64 + 1)
}

fn by_cusum(week: &[f64], after: &[f64]) -> Result<Option<u64>> {
    let wanted = Wanted {
        false_alarm_every: EVERY,
        sigma_floor: SIGMA_FLOOR,
        ..Wanted::usual(&Metric::primary(), Duration::from_millis(PERIOD_MS))
    };
    let samples: Vec<Sample> =
        week.iter().enumerate().map(|(index, value)| Sample::known(at(index), *value)).collect();
    let calibration = Calibration::from_samples(samples, &Marked::default(), &wanted)?;
    let mut detector = Detector::new();
    let told = after.iter().enumerate().position(|(index, value)| {
        let shift = detector.step(&calibration, Sample::known(at(week.len() + index), *value));
        shift.is_some_and(|shift| shift.direction == Direction::Up)
    });
    Ok(told.map(|index| index as u64 + 1))
}
