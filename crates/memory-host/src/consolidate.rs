//! Consolidation: what the session holds is decided about, and the decisions are written down. A run that is cut short has decided what it
//! wrote; the next one decides the rest.

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
use crate::error::{Error, Result};
use crate::memories::{Memories, read_entry};
use crate::sealed;
use crate::space::Space;

/// Decided about in one run; what is left waits for the next.
const AT_ONCE: usize = 20_000;

/// Decisions that fit a line of the journal: each is at most some 220 bytes, and a line 64 KiB.
const DECISIONS_PER_PART: usize = 200;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Consolidated {
    pub run: u64,
    pub counts: Counts,
    pub merged: Vec<MergeRecord>,
    pub conflicts: Vec<(MemoryId, MemoryId)>,
    /// The model was not there, and it went by words.
    pub fallback_used: bool,
    /// Merges of an earlier run without the model that were looked at again.
    pub reviewed: usize,
}

impl Memories {
    /// Decides about everything that was captured since the last run. Nothing to decide is nothing written.
    pub fn consolidate(&self, agent: &AgentName, by: &Actor, gates: &Gates) -> Result<Option<Consolidated>> {
        self.embed_all(agent)?;
        let mut decided = {
            let inner = self.caught_up()?;
            let Some(space) = inner.spaces.get(&agent.id()) else {
                return Err(Error::NoSpace(agent.to_string()));
            };
            self.decided(space, gates)?
        };
        if decided.1.is_empty() {
            return Ok(None);
        }
        let (summary, decisions) = (&mut decided.0, &decided.1);
        self.write_run(agent.id(), by, summary, decisions)?;
        drop(self.caught_up()?);
        Ok(Some(decided.0))
    }

    fn decided(&self, space: &Space, gates: &Gates) -> Result<(Consolidated, Vec<Decision>)> {
        let session: Vec<Entry> = space
            .table
            .session(AT_ONCE)?
            .into_iter()
            .filter_map(|seq| self.entry(seq).transpose())
            .collect::<Result<_>>()?;
        let around = Around { memories: self, space, method: self.method(space)? };
        let plan: Plan = plan(&session, &around, gates)?;
        let again = match around.method {
            Method::Semantic => review(space.table.unconfirmed()?, |a, b| around.likeness(a, b)),
            Method::Lexical => Vec::new(),
        };
        let conflicts = plan.decisions.iter().filter_map(|decision| match decision {
            Decision::Conflict { pair, .. } => Some(*pair),
            _ => None,
        });
        let summary = Consolidated {
            run: space.table.counted()?.runs + 1,
            counts: plan.counts,
            merged: plan.merged().cloned().collect(),
            conflicts: conflicts.collect(),
            fallback_used: plan.fallback_used(),
            reviewed: again.len(),
        };
        Ok((summary, plan.decisions.into_iter().chain(again).collect()))
    }

    fn write_run(
        &self,
        agent: AgentId,
        by: &Actor,
        summary: &Consolidated,
        decisions: &[Decision],
    ) -> Result<()> {
        let method = if summary.fallback_used { Method::Lexical } else { Method::Semantic };
        let all: Vec<&[Decision]> = decisions.chunks(DECISIONS_PER_PART).collect();
        let parts = u32::try_from(all.len()).unwrap_or(u32::MAX);
        for (part, decisions) in (0u32..).zip(all) {
            let (run, counts) = (summary.run, summary.counts);
            let event =
                Event::Decided(Decided { run, part, parts, method, counts, decisions: decisions.to_vec() });
            self.options.journal.append(&sealed::happened(&event, by.clone(), agent)?)?;
        }
        Ok(())
    }

    /// Meaning counts where everything has a vector.
    fn method(&self, space: &Space) -> Result<Method> {
        let all_there = self.options.model.is_some() && space.table.pending_count()? == 0;
        Ok(if all_there { Method::Semantic } else { Method::Lexical })
    }

    /// Gives every memory of a space its vector. Others may look and capture in between.
    pub fn embed_all(&self, agent: &AgentName) -> Result<u64> {
        let Some(model) = self.options.model.clone() else { return Ok(0) };
        let mut done = 0;
        loop {
            let mut inner = self.caught_up()?;
            let Some(space) = inner.spaces.get_mut(&agent.id()) else { return Ok(done) };
            let journal = &self.options.journal;
            match space.embed_some(&model, &|seq| read_entry(journal, seq))? {
                0 => return Ok(done),
                some => done += some as u64,
            }
        }
    }
}

/// What the plan asks of a space.
struct Around<'a> {
    memories: &'a Memories,
    space: &'a Space,
    method: Method,
}

impl Around<'_> {
    fn seq_of(&self, id: MemoryId) -> Option<u64> {
        self.space.table.seq_of(id).ok().flatten()
    }

    fn by_meaning(&self, seq: u64, limit: usize) -> Vec<(u64, f64)> {
        let Ok(Some(vector)) = self.space.vectors.vector(Key { entry: seq, chunk: 0 }) else {
            return Vec::new();
        };
        let others = |key: Key| key.entry != seq && !self.space.dead.contains(key.entry);
        let query =
            Query { vector: &vector, limit, upto: None, among: Among::Where(&others), effort: Effort::Usual };
        let answer = self.space.vectors.search(&query).map(|answer| answer.hits).unwrap_or_default();
        answer.into_iter().map(|hit| (hit.key.entry, f64::from(hit.score))).collect()
    }

    fn by_words(&self, seq: u64, text: &str, limit: usize) -> Vec<(u64, f64)> {
        let others = |id: u64| id != seq && !self.space.dead.contains(id);
        let found =
            self.space.words.search(&Words::of(text), limit, Filter::Where(&others)).unwrap_or_default();
        let likeness = |id: u64| {
            let other = self.memories.entry(id).ok().flatten()?;
            Some((id, jaccard(&word_set(text), &word_set(other.text())).get()))
        };
        found.into_iter().filter_map(|hit| likeness(hit.id)).collect()
    }

    /// The cosine of two memories that still have vectors.
    fn likeness(&self, a: MemoryId, b: MemoryId) -> Option<Similarity> {
        let vector = |id| self.space.vectors.vector(Key { entry: self.seq_of(id)?, chunk: 0 }).ok().flatten();
        let (a, b) = (vector(a)?, vector(b)?);
        let dot: f32 = a.numbers().iter().zip(b.numbers()).map(|(x, y)| x * y).sum();
        Some(Similarity::new(f64::from(dot)))
    }
}

impl Neighbours for Around<'_> {
    fn method(&self) -> Method {
        self.method
    }

    fn nearest(&self, entry: &Entry, limit: usize) -> Vec<Near> {
        let Some(seq) = self.seq_of(entry.id()) else { return Vec::new() };
        let near = match self.method {
            Method::Semantic => self.by_meaning(seq, limit),
            Method::Lexical => self.by_words(seq, entry.text(), limit),
        };
        let named = |(seq, likeness): (u64, f64)| {
            let id = self.space.table.row(seq).ok().flatten()?.id;
            Some(Near { id, similarity: Similarity::new(likeness) })
        };
        near.into_iter().filter_map(named).collect()
    }

    fn durable(&self, id: MemoryId) -> Option<Entry> {
        let seq = self.seq_of(id)?;
        let row = self.space.table.row(seq).ok().flatten()?;
        matches!(row.standing, Standing::Durable | Standing::Archived)
            .then(|| self.memories.entry(seq).ok().flatten())?
    }
}
