//! What a repository should hold, from all records of a house: every line, the branches of open episodes, and the notes.

use std::collections::BTreeMap;

use holdfast_lifeline::TargetName;
use holdfast_steward::event::Record;
use holdfast_types::Timestamp;

use crate::line::{Deed, Line, Written};
use crate::object::{Entry, Object, Oid, Signer};
use crate::shelf::Shelf;
use crate::text;

/// References by their whole names.
pub type Refs = BTreeMap<String, Oid>;

pub const MAIN: &str = "refs/heads/main";
pub const DEPLOYED: &str = "refs/heads/deployed/";
pub const STEWARD: &str = "refs/heads/steward/";
pub const NOTES: &str = "refs/notes/commits";

#[derive(Debug)]
pub struct Book {
    shelf: Shelf,
    root: Option<(Entry, Oid)>,
    lines: BTreeMap<TargetName, Line>,
    notes: Notes,
}

impl Book {
    /// An empty one of the house with this name. Without a signer it tells the same story under other names.
    pub fn new(instance: &str, signer: Option<Box<dyn Signer + Send>>) -> Book {
        let shelf = Shelf::new(format!("holdfast <{}>", address(instance)), signer);
        Book { shelf, root: None, lines: BTreeMap::new(), notes: Notes::default() }
    }

    /// Takes in the next record, in the order of the journal.
    pub fn take(&mut self, seq: u64, target: &TargetName, record: &Record) {
        let (front, root) = *self.root.get_or_insert_with(|| begin(&mut self.shelf, record.wall));
        let line = self.lines.entry(target.clone()).or_insert_with(|| Line::new(target.clone(), front, root));
        let noted = line.take(&Written { seq, record }, &mut self.shelf);
        if let Some(deed) = noted.and_then(|index| line.deeds().get(index)) {
            self.notes.put(deed, record.wall, &mut self.shelf);
        }
    }

    /// Where everything should stand.
    pub fn refs(&self) -> Refs {
        let mut refs = Refs::new();
        refs.extend(self.root.map(|(_, root)| (MAIN.to_owned(), root)));
        for (target, line) in &self.lines {
            refs.extend(line.tip().map(|tip| (format!("{DEPLOYED}{target}"), tip)));
            refs.extend(line.branch().map(|(episode, commit)| (format!("{STEWARD}{episode}"), commit)));
        }
        refs.extend(self.notes.tip.map(|tip| (NOTES.to_owned(), tip)));
        refs
    }

    /// Whether it ever had an object of this name.
    pub fn knows(&self, id: Oid) -> bool {
        self.shelf.knows(id)
    }

    /// What was made since it was last stored.
    pub fn fresh(&self) -> &[Object] {
        self.shelf.fresh()
    }

    /// Whether everything that follows from the records is still at hand.
    pub fn is_whole(&self) -> bool {
        self.shelf.is_whole()
    }

    pub fn stored(&mut self) {
        self.shelf.stored();
    }

    /// What is in force on each target, commit by commit, oldest first.
    pub fn deeds(&self) -> impl Iterator<Item = (&TargetName, &[Deed])> {
        self.lines.iter().map(|(target, line)| (target, line.deeds()))
    }
}

/// Who commits, and whose signature is looked for.
pub fn address(instance: &str) -> String {
    format!("steward@{instance}")
}

fn begin(shelf: &mut Shelf, at: Timestamp) -> (Entry, Oid) {
    let front = shelf.blob(text::FRONT);
    let tree = shelf.tree(&BTreeMap::from([("README.md".to_owned(), front)]));
    (front, shelf.commit(tree, None, at, text::ROOT))
}

/// What came of each commit, as `git log` shows it. In folders by the first two digits, so that one more note rewrites little.
#[derive(Debug, Default)]
struct Notes {
    folders: BTreeMap<String, BTreeMap<String, Entry>>,
    tip: Option<Oid>,
}

impl Notes {
    fn put(&mut self, deed: &Deed, at: Timestamp, shelf: &mut Shelf) {
        let text = shelf.blob(&text::note(&deed.notes));
        let name = deed.commit.to_string();
        let (folder, rest) = name.split_at(2);
        self.folders.entry(folder.to_owned()).or_default().insert(rest.to_owned(), text);
        let mut top = BTreeMap::new();
        for (name, notes) in &self.folders {
            let folder = shelf.folder(notes);
            top.insert(name.clone(), folder);
        }
        let tree = shelf.tree(&top);
        self.tip = Some(shelf.commit(tree, self.tip, at, "What came of it\n"));
    }
}
