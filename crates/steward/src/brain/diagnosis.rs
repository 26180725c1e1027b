//! What is wrong with a unit, by name.

use serde::{Deserialize, Serialize};

use super::history::Facts;

/// What may be wrong, the most harmful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Diagnosis {
    /// It is killed because its working set does not fit.
    LimitTooLow,
    /// It waits for memory because it is throttled below its working set.
    ThrottleTooLow,
    /// Its quota stops it.
    QuotaTooLow,
    /// It waits for processors that others have, and weighs no more than they do.
    NiceTooHigh,
}

impl Diagnosis {
    /// How bad it is, in percent: of the time it waits, or of the periods in which it is stopped.
    pub fn severity(self, facts: &Facts, throttled: f64) -> Option<f64> {
        match self {
            Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow => facts.pressure,
            Diagnosis::QuotaTooLow => Some(throttled * 100.0),
            Diagnosis::NiceTooHigh => facts.cpu_wait,
        }
        .filter(|severity| severity.is_finite())
    }
}
