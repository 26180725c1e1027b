//! What is covered before a program starts.
//!
//! Whatever cannot be looked at, and could be changed by the program, is nothing that can be covered: then nothing is run.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::config::Setting;
use super::repositories::{Repositories, named_by, ways_of};
use super::search::{self, Found, search};
use super::{BEFORE, COMMON, Cover, Guard, OWN, Odd, Over, Placeholder, config};
use crate::tree::{Entry, Kind, Tree};

/// Where a program may write, and whose settings git takes there.
pub(crate) struct Ground<'g> {
    /// The writable folders.
    pub(crate) roots: &'g [PathBuf],
    /// The paths a policy speaks of by name, which stay as it says.
    pub(crate) granted: &'g BTreeSet<PathBuf>,
    /// Whose rights the program has: it can open again what it shut.
    pub(crate) uid: u32,
    /// The settings of whoever asks, which git takes in every repository.
    pub(crate) settings: &'g [PathBuf],
    /// Those of them that are in variables.
    pub(crate) given: &'g [Setting],
    pub(crate) home: Option<&'g Path>,
    pub(crate) tree: &'g dyn Tree,
}

/// What is found in the writable folders before a program starts.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    pub(crate) guard: Guard,
    pub(crate) covers: Vec<Cover>,
    /// What could not be covered wholly, for people.
    pub(crate) gaps: Vec<String>,
}

/// What cannot be covered at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uncovered {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

/// Git follows fewer.
const LINKS_MAX: usize = 40;

/// What is to be put where nothing is.
#[derive(Clone, Copy, Debug)]
pub(super) enum IfMissing {
    Nothing,
    Folder,
    File(&'static str),
}

pub(super) struct Layer<'g> {
    pub(super) ground: &'g Ground<'g>,
    pub(super) laid: Laid,
    placed: BTreeSet<PathBuf>,
    /// The folders among the covers.
    folders: BTreeSet<PathBuf>,
    /// How many places were looked at for programs that settings name.
    pub(super) places: usize,
}

impl Guard {
    pub(crate) fn of(ground: &Ground<'_>) -> Result<Laid, Uncovered> {
        let mut layer = Layer {
            ground,
            laid: Laid::default(),
            placed: BTreeSet::new(),
            folders: BTreeSet::new(),
            places: 0,
        };
        let mut all = Vec::new();
        for root in ground.roots {
            layer.laid.guard.roots.push(root.clone());
            let found = search(ground.tree, root, &|folder| ground.granted.contains(folder), BEFORE);
            layer.check(root, &found)?;
            all.push((root.as_path(), found));
        }
        let merged = all.iter().fold(Found::default(), |merged, (_, found)| merged.and(found.clone()));
        let repositories = Repositories::of(ground.roots, &merged, ground.tree);
        layer.laid.guard.tops = repositories.each().clone();
        for (root, found) in &all {
            layer.add(root, found, &repositories)?;
        }
        for git in repositories.led_to.iter().chain(&repositories.outside) {
            layer.git_folder(git, &repositories)?;
        }
        layer.settings_of_the_person(&repositories)?;
        Ok(layer.finish())
    }
}

