//! Making and migrating: each step whole, with its number and the digest of its text, or not at all.

use std::path::Path;

use holdfast_types::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::connect::{self, Manner};
use crate::error::{Error, Result, sql_cause};
use crate::files::{aside_of, create_private, remove_database};
use crate::schema::{Migration, Schema};

/// What every database has before its first migration.
const BASE: &str = "
    CREATE TABLE holdfast (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE migrations (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;";

/// A new database under the name it is built with, and the connection to go on filling it.
pub(crate) fn make_aside(path: &Path, schema: &Schema, now: Timestamp) -> Result<Connection> {
    let aside = aside_of(path);
    remove_database(&aside)?;
    drop(create_private(&aside)?);
    let mut conn = connect::writer(&aside, Manner::Aside)?;
    conn.pragma_update(None, "application_id", schema.application_id)?;
    conn.execute_batch(BASE)?;
    conn.execute("INSERT INTO holdfast VALUES ('database', ?1)", [schema.name])?;
    migrate(&mut conn, path, schema, 0, now)?;
    Ok(conn)
}

/// Brings a database from version `from` to the newest.
pub(crate) fn migrate(
    conn: &mut Connection,
    path: &Path,
    schema: &Schema,
    from: u32,
    now: Timestamp,
) -> Result<()> {
    // A step that makes a table anew drops the old one, and with keys enforced that would take the rows that
    // refer to it along. They are checked before each commit instead.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    for step in schema.migrations.iter().filter(|m| m.number > from) {
        apply(conn, step, now).map_err(|e| explain(e, path, step))?;
    }
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    Ok(())
}

fn apply(conn: &mut Connection, step: &Migration, now: Timestamp) -> Result<(), Failed> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(step.sql)?;
    if tx.is_autocommit() {
        return Err(Failed::Why("its text ends the transaction it runs in".into()));
    }
    tx.execute(
        "INSERT INTO migrations (number, name, digest, at) VALUES (?1, ?2, ?3, ?4)",
        params![step.number, step.name, step.digest(), now.as_micros()],
    )?;
    tx.pragma_update(None, "user_version", step.number)?;
    check_keys(&tx)?;
    Ok(tx.commit()?)
}

fn check_keys(tx: &Transaction<'_>) -> Result<(), Failed> {
    let mut broken = tx.prepare("PRAGMA foreign_key_check")?;
    match broken.query([])?.next()? {
        None => Ok(()),
        Some(row) => {
            let table: String = row.get(0)?;
            Err(Failed::Why(format!("rows of {table} would refer to rows that are not there")))
        }
    }
}

enum Failed {
    Sql(rusqlite::Error),
    Why(String),
}

impl From<rusqlite::Error> for Failed {
    fn from(e: rusqlite::Error) -> Self {
        Failed::Sql(e)
    }
}

/// A full disk is not the migration's fault; anything else that stops it is.
fn explain(e: Failed, path: &Path, step: &Migration) -> Error {
    let failed =
        |why| Error::MigrationFailed { path: path.to_owned(), number: step.number, name: step.name, why };
    match e {
        Failed::Why(why) => failed(why),
        Failed::Sql(e) if sql_cause(&e).is_some() => Error::Sql(e),
        Failed::Sql(e) => failed(e.to_string()),
    }
}
