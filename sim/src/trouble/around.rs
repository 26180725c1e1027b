//! Everything around the target of a troubled host: the monitor, the window record, the samples, and the brain's view.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_steward::Claimed;
use holdfast_steward::brain::{
    Bounds, Earlier, Experience, Failure, History, HostView, Intent, Neighbour, People, Seen, UnitView, View,
    consider,
};
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::constitution::{Constitution, Measure};
use holdfast_steward::effect::{Asking, Compared, Full, Looked, Probe, TargetState, Tiding};
use holdfast_steward::invariant::Health;
use holdfast_steward::retrospective::{Reading, Summary, matched};
use holdfast_steward::sample::Metric;
use holdfast_steward::setting::{Property, Setting, UnitName, Value};
use holdfast_steward_host::{Machine, MemoryWindow, Outside};

use super::host::BUDGET;

/// Kills and restarts of this long count as lately.
const LATELY: Duration = Duration::from_secs(6 * 3600);
const SAID_MAX: usize = 4;

#[derive(Debug)]
pub(super) struct Around {
    pub(super) managed: Vec<UnitName>,
    pub(super) histories: BTreeMap<UnitName, History>,
    pub(super) latency_usual: BTreeMap<UnitName, f64>,
    pub(super) outcomes: Vec<Earlier>,
    pub(super) experience: Vec<Experience>,
    /// What the brain meant by its last proposal.
    pub(super) meant: Option<Intent>,
    /// Why it proposed nothing, the last few times.
    pub(super) said: Vec<String>,
    pub(super) rebased: bool,
    pub(super) spent_today: bool,
    /// When a detector last found that something else had begun.
    pub(super) regimes: Vec<Steady>,
    samples: Vec<(Steady, f64, f64)>,
    on_host: HostView,
    pressure: f64,
    restarts: u32,
    healthy: Vec<(String, bool)>,
    window: MemoryWindow,
    constitution: Constitution,
}

pub(super) fn endpoint(unit: &UnitName) -> String {
    format!("box-1-{}", unit.as_str().trim_end_matches(".service"))
}

impl Around {
    pub(super) fn new(
        managed: &[UnitName],
        constitution: Constitution,
        experience: Vec<Experience>,
    ) -> Around {
        Around {
            managed: managed.to_vec(),
            histories: managed.iter().map(|unit| (unit.clone(), History::default())).collect(),
            latency_usual: BTreeMap::new(),
            outcomes: Vec::new(),
            experience,
            meant: None,
            said: Vec::new(),
            rebased: false,
            spent_today: false,
            regimes: Vec::new(),
            samples: Vec::new(),
            on_host: HostView::default(),
            pressure: 0.0,
            restarts: 0,
            healthy: Vec::new(),
            window: MemoryWindow::default(),
            constitution,
        }
    }

    /// What can be seen from outside at this moment.
    pub(super) fn see(&mut self, machine: &Machine, up: bool) {
        self.healthy = machine
            .units()
            .filter(|(_, sight)| sight.managed)
            .map(|(unit, sight)| (endpoint(unit), up && sight.healthy))
            .collect();
    }

    /// A collection.
    pub(super) fn collect(&mut self, at: Steady, machine: &Machine) {
        for (unit, sight) in machine.units() {
            let seen = Seen {
                memory: Some(sight.memory),
                pressure: Some(sight.pressure.some),
                throttled: Some(sight.throttled),
                cpu_use: Some(sight.cpu_use),
                cpu_wait: Some(sight.cpu_wait),
                latency: Some(sight.latency),
                restarts: u64::from(sight.restarts),
                kills: u64::from(sight.kills),
            };
            if let Some(history) = self.histories.get_mut(unit) {
                history.add(at, seen);
            }
        }
        let neighbours = machine.units().filter(|(_, sight)| !sight.managed).map(|(unit, sight)| Neighbour {
            unit: unit.clone(),
            nice: sight.nice,
            cpu_use: sight.cpu_use,
            pressure: sight.pressure.some,
        });
        self.on_host = HostView {
            processors: Some(machine.processors()),
            memory_left: Some(machine.memory_left()),
            neighbours: neighbours.collect(),
        };
        let restarts = machine.workload().restarts;
        let since = f64::from(restarts.saturating_sub(self.restarts));
        self.restarts = restarts;
        self.pressure = machine.pressure().some;
        self.samples.push((at, self.pressure, since));
    }

