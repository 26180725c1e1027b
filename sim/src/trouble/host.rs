//! A host drawn from a seed: what it runs, how people set it up, and what goes wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{Sound, Steady};
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::setting::{Property, UnitName, Value};
use holdfast_steward_host::{Course, Demand, Leak, Machine, Part, SimHost, critical};

use super::possible;
use super::symptom::{Band, Symptom};
use crate::chance::Chance;

pub(super) const HOUR: u64 = 3_600_000;
pub(super) const DAY: u64 = 24 * HOUR;
/// The quiet time the detectors are calibrated on: a week, and a day more than that asks for.
pub(super) const QUIET: u64 = 8 * DAY;
/// A quiet past goes by in ticks of one collection.
pub(super) const QUIET_TICK: Duration = Duration::from_secs(120);
const MIB: f64 = (1u64 << 20) as f64;
pub(super) const MEMORY_TOTAL: u64 = 8 << 30;
/// What all memory limits together stay under.
pub(super) const BUDGET: u64 = 7 << 30;
/// Draws after which a trouble that does not show is given up for another.
const DRAWS_MAX: u64 = 50;

/// What kind of trouble a host is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    MemoryStarved,
    CpuStarved,
    Leak,
    Neighbour,
    WrongNice,
    Several,
    Healthy,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::MemoryStarved,
        Kind::CpuStarved,
        Kind::Leak,
        Kind::Neighbour,
        Kind::WrongNice,
        Kind::Several,
        Kind::Healthy,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::MemoryStarved => "memory starved",
            Kind::CpuStarved => "cpu starved",
            Kind::Leak => "leak",
            Kind::Neighbour => "noisy neighbour",
            Kind::WrongNice => "wrong nice",
            Kind::Several => "several at once",
            Kind::Healthy => "nothing wrong",
        }
    }
}

/// The kinds of services there are: how steeply they suffer, how much of their memory is firm, how fast they answer.
const SERVICES: [(&str, f64, f64, f64); 3] =
    [("web", 6.0, 0.75, 15.0), ("store", 11.0, 0.85, 4.0), ("batch", 3.0, 0.6, 120.0)];

#[derive(Clone, Debug)]
pub struct Host {
    pub seed: u64,
    pub kind: Kind,
    pub com: Com,
    pub managed: Vec<UnitName>,
    pub onset: Steady,
    /// What shows that it is in trouble, and what its being healed is measured by.
    pub symptoms: Vec<Symptom>,
    processors: f64,
    parts: Vec<Part>,
}

impl Host {
    /// A host of a kind that the seed chooses.
    pub fn draw(seed: u64) -> Host {
        let kind = Chance::new(seed).pick(&Kind::ALL);
        Host::of_kind(seed, kind)
    }

    /// Drawn until the trouble shows: one that nobody could see is none.
    pub fn of_kind(seed: u64, kind: Kind) -> Host {
        let draw = |again: u64| Drawing::new(seed, again, kind).finish();
        let first = (0..DRAWS_MAX).map(draw).find(possible::shows);
        first.unwrap_or_else(|| Drawing::new(seed, 0, Kind::Healthy).finish())
    }

    pub fn machine(&self) -> Machine {
        Machine::new(self.seed, self.processors, &self.com, self.parts.clone())
    }

    pub fn sim(&self, machine: Machine) -> SimHost {
        SimHost::new(self.com.clone(), self.seed, Sound::YES).with_machine(machine)
    }
}

/// A host in the making.
struct Drawing {
    chance: Chance,
    seed: u64,
    kind: Kind,
    onset: Steady,
    processors: f64,
    parts: Vec<Part>,
    units: BTreeMap<UnitName, UnitModel>,
    symptoms: Vec<Symptom>,
}

fn unit(text: &str) -> UnitName {
    text.parse().unwrap_or_else(|_| unreachable!("the names of this file are good ones"))
}

fn model(settings: BTreeMap<Property, Value>, listens: Vec<u16>) -> UnitModel {
    UnitModel { enabled: true, settings, listens, peak_memory: None, definition: "as-installed".to_owned() }
}

