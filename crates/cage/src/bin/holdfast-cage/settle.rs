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
    self, AFTER, Bounds, COMMON, Found, Guard, LeftBehind, OWN, Placeholder, Recent, Verdict,
};
use holdfast_cage::{Entry, Machine, NANOSECONDS, Tree as _};
use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::aside::{Reopened, set_aside};
use crate::inner::{Failed, Step as _};

/// Another cage holds a repository only while it begins or ends.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// More is not listed: whoever left so much behind is not to be read to the end.
const LISTED_MAX: usize = 100;
/// Names may be long; the report has to arrive.
const LISTED_BYTES_MAX: usize = 256 << 10;
/// Clocks of file systems tick slower than ours.
const SLACK_SECONDS: i64 = 2;

/// What was prepared, and is to be settled.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    guard: Option<Guard>,
    /// Repositories' own folders, each locked together with other cages that guard it.
    locks: Vec<(PathBuf, OwnedFd)>,
    made: Vec<Placeholder>,
    /// Nanoseconds of the clock, with slack.
    began: i64,
    /// What was changed within the slack.
    recent: Recent,
    /// Whose rights the program has.
    uid: u32,
}

impl Settlement {
    /// Puts what is missing in place. What cannot be put where the program cannot write either needs no cover.
    pub(crate) fn prepare(plan: &mut Plan) -> Result<Settlement, Failed> {
        let Some(mut guard) = plan.guard.clone() else { return Ok(Settlement::default()) };
        let clock = clock_gettime(ClockId::Realtime);
        let now = clock.tv_sec.saturating_mul(NANOSECONDS).saturating_add(clock.tv_nsec);
        let began = now.saturating_sub(SLACK_SECONDS * NANOSECONDS);
        let uid = plan.identity.uid;
        let recent = Recent::of(&guard, &Machine, began, now);
        let mut settlement =
            Settlement { guard: None, locks: Vec::new(), made: Vec::new(), began, recent, uid };
        let mut without: BTreeSet<PathBuf> = BTreeSet::new();
        for folder in folders_of(&guard) {
            settlement.lock(folder)?;
        }
        for placeholder in &guard.placeholders {
            let is_below = |out: &PathBuf| placeholder.at.starts_with(out);
            let put = match without.iter().any(is_below) {
                true => Put::OutOfReach,
                false => put(placeholder, plan.identity.uid)
                    .step(format!("covering {}", placeholder.at.display()))?,
            };
            match put {
                Put::Made => settlement.made.push(placeholder.clone()),
                Put::WasThere => {}
                Put::OutOfReach => drop(without.insert(placeholder.at.clone())),
            }
        }
        plan.mounts.retain(|mount| !matches!(mount, Mount::Bind { at, .. } if without.contains(at)));
        // Only what is mounted needs no judge.
        guard.covered.retain(|at| !without.contains(at));
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
        let tree = Reopened { before: &guard.before, uid: self.uid };
        let (mut all, mut found) = (Vec::new(), Found { complete: true, ..Found::default() });
        for root in &guard.roots {
            let stays_out = |folder: &Path| guard.roots.iter().any(|other| other == folder);
            let in_root = planted::search(&tree, root, &stays_out, AFTER);
            all.extend(beyond(&guard, root, &in_root, AFTER));
            found = found.and(in_root);
        }
        // What is in something that was set aside went with it.
        let is_there = |verdict: &Verdict| !verdict.set_aside || tree.look(&verdict.path) != Entry::Missing;
        for verdict in planted::judge(&guard, &found, &tree, self.began, &self.recent) {
            if is_there(&verdict) {
                all.push(set_aside(verdict));
            }
        }
        listed(all)
    }

    /// Of what was put there, what is as it was put. Another cage's cover must stay: it is gone with what is under it.
    fn take_away(&mut self) {
        let made = std::mem::take(&mut self.made);
        for (folder, lock) in std::mem::take(&mut self.locks) {
            if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            for placeholder in made.iter().rev().filter(|placeholder| placeholder.at.starts_with(&folder)) {
                remove(placeholder);
            }
            // Whoever made this may have been cut off.
            remove(&Placeholder { at: folder.join(COMMON), folder: false, content: OWN.to_owned() });
        }
    }
}

