//! A modelled host: services with memory limits and demand, pressure, kills, restarts, boots; and everything that can go
//! wrong with one. It keeps its own time, which somebody else moves, and its own desk, which is the real one.
//!
//! What people wrote is the base, and is never touched; what the steward set is a layer above it, named by its digest. How a
//! layer behaves is a [`Quirk`] that the world around chose, so that a change that looks harmless may not be; or the host carries
//! a [`Machine`], and then everything follows from that.

mod behaviour;
mod estate;
mod machine;

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_lifeline::{BootId, Desk, EpisodeId, Flaw, Identity, Lease, Restored, Sound, Steady};
use holdfast_steward::com::Com;
use holdfast_steward::effect::{Activation, Answer, Fault, Full, Staged, TargetState, Verb};
use holdfast_steward::setting::{Change, Setting, UnitName, Value};

use behaviour::Behaviour;
pub use behaviour::Quirk;
pub use estate::{CALIBRATION, LIMIT, critical, estate, workload};
pub use machine::{Course, Demand, Leak, Machine, Part, Pressure, UnitLimits, UnitSight};

use crate::driver::Driver;

/// What the steward has set, above what people wrote.
pub type Layer = BTreeMap<Setting, Value>;

/// How long an activation usually takes.
const ACTIVATION: Duration = Duration::from_secs(6);
const BOOT_TAKES: Duration = Duration::from_secs(45);
/// What staging and keeping need.
const SPACE_NEEDED: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    Up,
    Booting {
        until: Steady,
    },
    /// Answers nothing and does nothing, not even what its timers say, until it is reset.
    Hung,
}

/// Something that truly happened to the host, whoever believes what.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent {
    Tried {
        episode: EpisodeId,
        from: Identity,
        to: Identity,
    },
    Kept {
        episode: EpisodeId,
        from: Identity,
        to: Identity,
    },
    /// Something else runs from here on: a rollback, an expired lease, a boot.
    Ran {
        identity: Identity,
        why: &'static str,
    },
    RestoredKept {
        episode: EpisodeId,
        to: Identity,
    },
    WorkLost,
    Rebooted {
        reset: bool,
    },
    Deployed {
        identity: Identity,
    },
}

#[derive(Clone, Debug)]
struct Job {
    episode: EpisodeId,
    candidate: Identity,
    done_at: Steady,
}

#[derive(Clone, Debug)]
pub struct SimHost {
    now: Steady,
    base: Com,
    /// Counts what people did.
    people: u64,
    layers: BTreeMap<Identity, Layer>,
    generations: Vec<Identity>,
    desk: Desk,
    running: Identity,
    job: Option<Job>,
    result: Option<(EpisodeId, Activation)>,
    staged_last: Option<Identity>,
    boot: u64,
    power: Power,
    behaviour: Behaviour,
    machine: Option<Machine>,
    pub space: u64,
    pub activation_takes: Duration,
    /// The next activation or restore stops half way.
    pub half_next: bool,
    /// The next restore is accepted and nothing comes of it.
    pub lie_next: bool,
    was_well: bool,
    history: Vec<(Steady, HostEvent)>,
    sound: Sound,
}

impl SimHost {
    /// A host as people set it up.
    pub fn new(base: Com, seed: u64, sound: Sound) -> SimHost {
        let empty = Layer::new();
        let identity = identity_of(&empty, 0);
        SimHost {
            now: Steady(0),
            people: 0,
            layers: BTreeMap::from([(identity, empty)]),
            generations: vec![identity],
            desk: Desk::new(identity, sound),
            running: identity,
            job: None,
            result: None,
            staged_last: None,
            boot: 1,
            power: Power::Up,
            behaviour: Behaviour::new(&base, seed),
            machine: None,
            space: 20 << 30,
            activation_takes: ACTIVATION,
            half_next: false,
            lie_next: false,
            was_well: true,
            history: Vec::new(),
            base,
            sound,
        }
    }

    /// The same host, behaving as this machine does. No quirk counts any more.
    pub fn with_machine(mut self, machine: Machine) -> SimHost {
        self.put_machine(machine);
        self
    }

    /// From here on it behaves as this machine does, under what runs now.
    pub fn put_machine(&mut self, machine: Machine) {
        self.machine = Some(machine);
        self.set_the_machine(self.running, false);
    }

    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    /// A unit of its machine wants something else from now on.
    pub fn set_demand(&mut self, unit: &UnitName, demand: &Demand) {
        if let Some(machine) = &mut self.machine {
            machine.set_demand(unit, demand);
        }
    }

