//! What git would run outside: names that are missing are put there before, so that they can be covered, and taken away
//! afterwards; then what the program left behind is judged, and set aside where git would run it.
//!
//! All of it is done by name in a folder that was reached without following a link, and nothing is removed but what was
//! made here and is as it was made.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdfast_cage::plan::{Mount, Plan};
use holdfast_cage::planted::{
    self, AFTER, Bounds, COMMON, Found, Guard, LeftBehind, OWN, Placeholder, Verdict,
};
use holdfast_cage::{Machine, Tree as _};
use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::inner::{Failed, Step as _};

/// Another cage holds a repository only while it begins or ends.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// More is not listed: whoever left so much behind is not to be read to the end.
const LISTED_MAX: usize = 100;
/// Clocks of file systems tick slower than ours.
const SLACK_SECONDS: i64 = 2;

/// What was prepared, and is to be settled.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    guard: Option<Guard>,
    /// Repositories' own folders, each locked together with other cages that guard it.
    locks: Vec<(PathBuf, OwnedFd)>,
    made: Vec<Placeholder>,
    began: i64,
}

impl Settlement {
    /// Puts what is missing in place. What cannot be put where the program cannot write either needs no cover.
    pub(crate) fn prepare(plan: &mut Plan) -> Result<Settlement, Failed> {
        let Some(guard) = plan.guard.clone() else { return Ok(Settlement::default()) };
        let began = clock_gettime(ClockId::Realtime).tv_sec - SLACK_SECONDS;
        let mut settlement = Settlement { guard: None, locks: Vec::new(), made: Vec::new(), began };
        let mut without = BTreeSet::new();
        // Every folder in which something is put: what is put in one that is not locked would stay there.
        let folders: BTreeSet<&Path> = guard.placeholders.iter().filter_map(|p| p.at.parent()).collect();
        for folder in folders {
            settlement.lock(folder)?;
        }
        for placeholder in &guard.placeholders {
            match put(placeholder).step(format!("covering {}", placeholder.at.display()))? {
                Put::Made => settlement.made.push(placeholder.clone()),
                Put::WasThere => {}
                Put::OutOfReach => drop(without.insert(placeholder.at.clone())),
            }
        }
        plan.mounts.retain(|mount| !matches!(mount, Mount::Bind { at, .. } if without.contains(at)));
        settlement.guard = Some(guard);
        Ok(settlement)
    }

    /// In the cage's own process: nothing of the machine's is held open there.
    pub(crate) fn leave_to_the_watcher(&mut self) {
        self.locks.clear();
        self.made.clear();
    }

