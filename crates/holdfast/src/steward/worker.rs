//! One target at work: carries time, samples, people's words and the house's pause to its steward.
//!
//! The target's time is the steady time of its last record, and from there on real time as many times faster as the
//! configuration says. Whatever is due is done at the moment it is due, one after the other, so that a machine that cannot
//! keep up makes the target's time slower and never makes it jump: a lease does not run out because a disk was slow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_control::{StewardDone, StewardOrder, StewardTargetState};
use holdfast_lifeline::{Now, Steady};
use holdfast_steward::Steward;
use holdfast_steward::effect::{Input, Person};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::{self, Level};
use holdfast_steward::sample::Metric;
use holdfast_steward::trigger::Cause;
use holdfast_steward_host::{JournalLog, Log, LogFailed, Runner};
use holdfast_types::{Actor, Clock, Timestamp};

use super::StewardError;
use super::around::Around;
use super::asks::Wanted;
use super::model::{COLLECT_EVERY, Model, workload};
use super::records::{level_name, level_of};
use super::seen::{Present, Seen, told};
use super::settings::Place;
use crate::kinds::own_actor;
use crate::office::Office;
use crate::problem::Result;

/// The longest it sleeps, so that the house's pause and a person's word are heard soon.
const NAP_MAX: Duration = Duration::from_millis(250);
const NAP_MIN: Duration = Duration::from_millis(1);
/// Things due that are done in one turn. More than that means that the machine cannot keep up.
const DUE_MAX: usize = 200;
/// What was due and was not settled by waking is tried again after this, in the target's time.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Worker {
    place: Place,
    runner: Runner<Model, NotedLog, Around>,
    model: Model,
    clock: Arc<dyn Clock>,
    /// Whether the wall clock means anything to this target.
    synced: bool,
    /// The target's time at a moment of the monotonic clock.
    base: Steady,
    base_at: Duration,
    now: Steady,
    started: Steady,
    collect_at: Steady,
    woken_at: Option<Steady>,
    paused: bool,
}

impl Worker {
    /// Reads what was written down about the target, builds the modelled host up again, and settles what was in the middle.
    pub(crate) fn start(place: &Place, office: &Arc<Office>) -> Result<Worker, LogFailed> {
        let mut log = JournalLog::new(office.journal.clone(), place.name.clone(), own_actor());
        let mut records = log.read()?;
        if records.is_empty() {
            records = enrolment(place, office.clock.now());
            log.append(&records)?;
        }
        let last = records.last().map_or(Steady(0), |record| record.at);
        let (model, samples) = Model::built_up(place.seed, &records);
        let state = office.house.places.state.clone();
        let around = Around::new(place, model.clone(), samples, &Arc::downgrade(office), state);
        let clock = office.clock.clone();
        // The wall clock and a target that lives faster have nothing to say to each other.
        let synced = place.speed == 1
            && office.time_now().is_ok_and(|now| matches!(now, holdfast_approval::Now::Good(_)));
        let now = Now { steady: last, wall: clock.now(), synced };
        let noted = NotedLog::new(log, records);
        let runner = Runner::start(place.settings.clone(), noted, model.clone(), around, now)?;
        let (base_at, paused) = (clock.monotonic(), false);
        Ok(Worker {
            place: place.clone(),
            runner,
            model,
            clock,
            synced,
            base: last,
            base_at,
            now: last,
            started: last,
            collect_at: last,
            woken_at: None,
            paused,
        })
    }

    /// Does what is due, and says how long nothing will be.
    pub(crate) fn turn(&mut self, office: &Office) -> Result<Duration, LogFailed> {
        self.heed_the_switch(office)?;
        self.live_on()?;
        self.hear_people()?;
        let next = self.next_due().since(self.now) / self.place.speed.max(1);
        Ok(next.clamp(NAP_MIN, NAP_MAX))
    }

    pub(crate) fn state(&self) -> StewardTargetState {
        let present = Present { now: self.now, started: self.started, lease: self.model.sight().lease };
        let told = told(&self.place, self.steward(), &self.runner.log().seen(), Some(present));
        StewardTargetState { trouble: self.runner.outside_seen().trouble(), ..told }
    }

    fn steward(&self) -> &Steward {
        self.runner.steward()
    }

    fn heed_the_switch(&mut self, office: &Office) -> Result<(), LogFailed> {
        let paused = office.is_paused().is_paused();
        if paused == self.paused {
            return Ok(());
        }
        self.paused = paused;
        self.step(Input::Paused(paused))
    }

    fn live_on(&mut self) -> Result<(), LogFailed> {
        let lived = self.clock.monotonic().saturating_sub(self.base_at);
        let until = self.base.plus(lived * self.place.speed.max(1));
        for _ in 0..DUE_MAX {
            let due = self.next_due();
            if due > until {
                self.pass_to(until);
                return Ok(());
            }
            self.pass_to(due);
            self.what_is_due()?;
        }
        (self.base, self.base_at) = (self.now, self.clock.monotonic());
        Ok(())
    }

