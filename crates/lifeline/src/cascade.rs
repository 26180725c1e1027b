//! The rollback cascade: first route, second route, reboot, reset; and again, until what is wanted is seen running.
//!
//! An order that was accepted is no success. After each one the target is looked at, and only the wanted identity,
//! running and reachable, ends the cascade. Whoever sees nothing at all, not even hosts that have nothing to do with the
//! target, is itself cut off: it holds, and reboots nobody.
//!
//! A round goes through the channels once, reboots and resets at most once each, and ends with an alarm and a pause. A second
//! route is tried as soon as the first is dead; a reboot waits until the last route had its time, because a way back
//! may itself restart what the route goes through.
//!
//! Answers carry no number here: only the answer to the last order is to be handed in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::desk::Ended;
use crate::flaw::{Flaw, Sound};
use crate::identity::{BootId, EpisodeId, Identity};
use crate::time::Steady;

/// How long one order may take, connection included.
pub(crate) const ORDER_WITHIN: Duration = Duration::from_secs(20);
/// How long a restore may take until the wanted identity is seen.
const SEEN_WITHIN: Duration = Duration::from_secs(60);
/// How long a boot may take until the wanted identity is seen.
const BOOTED_WITHIN: Duration = Duration::from_secs(240);
/// From the answer to a look to the next. A look that is out is not overtaken by another: a slow answer is heard.
/// How often a restore is repeated over a route that answers.
const REPEATS: u8 = 2;
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long is looked after an order whose answer was lost: one look that takes its whole time, and room for another.
const LOST_WITHIN: Duration = Duration::from_secs(40);
/// Pauses between rounds: one minute, doubled up to a quarter of an hour, for ever.
const PAUSE_FIRST: Duration = Duration::from_secs(60);
const PAUSE_LONGEST: Duration = Duration::from_secs(900);

/// A way to reach the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    First,
    Second,
    /// The provider's reboot, which a hung host ignores.
    Reboot,
    /// The provider's reset, which it cannot.
    Reset,
}

/// What to do next. Every order is answered, at the latest by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Restore {
        over: Channel,
    },
    Look {
        over: Channel,
    },
    Reboot {
        reset: bool,
    },
    /// Nothing worked this time; a person should know.
    Alarm,
}

/// What was seen of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    pub running: Identity,
    pub boots_into: Identity,
    pub boot: BootId,
    /// How the episode ended there, if it did.
    pub ended: Option<Ended>,
    /// Whether something is being tried there.
    pub leased: bool,
}

impl Sighting {
    /// Whether the target runs and boots into what is wanted, and has ended the episode: a step of it that is still under
    /// way is refused from then on. Without the last, a trial that comes late would begin after everybody went home.
    pub fn is_back(&self, wanted: Identity) -> bool {
        self.running == wanted && self.boots_into == wanted && self.ended.is_some()
    }

