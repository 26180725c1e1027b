//! The tripwire's process: it dies and freezes like any other, and goes on from what it had written down.

use std::time::Duration;

use holdfast_lifeline::{
    CascadeInput, Channel, Claim, EpisodeId, Order, Owner, PERIOD, Sight, Sound, Steady, Tripwire,
    TripwireEffect, TripwireInput, Watch, WindowState,
};
use holdfast_steward::effect::{Op, Verb};
use holdfast_steward::invariant::{self, Expectations, Facts, Health, Seen};

use super::{Happening, Sender, World};
use crate::plan::Plan;
use crate::setup::ENDPOINT;

#[derive(Debug)]
pub(crate) struct Watcher {
    up: bool,
    frozen: bool,
    silent_since: Option<u64>,
    pub(crate) life: u32,
    core: Tripwire,
    /// What is on its disk.
    saved: Tripwire,
    ticking: bool,
    next_op: u64,
    awaited: Option<Op>,
}

impl Watcher {
    pub(crate) fn new(plan: &Plan, sound: Sound) -> Watcher {
        let core = Tripwire::new(plan.second_route, plan.reboot, sound);
        Watcher {
            up: true,
            frozen: false,
            silent_since: None,
            life: 1,
            saved: core.clone(),
            core,
            ticking: false,
            next_op: 1 << 40,
            awaited: None,
        }
    }

    /// Since when nothing was heard of it.
    pub(crate) fn silent_since(&self) -> Option<u64> {
        self.silent_since
    }

    pub(crate) fn freeze(&mut self, now: u64) {
        self.frozen = true;
        self.silent_since = self.silent_since.or(Some(now));
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen = false;
        if self.up {
            self.silent_since = None;
        }
    }

    /// What it says it watches.
    pub(crate) fn watching(&self) -> Option<EpisodeId> {
        self.core.watching().cloned()
    }

    fn works(&self) -> bool {
        self.up && !self.frozen
    }
}

impl World {
    pub(crate) fn tripwire_dies(&mut self, lasts: Duration) {
        if !self.tripwire.up {
            return;
        }
        self.tripwire.up = false;
        self.tripwire.life += 1;
        self.tripwire.silent_since = self.tripwire.silent_since.or(Some(self.now));
        self.say("tripwire", || "dies".to_owned());
        self.after(lasts + Duration::from_secs(1), Happening::TripwireStart);
    }

    pub(crate) fn tripwire_start(&mut self) {
        self.tripwire.up = true;
        if !self.tripwire.frozen {
            self.tripwire.silent_since = None;
        }
        self.tripwire.core = self.tripwire.saved.clone();
        self.tripwire.ticking = false;
        self.say("tripwire", || "starts".to_owned());
        self.tripwire_step(TripwireInput::Started);
        self.watch(0);
    }

    /// There may be something to look at: begin to look.
    pub(crate) fn watch(&mut self, which: usize) {
        if which == 0 && self.tripwire.up && !self.tripwire.ticking {
            self.tripwire.ticking = true;
            let life = self.tripwire.life;
            self.after(PERIOD, Happening::Tick { life });
        }
    }

    pub(crate) fn tick(&mut self, life: u32) {
        if life != self.tripwire.life || !self.tripwire.up {
            return;
        }
        let open = self.records[0].as_ref().is_some_and(|record| record.state != WindowState::Closed);
        if !open && !self.tripwire.core.is_undoing() {
            self.tripwire.ticking = false;
            self.tripwire_step(TripwireInput::Looked { watch: Watch::Nothing, sight: Sight::Well });
            return;
        }
        self.after(PERIOD, Happening::Tick { life });
        if !self.tripwire.works() {
            return;
        }
        let watch = match &self.records[0] {
            _ if self.trouble.record_unreadable => Watch::Unreadable,
            Some(record) => Watch::Record(record.clone()),
            None => Watch::Nothing,
        };
        let sight = self.sight(&watch);
        // Probes take their time; what was read may be another by then.
        let takes = self.chance.between(50, 6000);
        self.at(self.now + takes, Happening::TripwireLooked { life, watch: Box::new(watch), sight });
    }

