//! The segment that is being written.
//!
//! Space is filled with newlines ahead of the entries, in steps, and a batch overwrites it. So the common
//! sync changes no file size and allocates nothing, which is worth a third of the time it takes. A blank line
//! is no entry. When the segment is closed what is left of the filled space is cut off.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::while_doing;
use holdfast_types::Timestamp;

/// How far ahead space is filled.
pub(crate) const STEP: u64 = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) first: u64,
    path: PathBuf,
    file: File,
    /// Where the entries end.
    end: u64,
    /// Where the filled space ends; never less than `end`.
    filled: u64,
    /// When its first entry was written, by the wall clock and by the monotonic one.
    opened: Option<(Timestamp, Duration)>,
}

/// What became of a batch that could not be written.
#[derive(Debug)]
pub(crate) enum WriteFailed {
    /// The segment is as it was before; more can be written when the cause is gone.
    Undone(io::Error),
    /// Nobody can say what is on the disk now; only opening anew can.
    Unknown(io::Error),
}

impl Active {
    /// Makes the next segment. The name is durable on return; nothing is in it yet.
    pub(crate) fn create(path: PathBuf, first: u64) -> io::Result<Active> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|e| while_doing("making", &path, e))?;
        let named = holdfast_durable::sync_dir(path.parent().unwrap_or(Path::new(".")));
        unless_made(named, &path)?;
        Ok(Active { first, path, file, end: 0, filled: 0, opened: None })
    }

    /// Makes the next segment of a spare file that was filled ahead.
    pub(crate) fn create_of(spare: &Path, path: PathBuf, first: u64) -> io::Result<Active> {
        // Opened under its old name: once it has the new one nothing can fail any more.
        let file = OpenOptions::new().read(true).write(true).open(spare);
        let file = file.map_err(|e| while_doing("opening", spare, e))?;
        let filled = file.metadata()?.len();
        unless_made(holdfast_durable::move_to_new(spare, &path), &path)?;
        Ok(Active { first, path, file, end: 0, filled, opened: None })
    }

    /// Takes up a segment whose entries end at `end`; what stands behind it is filler.
    pub(crate) fn resume(
        path: PathBuf,
        first: u64,
        end: u64,
        opened: Option<(Timestamp, Duration)>,
    ) -> io::Result<Active> {
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|e| while_doing("opening", &path, e))?;
        let filled = file.metadata()?.len();
        Ok(Active { first, path, file, end, filled, opened })
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// How long ago its first entry was written: the longer of what the two clocks say, so that a wall
    /// clock that went back does not keep a segment open for ever.
    pub(crate) fn age(&self, now: Timestamp, monotonic: Duration) -> Duration {
        self.opened.map_or(Duration::ZERO, |(wall, mono)| now.since(wall).max(monotonic.saturating_sub(mono)))
    }

    pub(crate) fn started(&mut self, now: Timestamp, monotonic: Duration) {
        self.opened.get_or_insert((now, monotonic));
    }

    /// Writes a batch and returns when it is durable.
    pub(crate) fn write(&mut self, batch: &[u8]) -> Result<(), WriteFailed> {
        let end = self.end + batch.len() as u64;
        if end > self.filled {
            self.fill_to(end).map_err(WriteFailed::Undone)?;
        }
        if let Err(e) = self.file.write_all_at(batch, self.end) {
            return Err(self.undo_write(batch.len(), e));
        }
        // After a failed sync the kernel may have dropped the pages and a second sync may lie: never retried.
        self.file.sync_data().map_err(|e| WriteFailed::Unknown(while_doing("syncing", &self.path, e)))?;
        self.end = end;
        Ok(())
    }

    /// Fills space so that at least `end` bytes are there, by a whole step where the disk has the room.
    fn fill_to(&mut self, end: u64) -> io::Result<()> {
        let roomy = end.next_multiple_of(STEP);
        let filled = self.fill_exactly(roomy).or_else(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => self.fill_exactly(end),
            _ => Err(e),
        });
        filled.map_err(|e| while_doing("growing", &self.path, e))
    }

    fn fill_exactly(&mut self, to: u64) -> io::Result<()> {
        let newlines = vec![b'\n'; (to - self.filled) as usize];
        if let Err(e) = self.file.write_all_at(&newlines, self.filled) {
            // Give the space back, or the next try finds even less of it.
            self.file.set_len(self.filled)?;
            return Err(e);
        }
        self.filled = to;
        Ok(())
    }

    fn undo_write(&mut self, len: usize, e: io::Error) -> WriteFailed {
        let e = while_doing("writing to", &self.path, e);
        match self.file.write_all_at(&vec![b'\n'; len], self.end).and_then(|()| self.file.sync_data()) {
            Ok(()) => WriteFailed::Undone(e),
            Err(_) => WriteFailed::Unknown(e),
        }
    }

    /// Cuts off the filled space and returns when the segment is durable as it will stay.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let close = || {
            self.file.set_len(self.end)?;
            self.file.sync_all()
        };
        close().map_err(|e| while_doing("closing", &self.path, e))?;
        self.filled = self.end;
        Ok(())
    }

    /// Blanks what a crash left between the last whole entry and `to`.
    pub(crate) fn blank_to(&mut self, to: u64) -> io::Result<()> {
        let blank = || {
            self.file.write_all_at(&vec![b'\n'; (to - self.end) as usize], self.end)?;
            self.file.sync_all()
        };
        blank().map_err(|e| while_doing("blanking the torn end of", &self.path, e))?;
        self.filled = self.filled.max(to);
        Ok(())
    }
}

/// A segment that could not be made durable must not be in the way of the next try.
fn unless_made(made: io::Result<()>, path: &Path) -> io::Result<()> {
    if made.is_err() {
        let _ = std::fs::remove_file(path);
    }
    made
}
