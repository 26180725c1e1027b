//! The way back. It is claimed first, so that one part alone goes; it names what to go back to; it ends when that is seen.

use std::time::Duration;

use holdfast_lifeline::{
    Cascade, CascadeEnd, CascadeInput, CascadeStep, Claim, Flaw, Order, Owner, Refused, Sighting, Steady,
};

use super::{CALL_WITHIN, LOOK_WITHIN, RECORD_WITHIN, Turn};
use crate::effect::{Answer, Effect, Fault, Look, Looked, Tiding, Verb};
use crate::episode::{Phase, Trial, Why};
use crate::event::Event;
use crate::outcome::Outcome;

const STAND_BY_LOOK: Duration = Duration::from_secs(30);
/// How long the tripwire is trusted to bring the target back before the controller tries too.
const STAND_BY_LONGEST: Duration = Duration::from_secs(1800);

impl Turn<'_> {
    /// Takes back what is tried, and ends what is planned. What was kept is taken back when a person asks for that; a pause or
    /// a lower level leaves it, and it is watched.
    pub(super) fn take_back(&mut self, why: Why) {
        let Some(phase) = self.steward.episode.as_ref().map(|episode| episode.phase.clone()) else { return };
        match phase {
            Phase::Looking { .. }
            | Phase::Asking { .. }
            | Phase::Checking { .. }
            | Phase::Staging { .. }
            | Phase::Waiting { .. }
            | Phase::Draining { .. }
            | Phase::Preflight { .. } => self.unapproved(&why.sentence()),
            Phase::Opening { .. } => self.unopened(&why.sentence()),
            Phase::Arming { trial, .. }
            | Phase::Starting { trial, .. }
            | Phase::Activating { trial, .. }
            | Phase::LastLook { trial, .. } => self.undo(trial, why, false),
            Phase::Verifying(verifying) => self.undo(verifying.trial, why, false),
            Phase::Probation(probation) if why == Why::Asked => self.undo(probation.trial, why, true),
            Phase::Probation(_) => {}
            // Settled in a moment, one way or the other; a person may ask again.
            Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Closing { .. } => {}
            Phase::TakingOver { .. } | Phase::Undoing { .. } | Phase::StandingBy { .. } => {}
        }
    }

    /// Ends an episode whose window record may be written, and of which nothing was sent to the target: the record would
    /// bar every trial after it.
    pub(super) fn unopened(&mut self, why: &str) {
        self.close_window();
        self.end(Outcome::Failed, why, false);
    }

    pub(super) fn undo(&mut self, trial: Trial, why: Why, kept: bool) {
        let op = self.op();
        self.move_to(Phase::TakingOver { op, until: self.after(RECORD_WITHIN), trial, why, kept });
        if let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) {
            self.act(Effect::ClaimWindow { op, episode, claim: Claim::Undo { by: Owner::Controller } });
        }
    }

    pub(super) fn begin_cascade(&mut self, trial: Trial, why: Why, kept: bool) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let settings = &self.steward.settings;
        let (cascade, order) = Cascade::begin(
            episode,
            trial.known_good,
            trial.candidate,
            settings.second_route,
            settings.reboot,
            self.now(),
            self.sound(),
        );
        self.order(cascade, order, trial, why, kept);
    }

    /// Writes down what is ordered, and orders it.
    fn order(&mut self, cascade: Cascade, order: Order, trial: Trial, why: Why, kept: bool) {
        let op = self.op();
        let (episode, wanted) = (cascade.episode.clone(), cascade.wanted);
        let phase = Phase::Undoing { op: Some(op), cascade, trial, why, kept };
        match order {
            Order::Restore { over } => {
                self.move_to(phase);
                let verb = Verb::Restore { episode, wanted };
                self.act(Effect::Call { op, over, verb, within: CALL_WITHIN });
            }
            Order::Reboot { reset } => {
                self.move_to(phase);
                self.act(Effect::Reboot { op, reset, within: CALL_WITHIN });
            }
            Order::Look { over } => {
                self.note(phase);
                let look =
                    Look { over, full: false, renew: None, episode: Some(episode), ssh_within: LOOK_WITHIN };
                self.look(op, look);
            }
            Order::Alarm => {
                self.move_to(phase);
                self.act(Effect::Tell(Tiding::RollbackFails { episode }));
            }
        }
    }

    fn cascade(&mut self, input: CascadeInput) {
        let Some(Phase::Undoing { mut cascade, trial, why, kept, op }) =
            self.steward.episode.as_ref().map(|episode| episode.phase.clone())
        else {
            return;
        };
        match cascade.step(self.now(), input) {
            CascadeStep::Nothing => self.note(Phase::Undoing { op, cascade, trial, why, kept }),
            CascadeStep::Do(order) => self.order(cascade, order, trial, why, kept),
            CascadeStep::Ended(CascadeEnd::Restored { .. }) => self.restored(trial, &why),
            CascadeStep::Ended(CascadeEnd::Overtaken) => self.overtaken(trial),
        }
    }

    pub(super) fn undo_answered(&mut self, answer: Result<Answer, Fault>) {
        if let (Err(Fault::Refused(Refused::Stale)), Some(trial)) = (&answer, self.trial()) {
            // Something else was kept on top of it: what runs there is somebody else's by now.
            return self.overtaken(trial);
        }
        self.cascade(match answer {
            Ok(_) => CascadeInput::Accepted,
            Err(_) => CascadeInput::Failed,
        });
    }

    fn trial(&self) -> Option<Trial> {
        self.steward.episode.as_ref().and_then(|episode| episode.phase.armed())
    }

    pub(super) fn undo_looked(&mut self, looked: &Looked) {
        self.cascade(sighting(looked));
    }

    pub(super) fn undo_time(&mut self) {
        self.cascade(CascadeInput::Time);
    }

    fn restored(&mut self, trial: Trial, why: &Why) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        self.close_window();
        self.record(Event::Restored { episode: episode.clone(), identity: trial.known_good });
        let reason = why.sentence();
        if *why == Why::ArmUnknown {
            return self.end(Outcome::Failed, reason, false);
        }
        self.act(Effect::Tell(Tiding::RolledBack { episode, why: reason.clone() }));
        let outcome = if why.blames_the_change() { Outcome::RolledBack } else { Outcome::Interrupted };
        self.end(outcome, reason, true);
    }

    /// A person put something else there. It is theirs; nothing is tried until they have said that it is good.
    fn overtaken(&mut self, trial: Trial) {
        self.close_window();
        if !self.sound().has(Flaw::DriftIgnored) {
            let expected = trial.known_good;
            self.record(Event::Drifted { expected, found: expected });
            self.act(Effect::Tell(Tiding::Drifted));
        }
        self.end(Outcome::Interrupted, Why::Drift.sentence(), true);
    }

    pub(super) fn stand_by(&mut self, trial: Trial, why: Why, kept: bool) {
        let until = self.after(STAND_BY_LONGEST);
        self.look_standing_by(until, trial, why, kept, true);
    }

    fn look_standing_by(&mut self, until: Steady, trial: Trial, why: Why, kept: bool, first: bool) {
        let op = self.op();
        let phase =
            Phase::StandingBy { op: Some(op), look_at: self.after(STAND_BY_LOOK), until, trial, why, kept };
        if first {
            self.move_to(phase)
        } else {
            self.note(phase)
        }
        let look = self.look_for(false, false);
        self.look(op, look);
    }

    pub(super) fn stand_by_time(&mut self, until: Steady, trial: Trial, why: Why, kept: bool) {
        if self.now() >= until {
            return self.begin_cascade(trial, why, kept);
        }
        self.look_standing_by(until, trial, why, kept, false);
    }

    pub(super) fn stood_by(&mut self, until: Steady, trial: Trial, why: Why, kept: bool, looked: &Looked) {
        match sighting(looked) {
            CascadeInput::Saw(seen) if seen.is_overtaken(trial.known_good, trial.candidate) => {
                self.overtaken(trial)
            }
            CascadeInput::Saw(seen) if seen.is_back(trial.known_good) => {
                self.restored(trial, &why);
            }
            _ => {
                let look_at = self.after(STAND_BY_LOOK);
                self.note(Phase::StandingBy { op: None, look_at, until, trial, why, kept });
            }
        }
    }
}

/// What a look means to a rollback.
fn sighting(looked: &Looked) -> CascadeInput {
    match &looked.target {
        Some(target) => CascadeInput::Saw(Sighting {
            running: target.running,
            boots_into: target.boots_into,
            boot: target.boot,
            ended: target.ended,
            leased: target.leased,
        }),
        None if looked.references => CascadeInput::Failed,
        None => CascadeInput::CutOff,
    }
}
