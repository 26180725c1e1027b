//! From the lease to what is kept: arm, try, verify, and keep exactly what was verified.

use std::time::Duration;

use holdfast_lifeline::{Claim, Flaw, GRACE, Owner, Steady};

use super::{CALL_WITHIN, LOOK_WITHIN, RECORD_WITHIN, SLACK, Turn};
use crate::effect::{Activation, Answer, Effect, Fault, Looked, Op, Tiding, Verb, Workload};
use crate::episode::{Before, Phase, Probation, Trial, Verifying, Violation, Why};
use crate::event::Event;
use crate::invariant::Moment;
use crate::ladder::Level;
use crate::look::{self, Expected};
use crate::outcome::Outcome;
use crate::prediction::{Came, Prediction};
use crate::proposal::Expected as Foretold;
use crate::retrospective;
use crate::trigger::Cause;
use crate::verify::{CYCLE, Cycle, Shortfall, Verdict, Window};

/// An activation that takes longer than this is undone. The lease, not renewed meanwhile, leaves room for the first cycle.
const ACTIVE_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_secs(5);
/// Tries to keep what the target has not kept, before going back.
const KEEP_TRIES: u8 = 3;
const READ_BACK_EVERY: Duration = Duration::from_secs(15);
/// How long what was kept is watched with the way back armed.
pub(super) const PROBATION: Duration = Duration::from_secs(2 * 3600);
pub(super) const PROBATION_LOOK: Duration = Duration::from_secs(60);

/// How a claim of the window record came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    Won,
    /// The tripwire has it.
    Tripwire,
    /// It is in a state in which this cannot be claimed, or there is none.
    Lost,
}

