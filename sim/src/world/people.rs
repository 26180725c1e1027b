//! People: they ask, approve, forget to, mix things up, accept what they find, and reset what tripped.

use std::time::Duration;

use holdfast_lifeline::EpisodeId;
use holdfast_steward::effect::{Input, Person as Does};
use holdfast_steward::sample::Label;

use super::{Happening, World};
use crate::plan::Person;

impl World {
    pub(crate) fn asked(&mut self) {
        let Ok(by) = "a person".parse::<Label>() else { return };
        for which in 0..self.controllers.len() {
            self.feed(which, Input::Person(Does::Trigger { by: by.clone() }));
        }
    }

    pub(crate) fn ask_person(&mut self, which: usize, episode: EpisodeId, digest: String) {
        let minutes = self.chance.between(1, 30);
        self.checker.asked(&episode, &digest);
        let (digest, allowed) = match self.plan.person {
            Person::Approves => (digest, true),
            Person::Rejects => (digest, false),
            Person::Silent => return,
            Person::Muddles => (format!("{digest} and something else"), true),
        };
        if allowed && self.plan.person == Person::Approves {
            self.checker.granted(&episode, &digest);
        }
        self.after(
            Duration::from_secs(minutes * 60),
            Happening::Approval { which, episode, digest, allowed },
        );
    }

    pub(crate) fn approval(&mut self, which: usize, episode: EpisodeId, digest: String, allowed: bool) {
        self.say("person", || format!("{} {episode}", if allowed { "approves" } else { "rejects" }));
        self.feed(which, Input::Approval { episode, digest, allowed });
    }

    /// Somebody looked at what runs there, and it is theirs.
    pub(crate) fn accept(&mut self, which: usize) {
        if !self.controllers[which].is_up() || !self.host.answers() || self.host.desk().lease().is_some() {
            return self.after(Duration::from_secs(600), Happening::Accept { which });
        }
        if self.controllers[which].core().is_some_and(|core| core.steward().episode().is_some()) {
            return self.after(Duration::from_secs(600), Happening::Accept { which });
        }
        let found = self.host.boots_into();
        self.checker.accepted();
        self.trouble.people_since = None;
        self.say("person", || format!("accepts {found:?}"));
        self.feed(which, Input::Person(Does::AcceptTarget { found }));
    }

    pub(crate) fn reset_breaker(&mut self, which: usize) {
        self.checker.reset(which);
        self.say("person", || "resets the breaker".to_owned());
        self.feed(which, Input::Person(Does::ResetBreaker));
    }
}