    pub fn running(&self) -> Identity {
        self.running
    }

    pub fn boots_into(&self) -> Identity {
        self.desk.boots_into()
    }

    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    pub fn power(&self) -> Power {
        self.power
    }

    pub fn boot_id(&self) -> BootId {
        BootId(self.boot)
    }

    pub fn layer(&self, identity: Identity) -> Option<&Layer> {
        self.layers.get(&identity)
    }

    pub fn base(&self) -> &Com {
        &self.base
    }

    pub fn behaviour(&mut self) -> &mut Behaviour {
        &mut self.behaviour
    }

    /// Takes out what truly happened since last asked.
    pub fn take_history(&mut self) -> Vec<(Steady, HostEvent)> {
        std::mem::take(&mut self.history)
    }

    pub fn is_up(&self) -> bool {
        self.power == Power::Up
    }

    /// Whether SSH answers now.
    pub fn answers(&self) -> bool {
        self.is_up() && self.behaviour.ssh_answers()
    }

    /// Whether the service answers its health check now.
    pub fn is_healthy(&self) -> bool {
        let behaves = || self.behaviour.is_healthy(self.now);
        self.is_up() && self.machine.as_ref().map_or_else(behaves, Machine::is_healthy)
    }

    /// What would be seen of the workload by somebody who sees everything.
    pub fn is_sick(&self) -> bool {
        self.behaviour.is_sick(self.now)
    }

    /// How a layer behaves.
    pub fn quirk(&self, identity: Identity) -> Quirk {
        self.behaviour.quirk_of(identity)
    }

    pub fn has_quirk(&self, identity: Identity) -> bool {
        self.behaviour.knows(identity)
    }

    pub fn workload(&self) -> holdfast_steward::effect::Workload {
        self.machine.as_ref().map_or_else(|| self.behaviour.workload(self.now), Machine::workload)
    }

    /// Whether the work that is in flight was so then already.
    pub fn busy_since(&self, then: Steady) -> bool {
        self.behaviour.is_busy_from(then, self.now)
    }

    /// Whether it was up and answered until it was told to start again.
    pub fn was_well(&self) -> bool {
        self.was_well
    }

    /// How long what runs has been running.
    pub fn ran_for(&self) -> Duration {
        self.behaviour.ran_for(self.now)
    }

    pub fn metric(&self) -> f64 {
        self.machine.as_ref().map_or_else(|| self.behaviour.pressure(self.now), |it| it.pressure().some)
    }