impl Turn<'_> {
    pub(super) fn window(&mut self, op: Op, claimed: Claimed) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        match phase {
            Phase::Opening { op: wanted, trial, before, .. } if wanted == op => match claimed {
                Claimed::Won => self.arm(trial, before),
                Claimed::Tripwire | Claimed::Lost => {
                    self.end(Outcome::Failed, "the window record is taken by another trial", false);
                }
            },
            Phase::Claiming { op: wanted, trial, before, .. } if wanted == op => match claimed {
                Claimed::Won => self.keep(trial, before, 0),
                _ if self.sound().has(Flaw::BothOwnersAct) => self.keep(trial, before, 0),
                Claimed::Tripwire => self.stand_by(trial, Why::Tripwire, false),
                Claimed::Lost => self.undo(trial, Why::KeepRefused, false),
            },
            Phase::Closing { op: wanted, trial, .. } if wanted == op => match claimed {
                Claimed::Tripwire => self.stand_by(trial, Why::Tripwire, true),
                Claimed::Won | Claimed::Lost => self.end_kept(),
            },
            Phase::TakingOver { op: wanted, trial, why, kept, .. } if wanted == op => match claimed {
                Claimed::Tripwire if !self.sound().has(Flaw::BothOwnersAct) => {
                    self.stand_by(trial, Why::Tripwire, kept);
                }
                Claimed::Won | Claimed::Lost | Claimed::Tripwire => self.begin_cascade(trial, why, kept),
            },
            _ => {}
        }
    }

    /// The way back comes first: nothing is tried before the target has confirmed that it will undo it.
    fn arm(&mut self, trial: Trial, before: Before) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        self.record(Event::Counted { episode: episode.clone() });
        if self.sound().has(Flaw::NoLease) {
            return self.start(trial, before);
        }
        let op = self.op();
        self.move_to(Phase::Arming { op, until: self.after(CALL_WITHIN + SLACK), trial, before });
        let verb = Verb::Arm {
            episode,
            known_good: trial.known_good,
            candidate: trial.candidate,
            lasts: self.lease_lasts(),
            cap: self.lease_cap(),
        };
        self.call(op, verb, CALL_WITHIN);
    }

    pub(super) fn armed(&mut self, trial: Trial, before: Before, answer: Result<Answer, Fault>) {
        match answer {
            Ok(Answer::Armed(_)) => self.start(trial, before),
            Err(Fault::Refused(refused)) => {
                let drifted = refused == holdfast_lifeline::Refused::NotKnownGood;
                self.close_window();
                if drifted {
                    let expected = trial.known_good;
                    self.record(Event::Drifted { expected, found: expected });
                    self.act(Effect::Tell(Tiding::Drifted));
                }
                self.end(Outcome::Failed, format!("the target would not arm: {refused}"), false);
            }
            Err(_) | Ok(_) if self.sound().has(Flaw::ArmNotConfirmed) => self.start(trial, before),
            Err(_) | Ok(_) => self.arm_unknown(trial),
        }
    }

    pub(super) fn arm_unknown(&mut self, trial: Trial) {
        self.undo(trial, Why::ArmUnknown, false);
    }

    fn start(&mut self, trial: Trial, before: Before) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let op = self.op();
        self.move_to(Phase::Starting { op, until: self.after(CALL_WITHIN + SLACK), trial, before });
        self.call(op, Verb::Try { episode, candidate: trial.candidate }, CALL_WITHIN);
    }

    pub(super) fn started(&mut self, trial: Trial, before: Before, answer: Result<Answer, Fault>) {
        match answer {
            Err(Fault::Refused(_)) => self.undo(trial, Why::KeepRefused, false),
            // The answer may be lost and the trial under way: ask.
            Ok(_) | Err(Fault::Unreachable | Fault::TimedOut | Fault::Broken) => {
                self.poll_from_now(trial, before)
            }
        }
    }

    pub(super) fn poll_from_now(&mut self, trial: Trial, before: Before) {
        let (now, until) = (self.now(), self.after(ACTIVE_WITHIN));
        self.move_to(Phase::Activating {
            op: None,
            seen: false,
            poll_at: now,
            until,
            trial,
            before,
            called: now,
        });
        self.poll(until, trial, before, now);
    }

    fn activation_seen(&self) -> bool {
        matches!(
            self.steward.episode.as_ref().map(|episode| &episode.phase),
            Some(Phase::Activating { seen: true, .. })
        )
    }

    pub(super) fn poll(&mut self, until: Steady, trial: Trial, before: Before, called: Steady) {
        if self.now() >= until {
            let why = if self.activation_seen() { Why::ActivationFailed } else { Why::ActivationUnseen };
            return self.undo(trial, why, false);
        }
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let op = self.op();
        let poll_at = self.after(CALL_WITHIN + SLACK);
        self.note(Phase::Activating { op: Some(op), seen: false, poll_at, until, trial, before, called });
        self.call(op, Verb::Poll { episode }, CALL_WITHIN);
    }

    pub(super) fn polled(
        &mut self,
        until: Steady,
        trial: Trial,
        before: Before,
        called: Steady,
        answer: Result<Answer, Fault>,
    ) {
        let poll_at = self.after(POLL_EVERY);
        let seen = answer.is_ok();
        let wait = Phase::Activating { op: None, seen, poll_at, until, trial, before, called };
        match answer {
            Ok(Answer::Activation(Activation::Done { identity, boot, workload })) => {
                let checked = !self.sound().has(Flaw::IdentityNotChecked);
                if boot != before.boot && checked {
                    return self.undo(trial, Why::Violation(Violation::Boot), false);
                }
                if identity != trial.candidate && checked {
                    return self.undo(trial, Why::Violation(Violation::Identity), false);
                }
                self.verify(trial, Before { workload, ..before }, called);
            }
            Ok(Answer::Activation(Activation::Failed | Activation::Unknown)) => {
                self.undo(trial, Why::ActivationFailed, false);
            }
            Ok(_) | Err(_) => self.note(wait),
        }
    }

    /// The window begins when the activation was seen complete, not when it was asked for.
    fn verify(&mut self, trial: Trial, before: Before, called: Steady) {
        let activated = if self.sound().has(Flaw::GraceFromCall) { called } else { self.now() };
        let window = Window::new(self.window_length());
        let verifying = Verifying {
            op: None,
            look_at: self.now(),
            trial,
            before,
            activated,
            window,
            metric_sum: 0.0,
            metric_count: 0,
            foretold: None,
        };
        self.move_to(Phase::Verifying(verifying.clone()));
        self.claim(Claim::Activate { since: activated });
        self.next_cycle(verifying);
    }

    pub(super) fn claim(&mut self, claim: Claim) -> Op {
        let op = self.op();
        if let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) {
            self.act(Effect::ClaimWindow { op, episode, claim });
        }
        op
    }

    pub(super) fn close_window(&mut self) {
        self.claim(Claim::Close { by: Owner::Controller });
    }

    pub(super) fn next_cycle(&mut self, mut verifying: Verifying) {
        let op = self.op();
        verifying.op = Some(op);
        verifying.look_at = self.after(CYCLE);
        self.note(Phase::Verifying(verifying));
        let renew = !self.sound().has(Flaw::LeaseNotRenewed);
        let look = self.look_for(false, renew);
        self.look(op, look);
    }

    /// What a look in the window is measured by.
    fn window_expected(
        &self,
        moment: Moment,
        trial: Trial,
        before: Before,
        activated: Steady,
    ) -> Expected<'_> {
        Expected {
            moment,
            identity: trial.candidate,
            before: Some(before),
            activated: Some(activated),
            excused: None,
            episode: self.steward.episode.as_ref().map(|episode| &episode.id),
            now: self.now(),
            settings: &self.steward.settings,
        }
    }

    pub(super) fn cycle(&mut self, mut verifying: Verifying, looked: &Looked) {
        let Verifying { trial, activated, .. } = verifying;
        let in_grace = self.now() < activated.plus(GRACE);
        if let Some(target) = looked.target.as_ref().filter(|_| in_grace && self.was_being_killed()) {
            // Whoever was killed just before the change went live is started again just after it. It is counted from the end of the grace
            // on: a change that does not help is seen there.
            let Workload { restarts, kills, .. } = target.workload;
            let workload = &mut verifying.before.workload;
            (workload.restarts, workload.kills) = (restarts, kills);
        }
        let before = verifying.before;
        let expected = self.window_expected(Moment::Window, trial, before, activated);
        let judged = look::cycle(looked, &expected, self.sound());
        if let Some(violation) = judged.violation {
            return self.undo(trial, Why::Violation(violation), false);
        }
        let cycle = if in_grace { Cycle::Grace } else { judged.cycle };
        if let Some(metric) = looked.target.as_ref().and_then(|target| target.metric) {
            verifying.metric_sum += metric;
            verifying.metric_count += 1;
        }
        if let Some(expected) = self.foretold() {
            // Each is a mean over the window so far, so the last is over all of it.
            verifying.foretold = looked.figure(&expected.metric).or(verifying.foretold);
        }
        verifying.op = None;
        let verdict = verifying.window.take(cycle, self.sound());
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let probes = looked.probes();
        self.record(Event::Scored { episode, cycle, verifying: Box::new(verifying.clone()), probes });
        match verdict {
            Verdict::GoOn => {}
            Verdict::Failed(shortfall) => self.undo(trial, Why::Window(shortfall), false),
            Verdict::Passed if self.metric_is_worse(&verifying) => self.undo(trial, Why::MetricWorse, false),
            Verdict::Passed if self.promise_was_broken(&verifying) => {
                self.undo(trial, Why::NotAsForetold, false);
            }
            Verdict::Passed => self.look_last(trial, before, activated),
        }
    }

    /// What the proposal foretold. A revert foretells nothing: it goes back to what was good, whatever comes of it.
    fn foretold(&self) -> Option<Foretold> {
        let episode = self.steward.episode.as_ref().filter(|episode| episode.reverts.is_none())?;
        episode.cleared.as_ref()?.expected.clone()
    }

    /// Writes down whether what was foretold came true. It decides where the steward may do most by itself: a brain that is trusted
    /// with more has to know what it does.
    fn promise_was_broken(&mut self, verifying: &Verifying) -> bool {
        let Some((expected, episode)) = self.foretold().zip(self.steward.episode.as_ref()) else {
            return false;
        };
        let (episode, primary) = (episode.id.clone(), self.steward.settings.constitution.primary());
        let measured = if expected.metric == primary.metric.to_string() {
            (verifying.before.metric, verifying.mean_metric())
        } else {
            (verifying.before.foretold, verifying.foretold)
        };
        let prediction = Prediction::judged(&expected, primary, measured.0, measured.1);
        let missed = prediction.came == Came::Missed;
        self.record(Event::Foretold { episode, prediction });
        missed && self.steward.level >= Level::TierTwo
    }

    /// Whether the episode is about a unit that dies again and again.
    fn was_being_killed(&self) -> bool {
        let dies = |cause: &Cause| matches!(cause, Cause::OutOfMemory { .. } | Cause::CrashLoop { .. });
        self.steward.episode.as_ref().is_some_and(|episode| episode.causes.iter().any(dies))
    }

    fn metric_is_worse(&self, verifying: &Verifying) -> bool {
        let Some((before, after)) = verifying.before.metric.zip(verifying.mean_metric()) else {
            return false;
        };
        retrospective::is_worse(self.steward.settings.constitution.primary(), before, after)
    }

    fn look_last(&mut self, trial: Trial, before: Before, activated: Steady) {
        let op = self.op();
        self.move_to(Phase::LastLook {
            op,
            until: self.after(LOOK_WITHIN + SLACK),
            trial,
            before,
            activated,
        });
        let look = self.look_for(true, true);
        self.look(op, look);
    }

    pub(super) fn last_look(&mut self, trial: Trial, before: Before, activated: Steady, looked: &Looked) {
        let expected = self.window_expected(Moment::BeforeCommit, trial, before, activated);
        let judged = look::cycle(looked, &expected, self.sound());
        if let Some(violation) = judged.violation {
            return self.undo(trial, Why::Violation(violation), false);
        }
        match judged.cycle {
            Cycle::Pass => {
                let op = self.op();
                self.move_to(Phase::Claiming { op, until: self.after(RECORD_WITHIN), trial, before });
                if let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) {
                    self.act(Effect::ClaimWindow { op, episode, claim: Claim::Keep { since: self.now() } });
                }
            }
            Cycle::Grace | Cycle::Inconclusive => self.undo(trial, Why::Window(Shortfall::FewSamples), false),
            Cycle::Fail | Cycle::TimedOut => self.undo(trial, Why::Window(Shortfall::BadEnd), false),
        }
    }

    fn keep(&mut self, trial: Trial, before: Before, tries: u8) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let op = self.op();
        self.move_to(Phase::Keeping {
            op,
            until: self.after(CALL_WITHIN + SLACK),
            trial,
            before,
            tries: tries + 1,
        });
        if self.sound().has(Flaw::DisarmBeforeCommit) {
            let first = self.op();
            self.call(first, Verb::Cancel { episode: episode.clone() }, CALL_WITHIN);
        }
        self.call(op, Verb::Keep { episode, candidate: trial.candidate }, CALL_WITHIN);
    }

    pub(super) fn keep_answered(
        &mut self,
        trial: Trial,
        before: Before,
        tries: u8,
        answer: Result<Answer, Fault>,
    ) {
        match answer {
            Err(Fault::Refused(_)) => self.undo(trial, Why::KeepRefused, false),
            Ok(_) | Err(_) if self.sound().has(Flaw::CommitNotReadBack) => self.kept(trial, before),
            Ok(_) | Err(_) => self.look_whether_kept(trial, before, tries),
        }
    }

    /// An answer that says it is kept is not enough, and one that was lost is no reason to go back.
    pub(super) fn look_whether_kept(&mut self, trial: Trial, before: Before, tries: u8) {
        let op = self.op();
        let look_at = self.after(LOOK_WITHIN + READ_BACK_EVERY);
        self.move_to(Phase::ReadingBack { op: Some(op), look_at, trial, before, tries });
        let look = self.look_for(false, false);
        self.look(op, look);
    }

    pub(super) fn read_back(&mut self, trial: Trial, before: Before, tries: u8, looked: &Looked) {
        let Some(target) = &looked.target else {
            let look_at = self.after(READ_BACK_EVERY);
            return self.note(Phase::ReadingBack { op: None, look_at, trial, before, tries });
        };
        let before = Before { boot: target.boot, workload: target.workload, ..before };
        if target.boots_into == trial.candidate && target.running == trial.candidate {
            return self.kept(trial, before);
        }
        let is_open = target.ended.is_none() && target.running == trial.candidate;
        if is_open && target.boots_into == trial.known_good && tries < KEEP_TRIES {
            return self.keep(trial, before, tries);
        }
        self.undo(trial, Why::KeepRefused, target.boots_into == trial.candidate);
    }

    fn kept(&mut self, trial: Trial, before: Before) {
        let (Some(cleared), Some(episode)) =
            (self.cleared(), self.steward.episode.as_ref().map(|episode| episode.id.clone()))
        else {
            return;
        };
        self.record(Event::Kept {
            episode: episode.clone(),
            identity: trial.candidate,
            replaced: trial.known_good,
            changes: cleared.changes,
        });
        self.act(Effect::Rebase);
        self.act(Effect::Tell(Tiding::Kept { episode }));
        if self.sound().has(Flaw::ProbationDropped) {
            self.close_window();
            return self.end(Outcome::Kept, "verified from outside", true);
        }
        let until = self.after(PROBATION);
        let look_at = self.after(PROBATION_LOOK);
        self.move_to(Phase::Probation(Probation {
            op: None,
            look_at,
            until,
            trial,
            before,
            bad: 0,
            well: true,
        }));
        self.claim(Claim::Watch { until });
    }
}
