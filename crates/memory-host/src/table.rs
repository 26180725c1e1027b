//! The table of one space: a row for each memory that was ever captured in it, with where it stands. A projection: the journal has
//! everything in it. A row of a forgotten memory keeps its number, its id and the time, and nothing that was in the text.
//!
//! What an event does to an entry is decided by [`Standing::after`] alone.

use std::path::Path;

use holdfast_memory::GateName;
use holdfast_memory::Kind;
use holdfast_memory::MemoryId;
use holdfast_memory::event::{Decided, Event};
use holdfast_memory::{Change, Standing};
use holdfast_memory::{Confidence, Entry, EntryType, Scope, Source};
use holdfast_memory::{Decision, Method};
use holdfast_store::{Database, Migration, Schema, Truth};
use holdfast_types::{Clock, Timestamp, Trust};
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::only::Only;

mod record;
mod shared;

const SCHEMA: Schema = Schema {
    name: "memory-space",
    application_id: i32::from_be_bytes(*b"hfMS"),
    migrations: &[
        Migration {
            number: 1,
            name: "memories",
        sql: "
        CREATE TABLE entry (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            -- Microseconds: when it was captured, and when it was said where that is known.
            captured INTEGER NOT NULL,
            said INTEGER NOT NULL,
            kind TEXT NOT NULL,
            type TEXT NOT NULL,
            source TEXT NOT NULL,
            confidence REAL NOT NULL,
            scope TEXT NOT NULL,
            trust TEXT NOT NULL,
            standing TEXT NOT NULL,
            -- What it was merged into or superseded by, and how.
            other INTEGER,
            how TEXT,
            -- Of the text, and gone with it.
            thread TEXT,
            foreign_id TEXT,
            record_key TEXT,
            record_name TEXT,
            host TEXT,
            words INTEGER NOT NULL,
            embedded INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX entry_thread ON entry(thread, seq);
        CREATE INDEX entry_other ON entry(other) WHERE other IS NOT NULL;
        CREATE INDEX entry_foreign ON entry(foreign_id) WHERE foreign_id IS NOT NULL;
        CREATE INDEX entry_key ON entry(kind, record_key) WHERE record_key IS NOT NULL;
        CREATE INDEX entry_name ON entry(record_name) WHERE record_name IS NOT NULL;
        CREATE INDEX entry_pending ON entry(seq) WHERE embedded = 0;
        CREATE INDEX entry_session ON entry(seq) WHERE standing = 'session';
        -- A tag, and the memory it was first given to: a survivor carries those of what it replaced until that is forgotten.
        CREATE TABLE tag (seq INTEGER NOT NULL, tag TEXT NOT NULL, origin INTEGER NOT NULL, PRIMARY KEY (tag, seq, origin)) STRICT, WITHOUT ROWID;
        CREATE INDEX tag_seq ON tag(seq);
        CREATE INDEX tag_origin ON tag(origin);
        CREATE TABLE conflict (one INTEGER NOT NULL, other INTEGER NOT NULL, PRIMARY KEY (one, other)) STRICT, WITHOUT ROWID;
        CREATE TABLE share (seq INTEGER NOT NULL, agent TEXT NOT NULL, PRIMARY KEY (seq, agent)) STRICT, WITHOUT ROWID;
        CREATE TABLE vote (seq INTEGER NOT NULL, token TEXT NOT NULL, person INTEGER NOT NULL, at INTEGER NOT NULL,
            PRIMARY KEY (seq, token)) STRICT, WITHOUT ROWID;
        -- What a record points at, by the name that has there.
        CREATE TABLE edge (seq INTEGER NOT NULL, way TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (seq, way, name)) STRICT, WITHOUT ROWID;
        -- What happened to the agent besides, for its notes.
        CREATE TABLE happening (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL) STRICT;
        CREATE TABLE about (name TEXT NOT NULL) STRICT;
        CREATE TABLE counter (name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    ",
        },
        Migration {
            number: 2,
            name: "contradictions by either side",
            // A memory that is given up contradicts nobody: without this each such look went through all contradictions.
            sql: "CREATE INDEX conflict_other ON conflict(other);",
        },
    ],
    truth: Truth::Projection,
};

/// Names in the table of counters. `applied` is the first entry of the journal that was not looked at.
const APPLIED: &str = "applied";
const RUNS: &str = "runs";
const LAST_RUN: &str = "last_run_at";
const BLOCKED: &str = "blocked";
const STRANGE: &str = "strange";
/// The place of the last event that forgot something.
const FORGOT: &str = "forgot";

#[derive(Debug)]
pub(crate) struct Table {
    database: Database,
}

/// A memory without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub seq: u64,
    pub id: MemoryId,
    pub captured: Timestamp,
    pub said: Timestamp,
    pub kind: Kind,
    pub entry_type: EntryType,
    pub source: Source,
    pub confidence: Confidence,
    pub scope: Scope,
    pub trust: Trust,
    pub standing: Standing,
    pub thread: Option<String>,
    pub foreign_id: Option<String>,
    pub words: u32,
}

/// What a captured memory adds to its row besides the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) said: Timestamp,
    pub(crate) thread: Option<String>,
    pub(crate) words: u32,
}