    /// Time goes on: whatever was to happen by then happens, in its order.
    pub fn advance(&mut self, to: Steady) {
        while let Some(at) = self.next_happening().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            self.let_the_machine_run();
            self.happen();
        }
        self.now = self.now.max(to);
        self.let_the_machine_run();
        self.behaviour.advance(self.now, self.is_up());
        if self.is_up() && self.behaviour.hangs(self.now) {
            self.power = Power::Hung;
        }
    }

    fn let_the_machine_run(&mut self) {
        let (now, up) = (self.now, self.is_up());
        if let Some(machine) = &mut self.machine {
            machine.advance(now, up);
        }
    }

    fn next_happening(&self) -> Option<Steady> {
        match self.power {
            Power::Hung => None,
            Power::Booting { until } => Some(until),
            Power::Up => {
                let lease = self.desk.lease().map(|lease| lease.expires);
                [self.job.as_ref().map(|job| job.done_at), lease].into_iter().flatten().min()
            }
        }
    }

    fn happen(&mut self) {
        match self.power {
            Power::Hung => {}
            Power::Booting { until } if until <= self.now => {
                self.power = Power::Up;
                let identity = self.desk.boot();
                self.run(identity, "boot");
            }
            Power::Booting { .. } => {}
            Power::Up => {
                if self.job.as_ref().is_some_and(|job| job.done_at <= self.now) {
                    self.finish_job();
                }
                if let Some(known_good) = self.desk.expire(self.now) {
                    self.job = None;
                    self.run(known_good, "lease");
                }
            }
        }
    }

    fn finish_job(&mut self) {
        let Some(Job { episode, candidate, .. }) = self.job.take() else { return };
        // The lease may have run out since it was begun.
        if self.desk.may_try(&episode, candidate, self.now).is_err() {
            self.result = Some((episode, Activation::Failed));
            return;
        }
        if std::mem::take(&mut self.half_next) {
            self.running = half_of(candidate);
            self.behaviour.switched(self.now, &Layer::new(), (Quirk::Fine, 1.0), false);
            self.result = Some((episode, Activation::Failed));
            return;
        }
        let from = self.running;
        let restarts = self.differs_in_restart(from, candidate);
        if restarts && self.behaviour.is_busy(self.now) {
            self.history.push((self.now, HostEvent::WorkLost));
        }
        self.history.push((self.now, HostEvent::Tried { episode: episode.clone(), from, to: candidate }));
        self.switch(candidate, restarts);
        let workload = self.workload();
        let done = Activation::Done { identity: candidate, boot: self.boot_id(), workload };
        self.result = Some((episode, done));
    }

    fn differs_in_restart(&self, from: Identity, to: Identity) -> bool {
        let (Some(from), Some(to)) = (self.layers.get(&from), self.layers.get(&to)) else { return true };
        from.keys()
            .chain(to.keys())
            .any(|setting| setting.property.needs_restart() && from.get(setting) != to.get(setting))
    }

    fn switch(&mut self, identity: Identity, restarts: bool) {
        self.running = identity;
        let layer = self.layers.get(&identity).cloned().unwrap_or_default();
        let behaves = (self.behaviour.quirk_of(identity), self.behaviour.share_of(identity));
        self.behaviour.switched(self.now, &layer, behaves, restarts);
        self.set_the_machine(identity, restarts);
    }

    fn set_the_machine(&mut self, identity: Identity, restarts: bool) {
        if self.machine.is_some() {
            let (com, now) = (self.com(identity), self.now);
            if let Some(machine) = &mut self.machine {
                machine.set(&com, now, restarts);
            }
        }
    }

    fn run(&mut self, identity: Identity, why: &'static str) {
        let restarts = why == "boot" || self.differs_in_restart(self.running, identity);
        self.switch(identity, restarts);
        self.history.push((self.now, HostEvent::Ran { identity, why }));
    }

    /// A person deploys something of their own: it runs, and it is booted into.
    pub fn deploy(&mut self) {
        if !self.is_up() {
            return;
        }
        self.people += 1;
        let layer = self.layers.get(&self.desk.boots_into()).cloned().unwrap_or_default();
        let identity = identity_of(&layer, self.people);
        self.layers.insert(identity, layer);
        self.generations.push(identity);
        self.job = None;
        // It does what was booted into did, and nothing of what was being tried.
        self.behaviour.mend(identity, self.desk.boots_into());
        self.desk.overtaken(identity);
        self.run(identity, "deploy");
        self.history.push((self.now, HostEvent::Deployed { identity }));
    }

    /// A person edits something of their own; what the steward set stays as it is.
    pub fn edit(&mut self) {
        self.people += 1;
    }

    pub fn people(&self) -> u64 {
        self.people
    }

    pub fn crash(&mut self) {
        self.start_again();
    }

    pub fn hang(&mut self) {
        if self.is_up() {
            self.power = Power::Hung;
        }
    }

    pub fn unhang(&mut self) {
        if self.power == Power::Hung {
            self.power = Power::Up;
        }
    }

    fn start_again(&mut self) {
        self.job = None;
        self.boot += 1;
        self.power = Power::Booting { until: self.now.plus(BOOT_TAKES) };
        self.behaviour.booted();
        if let (Some(machine), Power::Booting { until }) = (&mut self.machine, self.power) {
            machine.boot(until);
        }
    }

    fn com(&self, identity: Identity) -> Com {
        let layer = self.layers.get(&identity).cloned().unwrap_or_default();
        let mut com = self.base.clone();
        for (setting, value) in layer {
            let from = com.value(&setting);
            com = com.with(&Change { setting, from, to: value });
        }
        com.rest = format!("people-{}", self.people);
        self.observe(&mut com);
        com
    }

    fn baseline(&self) -> Com {
        let mut com = self.base.clone();
        com.rest = format!("people-{}", self.people);
        self.observe(&mut com);
        com
    }

    /// What a look at the units adds to what is configured.
    fn observe(&self, com: &mut Com) {
        let Some(machine) = &self.machine else { return self.behaviour.observe(com) };
        for (unit, sight) in machine.units() {
            if let Some(model) = com.units.get_mut(unit) {
                model.peak_memory = Some(sight.peak);
            }
        }
    }

    fn stage(&mut self, changes: &[Change]) -> Identity {
        let mut layer = self.layers.get(&self.running).cloned().unwrap_or_default();
        for change in changes {
            if self.base.value(&change.setting) == change.to {
                layer.remove(&change.setting);
            } else {
                layer.insert(change.setting.clone(), change.to);
            }
        }
        let identity = identity_of(&layer, self.people);
        self.layers.insert(identity, layer);
        self.staged_last = Some(identity);
        identity
    }

    fn keep(&mut self, episode: &EpisodeId, candidate: Identity) -> Result<Answer, Fault> {
        if self.space < SPACE_NEEDED {
            return Err(Fault::Broken);
        }
        let candidate = if self.sound.has(Flaw::CommitWhatIsStaged) {
            self.staged_last.unwrap_or(candidate)
        } else {
            candidate
        };
        let from = self.desk.boots_into();
        let known = self.desk.ending(episode).is_some();
        self.desk.keep(episode, candidate, self.running, self.now).map_err(Fault::Refused)?;
        if !known {
            self.generations.push(candidate);
            self.history.push((self.now, HostEvent::Kept { episode: episode.clone(), from, to: candidate }));
        }
        Ok(Answer::Accepted)
    }

    fn restore(&mut self, episode: &EpisodeId, wanted: Identity) -> Result<Answer, Fault> {
        if std::mem::take(&mut self.lie_next) {
            return Ok(Answer::Accepted);
        }
        if self.sound.has(Flaw::RollbackByPrevious) {
            return Ok(self.restore_previous());
        }
        let restored = self.desk.restore(episode, wanted).map_err(Fault::Refused)?;
        // An activation of this episode that is still under way must not overtake its own undoing.
        if self.job.as_ref().is_some_and(|job| job.episode == *episode) {
            self.job = None;
        }
        let changes_something = match restored {
            Restored::Trial(identity) => self.running != identity,
            Restored::Kept(_) => true,
            Restored::Already(_) => self.desk.lease().is_none() && self.running != self.desk.boots_into(),
        };
        if let Restored::Kept(to) = restored {
            self.generations.push(to);
            self.history.push((self.now, HostEvent::RestoredKept { episode: episode.clone(), to }));
        }
        if changes_something && std::mem::take(&mut self.half_next) {
            self.running = half_of(wanted);
            return Err(Fault::Broken);
        }
        match restored {
            Restored::Trial(identity) if self.running != identity => self.run(identity, "restore"),
            Restored::Kept(identity) => self.run(identity, "restore"),
            // Ended before, perhaps half way: what runs is made what it should be.
            Restored::Already(_) if self.desk.lease().is_none() && self.running != self.desk.boots_into() => {
                self.run(self.desk.boots_into(), "restore");
            }
            Restored::Trial(_) | Restored::Already(_) => {}
        }
        Ok(Answer::Accepted)
    }

    /// What an earlier design did: one generation further back, whatever that is.
    fn restore_previous(&mut self) -> Answer {
        let current = self.desk.boots_into();
        let at = self.generations.iter().position(|identity| *identity == current).unwrap_or(0);
        let previous = self.generations[at.saturating_sub(1)];
        self.job = None;
        self.desk = Desk::new(previous, self.sound);
        self.run(previous, "restore");
        Answer::Accepted
    }

    fn trial(&mut self, episode: &EpisodeId, candidate: Identity) -> Result<Answer, Fault> {
        let known = self.result.as_ref().is_some_and(|(of, _)| of == episode)
            || self.job.as_ref().is_some_and(|job| job.episode == *episode);
        self.desk.may_try(episode, candidate, self.now).map_err(Fault::Refused)?;
        if !known {
            self.job = Some(Job {
                episode: episode.clone(),
                candidate,
                done_at: self.now.plus(self.activation_takes),
            });
        }
        Ok(Answer::Accepted)
    }
}

