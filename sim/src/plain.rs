//! Plain episodes: one after the other on a host where nothing goes wrong, as fast as they go. For measuring, and to
//! show the runner at work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use holdfast_lifeline::{Claim, EpisodeId, Identity, Now, Sound, Steady, WindowRecord, WindowState};
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{
    Answer, Asking, Compared, Fault, Full, Input, Looked, Person, Probe, TargetState, Tiding, Verb,
};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::invariant::{Health, Moment};
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::sample::Label;
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward::{Claimed, Settings};
use holdfast_steward_host::{Driver, LogFailed, MemoryLog, MemoryWindow, Outside, Quirk, Runner, SimHost};
use holdfast_types::Timestamp;

use crate::plan::{BEGIN, Plan};
use crate::setup;
use crate::world::brain::proposal;

/// Makes of a look what somebody wants to see judged.
pub type Alter = fn(&mut Looked);

/// What a brain answers in place of the usual.
pub type Says = fn(&Full) -> Result<String, Failure>;

/// Everything around the target, and all of it well, unless somebody says otherwise.
#[derive(Debug, Default)]
pub struct Calm {
    window: MemoryWindow,
    up: bool,
    /// Looks are altered like this from this moment of an episode on.
    alter: Option<(Moment, Alter)>,
    says: Option<Says>,
    /// What the metric is before a trial, and while one lasts.
    metric: Option<(f64, f64)>,
    /// How long the last thing that was done took, in milliseconds; whoever does it says so.
    took: Rc<Cell<u64>>,
    /// What people were told, where somebody wants to hear it.
    told: Option<Rc<RefCell<Vec<Tiding>>>>,
}

impl Calm {
    /// The same, and what people are told is heard.
    pub fn heard_by(self, told: &Rc<RefCell<Vec<Tiding>>>) -> Calm {
        Calm { told: Some(Rc::clone(told)), ..self }
    }

    /// All is well, and what is done takes as long as whoever does it says.
    pub fn with_time(took: &Rc<Cell<u64>>) -> Calm {
        Calm { took: Rc::clone(took), ..Calm::default() }
    }

    /// All is well, but looks at this moment of an episode are altered like this.
    pub fn but(moment: Moment, alter: Alter) -> Calm {
        Calm { alter: Some((moment, alter)), ..Calm::default() }
    }

    /// All is well, and the brain says this.
    pub fn saying(says: Says) -> Calm {
        Calm { says: Some(says), ..Calm::default() }
    }

    /// All is well, the brain says this, and the metric is that before a trial and while it lasts.
    pub fn measuring(says: Says, before: f64, meanwhile: f64) -> Calm {
        Calm { metric: Some((before, meanwhile)), ..Calm::saying(says) }
    }

    fn moment(&self) -> Moment {
        match self.window.record().map(|window| window.state) {
            Some(WindowState::Active { .. }) => Moment::Window,
            Some(WindowState::Probation { .. }) => Moment::Probation,
            _ => Moment::Preflight,
        }
    }
}

impl Outside for Calm {
    fn look(&mut self, now: Now, target: Option<TargetState>, ssh: Probe) -> Looked {
        let at = now.steady;
        let health = Health { healthy: true, at };
        let mut looked = Looked {
            ssh,
            endpoints: [setup::ENDPOINT, OTHER_ENDPOINT].map(|name| (name.to_owned(), Some(health))).to_vec(),
            references: true,
            vpn: None,
            heartbeat: Some(at),
            watched: self.window.record().map(|window| window.episode.clone()),
            rehearsed: vec![("lease", Some(at)), ("first route", Some(at))],
            integrity: true,
            space_here: 20 << 30,
            figures: Vec::new(),
            target,
        };
        if let Some((target, (before, meanwhile))) = looked.target.as_mut().zip(self.metric) {
            target.metric = Some(if self.moment() == Moment::Window { meanwhile } else { before });
        }
        if let Some((_, alter)) = self.alter.filter(|(moment, _)| *moment == self.moment()) {
            alter(&mut looked);
        }
        looked
    }

    /// Up a little and down again, so that no week has too much of it.
    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        if let Some(says) = self.says {
            return says(full);
        }
        let setting = Setting { unit: setup::workload(), property: Property::CpuQuota };
        let from = full.com.value(&setting);
        self.up = !self.up;
        let to = if self.up { Value::Percent(110) } else { Value::Percent(100) };
        Ok(proposal(&setting.property, from, to, asking.exploration))
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window.open(record)
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.window.claim(episode, claim)
    }

    fn now(&mut self, began: Now) -> Now {
        Now { steady: began.steady.plus(Duration::from_millis(self.took.get())), ..began }
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}

    fn compare(&mut self, _: Steady) -> Compared {
        Compared { before: None, after: None, guards: Vec::new() }
    }

    fn rebase(&mut self) {}

    fn tell(&mut self, tiding: &Tiding) {
        if let Some(told) = &self.told {
            told.borrow_mut().push(tiding.clone());
        }
    }
}

fn at(millis: u64) -> Now {
    Now { steady: Steady(millis), wall: Timestamp::EPOCH, synced: true }
}

/// An endpoint that no change is about.
pub const OTHER_ENDPOINT: &str = "box-1-web";

/// Runs so many episodes, each from the ask to the end of its probation. Gives the records.
pub fn episodes(count: u64) -> Result<Vec<Record>, LogFailed> {
    episodes_in(count, Calm::default())
}

/// The same, with other surroundings.
pub fn episodes_in(count: u64, calm: Calm) -> Result<Vec<Record>, LogFailed> {
    Ok(run(count, settings(), host(), calm)?.into_log().records)
}

/// A target whose time others move.
pub trait Timed {
    fn advance(&mut self, to: Steady);
}

