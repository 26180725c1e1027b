//! Names of the files of an index, and how those that no longer count go.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use holdfast_durable::while_doing;

use crate::error::Error;

pub(crate) fn base(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{generation:020}.base"))
}

pub(crate) fn log(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{generation:020}.log"))
}

/// Bases and logs of generations other than this one, and what a killed replacement of `CURRENT` left.
pub(crate) fn strays(folder: &Path, current: Option<u64>) -> Result<Vec<PathBuf>, Error> {
    let listed = std::fs::read_dir(folder).map_err(|e| while_doing("listing", folder, e))?;
    let mut strays = Vec::new();
    for entry in listed {
        let name = entry?.file_name();
        if name
            .to_str()
            .is_some_and(|name| name == "CURRENT.new" || generation(name).is_some_and(|g| Some(g) != current))
        {
            strays.push(folder.join(name));
        }
    }
    Ok(strays)
}

fn generation(name: &str) -> Option<u64> {
    let (number, kind) = name.split_once('.')?;
    (number.len() == 20 && matches!(kind, "base" | "log")).then_some(())?;
    number.parse().ok()
}

/// Overwrites a file with zeros and removes it: it held vectors, and a vector can reveal its text.
pub(crate) fn shred(path: &Path) -> Result<(), Error> {
    match File::options().write(true).open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        opened => shred_own(&opened.map_err(|e| while_doing("opening", path, e))?, path),
    }
}

/// The same for a file that is open. Its name is removed only if it is still this file's: another may have been made under it since.
pub(crate) fn shred_own(file: &File, path: &Path) -> Result<(), Error> {
    overwrite(file).map_err(|e| while_doing("overwriting", path, e))?;
    let (ours, named) = (file.metadata()?, path.metadata());
    if named.is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())) {
        holdfast_durable::remove(path)?;
    }
    Ok(())
}

fn overwrite(file: &File) -> std::io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let (len, zeros, mut at) = (file.metadata()?.len(), vec![0; CHUNK], 0);
    while at < len {
        let some = (len - at).min(CHUNK as u64);
        file.write_all_at(&zeros[..some as usize], at)?;
        at += some;
    }
    file.sync_data()
}

/// Files of an earlier generation that are still to be shredded. Whoever has time does it, in any thread; forgetting something waits for it, and
/// an opening does what was left.
#[derive(Clone, Debug, Default)]
pub struct Retired(Arc<Mutex<Vec<PathBuf>>>);

impl Retired {
    pub(crate) fn add(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(paths);
    }

    /// Overwrites and removes them.
    pub fn shred(&self) -> Result<(), Error> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(path) = paths.last() {
            shred(path)?;
            paths.pop();
        }
        Ok(())
    }
}
