//! Commits of the configuration: people's, and ours on top of them.
//!
//! Settings in a clone can have git run programs: filters, above all. So git is never asked about the clone, and Nix, which runs git by itself, is not
//! either. Both are given an empty repository of ours that borrows the clone's objects. Trees are read and written as objects: nothing is checked
//! out and no file is added, so nothing is filtered. The clone itself is only read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use holdfast_git::{Ask, Borrowed, NotDone, head_of_ours};

use crate::overlay::{Module, setting_of};
use crate::place::Place;
use crate::room::Trouble;
use crate::store::Commit;

const MODULE_MAX: u64 = 64 << 10;
const MODULES_MAX: usize = 1024;
/// The same content is the same commit, whenever it is made.
const AUTHOR: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "holdfast"),
    ("GIT_AUTHOR_EMAIL", "holdfast@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "holdfast"),
    ("GIT_COMMITTER_EMAIL", "holdfast@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// The commit that people have checked out in their clone, which has to belong to us.
pub(crate) fn head(place: &Place) -> Result<Commit, Trouble> {
    let none = || Trouble::Odd(format!("{} has no commit yet", place.repository.display()));
    commit_of(&head_of_ours(&place.repository)?.ok_or_else(none)?)
}

/// A repository of ours with the clone's objects, at `place.borrowed()`. Removed when this is dropped.
pub(crate) struct Repository<'a> {
    place: &'a Place,
    borrowed: Borrowed,
}

impl Drop for Repository<'_> {
    fn drop(&mut self) {
        let _the_next_one_removes_it = fs::remove_dir_all(self.place.borrowed());
    }
}

/// An entry of a tree, as git lists it.
struct Entry {
    /// `100644 blob ID`
    what: String,
    size: Option<u64>,
    name: Vec<u8>,
}

impl Entry {
    fn id(&self) -> &str {
        self.what.rsplit(' ').next().unwrap_or_default()
    }

    fn is_ours(&self) -> bool {
        str::from_utf8(&self.name).is_ok_and(|name| setting_of(name).is_some())
    }

    fn is_module(&self) -> bool {
        let is_file = ["100644 blob ", "100755 blob "].iter().any(|kind| self.what.starts_with(kind));
        is_file && self.size.is_some_and(|size| size <= MODULE_MAX)
    }
}