    /// Whether somebody else has put something there since: it is neither what is wanted nor what is being undone, or the
    /// episode has ended there and something else is booted into, or being tried, all the same.
    pub fn is_overtaken(&self, wanted: Identity, candidate: Identity) -> bool {
        let foreign = self.boots_into != wanted && self.boots_into != candidate;
        match self.ended {
            Some(Ended::Overtaken) => true,
            Some(Ended::Restored | Ended::Expired | Ended::LostAtBoot) => {
                self.boots_into != wanted || self.leased
            }
            Some(Ended::Kept) | None => foreign,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CascadeInput {
    /// The clock; nothing else happened.
    Time,
    /// An order was taken by the target or the provider.
    Accepted,
    /// An order failed, was refused, or nothing came back.
    Failed,
    Saw(Sighting),
    /// Neither the target nor hosts that have nothing to do with it answer.
    CutOff,
}

/// Where a cascade stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trying {
    /// An order is out; it counts as failed after this.
    Ordered {
        order: Order,
        until: Steady,
    },
    /// An order was taken; the wanted identity should be seen by then.
    Settling {
        over: Channel,
        until: Steady,
        look_at: Steady,
    },
    Pausing {
        until: Steady,
    },
    Ended(CascadeEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CascadeEnd {
    /// The wanted identity was seen running.
    Restored {
        by: Channel,
    },
    Overtaken,
}

/// One rollback under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cascade {
    pub episode: EpisodeId,
    pub wanted: Identity,
    /// What is being undone.
    pub candidate: Identity,
    trying: Trying,
    /// How long the next pause is.
    pause: Duration,
    /// The boot seen last.
    boot: Option<BootId>,
    /// Whether a reboot was ordered since the last alarm: a round has one, however often it is held up.
    rebooted: bool,
    /// How often the restore over this route was repeated, because the target answers and shows something else.
    repeated: u8,
    /// Whether the last look was answered by the target itself, and whether any was since the last order.
    answers: bool,
    answered: bool,
    /// When a look was last answered, since the last restore was ordered. Without, nobody knows who is cut off.
    looked: Option<Steady>,
    second_route: bool,
    reboot: bool,
    #[serde(skip)]
    sound: Sound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CascadeStep {
    Nothing,
    Do(Order),
    Ended(CascadeEnd),
}

impl Cascade {
    /// Begins with the first route.
    pub fn begin(
        episode: EpisodeId,
        wanted: Identity,
        candidate: Identity,
        second_route: bool,
        reboot: bool,
        now: Steady,
        sound: Sound,
    ) -> (Cascade, Order) {
        let order = Order::Restore { over: Channel::First };
        let trying = Trying::Ordered { order, until: now.plus(ORDER_WITHIN) };
        let cascade = Cascade {
            episode,
            wanted,
            candidate,
            trying,
            pause: PAUSE_FIRST,
            boot: None,
            rebooted: false,
            repeated: 0,
            answers: false,
            answered: false,
            looked: None,
            second_route,
            reboot,
            sound,
        };
        (cascade, order)
    }

    pub fn trying(&self) -> Trying {
        self.trying
    }

    /// When to be asked again although nothing came.
    pub fn wakes_at(&self) -> Option<Steady> {
        match self.trying {
            Trying::Ordered { until, .. } | Trying::Pausing { until } => Some(until),
            Trying::Settling { until, look_at, .. } => Some(until.min(look_at)),
            Trying::Ended(_) => None,
        }
    }

    pub fn step(&mut self, now: Steady, input: CascadeInput) -> CascadeStep {
        match (self.trying, input) {
            (Trying::Ended(end), _) => CascadeStep::Ended(end),
            // Seen over a route that carries nothing any more, it would not be restored but lost.
            (_, CascadeInput::Saw(seen)) if seen.is_back(self.wanted) => {
                let by = self.channel();
                self.end(CascadeEnd::Restored { by })
            }
            (_, CascadeInput::Saw(seen)) if seen.is_overtaken(self.wanted, self.candidate) => {
                self.end(CascadeEnd::Overtaken)
            }
            (Trying::Pausing { until }, _) if now >= until => {
                self.order(now, Order::Restore { over: Channel::First })
            }
            (Trying::Pausing { .. }, _) => CascadeStep::Nothing,
            (_, CascadeInput::CutOff) if !self.sound.has(Flaw::RebootBlind) => self.hold(now),
            (Trying::Ordered { order, until }, _) => self.answered(now, order, until, input),
            (Trying::Settling { over, until, look_at }, _) => self.settling(now, over, until, look_at, input),
        }
    }

    fn answered(&mut self, now: Steady, order: Order, until: Steady, input: CascadeInput) -> CascadeStep {
        let over = self.channel();
        let is_late = now >= until;
        match (input, order) {
            (CascadeInput::Accepted, Order::Restore { .. } | Order::Reboot { .. }) => {
                if self.sound.has(Flaw::AcceptedIsDone) {
                    return self.end(CascadeEnd::Restored { by: over });
                }
                let booting = matches!(over, Channel::Reboot | Channel::Reset);
                self.settle(now, over, if booting { BOOTED_WITHIN } else { SEEN_WITHIN })
            }
            // The answer may be lost and the work done: look before the next channel.
            (CascadeInput::Failed, Order::Restore { .. }) => self.settle(now, over, LOST_WITHIN),
            (_, Order::Restore { .. }) if is_late => self.settle(now, over, LOST_WITHIN),
            (CascadeInput::Failed, _) => self.next(now, over),
            _ if is_late => self.next(now, over),
            _ => CascadeStep::Nothing,
        }
    }

    fn settling(
        &mut self,
        now: Steady,
        over: Channel,
        until: Steady,
        look_at: Steady,
        input: CascadeInput,
    ) -> CascadeStep {
        let is_answer = matches!(input, CascadeInput::Failed | CascadeInput::Saw(_));
        if is_answer {
            self.looked = Some(now);
            self.answers = matches!(input, CascadeInput::Saw(_));
            self.answered |= self.answers;
        }
        let booted = self.has_booted(input);
        match (input, over) {
            // It has booted into something else: what was kept is still there, and can be restored now.
            (CascadeInput::Saw(_), Channel::Reboot | Channel::Reset) if booted => {
                return self.order(now, Order::Restore { over: Channel::First });
            }
            // The route is dead; the second may not be.
            (CascadeInput::Failed, Channel::First) if self.second_route => return self.next(now, over),
            // It answers, so the order may have been lost: it is given again before anything harsher.
            (_, Channel::First | Channel::Second)
                if now >= until && self.answered && self.repeated < REPEATS =>
            {
                self.repeated += 1;
                return self.order(now, Order::Restore { over });
            }
            _ if now >= until => return self.next(now, over),
            _ => {}
        }
        let look_at = if is_answer { look_at.min(now.plus(LOOK_EVERY)) } else { look_at };
        if now >= look_at {
            return self.look(now, over, until);
        }
        self.trying = Trying::Settling { over, until, look_at };
        CascadeStep::Nothing
    }

    /// Whether a sighting is of another boot than the last one. A host that was told to reboot answers until it goes down.
    fn has_booted(&mut self, input: CascadeInput) -> bool {
        let CascadeInput::Saw(seen) = input else { return false };
        self.boot.replace(seen.boot) != Some(seen.boot)
    }

    fn settle(&mut self, now: Steady, over: Channel, within: Duration) -> CascadeStep {
        self.look(now, over, now.plus(within))
    }

    fn look(&mut self, now: Steady, over: Channel, until: Steady) -> CascadeStep {
        self.trying = Trying::Settling { over, until, look_at: now.plus(ORDER_WITHIN) };
        CascadeStep::Do(Order::Look { over: route_of(over) })
    }

    fn next(&mut self, now: Steady, after: Channel) -> CascadeStep {
        self.repeated = 0;
        let may_reboot = self.reboot && !self.rebooted;
        match after {
            Channel::First if self.second_route => self.order(now, Order::Restore { over: Channel::Second }),
            Channel::First | Channel::Second if may_reboot && self.is_blind(now) => self.hold(now),
            Channel::First | Channel::Second if may_reboot => {
                self.rebooted = true;
                self.order(now, Order::Reboot { reset: false })
            }
            Channel::Reboot if self.is_blind(now) => self.hold(now),
            // It never went down, and answers: whatever held it up is over.
            Channel::Reboot if self.answers => self.order(now, Order::Restore { over: Channel::First }),
            Channel::Reboot if !self.sound.has(Flaw::SoftRebootOnly) => {
                self.order(now, Order::Reboot { reset: true })
            }
            Channel::First | Channel::Second | Channel::Reboot | Channel::Reset => {
                self.rebooted = false;
                let pause = self.pause;
                self.pause = (pause * 2).min(PAUSE_LONGEST);
                let forever = Duration::from_secs(100 * 365 * 86_400);
                self.pause(now, if self.sound.has(Flaw::CascadeGivesUp) { forever } else { pause });
                CascadeStep::Do(Order::Alarm)
            }
        }
    }

    /// Whether what is known is too old to reboot anybody for: whoever was frozen in between looks first.
    fn is_blind(&self, now: Steady) -> bool {
        let fresh = self.looked.is_some_and(|at| now.since(at) <= SEEN_WITHIN);
        !fresh && !self.sound.has(Flaw::RebootBlind)
    }

    /// Cut off, or as good as: it is not the target's fault, so nothing is doubled and nobody is told.
    fn hold(&mut self, now: Steady) -> CascadeStep {
        self.pause(now, PAUSE_FIRST);
        CascadeStep::Nothing
    }

    fn order(&mut self, now: Steady, order: Order) -> CascadeStep {
        self.answered = false;
        if matches!(order, Order::Restore { .. }) {
            self.looked = None;
        }
        self.trying = Trying::Ordered { order, until: now.plus(ORDER_WITHIN) };
        CascadeStep::Do(order)
    }

    fn pause(&mut self, now: Steady, span: Duration) {
        self.trying = Trying::Pausing { until: now.plus(span) };
    }

    fn end(&mut self, end: CascadeEnd) -> CascadeStep {
        self.trying = Trying::Ended(end);
        CascadeStep::Ended(end)
    }

    /// The channel the last order went over.
    fn channel(&self) -> Channel {
        match self.trying {
            Trying::Ordered { order: Order::Restore { over } | Order::Look { over }, .. } => over,
            Trying::Ordered { order: Order::Reboot { reset }, .. } => {
                if reset {
                    Channel::Reset
                } else {
                    Channel::Reboot
                }
            }
            Trying::Settling { over, .. } => over,
            Trying::Ordered { order: Order::Alarm, .. } | Trying::Pausing { .. } | Trying::Ended(_) => {
                Channel::First
            }
        }
    }
}

/// A reboot is looked at over the first route.
fn route_of(channel: Channel) -> Channel {
    match channel {
        Channel::First | Channel::Reboot | Channel::Reset => Channel::First,
        Channel::Second => Channel::Second,
    }
}

#[cfg(test)]
mod tests;
