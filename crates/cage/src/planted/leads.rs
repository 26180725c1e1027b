//! What git's settings lead it to: files it takes further settings from, folders of hooks, programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::FromTop;
use super::config::{self, Setting};
use super::cover::{IfMissing, Layer, Uncovered};
use super::repositories::{Repositories, is_gits_data};
use crate::tree::Entry;

const INCLUDES: &[&str] = &["include.path", "includeif.path"];
const HOOKS: &[&str] = &["core.hookspath", "init.templatedir"];

/// Git stops where files of settings include others deeper than this.
const DEPTH_MAX: usize = 10;
/// Nobody has more files of settings.
const INCLUDES_MAX: usize = 1000;
/// Nobody's settings and work trees come to more places to look at.
const PLACES_MAX: usize = 1_000_000;

/// In whose work trees a setting holds.
struct Reach<'r> {
    /// The work trees that are there.
    tops: Vec<PathBuf>,
    /// The repository it is of; none for the settings of whoever asks.
    repository: Option<&'r Path>,
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

    /// Covers what a file of settings of a repository leads to in its work trees; gives what it says.
    pub(super) fn follow(
        &mut self,
        at: &Path,
        repository: &Path,
        tops: &BTreeSet<PathBuf>,
    ) -> Result<Vec<Setting>, Uncovered> {
        let reach = Reach { tops: self.there(tops), repository: Some(repository) };
        self.follow_file(at, &reach)
    }

    fn follow_file(&mut self, at: &Path, reach: &Reach<'_>) -> Result<Vec<Setting>, Uncovered> {
        // Each is read once, also where it includes itself by another name; what it includes depends on where it is named.
        let mut known = BTreeSet::new();
        let mut files = vec![(at.to_owned(), 0)];
        let mut all = Vec::new();
        while let Some((file, depth)) = files.pop() {
            let from = file.parent().unwrap_or(&file);
            let (from, end) = (self.resolve(from)?.1, self.resolve(&file)?.1);
            if !known.insert((end, from.clone())) {
                continue;
            }
            if known.len() > INCLUDES_MAX {
                let why = format!("it includes more than {INCLUDES_MAX} other files of settings");
                return Err(Uncovered { path: at.to_owned(), why });
            }
            for setting in self.settings(&file)? {
                if let Some(path) = setting.is(INCLUDES) {
                    let include = self.expanded(path, &from)?;
                    self.put(&include, IfMissing::File(""))?;
                    if depth < DEPTH_MAX {
                        files.push((include, depth + 1));
                    }
                }
                self.follow_setting(&setting, reach)?;
                all.push(setting);
            }
        }
        Ok(all)
    }

    fn follow_setting(&mut self, setting: &Setting, reach: &Reach<'_>) -> Result<(), Uncovered> {
        if let Some(path) = setting.is(HOOKS) {
            self.note(reach, |from_top| &mut from_top.hooks, path);
            for top in &reach.tops {
                let folder = self.expanded(path, top)?;
                self.put(&folder, IfMissing::Folder)?;
                self.hooks_in(&folder)?;
            }
        } else if !setting.is_harmless() && setting.is(INCLUDES).is_none() {
            self.programs(setting, reach)?;
        }
        Ok(())
    }

    /// Keeps what a setting names from the top of a work tree: there may be more work trees when the program has ended.
    fn note(&mut self, reach: &Reach<'_>, which: fn(&mut FromTop) -> &mut BTreeSet<PathBuf>, path: &Path) {
        let is_from_top = path.is_relative() && !path.to_string_lossy().starts_with(['~', '%']);
        // What cannot be passed on is covered where it is, and not looked for elsewhere.
        if !is_from_top || path.to_str().is_none() {
            return;
        }
        let guard = &mut self.laid.guard;
        let from_top = match reach.repository {
            Some(repository) => guard.from_tops.entry(repository.to_owned()).or_default(),
            None => &mut guard.from_every_top,
        };
        which(from_top).insert(path.to_owned());
    }

    fn there(&self, tops: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        tops.iter().filter(|top| self.ground.tree.look(top) == Entry::Folder).cloned().collect()
    }

    /// What a setting may run in a work tree, where it is there.
    fn programs(&mut self, setting: &Setting, reach: &Reach<'_>) -> Result<(), Uncovered> {
        for word in setting.words().filter(|word| setting.may_run(word)) {
            self.note(reach, |from_top| &mut from_top.programs, word);
            for top in &reach.tops {
                self.places += 1;
                if self.places > PLACES_MAX {
                    let why = "git's settings name too much in too many work trees to look at".to_owned();
                    return Err(Uncovered { path: top.clone(), why });
                }
                // A word of a shell's line need not be a path.
                let Ok(at) = self.expanded(word, top) else { continue };
                let (_, end) = self.resolve(&at)?;
                if self.ground.tree.look(&end) == Entry::File && !is_gits_data(top, &at, self.ground.tree) {
                    self.put(&at, IfMissing::Nothing)?;
                }
            }
        }
        Ok(())
    }

    /// A path as git takes it.
    fn expanded(&self, path: &Path, from: &Path) -> Result<PathBuf, Uncovered> {
        let unknown = |why: String| Err(Uncovered { path: path.to_owned(), why });
        let first = path.components().next().map(|part| part.as_os_str().to_string_lossy());
        match (first.as_deref(), self.ground.home) {
            (Some("~"), Some(home)) => Ok(home.join(path.strip_prefix("~").unwrap_or(path))),
            (Some("~"), None) => Ok(from.join(path)),
            (Some("%(prefix)"), _) => {
                unknown("git's settings name it below git's own folder, which is not known here".to_owned())
            }
            (Some(user), _) if user.starts_with('~') => match self.home_of(&user[1..]) {
                Some(home) => Ok(home.join(path.strip_prefix(user).unwrap_or(path))),
                None => unknown(format!(
                    "git's settings name it in the home of {}, who is not known here",
                    &user[1..]
                )),
            },
            _ => Ok(from.join(path)),
        }
    }

    fn home_of(&self, user: &str) -> Option<PathBuf> {
        let bytes = self.ground.tree.bytes(Path::new("/etc/passwd"))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let home = lines.find(|fields| fields.first() == Some(&user))?.get(5)?.to_string();
        Some(PathBuf::from(home))
    }

    /// Git takes these in every repository.
    pub(super) fn settings_of_the_person(&mut self, repositories: &Repositories) -> Result<(), Uncovered> {
        let reach = Reach { tops: self.there(&repositories.all_tops()), repository: None };
        for settings in self.ground.settings {
            self.put(settings, IfMissing::File(""))?;
            self.follow_file(settings, &reach)?;
        }
        for setting in self.ground.given {
            if let Some(path) = setting.is(INCLUDES) {
                // Git takes no relative one from a variable.
                let include = self.expanded(path, Path::new("/"))?;
                self.put(&include, IfMissing::File(""))?;
                self.follow_file(&include, &reach)?;
            }
            self.follow_setting(setting, &reach)?;
        }
        Ok(())
    }
}