    pub(crate) fn tripwire_looked(&mut self, life: u32, watch: Watch, sight: Sight) {
        if life != self.tripwire.life || !self.tripwire.works() {
            return;
        }
        self.tripwire_step(TripwireInput::Looked { watch, sight });
        if self.tripwire.core.is_undoing() {
            self.tripwire_step(TripwireInput::Cascade(CascadeInput::Time));
        }
    }

    /// Judged by the very function the steward judges by.
    fn sight(&mut self, watch: &Watch) -> Sight {
        if self.trouble.controller_cut > 0 {
            return Sight::Unsure;
        }
        let way = self.reaches(0, Channel::First) || self.reaches(0, Channel::Second);
        let ssh = way && self.host.answers() && !self.flap();
        let (healthy, measured) = self.monitor();
        let health = Health { healthy, at: Steady(measured) };
        let facts = Facts {
            now: Steady(self.now),
            ssh: if ssh { Seen::Yes } else { Seen::No },
            vpn: Seen::Unknown,
            endpoints: vec![(ENDPOINT.to_owned(), Some(health))],
            generations: None,
            channels: Vec::new(),
            heartbeat: None,
            integrity: Seen::Unknown,
        };
        // Of a record that cannot be read, or that says nothing of an activation, every result may be about the trial.
        let activation = match watch {
            Watch::Record(record) => match record.state {
                WindowState::Active { since } => since,
                _ => Steady(0),
            },
            Watch::Nothing | Watch::Unreadable => Steady(0),
        };
        let expected = Expectations {
            endpoints: vec![ENDPOINT.to_owned()],
            activation: Some(activation),
            vpn_required: false,
            ..Expectations::default()
        };
        invariant::sight(&facts, &expected, true)
    }

    fn tripwire_step(&mut self, input: TripwireInput) {
        // The machine's own clock, which goes on whoever is restarted; the record is kept in it too.
        let now = Steady(self.now);
        let effects = self.tripwire.core.step(now, input);
        self.tripwire.saved = self.tripwire.core.clone();
        for effect in effects {
            self.tripwire_does(effect);
        }
    }

    fn tripwire_does(&mut self, effect: TripwireEffect) {
        match effect {
            TripwireEffect::Claim(claim) => {
                let claimed = self.records[0].as_ref().and_then(|record| record.claimed(claim));
                let won = claimed.is_some();
                if won {
                    self.records[0] = claimed;
                }
                if let Claim::Undo { by: Owner::Tripwire } = claim {
                    self.say("tripwire", || {
                        format!("claims the window: {}", if won { "won" } else { "lost" })
                    });
                    self.tripwire_step(TripwireInput::Claimed(won));
                }
            }
            TripwireEffect::Order { episode, wanted, order } => self.tripwire_orders(episode, wanted, order),
            TripwireEffect::Undone { episode, end } => self.say("tripwire", || format!("{episode}: {end:?}")),
        }
    }

    fn tripwire_orders(
        &mut self,
        episode: holdfast_lifeline::EpisodeId,
        wanted: holdfast_lifeline::Identity,
        order: Order,
    ) {
        let state = self.records[0].as_ref().map(|record| record.state);
        if state != Some(WindowState::Undoing { by: Owner::Tripwire }) && state != Some(WindowState::Closed) {
            let what = format!("the tripwire orders {order:?} while the window record says {state:?}");
            self.checker.violate(self.now, "one owner", what);
        }
        self.tripwire.next_op += 1;
        let op = Op(self.tripwire.next_op);
        self.tripwire.awaited = Some(op);
        let life = self.tripwire.life;
        let from = Sender::Tripwire { life };
        self.say("tripwire", || format!("{order:?}"));
        match order {
            Order::Restore { over } => self.send(from, op, over, Verb::Restore { episode, wanted }),
            Order::Look { over } => self.tripwire_look(life, op, over, episode),
            Order::Reboot { reset } => {
                self.after(Duration::from_secs(2), Happening::Reboot { from, op, reset })
            }
            Order::Alarm => {}
        }
    }

    pub(crate) fn cascade(&mut self, life: u32, op: Op, input: CascadeInput) {
        if life == self.tripwire.life && self.tripwire.works() && self.tripwire.awaited == Some(op) {
            self.tripwire.awaited = None;
            self.tripwire_step(TripwireInput::Cascade(input));
        }
    }
}