    /// Never earlier than now: what should have been done before is done now.
    fn next_due(&self) -> Steady {
        let wakes = self.steward().wakes_at().map(|at| match self.woken_at {
            Some(woken) if at <= woken => woken.plus(TRY_AGAIN),
            _ => at,
        });
        wakes.map_or(self.collect_at, |wakes| wakes.min(self.collect_at)).max(self.now)
    }

    fn pass_to(&mut self, at: Steady) {
        self.now = self.now.max(at);
        self.model.advance(self.now);
    }

    fn what_is_due(&mut self) -> Result<(), LogFailed> {
        if self.now >= self.collect_at {
            self.collect_at = self.now.plus(COLLECT_EVERY);
            self.collect()?;
        }
        if self.steward().wakes_at().is_some_and(|at| at <= self.now) {
            self.woken_at = Some(self.now);
            self.step(Input::Time)?;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), LogFailed> {
        let book = self.runner.steward().book().clone();
        let now = self.now;
        let Some(collected) = self.runner.outside().collect(now, &book) else { return Ok(()) };
        self.step(Input::Collected)?;
        if let Some(direction) = collected.shift {
            let metric = Metric::primary();
            self.step(Input::Trigger(Cause::RegimeChange { metric, direction }))?;
        }
        if collected.killed {
            self.step(Input::Trigger(Cause::OutOfMemory { unit: workload() }))?;
        }
        Ok(())
    }

    /// What people said to what is waited for.
    fn hear_people(&mut self) -> Result<(), LogFailed> {
        let Some(wanted) = self.waits_for() else { return Ok(()) };
        let episode = wanted.episode.clone();
        match self.runner.outside().word(wanted) {
            Some((digest, allowed)) => self.step(Input::Approval { episode, digest, allowed }),
            None => Ok(()),
        }
    }

    fn waits_for(&self) -> Option<Wanted> {
        let episode = self.steward().episode()?;
        let Phase::Waiting { trial, .. } = &episode.phase else { return None };
        let cleared = episode.cleared.as_ref()?;
        let changes: Vec<String> = cleared.changes.iter().map(ToString::to_string).collect();
        let because = holdfast_steward_host::story::causes(&episode.causes);
        Some(Wanted {
            episode: episode.id.clone(),
            digest: self.steward().approval_wanted()?,
            change: changes.join(", "),
            candidate: trial.candidate,
            known_good: trial.known_good,
            evidence: vec![format!("Because {because}."), cleared.hypothesis.clone()],
        })
    }

    fn step(&mut self, input: Input) -> Result<(), LogFailed> {
        let now = Now { steady: self.now, wall: self.clock.now(), synced: self.synced };
        self.runner.step(now, input)
    }
}

/// What people order.
impl Worker {
    pub(crate) fn order(
        &mut self,
        order: &StewardOrder,
        actor: &Actor,
        dry_run: bool,
    ) -> Result<StewardDone> {
        let said = match order {
            StewardOrder::Trigger => self.trigger(actor, dry_run),
            StewardOrder::Level { to } => self.set_level(to, dry_run),
            StewardOrder::RollBack => self.roll_back(dry_run),
            StewardOrder::Accept => self.accept(dry_run),
            StewardOrder::Reset => self.reset(dry_run),
        }?;
        Ok(StewardDone {
            target: self.place.name.to_string(),
            said: said.sentence,
            level: level_name(self.steward().level()).to_owned(),
            episode: self.steward().episode().map(|episode| episode.id.to_string()),
            repeated: said.repeated,
            dry_run,
        })
    }

    fn person(&mut self, person: Person, dry_run: bool) -> Result<()> {
        if dry_run {
            return Ok(());
        }
        let failed = |e: LogFailed| StewardError::NotKept { why: e.why };
        Ok(self.step(Input::Person(person)).map_err(failed)?)
    }

    fn trigger(&mut self, actor: &Actor, dry_run: bool) -> Result<Said> {
        if let Some(why) = self.hindrance() {
            return Err(self.held(why).into());
        }
        let by = actor.as_str().parse();
        let by = by.map_err(|_| self.held("whoever asks has no name that can be kept".to_owned()))?;
        let before = self.runner.log().seen().queued;
        self.person(Person::Trigger { by }, dry_run)?;
        if !dry_run && self.runner.log().seen().queued == before {
            return Err(self.held("it was looked into just now".to_owned()).into());
        }
        Ok(match self.steward().episode() {
            Some(episode) => Said::new(format!("planned when {} is over", episode.id)),
            None => Said::new("a cycle of planning begins in a moment"),
        })
    }

    /// What keeps everything from being planned.
    fn hindrance(&self) -> Option<String> {
        let steward = self.steward();
        if !ladder::may_plan(steward.level()) {
            Some(format!("at the level {} nothing is planned", level_name(steward.level())))
        } else if self.paused {
            Some("autonomy is paused".to_owned())
        } else if steward.breaker_is_open() {
            Some(format!("the breaker is open; `holdfast steward reset {}` closes it", self.place.name))
        } else if steward.has_drifted() {
            Some(format!(
                "it is not what it was left as; see it, then `holdfast steward accept {}`",
                self.place.name
            ))
        } else {
            None
        }
    }

