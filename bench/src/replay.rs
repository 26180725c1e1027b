//! Filling the index from the first entry on: a rebuild, a catch-up, and SQLite alone with the same rows.
//!
//! The projections are those the daemon has. The peer inserts the rows of the largest table, which it holds in memory
//! already, and nothing else: no reading of a log, no names, no indexes. It says what the writing alone costs.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_journal::{Journal, SystemClock};
use holdfast_notice::NoticeProjection;
use holdfast_store::{CaughtUp, EntriesProjection, Index, Projection};

use crate::remove;
use crate::weather::{Rounds, calm_rounds, in_turns};

/// Rows of one transaction of the peer.
const AT_ONCE: usize = 10_000;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// How long to go on for want of calm rounds.
    pub(crate) time_max: Duration,
}

/// What replaying came to, in entries per second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) entries: u64,
    pub(crate) rebuild: Vec<f64>,
    pub(crate) catch_up: Vec<f64>,
    pub(crate) sqlite: Vec<f64>,
    pub(crate) rounds: Rounds,
}

/// A row of the table `entries`.
type Row = [Option<i64>; 8];

pub(crate) fn measure(dir: &Path, journal: &Journal, plan: Plan) -> Result<Replayed> {
    std::fs::create_dir(dir)?;
    let index = open(&dir.join("index"), journal)?;
    let entries = journal.size();
    check(&index.catch_up(journal, &mut on_and_on)?, entries)?;
    let rows = rows(&index)?;
    ensure!(rows.len() as u64 == entries, "the index has {} rows of {entries} entries", rows.len());
    let round = |number| {
        in_turns(number, |who| {
            let scratch = dir.join("scratch");
            let rate = match who {
                0 => rebuild(&index, journal),
                1 => catch_up(&scratch, journal),
                _ => plain_sqlite(&scratch, &rows),
            };
            remove(&scratch)?;
            Ok(entries as f64 / rate?.as_secs_f64())
        })
    };
    let (measured, rounds) = calm_rounds(plan.rounds, plan.time_max, round)?;
    let mut out = Replayed { entries, rounds, ..Replayed::default() };
    for [rebuild, catch_up, sqlite] in measured {
        out.rebuild.extend(rebuild);
        out.catch_up.extend(catch_up);
        out.sqlite.extend(sqlite);
    }
    Ok(out)
}

/// The index with the projections of the daemon.
fn open(dir: &Path, journal: &Journal) -> Result<Index> {
    let projections: Vec<Box<dyn Projection>> = vec![
        Box::new(EntriesProjection::new(journal.origin())),
        Box::new(NoticeProjection::new(journal.origin().clone())),
    ];
    let (index, _) = Index::open(&dir.join("index.db"), projections, Arc::new(SystemClock::new()))?;
    Ok(index)
}

fn rebuild(index: &Index, journal: &Journal) -> Result<Duration> {
    let began = Instant::now();
    let done = index.rebuild(journal, &mut on_and_on)?;
    let took = began.elapsed();
    ensure!(done.rebuilt.is_some(), "a rebuild did not come to its end");
    check(&done, journal.size())?;
    Ok(took)
}

fn catch_up(dir: &Path, journal: &Journal) -> Result<Duration> {
    let index = open(dir, journal)?;
    let began = Instant::now();
    let done = index.catch_up(journal, &mut on_and_on)?;
    let took = began.elapsed();
    check(&done, journal.size())?;
    Ok(took)
}

fn on_and_on(_: holdfast_store::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn check(done: &CaughtUp, entries: u64) -> Result<()> {
    ensure!(
        done.progress.applied == entries && done.halted.is_empty(),
        "not every entry was applied: {done:?}"
    );
    Ok(())
}

fn rows(index: &Index) -> Result<Vec<Row>> {
    let rows = index.read(|conn| {
        let mut all = conn.prepare("SELECT * FROM entries ORDER BY seq")?;
        let row = |row: &rusqlite::Row<'_>| {
            let mut out = Row::default();
            for (n, value) in out.iter_mut().enumerate() {
                *value = row.get(n)?;
            }
            Ok(out)
        };
        Ok(all.query_map([], row)?.collect::<rusqlite::Result<Vec<Row>>>()?)
    });
    rows.context("reading the rows of the index")
}

/// A write-ahead log and no sync at each commit, as the index in use has it.
fn plain_sqlite(dir: &Path, rows: &[Row]) -> Result<Duration> {
    std::fs::create_dir(dir)?;
    let mut connection = rusqlite::Connection::open(dir.join("plain.db"))?;
    let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    ensure!(mode == "wal", "SQLite uses the journal mode {mode}");
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(
        "CREATE TABLE entries (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL,
         actor INTEGER NOT NULL, subject INTEGER, run INTEGER, origin INTEGER, trust INTEGER NOT NULL) STRICT",
    )?;
    let began = Instant::now();
    for rows in rows.chunks(AT_ONCE) {
        let tx = connection.transaction()?;
        let mut insert = tx.prepare_cached("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        for row in rows {
            insert.execute(*row)?;
        }
        drop(insert);
        tx.commit()?;
    }
    Ok(began.elapsed())
}
