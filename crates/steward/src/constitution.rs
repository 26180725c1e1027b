//! What counts as better: the measure of success, which no part of the steward can change.
//!
//! A [`Constitution`] is read from the settings that people write and from nowhere else. It has no setter and no field
//! that can be assigned, so whoever holds one judges by what people said. A proposal cannot name any of this: a change is
//! about a setting of a unit.

use serde::{Deserialize, Serialize};

use crate::invariant::Check;
use crate::sample::Metric;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Minimize,
    Maximize,
}

/// What becomes of a change that had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNeutral {
    Keep,
    Revert,
    /// The next cycle is asked to propose the way back.
    ProposeRevert,
}

/// What becomes of a change that turned out harmful a day later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDelayedNegative {
    Revert,
    AskPerson,
}

/// One metric with the change that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Measure {
    pub metric: Metric,
    pub direction: Direction,
    /// The least relative change that counts: 0.05 is five per cent.
    #[serde(default = "default_minimum_effect")]
    pub minimum_effect: f64,
    /// The least change that counts in the metric's own unit. Without it a rise from 0.00 to 0.01 would be without bound.
    pub floor: f64,
}

/// The settings as people write them; the names of an earlier design are read too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    #[serde(alias = "primaryMetric")]
    pub primary_metric: Metric,
    pub direction: Direction,
    #[serde(alias = "minimumEffect")]
    pub minimum_effect: f64,
    pub floor: f64,
    #[serde(alias = "safetyInvariants")]
    pub safety_invariants: Vec<Check>,
    pub guards: Vec<Measure>,
    pub samples_min: u32,
    pub on_neutral: OnNeutral,
    pub on_delayed_negative: OnDelayedNegative,
}

const MINIMUM_EFFECT: f64 = 0.05;
/// Half a point of pressure: below that a host at rest looks like one at work.
const FLOOR: f64 = 0.5;
/// Half of a day's samples, one every two minutes.
const SAMPLES_MIN: u32 = 360;
/// Four more restarts a day than before, per second as the metric counts them: fewer happen by themselves.
const RESTARTS_FLOOR: f64 = 0.000_05;
const GUARDS_MAX: usize = 16;

fn default_minimum_effect() -> f64 {
    MINIMUM_EFFECT
}

impl Default for Settings {
    /// The one guard every target can answer is how often its units were started again. Throughput and latency depend on
    /// the workload; who knows it adds them.
    fn default() -> Settings {
        Settings {
            primary_metric: Metric::primary(),
            direction: Direction::Minimize,
            minimum_effect: MINIMUM_EFFECT,
            floor: FLOOR,
            safety_invariants: vec![Check::Ssh, Check::Vpn, Check::Monitor],
            guards: vec![Measure {
                metric: Metric::restarts(),
                direction: Direction::Minimize,
                minimum_effect: MINIMUM_EFFECT,
                floor: RESTARTS_FLOOR,
            }],
            samples_min: SAMPLES_MIN,
            on_neutral: OnNeutral::ProposeRevert,
            on_delayed_negative: OnDelayedNegative::Revert,
        }
    }
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum NotAConstitution {
    #[error("minimum_effect of {metric} is {value}: expected a number above 0 and at most 1")]
    MinimumEffect { metric: Metric, value: f64 },
    #[error("floor of {metric} is {value}: expected a number above 0, in the metric's own unit")]
    Floor { metric: Metric, value: f64 },
    #[error("safety_invariants lacks {0}: a trial is never judged without it")]
    Lacks(Check),
    #[error("samples_min is 0: a verdict needs samples")]
    NoSamples,
    #[error("guards: {metric} is named twice, or is the primary metric")]
    Twice { metric: Metric },
    #[error("guards: {count} are named, at most {GUARDS_MAX} are read")]
    TooManyGuards { count: usize },
}

/// The measure of success. Read once, never written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct Constitution {
    primary: Measure,
    guards: Vec<Measure>,
    safety_invariants: Vec<Check>,
    samples_min: u32,
    on_neutral: OnNeutral,
    on_delayed_negative: OnDelayedNegative,
}

impl Constitution {
    pub fn primary(&self) -> &Measure {
        &self.primary
    }

    /// Metrics that must not worsen for the primary one to count: one metric alone can be had by throttling the work.
    pub fn guards(&self) -> &[Measure] {
        &self.guards
    }

    /// What is checked at every step of verification.
    pub fn safety_invariants(&self) -> &[Check] {
        &self.safety_invariants
    }

    /// With fewer samples on either side there is no verdict.
    pub fn samples_min(&self) -> u32 {
        self.samples_min
    }

    pub fn on_neutral(&self) -> OnNeutral {
        self.on_neutral
    }

    pub fn on_delayed_negative(&self) -> OnDelayedNegative {
        self.on_delayed_negative
    }
}

impl Default for Constitution {
    fn default() -> Constitution {
        Constitution::unchecked(Settings::default())
    }
}

impl Constitution {
    fn unchecked(settings: Settings) -> Constitution {
        let Settings {
            primary_metric: metric,
            direction,
            minimum_effect,
            floor,
            safety_invariants,
            guards,
            samples_min,
            on_neutral,
            on_delayed_negative,
        } = settings;
        let primary = Measure { metric, direction, minimum_effect, floor };
        Constitution { primary, guards, safety_invariants, samples_min, on_neutral, on_delayed_negative }
    }
}

