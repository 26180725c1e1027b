//! Finding repositories, and what editors and shells read by themselves, in a folder.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{COMMON, pointer};
use crate::tree::{Entry, Kind, Tree};

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub folders_max: usize,
    pub repositories_max: usize,
    /// Whether folders that tools fill by themselves are entered.
    pub filled_by_tools: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Folders that git takes for a repository's own, shallow before deep.
    pub git_folders: Vec<PathBuf>,
    /// `.git` that is a file or a link, and so leads elsewhere.
    pub pointers: Vec<PathBuf>,
    /// What shells, editors and other tools read by themselves.
    pub read_by_themselves: Vec<PathBuf>,
    /// Links, pipes, sockets and devices in folders of git's, which git would follow or wait for.
    pub odd: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub shut: Vec<PathBuf>,
    /// Whether nothing lies beyond the bounds.
    pub complete: bool,
}

/// Read by shells, editors and other tools that enter a folder, and full of commands.
const READ_BY_THEMSELVES: &[&str] = &[
    ".envrc",
    ".vscode",
    ".idea",
    ".husky",
    ".devcontainer",
    ".devcontainer.json",
    ".cursor",
    ".zed",
    ".mcp.json",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".mise.toml",
    ".mise.local.toml",
    "mise.toml",
    "mise.local.toml",
];

/// Folders that hold more than that: only these files in them are.
const READ_IN_FOLDERS: &[(&str, &[&str])] = &[
    (".claude", &["settings.json", "settings.local.json"]),
    (".hg", &["hgrc"]),
    (".cargo", &["config.toml", "config"]),
    (".jj", &["repo/config.toml"]),
    (".sl", &["config"]),
    (".config", &["mise", "mise.toml"]),
    (".mise", &["config.toml"]),
    (".gemini", &["settings.json"]),
    (".codex", &["config.toml"]),
];

/// Folders that git, and what comes with it, has in a repository's own.
const OF_GIT: &[&str] = &[
    "NOTES_MERGE_WORKTREE",
    "annex",
    "branches",
    "branchless",
    "filter-repo",
    "fsmonitor--daemon",
    "hg",
    "hooks",
    "info",
    "jj",
    "lfs",
    "logs",
    "lost-found",
    "modules",
    "objects",
    "refs",
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "stgit",
    "subtree-cache",
    "svn",
    "worktrees",
];

/// Of what tools read, and of odd things in git's folders, there may be this many for each repository that there may be.
const FOR_EACH_REPOSITORY: usize = 20;

/// Tools fill them with more folders than everything else has; a person's repositories are elsewhere.
const FILLED_BY_TOOLS: &[&str] =
    &["node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".cache"];

/// Goes through a folder level by level, so that what lies beyond the bounds lies deepest; a `.git` is visited right after
/// the folder it is in. Nothing that lies in a folder keeps what is in it from being searched. `stays_out` names folders that are
/// somebody else's to search.
pub fn search(tree: &dyn Tree, root: &Path, stays_out: &dyn Fn(&Path) -> bool, bounds: Bounds) -> Found {
    let mut found = Found { complete: true, ..Found::default() };
    let mut folders = VecDeque::from([(root.to_owned(), dot_git_around(root))]);
    let mut seen = 0;
    while let Some((folder, around)) = folders.pop_front() {
        seen += 1;
        if seen > bounds.folders_max || found.has_reached(bounds) {
            found.complete = false;
            break;
        }
        let names = tree.list(&folder).unwrap_or_else(|| {
            found.shut.push(folder.clone());
            known_names(tree, &folder)
        });
        let git = match around {
            _ if is_git_folder(&folder, &names) => Some(Rc::from(folder.as_path())),
            Some(git) if is_work_tree_in(&git, &folder, &names) => None,
            around => around,
        };
        let visit = Visit { tree, root, folder: &folder, is_in_git: git.is_some(), bounds };
        let further = visit.look_around(&names, &mut found);
        for folder in further.into_iter().filter(|folder| !stays_out(folder)) {
            let is_next = folder.file_name().is_some_and(is_dot_git);
            let place = (folder, git.clone());
            if is_next { folders.push_front(place) } else { folders.push_back(place) }
        }
    }
    let mut shared = shared_folders(&found.git_folders, tree);
    // What looks like one was gone through.
    for git in &found.git_folders {
        shared.remove(git);
    }
    shared.retain(|git| git.starts_with(root) && git != root);
    for git in shared {
        odd_below(tree, git, bounds, &mut found);
    }
    found
}

/// Git uses a folder that `commondir` leads to as its own, also where it does not look like one.
fn odd_below(tree: &dyn Tree, git: PathBuf, bounds: Bounds, found: &mut Found) {
    let mut folders = vec![git];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        seen += 1;
        if seen > bounds.folders_max || found.has_reached(bounds) {
            found.complete = false;
            return;
        }
        for (name, kind) in tree.list(&folder).unwrap_or_default() {
            match kind {
                Kind::Folder => folders.push(folder.join(name)),
                Kind::Link | Kind::Special => found.odd.push(folder.join(name)),
                Kind::File => {}
            }
        }
    }
}

