//! The steward's records as entries of the journal, and back.
//!
//! Each kind of record is a kind of entry; its fields are the body's, beside the target and the steady time. An entry of
//! another room is passed over; one of this room that cannot be read stops the reading, because a steward that has lost a
//! record might do again what it did.

use holdfast_journal::{Draft, Entry, Journal, Space, Stored};
use holdfast_lifeline::{Steady, TargetName};
use holdfast_steward::episode::Phase;
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

/// What begins something, or goes on with it, may not use the log's reserve: a trial that cannot be followed is undone, by its lease if by
/// nobody else. What ends it, and what a person ordered, may.
fn space_of(event: &Event) -> Space {
    match event {
        Event::Moved { phase, .. } if goes_back(phase) => Space::Reserved,
        Event::LevelSet { .. }
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
        | Event::Moved { .. }
        | Event::Counted { .. }
        | Event::Scored { .. }
        | Event::Foretold { .. }
        | Event::Retrospected { .. }
        | Event::Learnt { .. }
        | Event::Consolidated { .. }
        | Event::Drawn { .. } => Space::Ordinary,
    }
}

fn goes_back(phase: &Phase) -> bool {
    matches!(phase, Phase::TakingOver { .. } | Phase::Undoing { .. } | Phase::StandingBy { .. })
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

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_journal::Limits;
    use holdfast_lifeline::Identity;
    use holdfast_steward::effect::Op;
    use holdfast_steward::episode::{Ending, Trial, Why};
    use holdfast_steward::outcome::Outcome;
    use holdfast_steward::prediction::{Came, Prediction};
    use holdfast_testkit::House;

    fn record(event: Event) -> Record {
        Record {
            at: Steady(1),
            wall: holdfast_types::Timestamp::from_micros(1).unwrap(),
            synced: false,
            event,
        }
    }

    #[test]
    fn what_a_trial_goes_through_leaves_the_reserve_to_people_and_its_end_is_recorded() {
        let mut house = House::new();
        let mib = 1 << 20;
        house.limits = Limits {
            segment_bytes: 64 << 10,
            keep_segments: 1,
            warn_bytes: mib / 2,
            cap_bytes: mib,
            ..Limits::default()
        };
        let journal = house.open();
        while journal.append(&house.note(0)).is_ok() {}
        let mut log = JournalLog::new(journal, "box-1".parse().unwrap(), "holdfast".parse().unwrap());
        let episode = || "ep_1".parse().unwrap();
        let prediction = Prediction {
            metric: "psi".to_owned(),
            foretold: -0.2,
            before: None,
            after: None,
            came: Came::Untold,
        };
        for event in [
            Event::Foretold { episode: episode(), prediction },
            Event::Moved {
                episode: episode(),
                phase: Box::new(Phase::Looking { op: Op(1), until: Steady(2) }),
            },
        ] {
            log.append(&[record(event.clone())]).expect_err(&format!("{event:?} took from the reserve"));
        }
        let trial = Trial { known_good: Identity([1; 32]), candidate: Identity([2; 32]) };
        let back = Phase::TakingOver { op: Op(2), until: Steady(3), trial, why: Why::Asked, kept: false };
        let ending =
            Ending { outcome: Outcome::RolledBack, reason: "its window was over".to_owned(), tried: true };
        for event in [
            Event::Moved { episode: episode(), phase: Box::new(back) },
            Event::Ended { episode: episode(), ending },
        ] {
            log.append(&[record(event)]).unwrap();
        }
    }
}
