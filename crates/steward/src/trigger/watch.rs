//! What is wrong in a collection: a closed set of anomalies, each found from two collections, raised once, and
//! resolved when it is over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Cause;
use crate::sample::{EndpointName, Figures, Label, LogKind, Reading, STALE_AFTER, Service, Snapshot};
use crate::setting::UnitName;
use crate::time::Steady;

/// Host memory pressure (`some`, over a minute) from which it is a spike, in percent: a fifth of the time somebody
/// waited.
pub const PSI_SPIKE: f64 = 20.0;

/// Pressure below which a spike is over. Lower than where it begins, so that it does not come and go.
pub const PSI_CALM: f64 = 10.0;

/// An event that left no state behind (a kill, an error) is over after this long without another.
pub const QUIET_AFTER: Duration = Duration::from_secs(600);

/// Restarts between two collections that make a crash loop.
pub const CRASH_LOOP_RESTARTS: u64 = 3;

/// A message is one line.
const MESSAGE_CHARS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnomalyKind {
    Oom,
    ErrorLog,
    HealthFail,
    PsiSpike,
    CollectionFailure,
    Stale,
}

/// What an anomaly is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Host,
    Unit(UnitName),
    Endpoint(EndpointName),
    Read(Label),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anomaly {
    pub kind: AnomalyKind,
    pub subject: Subject,
    pub message: String,
}

impl Anomaly {
    /// The cycle it asks for, where it asks for one: a failing endpoint, or a kill in a unit.
    pub fn cause(&self) -> Option<Cause> {
        match (self.kind, &self.subject) {
            (AnomalyKind::HealthFail, Subject::Endpoint(endpoint)) => {
                Some(Cause::MonitorFailure { endpoint: endpoint.clone() })
            }
            (AnomalyKind::Oom, Subject::Unit(unit)) => Some(Cause::OutOfMemory { unit: unit.clone() }),
            _ => None,
        }
    }
}

/// What is wrong in `current`, one of each kind and subject, in order. Counts are compared with `previous`.
pub fn anomalies(previous: &Snapshot, current: &Snapshot) -> Vec<Anomaly> {
    let mut found = Found::default();
    for (unit, service) in &current.services {
        match service {
            Service::Read(_) => {
                found.kills(unit, grown(previous, current, unit, |figures| figures.oom_kills))
            }
            Service::CollectionFailed => found.add(
                AnomalyKind::CollectionFailure,
                Subject::Unit(unit.clone()),
                format!("memory and CPU of {unit} could not both be read"),
            ),
        }
    }
    found.log(current);
    found.endpoints(current);
    found.pressure(current);
    for (label, failure) in current.failures() {
        let exit = failure.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}"));
        let message = format!("{label} failed ({exit}): {}", failure.why);
        found.add(AnomalyKind::CollectionFailure, Subject::Read(label.clone()), message);
    }
    if current.is_stale() {
        let message = format!("no collection succeeded in the last {} minutes", STALE_AFTER.as_secs() / 60);
        found.add(AnomalyKind::Stale, Subject::Host, message);
    }
    found.into_list()
}

/// Units that were restarted again and again between two collections.
pub fn crash_loops(previous: &Snapshot, current: &Snapshot) -> Vec<Cause> {
    let restarts = |figures: &Figures| figures.restarts;
    let looping = |unit: &&UnitName| grown(previous, current, unit, restarts) >= CRASH_LOOP_RESTARTS;
    current.services.keys().filter(looping).map(|unit| Cause::CrashLoop { unit: unit.clone() }).collect()
}

/// How much a unit's count grew. One that fell began anew at zero, and so did all of them when the host was booted. A
/// count without one before it says nothing about when it grew.
fn grown(
    previous: &Snapshot,
    current: &Snapshot,
    unit: &UnitName,
    count: fn(&Figures) -> Reading<u64>,
) -> u64 {
    let read = |snapshot: &Snapshot| {
        snapshot.services.get(unit).and_then(Service::figures).and_then(|figures| count(figures).known())
    };
    let booted = previous.boot.is_some() && current.boot.is_some() && previous.boot != current.boot;
    let before = if booted { Some(0) } else { read(previous) };
    read(current).zip(before).map_or(0, |(now, before)| now.checked_sub(before).unwrap_or(now))
}

#[derive(Default)]
struct Found(BTreeMap<(AnomalyKind, Subject), String>);

impl Found {
    /// The first message of a kind and subject stands for all.
    fn add(&mut self, kind: AnomalyKind, subject: Subject, message: String) {
        self.0.entry((kind, subject)).or_insert_with(|| message.chars().take(MESSAGE_CHARS_MAX).collect());
    }

    fn kills(&mut self, unit: &UnitName, kills: u64) {
        if kills > 0 {
            let message = format!("{kills} killed in {unit} for want of memory");
            self.add(AnomalyKind::Oom, Subject::Unit(unit.clone()), message);
        }
    }

