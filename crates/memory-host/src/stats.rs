//! What an agent's memory comes to, in figures.

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_types::Timestamp;
use serde::Serialize;

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::{Memories, folder_of};
use crate::table::Counted;

/// Counted when it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub session_entries: u64,
    pub durable_entries: u64,
    pub last_consolidation: Option<Timestamp>,
    /// Of everything that is kept for this agent beside the journal.
    pub storage_bytes: u64,
    pub without_vector: u64,
    /// Live ones that others may read.
    pub shared: u64,
    /// Live ones by kind, and by the month they were captured in.
    pub kinds: BTreeMap<String, u64>,
    pub months: BTreeMap<String, u64>,
    pub counted: Counted,
}

impl Memories {
    pub fn stats(&self, agent: &AgentName) -> Result<Stats> {
        let inner = self.caught_up()?;
        let space = inner.space_of(agent)?;
        let counted = space.table.counted()?;
        let (kinds, months) = space.table.spread()?;
        let shared: std::collections::BTreeSet<u64> = space.shared.values().flatten().copied().collect();
        let shared = shared.into_iter().filter(|seq| !space.dead.contains(*seq)).count() as u64;
        Ok(Stats {
            session_entries: counted.session,
            durable_entries: counted.durable,
            last_consolidation: counted.last_run,
            storage_bytes: bytes_below(&folder_of(&self.options.folder, agent.id())),
            without_vector: space.table.pending_count()?,
            shared,
            kinds,
            months,
            counted,
        })
    }
}

/// How long all files below a folder are. One that goes away meanwhile counts for nothing.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
        _ => 0,
    };
    entries.map(bytes).sum()
}
