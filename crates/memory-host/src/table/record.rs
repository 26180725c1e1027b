//! What the table has of records: their keys, their names, what they point at; and what happened to an agent besides.

use std::collections::BTreeMap;

use holdfast_memory::event::Event;
use holdfast_memory::notes::RowKind;
use holdfast_memory::{Kind, Month, Record, Way};
use holdfast_types::Timestamp;
use rusqlite::params;

use super::{Pen, Row, Table, word};
use crate::error::Result;

const LIVE: &str = "standing IN ('session', 'durable', 'archived')";

/// A line of the notes that is no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) at: Timestamp,
    pub(crate) kind: RowKind,
    pub(crate) message: String,
}

impl Table {
    /// Live records of a key that others have too, oldest first, a list for each key.
    pub(crate) fn same_keys(&self) -> Result<Vec<Vec<Row>>> {
        let groups: Vec<(String, String)> = self.read(|conn| {
            let sql = format!(
                "SELECT kind, record_key FROM entry WHERE record_key IS NOT NULL AND {LIVE}
                 GROUP BY kind, record_key HAVING count(*) > 1"
            );
            let mut all = conn.prepare_cached(&sql)?;
            Ok(all.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
        })?;
        groups.iter().map(|(kind, key)| self.of_key(kind, key)).collect()
    }

    fn of_key(&self, kind: &str, key: &str) -> Result<Vec<Row>> {
        let seqs: Vec<i64> = self.read(|conn| {
            let sql =
                format!("SELECT seq FROM entry WHERE kind = ?1 AND record_key = ?2 AND {LIVE} ORDER BY seq");
            let mut all = conn.prepare_cached(&sql)?;
            Ok(all.query_map([kind, key], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
        })?;
        seqs.into_iter().filter_map(|seq| self.row(seq as u64).transpose()).collect()
    }

    /// Live ones that are called so: by their record, where they came from, or here.
    pub(crate) fn named(&self, name: &str, limit: usize) -> Result<Vec<u64>> {
        self.read(|conn| {
            let sql = format!(
                "SELECT seq FROM entry WHERE (record_name = ?1 OR foreign_id = ?1 OR id = ?1) AND {LIVE}
                 ORDER BY seq DESC LIMIT ?2"
            );
            let mut all = conn.prepare_cached(&sql)?;
            let rows = all.query_map(params![name, limit as i64], |r| r.get::<_, i64>(0))?;
            rows.map(|seq| Ok(seq? as u64)).collect()
        })
    }

    /// What a memory points at.
    pub(crate) fn edges_of(&self, seq: u64) -> Result<Vec<(Way, String)>> {
        self.read(|conn| {
            let mut all =
                conn.prepare_cached("SELECT way, name FROM edge WHERE seq = ?1 ORDER BY way, name")?;
            let row = |r: &rusqlite::Row<'_>| Ok((super::read::<Way>(r, 0)?, r.get(1)?));
            Ok(all.query_map([seq as i64], row)?.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Durable ones that were captured before a moment.
    pub(crate) fn durable_before(&self, moment: Timestamp) -> Result<Vec<Row>> {
        let seqs: Vec<i64> = self.read(|conn| {
            let sql = "SELECT seq FROM entry WHERE standing = 'durable' AND captured < ?1 ORDER BY seq";
            let mut all = conn.prepare_cached(sql)?;
            Ok(all.query_map([moment.as_micros()], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
        })?;
        seqs.into_iter().filter_map(|seq| self.row(seq as u64).transpose()).collect()
    }

    pub(crate) fn happenings(&self) -> Result<Vec<Happening>> {
        let rows: Vec<(i64, String, String)> = self.read(|conn| {
            let mut all = conn.prepare_cached("SELECT at, kind, message FROM happening ORDER BY seq")?;
            let row = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?, r.get(2)?));
            Ok(all.query_map([], row)?.collect::<rusqlite::Result<_>>()?)
        })?;
        let told = |(at, kind, message): (i64, String, String)| {
            let kind = RowKind::ALL.into_iter().find(|it| it.as_str() == kind)?;
            Some(Happening { at: Timestamp::from_micros(at).ok()?, kind, message })
        };
        Ok(rows.into_iter().filter_map(told).collect())
    }

    /// Live ones by kind and by month, counted.
    pub(crate) fn spread(&self) -> Result<(BTreeMap<String, u64>, BTreeMap<String, u64>)> {
        let rows: Vec<(String, i64)> = self.read(|conn| {
            let mut all = conn.prepare_cached(&format!("SELECT kind, captured FROM entry WHERE {LIVE}"))?;
            Ok(all.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
        })?;
        let (mut kinds, mut months) = (BTreeMap::new(), BTreeMap::new());
        for (kind, captured) in rows {
            *kinds.entry(kind).or_default() += 1;
            let at = Timestamp::from_micros(captured).unwrap_or(Timestamp::EPOCH);
            *months.entry(Month::of(at).to_string()).or_default() += 1;
        }
        Ok((kinds, months))
    }

    /// Live ones of a kind, the newest first.
    pub(crate) fn of_kind(&self, kind: Kind, limit: usize) -> Result<Vec<u64>> {
        let kind = word(&kind)?;
        self.read(|conn| {
            let sql = format!("SELECT seq FROM entry WHERE kind = ?1 AND {LIVE} ORDER BY seq DESC LIMIT ?2");
            let mut all = conn.prepare_cached(&sql)?;
            let rows = all.query_map(params![kind, limit as i64], |r| r.get::<_, i64>(0))?;
            rows.map(|seq| Ok(seq? as u64)).collect()
        })
    }
}

impl Pen<'_> {
    /// Writes down what a record points at.
    pub(super) fn point(&self, seq: u64, record: &Record) -> Result<()> {
        let mut put =
            self.tx.prepare_cached("INSERT OR IGNORE INTO edge (seq, way, name) VALUES (?1, ?2, ?3)")?;
        for edge in record.edges() {
            put.execute(params![seq as i64, word(&edge.way())?, edge.label().as_str()])?;
        }
        Ok(())
    }

    pub(super) fn happened(&self, seq: u64, at: Timestamp, event: &Event) -> Result<()> {
        let Some((kind, message)) = told(event) else { return Ok(()) };
        self.tx.execute(
            "INSERT OR REPLACE INTO happening (seq, at, kind, message) VALUES (?1, ?2, ?3, ?4)",
            params![seq as i64, at.as_micros(), kind.as_str(), message],
        )?;
        Ok(())
    }
}

/// What a row of the notes says of an event.
fn told(event: &Event) -> Option<(RowKind, String)> {
    match event {
        Event::IdentityChanged(it) => {
            let head = format!("Version {}: {}", it.version, it.sections.join(", "));
            let said = if it.diff.is_empty() { head } else { format!("{head}\n{}", it.diff) };
            Some((RowKind::Identity, said))
        }
        Event::ContextReached(it) => {
            let level = word(&it.level).unwrap_or_default();
            let about = if it.estimated { "about " } else { "" };
            Some((
                RowKind::Context,
                format!("{level}: {about}{} of {} tokens are in use", it.used_tokens, it.max_tokens),
            ))
        }
        _ => None,
    }
}
