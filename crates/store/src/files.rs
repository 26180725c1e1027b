//! Names and moves of the files that belong to one database.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

/// What SQLite may leave beside a database file.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Whether what follows a database's name in another is nothing, or makes it a companion.
pub(crate) fn is_database_or_companion(suffix: &str) -> bool {
    suffix.is_empty() || COMPANIONS.contains(&suffix)
}

/// The same path with more at the end of its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Where a database is built before it gets its name.
pub(crate) fn aside_of(path: &Path) -> PathBuf {
    with_suffix(path, ".new")
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes an empty file that only its owner can read. SQLite gives its companions the same mode.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|e| while_doing("making", path, e))
}

/// Removes a database with all that belongs to it. The companions go first: a write-ahead log that outlived its
/// database would be replayed into the next one of that name.
pub(crate) fn remove_database(path: &Path) -> io::Result<()> {
    remove_companions(path)?;
    holdfast_durable::remove(path)
}

pub(crate) fn remove_companions(path: &Path) -> io::Result<()> {
    COMPANIONS.iter().try_for_each(|suffix| holdfast_durable::remove(&with_suffix(path, suffix)))
}

/// Bytes in the write-ahead log that may not be in the database file yet.
pub(crate) fn wal_len(path: &Path) -> io::Result<u64> {
    match std::fs::metadata(with_suffix(path, "-wal")) {
        Ok(found) => Ok(found.len()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(e),
    }
}

pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path).and_then(|f| f.sync_all()).map_err(|e| while_doing("syncing", path, e))
}

/// Puts a durable file in the place of another one; durable on return.
#[expect(clippy::disallowed_methods, reason = "the folder is synced right after")]
pub(crate) fn put_in_place(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).map_err(|e| while_doing("renaming into place", to, e))?;
    holdfast_durable::sync_dir(folder_of(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_database_leaves_none_of_its_companions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        for suffix in ["", "-wal", "-shm", "-journal"] {
            create_private(&with_suffix(&path, suffix)).unwrap();
        }
        create_private(&with_suffix(&path, ".new")).unwrap();
        remove_database(&path).unwrap();
        let left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["a.db.new"]);
    }
}
