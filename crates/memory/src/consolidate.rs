//! A consolidation run, decided: which entries of the session are kept for good, which say what is known already, which are
//! refused, and which contradict something.
//!
//! [`plan`] takes a snapshot of the session and the neighbours of each entry, and returns decisions. Gates come first, so that
//! nothing refused can displace anything. Then all candidate pairs are looked at, the most alike first, and of each pair that may be
//! merged one is given up. So the best match decides, whatever the order of files, and the same input gives the same plan.
//!
//! What holds:
//! - each loaded entry is promoted, deduplicated or rejected, exactly one of the three, or there is no plan;
//! - a pair is merged only where kind, type and scope are the same, the texts differ in no number, name, negation or opposite, and
//!   both are live;
//! - what is trusted less never displaces what is trusted more;
//! - the number of comparisons is the number of neighbours the index gives ([`NEIGHBOURS_MAX`] each): no entry is compared with all.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::differs::{Difference, Traits, difference, frame_similarity};
use crate::entry::Entry;
use crate::gates::{Gates, Refusal};
use crate::id::MemoryId;
use crate::kind::{Gating, Merging};
use crate::similar::Similarity;
use crate::text::Tags;

/// How likeness was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Cosine of sentence vectors.
    Semantic,
    /// Shared words: the fallback when the model is not there or fails. What it merged is looked at again with the model.
    Lexical,
}

impl Method {
    /// From here on two entries are candidates for one.
    pub fn threshold(self) -> f64 {
        match self {
            Method::Semantic => 0.85,
            Method::Lexical => 0.80,
        }
    }

    pub fn is_fallback(self) -> bool {
        self == Method::Lexical
    }
}

/// From here on two statements are about the same thing, whatever their values: see [`frame_similarity`].
const SAME_STATEMENT: f64 = 0.8;

/// How many neighbours of an entry are looked at. A memory that is said again seldom has more than a few twins; what contradicts it may
/// stand behind others that are worded like it.
pub const NEIGHBOURS_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    pub id: MemoryId,
    pub similarity: Similarity,
}

/// The index. It holds the live durable entries, archived ones among them, and those of the snapshot.
pub trait Neighbours {
    fn method(&self) -> Method;

    /// The entries nearest to this one, at most so many.
    fn nearest(&self, entry: &Entry, limit: usize) -> Vec<Near>;

    /// A live durable entry. (Those of the snapshot are known.)
    fn durable(&self, id: MemoryId) -> Option<Entry>;
}

/// One thing a run decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Promote {
        entry: MemoryId,
    },
    /// An entry of the session is given up for another one.
    Merge(MergeRecord),
    /// A durable entry is given up for one of the session.
    Displace(MergeRecord),
    Reject {
        entry: MemoryId,
        #[serde(flatten)]
        refusal: Refusal,
    },
    /// Both are kept, and shown together.
    Conflict {
        pair: (MemoryId, MemoryId),
        by: Difference,
    },
    Restore {
        entry: MemoryId,
    },
    Confirm {
        entry: MemoryId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeRecord {
    pub kept: MemoryId,
    pub discarded: MemoryId,
    pub similarity: Similarity,
    /// Why the kept one was kept.
    pub reason: MergeReason,
    pub method: Method,
}

/// Seen from the entry that came later: why it won, or why it lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MergeReason {
    #[serde(rename = "higher_confidence")]
    HigherConfidence,
    #[serde(rename = "newer+same_confidence")]
    NewerSameConfidence,
    #[serde(rename = "lower_confidence")]
    LowerConfidence,
    #[serde(rename = "older+same_confidence")]
    OlderSameConfidence,
    /// It is sure enough and comes from somebody who is trusted less.
    #[serde(rename = "less_trusted")]
    LessTrusted,
}

/// Where every loaded entry went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub loaded: u64,
    pub promoted: u64,
    pub deduplicated: u64,
    pub rejected: u64,
}

impl Counts {
    pub fn balance(&self) -> bool {
        self.promoted + self.deduplicated + self.rejected == self.loaded
    }
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub method: Method,
    pub decisions: Vec<Decision>,
    pub counts: Counts,
    /// Survivors that carry tags of what they replaced.
    pub tags: BTreeMap<MemoryId, Tags>,
    /// How many pairs were looked at.
    pub compared: usize,
}

impl Plan {
    /// Nothing to do is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    pub fn fallback_used(&self) -> bool {
        self.method.is_fallback()
    }

    pub fn merged(&self) -> impl Iterator<Item = &MergeRecord> {
        self.decisions.iter().filter_map(|decision| match decision {
            Decision::Merge(record) | Decision::Displace(record) => Some(record),
            _ => None,
        })
    }

    /// The decisions in parts that fit a line of the journal each. What belongs to an entry's decision is in the same part, so that a
    /// run that is cut short leaves nothing half decided.
    pub fn parts(&self) -> Vec<&[Decision]> {
        let mut parts = Vec::new();
        let mut from = 0;
        for at in 0..self.decisions.len() {
            if at - from >= DECISIONS_PER_PART && !self.decisions[at].belongs_to_another() {
                parts.push(&self.decisions[from..at]);
                from = at;
            }
        }
        if from < self.decisions.len() {
            parts.push(&self.decisions[from..]);
        }
        parts
    }
}

