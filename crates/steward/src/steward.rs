//! The closed loop of one target: takes what happened, writes down what it decides, and says what is to be done.
//!
//! [`Steward::step`] is the only door. It returns records and effects; the records must be durable before the first effect is
//! carried out. What the steward is comes from its records alone ([`Steward::replay`]), but for three things that a new start must
//! not believe: how fresh the data is, whether people have paused it, and which asks are under way.
//!
//! In reading order: `fold.rs` (what the records come to), `turn.rs` (one step, given to the phase it concerns), `plan.rs` (from a trigger to what may be tried), `trial.rs` (from the lease to what is kept), `undo.rs`
//! (the way back), `after.rs` (probation, and the look back a day later), `learn.rs` (what is made of it).

mod after;
mod fold;
mod learn;
mod plan;
mod trial;
mod turn;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Flaw, Identity, Now, Sound, Steady, TargetName};

use crate::constitution::Constitution;
use crate::effect::{Effect, Input, Looked, Op};
use crate::episode::{Cleared, Episode, Phase};
use crate::event::{Event, Record};
use crate::explore::Cycles;
use crate::invariant::Moment;
use crate::ladder::{self, Evidence, Level};
use crate::limits::{Breaker, Limits, Planning, Trials};
use crate::look::Expected;
use crate::outcome::Book;
use crate::policy::TargetRules;
use crate::properties::Predicate;
use crate::retrospective::{AFTER, Due, Retrospectives};
use crate::sample::{EndpointName, Freshness};
use crate::setting::{Change, Setting, UnitName};
use crate::trigger::{Disturbance, Gate, Queue};

pub use trial::Claimed;
use turn::Turn;

/// How long each ask may take.
const LOOK_WITHIN: Duration = Duration::from_secs(15);
const CALL_WITHIN: Duration = Duration::from_secs(20);
const CHECK_WITHIN: Duration = Duration::from_secs(120);
const STAGE_WITHIN: Duration = Duration::from_secs(900);
const BRAIN_WITHIN: Duration = Duration::from_secs(900);
const RECORD_WITHIN: Duration = Duration::from_secs(10);
/// The runner answers every ask in time; this much later the steward stops waiting for one that it did not.
const SLACK: Duration = Duration::from_secs(10);
/// A look back that is due is done with the next thing that happens; one that is still not done after this is late.
const OVERDUE: Duration = Duration::from_secs(3600);
/// How far back accepted changes count against the human baseline.
const BASELINE_SPAN: Duration = Duration::from_secs(7 * 86_400);

/// What people have set for a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub target: TargetName,
    /// Tells this controller's episodes from another's.
    pub instance: u64,
    pub rules: TargetRules,
    pub constitution: Constitution,
    pub limits: Limits,
    /// The endpoint that a unit answers, where there is one.
    pub endpoint_of: BTreeMap<UnitName, EndpointName>,
    pub window: Duration,
    /// Without a regime change for this long a cycle runs anyway.
    pub routine_after: Duration,
    pub second_route: bool,
    pub reboot: bool,
    /// Least free space here and on the target.
    pub space_here: u64,
    pub space_there: u64,
    /// How long a change may wait for work in flight to end.
    pub drain_within: Duration,
    /// What must be true of every configuration that is tried.
    pub predicates: &'static [Predicate],
}

/// What a step came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub records: Vec<Record>,
    pub effects: Vec<Effect>,
}

