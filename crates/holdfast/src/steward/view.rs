//! What the brain of a target is shown: its units with what was seen of them, the host, and what became of earlier changes.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::brain::{
    Bounds, Earlier, Experience, History, HostView, Neighbour, People, Seen, UnitView, View,
};
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::effect::{Asking, Full};
use holdfast_steward::setting::{Property, Setting, UnitName, Value};

use super::model::{MachineSight, WEEK, workload};
use super::settings::{Place, endpoint_of};

/// Kills and restarts of this long count as lately.
const LATELY: Duration = Duration::from_secs(6 * 3600);
/// The mean pressure is over this: short enough that a shift which was just noticed shows in it.
const PRESSURE_OVER: Duration = Duration::from_secs(180);

/// What was collected, as far as a brain needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Collections {
    service: History,
    on_host: HostView,
    /// Answer time in quiet times, in milliseconds.
    latency_usual: Option<f64>,
}

/// What is known besides: how earlier changes ended, here and elsewhere, and what a day still allows.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    pub(super) outcomes: Vec<Earlier>,
    pub(super) experience: Vec<Experience>,
    pub(super) spent_today: bool,
}

impl Collections {
    /// Of a host whose quiet times looked like this.
    pub(super) fn new(quiet: &[(Steady, MachineSight)]) -> Collections {
        let latencies: Vec<f64> =
            quiet.iter().filter_map(|(_, seen)| seen.unit(&workload())).map(|unit| unit.latency).collect();
        let latency_usual =
            (!latencies.is_empty()).then(|| latencies.iter().sum::<f64>() / latencies.len() as f64);
        let mut collections = Collections { latency_usual, ..Collections::default() };
        quiet.iter().for_each(|(at, machine)| collections.take(*at, machine));
        collections
    }

    /// A collection of the target. Time in here began a week before the target's, with those quiet times.
    pub(super) fn add(&mut self, at: Steady, machine: &MachineSight) {
        self.take(at.plus(WEEK), machine);
    }

    fn take(&mut self, at: Steady, machine: &MachineSight) {
        if let Some(unit) = machine.unit(&workload()) {
            let seen = Seen {
                memory: Some(unit.memory),
                pressure: Some(unit.pressure.some),
                throttled: Some(unit.throttled),
                cpu_use: Some(unit.cpu_use),
                cpu_wait: Some(unit.cpu_wait),
                latency: Some(unit.latency),
                restarts: u64::from(unit.restarts),
                kills: u64::from(unit.kills),
            };
            self.service.add(at, seen);
        }
        let others = machine.units.iter().filter(|(_, unit)| !unit.managed);
        self.on_host = HostView {
            processors: Some(machine.processors),
            memory_left: Some(machine.memory_left),
            neighbours: others
                .map(|(name, unit)| Neighbour {
                    unit: name.clone(),
                    nice: unit.nice,
                    cpu_use: unit.cpu_use,
                    pressure: unit.pressure.some,
                })
                .collect(),
        };
    }

    /// How a unit fares, for whoever asks whether a change did what it was made for.
    pub(super) fn of(&self, unit: &UnitName) -> Option<&History> {
        (*unit == workload()).then_some(&self.service)
    }

    pub(super) fn view(
        &self,
        place: &Place,
        asking: Asking,
        full: &Full,
        samples: &[(Steady, f64)],
        past: Past,
    ) -> Option<View> {
        let Past { outcomes, experience, spent_today } = past;
        Some(View {
            units: [(workload(), self.unit(place, full))].into(),
            on_host: self.on_host.clone(),
            pressure: pressure(samples),
            headroom: headroom(place.settings.rules.memory_budget, &full.com),
            outcomes,
            experience,
            bounds: Bounds::default(),
            exploration: asking.exploration,
            spent_today,
            stale: !asking.fresh,
            host: place.name.as_str().parse().ok()?,
        })
    }

    fn unit(&self, place: &Place, full: &Full) -> UnitView {
        let (oom_kills, restarts) = self.service.counted_within(LATELY);
        let mut facts = self.service.facts();
        facts.latency_usual = self.latency_usual;
        let unit = workload();
        UnitView {
            people: Some(people(&full.baseline, &unit)),
            peak: self.service.peak(),
            oom_kills,
            restarts,
            throttled: self.service.throttled().unwrap_or(0.0),
            facts,
            endpoint: endpoint_of(&place.name).parse().ok(),
            ..UnitView::of(&full.com, &unit)
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
