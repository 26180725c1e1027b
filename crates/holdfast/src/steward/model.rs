//! The modelled host behind the driver `sim`: a small server with one managed service, to try the steward out on.
//!
//! It lives inside the daemon and is gone with it. What was done to it is in the steward's records, so a start builds it up
//! again from them, through the same words the steward used. Its load comes in spells that its seed chooses, and so does
//! what a change does to it: most that give memory help, a few do harm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity, Sound, Steady};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::setting::{Change, Value};
use holdfast_steward_host::{Driver, LIMIT, Quirk, SimHost, estate};
pub(super) use holdfast_steward_host::{critical, workload};

/// Between two collections.
pub(super) const COLLECT_EVERY: Duration = Duration::from_secs(120);
/// How long one load lasts.
const SPELL: Duration = Duration::from_secs(12 * 3600);
/// What is kept of the past: a day before and a day after a change, and what a late look back needs.
pub(super) const PAST: Duration = Duration::from_secs(3 * 86_400);

pub(super) const WEEK: Duration = Duration::from_secs(7 * 86_400);

const CALM: f64 = 4.0;
const PRESSED: f64 = 18.0;

/// How long the lease of a trial lasts without a renewal, and at most, when a host is built up again.
const LEASE: Duration = Duration::from_secs(90);
const LEASE_CAP: Duration = Duration::from_secs(3 * 3600);

/// A modelled host that its steward and whoever looks at it from outside share.
#[derive(Clone, Debug)]
pub(super) struct Model {
    host: Arc<Mutex<Hosted>>,
}

#[derive(Debug)]
struct Hosted {
    host: SimHost,
    seed: u32,
    /// Loads are set up to this moment.
    loaded_until: Steady,
}

/// What is seen of a host from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) answers: bool,
    pub(super) healthy: bool,
    pub(super) metric: f64,
    pub(super) kills: u32,
    /// Until the lease on it runs out.
    pub(super) lease: Option<Steady>,
}

impl Model {
    /// The host that these records were written about, and what was measured on it lately.
    pub(super) fn built_up(seed: u32, records: &[Record]) -> (Model, Vec<(Steady, f64)>) {
        let host = SimHost::new(estate(), u64::from(seed), Sound::YES);
        let mut hosted = Hosted { host, seed, loaded_until: Steady(0) };
        let last = records.last().map_or(Steady(0), |record| record.at);
        let mut past =
            Past { from: Steady(last.0.saturating_sub(PAST.as_millis() as u64)), samples: Vec::new() };
        let mut changes = BTreeMap::new();
        for record in records {
            past.live_through(&mut hosted, record.at);
            hosted.repeat(record, &mut changes);
        }
        (Model { host: Arc::new(Mutex::new(hosted)) }, past.samples)
    }

    pub(super) fn advance(&self, to: Steady) {
        self.hosted().advance(to);
    }

    pub(super) fn running(&self) -> Identity {
        self.hosted().host.running()
    }

    pub(super) fn sight(&self) -> Sight {
        let host = &self.hosted().host;
        Sight {
            answers: host.answers(),
            healthy: host.is_healthy(),
            metric: host.metric(),
            kills: host.workload().kills,
            lease: host.desk().lease().map(|lease| lease.expires),
        }
    }

