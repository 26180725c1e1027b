//! Lists that were used lately, up to a bound; also which words a segment does not have.
//!
//! Two generations: what is used goes into the young one, and when that is full the old one is dropped and the young one takes its place.

use std::collections::HashMap;
use std::sync::Arc;

use crate::list::List;

/// For each doc of the segment: 128 lists of the commonest words are this much. At 100,000 entries all caches together stay below 7 MB.
const BYTES_PER_DOC: usize = 64;

/// A small segment is cheap to keep whole.
const BYTES_MIN: usize = 256 << 10;

/// A key, an entry in the table and an `Arc`, beside the list itself.
const BYTES_PER_ITEM: usize = 96;

#[derive(Debug)]
pub(crate) struct Cache {
    young: HashMap<Box<str>, Option<Arc<List>>>,
    old: HashMap<Box<str>, Option<Arc<List>>>,
    young_bytes: usize,
    young_bytes_max: usize,
}

impl Cache {
    pub(crate) fn for_docs(docs: usize) -> Cache {
        let bytes = (docs * BYTES_PER_DOC).max(BYTES_MIN);
        Cache { young: HashMap::new(), old: HashMap::new(), young_bytes: 0, young_bytes_max: bytes / 2 }
    }

    /// What is known of a word: nothing, that it is not here, or its list.
    #[expect(clippy::option_option, reason = "not known, and known to be missing, are two answers")]
    pub(crate) fn get(&mut self, term: &str) -> Option<Option<Arc<List>>> {
        if let Some(known) = self.young.get(term) {
            return Some(known.clone());
        }
        let (term, known) = self.old.remove_entry(term)?;
        self.keep(term, known.clone());
        Some(known)
    }

    pub(crate) fn put(&mut self, term: &str, list: Option<Arc<List>>) {
        self.keep(term.into(), list);
    }

    fn keep(&mut self, term: Box<str>, list: Option<Arc<List>>) {
        let bytes = BYTES_PER_ITEM + list.as_ref().map_or(0, |list| list.bytes());
        if self.young_bytes + bytes > self.young_bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(term, list);
    }
}
