//! What was collected, as far as a brain is shown it: the units with what was seen of them, the host, and what became of
//! earlier changes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Sighting, UNITS_MAX, WEEK};
use crate::brain::{Bounds, Earlier, Experience, History, HostView, Neighbour, People, Seen, UnitView, View};
use crate::com::{Com, UnitModel};
use crate::effect::{Asking, Full};
use crate::sample::{EndpointName, Label};
use crate::setting::{Property, Setting, UnitName, Value};
use crate::time::Steady;

/// Kills and restarts of this long count as lately.
const LATELY: Duration = Duration::from_secs(6 * 3600);
/// The mean pressure is over this: short enough that a shift which was just noticed shows in it.
const PRESSURE_OVER: Duration = Duration::from_secs(180);

/// Answers of this many collections say what is usual where no quiet times are known: a day.
const USUAL_OVER: usize = 720;
/// Fewer say nothing.
const USUAL_MIN: usize = 30;

/// What was collected, as far as a brain needs it.
#[derive(Clone, Debug, Default)]
pub struct Collections {
    services: BTreeMap<UnitName, Service>,
    on_host: HostView,
}

#[derive(Clone, Debug, Default)]
struct Service {
    history: History,
    /// Answer times in milliseconds: in quiet times, or lately.
    latency_quiet: Option<f64>,
    latencies: VecDeque<f64>,
}

/// What is known besides: how earlier changes ended, here and elsewhere, and what a day still allows.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub outcomes: Vec<Earlier>,
    pub experience: Vec<Experience>,
    pub spent_today: bool,
}

/// What people said about the host: what it is called where it is probed, which endpoints its units answer, and what all memory
/// limits together stay under.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    pub host: Label,
    pub endpoint_of: &'a BTreeMap<UnitName, EndpointName>,
    pub memory_budget: u64,
}

impl Service {
    fn latency_usual(&self) -> Option<f64> {
        let median = || {
            let mut all: Vec<f64> = self.latencies.iter().copied().collect();
            all.sort_by(f64::total_cmp);
            (all.len() >= USUAL_MIN).then(|| all[all.len() / 2])
        };
        self.latency_quiet.or_else(median)
    }

    fn answered_in(&mut self, latency: Option<f64>) {
        let Some(latency) = latency.filter(|latency| latency.is_finite()) else { return };
        self.latencies.push_back(latency);
        if self.latencies.len() > USUAL_OVER {
            self.latencies.pop_front();
        }
    }
}

impl Collections {
    /// Of a host whose quiet times looked like this, if they are known.
    pub fn new(quiet: &[(Steady, Sighting)]) -> Collections {
        let mut collections = Collections::default();
        quiet.iter().for_each(|(at, seen)| collections.take(*at, seen));
        for (name, service) in &mut collections.services {
            let all = || quiet.iter().filter_map(|(_, seen)| seen.unit(name)?.latency);
            service.latency_quiet = (all().count() > 0).then(|| all().sum::<f64>() / all().count() as f64);
        }
        collections
    }

    /// A collection of the target. Time in here began a week before the target's, with those quiet times.
    pub fn add(&mut self, at: Steady, seen: &Sighting) {
        self.take(at.plus(WEEK), seen);
    }

    fn take(&mut self, at: Steady, seen: &Sighting) {
        for (name, unit) in seen.units.iter().filter(|(_, unit)| unit.managed) {
            if !self.services.contains_key(name) && self.services.len() >= UNITS_MAX {
                continue;
            }
            let service = self.services.entry(name.clone()).or_default();
            service.answered_in(unit.latency);
            service.history.add(
                at,
                Seen {
                    memory: unit.memory,
                    pressure: unit.pressure,
                    throttled: unit.throttled,
                    cpu_use: unit.cpu_use,
                    cpu_wait: unit.cpu_wait,
                    latency: unit.latency,
                    restarts: u64::from(unit.restarts),
                    kills: u64::from(unit.kills),
                },
            );
        }
        let others = seen.units.iter().filter(|(_, unit)| !unit.managed);
        self.on_host = HostView {
            processors: seen.processors,
            memory_left: seen.memory_left,
            neighbours: others
                .filter_map(|(name, unit)| {
                    Some(Neighbour {
                        unit: name.clone(),
                        nice: unit.nice?,
                        cpu_use: unit.cpu_use?,
                        pressure: unit.pressure?,
                    })
                })
                .collect(),
        };
    }

    /// How a unit fares, for whoever asks whether a change did what it was made for.
    pub fn of(&self, unit: &UnitName) -> Option<&History> {
        self.services.get(unit).map(|service| &service.history)
    }

    /// All that a brain looks at. The samples are of the primary metric.
    pub fn view(
        &self,
        around: &Surroundings<'_>,
        asking: Asking,
        full: &Full,
        samples: &[(Steady, f64)],
        past: Past,
    ) -> View {
        let Past { outcomes, experience, spent_today } = past;
        let unit = |(name, service): (&UnitName, &Service)| (name.clone(), service.view(name, around, full));
        View {
            units: self.services.iter().map(unit).collect(),
            on_host: self.on_host.clone(),
            pressure: pressure(samples),
            headroom: headroom(around.memory_budget, &full.com),
            outcomes,
            experience,
            bounds: Bounds::default(),
            exploration: asking.exploration,
            spent_today,
            take_back: asking.take_back,
            stale: !asking.fresh,
            host: around.host.clone(),
        }
    }
}

impl Service {
    fn view(&self, unit: &UnitName, around: &Surroundings<'_>, full: &Full) -> UnitView {
        let (oom_kills, restarts) = self.history.counted_within(LATELY);
        let mut facts = self.history.facts();
        facts.latency_usual = self.latency_usual();
        UnitView {
            people: Some(people(&full.baseline, unit)),
            peak: self.history.peak(),
            oom_kills,
            restarts,
            throttled: self.history.throttled().unwrap_or(0.0),
            facts,
            endpoint: around.endpoint_of.get(unit).cloned(),
            ..UnitView::of(&full.com, unit)
        }
    }
}

fn people(baseline: &Com, unit: &UnitName) -> People {
    let of = |property| baseline.value(&Setting { unit: unit.clone(), property });
    People {
        memory_max: of(Property::MemoryMax),
        memory_high: of(Property::MemoryHigh),
        cpu_quota: of(Property::CpuQuota),
        nice: of(Property::Nice),
    }
}

fn pressure(samples: &[(Steady, f64)]) -> Option<f64> {
    let (now, _) = samples.last()?;
    let lately = samples.iter().rev().take_while(|(at, _)| now.since(*at) <= PRESSURE_OVER);
    let (sum, count) = lately.fold((0.0, 0.0), |(sum, count), (_, value)| (sum + value, count + 1.0));
    Some(sum / count)
}

/// What the limits may still grow by, as the gate counts it: a unit without one counts with its peak.
fn headroom(budget: u64, com: &Com) -> u64 {
    let counted = |unit: &UnitModel| match unit.value(&Property::MemoryMax) {
        Value::Bytes(bytes) => bytes,
        _ => unit.peak_memory.unwrap_or(0),
    };
    budget.saturating_sub(com.units.values().map(counted).sum::<u64>() + 1)
}
