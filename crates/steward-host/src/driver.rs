//! What every kind of target can be asked. The steward names no driver, and a driver decides nothing.

use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};

/// A target that can be looked at and changed.
pub trait Driver {
    /// Which kind it is, for people.
    fn kind(&self) -> &'static str;

    /// One word to the target: check, stage, arm, try, poll, keep, restore, cancel.
    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault>;

    /// What the target says about itself: facts, running identity, what it boots into, and, when asked, its configuration.
    /// Renews the lease of an episode on the way.
    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault>;

    /// Whether it answers a word within this time. For a target that took longer to say all of itself; one that says everything at once
    /// has nothing shorter to say.
    fn is_heard(&mut self, _within: Duration) -> Result<(), Fault> {
        Err(Fault::TimedOut)
    }

    /// The states that can be gone back to, oldest first.
    fn generations(&self) -> Vec<Identity>;

    /// Removes what is older than the newest `keep` generations; never what runs, what is booted into, or what a trial would
    /// go back to. Says how many went.
    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault>;

    /// Starts the target again, by whoever provides the machine.
    fn reboot(&mut self, reset: bool) -> Result<(), Fault>;
}
