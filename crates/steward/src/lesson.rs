//! What a change did to what it was made for, as it is written down; from it comes the experience a brain is shown.

use serde::{Deserialize, Serialize};

use crate::brain::{Diagnosis, Experience, Intent};
use crate::outcome::Outcome;
use crate::setting::{Property, UnitName};

/// Whether it was on the target the brain is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Here,
    Elsewhere,
}

/// What a change is meant to do, as it is written down while that is not known yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meant {
    pub diagnosis: Diagnosis,
    pub unit: UnitName,
    pub property: Property,
    pub step: f64,
    /// How bad it was.
    pub before: f64,
}

impl From<Intent> for Meant {
    fn from(intent: Intent) -> Meant {
        let Intent { diagnosis, unit, property, step, severity: before } = intent;
        Meant { diagnosis, unit, property, step, before }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    pub diagnosis: Diagnosis,
    pub unit: UnitName,
    pub property: Property,
    /// How far the setting was moved, as a share of what it was; for a nice value in whole steps.
    pub step: f64,
    /// How bad it was before and after: percent of the time it waited, or of the periods in which it was stopped.
    pub before: f64,
    pub after: f64,
}

impl Lesson {
    /// Nothing where a figure is none: it could not be written down.
    pub fn of(meant: Meant, after: f64) -> Option<Lesson> {
        let Meant { diagnosis, unit, property, step, before } = meant;
        let whole = [step, before, after].into_iter().all(f64::is_finite);
        whole.then_some(Lesson { diagnosis, unit, property, step, before, after })
    }

    /// What is learnt from it now that this came of the change.
    pub fn experience(&self, outcome: Outcome, place: Place) -> Experience {
        let Lesson { diagnosis, unit, property, step, before, after } = self.clone();
        Experience { diagnosis, property, unit, step, before, after, outcome, here: place == Place::Here }
    }

    /// One sentence without its end: "web.service waited for memory 31 % of the time, and 2 % afterwards".
    pub fn sentence(&self) -> String {
        let Lesson { unit, before, after, .. } = self;
        let what = match self.diagnosis {
            Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow => "waited for memory",
            Diagnosis::QuotaTooLow => "was stopped by its quota",
            Diagnosis::NiceTooHigh => "waited for a processor",
        };
        format!("{unit} {what} {before:.0} % of the time, and {after:.0} % afterwards")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_none_teaches_nothing() {
        let meant = Intent {
            diagnosis: Diagnosis::QuotaTooLow,
            unit: "web-1.service".parse().unwrap(),
            property: Property::CpuQuota,
            step: 0.2,
            severity: 31.0,
        };
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(Lesson::of(meant.clone().into(), bad), None);
        }
        let lesson = Lesson::of(meant.clone().into(), 2.0).unwrap();
        let read: Lesson = serde_json::from_str(&serde_json::to_string(&lesson).unwrap()).unwrap();
        assert_eq!(read, lesson);
        let experience = read.experience(Outcome::Improved, Place::Here);
        assert_eq!(experience, meant.came_to(2.0, Outcome::Improved));
    }
}
