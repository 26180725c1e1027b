//! Reading the view: what lies before a sink, how far it is, and what it was being told.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_store::Index;
use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, params};
use serde_json::json;

use crate::error::Result;
use crate::message::{Message, Raised};
use crate::notice::Severity;
use crate::sink::SinkName;

/// What the sink ?1 has still to be told of what matters at least as much as ?2, without the notices in ?3.
const PENDING: &str = "FROM notice_sinks s CROSS JOIN notice_messages m
    WHERE s.name = ?1 AND m.seq > s.cursor AND m.severity >= max(coalesce(s.least, 0), ?2)
    AND m.seq NOT IN (SELECT value FROM json_each(?3)) AND m.not_to IS NOT s.name
    AND NOT EXISTS (SELECT 1 FROM notice_done d WHERE d.sink = s.name AND d.seq = m.seq)";

/// How a sink is doing, as the journal says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) least: Option<Severity>,
    pub(crate) delivered: u64,
    pub(crate) abandoned: u64,
    pub(crate) last_delivered: Option<Timestamp>,
}

/// Notices a courier is done with, each with the seq of the entry that says so: the view may not have that yet.
pub(crate) type Handled = BTreeMap<u64, u64>;

/// For whom the view is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Looker {
    pub(crate) sink: SinkName,
    pub(crate) least: Severity,
    pub(crate) handled: Handled,
}

/// What lies before a sink.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Oldest first.
    pub(crate) pending: Vec<Raised>,
    /// The last critical notice it was not told yet.
    pub(crate) last_critical: Option<u64>,
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
        let select = "SELECT least, delivered, abandoned, last_delivered FROM notice_sinks WHERE name = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Recorded {
                least: row.get::<_, Option<i64>>(0)?.map(Severity::of_rank),
                delivered: row.get::<_, i64>(1)?.cast_unsigned(),
                abandoned: row.get::<_, i64>(2)?.cast_unsigned(),
                last_delivered: row.get::<_, Option<i64>>(3)?.and_then(moment),
            })
        };
        self.with(|db| db.prepare_cached(select)?.query_row([name], read).optional())
    }

    pub(crate) fn sink_names(&self) -> Result<Vec<String>> {
        self.with(|db| {
            let mut select = db.prepare_cached("SELECT name FROM notice_sinks ORDER BY name")?;
            select.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// One look at what a sink has before it: at most `limit` notices.
    pub(crate) fn look(&self, looker: &Looker, limit: usize) -> Result<Seen> {
        self.with(|db| {
            Ok(Seen { pending: pending(db, looker, limit)?, last_critical: last_critical(db, looker)? })
        })
    }

    /// The notices of each message that a sink was being told and for which nothing says how that ended.
    pub(crate) fn gathered(&self, looker: &Looker) -> Result<Vec<Vec<Raised>>> {
        let begun = "SELECT first FROM notice_parcels WHERE sink = ?1 ORDER BY first";
        let select = format!(
            "{COLUMNS} {PENDING} AND m.seq IN (SELECT e.value FROM notice_parcels p, json_each(p.seqs) e
                WHERE p.sink = ?1 AND p.first = ?4) ORDER BY m.seq"
        );
        let sink = looker.sink.as_str();
        self.with(|db| {
            let mut begun = db.prepare_cached(begun)?;
            let firsts: Vec<i64> =
                begun.query_map([sink], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let of =
                |first: i64| all(db, &select, params![sink, looker.least.rank(), looker.handled(), first]);
            firsts.into_iter().map(of).collect()
        })
    }

    pub(crate) fn count(&self, looker: &Looker) -> Result<u64> {
        let select = format!("SELECT count(*) {PENDING}");
        let fields = params![looker.sink.as_str(), looker.least.rank(), looker.handled()];
        self.with(|db| db.prepare_cached(&select)?.query_row(fields, |row| row.get::<_, i64>(0)))
            .map(i64::cast_unsigned)
    }

    fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.index.read(|db| Ok(read(db)?))?)
    }
}

impl Looker {
    /// The same, looking only for what is critical.
    pub(crate) fn urgently(&self) -> Looker {
        Looker { least: Severity::Critical, ..self.clone() }
    }

    /// As the queries take it.
    fn handled(&self) -> String {
        json!(self.handled.keys().collect::<Vec<_>>()).to_string()
    }
}

const COLUMNS: &str = "SELECT m.seq, m.id, m.at, m.severity, m.message, m.context, m.source, m.fold";

pub(crate) fn pending(db: &Connection, looker: &Looker, limit: usize) -> rusqlite::Result<Vec<Raised>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let select = format!("{COLUMNS} {PENDING} ORDER BY m.seq LIMIT ?4");
    all(db, &select, params![looker.sink.as_str(), looker.least.rank(), looker.handled(), limit])
}

fn last_critical(db: &Connection, looker: &Looker) -> rusqlite::Result<Option<u64>> {
    let select = format!("SELECT max(m.seq) {PENDING}");
    let fields = params![looker.sink.as_str(), Severity::Critical.rank(), looker.handled()];
    let found: Option<i64> = db.prepare_cached(&select)?.query_row(fields, |row| row.get(0))?;
    Ok(found.map(i64::cast_unsigned))
}

fn all(db: &Connection, select: &str, fields: impl Params) -> rusqlite::Result<Vec<Raised>> {
    db.prepare_cached(select)?.query_map(fields, raised_of)?.collect()
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
            digest: Vec::new(),
        },
    })
}

fn moment(micros: i64) -> Option<Timestamp> {
    Timestamp::from_micros(micros).ok()
}