impl Found {
    fn has_reached(&self, bounds: Bounds) -> bool {
        let few = bounds.repositories_max;
        let many = few.saturating_mul(FOR_EACH_REPOSITORY);
        self.git_folders.len() >= few
            || self.pointers.len() >= few
            || self.read_by_themselves.len() >= many
            || self.odd.len() >= many
    }

    /// What was found in several folders, as if it had been found in one.
    pub fn and(mut self, other: Found) -> Found {
        self.git_folders.extend(other.git_folders);
        self.pointers.extend(other.pointers);
        self.read_by_themselves.extend(other.read_by_themselves);
        self.odd.extend(other.odd);
        self.shut.extend(other.shut);
        self.complete &= other.complete;
        self
    }
}

/// The folders that `commondir` leads to from these. Git takes hooks and settings from them whatever else is in them.
pub(super) fn shared_folders<'g>(
    git_folders: impl IntoIterator<Item = &'g PathBuf>,
    tree: &dyn Tree,
) -> BTreeSet<PathBuf> {
    let led = |git: &PathBuf| tree.resolve(&pointer::of_commondir(&tree.bytes(&git.join(COMMON))?, git)?);
    git_folders.into_iter().filter_map(led).collect()
}

/// The folder in which something is read by itself: some of it lies in a folder of its tool's.
pub(super) fn folder_it_is_for(at: &Path) -> &Path {
    let folder = at.parent().unwrap_or(at);
    let is_of_a_tool = |name: &OsStr| READ_IN_FOLDERS.iter().any(|(folder, _)| name == OsStr::new(folder));
    let of_a_tool = folder.ancestors().take(2).find(|folder| folder.file_name().is_some_and(is_of_a_tool));
    of_a_tool.and_then(Path::parent).unwrap_or(folder)
}

/// Whether it lies in a folder that is not entered before a start.
pub(super) fn is_filled_by_a_tool(root: &Path, at: &Path) -> bool {
    let below = at.strip_prefix(root).unwrap_or(at);
    let before_git = below.iter().take_while(|part| !is_dot_git(part));
    before_git.into_iter().any(|part| FILLED_BY_TOOLS.iter().any(|filled| part == OsStr::new(filled)))
}

/// What a folder that cannot be listed can still be entered by.
fn known_names(tree: &dyn Tree, folder: &Path) -> Vec<(OsString, Kind)> {
    let look = |name: &str| kind_of(tree, &folder.join(name)).map(|kind| (OsString::from(name), kind));
    [".git", "HEAD", "objects", "refs", "commondir", "modules", "worktrees"]
        .iter()
        .copied()
        .filter_map(look)
        .collect()
}

fn kind_of(tree: &dyn Tree, path: &Path) -> Option<Kind> {
    match tree.look(path) {
        Entry::Missing | Entry::Shut => None,
        Entry::Folder => Some(Kind::Folder),
        Entry::File => Some(Kind::File),
        Entry::Link(_) => Some(Kind::Link),
    }
}

