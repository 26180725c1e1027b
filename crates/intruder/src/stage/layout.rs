//! Files and folders of the stage: made by descriptor in a folder that nobody else can enter, given away at the end, and taken
//! back before they are removed.
//!
//! Root lays the stage out and somebody else owns most of it afterwards. A name in a folder that somebody else can write may
//! lead anywhere by the time it is used. So nothing is done by name once a folder has been given away.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Gid, Mode, OFlags, RawMode, Uid};
use rustix::io::Errno;

/// Whose the stage is: the user and the group that the cage runs as.
pub(super) type Owner = (u32, u32);

/// A folder, held by a descriptor.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const MAKE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder(rustix::fs::openat(CWD, path, OPEN, Mode::empty())?))
    }

    /// A new folder in it.
    pub(super) fn make(&self, name: &str) -> io::Result<Folder> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?;
        let made = rustix::fs::openat(&self.0, name, OPEN, Mode::empty())?;
        rustix::fs::fchmod(&made, Mode::from_raw_mode(0o755))?;
        Ok(Folder(made))
    }

    /// The folder of this name, made where it is missing.
    pub(super) fn enter(&self, name: &str) -> io::Result<Folder> {
        match rustix::fs::openat(&self.0, name, OPEN, Mode::empty()) {
            Ok(found) => Ok(Folder(found)),
            Err(Errno::NOENT) => self.make(name),
            Err(e) => Err(e.into()),
        }
    }

    /// A new file with this in it. The mode comes last: writing takes the bits away by which a program runs as its owner.
    pub(super) fn put(&self, name: &str, content: &[u8], mode: RawMode) -> io::Result<File> {
        let made = rustix::fs::openat(&self.0, name, MAKE, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(made);
        file.write_all(content)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        Ok(file)
    }

    /// A new symbolic link.
    pub(super) fn link(&self, name: &str, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(to, &self.0, name)?)
    }

    /// Opens a file of this folder for reading.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Gives it to somebody, with everything in it. Nobody else may reach it before.
    pub(super) fn give(&self, owner: Owner) -> io::Result<()> {
        let (uid, gid) = ids(owner);
        for name in self.names()? {
            match rustix::fs::openat(&self.0, &*name, OPEN, Mode::empty()) {
                Ok(folder) => Folder(folder).give(owner)?,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    rustix::fs::chownat(&self.0, &*name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(rustix::fs::fchown(&self.0, uid, gid)?)
    }

    /// Lets somebody's group pass through it, and nobody but its own user read it.
    pub(super) fn let_through(&self, gid: u32) -> io::Result<()> {
        rustix::fs::fchown(&self.0, None, Some(Gid::from_raw(gid)))?;
        Ok(rustix::fs::fchmod(&self.0, Mode::from_raw_mode(0o710))?)
    }

    fn names(&self) -> io::Result<Vec<Box<CStr>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry.file_name().into());
            }
        }
        Ok(names)
    }

    /// Empties it, whatever its owner does meanwhile: every folder is taken over before what is in it is looked at, so that
    /// nobody can put more into it. Folders in folders are moved up first: they may be nested deeper than can be held open.
    pub(super) fn empty(&self) -> io::Result<()> {
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        self.take_over(own)?;
        let mut nth = 0_u64;
        loop {
            let names = self.names()?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                let folder = match rustix::fs::openat(&self.0, &*name, OPEN, Mode::empty()) {
                    Ok(folder) => Folder(folder),
                    Err(Errno::NOTDIR | Errno::LOOP) => {
                        rustix::fs::unlinkat(&self.0, &*name, AtFlags::empty())?;
                        continue;
                    }
                    Err(Errno::ACCESS) => {
                        // One's own, shut by oneself.
                        rustix::fs::chmodat(&self.0, &*name, Mode::RWXU, AtFlags::empty())?;
                        continue;
                    }
                    Err(e) => return Err(e.into()),
                };
                folder.take_over(own)?;
                for inner in folder.names()? {
                    match rustix::fs::unlinkat(&folder.0, &*inner, AtFlags::empty()) {
                        Ok(()) => {}
                        Err(Errno::ISDIR | Errno::PERM) => {
                            nth += 1;
                            rustix::fs::renameat(&folder.0, &*inner, &self.0, format!("removed-{nth}"))?;
                        }
                        Err(e) => return Err(e.into()),
                    }
                }
                rustix::fs::unlinkat(&self.0, &*name, AtFlags::REMOVEDIR)?;
            }
        }
    }

    fn take_over(&self, own: Owner) -> io::Result<()> {
        let (uid, gid) = ids(own);
        rustix::fs::fchown(&self.0, uid, gid)?;
        Ok(rustix::fs::fchmod(&self.0, Mode::RWXU)?)
    }
}

fn ids((uid, gid): Owner) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
}
