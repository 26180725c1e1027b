//! Forgetting: the key of the text is destroyed, and with it every copy anywhere; then everything that was made of it here. And showing
//! that it was done.

use holdfast_memory::MemoryId;
use holdfast_memory::Standing;
use holdfast_memory::event::{Event, Forgotten};
use holdfast_types::{Actor, Timestamp};
use holdfast_vectors::Key;
use serde::Serialize;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::sealed;

/// What was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gone {
    /// The memory, and all it had taken the place of: else what it said would come back.
    pub ids: Vec<MemoryId>,
    pub seqs: Vec<u64>,
}

/// What can be seen of a memory that was forgotten. Each is looked at when it is asked for, and none is taken from what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    pub id: MemoryId,
    pub seq: u64,
    pub captured: Timestamp,
    /// The journal says that it was forgotten.
    pub recorded: bool,
    /// The sealed bytes cannot be opened by anybody: their key is destroyed.
    pub unreadable: bool,
    /// No index of words, vectors or facts has anything of it.
    pub not_in_words: bool,
    pub not_in_vectors: bool,
    pub not_in_table: bool,
    /// The notes were written since, and have no entry of it.
    pub not_in_notes: bool,
    /// What git ever had of it is sealed, and its key is destroyed.
    pub not_in_git: bool,
}

impl Proof {
    pub fn holds(&self) -> bool {
        let Proof { recorded, unreadable, not_in_words, not_in_vectors, .. } = *self;
        let Proof { not_in_table, not_in_notes, not_in_git, .. } = *self;
        let indexes = not_in_words && not_in_vectors && not_in_table;
        recorded && unreadable && indexes && not_in_notes && not_in_git
    }
}

impl Memories {
    /// Forgets a memory for ever. Safe to repeat, also after it was cut short.
    pub fn forget(&self, agent: &AgentName, id: MemoryId, by: &Actor) -> Result<Gone> {
        let _one = self.deciding();
        let line = {
            let inner = self.caught_up()?;
            let space = inner.space_of(agent)?;
            let seq = space.table.seq_of(id)?.ok_or(Error::NoMemory(id))?;
            space.table.lineage(seq)?
        };
        let (seqs, ids): (Vec<u64>, Vec<MemoryId>) = line.into_iter().unzip();
        // Written down first: whoever is killed in between leaves what the next start ends. What a full disk or log refuses is not begun.
        let event = Event::Forgotten(Forgotten { entries: ids.clone(), seqs: seqs.clone() });
        let why = sealed::happened(&event, by.clone(), agent.id())?.reserved();
        self.options.journal.erase_because(&why, &seqs, by)?;
        // The indexes let go of it before anybody is told that it is gone.
        drop(self.caught_up()?);
        self.scrub_notes(agent.id())?;
        Ok(Gone { ids, seqs })
    }

    /// Destroys keys that were to be destroyed and are still there, because somebody was killed in between. How many is returned.
    pub(crate) fn finish_forgetting(&self) -> Result<usize> {
        let mut open = Vec::new();
        for space in self.caught_up()?.spaces.values() {
            open.extend(space.table.half_forgotten()?);
        }
        let by = sealed::own_actor()?;
        for seq in &open {
            self.options.journal.erase(*seq, &by)?;
        }
        if !open.is_empty() {
            drop(self.caught_up()?);
        }
        Ok(open.len())
    }

    /// Looks for anything that is left of it.
    pub fn prove_forgotten(&self, agent: &AgentName, id: MemoryId) -> Result<Proof> {
        let inner = self.caught_up()?;
        let space = inner.space_of(agent)?;
        let seq = space.table.seq_of(id)?.ok_or(Error::NoMemory(id))?;
        let row = space.table.row(seq)?.ok_or(Error::NoMemory(id))?;
        let unreadable =
            matches!(self.options.journal.text(seq), Err(holdfast_journal::Error::Erased { .. }));
        let bare = row.thread.is_none() && row.foreign_id.is_none() && space.table.tags_of(seq)?.is_empty();
        Ok(Proof {
            id,
            seq,
            captured: row.captured,
            recorded: row.standing == Standing::Forgotten,
            unreadable,
            not_in_words: !space.words.contains(seq)?,
            not_in_vectors: space.vectors.vector(Key { entry: seq, chunk: 0 })?.is_none(),
            not_in_table: bare,
            not_in_notes: self.not_in_notes(space, id)?,
            not_in_git: self.not_in_git(seq)?,
        })
    }
}