/// Where a space stands, by count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub session: u64,
    pub durable: u64,
    pub archived: u64,
    pub merged: u64,
    pub superseded: u64,
    pub rejected: u64,
    pub forgotten: u64,
    /// Refused before anything was stored.
    pub blocked: u64,
    pub refused: Vec<(String, u64)>,
    pub runs: u64,
    pub last_run: Option<Timestamp>,
    pub conflicts: u64,
    /// Events that did not fit; there should be none.
    pub strange: u64,
}

impl Table {
    /// Opens the table, or makes it. One that is damaged is set aside: it can be made again.
    pub(crate) fn open(path: &Path, clock: &dyn Clock) -> Result<Table> {
        let (database, _) = match Database::open(path, SCHEMA, clock) {
            Err(holdfast_store::Error::Damaged { .. }) => {
                remove(path)?;
                Database::open(path, SCHEMA, clock)?
            }
            opened => opened?,
        };
        Ok(Table { database })
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut outcome = None;
        self.database.read(|conn| {
            outcome = Some(look(conn));
            Ok(())
        })?;
        outcome.unwrap_or_else(|| {
            Err(Error::Store(holdfast_store::Error::from(rusqlite::Error::QueryReturnedNoRows)))
        })
    }

    /// All of it, or nothing.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&Pen<'_>) -> Result<T>) -> Result<T> {
        let mut outcome = None;
        let written = self.database.write(|tx| {
            // What is deleted is overwritten.
            tx.pragma_update(None, "secure_delete", true)?;
            let done = change(&Pen { tx });
            let failed = done.is_err();
            outcome = Some(done);
            // An error that rolls it back; the real one is in `outcome`.
            if failed { Err(rusqlite::Error::QueryReturnedNoRows.into()) } else { Ok(()) }
        });
        match (outcome, written) {
            (Some(Err(e)), _) => Err(e),
            (_, Err(e)) => Err(e.into()),
            (Some(done), Ok(())) => done,
            (None, Ok(())) => Err(rusqlite::Error::QueryReturnedNoRows.into()),
        }
    }

    pub(crate) fn applied(&self) -> Result<u64> {
        self.read(|conn| Ok(counter(conn, APPLIED)?))
    }

    /// What people call whoever remembers here.
    pub(crate) fn name(&self) -> Result<Option<String>> {
        self.read(|conn| Ok(conn.query_row("SELECT name FROM about LIMIT 1", [], |r| r.get(0)).optional()?))
    }

    pub(crate) fn last_id(&self) -> Result<Option<MemoryId>> {
        // Ids of longer numbers sort behind shorter ones of the same day only by length first.
        self.read(|conn| {
            let text: Option<String> = conn
                .query_row(
                    "SELECT id FROM entry ORDER BY substr(id, 1, 14) DESC, length(id) DESC, id DESC LIMIT 1",
                    [],
                    |r| r.get(0),
                )
                .optional()?;
            Ok(text.and_then(|text| text.parse().ok()))
        })
    }

    pub(crate) fn row(&self, seq: u64) -> Result<Option<Row>> {
        self.read(|conn| row_of(conn, seq))
    }

    /// Rows, each with those that say the opposite, in one look; those that are not there are left out.
    pub(crate) fn with_conflicts(&self, seqs: &[u64]) -> Result<Vec<(Row, Vec<MemoryId>)>> {
        self.read(|conn| {
            let both = |seq: u64| match row_of(conn, seq)? {
                Some(row) => Ok(Some((row, conflicts_of(conn, seq)?))),
                None => Ok(None),
            };
            seqs.iter().filter_map(|seq| both(*seq).transpose()).collect()
        })
    }

    /// Those that say the opposite of one.
    pub(crate) fn conflicts_of(&self, seq: u64) -> Result<Vec<MemoryId>> {
        self.read(|conn| conflicts_of(conn, seq))
    }

    /// Rows from a place on, in order.
    pub(crate) fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>> {
        let seqs = self.read(|conn| {
            let mut all = conn.prepare_cached(
                "SELECT seq FROM entry WHERE seq >= ?1 AND id NOT LIKE 'gone-%' ORDER BY seq LIMIT ?2",
            )?;
            let rows = all.query_map([from as i64, limit as i64], |r| r.get::<_, i64>(0))?;
            rows.map(|seq| Ok(seq? as u64)).collect::<Result<Vec<u64>>>()
        })?;
        seqs.into_iter().filter_map(|seq| self.row(seq).transpose()).collect()
    }

    pub(crate) fn seq_of(&self, id: MemoryId) -> Result<Option<u64>> {
        self.read(|conn| {
            let mut find = conn.prepare_cached("SELECT seq FROM entry WHERE id = ?1")?;
            Ok(find.query_row([id.to_string()], |r| r.get::<_, i64>(0)).optional()?.map(|seq| seq as u64))
        })
    }

    /// Those that are forgotten while their keys are there.
    pub(crate) fn half_forgotten(&self) -> Result<Vec<u64>> {
        self.seqs(
            "SELECT seq FROM entry WHERE standing = 'forgotten' AND how IS NOT NULL ORDER BY seq LIMIT ?1",
            usize::MAX >> 1,
        )
    }

    /// The memory that came from elsewhere under this name, and where it stands.
    pub(crate) fn by_foreign(&self, foreign_id: &str) -> Result<Option<(MemoryId, Standing)>> {
        let seq = self.read(|conn| {
            let mut find =
                conn.prepare_cached("SELECT seq FROM entry WHERE foreign_id = ?1 ORDER BY seq LIMIT 1")?;
            Ok(find.query_row([foreign_id], |r| r.get::<_, i64>(0)).optional()?)
        })?;
        let row = seq.map(|seq| self.row(seq as u64)).transpose()?.flatten();
        Ok(row.map(|row| (row.id, row.standing)))
    }

    /// Merges that were made without the model, and wait for it: who was given up, and for whom.
    pub(crate) fn unconfirmed(&self) -> Result<Vec<(MemoryId, MemoryId)>> {
        self.read(|conn| {
            let sql = "SELECT gone.id, kept.id FROM entry AS gone JOIN entry AS kept ON kept.seq = gone.other
                WHERE gone.standing = 'merged' AND gone.how = 'lexical' ORDER BY gone.seq";
            let mut all = conn.prepare_cached(sql)?;
            let rows = all.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)))?;
            rows.map(|found| {
                let (gone, kept) = found?;
                Ok((parsed(&gone)?, parsed(&kept)?))
            })
            .collect()
        })
    }

    pub(crate) fn counted(&self) -> Result<Counted> {
        self.read(|conn| {
            let mut counted = Counted::default();
            let mut rows = conn.prepare("SELECT standing, count(*) FROM entry GROUP BY standing")?;
            for found in rows.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)? as u64)))? {
                let (word, count) = found?;
                match word.as_str() {
                    "session" => counted.session = count,
                    "durable" => counted.durable = count,
                    "archived" => counted.archived = count,
                    "merged" => counted.merged = count,
                    "superseded" => counted.superseded = count,
                    "rejected" => counted.rejected = count,
                    _ => counted.forgotten += count,
                }
            }
            counted.blocked = counter(conn, BLOCKED)?;
            counted.runs = counter(conn, RUNS)?;
            counted.last_run = match counter(conn, LAST_RUN)? {
                0 => None,
                micros => Timestamp::from_micros(micros as i64).ok(),
            };
            let mut refused = conn.prepare(
                "SELECT substr(name, 9), count FROM counter WHERE name LIKE 'refused.%' ORDER BY name",
            )?;
            counted.refused = refused
                .query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as u64)))?
                .collect::<rusqlite::Result<_>>()?;
            let one = |sql: &str| conn.query_row(sql, [], |r| r.get::<_, i64>(0)).map(|n| n as u64);
            counted.conflicts = one("SELECT count(*) / 2 FROM conflict")?;
            counted.strange = counter(conn, STRANGE)?;
            Ok(counted)
        })
    }

    /// What waits to be decided about, oldest first.
    pub(crate) fn session(&self, limit: usize) -> Result<Vec<u64>> {
        self.seqs("SELECT seq FROM entry WHERE standing = 'session' ORDER BY seq LIMIT ?1", limit)
    }

    /// What has no vector yet, oldest first.
    pub(crate) fn pending(&self, limit: usize) -> Result<Vec<u64>> {
        self.seqs(
            "SELECT seq FROM entry WHERE embedded = 0 AND standing <> 'forgotten' ORDER BY seq LIMIT ?1",
            limit,
        )
    }

    /// The entry and all it took the place of, however often.
    pub(crate) fn lineage(&self, seq: u64) -> Result<Vec<(u64, MemoryId)>> {
        self.read(|conn| {
            let sql = "WITH RECURSIVE line(seq) AS (VALUES (?1) UNION SELECT entry.seq FROM entry JOIN line ON entry.other = line.seq)
                SELECT entry.seq, entry.id FROM entry JOIN line USING (seq) ORDER BY entry.seq";
            let mut line = conn.prepare(sql)?;
            let rows = line.query_map([seq as i64], |r| Ok((r.get::<_, i64>(0)? as u64, r.get::<_, String>(1)?)))?;
            rows.map(|found| {
                let (seq, id) = found?;
                Ok((seq, parsed(&id)?))
            })
            .collect()
        })
    }

    /// The place of the last event that forgot something; 0 for none.
    pub(crate) fn forgot(&self) -> Result<u64> {
        self.read(|conn| Ok(counter(conn, FORGOT)?))
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> Result<u64> {
        self.number("SELECT count(*) FROM entry")
    }

    pub(crate) fn pending_count(&self) -> Result<u64> {
        self.number("SELECT count(*) FROM entry WHERE embedded = 0 AND standing <> 'forgotten'")
    }

    /// The last row's place.
    pub(crate) fn last(&self) -> Result<Option<u64>> {
        self.read(|conn| {
            let last: Option<i64> = conn.query_row("SELECT max(seq) FROM entry", [], |r| r.get(0))?;
            Ok(last.map(|seq| seq as u64))
        })
    }

    /// Those a search does not find.
    pub(crate) fn dead(&self) -> Result<Vec<u64>> {
        self.seqs(
            "SELECT seq FROM entry WHERE standing NOT IN ('session', 'durable', 'archived') LIMIT ?1",
            usize::MAX >> 1,
        )
    }

    /// Those that pass a filter.
    pub(crate) fn passing(&self, only: &Only) -> Result<Vec<u64>> {
        let (sql, values) = only.sql()?;
        self.read(|conn| {
            let mut all = conn.prepare_cached(&sql)?;
            let rows = all.query_map(rusqlite::params_from_iter(values), |r| r.get::<_, i64>(0))?;
            rows.map(|seq| Ok(seq? as u64)).collect()
        })
    }

    fn number(&self, sql: &str) -> Result<u64> {
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row([], |r| r.get::<_, i64>(0))? as u64))
    }

    pub(crate) fn tags_of(&self, seq: u64) -> Result<Vec<String>> {
        self.read(|conn| {
            let mut tags = conn.prepare_cached("SELECT DISTINCT tag FROM tag WHERE seq = ?1 ORDER BY tag")?;
            Ok(tags.query_map([seq as i64], |r| r.get(0))?.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// Everything that was written is in the file itself, and what was deleted is in none.
    pub(crate) fn scrub(&self) -> Result<()> {
        Ok(self.database.scrub()?)
    }

    fn seqs(&self, sql: &str, limit: usize) -> Result<Vec<u64>> {
        self.read(|conn| {
            let mut all = conn.prepare_cached(sql)?;
            let rows = all.query_map([limit as i64], |r| r.get::<_, i64>(0))?;
            rows.map(|seq| Ok(seq? as u64)).collect()
        })
    }
}

/// One transaction.
pub(crate) struct Pen<'a> {
    tx: &'a Transaction<'a>,
}

impl Pen<'_> {
    /// Entries of the journal before this one were looked at.
    pub(crate) fn advance(&self, to: u64) -> Result<()> {
        self.set(APPLIED, to)
    }

    pub(crate) fn call(&self, name: &str) -> Result<()> {
        self.tx.execute("DELETE FROM about", [])?;
        self.tx.execute("INSERT INTO about (name) VALUES (?1)", [name])?;
        Ok(())
    }

    /// The key of a text is gone, whoever destroyed it; `at` is the entry that says so.
    pub(crate) fn forget(&self, at: u64, seq: u64) -> Result<()> {
        self.set(FORGOT, at)?;
        let mut find =
            self.tx.prepare_cached("SELECT id FROM entry WHERE seq = ?1 AND standing <> 'forgotten'")?;
        if let Some(id) = find.query_row([seq as i64], |r| r.get::<_, String>(0)).optional()? {
            self.change(parsed(&id)?, Change::Forget)?;
        }
        let mut end = self
            .tx
            .prepare_cached("UPDATE entry SET how = NULL WHERE seq = ?1 AND standing = 'forgotten'")?;
        end.execute([seq as i64])?;
        Ok(())
    }

    /// What was called by these ids lies at these places. Where a text was gone before it was looked at, this is all that says so.
    fn place(&self, ids: &[MemoryId], seqs: &[u64]) -> Result<()> {
        let mut put = self
            .tx
            .prepare_cached("UPDATE OR IGNORE entry SET id = ?2 WHERE seq = ?1 AND id = 'gone-' || ?1")?;
        for (id, seq) in ids.iter().zip(seqs) {
            put.execute(params![*seq as i64, id.to_string()])?;
        }
        Ok(())
    }

    pub(crate) fn capture(&self, seq: u64, at: Timestamp, entry: &Entry, heard: &Heard) -> Result<()> {
        let header = &entry.header;
        let foreign = entry.body.source_id.as_ref().map(|id| id.as_str().to_owned());
        let record = &entry.body.record;
        let inserted = self.tx.prepare_cached(
            "INSERT OR IGNORE INTO entry (seq, id, captured, said, kind, type, source, confidence, scope, trust, standing,
                thread, foreign_id, record_key, words, record_name, host)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'session', ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            seq as i64,
            header.id.to_string(),
            at.as_micros(),
            heard.said.as_micros(),
            word(&header.kind)?,
            word(&header.entry_type)?,
            word(&header.source)?,
            header.confidence.get(),
            word(&header.scope)?,
            word(&header.trust())?,
            heard.thread,
            foreign,
            record.key(),
            heard.words,
            record.name().map(|name| name.as_str()),
            record.host().map(|host| host.as_str()),
        ])?;
        if inserted == 0 {
            return self.count(STRANGE);
        }
        let mut put =
            self.tx.prepare_cached("INSERT OR IGNORE INTO tag (seq, tag, origin) VALUES (?1, ?2, ?1)")?;
        for tag in entry.body.tags.iter() {
            put.execute(params![seq as i64, tag])?;
        }
        self.point(seq, record)
    }

    /// A captured memory whose key was destroyed before it was ever looked at: it has a place and nothing else.
    pub(crate) fn capture_forgotten(&self, seq: u64, at: Timestamp) -> Result<()> {
        self.tx.execute(
            "INSERT OR IGNORE INTO entry (seq, id, captured, said, kind, type, source, confidence, scope, trust, standing, words, embedded)
             VALUES (?1, 'gone-' || ?1, ?2, ?2, 'session_fact', 'fact', 'inference', 0, 'project', 'untrusted', 'forgotten', 0, 1)",
            params![seq as i64, at.as_micros()],
        )?;
        Ok(())
    }

    /// What else happened.
    pub(crate) fn apply(&self, seq: u64, at: Timestamp, event: &Event) -> Result<()> {
        match event {
            Event::Captured(_) | Event::FileRead(_) => Ok(()),
            Event::IdentityChanged(_) | Event::ContextReached(_) => self.happened(seq, at, event),
            Event::Rejected(rejected) => self.count(&format!("refused.{}", word(&rejected.refusal.gate)?)),
            Event::Blocked(_) => self.count(BLOCKED),
            Event::Decided(decided) => self.decide(decided, at),
            Event::Superseded(it) => self.change(it.entry, Change::Supersede { by: it.by }),
            Event::Archived(it) => it.entries.iter().try_for_each(|id| self.change(*id, Change::Archive)),
            Event::Forgotten(it) => {
                self.set(FORGOT, seq)?;
                self.place(&it.entries, &it.seqs)?;
                it.entries.iter().try_for_each(|id| self.forget_entry(*id))
            }
            Event::Settled(it) => self.settle(it.pair),
            Event::Shared(it) => self.share(it.entry, &it.with.to_string(), true),
            Event::Unshared(it) => self.share(it.entry, &it.with.to_string(), false),
            Event::Cited(it) => self.cite(it.entry, &it.vote),
        }
    }

    pub(crate) fn embedded(&self, seqs: &[u64]) -> Result<()> {
        let mut set = self.tx.prepare_cached("UPDATE entry SET embedded = 1 WHERE seq = ?1")?;
        for seq in seqs {
            set.execute([*seq as i64])?;
        }
        Ok(())
    }

    /// All vectors are to be made again.
    pub(crate) fn nothing_embedded(&self) -> Result<()> {
        self.tx.execute("UPDATE entry SET embedded = 0 WHERE standing <> 'forgotten'", [])?;
        Ok(())
    }

    fn decide(&self, decided: &Decided, at: Timestamp) -> Result<()> {
        if self.get(RUNS)? < decided.run {
            self.set(RUNS, decided.run)?;
            self.set(LAST_RUN, u64::try_from(at.as_micros()).unwrap_or(0))?;
        }
        for decision in &decided.decisions {
            match decision {
                Decision::Promote { entry } => self.change(*entry, Change::Promote)?,
                Decision::Merge(record) | Decision::Displace(record) => {
                    self.change(
                        record.discarded,
                        Change::Merge { into: record.kept, method: record.method },
                    )?;
                    self.inherit(record.kept, record.discarded)?;
                }
                Decision::Reject { entry, refusal } => {
                    self.change(*entry, Change::Reject { gate: refusal.gate })?
                }
                Decision::Conflict { pair, .. } => self.conflict(*pair)?,
                Decision::Restore { entry } => self.change(*entry, Change::Restore)?,
                Decision::Confirm { entry } => self.change(*entry, Change::Confirm)?,
            }
        }
        Ok(())
    }

    /// Whichever is kept carries the tags of both.
    fn inherit(&self, kept: MemoryId, discarded: MemoryId) -> Result<()> {
        let (Some(kept), Some(discarded)) = (self.seq_of(kept)?, self.seq_of(discarded)?) else {
            return Ok(());
        };
        self.tx
            .prepare_cached(
                "INSERT OR IGNORE INTO tag (seq, tag, origin) SELECT ?1, tag, origin FROM tag WHERE seq = ?2",
            )?
            .execute([kept, discarded])?;
        Ok(())
    }

    fn change(&self, id: MemoryId, change: Change) -> Result<()> {
        // Unknown ids are those of memories that were forgotten before this was read.
        let Some(seq) = self.seq_of(id)? else { return Ok(()) };
        let other = match change {
            Change::Merge { into: other, .. } | Change::Supersede { by: other } => {
                match self.seq_of(other)? {
                    Some(other) if other != seq && !self.leads_to(other, seq)? => Some(other),
                    // Whatever replaced it is forgotten, and takes it along.
                    None => return Ok(()),
                    Some(_) => return self.count(STRANGE),
                }
            }
            _ => None,
        };
        let standing =
            self.tx.prepare_cached(ROW)?.query_row([seq], |r| standing_of(r, self.tx)).optional()?;
        let Some(after) = standing.and_then(|standing| standing.after(change)) else {
            return self.count(STRANGE);
        };
        let (word, how) = words_of(after)?;
        let other = match after {
            Standing::Merged { .. } if other.is_none() => return self.rename_standing(seq, word, how),
            _ => other,
        };
        self.tx
            .prepare_cached("UPDATE entry SET standing = ?2, other = ?3, how = ?4 WHERE seq = ?1")?
            .execute(params![seq, word, other, how])?;
        if after == Standing::Forgotten {
            self.erase(seq)?;
        }
        if !after.is_live() {
            self.tx.prepare_cached("DELETE FROM conflict WHERE one = ?1 OR other = ?1")?.execute([seq])?;
        }
        Ok(())
    }

    /// Said again, it is no surprise.
    fn forget_entry(&self, id: MemoryId) -> Result<()> {
        let sql = "SELECT 1 FROM entry WHERE id = ?1 AND standing = 'forgotten'";
        match self.tx.prepare_cached(sql)?.exists([id.to_string()])? {
            true => Ok(()),
            false => self.change(id, Change::Forget),
        }
    }

    fn rename_standing(&self, seq: i64, word: &str, how: Option<String>) -> Result<()> {
        self.tx
            .prepare_cached("UPDATE entry SET standing = ?2, how = ?3 WHERE seq = ?1")?
            .execute(params![seq, word, how])?;
        Ok(())
    }

    /// What was in the text, or was made of it.
    fn erase(&self, seq: i64) -> Result<()> {
        self.tx.execute(
            "UPDATE entry SET said = captured, kind = 'session_fact', type = 'fact', source = 'inference', confidence = 0, scope = 'project',
                trust = 'untrusted', thread = NULL, foreign_id = NULL, record_key = NULL, record_name = NULL, host = NULL, words = 0, embedded = 1 WHERE seq = ?1",
            [seq],
        )?;
        self.tx.execute("DELETE FROM tag WHERE seq = ?1 OR origin = ?1", [seq])?;
        self.tx.execute("DELETE FROM share WHERE seq = ?1", [seq])?;
        self.tx.execute("DELETE FROM vote WHERE seq = ?1", [seq])?;
        self.tx.execute("DELETE FROM edge WHERE seq = ?1", [seq])?;
        Ok(())
    }

    /// Whether following what replaced it from one leads to the other.
    fn leads_to(&self, from: i64, to: i64) -> Result<bool> {
        let sql = "WITH RECURSIVE way(seq) AS (VALUES (?1) UNION SELECT entry.other FROM entry JOIN way USING (seq) WHERE entry.other IS NOT NULL)
            SELECT 1 FROM way WHERE seq = ?2";
        Ok(self.tx.prepare_cached(sql)?.exists([from, to])?)
    }

    fn conflict(&self, (a, b): (MemoryId, MemoryId)) -> Result<()> {
        let (Some(a), Some(b)) = (self.seq_of(a)?, self.seq_of(b)?) else { return Ok(()) };
        let mut live = self
            .tx
            .prepare_cached("SELECT count(*) FROM entry WHERE seq IN (?1, ?2) AND standing IN ('session', 'durable', 'archived')")?;
        if a == b || live.query_row([a, b], |r| r.get::<_, i64>(0))? != 2 {
            return self.count(STRANGE);
        }
        let mut put =
            self.tx.prepare_cached("INSERT OR IGNORE INTO conflict (one, other) VALUES (?1, ?2)")?;
        put.execute([a, b])?;
        put.execute([b, a])?;
        Ok(())
    }

    fn settle(&self, (a, b): (MemoryId, MemoryId)) -> Result<()> {
        let (Some(a), Some(b)) = (self.seq_of(a)?, self.seq_of(b)?) else { return Ok(()) };
        let sql = "DELETE FROM conflict WHERE (one = ?1 AND other = ?2) OR (one = ?2 AND other = ?1)";
        self.tx.execute(sql, [a, b])?;
        Ok(())
    }

    fn seq_of(&self, id: MemoryId) -> Result<Option<i64>> {
        let mut find = self.tx.prepare_cached("SELECT seq FROM entry WHERE id = ?1")?;
        Ok(find.query_row([id.to_string()], |r| r.get(0)).optional()?)
    }

    fn count(&self, name: &str) -> Result<()> {
        self.tx
            .prepare_cached("INSERT INTO counter (name, count) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET count = count + 1")?
            .execute([name])?;
        Ok(())
    }

    fn set(&self, name: &str, value: u64) -> Result<()> {
        self.tx
            .prepare_cached("INSERT INTO counter (name, count) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET count = ?2")?
            .execute(params![name, value as i64])?;
        Ok(())
    }

    fn get(&self, name: &str) -> Result<u64> {
        Ok(counter(self.tx, name)?)
    }
}

