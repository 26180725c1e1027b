//! How a modelled host behaves under what it runs: demand, pressure, kills, restarts, and what a layer does to them.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{Identity, Steady};
use holdfast_steward::com::Com;
use holdfast_steward::effect::Workload;
use holdfast_steward::setting::{Property, Setting, UnitName, Value};

use super::Layer;

/// Between two restarts of a unit that cannot stay up, and between two kills of one that wants more than it may have.
const RESTART_EVERY: Duration = Duration::from_secs(20);
const KILL_EVERY: Duration = Duration::from_secs(60);
/// What a change that helps leaves of the pressure.
const HELPS: f64 = 0.7;
/// A unit that is started is up after this.
const START_TAKES: Duration = Duration::from_secs(5);

/// What a layer does to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// Nothing anybody would notice.
    Fine,
    /// Pressure falls.
    Helps,
    /// The workload cannot stay up; SSH is well, and a health check now and then passes.
    CrashLoops,
    /// The workload is killed for want of memory.
    Starves,
    /// The service runs and does not answer.
    Unwell,
    /// SSH does not answer any more.
    CutsSsh,
    HangsHost,
    /// Well at first, then a crash loop.
    CrashesAfter(Duration),
    /// Well at first, then the service does not answer.
    UnwellAfter(Duration),
    /// Well in every look, and the pressure rises over hours.
    HarmsSlowly,
}

#[derive(Clone, Debug)]
pub struct Behaviour {
    seed: u64,
    unit: Option<UnitName>,
    limit_of_base: Option<u64>,
    limit: Option<u64>,
    quirks: BTreeMap<Identity, (Quirk, f64)>,
    quirk: Quirk,
    /// What is left of the pressure that was there at first.
    share: f64,
    /// Since when this layer runs.
    since: Steady,
    started: Steady,
    restarts_before: u32,
    kills_before: u32,
    /// Demand from a moment on: pressure it gives, and memory the workload wants.
    demand: Vec<(Steady, f64, u64)>,
    busy: Vec<(Steady, Steady)>,
    slow_health: Duration,
    answers_from: Steady,
}

impl Behaviour {
    pub(super) fn new(base: &Com, seed: u64) -> Behaviour {
        let limited = base.units.iter().find_map(|(unit, model)| match model.value(&Property::MemoryMax) {
            Value::Bytes(limit) => Some((unit.clone(), limit)),
            _ => None,
        });
        let (unit, limit) = limited.unzip();
        Behaviour {
            seed,
            unit,
            limit_of_base: limit,
            limit,
            quirks: BTreeMap::new(),
            quirk: Quirk::Fine,
            share: 1.0,
            since: Steady(0),
            started: Steady(0),
            restarts_before: 0,
            kills_before: 0,
            demand: vec![(Steady(0), 4.0, 0)],
            busy: Vec::new(),
            slow_health: Duration::ZERO,
            answers_from: Steady(0),
        }
    }

    /// How a layer will behave when it runs, measured against what runs now.
    pub fn set_quirk(&mut self, identity: Identity, quirk: Quirk) {
        let share = if quirk == Quirk::Helps { self.share * HELPS } else { self.share };
        self.quirks.entry(identity).or_insert((quirk, share));
    }

    pub fn quirk_of(&self, identity: Identity) -> Quirk {
        self.quirks.get(&identity).map_or(Quirk::Fine, |(quirk, _)| *quirk)
    }

    pub(super) fn share_of(&self, identity: Identity) -> f64 {
        self.quirks.get(&identity).map_or(1.0, |(_, share)| *share)
    }

    pub(super) fn knows(&self, identity: Identity) -> bool {
        self.quirks.contains_key(&identity)
    }

    pub(super) fn ran_for(&self, now: Steady) -> Duration {
        now.since(self.since)
    }

    /// From then on the host is under this pressure, and its workload wants this much memory.
    pub fn set_demand(&mut self, from: Steady, pressure: f64, memory: u64) {
        self.demand.push((from, pressure, memory));
        self.demand.sort_by_key(|(at, _, _)| *at);
    }

    /// Work is in flight in between.
    pub fn set_busy(&mut self, from: Steady, to: Steady) {
        self.busy.push((from, to));
    }

    pub(super) fn mend(&mut self, identity: Identity, like: Identity) {
        self.quirks.insert(identity, (Quirk::Fine, self.share_of(like)));
    }

    pub(super) fn switched(
        &mut self,
        now: Steady,
        layer: &Layer,
        (quirk, share): (Quirk, f64),
        restarts: bool,
    ) {
        let counted = self.workload(now);
        self.restarts_before = counted.restarts;
        self.kills_before = counted.kills;
        self.quirk = quirk;
        self.share = share;
        self.since = now;
        self.answers_from = now.plus(self.slow_health);
        if restarts {
            self.started = now;
        }
        let set = self
            .unit
            .clone()
            .and_then(|unit| layer.get(&Setting { unit, property: Property::MemoryMax }).copied());
        self.limit = match set {
            Some(Value::Bytes(limit)) => Some(limit),
            Some(_) => None,
            None => self.limit_of_base,
        };
    }

