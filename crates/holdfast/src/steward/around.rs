//! Everything around a steward that is not its target: what is seen from outside, the brain, the window record, people.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_notice::{Notice, Severity};
use holdfast_steward::brain::{Earlier, Failure, consider};
use holdfast_steward::constitution::Measure;
use holdfast_steward::effect::{Asking, Compared, Full, Looked, Probe, TargetState, Tiding};
use holdfast_steward::lesson::{Lesson, Meant};
use holdfast_steward::outcome::Outcome;
use holdfast_steward::retrospective::{Reading, matched};
use holdfast_steward::sample::{Marked, Metric};
use holdfast_steward::setting::{Change, UnitName};
use holdfast_steward::trigger::{Ailing, Cause};
use holdfast_steward::watch::{
    COLLECT_EVERY, Collections, Noticed, Past, Sighting, Surroundings, Watch, means,
};
use holdfast_steward::{Claimed, Steward};
use holdfast_steward_host::Outside;
use tracing::warn;

use super::asks::{self, Wanted, Word};
use super::eyes::{Eyes, Outdoors, Watched};
use super::lookouts::Learnt;
use super::parts::Parts;
use super::sense::Sense;
use super::settings::Place;
use super::tidings;
use super::traces::Traces;
use super::vitals::Guard;
use super::window::Window;
use crate::kinds::own_actor;
use crate::office::Office;
use crate::problem::Failure as Trouble;
use holdfast_types::{ApprovalId, Timestamp};

/// Changes of regime that are remembered: a look back asks for the last one before a change of the last days.
const REGIMES_MAX: usize = 64;

/// What is kept of the past: a day before and a day after a change, and what a late look back needs.
pub(super) const PAST: Duration = Duration::from_secs(3 * 86_400);

/// Collections that are at hand: as long as the longest window.
const RECENT_MAX: usize = 60;
/// What was before a trial is measured over this.
const BEFORE: Duration = Duration::from_secs(600);

/// How long an inbox that could not be asked is let alone.
const INBOX_AGAIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Around {
    place: Place,
    eyes: Eyes,
    office: Weak<Office>,
    window: Window,
    /// Nothing where this program's file cannot be named: then nothing is tried.
    parts: Option<Parts>,
    /// Counts from its start.
    stopwatch: Instant,
    /// The moment the step under way began at, and when that was by the stopwatch.
    began: (Now, Duration),
    /// Where this house keeps its state: what must not run out of space.
    state: PathBuf,
    /// The primary metric, and restarts of the workload since the sample before.
    samples: Vec<(Steady, f64)>,
    restarts_since: Vec<(Steady, f64)>,
    collections: Collections,
    /// For whoever wants to see it drawn.
    traces: Traces,
    /// The last collections, for what a trial is said to do.
    recent: VecDeque<(Steady, Sighting)>,
    ailing: Ailing,
    /// What was our own doing.
    marked: Marked,
    sense: Sense,
    /// When something else began.
    regimes: Vec<Steady>,
    now: Now,
    last: Option<Sighting>,
    restarts: u32,
    /// How earlier changes ended, and what a day still allows.
    outcomes: Vec<Earlier>,
    spent_today: bool,
    /// What the brain meant by each of its answers, until whoever knows the episodes has taken it.
    thoughts: Vec<Option<Meant>>,
    /// The episode that waits for a person, and what it asked.
    asked: Option<(EpisodeId, ApprovalId)>,
    /// The inbox could not be asked, and is let alone until then.
    inbox_again: Option<Instant>,
}

/// What a collection gave.
#[derive(Debug)]
pub(super) struct Collected {
    /// What has changed for good, or is still changed.
    pub(super) changed: Option<Cause>,
    /// Whoever was killed for want of memory.
    pub(super) killed: Option<UnitName>,
    /// Endpoints that are ill and were so before.
    pub(super) ailing: Vec<Cause>,
}

