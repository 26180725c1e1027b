//! A chosen step put into the words and fields of a proposal.

use serde::Serialize;

use super::remedy::Step;
use super::{MIB, Reason, View, relief};
use crate::brain::diagnosis::Diagnosis;
use crate::sample::{EndpointName, Label, Metric, Quantity, Scope, Window};
use crate::setting::{Property, UnitName};

const HEALTH_TIMEOUT_SECONDS: u32 = 120;
const PROBE_TIMEOUT_SECONDS: u32 = 10;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    NoAction { no_action: String },
    Proposal(Box<Proposal>),
}

#[derive(Serialize)]
pub(super) struct Proposal {
    hypothesis: String,
    target_service: UnitName,
    target_option: Property,
    old_value: String,
    new_value: String,
    rationale: String,
    verification_checks: Vec<Check>,
    expected_outcome: Expected,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    exploration: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    also: Option<Also>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Check {
    HealthCheck { endpoint: EndpointName, timeout_seconds: u32 },
    SshProbe { host: Label, timeout_seconds: u32 },
}

#[derive(Serialize)]
struct Expected {
    metric: String,
    direction: &'static str,
    /// Signed: −0.2 is a fifth less.
    relative_change: f64,
}

#[derive(Serialize)]
struct Also {
    target_option: Property,
    old_value: String,
    new_value: String,
}

impl Proposal {
    pub(super) fn of(step: &Step<'_>, view: &View) -> Proposal {
        let (hypothesis, rationale) = step.reasons(view);
        let health = step.seen.endpoint.clone();
        let health =
            health.map(|endpoint| Check::HealthCheck { endpoint, timeout_seconds: HEALTH_TIMEOUT_SECONDS });
        let probe = Check::SshProbe { host: view.host.clone(), timeout_seconds: PROBE_TIMEOUT_SECONDS };
        Proposal {
            hypothesis,
            target_service: step.unit.clone(),
            old_value: step.change.from.to_string(),
            new_value: step.change.to.to_string(),
            target_option: step.change.property.clone(),
            rationale,
            verification_checks: health.into_iter().chain([probe]).collect(),
            expected_outcome: step.expected(view),
            exploration: view.exploration,
            also: step.also.as_ref().map(|one| Also {
                target_option: one.property.clone(),
                old_value: one.from.to_string(),
                new_value: one.to.to_string(),
            }),
        }
    }
}

/// No change is said to take more than this of a symptom away, nor less, as a share.
const RELIEF_MAX: f64 = 0.9;
const RELIEF_MIN: f64 = 0.05;
/// What is expected where nothing is known of the unit's own symptom.
const USUAL: f64 = -0.2;

impl Step<'_> {
    fn expected(&self, view: &View) -> Expected {
        let of_unit = |quantity, window| {
            Metric::new(Scope::Unit(self.unit.clone()), quantity, window).unwrap_or_else(Metric::primary)
        };
        let own = self.seen.facts.pressure.is_some();
        let pressure = || if own { of_unit(Quantity::PsiMemSome, Window::Avg60) } else { Metric::primary() };
        let (metric, relative_change) = match self.reason {
            Reason::Heal { diagnosis, severity } => {
                let metric = match diagnosis {
                    Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow => pressure(),
                    Diagnosis::QuotaTooLow => of_unit(Quantity::CpuThrottled, Window::None),
                    Diagnosis::NiceTooHigh => of_unit(Quantity::Latency, Window::None),
                };
                (metric, self.relief(view, diagnosis, severity))
            }
            // Whoever gave weight back is expected to wait more; what is looked at is the host.
            Reason::TakeBack { .. } => (Metric::primary(), 0.0),
            // Exploring and giving back are a success when nothing gets worse.
            Reason::Explore | Reason::GiveBack | Reason::NoEffect => (pressure(), 0.0),
        };
        Expected { metric: metric.to_string(), direction: "minimize", relative_change }
    }

    /// How much of the symptom the step should take away, signed.
    fn relief(&self, view: &View, diagnosis: Diagnosis, severity: f64) -> f64 {
        let Some(meant) = self.intent().filter(|_| severity > 0.0) else { return USUAL };
        if matches!(diagnosis, Diagnosis::LimitTooLow | Diagnosis::ThrottleTooLow)
            && self.seen.facts.pressure.is_none()
        {
            return USUAL;
        }
        let per = relief::expected(view, diagnosis, &meant.property, self.unit);
        let steps = if meant.property == Property::Nice { meant.step } else { meant.step * 100.0 };
        let share = (per * steps / severity).clamp(RELIEF_MIN, RELIEF_MAX);
        // Two digits are all that is known.
        -(share * 100.0).round() / 100.0
    }

    fn reasons(&self, view: &View) -> (String, String) {
        let (unit, seen, change) = (self.unit, self.seen, &self.change);
        let peak = seen.peak.map_or_else(|| "unknown".to_owned(), |peak| format!("{} MiB", peak / MIB));
        let pressure = seen.facts.pressure.or(view.pressure).unwrap_or_default();
        let usual = match (seen.facts.latency, seen.facts.latency_usual) {
            (Some(now), Some(usual)) => format!(", an answer takes {now:.0} ms instead of {usual:.0} ms"),
            _ => String::new(),
        };
        match self.reason {
            Reason::Heal { diagnosis: Diagnosis::LimitTooLow, .. } => (
                format!("{unit} is killed for want of memory; with {} it keeps running", change.to),
                format!(
                    "{} kills and {} restarts, peak {peak}, limit {}",
                    seen.oom_kills, seen.restarts, change.from
                ),
            ),
            Reason::Heal { diagnosis: Diagnosis::ThrottleTooLow, .. } => (
                format!(
                    "{unit} is held at its throttle; with {} it waits less for memory",
                    self.also.as_ref().unwrap_or(change).to
                ),
                format!("pressure {pressure:.1} %, peak {peak}, throttle {}{usual}", seen.memory_high),
            ),
            Reason::Heal { diagnosis: Diagnosis::QuotaTooLow, .. } => (
                format!("{unit} is stopped by its quota; with {} it waits less for the processor", change.to),
                format!(
                    "stopped in {:.0} % of its periods, quota {}{usual}",
                    seen.throttled * 100.0,
                    change.from
                ),
            ),
            Reason::Heal { diagnosis: Diagnosis::NiceTooHigh, severity } => (
                format!(
                    "others take the processor from {unit}; with a nice value of {} it gets its share",
                    change.to
                ),
                format!(
                    "waits for a processor {severity:.0} % of the time at a nice value of {}{usual}",
                    change.from
                ),
            ),
            Reason::TakeBack { waits } => (
                format!(
                    "another unit pays for the weight of {unit}; with a nice value of {} it gets its share",
                    change.to
                ),
                format!(
                    "the other waits for a processor {waits:.0} % of the time, and would wait less without the change"
                ),
            ),
            Reason::Explore => (
                format!("{unit} is close to a limit; with {} it has some room", change.to),
                format!("peak {peak}, pressure {pressure:.1} %, not changed lately; a quarter of a step"),
            ),
            Reason::NoEffect => (
                format!(
                    "{unit} was given {} and nothing changed; with {} it runs as before",
                    change.from, change.to
                ),
                "a day after it was changed there was no difference, and nothing is wrong now".to_owned(),
            ),
            Reason::GiveBack => (
                format!("{unit} does not need all of its memory; with {} it runs as before", change.to),
                format!("peak {peak} of {}, no kills, no pressure, and others have none left", change.from),
            ),
        }
    }
}
