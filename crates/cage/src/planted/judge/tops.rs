//! What git would run in work trees by settings that were there before: a work tree that is new has what they name anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::repositories::is_gits_data;
use super::super::{FromTop, Verdict};
use super::Judge;
use crate::policy::normal;
use crate::tree::Entry;

/// More is not looked at.
const PLACES_MAX: usize = 1_000_000;

/// A work tree, of a repository with settings that name something in it.
struct Top<'t> {
    at: &'t Path,
    is_new: bool,
    /// The work trees that the repository had before.
    before: &'t BTreeSet<PathBuf>,
    from_top: &'t FromTop,
}

impl Judge<'_> {
    pub(super) fn in_work_trees(&self) -> Vec<Verdict> {
        let none = BTreeSet::new();
        let mut all = Vec::new();
        let mut places = 0;
        for (git, tops) in self.repositories.each() {
            let before = self.guard.tops.get(git).unwrap_or(&none);
            let of_repository = self.guard.from_tops.get(git);
            for from_top in of_repository.into_iter().chain([&self.guard.from_every_top]) {
                for at in tops.iter().filter(|at| self.is_in_a_root(at)) {
                    places += from_top.hooks.len() + from_top.programs.len();
                    if places > PLACES_MAX {
                        let what = "it has more work trees than could be looked through for what git's settings name";
                        all.push(Verdict { path: at.clone(), what: what.to_owned(), set_aside: false });
                        return all;
                    }
                    let top = Top { at, is_new: !before.contains(at), before, from_top };
                    all.extend(self.hooks_in(&top));
                    all.extend(self.programs_in(&top));
                }
            }
        }
        all
    }

    /// Those of a work tree that was there before are covered, and made for the time of the run where they are missing.
    fn hooks_in(&self, top: &Top<'_>) -> Vec<Verdict> {
        let mut all = Vec::new();
        for named in top.from_top.hooks.iter().filter(|_| top.is_new) {
            let at = normal(&top.at.join(named));
            if self.tree.look(&at) == Entry::Missing || !self.can_be_new(&at) || self.is_empty(&at) {
                continue;
            }
            let is_known = |before: &PathBuf| self.is_same_folder(&normal(&before.join(named)), &at);
            if top.before.iter().any(is_known) {
                continue;
            }
            let what = "by settings that were there before, git runs what is in it".to_owned();
            if at != top.at && at.starts_with(top.at) {
                all.push(Verdict { path: at, what, set_aside: true });
            } else {
                // A whole work tree is not renamed; without its pointer it is none.
                let pointer = top.at.join(".git");
                let set_aside = self.tree.look(&pointer) == Entry::File && self.can_be_new(&pointer);
                all.push(Verdict { path: if set_aside { pointer } else { at }, what, set_aside });
            }
        }
        all
    }

    /// What was there before is covered. A word of a setting that is no path is most often no file either.
    fn programs_in(&self, top: &Top<'_>) -> Vec<Verdict> {
        let mut all = Vec::new();
        for named in &top.from_top.programs {
            let at = normal(&top.at.join(named));
            let is_there = matches!(self.tree.look(&at), Entry::File | Entry::Link(_));
            let is_in_it = at != top.at && at.starts_with(top.at) && !is_gits_data(top.at, &at, self.tree);
            if !is_there || !is_in_it || !self.can_be_new(&at) {
                continue;
            }
            let known = top.before.iter().map(|before| normal(&before.join(named)));
            let known: Vec<PathBuf> = known.filter(|known| self.guard.covered.contains(known)).collect();
            if known.iter().any(|known| self.is_same_file(known, &at)) {
                continue;
            }
            let is_a_path = named.components().count() > 1;
            let set_aside = is_a_path || top.is_new && !known.is_empty();
            let what = if set_aside {
                "by settings that were there before, git runs it"
            } else {
                "git's settings have a word of this name, and git may run it; look at it first"
            };
            all.push(Verdict { path: at, what: what.to_owned(), set_aside });
        }
        all
    }

    fn is_in_a_root(&self, at: &Path) -> bool {
        self.guard.roots.iter().any(|root| at.starts_with(root))
    }

    /// Whether the program could have put it there.
    fn can_be_new(&self, at: &Path) -> bool {
        let is_root = |at: &Path| self.guard.roots.iter().any(|root| root == at);
        let mut in_it = at.ancestors().take_while(|at| !is_root(at));
        let is_kept = in_it.any(|at| self.guard.covered.contains(at));
        self.is_in_a_root(at) && !is_kept && !self.is_a_tools_as_it_was(at)
    }

    fn is_empty(&self, at: &Path) -> bool {
        self.tree.look(at) == Entry::Folder && self.tree.list(at).is_some_and(|names| names.is_empty())
    }

    /// Whether it has nothing that one known before has not, byte for byte.
    fn is_same_folder(&self, known: &Path, at: &Path) -> bool {
        let is_covered = self.guard.covered.contains(known);
        let Some(names) = self.tree.list(at).filter(|_| self.tree.look(at) == Entry::Folder) else {
            return false;
        };
        is_covered && names.iter().all(|(name, _)| self.is_same_file(&known.join(name), &at.join(name)))
    }

    fn is_same_file(&self, known: &Path, at: &Path) -> bool {
        let is_plain = |at: &Path| self.tree.look(at) == Entry::File && self.tree.names(at) == 1;
        is_plain(known)
            && is_plain(at)
            && self.tree.bytes(known).is_some_and(|bytes| self.tree.bytes(at) == Some(bytes))
    }
}