impl Around {
    pub(super) fn new(
        place: &Place,
        eyes: Eyes,
        past: &[(Steady, Sighting)],
        learnt: Option<Learnt>,
        office: &Weak<Office>,
        state: PathBuf,
        windows: &Path,
    ) -> Around {
        let first = past.first().map_or(Steady(0), |(at, _)| *at);
        let quiet = eyes.quiet_week(first);
        let now = Now { steady: first, wall: Timestamp::EPOCH, synced: false };
        let mut around = Around {
            window: Window::of(windows, &place.name),
            parts: Parts::of_this_program().ok(),
            stopwatch: Instant::now(),
            began: (now, Duration::ZERO),
            place: place.clone(),
            eyes,
            office: office.clone(),
            samples: Vec::new(),
            restarts_since: Vec::new(),
            collections: Collections::new(&quiet),
            traces: Traces::default(),
            recent: VecDeque::new(),
            ailing: Ailing::default(),
            marked: Marked::default(),
            sense: Sense::of(place, &state, &quiet, past, learnt),
            state,
            regimes: Vec::new(),
            now,
            last: past.last().map(|(_, seen)| seen.clone()),
            restarts: 0,
            outcomes: Vec::new(),
            spent_today: false,
            thoughts: Vec::new(),
            asked: None,
            inbox_again: None,
        };
        past.iter().for_each(|(at, seen)| around.keep(*at, seen));
        around
    }

    /// From here on what is measured can be seen there, and what was measured before.
    pub(super) fn drawn_into(mut self, traces: Traces, past: &[(Steady, Sighting)]) -> Around {
        traces.begin(self.place.units());
        past.iter().for_each(|(at, seen)| traces.add(*at, seen));
        traces.judge(self.sense.watch(), self.noticed());
        self.traces = traces;
        self
    }

    /// Measures; nothing when the host does not answer.
    pub(super) fn collect(&mut self, now: Now) -> Option<Collected> {
        self.now = now;
        let seen = self.eyes.collect(now)?;
        self.keep(now.steady, &seen);
        self.recent.push_back((now.steady, seen.clone()));
        self.recent.drain(..self.recent.len().saturating_sub(RECENT_MAX));
        // Nobody knows when those were killed that the first look counts.
        let killed = self.last.as_ref().and_then(|last| seen.killed_since(last)).cloned();
        let moment = self.moments();
        let told: (&str, &dyn Fn(Steady) -> String) = (self.place.name.as_str(), &moment);
        let changed = self.sense.step(now.steady, &self.samples, &self.marked, &seen, told);
        if changed.is_some() {
            self.regimes.extend(self.noticed().map(|noticed| noticed.began));
            self.regimes.dedup();
            let surplus = self.regimes.len().saturating_sub(REGIMES_MAX);
            self.regimes.drain(..surplus);
        }
        self.last = Some(seen);
        self.traces.judge(self.sense.watch(), self.noticed());
        let ailing = self.ailing.step(self.eyes.endpoints());
        Some(Collected { changed, killed, ailing })
    }

    fn keep(&mut self, at: Steady, seen: &Sighting) {
        let oldest = Steady(at.0.saturating_sub(PAST.as_millis() as u64));
        let restarts = f64::from(seen.restarts().saturating_sub(self.restarts));
        self.restarts = seen.restarts();
        for (samples, value) in
            [(&mut self.samples, seen.pressure), (&mut self.restarts_since, Some(restarts))]
        {
            samples.retain(|(then, _)| *then >= oldest && *then < at);
            samples.extend(value.map(|value| (at, value)));
        }
        self.collections.add(at, seen);
        self.traces.add(at, seen);
    }

    /// What was measured in these intervals says nothing about how the target usually is.
    pub(super) fn leave_out(&mut self, marked: Marked) {
        self.marked = marked;
    }

    /// Reads of the last collection that failed.
    pub(super) fn failures(&self) -> u64 {
        self.eyes.failures()
    }

    pub(super) fn guard(&self) -> Guard {
        self.eyes.guard()
    }

    /// What each metric came to since what is tried went live, or lately.
    fn figures(&self, now: Steady) -> Vec<(Metric, f64)> {
        let before = Steady(now.0.saturating_sub(BEFORE.as_millis() as u64));
        let from = self.window.live_since().unwrap_or(before);
        let since = self.recent.iter().filter(|(at, _)| *at >= from).map(|(_, seen)| seen);
        means(self.place.units(), &since.collect::<Vec<_>>())
    }

    /// A step begins: what it takes is counted from here.
    pub(super) fn begin(&mut self, now: Now) {
        self.began = (now, self.stopwatch.elapsed());
    }

    /// The time now that a step was done which began then. The time of a modelled host is moved by others.
    pub(super) fn present(&self) -> Now {
        let (now, then) = self.began;
        let took =
            if self.eyes.are_real() { self.stopwatch.elapsed().saturating_sub(then) } else { Duration::ZERO };
        Now { steady: now.steady.plus(took), ..now }
    }

