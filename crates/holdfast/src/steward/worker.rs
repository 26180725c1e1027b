//! One target at work: carries time, samples, people's words and the house's pause to its steward.
//!
//! The target's time is the steady time of its last record, or of what its lookouts saw since, and from there on real time, for a
//! modelled host as many times faster as the configuration says. Whatever is due is done at the moment it is due, one after the other, so that a machine that cannot
//! keep up makes the target's time slower and never makes it jump: a lease does not run out because a disk was slow.

use std::sync::Arc;
use std::time::Duration;

use holdfast_config::Detector;
use holdfast_control::{StewardNoticed, StewardTargetState};
use holdfast_journal::Stored;
use holdfast_lifeline::{EpisodeId, Identity, Now, Steady};
use holdfast_notice::Severity;
use holdfast_steward::Steward;
use holdfast_steward::effect::Input;
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward::lesson::Meant;
use holdfast_steward::trigger::Cause;
use holdfast_steward::watch::{COLLECT_EVERY, Sighting};
use holdfast_steward_host::{GENERATIONS_KEPT, JournalLog, Log, LogFailed, Runner};
use holdfast_store::{Filter, Order, find};
use holdfast_types::{Clock, Timestamp};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::around::Around;
use super::asks::Wanted;
use super::eyes::Eyes;
use super::host::{GENERATIONS_FOR, Host};
use super::lessons::Heard;
use super::lookouts::{Found, Learnt, LookoutFile};
use super::model::Model;
use super::noted::NotedLog;
use super::real::RealEyes;
use super::seen::{Present, told};
use super::settings::{Kind, Place, endpoint_of};
use super::tidying::{Tidying, Under};
use super::vitals::{Open, Vitals};
use crate::kinds::{TIDIED, own_actor, own_draft};
use crate::office::Office;

/// The longest it sleeps, so that the house's pause and a person's word are heard soon. Of real hosts there may be hundreds, and
/// what happens there takes minutes.
const NAP_MAX: Duration = Duration::from_millis(250);
const NAP_MAX_REAL: Duration = Duration::from_secs(1);
const NAP_MIN: Duration = Duration::from_millis(1);
/// Things due that are done in one turn. More than that means that the machine cannot keep up.
const DUE_MAX: usize = 200;
/// How often what the lookouts have learnt is stored; also when the daemon ends. What came after it is learnt again from what
/// was measured.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// As many targets as there may be: each is tidied once a day, so the last time of each is among so many.
const TARGETS_MAX: usize = 512;
/// What was due and was not settled by waking is tried again after this, in the target's time.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Worker {
    pub(super) place: Place,
    pub(super) runner: Runner<Host, NotedLog, Around>,
    /// Of a modelled host, whose time is moved here.
    model: Option<Model>,
    clock: Arc<dyn Clock>,
    /// Whether the wall clock means anything to this target.
    pub(super) synced: bool,
    /// The target's time at a moment of the monotonic clock.
    base: Steady,
    base_at: Duration,
    pub(super) now: Steady,
    started: Steady,
    collect_at: Steady,
    /// The last collection that succeeded, by the monotonic clock.
    collected: Option<Duration>,
    tidying: Tidying,
    woken_at: Option<Steady>,
    pub(super) paused: bool,
    /// What the open episode is meant to do.
    meant: Option<(EpisodeId, Meant)>,
    file: LookoutFile,
    /// When the lookouts were last stored, by the monotonic clock.
    saved_at: Duration,
}

/// A target as it is found at a start: what is worked on, what is seen of it, and what was measured on it lately.
struct FoundHost {
    host: Host,
    eyes: Eyes,
    model: Option<Model>,
    past: Vec<(Steady, Sighting)>,
}

/// Why nobody is at work on a target yet.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// Its records could not be read or kept.
    Log(LogFailed),
    /// It has to be asked something first, and does not answer.
    NotYet { why: String },
}

impl From<LogFailed> for NotStarted {
    fn from(failed: LogFailed) -> NotStarted {
        NotStarted::Log(failed)
    }
}

