//! Consolidation: what the session holds is decided about, and the decisions are written down. A run that is cut short has decided what it
//! wrote; the next one decides the rest.

use std::collections::BTreeMap;

use holdfast_concordance::{Filter, Query as Words};
use holdfast_memory::Entry;
use holdfast_memory::Gates;
use holdfast_memory::MemoryId;
use holdfast_memory::Standing;
use holdfast_memory::event::{Decided, Event};
use holdfast_memory::{Counts, Decision, MergeRecord, Method, Near, Neighbours, Plan, plan, review};
use holdfast_memory::{Similarity, jaccard, word_set};
use holdfast_types::{Actor, AgentId};
use holdfast_vectors::{Among, Effort, Key, Query};

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::Memories;
use crate::sealed;
use crate::space::Space;

/// Decided about in one run; what is left waits for the next.
const AT_ONCE: usize = 20_000;

/// What is less alike than this is about something else. Far below what is merged: what contradicts may be worded otherwise.
const NEAR_MIN: f64 = 0.5;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Consolidated {
    pub run: u64,
    pub counts: Counts,
    pub merged: Vec<MergeRecord>,
    pub conflicts: Vec<(MemoryId, MemoryId)>,
    /// The model was not there or has failed, and it went by words.
    pub fallback_used: bool,
    /// Merges of an earlier run without the model that were looked at again.
    pub reviewed: usize,
}

impl Memories {
    /// Decides about everything that was captured since the last run. Nothing to decide is nothing written.
    pub fn consolidate(&self, agent: &AgentName, by: &Actor, gates: &Gates) -> Result<Option<Consolidated>> {
        let _one = self.deciding();
        self.embed_all(agent)?;
        self.supersede(agent)?;
        let (summary, plan) = self.decided(agent, gates)?;
        if plan.is_empty() {
            return Ok(None);
        }
        self.write_run(agent.id(), by, &summary, &plan)?;
        drop(self.caught_up()?);
        Ok(Some(summary))
    }

    fn decided(&self, agent: &AgentName, gates: &Gates) -> Result<(Consolidated, Plan)> {
        let (method, seqs, unconfirmed, runs) = {
            let inner = self.caught_up()?;
            let space = inner.space_of(agent)?;
            let table = &space.table;
            (self.method(space)?, table.session(AT_ONCE)?, table.unconfirmed()?, table.counted()?.runs)
        };
        let session: Vec<Entry> =
            seqs.into_iter().filter_map(|seq| self.entry(seq).transpose()).collect::<Result<_>>()?;
        let around = Around { memories: self, agent: agent.id(), method };
        let mut plan: Plan = plan(&session, &around, gates)?;
        let again = match around.method {
            Method::Semantic => review(unconfirmed, |a, b| around.likeness(a, b)),
            Method::Lexical => Vec::new(),
        };
        let conflicts = plan.decisions.iter().filter_map(|decision| match decision {
            Decision::Conflict { pair, .. } => Some(*pair),
            _ => None,
        });
        let summary = Consolidated {
            run: runs + 1,
            counts: plan.counts,
            merged: plan.merged().cloned().collect(),
            conflicts: conflicts.collect(),
            fallback_used: plan.fallback_used(),
            reviewed: again.len(),
        };
        plan.decisions.extend(again);
        Ok((summary, plan))
    }

    fn write_run(&self, agent: AgentId, by: &Actor, summary: &Consolidated, plan: &Plan) -> Result<()> {
        let all = plan.parts();
        let parts = u32::try_from(all.len()).unwrap_or(u32::MAX);
        for (part, decisions) in (0u32..).zip(all) {
            let (run, counts, method) = (summary.run, summary.counts, plan.method);
            let event =
                Event::Decided(Decided { run, part, parts, method, counts, decisions: decisions.to_vec() });
            self.options.journal.append(&sealed::happened(&event, by.clone(), agent)?)?;
        }
        Ok(())
    }

    /// Meaning counts where everything has a vector.
    fn method(&self, space: &Space) -> Result<Method> {
        let all_there = self.model().is_some() && space.table.pending_count()? == 0;
        Ok(if all_there { Method::Semantic } else { Method::Lexical })
    }

    /// Gives every memory of a space its vector. Others look and capture meanwhile.
    pub fn embed_all(&self, agent: &AgentName) -> Result<u64> {
        self.embed_while(agent, &mut |_| true)
    }

    /// The same for as long as whoever is told how many are done wants more.
    pub fn embed_while(&self, agent: &AgentName, go_on: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        let Some(model) = self.model() else { return Ok(0) };
        let mut done = 0;
        while go_on(done) {
            match self.or_by_words(self.embed_some_of(agent.id(), &model))? {
                None | Some(0) => break,
                Some(some) => done += some as u64,
            }
        }
        Ok(done)
    }
}

