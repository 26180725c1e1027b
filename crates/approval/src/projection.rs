//! The inbox as one of the store's projections: a row per ask, made from entries and nothing else.

use holdfast_store::{Halt, Projection, Result, Seen};
use holdfast_types::{Actor, ApprovalId, Digest, Origin, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::decide::Crowd;
use crate::event::{self, Event, KINDS};
use crate::ledger::next;
use crate::life::Life;

/// Its name, which its tables begin with.
pub(crate) const NAME: &str = "approval";

const SCHEMA: &str = "
    CREATE TABLE approval_asks (
        ask TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        open INTEGER NOT NULL,
        actor TEXT NOT NULL,
        digest TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        life TEXT NOT NULL
    ) STRICT;
";

const INDEXES: &str = "
    CREATE INDEX approval_asks_open ON approval_asks (seq) WHERE open = 1;
    CREATE INDEX approval_asks_by_seq ON approval_asks (seq);
    CREATE INDEX approval_asks_by_actor ON approval_asks (actor, asked_at);
";

/// Keeps the tables that [`Approvals`](crate::Approvals) reads.
#[derive(Clone, Debug)]
pub struct ApprovalProjection {
    own: Origin,
}

impl ApprovalProjection {
    /// `own` is the origin of the log that is projected; entries taken over from other logs count for nothing.
    pub fn new(own: Origin) -> ApprovalProjection {
        ApprovalProjection { own }
    }
}

impl Projection for ApprovalProjection {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn indexes(&self) -> &'static str {
        INDEXES
    }

    fn wants(&self, kind: &str) -> bool {
        event::wants(kind)
    }

    fn apply(&mut self, tx: &Transaction<'_>, seen: &Seen<'_>) -> Result<(), Halt> {
        if seen.origin() != self.own.as_str() {
            return Ok(());
        }
        if is_newer(seen.kind(), seen.version()) {
            return Err(Halt::UnknownVersion { kind: seen.kind().to_owned(), version: seen.version() });
        }
        let Some(event) = Event::read(seen.entry()?) else { return Ok(()) };
        let before = by_id(tx, event.ask())?;
        match next(before, event, seen.seq()) {
            Some(life) => Ok(put(tx, &life)?),
            None => Ok(()),
        }
    }
}

/// Whether a newer holdfast wrote it. Whoever does not know what an entry does to an ask must not go on as if it did nothing.
pub(crate) fn is_newer(kind: &str, version: u16) -> bool {
    KINDS.iter().any(|def| def.name == kind && def.version < version)
}

fn put(tx: &Transaction<'_>, life: &Life) -> rusqlite::Result<()> {
    let text = serde_json::to_string(life).map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
    let sql =
        "INSERT OR REPLACE INTO approval_asks (ask, seq, open, actor, digest, asked_at, expires_at, life)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    tx.prepare_cached(sql)?.execute(params![
        life.ask.id.to_string(),
        life.made_as,
        life.is_open(),
        life.ask.actor.as_str(),
        life.ask.digest().to_string(),
        life.ask.asked_at.as_micros(),
        life.expires_at().as_micros(),
        text,
    ])?;
    Ok(())
}

fn life(row: &Row<'_>) -> rusqlite::Result<Life> {
    let text: String = row.get(0)?;
    let damaged = |e: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, e.into())
    };
    serde_json::from_str(&text).map_err(damaged)
}

pub(crate) fn by_id(conn: &Connection, ask: ApprovalId) -> rusqlite::Result<Option<Life>> {
    let mut found = conn.prepare_cached("SELECT life FROM approval_asks WHERE ask = ?1")?;
    found.query_row([ask.to_string()], life).optional()
}

/// An open ask for exactly this action.
pub(crate) fn open_for(conn: &Connection, digest: Digest, at: Timestamp) -> rusqlite::Result<Option<Life>> {
    let sql = "SELECT life FROM approval_asks WHERE open = 1 AND digest = ?1 AND expires_at > ?2 ORDER BY seq LIMIT 1";
    conn.prepare_cached(sql)?.query_row(params![digest.to_string(), at.as_micros()], life).optional()
}

/// Open asks whose time is over.
pub(crate) fn overdue(conn: &Connection, at: Timestamp, limit: u64) -> rusqlite::Result<Vec<Life>> {
    let sql = "SELECT life FROM approval_asks WHERE open = 1 AND expires_at <= ?1 ORDER BY seq LIMIT ?2";
    conn.prepare_cached(sql)?.query_map(params![at.as_micros(), limit], life)?.collect()
}

/// The newest first; only the open ones, or all.
pub(crate) fn newest(conn: &Connection, all: bool, limit: u64) -> rusqlite::Result<Vec<Life>> {
    let sql = if all {
        "SELECT life FROM approval_asks ORDER BY seq DESC LIMIT ?1"
    } else {
        "SELECT life FROM approval_asks WHERE open = 1 ORDER BY seq DESC LIMIT ?1"
    };
    conn.prepare_cached(sql)?.query_map([limit], life)?.collect()
}

/// How many asks there are that count against a limit. What is overdue is open no more.
pub(crate) fn crowd(
    conn: &Connection,
    actor: &Actor,
    at: Timestamp,
    since: Timestamp,
) -> rusqlite::Result<Crowd> {
    let count = |sql: &str, params: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<u64> {
        conn.prepare_cached(sql)?.query_row(params, |row| row.get(0))
    };
    let (at, since) = (at.as_micros(), since.as_micros());
    Ok(Crowd {
        open: count("SELECT count(*) FROM approval_asks WHERE open = 1 AND expires_at > ?1", &[&at])?,
        open_of_actor: count(
            "SELECT count(*) FROM approval_asks WHERE open = 1 AND expires_at > ?1 AND actor = ?2",
            &[&at, &actor.as_str()],
        )?,
        lately_of_actor: count(
            "SELECT count(*) FROM approval_asks WHERE actor = ?1 AND asked_at > ?2",
            &[&actor.as_str(), &since],
        )?,
    })
}
