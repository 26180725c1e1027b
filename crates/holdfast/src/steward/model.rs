//! The modelled host behind the driver `sim`: a small server with one managed service and its neighbours, to try the steward
//! out on.
//!
//! It lives inside the daemon and is gone with it. What was done to it is in the steward's records, so a start builds it up
//! again from them, through the same words the steward used. It behaves as its machine does: what it wants comes in spells
//! that its seed chooses (`load.rs`), and what a change does to it follows from the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_config::Trouble;
use holdfast_lifeline::{EpisodeId, Identity, Lease, Sound, Steady};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::setting::{Change, UnitName};
use holdfast_steward::watch::{COLLECT_EVERY, Sighting, UnitSighting, WEEK};
use holdfast_steward_host::{Driver, GENERATIONS_KEPT, Machine, SimHost, UnitSight};
pub(super) use holdfast_steward_host::{critical, workload};

use super::around::PAST;
use super::load::{SPELL, demands, machine, setup, spell};

/// A host that is built up again lives through the past and a day more, so that its processes have the age they had. What was
/// before leaves nothing but what was kept.
const LIVED_THROUGH: Duration = Duration::from_secs(4 * 86_400);

/// How long the lease of a trial lasts without a renewal, and at most, when a host is built up again.
const LEASE: Duration = Duration::from_secs(90);
const LEASE_CAP: Duration = Duration::from_secs(3 * 3600);

/// Which modelled host it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Which {
    pub(super) seed: u32,
    pub(super) trouble: Trouble,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a modelled host with seed {} and trouble {}", self.seed, self.trouble.word())
    }
}

/// A modelled host that its steward and whoever looks at it from outside share.
#[derive(Clone, Debug)]
pub(super) struct Model {
    host: Arc<Mutex<Hosted>>,
}

#[derive(Debug)]
struct Hosted {
    host: SimHost,
    which: Which,
    /// When the next spell begins.
    next_spell: Steady,
    now: Steady,
    /// Since when each generation is there.
    kept_at: Vec<(Identity, Steady)>,
}

/// What is seen of a host from outside.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) answers: bool,
    pub(super) healthy: bool,
    pub(super) machine: Sighting,
}

/// What is seen of a machine, which knows all of it.
fn sighting_of(machine: &Machine) -> Sighting {
    let unit = |(name, seen): (&UnitName, UnitSight)| {
        let sighting = UnitSighting {
            managed: seen.managed,
            memory: Some(seen.memory),
            pressure: Some(seen.pressure.some),
            pressure_full: Some(seen.pressure.full),
            throttled: Some(seen.throttled),
            cpu_use: Some(seen.cpu_use),
            cpu_wait: Some(seen.cpu_wait),
            nice: Some(seen.nice),
            latency: Some(seen.latency),
            restarts: seen.restarts,
            kills: seen.kills,
        };
        (name.clone(), sighting)
    };
    Sighting {
        pressure: Some(machine.pressure().some),
        processors: Some(machine.processors()),
        memory_left: Some(machine.memory_left()),
        units: machine.units().map(unit).collect(),
    }
}

impl Model {
    /// The host that these records were written about, as it is at a moment after them, and what was measured on it lately.
    pub(super) fn built_up(
        which: Which,
        records: &[Record],
        until: Steady,
    ) -> (Model, Vec<(Steady, Sighting)>) {
        let before = |span: Duration| Steady(until.0.saturating_sub(span.as_millis() as u64));
        let lives_from = before(LIVED_THROUGH);
        let mut hosted = Hosted {
            host: SimHost::new(setup(), u64::from(which.seed), Sound::YES),
            which,
            next_spell: Steady(u64::MAX),
            now: Steady(0),
            kept_at: Vec::new(),
        };
        hosted.note_generations(Steady(0));
        let mut past = Past { from: before(PAST), samples: Vec::new() };
        let mut changes = BTreeMap::new();
        for record in records {
            if record.at >= lives_from {
                hosted.come_to_life(lives_from);
            }
            past.live_through(&mut hosted, record.at);
            hosted.repeat(record, &mut changes);
        }
        hosted.come_to_life(lives_from);
        past.live_through(&mut hosted, until);
        (Model { host: Arc::new(Mutex::new(hosted)) }, past.samples)
    }

    pub(super) fn advance(&self, to: Steady) {
        self.hosted().advance(to);
    }