    fn hosted(&self) -> MutexGuard<'_, Hosted> {
        // Every step of it is whole: a panic elsewhere leaves nothing half done.
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The samples that would have been collected.
struct Past {
    from: Steady,
    samples: Vec<(Steady, f64)>,
}

impl Past {
    fn live_through(&mut self, hosted: &mut Hosted, to: Steady) {
        let next = |past: &Past| past.samples.last().map_or(past.from, |(at, _)| at.plus(COLLECT_EVERY));
        while next(self) <= to {
            let at = next(self);
            hosted.advance(at);
            self.samples.push((at, hosted.host.metric()));
        }
        hosted.advance(to);
    }
}

impl Hosted {
    fn advance(&mut self, to: Steady) {
        while self.loaded_until <= to {
            let (pressure, memory) = load(self.seed, self.loaded_until);
            self.host.behaviour().set_demand(self.loaded_until, pressure, memory);
            self.loaded_until = self.loaded_until.plus(SPELL);
        }
        self.host.advance(to);
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
                    self.again(Verb::Stage { episode: episode(), base: known_good, changes });
                    let (lasts, cap) = (LEASE, LEASE_CAP);
                    self.again(Verb::Arm { episode: episode(), known_good, candidate, lasts, cap });
                    self.again(Verb::Try { episode: episode(), candidate });
                }
                self.renew(episode);
            }
            Event::Scored { episode, .. } => self.renew(episode),
            Event::Kept { episode, identity, .. } => {
                self.again(Verb::Keep { episode: episode.clone(), candidate: *identity });
            }
            Event::Restored { episode, identity } => {
                self.again(Verb::Restore { episode: episode.clone(), wanted: *identity });
            }
            _ => {}
        }
    }

    fn again(&mut self, verb: Verb) {
        // What it refuses now shows in what runs, and the steward looks at that before anything else.
        let _ = self.call(&verb);
    }

    fn renew(&mut self, episode: &EpisodeId) {
        let _ = self.host.state(false, Some(episode), None);
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        let answer = self.host.call(verb);
        if let (Verb::Stage { changes, .. }, Ok(Answer::Staged(Ok(staged)))) = (verb, &answer) {
            let quirk = quirk(self.seed, staged.identity, changes);
            self.host.behaviour().set_quirk(staged.identity, quirk);
        }
        answer
    }
}

impl Driver for Model {
    fn kind(&self) -> &'static str {
        "sim"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        self.hosted().call(verb)
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

/// Pressure, and the memory the workload wants, from this moment on. The first spell is calm, so that the second, which
/// never is, can be told from it.
fn load(seed: u32, from: Steady) -> (f64, u64) {
    let spell = from.0 / SPELL.as_millis() as u64;
    match (spell, chance(seed, &spell.to_le_bytes())) {
        (0, _) => (CALM, 0),
        (1, _) => (PRESSED, 0),
        (_, 0..=5) => (CALM, 0),
        (_, 6..=8) => (PRESSED, 0),
        // It wants a little more than it may have, and is killed for it.
        (_, _) => (PRESSED, LIMIT / 16 * 17),
    }
}

/// A quiet week of such a host before it was taken in, for whoever has to learn what is usual there. The samples are as far
/// apart as collections are, and end right before `until`.
pub(super) fn usual_week(seed: u32, until: Steady) -> Vec<(Steady, f64)> {
    let mut host = SimHost::new(estate(), u64::from(seed), Sound::YES);
    host.behaviour().set_demand(Steady(0), CALM, 0);
    let every = COLLECT_EVERY.as_millis() as u64;
    let samples = WEEK.as_millis() as u64 / every;
    let from = until.0.saturating_sub(samples * every);
    let mut at = |n: u64| {
        host.advance(Steady(n * every));
        (Steady(from + n * every), host.metric())
    };
    (0..samples).map(&mut at).collect()
}

/// What a change will do. One that gives memory usually helps.
fn quirk(seed: u32, identity: Identity, changes: &[Change]) -> Quirk {
    let gives = changes.iter().any(|change| match (change.from, change.to) {
        (Value::Bytes(from), Value::Bytes(to)) => to > from,
        _ => false,
    });
    match chance(seed, &identity.0) {
        0 => Quirk::CrashLoops,
        1 => Quirk::HarmsSlowly,
        _ if gives => Quirk::Helps,
        _ => Quirk::Fine,
    }
}

/// One of ten, the same for the same seed and matter.
fn chance(seed: u32, about: &[u8]) -> u8 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(about);
    hasher.finalize().as_bytes()[0] % 10
}
