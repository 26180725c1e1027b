//! Online backup: a consistent copy made while the database is being written.
//!
//! The copy is read from one snapshot of the write-ahead log, so writers neither wait nor make it begin again.
//! It is written as `<name>.partial`, synced, checked with `PRAGMA integrity_check`, and only then given its
//! name, which nobody had before. A `.partial` of ours that no running backup holds is what a killed one left; the
//! next backup into that folder clears it away.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_types::{Digest, Timestamp};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::connect;
use crate::copies::{PARTIAL, before_name, clear_partials, mark_newest, prune_before};
use crate::error::{Error, Result};
use crate::files::{create_private, folder_of, remove_database, sync_file, with_suffix};

/// 256 KiB: short enough to be watched and stopped, long enough that the steps cost nothing.
const STEP_PAGES: i32 = 64;

/// A step finds the database locked only while another process recovers it.
const BUSY_STEPS_MAX: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    pub pages: u64,
    pub total: u64,
}

/// A whole copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUp {
    pub path: PathBuf,
    pub bytes: u64,
    /// BLAKE3 of the file.
    pub digest: Digest,
}

/// Copies the database at `from` to `to`, where nothing may be yet. `None` when `watch` stopped it; then nothing
/// is left of it.
pub fn backup(
    from: &Path,
    to: &Path,
    watch: &mut dyn FnMut(Copied) -> ControlFlow<()>,
) -> Result<Option<BackedUp>> {
    if !from.exists() {
        return Err(Error::Missing { path: from.to_owned() });
    }
    let folder = folder_of(to);
    holdfast_durable::create_dir(folder).map_err(|e| Error::from(e).at(folder))?;
    if to.symlink_metadata().is_ok() {
        return Err(Error::BackupExists { path: to.to_owned() });
    }
    clear_partials(to).map_err(|e| Error::from(e).at(folder))?;
    let source = connect::reader(from).map_err(|e| e.at(from))?;
    let partial = Partial::create(to)?;
    if partial.copy(&source, from, watch).map_err(|e| e.at(&partial.path))?.is_break() {
        return Ok(None);
    }
    partial.check(from)?;
    partial.finish(to).map(Some).map_err(|e| match e {
        Error::Io(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Error::BackupExists { path: to.to_owned() }
        }
        other => other.at(to),
    })
}

/// The backup that comes before a migration. It is there on return, and stays while older ones go.
pub(crate) fn before_migration(path: &Path, name: &str, version: u32, now: Timestamp) -> Result<PathBuf> {
    let dir = folder_of(path).join("backups");
    // A clock that stands still or went back must not stand in the way.
    let names = (0..100).map(|nudge| {
        let at = now.plus(Duration::from_micros(nudge));
        dir.join(before_name(name, version, at))
    });
    for to in names {
        match backup(path, &to, &mut |_| ControlFlow::Continue(())) {
            Err(Error::BackupExists { .. }) => {}
            Err(e) => return Err(e),
            Ok(_) => {
                prune_before(&to)?;
                // The last look before the database is changed.
                if !to.exists() {
                    let what = "it was gone as soon as it was made".into();
                    return Err(Error::BackupBad { path: path.to_owned(), what });
                }
                return Ok(to);
            }
        }
    }
    Err(Error::BackupExists { path: dir })
}

/// A copy that is not whole yet. Dropped, it is gone.
struct Partial {
    path: PathBuf,
    /// Locked as long as this process works on it, so that nobody takes it for a leftover.
    held: File,
}

impl Partial {
    fn create(to: &Path) -> Result<Partial> {
        let path = with_suffix(to, PARTIAL);
        let held = create_private(&path).map_err(|e| Error::from(e).at(&path))?;
        held.try_lock().map_err(|e| Error::from(io::Error::from(e)).at(&path))?;
        Ok(Partial { path, held })
    }

    fn copy(
        &self,
        source: &Connection,
        from: &Path,
        watch: &mut dyn FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut copy = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Nothing in this file counts before it is whole, so it is synced once, at the end.
        connect::pragma_text(&copy, "journal_mode", "MEMORY")?;
        copy.pragma_update(None, "synchronous", "OFF")?;
        // One snapshot for all steps.
        let hold = || source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema");
        hold().map_err(|e| Error::from(e).at(from))?;
        if copy_pages(&Backup::new(source, &mut copy)?, from, watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        // The copy is one file that needs no companions.
        connect::pragma_text(&copy, "journal_mode", "DELETE")?;
        copy.close().map_err(|(_, e)| e)?;
        sync_file(&self.path)?;
        Ok(ControlFlow::Continue(()))
    }

    fn check(&self, from: &Path) -> Result<()> {
        let bad = |what| Error::BackupBad { path: from.to_owned(), what };
        let said = connect::reader_of_still_file(&self.path)
            .and_then(|copy| {
                Ok(copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))?)
            })
            .map_err(|e| bad(e.to_string()))?;
        if said == "ok" { Ok(()) } else { Err(bad(said)) }
    }

    fn finish(&self, to: &Path) -> Result<BackedUp> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut File::open(&self.path)?, &mut hasher)?;
        mark_newest(&self.held, to)?;
        holdfast_durable::move_to_new(&self.path, to)?;
        Ok(BackedUp { path: to.to_owned(), bytes, digest: Digest::blake3(*hasher.finalize().as_bytes()) })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already when the copy got its name.
        let _ = remove_database(&self.path);
    }
}

fn copy_pages(
    backup: &Backup<'_, '_>,
    from: &Path,
    watch: &mut dyn FnMut(Copied) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut busy = 0;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(ControlFlow::Continue(())),
            StepResult::More => busy = 0,
            _ if busy < BUSY_STEPS_MAX => {
                busy += 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            _ => return Err(Error::Busy { path: from.to_owned(), who: "another process holds it" }),
        }
        let at = backup.progress();
        let total = u64::try_from(at.pagecount).unwrap_or(0);
        let pages = total.saturating_sub(u64::try_from(at.remaining).unwrap_or(0));
        if watch(Copied { pages, total }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}
