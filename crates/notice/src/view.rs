//! The outbox as tables: a view over the journal that can be thrown away and rebuilt.
//!
//! `notice_messages` holds what was raised and is not yet done with everywhere; `notice_sinks` one cursor per
//! open sink. Writing happens in [`apply`], inside the transaction of whoever replays the journal; reading in
//! [`Outbox`].

use std::sync::Arc;

use holdfast_journal::{Entry, Stored};
use holdfast_store::Index;
use holdfast_types::{Origin, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::kinds;
use crate::message::{self, Message, Raised};
use crate::notice::Severity;

/// The tables, for a database that has none of them.
pub(crate) const SCHEMA: &str = "
CREATE TABLE notice_messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    severity INTEGER NOT NULL,
    message TEXT NOT NULL,
    context TEXT NOT NULL,
    source TEXT NOT NULL,
    fold TEXT
) STRICT;
CREATE INDEX notice_messages_severity ON notice_messages (severity, seq);
CREATE TABLE notice_sinks (
    name TEXT PRIMARY KEY,
    cursor INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    last_delivered INTEGER
) STRICT, WITHOUT ROWID;
";

/// Whether [`apply`] does anything with entries of this kind.
pub(crate) fn wants(kind: &str) -> bool {
    kinds::KINDS.iter().any(|def| def.name == kind)
}

/// Takes one entry into the view. Entries that were taken in from another log are told like our own; what that log
/// says of its own sinks is not about ours.
pub(crate) fn apply(db: &Connection, own: &Origin, entry: &Entry) -> rusqlite::Result<()> {
    let Stored::Body(body) = &entry.content else { return Ok(()) };
    let kind = entry.kind.as_str();
    if kind == kinds::RAISED.name {
        raised(db, &entry.origin, entry.seq, entry.at, body)
    } else if entry.origin != *own {
        Ok(())
    } else if kind == kinds::OPENED.name {
        opened(db, entry.seq, body)
    } else if kind == kinds::DELIVERED.name {
        handled(db, body, Some(entry.at))
    } else if kind == kinds::ABANDONED.name {
        handled(db, body, None)
    } else if kind == kinds::CLOSED.name {
        closed(db, body)
    } else {
        Ok(())
    }
}

fn raised(
    db: &Connection,
    origin: &Origin,
    seq: u64,
    at: Timestamp,
    body: &Map<String, Value>,
) -> rusqlite::Result<()> {
    let Raised { fold, message: m, .. } = message::of_body(origin, seq, at, body);
    let context = Value::Object(m.context).to_string();
    db.prepare_cached("INSERT INTO notice_messages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(
        params![
            seq.cast_signed(),
            m.id,
            at.as_micros(),
            m.severity.rank(),
            m.message,
            context,
            m.source,
            fold
        ],
    )?;
    Ok(())
}

fn opened(db: &Connection, seq: u64, body: &Map<String, Value>) -> rusqlite::Result<()> {
    let insert = "INSERT OR IGNORE INTO notice_sinks VALUES (?1, ?2, 0, 0, NULL)";
    db.prepare_cached(insert)?.execute(params![sink(body), seq.cast_signed()])?;
    let_go(db)
}

fn handled(db: &Connection, body: &Map<String, Value>, delivered: Option<Timestamp>) -> rusqlite::Result<()> {
    let number = |name: &str| body.get(name).and_then(Value::as_i64).unwrap_or(0);
    let (at, abandoned) = (delivered.map(Timestamp::as_micros), i64::from(delivered.is_none()));
    let update = "UPDATE notice_sinks SET cursor = max(cursor, ?2), delivered = delivered + ?3,
        abandoned = abandoned + ?4, last_delivered = coalesce(?5, last_delivered) WHERE name = ?1";
    let fields = params![sink(body), number("cursor"), 1 - abandoned, abandoned, at];
    db.prepare_cached(update)?.execute(fields)?;
    let_go(db)
}

fn closed(db: &Connection, body: &Map<String, Value>) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM notice_sinks WHERE name = ?1")?.execute([sink(body)])?;
    let_go(db)
}

/// What every open sink is done with need not stay here; the journal keeps it.
fn let_go(db: &Connection) -> rusqlite::Result<()> {
    let delete = "DELETE FROM notice_messages WHERE seq <= (SELECT min(cursor) FROM notice_sinks)";
    db.prepare_cached(delete)?.execute([]).map(|_| ())
}

