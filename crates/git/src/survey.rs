//! Looks for what would make git wait for ever: a pipe or a device where it expects a file. Git opens what has the right name and asks later.

use std::collections::HashSet;
use std::fs::{FileType, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::owner;
use crate::place::{Place, read_plain};
use crate::run::NotDone;

/// Git follows no longer chain of alternates.
const ALTERNATES_DEEP_MAX: usize = 5;
/// And reads no more of them here.
const ALTERNATES_MAX: usize = 1000;
const ALTERNATES_BYTES_MAX: u64 = 1 << 20;
/// Folders that are looked into as a whole; of all others, git reads nothing that a scan asks for.
const FOLDERS: [&str; 5] = ["info", "objects", "refs", "reftable", "worktrees"];

/// Everything that git reads of a repository.
pub(crate) fn whole(place: &Place) -> Result<(), NotDone> {
    let mut survey = Survey::default();
    let mut roots = vec![&place.git_dir];
    roots.extend((place.common_dir != place.git_dir).then_some(&place.common_dir));
    for root in roots {
        survey.folder(root, Depth::This)?;
        FOLDERS.iter().try_for_each(|name| survey.folder(&root.join(name), Depth::All))?;
    }
    if let Some(top) = &place.work_tree {
        survey.path(&top.join(".gitattributes"))?;
    }
    survey.alternates(&place.common_dir.join("objects"), 0)
}

/// A folder of objects, and those it borrows from.
pub(crate) fn objects(folder: &Path) -> Result<(), NotDone> {
    let mut survey = Survey::default();
    survey.folder(folder, Depth::All)?;
    survey.alternates(folder, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    This,
    All,
}

#[derive(Default)]
struct Survey {
    /// Folders that were reached by a link: they may lead in circles.
    linked: HashSet<(u64, u64)>,
    alternates: usize,
}

impl Survey {
    /// One that is not there, or that cannot be read, git does not read either.
    fn folder(&mut self, folder: &Path, depth: Depth) -> Result<(), NotDone> {
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_file() {
                    continue;
                }
                let path = entry.path();
                let goes_on = if kind.is_symlink() { self.link(&path)? } else { kind.is_dir() };
                can_be_read(&path, kind)?;
                if goes_on && depth == Depth::All {
                    left.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whether it leads to a folder that was not seen before.
    fn link(&mut self, path: &Path) -> Result<bool, NotDone> {
        let Ok(meta) = std::fs::metadata(path) else { return Ok(false) };
        can_be_read(path, meta.file_type())?;
        owner::check_leads(path, path)?;
        Ok(meta.is_dir() && self.is_new(&meta))
    }

    fn is_new(&mut self, meta: &Metadata) -> bool {
        self.linked.insert((meta.dev(), meta.ino()))
    }

    fn path(&mut self, path: &Path) -> Result<(), NotDone> {
        std::fs::metadata(path).map_or(Ok(()), |meta| can_be_read(path, meta.file_type()))
    }

    fn alternates(&mut self, objects: &Path, deep: usize) -> Result<(), NotDone> {
        let list = objects.join("info/alternates");
        if deep >= ALTERNATES_DEEP_MAX || !list.exists() {
            return Ok(());
        }
        let text = read_plain(&list, ALTERNATES_BYTES_MAX)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#') {
            self.alternates += 1;
            if self.alternates > ALTERNATES_MAX {
                return Err(NotDone::Odd { path: list, why: "it borrows from too many repositories" });
            }
            let folder = objects.join(unquoted(line));
            let Ok(meta) = std::fs::metadata(&folder) else { continue };
            owner::check_leads(&list, &folder)?;
            if self.is_new(&meta) {
                self.folder(&folder, Depth::All)?;
                self.alternates(&folder, deep + 1)?;
            }
        }
        Ok(())
    }
}

/// A path in quotes has escapes; one that has more than these is looked at as it is written, and is none.
fn unquoted(line: &[u8]) -> PathBuf {
    let inner = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let Some(inner) = inner else { return Path::new(std::ffi::OsStr::from_bytes(line)).to_owned() };
    let mut path = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'\\' => match bytes.next().unwrap_or(b'\\') {
                b'n' => b'\n',
                b't' => b'\t',
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().map_or(0, |byte| byte.wrapping_sub(b'0') & 7);
                    ((first - b'0') << 6) | (digit() << 3) | digit()
                }
                other => other,
            },
            other => other,
        });
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&path))
}

/// A socket cannot be opened as a file, and so holds up nobody: git's own monitor has one.
fn can_be_read(path: &Path, kind: FileType) -> Result<(), NotDone> {
    let kind = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        return Ok(());
    };
    Err(NotDone::Waits { path: path.to_owned(), kind })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, path, Kind::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }

    fn kinds(found: Result<(), NotDone>) -> String {
        match found {
            Ok(()) => "nothing".to_owned(),
            Err(NotDone::Waits { kind, .. }) => kind.to_owned(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn a_pipe_is_found_wherever_git_would_open_it() {
        let elsewhere = tempfile::tempdir().unwrap();
        pipe(&elsewhere.path().join("ab/cd"));
        for name in
            ["HEAD", "index", "refs/heads/deep/main", "objects/ab/cd", "info/attributes", "link", "far"]
        {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().to_owned();
            std::fs::create_dir_all(root.join("objects/info")).unwrap();
            let place = Place { git_dir: root.clone(), common_dir: root.clone(), work_tree: None };
            assert_eq!(kinds(whole(&place)), "nothing", "{name}");
            match name {
                "link" => std::os::unix::fs::symlink(elsewhere.path(), root.join("objects/xy")).unwrap(),
                "far" => {
                    let text = format!("# near\n\"{}\"\n", elsewhere.path().display());
                    std::fs::write(root.join("objects/info/alternates"), text).unwrap();
                }
                name => pipe(&root.join(name)),
            }
            assert_eq!(kinds(whole(&place)), "a named pipe", "{name}");
        }
    }

    #[test]
    fn what_leads_in_circles_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("info")).unwrap();
        std::os::unix::fs::symlink("..", root.join("info/up")).unwrap();
        std::fs::write(root.join("info/alternates"), "../x/..\n.\n").unwrap();
        assert_eq!(kinds(objects(root)), "nothing");
    }

    #[test]
    fn paths_of_alternates_are_read_as_git_writes_them() {
        for (line, expected) in [("/a b", "/a b"), ("\"/a\\nb\"", "/a\nb"), ("\"/a\\303\\274\\\"\"", "/aü\"")]
        {
            assert_eq!(unquoted(line.as_bytes()), Path::new(expected), "{line}");
        }
    }
}
