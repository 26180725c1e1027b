//! One modelled host with its steward at work, in a time that somebody else moves.

use std::time::Duration;

use holdfast_lifeline::{Now, Steady, WindowRecord};
use holdfast_plot::State;
use holdfast_steward::Settings;
use holdfast_steward::constitution::{Constitution, Settings as Law};
use holdfast_steward::effect::{Input, Person};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::policy::TargetRules;
use holdfast_steward::sample::Metric;
use holdfast_steward::trigger::Cause;
use holdfast_steward_host::{LogFailed, Quirk, Runner, critical, workload};
use holdfast_types::Timestamp;

use crate::around::{Around, Brain, endpoint_of};
use crate::chronicle::Facts;
use crate::host::{Host, Shelf};
use crate::load::{Load, PERIOD, next_period};
use crate::lookout::Seen;

/// When the acts begin, on the host's clock: three in the morning of its tenth day.
const BEGIN: Steady = Steady((9 * 86_400 + 3 * 3_600) * 1000);
/// What is measured before the curtain rises.
const BEFORE: Duration = Duration::from_secs(25 * 60);
/// How long a trial is looked at.
const WINDOW: Duration = Duration::from_secs(600);
/// All the memory that limits may come to together.
const MEMORY_BUDGET: u64 = (7 << 30) / 2;
const SPACE_THERE: u64 = 5_000_000_000;

/// What a world is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast {
    pub(crate) host: &'static str,
    pub(crate) brain: Brain,
    /// What a change does to this host.
    pub(crate) quirk: Quirk,
    pub(crate) seed: u64,
}

#[derive(Debug)]
pub(crate) struct World {
    cast: Cast,
    host: Host,
    load: Load,
    shelf: Shelf,
    /// Lies beside the controller and outlives it, as its log does.
    window: Option<WindowRecord>,
    runner: Option<Runner<Host, Shelf, Around>>,
    now: Steady,
    collect_at: Steady,
    /// Records that were read already.
    read: usize,
    pub(crate) samples: Vec<(Steady, f64)>,
    pub(crate) facts: Facts,
}

impl World {
    pub(crate) fn new(cast: Cast) -> Result<World, LogFailed> {
        let host = Host::new(cast.seed, cast.quirk);
        let load = Load { seed: cast.seed, ..Load::default() };
        host.advance(BEGIN, BEGIN.plus(PERIOD), &load);
        let now = BEGIN.plus(PERIOD);
        let known_good = host.seen().running();
        let shelf = Shelf::holding(enrolled(known_good));
        let read = shelf.records().len();
        let mut world = World {
            cast,
            host,
            load,
            shelf,
            read,
            window: None,
            runner: None,
            now,
            collect_at: now,
            samples: Vec::new(),
            facts: Facts::new(),
        };
        world.facts.before = Some(known_good);
        world.start()?;
        world.run_to(BEGIN.plus(BEFORE))?;
        Ok(world)
    }

