//! From a change to a built system: a commit with our modules in it, parsed, evaluated, compared with what was asked, and built.

use std::fs;
use std::path::PathBuf;

use holdfast_durable::Mode;
use holdfast_steward::com::{Com, Difference};
use holdfast_steward::setting::Change;

use crate::machine::Machine;
use crate::overlay::{Module, Overlay, setting_of};
use crate::reading;
use crate::room::{Manifest, Trouble};
use crate::step::Step;
use crate::store::{Commit, StorePath};
use crate::target::Target;

const MODULE_MAX: u64 = 64 << 10;
const MODULES_MAX: usize = 1024;

/// A candidate that cannot be: what is wrong with it, for whoever proposed it.
#[derive(Debug)]
pub(crate) enum NotBuilt {
    Wrong(String),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for NotBuilt {
    fn from(trouble: T) -> NotBuilt {
        NotBuilt::Trouble(trouble.into())
    }
}

impl<M: Machine> Target<'_, M> {
    /// What runs, from what people wrote: the clone's own commit has to build exactly that.
    pub(crate) fn adopt(&self, running: &StorePath) -> Result<Manifest, NotBuilt> {
        let people = self.commit_of(Step::Head)?;
        let overlay = self.in_tree(&people, |target| target.found_overlay())?;
        let link = self.place.state.join("adopted");
        let built = self.build(&people, &link)?;
        let _ = fs::remove_file(&link);
        if built != *running {
            return Err(NotBuilt::Wrong(format!(
                "what runs is not what {} builds at {people}; bring it up to date with what was deployed",
                self.place.repository.display()
            )));
        }
        let com = self.evaluate(&people)?;
        let baseline = if overlay.is_empty() {
            com.clone()
        } else {
            self.evaluate(&self.assemble(&people, &Overlay::default())?)?
        };
        Ok(Manifest { system: built, people, overlay, com, baseline })
    }

    /// The same people's commit with these changes in it, judged and built.
    pub(crate) fn candidate(
        &self,
        base: &Manifest,
        changes: &[Change],
        link: &PathBuf,
    ) -> Result<Manifest, NotBuilt> {
        let overlay = base.overlay.with(changes, |setting| base.baseline.value(setting));
        let overlay = overlay.map_err(|e| NotBuilt::Wrong(e.to_string()))?;
        let commit = self.assemble(&base.people, &overlay)?;
        let com = self.evaluate(&commit)?;
        is_what_was_asked(&base.com, &com, changes).map_err(NotBuilt::Wrong)?;
        let system = self.build(&commit, link)?;
        Ok(Manifest { system, people: base.people.clone(), overlay, com, baseline: base.baseline.clone() })
    }

    /// Whether the whole would fit together; nothing is built.
    pub(crate) fn check_candidate(&self, base: &Manifest, changes: &[Change]) -> Result<(), NotBuilt> {
        let overlay = base.overlay.with(changes, |setting| base.baseline.value(setting));
        let commit = self.assemble(&base.people, &overlay.map_err(|e| NotBuilt::Wrong(e.to_string()))?)?;
        let com = self.evaluate(&commit)?;
        is_what_was_asked(&base.com, &com, changes).map_err(NotBuilt::Wrong)?;
        self.or_wrong(Step::FlakeCheck { commit }, "nix flake check").map(drop)
    }

    /// A commit on top of this one, with exactly these modules in the area. The same twice is one commit.
    fn assemble(&self, people: &Commit, overlay: &Overlay) -> Result<Commit, NotBuilt> {
        let modules = overlay.modules().map_err(|e| NotBuilt::Wrong(e.to_string()))?;
        self.in_tree(people, |target| {
            target.write_area(&modules)?;
            target.must(Step::TrackArea, "git add")?;
            let tree = target.commit_of(Step::WriteTree)?;
            if tree == target.commit_of(Step::TreeOf { commit: people.clone() })? {
                return Ok(people.clone());
            }
            let commit = target.commit_of(Step::CommitTree { tree, parent: people.clone() })?;
            target.must(Step::Remember { commit: commit.clone() }, "git update-ref")?;
            Ok(commit)
        })
    }

    /// Does something in a clean tree of this commit, which is gone afterwards whatever came of it.
    fn in_tree<T>(
        &self,
        commit: &Commit,
        doing: impl FnOnce(&Self) -> Result<T, NotBuilt>,
    ) -> Result<T, NotBuilt> {
        self.clear_tree()?;
        self.must(Step::AddTree { commit: commit.clone() }, "git worktree add")?;
        let done = doing(self);
        self.clear_tree()?;
        done
    }

    fn clear_tree(&self) -> Result<(), Trouble> {
        let tree = self.place.tree();
        if fs::symlink_metadata(&tree).is_ok() {
            // One that git does not know of is left over from something that was killed.
            self.machine.run(self.place, &Step::RemoveTree)?;
            if fs::symlink_metadata(&tree).is_ok() {
                fs::remove_dir_all(&tree).map_err(Trouble::file("removing a tree of ours"))?;
            }
        }
        Ok(())
    }

