//! Which entries a search may find.

use std::collections::BTreeMap;
use std::fmt;

/// Which entries may be found.
#[derive(Clone, Copy)]
pub enum Filter<'a> {
    Every,
    Among(&'a IdSet),
    /// Asked only of entries that would be found.
    Where(&'a dyn Fn(u64) -> bool),
}

impl Filter<'_> {
    pub(crate) fn allows(&self, id: u64) -> bool {
        match self {
            Filter::Every => true,
            Filter::Among(ids) => ids.contains(id),
            Filter::Where(allows) => allows(id),
        }
    }
}

impl fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::Every => f.write_str("Every"),
            Filter::Among(ids) => write!(f, "Among({} ids)", ids.len()),
            Filter::Where(_) => f.write_str("Where(..)"),
        }
    }
}

const PAGE_BITS: u32 = 12;

/// A set of entry ids: one bit each, in pages of 4096 ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet {
    pages: BTreeMap<u64, Box<[u64; 64]>>,
    len: usize,
}

impl IdSet {
    pub fn insert(&mut self, id: u64) {
        let (page, word, bit) = place(id);
        let words = self.pages.entry(page).or_insert_with(|| Box::new([0; 64]));
        self.len += usize::from(words[word] & bit == 0);
        words[word] |= bit;
    }

    pub fn contains(&self, id: u64) -> bool {
        let (page, word, bit) = place(id);
        self.pages.get(&page).is_some_and(|words| words[word] & bit != 0)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.pages.iter().flat_map(|(page, words)| {
            (0..1_u64 << PAGE_BITS)
                .filter(|low| words[(low >> 6) as usize] >> (low & 63) & 1 == 1)
                .map(move |low| page << PAGE_BITS | low)
        })
    }
}

impl FromIterator<u64> for IdSet {
    fn from_iter<T: IntoIterator<Item = u64>>(ids: T) -> IdSet {
        let mut set = IdSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

fn place(id: u64) -> (u64, usize, u64) {
    (id >> PAGE_BITS, (id >> 6 & 63) as usize, 1 << (id & 63))
}