/// A decision is at most some 220 bytes, a line of the journal 64 KiB, and up to [`NEIGHBOURS_MAX`] displacements and as many
/// conflicts may follow the last decision of a part.
const DECISIONS_PER_PART: usize = 160;

impl Decision {
    /// Whether it stands behind the decision about an entry of the session.
    fn belongs_to_another(&self) -> bool {
        matches!(self, Decision::Displace(_) | Decision::Conflict { .. })
    }
}

/// A run whose counts do not balance. Nothing is written then; it is a bug to be looked at.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("of {} entries {} were promoted, {} deduplicated and {} rejected, which does not add up", .0.loaded, .0.promoted, .0.deduplicated, .0.rejected)]
pub struct Unbalanced(pub Counts);

pub fn plan(session: &[Entry], neighbours: &dyn Neighbours, gates: &Gates) -> Result<Plan, Unbalanced> {
    let mut run = Run::new(session, neighbours);
    run.gate(gates);
    run.compare();
    run.settled()
}

struct Run<'a> {
    neighbours: &'a dyn Neighbours,
    method: Method,
    /// The snapshot by id, so that its order does not matter and nothing is in it twice.
    session: BTreeMap<MemoryId, &'a Entry>,
    durable: BTreeMap<MemoryId, Entry>,
    traits: BTreeMap<MemoryId, Traits>,
    gone: BTreeSet<MemoryId>,
    /// What was decided about entries of the session, each with what belongs to it. Those not in here are promoted.
    decided: BTreeMap<MemoryId, Decision>,
    beside: BTreeMap<MemoryId, Vec<Decision>>,
    tags: BTreeMap<MemoryId, Tags>,
    counts: Counts,
    compared: usize,
}

/// Two entries, the smaller id first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair(MemoryId, MemoryId);

impl<'a> Run<'a> {
    fn new(session: &'a [Entry], neighbours: &'a dyn Neighbours) -> Run<'a> {
        let session: BTreeMap<MemoryId, &Entry> = session.iter().map(|entry| (entry.id(), entry)).collect();
        let counts = Counts { loaded: session.len() as u64, ..Counts::default() };
        Run {
            neighbours,
            method: neighbours.method(),
            session,
            durable: BTreeMap::new(),
            traits: BTreeMap::new(),
            gone: BTreeSet::new(),
            decided: BTreeMap::new(),
            beside: BTreeMap::new(),
            tags: BTreeMap::new(),
            counts,
            compared: 0,
        }
    }

    fn gate(&mut self, gates: &Gates) {
        for (&id, entry) in &self.session {
            if entry.header.kind.policy().gating != Gating::Enforced {
                continue;
            }
            if let Some(refusal) = gates.judge(entry.text(), entry.header.confidence).refused {
                self.gone.insert(id);
                self.counts.rejected += 1;
                self.decided.insert(id, Decision::Reject { entry: id, refusal });
            }
        }
    }

    /// The most alike first; among equals by id.
    fn compare(&mut self) {
        let mut pairs: Vec<(Similarity, Pair)> =
            self.candidates().into_iter().map(|(pair, similarity)| (similarity, pair)).collect();
        pairs.sort_by(|(a, x), (b, y)| b.cmp(a).then(x.cmp(y)));
        let mut conflicts = Vec::new();
        for (similarity, Pair(a, b)) in pairs {
            if self.gone.contains(&a) || self.gone.contains(&b) {
                continue;
            }
            self.compared += 1;
            match self.look(a, b, similarity) {
                Look::Same => self.merge(a, b, similarity),
                Look::Contradicting(by) => conflicts.push((a, b, by)),
                Look::Apart => {}
            }
        }
        // Who was given up later contradicts nobody.
        for (a, b, by) in conflicts {
            if !self.gone.contains(&a) && !self.gone.contains(&b) {
                let session = if self.session.contains_key(&b) { b } else { a };
                self.beside.entry(session).or_default().push(Decision::Conflict { pair: (a, b), by });
            }
        }
    }

    fn candidates(&mut self) -> BTreeMap<Pair, Similarity> {
        let mut pairs = BTreeMap::new();
        let open: Vec<MemoryId> = self.session.keys().copied().filter(|id| !self.gone.contains(id)).collect();
        for id in open {
            let Some(&entry) = self.session.get(&id) else { continue };
            if entry.header.kind.policy().merging == Merging::Never {
                continue;
            }
            for near in self.neighbours.nearest(entry, NEIGHBOURS_MAX).into_iter().take(NEIGHBOURS_MAX) {
                // An entry is never its own duplicate, also after a run that was cut short.
                if near.id == id || self.gone.contains(&near.id) || !self.knows(near.id) {
                    continue;
                }
                let pair = Pair(id.min(near.id), id.max(near.id));
                let best = pairs.entry(pair).or_insert(near.similarity);
                *best = near.similarity.max(*best);
            }
        }
        pairs
    }

    /// Loads a durable entry when it is met for the first time.
    fn knows(&mut self, id: MemoryId) -> bool {
        if self.session.contains_key(&id) || self.durable.contains_key(&id) {
            return true;
        }
        let Some(entry) = self.neighbours.durable(id).filter(|entry| entry.id() == id) else { return false };
        self.durable.insert(id, entry);
        true
    }

    fn entry(&self, id: MemoryId) -> &Entry {
        self.session
            .get(&id)
            .copied()
            .or_else(|| self.durable.get(&id))
            .expect("a candidate is in the session or was loaded")
    }

    fn look(&mut self, a: MemoryId, b: MemoryId, similarity: Similarity) -> Look {
        for id in [a, b] {
            if !self.traits.contains_key(&id) {
                let traits = Traits::of(self.entry(id).text());
                self.traits.insert(id, traits);
            }
        }
        let (x, y) = (&self.entry(a).header, &self.entry(b).header);
        if (x.kind, x.scope, &x.agent) != (y.kind, y.scope, &y.agent) {
            return Look::Apart;
        }
        let (s, t) = (&self.traits[&a], &self.traits[&b]);
        let alike = similarity.get() >= self.method.threshold();
        match difference(s, t) {
            None if alike && x.entry_type == y.entry_type => Look::Same,
            Some(apart) if apart.contradicts && (alike || frame_similarity(s, t).get() >= SAME_STATEMENT) => {
                Look::Contradicting(apart.by)
            }
            None | Some(_) => Look::Apart,
        }
    }

    fn merge(&mut self, a: MemoryId, b: MemoryId, similarity: Similarity) {
        let (kept, discarded, reason) = survivor(self.entry(a), self.entry(b));
        let tags = self.tags_of(kept).and(&self.tags_of(discarded));
        if tags != self.entry(kept).body.tags {
            self.tags.insert(kept, tags);
        }
        self.tags.remove(&discarded);
        self.gone.insert(discarded);
        let record = MergeRecord { kept, discarded, similarity, reason, method: self.method };
        if self.session.contains_key(&discarded) {
            self.counts.deduplicated += 1;
            self.decided.insert(discarded, Decision::Merge(record));
        } else {
            self.beside.entry(kept).or_default().push(Decision::Displace(record));
        }
    }

    fn tags_of(&self, id: MemoryId) -> Tags {
        self.tags.get(&id).cloned().unwrap_or_else(|| self.entry(id).body.tags.clone())
    }

    fn settled(mut self) -> Result<Plan, Unbalanced> {
        let mut decisions = Vec::new();
        for &entry in self.session.keys() {
            let decision = self.decided.remove(&entry).unwrap_or(Decision::Promote { entry });
            self.counts.promoted += u64::from(matches!(decision, Decision::Promote { .. }));
            decisions.push(decision);
            decisions.append(&mut self.beside.remove(&entry).unwrap_or_default());
        }
        if !self.counts.balance() {
            return Err(Unbalanced(self.counts));
        }
        Ok(Plan {
            method: self.method,
            decisions,
            counts: self.counts,
            tags: self.tags,
            compared: self.compared,
        })
    }
}

