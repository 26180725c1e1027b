//! `metrics.db`: what was measured, as series of samples. Its own truth, with retention.
//!
//! What the steward observes of its targets lies in the same file, in the tables of `observed.rs`; `holdfast-metrics` writes and
//! reads those.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use holdfast_types::{Clock, Timestamp};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::database::{Database, Opened};
use crate::error::{Error, Result};
use crate::observed::OBSERVED;
use crate::schema::{Migration, Schema, Truth};

/// Most series there are. A label with a value per request would fill the disk; beyond this it is counted and dropped.
pub const SERIES_MAX: usize = 10_000;

/// Samples that one step of a sweep removes: some tens of milliseconds, so that appending never waits long.
const SWEEP_STEP: usize = 10_000;

/// Most samples that one answer holds; who wants more asks again from where it ended.
const RANGE_MAX: usize = 100_000;

/// `HFme`.
pub const METRICS: Schema = Schema {
    name: "metrics",
    application_id: 0x4846_6d65,
    migrations: &[
        Migration {
            number: 1,
            name: "series and samples",
            sql: "CREATE TABLE series (
                id INTEGER PRIMARY KEY,
                name TEXT NOT NULL,
                labels TEXT NOT NULL,
                UNIQUE (name, labels)
            ) STRICT;
            CREATE TABLE samples (
                series INTEGER NOT NULL REFERENCES series (id),
                at INTEGER NOT NULL,
                value REAL NOT NULL,
                PRIMARY KEY (series, at)
            ) STRICT, WITHOUT ROWID;",
        },
        Migration { number: 2, name: "what is observed of targets", sql: OBSERVED },
    ],
    truth: Truth::Own,
};

/// What is measured: a name, and labels that tell one from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Series {
    name: String,
    /// A JSON object with its keys in order: one spelling per set of labels.
    labels: String,
}

/// One value at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub at: Timestamp,
    pub value: f64,
}

/// The open database.
#[derive(Debug)]
pub struct Samples {
    database: Database,
    /// Numbers of the series that were used.
    known: Mutex<HashMap<Series, i64>>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplesAppended {
    pub stored: usize,
    /// Not stored, because there are [`SERIES_MAX`] other series.
    pub over_limit: usize,
}

/// What one step of a sweep did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepStep {
    pub removed: usize,
    /// There is more to remove: call again.
    pub more: bool,
}

