//! What is where on the machine: all a plan asks about files.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

/// What a path leads to, itself and not what it points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Missing,
    Folder,
    File,
    Link(PathBuf),
    /// Something that may not be looked at; whether it is there is not known.
    Shut,
}

/// What a name in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Link,
    /// A pipe, a socket or a device.
    Special,
}

pub trait Tree {
    fn look(&self, path: &Path) -> Entry;

    /// The names in a folder; nothing where it cannot be listed.
    fn list(&self, folder: &Path) -> Option<Vec<(OsString, Kind)>>;

    /// A short file; nothing where there is none, or it cannot be read as one.
    fn bytes(&self, file: &Path) -> Option<Vec<u8>>;

    /// Whose it is; nothing where that cannot be found out.
    fn owner(&self, path: &Path) -> Option<u32>;

    /// How many names a file has.
    fn names(&self, file: &Path) -> u64;

    /// By which number the file system knows it, links not followed.
    fn inode(&self, path: &Path) -> Option<u64>;

    /// When a file or folder was last changed in any way, in nanoseconds; no program can set this.
    fn changed(&self, path: &Path) -> Option<i64>;

    /// The same place with every link followed.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;
}

/// The machine's own files.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

/// In a second.
pub const NANOSECONDS: i64 = 1_000_000_000;

/// Longer files are nobody's configuration.
const SHORT_BYTES_MAX: u64 = 1 << 20;

impl Tree for Machine {
    fn look(&self, path: &Path) -> Entry {
        match std::fs::symlink_metadata(path) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Entry::Missing,
            Err(_) => Entry::Shut,
            Ok(found) if found.is_symlink() => std::fs::read_link(path).map_or(Entry::Shut, Entry::Link),
            Ok(found) if found.is_dir() => Entry::Folder,
            Ok(_) => Entry::File,
        }
    }

    fn list(&self, folder: &Path) -> Option<Vec<(OsString, Kind)>> {
        let entries = std::fs::read_dir(folder).ok()?;
        let named = |entry: std::fs::DirEntry| {
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Kind::Folder,
                Ok(kind) if kind.is_symlink() => Kind::Link,
                Ok(kind) if kind.is_file() => Kind::File,
                Ok(_) => Kind::Special,
                // It was taken away meanwhile.
                Err(_) => Kind::File,
            };
            (entry.file_name(), kind)
        };
        Some(entries.flatten().map(named).collect())
    }

    fn bytes(&self, file: &Path) -> Option<Vec<u8>> {
        // A pipe that nobody writes to must not hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(file, flags, Mode::empty()).ok()?;
        if FileType::from_raw_mode(rustix::fs::fstat(&opened).ok()?.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        File::from(opened).take(SHORT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= SHORT_BYTES_MAX).then_some(bytes)
    }

    fn owner(&self, path: &Path) -> Option<u32> {
        rustix::fs::lstat(path).ok().map(|found| found.st_uid)
    }

    fn names(&self, file: &Path) -> u64 {
        // Its type differs between kinds of processor.
        rustix::fs::lstat(file).map_or(1, |found| {
            #[allow(clippy::useless_conversion, reason = "see above")]
            u64::from(found.st_nlink)
        })
    }

    fn inode(&self, path: &Path) -> Option<u64> {
        rustix::fs::lstat(path).ok().map(|found| found.st_ino)
    }

    fn changed(&self, path: &Path) -> Option<i64> {
        let found = rustix::fs::lstat(path).ok()?;
        #[allow(clippy::useless_conversion, reason = "its type differs between kinds of processor")]
        let nanoseconds = i64::try_from(found.st_ctime_nsec).unwrap_or(0);
        Some(found.st_ctime.saturating_mul(NANOSECONDS).saturating_add(nanoseconds))
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}
