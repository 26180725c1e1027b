//! The steward's records as entries of the journal, and back.
//!
//! Each kind of record is a kind of entry; its fields are the body's, beside the target and the steady time. An entry of
//! another room is passed over; one of this room that cannot be read stops the reading, because a steward that has lost a
//! record might do again what it did.

use holdfast_journal::{Draft, Entry, Journal, Space, Stored};
use holdfast_lifeline::{Steady, TargetName};
use holdfast_steward::event::{Event, KINDS, Record};
use holdfast_types::{Actor, Kind, Trust};
use serde_json::{Map, Value};

use crate::controller::{Log, LogFailed};

const ROOM: &str = "steward";

/// Why an entry of this room cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    #[error("entry {seq} ({kind}) has version {version}, which this program does not know")]
    UnknownVersion { seq: u64, kind: Kind, version: u16 },
    #[error("entry {seq} ({kind}) cannot be read: {why}")]
    Malformed { seq: u64, kind: Kind, why: String },
}

/// The records of one target, kept in the journal.
#[derive(Debug)]
pub struct JournalLog {
    journal: Journal,
    target: TargetName,
    actor: Actor,
}

impl JournalLog {
    pub fn new(journal: Journal, target: TargetName, actor: Actor) -> JournalLog {
        JournalLog { journal, target, actor }
    }
}

impl Log for JournalLog {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed> {
        let failed = |why: String| LogFailed { why };
        let drafts: Result<Vec<Draft>, _> =
            records.iter().map(|record| entry_of(record, &self.target, &self.actor)).collect();
        let drafts = drafts.map_err(|error| failed(error.to_string()))?;
        let appended = self.journal.append_many(&drafts).map_err(|error| failed(error.to_string()))?;
        for result in appended {
            result.map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    fn read(&self) -> Result<Vec<Record>, LogFailed> {
        let failed = |why: String| LogFailed { why };
        let mut records = Vec::new();
        let mut entries = self.journal.read(0);
        while let Some(raw) = entries.next_raw().map_err(|error| failed(error.to_string()))? {
            let entry = raw.parse().map_err(|error| failed(error.to_string()))?;
            let read = record_of(&entry).map_err(|error| failed(error.to_string()))?;
            records.extend(read.filter(|(target, _)| *target == self.target).map(|(_, record)| record));
        }
        Ok(records)
    }
}

/// The entry for a record.
pub fn entry_of(
    record: &Record,
    target: &TargetName,
    actor: &Actor,
) -> Result<Draft, Box<dyn std::error::Error>> {
    let mut body = match serde_json::to_value(&record.event)? {
        Value::Object(outer) => match outer.into_iter().next() {
            Some((_, Value::Object(fields))) => fields,
            _ => Map::new(),
        },
        // A record without fields is its name alone.
        _ => Map::new(),
    };
    body.insert("target".to_owned(), serde_json::to_value(target)?);
    body.insert("steady".to_owned(), serde_json::to_value(record.at)?);
    body.insert("synced".to_owned(), Value::Bool(record.synced));
    let kind: Kind = record.event.kind().name.parse()?;
    Ok(Draft { space: space_of(&record.event), ..Draft::new(kind, actor.clone(), Trust::Trusted, body) })
}

/// What begins something may not use the log's reserve, so that nothing begins that could not be ended. What ends a trial, and what a
/// person ordered, may.
fn space_of(event: &Event) -> Space {
    match event {
        Event::LevelSet { .. }
        | Event::Moved { .. }
        | Event::Scored { .. }
        | Event::Foretold { .. }
        | Event::Kept { .. }
        | Event::Restored { .. }
        | Event::Ended { .. }
        | Event::BreakerOpened
        | Event::BreakerReset
        | Event::Drifted { .. }
        | Event::Accepted { .. }
        | Event::Reviewed { .. }
        | Event::Rehearsed { .. } => Space::Reserved,
        Event::Enrolled { .. }
        | Event::Queued { .. }
        | Event::Opened { .. }
        | Event::Judged { .. }
        | Event::Gated { .. }
        | Event::Counted { .. }
        | Event::Retrospected { .. }
        | Event::Learnt { .. }
        | Event::Consolidated { .. }
        | Event::Drawn { .. } => Space::Ordinary,
    }
}

/// The record in an entry; nothing when it is of another room.
pub fn record_of(entry: &Entry) -> Result<Option<(TargetName, Record)>, Misfit> {
    if entry.kind.room().as_str() != ROOM {
        return Ok(None);
    }
    let malformed = |why: String| Misfit::Malformed { seq: entry.seq, kind: entry.kind.clone(), why };
    let Some(known) = KINDS.iter().find(|known| known.name == entry.kind.to_string()) else {
        // A kind of a later version of this room: it may say anything, so it is not passed over.
        return Err(malformed("the kind is not known to this program".to_owned()));
    };
    if entry.version != known.version {
        return Err(Misfit::UnknownVersion {
            seq: entry.seq,
            kind: entry.kind.clone(),
            version: entry.version,
        });
    }
    let Stored::Body(body) = &entry.content else { return Err(malformed("it has no body".to_owned())) };
    let mut fields = body.clone();
    let mut take = |name: &str| fields.remove(name).ok_or_else(|| malformed(format!("it has no {name}")));
    let text = |error: serde_json::Error| malformed(error.to_string());
    let target: TargetName = serde_json::from_value(take("target")?).map_err(text)?;
    let at: Steady = serde_json::from_value(take("steady")?).map_err(text)?;
    let synced: bool = serde_json::from_value(take("synced")?).map_err(text)?;
    let name = Event::name_of(known);
    let value = if fields.is_empty() {
        Value::String(name.to_owned())
    } else {
        Value::Object(Map::from_iter([(name.to_owned(), Value::Object(fields))]))
    };
    let event: Event = serde_json::from_value(value).map_err(text)?;
    Ok(Some((target, Record { at, wall: entry.at, synced, event })))
}
