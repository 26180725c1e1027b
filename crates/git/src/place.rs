//! Where the parts of a repository are, found without git: its folder, what its work trees share, and its work tree.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::owner;
use crate::run::NotDone;

/// A path, and a word before it.
const LINK_BYTES_MAX: u64 = 16 << 10;

/// A repository, by its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is of this work tree alone; else the same as `common_dir`.
    pub git_dir: PathBuf,
    /// Objects, references and settings.
    pub common_dir: PathBuf,
    /// The root of the work tree, where there is one.
    pub work_tree: Option<PathBuf>,
}

impl Place {
    /// The one around a folder, as git would find it.
    pub fn around(folder: &Path) -> Result<Place, NotDone> {
        let absolute = std::path::absolute(folder).map_err(NotDone::NotRun)?;
        let absolute = absolute.canonicalize().unwrap_or(absolute);
        let found = absolute.ancestors().find(|folder| is_around(folder));
        let none = || NotDone::Odd { path: folder.to_owned(), why: "it is in no git repository" };
        Place::in_folder(found.ok_or_else(none)?)
    }

    /// The one in exactly this folder: of a work tree, or bare.
    pub fn in_folder(folder: &Path) -> Result<Place, NotDone> {
        let dot = folder.join(".git");
        match std::fs::metadata(&dot) {
            Ok(meta) if meta.is_dir() => {
                Ok(Place { work_tree: Some(folder.to_owned()), ..Place::of_git_dir(&dot)? })
            }
            Ok(_) => {
                let text = read_plain(&dot, LINK_BYTES_MAX)?;
                let target = text.strip_prefix(b"gitdir: ").and_then(|rest| path_in(folder, rest));
                let odd =
                    || NotDone::Odd { path: dot.clone(), why: "it does not say where its repository is" };
                let git_dir = target.ok_or_else(odd)?;
                owner::check_leads(&dot, &git_dir)?;
                Ok(Place { work_tree: Some(folder.to_owned()), ..Place::of_git_dir(&git_dir)? })
            }
            Err(_) => Place::of_git_dir(folder),
        }
    }

    /// By the folder that has `HEAD` in it.
    pub fn of_git_dir(git_dir: &Path) -> Result<Place, NotDone> {
        if git_dir.is_symlink() {
            owner::check_leads(git_dir, git_dir)?;
        }
        let common = git_dir.join("commondir");
        let common_dir = match std::fs::symlink_metadata(&common) {
            Ok(_) => {
                let odd =
                    || NotDone::Odd { path: common.clone(), why: "it does not say where the shared part is" };
                path_in(git_dir, &read_plain(&common, LINK_BYTES_MAX)?).ok_or_else(odd)?
            }
            Err(_) => git_dir.to_owned(),
        };
        owner::check_leads(&common, &common_dir)?;
        let place = Place { git_dir: git_dir.to_owned(), common_dir, work_tree: None };
        let is_one = std::fs::symlink_metadata(git_dir.join("HEAD")).is_ok()
            && place.common_dir.join("objects").is_dir();
        match is_one {
            true => Ok(place),
            false => Err(NotDone::Odd { path: git_dir.to_owned(), why: "it is no git repository" }),
        }
    }
}

/// Whether a path lies in a repository.
pub fn surround(path: &Path) -> bool {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.canonicalize().unwrap_or(absolute).ancestors().any(is_around)
}

fn is_around(folder: &Path) -> bool {
    let is_bare = || ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists());
    folder.join(".git").exists() || is_bare()
}

/// As git reads it: without the ends of lines after it, and with every blank. Nothing where there is none, or one that git would cut at a zero byte.
fn path_in(folder: &Path, text: &[u8]) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let path = &text[..=end];
    (!path.contains(&0)).then(|| folder.join(std::ffi::OsStr::from_bytes(path)))
}

/// A whole regular file of no more than so many bytes. One that would make a reader wait is not read.
pub(crate) fn read_plain(path: &Path, max: u64) -> Result<Vec<u8>, NotDone> {
    let odd = |why| NotDone::Odd { path: path.to_owned(), why };
    let file = open_plain(path)?.ok_or_else(|| odd("it is not there"))?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(|_| odd("it cannot be read"))?;
    if bytes.len() as u64 > max { Err(odd("it is longer than it can be")) } else { Ok(bytes) }
}

/// Nothing where there is none.
pub(crate) fn open_plain(path: &Path) -> Result<Option<File>, NotDone> {
    let odd = |why| NotDone::Odd { path: path.to_owned(), why };
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(_) => return Err(odd("it cannot be read")),
    };
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(Some(file)),
        _ => Err(odd("it is no file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder that a file which names one leads to, by its name.
    fn led_to(found: Result<PathBuf, NotDone>) -> Option<String> {
        match found {
            Ok(path) => Some(path.file_name().unwrap().to_str().unwrap().to_owned()),
            Err(NotDone::Odd { .. }) => None,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_file_leads_where_git_would_follow_it() {
        let all = tempfile::tempdir().unwrap();
        let at = |name: &str| all.path().join(name);
        for name in ["x", " x", "x ", "x\t", "a\nb"] {
            std::fs::create_dir_all(at(name).join("objects")).unwrap();
            std::fs::write(at(name).join("HEAD"), "").unwrap();
        }
        std::fs::create_dir(at("own")).unwrap();
        std::fs::write(at("own/HEAD"), "").unwrap();
        for (path, expected) in [
            ("../x", Some("x")),
            ("../x\n\r\n", Some("x")),
            ("../x ", Some("x ")),
            ("../x \n", Some("x ")),
            ("../x\t\n", Some("x\t")),
            ("../ x", Some(" x")),
            ("../a\nb", Some("a\nb")),
            ("../x\0\n", None),
            ("../x\0y", None),
            (" ../x", None),
            ("\n", None),
            ("", None),
        ] {
            std::fs::write(at("own/.git"), format!("gitdir: {path}")).unwrap();
            std::fs::write(at("own/commondir"), path).unwrap();
            let by_link = Place::in_folder(&at("own")).map(|place| place.git_dir);
            assert_eq!(led_to(by_link).as_deref(), expected, "{path:?}");
            let shared = Place::of_git_dir(&at("own")).map(|place| place.common_dir);
            assert_eq!(led_to(shared).as_deref(), expected, "{path:?}");
        }
        for text in ["gitdir:../x\n", "gitdir:\t../x\n", "gitdir\n", "../x\n"] {
            std::fs::write(at("own/.git"), text).unwrap();
            assert_eq!(led_to(Place::in_folder(&at("own")).map(|place| place.git_dir)), None, "{text:?}");
        }
    }
}