impl Driver for SimHost {
    fn kind(&self) -> &'static str {
        "sim"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        if !self.answers() {
            return Err(Fault::Unreachable);
        }
        match verb {
            Verb::Check { changes } => {
                let after = changes.iter().fold(self.com(self.running), |com, change| com.with(change));
                let pair = |unit: &holdfast_steward::com::UnitModel| {
                    use holdfast_steward::setting::Property;
                    let (high, max) = (unit.value(&Property::MemoryHigh), unit.value(&Property::MemoryMax));
                    matches!((high, max), (Value::Bytes(high), Value::Bytes(max)) if high > max)
                };
                let broken = after.units.iter().find(|(_, unit)| pair(unit));
                Ok(Answer::Checked(
                    broken.map_or(Ok(()), |(unit, _)| Err(format!("{unit}: MemoryHigh is above MemoryMax"))),
                ))
            }
            Verb::Stage { .. } if self.space < SPACE_NEEDED => {
                Ok(Answer::Staged(Err("no space is left on the target".to_owned())))
            }
            Verb::Stage { base, .. } if self.running != *base || self.desk.boots_into() != *base => {
                Err(Fault::Refused(holdfast_lifeline::Refused::NotKnownGood))
            }
            Verb::Stage { changes, .. } => {
                let identity = self.stage(changes);
                Ok(Answer::Staged(Ok(Staged { identity, com: Box::new(self.com(identity)) })))
            }
            Verb::Arm { episode, known_good, candidate, lasts, cap } => {
                let lease = Lease {
                    episode: episode.clone(),
                    known_good: *known_good,
                    candidate: *candidate,
                    lasts: *lasts,
                    expires: self.now.plus(*lasts),
                    cap: self.now.plus(*cap),
                };
                self.desk.arm(lease, self.running).map(Answer::Armed).map_err(Fault::Refused)
            }
            Verb::Try { episode, candidate } => self.trial(episode, *candidate),
            Verb::Poll { episode } => Ok(Answer::Activation(match &self.result {
                Some((of, activation)) if of == episode => *activation,
                _ if self.job.as_ref().is_some_and(|job| job.episode == *episode) => Activation::Running,
                _ => Activation::Unknown,
            })),
            Verb::Keep { episode, candidate } => self.keep(episode, *candidate),
            Verb::Restore { episode, wanted } => self.restore(episode, *wanted),
            Verb::Cancel { episode } => {
                self.desk.cancel(episode);
                Ok(Answer::Accepted)
            }
        }
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        if !self.answers() {
            return Err(Fault::Unreachable);
        }
        if let Some(episode) = renew {
            // A lease that cannot be renewed shows in what runs; the look itself is still worth having.
            let _ = self.desk.renew(episode, self.now);
        }
        let full = full.then(|| {
            Box::new(Full {
                com: self.com(self.running),
                baseline: self.baseline(),
                generations: u32::try_from(self.generations.len()).unwrap_or(u32::MAX),
                space: self.space,
            })
        });
        Ok(TargetState {
            running: self.running,
            boots_into: self.desk.boots_into(),
            boot: self.boot_id(),
            people: self.people,
            workload: self.workload(),
            ended: about.and_then(|episode| self.desk.ending(episode)),
            leased: self.desk.lease().is_some(),
            metric: Some(self.metric()),
            full,
        })
    }

    fn generations(&self) -> Vec<Identity> {
        self.generations.clone()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        if !self.answers() {
            return Err(Fault::Unreachable);
        }
        let before = self.generations.len();
        let known_good = self.desk.lease().map(|lease| lease.known_good);
        let newest = before.saturating_sub(keep.max(3));
        let (running, boots_into) = (self.running, self.desk.boots_into());
        let mut at = 0;
        self.generations.retain(|identity| {
            at += 1;
            at > newest || *identity == running || *identity == boots_into || Some(*identity) == known_good
        });
        Ok(before - self.generations.len())
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        if matches!(self.power, Power::Hung) && !reset {
            // Taken by the provider, and ignored by a host that hangs.
            return Ok(());
        }
        self.was_well = self.answers();
        self.history.push((self.now, HostEvent::Rebooted { reset }));
        self.start_again();
        Ok(())
    }
}

/// The digest of a layer on top of what people wrote.
fn identity_of(layer: &Layer, people: u64) -> Identity {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&people.to_le_bytes());
    for (setting, value) in layer {
        for part in [setting.unit.as_str(), setting.property.as_str(), &value.to_string()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    Identity(*hasher.finalize().as_bytes())
}

/// What runs when an activation or a restore stopped half way: neither the one nor the other.
fn half_of(identity: Identity) -> Identity {
    let mut bytes = identity.0;
    bytes[31] ^= 0xff;
    Identity(bytes)
}
