//! Finding repositories, and what editors and shells read by themselves, in a folder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

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
];

/// Folders that hold more than that: only these files in them are.
const READ_IN_FOLDERS: &[(&str, &[&str])] = &[
    (".claude", &["settings.json", "settings.local.json"]),
    (".hg", &["hgrc"]),
    (".cargo", &["config.toml", "config"]),
];

/// Tools fill them with more folders than everything else has; a person's repositories are elsewhere.
const FILLED_BY_TOOLS: &[&str] =
    &["node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".cache"];

/// Goes through a folder level by level, so that what lies beyond the bounds lies deepest; a `.git` is visited right after
/// the folder it is in. Nothing that lies in a folder keeps what is in it from being searched. `stays_out` names folders that are
/// somebody else's to search.
pub fn search(tree: &dyn Tree, root: &Path, stays_out: &dyn Fn(&Path) -> bool, bounds: Bounds) -> Found {
    let mut found = Found { complete: true, ..Found::default() };
    let mut folders = VecDeque::from([root.to_owned()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front() {
        seen += 1;
        if seen > bounds.folders_max || found.git_folders.len() >= bounds.repositories_max {
            found.complete = false;
            break;
        }
        let names = tree.list(&folder).unwrap_or_else(|| {
            found.shut.push(folder.clone());
            known_names(tree, &folder)
        });
        let further = Visit { tree, root, folder: &folder, bounds }.look_around(&names, &mut found);
        for folder in further.into_iter().filter(|folder| !stays_out(folder)) {
            let is_next = folder.file_name().is_some_and(is_dot_git);
            if is_next { folders.push_front(folder) } else { folders.push_back(folder) }
        }
    }
    found
}

/// The folder in which something is read by itself: some of it lies in a folder of its tool's.
pub(super) fn folder_it_is_for(at: &Path) -> &Path {
    let folder = at.parent().unwrap_or(at);
    let is_of_a_tool = |name: &OsStr| READ_IN_FOLDERS.iter().any(|(folder, _)| name == OsStr::new(folder));
    folder.file_name().filter(|name| is_of_a_tool(name)).and_then(|_| folder.parent()).unwrap_or(folder)
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

/// Some file systems take small letters for large ones.
fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

struct Visit<'v> {
    tree: &'v dyn Tree,
    root: &'v Path,
    folder: &'v Path,
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
            Kind::File | Kind::Link => {
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
