//! What a program could leave behind that others run outside later: hooks, git's configuration, and what editors and
//! shells read by themselves.
//!
//! Whoever may write a repository's own folder can make every later `git status` of its owner run something. So what is
//! there when the cage is made is covered read-only ([`Guard::of`]); names that are missing, and that git would read, are
//! made for the time of the run and covered too; and repositories that come to be inside are judged when the program has
//! ended ([`judge`]): what git would run is set aside under another name, and said. Git's everyday work (objects, refs,
//! index, HEAD, logs) stays open; links and pipes that are new there are set aside too. Repositories outside are read for what
//! their settings name inside.

mod config;
mod cover;
mod judge;
mod leads;
mod pointer;
mod recent;
mod repositories;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tree::{Entry, Tree};

pub(crate) use config::given;
pub(crate) use cover::{Ground, Laid, Uncovered};
pub use judge::judge;
pub use recent::Recent;
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
    /// Where each file that leads git elsewhere led.
    pub leads: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Links, pipes, sockets and devices in git's folders.
    pub odd: BTreeSet<Odd>,
    /// The work trees of each repository.
    pub tops: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// What the settings of each repository make git run in its work trees.
    pub from_tops: BTreeMap<PathBuf, FromTop>,
    /// What the settings of whoever asks make git run in every work tree.
    pub from_every_top: FromTop,
}

/// What settings name from the top of a work tree, so that each new work tree has it too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromTop {
    /// Folders of hooks.
    pub hooks: BTreeSet<PathBuf>,
    /// Words that may be programs.
    pub programs: BTreeSet<PathBuf>,
}

/// Something in a folder of git's that is neither a file nor a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Odd {
    /// As text, and so is where it leads if it is a link: both may have any bytes.
    pub at: String,
    pub to: Option<String>,
    /// By which number the file system knows it.
    pub inode: u64,
}

impl Odd {
    fn at(at: &Path, tree: &dyn Tree) -> Option<Odd> {
        let to = match tree.look(at) {
            Entry::Link(to) => Some(written(&to)),
            _ => None,
        };
        Some(Odd { at: written(at), to, inode: tree.inode(at)? })
    }
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

/// A folder that a tool reads has no more in it than this.
const LOOKED_AT_MAX: usize = 1000;

/// How far is looked before a program starts: it waits for that, and is not started where there is more.
const BEFORE: Bounds = Bounds { folders_max: 200_000, repositories_max: 500, filled_by_tools: false };
/// How far is looked when it has ended: whatever it may have made in its time.
pub const AFTER: Bounds = Bounds { folders_max: 1_000_000, repositories_max: 20_000, filled_by_tools: true };

impl Guard {
    /// Every path in it.
    pub(crate) fn paths<'g>(&'g self) -> impl Iterator<Item = &'g Path> {
        let links = self.links.iter().flat_map(|(at, to)| [at.as_path(), to.as_path()]);
        let placeholders = self.placeholders.iter().map(|placeholder| placeholder.at.as_path());
        let by_one = |map: &'g BTreeMap<PathBuf, BTreeSet<PathBuf>>| {
            map.iter().flat_map(|(one, many)| many.iter().chain([one])).map(PathBuf::as_path)
        };
        let from_tops =
            self.from_tops.iter().flat_map(|(git, from_top)| from_top.paths().chain([git.as_path()]));
        let all = self.roots.iter().chain(&self.covered).chain(&self.before).map(PathBuf::as_path);
        let led = by_one(&self.leads).chain(by_one(&self.tops));
        all.chain(placeholders).chain(links).chain(led).chain(from_tops).chain(self.from_every_top.paths())
    }
}

impl FromTop {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.hooks.iter().chain(&self.programs).map(PathBuf::as_path)
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
