//! The runner: carries out what the steward says, one thing after the other, and tells it what came of it.
//!
//! Calls are made in turn and each has its own time limit in the driver, so one round ends. Whatever is not the target (the
//! monitor, the brain, people, the window record) stands behind [`Outside`].

use std::collections::VecDeque;

use holdfast_lifeline::{Claim, EpisodeId, Identity, Now, Sound, Steady, WindowRecord};
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{
    Answer, Asking, Compared, Effect, Fault, Full, Input, Look, Looked, Probe, TargetState, Tiding,
};
use holdfast_steward::{Claimed, Settings, Steward};

use crate::controller::{Controller, Log, LogFailed};
use crate::driver::Driver;

/// Everything around a steward that is not its target.
pub trait Outside {
    /// What is seen without asking the target: endpoints, references, the tripwire's heartbeat, free space here.
    /// `reached` is the target's own word, or nothing when it did not answer.
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked;
    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure>;
    fn open_window(&mut self, record: WindowRecord) -> Claimed;
    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed;
    fn ask_approval(&mut self, episode: &EpisodeId, digest: &str, what: &str);
    fn withdraw_approval(&mut self, episode: &EpisodeId);
    fn compare(&mut self, switched: Steady) -> Compared;
    fn rebase(&mut self);
    fn tell(&mut self, tiding: &Tiding);

    /// What time it is now that something was done which began then. In a world whose time others move it is still then.
    fn now(&mut self, began: Now) -> Now {
        began
    }

    /// Milliseconds from anywhere, to measure by what the gates take.
    fn stopwatch(&self) -> u64 {
        0
    }
}

/// A steward at work on one target.
#[derive(Debug)]
pub struct Runner<D, L, O> {
    controller: Controller<L>,
    driver: D,
    outside: O,
}

impl<D: Driver, L: Log, O: Outside> Runner<D, L, O> {
    /// Starts from what the log says, and settles whatever was in the middle.
    pub fn start(
        settings: Settings,
        log: L,
        driver: D,
        outside: O,
        now: Now,
    ) -> Result<Runner<D, L, O>, LogFailed> {
        let controller = Controller::open(settings, log, now, Sound::YES)?;
        let mut runner = Runner { controller, driver, outside };
        let effects = runner.controller.resume(now)?;
        runner.carry_out(effects, now)?;
        Ok(runner)
    }

    pub fn steward(&self) -> &Steward {
        self.controller.steward()
    }

    pub fn log(&self) -> &L {
        self.controller.log()
    }

    /// For what is written down beside the steward's decisions, and decides nothing.
    pub fn log_mut(&mut self) -> &mut L {
        self.controller.log_mut()
    }

    pub fn into_log(self) -> L {
        self.controller.into_log()
    }

    pub fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    pub fn driver_seen(&self) -> &D {
        &self.driver
    }

    pub fn outside_seen(&self) -> &O {
        &self.outside
    }

    pub fn outside(&mut self) -> &mut O {
        &mut self.outside
    }

    /// What decides and what is around it, for whoever shows the one to the other.
    pub fn steward_and_outside(&mut self) -> (&Steward, &mut O) {
        (self.controller.steward(), &mut self.outside)
    }

    /// The target and what is around it, for whoever shows the one to the other.
    pub fn both(&mut self) -> (&mut D, &mut O) {
        (&mut self.driver, &mut self.outside)
    }

    pub fn enrol(&mut self, now: Now, known_good: Identity) -> Result<(), LogFailed> {
        self.controller.enrol(now, known_good)
    }

    /// Something happened. When this returns, everything that followed from it at once was done.
    pub fn step(&mut self, now: Now, input: Input) -> Result<(), LogFailed> {
        let effects = self.feed(now, input)?;
        self.carry_out(effects, now)
    }

    fn feed(&mut self, now: Now, input: Input) -> Result<Vec<Effect>, LogFailed> {
        let outside = &self.outside;
        self.controller.feed_timed(now, input, &mut || outside.stopwatch())
    }

    /// What an answer means depends on when it came, so the time is looked at after each.
    fn carry_out(&mut self, effects: Vec<Effect>, mut now: Now) -> Result<(), LogFailed> {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            if let Some(input) = self.perform(now, effect) {
                now = self.outside.now(now);
                waiting.extend(self.feed(now, input)?);
            }
        }
        Ok(())
    }

    fn perform(&mut self, now: Now, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Call { op, verb, .. } => Some(Input::Answered { op, answer: self.driver.call(&verb) }),
            Effect::Reboot { op, reset, .. } => {
                let answer = self.driver.reboot(reset).map(|()| Answer::Accepted);
                Some(Input::Answered { op, answer })
            }
            Effect::Look { op, look, .. } => {
                let looked = self.look(now, &look);
                Some(Input::Looked { op, looked: Box::new(looked) })
            }
            Effect::Ask { op, asking, full, .. } => {
                Some(Input::Brain { op, said: self.outside.ask(asking, &full) })
            }
            Effect::OpenWindow { op, record } => {
                Some(Input::Window { op, claimed: self.outside.open_window(record) })
            }
            Effect::ClaimWindow { op, episode, claim } => {
                Some(Input::Window { op, claimed: self.outside.claim(&episode, claim) })
            }
            Effect::AskApproval { episode, digest, what } => {
                self.outside.ask_approval(&episode, &digest, &what);
                None
            }
            Effect::WithdrawApproval { episode } => {
                self.outside.withdraw_approval(&episode);
                None
            }
            Effect::Compare { op, switched, .. } => {
                let answer = Ok(Answer::Compared(self.outside.compare(switched)));
                Some(Input::Answered { op, answer })
            }
            Effect::Rebase => {
                self.outside.rebase();
                None
            }
            // Marked intervals are kept by whoever keeps the samples.
            Effect::Mark { .. } => None,
            Effect::Tell(tiding) => {
                self.outside.tell(&tiding);
                None
            }
        }
    }

    fn look(&mut self, now: Now, look: &Look) -> Looked {
        let answer = self.driver.state(look.full, look.renew.as_ref(), look.episode.as_ref());
        let slow = self.outside.now(now).steady.since(now.steady) > look.ssh_within;
        // A small machine that is short of everything takes its time to say all of itself, and is the one that needs help: whether it
        // can be reached is told by a single word.
        let of = |fault: &Fault| if *fault == Fault::TimedOut { Probe::TimedOut } else { Probe::Failed };
        let ssh = match &answer {
            Ok(_) if slow => {
                self.driver.is_heard(look.ssh_within).map_or_else(|fault| of(&fault), |()| Probe::Passed)
            }
            Ok(_) => Probe::Passed,
            Err(fault) => of(fault),
        };
        let came = self.outside.now(now);
        self.outside.look(came, answer.ok(), ssh)
    }
}
