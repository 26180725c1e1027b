//! The switch's file in the machine's memory, for a disk that takes no write.
//!
//! Everybody may write to `/dev/shm`. So a file there has a name that ends at random, which nobody else can take before, and it is found by how its
//! name begins and by whom it belongs to. Each pause has a name of its own: lifting one removes the names that were seen, and no other.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdfast_durable::{Mode, Title, remove, replace, replace_as};

use crate::places::MemoryFolder;

const ENDING: &str = ".json";

/// How long what was found is good for a look that need not be exact: by other processes of the home the daemon is told.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// A folder that somebody has filled is not gone through for more than this part of the time.
const REST: u32 = 10;

/// User and group of the home.
pub(super) type Owner = (u32, u32);

#[derive(Debug, Default)]
pub(super) struct InMemory {
    folders: Vec<MemoryFolder>,
    found: Mutex<Found>,
}

/// What was found last.
#[derive(Debug, Default)]
struct Found {
    files: Vec<PathBuf>,
    good_until: Option<Instant>,
}

impl InMemory {
    pub(super) fn new(folders: Vec<MemoryFolder>) -> InMemory {
        InMemory { folders, found: Mutex::default() }
    }

    /// Files that pause, as of a moment ago.
    pub(super) fn files_lately(&self, owner: Owner) -> Vec<PathBuf> {
        let found = self.found();
        if found.good_until.is_some_and(|until| Instant::now() < until) {
            // One that is gone may have been replaced by another process.
            if found.files.iter().all(|path| is_of(path, owner)) {
                return found.files.clone();
            }
        }
        drop(found);
        self.files(owner)
    }

    /// Files that pause. A folder that cannot be gone through now, for want of a descriptor, has what it had last.
    pub(super) fn files(&self, owner: Owner) -> Vec<PathBuf> {
        let mut found = self.found();
        let began = Instant::now();
        let mut files = Vec::new();
        for folder in &self.folders {
            match listed(folder, owner) {
                Ok(there) => files.extend(there),
                Err(_) => {
                    let had = found.files.iter().filter(|path| path.parent() == Some(&folder.path));
                    files.extend(had.filter(|path| is_of(path, owner)).cloned());
                }
            }
        }
        let ended = Instant::now();
        found.good_until = Some(ended + GOOD_FOR.max((ended - began) * REST));
        found.files.clone_from(&files);
        files
    }

    /// Puts a new file where one can be put, in place of those that are there.
    pub(super) fn write(&self, bytes: &[u8], owner: Owner) -> io::Result<()> {
        let older = self.files(owner);
        let mut why = io::ErrorKind::NotFound.into();
        for folder in self.folders.iter().filter(|folder| may_use(folder, owner)) {
            match written(folder, bytes, owner) {
                Ok(path) => {
                    let _a_lift_sees_them_too = self.remove(&older);
                    let mut found = self.found();
                    found.files.push(path);
                    found.good_until = None;
                    return Ok(());
                }
                Err(e) => why = e,
            }
        }
        Err(why)
    }