impl TryFrom<Settings> for Constitution {
    type Error = NotAConstitution;

    fn try_from(settings: Settings) -> Result<Constitution, NotAConstitution> {
        let read = Constitution::unchecked(settings);
        if read.guards.len() > GUARDS_MAX {
            return Err(NotAConstitution::TooManyGuards { count: read.guards.len() });
        }
        std::iter::once(&read.primary).chain(&read.guards).try_for_each(in_range)?;
        for (index, guard) in read.guards.iter().enumerate() {
            let same = |other: &Measure| other.metric == guard.metric;
            if same(&read.primary) || read.guards[..index].iter().any(same) {
                return Err(NotAConstitution::Twice { metric: guard.metric.clone() });
            }
        }
        // Without these two a trial could cut the host off and still be called a success.
        for needed in [Check::Ssh, Check::Monitor] {
            if !read.safety_invariants.contains(&needed) {
                return Err(NotAConstitution::Lacks(needed));
            }
        }
        if read.samples_min == 0 { Err(NotAConstitution::NoSamples) } else { Ok(read) }
    }
}

fn in_range(measure: &Measure) -> Result<(), NotAConstitution> {
    let metric = || measure.metric.clone();
    if !(measure.minimum_effect > 0.0 && measure.minimum_effect <= 1.0) {
        return Err(NotAConstitution::MinimumEffect { metric: metric(), value: measure.minimum_effect });
    }
    if !(measure.floor > 0.0 && measure.floor.is_finite()) {
        return Err(NotAConstitution::Floor { metric: metric(), value: measure.floor });
    }
    Ok(())
}

impl From<Constitution> for Settings {
    fn from(read: Constitution) -> Settings {
        Settings {
            primary_metric: read.primary.metric,
            direction: read.primary.direction,
            minimum_effect: read.primary.minimum_effect,
            floor: read.primary.floor,
            safety_invariants: read.safety_invariants,
            guards: read.guards,
            samples_min: read.samples_min,
            on_neutral: read.on_neutral,
            on_delayed_negative: read.on_delayed_negative,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: serde_json::Value) -> Result<Constitution, String> {
        serde_json::from_value(settings).map_err(|e| e.to_string())
    }

    // shows: STW-209, STW-210, STW-211, STW-212
    #[test]
    fn what_nobody_says_is_the_default_and_what_somebody_says_is_taken() {
        let silent = read(json!({})).unwrap();
        assert_eq!(silent, Constitution::default());
        assert_eq!(silent.primary().metric.to_string(), "psi_mem_some_avg60");
        assert_eq!(silent.primary().direction, Direction::Minimize);
        assert_eq!(silent.primary().minimum_effect, 0.05);
        assert_eq!(silent.safety_invariants(), [Check::Ssh, Check::Vpn, Check::Monitor]);

        let said = read(json!({"primaryMetric": "throughput", "direction": "maximize", "minimumEffect": 0.1,
            "safetyInvariants": ["ssh_reachable", "gatus_all_healthy"]}))
        .unwrap();
        assert_eq!(said.primary().metric.to_string(), "throughput");
        assert_eq!(said.primary().direction, Direction::Maximize);
        assert_eq!(said.primary().minimum_effect, 0.1);
        assert_eq!(said.safety_invariants(), [Check::Ssh, Check::Monitor]);
    }

    #[test]
    fn the_default_would_also_pass_the_door() {
        assert_eq!(Constitution::try_from(Settings::default()), Ok(Constitution::default()));
        let text = serde_json::to_value(Constitution::default()).unwrap();
        assert_eq!(read(text), Ok(Constitution::default()));
    }

    // shows: STW-377
    #[test]
    fn settings_that_would_call_anything_a_success_are_refused() {
        let guard = |metric: &str| json!({"metric": metric, "direction": "minimize", "floor": 1.0});
        let cases = [
            (json!({"minimum_effect": 0.0}), "above 0 and at most 1"),
            (json!({"minimum_effect": -0.1}), "above 0 and at most 1"),
            (json!({"minimum_effect": 1.5}), "above 0 and at most 1"),
            (json!({"floor": 0.0}), "floor of psi_mem_some_avg60 is 0"),
            (json!({"samples_min": 0}), "a verdict needs samples"),
            (json!({"safety_invariants": []}), "lacks ssh_reachable"),
            (json!({"safety_invariants": ["ssh_reachable", "vpn_online"]}), "lacks monitor_healthy"),
            (json!({"direction": "sideways"}), "unknown variant"),
            (json!({"primary_metric": "requests_per_second"}), "no metric is called"),
            (json!({"primary_metric": "psi_mem_some"}), "must say its averaging window"),
            (json!({"primary": "x"}), "unknown field"),
            (json!({"guards": [guard("restarts"), guard("restarts")]}), "named twice"),
            (json!({"guards": [guard("psi_mem_some_avg60")]}), "or is the primary metric"),
            (
                json!({"guards": (0..17).map(|i| guard(&format!("m{i}.service:restarts"))).collect::<Vec<_>>()}),
                "at most 16",
            ),
        ];
        for (settings, expected) in cases {
            let error = read(settings.clone()).unwrap_err();
            assert!(error.contains(expected), "{settings}: {error}");
        }
    }
}
