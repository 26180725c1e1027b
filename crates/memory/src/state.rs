//! Where every memory of a space stands, folded from its events.
//!
//! Invariants, after any prefix of the events and after reading any of them twice:
//! - an entry has one [`Standing`], and forgotten is for ever;
//! - what an entry was merged into or superseded by is an entry of the space;
//! - a conflict is known at both its ends, and has two different ones;
//! - an event that does not fit where an entry stands changes nothing and is counted.
//!
//! [`Standing::after`] is the whole rule for one entry, so that a projection that keeps entries in a database applies the same.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_types::{AgentId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::consolidate::{Decision, Method};
use crate::entry::Header;
use crate::event::{Decided, Event};
use crate::gates::GateName;
use crate::id::MemoryId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Captured, and not decided about.
    Session,
    /// Kept for good.
    Durable,
    /// Kept, and too old for planning.
    Archived,
    /// Said again, better or earlier, by another one.
    Merged {
        into: MemoryId,
        method: Method,
    },
    /// A later record of its key.
    Superseded {
        by: MemoryId,
    },
    /// Refused when it was to be kept for good.
    Rejected {
        gate: GateName,
    },
    Forgotten,
}

/// What an event does to one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Promote,
    Merge {
        into: MemoryId,
        method: Method,
    },
    Supersede {
        by: MemoryId,
    },
    Reject {
        gate: GateName,
    },
    Archive,
    /// A merge without the model was undone with it.
    Restore,
    /// A merge without the model holds with it, too.
    Confirm,
    Forget,
}

impl Standing {
    /// Where the entry stands after the change, or nothing when the change does not fit.
    pub fn after(self, change: Change) -> Option<Standing> {
        use Standing::{Archived, Durable, Forgotten, Merged, Rejected, Session, Superseded};
        match (self, change) {
            (Forgotten, _) => None,
            (_, Change::Forget) => Some(Forgotten),
            (Session, Change::Promote) => Some(Durable),
            (Session, Change::Reject { gate }) => Some(Rejected { gate }),
            (Session | Durable | Archived, Change::Merge { into, method }) => Some(Merged { into, method }),
            (Session | Durable | Archived, Change::Supersede { by }) => Some(Superseded { by }),
            (Durable, Change::Archive) => Some(Archived),
            (Merged { method: Method::Lexical, .. }, Change::Restore) => Some(Durable),
            (Merged { into, method: Method::Lexical }, Change::Confirm) => {
                Some(Merged { into, method: Method::Semantic })
            }
            (
                Durable | Archived | Merged { .. } | Superseded { .. } | Rejected { .. },
                Change::Promote | Change::Reject { .. } | Change::Archive | Change::Restore | Change::Confirm,
            )
            | (Session, Change::Archive | Change::Restore | Change::Confirm)
            | (
                Merged { .. } | Superseded { .. } | Rejected { .. },
                Change::Merge { .. } | Change::Supersede { .. },
            ) => None,
        }
    }

    /// Whether a search finds it.
    pub fn is_live(self) -> bool {
        matches!(self, Standing::Session | Standing::Durable | Standing::Archived)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub header: Header,
    pub standing: Standing,
    /// Entries that say the opposite.
    pub conflicts: BTreeSet<MemoryId>,
    pub shared_with: BTreeSet<AgentId>,
}

/// What was counted on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub captured: u64,
    pub blocked: u64,
    pub refused: BTreeMap<GateName, u64>,
    pub runs: u64,
    /// Events that did not fit.
    pub strange: u64,
}

/// The memory of one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    entries: BTreeMap<MemoryId, Known>,
    applied: Option<u64>,
    counters: Counters,
    last_run: Option<(u64, Timestamp)>,
    last_id: Option<MemoryId>,
}

impl Memory {
    /// Takes in the event with this number. One that was taken in before changes nothing.
    pub fn apply(&mut self, seq: u64, at: Timestamp, event: &Event) {
        if self.applied.is_some_and(|applied| seq <= applied) {
            return;
        }
        self.applied = Some(seq);
        match event {
            Event::Captured(captured) => self.capture(&captured.header),
            Event::Rejected(rejected) => {
                *self.counters.refused.entry(rejected.refusal.gate).or_default() += 1
            }
            Event::Blocked(_) => self.counters.blocked += 1,
            Event::Decided(decided) => self.decide(decided, at),
            Event::Superseded(superseded) => {
                self.change(superseded.entry, Change::Supersede { by: superseded.by })
            }
            Event::Archived(archived) => {
                archived.entries.iter().for_each(|&id| self.change(id, Change::Archive))
            }
            Event::Forgotten(forgotten) => {
                forgotten.entries.iter().for_each(|&id| self.change(id, Change::Forget))
            }
            Event::Shared(shared) => self.share(shared.entry, shared.with),
            Event::Unshared(shared) => self.unshare(shared.entry, &shared.with),
            Event::Settled(settled) => self.settle(settled.pair),
            Event::Cited(_) | Event::IdentityChanged(_) | Event::ContextReached(_) | Event::FileRead(_) => {}
        }
    }

