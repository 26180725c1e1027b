//! What a program left behind, judged by what git, shells and editors would run of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{COMMON, Found, Guard, Verdict, config, pointer};
use crate::tree::{Entry, Kind, Tree};

/// Files in which git keeps what it does next, when it is told to go on.
const TODO: &[&str] = &["rebase-merge/git-rebase-todo", "rebase-apply/next", "sequencer/todo"];
/// A folder that a tool reads has no more in it than this.
const LOOKED_AT_MAX: usize = 1000;

/// What of everything found now git, shells and editors would run by themselves. Repositories in which nothing has
/// changed since the program began (seconds of the file system's clock) are as they were.
pub fn judge(guard: &Guard, found: &Found, tree: &dyn Tree, since: i64) -> Vec<Verdict> {
    let git_folders = found.git_folders.iter().filter_map(|git| tree.resolve(git)).collect();
    let judge = Judge { guard, tree, git_folders, since };
    let touched = found.git_folders.iter().filter(|git| judge.is_touched(git));
    let of_git = touched.flat_map(|git| judge.git_folder(git));
    let under_way = found.git_folders.iter().flat_map(|git| judge.under_way(git));
    let pointers = found.pointers.iter().filter_map(|at| judge.pointer(at));
    let read = found.read_by_themselves.iter().filter_map(|at| judge.read_by_itself(at));
    of_git.chain(pointers).chain(under_way).chain(read).collect()
}

struct Judge<'g> {
    guard: &'g Guard,
    tree: &'g dyn Tree,
    /// Every one that was found, links followed.
    git_folders: BTreeSet<PathBuf>,
    since: i64,
}

