//! Sharing: what another agent may read. Nothing is shared but what was named, one memory at a time; a tag or a kind stands for what has it
//! now, and what is captured later is not shared by itself. A tag is not written down: it is a word of the text.

use holdfast_memory::event::{Event, Shared};
use holdfast_memory::{Kind, MemoryId};
use holdfast_types::Actor;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::only::Only;
use crate::sealed;

/// What is shared, or not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Portion {
    One(MemoryId),
    Tagged(String),
    OfKind(Kind),
}

/// Entries of the journal that are written together.
const BATCH: usize = 512;

impl Memories {
    /// Lets another agent read memories. Those that it could read before are not written down again; all it can read of this portion are
    /// returned.
    pub fn share(
        &self,
        owner: &AgentName,
        what: &Portion,
        with: &AgentName,
        by: &Actor,
    ) -> Result<Vec<MemoryId>> {
        if owner == with {
            return Err(Error::OwnSpace(owner.to_string()));
        }
        let (all, new) = self.portion(owner, what, with, Standing::NotShared)?;
        self.write_shares(owner, new, with, by, Event::Shared)?;
        Ok(all)
    }

    /// Takes it back. Those that were shared are returned.
    pub fn unshare(
        &self,
        owner: &AgentName,
        what: &Portion,
        with: &AgentName,
        by: &Actor,
    ) -> Result<Vec<MemoryId>> {
        let (_, shared) = self.portion(owner, what, with, Standing::Shared)?;
        self.write_shares(owner, shared.clone(), with, by, Event::Unshared)?;
        Ok(shared)
    }

    /// The live memories of a portion, and which of them stand so with the other agent.
    fn portion(
        &self,
        owner: &AgentName,
        what: &Portion,
        with: &AgentName,
        standing: Standing,
    ) -> Result<(Vec<MemoryId>, Vec<MemoryId>)> {
        let inner = self.caught_up()?;
        let space = inner.space_of(owner)?;
        let seqs = match what {
            Portion::One(id) => {
                let seq = space.table.seq_of(*id)?.ok_or(Error::NoMemory(*id))?;
                if standing == Standing::NotShared {
                    space.live(seq, *id)?;
                }
                vec![seq]
            }
            Portion::Tagged(tag) => {
                space.table.passing(&Only { tags: vec![tag.clone()], ..Only::default() })?
            }
            Portion::OfKind(kind) => space.table.passing(&Only { kinds: vec![*kind], ..Only::default() })?,
        };
        let shared = space.shared.get(&with.id());
        let (mut all, mut so) = (Vec::new(), Vec::new());
        for seq in seqs {
            let Some(row) = space.table.row(seq)? else { continue };
            let is_shared = shared.is_some_and(|shared| shared.contains(&seq));
            all.push(row.id);
            if is_shared == (standing == Standing::Shared) {
                so.push(row.id);
            }
        }
        Ok((all, so))
    }

    fn write_shares(
        &self,
        owner: &AgentName,
        ids: Vec<MemoryId>,
        with: &AgentName,
        by: &Actor,
        event: impl Fn(Shared) -> Event,
    ) -> Result<()> {
        let with = with.id();
        for batch in ids.chunks(BATCH) {
            let draft =
                |&entry: &MemoryId| sealed::happened(&event(Shared { entry, with }), by.clone(), owner.id());
            let drafts = batch.iter().map(draft).collect::<Result<Vec<_>>>()?;
            for written in self.options.journal.append_many(&drafts)? {
                written?;
            }
        }
        drop(self.caught_up()?);
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Shared,
    NotShared,
}