    /// What was kept longer ago than this and is none of the newest few goes, unless it is needed. As a doorman does it.
    pub(super) fn tidy(&self, older_than: Duration) -> Result<usize, Fault> {
        let mut hosted = self.hosted();
        let now = hosted.now;
        let young = hosted.kept_at.iter().filter(|(_, at)| now.since(*at) < older_than).count();
        // Generations lie in the order they were kept in, so the young ones are the newest.
        hosted.host.collect_garbage(young.max(GENERATIONS_KEPT as usize))
    }

    pub(super) fn running(&self) -> Identity {
        self.hosted().host.running()
    }

    pub(super) fn sight(&self) -> Sight {
        let hosted = self.hosted();
        let host = &hosted.host;
        Sight { answers: host.answers(), healthy: host.is_healthy(), machine: hosted.machine() }
    }

    /// The lease on it.
    pub(super) fn lease(&self) -> Option<Lease> {
        self.hosted().host.desk().lease().cloned()
    }

    fn hosted(&self) -> MutexGuard<'_, Hosted> {
        // Every step of it is whole: a panic elsewhere leaves nothing half done.
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The samples that would have been collected.
struct Past {
    from: Steady,
    samples: Vec<(Steady, Sighting)>,
}

impl Past {
    fn live_through(&mut self, hosted: &mut Hosted, to: Steady) {
        let next = |past: &Past| past.samples.last().map_or(past.from, |(at, _)| at.plus(COLLECT_EVERY));
        while next(self) <= to {
            let at = next(self);
            hosted.advance(at);
            self.samples.push((at, hosted.machine()));
        }
        hosted.advance(to);
    }
}

impl Hosted {
    fn machine(&self) -> Sighting {
        self.host.machine().map(sighting_of).unwrap_or_default()
    }

    /// From this moment on it has a machine.
    fn come_to_life(&mut self, at: Steady) {
        if self.host.machine().is_some() {
            return;
        }
        self.host.advance(at);
        let mut machine = machine(self.which.seed);
        machine.advance(at, false);
        self.host.put_machine(machine);
        self.next_spell = Steady(at.0 / SPELL * SPELL);
    }

    fn advance(&mut self, to: Steady) {
        while self.next_spell <= to {
            let begins = self.next_spell;
            self.host.advance(begins);
            for (unit, demand) in demands(spell(self.which.seed, self.which.trouble, begins)) {
                self.host.set_demand(&unit, &demand);
            }
            self.next_spell = Steady(begins.0.saturating_add(SPELL));
        }
        self.host.advance(to);
        self.now = self.now.max(to);
    }

    fn note_generations(&mut self, at: Steady) {
        let there = self.host.generations();
        self.kept_at.retain(|(identity, _)| there.contains(identity));
        for identity in there {
            if !self.kept_at.iter().any(|(known, _)| *known == identity) {
                self.kept_at.push((identity, at));
            }
        }
    }

    /// Does again what a record says was done.
    fn repeat(&mut self, record: &Record, changes: &mut BTreeMap<EpisodeId, Vec<Change>>) {
        match &record.event {
            Event::Judged { episode, cleared: Some(cleared), .. } => {
                changes.insert(episode.clone(), cleared.changes.clone());
            }
            Event::Moved { episode, phase } => {
                if let Phase::Starting { trial, .. } = phase.as_ref() {
                    let (known_good, candidate) = (trial.known_good, trial.candidate);
                    let changes = changes.get(episode).cloned().unwrap_or_default();
                    let episode = || episode.clone();
                    self.again(&Verb::Stage { episode: episode(), base: known_good, changes });
                    let (lasts, cap) = (LEASE, LEASE_CAP);
                    self.again(&Verb::Arm { episode: episode(), known_good, candidate, lasts, cap });
                    self.again(&Verb::Try { episode: episode(), candidate });
                }
                self.renew(episode);
            }
            Event::Scored { episode, .. } => self.renew(episode),
            Event::Kept { episode, identity, .. } => {
                self.again(&Verb::Keep { episode: episode.clone(), candidate: *identity });
            }
            Event::Restored { episode, identity } => {
                self.again(&Verb::Restore { episode: episode.clone(), wanted: *identity });
            }
            _ => {}
        }
        self.note_generations(record.at);
    }

    fn again(&mut self, verb: &Verb) {
        // What it refuses now shows in what runs, and the steward looks at that before anything else.
        let _ = self.host.call(verb);
    }

    fn renew(&mut self, episode: &EpisodeId) {
        let _ = self.host.state(false, Some(episode), None);
    }
}

impl Driver for Model {
    fn kind(&self) -> &'static str {
        "sim"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        let mut hosted = self.hosted();
        let answer = hosted.host.call(verb);
        let now = hosted.now;
        hosted.note_generations(now);
        answer
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.hosted().host.state(full, renew, about)
    }

