//! One step: what happened is given to the phase it concerns, and what that decides is written down.
//!
//! Every phase is named in every match, so that a new one has to be thought of everywhere.

use std::time::Duration;

use holdfast_lifeline::{Channel, Flaw, Sound, Steady};

use super::{LOOK_WITHIN, Step, Steward};
use crate::effect::{Answer, Effect, Fault, Input, Look, Looked, Op, Person, Tiding, Verb};
use crate::episode::{Cleared, Ending, Phase, Why};
use crate::event::{Event, Record};
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
        Look { over: Channel::First, full, renew: episode.clone().filter(|_| renew), episode }
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
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        match phase {
            Phase::Checking { op: wanted, .. } if wanted == op => self.checked(answer),
            Phase::Staging { op: wanted, known_good, .. } if wanted == op => self.staged(known_good, answer),
            Phase::Arming { op: wanted, trial, before, .. } if wanted == op => {
                self.armed(trial, before, answer)
            }
            Phase::Starting { op: wanted, trial, before, .. } if wanted == op => {
                self.started(trial, before, answer)
            }
            Phase::Activating { op: Some(wanted), until, trial, before, called, .. } if wanted == op => {
                self.polled(until, trial, before, called, answer);
            }
            Phase::Keeping { op: wanted, trial, before, tries, .. } if wanted == op => {
                self.keep_answered(trial, before, tries, answer);
            }
            Phase::Undoing { op: Some(wanted), .. } if wanted == op => self.undo_answered(answer),
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. }
            | Phase::Opening { .. }
            | Phase::Arming { .. }
            | Phase::Starting { .. }
            | Phase::Activating { .. }
            | Phase::Verifying(_)
            | Phase::LastLook { .. }
            | Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Probation(_)
            | Phase::Closing { .. }
            | Phase::TakingOver { .. }
            | Phase::Undoing { .. }
            | Phase::StandingBy { .. } => {}
        }
    }

    pub(super) fn looked(&mut self, op: Op, looked: &Looked) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        match phase {
            Phase::Looking { op: wanted, .. } if wanted == op => self.first_look(looked),
            Phase::Preflight { op: wanted, trial, approved, drain_until, .. } if wanted == op => {
                self.preflight(trial, approved, drain_until, looked);
            }
            Phase::Verifying(verifying) if verifying.op == Some(op) => self.cycle(verifying, looked),
            Phase::LastLook { op: wanted, trial, before, activated, .. } if wanted == op => {
                self.last_look(trial, before, activated, looked);
            }
            Phase::ReadingBack { op: Some(wanted), trial, before, tries, .. } if wanted == op => {
                self.read_back(trial, before, tries, looked);
            }
            Phase::Probation(probation) if probation.op == Some(op) => self.probation(probation, looked),
            Phase::Undoing { op: Some(wanted), .. } if wanted == op => self.undo_looked(looked),
            Phase::StandingBy { op: Some(wanted), until, trial, why, kept, .. } if wanted == op => {
                self.stood_by(until, trial, why, kept, looked);
            }
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. }
            | Phase::Opening { .. }
            | Phase::Arming { .. }
            | Phase::Starting { .. }
            | Phase::Activating { .. }
            | Phase::Verifying(_)
            | Phase::LastLook { .. }
            | Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Probation(_)
            | Phase::Closing { .. }
            | Phase::TakingOver { .. }
            | Phase::Undoing { .. }
            | Phase::StandingBy { .. } => {}
        }
    }

    /// The clock went on: whatever was to be answered by now was not.
    pub(super) fn time(&mut self) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        let now = self.now();
        match phase {
            Phase::Looking { until, .. } | Phase::Asking { until, .. } | Phase::Checking { until, .. }
                if now >= until =>
            {
                self.end(Outcome::Failed, "an answer did not come in time", false);
            }
            Phase::Staging { until, .. } if now >= until => {
                self.end(Outcome::Failed, "the target did not finish building in time", false);
            }
            Phase::Waiting { until, .. } if now >= until => self.unapproved("nobody answered in time"),
            Phase::Draining { trial, approved, look_at, until } if now >= look_at.min(until) => {
                self.look_again(trial, approved, Some(until));
            }
            Phase::Preflight { until, .. } if now >= until => {
                self.end(Outcome::Failed, "the target could not be looked at in time", false);
            }
            Phase::Opening { until, .. } if now >= until => {
                self.end(Outcome::Failed, "the window record could not be written in time", false);
            }
            Phase::Arming { until, trial, .. } if now >= until => self.arm_unknown(trial),
            Phase::Starting { until, trial, before, .. } if now >= until => self.poll_from_now(trial, before),
            Phase::Activating { poll_at, until, trial, before, called, .. } if now >= poll_at.min(until) => {
                self.poll(until, trial, before, called);
            }
            Phase::Verifying(verifying) if now >= verifying.look_at => self.next_cycle(verifying),
            Phase::LastLook { until, trial, .. } if now >= until => {
                self.undo(trial, Why::Window(Shortfall::FewSamples), false);
            }
            Phase::Claiming { until, trial, .. } if now >= until => {
                self.undo(trial, Why::KeepRefused, false);
            }
            Phase::Keeping { until, trial, before, tries, .. } if now >= until => {
                self.keep_answered(trial, before, tries, Err(Fault::TimedOut));
            }
            Phase::ReadingBack { look_at, trial, before, tries, .. } if now >= look_at => {
                self.look_whether_kept(trial, before, tries);
            }
            Phase::Probation(probation) if now >= probation.look_at.min(probation.until) => {
                self.probation_time(probation);
            }
            Phase::Closing { until, .. } if now >= until => self.end_kept(),
            Phase::TakingOver { until, trial, why, kept, .. } if now >= until => {
                self.begin_cascade(trial, why, kept);
            }
            Phase::Undoing { .. } => self.undo_time(),
            Phase::StandingBy { look_at, until, trial, why, kept, .. } if now >= look_at.min(until) => {
                self.stand_by_time(until, trial, why, kept);
            }
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. }
            | Phase::Opening { .. }
            | Phase::Arming { .. }
            | Phase::Starting { .. }
            | Phase::Activating { .. }
            | Phase::Verifying(_)
            | Phase::LastLook { .. }
            | Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Probation(_)
            | Phase::Closing { .. }
            | Phase::TakingOver { .. }
            | Phase::StandingBy { .. } => {}
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
            // Nothing is sent to the target before the record is known to be written.
            Phase::Opening { .. } => {
                self.close_window();
                self.end(Outcome::Failed, "the controller was restarted before anything was tried", false);
            }
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
        if let Some(Offered::Accepted | Offered::Coalesced) =
            self.steward.queue.clone().tick(now.steady, &gate)
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
            Person::RollBack => self.asked_to_undo(),
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
            Person::Reviewed { episode } => self.record(Event::Reviewed { episode }),
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
            self.stand_down(Why::Lowered);
        }
    }

    pub(super) fn paused(&mut self, paused: bool) {
        self.steward.paused = paused;
        if paused && !self.sound().has(Flaw::PauseIgnored) {
            self.stand_down(Why::Paused);
        }
    }

    /// Takes back what is tried, and ends what is planned; what was kept stays, and is watched.
    pub(super) fn stand_down(&mut self, why: Why) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        match phase {
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. } => self.unapproved(&why.sentence()),
            Phase::Opening { trial, .. }
            | Phase::Arming { trial, .. }
            | Phase::Starting { trial, .. }
            | Phase::Activating { trial, .. }
            | Phase::LastLook { trial, .. } => self.undo(trial, why, false),
            Phase::Verifying(verifying) => self.undo(verifying.trial, why, false),
            Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Probation(_)
            | Phase::Closing { .. }
            | Phase::TakingOver { .. }
            | Phase::Undoing { .. }
            | Phase::StandingBy { .. } => {}
        }
    }
}