    pub(crate) fn now(&self) -> Steady {
        self.now
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn cast(&self) -> &Cast {
        &self.cast
    }

    pub(crate) fn controller_lives(&self) -> bool {
        self.runner.is_some()
    }

    pub(crate) fn records(&self) -> usize {
        self.shelf.records().len()
    }

    /// From the next period on there is more load.
    pub(crate) fn shift_load(&mut self) {
        self.load.shifts_at = Some(self.now.plus(Duration::from_millis(1)));
    }

    /// In the next period there is more load, and after it no more than before.
    pub(crate) fn spike(&mut self) {
        self.load.spikes_at = Some(next_period(self.now));
    }

    /// A person asks for a plan.
    pub(crate) fn ask(&mut self) -> Result<(), LogFailed> {
        self.facts.say(self.now, State::Settled, "You ask for a plan.".to_owned());
        let Ok(by) = "you".parse() else { return Ok(()) };
        self.step(Input::Person(Person::Trigger { by }))
    }

    /// The controller dies: its memory is gone, its log stays.
    pub(crate) fn kill(&mut self) {
        let Some(mut runner) = self.runner.take() else { return };
        self.window = runner.outside().window().cloned();
        drop(runner);
        self.facts.killed_at = Some(self.now);
        let what = format!("The controller is killed. {} records in its log are left of it.", self.records());
        self.facts.say(self.now, State::Failed, what);
    }

    /// A new controller reads the log and settles what it finds.
    pub(crate) fn start_anew(&mut self) -> Result<(), LogFailed> {
        self.facts.started_anew_at = Some(self.now);
        let what = format!("A new controller reads the {} records and looks at the host.", self.records());
        self.facts.say(self.now, State::Settled, what);
        self.start()
    }

    fn start(&mut self) -> Result<(), LogFailed> {
        let around = Around::new(self.cast.host, self.host.clone(), self.cast.brain, MEMORY_BUDGET)
            .finding(self.window.clone());
        let Some(settings) = settings(&self.cast) else {
            return Err(LogFailed { why: "the demo's own settings are refused".to_owned() });
        };
        let now = moment(self.now);
        self.runner = Some(Runner::start(settings, self.shelf.clone(), self.host.clone(), around, now)?);
        self.collect_at = next_period(self.now);
        self.take_notes();
        Ok(())
    }

    /// Time goes on until then: whatever is due is done at the moment it is due.
    pub(crate) fn run_to(&mut self, to: Steady) -> Result<(), LogFailed> {
        while self.now < to {
            let next = self.next_due().map_or(to, |due| due.max(Steady(self.now.0 + 1)).min(to));
            self.host.advance(self.now, next, &self.load);
            self.now = next;
            self.take_notes();
            if self.runner.is_some() && self.collect_at <= self.now {
                self.collect()?;
            }
            let woken = self.runner.as_ref().and_then(|runner| runner.steward().wakes_at());
            if woken.is_some_and(|at| at <= self.now) {
                self.step(Input::Time)?;
            }
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Steady> {
        let runner = self.runner.as_ref()?;
        Some(runner.steward().wakes_at().map_or(self.collect_at, |wakes| wakes.min(self.collect_at)))
    }

    fn collect(&mut self) -> Result<(), LogFailed> {
        self.collect_at = self.now.plus(PERIOD);
        let value = self.host.seen().metric();
        self.samples.push((self.now, value));
        let noticed = self.runner.as_mut().and_then(|runner| runner.outside().collected(self.now, value));
        self.step(Input::Collected)?;
        let Some(noticed) = noticed else {
            self.note_spike();
            return Ok(());
        };
        let cause = Cause::RegimeChange { metric: Metric::primary(), direction: noticed.direction };
        self.facts.note_shift(noticed);
        self.step(Input::Trigger(cause))
    }

    /// A sample out of what is normal, the next one within, and nothing noticed: that was a spike.
    fn note_spike(&mut self) {
        let [.., (at, before), (_, now)] = self.samples[..] else { return };
        let high = Seen::normal().high;
        if before > high && now <= high && self.facts.noticed.is_none() {
            let what = format!("A lone spike to {before:.0} %, gone at the next look: left alone.");
            self.facts.say(at, State::Settled, what);
        }
    }

    fn step(&mut self, input: Input) -> Result<(), LogFailed> {
        let now = moment(self.now);
        if let Some(runner) = self.runner.as_mut() {
            runner.step(now, input)?;
        }
        self.take_notes();
        Ok(())
    }

    /// Reads what the host lived through and what was written down since.
    fn take_notes(&mut self) {
        for (at, event) in self.host.changed().take_history() {
            self.facts.note_host(at, &event);
        }
        let records = self.shelf.records();
        for record in records.iter().skip(self.read) {
            self.facts.note(record);
        }
        self.read = records.len();
    }
}

/// What is in the log before the first act: the host is looked after, and small things may be done alone.
fn enrolled(known_good: holdfast_lifeline::Identity) -> Vec<Record> {
    let Now { steady, wall, synced } = moment(BEGIN);
    let record = |event| Record { at: steady, wall, synced, event };
    let why = "to show it at work".to_owned();
    vec![
        record(Event::Enrolled { known_good }),
        record(Event::LevelSet { from: Level::Observe, to: Level::TierOne, by_person: true, why }),
    ]
}

fn settings(cast: &Cast) -> Option<Settings> {
    let host = cast.host;
    let endpoint = endpoint_of(host);
    Some(Settings {
        target: host.parse().ok()?,
        // Episodes of different acts have different names.
        instance: cast.seed,
        rules: TargetRules {
            services: vec![workload()],
            workload: workload(),
            critical: critical(),
            memory_budget: MEMORY_BUDGET,
            endpoints: vec![endpoint.clone()],
            probe_hosts: vec![host.to_owned()],
        },
        constitution: Constitution::try_from(Law::default()).ok()?,
        limits: Limits::default(),
        endpoint_of: [(workload(), endpoint.parse().ok()?)].into(),
        window: WINDOW,
        routine_after: holdfast_steward::trigger::ROUTINE_AFTER,
        second_route: false,
        reboot: false,
        space_here: 0,
        space_there: SPACE_THERE,
        drain_within: Duration::from_secs(1800),
        predicates: holdfast_steward::properties::PREDICATES,
    })
}

/// The moment on both clocks. The host's own clock is a good one; it began with the world.
fn moment(steady: Steady) -> Now {
    Now { steady, wall: Timestamp::EPOCH.plus(Duration::from_millis(steady.0)), synced: true }
}

/// The time of day on the host: `03:14`.
pub(crate) fn time_of(at: Steady) -> String {
    let minutes = at.0 / 60_000;
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

/// The same with seconds.
pub(crate) fn exact_time_of(at: Steady) -> String {
    format!("{}:{:02}", time_of(at), at.0 / 1000 % 60)
}
