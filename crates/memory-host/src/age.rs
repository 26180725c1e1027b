//! Growing old: what was kept longer than its kind stays in planning is archived. It is found as before by whoever looks for everything.

use holdfast_memory::event::{Archived, Event};
use holdfast_memory::{Kind, MemoryId, is_old};
use holdfast_types::{Actor, Timestamp};

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::Memories;
use crate::sealed;

/// Ids that fit a line of the journal: each is at most some 30 bytes, and a line 64 KiB.
const IDS_PER_LINE: usize = 1_000;

impl Memories {
    /// Archives what is due. Repeated it finds nothing to do.
    pub fn archive(&self, agent: &AgentName, by: &Actor) -> Result<Vec<MemoryId>> {
        let _one = self.deciding();
        let now = self.options.clock.now();
        let due: Vec<MemoryId> = {
            let inner = self.caught_up()?;
            let rows = inner.space_of(agent)?.table.durable_before(earliest(now))?;
            rows.iter().filter(|row| is_old(row.kind, row.captured, now)).map(|row| row.id).collect()
        };
        for ids in due.chunks(IDS_PER_LINE) {
            let event = Event::Archived(Archived { entries: ids.to_vec() });
            self.options.journal.append(&sealed::happened(&event, by.clone(), agent.id())?)?;
        }
        drop(self.caught_up()?);
        Ok(due)
    }
}

/// What was captured after this is due by no kind's time.
fn earliest(now: Timestamp) -> Timestamp {
    let shortest = Kind::ALL.iter().map(|kind| kind.policy().archived_after).min().unwrap_or_default();
    let micros = i64::try_from(shortest.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_sub(micros)).unwrap_or(Timestamp::EPOCH)
}