    /// Takes from the steward what a brain is told of the past. Before anything may be asked: what is still on probation may be
    /// kept and followed by the next within the same step, so it counts as kept.
    pub(super) fn remember(&mut self, steward: &Steward, now: Steady) {
        let cleared = steward.episode().and_then(|episode| episode.cleared.as_ref());
        let under_way = cleared.into_iter().flat_map(|cleared| &cleared.changes);
        let kept = |change: &Change| Earlier {
            change: change.clone(),
            outcome: Outcome::Kept,
            age: Some(Duration::ZERO),
        };
        let of = |record: &holdfast_steward::outcome::Record| {
            let (outcome, age) = (record.outcome, Some(now.since(record.at)));
            let changes: Vec<_> = record.changes().cloned().collect();
            changes.into_iter().map(move |change| Earlier { change, outcome, age })
        };
        let settled = steward.book().standing(&self.place.name).flat_map(of);
        self.outcomes = settled.chain(under_way.map(kept)).collect();
        self.spent_today = !steward.may_try_today(now);
    }

    /// What a change that is over did to what it was made for; nothing where that cannot be told.
    pub(super) fn learnt(&self, meant: Meant) -> Option<Lesson> {
        let history = self.collections.of(&meant.unit)?;
        let throttled = history.throttled().unwrap_or(0.0);
        let after = meant.diagnosis.severity(&history.facts(), throttled)?;
        Lesson::of(meant, after)
    }

    /// What the brain meant by its answers since this was last asked, in their order.
    pub(super) fn thoughts(&mut self) -> Vec<Option<Meant>> {
        std::mem::take(&mut self.thoughts)
    }

    /// What is going on, in one sentence.
    pub(super) fn noticed(&self) -> Option<Noticed> {
        let moment = self.moments();
        self.sense.noticed((self.place.name.as_str(), &moment))
    }

    /// How moments are written: by the clock, or by the target's own days where those are faster.
    fn moments(&self) -> impl Fn(Steady) -> String + use<> {
        let (now, speed) = (self.now, self.place.speed);
        move |at| {
            if speed > 1 {
                let minutes = at.0 / 60_000;
                let (day, hour, minute) = (minutes / 1440 + 1, minutes / 60 % 24, minutes % 60);
                return format!("{hour:02}:{minute:02} of its day {day}");
            }
            let ago = i64::try_from(now.steady.since(at).as_micros()).unwrap_or(i64::MAX);
            let wall = Timestamp::from_micros(now.wall.as_micros().saturating_sub(ago));
            let text = wall.unwrap_or(now.wall).to_string();
            format!("{} UTC", text.get(11..16).unwrap_or_default())
        }
    }

    /// Ends what is still connected.
    pub(super) fn hang_up(&self) {
        self.eyes.hang_up();
    }

    /// Why nothing is seen, or nothing noticed.
    pub(super) fn trouble(&self) -> Option<String> {
        self.eyes.trouble().or_else(|| self.sense.trouble())
    }

    /// What a person has said to what the steward waits for, and what it was asked with.
    pub(super) fn word(&mut self, waits_for: Wanted) -> Option<(String, bool)> {
        let office = self.office.upgrade()?;
        if self.inbox_again.is_some_and(|again| Instant::now() < again) {
            return None;
        }
        let known = self.asked.take().filter(|(of, _)| *of == waits_for.episode).map(|(_, ask)| ask);
        let answer = known
            .map_or_else(|| asks::ask(&office, &self.place.name, &waits_for, self.place.speed), Ok)
            .and_then(|ask| Ok((ask, asks::word(&office, &self.place.name, &waits_for, ask)?)));
        match answer {
            Ok((ask, Word::NotYet)) => {
                self.asked = Some((waits_for.episode, ask));
                None
            }
            Ok((_, word)) => Some((waits_for.digest, word == Word::Allowed)),
            Err(failure) => {
                warn_of(&failure, "the inbox of approvals could not be asked");
                self.inbox_again = Some(Instant::now() + INBOX_AGAIN);
                None
            }
        }
    }

    /// What notices change, as far as it is worth keeping.
    pub(super) fn watch(&self) -> Option<&Watch> {
        self.sense.watch()
    }

