//! Sealed blobs beside a segment, one after another in one file.
//!
//! The entries say where each begins and ends. Bytes that no entry names are what a crash left of a batch
//! that was never acknowledged; they are sealed like the rest and nobody reads them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

#[derive(Debug)]
pub(crate) struct PackWriter {
    path: PathBuf,
    file: File,
    end: u64,
}

impl PackWriter {
    /// Opens the pack, made if it is not there, for appending after whatever is in it.
    pub(crate) fn open(path: &Path) -> io::Result<PackWriter> {
        let open = || {
            let fresh = !path.exists();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(path)?;
            if fresh {
                holdfast_durable::sync_dir(path.parent().unwrap_or(Path::new(".")))?;
            }
            let end = file.metadata()?.len();
            Ok(PackWriter { path: path.to_owned(), file, end })
        };
        open().map_err(|e| while_doing("opening", path, e))
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Appends sealed bytes and returns when they are durable. After a failure the end is where it was:
    /// the next append writes over what part of this one got there.
    pub(crate) fn append(&mut self, sealed: &[u8]) -> io::Result<()> {
        let write = || {
            self.file.write_all_at(sealed, self.end)?;
            self.file.sync_data()
        };
        write().map_err(|e| while_doing("writing to", &self.path, e))?;
        self.end += sealed.len() as u64;
        Ok(())
    }
}
