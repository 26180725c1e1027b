//! Opening a file that matters: judged by its open descriptor, so that what was judged is what is read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::Failure;

/// An open regular file.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    about: Metadata,
}

/// What changes when a file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp([i128; 7]);

/// Opens a file; `None` when there is none. Never waits: a pipe in its place is refused.
pub(crate) fn open(path: &Path) -> Result<Option<Opened>, Failure> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(path, e)),
    };
    let about = file.metadata().map_err(|e| unreadable(path, e))?;
    if !about.is_file() {
        let why = "it is not a regular file".into();
        return Err(Failure::Damaged { path: path.to_owned(), why });
    }
    Ok(Some(Opened { file, about }))
}

pub(crate) fn unreadable(path: &Path, cause: io::Error) -> Failure {
    Failure::Unreadable { path: path.to_owned(), cause }
}

impl Opened {
    /// Refuses a file that group or others may read or write.
    pub(crate) fn refuse_if_shared(&self, path: &Path) -> Result<(), Failure> {
        if self.about.mode() & 0o066 == 0 {
            return Ok(());
        }
        Err(Failure::TooOpen {
            path: path.to_owned(),
            why: "may be read or written by others than its owner",
        })
    }

    /// Refuses a file that group or others may write.
    pub(crate) fn refuse_if_writable(&self, path: &Path) -> Result<(), Failure> {
        if self.about.mode() & 0o022 == 0 {
            return Ok(());
        }
        Err(Failure::TooOpen { path: path.to_owned(), why: "may be written by others than its owner" })
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.about.uid() == rustix::process::geteuid().as_raw()
    }

    pub(crate) fn stamp(&self) -> Stamp {
        let m = &self.about;
        Stamp([
            m.dev().into(),
            m.ino().into(),
            m.len().into(),
            m.mtime().into(),
            m.mtime_nsec().into(),
            m.ctime().into(),
            m.ctime_nsec().into(),
        ])
    }

    /// All of it, up to `max` bytes and one more, which tells that there was more.
    pub(crate) fn read(self, path: &Path, max: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
        read_bounded(self.file, max).map_err(|e| unreadable(path, e))
    }
}

/// Reads into memory that is made once and in full, so that growing leaves no copy behind.
pub(crate) fn read_bounded(from: impl Read, max: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(max + 1));
    from.take(max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