    fn generations(&self) -> Vec<Identity> {
        self.hosted().host.generations()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.hosted().host.collect_garbage(keep)
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.hosted().host.reboot(reset)
    }
}

/// A quiet week of such a host, for whoever has to learn what is usual there. It begins at this moment, by the day's round too, and
/// its samples are as far apart as collections are.
pub(super) fn quiet_week(seed: u32, from: Steady) -> Vec<(Steady, Sighting)> {
    let mut machine = machine(seed);
    machine.advance(from, false);
    let every = COLLECT_EVERY.as_millis() as u64;
    let at = |n: u64| Steady(from.0 + n * every);
    (0..WEEK.as_millis() as u64 / every)
        .map(|n| {
            machine.advance(at(n), true);
            (at(n), sighting_of(&machine))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_steward::setting::{Property, Setting, Value};

    fn figures(sight: &Sighting) -> Vec<(UnitName, UnitSighting)> {
        sight.units.clone()
    }

    #[test]
    fn a_host_that_is_built_up_again_is_the_one_that_lived_on() {
        let which = Which { seed: 7, trouble: Trouble::Leak };
        let (lived, _) = Model::built_up(which, &[], Steady(0));
        let hour = 3_600_000;
        for minutes in 0..30 * 60 {
            lived.advance(Steady(minutes * 60_000));
        }
        lived.advance(Steady(30 * hour));
        let (built, samples) = Model::built_up(which, &[], Steady(30 * hour));
        assert_eq!(figures(&lived.sight().machine), figures(&built.sight().machine));
        assert!(lived.sight().machine.kills() > 0, "there was something to get wrong");
        assert_eq!(samples.len(), 30 * 30 + 1);
    }

    /// Tries and keeps a change, as a steward does.
    fn keep(model: &mut Model, number: u64) -> Identity {
        let episode: EpisodeId = format!("ep_{number:026}").parse().unwrap();
        let base = model.running();
        let setting = Setting { unit: workload(), property: Property::Nice };
        let (from, to) = (Value::Number(number as i64 - 1), Value::Number(number as i64));
        let changes = vec![Change { setting, from, to }];
        let staged = model.call(&Verb::Stage { episode: episode.clone(), base, changes }).unwrap();
        let Answer::Staged(Ok(staged)) = staged else { panic!("{staged:?}") };
        let candidate = staged.identity;
        let (lasts, cap) = (LEASE, LEASE_CAP);
        model.call(&Verb::Arm { episode: episode.clone(), known_good: base, candidate, lasts, cap }).unwrap();
        model.call(&Verb::Try { episode: episode.clone(), candidate }).unwrap();
        let now = model.hosted().now;
        model.advance(now.plus(Duration::from_secs(30)));
        model.call(&Verb::Keep { episode, candidate }).unwrap();
        candidate
    }

    #[test]
    fn of_what_was_kept_long_ago_all_but_the_newest_three_go_and_nothing_young_does() {
        const FORTNIGHT: Duration = Duration::from_secs(14 * 86_400);
        let day = |n: u64| Steady(n * 86_400_000);
        let (mut model, _) = Model::built_up(Which { seed: 7, trouble: Trouble::Nothing }, &[], Steady(0));
        let mut kept = vec![model.running()];
        for n in 1..=5 {
            model.advance(day(n));
            kept.push(keep(&mut model, n));
        }
        assert_eq!(model.generations(), kept);
        assert_eq!(model.tidy(FORTNIGHT).unwrap(), 0, "all are young");
        // The first three are older than a fortnight, the others are not.
        model.advance(Steady(day(17).0 - 3_600_000));
        assert_eq!(model.tidy(FORTNIGHT).unwrap(), 3);
        assert_eq!(model.generations(), kept[3..]);
        model.advance(day(60));
        assert_eq!(model.tidy(FORTNIGHT).unwrap(), 0, "three stay, however old");
        model.advance(day(61));
        kept.push(keep(&mut model, 6));
        assert_eq!(model.tidy(FORTNIGHT).unwrap(), 1);
        assert_eq!(model.generations(), kept[4..]);
    }

    #[test]
    fn a_long_past_takes_no_longer_than_a_short_one() {
        let which = Which { seed: 7, trouble: Trouble::Mixed };
        // Ten years, of which the last days are lived through.
        let (built, samples) = Model::built_up(which, &[], Steady(10 * 365 * 24 * 3_600_000));
        assert_eq!(samples.len(), 3 * 720 + 1);
        assert!(built.sight().machine.pressure.unwrap() > 0.0);
    }
}