/// A folder to work in may itself lie among git's.
fn dot_git_around(root: &Path) -> Option<Rc<Path>> {
    root.ancestors().find(|folder| folder.file_name().is_some_and(is_dot_git)).map(Rc::from)
}

/// Some keep their work trees in the folder of a bare repository. A place that git uses itself is none.
fn is_work_tree_in(git: &Path, folder: &Path, names: &[(OsString, Kind)]) -> bool {
    let has_pointer = || names.iter().any(|(name, kind)| is_dot_git(name) && *kind == Kind::File);
    let first = folder.strip_prefix(git).ok().and_then(|below| below.iter().next());
    let is_gits = |name: &OsStr| {
        let name = name.to_string_lossy();
        OF_GIT.contains(&&*name) || name.starts_with("rebase") || name.starts_with('.')
    };
    !git.file_name().is_some_and(is_dot_git) && first.is_some_and(|name| !is_gits(name)) && has_pointer()
}

/// Some file systems take small letters for large ones.
fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

struct Visit<'v> {
    tree: &'v dyn Tree,
    root: &'v Path,
    folder: &'v Path,
    is_in_git: bool,
    bounds: Bounds,
}

impl Visit<'_> {
    /// Takes down what a folder is and has; gives the folders in it that are to be visited.
    fn look_around(&self, names: &[(OsString, Kind)], found: &mut Found) -> Vec<PathBuf> {
        if is_git_folder(self.folder, names) {
            found.git_folders.push(self.folder.to_owned());
        }
        // What a tool fills is not among git's own.
        let below = self.folder.strip_prefix(self.root).unwrap_or(self.folder);
        let skips =
            !self.bounds.filled_by_tools && !below.iter().any(is_dot_git) && !is_dot_git_itself(self.root);
        let mut further = Vec::new();
        for (name, kind) in names {
            let at = self.folder.join(name);
            let named = |all: &[&str]| all.iter().any(|known| name == OsStr::new(known));
            if named(READ_BY_THEMSELVES) {
                found.read_by_themselves.push(at.clone());
            }
            self.read_in(name, found);
            // One that is named `.git` is among the pointers.
            if self.is_in_git && matches!(kind, Kind::Link | Kind::Special) && !is_dot_git(name) {
                found.odd.push(at.clone());
            }
            match kind {
                Kind::Folder if skips && named(FILLED_BY_TOOLS) => {
                    further.extend(self.dot_git_in(&at, found))
                }
                Kind::Folder => further.push(at),
                _ if is_dot_git(name) => found.pointers.push(at),
                _ => {}
            }
        }
        further
    }

    fn read_in(&self, name: &OsStr, found: &mut Found) {
        let known = READ_IN_FOLDERS.iter().filter(|(folder, _)| name == OsStr::new(folder));
        let files = known
            .flat_map(|(folder, files)| files.iter().map(move |file| self.folder.join(folder).join(file)));
        found.read_by_themselves.extend(files.filter(|file| self.tree.look(file) != Entry::Missing));
    }

    /// Of a folder that is not entered, the repository that it may be the work tree of.
    fn dot_git_in(&self, folder: &Path, found: &mut Found) -> Option<PathBuf> {
        let at = folder.join(".git");
        match kind_of(self.tree, &at)? {
            Kind::Folder => Some(at),
            Kind::File | Kind::Link | Kind::Special => {
                found.pointers.push(at);
                None
            }
        }
    }
}

fn is_dot_git_itself(root: &Path) -> bool {
    root.file_name().is_some_and(is_dot_git)
}

/// As git tells one, but for what is in the files: one that is not whole yet can be made so.
fn is_git_folder(folder: &Path, names: &[(OsString, Kind)]) -> bool {
    let has = |wanted: &str| names.iter().any(|(name, _)| name == OsStr::new(wanted));
    folder.file_name().is_some_and(is_dot_git)
        || has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}
