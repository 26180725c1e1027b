//! Connections with the settings every database has.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::schema::Truth;

/// Longer than any transaction of ours; a caller that waits longer is told that it is busy.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How a connection writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Into the database in use, through its write-ahead log.
    Live(Truth),
    /// Into a file that has no name yet: whoever is killed meanwhile throws it away, so nothing is synced before
    /// the end.
    Aside,
}

/// The one connection that writes. The file is there already: SQLite would make one that others can read.
pub(crate) fn writer(path: &Path, manner: Manner) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = open(path, flags)?;
    match manner {
        Manner::Live(truth) => live(&conn, path, truth)?,
        Manner::Aside => {
            pragma_text(&conn, "journal_mode", "MEMORY")?;
            conn.pragma_update(None, "synchronous", "OFF")?;
            pragma_text(&conn, "locking_mode", "EXCLUSIVE")?;
        }
    }
    // 32 MiB: the inner pages of a million rows and their indexes stay in memory while catching up.
    conn.pragma_update(None, "cache_size", -32 * 1024)?;
    Ok(conn)
}

fn live(conn: &Connection, path: &Path, truth: Truth) -> Result<()> {
    let mode = pragma_text(conn, "journal_mode", "WAL")?;
    if mode != "wal" {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    conn.pragma_update(
        None,
        "synchronous",
        match truth {
            // A power cut loses nothing that was committed.
            Truth::Own => "FULL",
            // A power cut may lose the last transactions, whole; they are in the journal and applied again.
            Truth::Projection => "NORMAL",
        },
    )?;
    // Copied back every 16 MiB, and the log file kept no longer than 64 MiB after a burst.
    pragma_text(conn, "wal_autocheckpoint", 4096)?;
    pragma_text(conn, "journal_size_limit", 64 << 20)?;
    Ok(())
}

/// A connection that can change nothing.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.pragma_update(None, "query_only", true)?;
    // Leaving is the writer's to tidy up after.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn)
}

/// A connection to a file that nobody writes: it takes no locks and makes no companions.
pub(crate) fn reader_of_still_file(path: &Path) -> Result<Connection> {
    let uri = format!("file:{}?immutable=1", percent_encoded(path)?);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // What a schema says is data, not code to be trusted, and a mistyped column is an error and not a text.
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
    ] {
        conn.set_db_config(setting, on)?;
    }
    conn.pragma_update(None, "cell_size_check", true)?;
    // One database per connection: no statement can reach into another file.
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Sets a pragma that answers with its new value.
pub(crate) fn pragma_text(conn: &Connection, name: &str, value: impl rusqlite::ToSql) -> Result<String> {
    let text = |row: &rusqlite::Row<'_>| {
        row.get_ref(0).map(|v| match v {
            rusqlite::types::ValueRef::Text(t) => String::from_utf8_lossy(t).into_owned(),
            other => format!("{other:?}"),
        })
    };
    Ok(conn.pragma_update_and_check(None, name, value, text)?)
}

fn percent_encoded(path: &Path) -> Result<String> {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    // A relative path after `file:` would be read as relative too, but one starting with `//` as a host.
    let absolute = std::path::absolute(path)?;
    let mut out = String::new();
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                out.push(char::from(*byte))
            }
            other => drop(write!(out, "%{other:02x}")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_can_be_looked_at_without_leaving_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["plain.db", "with space?mode=rwc#x%41.db", "ümlaut.db"] {
            let path = dir.path().join(name);
            Connection::open(&path)
                .unwrap()
                .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x)")
                .unwrap();
            let before = std::fs::read_dir(&dir).unwrap().count();
            let conn = reader_of_still_file(&path).unwrap();
            assert_eq!(conn.query_row("SELECT count(*) FROM t", [], |r| r.get(0)), Ok(0), "{name}");
            assert_eq!(std::fs::read_dir(&dir).unwrap().count(), before, "{name}");
        }
    }

    #[test]
    fn a_mistyped_column_is_an_error_and_no_other_file_can_be_reached() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        crate::files::create_private(&path).unwrap();
        let conn = writer(&path, Manner::Live(Truth::Own)).unwrap();
        assert!(conn.execute_batch("SELECT \"no such column\"").is_err());
        assert!(conn.execute_batch("ATTACH ':memory:' AS other").is_err());
        assert!(conn.execute_batch("PRAGMA writable_schema=ON; DELETE FROM sqlite_schema").is_err());
        let setting = |name| conn.pragma_query_value(None, name, |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!((setting("synchronous"), setting("foreign_keys"), setting("trusted_schema")), (2, 1, 0));
    }
}
