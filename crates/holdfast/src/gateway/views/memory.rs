//! Memory: a search with where each memory comes from, and one memory with everything that is known of it.

use holdfast_control::{
    Answer, MemoryAnswer, MemoryAsk, MemoryCount, MemoryFilter as Only, MemoryFound, MemoryHit,
    MemorySearch as Search, MemoryShown, MemoryTold, Request,
};
use holdfast_pages::{Found, Hit, Memory, MemoryEntry, MemoryFilter, MemorySearch, Origin, Space, Standing};

use super::Views;
use crate::ask::unexpected;
use crate::problem::Result;

/// Hits a page shows.
const TOP: u32 = 20;

impl Views {
    /// What a search comes to; before anything is asked, whose memories there are.
    pub(crate) fn memory(&self, query: &str, filter: MemoryFilter) -> Result<MemorySearch> {
        let spaces = match self.remembered(MemoryAsk::Stats { agent: None })? {
            MemoryAnswer::Stats(stats) => stats.agents.into_iter().map(space).collect(),
            other => return Err(odd(other)),
        };
        let found = if query.trim().is_empty() { None } else { Some(self.found(query, &filter)?) };
        Ok(MemorySearch { query: query.to_owned(), filter, spaces, found })
    }

    fn found(&self, query: &str, filter: &MemoryFilter) -> Result<Found> {
        let some = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
        let only = Only {
            kinds: some(&filter.kind),
            types: some(&filter.entry_type),
            tags: some(&filter.tag),
            trust: filter.trust,
            fresh: filter.fresh,
            host: filter.host.clone(),
            ..Only::default()
        };
        let search = Search { agent: filter.agent.clone(), query: query.to_owned(), only, top: TOP };
        match self.remembered(MemoryAsk::Search(Box::new(search)))? {
            MemoryAnswer::Found(found) => Ok(told(found)),
            other => Err(odd(other)),
        }
    }

    pub(crate) fn memory_entry(&self, agent: &str, id: &str) -> Result<MemoryEntry> {
        let ask = MemoryAsk::Show { agent: agent.to_owned(), id: id.to_owned() };
        match self.remembered(ask)? {
            MemoryAnswer::Shown(shown) => Ok(in_full(*shown)),
            other => Err(odd(other)),
        }
    }

    fn remembered(&self, ask: MemoryAsk) -> Result<MemoryAnswer> {
        match self.ask_office(Request::Memory { ask })? {
            Answer::Memory(answer) => Ok(*answer),
            other => Err(unexpected(&other)),
        }
    }
}

fn odd(answer: MemoryAnswer) -> crate::problem::Failure {
    unexpected(&Answer::Memory(Box::new(answer)))
}

fn space(of: MemoryCount) -> Space {
    Space { agent: of.agent, durable: of.durable, session: of.session, conflicts: of.conflicts }
}

fn told(found: MemoryFound) -> Found {
    let MemoryFound { agent, hits, lexical, without_vector, left_off, .. } = found;
    let hit = |hit: MemoryHit| Hit {
        memory: memory(&agent, hit.memory),
        score: hit.score,
        why: hit.why.into_iter().map(|why| (why.signal, why.share)).collect(),
        conflicts: hit.conflicts,
    };
    Found { hits: hits.into_iter().map(hit).collect(), lexical, without_vector, left_off }
}

fn memory(agent: &str, of: MemoryTold) -> Memory {
    Memory {
        agent: agent.to_owned(),
        id: of.id,
        text: of.text,
        kind: of.kind,
        entry_type: of.entry_type,
        standing: Standing::of(&of.standing),
        confidence: of.confidence,
        tags: of.tags,
        marks: of.marks,
        at: of.at,
        captured: of.captured,
        source: of.source,
        thread: of.thread,
        source_id: of.source_id,
        actor: of.actor.to_string(),
        trust: of.trust,
        entry: of.entry,
        origins: of
            .origins
            .into_iter()
            .map(|origin| Origin { entry: origin.entry, span: origin.span, trust: origin.trust })
            .collect(),
        shared_by: of.shared_by,
    }
}

fn in_full(of: MemoryShown) -> MemoryEntry {
    let memory = of.memory.map(|told| memory(&of.agent, told));
    MemoryEntry {
        agent: of.agent,
        id: of.id,
        entry: of.entry,
        standing: Standing::of(&of.standing),
        captured: of.captured,
        replaced_by: of.replaced_by,
        replaces: of.replaces,
        gate: of.gate,
        conflicts: of.conflicts,
        shared_with: of.shared_with,
        citations: of.citations,
        memory,
    }
}
