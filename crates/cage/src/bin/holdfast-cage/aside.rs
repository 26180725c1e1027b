//! Setting aside what a program left behind: another name, one that nobody could know before.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use holdfast_cage::planted::{LeftBehind, Verdict};
use holdfast_cage::{Entry, Kind, Machine, Tree};
use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::settle::{Weight, as_text, open, place};

/// Gives it a name that git does not know.
pub(crate) fn set_aside(verdict: Verdict) -> (Weight, LeftBehind) {
    let Verdict { path, what, set_aside } = verdict;
    let left = |what, set_aside| LeftBehind { path: as_text(&path), what, set_aside };
    if !set_aside {
        return (Weight::Said, left(what, None));
    }
    match renamed(&path) {
        Ok(now) => (Weight::SetAside, left(what, Some(as_text(&now)))),
        Err(e) => {
            let what = match shut(&path) {
                Ok(()) => format!("{what}; it could not be renamed ({e}) and was shut instead, with mode 0"),
                Err(_) => format!("{what}; IT IS STILL THERE, because it could not be renamed: {e}"),
            };
            (Weight::Open, left(what, None))
        }
    }
}

/// The new name cannot be known before: the program could have taken it, or have given it a meaning.
fn renamed(path: &Path) -> Result<PathBuf, Errno> {
    let (folder, name) = place(path)?;
    let mut is_open = false;
    for _ in 0..TRIES {
        let new = new_name(path, name);
        match rustix::fs::renameat_with(&folder, name, &folder, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // The program shut it, and has the same rights as whoever asked.
            Err(Errno::ACCESS | Errno::PERM) if !is_open => {
                let mode = Mode::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode) | Mode::RWXU;
                set_mode(&folder, mode)?;
                is_open = true;
            }
            done => return done.map(|()| path.with_file_name(new)),
        }
    }
    Err(Errno::EXIST)
}

/// Random names that are tried.
const TRIES: usize = 16;
/// The longest name that file systems have.
const NAME_BYTES_MAX: usize = 255;

/// Among references and their logs git takes every name for one of them that does not begin with a dot.
fn new_name(path: &Path, name: &OsStr) -> OsString {
    let is_among_references = path.iter().any(|part| part == "refs" || part == "logs");
    let suffix = format!(".set-aside-{:08x}", RandomState::new().hash_one(name) as u32);
    let mut new: Vec<u8> = if is_among_references { b".".to_vec() } else { Vec::new() };
    let room = NAME_BYTES_MAX - suffix.len() - new.len();
    new.extend(name.as_bytes().iter().take(room));
    new.extend(suffix.as_bytes());
    OsString::from_vec(new)
}

/// Takes every right to it away, where it could not be given another name.
fn shut(path: &Path) -> Result<(), Errno> {
    let (folder, name) = place(path)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let it = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    set_mode(&it, Mode::empty())
}

/// Of what is held by a descriptor that only names it. A link has no mode.
fn set_mode(held: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), mode)
}

/// The machine's files, where a folder that the program shut is opened again: what is in it could be used by whoever knows its
/// name, and the program's user could open it.
pub(crate) struct Reopened<'g> {
    /// What could not be looked into before either.
    pub(crate) before: &'g BTreeSet<PathBuf>,
    pub(crate) uid: u32,
}

impl Reopened<'_> {
    fn open_again(&self, folder: &Path) -> Result<(), Errno> {
        let enough = Mode::RUSR | Mode::XUSR;
        let is_shut = |found: &rustix::fs::Stat| {
            found.st_uid == self.uid && !Mode::from_raw_mode(found.st_mode).contains(enough)
        };
        if self.before.contains(folder) || !is_shut(&rustix::fs::lstat(folder)?) {
            return Ok(());
        }
        let held = open(folder, OFlags::PATH)?;
        let found = rustix::fs::fstat(&held)?;
        if is_shut(&found) {
            set_mode(&held, Mode::from_raw_mode(found.st_mode) | Mode::RWXU)?;
        }
        Ok(())
    }
}

impl Tree for Reopened<'_> {
    fn look(&self, path: &Path) -> Entry {
        Machine.look(path)
    }

    fn list(&self, folder: &Path) -> Option<Vec<(OsString, Kind)>> {
        // One that stays shut is told as such.
        let _ = self.open_again(folder);
        Machine.list(folder)
    }

    fn bytes(&self, file: &Path) -> Option<Vec<u8>> {
        Machine.bytes(file)
    }

    fn owner(&self, path: &Path) -> Option<u32> {
        Machine.owner(path)
    }

    fn names(&self, file: &Path) -> u64 {
        Machine.names(file)
    }

    fn inode(&self, path: &Path) -> Option<u64> {
        Machine.inode(path)
    }

    fn changed(&self, path: &Path) -> Option<i64> {
        Machine.changed(path)
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        Machine.resolve(path)
    }
}