    fn lock(&mut self, folder: &Path) -> Result<(), Failed> {
        let what = || format!("guarding {}", folder.display());
        let lock = open(folder, OFlags::RDONLY).step(what())?;
        let until = Instant::now() + LOCK_WAIT;
        while let Err(e) = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared) {
            if e != Errno::WOULDBLOCK || Instant::now() > until {
                return Err(e).step(what());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.locks.push((folder.to_owned(), lock));
        Ok(())
    }

    /// When nothing of the cage is left: what was put there goes, and what was left behind is judged.
    pub(crate) fn finish(mut self) -> Vec<LeftBehind> {
        self.take_away();
        let Some(guard) = self.guard.take() else { return Vec::new() };
        let mut all = Vec::new();
        for root in &guard.roots {
            let stays_out = |folder: &Path| guard.roots.iter().any(|other| other == folder);
            let found = planted::search(&Machine, root, &stays_out, AFTER);
            all.extend(beyond(&guard, root, &found, AFTER));
            all.extend(planted::judge(&guard, &found, &Machine, self.began).into_iter().map(set_aside));
        }
        if all.len() > LISTED_MAX {
            let what = format!("{} more were left behind or set aside", all.len() - LISTED_MAX);
            all.truncate(LISTED_MAX);
            all.push(LeftBehind {
                path: guard.roots.first().cloned().unwrap_or_default(),
                what,
                set_aside: None,
            });
        }
        all
    }

    /// Of what was put there, what is as it was put. Another cage's cover must stay: it is gone with what is under it.
    fn take_away(&mut self) {
        let made = std::mem::take(&mut self.made);
        for (folder, lock) in std::mem::take(&mut self.locks) {
            if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            for placeholder in made.iter().filter(|placeholder| placeholder.at.starts_with(&folder)) {
                remove(placeholder);
            }
            // Whoever made this may have been cut off.
            remove(&Placeholder { at: folder.join(COMMON), folder: false, content: OWN.to_owned() });
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        self.take_away();
    }
}

/// What could not be looked into.
fn beyond(guard: &Guard, root: &Path, found: &Found, bounds: Bounds) -> Vec<LeftBehind> {
    let said = |path: &Path, what: String| LeftBehind { path: path.to_owned(), what, set_aside: None };
    let shut = found.shut.iter().filter(|folder| !guard.before.contains(*folder));
    let mut all: Vec<LeftBehind> =
        shut.map(|folder| said(folder, "it cannot be listed, and was not looked into".to_owned())).collect();
    if !found.complete {
        all.push(said(
            root,
            format!("it has more than {} folders; the deepest were not looked into", bounds.folders_max),
        ));
    }
    all
}

/// A folder, reached without a link.
fn open(folder: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)
}

/// The folder something is in, and its name there.
fn place(at: &Path) -> Result<(OwnedFd, &std::ffi::OsStr), Errno> {
    let (folder, name) = at.parent().zip(at.file_name()).ok_or(Errno::INVAL)?;
    Ok((open(folder, OFlags::PATH)?, name))
}

enum Put {
    Made,
    WasThere,
    OutOfReach,
}

fn put(placeholder: &Placeholder) -> Result<Put, Errno> {
    let (folder, name) = place(&placeholder.at)?;
    let made = if placeholder.folder {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755))
            .and_then(|()| rustix::fs::openat(&folder, name, flags, Mode::empty()))
    } else {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o644));
        file.and_then(|file| rustix::io::write(&file, placeholder.content.as_bytes()).map(|_| file))
    };
    match made {
        Ok(made) => {
            give_to_owner_of(&folder, &made);
            Ok(Put::Made)
        }
        Err(Errno::EXIST) => Ok(Put::WasThere),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(Put::OutOfReach),
        Err(e) => Err(e),
    }
}

/// Where it is left, it is as if whoever owns the repository had made it. By descriptor: a name could be somebody else's by
/// now.
fn give_to_owner_of(folder: &OwnedFd, made: &OwnedFd) {
    if let Ok(found) = rustix::fs::fstat(folder) {
        let (uid, gid) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
        let _ = rustix::fs::fchown(made, Some(uid), Some(gid));
    }
}

/// Unless it is something else by now.
fn remove(placeholder: &Placeholder) {
    let Ok((folder, name)) = place(&placeholder.at) else { return };
    if placeholder.folder {
        // Only an empty one can be.
        let _ = rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR);
    } else if Machine.text(&placeholder.at).is_some_and(|text| text == placeholder.content) {
        let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
    }
}

/// Gives it a name that git does not know.
fn set_aside(verdict: Verdict) -> LeftBehind {
    let Verdict { path, what, set_aside } = verdict;
    if !set_aside {
        return LeftBehind { path, what, set_aside: None };
    }
    match renamed(&path) {
        Ok(now) => LeftBehind { path, what, set_aside: Some(now) },
        Err(e) => LeftBehind {
            path,
            what: format!("{what}; IT IS STILL THERE, because it could not be renamed: {e}"),
            set_aside: None,
        },
    }
}

fn renamed(path: &Path) -> Result<PathBuf, Errno> {
    let (folder, name) = place(path)?;
    for nth in 1..100 {
        let mut new = name.to_owned();
        new.push(if nth == 1 { ".set-aside".to_owned() } else { format!(".set-aside-{nth}") });
        match rustix::fs::renameat_with(&folder, name, &folder, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            done => return done.map(|()| path.with_file_name(new)),
        }
    }
    Err(Errno::EXIST)
}
