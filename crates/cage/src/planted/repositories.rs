//! Which repositories there are in and around the writable folders, and which work trees each of them has.
//!
//! A repository outside may have its work tree inside: the main one of a linked work tree, the one around a submodule, the one
//! that a folder to work in is a part of. Its settings may then lead into the writable folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::search::shared_folders;
use super::{COMMON, Found, config, pointer};
use crate::policy::normal;
use crate::tree::{Entry, Kind, Tree};

/// More work trees, or repositories led to, are nobody's.
const OUTSIDE_MAX: usize = 2000;

/// Every repository that was found, and the folders git may run its hooks in.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    tops: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Parts that belong to one work tree, and the repository of each.
    of_worktrees: BTreeMap<PathBuf, PathBuf>,
    /// Where git takes settings and hooks from, of each folder that says so.
    shared: BTreeMap<PathBuf, PathBuf>,
    /// Folders of git's that lie in no writable folder.
    pub(super) outside: BTreeSet<PathBuf>,
    /// Those in writable folders that are known by nothing but that others lead to them.
    pub(super) led_to: BTreeSet<PathBuf>,
}

impl Repositories {
    pub(super) fn of(roots: &[PathBuf], found: &Found, tree: &dyn Tree) -> Repositories {
        let mut repositories = Repositories::default();
        let mut gits: BTreeSet<PathBuf> = found.git_folders.iter().cloned().collect();
        repositories.led_to = shared_folders(&gits, tree);
        repositories.led_to.retain(|git| is_in(roots, git) && !gits.contains(git));
        gits.extend(repositories.led_to.iter().cloned());
        let mut pointers = found.pointers.clone();
        let around = around(roots, tree);
        pointers.extend(around.iter().filter(|at| tree.look(at) != Entry::Folder).cloned());
        repositories.outside = outside(roots, &gits, &around, &pointers, tree);
        gits.extend(repositories.outside.iter().cloned());
        for git in &gits {
            repositories.take_in(git, &gits, tree);
        }
        for (at, git) in pointers.iter().filter_map(|at| Some((at, led_to(at, tree)?))) {
            let git = repositories.of_worktrees.get(&git).cloned().unwrap_or(git);
            repositories.add(&git, at.parent().map(Path::to_owned));
        }
        // What is shared is shared by all their work trees.
        for (git, shared) in repositories.shared.clone() {
            for top in repositories.tops(&git) {
                repositories.add(&shared, Some(top));
            }
        }
        repositories
    }

    fn take_in(&mut self, git: &Path, gits: &BTreeSet<PathBuf>, tree: &dyn Tree) {
        match git.ancestors().nth(2) {
            Some(shared) if is_of_a_worktree(git, gits, tree) => {
                self.of_worktrees.insert(git.to_owned(), shared.to_owned());
                self.add(shared, work_tree_of(git, tree));
            }
            _ => {
                // Some hooks run in the repository's own folder.
                self.add(git, Some(git.to_owned()));
                let is_in_its_work_tree =
                    git.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
                self.add(git, git.parent().filter(|_| is_in_its_work_tree).map(Path::to_owned));
                for (_, top) in named_work_trees(git, tree) {
                    self.add(git, Some(top));
                }
                if let Some(shared) = shared_folders([&git.to_owned()], tree).into_iter().next() {
                    self.shared.insert(git.to_owned(), shared);
                }
            }
        }
    }

    fn add(&mut self, git: &Path, top: Option<PathBuf>) {
        self.tops.entry(git.to_owned()).or_default().extend(top.map(|top| normal(&top)));
    }

    /// The repository that a work tree's part belongs to.
    pub(super) fn shared_by(&self, git: &Path) -> Option<&Path> {
        self.of_worktrees.get(git).map(PathBuf::as_path)
    }

    /// Where git takes settings and hooks from for one of its folders.
    pub(super) fn settings_for<'g>(&'g self, git: &'g Path) -> &'g Path {
        self.shared_by(git).or_else(|| self.shared.get(git).map(PathBuf::as_path)).unwrap_or(git)
    }

    pub(super) fn tops(&self, git: &Path) -> BTreeSet<PathBuf> {
        self.tops.get(git).cloned().unwrap_or_default()
    }

    pub(super) fn all_tops(&self) -> BTreeSet<PathBuf> {
        self.tops.values().flatten().cloned().collect()
    }

    /// Each with its work trees.
    pub(super) fn each(&self) -> &BTreeMap<PathBuf, BTreeSet<PathBuf>> {
        &self.tops
    }
}

