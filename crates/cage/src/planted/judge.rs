//! What a program left behind, judged by what git, shells and editors would run of it.

mod tops;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::repositories::{Repositories, led_to, named_by, named_pointer, named_work_trees, ways_of};
use super::search::{is_filled_by_a_tool, shared_folders};
use super::{COMMON, Found, Guard, LOOKED_AT_MAX, Odd, Recent, Verdict, config, pointer};
use crate::policy::normal;
use crate::tree::{Entry, Kind, Tree};

/// Folders in which git keeps what it does next, when it is told to go on: lists of what to do, and the strategies, options and
/// commands to do it with.
const UNDER_WAY: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
/// Folders in which a file is an address that git fetches from, named as one that is configured.
const ADDRESSES: &[&str] = &["remotes", "branches"];
/// What of everything found now git, shells and editors would run by themselves, or would write to. Repositories in which
/// nothing has changed since the program began (nanoseconds of the file system's clock) are as they were.
pub fn judge(guard: &Guard, found: &Found, tree: &dyn Tree, since: i64, recent: &Recent) -> Vec<Verdict> {
    let git_folders: BTreeSet<PathBuf> =
        found.git_folders.iter().filter_map(|git| tree.resolve(git)).collect();
    // What was led to before is used by git whatever became of it.
    let leading = found.git_folders.iter().filter(|git| guard.covered.contains(&git.join(COMMON)));
    let mut led_to = shared_folders(leading, tree);
    led_to.retain(|git| guard.roots.iter().any(|root| git.starts_with(root)) && !git_folders.contains(git));
    let repositories = Repositories::of(&guard.roots, found, tree);
    let judge = Judge { guard, tree, git_folders, led_to, repositories, since, recent };
    let all_gits: Vec<&PathBuf> = found.git_folders.iter().chain(&judge.led_to).collect();
    let mut all: Vec<Verdict> = found.odd.iter().filter_map(|at| judge.odd(at)).collect();
    for git in all_gits.iter().filter(|git| judge.is_touched(git)) {
        all.extend(judge.git_folder(git));
    }
    all.extend(all_gits.iter().flat_map(|git| judge.ways(git)));
    all.extend(found.pointers.iter().filter_map(|at| judge.pointer(at)));
    all.extend(all_gits.iter().flat_map(|git| judge.under_way(git)));
    all.extend(all_gits.iter().flat_map(|git| judge.addresses(git)));
    all.extend(judge.in_work_trees());
    all.extend(found.read_by_themselves.iter().filter_map(|at| judge.read_by_itself(at)));
    let mut known = BTreeSet::new();
    all.retain(|verdict| known.insert(verdict.path.clone()));
    all
}

struct Judge<'g> {
    guard: &'g Guard,
    tree: &'g dyn Tree,
    /// Every one that was found, links followed.
    git_folders: BTreeSet<PathBuf>,
    /// Folders that git takes settings from although they are no repositories.
    led_to: BTreeSet<PathBuf>,
    repositories: Repositories,
    since: i64,
    /// What was changed after that moment and before the program.
    recent: &'g Recent,
}

