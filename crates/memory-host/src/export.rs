//! What an agent remembers, one after the other, in the form that an import takes.

use holdfast_memory::{Confidence, EntryType, MemoryId, Scope};
use holdfast_types::{Timestamp, Trust};
use serde::Serialize;

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::Memories;
use crate::table::{Row, word};

/// Rows that are read at once.
const PAGE: usize = 256;

/// A memory as a line. An import reads `id`, `content`, `at`, `kind`, `source`, `tags` and `agent`, and passes over the rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exported {
    pub id: MemoryId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    pub content: String,
    /// When it was said.
    pub at: Timestamp,
    pub kind: EntryType,
    /// The conversation or the file it was said in; how it was learnt, where there is none.
    pub source: String,
    pub tags: Vec<String>,
    pub agent: String,
    pub collection: &'static str,
    pub captured: Timestamp,
    pub confidence: Confidence,
    pub scope: Scope,
    pub trust: Trust,
    pub standing: String,
}

/// Goes through an agent's memories in the order of the journal. Those that were forgotten, merged, replaced or refused are passed over.
#[derive(Debug)]
pub struct Exporting<'a> {
    memories: &'a Memories,
    agent: AgentName,
    rows: std::vec::IntoIter<Row>,
    /// Where the next page begins; nothing after the last one.
    from: Option<u64>,
}

impl Memories {
    pub fn export(&self, agent: &AgentName) -> Result<Exporting<'_>> {
        let rows = self.rows(agent, 0, PAGE)?;
        let from = next_page(&rows);
        Ok(Exporting { memories: self, agent: agent.clone(), rows: rows.into_iter(), from })
    }
}

impl Exporting<'_> {
    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(from) = self.from else { return Ok(None) };
            let rows = self.memories.rows(&self.agent, from, PAGE)?;
            self.from = next_page(&rows);
            self.rows = rows.into_iter();
        }
    }

    fn next_line(&mut self) -> Result<Option<Exported>> {
        while let Some(row) = self.next_row()? {
            // Forgotten since the page was read, it has no text.
            if row.standing.is_live()
                && let Some(entry) = self.memories.entry(row.seq)?
            {
                let tags = self.memories.caught_up()?.space_of(&self.agent)?.table.tags_of(row.seq)?;
                return Ok(Some(Exported {
                    id: row.id,
                    content: entry.text().to_owned(),
                    at: row.said,
                    kind: row.entry_type,
                    source: row.thread.unwrap_or_else(|| row.source.as_str().to_owned()),
                    tags,
                    agent: self.agent.to_string(),
                    collection: row.kind.policy().collection,
                    captured: row.captured,
                    confidence: row.confidence,
                    scope: row.scope,
                    trust: row.trust,
                    standing: word(&row.standing)?,
                    source_id: row.foreign_id,
                }));
            }
        }
        Ok(None)
    }
}

impl Iterator for Exporting<'_> {
    type Item = Result<Exported>;

    fn next(&mut self) -> Option<Result<Exported>> {
        self.next_line().transpose()
    }
}

/// A page that is not full is the last one.
fn next_page(rows: &[Row]) -> Option<u64> {
    rows.last().filter(|_| rows.len() == PAGE).map(|last| last.seq + 1)
}
