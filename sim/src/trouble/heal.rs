//! One troubled host, from its quiet week to its last day, with the real loop around it.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{Now, Steady};
use holdfast_steward::Settings;
use holdfast_steward::brain::{Earlier, Experience, Intent};
use holdfast_steward::effect::Input;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::outcome::Outcome;
use holdfast_steward::policy::TargetRules;
use holdfast_steward::sample::{Metric, Quantity, Sample, Scope, Window};
use holdfast_steward::setting::UnitName;
use holdfast_steward::trigger::Cause;
use holdfast_steward_host::{LogFailed, Machine, MemoryLog, Runner, SimHost, critical};
use holdfast_types::Timestamp;

use super::around::{Around, endpoint};
use super::eye::{self, Eye};
use super::host::{BUDGET, DAY, HOUR, Host, QUIET, QUIET_TICK};
use super::symptom::Course;

/// Between two collections.
const COLLECT_EVERY: u64 = 120_000;
/// From the onset on: three days in which everything can be tried that a week allows, and two to see whether it lasts.
/// What is remembered of the quiet time in detail.
const REMEMBERED: u64 = 2 * DAY;
const LIVES_FOR: u64 = 5 * DAY;

/// What became of a host.
#[derive(Clone, Debug)]
pub struct Told {
    pub kind: super::Kind,
    pub seed: u64,
    /// Hours from the onset until it was well for good.
    pub healed_after: Option<f64>,
    pub changes: Changes,
    /// Whether what was kept makes some unit worse off than if nobody had done anything.
    pub harm_kept: bool,
    pub touched: bool,
    pub breaker_opened: bool,
    /// What was learnt here.
    pub experience: Vec<Experience>,
    /// What it said where it did nothing.
    pub said: Vec<String>,
    pub rejected: u32,
    /// How often the brain was asked, whatever came of it.
    pub cycles: u32,
    /// What was tried and what became of it, a line each.
    pub story: Vec<String>,
}

/// The changes that were tried on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub tried: u32,
    pub kept: u32,
    /// Kept without effect, or undone without harm.
    pub in_vain: u32,
    /// Made it worse, and was undone.
    pub worse_undone: u32,
    pub explored: u32,
}

/// Plays the host to its end.
pub fn live(host: &Host, experience: &[Experience]) -> Result<Told, LogFailed> {
    let mut world = World::new(host, experience)?;
    world.run()?;
    Ok(world.tell())
}

/// The same, with somebody who asks for a cycle every hour, so that there are explorations by the dozen.
pub fn explore(host: &Host) -> Result<Told, LogFailed> {
    let mut world = World::new(host, &[])?;
    world.asks_every = Some(HOUR);
    world.run()?;
    Ok(world.tell())
}

struct World<'a> {
    host: &'a Host,
    runner: Runner<SimHost, MemoryLog, Around>,
    eyes: Vec<(Metric, Box<dyn Eye>)>,
    twin: Machine,
    kills: BTreeMap<UnitName, u32>,
    course: Course,
    badness: f64,
    /// How bad it was when the change under way began.
    before: f64,
    heard: usize,
    changes: Changes,
    learnt: Vec<Experience>,
    rejected: u32,
    story: Vec<String>,
    last_day: Fate,
    since_onset: Fate,
    asks_every: Option<u64>,
    cycles: u32,
}

/// How the units fare over a time, here and on the twin.
#[derive(Default)]
struct Fate {
    here: BTreeMap<UnitName, Fares>,
    there: BTreeMap<UnitName, Fares>,
}

/// What somebody must be worse off by before it is called harm: how much slower as a share, and points of pressure.
#[derive(Clone, Copy)]
struct Margin {
    slower: f64,
    points: f64,
}

/// On the last day: a tenth slower, or two points more.
const LAST_DAY: Margin = Margin { slower: 0.1, points: 2.0 };
/// Since the onset: at all. What only moved to another day, as the end of a leaking process does, is no harm.
const SINCE_ONSET: Margin = Margin { slower: 0.0, points: 0.1 };

#[derive(Clone, Copy, Default)]
struct Fares {
    pressure: f64,
    latency: f64,
    count: f64,
    kills_before: Option<u32>,
    kills: u32,
}

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}

fn figure(metric: &Metric, machine: &Machine) -> f64 {
    match (metric.scope(), metric.quantity()) {
        (Scope::Unit(unit), Quantity::CpuThrottled) => {
            machine.sight(unit).map_or(0.0, |sight| sight.throttled)
        }
        (Scope::Unit(unit), Quantity::Latency) => machine.sight(unit).map_or(0.0, |sight| sight.latency),
        _ => machine.pressure().some,
    }
}