enum Look {
    Same,
    Contradicting(Difference),
    Apart,
}

/// Of two that say the same: who stays, who goes, and why. Higher confidence wins, then the newer; trust has a veto.
fn survivor(a: &Entry, b: &Entry) -> (MemoryId, MemoryId, MergeReason) {
    let newer = |x: &Entry| (x.header.at, x.id());
    let (old, new) = if newer(a) <= newer(b) { (a, b) } else { (b, a) };
    let (of_old, of_new) = (old.header.confidence, new.header.confidence);
    let (new_wins, reason) = match of_new.cmp(&of_old) {
        std::cmp::Ordering::Greater => (true, MergeReason::HigherConfidence),
        std::cmp::Ordering::Equal => (true, MergeReason::NewerSameConfidence),
        std::cmp::Ordering::Less => (false, MergeReason::LowerConfidence),
    };
    match (new_wins, new.header.trust().cmp(&old.header.trust())) {
        (true, std::cmp::Ordering::Less) => (old.id(), new.id(), MergeReason::LessTrusted),
        (false, std::cmp::Ordering::Greater) => (new.id(), old.id(), MergeReason::LessTrusted),
        (true, _) => (new.id(), old.id(), reason),
        (false, _) => (old.id(), new.id(), reason),
    }
}

/// Looks again at merges that were made without the model. `likeness` is the cosine of the two texts, where both still have one.
/// Nothing is lost either way: what was given up is kept until then.
pub fn review(
    unconfirmed: impl IntoIterator<Item = (MemoryId, MemoryId)>,
    likeness: impl Fn(MemoryId, MemoryId) -> Option<Similarity>,
) -> Vec<Decision> {
    let again = |(discarded, kept)| {
        let similarity = likeness(discarded, kept)?;
        let same = similarity.get() >= Method::Semantic.threshold();
        Some(if same {
            Decision::Confirm { entry: discarded }
        } else {
            Decision::Restore { entry: discarded }
        })
    };
    unconfirmed.into_iter().filter_map(again).collect()
}

#[cfg(test)]
mod tests;
