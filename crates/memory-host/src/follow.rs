//! From the journal to the spaces: which entries are about memory, and what they say.

use holdfast_journal::{Entry as Line, Error as JournalError, Journal, Stored, Subject};
use holdfast_memory::event::{CAPTURED, Event};
use holdfast_types::{AgentId, Timestamp};

use crate::error::Result;
use crate::sealed;
use crate::space::Happened;

/// What an entry of the journal means for memory.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) what: Meaning,
}

#[derive(Debug)]
pub(crate) enum Meaning {
    Of {
        agent: AgentId,
        what: Happened,
    },
    /// A text's key was destroyed; whose it was is not said.
    Erased {
        seq: u64,
    },
}

/// Most entries are about something else; they are told by their bytes.
pub(crate) fn concerns_memory(line: &[u8]) -> bool {
    // The room stands near the beginning of a line.
    let head = &line[..line.len().min(256)];
    memchr::memmem::find(head, b"\"room\":\"memory\"").is_some()
        || memchr::memmem::find(head, b"\"kind\":\"journal.blob.erased\"").is_some()
}

pub(crate) fn meaning(journal: &Journal, line: Line) -> Result<Option<Met>> {
    let (seq, at) = (line.seq, line.at);
    let met = |what| Ok(Some(Met { seq, at, what }));
    if line.kind.as_str() == "journal.blob.erased" {
        let Stored::Body(body) = &line.content else { return Ok(None) };
        return match body.get("seq").and_then(serde_json::Value::as_u64) {
            Some(seq) => met(Meaning::Erased { seq }),
            None => Ok(None),
        };
    }
    let Some(Subject::Agent(agent)) = line.subject else { return Ok(None) };
    match line.content {
        Stored::Blob(_) if line.kind.as_str() == CAPTURED.name => {
            let what = match journal.text(seq) {
                Ok(text) => Happened::Captured(Box::new(sealed::opened(seq, &text)?)),
                Err(JournalError::Erased { .. }) => Happened::CapturedForgotten,
                Err(e) => return Err(e.into()),
            };
            met(Meaning::Of { agent, what })
        }
        Stored::Blob(_) => Ok(None),
        Stored::Body(body) => match Event::parse(line.kind.as_str(), line.version, body.into()) {
            Ok(event) => met(Meaning::Of { agent, what: Happened::Other(event) }),
            // A kind of a later release, or of the spaces themselves, which the caller reads.
            Err(_) => Ok(None),
        },
    }
}
