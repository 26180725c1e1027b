//! A steward that sees a real host: what the host's doorman measures goes through the lookouts and to the brain, as in the daemon.
//!
//! Its time is faster than the host's: each collection is two minutes of its own. What is counted per second is counted by the real
//! clock. An average over a minute of the host's takes as long as it takes, so nothing here judges a trial by one.

use std::time::Instant;

use holdfast_lifeline::{Claim, EpisodeId, Identity, Now, Steady, WindowRecord};
use holdfast_sim::plain::{Calm, trusted};
use holdfast_steward::brain::{Failure, consider};
use holdfast_steward::effect::{Asking, Compared, Full, Input, Looked, Probe, TargetState, Tiding};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::trigger::{Cause, Told};
use holdfast_steward::watch::{COLLECT_EVERY, Collections, Past, Sighting, Surroundings, WEEK, Watch};
use holdfast_steward::{Claimed, Settings};
use holdfast_steward_host::collect::Source;
use holdfast_steward_host::{Driver, Follow, MemoryLog, Outside, Runner, Way};
use holdfast_types::Timestamp;

/// Quiet collections that are really made, and how often the lookouts are shown them: they learn for eight hours before they say
/// anything.
const QUIET: usize = 25;
const SHOWN: usize = 12;
const EVERY: u64 = COLLECT_EVERY.as_millis() as u64;

/// What is around the steward. Everything is well but what is measured.
pub struct Attentive {
    calm: Calm,
    settings: Settings,
    source: Source,
    began: Instant,
    follow: Follow,
    cursor: Option<String>,
    watch: Watch,
    collections: Collections,
    samples: Vec<(Steady, f64)>,
    last: Option<Sighting>,
    /// What was noticed, as people are told.
    pub told: Vec<String>,
}

impl Attentive {
    /// Looks at a host in quiet times until it knows them.
    pub fn new(way: Way, settings: &Settings) -> Attentive {
        let mut attentive = Attentive::blank(way, settings);
        // The first has nothing before it to make rates from.
        attentive.measure();
        let quiet: Vec<Sighting> = (0..QUIET).map(|_| attentive.measure()).collect();
        let all = (0..SHOWN).flat_map(|_| quiet.iter().cloned());
        let from = WEEK.as_millis() as u64 - (QUIET * SHOWN) as u64 * EVERY;
        let week: Vec<(Steady, Sighting)> =
            all.enumerate().map(|(at, seen)| (Steady(from + at as u64 * EVERY), seen)).collect();
        attentive.watch = Watch::new(&settings.rules.services, &week);
        attentive.collections = Collections::new(&week);
        attentive
    }

    fn blank(way: Way, settings: &Settings) -> Attentive {
        Attentive {
            calm: Calm::default(),
            settings: settings.clone(),
            source: Source::Doorman(way),
            began: Instant::now(),
            follow: Follow::default(),
            cursor: None,
            watch: Watch::new(&settings.rules.services, &[]),
            collections: Collections::default(),
            samples: Vec::new(),
            last: None,
            told: Vec::new(),
        }
    }

    fn measure(&mut self) -> Sighting {
        let collected = self.source.collect(self.cursor.as_deref()).unwrap();
        assert_eq!(collected.failed, [], "something could not be read");
        self.cursor.clone_from(&collected.cursor);
        let at = Steady(self.began.elapsed().as_millis() as u64);
        self.follow.next(at, collected, &self.settings.rules.services, None)
    }

    /// One collection. Gives what is worth a cycle.
    fn collect(&mut self, now: Steady) -> Vec<Cause> {
        let seen = self.measure();
        self.samples.extend(seen.pressure.map(|value| (now, value)));
        self.collections.add(now, &seen);
        let mut causes = Vec::new();
        if let Some((metric, direction)) = self.watch.step(now, &seen) {
            let noticed = self.watch.noticed("guest", |at| format!("{} s", at.0 / 1000)).unwrap();
            self.told.push(noticed.sentence.clone());
            causes.push(Cause::Noticed {
                metric,
                direction,
                told: Told::new(noticed.metrics, &noticed.sentence),
            });
        }
        let killed = self.last.as_ref().and_then(|last| seen.killed_since(last));
        causes.extend(killed.map(|unit| Cause::OutOfMemory { unit: unit.clone() }));
        self.last = Some(seen);
        causes
    }
}

impl Outside for Attentive {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        self.calm.look(now, reached, ssh)
    }

    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        let around = Surroundings {
            host: self.settings.rules.probe_hosts[0].parse().unwrap(),
            endpoint_of: &self.settings.endpoint_of,
            memory_budget: self.settings.rules.memory_budget,
        };
        let thought = consider(&self.collections.view(&around, asking, full, &self.samples, Past::default()));
        Ok(thought.text)
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.calm.open_window(record)
    }
    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.calm.claim(episode, claim)
    }
    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}
    fn compare(&mut self, switched: Steady) -> Compared {
        self.calm.compare(switched)
    }
    fn rebase(&mut self) {
        self.watch.rebase();
    }
    fn tell(&mut self, _: &Tiding) {}
}

/// The steward at work on a host, collection by collection.
pub struct Loop<D> {
    pub runner: Runner<D, MemoryLog, Attentive>,
    now: u64,
}

impl<D: Driver> Loop<D> {
    pub fn new(settings: Settings, driver: D, outside: Attentive, found: Identity) -> Loop<D> {
        let now = WEEK.as_millis() as u64;
        let runner = Runner::start(settings, trusted(found), driver, outside, at(now)).unwrap();
        Loop { runner, now }
    }

    /// Lets it live until something it wrote down is this, for so many collections at most. Gives what it wrote.
    #[track_caller]
    pub fn until(&mut self, collections: u32, is: impl Fn(&Event) -> bool) -> Vec<Record> {
        let from = self.runner.log().records.len();
        for _ in 0..collections {
            self.collection();
            let new = &self.runner.log().records[from..];
            if new.iter().any(|record| is(&record.event)) {
                return new.to_vec();
            }
        }
        let (told, new) = (&self.runner.outside_seen().told, &self.runner.log().records[from..]);
        panic!("it did not come to that in {collections} collections: {told:#?}\n{new:#?}");
    }

    fn collection(&mut self) {
        self.now += EVERY;
        let now = at(self.now);
        let causes = self.runner.outside().collect(now.steady);
        self.runner.step(now, Input::Collected).unwrap();
        for cause in causes {
            // A kill is told whatever is under way; what lasts is offered again.
            let is_idle = self.runner.steward().episode().is_none();
            if is_idle || matches!(cause, Cause::OutOfMemory { .. }) {
                self.runner.step(now, Input::Trigger(cause)).unwrap();
            }
        }
        while let Some(wakes) = self.runner.steward().wakes_at().filter(|at| at.0 < self.now + EVERY) {
            self.runner.step(at(wakes.0.max(self.now)), Input::Time).unwrap();
            if wakes.0 <= self.now && self.runner.steward().wakes_at().is_some_and(|next| next <= wakes) {
                break;
            }
        }
    }
}

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}