fn sink(body: &Map<String, Value>) -> &str {
    body.get("sink").and_then(Value::as_str).unwrap_or_default()
}

/// How far a sink is, as the journal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) cursor: u64,
    pub(crate) delivered: u64,
    pub(crate) abandoned: u64,
    pub(crate) last_delivered: Option<Timestamp>,
}

/// What lies before a sink.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) pending: Vec<Raised>,
    /// The last critical notice it was not told yet.
    pub(crate) last_critical: Option<u64>,
    /// The newest notice of any severity, or 0.
    pub(crate) newest: u64,
}

/// Reads the view, through the index it is kept in.
#[derive(Clone, Debug)]
pub struct Outbox {
    index: Arc<Index>,
}

impl Outbox {
    /// The index must hold [`NoticeProjection`](crate::NoticeProjection).
    pub fn new(index: Arc<Index>) -> Outbox {
        Outbox { index }
    }

    pub(crate) fn sink(&self, name: &str) -> Result<Option<Recorded>> {
        let select = "SELECT cursor, delivered, abandoned, last_delivered FROM notice_sinks WHERE name = ?1";
        self.with(|db| {
            let read = |row: &rusqlite::Row<'_>| {
                Ok(Recorded {
                    cursor: row.get::<_, i64>(0)?.cast_unsigned(),
                    delivered: row.get::<_, i64>(1)?.cast_unsigned(),
                    abandoned: row.get::<_, i64>(2)?.cast_unsigned(),
                    last_delivered: row.get::<_, Option<i64>>(3)?.and_then(moment),
                })
            };
            db.prepare_cached(select)?.query_row([name], read).optional()
        })
    }

    pub(crate) fn sink_names(&self) -> Result<Vec<String>> {
        self.with(|db| {
            let mut select = db.prepare_cached("SELECT name FROM notice_sinks ORDER BY name")?;
            select.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// One look at what a sink that stands at `cursor` has before it: at most `limit` notices that matter at
    /// least as much as `least`, oldest first.
    pub(crate) fn look(&self, cursor: u64, least: Severity, limit: usize) -> Result<Seen> {
        self.with(|db| {
            Ok(Seen {
                pending: pending(db, cursor, least, limit)?,
                last_critical: last_critical(db, cursor)?,
                newest: newest(db)?,
            })
        })
    }

    pub(crate) fn count(&self, cursor: u64, least: Severity) -> Result<u64> {
        let select = "SELECT count(*) FROM notice_messages WHERE seq > ?1 AND severity >= ?2";
        let fields = params![cursor.cast_signed(), least.rank()];
        self.with(|db| db.prepare_cached(select)?.query_row(fields, |row| row.get::<_, i64>(0)))
            .map(i64::cast_unsigned)
    }

    fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.index.read(|db| Ok(read(db)?))?)
    }
}

fn pending(db: &Connection, cursor: u64, least: Severity, limit: usize) -> rusqlite::Result<Vec<Raised>> {
    let select = "SELECT seq, id, at, severity, message, context, source, fold FROM notice_messages
        WHERE seq > ?1 AND severity >= ?2 ORDER BY seq LIMIT ?3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = db.prepare_cached(select)?;
    select.query_map(params![cursor.cast_signed(), least.rank(), limit], raised_of)?.collect()
}

fn last_critical(db: &Connection, cursor: u64) -> rusqlite::Result<Option<u64>> {
    let select = "SELECT max(seq) FROM notice_messages WHERE severity = ?1 AND seq > ?2";
    let fields = params![Severity::Critical.rank(), cursor.cast_signed()];
    let found: Option<i64> = db.prepare_cached(select)?.query_row(fields, |row| row.get(0))?;
    Ok(found.map(i64::cast_unsigned))
}

