//! What a program could leave behind that others run outside later: hooks, git's configuration, and what editors and
//! shells read by themselves.
//!
//! Whoever may write a repository's own folder can make every later `git status` of its owner run something. So what is
//! there when the cage is made is covered read-only ([`Guard::of`]); names that are missing, and that git would read, are
//! made for the time of the run and covered too; and repositories that come to be inside are judged when the program has
//! ended ([`judge`]): what git would run is set aside under another name, and said. Git's everyday work (objects, refs,
//! index, HEAD, logs) stays open.

mod config;
mod cover;
mod judge;
mod leads;
mod pointer;
mod search;

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use cover::{Ground, Laid, Uncovered};
pub use judge::judge;
pub use search::{Bounds, Found, search};

/// What is kept from being planted, and what was there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The writable folders.
    pub roots: Vec<PathBuf>,
    /// What cannot be changed from inside.
    pub covered: BTreeSet<PathBuf>,
    /// What is made so that it can be covered, and taken away again.
    pub placeholders: Vec<Placeholder>,
    /// Pointers, and what shells and editors read, that were there before.
    pub before: BTreeSet<PathBuf>,
    /// Links named `.git`, and where they led.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Folders in a work tree that the settings of whoever asks make git run hooks from.
    pub hooks_of_the_person: BTreeSet<PathBuf>,
}

/// Something that means nothing to git while it is there, and that lies where something else could be put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placeholder {
    pub at: PathBuf,
    pub folder: bool,
    pub content: String,
}

/// The file by which a repository says where it keeps everything but its work tree's state, and what stands in it where
/// that is its own folder.
pub const COMMON: &str = "commondir";
pub const OWN: &str = ".\n";

/// How one path is covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    pub(crate) at: PathBuf,
    pub(crate) over: Over,
}

/// What is under a cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Folder,
    File,
    /// Nothing of it can be shown without following it.
    Link,
}

/// How far is looked before a program starts: it waits for that, and is not started where there is more.
const BEFORE: Bounds = Bounds { folders_max: 200_000, repositories_max: 500, filled_by_tools: false };
/// How far is looked when it has ended: whatever it may have made in its time.
pub const AFTER: Bounds = Bounds { folders_max: 1_000_000, repositories_max: 20_000, filled_by_tools: true };

impl Guard {
    /// Every path in it.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let links = self.links.iter().flat_map(|(at, to)| [at.as_path(), to.as_path()]);
        let placeholders = self.placeholders.iter().map(|placeholder| placeholder.at.as_path());
        let all = self.roots.iter().chain(&self.covered).chain(&self.before).map(PathBuf::as_path);
        all.chain(placeholders).chain(links).chain(self.hooks_of_the_person.iter().map(PathBuf::as_path))
    }
}

/// Whether a path in a writable folder is kept from being written, by its name alone.
pub(crate) fn is_kept(below: &Path) -> bool {
    let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
    let after = parts.iter().position(|part| *part == ".git").map(|at| &parts[at + 1..]);
    let kept = |part: &&str| ["hooks", "config", "commondir", "config.worktree"].contains(part);
    match after {
        Some(["modules" | "worktrees", deeper @ ..]) => deeper.iter().any(kept),
        Some([first, ..]) => kept(first),
        _ => false,
    }
}

/// A path as people can read and write it, whatever bytes are in it.
pub fn written(path: &Path) -> String {
    path.as_os_str().as_bytes().utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        text
    })
}

/// Something a program left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    pub path: PathBuf,
    /// Why it matters.
    pub what: String,
    /// The name it has now, where it was set aside.
    pub set_aside: Option<PathBuf>,
}

/// What is to be done about something that was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub path: PathBuf,
    pub what: String,
    pub set_aside: bool,
}

#[cfg(test)]
mod tests;