fn metrics(host: &Host) -> Vec<Metric> {
    let of = |unit: &UnitName| {
        [Quantity::CpuThrottled, Quantity::Latency]
            .into_iter()
            .filter_map(|quantity| Metric::new(Scope::Unit(unit.clone()), quantity, Window::None))
            .collect::<Vec<_>>()
    };
    std::iter::once(Metric::primary()).chain(host.managed.iter().flat_map(of)).collect()
}

impl<'a> World<'a> {
    fn new(host: &'a Host, experience: &[Experience]) -> Result<World<'a>, LogFailed> {
        let mut machine = host.machine().with_tick(QUIET_TICK);
        let metrics = metrics(host);
        let mut quiet = vec![Vec::new(); metrics.len()];
        let mut around = Around::new(&host.managed, Default::default(), experience.to_vec());
        for now in (COLLECT_EVERY..=QUIET).step_by(COLLECT_EVERY as usize) {
            machine.advance(Steady(now), true);
            if now + REMEMBERED > QUIET {
                around.collect(Steady(now), &machine);
            }
            for (samples, metric) in quiet.iter_mut().zip(&metrics) {
                samples.push(Sample::known(Steady(now), figure(metric, &machine)));
            }
        }
        let machine = machine.with_tick(Duration::from_secs(15));
        let period = Duration::from_millis(COLLECT_EVERY);
        let mut eyes = Vec::new();
        for (metric, samples) in metrics.into_iter().zip(quiet) {
            if let (Scope::Unit(unit), Quantity::Latency) = (metric.scope(), metric.quantity()) {
                let sum: f64 = samples.iter().filter_map(Sample::value).sum();
                around.latency_usual.insert(unit.clone(), sum / samples.len().max(1) as f64);
            }
            eyes.extend(eye::eye(&metric, &samples, period).map(|eye| (metric, eye)));
        }
        let mut sim = host.sim(machine.clone());
        sim.advance(Steady(QUIET));
        let log = trusted(&sim);
        let runner = Runner::start(settings(host), log, sim, around, at(QUIET))?;
        Ok(World {
            host,
            runner,
            eyes,
            twin: machine,
            kills: BTreeMap::new(),
            course: Course::default(),
            badness: 0.0,
            before: 0.0,
            heard: 0,
            changes: Changes::default(),
            learnt: Vec::new(),
            rejected: 0,
            story: Vec::new(),
            last_day: Fate::default(),
            since_onset: Fate::default(),
            asks_every: None,
            cycles: 0,
        })
    }

    fn run(&mut self) -> Result<(), LogFailed> {
        let ends = self.host.onset.0 + LIVES_FOR;
        let (mut now, mut collect) = (QUIET, QUIET + COLLECT_EVERY);
        while now < ends {
            let wakes = self.runner.steward().wakes_at().map_or(u64::MAX, |at| at.0.max(now + 1));
            now = wakes.min(collect);
            self.runner.driver().advance(Steady(now));
            self.look_around();
            if now == collect {
                collect += COLLECT_EVERY;
                self.collect(now, ends)?;
            } else {
                self.remember(Steady(now));
                self.step(now, Input::Time)?;
            }
        }
        Ok(())
    }

    fn look_around(&mut self) {
        let (host, around) = self.runner.both();
        let up = host.is_up();
        if let Some(machine) = host.machine() {
            around.see(machine, up);
        }
    }

    fn collect(&mut self, now: u64, ends: u64) -> Result<(), LogFailed> {
        self.twin.advance(Steady(now), true);
        let (host, around) = self.runner.both();
        let Some(machine) = host.machine() else { return Ok(()) };
        around.collect(Steady(now), machine);
        if now >= self.host.onset.0 {
            self.course.take(Steady(now), &self.host.symptoms, machine);
            self.since_onset.take(machine, &self.twin);
        }
        if now + DAY >= ends {
            self.last_day.take(machine, &self.twin);
        }
        let bad: f64 = self.host.symptoms.iter().map(|symptom| symptom.badness(machine)).sum();
        self.badness = self.badness * 0.9 + 0.1 * bad;
        let causes = self.causes(now);
        self.step(now, Input::Collected)?;
        let asked = self.asks_every.filter(|every| now % *every < COLLECT_EVERY);
        let asked = asked.and_then(|_| "a person".parse().ok()).map(|by| Cause::Asked { by });
        for cause in causes.into_iter().chain(asked) {
            self.remember(Steady(now));
            self.step(now, Input::Trigger(cause))?;
        }
        Ok(())
    }

    fn causes(&mut self, now: u64) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (host, around) = self.runner.both();
        let Some(machine) = host.machine() else { return causes };
        if std::mem::take(&mut around.rebased) {
            self.eyes.iter_mut().for_each(|(_, eye)| eye.rebase(Steady(now)));
        }
        for (metric, eye) in &mut self.eyes {
            let sample = Sample::known(Steady(now), figure(metric, machine));
            if let Some(change) = eye.see(sample) {
                around.regimes.extend(change.began);
                causes.push(Cause::RegimeChange { metric: metric.clone(), direction: change.direction });
            }
        }
        for (unit, sight) in machine.units().filter(|(_, sight)| sight.managed) {
            let before = self.kills.insert(unit.clone(), sight.kills).unwrap_or(0);
            if sight.kills > before {
                causes.push(Cause::OutOfMemory { unit: unit.clone() });
            }
        }
        causes
    }