impl FoundHost {
    fn of(place: &Place, records: &[Record], until: Steady, office: &Arc<Office>) -> FoundHost {
        let places = &office.house.places;
        match &place.kind {
            Kind::Modelled(which) => {
                let (model, past) = Model::built_up(*which, records, until);
                let endpoint = endpoint_of(&place.name);
                let eyes = Eyes::Modelled { model: model.clone(), which: *which, endpoint };
                FoundHost { host: Host::Modelled(model.clone()), eyes, model: Some(model), past }
            }
            Kind::Real(real) => {
                let hearts =
                    office.config().config.steward.tripwire.hearts.as_ref().map(|it| it.as_path().to_owned());
                let mut eyes = RealEyes::of(place, real, places, &Arc::downgrade(office), hearts);
                let past = eyes.past(until, office.clock.now());
                let host = Host::of_a_real_one(place, real, places);
                FoundHost { host, eyes: Eyes::Real(Box::new(eyes)), model: None, past }
            }
        }
    }
}

impl Worker {
    /// Reads what was written down about the target, builds a modelled host up again, and settles what was in the middle.
    pub(crate) fn start(place: &Place, office: &Arc<Office>) -> Result<Worker, NotStarted> {
        let mut log = JournalLog::new(office.journal.clone(), place.name.clone(), own_actor());
        let mut records = log.read()?;
        let state = office.house.places.state.clone();
        if records.is_empty() {
            let mut found = FoundHost::of(place, &[], Steady(0), office);
            let running = found.host.running().map_err(|why| NotStarted::NotYet { why })?;
            records = enrolment(place, running, office.clock.now());
            log.append(&records)?;
        }
        let file = LookoutFile::of(&state, place);
        let (learnt, lost) = recall(&file, place, &records, office.clock.now());
        // The lookouts were seen running until then, also where nothing was written down meanwhile.
        let last = records.last().map_or(Steady(0), |record| record.at);
        let last = learnt.as_ref().map_or(last, |learnt| learnt.at.max(last));
        let meant = learnt.as_ref().and_then(|learnt| learnt.meant.clone());
        let FoundHost { host, eyes, model, past } = FoundHost::of(place, &records, last, office);
        let windows = office.config().config.steward.tripwire.windows.clone();
        let windows = windows.map_or_else(|| state.join("steward"), |folder| folder.as_path().to_owned());
        let traces = office.bench.desk_of(place.name.as_str()).traces();
        let around = Around::new(place, eyes, &past, learnt, &Arc::downgrade(office), state, &windows)
            .drawn_into(traces, &past);
        if let Some(why) = lost {
            warn!(target = %place.name, why, "what the lookouts had learnt is put aside, and learnt anew");
            let what = format!("What the lookouts of {} had learnt is learnt anew: {why}.", place.name);
            around.raise(Severity::Info, what, "lookouts", None);
        }
        let clock = office.clock.clone();
        // The wall clock and a target that lives faster have nothing to say to each other.
        let synced = place.speed == 1
            && office.time_now().is_ok_and(|now| matches!(now, holdfast_approval::Now::Good(_)));
        let now = Now { steady: last, wall: clock.now(), synced };
        let noted = NotedLog::new(log, records);
        office.bench.library.put(&place.name, noted.lessons());
        let runner = Runner::start(place.settings.clone(), noted, host, around, now)?;
        office.bench.verdicts.put(&place.name, runner.steward().book());
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
            collected: None,
            tidying: Tidying::from(last, last_tidied(office, place.name.as_str())),
            woken_at: None,
            paused,
            meant,
            saved_at: base_at,
            file,
        })
    }

    /// Does what is due, and says how long nothing will be.
    pub(crate) fn turn(&mut self, office: &Office) -> Result<Duration, LogFailed> {
        self.heed_the_switch(office)?;
        self.live_on(office)?;
        self.hear_people()?;
        if self.runner.log_mut().heard() == Heard::Something {
            office.bench.library.put(&self.place.name, self.runner.log().lessons());
        }
        if self.runner.log_mut().judged() {
            office.bench.verdicts.put(&self.place.name, self.steward().book());
        }
        if self.clock.monotonic().saturating_sub(self.saved_at) >= SAVE_EVERY {
            self.save();
        }
        let next = self.next_due().since(self.now) / self.place.speed.max(1);
        let longest = if self.model.is_some() { NAP_MAX } else { NAP_MAX_REAL };
        Ok(next.clamp(NAP_MIN, longest))
    }

    /// Stores what the lookouts have learnt. Where that fails they go on, and learn anew after the next start.
    pub(crate) fn save(&mut self) {
        self.saved_at = self.clock.monotonic();
        let Some(watch) = self.runner.outside_seen().watch() else { return };
        if let Err(e) = self.file.write(self.now, watch, self.meant.clone()) {
            warn!(target = %self.place.name, error = %e, "what the lookouts have learnt could not be stored");
        }
    }

    /// The daemon ends: nothing of ours stays connected.
    pub(crate) fn hang_up(&self) {
        self.runner.outside_seen().hang_up();
    }

    pub(crate) fn state(&self) -> StewardTargetState {
        let present = Present {
            now: self.now,
            started: self.started,
            lease: self.runner.driver_seen().lease(self.now),
        };
        let told = told(&self.place, self.steward(), &self.runner.log().seen(), Some(present));
        let around = self.runner.outside_seen();
        let noticed = around.noticed().map(|noticed| StewardNoticed {
            sentence: noticed.sentence,
            metrics: noticed.metrics.iter().map(ToString::to_string).collect(),
            began_seconds_ago: self.now.since(noticed.began).as_secs(),
        });
        StewardTargetState { noticed, trouble: around.trouble(), ..told }
    }

    /// How it stands in a few figures; `collected` is what is known of earlier collections.
    pub(crate) fn vitals(&self, collected: Duration) -> Vitals {
        let (steward, around) = (self.steward(), self.runner.outside_seen());
        let open = steward.episode().map(|episode| Open {
            episode: episode.id.to_string(),
            phase: episode.phase.name(),
            on_trial: episode.phase.armed().is_some(),
        });
        Vitals {
            target: self.place.name.clone(),
            collected: self.collected.unwrap_or(collected),
            failures: around.failures(),
            breaker_open: steward.breaker_is_open(),
            open,
            overdue: steward.overdue_looks_back(self.moment()) as u64,
            guard: around.guard(),
        }
    }

    pub(super) fn steward(&self) -> &Steward {
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

    fn live_on(&mut self, office: &Office) -> Result<(), LogFailed> {
        let lived = self.clock.monotonic().saturating_sub(self.base_at);
        let until = self.base.plus(lived * self.place.speed.max(1));
        for _ in 0..DUE_MAX {
            let due = self.next_due();
            if due > until {
                self.pass_to(until);
                return Ok(());
            }
            self.pass_to(due);
            self.what_is_due(office)?;
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
        if let Some(model) = &self.model {
            model.advance(self.now);
        }
    }

    fn what_is_due(&mut self, office: &Office) -> Result<(), LogFailed> {
        if self.now >= self.collect_at {
            self.collect_at = self.now.plus(COLLECT_EVERY);
            self.collect()?;
        }
        let under = if self.steward().episode().is_none() { Under::Nothing } else { Under::AnEpisode };
        if self.tidying.is_due(self.now, under) {
            self.tidy(office);
        }
        if self.steward().wakes_at().is_some_and(|at| at <= self.now) {
            self.woken_at = Some(self.now);
            self.step(Input::Time)?;
        }
        Ok(())
    }

    /// One that does not answer is asked again tomorrow.
    fn tidy(&mut self, office: &Office) {
        let target = &self.place.name;
        match self.runner.driver().tidy() {
            Ok(None) => {}
            Ok(Some(removed)) => {
                info!(%target, removed, "old generations were looked for");
                let body = json!({
                    "target": target,
                    "steady": self.now,
                    "older_days": GENERATIONS_FOR.as_secs() / 86_400,
                    "keep": GENERATIONS_KEPT,
                    "removed": removed,
                });
                let written = own_draft(&TIDIED, body)
                    .map_err(|e| e.to_string())
                    .and_then(|entry| office.journal.append(&entry).map_err(|e| e.to_string()));
                if let Err(why) = written {
                    // It is done again after the next start, which does no harm.
                    warn!(%target, why, "that a target was tidied could not be written down");
                }
            }
            Err(fault) => warn!(%target, ?fault, "old generations could not be looked for"),
        }
        self.catch_up();
    }

    fn collect(&mut self) -> Result<(), LogFailed> {
        let now = self.moment();
        self.runner.outside().begin(now);
        let collected = self.runner.outside().collect(now);
        self.catch_up();
        let Some(collected) = collected else { return Ok(()) };
        self.collected = Some(self.clock.monotonic());
        self.step(Input::Collected)?;
        // What lasts is offered again when nothing is under way: a cycle that is looks into it already.
        let idle = self.steward().episode().is_none();
        if let Some(cause) = collected.changed.filter(|_| idle) {
            self.step(Input::Trigger(cause))?;
        }
        let killed = collected.killed.map(|unit| Cause::OutOfMemory { unit });
        for cause in killed.into_iter().chain(collected.ailing) {
            self.step(Input::Trigger(cause))?;
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

    pub(super) fn step(&mut self, input: Input) -> Result<(), LogFailed> {
        let now = self.moment();
        let (steward, around) = self.runner.steward_and_outside();
        around.remember(steward, now.steady);
        let marked = self.runner.log().marked().clone();
        let around = self.runner.outside();
        around.leave_out(marked);
        around.begin(now);
        self.runner.step(now, input)?;
        self.catch_up();
        self.learn()
    }

    /// What was done on a real host took its time.
    fn catch_up(&mut self) {
        self.now = self.now.max(self.runner.outside_seen().present().steady);
    }

    /// What the episodes that have just ended did to what they were made for, written down. One may end and the next be asked for
    /// in the same step.
    fn learn(&mut self) -> Result<(), LogFailed> {
        let (asked, ended) = self.runner.log_mut().turns();
        let thoughts = self.runner.outside().thoughts();
        let mut meant: Vec<(EpisodeId, Meant)> = self.meant.take().into_iter().collect();
        meant.extend(asked.into_iter().zip(thoughts).filter_map(|(of, meant)| Some((of, meant?))));
        for (episode, teaches) in ended {
            let Some(at) = meant.iter().position(|(of, _)| *of == episode) else { continue };
            let (_, meant) = meant.swap_remove(at);
            if let Some(lesson) = self.runner.outside().learnt(meant).filter(|_| teaches) {
                let Now { steady: at, wall, synced } = self.moment();
                let event = Event::Learnt { episode, lesson: Box::new(lesson) };
                self.runner.log_mut().append(&[Record { at, wall, synced, event }])?;
            }
        }
        // At most one episode is open.
        self.meant = meant.pop();
        Ok(())
    }

    pub(super) fn moment(&self) -> Now {
        Now { steady: self.now, wall: self.clock.now(), synced: self.synced }
    }
}

/// When a target was last tidied, in its own time. An index that cannot tell is no reason to wait: it only removes what is old.
fn last_tidied(office: &Office, target: &str) -> Option<Steady> {
    let filter = Filter { kind: TIDIED.name.parse().ok(), ..Filter::default() };
    let newest =
        office.index().ok()?.read(|conn| find(conn, &filter, Order::NewestFirst, TARGETS_MAX)).ok()?;
    newest.into_iter().find_map(|seq| {
        let entry = office.journal.entry(seq).ok()?.parse().ok()?;
        let Stored::Body(body) = &entry.content else { return None };
        let is_it = body.get("target").and_then(Value::as_str) == Some(target);
        is_it.then(|| body.get("steady").and_then(Value::as_u64).map(Steady)).flatten()
    })
}

/// What the lookouts had learnt, or why that is of no use. It is put aside then.
fn recall(
    file: &LookoutFile,
    place: &Place,
    records: &[Record],
    wall: Timestamp,
) -> (Option<Learnt>, Option<String>) {
    if place.detector != Detector::Lookout {
        return (None, None);
    }
    let why = match file.read() {
        Found::Nothing => return (None, None),
        Found::Learnt(learnt) if may_be(&learnt, place, records, wall) => return (Some(*learnt), None),
        Found::Learnt(_) => "it says that more time has passed than the clock does".to_owned(),
        Found::Unusable(why) => why,
    };
    let aside = file.put_aside();
    let kept = aside.map_or_else(|e| e.to_string(), |path| format!("kept as {}", path.display()));
    (None, Some(format!("{why} ({kept})")))
}

/// Whether as much time may have passed since the last record as the lookouts have seen. Limits are counted on time that surely
/// passed, so a file alone does not make it pass.
fn may_be(learnt: &Learnt, place: &Place, records: &[Record], wall: Timestamp) -> bool {
    let Some(last) = records.last() else { return learnt.at == Steady(0) };
    let passed = wall.since(last.wall).saturating_mul(place.speed.max(1)) + COLLECT_EVERY;
    learnt.at.since(last.at) <= passed
}

/// What is written down of a target that nothing was written down of: what it runs, and where it starts on the ladder.
/// Only a model starts anywhere but at the bottom.
fn enrolment(place: &Place, running: Identity, wall: Timestamp) -> Vec<Record> {
    let record = |event| Record { at: Steady(0), wall, synced: false, event };
    let mut records = vec![record(Event::Enrolled { known_good: running })];
    let (from, to) = (Level::Observe, place.starts_at);
    if to > from {
        let why = "its configuration lets this modelled host start there".to_owned();
        records.push(record(Event::LevelSet { from, to, by_person: true, why }));
    }
    records
}
