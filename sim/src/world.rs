//! A world: one host, a controller or two, a tripwire, people, a brain, networks and clocks, driven by one queue of
//! happenings. Nothing in it looks at a real clock, and chance comes from the seed alone.

pub(crate) mod brain;
mod controllers;
mod faults;
mod people;
mod target;
mod tripwire;

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Sight, Sound, Steady, Watch, WindowRecord};
use holdfast_steward::Steward;
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{Answer, Fault, Look, Looked, Op, Verb};
use holdfast_steward::event::Record;
use holdfast_steward_host::{HostEvent, SimHost};

use crate::chance::Chance;
use crate::check::{Checker, Violation};
use crate::coverage::Coverage;
use crate::plan::{BEGIN, MINUTE, Plan, SECOND};
use crate::setup;
use crate::story::Story;

pub(crate) use controllers::Process;
pub(crate) use faults::Trouble;
pub(crate) use tripwire::Watcher;

/// Happenings after which a world is taken to spin without end.
const HAPPENINGS_MAX: u64 = 400_000;

/// Who sent a message, and in which of its lives: an answer to a dead process goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Controller { which: usize, life: u32 },
    Tripwire { life: u32 },
}

#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Collect { which: usize },
    Wake { which: usize },
    Start { which: usize },
    Request { from: Sender, op: Op, over: holdfast_lifeline::Channel, verb: Verb },
    Reply { to: Sender, op: Op, answer: Result<Answer, Fault> },
    Late { to: Sender, op: Op },
    Look { from: Sender, op: Op, look: Look, until: u64 },
    Looked { to: Sender, op: Op, looked: Box<Looked> },
    Reboot { from: Sender, op: Op, reset: bool },
    BrainSays { which: usize, life: u32, op: Op, said: Result<String, Failure> },
    FaultBegins { at: usize },
    FaultEnds { at: usize },
    Asked,
    Approval { which: usize, episode: EpisodeId, digest: String, allowed: bool },
    Accept { which: usize },
    ResetBreaker { which: usize },
    Tick { life: u32 },
    TripwireLooked { life: u32, watch: Box<Watch>, sight: Sight },
    TripwireStart,
}

#[derive(Debug)]
pub struct World {
    pub(crate) plan: Plan,
    pub(crate) chance: Chance,
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    queued: u64,
    pub(crate) host: SimHost,
    pub(crate) controllers: Vec<Process>,
    pub(crate) tripwire: Watcher,
    /// The window record of each controller's machine.
    pub(crate) records: Vec<Option<WindowRecord>>,
    pub(crate) trouble: Trouble,
    pub(crate) staged: usize,
    pub(crate) planned: u64,
    pub(crate) checker: Checker,
    pub(crate) story: Story,
    pub(crate) coverage: Coverage,
}

/// What a world came to.
#[derive(Debug)]
pub struct Verdict {
    pub violations: Vec<Violation>,
    pub coverage: Coverage,
    pub story: Story,
    pub episodes: u64,
    pub kept: u64,
    /// What each controller wrote down, and what its steward came to.
    pub logs: Vec<Vec<Record>>,
    pub stewards: Vec<Option<Steward>>,
}

impl World {
    pub fn new(plan: Plan, sound: Sound, tell: bool) -> World {
        let mut host = SimHost::new(holdfast_steward_host::estate(), plan.seed, sound);
        host.advance(Steady(BEGIN));
        let controllers =
            (0..plan.controllers).map(|which| Process::new(which, &plan, &host, sound)).collect::<Vec<_>>();
        let records = vec![None; plan.controllers];
        let chance = Chance::new(plan.seed ^ 0x00c0_ffee);
        let mut world = World {
            tripwire: Watcher::new(&plan, sound),
            checker: Checker::new(&plan),
            story: Story::new(tell),
            coverage: Coverage::default(),
            trouble: Trouble::default(),
            now: BEGIN,
            queue: BTreeMap::new(),
            queued: 0,
            staged: 0,
            planned: 0,
            host,
            controllers,
            records,
            chance,
            plan,
        };
        world.prepare();
        world
    }