const ROW: &str = "SELECT seq, id, captured, said, kind, type, source, confidence, scope, trust, standing, other, how, thread,
    foreign_id, words, (SELECT into_.id FROM entry AS into_ WHERE into_.seq = entry.other) FROM entry WHERE seq = ?1";

fn row_of(conn: &Connection, seq: u64) -> Result<Option<Row>> {
    Ok(conn.prepare_cached(ROW)?.query_row(params![seq as i64], row).optional()?)
}

fn conflicts_of(conn: &Connection, seq: u64) -> Result<Vec<MemoryId>> {
    let sql = "SELECT entry.id FROM conflict JOIN entry ON entry.seq = conflict.other WHERE conflict.one = ?1 ORDER BY entry.seq";
    let mut all = conn.prepare_cached(sql)?;
    let rows = all.query_map([seq as i64], |r| r.get::<_, String>(0))?;
    rows.map(|id| parsed(&id?)).collect()
}

fn counter(conn: &Connection, name: &str) -> rusqlite::Result<u64> {
    let mut find = conn.prepare_cached("SELECT count FROM counter WHERE name = ?1")?;
    Ok(find.query_row([name], |r| r.get::<_, i64>(0)).optional()?.unwrap_or(0) as u64)
}

fn row(r: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let time =
        |at: usize| Ok::<_, rusqlite::Error>(Timestamp::from_micros(r.get(at)?).unwrap_or(Timestamp::EPOCH));
    Ok(Row {
        seq: r.get::<_, i64>(0)? as u64,
        id: read(r, 1)?,
        captured: time(2)?,
        said: time(3)?,
        kind: read(r, 4)?,
        entry_type: read(r, 5)?,
        source: read(r, 6)?,
        confidence: Confidence::new(r.get(7)?).map_err(|e| odd(7, e))?,
        scope: read(r, 8)?,
        trust: read(r, 9)?,
        standing: standing(r)?,
        thread: r.get(13)?,
        foreign_id: r.get(14)?,
        words: r.get(15)?,
    })
}

