//! One memory with all that is known of it.

use holdfast_memory::{Citations, Entry, MemoryId, Way};
use holdfast_types::AgentId;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::table::Row;

/// What is known of a memory. Its provenance (who wrote it, what it was made from, how far that is trusted) is in the entry's header.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub row: Row,
    /// What it says; nothing once it was forgotten.
    pub entry: Option<Entry>,
    /// Its own, and those of what it took the place of.
    pub tags: Vec<String>,
    pub conflicts: Vec<MemoryId>,
    /// All it took the place of, however often, oldest first.
    pub replaced: Vec<Row>,
    pub shared_with: Vec<AgentId>,
    /// How many found it of use.
    pub citations: usize,
    /// What its record points at, by the names that has there.
    pub points_at: Vec<(Way, String)>,
}

impl Memories {
    /// All that is known of a memory, whatever became of it.
    pub fn show(&self, agent: &AgentName, id: MemoryId) -> Result<Shown> {
        let inner = self.caught_up()?;
        let space = inner.space_of(agent)?;
        let seq = space.table.seq_of(id)?.ok_or(Error::NoMemory(id))?;
        let row = space.table.row(seq)?.ok_or(Error::NoMemory(id))?;
        let mut replaced = Vec::new();
        for (ancestor, _) in space.table.lineage(seq)? {
            if ancestor != seq {
                replaced.extend(space.table.row(ancestor)?);
            }
        }
        Ok(Shown {
            row,
            entry: self.entry(seq)?,
            tags: space.table.tags_of(seq)?,
            conflicts: space.table.conflicts_of(seq)?,
            replaced,
            shared_with: space.table.shared_with(seq)?,
            citations: space.votes.get(&seq).map_or(0, Citations::count),
            points_at: space.table.edges_of(seq)?,
        })
    }
}
