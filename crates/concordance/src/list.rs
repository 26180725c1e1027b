//! The entries of one part of the index that have one term, in memory.
//!
//! A part has at most 65,536 entries, numbered from 0 ("docs"), so that a doc is two bytes. A list that many docs are on is kept as four bits for
//! every doc of the part, whether on it or not: that is smaller, and answers how often a doc has the term by looking it up.

use crate::score::{Shares, TF_MAX};

/// Docs of one part: what two bytes can tell apart.
pub(crate) const DOCS_MAX: usize = 1 << 16;

/// The docs that have a term, and how often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) df: u32,
    /// The number of the term in its part.
    pub(crate) rank: u32,
    pub(crate) body: Body,
    /// For each `tf` the shortest class of a doc that has it so often; from these follows what the list can add at most.
    shortest: [Option<u8>; TF_MAX as usize + 1],
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Docs in order, and how often each has it.
    Sparse { docs: Vec<u16>, tfs: Vec<u8> },
    /// Two docs to a byte, the even one in the lower half; 0 is a doc that has it not.
    Dense { tfs: Vec<u8> },
}

/// Whether a list of `df` of `docs` docs is kept dense: two and a half bytes for each on it are more than half a byte for each there is.
pub(crate) fn is_dense(df: usize, docs: usize) -> bool {
    5 * df > docs
}

impl List {
    /// `lengths` has the class of every doc. The caller has seen to it that docs are in order and below its length, and no `tf` is 0 or above 15.
    pub(crate) fn sparse(rank: u32, docs: Vec<u16>, tfs: Vec<u8>, lengths: &[u8]) -> List {
        let mut list = List {
            df: docs.len() as u32,
            rank,
            body: Body::Sparse { docs: Vec::new(), tfs: Vec::new() },
            shortest: [None; 16],
        };
        docs.iter().zip(&tfs).for_each(|(doc, tf)| list.note(*tf, lengths[usize::from(*doc)]));
        list.body = Body::Sparse { docs, tfs };
        list
    }

    pub(crate) fn dense(rank: u32, df: u32, tfs: Vec<u8>, lengths: &[u8]) -> List {
        let mut shortest = [u16::MAX; 16];
        for (doc, class) in lengths.iter().enumerate() {
            let tf = dense_tf(&tfs, doc);
            shortest[usize::from(tf)] = shortest[usize::from(tf)].min(u16::from(*class));
        }
        shortest[0] = u16::MAX;
        let shortest = shortest.map(|class| u8::try_from(class).ok());
        List { df, rank, body: Body::Dense { tfs }, shortest }
    }

    fn note(&mut self, tf: u8, class: u8) {
        let shortest = &mut self.shortest[usize::from(tf & TF_MAX)];
        *shortest = Some(shortest.map_or(class, |known| known.min(class)));
    }

    /// The most the list can add to any doc.
    pub(crate) fn most(&self, weight: u32, shares: &Shares) -> u32 {
        let adds = |(tf, class): (usize, &Option<u8>)| class.map(|class| shares.add(weight, tf as u8, class));
        self.shortest.iter().enumerate().filter_map(adds).max().unwrap_or(0)
    }

    /// How often the doc has the term.
    pub(crate) fn tf_of(&self, doc: u16) -> u8 {
        match &self.body {
            Body::Dense { tfs } => dense_tf(tfs, usize::from(doc)),
            Body::Sparse { docs, tfs } => docs.binary_search(&doc).map_or(0, |at| tfs[at]),
        }
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<List>()
            + match &self.body {
                Body::Sparse { docs, tfs } => 2 * docs.len() + tfs.len(),
                Body::Dense { tfs } => tfs.len(),
            }
    }
}

#[inline(always)]
pub(crate) fn dense_tf(tfs: &[u8], doc: usize) -> u8 {
    tfs[doc >> 1] >> ((doc & 1) << 2) & 15
}