    pub fn get(&self, id: MemoryId) -> Option<&Known> {
        self.entries.get(&id)
    }

    pub fn entries(&self) -> impl Iterator<Item = (MemoryId, &Known)> {
        self.entries.iter().map(|(id, known)| (*id, known))
    }

    /// What waits to be decided about, oldest first.
    pub fn session(&self) -> impl Iterator<Item = &Header> {
        self.standing_in(Standing::Session).map(|known| &known.header)
    }

    pub fn applied(&self) -> Option<u64> {
        self.applied
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The number of the last run and when it was.
    pub fn last_run(&self) -> Option<(u64, Timestamp)> {
        self.last_run
    }

    /// The newest id that was given out: the next one follows it.
    pub fn last_id(&self) -> Option<MemoryId> {
        self.last_id
    }

    pub fn standing_in(&self, standing: Standing) -> impl Iterator<Item = &Known> {
        self.entries.values().filter(move |known| known.standing == standing)
    }

    /// Merges that were made without the model, and wait for it.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (MemoryId, MemoryId)> {
        self.entries.iter().filter_map(|(id, known)| match known.standing {
            Standing::Merged { into, method: Method::Lexical } => Some((*id, into)),
            _ => None,
        })
    }

    /// The entry and all it took the place of, however often: what has to be forgotten with it, so that no fact comes back.
    pub fn lineage(&self, id: MemoryId) -> BTreeSet<MemoryId> {
        let mut before: BTreeMap<MemoryId, Vec<MemoryId>> = BTreeMap::new();
        for (older, known) in &self.entries {
            if let Standing::Merged { into: newer, .. } | Standing::Superseded { by: newer } = known.standing
            {
                before.entry(newer).or_default().push(*older);
            }
        }
        let mut found = BTreeSet::from([id]);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for &older in before.get(&id).into_iter().flatten() {
                if found.insert(older) {
                    open.push(older);
                }
            }
        }
        found
    }

    /// Whether an agent may read an entry: its own, and what was shared with it.
    pub fn may_read(&self, reader: &AgentId, id: MemoryId) -> bool {
        self.get(id).is_some_and(|known| known.header.agent == *reader || known.shared_with.contains(reader))
    }

    fn capture(&mut self, header: &Header) {
        if self.entries.contains_key(&header.id) {
            self.counters.strange += 1;
            return;
        }
        self.counters.captured += 1;
        self.last_id = self.last_id.max(Some(header.id));
        let known = Known {
            header: header.clone(),
            standing: Standing::Session,
            conflicts: BTreeSet::new(),
            shared_with: BTreeSet::new(),
        };
        self.entries.insert(header.id, known);
    }

    fn decide(&mut self, decided: &Decided, at: Timestamp) {
        if self.last_run.is_none_or(|(run, _)| run < decided.run) {
            self.counters.runs += 1;
            self.last_run = Some((decided.run, at));
        }
        for decision in &decided.decisions {
            match *decision {
                Decision::Promote { entry } => self.change(entry, Change::Promote),
                Decision::Merge(ref record) | Decision::Displace(ref record) => {
                    self.change(record.discarded, Change::Merge { into: record.kept, method: record.method });
                }
                Decision::Reject { entry, refusal } => {
                    self.change(entry, Change::Reject { gate: refusal.gate })
                }
                Decision::Conflict { pair, .. } => self.conflict(pair),
                Decision::Restore { entry } => self.change(entry, Change::Restore),
                Decision::Confirm { entry } => self.change(entry, Change::Confirm),
            }
        }
    }

    fn change(&mut self, id: MemoryId, change: Change) {
        let sound = match change {
            Change::Merge { into: other, .. } | Change::Supersede { by: other } => {
                self.entries.contains_key(&other) && !self.leads_to(other, id)
            }
            Change::Promote
            | Change::Reject { .. }
            | Change::Archive
            | Change::Restore
            | Change::Confirm
            | Change::Forget => true,
        };
        let known = self.entries.get_mut(&id).filter(|_| sound);
        let Some(known) = known else {
            self.counters.strange += 1;
            return;
        };
        match known.standing.after(change) {
            Some(standing) => known.standing = standing,
            None => self.counters.strange += 1,
        }
        if !self.entries[&id].standing.is_live() {
            self.settle_all(id);
        }
    }

    /// Whether one follows what took an entry's place from `from` and comes to `to`. The way is finite, because this is asked before
    /// each step of it is made.
    fn leads_to(&self, from: MemoryId, to: MemoryId) -> bool {
        let mut at = Some(from);
        while let Some(id) = at {
            if id == to {
                return true;
            }
            at = match self.entries.get(&id).map(|known| known.standing) {
                Some(Standing::Merged { into: next, .. } | Standing::Superseded { by: next }) => Some(next),
                _ => None,
            };
        }
        false
    }

    fn conflict(&mut self, (a, b): (MemoryId, MemoryId)) {
        let live = |id| self.get(id).is_some_and(|known| known.standing.is_live());
        if a == b || !live(a) || !live(b) {
            self.counters.strange += 1;
            return;
        }
        for (one, other) in [(a, b), (b, a)] {
            if let Some(known) = self.entries.get_mut(&one) {
                known.conflicts.insert(other);
            }
        }
    }

    fn settle(&mut self, (a, b): (MemoryId, MemoryId)) {
        for (one, other) in [(a, b), (b, a)] {
            if let Some(known) = self.entries.get_mut(&one) {
                known.conflicts.remove(&other);
            }
        }
    }

    /// What is gone contradicts nobody.
    fn settle_all(&mut self, id: MemoryId) {
        let others = self.entries.get_mut(&id).map(|known| std::mem::take(&mut known.conflicts));
        others.into_iter().flatten().for_each(|other| self.settle((id, other)));
    }

    fn share(&mut self, id: MemoryId, with: AgentId) {
        match self.entries.get_mut(&id).filter(|known| known.standing != Standing::Forgotten) {
            Some(known) => {
                known.shared_with.insert(with);
            }
            None => self.counters.strange += 1,
        }
    }

    fn unshare(&mut self, id: MemoryId, with: &AgentId) {
        if let Some(known) = self.entries.get_mut(&id) {
            known.shared_with.remove(with);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::build;
    use crate::consolidate::{Counts, MergeReason, MergeRecord};
    use crate::differs::Difference;
    use crate::event::{Archived, Captured, Forgotten, Settled, Shared, Superseded};
    use crate::gates::{Reason, Refusal};
    use crate::similar::Similarity;

    fn captured(n: u32) -> Event {
        Event::Captured(Captured { header: build::fact("The port is 8080.").entry(n).header })
    }

    fn decided(run: u64, decisions: Vec<Decision>) -> Event {
        let counts = Counts::default();
        Event::Decided(Decided { run, part: 0, parts: 1, method: Method::Lexical, counts, decisions })
    }

    fn merge(discarded: u32, kept: u32, method: Method) -> Decision {
        Decision::Merge(MergeRecord {
            kept: build::id(kept),
            discarded: build::id(discarded),
            similarity: Similarity::new(0.9),
            reason: MergeReason::HigherConfidence,
            method,
        })
    }

    fn folded(events: &[Event]) -> Memory {
        let mut memory = Memory::default();
        for (seq, event) in events.iter().enumerate() {
            memory.apply(seq as u64, build::at(seq as u32), event);
        }
        memory
    }

    fn standing(memory: &Memory, n: u32) -> Standing {
        memory.get(build::id(n)).unwrap().standing
    }

    fn check(memory: &Memory) {
        for (id, known) in memory.entries() {
            if let Standing::Merged { into: other, .. } | Standing::Superseded { by: other } = known.standing
            {
                assert!(other != id && memory.get(other).is_some(), "{id} points at {other}");
            }
            for &other in &known.conflicts {
                assert!(other != id && memory.get(other).unwrap().conflicts.contains(&id));
                assert!(known.standing.is_live());
            }
            assert!(memory.lineage(id).contains(&id));
        }
    }

    #[test]
    fn a_memory_goes_from_the_session_to_durable_to_archived_and_is_forgotten_for_ever() {
        let id = build::id(1);
        let mut events = vec![captured(1)];
        for (event, expected) in [
            (decided(1, vec![Decision::Promote { entry: id }]), Standing::Durable),
            (Event::Archived(Archived { entries: vec![id] }), Standing::Archived),
            (Event::Forgotten(Forgotten { entries: vec![id], seqs: Vec::new() }), Standing::Forgotten),
            (decided(2, vec![Decision::Promote { entry: id }]), Standing::Forgotten),
            (decided(3, vec![Decision::Restore { entry: id }]), Standing::Forgotten),
        ] {
            events.push(event);
            assert_eq!(standing(&folded(&events), 1), expected);
        }
    }

    // shows: MEM-F46
    #[test]
    fn a_merge_without_the_model_waits_for_it_and_can_be_undone_or_confirmed() {
        let lexical = [captured(1), captured(2), decided(1, vec![merge(2, 1, Method::Lexical)])];
        let memory = folded(&lexical);
        assert_eq!(memory.unconfirmed().collect::<Vec<_>>(), [(build::id(2), build::id(1))]);
        let then = |decision| folded(&[&lexical[..], &[decided(2, vec![decision])]].concat());
        let restored = then(Decision::Restore { entry: build::id(2) });
        assert_eq!(standing(&restored, 2), Standing::Durable);
        let confirmed = then(Decision::Confirm { entry: build::id(2) });
        assert_eq!(confirmed.unconfirmed().count(), 0);
        assert_eq!(
            standing(&confirmed, 2),
            Standing::Merged { into: build::id(1), method: Method::Semantic }
        );
    }

    #[test]
    fn forgetting_takes_all_that_was_replaced_with_it() {
        let memory = folded(&[
            captured(1),
            captured(2),
            captured(3),
            captured(4),
            decided(1, vec![merge(1, 2, Method::Semantic), merge(2, 3, Method::Semantic)]),
        ]);
        let lineage: Vec<MemoryId> = memory.lineage(build::id(3)).into_iter().collect();
        assert_eq!(lineage, [1, 2, 3].map(build::id));
    }

    #[test]
    fn an_entry_is_read_by_its_own_agent_and_by_those_it_was_shared_with() {
        let (own, other) = (build::agent(1), build::agent(2));
        let shared = Shared { entry: build::id(1), with: other };
        let mut memory = folded(&[captured(1)]);
        assert!(memory.may_read(&own, build::id(1)) && !memory.may_read(&other, build::id(1)));
        memory.apply(1, build::at(1), &Event::Shared(shared.clone()));
        assert!(memory.may_read(&other, build::id(1)));
        memory.apply(2, build::at(2), &Event::Unshared(shared));
        assert!(!memory.may_read(&other, build::id(1)));
    }

    // shows: MEM-F29
    #[test]
    fn refusals_are_counted_by_gate() {
        let refusal = Refusal { gate: GateName::Noise, reason: Reason::Greeting };
        let rejected =
            Event::Rejected(crate::event::Rejected { source: crate::entry::Source::Inference, refusal });
        let memory = folded(&[rejected.clone(), rejected]);
        assert_eq!(memory.counters().refused[&GateName::Noise], 2);
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let n = 1u32..6;
        let id = n.clone().prop_map(build::id);
        let method = prop_oneof![Just(Method::Lexical), Just(Method::Semantic)];
        let refusal = Refusal { gate: GateName::Noise, reason: Reason::Log };
        let decision = prop_oneof![
            id.clone().prop_map(|entry| Decision::Promote { entry }),
            (n.clone(), n.clone(), method).prop_map(|(a, b, method)| merge(a, b, method)),
            id.clone().prop_map(move |entry| Decision::Reject { entry, refusal }),
            (id.clone(), id.clone()).prop_map(|pair| Decision::Conflict { pair, by: Difference::Numbers }),
            id.clone().prop_map(|entry| Decision::Restore { entry }),
            id.clone().prop_map(|entry| Decision::Confirm { entry }),
        ];
        prop_oneof![
            3 => n.prop_map(captured),
            4 => (0u64..4, prop::collection::vec(decision, 0..4)).prop_map(|(run, decisions)| decided(run, decisions)),
            1 => (id.clone(), id.clone()).prop_map(|(entry, by)| Event::Superseded(Superseded { entry, by })),
            1 => id.clone().prop_map(|id| Event::Archived(Archived { entries: vec![id] })),
            1 => id.clone().prop_map(|id| Event::Forgotten(Forgotten { entries: vec![id], seqs: Vec::new() })),
            1 => (id.clone(), id).prop_map(|pair| Event::Settled(Settled { pair })),
        ]
    }

    proptest! {
        #[test]
        fn every_prefix_is_a_valid_state_and_reading_twice_is_reading_once(events in prop::collection::vec(any_event(), 0..40)) {
            let mut once = Memory::default();
            let mut twice = Memory::default();
            for (seq, event) in events.iter().enumerate() {
                once.apply(seq as u64, build::at(0), event);
                check(&once);
                for (earlier, event) in events[..=seq].iter().enumerate() {
                    twice.apply(earlier as u64, build::at(0), event);
                }
            }
            prop_assert_eq!(once, twice);
        }
    }
}
