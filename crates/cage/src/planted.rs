//! What a program could leave behind that others run outside later: hooks, git's configuration, and what editors and
//! shells read by themselves.
//!
//! Whoever may write a repository's own folder can make every later `git status` of its owner run something. So what is
//! there when the cage is made is covered read-only ([`Guard::of`]); names that are missing, and that git would read, are
//! made for the time of the run and covered too; and repositories that come to be inside are judged when the program has
//! ended ([`judge`]): what git would run is set aside under another name, and said. Git's everyday work (objects, refs,
//! index, HEAD, logs) stays open.

mod config;
mod search;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use search::{Bounds, Found, search};

use crate::policy::normal;
use crate::tree::{Entry, Tree};

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

/// How far is looked before a program starts: it waits for that.
const BEFORE: Bounds = Bounds { folders_max: 20_000, repositories_max: 200, filled_by_tools: false };
/// How far is looked when it has ended: as far as its use of the disk is added up.
pub const AFTER: Bounds = Bounds { folders_max: 200_000, repositories_max: 20_000, filled_by_tools: true };

/// What is found in the writable folders before a program starts.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    pub(crate) guard: Guard,
    pub(crate) covers: Vec<Cover>,
    /// What could not be covered wholly, for people.
    pub(crate) gaps: Vec<String>,
}

impl Guard {
    /// Of folders that may be written; `granted` are the paths a policy speaks of by name, which stay as it says.
    pub(crate) fn of(roots: &[PathBuf], granted: &BTreeSet<PathBuf>, tree: &dyn Tree) -> Laid {
        let mut laid = Laid::default();
        for root in roots {
            laid.guard.roots.push(root.clone());
            let found = search(tree, root, &|folder| granted.contains(folder), BEFORE);
            if !found.complete {
                laid.gaps.push(format!(
                    "{} has more than {} folders or {} repositories: what lies deeper is not covered, and is looked into \
                     when the program has ended",
                    root.display(),
                    BEFORE.folders_max,
                    BEFORE.repositories_max
                ));
            }
            laid.add(root, &found, tree);
        }
        laid.covers.retain(|cover| !granted.contains(&cover.at));
        laid.guard.placeholders.retain(|placeholder| !granted.contains(&placeholder.at));
        laid.covers
            .sort_by(|a, b| (a.at.components().count(), &a.at).cmp(&(b.at.components().count(), &b.at)));
        laid.covers.dedup_by(|a, b| a.at == b.at);
        laid.guard.covered = laid.covers.iter().map(|cover| cover.at.clone()).collect();
        laid.guard.covered.extend(granted.iter().cloned());
        laid
    }
}

impl Guard {
    /// Every path in it.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let links = self.links.iter().flat_map(|(at, to)| [at.as_path(), to.as_path()]);
        let placeholders = self.placeholders.iter().map(|placeholder| placeholder.at.as_path());
        let all = self.roots.iter().chain(&self.covered).chain(&self.before).map(PathBuf::as_path);
        all.chain(placeholders).chain(links)
    }
}

impl Laid {
    fn add(&mut self, root: &Path, found: &Found, tree: &dyn Tree) {
        for git in &found.git_folders {
            self.git_folder(root, git, found, tree);
        }
        for at in &found.pointers {
            self.guard.before.insert(at.clone());
            match tree.look(at) {
                Entry::Link(to) => self.guard.links.push((at.clone(), to)),
                _ => self.cover(at, tree),
            }
        }
        self.guard.before.extend(found.shut.iter().cloned());
        for at in &found.read_by_themselves {
            self.guard.before.insert(at.clone());
            // Beside a repository or at the top; elsewhere it is part of the work.
            let folder = at.parent().unwrap_or(root);
            let is_beside = folder == root || tree.look(&folder.join(".git")) != Entry::Missing;
            if is_beside {
                self.cover(at, tree);
            }
        }
    }

    fn git_folder(&mut self, root: &Path, git: &Path, found: &Found, tree: &dyn Tree) {
        let is_of_a_worktree = is_of_a_worktree(git, found, tree);
        let config = tree.text(&git.join("config")).unwrap_or_default();
        let shared = || {
            git.ancestors().nth(2).and_then(|shared| tree.text(&shared.join("config"))).unwrap_or_default()
        };
        let one_per_worktree = config::has_one_per_worktree(&config)
            || is_of_a_worktree && config::has_one_per_worktree(&shared());
        for name in ["info/attributes", "gitdir"] {
            self.cover(&git.join(name), tree);
        }
        if !is_of_a_worktree {
            self.keep(git, "hooks", true, "", tree);
            self.keep(git, "config", false, "", tree);
        }
        // Git reads everything else from the folder this names; here it names its own.
        self.keep(git, COMMON, false, OWN, tree);
        if one_per_worktree || tree.look(&git.join("config.worktree")) != Entry::Missing {
            self.keep(git, "config.worktree", false, "", tree);
        }
        let Some((includes, hooks)) = config::leads(&config) else {
            self.gaps.push(format!(
                "{} is not understood: what it leads git to is not covered",
                git.join("config").display()
            ));
            return;
        };
        let top = if git.file_name().is_some_and(|name| name == ".git") { git.parent() } else { None };
        let includes = includes.iter().map(|path| git.join(path));
        let hooks = hooks.iter().map(|path| top.unwrap_or(git).join(path));
        for lead in includes.chain(hooks).map(|path| normal(&path)) {
            self.lead(root, &lead, tree);
        }
    }

