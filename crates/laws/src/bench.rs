//! Says words to a target for a law, and waits for what comes of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity, Refused};
use holdfast_steward::effect::{Activation, Answer, Fault, Full, Staged, TargetState, Verb};
use holdfast_steward::setting::{Change, Value};

use crate::{NotHere, Subject};

/// Why a law stops.
#[derive(Debug)]
pub(crate) enum Stop {
    Broken(String),
    NotHere(&'static str),
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop::Broken(why)
    }
}

impl From<NotHere> for Stop {
    fn from(not_here: NotHere) -> Stop {
        Stop::NotHere(not_here.0)
    }
}

pub(crate) type Held = Result<(), Stop>;
pub(crate) type Law = fn(&mut Bench<'_>) -> Held;

/// Ends a law where something does not hold, and says what was found instead.
macro_rules! holds {
    ($is:expr, $($what:tt)+) => {
        if !$is {
            return Err(format!($($what)+).into());
        }
    };
}
pub(crate) use holds;

/// A trial as it was begun.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) episode: EpisodeId,
    pub(crate) known_good: Identity,
    pub(crate) candidate: Identity,
}

pub(crate) struct Bench<'a> {
    pub(crate) subject: &'a mut dyn Subject,
}

/// Counts episodes over all benches: a target remembers those it has seen.
static EPISODES: AtomicU32 = AtomicU32::new(1);

