//! One owner per database within a process.
//!
//! SQLite's locks are the process's and not the connection's: opening and closing the same file a second time by
//! other means drops the locks of the first. So a second owner is refused before it opens anything.
//!
//! Between processes the lock of the journal is what keeps owners apart: whoever opens these databases to write has
//! the journal open. A lock of each database's own would have to be a file beside it, because a rebuild exchanges
//! the file itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::files::folder_of;

static CLAIMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Holds a path until dropped.
#[derive(Debug)]
pub(crate) struct Claim(PathBuf);

impl Claim {
    pub(crate) fn take(path: &Path) -> Result<Claim> {
        let folder = std::fs::canonicalize(folder_of(path))?;
        let real = folder.join(path.file_name().unwrap_or_default());
        if claimed().insert(real.clone()) {
            Ok(Claim(real))
        } else {
            Err(Error::Busy { path: path.to_owned(), who: "this process has it open already" })
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        claimed().remove(&self.0);
    }
}

fn claimed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}