fn is_in(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Every `.git` in the folders above the writable ones: git, used there or in them, takes the settings of each.
fn around(roots: &[PathBuf], tree: &dyn Tree) -> BTreeSet<PathBuf> {
    let above = roots.iter().flat_map(|root| root.ancestors().skip(1)).filter(|above| !is_in(roots, above));
    let named = above.flat_map(|above| {
        // The folder may be git's own.
        let itself = (tree.look(&above.join("HEAD")) == Entry::File).then(|| above.to_owned());
        itself.into_iter().chain([above.join(".git")])
    });
    named.filter(|at| !matches!(tree.look(at), Entry::Missing | Entry::Shut)).collect()
}

/// Every folder of git's that is led to, and that lies in no writable folder.
fn outside(
    roots: &[PathBuf],
    gits: &BTreeSet<PathBuf>,
    around: &BTreeSet<PathBuf>,
    pointers: &[PathBuf],
    tree: &dyn Tree,
) -> BTreeSet<PathBuf> {
    let folders = around.iter().filter(|at| tree.look(at) == Entry::Folder).cloned();
    let mut next: Vec<PathBuf> = pointers.iter().filter_map(|at| led_to(at, tree)).collect();
    next.extend(folders);
    next.extend(shared_folders(gits, tree));
    let mut all = BTreeSet::new();
    while let Some(git) = next.pop() {
        if is_in(roots, &git) || all.len() >= OUTSIDE_MAX || !all.insert(git.clone()) {
            continue;
        }
        next.extend(shared_folders([&git], tree));
        let worktrees = git.join("worktrees");
        let parts = tree.list(&worktrees).unwrap_or_default().into_iter();
        next.extend(parts.filter(|(_, kind)| *kind == Kind::Folder).map(|(name, _)| worktrees.join(name)));
    }
    all
}

/// The work tree that a part of a repository is for, as it says itself.
fn work_tree_of(git: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    named_pointer(git, tree)?.parent().map(Path::to_owned)
}

/// The `.git` that a part of a repository says it belongs to.
pub(super) fn named_pointer(git: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    pointer::of_commondir(&tree.bytes(&git.join("gitdir"))?, git)
}

/// The work trees that a repository's own settings name, each with the file that does.
pub(super) fn named_work_trees(git: &Path, tree: &dyn Tree) -> Vec<(PathBuf, PathBuf)> {
    let files = ["config", "config.worktree"].iter().map(|name| git.join(name));
    files
        .flat_map(|file| {
            let settings = tree.bytes(&file).and_then(|bytes| config::read(&bytes)).unwrap_or_default();
            let named = settings.iter().filter_map(|setting| setting.is(&["core.worktree"]));
            named.map(|path| (file.clone(), git.join(path))).collect::<Vec<_>>()
        })
        .collect()
}

/// The repository's own folder that a file or link named `.git` leads to.
pub(super) fn led_to(at: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    tree.resolve(&named_by(at, tree)?)
}

/// The same as it is written there.
pub(super) fn named_by(at: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    match tree.look(at) {
        Entry::File => pointer::of_git_file(&tree.bytes(at)?, at.parent()?),
        Entry::Link(_) => Some(at.to_owned()),
        _ => None,
    }
}

/// What the files by which git finds its way lead to: `commondir` and the work trees that settings name.
pub(super) fn ways_of(git: &Path, tree: &dyn Tree) -> Vec<(PathBuf, PathBuf)> {
    let common = git.join(COMMON);
    let led = tree.bytes(&common).and_then(|bytes| pointer::of_commondir(&bytes, git));
    let mut all: Vec<(PathBuf, PathBuf)> = led.map(|to| (common, to)).into_iter().collect();
    all.extend(named_work_trees(git, tree));
    all
}

/// Whether it is what git writes every day: a line of settings may have `HEAD` or `.git/index` in it.
pub(super) fn is_gits_data(top: &Path, at: &Path, tree: &dyn Tree) -> bool {
    let parts: Vec<_> = at.iter().map(|part| part.to_string_lossy()).collect();
    let after = parts.iter().rposition(|part| part.eq_ignore_ascii_case(".git")).map(|nth| nth + 1);
    let of_itself = || tree.look(&top.join("HEAD")) == Entry::File;
    let Some(below) = after.or_else(|| of_itself().then(|| top.iter().count())) else { return false };
    let Some((last, above)) = parts.get(below..).unwrap_or_default().split_last() else { return false };
    let is_of_git = |part: &str| ["refs", "logs", "objects"].contains(&part);
    let is_pseudo = last.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_pseudo
        || ["index", "packed-refs", "shallow"].contains(&&**last)
        || above.iter().any(|part| is_of_git(part))
}

/// Whether a folder of git's is the part of a repository that belongs to one of its work trees: only then does git take
/// hooks and configuration from elsewhere. A repository of its own may lie in a folder of that name too.
fn is_of_a_worktree(git: &Path, all: &BTreeSet<PathBuf>, tree: &dyn Tree) -> bool {
    let is_among_them =
        git.parent().is_some_and(|all| all.file_name().is_some_and(|name| name == "worktrees"));
    let shared = git.ancestors().nth(2).is_some_and(|shared| all.contains(shared));
    let led = || tree.bytes(&git.join(COMMON)).and_then(|bytes| pointer::of_commondir(&bytes, git));
    is_among_them && shared && led() == Some(git.join("../.."))
}
