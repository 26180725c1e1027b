//! One step: what happened is given to the phase it concerns, and what that decides is written down.
//!
//! Every phase is named in every match, so that a new one has to be thought of everywhere.

use std::time::Duration;

use holdfast_lifeline::{Channel, Flaw, Sound, Steady};

use super::{LOOK_WITHIN, Step, Steward};
use crate::effect::{Answer, Effect, Fault, Input, Look, Looked, Op, Person, Tiding, Verb};
use crate::episode::{Cleared, Ending, Phase, Why};
use crate::event::{Event, Record};
use crate::invariant::{self, Check, Moment};
use crate::ladder::{self, Fact, Level};
use crate::outcome::Outcome;
use crate::retrospective::Retrospectives;
use crate::sample::Freshness;
use crate::trigger::{Cause, Offered};
use crate::verify::Shortfall;

/// One step under way: the steward, and what the step has come to so far.
pub(super) struct Turn<'a> {
    pub(super) steward: &'a mut Steward,
    pub(super) step: Step,
    /// Milliseconds from anywhere: what the gates take is measured by it.
    pub(super) stopwatch: &'a mut dyn FnMut() -> u64,
}

impl Turn<'_> {
    pub(super) fn now(&self) -> Steady {
        self.steward.now.steady
    }

    pub(super) fn sound(&self) -> Sound {
        self.steward.sound
    }

    pub(super) fn after(&self, span: Duration) -> Steady {
        self.now().plus(span)
    }

    /// Writes down, and takes for true from here on.
    pub(super) fn record(&mut self, event: Event) {
        self.steward.apply(&event);
        let now = self.steward.now;
        self.step.records.push(Record { at: now.steady, wall: now.wall, synced: now.synced, event });
    }

    pub(super) fn act(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    pub(super) fn op(&mut self) -> Op {
        let op = Op(self.steward.next_op);
        self.steward.next_op += 1;
        op
    }

    pub(super) fn move_to(&mut self, phase: Phase) {
        if let Some(episode) = &self.steward.episode {
            let episode = episode.id.clone();
            self.record(Event::Moved { episode, phase: Box::new(phase) });
        }
    }

    /// Something in the phase that a restart need not know.
    pub(super) fn note(&mut self, phase: Phase) {
        self.steward.enter(phase);
    }

    pub(super) fn call(&mut self, op: Op, verb: Verb, within: Duration) {
        self.act(Effect::Call { op, over: Channel::First, verb, within });
    }

    pub(super) fn look(&mut self, op: Op, look: Look) {
        self.act(Effect::Look { op, look, within: LOOK_WITHIN });
    }

    pub(super) fn look_for(&self, full: bool, renew: bool) -> Look {
        let episode = self.steward.episode.as_ref().map(|episode| episode.id.clone());
        let moment = if renew { Moment::Window } else { Moment::Preflight };
        let ssh_within = invariant::timeout(Check::Ssh, moment).unwrap_or(LOOK_WITHIN);
        Look { over: Channel::First, full, renew: episode.clone().filter(|_| renew), episode, ssh_within }
    }

    pub(super) fn end(&mut self, outcome: Outcome, reason: impl Into<String>, tried: bool) {
        let Some(episode) = &self.steward.episode else { return };
        let id = episode.id.clone();
        let was_open = self.steward.breaker.is_open();
        self.record(Event::Ended { episode: id, ending: Ending { outcome, reason: reason.into(), tried } });
        if self.steward.breaker.is_open() && !was_open {
            self.record(Event::BreakerOpened);
            self.act(Effect::Tell(Tiding::BreakerOpened));
            self.lower_after_breaker();
        }
    }

    /// Also asked at a start: the record of the opening may be the last that could be written.
    pub(super) fn lower_after_breaker(&mut self) {
        let (from, to) = (self.steward.level, ladder::after_breaker(self.steward.level));
        if self.steward.breaker.is_open() && from != to {
            let why = "too many trials in a row were undone".to_owned();
            self.record(Event::LevelSet { from, to, by_person: false, why });
        }
    }

    pub(super) fn cleared(&self) -> Option<Cleared> {
        self.steward.episode.as_ref()?.cleared.clone()
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Resumed => self.resumed(),
            Input::Time => self.time(),
            Input::Trigger(cause) => self.trigger(cause),
            Input::Collected => self.collected(),
            Input::Sampled { from } => {
                let at = self.steward.now.into();
                self.steward.evidence.fold(&Fact::Continuous { from, at });
            }
            Input::Answered { op, answer } => self.answered(op, answer),
            Input::Looked { op, looked } => self.looked(op, &looked),
            Input::Brain { op, said } => self.brain(op, said),
            Input::Window { op, claimed } => self.window(op, claimed),
            Input::Approval { episode, digest, allowed } => self.approval(&episode, &digest, allowed),
            Input::Paused(paused) => self.paused(paused),
            Input::Person(person) => self.person(person),
        }
        self.pay_what_is_owed();
        self.open_when_due();
        self.look_back_when_due();
    }

    pub(super) fn answered(&mut self, op: Op, answer: Result<Answer, Fault>) {
        if self.steward.comparing.as_ref().is_some_and(|(wanted, _, _)| *wanted == op) {
            return self.compared(answer);
        }
        let Some(phase) = self.waits_for(op) else { return };
        match phase {
            Phase::Checking { until, .. } => self.checked(until, answer),
            Phase::Staging { until, known_good, .. } => self.staged(until, known_good, answer),
            Phase::Arming { trial, before, .. } => self.armed(trial, before, answer),
            Phase::Starting { trial, before, .. } => self.started(trial, before, answer),
            Phase::Activating { until, trial, before, called, .. } => {
                self.polled(until, trial, before, called, answer);
            }
            Phase::Keeping { trial, before, tries, .. } => self.keep_answered(trial, before, tries, answer),
            Phase::Undoing { .. } => self.undo_answered(answer),
            // These ask for a look, a claim, a brain or a person, and not for a word of the target.
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. }
            | Phase::Opening { .. }
            | Phase::Verifying(_)
            | Phase::LastLook { .. }
            | Phase::Claiming { .. }
            | Phase::ReadingBack { .. }
            | Phase::Probation(_)
            | Phase::Closing { .. }
            | Phase::TakingOver { .. }
            | Phase::StandingBy { .. } => {}
        }
    }

    /// The phase of the open episode, when it is the one that asked.
    fn waits_for(&self, op: Op) -> Option<Phase> {
        let phase = &self.steward.episode.as_ref()?.phase;
        (phase.op() == Some(op)).then(|| phase.clone())
    }

    pub(super) fn looked(&mut self, op: Op, looked: &Looked) {
        let Some(phase) = self.waits_for(op) else { return };
        match phase {
            Phase::Looking { .. } => self.first_look(looked),
            Phase::Preflight { trial, approved, drain_until, .. } => {
                self.preflight(trial, approved, drain_until, looked);
            }
            Phase::Verifying(verifying) => self.cycle(verifying, looked),
            Phase::LastLook { trial, before, activated, .. } => {
                self.last_look(trial, before, activated, looked);
            }
            Phase::ReadingBack { trial, before, tries, .. } => self.read_back(trial, before, tries, looked),
            Phase::Probation(probation) => self.probation(probation, looked),
            Phase::Undoing { .. } => self.undo_looked(looked),
            Phase::StandingBy { until, trial, why, kept, .. } => {
                self.stood_by(until, trial, why, kept, looked);
            }
            // These ask for something else.
            Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Opening { .. }
            | Phase::Arming { .. }
            | Phase::Starting { .. }
            | Phase::Activating { .. }
            | Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::Closing { .. }
            | Phase::TakingOver { .. } => {}
        }
    }

    /// The clock went on: whatever was to be answered by now was not.
    pub(super) fn time(&mut self) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        if phase.wakes_at().is_none_or(|at| self.now() < at) {
            return;
        }
        match phase {
            Phase::Looking { .. } | Phase::Asking { .. } | Phase::Checking { .. } => {
                self.end(Outcome::Failed, "an answer did not come in time", false);
            }
            Phase::Staging { .. } => {
                self.end(Outcome::Failed, "the target did not finish building in time", false);
            }
            Phase::Waiting { .. } => self.unapproved("nobody answered in time"),
            Phase::Draining { trial, approved, until, .. } => self.look_again(trial, approved, Some(until)),
            Phase::Preflight { .. } => {
                self.end(Outcome::Failed, "the target could not be looked at in time", false);
            }
            Phase::Opening { .. } => self.unopened("the window record could not be written in time"),
            Phase::Arming { trial, .. } => self.arm_unknown(trial),
            Phase::Starting { trial, before, .. } => self.poll_from_now(trial, before),
            Phase::Activating { until, trial, before, called, .. } => self.poll(until, trial, before, called),
            Phase::Verifying(verifying) => self.next_cycle(verifying),
            Phase::LastLook { trial, .. } => self.undo(trial, Why::Window(Shortfall::FewSamples), false),
            Phase::Claiming { trial, .. } => self.undo(trial, Why::KeepRefused, false),
            Phase::Keeping { trial, before, tries, .. } => {
                self.keep_answered(trial, before, tries, Err(Fault::TimedOut));
            }
            Phase::ReadingBack { trial, before, tries, .. } => self.look_whether_kept(trial, before, tries),
            Phase::Probation(probation) => self.probation_time(probation),
            Phase::Closing { .. } => self.end_kept(),
            Phase::TakingOver { trial, why, kept, .. } => self.begin_cascade(trial, why, kept),
            Phase::Undoing { .. } => self.undo_time(),
            Phase::StandingBy { until, trial, why, kept, .. } => self.stand_by_time(until, trial, why, kept),
        }
    }

    /// After a start nothing of what was under way is believed. What is on the target is undone, or, when it was decided to
    /// keep it, read back.
    pub(super) fn resumed(&mut self) {
        self.steward.freshness = Freshness { last_success: None };
        self.lower_after_breaker();
        if self.sound().has(Flaw::RetrospectiveLost) {
            self.steward.retrospectives = Retrospectives::default();
        }
        if self.sound().has(Flaw::RetrospectiveTwice) {
            self.steward.retrospectives.reopen();
        }
        if self.sound().has(Flaw::OpenEpisodeForgotten) {
            return self.end(Outcome::Failed, "the controller was restarted", false);
        }
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        let interrupted = Why::Interrupted;
        match phase {
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. } => {
                self.end(Outcome::Failed, "the controller was restarted before anything was tried", false);
            }
            Phase::Waiting { .. } => {}
            Phase::Opening { .. } => self.unopened("the controller was restarted before anything was tried"),
            Phase::Arming { trial, .. }
            | Phase::Starting { trial, .. }
            | Phase::Activating { trial, .. }
            | Phase::LastLook { trial, .. }
            | Phase::Claiming { trial, .. } => self.undo(trial, interrupted, false),
            Phase::Verifying(verifying) => self.undo(verifying.trial, interrupted, false),
            Phase::Keeping { trial, before, tries, .. } | Phase::ReadingBack { trial, before, tries, .. } => {
                self.look_whether_kept(trial, before, tries);
            }
            Phase::Probation(probation) => self.probation_again(probation),
            Phase::Closing { .. } => self.end_kept(),
            Phase::TakingOver { trial, why, kept, .. } | Phase::Undoing { trial, why, kept, .. } => {
                self.undo(trial, why, kept);
            }
            Phase::StandingBy { until, trial, why, kept, .. } => self.stand_by_time(until, trial, why, kept),
        }
    }

    pub(super) fn collected(&mut self) {
        let now = self.steward.now;
        self.steward.freshness = Freshness { last_success: Some(now.steady) };
        self.steward.evidence.fold(&Fact::Sampled { at: now.into() });
        self.consolidate_when_due();
        let gate = self.steward.gate();
        let after = self.steward.settings.routine_after;
        if let Some(Offered::Accepted | Offered::Coalesced) =
            self.steward.queue.clone().tick(now.steady, after, &gate)
        {
            self.record(Event::Queued { cause: Cause::Routine });
        }
    }

    pub(super) fn trigger(&mut self, cause: Cause) {
        let gate = self.steward.gate();
        // Tried on a copy: what is not taken leaves no record, and what leaves none changes nothing.
        match self.steward.queue.clone().offer(self.now(), cause.clone(), &gate) {
            Offered::Accepted | Offered::Coalesced => self.record(Event::Queued { cause }),
            Offered::Suppressed(_) => {}
        }
    }

    pub(super) fn person(&mut self, person: Person) {
        match person {
            Person::SetLevel { to } => self.set_level(to),
            Person::RollBack => self.take_back(Why::Asked),
            Person::ResetBreaker => {
                if self.steward.breaker.is_open() {
                    self.record(Event::BreakerReset);
                }
            }
            Person::AcceptTarget { found } => {
                if self.steward.episode.is_none() {
                    self.record(Event::Accepted { known_good: found });
                }
            }
            Person::Reviewed { episode } => {
                let target = &self.steward.settings.target;
                if self.steward.book.standing(target).any(|record| record.episode == episode) {
                    self.record(Event::Reviewed { episode });
                }
            }
            Person::Rehearsed { tripwire } => self.record(Event::Rehearsed { tripwire }),
            Person::Trigger { by } => self.trigger(Cause::Asked { by }),
        }
    }

    /// Down at once; up one rung, with the evidence for it.
    pub(super) fn set_level(&mut self, to: Level) {
        let from = self.steward.level;
        let (to, why) = if to <= from {
            (to, "a person asked for it".to_owned())
        } else {
            match ladder::raise(from, &self.steward.evidence, self.steward.now) {
                Ok(next) if next == to || self.sound().has(Flaw::LevelIgnored) => {
                    (to, "the evidence is there".to_owned())
                }
                Ok(_) | Err(_) => return,
            }
        };
        if to != from {
            self.record(Event::LevelSet { from, to, by_person: true, why });
        }
        if to < Level::ApproveEach && !self.sound().has(Flaw::LevelIgnored) {
            self.take_back(Why::Lowered);
        }
    }

    pub(super) fn paused(&mut self, paused: bool) {
        self.steward.paused = paused;
        if paused && !self.sound().has(Flaw::PauseIgnored) {
            self.take_back(Why::Paused);
        }
    }
}
