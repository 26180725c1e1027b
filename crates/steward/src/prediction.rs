//! What a proposal foretold, and whether it came true while the change was tried.
//!
//! A proposal says what its change will do to a metric. When the window has passed that is compared with what was measured, and
//! written down either way. Where the steward may do most by itself, a promise that was not kept is a trial that failed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::calibrate::Wanted;
use crate::constitution::Measure;
use crate::proposal::Expected;
use crate::sample::Metric;
use crate::watch::COLLECT_EVERY;

/// The part of what was promised that has to be there. A window is minutes long and a figure wanders by itself, so all of it is too much
/// to ask; less than half is another effect than the one that was foretold.
const KEPT_SHARE: f64 = 0.5;

/// What was foretold, beside what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub metric: String,
    /// Signed: −0.2 is a fifth less.
    pub foretold: f64,
    /// The metric before the trial and while it lasted; nothing where nobody measured it.
    pub before: Option<f64>,
    pub after: Option<f64>,
    pub came: Came,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    True,
    Missed,
    /// It was not measured, or so little was foretold that it could not be told from chance.
    Untold,
}

impl Prediction {
    /// Compares what was foretold with what was measured. The primary metric has a least change that counts, which people set.
    pub fn judged(
        expected: &Expected,
        primary: &Measure,
        before: Option<f64>,
        after: Option<f64>,
    ) -> Prediction {
        let promised = before.map(|before| expected.relative_change * before.abs());
        let came = match (promised, before.zip(after)) {
            // That nothing gets worse is asked of every trial, so who promises no change has kept it.
            (Some(_), Some(_)) if expected.relative_change == 0.0 => Came::True,
            (Some(promised), Some((before, after))) => {
                came(promised, after - before, least(expected, primary))
            }
            _ => Came::Untold,
        };
        let Expected { metric, relative_change, .. } = expected.clone();
        Prediction { metric, foretold: relative_change, before, after, came }
    }
}

fn came(promised: f64, measured: f64, least: Option<f64>) -> Came {
    let Some(least) = least else { return Came::Untold };
    if !promised.is_finite() || !measured.is_finite() || promised.abs() < least {
        return Came::Untold;
    }
    let share = measured / promised;
    if share >= KEPT_SHARE { Came::True } else { Came::Missed }
}

/// The least change that says anything, in the metric's own unit; nothing for a metric nobody knows.
fn least(expected: &Expected, primary: &Measure) -> Option<f64> {
    let metric: Metric = expected.metric.parse().ok()?;
    let is_primary = metric == primary.metric;
    Some(if is_primary { primary.floor } else { Wanted::usual(&metric, COLLECT_EVERY).sigma_floor })
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.came {
            Came::True => "came true",
            Came::Missed => "did not come true",
            Came::Untold => "could not be told",
        };
        write!(f, "that {} would change by {:+.0} % {word}", self.metric, self.foretold * 100.0)?;
        match (self.before, self.after) {
            (Some(before), Some(after)) => write!(f, ": {before:.2} before, {after:.2} while it was tried"),
            _ => f.write_str(": it was not measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constitution::{Constitution, Direction};

    fn check(metric: &str, foretold: f64, before: Option<f64>, after: Option<f64>, came: Came) {
        let expected =
            Expected { metric: metric.to_owned(), direction: Direction::Minimize, relative_change: foretold };
        let law = Constitution::default();
        let judged = Prediction::judged(&expected, law.primary(), before, after);
        assert_eq!(judged.came, came, "{judged}");
    }

    #[test]
    fn half_of_what_was_promised_is_enough_and_less_is_not() {
        let pressure = "psi_mem_some_avg60";
        check(pressure, -0.2, Some(10.0), Some(8.0), Came::True);
        check(pressure, -0.2, Some(10.0), Some(5.0), Came::True);
        check(pressure, -0.2, Some(10.0), Some(9.0), Came::True);
        check(pressure, -0.2, Some(10.0), Some(9.1), Came::Missed);
        check(pressure, -0.2, Some(10.0), Some(12.0), Came::Missed);
        check("throughput", 0.5, Some(10.0), Some(14.0), Came::True);
        check("throughput", 0.5, Some(10.0), Some(10.1), Came::Missed);
        check(pressure, 0.0, Some(10.0), Some(10.4), Came::True);
    }

    #[test]
    fn what_was_not_measured_or_is_too_small_to_be_seen_is_held_against_nobody() {
        let pressure = "psi_mem_some_avg60";
        check(pressure, -0.2, None, Some(8.0), Came::Untold);
        check(pressure, -0.2, Some(10.0), None, Came::Untold);
        // A fifth of two points is less than the half point from which on a change counts.
        check(pressure, -0.2, Some(2.0), Some(9.0), Came::Untold);
        check(pressure, -0.2, Some(0.0), Some(0.0), Came::Untold);
        check("requests_per_fortnight", -0.2, Some(10.0), Some(1.0), Came::Untold);
        check(pressure, f64::NAN, Some(10.0), Some(9.0), Came::Untold);
        check("a.service:latency_ms", -0.5, Some(8.0), Some(8.0), Came::Untold);
        check("a.service:latency_ms", -0.5, Some(80.0), Some(80.0), Came::Missed);
    }
}