impl Layer<'_> {
    fn finish(self) -> Laid {
        let mut laid = self.laid;
        let granted = self.ground.granted;
        laid.covers.retain(|cover| !granted.contains(&cover.at));
        laid.guard.placeholders.retain(|placeholder| !granted.contains(&placeholder.at));
        laid.covers
            .sort_by(|a, b| (a.at.components().count(), &a.at).cmp(&(b.at.components().count(), &b.at)));
        laid.covers.dedup_by(|a, b| a.at == b.at);
        laid.gaps.sort();
        laid.gaps.dedup();
        laid.guard.covered = laid.covers.iter().map(|cover| cover.at.clone()).collect();
        laid.guard.covered.extend(granted.iter().cloned());
        laid
    }

    /// Whether all of a folder was seen.
    fn check(&self, root: &Path, found: &Found) -> Result<(), Uncovered> {
        if !found.complete {
            let why = format!(
                "it has more than {} folders or {} repositories, or what they and other tools read comes to too much to look through before a start",
                BEFORE.folders_max, BEFORE.repositories_max
            );
            return Err(Uncovered { path: root.to_owned(), why });
        }
        found.shut.iter().try_for_each(|folder| self.check_shut(folder, folder))
    }

    /// What was shut by somebody else is shut for the program too.
    fn check_shut(&self, path: &Path, folder: &Path) -> Result<(), Uncovered> {
        let owner = folder.ancestors().find_map(|folder| self.ground.tree.owner(folder));
        match owner {
            Some(owner) if owner != self.ground.uid => Ok(()),
            _ => Err(Uncovered {
                path: path.to_owned(),
                why: "it cannot be looked into, and the program could open it again".to_owned(),
            }),
        }
    }

    fn add(&mut self, root: &Path, found: &Found, repositories: &Repositories) -> Result<(), Uncovered> {
        for git in &found.git_folders {
            self.git_folder(git, repositories)?;
        }
        for at in &found.pointers {
            self.laid.guard.before.insert(at.clone());
            match self.ground.tree.look(at) {
                Entry::Link(to) => {
                    self.laid.guard.links.push((at.clone(), to));
                    self.cover_links(at)?;
                }
                _ => self.put(at, IfMissing::Nothing)?,
            }
            if let Some(to) = named_by(at, self.ground.tree) {
                self.way(at, &to)?;
            }
        }
        self.laid.guard.odd.extend(found.odd.iter().filter_map(|at| Odd::at(at, self.ground.tree)));
        self.laid.guard.before.extend(found.shut.iter().cloned());
        for at in &found.read_by_themselves {
            self.laid.guard.before.insert(at.clone());
            // Beside a repository or at the top; elsewhere it is part of the work.
            let folder = search::folder_it_is_for(at);
            if folder == root || self.ground.tree.look(&folder.join(".git")) != Entry::Missing {
                self.put(at, IfMissing::Nothing)?;
            }
        }
        Ok(())
    }

    fn git_folder(&mut self, git: &Path, repositories: &Repositories) -> Result<(), Uncovered> {
        for name in ["info/attributes", "gitdir"] {
            self.put(&git.join(name), IfMissing::Nothing)?;
        }
        let shared = repositories.shared_by(git);
        if shared.is_none() {
            self.put(&git.join("hooks"), IfMissing::Folder)?;
            self.hooks_in(&git.join("hooks"))?;
            self.put(&git.join("config"), IfMissing::File(""))?;
        }
        // Git reads everything else from the folder this names; here it names its own.
        self.put(&git.join(COMMON), IfMissing::File(OWN))?;
        for (file, to) in ways_of(git, self.ground.tree) {
            self.way(&file, &to)?;
        }
        let repository = repositories.settings_for(git);
        let tops = repositories.tops(repository);
        let settings = self.follow(&git.join("config"), repository, &tops)?;
        let of_shared = match shared {
            Some(shared) => self.settings(&shared.join("config"))?,
            None => Vec::new(),
        };
        let own = git.join("config.worktree");
        let has_one = config::has_one_per_worktree(&settings) || config::has_one_per_worktree(&of_shared);
        if has_one || self.ground.tree.look(&own) != Entry::Missing {
            self.put(&own, IfMissing::File(""))?;
            self.follow(&own, repository, &tops)?;
        }
        Ok(())
    }

    /// What links among hooks lead to.
    pub(super) fn hooks_in(&mut self, folder: &Path) -> Result<(), Uncovered> {
        let (_, folder) = self.resolve(folder)?;
        for (name, kind) in self.ground.tree.list(&folder).unwrap_or_default() {
            match kind {
                Kind::Link => self.put(&folder.join(name), IfMissing::File(""))?,
                Kind::File => self.say_other_names(&folder.join(name)),
                Kind::Folder | Kind::Special => {}
            }
        }
        Ok(())
    }

    /// The writable folder that a path lies in; none where what is granted nearest is no such folder.
    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        let above = self.ground.granted.iter().filter(|granted| path.starts_with(granted));
        let nearest = above.max_by_key(|granted| granted.components().count())?;
        (self.ground.roots.contains(nearest) && nearest != path).then_some(nearest)
    }

    /// Covers what is at a path and whatever leads there, where it can be written; or what is put there.
    pub(super) fn put(&mut self, at: &Path, missing: IfMissing) -> Result<(), Uncovered> {
        let end = self.cover_links(at)?;
        let Some(root) = self.root_of(&end).cloned() else { return Ok(()) };
        match (self.ground.tree.look(&end), missing) {
            (Entry::Missing, IfMissing::Nothing) => {}
            (Entry::Missing, IfMissing::Folder) => self.put_there(&root, end, true, ""),
            (Entry::Missing, IfMissing::File(content)) => self.put_there(&root, end, false, content),
            (Entry::Shut, _) => self.check_shut(&end, end.parent().unwrap_or(&end))?,
            (Entry::Folder, IfMissing::Folder)
                if self.ground.tree.list(&end).is_some_and(|all| all.is_empty()) =>
            {
                self.put_there(&root, end, true, "");
            }
            // One of another cage's, or of one that was cut off, is there and may be gone in a moment.
            (Entry::File, IfMissing::File(content))
                if self.ground.tree.bytes(&end).is_some_and(|bytes| bytes == content.as_bytes()) =>
            {
                self.say_other_names(&end);
                self.put_there(&root, end, false, content);
            }
            (Entry::Folder, _) => self.cover(end, Over::Folder),
            (Entry::File | Entry::Link(_), _) => {
                self.say_other_names(&end);
                self.cover(end, Over::File);
            }
        }
        Ok(())
    }

    fn cover(&mut self, at: PathBuf, over: Over) {
        if over == Over::Folder {
            self.folders.insert(at.clone());
        }
        self.laid.covers.push(Cover { at, over });
    }

    /// Covers the links on the way to a path; gives where it leads in the end.
    fn cover_links(&mut self, at: &Path) -> Result<PathBuf, Uncovered> {
        let (links, end) = self.resolve(at)?;
        for link in links {
            let is_in_a_cover = link.ancestors().any(|folder| self.folders.contains(folder));
            if self.root_of(&link).is_some() && !is_in_a_cover {
                self.cover(link, Over::Link);
            }
        }
        Ok(end)
    }

    /// A file leads git to a path, which stays what it is; where that is in the end is kept, to be compared.
    fn way(&mut self, file: &Path, to: &Path) -> Result<(), Uncovered> {
        self.cover_links(to)?;
        let leads = self.laid.guard.leads.entry(file.to_owned()).or_default();
        leads.extend(self.ground.tree.resolve(to));
        Ok(())
    }

    /// What is put at a path, and the folders that are missing above it.
    fn put_there(&mut self, root: &Path, at: PathBuf, folder: bool, content: &str) {
        let tree = self.ground.tree;
        let above: Vec<&Path> = at
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != root && tree.look(folder) == Entry::Missing)
            .collect();
        let mut all: Vec<Placeholder> = above
            .into_iter()
            .rev()
            .map(|folder| Placeholder { at: folder.to_owned(), folder: true, content: String::new() })
            .collect();
        all.push(Placeholder { at: at.clone(), folder, content: content.to_owned() });
        for placeholder in all {
            if self.placed.insert(placeholder.at.clone()) {
                self.laid.guard.placeholders.push(placeholder);
            }
        }
        self.cover(at, if folder { Over::Folder } else { Over::File });
    }

    fn say_other_names(&mut self, at: &Path) {
        if self.root_of(at).is_some() && self.ground.tree.names(at) > 1 {
            self.laid.gaps.push(format!(
                "{} has another name (a hard link), by which it could still be changed: look at it afterwards",
                at.display()
            ));
        }
    }

    /// Where a path leads in the end, and every link on the way, each by where it really is. What is above a writable folder is taken as
    /// it is named.
    pub(super) fn resolve(&self, path: &Path) -> Result<(Vec<PathBuf>, PathBuf), Uncovered> {
        let root = self.root_of(path);
        let mut end = root.cloned().unwrap_or_else(|| PathBuf::from("/"));
        let mut parts = parts_of(root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path));
        let mut links = Vec::new();
        while let Some(part) = parts.pop_front() {
            if part == ".." {
                end.pop();
                continue;
            }
            let at = end.join(part);
            match self.ground.tree.look(&at) {
                Entry::Link(to) => {
                    if to.is_absolute() {
                        end = PathBuf::from("/");
                    }
                    let mut further = parts_of(&to);
                    further.append(&mut parts);
                    parts = further;
                    links.push(at);
                    if links.len() > LINKS_MAX {
                        let why = "it leads through links without end".to_owned();
                        return Err(Uncovered { path: path.to_owned(), why });
                    }
                }
                _ => end = at,
            }
        }
        Ok((links, end))
    }
}

/// Its names, and `..`.
fn parts_of(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}
