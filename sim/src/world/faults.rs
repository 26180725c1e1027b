//! What goes wrong, as it is now: each fault of the plan turns something on for a while, or happens once.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::effect::{Input, Person};
use holdfast_steward::ladder::Level;

use super::World;
use crate::plan::{Fault, FaultKind, SECOND};

/// Everything that is wrong at this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trouble {
    pub loses: u64,
    pub doubles: u64,
    pub delays: u64,
    pub flaps: u64,
    pub blips: u32,
    pub first_down: u32,
    pub target_cut: u32,
    pub controller_cut: u32,
    pub provider_cut: u32,
    pub provider_down: u32,
    pub monitor_frozen: Option<(bool, u64)>,
    pub collection_stopped: bool,
    pub record_unreadable: bool,
    pub paused_since: Option<u64>,
    pub space_low_since: Option<u64>,
    pub people_since: Option<u64>,
    pub active: Vec<&'static str>,
}

impl Trouble {
    pub(crate) fn network_is_well(&self) -> bool {
        self.loses == 0
            && self.delays == 0
            && self.flaps == 0
            && self.blips == 0
            && self.first_down == 0
            && self.target_cut == 0
            && self.controller_cut == 0
            && self.monitor_frozen.is_none()
    }
}

impl World {
    pub(crate) fn fault_begins(&mut self, index: usize) {
        let fault = self.plan.faults[index];
        self.say("fault", || fault.to_string());
        self.trouble.active.push(fault.kind.name());
        self.coverage.fault(fault.kind.name());
        let lasts = Duration::from_millis(fault.lasts);
        let which = 0;
        match fault.kind {
            FaultKind::ControllerDies => self.die(which, lasts + Duration::from_secs(1)),
            FaultKind::ControllerDiesAtEffect(effect) => {
                self.controllers[which].dies_at = Some(effect);
                self.controllers[which].stays_dead_for = lasts + Duration::from_secs(1);
            }
            FaultKind::TripwireDies => self.tripwire_dies(lasts),
            FaultKind::TripwireFreezes => self.tripwire.freeze(self.now),
            FaultKind::HostCrashes => self.host.crash(),
            FaultKind::HostHangs => self.host.hang(),
            FaultKind::Loses(percent) => self.trouble.loses = percent,
            FaultKind::Doubles(percent) => self.trouble.doubles = percent,
            FaultKind::Delays(seconds) => self.trouble.delays = seconds,
            FaultKind::FirstRouteDown => self.trouble.first_down += 1,
            FaultKind::TargetCutOff => self.trouble.target_cut += 1,
            FaultKind::ControllerCutOff { provider } => {
                self.trouble.controller_cut += 1;
                self.trouble.provider_cut += u32::from(!provider);
            }
            FaultKind::ProviderDown => self.trouble.provider_down += 1,
            FaultKind::Flaps(percent) => self.trouble.flaps = percent,
            FaultKind::MonitorFreezes => {
                self.trouble.monitor_frozen = Some((self.host.is_healthy(), self.now));
            }
            FaultKind::HalfDone => self.host.half_next = true,
            FaultKind::Lies => self.host.lie_next = true,
            FaultKind::ControllerDiskFull => {
                let room = self.chance.between(0, 4) as usize;
                self.controllers[which].set_room(Some(room));
            }
            FaultKind::TargetDiskFull => {
                self.host.space = 1 << 20;
                self.trouble.space_low_since = Some(self.now);
            }
            FaultKind::ClockJumps(minutes) => self.controllers[which].wall_off += minutes * 60_000,
            FaultKind::ClockUnsure => self.controllers[which].synced = false,
            FaultKind::ClockSlow(rate) => self.set_rate(which, rate),
            FaultKind::Blip => self.trouble.blips += 1,
            FaultKind::PersonDeploys => {
                self.host.deploy();
                self.trouble.people_since = Some(self.now);
            }
            FaultKind::PersonEdits => {
                self.host.edit();
                self.trouble.people_since = Some(self.now);
            }
            FaultKind::PersonPauses => {
                self.trouble.paused_since = Some(self.now);
                self.feed_all(&Input::Paused(true));
            }
            FaultKind::PersonRollsBack => self.feed_all(&Input::Person(Person::RollBack)),
            FaultKind::PersonRaisesLevel => {
                self.feed_all(&Input::Person(Person::SetLevel { to: Level::TierTwo }));
            }
            FaultKind::PersonLowersLevel => {
                self.feed_all(&Input::Person(Person::SetLevel { to: Level::Observe }));
                // Whoever was down, or could not write it down, did not hear of it.
                if self.controllers.iter().all(|process| process.is_up() && process.level() == Level::Observe)
                {
                    self.checker.lowered(self.now);
                }
            }
            FaultKind::CollectionStops => self.trouble.collection_stopped = true,
            FaultKind::RecordUnreadable => self.trouble.record_unreadable = true,
            FaultKind::SlowStarts => self.slow_starts(fault),
            FaultKind::WorkInFlight => {
                let until = Steady(self.now + fault.lasts);
                self.host.behaviour().set_busy(Steady(self.now), until);
            }
        }
    }