    fn held(&self, why: String) -> StewardError {
        StewardError::Held { target: self.place.name.to_string(), why }
    }

    fn set_level(&mut self, to: &str, dry_run: bool) -> Result<Said> {
        let to = level_of(to).ok_or_else(|| StewardError::UnknownLevel { name: to.to_owned() })?;
        let from = self.steward().level();
        if to == from {
            return Ok(Said { repeated: true, ..Said::new(format!("is at {} already", level_name(to))) });
        }
        if to > from {
            self.may_rise(from, to)?;
        }
        self.person(Person::SetLevel { to }, dry_run)?;
        Ok(Said::new(format!("from {} to {}", level_name(from), level_name(to))))
    }

    fn may_rise(&self, from: Level, to: Level) -> Result<()> {
        let now = Now { steady: self.now, wall: self.clock.now(), synced: self.synced };
        let missing = match ladder::raise(from, self.steward().evidence(), now) {
            Ok(next) if next == to => return Ok(()),
            Ok(next) => vec![format!("{} comes first", level_name(next))],
            Err(missing) => missing.into_iter().map(|missing| missing.sentence).collect(),
        };
        let (from, to) = (level_name(from), level_name(to));
        Err(StewardError::LevelRefused { target: self.place.name.to_string(), from, to, missing }.into())
    }

    fn roll_back(&mut self, dry_run: bool) -> Result<Said> {
        let nothing = |why| StewardError::NothingToUndo { target: self.place.name.to_string(), why };
        let Some(episode) = self.steward().episode() else {
            return Err(nothing("no episode is open, and what was kept is past its probation").into());
        };
        match episode.phase {
            Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Closing { .. } => {
                return Err(nothing("it is being settled this moment; ask again").into());
            }
            Phase::TakingOver { .. } | Phase::Undoing { .. } | Phase::StandingBy { .. } => {
                return Ok(Said {
                    repeated: true,
                    ..Said::new(format!("{} is being undone already", episode.id))
                });
            }
            _ => {}
        }
        let said = format!("{} is undone", episode.id);
        self.person(Person::RollBack, dry_run)?;
        Ok(Said::new(said))
    }

    fn accept(&mut self, dry_run: bool) -> Result<Said> {
        if !self.steward().has_drifted() {
            return Ok(Said { repeated: true, ..Said::new("is what it was left as") });
        }
        if let Some(episode) = self.steward().episode() {
            let why = format!("{} is open", episode.id);
            return Err(self.held(why).into());
        }
        let found = self.model.running();
        self.person(Person::AcceptTarget { found }, dry_run)?;
        Ok(Said::new(format!("what runs there, {found:?}, is what is gone back to from now on")))
    }

    fn reset(&mut self, dry_run: bool) -> Result<Said> {
        if !self.steward().breaker_is_open() {
            return Ok(Said { repeated: true, ..Said::new("the breaker is closed") });
        }
        self.person(Person::ResetBreaker, dry_run)?;
        Ok(Said::new("the breaker is closed again"))
    }
}

/// What is written down of a target that nothing was written down of: what it runs, and where it starts on the ladder.
/// Only a model starts anywhere but at the bottom.
fn enrolment(place: &Place, wall: Timestamp) -> Vec<Record> {
    let (model, _) = Model::built_up(place.seed, &[]);
    let record = |event| Record { at: Steady(0), wall, synced: false, event };
    let mut records = vec![record(Event::Enrolled { known_good: model.running() })];
    let (from, to) = (Level::Observe, place.starts_at);
    if to > from {
        let why = "its configuration lets this modelled host start there".to_owned();
        records.push(record(Event::LevelSet { from, to, by_person: true, why }));
    }
    records
}

struct Said {
    sentence: String,
    repeated: bool,
}

impl Said {
    fn new(sentence: impl Into<String>) -> Said {
        Said { sentence: sentence.into(), repeated: false }
    }
}

/// The log of one target, with an account of what went through it. What was read before the start is not read twice.
#[derive(Debug)]
struct NotedLog {
    log: JournalLog,
    read: Mutex<VecDeque<Vec<Record>>>,
    seen: Seen,
}

impl NotedLog {
    fn new(log: JournalLog, read: Vec<Record>) -> NotedLog {
        NotedLog { log, seen: Seen::of(&read), read: Mutex::new(VecDeque::from([read])) }
    }

    fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

impl Log for NotedLog {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed> {
        self.log.append(records)?;
        records.iter().for_each(|record| self.seen.note(record));
        Ok(())
    }

    fn read(&self) -> Result<Vec<Record>, LogFailed> {
        let before = self.read.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        before.map_or_else(|| self.log.read(), Ok)
    }
}