    pub(super) fn raise(&self, severity: Severity, message: String, event: &str, of: Option<&EpisodeId>) {
        let Some(office) = self.office.upgrade() else { return };
        let target = &self.place.name;
        let notice = Notice::new(severity, own_actor(), message).with("event", event).with("target", target);
        let notice = of.into_iter().fold(notice, |notice, episode| notice.with("episode", episode));
        let notice = notice.folding(format!("steward-{event}-{target}"));
        if let Err(e) = holdfast_notice::raise(&office.journal, &notice) {
            warn!(error = %e, "people could not be told");
        }
    }
}

impl Outside for Around {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        let ago = |since: Steady| {
            let span = i64::try_from(now.steady.since(since).as_micros()).unwrap_or(i64::MAX);
            Timestamp::from_micros(now.wall.as_micros().saturating_sub(span)).ok()
        };
        let live_since = self.window.live_since().and_then(ago);
        let Outdoors { endpoints, references, vpn, heartbeat, watched, whole, rehearsed } =
            self.eyes.look(now, live_since);
        Looked {
            ssh,
            endpoints,
            references,
            vpn,
            watched: match watched {
                Watched::WhateverIsOpen => self.window.episode(),
                Watched::Only(episode) => episode,
            },
            heartbeat,
            rehearsed,
            integrity: whole && self.parts.as_mut().is_some_and(Parts::are_as_started),
            space_here: rustix::fs::statvfs(&self.state)
                .map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize)),
            figures: self.figures(now.steady),
            target: reached,
        }
    }

    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        let office = self.office.upgrade();
        let experience = office.map(|office| office.bench.library.experience(&self.place.name));
        let past = Past {
            outcomes: self.outcomes.clone(),
            experience: experience.unwrap_or_default(),
            spent_today: self.spent_today,
        };
        let rules = &self.place.settings.rules;
        let surroundings =
            rules.probe_hosts.first().and_then(|host| host.parse().ok()).map(|host| Surroundings {
                host,
                endpoint_of: &self.place.settings.endpoint_of,
                memory_budget: rules.memory_budget,
            });
        let thought = surroundings
            .map(|around| consider(&self.collections.view(&around, asking, full, &self.samples, past)));
        self.thoughts.push(thought.as_ref().and_then(|thought| thought.intent.clone()).map(Meant::from));
        thought.map(|thought| thought.text).ok_or(Failure::InvalidOutput)
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window.open(&record, self.present().steady)
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.window.claim(episode, claim, self.present().steady)
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {
        // Put into the inbox by the next look at it (`word`), which also does so when this process dies in between.
    }

    fn withdraw_approval(&mut self, episode: &EpisodeId) {
        self.asked = None;
        let Some(office) = self.office.upgrade() else { return };
        if let Err(failure) = asks::withdraw(&office, &self.place.name, episode, "the episode is over") {
            warn_of(&failure, "an ask could not be taken back");
        }
    }

    fn compare(&mut self, switched: Steady) -> Compared {
        let began = self.regimes.iter().rev().find(|began| **began <= switched).copied();
        let (before, after) = matched(&self.samples, switched, began, self.marked.intervals());
        // A guard that nothing here measures has no reading, and decides nothing.
        let per_second: Vec<(Steady, f64)> = self
            .restarts_since
            .iter()
            .map(|(at, restarts)| (*at, restarts / COLLECT_EVERY.as_secs_f64()))
            .collect();
        let restarts = matched(&per_second, switched, began, self.marked.intervals());
        let guard = |guard: &Measure| {
            let (before, after) = if guard.metric == Metric::restarts() { restarts } else { (None, None) };
            Reading { metric: guard.metric.clone(), before, after }
        };
        Compared {
            before,
            after,
            guards: self.place.settings.constitution.guards().iter().map(guard).collect(),
        }
    }

    fn rebase(&mut self) {
        self.sense.rebase(self.now.steady);
    }

    fn tell(&mut self, tiding: &Tiding) {
        if let Some((severity, event, message)) = tidings::told(tiding, &self.place.name) {
            self.raise(severity, message, event, tiding.episode());
        }
    }

    fn now(&mut self, began: Now) -> Now {
        if self.eyes.are_real() { self.present() } else { began }
    }

    fn stopwatch(&self) -> u64 {
        self.stopwatch.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

pub(super) fn warn_of(failure: &Trouble, what: &str) {
    match failure {
        Trouble::Problem(problem) => warn!(code = %problem.code, why = problem.what, "{what}"),
        Trouble::ReaderLeft => warn!("{what}"),
    }
}
