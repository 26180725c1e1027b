//! One unit of a machine: what it wants, what it gets, and how it fares.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::setting::UnitName;

use super::sharing::Claim;
use super::{Demand, Part, Pressure};

/// A process that starts wants half of its working set at once and the rest within this time.
const WARM_AFTER: f64 = 240.0;
/// A unit that is started is up after this.
const START_TAKES: Duration = Duration::from_secs(5);
/// Each nice value weighs a quarter more than the next, as in the kernel's table.
const WEIGHT_PER_NICE: f64 = 1.25;
/// A quota begins to stop a unit when it is used to this share, because use comes in bursts…
const QUOTA_FELT: f64 = 0.9;
/// …and stops it in every period when as much again as this share more is wanted.
const QUOTA_WIDTH: f64 = 0.5;
/// How much longer an answer takes in all of the time a unit is stopped, waits for a processor, or waits for memory.
const STOPPED_COSTS: f64 = 3.0;
const WAIT_COSTS: f64 = 4.0;
const STALL_COSTS: f64 = 6.0;
/// An endpoint that takes so many times as long is counted as not answering.
const UNHEALTHY_AFTER: f64 = 30.0;
/// No waiting is without end.
const STALL_MAX: f64 = 0.99;

/// What holds a unit back. Without a limit it is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitLimits {
    pub memory_max: f64,
    pub memory_high: f64,
    /// In processors.
    pub cpu_quota: f64,
    pub nice: i64,
}

impl Default for UnitLimits {
    fn default() -> UnitLimits {
        let none = f64::INFINITY;
        UnitLimits { memory_max: none, memory_high: none, cpu_quota: none, nice: 0 }
    }
}

/// What can be seen of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitSight {
    pub memory: u64,
    pub peak: u64,
    /// Waiting for memory.
    pub pressure: Pressure,
    /// The share of scheduling periods in which its quota stopped it.
    pub throttled: f64,
    /// Processors in use.
    pub cpu_use: f64,
    /// The share of time it could have run and waited for a processor, averaged over a minute, in percent.
    pub cpu_wait: f64,
    pub nice: i64,
    pub latency: f64,
    /// Work done, as a share of what is asked for.
    pub throughput: f64,
    pub active: bool,
    pub healthy: bool,
    pub restarts: u32,
    pub kills: u32,
    pub managed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    part: Part,
    seed: u64,
    limits: UnitLimits,
    started: Steady,
    /// It was up when everything began, and needs no time to come up.
    first_life: bool,
    restarts: u32,
    kills: u32,
    used: f64,
    peak: f64,
    shortage: f64,
    wants_cpu: f64,
    pressure: Pressure,
    cpu_pressure: Pressure,
    throttled: f64,
    cpu_use: f64,
    latency: f64,
    throughput: f64,
}

impl Unit {
    pub(super) fn new(seed: u64, part: Part) -> Unit {
        Unit {
            seed,
            limits: UnitLimits::default(),
            started: Steady(0),
            first_life: true,
            restarts: 0,
            kills: 0,
            used: 0.0,
            peak: 0.0,
            shortage: 0.0,
            wants_cpu: 0.0,
            pressure: Pressure::default(),
            cpu_pressure: Pressure::default(),
            throttled: 0.0,
            cpu_use: 0.0,
            latency: part.demand.latency,
            throughput: 1.0,
            part,
        }
    }

    pub(super) fn name(&self) -> &UnitName {
        &self.part.unit
    }

    pub(super) fn is_managed(&self) -> bool {
        self.part.managed
    }

    pub(super) fn restarts(&self) -> u32 {
        self.restarts
    }

    pub(super) fn kills(&self) -> u32 {
        self.kills
    }

    pub(super) fn used(&self) -> f64 {
        self.used
    }

    pub(super) fn is_active(&self, now: Steady) -> bool {
        self.first_life || now >= self.started.plus(START_TAKES)
    }

    /// Limits hold at once; a nice value only for a process that is started under it.
    pub(super) fn set(&mut self, limits: UnitLimits, now: Steady, restarts: bool) {
        let starts_anew = restarts && limits.nice != self.limits.nice;
        self.limits = limits;
        if starts_anew {
            self.start(now);
        }
    }

