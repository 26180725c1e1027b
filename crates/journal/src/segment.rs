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

use crate::entry::Space;

/// How far ahead space is filled.
pub(crate) const STEP: u64 = 256 * 1024;

/// Filled space that ordinary entries leave to reserved ones. It is there when the disk is full, since writing over it takes no new block:
/// room for some 200 acts of people, which is more than a person does until the disk has been looked after.
pub(crate) const KEPT: u64 = 128 * 1024;

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

/// A file for the next segment: open, with room for reserved entries, not yet under a segment's name. Made before the present segment is
/// closed, so that a lack of descriptors or of space is met while there still is one to go on with.
#[derive(Debug)]
pub(crate) struct Ready {
    file: File,
    path: PathBuf,
    filled: u64,
}

impl Ready {
    /// Takes up a spare that was filled ahead, or makes the file.
    pub(crate) fn at(path: &Path) -> io::Result<Ready> {
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = opened.map_err(|e| while_doing("making", path, e))?;
        let filled = fill_ahead(&file).inspect_err(|_| drop(std::fs::remove_file(path)));
        Ok(Ready {
            filled: filled.map_err(|e| while_doing("growing", path, e))?,
            file,
            path: path.to_owned(),
        })
    }
}

fn fill_ahead(file: &File) -> io::Result<u64> {
    let filled = file.metadata()?.len();
    if filled >= KEPT {
        return Ok(filled);
    }
    file.write_all_at(&vec![b'\n'; (KEPT - filled) as usize], filled)?;
    file.sync_all()?;
    Ok(KEPT)
}

impl Active {
    /// Makes a segment of a file that is ready for it. The name is durable on return; nothing is in it yet.
    pub(crate) fn create_of(ready: Ready, path: PathBuf, first: u64) -> io::Result<Active> {
        unless_made(holdfast_durable::move_to_new(&ready.path, &path), &path)?;
        Ok(Active { first, path, file: ready.file, end: 0, filled: ready.filled, opened: None })
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

    /// Writes a batch and returns when it is durable. Only a batch of reserved entries may use up the filled space.
    pub(crate) fn write(&mut self, batch: &[u8], space: Space) -> Result<(), WriteFailed> {
        let end = self.end + batch.len() as u64;
        let kept = match space {
            Space::Ordinary => KEPT,
            Space::Reserved => 0,
        };
        if end + kept > self.filled {
            self.fill_to(end + kept).map_err(WriteFailed::Undone)?;
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

    /// Cuts off the filled space and returns when the segment is durable as it will stay. Where it cannot be cut off it stays: a blank line
    /// is no entry.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if self.file.set_len(self.end).is_ok() {
            self.filled = self.end;
        }
        self.file.sync_all().map_err(|e| while_doing("closing", &self.path, e))
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
