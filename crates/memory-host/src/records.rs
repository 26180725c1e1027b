//! Records that replace each other and point at each other.

use holdfast_memory::event::{Event, Superseded};
use holdfast_memory::{Entry, MemoryId, Way};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::sealed;
use crate::table::Row;

/// Memories that are widened at once, and how many one name may lead to: an index is no place to walk through everything.
const FROM_MAX: usize = 100;
const SAME_NAME_MAX: usize = 16;

/// What stands beside a hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expanded {
    pub from: MemoryId,
    pub way: Way,
    pub row: Row,
    pub entry: Entry,
}

impl Memories {
    /// A later record of a key takes the earlier one's place, unless it is trusted less. Repeated it finds nothing to do; so a capture that was
    /// cut short before this is put right by the next run. For whoever has the right to decide.
    pub(crate) fn supersede(&self, agent: &AgentName) -> Result<usize> {
        let replaced: Vec<Superseded> = {
            let inner = self.caught_up()?;
            inner.space_of(agent)?.table.same_keys()?.iter().flat_map(|rows| successions(rows)).collect()
        };
        let by = sealed::own_actor()?;
        for superseded in &replaced {
            let event = Event::Superseded(superseded.clone());
            self.options.journal.append(&sealed::happened(&event, by.clone(), agent.id())?)?;
        }
        Ok(replaced.len())
    }

    /// What these memories point at in the ways that are named, by what that is called: the version it revises, its source, what it cites.
    pub fn expand(&self, agent: &AgentName, from: &[MemoryId], ways: &[Way]) -> Result<Vec<Expanded>> {
        let inner = self.caught_up()?;
        let space = inner.space_of(agent)?;
        let mut found = Vec::new();
        for &id in from.iter().take(FROM_MAX) {
            let seq = space.table.seq_of(id)?.ok_or(Error::NoMemory(id))?;
            for (way, name) in space.table.edges_of(seq)? {
                if !ways.contains(&way) {
                    continue;
                }
                for other in space.table.named(&name, SAME_NAME_MAX)? {
                    if let (Some(row), Some(entry)) = (space.table.row(other)?, self.entry(other)?) {
                        found.push(Expanded { from: id, way, row, entry });
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Who takes whose place among records of one key, oldest first. What is trusted less stays beside what it would have replaced.
fn successions(rows: &[Row]) -> Vec<Superseded> {
    let mut found = Vec::new();
    let Some((mut holder, later)) = rows.split_first() else { return found };
    for row in later {
        if row.trust >= holder.trust {
            found.push(Superseded { entry: holder.id, by: row.id });
            holder = row;
        }
    }
    found
}