    /// The area in the tree, wherever links lead: a place outside is none.
    fn area(&self) -> Result<PathBuf, NotBuilt> {
        let (tree, area) = (self.place.tree(), self.place.tree().join(&self.place.area));
        let real = |path: &PathBuf| {
            fs::canonicalize(path).map_err(Trouble::file(format!("reading {}", path.display())))
        };
        let (tree, real) = (real(&tree)?, real(&area)?);
        if real != tree.join(&self.place.area) || !real.is_dir() {
            return Err(NotBuilt::Wrong(format!(
                "{} is no folder of the repository",
                self.place.area.display()
            )));
        }
        Ok(real)
    }

    /// What people's own commit already has of ours.
    fn found_overlay(&self) -> Result<Overlay, NotBuilt> {
        let mut modules = Vec::new();
        for (path, name) in self.ours(&self.area()?)? {
            let length = fs::symlink_metadata(&path).map_err(Trouble::file("reading the area"))?;
            if !length.is_file() || length.len() > MODULE_MAX {
                return Err(NotBuilt::Wrong(format!("{name} is no module of ours")));
            }
            let text = fs::read_to_string(&path).map_err(Trouble::file("reading the area"))?;
            modules.push(Module { name, text });
        }
        Overlay::of_modules(&modules)
            .map_err(|name| NotBuilt::Wrong(format!("somebody edited {name}, which has a name of ours")))
    }

    /// Files of the area with a name that is ours.
    fn ours(&self, area: &PathBuf) -> Result<Vec<(PathBuf, String)>, Trouble> {
        let mut all = Vec::new();
        for entry in fs::read_dir(area).map_err(Trouble::file("reading the area"))?.take(MODULES_MAX) {
            let entry = entry.map_err(Trouble::file("reading the area"))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if setting_of(&name).is_some() {
                all.push((entry.path(), name));
            }
        }
        Ok(all)
    }

    fn write_area(&self, modules: &[Module]) -> Result<(), NotBuilt> {
        let area = self.area()?;
        for (path, _) in self.ours(&area)? {
            fs::remove_file(&path).map_err(Trouble::file(format!("removing {}", path.display())))?;
        }
        for module in modules {
            let path = area.join(&module.name);
            holdfast_durable::replace(&path, module.text.as_bytes(), Mode::Readable)
                .map_err(Trouble::file(format!("writing {}", path.display())))?;
            self.or_wrong(Step::Parse { file: path }, "nix-instantiate --parse")?;
        }
        Ok(())
    }

    fn evaluate(&self, commit: &Commit) -> Result<Com, NotBuilt> {
        let memory = self.must(Step::Memory, "reading the memory")?;
        let total = reading::memory_total(&memory)
            .ok_or_else(|| Trouble::Odd("no size of memory is said".to_owned()))?;
        let text = self.or_wrong(Step::Evaluate { commit: commit.clone() }, "nix eval")?;
        reading::com(&text, total).map_err(NotBuilt::Wrong)
    }

    fn build(&self, commit: &Commit, link: &PathBuf) -> Result<StorePath, NotBuilt> {
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder).map_err(Trouble::file("making a folder for what is built"))?;
        }
        self.or_wrong(Step::Build { commit: commit.clone(), link: link.clone() }, "nix build")?;
        let built = fs::read_link(link).map_err(Trouble::file("reading what was built"))?;
        let system = StorePath::parse(&self.place.store, &built.to_string_lossy());
        Ok(system.map_err(|e| Trouble::Odd(e.to_string()))?)
    }

    fn commit_of(&self, step: Step) -> Result<Commit, Trouble> {
        let said = self.must(step, "git")?;
        Commit::try_from(said.trim().to_owned()).map_err(|e| Trouble::Odd(e.to_string()))
    }

    /// A step whose failing is the candidate's fault.
    fn or_wrong(&self, step: Step, what: &'static str) -> Result<String, NotBuilt> {
        let said = self.machine.run(self.place, &step)?;
        match said.code {
            0 => Ok(said.text),
            _ => Err(NotBuilt::Wrong(format!("{what}: {}", said.why()))),
        }
    }
}

/// What the evaluation gives differs in exactly what was asked for.
fn is_what_was_asked(before: &Com, after: &Com, changes: &[Change]) -> Result<(), String> {
    for change in changes {
        let now = after.value(&change.setting);
        if now != change.to {
            return Err(format!(
                "{} comes to {now} and not to {}: something stronger says so",
                change.setting, change.to
            ));
        }
    }
    for difference in before.differences(after) {
        let is_asked = |to: &Change| changes.iter().any(|it| it.setting == to.setting && it.to == to.to);
        if !matches!(&difference, Difference::Setting(change) if is_asked(change)) {
            return Err(format!("more changes than was asked for: {difference}"));
        }
    }
    Ok(())
}
