//! The inbox in memory, folded from entries: for whoever only looks and has no index at hand.

use std::collections::BTreeMap;

use holdfast_journal::Entry;
use holdfast_types::{ApprovalId, Origin};

use crate::event::Event;
use crate::life::Life;

/// Every ask of one log. It decides nothing: whoever writes uses [`Approvals`](crate::Approvals).
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    own: Origin,
    lives: BTreeMap<ApprovalId, Life>,
}

impl Ledger {
    /// An empty one for the log of this name; entries taken over from other logs count for nothing.
    pub fn new(own: Origin) -> Ledger {
        Ledger { own, lives: BTreeMap::new() }
    }

    pub fn apply(&mut self, entry: &Entry) {
        if entry.origin != self.own {
            return;
        }
        let Some(event) = Event::read(entry) else { return };
        let id = event.ask();
        if let Some(next) = next(self.lives.remove(&id), event, entry.seq) {
            self.lives.insert(id, next);
        }
    }

    pub fn get(&self, ask: ApprovalId) -> Option<&Life> {
        self.lives.get(&ask)
    }

    /// All of them, the newest first.
    pub fn lives(&self) -> Vec<&Life> {
        let mut all: Vec<&Life> = self.lives.values().collect();
        all.sort_by_key(|life| std::cmp::Reverse(life.made_as));
        all
    }
}

/// What an event makes of an ask that is known, or not yet.
pub(crate) fn next(life: Option<Life>, event: Event, seq: u64) -> Option<Life> {
    match (life, event) {
        (Some(life), event) => Some(life.step(event, seq)),
        (None, Event::Made(ask)) => Some(Life::new(*ask, seq)),
        (
            None,
            Event::Given { .. } | Event::Withdrawn { .. } | Event::Used { .. } | Event::Expired { .. },
        ) => None,
    }
}