    pub(super) fn remove(&self, files: &[PathBuf]) -> io::Result<()> {
        self.found().good_until = None;
        files.iter().try_for_each(|path| remove(path))
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a folder is what it should be: one of the owner's alone must let nobody else in.
fn may_use(folder: &MemoryFolder, owner: Owner) -> bool {
    if !folder.owners_alone {
        return true;
    }
    let about = folder.path.symlink_metadata();
    about.is_ok_and(|about| about.is_dir() && about.uid() == owner.0 && about.mode() & 0o077 == 0)
}

fn listed(folder: &MemoryFolder, owner: Owner) -> io::Result<Vec<PathBuf>> {
    if !may_use(folder, owner) {
        return Ok(Vec::new());
    }
    let entries = match std::fs::read_dir(&folder.path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let fits = |name: &str| name.starts_with(&folder.beginning) && name.ends_with(ENDING);
        let path = folder.path.join(&name);
        if name.to_str().is_some_and(fits) && is_of(&path, owner) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A plain file of the owner's that nobody else may touch: a file that others may write to could have been given this name by them.
fn is_of(path: &Path, owner: Owner) -> bool {
    let about = path.symlink_metadata();
    about.is_ok_and(|about| about.is_file() && about.uid() == owner.0 && about.mode() & 0o077 == 0)
}

fn written(folder: &MemoryFolder, bytes: &[u8], owner: Owner) -> io::Result<PathBuf> {
    let path = folder.path.join(format!("{}-{}{ENDING}", folder.beginning, random()?));
    let by_root = rustix::process::geteuid().is_root() && owner.0 != 0;
    let (uid, gid) = owner;
    // The owner has to be able to lift what root paused.
    let placed = match by_root {
        true => replace_as(&path, bytes, Title { uid, gid, mode: 0o600 }),
        false => replace(&path, bytes, Mode::Private),
    };
    placed.or_else(|e| {
        // Where no byte fits, a name may: also a file that says nothing means paused.
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path).map_err(|_| e)?;
        if by_root { std::os::unix::fs::fchown(&file, Some(uid), Some(gid)) } else { Ok(()) }
    })?;
    Ok(path)
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn me() -> Owner {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }

    fn folder(path: &Path, owners_alone: bool) -> MemoryFolder {
        MemoryFolder { path: path.to_owned(), beginning: "paused-x".into(), owners_alone }
    }

    #[test]
    fn each_pause_has_a_name_of_its_own_and_takes_the_place_of_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let memory = InMemory::new(vec![folder(dir.path(), false)]);
        memory.write(b"{}", me()).unwrap();
        let first = memory.files(me());
        memory.write(b"{}", me()).unwrap();
        let second = memory.files(me());
        assert!(first.len() == 1 && second.len() == 1 && first != second, "{first:?} {second:?}");
        memory.remove(&first).unwrap();
        assert_eq!(memory.files_lately(me()), second, "who lifts the first does not lift the second");
        memory.remove(&second).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_pause_that_another_process_replaces_stands_all_the_while() {
        let dir = tempfile::tempdir().unwrap();
        let [daemon, command] = [(); 2].map(|()| InMemory::new(vec![folder(dir.path(), false)]));
        daemon.write(b"{}", me()).unwrap();
        assert_eq!(daemon.files(me()).len(), 1);
        // What the daemon found is good for a moment, and gone.
        command.write(b"{}", me()).unwrap();
        assert_eq!(daemon.files_lately(me()), command.files(me()));
        assert_eq!(daemon.files_lately(me()).len(), 1);
    }

    #[test]
    fn a_folder_that_lets_others_in_is_not_taken_for_ones_own() {
        let (own, open) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let memory = InMemory::new(vec![folder(own.path(), true), folder(open.path(), false)]);
        let written_to = || {
            memory.write(b"{}", me()).unwrap();
            memory.files(me()).first().unwrap().parent().unwrap().to_owned()
        };
        for (mode, wanted) in [(0o700, own.path()), (0o750, open.path()), (0o701, open.path())] {
            std::fs::set_permissions(own.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(written_to(), wanted, "{mode:o}");
        }
    }

    #[test]
    fn what_others_may_have_put_there_pauses_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let memory = InMemory::new(vec![folder(dir.path(), false)]);
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("paused-x-1.json")).unwrap();
        std::fs::create_dir(dir.path().join("paused-x-2.json")).unwrap();
        for (name, mode) in
            [("paused-x-3.json", 0o644), ("paused-y-4.json", 0o600), ("paused-x-5.new", 0o600)]
        {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        assert!(memory.files(me()).is_empty());
        let ours = dir.path().join("paused-x.json");
        std::fs::write(&ours, "").unwrap();
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(memory.files(me()), [ours], "as an earlier version named it");
        assert!(memory.files((54_321, 54_321)).is_empty());
    }
}