impl Drawing {
    fn new(seed: u64, again: u64, kind: Kind) -> Drawing {
        let mut chance = Chance::new(seed ^ again.wrapping_mul(0x00d1_5ea5_ed00_0001) ^ 0x007a_0b1e);
        let onset = Steady(QUIET + chance.between(2 * HOUR, 20 * HOUR));
        let processors = chance.between(2, 5) as f64;
        let mut drawing = Drawing {
            chance,
            seed,
            kind,
            onset,
            processors,
            parts: Vec::new(),
            units: critical().into_iter().map(|unit| (unit, model(BTreeMap::new(), Vec::new()))).collect(),
            symptoms: Vec::new(),
        };
        let services = if kind == Kind::Several && drawing.chance.percent(50) { 2 } else { 1 };
        for number in 0..services {
            drawing.add_service(number);
        }
        drawing.add_neighbours();
        drawing.go_wrong();
        drawing
    }

    fn share(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * (self.chance.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn course(&mut self, level: f64, daily_max: f64) -> Course {
        Course {
            level,
            daily: self.share(0.0, daily_max),
            phase: self.share(0.0, 1.0),
            wander: self.share(0.005, 0.03),
            steps: Vec::new(),
        }
    }

    fn add_service(&mut self, number: u16) {
        let (stem, sensitivity, firm, latency) = self.chance.pick(&SERVICES);
        let level = self.share(300.0, 900.0) * MIB;
        let memory = self.course(level, 0.12);
        let processors = self.share(0.2, 0.8);
        let cpu = self.course(processors, 0.12);
        let high = peak(&memory) * self.share(1.15, 1.35);
        let max = high * self.share(1.1, 1.2);
        let quota = peak(&cpu) * self.share(1.3, 1.8) * 100.0;
        let settings = BTreeMap::from([
            (Property::MemoryMax, Value::Bytes(whole(max))),
            (Property::MemoryHigh, Value::Bytes(whole(high))),
            (Property::CpuQuota, Value::Percent((quota.ceil() as u32).max(25))),
            (Property::Nice, Value::Number(0)),
        ]);
        let name = unit(&format!("{stem}-{number}.service"));
        self.units.insert(name.clone(), model(settings, vec![8080 + number]));
        let sensitivity = sensitivity * self.share(0.85, 1.15);
        let demand = Demand { memory, firm, leak: None, cpu, sensitivity, latency };
        self.parts.push(Part { unit: name, managed: true, demand });
    }

    fn add_neighbours(&mut self) {
        for number in 0..self.chance.between(1, 3) {
            let level = self.share(200.0, 500.0) * MIB;
            let memory = self.course(level, 0.1);
            let high = peak(&memory) * 1.3;
            let processors = self.share(0.05, 0.2);
            let cpu = self.course(processors, 0.1);
            let settings = BTreeMap::from([
                (Property::MemoryMax, Value::Bytes(whole(high * 1.3))),
                (Property::MemoryHigh, Value::Bytes(whole(high))),
            ]);
            let name = unit(&format!("other-{number}.service"));
            self.units.insert(name.clone(), model(settings, Vec::new()));
            let demand = Demand { memory, firm: 0.6, leak: None, cpu, sensitivity: 6.0, latency: 30.0 };
            self.parts.push(Part { unit: name, managed: false, demand });
        }
    }

    fn managed(&self) -> Vec<usize> {
        (0..self.parts.len()).filter(|i| self.parts[*i].managed).collect()
    }

    fn neighbour(&self) -> usize {
        (0..self.parts.len()).rev().find(|i| !self.parts[*i].managed).unwrap_or(0)
    }

    fn setting(&self, at: usize, property: Property) -> f64 {
        let unit = self.units.get(&self.parts[at].unit);
        unit.and_then(|unit| unit.value(&property).amount()).unwrap_or(0.0)
    }

    fn go_wrong(&mut self) {
        let managed = self.managed();
        let (first, last) = (managed[0], managed[managed.len() - 1]);
        match self.kind {
            Kind::Healthy => self.be_busy_for_a_moment(first),
            Kind::MemoryStarved => self.starve_memory(first),
            Kind::CpuStarved => self.starve_cpu(first),
            Kind::Leak => self.leak(first),
            Kind::Neighbour if self.chance.percent(60) => self.hungry_neighbour(),
            Kind::Neighbour => self.busy_neighbour(first, 0),
            Kind::WrongNice => {
                let nice = self.chance.between(3, 10) as i64;
                self.busy_neighbour(first, nice);
            }
            Kind::Several => match self.chance.between(0, 3) {
                0 => {
                    self.starve_memory(first);
                    self.starve_cpu(last);
                }
                1 => {
                    self.starve_memory(first);
                    let nice = self.chance.between(3, 8) as i64;
                    self.busy_neighbour(last, nice);
                }
                _ => {
                    self.starve_cpu(first);
                    let nice = self.chance.between(3, 8) as i64;
                    self.busy_neighbour(last, nice);
                }
            },
        }
    }

    /// A burst of a few minutes, which is nothing wrong.
    fn be_busy_for_a_moment(&mut self, at: usize) {
        let ends = self.onset.plus(Duration::from_secs(self.chance.between(60, 300)));
        let factor = self.share(1.05, 1.12);
        self.parts[at].demand.memory.steps = vec![(self.onset, factor), (ends, 1.0)];
        self.parts[at].demand.cpu.steps = vec![(self.onset, factor), (ends, 1.0)];
    }

    fn starve_memory(&mut self, at: usize) {
        let missing = self.share(1.03, 1.45);
        let factor = self.setting(at, Property::MemoryHigh) * missing / peak(&self.parts[at].demand.memory);
        self.parts[at].demand.memory.steps = vec![(self.onset, factor)];
        self.symptoms.push(Symptom { unit: Some(self.parts[at].unit.clone()), band: Band::Memory });
    }

    fn starve_cpu(&mut self, at: usize) {
        let missing = self.share(1.0, 1.4);
        let quota = self.setting(at, Property::CpuQuota) / 100.0;
        let factor = quota * missing / peak(&self.parts[at].demand.cpu);
        self.parts[at].demand.cpu.steps = vec![(self.onset, factor)];
        self.symptoms.push(Symptom { unit: Some(self.parts[at].unit.clone()), band: Band::Quota });
    }

    fn leak(&mut self, at: usize) {
        let room = self.setting(at, Property::MemoryMax)
            - self.parts[at].demand.memory.level * self.parts[at].demand.firm;
        let hours = self.share(5.0, 25.0);
        self.parts[at].demand.leak = Some(Leak { from: self.onset, per_hour: room / hours });
        self.symptoms.push(Symptom { unit: Some(self.parts[at].unit.clone()), band: Band::Memory });
    }

    fn hungry_neighbour(&mut self) {
        let at = self.neighbour();
        let missing = self.share(1.05, 1.3);
        let factor = self.setting(at, Property::MemoryHigh) * missing / peak(&self.parts[at].demand.memory);
        self.parts[at].demand.memory.steps = vec![(self.onset, factor)];
        self.symptoms.push(Symptom { unit: None, band: Band::Memory });
    }

    /// A neighbour that wants every processor, and a unit that does not weigh enough against it.
    fn busy_neighbour(&mut self, at: usize, nice: i64) {
        let neighbour = self.neighbour();
        let wants = self.processors * self.share(1.5, 4.0);
        let level = self.parts[neighbour].demand.cpu.level;
        self.parts[neighbour].demand.cpu.steps = vec![(self.onset, wants / level)];
        let name = self.parts[at].unit.clone();
        if let Some(unit) = self.units.get_mut(&name) {
            unit.settings.insert(Property::Nice, Value::Number(nice));
        }
        // It wants a good part of the processors itself, and its quota leaves it that.
        let factor = self.processors * self.share(0.3, 0.7) / self.parts[at].demand.cpu.level;
        let wanted = self.parts[at].demand.cpu.level * factor;
        self.parts[at].demand.cpu.level = wanted;
        if let Some(unit) = self.units.get_mut(&name) {
            let quota = (wanted * 1.5 * 100.0).ceil() as u32;
            unit.settings.insert(Property::CpuQuota, Value::Percent(quota.clamp(25, 400)));
        }
        self.symptoms.push(Symptom { unit: Some(name), band: Band::Processor });
    }

    fn finish(self) -> Host {
        let com = Com {
            memory_total: MEMORY_TOTAL,
            swap: true,
            ssh_enabled: true,
            vpn_enabled: None,
            firewall_enabled: true,
            units: self.units,
            rest: "people-0".to_owned(),
            own_configuration: "as-installed".to_owned(),
        };
        let managed = self.parts.iter().filter(|part| part.managed).map(|part| part.unit.clone()).collect();
        Host {
            seed: self.seed,
            kind: self.kind,
            com,
            managed,
            onset: self.onset,
            symptoms: self.symptoms,
            processors: self.processors,
            parts: self.parts,
        }
    }
}

/// The highest the course goes before anything is wrong.
fn peak(course: &Course) -> f64 {
    course.level * (1.0 + course.daily + course.wander)
}

fn whole(bytes: f64) -> u64 {
    (bytes / MIB).ceil() as u64 * (1 << 20)
}
