//! The driver: the steward's words to one NixOS host.

use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward::setting::UnitName;
use holdfast_steward_host::Driver;

use crate::machine::Machine;
use crate::place::Place;
use crate::target::Target;

#[derive(Debug)]
pub struct NixosHost<M> {
    place: Place,
    machine: M,
    units: Vec<UnitName>,
}

impl<M: Machine> NixosHost<M> {
    /// A host whose programs this one runs, and the units that may be changed there.
    pub fn new(place: Place, machine: M, units: Vec<UnitName>) -> NixosHost<M> {
        NixosHost { place, machine, units }
    }

    /// The same host, for what it tells itself.
    pub fn target(&self) -> Target<'_, M> {
        Target { place: &self.place, machine: &self.machine, units: &self.units }
    }

    pub fn machine(&self) -> &M {
        &self.machine
    }
}

impl<M: Machine> Driver for NixosHost<M> {
    fn kind(&self) -> &'static str {
        "nixos"
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        self.target().call(verb)
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.target().state(full, renew, about)
    }

    /// Nothing where it cannot be asked.
    fn generations(&self) -> Vec<Identity> {
        let all = self.target().generations().unwrap_or_default();
        all.iter().map(|generation| generation.system.identity()).collect()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.target().collect_garbage(keep)
    }

    /// A host cannot be trusted to start itself again; whoever provides the machine can.
    fn reboot(&mut self, _reset: bool) -> Result<(), Fault> {
        Err(Fault::Unreachable)
    }
}