#[derive(Clone, Debug)]
pub struct Steward {
    settings: Settings,
    sound: Sound,
    // --- from the records
    known_good: Option<Identity>,
    level: Level,
    queue: Queue,
    episode: Option<Episode>,
    serial: u64,
    trials: Trials,
    planning_pause: Planning,
    breaker: Breaker,
    cycles: Cycles,
    book: Book,
    retrospectives: Retrospectives,
    /// When outcomes were last consolidated, and when they were last reviewed.
    consolidated: Option<Steady>,
    reviewed: Option<Steady>,
    /// Settings whose wider bound waits for a person.
    open_drafts: BTreeSet<Setting>,
    /// Episodes that are to be taken back, and are not queued yet.
    reverts_owed: Vec<EpisodeId>,
    evidence: Evidence,
    recent: Vec<(Steady, Change)>,
    drifted: bool,
    /// When somebody else last changed the target, as far as anybody knows.
    others_changed: Option<Steady>,
    /// What the last episode stirred up, for a while.
    disturbance: Option<Disturbance>,
    // --- not believed after a start
    freshness: Freshness,
    paused: bool,
    /// What was seen when the episode was planned.
    planning: Option<(Steady, Box<Looked>)>,
    comparing: Option<(Op, EpisodeId, Steady)>,
    next_op: u64,
    now: Now,
}

impl Steward {
    pub fn new(settings: Settings, now: Now, sound: Sound) -> Steward {
        Steward {
            settings,
            sound,
            known_good: None,
            level: Level::Observe,
            queue: Queue::new(now.steady),
            episode: None,
            serial: 0,
            trials: Trials::default(),
            planning_pause: Planning::default(),
            breaker: Breaker::default(),
            cycles: Cycles::default(),
            book: Book::default(),
            retrospectives: Retrospectives::default(),
            consolidated: None,
            reviewed: None,
            open_drafts: BTreeSet::new(),
            reverts_owed: Vec::new(),
            evidence: Evidence::default(),
            recent: Vec::new(),
            drifted: false,
            others_changed: None,
            disturbance: None,
            freshness: Freshness { last_success: None },
            paused: false,
            planning: None,
            comparing: None,
            next_op: 1,
            now,
        }
    }