    /// What a configuration leads to, where that can be written.
    fn lead(&mut self, root: &Path, lead: &Path, tree: &dyn Tree) {
        if !lead.starts_with(root) || lead == root {
            return;
        }
        let above = lead.ancestors().skip(1).take_while(|folder| *folder != root);
        if above.into_iter().any(|folder| matches!(tree.look(folder), Entry::Link(_))) {
            self.gaps.push(format!("git reads {} through a link, which is not covered", lead.display()));
        } else {
            self.cover(lead, tree);
        }
    }

    /// Covers what is there, or what is put there.
    fn keep(&mut self, git: &Path, name: &str, folder: bool, content: &str, tree: &dyn Tree) {
        let at = git.join(name);
        // One of another cage's, or of one that was cut off, is there and may be gone in a moment.
        let is_placeholder = name == COMMON && tree.text(&at).is_some_and(|text| text == content);
        if is_placeholder || tree.look(&at) == Entry::Missing {
            let over = if folder { Over::Folder } else { Over::File };
            self.covers.push(Cover { at: at.clone(), over });
            self.guard.placeholders.push(Placeholder { at, folder, content: content.to_owned() });
        } else {
            self.cover(&at, tree);
        }
    }

    fn cover(&mut self, at: &Path, tree: &dyn Tree) {
        let over = match tree.look(at) {
            Entry::Missing => return,
            Entry::Folder => Over::Folder,
            Entry::File => Over::File,
            Entry::Link(_) => Over::Link,
        };
        if over == Over::File && tree.names(at) > 1 {
            self.gaps.push(format!(
                "{} has another name (a hard link), by which it could still be changed: look at it afterwards",
                at.display()
            ));
        }
        self.covers.push(Cover { at: at.to_owned(), over });
    }
}

/// Whether a folder of git's is the part of a repository that belongs to one of its work trees: only then does git take
/// hooks and configuration from elsewhere. A repository of its own may lie in a folder of that name too.
fn is_of_a_worktree(git: &Path, found: &Found, tree: &dyn Tree) -> bool {
    let is_among_them =
        git.parent().is_some_and(|all| all.file_name().is_some_and(|name| name == "worktrees"));
    let shared =
        git.ancestors().nth(2).is_some_and(|shared| found.git_folders.iter().any(|git| git == shared));
    is_among_them && shared && tree.text(&git.join(COMMON)).is_some_and(|text| text.trim_end() == "../..")
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

/// What of everything found now git, shells and editors would run by themselves. Repositories in which nothing has
/// changed since the program began (seconds of the file system's clock) are as they were.
pub fn judge(guard: &Guard, found: &Found, tree: &dyn Tree, since: i64) -> Vec<Verdict> {
    let git_folders = found.git_folders.iter().filter_map(|git| tree.resolve(git)).collect();
    let judge = Judge { guard, tree, git_folders };
    let touched = found.git_folders.iter().filter(|git| judge.is_touched(git, since));
    let of_git = touched.flat_map(|git| judge.git_folder(git));
    let pointers = found.pointers.iter().filter_map(|at| judge.pointer(at));
    let read = found.read_by_themselves.iter().filter(|at| !guard.before.contains(*at)).map(|at| Verdict {
        path: at.clone(),
        what: "shells and editors read it by themselves; look at it first".to_owned(),
        set_aside: false,
    });
    of_git.chain(pointers).chain(read).collect()
}

struct Judge<'g> {
    guard: &'g Guard,
    tree: &'g dyn Tree,
    /// Every one that was found, links followed.
    git_folders: BTreeSet<PathBuf>,
}

impl Judge<'_> {
    /// Whether it came to be what it is, or anything that git would run in it.
    fn is_touched(&self, git: &Path, since: i64) -> bool {
        let parts = ["", "HEAD", "objects", "refs", "commondir", "hooks", "config", "config.worktree"];
        let hooks = self.tree.list(&git.join("hooks")).unwrap_or_default();
        let hooks = hooks.iter().map(|(name, _)| git.join("hooks").join(name));
        let mut all = parts.iter().map(|name| git.join(name)).chain(hooks);
        all.any(|path| self.tree.changed(&path).is_some_and(|changed| changed >= since))
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
        let settings = self.tree.text(at).and_then(|text| config::read(&text));
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

    /// A submodule's configuration names its work tree.
    fn stays_inside(&self, at: &Path, setting: &config::Setting) -> bool {
        let Some((path, git)) = setting.is("core.worktree").zip(at.parent()) else { return false };
        let resolved = self.tree.resolve(&git.join(path));
        resolved.is_some_and(|path| self.guard.roots.iter().any(|root| path.starts_with(root)))
    }

    fn commondir(&self, at: &Path) -> Option<String> {
        let named = self.tree.text(at).zip(at.parent()).map(|(text, git)| git.join(text.trim_end()));
        self.leads_to_no_repository(at, named)
    }

    fn pointer(&self, at: &Path) -> Option<Verdict> {
        let what = match self.tree.look(at) {
            Entry::Missing | Entry::Folder => None,
            Entry::Link(to) if self.guard.links.contains(&(at.to_owned(), to.clone())) => None,
            Entry::Link(_) => Some("git would follow it to another repository".to_owned()),
            Entry::File if self.guard.covered.contains(at) => None,
            Entry::File => {
                let text = self.tree.text(at);
                let named = text.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
                let named = named.zip(at.parent()).map(|(path, folder)| folder.join(path.trim()));
                self.leads_to_no_repository(at, named)
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
}

#[cfg(test)]
mod tests;