/// What the plan asks of a space. Each question is a look of its own, so that nobody waits for the whole of a run.
struct Around<'a> {
    memories: &'a Memories,
    agent: AgentId,
    method: Method,
}

impl Around<'_> {
    /// What can be seen in the space now; what goes wrong is as good as nothing seen.
    fn look<T>(&self, look: impl FnOnce(&Space) -> Option<T>) -> Option<T> {
        self.memories.inner().spaces.get(&self.agent).and_then(look)
    }

    /// The cosine of two memories that still have vectors.
    fn likeness(&self, a: MemoryId, b: MemoryId) -> Option<Similarity> {
        self.look(|space| {
            let seq = |id| space.table.seq_of(id).ok().flatten();
            cosine(space, seq(a)?, seq(b)?)
        })
    }

    /// Those that share its words. How alike they are goes by meaning where that is how likeness is measured.
    fn by_words(&self, seq: u64, text: &str, limit: usize) -> Vec<(u64, f64)> {
        let found = self.look(|space| by_words(space, seq, text, limit)).unwrap_or_default();
        let likeness = |id: u64| match self.method {
            Method::Semantic => Some((id, self.look(|space| cosine(space, seq, id))?.get())),
            Method::Lexical => {
                let other = self.memories.entry(id).ok().flatten()?;
                Some((id, jaccard(&word_set(text), &word_set(other.text())).get()))
            }
        };
        found.into_iter().filter_map(likeness).collect()
    }
}

fn by_meaning(space: &Space, seq: u64, limit: usize) -> Option<Vec<(u64, f64)>> {
    let vector = space.vectors.vector(Key { entry: seq, chunk: 0 }).ok().flatten()?;
    let others = |key: Key| key.entry != seq && !space.dead.contains(key.entry);
    let query =
        Query { vector: &vector, limit, upto: None, among: Among::Where(&others), effort: Effort::Usual };
    let hits = space.vectors.search(&query).ok()?.hits;
    Some(hits.into_iter().map(|hit| (hit.key.entry, f64::from(hit.score))).collect())
}

fn by_words(space: &Space, seq: u64, text: &str, limit: usize) -> Option<Vec<u64>> {
    let others = |id: u64| id != seq && !space.dead.contains(id);
    let found = space.words.search(&Words::of(text), limit, Filter::Where(&others)).ok()?;
    Some(found.into_iter().map(|hit| hit.id).collect())
}

fn cosine(space: &Space, a: u64, b: u64) -> Option<Similarity> {
    let vector = |entry| space.vectors.vector(Key { entry, chunk: 0 }).ok().flatten();
    let (a, b) = (vector(a)?, vector(b)?);
    let dot: f32 = a.numbers().iter().zip(b.numbers()).map(|(x, y)| x * y).sum();
    Some(Similarity::new(f64::from(dot)))
}

impl Neighbours for Around<'_> {
    fn method(&self) -> Method {
        self.method
    }

    fn nearest(&self, entry: &Entry, limit: usize) -> Vec<Near> {
        let Some(seq) = self.look(|space| space.table.seq_of(entry.id()).ok().flatten()) else {
            return Vec::new();
        };
        // What contradicts is found by its words where its meaning stands behind that of many who say the same, and the other way round.
        let mut near: BTreeMap<u64, f64> = self.by_words(seq, entry.text(), limit).into_iter().collect();
        if self.method == Method::Semantic {
            near.extend(self.look(|space| by_meaning(space, seq, limit)).unwrap_or_default());
        }
        let mut near: Vec<(u64, f64)> =
            near.into_iter().filter(|(_, likeness)| *likeness >= NEAR_MIN).collect();
        near.sort_by(|(x, a), (y, b)| b.total_cmp(a).then(x.cmp(y)));
        near.truncate(limit);
        let named = |(seq, likeness): (u64, f64)| {
            let id = self.look(|space| space.table.row(seq).ok().flatten())?.id;
            Some(Near { id, similarity: Similarity::new(likeness) })
        };
        near.into_iter().filter_map(named).collect()
    }

    fn durable(&self, id: MemoryId) -> Option<Entry> {
        let row =
            self.look(|space| space.table.row(space.table.seq_of(id).ok().flatten()?).ok().flatten())?;
        matches!(row.standing, Standing::Durable | Standing::Archived)
            .then(|| self.memories.entry(row.seq).ok().flatten())?
    }
}