    /// Before anything may be asked: what became of earlier changes. One that is still on probation may be kept and followed by
    /// the next within the same step, so it counts as kept.
    fn remember(&mut self, now: Steady) {
        let steward = self.runner.steward();
        let cleared = steward.episode().and_then(|episode| episode.cleared.as_ref());
        let under_way = cleared.into_iter().flat_map(|cleared| &cleared.changes);
        let under_way = under_way.map(|change| Earlier {
            change: change.clone(),
            outcome: Outcome::Kept,
            age: Some(Duration::ZERO),
        });
        let earlier = steward.book().standing(&steward.settings().target).flat_map(|record| {
            let (outcome, age) = (record.outcome, Some(now.since(record.at)));
            record.changes().cloned().map(move |change| Earlier { change, outcome, age }).collect::<Vec<_>>()
        });
        let earlier = earlier.chain(under_way).collect();
        let spent_today = !steward.may_try_today(now);
        let around = self.runner.outside();
        (around.outcomes, around.spent_today) = (earlier, spent_today);
    }

    fn step(&mut self, now: u64, input: Input) -> Result<(), LogFailed> {
        self.runner.step(at(now), input)?;
        let new: Vec<Event> =
            self.runner.log().records[self.heard..].iter().map(|record| record.event.clone()).collect();
        self.heard += new.len();
        for event in new {
            self.note(now, &event);
            self.hear(&event);
        }
        Ok(())
    }

    fn note(&mut self, now: u64, event: &Event) {
        let hours = (now as f64 - self.host.onset.0 as f64) / HOUR as f64;
        match event {
            Event::Judged { cleared: Some(cleared), .. } => {
                let changes: Vec<String> = cleared.changes.iter().map(ToString::to_string).collect();
                self.story.push(format!("{hours:.1} h: {} ({})", changes.join(", "), cleared.hypothesis));
            }
            Event::Ended { ending, .. } if ending.outcome != Outcome::NoAction => {
                self.story.push(format!(
                    "{hours:.1} h: {} ({}), {:.1} of the band",
                    ending.outcome, ending.reason, self.badness
                ));
            }
            Event::Retrospected { verdict, .. } => self.story.push(format!("{hours:.1} h: {verdict:?}")),
            _ => {}
        }
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Counted { .. } => {
                self.changes.tried += 1;
                self.before = self.badness;
                let exploration = self.runner.steward().episode().is_some_and(|episode| episode.exploration);
                self.changes.explored += u32::from(exploration);
            }
            Event::Ended { ending, .. } if ending.tried => {
                self.cycles += 1;
                self.ended(ending.outcome);
            }
            Event::Ended { ending, .. } => {
                self.cycles += 1;
                self.rejected += u32::from(ending.outcome == Outcome::GateRejected);
            }
            _ => {}
        }
    }

    fn ended(&mut self, outcome: Outcome) {
        let better = self.badness < self.before * 0.9;
        match outcome {
            Outcome::RolledBack if self.badness > self.before * 1.1 => self.changes.worse_undone += 1,
            Outcome::RolledBack | Outcome::Interrupted => self.changes.in_vain += 1,
            _ if better => self.changes.kept += 1,
            _ => {
                self.changes.kept += 1;
                self.changes.in_vain += 1;
            }
        }
        let Some(meant) = self.runner.outside().meant.take() else { return };
        if let Some(after) = self.severity(&meant) {
            let learnt = meant.came_to(after, outcome);
            self.runner.outside().experience.push(learnt.clone());
            self.learnt.push(learnt);
        }
    }

    fn severity(&mut self, meant: &Intent) -> Option<f64> {
        let history = self.runner.outside().histories.get(&meant.unit)?;
        let facts = history.facts();
        meant.diagnosis.severity(&facts, history.throttled().unwrap_or(0.0))
    }

    fn is_harmed(&self) -> bool {
        self.last_day.here.keys().any(|unit| {
            let managed = self.host.managed.contains(unit);
            self.last_day.harms(unit, managed, LAST_DAY) && self.since_onset.harms(unit, managed, SINCE_ONSET)
        })
    }

    fn tell(mut self) -> Told {
        // A course is open at its last hour, which is not whole.
        let hours = self.course.well_since();
        let healed_after = hours.map(|hour| {
            let began = self.host.onset.0 % HOUR;
            hour as f64 - began as f64 / HOUR as f64
        });
        let steward = self.runner.steward();
        let breaker_opened = steward.breaker_is_open();
        let first = holdfast_steward_host::Driver::generations(self.runner.driver()).first().copied();
        let changed = first != Some(self.runner.driver().running());
        Told {
            kind: self.host.kind,
            seed: self.host.seed,
            healed_after: healed_after.map(|hours| hours.max(0.0)),
            harm_kept: changed && self.is_harmed(),
            touched: self.changes.tried > 0,
            breaker_opened,
            changes: self.changes,
            experience: self.learnt,
            said: std::mem::take(&mut self.runner.outside().said),
            rejected: self.rejected,
            cycles: self.cycles,
            story: self.story,
        }
    }
}

