//! A machine that behaves: processors, memory and units that want both, and what comes of it from moment to moment.
//!
//! Nothing here is chosen per change. A unit has a [`Demand`]; what it gets follows from its settings, from its neighbours and from
//! what the host has. Memory beyond a throttle is waited for, memory beyond a limit is a kill, a quota stops a unit, a
//! nice value weighs it against the others. So a change acts through the mechanism or not at all: more memory
//! heals want and only delays a leak, and no setting of one unit heals the hunger of another.
//!
//! It moves in ticks of a fixed grid. However it is advanced, the same seed gives the same machine.

mod demand;
mod sharing;
mod unit;

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::com::Com;
use holdfast_steward::effect::Workload;
use holdfast_steward::setting::{Property, UnitName, Value};

pub use demand::{Course, Demand, Leak};
pub use unit::{UnitLimits, UnitSight};

use demand::{hash, unit_interval};
use unit::Unit;

/// Between two ticks, where nobody says otherwise: a quarter of the minute that pressure is averaged over.
const TICK: Duration = Duration::from_secs(15);
/// The kernel averages pressure over a minute with weights that fall off exponentially.
const AVERAGED_OVER: f64 = 60.0;
/// What the kernel and everything that is no unit holds of memory.
const KERNEL: f64 = 256.0 * 1024.0 * 1024.0;
/// How steeply want of memory on the host as a whole turns into waiting.
const HOST_SENSITIVITY: f64 = 8.0;
/// Beyond this share of the memory there is no more swap either: the largest unit is killed.
const SWAP_SHARE: f64 = 0.5;
/// Pressure that is always there, at most, in percent.
const RESTLESS: f64 = 0.8;

/// One unit of a machine, as it is set up.
#[derive(Clone, Debug)]
pub struct Part {
    pub unit: UnitName,
    /// Whether it is one of the services the host is there for: its kills and restarts are the workload's.
    pub managed: bool,
    pub demand: Demand,
}

#[derive(Clone, Debug)]
pub struct Machine {
    seed: u64,
    processors: f64,
    memory_total: f64,
    tick: Duration,
    at: Steady,
    units: Vec<Unit>,
    pressure: Pressure,
    booted: Steady,
}

/// Pressure as the kernel tells it: shares of time, averaged, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    pub some: f64,
    pub full: f64,
}

impl Pressure {
    fn take(&mut self, some: f64, full: f64, seconds: f64) {
        let keep = (-seconds / AVERAGED_OVER).exp();
        self.some = self.some * keep + some * (1.0 - keep);
        self.full = self.full * keep + full * (1.0 - keep);
    }
}

impl Machine {
    /// A machine with these parts, each under what the configuration says of it.
    pub fn new(seed: u64, processors: f64, com: &Com, parts: Vec<Part>) -> Machine {
        let units = parts.into_iter().enumerate();
        let units = units.map(|(number, part)| Unit::new(hash(seed, number as u64), part)).collect();
        let mut machine = Machine {
            seed,
            processors: if processors.is_finite() { processors.max(0.1) } else { 1.0 },
            memory_total: com.memory_total as f64,
            tick: TICK,
            at: Steady(0),
            units,
            pressure: Pressure::default(),
            booted: Steady(0),
        };
        machine.set(com, Steady(0), false);
        machine
    }

    /// Ticks of another length: a past that nobody looks at closely goes by faster.
    pub fn with_tick(mut self, tick: Duration) -> Machine {
        self.tick = tick.max(Duration::from_millis(1));
        self
    }

    pub fn processors(&self) -> f64 {
        self.processors
    }

    /// What is left of the host's memory.
    pub fn memory_left(&self) -> u64 {
        (self.memory_total - self.used()).max(0.0) as u64
    }

    pub fn pressure(&self) -> Pressure {
        self.pressure
    }

    pub fn units(&self) -> impl Iterator<Item = (&UnitName, UnitSight)> {
        self.units.iter().map(|unit| (unit.name(), unit.sight(self.at)))
    }

    pub fn sight(&self, name: &UnitName) -> Option<UnitSight> {
        self.units.iter().find(|unit| unit.name() == name).map(|unit| unit.sight(self.at))
    }

