//! What git's settings lead it to: files it takes further settings from, folders of hooks, programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::config::{self, Setting};
use super::cover::{IfMissing, Layer, Uncovered, is_of_a_worktree};
use super::{Found, pointer};
use crate::policy::normal;
use crate::tree::{Entry, Tree};

const INCLUDES: &[&str] = &["include.path", "includeif.path"];
const HOOKS: &[&str] = &["core.hookspath", "init.templatedir"];

/// Every repository that was found, and the folders git may run its hooks in.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    tops: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Parts that belong to one work tree, and the repository of each.
    of_worktrees: BTreeMap<PathBuf, PathBuf>,
}

impl Repositories {
    pub(super) fn of(all: &[(&Path, Found)], tree: &dyn Tree) -> Repositories {
        let gits: BTreeSet<PathBuf> =
            all.iter().flat_map(|(_, found)| found.git_folders.iter().cloned()).collect();
        let mut repositories = Repositories::default();
        for git in &gits {
            match git.ancestors().nth(2) {
                Some(shared) if is_of_a_worktree(git, &gits, tree) => {
                    repositories.of_worktrees.insert(git.clone(), shared.to_owned());
                    repositories.add(shared, work_tree_of(git, tree));
                }
                _ => {
                    // Some hooks run in the repository's own folder.
                    repositories.add(git, Some(git.clone()));
                    let is_in_its_work_tree =
                        git.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
                    repositories.add(git, git.parent().filter(|_| is_in_its_work_tree).map(Path::to_owned));
                    for top in named_work_trees(git, tree) {
                        repositories.add(git, Some(top));
                    }
                }
            }
        }
        let pointers = all.iter().flat_map(|(_, found)| &found.pointers);
        for (at, git) in pointers.filter_map(|at| Some((at, led_to(at, tree)?))) {
            let git = repositories.of_worktrees.get(&git).cloned().unwrap_or(git);
            repositories.add(&git, at.parent().map(Path::to_owned));
        }
        repositories
    }

    fn add(&mut self, git: &Path, top: Option<PathBuf>) {
        self.tops.entry(git.to_owned()).or_default().extend(top.map(|top| normal(&top)));
    }

    /// The repository that a work tree's part belongs to.
    pub(super) fn shared_by(&self, git: &Path) -> Option<&Path> {
        self.of_worktrees.get(git).map(PathBuf::as_path)
    }

    pub(super) fn tops(&self, git: &Path) -> BTreeSet<PathBuf> {
        self.tops.get(git).cloned().unwrap_or_default()
    }
}

/// The work tree that a part of a repository is for, as it says itself.
fn work_tree_of(git: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    let text = tree.bytes(&git.join("gitdir"))?;
    pointer::of_commondir(&text, git)?.parent().map(Path::to_owned)
}

fn named_work_trees(git: &Path, tree: &dyn Tree) -> Vec<PathBuf> {
    let files = ["config", "config.worktree"].iter().filter_map(|name| tree.bytes(&git.join(name)));
    let settings = files.filter_map(|bytes| config::read(&bytes)).flatten();
    settings.filter_map(|setting| Some(git.join(setting.is(&["core.worktree"])?))).collect()
}

/// The repository's own folder that a file or link named `.git` leads to.
fn led_to(at: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    let to = match tree.look(at) {
        Entry::File => pointer::of_git_file(&tree.bytes(at)?, at.parent()?)?,
        Entry::Link(_) => at.to_owned(),
        _ => return None,
    };
    tree.resolve(&to)
}

impl Layer<'_> {
    /// What a file of settings says; nothing where there is none.
    pub(super) fn settings(&mut self, at: &Path) -> Result<Vec<Setting>, Uncovered> {
        let (_, end) = self.resolve(at)?;
        let tree = self.ground.tree;
        if tree.look(&end) == Entry::Missing {
            return Ok(Vec::new());
        }
        let read = tree.bytes(&end).and_then(|bytes| config::read(&bytes));
        let is_theirs = tree.owner(&end).is_some_and(|owner| owner != self.ground.uid);
        match read {
            Some(settings) => Ok(settings),
            // What it leads to may be in reach, and it is not the program's doing.
            None if is_theirs || !self.can_be_written(&end) => {
                self.laid.gaps.push(format!(
                    "{} is not understood: what it leads git to is not covered",
                    end.display()
                ));
                Ok(Vec::new())
            }
            None => Err(Uncovered {
                path: end,
                why: "git's settings in it cannot be read here, so what they lead to cannot be covered"
                    .to_owned(),
            }),
        }
    }

    fn can_be_written(&self, path: &Path) -> bool {
        self.ground.roots.iter().any(|root| path.starts_with(root))
    }

    /// Covers what a file of settings leads to, for repositories with these work trees; gives what it says.
    pub(super) fn follow(&mut self, at: &Path, tops: &BTreeSet<PathBuf>) -> Result<Vec<Setting>, Uncovered> {
        // Each is read once, also where it includes itself.
        let mut known = BTreeSet::from([at.to_owned()]);
        let mut files = vec![at.to_owned()];
        let mut all = Vec::new();
        while let Some(file) = files.pop() {
            for setting in self.settings(&file)? {
                if let Some(path) = setting.is(INCLUDES) {
                    let include = self.expanded(path, file.parent().unwrap_or(&file));
                    self.put(&include, IfMissing::File(""))?;
                    if known.insert(include.clone()) {
                        files.push(include);
                    }
                }
                self.follow_setting(&setting, tops)?;
                all.push(setting);
            }
        }
        Ok(all)
    }

    fn follow_setting(&mut self, setting: &Setting, tops: &BTreeSet<PathBuf>) -> Result<(), Uncovered> {
        if let Some(path) = setting.is(HOOKS) {
            for top in self.there(tops) {
                let folder = self.expanded(path, &top);
                self.put(&folder, IfMissing::Folder)?;
                self.hooks_in(&folder)?;
            }
        } else if !setting.is_harmless() && setting.is(INCLUDES).is_none() {
            self.programs(setting, tops)?;
        }
        Ok(())
    }

    fn there(&self, tops: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        tops.iter().filter(|top| self.ground.tree.look(top) == Entry::Folder).cloned().collect()
    }

    /// What a setting may run in a work tree, where it is there.
    fn programs(&mut self, setting: &Setting, tops: &BTreeSet<PathBuf>) -> Result<(), Uncovered> {
        for word in setting.words() {
            for top in self.there(tops) {
                let at = self.expanded(word, &top);
                let (_, end) = self.resolve(&at)?;
                if self.ground.tree.look(&end) == Entry::File {
                    self.put(&at, IfMissing::Nothing)?;
                }
            }
        }
        Ok(())
    }

    /// A path as git takes it.
    fn expanded(&self, path: &Path, from: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.ground.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => from.join(path),
        }
    }

    /// Git takes these in every repository.
    pub(super) fn settings_of_the_person(&mut self, repositories: &Repositories) -> Result<(), Uncovered> {
        let tops: BTreeSet<PathBuf> = repositories.tops.values().flatten().cloned().collect();
        for settings in self.ground.settings {
            self.put(settings, IfMissing::File(""))?;
            let said = self.follow(settings, &tops)?;
            let hooks = said.iter().filter_map(|setting| setting.is(&["core.hookspath"]));
            let relative = hooks.filter(|path| path.is_relative() && !path.starts_with("~"));
            self.laid.guard.hooks_of_the_person.extend(relative.map(Path::to_owned));
        }
        Ok(())
    }
}