impl Judge<'_> {
    fn is_changed(&self, path: &Path) -> bool {
        self.tree.changed(path).is_some_and(|changed| changed >= self.since)
    }

    /// Whether it came to be what it is, or anything that git would run in it.
    fn is_touched(&self, git: &Path) -> bool {
        let parts = ["", "HEAD", "objects", "refs", "commondir", "hooks", "config", "config.worktree"];
        let hooks = self.tree.list(&git.join("hooks")).unwrap_or_default();
        // What a link among hooks leads to may have changed without it.
        let has_links = hooks.iter().any(|(_, kind)| *kind == Kind::Link);
        let hooks = hooks.iter().map(|(name, _)| git.join("hooks").join(name));
        let mut all = parts.iter().map(|name| git.join(name)).chain(hooks);
        has_links || all.any(|path| self.is_changed(&path))
    }

    fn git_folder(&self, git: &Path) -> Vec<Verdict> {
        let wrong = |path: &Path, name: &str| match name {
            "hooks" => self.hooks(path),
            COMMON => self.commondir(path),
            _ => self.config(path),
        };
        let of = |name: &str| {
            let path = git.join(name);
            if self.guard.covered.contains(&path) || self.tree.look(&path) == Entry::Missing {
                return None;
            }
            wrong(&path, name).map(|what| Verdict { path, what, set_aside: true })
        };
        let all = [COMMON, "hooks", "config", "config.worktree"].into_iter().filter_map(of);
        all.chain(self.hooks_of_the_person(git)).collect()
    }

    /// Where the settings of whoever asks lead git to hooks in every work tree.
    fn hooks_of_the_person(&self, git: &Path) -> Vec<Verdict> {
        let tops = [git.parent().unwrap_or(git), git];
        let all =
            tops.iter().flat_map(|top| self.guard.hooks_of_the_person.iter().map(|hooks| top.join(hooks)));
        let there = all.filter(|at| self.tree.look(at) != Entry::Missing && !self.guard.covered.contains(at));
        let what = "by your own settings, git runs what is in it; look at it first";
        there.map(|path| Verdict { path, what: what.to_owned(), set_aside: false }).collect()
    }

    fn hooks(&self, at: &Path) -> Option<String> {
        let Some(names) = self.tree.list(at).filter(|_| self.tree.look(at) == Entry::Folder) else {
            return Some("git runs what is in it, and it cannot be looked into".to_owned());
        };
        let mut hooks = names.iter().filter(|(name, _)| !name.to_string_lossy().ends_with(".sample"));
        hooks.next().map(|(name, _)| format!("git runs what is in it: {}", name.display()))
    }

    fn config(&self, at: &Path) -> Option<String> {
        if self.tree.names(at) > 1 {
            return Some("it can be changed by another name later".to_owned());
        }
        let settings = self.tree.bytes(at).and_then(|bytes| config::read(&bytes));
        let Some(settings) = settings else {
            return Some("git's configuration, which cannot be read here".to_owned());
        };
        let harmful =
            settings.iter().find(|setting| !setting.is_harmless() && !self.stays_inside(at, setting))?;
        Some(format!(
            "git's configuration with {}, which can run programs or reach other files",
            harmful.key()
        ))
    }

    /// A submodule's configuration names its work tree. One that is git's own folder would be written over.
    fn stays_inside(&self, at: &Path, setting: &config::Setting) -> bool {
        let Some((path, git)) = setting.is(&["core.worktree"]).zip(at.parent()) else { return false };
        let Some(resolved) = self.tree.resolve(&git.join(path)) else { return false };
        let is_of_git = resolved.ancestors().any(|folder| self.git_folders.contains(folder));
        !is_of_git && self.guard.roots.iter().any(|root| resolved.starts_with(root))
    }

    fn commondir(&self, at: &Path) -> Option<String> {
        let named = self.tree.bytes(at).zip(at.parent());
        self.leads_to_no_repository(at, named.and_then(|(bytes, git)| pointer::of_commondir(&bytes, git)))
    }

    fn pointer(&self, at: &Path) -> Option<Verdict> {
        let what = match self.tree.look(at) {
            Entry::Missing | Entry::Folder => None,
            Entry::Link(to) if self.guard.links.contains(&(at.to_owned(), to.clone())) => None,
            Entry::Link(_) => Some("git would follow it to another repository".to_owned()),
            Entry::Shut => Some("it cannot be looked at".to_owned()),
            Entry::File if self.guard.covered.contains(at) => None,
            Entry::File => {
                let named = self.tree.bytes(at).zip(at.parent());
                self.leads_to_no_repository(
                    at,
                    named.and_then(|(bytes, folder)| pointer::of_git_file(&bytes, folder)),
                )
            }
        };
        what.map(|what| Verdict { path: at.to_owned(), what, set_aside: true })
    }

    /// Where it leads to one that was found, that one is judged by itself.
    fn leads_to_no_repository(&self, at: &Path, to: Option<PathBuf>) -> Option<String> {
        if self.tree.names(at) > 1 {
            return Some("it can be changed by another name later".to_owned());
        }
        let to = to.as_deref().and_then(|to| self.tree.resolve(to));
        let is_judged = to.is_some_and(|to| self.git_folders.contains(&to));
        (!is_judged).then(|| "it leads git to a folder that is no repository here".to_owned())
    }

    /// Work of git's that was begun and not ended.
    fn under_way(&self, git: &Path) -> Vec<Verdict> {
        let all = TODO.iter().map(|name| git.join(name)).filter(|at| self.is_changed(at));
        all.map(|path| {
            let runs = self.tree.bytes(&path).is_none_or(|text| runs_a_program(&text));
            let what = match runs {
                true => "git runs programs it names when it is told to go on",
                false => "git was left in the middle of something, and goes on with what it lists",
            };
            Verdict { path, what: what.to_owned(), set_aside: runs }
        })
        .collect()
    }

    fn read_by_itself(&self, at: &Path) -> Option<Verdict> {
        let is_covered = at
            .ancestors()
            .take(2)
            .any(|at| self.guard.covered.contains(at) && !self.guard.roots.iter().any(|root| root == at));
        let is_new = !self.guard.before.contains(at);
        if is_covered || !is_new && !self.is_changed_within(at) {
            return None;
        }
        let how = if is_new { "" } else { "it was changed; " };
        let what = format!("{how}shells and editors read it by themselves; look at it first");
        Some(Verdict { path: at.to_owned(), what, set_aside: false })
    }

    /// Whether anything in it has changed. What is too much to look at counts as changed.
    fn is_changed_within(&self, at: &Path) -> bool {
        let mut left = vec![at.to_owned()];
        let mut seen = 0;
        while let Some(at) = left.pop() {
            seen += 1;
            if seen > LOOKED_AT_MAX || self.is_changed(&at) {
                return true;
            }
            if self.tree.look(&at) == Entry::Folder {
                left.extend(self.tree.list(&at).unwrap_or_default().iter().map(|(name, _)| at.join(name)));
            }
        }
        false
    }
}

/// `exec` and `x` are the lines that do.
fn runs_a_program(todo: &[u8]) -> bool {
    todo.split(|byte| *byte == b'\n').any(|line| {
        let word =
            line.trim_ascii_start().split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        word == b"x" || word.starts_with(b"exec")
    })
}
