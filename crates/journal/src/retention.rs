//! When a closed segment may leave, and where it goes.
//!
//! A segment leaves only after its copy was read back from the archive and found to be the same, and the
//! newest ones never leave. With no archive nothing leaves at all: the status warns well before the cap, and
//! at the cap nothing more is taken.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use holdfast_durable::{Mode, while_doing};
use holdfast_types::Digest;

use crate::seals::{Closed, Seals};

/// A place for closed segments, such as a directory on another disk or an object store.
///
/// Calls come from the notary's thread and must end in bounded time, with an error if need be: while one hangs no
/// checkpoint is signed, and some 16 MiB later no entry is taken. They must not use the journal they serve.
pub trait Archive: Send + Sync + fmt::Debug {
    /// Stores a copy of a file under a name. Storing the same name again replaces it.
    fn store(&self, name: &str, from: &Path) -> io::Result<()>;

    /// Brings a stored file back, whole.
    fn fetch(&self, name: &str) -> io::Result<Vec<u8>>;
}

/// A directory, best on another disk.
#[derive(Debug)]
pub struct DirArchive {
    dir: PathBuf,
}

impl DirArchive {
    pub fn new(dir: &Path) -> io::Result<Self> {
        holdfast_durable::create_dir(dir)?;
        Ok(DirArchive { dir: dir.to_owned() })
    }
}

impl Archive for DirArchive {
    fn store(&self, name: &str, from: &Path) -> io::Result<()> {
        let bytes = std::fs::read(from).map_err(|e| while_doing("reading", from, e))?;
        holdfast_durable::replace(&self.dir.join(name), &bytes, Mode::Private)
    }

    fn fetch(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.dir.join(name);
        std::fs::read(&path).map_err(|e| while_doing("reading", &path, e))
    }
}

/// Brings a file back from the archive and refuses it when it is not the one that was sealed.
pub(crate) fn fetch_checked(archive: &dyn Archive, name: &str, digest: &Digest) -> io::Result<Vec<u8>> {
    let bytes = archive.fetch(name)?;
    if Digest::blake3(*blake3::hash(&bytes).as_bytes()) != *digest {
        let what = format!("the archive's copy of {name} is not the one that was sealed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// Closed segments that are here and not yet in the archive, oldest first.
pub(crate) fn to_archive(seals: &Seals) -> Vec<Closed> {
    seals.closed.values().filter(|c| !c.archived && !c.dropped).cloned().collect()
}

/// Closed segments that may leave now, oldest first. `keep` counts the one being written, too.
pub(crate) fn to_drop(seals: &Seals, keep: usize) -> Vec<u64> {
    let here: Vec<&Closed> = seals.closed.values().filter(|c| !c.dropped).collect();
    let spare = (here.len() + 1).saturating_sub(keep);
    // From the oldest on, and no further than the first that is not proved to be elsewhere: what is here
    // stays one unbroken run.
    here.into_iter().take(spare).take_while(|c| c.archived).map(|c| c.first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seals(archived: &[bool]) -> Seals {
        let closed = archived.iter().enumerate().map(|(i, archived)| {
            let first = i as u64 * 10;
            let digest = Digest::blake3([0; 32]);
            (
                first,
                Closed {
                    first,
                    last: first + 9,
                    bytes: 1,
                    digest,
                    pack: None,
                    archived: *archived,
                    dropped: false,
                },
            )
        });
        Seals { closed: closed.collect() }
    }

    fn check(archived: &[bool], keep: usize, dropped: &[u64]) {
        assert_eq!(to_drop(&seals(archived), keep), dropped, "{archived:?} keep {keep}");
    }

    // shows: MEM-050
    #[test]
    fn only_what_is_archived_leaves_and_never_below_the_retention() {
        check(&[], 1, &[]);
        check(&[true; 12], 10, &[0, 10, 20]);
        check(&[true; 9], 10, &[]);
        check(&[true; 10], 10, &[0]);
        check(&[false; 12], 10, &[]);
        check(&[true, false, true, true], 1, &[0]);
        check(&[false, true, true, true], 1, &[]);
    }

    #[test]
    fn a_lying_archive_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let archive = DirArchive::new(&dir.path().join("a")).unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "text").unwrap();
        archive.store("f", &file).unwrap();
        let digest = Digest::blake3(*blake3::hash(b"text").as_bytes());
        assert_eq!(fetch_checked(&archive, "f", &digest).unwrap(), b"text");
        std::fs::write(dir.path().join("a/f"), "tExt").unwrap();
        assert!(fetch_checked(&archive, "f", &digest).is_err());
    }
}