impl<'a> Repository<'a> {
    pub(crate) fn borrow(place: &'a Place) -> Result<Repository<'a>, Trouble> {
        let own = place.borrowed();
        if fs::symlink_metadata(&own).is_ok() {
            // Left by something that was killed.
            fs::remove_dir_all(&own).map_err(Trouble::file("removing a repository of ours"))?;
        }
        fs::create_dir_all(&place.state).map_err(Trouble::file("making a folder of ours"))?;
        Ok(Repository { place, borrowed: Borrowed::in_folder(&place.repository, &own)? })
    }

    /// The modules of ours that a commit has. Nothing where the area is no folder, and a name where something else has a name of ours.
    pub(crate) fn modules(&self, commit: &Commit) -> Result<Result<Vec<Module>, String>, Trouble> {
        let Some(entries) = self.area(commit)? else {
            return Ok(Err(format!("{} is no folder of the repository", self.place.area.display())));
        };
        let ours: Vec<Entry> = entries.into_iter().filter(Entry::is_ours).collect();
        if ours.len() > MODULES_MAX {
            return Ok(Err(format!("{} has more than {MODULES_MAX} modules", self.place.area.display())));
        }
        let mut modules = Vec::new();
        for entry in ours {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let read = || self.ask(Ask::new("read a module", &["cat-file", "blob", entry.id()]));
            let text = if entry.is_module() { String::from_utf8(read()?).ok() } else { None };
            match text {
                Some(text) => modules.push(Module { name, text }),
                None => return Ok(Err(format!("{name} is no module of ours"))),
            }
        }
        Ok(Ok(modules))
    }

    /// A commit on top of this one with exactly these modules in the area, or this one where it has them already. Nothing where the area is no folder.
    pub(crate) fn commit_with(&self, people: &Commit, modules: &[Module]) -> Result<Option<Commit>, Trouble> {
        let Some(mut entries) = self.area(people)? else { return Ok(None) };
        entries.retain(|entry| !entry.is_ours());
        for module in modules {
            let ask = Ask {
                input: module.text.clone().into_bytes(),
                ..Ask::new("write a module", &["hash-object", "-w", "--no-filters", "--stdin"])
            };
            let what = format!("100644 blob {}", self.ask_id(ask)?);
            entries.push(Entry { what, size: None, name: module.name.clone().into_bytes() });
        }
        let mut folder = self.place.area.as_path();
        let mut tree = self.write_tree(&entries)?;
        while let (Some(name), Some(parent)) = (folder.file_name(), folder.parent()) {
            let mut siblings = self.entries(people, parent)?;
            siblings.retain(|entry| entry.name != name.as_bytes());
            // Git has no empty folders.
            if !entries.is_empty() {
                let name = name.as_bytes().to_vec();
                siblings.push(Entry { what: format!("040000 tree {tree}"), size: None, name });
            }
            tree = self.write_tree(&siblings)?;
            (folder, entries) = (parent, siblings);
        }
        let of_people = format!("{people}^{{tree}}");
        if tree == self.ask_id(Ask::new("read a commit", &["rev-parse", "--verify", &of_people]))? {
            return Ok(Some(people.clone()));
        }
        let args = ["commit-tree", "-p", people.as_str(), "-m", "holdfast: a candidate", tree.as_str()];
        let environment = AUTHOR.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        commit_of(&self.ask_id(Ask { environment, ..Ask::new("commit a candidate", &args) })?).map(Some)
    }

    /// Nothing where it is no folder. A link is none: it is not followed.
    fn area(&self, commit: &Commit) -> Result<Option<Vec<Entry>>, Trouble> {
        match self.entries(commit, &self.place.area) {
            Err(Trouble::Git(NotDone::Refused { .. })) => Ok(None),
            entries => entries.map(Some),
        }
    }

    fn entries(&self, commit: &Commit, folder: &Path) -> Result<Vec<Entry>, Trouble> {
        let tree = format!("{commit}:{}", folder.display());
        let said = self.ask(Ask::new("list a folder", &["ls-tree", "-z", "--long", &tree]))?;
        let odd = || Trouble::Odd("git lists a folder as it never does".to_owned());
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let head: Vec<&str> = str::from_utf8(&line[..tab]).ok()?.split_whitespace().collect();
            let [mode, kind, id, size] = head[..] else { return None };
            let what = format!("{mode} {kind} {id}");
            Some(Entry { what, size: size.parse().ok(), name: line[tab + 1..].to_vec() })
        };
        let lines = said.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines.map(|line| entry(line).ok_or_else(odd)).collect()
    }

    fn write_tree(&self, entries: &[Entry]) -> Result<String, Trouble> {
        let mut input = Vec::new();
        for entry in entries {
            input.extend([entry.what.as_bytes(), b"\t", &entry.name, b"\0"].concat());
        }
        self.ask_id(Ask { input, ..Ask::new("write a folder", &["mktree", "-z"]) })
    }

    fn ask(&self, ask: Ask<'_>) -> Result<Vec<u8>, Trouble> {
        Ok(self.borrowed.git().ask_bytes(ask)?)
    }

    fn ask_id(&self, ask: Ask<'_>) -> Result<String, Trouble> {
        let said = self.ask(ask)?;
        Ok(OsStr::from_bytes(said.trim_ascii()).to_string_lossy().into_owned())
    }
}

fn commit_of(text: &str) -> Result<Commit, Trouble> {
    Commit::try_from(text.to_owned()).map_err(|e| Trouble::Odd(e.to_string()))
}