impl Series {
    /// A name has 1 to 128 characters; there are at most 16 labels of at most 128 characters each.
    pub fn new(name: &str, labels: &[(&str, &str)]) -> Result<Series> {
        let refuse = |why: &str| Err(Error::BadSample { why: why.to_owned() });
        let fits = |text: &str| !text.is_empty() && text.len() <= 128 && !text.chars().any(char::is_control);
        if !fits(name) {
            return refuse("a name has 1 to 128 characters, none of them a control character");
        }
        if labels.len() > 16 || labels.iter().any(|(key, value)| !fits(key) || !fits(value)) {
            return refuse("there are at most 16 labels, each key and value of 1 to 128 characters");
        }
        let map: BTreeMap<&str, &str> = labels.iter().copied().collect();
        if map.len() < labels.len() {
            return refuse("a label is given twice");
        }
        let labels = serde_json::to_string(&map).map_err(|e| Error::BadSample { why: e.to_string() })?;
        Ok(Series { name: name.to_owned(), labels })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn labels(&self) -> BTreeMap<String, String> {
        // Written by `new`, so it reads back; a file somebody edited shows no labels rather than none of its data.
        serde_json::from_str(&self.labels).unwrap_or_default()
    }
}

impl Samples {
    pub fn open(path: &Path, clock: &dyn Clock) -> Result<(Samples, Opened)> {
        let (database, opened) = Database::open(path, METRICS, clock)?;
        Ok((Samples { database, known: Mutex::default() }, opened))
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Stores a batch; durable on return. A second sample of a series at the same time replaces the first. A
    /// value that is no number refuses the batch.
    pub fn append(&self, batch: &[(Series, Sample)]) -> Result<SamplesAppended> {
        if let Some((series, _)) = batch.iter().find(|(_, sample)| sample.value.is_nan()) {
            return Err(Error::BadSample { why: format!("the value of {} is not a number", series.name) });
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = self.database.write(|tx| store(tx, &mut known, batch));
        if appended.is_err() {
            // Numbers given out in a transaction that did not happen.
            known.clear();
        }
        appended
    }

    /// The samples of a series in a half-open span of time, oldest first, at most 100,000.
    pub fn range(&self, series: &Series, times: Range<Timestamp>) -> Result<Vec<Sample>> {
        self.database.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT at, value FROM samples
                 WHERE series = (SELECT id FROM series WHERE name = ?1 AND labels = ?2) AND at >= ?3 AND at < ?4
                 ORDER BY at LIMIT ?5",
            )?;
            let (start, end) = (times.start.as_micros(), times.end.as_micros());
            let mut rows = rows.query(params![series.name, series.labels, start, end, RANGE_MAX as i64])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let at = Timestamp::from_micros(row.get(0)?)
                    .map_err(|e| Error::Damaged { path: self.database.path().into(), what: e.to_string() })?;
                found.push(Sample { at, value: row.get(1)? });
            }
            Ok(found)
        })
    }

    /// All series, or those of one name, in order.
    pub fn series(&self, name: Option<&str>) -> Result<Vec<Series>> {
        self.database.read(|conn| {
            let sql = "SELECT name, labels FROM series WHERE ?1 IS NULL OR name = ?1 ORDER BY name, labels";
            let mut rows = conn.prepare_cached(sql)?;
            let rows = rows.query_map([name], |row| Ok(Series { name: row.get(0)?, labels: row.get(1)? }))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Removes some samples older than `before`, and series that have none left. Call again while there is more.
    pub fn sweep(&self, before: Timestamp) -> Result<SweepStep> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let step = self.database.write(|tx| sweep(tx, before.as_micros()))?;
        known.clear();
        Ok(step)
    }
}

fn store(
    tx: &Transaction<'_>,
    known: &mut HashMap<Series, i64>,
    batch: &[(Series, Sample)],
) -> Result<SamplesAppended> {
    let sql = "INSERT INTO samples VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = excluded.value";
    let mut insert = tx.prepare_cached(sql)?;
    let mut appended = SamplesAppended::default();
    for (series, sample) in batch {
        match number_of(tx, known, series)? {
            Some(id) => {
                insert.execute(params![id, sample.at.as_micros(), sample.value])?;
                appended.stored += 1;
            }
            None => appended.over_limit += 1,
        }
    }
    Ok(appended)
}

/// The number of a series, given out now if it is new and there is room.
fn number_of(tx: &Transaction<'_>, known: &mut HashMap<Series, i64>, series: &Series) -> Result<Option<i64>> {
    if let Some(id) = known.get(series) {
        return Ok(Some(*id));
    }
    let find = "SELECT id FROM series WHERE name = ?1 AND labels = ?2";
    let mut found: Option<i64> =
        tx.prepare_cached(find)?.query_row([&series.name, &series.labels], |row| row.get(0)).optional()?;
    if found.is_none() {
        let make = "INSERT INTO series (name, labels)
                    SELECT ?1, ?2 WHERE (SELECT count(*) FROM series) < ?3";
        let made =
            tx.prepare_cached(make)?.execute(params![series.name, series.labels, SERIES_MAX as i64])?;
        found = (made == 1).then(|| tx.last_insert_rowid());
    }
    known.extend(found.map(|id| (series.clone(), id)));
    Ok(found)
}

fn sweep(tx: &Transaction<'_>, before: i64) -> Result<SweepStep> {
    let mut ids = tx.prepare_cached("SELECT id FROM series")?;
    let ids: Vec<i64> = ids.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // Series by series along the primary key: an index by time would cost every append.
    let mut delete = tx.prepare_cached(
        "DELETE FROM samples WHERE series = ?1 AND at IN
         (SELECT at FROM samples WHERE series = ?1 AND at < ?2 ORDER BY at LIMIT ?3)",
    )?;
    let mut removed = 0;
    for id in ids {
        removed += delete.execute(params![id, before, (SWEEP_STEP - removed) as i64])?;
        if removed == SWEEP_STEP {
            return Ok(SweepStep { removed, more: true });
        }
    }
    tx.execute("DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM samples WHERE series = series.id)", [])?;
    Ok(SweepStep { removed, more: false })
}
