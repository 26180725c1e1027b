//! What is at a path: decided before anything is written, so that what is refused is as it was.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::connect;
use crate::error::{Error, Result};
use crate::files::wal_len;
use crate::schema::{Schema, Truth};

/// The smallest page there is. SQLite takes an empty file, and one of a single byte, for a new database.
const PAGE_MIN: u64 = 512;

/// A path that may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// The database that was wanted, at a version this program knows.
    Database {
        version: u32,
    },
}

/// Looks without changing a byte. Anything but nothing or the wanted database is an error.
pub(crate) fn look(path: &Path, schema: &Schema) -> Result<Found> {
    match OpenOptions::new().read(true).write(true).open(path).and_then(|f| f.metadata()) {
        Ok(found) if found.len() < PAGE_MIN => Err(damaged(path, "it is shorter than any database")),
        Ok(_) => Ok(Found::Database { version: identify(path, schema)? }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => nothing(path, schema),
        Err(e) => Err(e.into()),
    }
}

fn nothing(path: &Path, schema: &Schema) -> Result<Found> {
    if schema.truth == Truth::Own && wal_len(path)? > 0 {
        return Err(damaged(path, "the file is missing, and its write-ahead log is there"));
    }
    Ok(Found::Nothing)
}

fn identify(path: &Path, schema: &Schema) -> Result<u32> {
    // With a log that a crash left, what counts may be in there; without one, looking need leave no trace.
    let conn = match wal_len(path)? {
        0 => connect::reader_of_still_file(path)?,
        _ => connect::reader(path)?,
    };
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application_id, version) = (number("application_id")?, number("user_version")?);
    if application_id != schema.application_id {
        let found = format!("a database of another kind ({application_id:#010x})");
        return Err(Error::OtherDatabase { path: path.to_owned(), found, wanted: schema.name });
    }
    let version = u32::try_from(version).map_err(|_| damaged(path, "its version is negative"))?;
    if version > schema.version() {
        return Err(Error::Newer { path: path.to_owned(), found: version, known: schema.version() });
    }
    check_name(&conn, path, schema)?;
    check_migrations(&conn, path, schema, version)?;
    Ok(version)
}

fn check_name(conn: &Connection, path: &Path, schema: &Schema) -> Result<()> {
    let sql = "SELECT value FROM holdfast WHERE key = 'database'";
    let found: String = conn.query_row(sql, [], |row| row.get(0)).map_err(|e| unreadable(path, e))?;
    if found == schema.name {
        return Ok(());
    }
    let found = format!("the database {:?}", found.chars().take(40).collect::<String>());
    Err(Error::OtherDatabase { path: path.to_owned(), found, wanted: schema.name })
}

fn check_migrations(conn: &Connection, path: &Path, schema: &Schema, version: u32) -> Result<()> {
    let read = || -> rusqlite::Result<Vec<(u32, String)>> {
        let mut rows = conn.prepare("SELECT number, digest FROM migrations ORDER BY number")?;
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let applied = read().map_err(|e| unreadable(path, e))?;
    if !applied.iter().map(|(number, _)| *number).eq(1..=version) {
        return Err(damaged(path, "its list of migrations does not fit its version"));
    }
    let changed = applied.iter().zip(schema.migrations).find(|((_, digest), m)| *digest != m.digest());
    match changed {
        Some(((number, _), _)) => Err(Error::MigrationChanged { path: path.to_owned(), number: *number }),
        None => Ok(()),
    }
}

/// A file with our number that lacks what every database of ours has.
fn unreadable(path: &Path, e: rusqlite::Error) -> Error {
    match Error::Sql(e).at(path) {
        Error::Sql(e) => damaged(path, &e.to_string()),
        other => other,
    }
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::Damaged { path: path.to_owned(), what: what.to_owned() }
}