    pub(super) fn set_demand(&mut self, demand: Demand) {
        self.part.demand = demand;
    }

    pub(super) fn boot(&mut self, now: Steady) {
        (self.restarts, self.kills) = (0, 0);
        self.start(now);
    }

    fn start(&mut self, now: Steady) {
        self.started = now;
        self.first_life = false;
        (self.used, self.peak) = (0.0, 0.0);
    }

    pub(super) fn kill(&mut self, now: Steady) {
        self.kills = self.kills.saturating_add(1);
        self.restarts = self.restarts.saturating_add(1);
        self.start(now);
    }

    /// How much memory it wants now, and how much of that it has. What is firm and does not fit is a kill.
    pub(super) fn want(&mut self, now: Steady) {
        let demand = &self.part.demand;
        let age = now.since(self.started);
        let warm = if self.first_life { 1.0 } else { (0.5 + age.as_secs_f64() / WARM_AFTER / 2.0).min(1.0) };
        let working_set = demand.memory.at(now, self.seed) * warm;
        let lost = demand.leak.map_or(0.0, |leak| leak.lost(now, age));
        let (wants, firm) = (working_set + lost, working_set * demand.firm + lost);
        self.wants_cpu = demand.cpu.at(now, self.seed ^ 1) * warm;
        if firm > self.limits.memory_max {
            return self.kill(now);
        }
        let limit = self.limits.memory_high.min(self.limits.memory_max);
        self.shortage = if wants > limit { (wants - limit) / wants } else { 0.0 };
        self.used = wants.min(limit.max(firm));
        self.peak = self.peak.max(self.used);
    }

    pub(super) fn claim(&self) -> Claim {
        let weight = WEIGHT_PER_NICE.powi(-(self.limits.nice as i32));
        Claim { wants: self.wants_cpu.min(self.limits.cpu_quota), weight }
    }

    /// How it fares with what it got. Gives the share of time it waits for memory.
    pub(super) fn settle(&mut self, now: Steady, got: f64, host_stall: f64, seconds: f64) -> f64 {
        let own = 1.0 - (-self.part.demand.sensitivity * self.shortage).exp();
        let stall = (1.0 - (1.0 - own) * (1.0 - host_stall)).clamp(0.0, STALL_MAX);
        let asked = self.wants_cpu.min(self.limits.cpu_quota);
        let waits = if asked > 0.0 { ((asked - got) / asked).clamp(0.0, STALL_MAX) } else { 0.0 };
        let used_share = self.wants_cpu / self.limits.cpu_quota;
        self.throttled = ((used_share - QUOTA_FELT) / QUOTA_WIDTH).clamp(0.0, 1.0);
        self.pressure.take(100.0 * stall, 100.0 * stall * stall, seconds);
        self.cpu_pressure.take(100.0 * waits, 0.0, seconds);
        self.cpu_use = got;
        let slower =
            STOPPED_COSTS * self.throttled + WAIT_COSTS * waits / (1.0 - waits) + STALL_COSTS * stall;
        self.latency = self.part.demand.latency * (1.0 + slower);
        let served = if self.wants_cpu > 0.0 { (got / self.wants_cpu).min(1.0) } else { 1.0 };
        self.throughput = if self.is_active(now) { served * (1.0 - stall) } else { 0.0 };
        stall
    }

    pub(super) fn sight(&self, now: Steady) -> UnitSight {
        let active = self.is_active(now);
        UnitSight {
            memory: self.used as u64,
            peak: self.peak as u64,
            pressure: self.pressure,
            throttled: self.throttled,
            cpu_use: self.cpu_use,
            cpu_wait: self.cpu_pressure.some,
            nice: self.limits.nice,
            latency: self.latency,
            throughput: self.throughput,
            active,
            healthy: active && self.latency <= self.part.demand.latency * UNHEALTHY_AFTER,
            restarts: self.restarts,
            kills: self.kills,
            managed: self.part.managed,
        }
    }
}