    pub(super) fn booted(&mut self) {
        self.restarts_before = 0;
        self.kills_before = 0;
    }

    pub(super) fn advance(&mut self, now: Steady, up: bool) {
        if !up {
            // Nothing runs, so nothing is counted meanwhile.
            let counted = self.workload(now);
            self.restarts_before = counted.restarts;
            self.kills_before = counted.kills;
            self.since = self.since.max(now);
        }
    }

    fn crashes(&self, now: Steady) -> Option<Steady> {
        match self.quirk {
            Quirk::CrashLoops => Some(self.since),
            Quirk::CrashesAfter(after) if now >= self.since.plus(after) => Some(self.since.plus(after)),
            _ => None,
        }
    }

    fn wants(&self, now: Steady) -> (f64, u64, Steady) {
        let current = self.demand.iter().rev().find(|(at, _, _)| *at <= now);
        current.map_or((4.0, 0, Steady(0)), |(at, pressure, memory)| (*pressure, *memory, *at))
    }

    /// Since when the workload is killed again and again for want of memory.
    fn starves(&self, now: Steady) -> Option<Steady> {
        let (_, memory, from) = self.wants(now);
        let short = self.limit.is_some_and(|limit| memory > limit);
        (self.quirk == Quirk::Starves || short).then(|| self.since.max(if short { from } else { Steady(0) }))
    }

    pub fn workload(&self, now: Steady) -> Workload {
        let times = |since: Option<Steady>, every: Duration| {
            since.map_or(0, |since| {
                u32::try_from(now.since(since).as_millis() / every.as_millis()).unwrap_or(u32::MAX)
            })
        };
        let crashes = times(self.crashes(now), RESTART_EVERY);
        let kills = times(self.starves(now), KILL_EVERY);
        Workload {
            active: now >= self.started.plus(START_TAKES) || self.started == Steady(0),
            restarts: self.restarts_before + crashes + kills,
            kills: self.kills_before + kills,
            failed_units: 0,
            busy: self.is_busy(now),
        }
    }

    pub(super) fn is_busy(&self, now: Steady) -> bool {
        self.busy.iter().any(|(from, to)| *from <= now && now < *to)
    }

    pub(super) fn is_busy_from(&self, then: Steady, now: Steady) -> bool {
        self.busy.iter().any(|(from, to)| *from <= then && now < *to)
    }

    pub(super) fn ssh_answers(&self) -> bool {
        self.quirk != Quirk::CutsSsh
    }

    /// After each switch the service takes this long to answer.
    pub fn set_slow_health(&mut self, takes: Duration) {
        self.slow_health = takes;
    }

    pub(super) fn hangs(&self, now: Steady) -> bool {
        self.quirk == Quirk::HangsHost && now >= self.since.plus(Duration::from_secs(40))
    }

    fn is_unwell(&self, now: Steady) -> bool {
        match self.quirk {
            Quirk::Unwell => true,
            Quirk::UnwellAfter(after) => now >= self.since.plus(after),
            _ => false,
        }
    }

    /// A crash loop answers in between: a health check alone does not see it.
    pub(super) fn is_healthy(&self, now: Steady) -> bool {
        !self.is_unwell(now)
            && now >= self.answers_from
            && (now >= self.started.plus(START_TAKES) || self.started == Steady(0))
    }

    /// Whether somebody who sees everything would call the workload ill because of what runs.
    pub(super) fn is_sick(&self, now: Steady) -> bool {
        self.crashes(now).is_some()
            || self.starves(now).is_some()
            || self.is_unwell(now)
            || matches!(self.quirk, Quirk::CutsSsh | Quirk::HangsHost)
    }

    /// Memory pressure, `some avg60`.
    pub fn pressure(&self, now: Steady) -> f64 {
        let (pressure, _, _) = self.wants(now);
        let factor = match self.quirk {
            Quirk::HarmsSlowly if now.since(self.since) > Duration::from_secs(9000) => self.share * 1.8,
            _ => self.share,
        };
        (pressure * factor + self.noise(now)).max(0.0)
    }

    /// Small, and the same for the same moment.
    fn noise(&self, now: Steady) -> f64 {
        let mut x = (now.0 / 1000) ^ self.seed;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        ((x % 1000) as f64 / 1000.0 - 0.5) * 0.3
    }

    /// What a look at the units adds to what is configured.
    pub(super) fn observe(&self, com: &mut Com) {
        let model = self.unit.as_ref().and_then(|unit| com.units.get_mut(unit));
        if let (Some(model), Some(limit)) = (model, self.limit) {
            model.peak_memory = Some(limit / 10 * 9);
        }
    }
}
