//! The modelled host as several hold it: its steward, whoever looks from outside, and the script that loads it.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use holdfast_lifeline::{EpisodeId, Identity, Sound, Steady};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward::event::Record;
use holdfast_steward_host::{Driver, Log, LogFailed, Quirk, SimHost, estate};

use crate::load::{Load, next_period};

/// A host that outlives its controller.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    sim: Rc<RefCell<SimHost>>,
    /// What a change does to it, whatever the change.
    quirk: Quirk,
}

impl Host {
    pub(crate) fn new(seed: u64, quirk: Quirk) -> Host {
        Host { sim: Rc::new(RefCell::new(SimHost::new(estate(), seed, Sound::YES))), quirk }
    }

    pub(crate) fn seen(&self) -> Ref<'_, SimHost> {
        self.sim.borrow()
    }

    pub(crate) fn changed(&self) -> RefMut<'_, SimHost> {
        self.sim.borrow_mut()
    }

    /// Time goes on there under this load. Steps are periods, so that a load begins when it should.
    pub(crate) fn advance(&self, from: Steady, to: Steady, load: &Load) {
        let mut sim = self.changed();
        let mut at = from;
        while at < to {
            let next = next_period(at);
            if next <= to {
                sim.behaviour().set_demand(next, load.pressure(next), 0);
            }
            at = next.min(to);
            sim.advance(at);
        }
    }
}

impl Driver for Host {
    fn kind(&self) -> &'static str {
        self.seen().kind()
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        let mut sim = self.sim.borrow_mut();
        let answer = sim.call(verb);
        if let Ok(Answer::Staged(Ok(staged))) = &answer {
            sim.behaviour().set_quirk(staged.identity, self.quirk);
        }
        answer
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.changed().state(full, renew, about)
    }

    fn generations(&self) -> Vec<Identity> {
        self.seen().generations()
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.changed().collect_garbage(keep)
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.changed().reboot(reset)
    }
}

/// The log of a controller: what stays when the controller is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    records: Rc<RefCell<Vec<Record>>>,
}

impl Shelf {
    pub(crate) fn holding(records: Vec<Record>) -> Shelf {
        Shelf { records: Rc::new(RefCell::new(records)) }
    }

    pub(crate) fn records(&self) -> Ref<'_, Vec<Record>> {
        self.records.borrow()
    }
}

impl Log for Shelf {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed> {
        self.records.borrow_mut().extend_from_slice(records);
        Ok(())
    }

    fn read(&self) -> Result<Vec<Record>, LogFailed> {
        Ok(self.records.borrow().clone())
    }
}