    fn unit_view(&self, unit: &UnitName, com: &Com, people: &Com) -> UnitView {
        let of = |com: &Com, property| com.value(&Setting { unit: unit.clone(), property });
        let history = self.histories.get(unit);
        let (oom_kills, restarts) = history.map_or((0, 0), |history| history.counted_within(LATELY));
        let mut facts = history.map(History::facts).unwrap_or_default();
        facts.latency_usual = self.latency_usual.get(unit).copied();
        UnitView {
            memory_max: of(com, Property::MemoryMax),
            memory_high: of(com, Property::MemoryHigh),
            cpu_quota: of(com, Property::CpuQuota),
            nice: of(com, Property::Nice),
            people: Some(People {
                memory_max: of(people, Property::MemoryMax),
                memory_high: of(people, Property::MemoryHigh),
                cpu_quota: of(people, Property::CpuQuota),
                nice: of(people, Property::Nice),
            }),
            peak: history.and_then(History::peak),
            oom_kills,
            restarts,
            throttled: history.and_then(History::throttled).unwrap_or(0.0),
            facts,
            endpoint: endpoint(unit).parse().ok(),
        }
    }

    fn view(&self, asking: Asking, full: &Full) -> Option<View> {
        let units =
            self.managed.iter().map(|unit| (unit.clone(), self.unit_view(unit, &full.com, &full.baseline)));
        Some(View {
            units: units.collect(),
            on_host: self.on_host.clone(),
            pressure: Some(self.pressure),
            headroom: headroom(&full.com),
            outcomes: self.outcomes.clone(),
            experience: self.experience.clone(),
            bounds: Bounds::default(),
            exploration: asking.exploration,
            spent_today: self.spent_today,
            take_back: asking.take_back,
            stale: !asking.fresh,
            host: "box-1".parse().ok()?,
        })
    }
}

/// What the limits may still grow by, as the gate counts it.
fn headroom(com: &Com) -> u64 {
    let counted = |unit: &UnitModel| match unit.value(&Property::MemoryMax) {
        Value::Bytes(bytes) => bytes,
        _ => unit.peak_memory.unwrap_or(0),
    };
    BUDGET.saturating_sub(com.units.values().map(counted).sum::<u64>() + 1)
}

impl Outside for Around {
    fn look(&mut self, now: Now, target: Option<TargetState>, ssh: Probe) -> Looked {
        let at = now.steady;
        let health = |healthy: bool| Some(Health { healthy, at });
        Looked {
            ssh,
            endpoints: self.healthy.iter().map(|(name, healthy)| (name.clone(), health(*healthy))).collect(),
            references: true,
            vpn: None,
            heartbeat: Some(at),
            watched: self.window.record().map(|window| window.episode.clone()),
            rehearsed: vec![("lease", Some(at)), ("first route", Some(at))],
            integrity: true,
            space_here: 20 << 30,
            figures: Vec::new(),
            target,
        }
    }

    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        let Some(view) = self.view(asking, full) else { return Err(Failure::InvalidOutput) };
        let thought = consider(&view);
        if thought.intent.is_none() {
            self.said.retain(|said| *said != thought.text);
            self.said.push(thought.text.clone());
            let surplus = self.said.len().saturating_sub(SAID_MAX);
            self.said.drain(..surplus);
        }
        self.meant = thought.intent;
        Ok(thought.text)
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window.open(record)
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.window.claim(episode, claim)
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}

    fn compare(&mut self, switched: Steady) -> Compared {
        let began = self.regimes.iter().rev().find(|began| **began <= switched).copied();
        let sums = |of: fn(&(Steady, f64, f64)) -> f64| {
            let samples: Vec<_> = self.samples.iter().map(|sample| (sample.0, of(sample))).collect();
            matched(&samples, switched, began, &[])
        };
        let (before, after) = sums(|sample| sample.1);
        // The guard that every target can answer, per second as the metric counts it.
        let restarts = sums(|sample| sample.2 / 120.0);
        let guard = |measure: &Measure| {
            let known = measure.metric == Metric::restarts();
            let of = |summary: Option<Summary>| summary.filter(|_| known);
            Reading { metric: measure.metric.clone(), before: of(restarts.0), after: of(restarts.1) }
        };
        Compared { before, after, guards: self.constitution.guards().iter().map(guard).collect() }
    }

    fn rebase(&mut self) {
        self.rebased = true;
    }

    fn tell(&mut self, _: &Tiding) {}
}