fn standing_of(r: &SqlRow<'_>, _: &Transaction<'_>) -> rusqlite::Result<Standing> {
    standing(r)
}

fn standing(r: &SqlRow<'_>) -> rusqlite::Result<Standing> {
    let other = || read::<MemoryId>(r, 16);
    Ok(match r.get::<_, String>(10)?.as_str() {
        "session" => Standing::Session,
        "durable" => Standing::Durable,
        "archived" => Standing::Archived,
        "merged" => Standing::Merged { into: other()?, method: read::<Method>(r, 12)? },
        "superseded" => Standing::Superseded { by: other()? },
        "rejected" => Standing::Rejected { gate: read::<GateName>(r, 12)? },
        _ => Standing::Forgotten,
    })
}

fn words_of(standing: Standing) -> Result<(&'static str, Option<String>)> {
    Ok(match standing {
        Standing::Session => ("session", None),
        Standing::Durable => ("durable", None),
        Standing::Archived => ("archived", None),
        Standing::Merged { method, .. } => ("merged", Some(word(&method)?)),
        Standing::Superseded { .. } => ("superseded", None),
        Standing::Rejected { gate } => ("rejected", Some(word(&gate)?)),
        // Until its key is seen to be gone.
        Standing::Forgotten => ("forgotten", Some("key".to_owned())),
    })
}

/// The word an enum is written as.
pub(crate) fn word<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Ok(other.to_string()),
        Err(source) => Err(Error::Sealing { source }),
    }
}

fn read<T: DeserializeOwned>(r: &SqlRow<'_>, at: usize) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::String(r.get(at)?)).map_err(|e| odd(at, e))
}

fn odd(at: usize, e: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(e))
}

fn parsed(id: &str) -> Result<MemoryId> {
    id.parse().map_err(|e| Error::from(odd(0, e)))
}

fn remove(path: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::File { path: path.to_owned(), source: e });
            }
            _ => {}
        }
    }
    Ok(())
}
