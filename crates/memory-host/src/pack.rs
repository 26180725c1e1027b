//! A context pack from the store: what a search finds for an objective, exactly and as the journal stood, cut to a budget.

use std::collections::BTreeSet;

use holdfast_memory::{Candidate, MemoryId, Pack, Request, Signals, Tokens, pack};
use holdfast_recall::Terms;
use holdfast_types::{Digest, Timestamp};
use holdfast_vectors::Effort;

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::{Inner, Memories};
use crate::only::Only;
use crate::search::{Ask, Hit, TOP_MAX, View, passing};
use crate::tokens::{Guessed, Pieces};

/// What a pack is made for.
#[derive(Clone, Debug)]
pub struct ToPack<'a> {
    pub agent: &'a AgentName,
    pub objective: &'a str,
    pub token_budget: usize,
    pub only: &'a Only,
}

impl Memories {
    /// The memories that go with an objective. The same journal and the same question give the same bytes: everything is compared, and
    /// "now" is when the journal was last written.
    pub fn pack(&self, wanted: &ToPack<'_>) -> Result<Pack> {
        let vector = self.vector_of(wanted.objective)?;
        let inner = self.caught_up()?;
        let at_seq = inner.applied();
        let ask = Ask {
            agent: wanted.agent,
            query: wanted.objective,
            top: TOP_MAX,
            only: wanted.only,
            now: self.written_at(at_seq)?,
        };
        let found = self.search_in(&inner, &ask, vector.as_ref(), &Terms::default(), Effort::Exact)?;
        let mut candidates: Vec<Candidate> = found.hits.into_iter().map(candidate).collect();
        self.add_opposites(&inner, wanted, &mut candidates)?;
        let request = Request {
            objective: wanted.objective.to_owned(),
            token_budget: wanted.token_budget,
            at_seq,
            model: vector.map(|_| Digest::sha256(crate::model::fingerprint())),
        };
        let model = self.model();
        let pieces = model.as_ref().map(|model| Pieces(model.tokenizer()));
        let tokens: &dyn Tokens = pieces.as_ref().map_or(&Guessed, |pieces| pieces);
        Ok(pack(request, candidates, tokens))
    }

    /// When the last entry before a place was written.
    fn written_at(&self, seq: u64) -> Result<Option<Timestamp>> {
        match seq.checked_sub(1) {
            Some(last) => Ok(Some(self.options.journal.entry(last)?.parse()?.at)),
            None => Ok(None),
        }
    }

    /// Half of a contradiction is a lie: what an agent's own memories contradict comes with them, however little it fits the objective.
    fn add_opposites(
        &self,
        inner: &Inner,
        wanted: &ToPack<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<()> {
        let Some(space) = inner.spaces.get(&wanted.agent.id()) else { return Ok(()) };
        let allowed = passing(&View { space, shared: None }, wanted.only)?;
        let own = candidates.iter().filter(|it| it.shared_by.is_none());
        let here: BTreeSet<MemoryId> = own.clone().map(|it| it.entry.id()).collect();
        let missing: BTreeSet<MemoryId> =
            own.flat_map(|it| it.conflicts.difference(&here)).copied().collect();
        for id in missing {
            let Some(seq) = space.table.seq_of(id)? else { continue };
            if allowed.as_ref().is_some_and(|seqs| seqs.binary_search(&seq).is_err()) {
                continue;
            }
            let Some(entry) = self.entry(seq)? else { continue };
            let conflicts = space.table.conflicts_of(seq)?.into_iter().collect();
            candidates.push(Candidate { entry, signals: Signals::default(), conflicts, shared_by: None });
        }
        Ok(())
    }
}

fn candidate(hit: Hit) -> Candidate {
    Candidate {
        entry: hit.entry,
        signals: hit.signals,
        conflicts: hit.conflicts.into_iter().collect(),
        shared_by: hit.shared_by.map(|by| by.name),
    }
}
