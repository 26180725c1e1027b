//! How far each projection is: rows of the same database, committed with what they speak of.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::Result;
use crate::projection::Projection;
use crate::schema::{Migration, Schema, Truth};

/// `HFix`.
pub(crate) const INDEX: Schema = Schema {
    name: "index",
    application_id: 0x4846_6978,
    migrations: &[Migration {
        number: 1,
        name: "progress",
        sql: "CREATE TABLE progress (
                name TEXT PRIMARY KEY,
                version INTEGER NOT NULL,
                schema TEXT NOT NULL,
                applied INTEGER NOT NULL,
                halted TEXT
            ) STRICT, WITHOUT ROWID;",
    }],
    truth: Truth::Projection,
};

/// How far the whole is, for whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Entries that every running projection has applied.
    pub applied: u64,
    pub total: u64,
}

/// Where one projection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub name: String,
    pub version: u32,
    /// Entries it has applied: the seq that comes next.
    pub applied: u64,
    /// Why it stands still there, if it does.
    pub halted: Option<String>,
}

/// A projection that stands still, and the entry it stands before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halted {
    pub name: String,
    pub seq: u64,
    pub reason: String,
}

/// The last entry that was applied, so that another history of the same length is noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) seq: u64,
    /// BLAKE3 of its line, in hex.
    pub(crate) digest: String,
}

pub(crate) fn tip_of(seq: u64, line: &[u8]) -> Tip {
    Tip { seq, digest: blake3::hash(line).to_hex().to_string() }
}

pub(crate) fn standings(conn: &Connection) -> rusqlite::Result<Vec<Standing>> {
    let mut rows =
        conn.prepare_cached("SELECT name, version, applied, halted FROM progress ORDER BY name")?;
    let standing = |row: &rusqlite::Row<'_>| {
        Ok(Standing { name: row.get(0)?, version: row.get(1)?, applied: row.get(2)?, halted: row.get(3)? })
    };
    rows.query_map([], standing)?.collect()
}

pub(crate) fn record(tx: &Transaction<'_>, standing: &Standing) -> rusqlite::Result<()> {
    let sql = "UPDATE progress SET applied = ?2, halted = ?3 WHERE name = ?1";
    tx.prepare_cached(sql)?.execute(params![standing.name, standing.applied, standing.halted]).map(drop)
}

pub(crate) fn fact(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let mut row = conn.prepare_cached("SELECT value FROM holdfast WHERE key = ?1")?;
    row.query_row([key], |row| row.get(0)).optional()
}

pub(crate) fn set_fact(tx: &Transaction<'_>, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO holdfast VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
    tx.prepare_cached(sql)?.execute([key, value]).map(drop)
}

pub(crate) fn tip(conn: &Connection) -> rusqlite::Result<Option<Tip>> {
    let parse = |text: String| {
        let (seq, digest) = text.split_once(' ')?;
        Some(Tip { seq: seq.parse().ok()?, digest: digest.to_owned() })
    };
    Ok(fact(conn, "tip")?.and_then(parse))
}

pub(crate) fn set_tip(tx: &Transaction<'_>, tip: &Tip) -> rusqlite::Result<()> {
    set_fact(tx, "tip", &format!("{} {}", tip.seq, tip.digest))
}

/// When the indexes of new tables are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexes {
    /// With the tables: entries come one by one and are asked for at once.
    Now,
    /// By [`make_indexes`], when the tables are full.
    Later,
}

/// Makes the tables of projections that are new or changed, and lets halted ones try again. Tells which begin
/// again from the first entry.
pub(crate) fn prepare(
    conn: &mut Connection,
    projections: &mut [Box<dyn Projection>],
    indexes: Indexes,
) -> Result<Vec<&'static str>> {
    assert_names_apart(projections);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut renewed = Vec::new();
    for projection in projections.iter_mut() {
        projection.forget();
        let digest = schema_digest(projection.as_ref());
        let known: Option<(u32, String)> = tx
            .query_row("SELECT version, schema FROM progress WHERE name = ?1", [projection.name()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        if known != Some((projection.version(), digest.clone())) {
            drop_tables(&tx, projection.name())?;
            tx.execute_batch(projection.schema())?;
            if indexes == Indexes::Now {
                tx.execute_batch(projection.indexes())?;
            }
            tx.execute(
                "INSERT OR REPLACE INTO progress VALUES (?1, ?2, ?3, 0, NULL)",
                params![projection.name(), projection.version(), digest],
            )?;
            renewed.push(projection.name());
        }
    }
    tx.execute("UPDATE progress SET halted = NULL WHERE halted IS NOT NULL", [])?;
    tx.commit()?;
    Ok(renewed)
}

pub(crate) fn make_indexes(conn: &mut Connection, projections: &[Box<dyn Projection>]) -> Result<()> {
    let tx = conn.transaction()?;
    projections.iter().try_for_each(|p| tx.execute_batch(p.indexes()))?;
    Ok(tx.commit()?)
}

/// Tables whose text changed are made anew even where somebody forgot to raise the version.
fn schema_digest(projection: &dyn Projection) -> String {
    let text = [projection.schema(), projection.indexes()].join("\0");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Two projections that could claim the same table are a mistake in the program.
fn assert_names_apart(projections: &[Box<dyn Projection>]) {
    let names: Vec<&str> = projections.iter().map(|p| p.name()).collect();
    for (n, name) in names.iter().enumerate() {
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        assert!(plain && !name.is_empty(), "{name:?} is not a projection's name");
        for reserved in ["holdfast", "migrations", "progress", "sqlite"] {
            assert!(!owns(name, reserved) && !owns(reserved, name), "{name} is taken by the store");
        }
        for other in names.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, other)| other) {
            assert!(!owns(name, other), "the tables of {name} and {other} cannot be told apart");
        }
    }
}

fn owns(projection: &str, table: &str) -> bool {
    table.strip_prefix(projection).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

fn drop_tables(tx: &Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    let list = || -> rusqlite::Result<Vec<(String, String)>> {
        // Virtual tables first: their shadow tables go with them.
        let mut rows = tx.prepare(
            "SELECT type, name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')
             ORDER BY type = 'virtual' DESC, type = 'view' DESC, name",
        )?;
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    for (kind, table) in list()?.iter().filter(|(_, table)| owns(name, table)) {
        let what = if kind == "view" { "VIEW" } else { "TABLE" };
        tx.execute_batch(&format!("DROP {what} IF EXISTS \"{}\"", table.replace('"', "\"\"")))?;
    }
    Ok(())
}
