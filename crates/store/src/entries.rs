//! The projection every house has: one row per entry with what its header says.
//!
//! Texts that come again and again (kinds, actors, subjects, runs, foreign origins) are numbers here, given out in
//! the order of their first appearance. When entries were written is kept per span of 1,024 of them, earliest and
//! latest: times mostly grow with seq, so a time window becomes a range of seqs without an index that every
//! entry would have to be put into.

use std::collections::HashMap;

use holdfast_types::{Origin, Trust};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::projection::{Halt, Projection};
use crate::seen::Seen;

/// Entries per row of `entries_spans`.
pub(crate) const SPAN: u64 = 1024;

/// Texts whose numbers are remembered. Runs come and go: beyond this all are forgotten and looked up again.
const REMEMBERED_MAX: usize = 50_000;

const SCHEMA: &str = "
    CREATE TABLE entries (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        actor INTEGER NOT NULL,
        subject INTEGER,
        run INTEGER,
        origin INTEGER,
        trust INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entries_kinds (id INTEGER PRIMARY KEY, kind TEXT NOT NULL UNIQUE, room TEXT NOT NULL) STRICT;
    CREATE TABLE entries_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE entries_spans (span INTEGER PRIMARY KEY, earliest INTEGER NOT NULL, latest INTEGER NOT NULL) STRICT;
";

const INDEXES: &str = "
    CREATE INDEX entries_by_kind ON entries (kind);
    CREATE INDEX entries_by_actor ON entries (actor);
    CREATE INDEX entries_by_subject ON entries (subject) WHERE subject IS NOT NULL;
    CREATE INDEX entries_by_run ON entries (run) WHERE run IS NOT NULL;
";

/// `entries`: what is asked of with [`Filter`](crate::Filter).
#[derive(Debug)]
pub struct EntriesProjection {
    /// The log's own name, which is not repeated in every row.
    own: String,
    kinds: HashMap<String, i64>,
    names: HashMap<String, i64>,
    /// Rows of this batch, to be written with one statement.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    seq: u64,
    at: i64,
    kind: i64,
    actor: i64,
    subject: Option<i64>,
    run: Option<i64>,
    origin: Option<i64>,
    trust: Trust,
}

impl EntriesProjection {
    pub fn new(own: &Origin) -> EntriesProjection {
        EntriesProjection {
            own: own.to_string(),
            kinds: HashMap::new(),
            names: HashMap::new(),
            rows: Vec::new(),
        }
    }

    fn kind(&mut self, tx: &Transaction<'_>, kind: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.kinds.get(kind) {
            return Ok(*id);
        }
        let find = "SELECT id FROM entries_kinds WHERE kind = ?1";
        let id = match tx.prepare_cached(find)?.query_row([kind], |row| row.get(0)).optional()? {
            Some(id) => id,
            None => {
                let room = kind.split('.').next().unwrap_or(kind);
                tx.execute("INSERT INTO entries_kinds (kind, room) VALUES (?1, ?2)", [kind, room])?;
                tx.last_insert_rowid()
            }
        };
        remember(&mut self.kinds, kind, id);
        Ok(id)
    }

    fn name(&mut self, tx: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let find = "SELECT id FROM entries_names WHERE name = ?1";
        let id = match tx.prepare_cached(find)?.query_row([name], |row| row.get(0)).optional()? {
            Some(id) => id,
            None => {
                tx.prepare_cached("INSERT INTO entries_names (name) VALUES (?1)")?.execute([name])?;
                tx.last_insert_rowid()
            }
        };
        remember(&mut self.names, name, id);
        Ok(id)
    }
}

impl Projection for EntriesProjection {
    fn name(&self) -> &'static str {
        "entries"
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

    fn apply(&mut self, tx: &Transaction<'_>, entry: &Seen<'_>) -> Result<(), Halt> {
        let kind = self.kind(tx, entry.kind())?;
        let actor = self.name(tx, entry.actor())?;
        let subject = entry.subject().map(|name| self.name(tx, name)).transpose()?;
        let run = entry.run().map(|name| self.name(tx, name)).transpose()?;
        let foreign = Some(entry.origin()).filter(|origin| *origin != self.own);
        let origin = foreign.map(|name| self.name(tx, name)).transpose()?;
        let (seq, at, trust) = (entry.seq(), entry.at_micros(), entry.trust());
        self.rows.push(Row { seq, at, kind, actor, subject, run, origin, trust });
        Ok(())
    }

    fn settle(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        write_rows(tx, &self.rows)?;
        self.rows.chunk_by(|a, b| a.seq / SPAN == b.seq / SPAN).try_for_each(|rows| widen_span(tx, rows))?;
        self.rows.clear();
        Ok(())
    }

    fn forget(&mut self) {
        self.kinds.clear();
        self.names.clear();
        self.rows.clear();
    }
}

fn write_rows(tx: &Transaction<'_>, rows: &[Row]) -> rusqlite::Result<()> {
    let mut insert = tx.prepare_cached("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for r in rows {
        insert.execute(params![r.seq, r.at, r.kind, r.actor, r.subject, r.run, r.origin, r.trust as u8])?;
    }
    Ok(())
}

/// Rows of one span.
fn widen_span(tx: &Transaction<'_>, rows: &[Row]) -> rusqlite::Result<()> {
    let times = || rows.iter().map(|row| row.at);
    let (Some(first), Some(earliest), Some(latest)) = (rows.first(), times().min(), times().max()) else {
        return Ok(());
    };
    let sql = "INSERT INTO entries_spans VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
               SET earliest = min(earliest, excluded.earliest), latest = max(latest, excluded.latest)";
    tx.prepare_cached(sql)?.execute(params![first.seq / SPAN, earliest, latest]).map(drop)
}

fn remember(known: &mut HashMap<String, i64>, text: &str, id: i64) {
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(text.to_owned(), id);
}
