//! What notices that the metric of a target has changed: the lookout, which learns by itself, or the plain detector with its
//! calibration.

use std::path::Path;
use std::time::Duration;

use holdfast_config as config;
use holdfast_lifeline::Steady;
use holdfast_steward::calibrate::Calibration;
use holdfast_steward::detect::{Detector, Direction};
use holdfast_steward::lookout::{Asked, Kind, Lookout};
use holdfast_steward::retrospective::{Span, Summary};
use holdfast_steward::sample::{Metric, Sample};

use super::calibrations::CalibrationFile;
use super::model::{COLLECT_EVERY, WEEK, usual_week};
use super::settings::Place;

/// One false alarm of a target in this time is what is asked of the lookout.
const FALSE_ALARM_EVERY: Duration = Duration::from_secs(30 * 86_400);

#[derive(Debug)]
pub(super) enum Sense {
    Lookout(Box<Lookout>),
    Plain(Box<Plain>),
}

/// The plain detector, and the calibration that it cannot do without.
#[derive(Debug)]
pub(super) struct Plain {
    detector: Detector,
    calibration: Result<Calibration, String>,
    /// Since when the calibration is outdated.
    outdated: Option<Steady>,
}

impl Sense {
    /// The sense that the configuration asks for, with what was measured on the target lately.
    pub(super) fn of(place: &Place, state: &Path, past: &[(Steady, f64)]) -> Sense {
        match place.detector {
            config::Detector::Lookout => {
                let asked = Asked {
                    false_alarm_every: FALSE_ALARM_EVERY,
                    period: Some(COLLECT_EVERY),
                    ..Asked::default()
                };
                let mut lookout = Lookout::new(asked);
                // A modelled host has no past of its own to learn from at first, so it comes with one. The lookout's time
                // begins a week before the target's.
                let first = past.first().map_or(Steady(0), |(at, _)| *at);
                for (at, value) in usual_week(place.seed, first.plus(WEEK)) {
                    lookout.step(at, Some(value));
                }
                for (at, value) in past {
                    lookout.step(at.plus(WEEK), Some(*value));
                }
                Sense::Lookout(Box::new(lookout))
            }
            config::Detector::Plain => Sense::Plain(Box::new(Plain {
                detector: Detector::new(),
                calibration: calibration(place, state),
                outdated: None,
            })),
        }
    }

    /// Takes what was just measured, the last of these samples. Says when the metric has changed for good.
    pub(super) fn step(&mut self, samples: &[(Steady, f64)]) -> Option<Direction> {
        let (at, value) = *samples.last()?;
        match self {
            Sense::Lookout(lookout) => {
                let finding = lookout.step(at.plus(WEEK), Some(value)).finding?;
                match finding.kind {
                    Kind::Shift | Kind::Drift => finding.direction,
                    // Worth a word, and nothing that a setting would change.
                    Kind::Spike | Kind::Spread | Kind::Cycle | Kind::Missing => None,
                }
            }
            Sense::Plain(plain) => plain.step(at, value, samples),
        }
    }

    /// A change was kept: the old mean no longer holds.
    pub(super) fn rebase(&mut self, now: Steady) {
        match self {
            Sense::Lookout(lookout) => lookout.rebase(),
            Sense::Plain(plain) => plain.rebase(now),
        }
    }

    /// Why nothing can be noticed.
    pub(super) fn trouble(&self) -> Option<String> {
        match self {
            Sense::Plain(plain) => plain.calibration.as_ref().err().cloned(),
            Sense::Lookout(_) => None,
        }
    }
}

impl Plain {
    fn step(&mut self, at: Steady, value: f64, samples: &[(Steady, f64)]) -> Option<Direction> {
        self.calibrate_again(at, samples);
        let calibration = self.calibration.as_ref().ok()?;
        self.detector.step(calibration, Sample::known(at, value)).map(|shift| shift.direction)
    }

    fn rebase(&mut self, now: Steady) {
        if let Ok(calibration) = &self.calibration {
            self.detector.rebase(calibration);
            self.outdated = Some(now);
        }
    }

    /// After a change was kept a new mean is taken when there are samples enough.
    fn calibrate_again(&mut self, now: Steady, samples: &[(Steady, f64)]) {
        let (Some(since), Ok(calibration)) = (self.outdated, &self.calibration) else { return };
        let span = Span { from: since, to: now.plus(COLLECT_EVERY) };
        let summary = Summary::of(samples.iter().copied(), span, &[]);
        if let Some(new) = summary.and_then(|summary| calibration.rebased(&summary).ok()) {
            self.calibration = Ok(new);
            self.outdated = None;
        }
    }
}

fn calibration(place: &Place, state: &Path) -> Result<Calibration, String> {
    let metric = Metric::primary();
    let parameters = CalibrationFile::of(state, &place.name).read().map_err(|e| e.to_string())?;
    parameters.get(&metric).copied().ok_or_else(|| {
        format!(
            "the plain detector has no calibration of {metric}, so nothing is noticed: `holdfast steward calibrate`"
        )
    })
}
