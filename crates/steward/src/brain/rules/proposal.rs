//! A chosen step put into the words and fields of a proposal.

use serde::Serialize;

use super::{Idea, Kind, MIB, Move, Step, View};
use crate::sample::{EndpointName, Label, Metric, Quantity, Scope, Window};
use crate::setting::{Property, UnitName};

const HEALTH_TIMEOUT_SECONDS: u32 = 120;
const PROBE_TIMEOUT_SECONDS: u32 = 10;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    NoAction { no_action: &'static str },
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

impl Step<'_> {
    pub(super) fn proposal(self, view: &View) -> Proposal {
        let Step { idea, change, also } = self;
        let (hypothesis, rationale) = idea.reasons(&change, view);
        let health = idea.seen.endpoint.clone();
        let health =
            health.map(|endpoint| Check::HealthCheck { endpoint, timeout_seconds: HEALTH_TIMEOUT_SECONDS });
        let probe = Check::SshProbe { host: view.host.clone(), timeout_seconds: PROBE_TIMEOUT_SECONDS };
        Proposal {
            hypothesis,
            target_service: idea.unit.clone(),
            old_value: change.from.to_string(),
            new_value: change.to.to_string(),
            target_option: change.property,
            rationale,
            verification_checks: health.into_iter().chain([probe]).collect(),
            expected_outcome: idea.expected(),
            exploration: view.exploration,
            also: also.map(|one| Also {
                target_option: one.property,
                old_value: one.from.to_string(),
                new_value: one.to.to_string(),
            }),
        }
    }
}

impl Idea<'_> {
    fn expected(&self) -> Expected {
        let throttling = Metric::new(Scope::Unit(self.unit.clone()), Quantity::CpuThrottled, Window::None);
        let (metric, relative_change) = match self.kind {
            Kind::RelieveKills | Kind::RelievePressure => (Metric::primary(), -0.2),
            Kind::Unthrottle => (throttling.unwrap_or_else(Metric::primary), -0.2),
            Kind::Prefer => (Metric::primary(), -0.05),
            // Giving back is a success when nothing gets worse.
            Kind::GiveBack => (Metric::primary(), 0.0),
        };
        Expected { metric: metric.to_string(), direction: "minimize", relative_change }
    }

    fn reasons(&self, change: &Move, view: &View) -> (String, String) {
        let (unit, seen) = (self.unit, self.seen);
        let peak = seen.peak.map_or_else(|| "unknown".to_owned(), |peak| format!("{} MiB", peak / MIB));
        let pressure = view.pressure.unwrap_or_default();
        match self.kind {
            Kind::RelieveKills => (
                format!("{unit} is killed for want of memory; with {} it keeps running", change.to),
                format!(
                    "{} kills and {} restarts, peak {peak}, limit {}",
                    seen.oom_kills, seen.restarts, change.from
                ),
            ),
            Kind::RelievePressure => (
                format!("{unit} is held at its throttle; with {} it waits less for memory", change.to),
                format!("mean pressure {pressure:.1} %, peak {peak}, throttle {}", seen.memory_high),
            ),
            Kind::Unthrottle => (
                format!("{unit} is stopped by its quota; with {} it waits less for the processor", change.to),
                format!("stopped in {:.0} % of its periods, quota {}", seen.throttled * 100.0, change.from),
            ),
            Kind::Prefer => (
                format!("with a nice value of {} {unit} frees memory sooner", change.to),
                format!("mean pressure {pressure:.1} %, and its nice value was not tried lately"),
            ),
            Kind::GiveBack => (
                format!("{unit} does not need all of its memory; with {} it runs as before", change.to),
                format!("peak {peak} of {}, no kills, no pressure", change.from),
            ),
        }
    }
}
