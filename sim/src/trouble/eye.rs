//! What notices that something changed: one door, behind which any detector may stand.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::calibrate::{Calibration, Wanted};
use holdfast_steward::detect::{Detector, Direction};
use holdfast_steward::sample::{Marked, Metric, Quantity, Sample};

/// Something changed, or is still changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub direction: Direction,
    /// When it began, where that is news.
    pub began: Option<Steady>,
}

/// Watches one metric.
pub trait Eye: std::fmt::Debug + Send {
    /// Takes the next sample. Says so when the metric changed for good, and again as long as it stays away from what was
    /// usual before: whoever sees something that lasts offers it again.
    fn see(&mut self, sample: Sample) -> Option<Change>;
    /// A change was kept: what is usual may be another thing from here on.
    fn rebase(&mut self, at: Steady);
}

/// The one place that chooses a detector: whatever is built here is what every host is watched by.
pub fn eye(metric: &Metric, quiet: &[Sample], period: Duration) -> Option<Box<dyn Eye>> {
    let wanted = Wanted::usual(metric, period);
    let calibration = Calibration::from_samples(quiet.to_vec(), &Marked::default(), &wanted).ok()?;
    Some(Box::new(Plain {
        band: band(metric, &calibration),
        calibration,
        detector: Detector::new(),
        level: None,
        fired: false,
    }))
}

/// The plain detector, with the band that was usual before.
#[derive(Debug)]
struct Plain {
    calibration: Calibration,
    detector: Detector,
    band: f64,
    level: Option<f64>,
    /// Whether it ever fired: a level alone is not taken for a change.
    fired: bool,
}

/// Each sample counts for an eighth: a quarter of an hour at two minutes.
const WEIGHT: f64 = 0.125;
/// Beyond the usual by what anybody would notice, in the metric's own unit.
fn band(metric: &Metric, calibration: &Calibration) -> f64 {
    let noticed = match metric.quantity() {
        Quantity::PsiMemSome | Quantity::PsiMemFull => 2.0,
        Quantity::CpuThrottled => 0.03,
        Quantity::Latency => 0.15 * calibration.mean(),
        Quantity::MemoryCurrent
        | Quantity::CpuUse
        | Quantity::Restarts
        | Quantity::OomKills
        | Quantity::Throughput => 0.2 * calibration.mean().abs(),
    };
    calibration.mean() + noticed
}

impl Eye for Plain {
    fn see(&mut self, sample: Sample) -> Option<Change> {
        let value = sample.value()?;
        let level = self.level.map_or(value, |level| level + WEIGHT * (value - level));
        self.level = Some(level);
        let shift = self.detector.step(&self.calibration, sample);
        self.fired |= shift.is_some_and(|shift| shift.direction == Direction::Up);
        let news = shift.map(|shift| Change { direction: shift.direction, began: Some(shift.began) });
        let lasting = || Change { direction: Direction::Up, began: None };
        news.or_else(|| (self.fired && level > self.band).then(lasting))
    }

    fn rebase(&mut self, _: Steady) {}
}
