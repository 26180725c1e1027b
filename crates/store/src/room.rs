//! Room on the disk that a database keeps for itself, so that it can be written when the disk is full.
//!
//! Blocks are taken ahead, past the end of the write-ahead log and of the database file. They belong to these two files: nobody else can use
//! them up, and nothing has to be released and caught again at the moment it is needed. Each write looks whether enough is left and takes more
//! while there is room. Once there is none, the log is copied back after every write, so that it begins again at its start and grows no
//! longer; what grows then is the database file alone, into its own blocks.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::error::Result;
use crate::files::with_suffix;

/// Ahead of the log: a dozen transactions of twenty pages.
const LOG: u64 = 1 << 20;
/// Ahead of the database file: some thousand sessions, or as many acts that are owed to the journal.
const FILE: u64 = 1 << 20;
/// Less than this is not worth a try.
const LEAST: u64 = 64 << 10;

/// The files of one database, with what is kept ahead of each.
///
/// They stay open as long as the database: closing any descriptor of a file takes this process's locks on it away, SQLite's too.
#[derive(Debug)]
pub(crate) struct Room {
    log: Ahead,
    file: Ahead,
}

#[derive(Debug)]
struct Ahead {
    of: File,
    wanted: u64,
    /// The file's length when it was last looked at: a file that became shorter has lost what was kept.
    len: u64,
    /// Up to here there are blocks.
    kept_to: u64,
}

impl Room {
    /// The log must be there: the writer has used the database before. The file is opened last, since a descriptor of it may not be closed again.
    pub(crate) fn of(path: &Path) -> Result<Room> {
        let log = Ahead::of(&with_suffix(path, "-wal"), LOG)?;
        Ok(Room { log, file: Ahead::of(path, FILE)? })
    }

    /// Fills up what was used. Where that is not possible, the log is made to begin again.
    pub(crate) fn after_write(&mut self, writer: &Connection) -> Result<()> {
        if self.log.fill()? < LOG / 2 {
            // Readers are not waited for: the next write tries again.
            writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        self.file.fill()?;
        Ok(())
    }
}

impl Ahead {
    fn of(path: &Path, wanted: u64) -> io::Result<Ahead> {
        let of = File::options().read(true).write(true).open(path)?;
        Ok(Ahead { of, wanted, len: 0, kept_to: 0 })
    }

    /// Keeps as much as was wanted where half of it is used; says how much is kept. A full disk is no failure.
    fn fill(&mut self) -> io::Result<u64> {
        let len = self.of.metadata()?.len();
        if len < self.len {
            self.kept_to = 0;
        }
        self.len = len;
        let mut wanted = self.wanted;
        while self.kept() < wanted / 2 && wanted >= LEAST {
            match holdfast_durable::keep_blocks(&self.of, len, wanted) {
                Ok(()) => self.kept_to = len + wanted,
                Err(e) if is_full(&e) => wanted /= 2,
                // Some file systems cannot: there is no room then, and nothing else is wrong.
                Err(e) if e.kind() == io::ErrorKind::Unsupported => break,
                Err(e) => return Err(e),
            }
        }
        Ok(self.kept())
    }

    fn kept(&self) -> u64 {
        self.kept_to.saturating_sub(self.len)
    }
}

fn is_full(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
