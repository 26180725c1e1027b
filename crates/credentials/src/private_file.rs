//! Opening a file that matters: judged by its open descriptor, so that what was judged is what is read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
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

/// Opens a file; `None` when there is none. Never waits: a pipe in its place is refused. So is a file that others
/// than root and we could have put there: a link, somebody else's file, any file in a folder that others can write.
pub(crate) fn open(path: &Path) -> Result<Option<Opened>, Failure> {
    let us = rustix::process::geteuid().as_raw();
    trusted_folder(path, us)?;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => return Err(untrusted(path, "is a symbolic link")),
        Err(e) => return Err(unreadable(path, e)),
    };
    let about = file.metadata().map_err(|e| unreadable(path, e))?;
    if !about.is_file() {
        let why = "it is not a regular file".into();
        return Err(Failure::Damaged { path: path.to_owned(), why });
    }
    if !is_trusted(about.uid(), us) {
        return Err(untrusted(path, FOREIGN));
    }
    Ok(Some(Opened { file, about }))
}

const FOREIGN: &str = "belongs to somebody who is neither root nor this user";

fn trusted_folder(path: &Path, us: u32) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    let about = match folder.metadata() {
        Ok(about) => about,
        // Then there is no file in it either.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(unreadable(folder, e)),
    };
    match folder_fault(about.mode(), about.uid(), us) {
        Some(why) => Err(untrusted(folder, why)),
        None => Ok(()),
    }
}

/// Why others could exchange the files in a folder.
fn folder_fault(mode: u32, owner: u32, us: u32) -> Option<&'static str> {
    const STICKY: u32 = 0o1000;
    if !is_trusted(owner, us) {
        return Some(FOREIGN);
    }
    (mode & 0o022 != 0 && mode & STICKY == 0).then_some("is a folder that others can write")
}

fn is_trusted(owner: u32, us: u32) -> bool {
    owner == 0 || owner == us
}

fn untrusted(path: &Path, why: &'static str) -> Failure {
    Failure::Untrusted { path: path.to_owned(), why }
}

pub(crate) fn unreadable(path: &Path, cause: io::Error) -> Failure {
    Failure::Unreadable { path: path.to_owned(), cause }
}

impl Opened {
    /// Refuses a file that group or others may read or write.
    pub(crate) fn refuse_if_shared(&self, path: &Path) -> Result<(), Failure> {
        self.refuse(path, shared(self.about.mode()))
    }

    /// Refuses a file that group or others may write.
    pub(crate) fn refuse_if_writable(&self, path: &Path) -> Result<(), Failure> {
        self.refuse(path, writable(self.about.mode()))
    }

    /// Refuses a file from systemd that is open to others than this unit.
    pub(crate) fn refuse_if_not_for_a_unit(&self, path: &Path) -> Result<(), Failure> {
        let us = rustix::process::geteuid().as_raw();
        self.refuse(path, unit_fault(self.about.mode(), self.about.uid() == us))
    }

    fn refuse(&self, path: &Path, fault: Option<&'static str>) -> Result<(), Failure> {
        match fault {
            Some(why) => Err(Failure::TooOpen { path: path.to_owned(), why }),
            None => Ok(()),
        }
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

fn shared(mode: u32) -> Option<&'static str> {
    (mode & 0o066 != 0).then_some("may be read or written by others than its owner")
}

fn writable(mode: u32) -> Option<&'static str> {
    (mode & 0o022 != 0).then_some("may be written by others than its owner")
}

/// A file of root's that systemd opened to us by an access list shows the list's mask in its group bits. Only where
/// the file is ours do those bits mean the group. The bits of all others mean what they say in any case.
fn unit_fault(mode: u32, ours: bool) -> Option<&'static str> {
    let open_to_all = || (mode & 0o007 != 0).then_some("is open to everybody");
    if ours { shared(mode).or_else(open_to_all) } else { writable(mode).or_else(open_to_all) }
}

/// Reads into memory that is made once and in full, so that growing leaves no copy behind.
pub(crate) fn read_bounded(from: impl Read, max: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(max + 1));
    from.take(max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_when_only_root_and_we_can_exchange_what_is_in_it() {
        let check = |mode, owner, trusted| {
            assert_eq!(folder_fault(mode, owner, 1000).is_none(), trusted, "{mode:o} of {owner}");
        };
        for owner in [0, 1000] {
            [0o700, 0o755, 0o500, 0o1777].into_iter().for_each(|mode| check(mode, owner, true));
            [0o770, 0o707, 0o775, 0o777].into_iter().for_each(|mode| check(mode, owner, false));
        }
        [0o700, 0o1777].into_iter().for_each(|mode| check(mode, 1001, false));
    }

    #[test]
    fn a_file_from_systemd_is_for_the_unit_alone() {
        let check = |mode, ours, fine| assert_eq!(unit_fault(mode, ours).is_none(), fine, "{mode:o} {ours}");
        [0o400, 0o600].into_iter().for_each(|mode| check(mode, true, true));
        [0o440, 0o404, 0o401].into_iter().for_each(|mode| check(mode, true, false));
        // The group bits of root's file are the mask of its access list.
        [0o400, 0o440].into_iter().for_each(|mode| check(mode, false, true));
        [0o404, 0o444, 0o460, 0o402, 0o401].into_iter().for_each(|mode| check(mode, false, false));
    }
}
