//! The way to the host and back: messages that are lost, doubled and late, looks, and the provider's reboot.

use std::time::Duration;

use holdfast_lifeline::{CascadeInput, Channel, Sighting};
use holdfast_steward::effect::{Answer, Fault, Look, Looked, Op, Probe, TargetState, Verb};
use holdfast_steward::invariant::Health;
use holdfast_steward::setting::Change;
use holdfast_steward_host::Driver;

use super::{Happening, Sender, World};
use crate::plan::SECOND;
use crate::setup;

const LOOK_WITHIN: Duration = Duration::from_secs(15);

impl World {
    /// Whether a message of this controller gets to the host at all.
    pub(crate) fn reaches(&self, which: usize, over: Channel) -> bool {
        let cut = self.trouble.controller_cut > 0 && which == 0;
        let route = match over {
            Channel::First | Channel::Reboot | Channel::Reset => self.trouble.first_down == 0,
            Channel::Second => self.plan.second_route,
        };
        !cut && route && self.trouble.target_cut == 0
    }

    /// A look takes whichever way there is.
    fn way_to_look(&self, from: Sender, over: Channel) -> bool {
        self.way(from, over) || self.way(from, Channel::First) || self.way(from, Channel::Second)
    }

    fn way(&self, from: Sender, over: Channel) -> bool {
        match from {
            Sender::Controller { which, .. } => self.reaches(which, over),
            Sender::Tripwire { .. } => self.reaches(0, over),
        }
    }

    /// How long a message takes, or that it is lost.
    fn transit(&mut self) -> Option<u64> {
        if self.trouble.loses > 0 && self.chance.percent(self.trouble.loses) {
            return None;
        }
        let late = if self.trouble.delays > 0 && self.chance.percent(30) {
            self.chance.between(0, self.trouble.delays * SECOND)
        } else {
            0
        };
        Some(self.chance.between(20, 200) + late)
    }

    pub(crate) fn send(&mut self, from: Sender, op: Op, over: Channel, verb: Verb) {
        if !self.way(from, over) {
            return;
        }
        if self.trouble.doubles > 0 && self.chance.percent(self.trouble.doubles) {
            // A copy that wanders about for up to a quarter of an hour.
            let later = self.now + self.chance.between(0, 900 * SECOND);
            self.at(later, Happening::Request { from, op, over, verb: verb.clone() });
        }
        if let Some(takes) = self.transit() {
            self.at(self.now + takes, Happening::Request { from, op, over, verb });
        }
    }

    pub(crate) fn arrive(&mut self, from: Sender, op: Op, over: Channel, verb: &Verb) {
        if !self.host.is_up() {
            return;
        }
        self.check_intent(from, verb);
        let answer = self.host.call(verb);
        self.say("target", || format!("{} → {}", verb.name(), shown(&answer)));
        if let (Verb::Stage { changes, .. }, Ok(Answer::Staged(Ok(staged)))) = (verb, &answer) {
            self.give_quirk(staged.identity, changes);
        }
        self.checker.called(self.now, verb, &answer);
        if self.way(from, over)
            && let Some(takes) = self.transit()
        {
            self.at(self.now + takes, Happening::Reply { to: from, op, answer });
        }
    }

    /// Whoever changes the host must have written down that it would.
    fn check_intent(&mut self, from: Sender, verb: &Verb) {
        let Sender::Controller { which, .. } = from else { return };
        let episode = match verb {
            Verb::Arm { episode, .. }
            | Verb::Try { episode, .. }
            | Verb::Keep { episode, .. }
            | Verb::Restore { episode, .. } => episode,
            Verb::Check { .. } | Verb::Stage { .. } | Verb::Poll { .. } | Verb::Cancel { .. } => return,
        };
        let records = self.controllers[which].records();
        self.checker.intent(self.now, records, episode, verb);
    }

    fn give_quirk(&mut self, identity: holdfast_lifeline::Identity, changes: &[Change]) {
        // What gives a starving workload more memory helps, whatever the world had in mind.
        let feeds = self.plan.starving
            && changes
                .iter()
                .any(|change| change.setting.property == holdfast_steward::setting::Property::MemoryMax);
        let quirk = if feeds {
            holdfast_steward_host::Quirk::Helps
        } else {
            let index = self.staged.min(self.plan.quirks.len() - 1);
            self.plan.quirks[index]
        };
        if !self.host.has_quirk(identity) {
            self.staged += 1;
            self.host.behaviour().set_quirk(identity, quirk);
            self.say("world", || format!("{identity:?} will behave as {quirk:?}"));
        }
    }

    pub(crate) fn reply(&mut self, to: Sender, op: Op, answer: Result<Answer, Fault>) {
        match to {
            Sender::Controller { which, life } => self.answer(which, life, op, answer),
            Sender::Tripwire { life } => {
                let input = if answer.is_ok() { CascadeInput::Accepted } else { CascadeInput::Failed };
                self.cascade(life, op, input);
            }
        }
    }

    pub(crate) fn send_look(&mut self, from: Sender, op: Op, look: Look, within: Duration) {
        let until = self.now + within.as_millis() as u64;
        let takes = if self.way_to_look(from, look.over) { self.transit() } else { None };
        match takes.filter(|takes| self.now + takes < until) {
            Some(takes) => self.at(self.now + takes, Happening::Look { from, op, look, until }),
            None => self.blind_look(from, op, until),
        }
    }