impl Fate {
    fn take(&mut self, here: &Machine, there: &Machine) {
        for (fares, machine) in [(&mut self.here, here), (&mut self.there, there)] {
            for (unit, sight) in machine.units() {
                let fares = fares.entry(unit.clone()).or_default();
                fares.pressure += sight.pressure.some;
                fares.latency += sight.latency;
                fares.count += 1.0;
                fares.kills = sight.kills - *fares.kills_before.get_or_insert(sight.kills);
            }
        }
    }

    /// A managed unit is worse off when it answers slower, waits more for memory, or is killed more often. A neighbour that took
    /// what was not its own may have less of the processors, and may not have less memory.
    fn harms(&self, unit: &UnitName, managed: bool, margin: Margin) -> bool {
        let (Some(here), Some(there)) = (self.here.get(unit), self.there.get(unit)) else { return false };
        let slower = managed && here.latency > there.latency * (1.0 + margin.slower);
        let mean = |fares: &Fares| fares.pressure / fares.count.max(1.0);
        slower || mean(here) > mean(there) + margin.points || here.kills > there.kills
    }
}

fn settings(host: &Host) -> Settings {
    let first = host.managed[0].clone();
    let endpoints: Vec<String> = host.managed.iter().map(endpoint).collect();
    let target = match "box-1".parse() {
        Ok(target) => target,
        Err(_) => unreachable!("a good name"),
    };
    Settings {
        target,
        instance: host.seed,
        rules: TargetRules {
            services: host.managed.clone(),
            workload: first,
            critical: critical(),
            memory_budget: BUDGET,
            endpoints,
            probe_hosts: vec!["box-1".to_owned()],
        },
        constitution: Default::default(),
        limits: Limits::default(),
        endpoint_of: host
            .managed
            .iter()
            .filter_map(|unit| Some((unit.clone(), endpoint(unit).parse().ok()?)))
            .collect(),
        window: Duration::from_secs(600),
        routine_after: holdfast_steward::trigger::ROUTINE_AFTER,
        second_route: false,
        reboot: false,
        space_here: 1_000_000_000,
        space_there: 5_000_000_000,
        drain_within: Duration::from_secs(1800),
        predicates: holdfast_steward::properties::PREDICATES,
    }
}

/// Records that let it do small things alone.
fn trusted(host: &SimHost) -> MemoryLog {
    let record = |event| Record { at: Steady(QUIET), wall: Timestamp::EPOCH, synced: true, event };
    let why = "to see whether it helps".to_owned();
    let records = vec![
        record(Event::Enrolled { known_good: host.running() }),
        record(Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why }),
    ];
    MemoryLog { records, room: None }
}