impl Judge<'_> {
    fn is_changed(&self, path: &Path) -> bool {
        self.tree.changed(path).is_some_and(|changed| changed >= self.since)
            && !self.recent.is_as_it_was(path, self.tree)
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
        [COMMON, "hooks", "config", "config.worktree"].into_iter().filter_map(of).collect()
    }

    /// A link, a pipe, a socket or a device in a folder of git's, unless it was there before.
    fn odd(&self, at: &Path) -> Option<Verdict> {
        let now = Odd::at(at, self.tree)?;
        if self.guard.odd.contains(&now) || self.is_a_tools_as_it_was(at) {
            return None;
        }
        let what = match now.to {
            Some(_) => "git would follow it, and write to where it leads",
            None => "git would wait for it, or talk to whoever has made it",
        };
        Some(Verdict { path: at.to_owned(), what: what.to_owned(), set_aside: true })
    }

    /// What lies in a folder that was not looked through before is as it was if nothing on the way to it has changed.
    fn is_a_tools_as_it_was(&self, at: &Path) -> bool {
        let root = self.guard.roots.iter().find(|root| at.starts_with(root));
        root.is_some_and(|root| {
            let mut on_the_way = at.ancestors().take_while(|folder| is_filled_by_a_tool(root, folder));
            is_filled_by_a_tool(root, at) && !on_the_way.any(|folder| self.is_changed(folder))
        })
    }

    /// Where git is led to: that may have become another place, also where the file that says it has not changed.
    fn ways(&self, git: &Path) -> Vec<Verdict> {
        let ways = ways_of(git, self.tree).into_iter();
        let changed = ways.filter(|(file, to)| !self.leads_as_before(file, to));
        let what = "it leads git to another place than before";
        changed.map(|(path, _)| Verdict { path, what: what.to_owned(), set_aside: true }).collect()
    }

    /// Whether something leads to where it led, or to just what it names.
    fn leads_as_before(&self, file: &Path, to: &Path) -> bool {
        match self.tree.resolve(to) {
            Some(now) => {
                now == normal(to) || self.guard.leads.get(file).is_some_and(|before| before.contains(&now))
            }
            None => !normal(to).ancestors().any(|at| matches!(self.tree.look(at), Entry::Link(_))),
        }
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
        let named = git.join(path);
        // A link on the way could lead elsewhere by the next run.
        let Some(resolved) = self.tree.resolve(&named).filter(|to| *to == normal(&named)) else {
            return false;
        };
        let is_of_git = resolved.ancestors().any(|folder| self.git_folders.contains(folder));
        !is_of_git && self.guard.roots.iter().any(|root| resolved.starts_with(root))
    }

    fn commondir(&self, at: &Path) -> Option<String> {
        let named = self.tree.bytes(at).zip(at.parent());
        self.leads_to_no_repository(at, named.and_then(|(bytes, git)| pointer::of_commondir(&bytes, git)))
    }

    fn pointer(&self, at: &Path) -> Option<Verdict> {
        let before = || named_by(at, self.tree).is_none_or(|to| self.leads_as_before(at, &to));
        let what = match self.tree.look(at) {
            Entry::Missing | Entry::Folder => None,
            Entry::Link(to) if self.guard.links.contains(&(at.to_owned(), to.clone())) => {
                (!before()).then(|| "it leads git to another place than before".to_owned())
            }
            Entry::Link(_) => Some("git would follow it to another repository".to_owned()),
            Entry::Shut => Some("it cannot be looked at".to_owned()),
            Entry::File if self.guard.covered.contains(at) => {
                (!before()).then(|| "it leads git to another place than before".to_owned())
            }
            Entry::File => {
                let named = self.tree.bytes(at).zip(at.parent());
                let to = named.and_then(|(bytes, folder)| pointer::of_git_file(&bytes, folder));
                self.leads_to_no_repository(at, to).or_else(|| self.leads_to_anothers(at))
            }
        };
        what.map(|what| Verdict { path: at.to_owned(), what, set_aside: true })
    }

    /// With a second work tree that it does not know of, what a repository's settings name would be looked for in another
    /// place. One that came to be with it has no such settings.
    fn leads_to_anothers(&self, at: &Path) -> Option<String> {
        let git = led_to(at, self.tree)?;
        let was_there = self.guard.tops.contains_key(self.repositories.settings_for(&git));
        let resolved = |path: Option<&Path>| path.and_then(|path| self.tree.resolve(path));
        let is_its = |to: Option<PathBuf>, of: Option<&Path>| {
            resolved(to.as_deref()).is_some_and(|to| Some(to) == resolved(of))
        };
        let is_own = is_its(named_pointer(&git, self.tree), Some(at))
            || named_work_trees(&git, self.tree).into_iter().any(|(_, to)| is_its(Some(to), at.parent()));
        (was_there && !is_own)
            .then(|| "it makes git use a repository that belongs to another folder".to_owned())
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
        let folders = UNDER_WAY.iter().map(|name| git.join(name));
        let there = folders.filter(|at| self.tree.look(at) == Entry::Folder && self.is_changed_within(at));
        let what = "git was left in the middle of something, and runs what is named in it when it is told to go on; to go \
                    on, look at it and give it its name back";
        there.map(|path| Verdict { path, what: what.to_owned(), set_aside: true }).collect()
    }

    /// Addresses in files of their own, as git had them before it had a configuration.
    fn addresses(&self, git: &Path) -> Vec<Verdict> {
        let folders = ADDRESSES.iter().map(|name| git.join(name));
        let files = folders.flat_map(|folder| {
            let names = self.tree.list(&folder).unwrap_or_default();
            let is_changed = self.is_changed(&folder);
            names.into_iter().map(move |(name, _)| (folder.join(name), is_changed))
        });
        let new = files.filter(|(at, is_changed)| *is_changed || self.is_changed(at));
        let what = "git takes an address from it, which may name a program";
        new.map(|(path, _)| Verdict { path, what: what.to_owned(), set_aside: true }).collect()
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