    fn log(&mut self, current: &Snapshot) {
        for entry in current.log() {
            let kind = match entry.kind() {
                Some(LogKind::Oom) => AnomalyKind::Oom,
                Some(LogKind::Error) => AnomalyKind::ErrorLog,
                None => continue,
            };
            let subject = entry.subject().map_or(Subject::Host, Subject::Unit);
            self.add(kind, subject, entry.message.clone());
        }
    }

    /// A result that is itself old is no news of the endpoint.
    fn endpoints(&mut self, current: &Snapshot) {
        for (name, endpoint) in &current.endpoints {
            let fresh = current.at.since(endpoint.measured_at) <= STALE_AFTER;
            if fresh && !endpoint.healthy {
                let message = format!("the monitor finds {name} unhealthy");
                self.add(AnomalyKind::HealthFail, Subject::Endpoint(name.clone()), message);
            }
        }
    }

    fn pressure(&mut self, current: &Snapshot) {
        if let Reading::Known(pressure) = current.pressure
            && pressure.some_avg60 >= PSI_SPIKE
        {
            let message = format!("memory pressure over a minute is {:.1} %", pressure.some_avg60);
            self.add(AnomalyKind::PsiSpike, Subject::Host, message);
        }
    }

    fn into_list(self) -> Vec<Anomaly> {
        self.0.into_iter().map(|((kind, subject), message)| Anomaly { kind, subject, message }).collect()
    }
}

/// The endpoints that were found ill by the last collection. One bad look is a moment; two in a row are worth a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ailing {
    before: BTreeSet<EndpointName>,
}

impl Ailing {
    /// Takes what a collection found, and gives a cause for each that is ill and was so before. It is given again as long as that lasts.
    pub fn step(&mut self, found: impl IntoIterator<Item = (String, bool)>) -> Vec<Cause> {
        let ill = found.into_iter().filter(|(_, well)| !well).filter_map(|(name, _)| name.parse().ok());
        let now: BTreeSet<EndpointName> = ill.collect();
        let lasting = now.intersection(&self.before).cloned();
        let causes = lasting.map(|endpoint| Cause::MonitorFailure { endpoint }).collect();
        self.before = now;
        causes
    }
}

/// What changed about the anomalies that are open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noted {
    Raised(Anomaly),
    Resolved { kind: AnomalyKind, subject: Subject },
}

/// The anomalies that are open. Each is noted when it comes and when it is over, however long it lasts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    open: Vec<Open>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    anomaly: Anomaly,
    last_seen: Steady,
}

/// More open anomalies than this are not told apart: by then the target is lost in any case.
const OPEN_MAX: usize = 1024;

impl Watch {
    /// Takes the next collection.
    pub fn step(&mut self, previous: &Snapshot, current: &Snapshot) -> Vec<Noted> {
        let mut noted = Vec::new();
        for anomaly in anomalies(previous, current) {
            let same =
                |one: &&mut Open| one.anomaly.kind == anomaly.kind && one.anomaly.subject == anomaly.subject;
            if let Some(open) = self.open.iter_mut().find(same) {
                open.last_seen = current.at;
            } else if self.open.len() < OPEN_MAX {
                self.open.push(Open { anomaly: anomaly.clone(), last_seen: current.at });
                noted.push(Noted::Raised(anomaly));
            }
        }
        self.open.retain(|open| {
            let over = open.last_seen < current.at && is_over(open, current);
            if over {
                let Anomaly { kind, subject, .. } = open.anomaly.clone();
                noted.push(Noted::Resolved { kind, subject });
            }
            !over
        });
        noted
    }

    /// What is open. As long as it is, its cause may be offered again.
    pub fn open(&self) -> impl Iterator<Item = &Anomaly> {
        self.open.iter().map(|open| &open.anomaly)
    }
}

/// Whether an anomaly that this collection does not show is over. What was not read proves nothing.
fn is_over(open: &Open, current: &Snapshot) -> bool {
    match (open.anomaly.kind, &open.anomaly.subject) {
        (AnomalyKind::Oom | AnomalyKind::ErrorLog, _) => {
            current.is_success() && current.at.since(open.last_seen) >= QUIET_AFTER
        }
        (AnomalyKind::HealthFail, Subject::Endpoint(name)) => current
            .endpoints
            .get(name)
            .is_some_and(|endpoint| endpoint.healthy && endpoint.measured_at > open.last_seen),
        (AnomalyKind::PsiSpike, _) => {
            current.pressure.known().is_some_and(|pressure| pressure.some_avg60 < PSI_CALM)
        }
        (AnomalyKind::CollectionFailure, Subject::Unit(unit)) => {
            current.services.get(unit).is_some_and(|service| service.figures().is_some())
        }
        (AnomalyKind::CollectionFailure | AnomalyKind::HealthFail, _) => true,
        (AnomalyKind::Stale, _) => true,
    }
}