fn newest(db: &Connection) -> rusqlite::Result<u64> {
    let select = "SELECT coalesce(max(seq), 0) FROM notice_messages";
    db.prepare_cached(select)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

fn raised_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Raised> {
    let context: String = row.get(5)?;
    Ok(Raised {
        seq: row.get::<_, i64>(0)?.cast_unsigned(),
        fold: row.get(7)?,
        message: Message {
            id: row.get(1)?,
            timestamp: moment(row.get(2)?).unwrap_or(Timestamp::EPOCH),
            severity: Severity::of_rank(row.get(3)?),
            message: row.get(4)?,
            context: serde_json::from_str(&context).unwrap_or_default(),
            source: row.get(6)?,
            folded: None,
        },
    })
}

fn moment(micros: i64) -> Option<Timestamp> {
    Timestamp::from_micros(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64, instance: &str, kind: &str, body: &str) -> Entry {
        let line = format!(
            "{{\"seq\":{seq},\"v\":1,\"at\":\"2026-11-15T08:00:00.000000Z\",\"origin\":\"holdfast/{instance}\",\"room\":\"notice\",\"kind\":\"{kind}\",\"actor\":\"x\",\"trust\":\"trusted\",\"body\":{body}}}"
        );
        Entry::parse(line.as_bytes()).unwrap()
    }

    fn applied(entries: &[Entry]) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(SCHEMA).unwrap();
        let own = "holdfast/web.lan".parse().unwrap();
        entries.iter().for_each(|entry| apply(&db, &own, entry).unwrap());
        db
    }

    #[test]
    fn another_logs_notices_are_told_and_its_sinks_are_not_ours() {
        let db = applied(&[
            entry(1, "web.lan", kinds::OPENED.name, r#"{"sink":"ops"}"#),
            entry(
                2,
                "tripwire",
                kinds::RAISED.name,
                r#"{"severity":"critical","message":"m","source":"tripwire"}"#,
            ),
            entry(3, "tripwire", kinds::DELIVERED.name, r#"{"sink":"ops","cursor":900}"#),
            entry(4, "tripwire", kinds::OPENED.name, r#"{"sink":"theirs"}"#),
            entry(5, "tripwire", kinds::CLOSED.name, r#"{"sink":"ops"}"#),
        ]);
        let told = pending(&db, 1, Severity::Info, 10).unwrap();
        assert_eq!(told.iter().map(|r| r.message.id.as_str()).collect::<Vec<_>>(), ["ntc_tripwire_2"]);
        let sinks: (String, i64) = db
            .query_row("SELECT group_concat(name), max(cursor) FROM notice_sinks", [], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })
            .unwrap();
        assert_eq!(sinks, ("ops".to_owned(), 1));
    }

    #[test]
    fn an_odd_notice_is_told_rather_than_lost() {
        let db = applied(&[
            entry(1, "web.lan", kinds::RAISED.name, "{}"),
            entry(
                2,
                "web.lan",
                kinds::RAISED.name,
                r#"{"severity":7,"message":[1],"context":{"n":{"a":1}},"fold":2}"#,
            ),
        ]);
        let told = pending(&db, 0, Severity::Critical, 10).unwrap();
        assert_eq!(told.len(), 2);
        assert_eq!(
            (told[0].message.id.as_str(), told[0].message.source.as_str()),
            ("ntc_web_lan_1", "web.lan")
        );
        assert_eq!(told[1].message.context["n"], "{\"a\":1}");
    }

    #[test]
    fn what_every_sink_is_done_with_leaves_the_view() {
        let raised = |seq| entry(seq, "web.lan", kinds::RAISED.name, r#"{"severity":"info","message":"m"}"#);
        let opened =
            |seq, sink: &str| entry(seq, "web.lan", kinds::OPENED.name, &format!("{{\"sink\":\"{sink}\"}}"));
        let done = |seq, sink: &str, cursor: u64| {
            let body = format!("{{\"sink\":\"{sink}\",\"cursor\":{cursor}}}");
            entry(seq, "web.lan", kinds::DELIVERED.name, &body)
        };
        let left = |db: &Connection| -> i64 {
            db.query_row("SELECT count(*) FROM notice_messages", [], |r| r.get(0)).unwrap()
        };
        let mut log = vec![opened(1, "a"), opened(2, "b"), raised(3), raised(4), raised(5), done(6, "a", 5)];
        assert_eq!(left(&applied(&log)), 3);
        log.push(done(7, "b", 4));
        assert_eq!(left(&applied(&log)), 1);
        log.push(entry(8, "web.lan", kinds::CLOSED.name, r#"{"sink":"b"}"#));
        assert_eq!(left(&applied(&log)), 0);
    }
}