impl Bench<'_> {
    pub(crate) fn new(subject: &mut dyn Subject) -> Bench<'_> {
        Bench { subject }
    }

    pub(crate) fn ask(&mut self, law: Law) -> Held {
        law(self)
    }

    /// Whether nothing is tried and people's own value is in force, as every law leaves it.
    pub(crate) fn settled(&mut self) -> Result<(), String> {
        let state = self.full().map_err(told)?;
        let full = self.of(&state).map_err(told)?;
        let setting = self.subject.setting();
        if state.leased || state.running != state.boots_into {
            return Err(format!("it left something behind: {state:?}"));
        }
        let (now, peoples) = (full.com.value(&setting), full.baseline.value(&setting));
        if now != peoples {
            return Err(format!("it left {setting} at {now}, and people wrote {peoples}"));
        }
        Ok(())
    }

    // --- looking

    pub(crate) fn look(&mut self, full: bool, about: Option<&EpisodeId>) -> Result<TargetState, Stop> {
        self.subject.driver().state(full, None, about).map_err(|e| Stop::Broken(format!("looking: {e}")))
    }

    pub(crate) fn state(&mut self) -> Result<TargetState, Stop> {
        self.look(false, None)
    }

    pub(crate) fn full(&mut self) -> Result<TargetState, Stop> {
        self.look(true, None)
    }

    pub(crate) fn of<'s>(&self, state: &'s TargetState) -> Result<&'s Full, Stop> {
        state
            .full
            .as_deref()
            .ok_or_else(|| Stop::Broken("the configuration was asked for and is absent".to_owned()))
    }

    pub(crate) fn renew(&mut self, episode: &EpisodeId) -> Result<TargetState, Stop> {
        let state = self.subject.driver().state(false, Some(episode), Some(episode));
        state.map_err(|e| Stop::Broken(format!("renewing: {e}")))
    }

    pub(crate) fn generations(&mut self) -> Vec<Identity> {
        self.subject.driver().generations()
    }

    // --- words

    pub(crate) fn episode(&self) -> EpisodeId {
        let name = format!("law-{}", EPISODES.fetch_add(1, Ordering::Relaxed));
        name.parse().unwrap_or_else(|_| unreachable!("a word and a number are an episode"))
    }

    pub(crate) fn say(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        self.subject.driver().call(verb)
    }

    pub(crate) fn accepted(&mut self, verb: &Verb) -> Held {
        match self.say(verb) {
            Ok(Answer::Accepted) => Ok(()),
            other => Err(format!("{} was to be accepted: {other:?}", verb.name()).into()),
        }
    }

    pub(crate) fn refused(&mut self, verb: &Verb, when: &str) -> Result<Refused, Stop> {
        match self.say(verb) {
            Err(Fault::Refused(refused)) => Ok(refused),
            other => Err(format!("{} was to be refused {when}: {other:?}", verb.name()).into()),
        }
    }

    /// The change of the setting to the value of this number.
    pub(crate) fn change(&mut self, number: u32) -> Result<Vec<Change>, Stop> {
        let to = self.subject.value(number);
        self.change_to(to)
    }

    pub(crate) fn change_to(&mut self, to: Value) -> Result<Vec<Change>, Stop> {
        let (state, setting) = (self.full()?, self.subject.setting());
        let from = self.of(&state)?.com.value(&setting);
        Ok(vec![Change { setting, from, to }])
    }

    pub(crate) fn stage(
        &mut self,
        episode: &EpisodeId,
        base: Identity,
        changes: Vec<Change>,
    ) -> Result<Staged, Stop> {
        match self.say(&Verb::Stage { episode: episode.clone(), base, changes }) {
            Ok(Answer::Staged(Ok(staged))) => Ok(staged),
            other => Err(format!("staging: {other:?}").into()),
        }
    }

    pub(crate) fn arm(&self, trial: &Trial) -> Verb {
        let (lasts, cap) = (self.subject.lease(), self.subject.lease() * 3 / 2);
        let Trial { episode, known_good, candidate } = trial.clone();
        Verb::Arm { episode, known_good, candidate, lasts, cap }
    }

    /// Something staged and nothing more.
    pub(crate) fn staged(&mut self, number: u32) -> Result<Trial, Stop> {
        let changes = self.change(number)?;
        self.staged_with(changes)
    }

    fn staged_with(&mut self, changes: Vec<Change>) -> Result<Trial, Stop> {
        let (episode, known_good) = (self.episode(), self.state()?.running);
        let candidate = self.stage(&episode, known_good, changes)?.identity;
        Ok(Trial { episode, known_good, candidate })
    }

    pub(crate) fn armed(&mut self, number: u32) -> Result<Trial, Stop> {
        let trial = self.staged(number)?;
        self.arm_it(&trial)?;
        Ok(trial)
    }

    fn arm_it(&mut self, trial: &Trial) -> Held {
        let arm = self.arm(trial);
        match self.say(&arm) {
            Ok(Answer::Armed(_)) => Ok(()),
            other => Err(format!("arming: {other:?}").into()),
        }
    }

    /// Something that runs under a lease.
    pub(crate) fn tried(&mut self, number: u32) -> Result<Trial, Stop> {
        let trial = self.armed(number)?;
        self.run(&trial)?;
        Ok(trial)
    }

    /// Has it run, and waits until it does.
    pub(crate) fn run(&mut self, trial: &Trial) -> Held {
        self.accepted(&Verb::Try { episode: trial.episode.clone(), candidate: trial.candidate })?;
        let until = self.subject.clock() + self.subject.patience();
        loop {
            match self.say(&Verb::Poll { episode: trial.episode.clone() }) {
                Ok(Answer::Activation(Activation::Done { identity, .. })) if identity == trial.candidate => {
                    return Ok(());
                }
                Ok(Answer::Activation(Activation::Running)) if self.subject.clock() < until => {
                    self.a_moment()
                }
                other => return Err(format!("the activation: {other:?}").into()),
            }
        }
    }

    pub(crate) fn keep(&self, trial: &Trial) -> Verb {
        Verb::Keep { episode: trial.episode.clone(), candidate: trial.candidate }
    }

    pub(crate) fn restore(&self, trial: &Trial) -> Verb {
        Verb::Restore { episode: trial.episode.clone(), wanted: trial.known_good }
    }

    /// A whole episode that ends well.
    pub(crate) fn kept(&mut self, number: u32) -> Result<Trial, Stop> {
        let changes = self.change(number)?;
        self.kept_with(changes)
    }

    fn kept_with(&mut self, changes: Vec<Change>) -> Result<Trial, Stop> {
        let trial = self.staged_with(changes)?;
        self.arm_it(&trial)?;
        self.run(&trial)?;
        let keep = self.keep(&trial);
        self.accepted(&keep)?;
        Ok(trial)
    }

    /// Ends a law that kept something: people's own value is kept again.
    pub(crate) fn back_to_people(&mut self) -> Held {
        let (state, setting) = (self.full()?, self.subject.setting());
        let peoples = self.of(&state)?.baseline.value(&setting);
        let changes = self.change_to(peoples)?;
        self.kept_with(changes).map(drop)
    }

    // --- waiting

    pub(crate) fn a_moment(&mut self) {
        let moment = self.subject.moment();
        self.subject.pass(moment);
    }

    /// Lets time pass up to this moment of the target's.
    pub(crate) fn pass_until(&mut self, moment: Duration) {
        let now = self.subject.clock();
        self.subject.pass(moment.saturating_sub(now));
    }

    /// Waits until this runs and is booted into, and nothing is tried.
    pub(crate) fn comes_back_to(&mut self, wanted: Identity, why: &str) -> Held {
        let until = self.subject.clock() + self.subject.patience();
        loop {
            let state = self.state()?;
            if !state.leased && state.running == wanted && state.boots_into == wanted {
                return Ok(());
            }
            holds!(
                self.subject.clock() < until,
                "{why}: {wanted:?} was to run and to be booted into: {state:?}"
            );
            self.a_moment();
        }
    }
}

fn told(stop: Stop) -> String {
    match stop {
        Stop::Broken(why) => why,
        Stop::NotHere(why) => why.to_owned(),
    }
}
