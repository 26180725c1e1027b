//! Opening files and telling whether they are the decoys.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::errno::Errno;
use crate::judge::{Tried, done, refused, through};

/// Enough for any decoy and for the environment of a process.
const READ_BYTES_MAX: u64 = 256 * 1024;

/// Reads `path` and looks for `marker`: a file of the same name inside the cage is no way out.
pub(crate) fn read_marked(path: impl AsRef<Path>, marker: &str) -> Tried {
    Ok(match read_some(path) {
        Ok(bytes) if holds(&bytes, marker) => through("the decoy was read"),
        Ok(_) => refused("something else has that name here"),
        Err(e) => refused(e.to_string()),
    })
}

/// Opens for reading and reads nothing.
pub(crate) fn open(path: impl AsRef<Path>) -> Tried {
    uncovered(quiet().read(true).open(path), "it can be read")
}

/// Opens for writing and writes nothing.
pub(crate) fn open_to_write(path: impl AsRef<Path>) -> Tried {
    uncovered(quiet().write(true).open(path), "it can be written")
}

/// A cage may put the null device over what it hides: that can be opened, and is nothing.
fn uncovered(opened: io::Result<File>, what: &str) -> Tried {
    let null = libc::makedev(1, 3);
    match opened.as_ref().ok().and_then(|file| file.metadata().ok()) {
        Some(found) if found.file_type().is_char_device() && found.rdev() == null => {
            Ok(refused("the null device lies over it"))
        }
        _ => done(opened, what),
    }
}

/// The first part of a file.
pub(crate) fn read_some(path: impl AsRef<Path>) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    read_into(&quiet().read(true).open(path)?, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn read_into(file: &File, bytes: &mut Vec<u8>) -> io::Result<usize> {
    file.take(READ_BYTES_MAX).read_to_end(bytes)
}

pub(crate) fn holds(bytes: &[u8], marker: &str) -> bool {
    !marker.is_empty() && bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
}

/// `prefix` and then `path` below it, although `path` is absolute.
pub(crate) fn below(prefix: impl AsRef<Path>, path: &Path) -> PathBuf {
    prefix.as_ref().join(path.strip_prefix("/").unwrap_or(path))
}

/// Never waits for a device and never takes a terminal.
fn quiet() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}
