//! What notices that a target has changed: lookouts over its metrics, which learn by themselves, or the plain detector with its
//! calibration.

use std::path::Path;

use holdfast_config as config;
use holdfast_lifeline::Steady;
use holdfast_steward::calibrate::Calibration;
use holdfast_steward::detect::Detector;
use holdfast_steward::retrospective::{Span, Summary};
use holdfast_steward::sample::{Marked, Metric, Sample};
use holdfast_steward::trigger::{Cause, Told};
use holdfast_steward::watch::{COLLECT_EVERY, Noticed, Sighting, Watch};

use super::calibrations::CalibrationFile;
use super::lookouts::Learnt;
use super::settings::Place;

#[derive(Debug)]
pub(super) enum Sense {
    Lookouts(Box<Watch>),
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
    /// The sense that the configuration asks for, with what was measured on the target lately, and what it had learnt before.
    pub(super) fn of(
        place: &Place,
        state: &Path,
        quiet: &[(Steady, Sighting)],
        past: &[(Steady, Sighting)],
        learnt: Option<Learnt>,
    ) -> Sense {
        match place.detector {
            config::Detector::Lookout => {
                // A modelled host has no past of its own to learn from at first, so it comes with one. A real one has
                // what was measured, or learns from what comes.
                let (until, mut watch) = learnt.map_or_else(
                    || (Steady(0), Watch::new(place.units(), quiet)),
                    |learnt| (learnt.at, learnt.watch),
                );
                for (at, seen) in past.iter().filter(|(at, _)| *at >= until) {
                    watch.step(*at, seen);
                }
                Sense::Lookouts(Box::new(watch))
            }
            config::Detector::Plain => Sense::Plain(Box::new(Plain {
                detector: Detector::new(),
                calibration: calibration(place, state),
                outdated: None,
            })),
        }
    }

    /// Takes what was just measured; the samples are of the primary metric. Says when something has changed for good. `told` is how
    /// the target is called, and how its times are written.
    pub(super) fn step(
        &mut self,
        now: Steady,
        samples: &[(Steady, f64)],
        marked: &Marked,
        seen: &Sighting,
        told: (&str, &dyn Fn(Steady) -> String),
    ) -> Option<Cause> {
        match self {
            Sense::Lookouts(watch) => {
                let (metric, direction) = watch.step(now, seen)?;
                let Noticed { sentence, metrics, .. } = watch.noticed(told.0, told.1)?;
                Some(Cause::Noticed { metric, direction, told: Told::new(metrics, &sentence) })
            }
            Sense::Plain(plain) => {
                let (at, value) = *samples.last().filter(|(at, _)| *at == now)?;
                plain.step(at, value, samples, marked)
            }
        }
    }

    /// What is going on.
    pub(super) fn noticed(&self, told: (&str, &dyn Fn(Steady) -> String)) -> Option<Noticed> {
        match self {
            Sense::Lookouts(watch) => watch.noticed(told.0, told.1),
            Sense::Plain(_) => None,
        }
    }

    /// A change was kept: the old mean no longer holds.
    pub(super) fn rebase(&mut self, now: Steady) {
        match self {
            Sense::Lookouts(watch) => watch.rebase(),
            Sense::Plain(plain) => plain.rebase(now),
        }
    }

    /// What is worth keeping over a restart.
    pub(super) fn watch(&self) -> Option<&Watch> {
        match self {
            Sense::Lookouts(watch) => Some(watch),
            Sense::Plain(_) => None,
        }
    }

    /// Why nothing can be noticed.
    pub(super) fn trouble(&self) -> Option<String> {
        match self {
            Sense::Plain(plain) => plain.calibration.as_ref().err().cloned(),
            Sense::Lookouts(_) => None,
        }
    }
}

impl Plain {
    fn step(&mut self, at: Steady, value: f64, samples: &[(Steady, f64)], marked: &Marked) -> Option<Cause> {
        self.calibrate_again(at, samples, marked);
        let calibration = self.calibration.as_ref().ok()?;
        let shift = self.detector.step(calibration, Sample::known(at, value))?;
        Some(Cause::RegimeChange { metric: Metric::primary(), direction: shift.direction })
    }

    fn rebase(&mut self, now: Steady) {
        if let Ok(calibration) = &self.calibration {
            self.detector.rebase(calibration);
            self.outdated = Some(now);
        }
    }

    /// After a change was kept a new mean is taken when there are samples enough, without what was measured while we were at it again.
    fn calibrate_again(&mut self, now: Steady, samples: &[(Steady, f64)], marked: &Marked) {
        let (Some(since), Ok(calibration)) = (self.outdated, &self.calibration) else { return };
        let span = Span { from: since, to: now.plus(COLLECT_EVERY) };
        let summary = Summary::of(samples.iter().copied(), span, marked.intervals());
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

#[cfg(test)]
mod tests;
