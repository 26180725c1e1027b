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
    /// What shells and editors read by themselves.
    pub read_by_themselves: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub shut: Vec<PathBuf>,
    /// Whether nothing lies beyond the bounds.
    pub complete: bool,
}

/// Read by shells and editors that enter a folder, and full of commands.
pub(super) const READ_BY_THEMSELVES: &[&str] = &[".envrc", ".vscode", ".idea", ".husky", ".devcontainer"];

/// Tools fill them with more folders than everything else has; a person's repositories are elsewhere.
const FILLED_BY_TOOLS: &[&str] =
    &["node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".cache"];

/// Goes through a folder level by level, so that what lies beyond the bounds lies deepest. `stays_out` names folders that
/// are somebody else's to search.
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
        let further = visit(&folder, &names, bounds, &mut found);
        folders.extend(further.into_iter().filter(|folder| !stays_out(folder)));
    }
    found
}

/// What a folder that cannot be listed can still be entered by.
fn known_names(tree: &dyn Tree, folder: &Path) -> Vec<(OsString, Kind)> {
    let look = |name: &str| {
        let kind = match tree.look(&folder.join(name)) {
            Entry::Missing => return None,
            Entry::Folder => Kind::Folder,
            Entry::File => Kind::File,
            Entry::Link(_) => Kind::Link,
        };
        Some((OsString::from(name), kind))
    };
    [".git", "HEAD", "objects", "refs", "commondir", "modules", "worktrees"]
        .iter()
        .copied()
        .filter_map(look)
        .collect()
}

/// Takes down what a folder is and has; gives the folders in it that are to be visited.
fn visit(folder: &Path, names: &[(OsString, Kind)], bounds: Bounds, found: &mut Found) -> Vec<PathBuf> {
    let is_git_folder = is_git_folder(folder, names);
    if is_git_folder {
        found.git_folders.push(folder.to_owned());
    }
    let mut further = Vec::new();
    for (name, kind) in names {
        let at = || folder.join(name);
        let named = |all: &[&str]| all.iter().any(|known| name == OsStr::new(known));
        // Some file systems take small letters for large ones.
        if name.eq_ignore_ascii_case(".git") && *kind != Kind::Folder {
            found.pointers.push(at());
        }
        if named(READ_BY_THEMSELVES) && !is_git_folder {
            found.read_by_themselves.push(at());
        }
        // In a repository's own folder only these hold further ones that git finds by itself.
        let is_entered = match is_git_folder {
            true => named(&["modules", "worktrees"]),
            false => bounds.filled_by_tools || !named(FILLED_BY_TOOLS),
        };
        if *kind == Kind::Folder && is_entered {
            further.push(at());
        }
    }
    further
}

/// As git tells one, but for what is in the files: one that is not whole yet can be made so.
fn is_git_folder(folder: &Path, names: &[(OsString, Kind)]) -> bool {
    let has = |wanted: &str| names.iter().any(|(name, _)| name == OsStr::new(wanted));
    folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
        || has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}