    fn slow_starts(&mut self, fault: Fault) {
        let spread = fault.lasts / SECOND % 4;
        self.host.activation_takes = Duration::from_secs(31 + spread);
        self.host.behaviour().set_slow_health(Duration::from_secs(32 + spread));
    }

    pub(crate) fn fault_ends(&mut self, index: usize) {
        let fault = self.plan.faults[index];
        self.trouble.active.retain(|name| *name != fault.kind.name());
        let which = 0;
        match fault.kind {
            FaultKind::TripwireFreezes => self.tripwire.thaw(),
            FaultKind::HostHangs => self.host.unhang(),
            FaultKind::Loses(_) => self.trouble.loses = 0,
            FaultKind::Doubles(_) => self.trouble.doubles = 0,
            FaultKind::Delays(_) => self.trouble.delays = 0,
            FaultKind::FirstRouteDown => self.trouble.first_down -= 1,
            FaultKind::TargetCutOff => self.trouble.target_cut -= 1,
            FaultKind::ControllerCutOff { provider } => {
                self.trouble.controller_cut -= 1;
                self.trouble.provider_cut -= u32::from(!provider);
            }
            FaultKind::ProviderDown => self.trouble.provider_down -= 1,
            FaultKind::Flaps(_) => self.trouble.flaps = 0,
            FaultKind::MonitorFreezes => self.trouble.monitor_frozen = None,
            FaultKind::HalfDone => self.host.half_next = false,
            FaultKind::Lies => self.host.lie_next = false,
            FaultKind::ControllerDiskFull => self.controllers[which].set_room(None),
            FaultKind::TargetDiskFull => {
                self.host.space = 20 << 30;
                self.trouble.space_low_since = None;
            }
            FaultKind::ClockUnsure => self.controllers[which].synced = true,
            FaultKind::ClockSlow(_) => self.set_rate(which, 100),
            FaultKind::Blip => self.trouble.blips -= 1,
            FaultKind::PersonPauses => {
                self.trouble.paused_since = None;
                self.feed_all(&Input::Paused(false));
            }
            FaultKind::CollectionStops => self.trouble.collection_stopped = false,
            FaultKind::RecordUnreadable => self.trouble.record_unreadable = false,
            FaultKind::SlowStarts => {
                self.host.activation_takes = Duration::from_secs(6);
                self.host.behaviour().set_slow_health(Duration::ZERO);
            }
            FaultKind::ControllerDies
            | FaultKind::ControllerDiesAtEffect(_)
            | FaultKind::TripwireDies
            | FaultKind::HostCrashes
            | FaultKind::ClockJumps(_)
            | FaultKind::PersonDeploys
            | FaultKind::PersonEdits
            | FaultKind::PersonRollsBack
            | FaultKind::PersonRaisesLevel
            | FaultKind::PersonLowersLevel
            | FaultKind::WorkInFlight => {}
        }
    }

    fn set_rate(&mut self, which: usize, rate: u64) {
        self.controllers[which].set_rate(self.now, rate);
        self.feed(which, Input::Time);
    }

    fn feed_all(&mut self, input: &Input) {
        for which in 0..self.controllers.len() {
            self.feed(which, input.clone());
        }
    }

    /// A controller that starts while autonomy is paused hears of it first.
    pub(crate) fn tell_pause(&mut self, which: usize) {
        if self.trouble.paused_since.is_some() {
            self.feed(which, Input::Paused(true));
        }
    }
}