    /// Nothing came back from the target: what else there is is known at the end of the time.
    fn blind_look(&mut self, from: Sender, op: Op, until: u64) {
        let looked = self.outside(from, Probe::TimedOut, None);
        self.at(until, Happening::Looked { to: from, op, looked: Box::new(looked) });
    }

    pub(crate) fn look(&mut self, from: Sender, op: Op, look: &Look, until: u64) {
        if !self.host.is_up() {
            return self.blind_look(from, op, until);
        }
        let state = self.host.state(look.full, look.renew.as_ref(), look.episode.as_ref()).ok();
        let flaps = self.flap();
        let ssh = if state.is_some() && !flaps { Probe::Passed } else { Probe::Failed };
        let state = state.filter(|_| !flaps);
        let back = if self.way_to_look(from, look.over) { self.transit() } else { None };
        match back.filter(|takes| self.now + takes < until) {
            Some(takes) => {
                let looked = self.outside(from, ssh, state);
                self.at(self.now + takes, Happening::Looked { to: from, op, looked: Box::new(looked) });
            }
            None => self.blind_look(from, op, until),
        }
    }

    pub(crate) fn flap(&mut self) -> bool {
        self.trouble.blips > 0 || (self.trouble.flaps > 0 && self.chance.percent(self.trouble.flaps))
    }

    /// What the monitor says, and when that was measured.
    pub(crate) fn monitor(&mut self) -> (bool, u64) {
        match self.trouble.monitor_frozen {
            Some(frozen) => frozen,
            None => (self.host.is_healthy() && self.trouble.target_cut == 0 && !self.flap(), self.now),
        }
    }

    fn outside(&mut self, from: Sender, ssh: Probe, target: Option<TargetState>) -> Looked {
        let which = match from {
            Sender::Controller { which, .. } => which,
            Sender::Tripwire { .. } => 0,
        };
        let cut = self.trouble.controller_cut > 0 && which == 0;
        let (healthy, measured) = self.monitor();
        let process = &self.controllers[which];
        let health = Health { healthy, at: process.steady(measured) };
        let now = process.steady(self.now);
        let heartbeat = match (which, self.tripwire.silent_since()) {
            (0, Some(since)) => process.steady(since),
            _ => now,
        };
        // The monitor stands beside the controller: cut off with it, it says nothing new.
        let endpoints = vec![(setup::ENDPOINT.to_owned(), Some(health).filter(|_| !cut))];
        Looked {
            ssh,
            endpoints,
            references: !cut,
            vpn: None,
            heartbeat: Some(heartbeat),
            // The second controller has a tripwire of its own, which is not modelled.
            watched: if which == 0 {
                self.tripwire.watching()
            } else {
                self.records[which].as_ref().map(|record| record.episode.clone())
            },
            rehearsed: vec![("lease", Some(now)), ("first route", Some(now))],
            integrity: true,
            space_here: 20 << 30,
            figures: Vec::new(),
            target,
        }
    }

    pub(crate) fn looked(&mut self, to: Sender, op: Op, looked: Box<Looked>) {
        match to {
            Sender::Controller { which, life } => {
                if self.awaited(which, life, op) {
                    self.checker.looked(which, &looked);
                    self.feed(which, holdfast_steward::effect::Input::Looked { op, looked });
                }
            }
            Sender::Tripwire { life } => {
                let input = match &looked.target {
                    None if looked.references => CascadeInput::Failed,
                    None => CascadeInput::CutOff,
                    Some(target) => CascadeInput::Saw(Sighting {
                        running: target.running,
                        boots_into: target.boots_into,
                        boot: target.boot,
                        ended: target.ended,
                        leased: target.leased,
                    }),
                };
                self.cascade(life, op, input);
            }
        }
    }

    pub(crate) fn reboot(&mut self, from: Sender, op: Op, reset: bool) {
        let unreachable = self.trouble.provider_cut > 0 || self.trouble.provider_down > 0;
        let answer = if unreachable {
            Err(Fault::Unreachable)
        } else {
            self.host.reboot(reset).map(|()| Answer::Accepted)
        };
        self.say("provider", || format!("{} → {}", if reset { "reset" } else { "reboot" }, shown(&answer)));
        self.after(Duration::from_millis(300), Happening::Reply { to: from, op, answer });
    }

    pub(crate) fn tripwire_look(
        &mut self,
        life: u32,
        op: Op,
        over: Channel,
        episode: holdfast_lifeline::EpisodeId,
    ) {
        let ssh_within = Duration::from_secs(10);
        let look = Look { over, full: false, renew: None, episode: Some(episode), ssh_within };
        self.send_look(Sender::Tripwire { life }, op, look, LOOK_WITHIN);
    }
}

fn shown(answer: &Result<Answer, Fault>) -> String {
    match answer {
        Ok(Answer::Staged(Ok(staged))) => format!("staged {:?}", staged.identity),
        Ok(answer) => format!("{answer:?}").chars().take(60).collect(),
        Err(fault) => fault.to_string(),
    }
}