    /// The steward its records describe.
    pub fn replay<'a>(
        settings: Settings,
        records: impl IntoIterator<Item = &'a Record>,
        now: Now,
        sound: Sound,
    ) -> Steward {
        let mut steward = Steward::new(settings, now, sound);
        for record in records {
            steward.now = Now { steady: record.at, wall: record.wall, synced: record.synced };
            steward.apply(&record.event);
        }
        steward.now = now;
        steward
    }

    /// Takes a target in as it was found. It starts at the lowest level.
    pub fn enrol(&mut self, now: Now, known_good: Identity) -> Step {
        self.turn(now, &mut || 0, |turn| turn.record(Event::Enrolled { known_good }))
    }

    pub fn level(&self) -> Level {
        self.level
    }

    pub fn episode(&self) -> Option<&Episode> {
        self.episode.as_ref()
    }

    /// What exactly the open episode waits for a person to say yes to.
    pub fn approval_wanted(&self) -> Option<String> {
        let episode = self.episode.as_ref()?;
        let Phase::Waiting { trial, .. } = episode.phase else { return None };
        Some(self.digest(trial, &episode.cleared.as_ref()?.changes))
    }

    pub fn known_good(&self) -> Option<Identity> {
        self.known_good
    }

    pub fn breaker_is_open(&self) -> bool {
        self.breaker.is_open()
    }

    pub fn has_drifted(&self) -> bool {
        self.drifted
    }

    /// Whether a day has room for one more trial at this moment.
    pub fn may_try_today(&self, now: Steady) -> bool {
        self.trials.may_start(&self.settings.limits, now).is_ok()
    }

    /// Looks back that should have been over for an hour.
    pub fn overdue_looks_back(&self, now: Now) -> usize {
        let since = |due: &&Due| now.steady.since(due.switched.steady) >= AFTER + OVERDUE;
        self.retrospectives.due(now).filter(since).count()
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// When it wants to be woken although nothing came.
    pub fn wakes_at(&self) -> Option<Steady> {
        let episode = self.episode.as_ref().and_then(|episode| episode.phase.wakes_at());
        let looking_back = if self.comparing.is_none() { self.retrospectives.next_due() } else { None };
        let next_cycle = if self.episode.is_none() && self.may_plan() { self.queue.due() } else { None };
        [episode, looking_back, next_cycle].into_iter().flatten().min()
    }

    /// The only door: something happened at this moment.
    pub fn step(&mut self, now: Now, input: Input) -> Step {
        self.step_timed(now, input, &mut || 0)
    }

    /// The same, with a clock that counts milliseconds from anywhere: there is none in here, and what the gates take should be
    /// seen. Nothing is decided by it.
    pub fn step_timed(&mut self, now: Now, input: Input, stopwatch: &mut dyn FnMut() -> u64) -> Step {
        self.turn(now, stopwatch, |turn| turn.take(input))
    }

    fn turn(
        &mut self,
        now: Now,
        stopwatch: &mut dyn FnMut() -> u64,
        act: impl FnOnce(&mut Turn<'_>),
    ) -> Step {
        self.now = now;
        let mut turn = Turn { steward: self, step: Step::default(), stopwatch };
        act(&mut turn);
        turn.step
    }

    /// Nothing is planned without leave, with an open circuit, or on a target that somebody else changed.
    fn may_plan(&self) -> bool {
        let allowed = ladder::may_plan(self.level) || self.sound.has(Flaw::LevelIgnored);
        let paused = self.paused && !self.sound.has(Flaw::PauseIgnored);
        let open = self.breaker.is_open() && !self.sound.has(Flaw::BreakerIgnored);
        let drifted = self.drifted && !self.sound.has(Flaw::DriftIgnored);
        allowed
            && !paused
            && !open
            && !drifted
            && self.known_good.is_some()
            && self.planning_pause.paused_until(self.now.steady).is_none()
    }

    /// What stands between a cause and a cycle.
    fn gate(&self) -> Gate {
        let open = self.episode.as_ref().and_then(|episode| self.disturbed_by(episode, None));
        let lately = self.disturbance.clone();
        Gate {
            circuit_open: self.breaker.is_open() && !self.sound.has(Flaw::BreakerIgnored),
            observe_only: !ladder::may_plan(self.level) && !self.sound.has(Flaw::LevelIgnored),
            paused: self.paused && !self.sound.has(Flaw::PauseIgnored),
            episodes: open.into_iter().chain(lately).filter(|_| !self.sound.has(Flaw::NoCoolDown)).collect(),
        }
    }

    /// What a look before a trial is measured by.
    fn expected(&self, cleared: &Cleared, looked_at: Steady) -> Expected<'_> {
        let unit = cleared.changes.first().map(|change| &change.setting.unit);
        let excused = unit.and_then(|unit| self.settings.endpoint_of.get(unit)).map(ToString::to_string);
        Expected {
            moment: Moment::Preflight,
            identity: self.known_good.unwrap_or(Identity([0; 32])),
            before: None,
            activated: None,
            excused,
            episode: None,
            now: looked_at,
            settings: &self.settings,
        }
    }

    fn is_fresh(&self) -> bool {
        !self.freshness.is_stale(self.now.steady) || self.sound.has(Flaw::StaleDataIgnored)
    }

    /// The clock that the limit of the day is counted on.
    fn limit_clock(&self) -> Steady {
        if self.sound.has(Flaw::LimitsByWallClock) {
            return Steady(u64::try_from(self.now.wall.as_micros() / 1000).unwrap_or(0));
        }
        self.now.steady
    }

    fn recent_changes(&self) -> Vec<Change> {
        let at = self.now.steady;
        self.recent
            .iter()
            .filter(|(when, _)| at.since(*when) < BASELINE_SPAN)
            .map(|(_, change)| change.clone())
            .collect()
    }

    fn issue(&self) -> Option<EpisodeId> {
        // 26 characters that are also good ones of the house's other ids; nothing is ever read from them.
        const HALF: u64 = (1 << 52) - 1;
        format!("ep_{:013x}{:013x}", self.settings.instance & HALF, (self.serial + 1) & HALF).parse().ok()
    }
}