    fn prepare(&mut self) {
        if let Some((at, pressure)) = self.plan.shift {
            self.host.behaviour().set_demand(Steady(at), pressure, 0);
        }
        if self.plan.starving {
            let memory = setup::LIMIT + setup::LIMIT / 20;
            self.host.behaviour().set_demand(Steady(BEGIN + 2 * MINUTE), 9.0, memory);
        }
        for which in 0..self.controllers.len() {
            self.at(BEGIN + which as u64 * 7 * SECOND, Happening::Start { which });
            self.at(BEGIN + (20 + which as u64) * SECOND, Happening::Collect { which });
        }
        for at in self.plan.asks.clone() {
            self.at(at, Happening::Asked);
        }
        for (index, fault) in self.plan.faults.clone().into_iter().enumerate() {
            self.at(fault.at, Happening::FaultBegins { at: index });
            self.at(fault.at + fault.lasts, Happening::FaultEnds { at: index });
        }
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Verdict {
        let mut happened = 0;
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            if at > self.plan.ends || !self.checker.violations.is_empty() {
                break;
            }
            happened += 1;
            if happened > HAPPENINGS_MAX {
                self.checker.violate(self.now, "spins", "the world does not come to rest".to_owned());
                break;
            }
            self.now = at;
            self.host.advance(Steady(at));
            self.heed_host();
            self.happen(happening);
            self.heed_host();
        }
        if self.checker.violations.is_empty() {
            self.now = self.plan.ends;
            self.host.advance(Steady(self.now));
            self.check_end();
        }
        let logs = self.controllers.iter().map(|process| process.records().to_vec()).collect();
        let stewards = self
            .controllers
            .iter()
            .map(|process| process.core().map(|core| core.steward().clone()))
            .collect();
        Verdict {
            logs,
            stewards,
            violations: self.checker.violations,
            coverage: self.coverage,
            episodes: self.checker.episodes,
            kept: self.checker.kept,
            story: self.story,
        }
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.queued += 1;
        self.queue.insert((at.max(self.now), self.queued), happening);
    }

    pub(crate) fn after(&mut self, span: Duration, happening: Happening) {
        self.at(self.now + span.as_millis() as u64, happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Collect { which } => self.collect(which),
            Happening::Wake { which } => self.wake(which),
            Happening::Start { which } => self.start(which),
            Happening::Request { from, op, over, verb } => self.arrive(from, op, over, &verb),
            Happening::Reply { to, op, answer } => self.reply(to, op, answer),
            Happening::Late { to, op } => self.reply(to, op, Err(Fault::TimedOut)),
            Happening::Look { from, op, look, until } => self.look(from, op, &look, until),
            Happening::Looked { to, op, looked } => self.looked(to, op, looked),
            Happening::Reboot { from, op, reset } => self.reboot(from, op, reset),
            Happening::BrainSays { which, life, op, said } => self.brain_says(which, life, op, said),
            Happening::FaultBegins { at } => self.fault_begins(at),
            Happening::FaultEnds { at } => self.fault_ends(at),
            Happening::Asked => self.asked(),
            Happening::Approval { which, episode, digest, allowed } => {
                self.approval(which, episode, digest, allowed)
            }
            Happening::Accept { which } => self.accept(which),
            Happening::ResetBreaker { which } => self.reset_breaker(which),
            Happening::Tick { life } => self.tick(life),
            Happening::TripwireLooked { life, watch, sight } => self.tripwire_looked(life, *watch, sight),
            Happening::TripwireStart => self.tripwire_start(),
        }
    }

    /// What truly happened on the host is checked at once, whoever knows of it.
    fn heed_host(&mut self) {
        for (at, event) in self.host.take_history() {
            self.story.host(at.0, &event);
            self.check_host(at.0, &event);
        }
        self.check_standing();
    }

    pub(crate) fn say(&mut self, who: &str, what: impl FnOnce() -> String) {
        self.story.say(self.now, who, what);
    }

    fn check_host(&mut self, at: u64, event: &HostEvent) {
        let facts = self.facts();
        self.checker.host(at, event, &facts, &self.host);
    }

    fn check_standing(&mut self) {
        let facts = self.facts();
        self.checker.standing(&facts, &self.host);
    }

    fn check_end(&mut self) {
        let logs = self.controllers.iter().map(Process::records).collect::<Vec<_>>();
        self.checker.end(&self.plan, &self.host, &logs, self.now);
    }

    /// What the checkers may know that nobody in the world does.
    pub(crate) fn facts(&self) -> crate::check::Facts {
        crate::check::Facts {
            now: self.now,
            tripwire_dead_since: self.tripwire.silent_since(),
            paused_since: self.trouble.paused_since,
            record: self.records[0].as_ref().map(|record| record.state),
            network_is_well: self.trouble.network_is_well(),
            target_reachable: self.trouble.target_cut == 0
                && self.trouble.flaps < 15
                && self.trouble.loses < 10
                && self.trouble.delays < 10
                && (self.trouble.first_down == 0 || self.plan.second_route),
            clock_is_true: !self
                .plan
                .faults
                .iter()
                .any(|fault| matches!(fault.kind, crate::plan::FaultKind::ClockSlow(_))),
            levels: self.controllers.iter().map(Process::level).collect(),
            space_low_since: self.trouble.space_low_since,
            people_since: self.trouble.people_since,
        }
    }
}
