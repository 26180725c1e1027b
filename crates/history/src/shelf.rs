//! Objects that were made and are not in the repository yet, and the names of all that were ever made.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_types::Timestamp;

use crate::object::{Commit, Entry, Object, Oid, Signer};

#[derive(Debug)]
pub(crate) struct Shelf {
    /// `name <address>`.
    who: String,
    signer: Option<Box<dyn Signer + Send>>,
    /// Each once. What was stored before is here again when it is made again: nobody says that the repository still has what nothing
    /// leads to any more.
    fresh: Vec<Object>,
    fresh_ids: BTreeSet<Oid>,
    /// Nothing was taken off yet: every object that follows from the records is here.
    whole: bool,
    known: BTreeSet<Oid>,
}

impl Shelf {
    pub(crate) fn new(who: String, signer: Option<Box<dyn Signer + Send>>) -> Shelf {
        Shelf {
            who,
            signer,
            fresh: Vec::new(),
            fresh_ids: BTreeSet::new(),
            whole: true,
            known: BTreeSet::new(),
        }
    }

    pub(crate) fn knows(&self, id: Oid) -> bool {
        self.known.contains(&id)
    }

    pub(crate) fn fresh(&self) -> &[Object] {
        &self.fresh
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// They are in the repository now.
    pub(crate) fn stored(&mut self) {
        if !self.fresh.is_empty() {
            (self.fresh, self.fresh_ids, self.whole) = (Vec::new(), BTreeSet::new(), false);
        }
    }

    pub(crate) fn blob(&mut self, text: &str) -> Entry {
        Entry::File(self.put(Object::blob(text)))
    }

    pub(crate) fn folder(&mut self, entries: &BTreeMap<String, Entry>) -> Entry {
        Entry::Folder(self.tree(entries))
    }

    pub(crate) fn tree(&mut self, entries: &BTreeMap<String, Entry>) -> Oid {
        self.put(Object::tree(entries))
    }

    pub(crate) fn commit(&mut self, tree: Oid, parent: Option<Oid>, at: Timestamp, message: &str) -> Oid {
        let commit = Commit { tree, parent, at, who: &self.who, message };
        let object = Object::commit(&commit, self.signer.as_deref().map(|signer| signer as &dyn Signer));
        self.put(object)
    }

    fn put(&mut self, object: Object) -> Oid {
        let id = object.id;
        self.known.insert(id);
        if self.fresh_ids.insert(id) {
            self.fresh.push(object);
        }
        id
    }
}
