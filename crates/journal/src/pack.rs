//! Long sealed blobs beside a segment, one after another in one file; short ones lie in their lines (`turn.rs`).
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

    /// Appends sealed bytes and returns when they are durable. After a failure nothing of them stays.
    pub(crate) fn append(&mut self, sealed: &[u8]) -> io::Result<()> {
        let written = self.file.write_all_at(sealed, self.end).and_then(|()| self.file.sync_data());
        if let Err(e) = written {
            // Half a blob would only keep the disk's last room.
            let _ = self.file.set_len(self.end);
            return Err(while_doing("writing to", &self.path, e));
        }
        self.end += sealed.len() as u64;
        Ok(())
    }

    /// Takes the last bytes back, because the entries that were to name them could not be written.
    pub(crate) fn take_back(&mut self, len: u64) {
        self.end = self.end.saturating_sub(len);
        let _ = self.file.set_len(self.end);
    }
}