/// Every folder in which something is put: what is put in one that is not locked would stay there. One that is put there
/// itself is locked with the one it is in.
fn folders_of(guard: &Guard) -> BTreeSet<&Path> {
    let put: BTreeSet<&Path> =
        guard.placeholders.iter().map(|placeholder| placeholder.at.as_path()).collect();
    let folders = guard.placeholders.iter().filter_map(|placeholder| placeholder.at.parent());
    folders.filter(|folder| !put.contains(folder)).collect()
}

impl Drop for Settlement {
    fn drop(&mut self) {
        self.take_away();
    }
}

/// How much somebody has to know of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// It is there still, or nobody looked.
    Open,
    SetAside,
    Said,
}

/// The most important first, and no more than can be passed on.
fn listed(mut all: Vec<(Weight, LeftBehind)>) -> Vec<LeftBehind> {
    all.sort_by_key(|(weight, _)| *weight);
    let (count, mut bytes) = (all.len(), 0);
    let mut list: Vec<LeftBehind> = all
        .into_iter()
        .map(|(_, left)| left)
        .take(LISTED_MAX)
        .take_while(|left| {
            bytes += serde_json::to_vec(left).map_or(LISTED_BYTES_MAX, |text| text.len());
            bytes <= LISTED_BYTES_MAX
        })
        .collect();
    if count > list.len() {
        let what = format!("{} more were left behind or set aside", count - list.len());
        list.push(LeftBehind { path: PathBuf::new(), what, set_aside: None });
    }
    list
}

/// Paths are passed on as text.
pub(crate) fn as_text(path: &Path) -> PathBuf {
    PathBuf::from(planted::written(path))
}

/// What could not be looked into.
fn beyond(guard: &Guard, root: &Path, found: &Found, bounds: Bounds) -> Vec<(Weight, LeftBehind)> {
    let said =
        |path: &Path, what: String| (Weight::Open, LeftBehind { path: as_text(path), what, set_aside: None });
    let shut = found.shut.iter().filter(|folder| !guard.before.contains(*folder));
    let mut all: Vec<(Weight, LeftBehind)> =
        shut.map(|folder| said(folder, "it cannot be listed, and was not looked into".to_owned())).collect();
    if !found.complete {
        all.push(said(
            root,
            format!(
                "it has more than {} folders or {} repositories; the deepest were not looked into, so use no git, shell or editor \
                 in what the program made",
                bounds.folders_max, bounds.repositories_max
            ),
        ));
    }
    all
}

/// A folder, reached without a link.
pub(crate) fn open(folder: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)
}

/// The folder something is in, and its name there.
pub(crate) fn place(at: &Path) -> Result<(OwnedFd, &std::ffi::OsStr), Errno> {
    let (folder, name) = at.parent().zip(at.file_name()).ok_or(Errno::INVAL)?;
    Ok((open(folder, OFlags::PATH)?, name))
}

enum Put {
    Made,
    WasThere,
    OutOfReach,
}

fn put(placeholder: &Placeholder, uid: u32) -> Result<Put, Errno> {
    let (folder, name) = place(&placeholder.at)?;
    let made = if placeholder.folder {
        make_folder(&folder, name)
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
        Err(Errno::ROFS) => Ok(Put::OutOfReach),
        // The program could open again what it shut, and not what somebody else did.
        Err(Errno::ACCESS | Errno::PERM) if rustix::fs::fstat(&folder)?.st_uid != uid => Ok(Put::OutOfReach),
        Err(e) => Err(e),
    }
}

/// An empty folder of ours, by descriptor. Whoever may write around it can have put another in its place meanwhile, which
/// is not ours to give away.
fn make_folder(folder: &OwnedFd, name: &std::ffi::OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let is_ours = rustix::fs::fstat(&made)?.st_uid == rustix::process::geteuid().as_raw();
    let mut names = rustix::fs::Dir::read_from(&made)?;
    let is_empty =
        names.all(|entry| entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")));
    if is_ours && is_empty { Ok(made) } else { Err(Errno::AGAIN) }
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
    } else if Machine.bytes(&placeholder.at).is_some_and(|bytes| bytes == placeholder.content.as_bytes()) {
        let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
    }
}
