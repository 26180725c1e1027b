//! Who a repository belongs to. Git checks that where it finds one by itself; a repository that is named to it, it trusts.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::place::Place;
use crate::run::NotDone;

/// The folder of one of ours, and its settings. One that is not there yet is nobody's.
pub(crate) fn check_folder(folder: &Path) -> Result<(), NotDone> {
    [folder, &folder.join("config")].into_iter().try_for_each(check_path)
}

/// All parts of a person's by which somebody else could change what git does. `is_excepted` says of a folder whether the person vouches for it.
pub(crate) fn check(place: &Place, is_excepted: impl Fn(&Path) -> bool) -> Result<(), NotDone> {
    let Place { git_dir, common_dir, work_tree } = place;
    let link = work_tree.as_ref().map(|top| top.join(".git"));
    let files = ["config", "config.worktree"].map(|name| common_dir.join(name));
    let parts = work_tree.iter().chain(&link).chain([git_dir, common_dir]).chain(&files);
    let found = parts.into_iter().try_for_each(|path| check_path(path));
    match found {
        Err(NotDone::NotOurs { .. }) if is_excepted(work_tree.as_ref().unwrap_or(git_dir)) => Ok(()),
        found => found,
    }
}

/// A path that is not there is nobody's.
pub(crate) fn check_path(path: &Path) -> Result<(), NotDone> {
    match std::fs::metadata(path) {
        Ok(meta) if !is_ours(meta.uid()) => {
            Err(NotDone::NotOurs { path: path.to_owned(), owner: meta.uid() })
        }
        // What cannot be looked at, git cannot read either.
        _ => Ok(()),
    }
}

/// This user's, root's, or, for root by way of sudo, the user's who called it.
fn is_ours(owner: u32) -> bool {
    let this = rustix::process::geteuid();
    let by_sudo = || std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    owner == this.as_raw() || owner == 0 || (this.is_root() && by_sudo() == Some(owner))
}

/// A link, or a file that names another place, may lead to what belongs to whoever wrote it. A stranger's that leads to a repository of ours would have us
/// read ours for the stranger's.
pub(crate) fn check_leads(pointer: &Path, target: &Path) -> Result<(), NotDone> {
    let (Ok(from), Ok(to)) = (std::fs::symlink_metadata(pointer), std::fs::metadata(target)) else {
        return Ok(());
    };
    match is_ours(from.uid()) || from.uid() == to.uid() {
        true => Ok(()),
        false => {
            Err(NotDone::Odd { path: pointer.to_owned(), why: "it leads to what belongs to another user" })
        }
    }
}

/// The same of every link on the way from a folder to something in it.
pub(crate) fn check_way(folder: &Path, name: &Path) -> Result<(), NotDone> {
    let mut path = folder.to_owned();
    for part in name.components() {
        path.push(part);
        if path.is_symlink() {
            check_leads(&path, &path)?;
        }
    }
    Ok(())
}

/// Whether a list of `safe.directory`, as git prints it with zero bytes between, has this folder. An empty entry forgets those before it.
pub(crate) fn is_listed(folder: &Path, list: &[u8]) -> bool {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let fits = |entry: &[u8]| {
        let below = entry.strip_suffix(b"/*").map(|above| Path::new(std::ffi::OsStr::from_bytes(above)));
        entry == b"*"
            || below.is_some_and(|above| real.starts_with(above))
            || Path::new(std::ffi::OsStr::from_bytes(entry)) == real
    };
    let entries = list.strip_suffix(b"\0").unwrap_or(list).split(|byte| *byte == 0);
    entries.fold(false, |listed, entry| !entry.is_empty() && (listed || fits(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_vouches_for_a_folder_as_git_reads_it() {
        let check = |list: &str, expected: bool| {
            assert_eq!(is_listed(Path::new("/nowhere/a/b"), list.as_bytes()), expected, "{list:?}");
        };
        check("", false);
        check("/nowhere/a/b\0", true);
        check("/nowhere/a\0", false);
        check("/nowhere/a/*\0", true);
        check("/nowhere/a/bc\0/nowhere/ab/*\0", false);
        check("*\0", true);
        check("*\0\0", false);
        check("*\0\0/nowhere/a/b\0", true);
    }

    #[test]
    fn a_repository_of_another_user_is_refused() {
        // Every process of another user has a folder here that is theirs.
        let theirs = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let theirs = theirs.chain([Path::new("/nonexistent").to_owned()]);
        for path in theirs {
            let Ok(owner) = std::fs::metadata(&path).map(|meta| meta.uid()) else { continue };
            assert_eq!(check_path(&path).is_ok(), is_ours(owner), "{}", path.display());
        }
        assert!(!is_ours(4_000_000_000));
    }
}