    /// The managed services, taken together.
    pub fn workload(&self) -> Workload {
        let managed = || self.units.iter().filter(|unit| unit.is_managed());
        Workload {
            active: managed().all(|unit| unit.is_active(self.at)),
            restarts: managed().map(|unit| unit.restarts()).sum(),
            kills: managed().map(|unit| unit.kills()).sum(),
            failed_units: 0,
            busy: false,
        }
    }

    /// Whether every managed service answers.
    pub fn is_healthy(&self) -> bool {
        self.units.iter().filter(|unit| unit.is_managed()).all(|unit| unit.sight(self.at).healthy)
    }

    /// Other settings hold from now on. What takes a restart starts the units anew whose nice value changed.
    pub fn set(&mut self, com: &Com, now: Steady, restarts: bool) {
        for unit in &mut self.units {
            let value = |property| com.units.get(unit.name()).map_or(Value::Unset, |it| it.value(&property));
            let limits = UnitLimits {
                memory_max: bytes(value(Property::MemoryMax)),
                memory_high: bytes(value(Property::MemoryHigh)),
                cpu_quota: quota(value(Property::CpuQuota)),
                nice: nice(value(Property::Nice)),
            };
            unit.set(limits, now, restarts);
        }
    }

    /// A unit wants something else from now on.
    pub fn set_demand(&mut self, name: &UnitName, demand: &Demand) {
        if let Some(unit) = self.units.iter_mut().find(|unit| unit.name() == name) {
            unit.set_demand(demand.clone());
        }
    }

    /// The host starts again: every process is new and every count begins at nothing.
    pub fn boot(&mut self, now: Steady) {
        self.booted = now;
        self.at = self.at.max(now);
        self.pressure = Pressure::default();
        self.units.iter_mut().for_each(|unit| unit.boot(now));
    }

    /// Time goes on. While the host is down nothing runs and nothing is counted.
    pub fn advance(&mut self, to: Steady, up: bool) {
        let millis = (self.tick.as_millis() as u64).max(1);
        if !up {
            self.at = self.at.max(Steady(to.0 / millis * millis));
            return;
        }
        let mut next = (self.at.0 / millis + 1).saturating_mul(millis);
        while next <= to.0 {
            self.tick(Steady(next));
            next = next.saturating_add(millis);
        }
    }

    fn used(&self) -> f64 {
        KERNEL + self.units.iter().map(Unit::used).sum::<f64>()
    }

    fn tick(&mut self, now: Steady) {
        let seconds = now.since(self.at).as_secs_f64();
        self.at = now;
        for unit in &mut self.units {
            unit.want(now);
        }
        let over = (self.used() - self.memory_total) / self.memory_total.max(1.0);
        if over > SWAP_SHARE {
            self.kill_largest(now);
        }
        let host_stall = if over > 0.0 { 1.0 - (-HOST_SENSITIVITY * over).exp() } else { 0.0 };
        let claims: Vec<sharing::Claim> = self.units.iter().map(Unit::claim).collect();
        let shares = sharing::share(self.processors, &claims);
        let (mut free, mut full) = (1.0, 1.0);
        for (unit, got) in self.units.iter_mut().zip(shares) {
            let stall = unit.settle(now, got, host_stall, seconds);
            free *= 1.0 - stall;
            full *= stall;
        }
        let restless = RESTLESS * unit_interval(hash(self.seed, now.0));
        let some = (100.0 * (1.0 - free) + restless).min(100.0);
        self.pressure.take(some, 100.0 * full, seconds);
    }

    fn kill_largest(&mut self, now: Steady) {
        if let Some(largest) = self.units.iter_mut().max_by(|a, b| a.used().total_cmp(&b.used())) {
            largest.kill(now);
        }
    }
}

fn bytes(value: Value) -> f64 {
    match value {
        Value::Bytes(bytes) => bytes as f64,
        Value::Percent(_) | Value::Number(_) | Value::Infinity | Value::Unset => f64::INFINITY,
    }
}

fn quota(value: Value) -> f64 {
    match value {
        Value::Percent(percent) => f64::from(percent) / 100.0,
        Value::Bytes(_) | Value::Number(_) | Value::Infinity | Value::Unset => f64::INFINITY,
    }
}

fn nice(value: Value) -> i64 {
    match value {
        Value::Number(number) => number.clamp(-20, 19),
        Value::Bytes(_) | Value::Percent(_) | Value::Infinity | Value::Unset => 0,
    }
}

#[cfg(test)]
mod tests;
