//! From a change to a built system: a commit with our modules in it, parsed, evaluated, compared with what was asked, and built.

use std::fs;
use std::path::PathBuf;

use holdfast_steward::com::{Com, Difference};
use holdfast_steward::setting::Change;

use crate::machine::Machine;
use crate::overlay::Overlay;
use crate::reading;
use crate::repository::{Repository, head};
use crate::room::{Manifest, Trouble};
use crate::step::Step;
use crate::store::{Commit, StorePath};
use crate::target::Target;

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
        let people = head(self.place)?;
        let repository = Repository::borrow(self.place)?;
        let overlay = found_overlay(&repository, &people)?;
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
            self.evaluate(&self.assemble(&repository, &people, &Overlay::default())?)?
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
        let repository = Repository::borrow(self.place)?;
        let commit = self.assemble(&repository, &base.people, &overlay)?;
        let com = self.evaluate(&commit)?;
        is_what_was_asked(&base.com, &com, changes).map_err(NotBuilt::Wrong)?;
        let system = self.build(&commit, link)?;
        Ok(Manifest { system, people: base.people.clone(), overlay, com, baseline: base.baseline.clone() })
    }

    /// Whether the whole would fit together; nothing is built.
    pub(crate) fn check_candidate(&self, base: &Manifest, changes: &[Change]) -> Result<(), NotBuilt> {
        let overlay = base.overlay.with(changes, |setting| base.baseline.value(setting));
        let overlay = overlay.map_err(|e| NotBuilt::Wrong(e.to_string()))?;
        let repository = Repository::borrow(self.place)?;
        let commit = self.assemble(&repository, &base.people, &overlay)?;
        let com = self.evaluate(&commit)?;
        is_what_was_asked(&base.com, &com, changes).map_err(NotBuilt::Wrong)?;
        self.or_wrong(Step::FlakeCheck { commit }, "nix flake check").map(drop)
    }

    /// A commit on top of this one, with exactly these modules in the area. The same twice is one commit.
    fn assemble(
        &self,
        repository: &Repository<'_>,
        people: &Commit,
        overlay: &Overlay,
    ) -> Result<Commit, NotBuilt> {
        let modules = overlay.modules().map_err(|e| NotBuilt::Wrong(e.to_string()))?;
        for module in &modules {
            let file = self.place.borrowed().join(&module.name);
            fs::write(&file, &module.text).map_err(Trouble::file(format!("writing {}", file.display())))?;
            self.or_wrong(Step::Parse { file }, "nix-instantiate --parse")?;
        }
        let no_area =
            || NotBuilt::Wrong(format!("{} is no folder of the repository", self.place.area.display()));
        repository.commit_with(people, &modules)?.ok_or_else(no_area)
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

    /// A step whose failing is the candidate's fault.
    fn or_wrong(&self, step: Step, what: &'static str) -> Result<String, NotBuilt> {
        let said = self.machine.run(self.place, &step)?;
        match said.code {
            0 => Ok(said.text),
            _ => Err(NotBuilt::Wrong(format!("{what}: {}", said.why()))),
        }
    }
}

/// What people's own commit already has of ours.
fn found_overlay(repository: &Repository<'_>, people: &Commit) -> Result<Overlay, NotBuilt> {
    let modules = repository.modules(people)?.map_err(NotBuilt::Wrong)?;
    Overlay::of_modules(&modules)
        .map_err(|name| NotBuilt::Wrong(format!("somebody edited {name}, which has a name of ours")))
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