impl Timed for SimHost {
    fn advance(&mut self, to: Steady) {
        SimHost::advance(self, to);
    }
}

/// Who stands between the runner and a host. All goes through as it is, unless this says otherwise.
pub trait Between {
    fn advance(&mut self, host: &mut SimHost, to: Steady) {
        host.advance(to);
    }

    fn call(&mut self, host: &mut SimHost, verb: &Verb) -> Result<Answer, Fault> {
        host.call(verb)
    }

    fn state(
        &mut self,
        host: &mut SimHost,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        host.state(full, renew, about)
    }

    fn is_heard(&mut self, _within: Duration) -> Result<(), Fault> {
        Err(Fault::TimedOut)
    }
}

/// A host that is reached through somebody.
#[derive(Debug)]
pub struct Through<B> {
    pub host: SimHost,
    pub between: B,
}

impl<B: Between> Through<B> {
    /// A host where nothing else goes wrong.
    pub fn of(between: B) -> Through<B> {
        Through { host: host(), between }
    }
}

impl<B: Between> Timed for Through<B> {
    fn advance(&mut self, to: Steady) {
        self.between.advance(&mut self.host, to);
    }
}

impl<B: Between> Driver for Through<B> {
    fn kind(&self) -> &'static str {
        self.host.kind()
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        self.between.call(&mut self.host, verb)
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.between.state(&mut self.host, full, renew, about)
    }

    fn is_heard(&mut self, within: Duration) -> Result<(), Fault> {
        self.between.is_heard(within)
    }

    fn generations(&self) -> Vec<Identity> {
        self.host.generations()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.host.collect_garbage(keep)
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.host.reboot(reset)
    }
}

/// A host where nothing goes wrong.
pub fn host() -> SimHost {
    let mut host = SimHost::new(holdfast_steward_host::estate(), 1, Sound::YES);
    host.advance(Steady(BEGIN));
    host
}

/// Runs so many episodes on this target, in these surroundings.
pub fn run<D: Driver + Timed, O: Outside>(
    count: u64,
    settings: Settings,
    driver: D,
    outside: O,
) -> Result<Runner<D, MemoryLog, O>, LogFailed> {
    run_until(count, settings, driver, outside, |_| false)
}

/// The same, and stops in the middle of one when this was written down: a real host takes real time for what comes after.
pub fn run_until<D: Driver + Timed, O: Outside>(
    count: u64,
    settings: Settings,
    driver: D,
    outside: O,
    is_enough: impl Fn(&Event) -> bool,
) -> Result<Runner<D, MemoryLog, O>, LogFailed> {
    let by: Label = match "a person".parse() {
        Ok(by) => by,
        Err(_) => unreachable!("a good label"),
    };
    let asked = || Input::Person(Person::Trigger { by: by.clone() });
    run_for(asked, count, settings, driver, outside, is_enough)
}

/// The same for another reason.
pub fn run_for<D: Driver + Timed, O: Outside>(
    reason: impl Fn() -> Input,
    count: u64,
    settings: Settings,
    driver: D,
    outside: O,
    is_enough: impl Fn(&Event) -> bool,
) -> Result<Runner<D, MemoryLog, O>, LogFailed> {
    let Some(found) = driver.generations().pop() else { unreachable!("it was found as something") };
    let mut runner = Runner::start(settings, trusted(found), driver, outside, at(BEGIN))?;
    go_on(&mut runner, BEGIN, reason, count, is_enough)?;
    Ok(runner)
}

/// Has one that is at work live through so many more episodes, from this moment on. Gives the moment it has come to.
pub fn go_on<D: Driver + Timed, O: Outside>(
    runner: &mut Runner<D, MemoryLog, O>,
    from: u64,
    reason: impl Fn() -> Input,
    count: u64,
    is_enough: impl Fn(&Event) -> bool,
) -> Result<u64, LogFailed> {
    let mut now = from;
    for _ in 0..count {
        now += 60_000;
        runner.driver().advance(Steady(now));
        runner.step(at(now), Input::Collected)?;
        runner.step(at(now), reason())?;
        let mut opened = false;
        while !opened || runner.steward().episode().is_some() {
            let Some(wakes) = runner.steward().wakes_at() else { break };
            now = wakes.0.max(now + 1);
            runner.driver().advance(Steady(now));
            let before = runner.log().records.len();
            runner.step(at(now), Input::Time)?;
            let new = &runner.log().records[before..];
            opened |= new.iter().any(|record| matches!(record.event, Event::Opened { .. }));
            if new.iter().any(|record| is_enough(&record.event)) {
                return Ok(now);
            }
        }
    }
    Ok(now)
}

/// What people have set for that host.
pub fn settings() -> Settings {
    let plan = Plan::calm(1, 1, Vec::new(), Quirk::Fine);
    let limits = Limits { trials_per_day: u32::MAX, ..Limits::default() };
    let mut settings = Settings { limits, ..setup::settings(&plan, 0) };
    settings.rules.endpoints.push(OTHER_ENDPOINT.to_owned());
    settings
}

/// Records that let it do small things alone.
pub fn trusted(known_good: Identity) -> MemoryLog {
    trusted_with(known_good, Level::TierOne)
}

/// Records of a target at this level.
pub fn trusted_with(known_good: Identity, to: Level) -> MemoryLog {
    let record = |event| Record { at: Steady(BEGIN), wall: Timestamp::EPOCH, synced: true, event };
    let why = "to measure".to_owned();
    let records = vec![
        record(Event::Enrolled { known_good }),
        record(Event::LevelSet { from: Level::Observe, to, by_person: true, why }),
    ];
    MemoryLog { records, room: None }
}
