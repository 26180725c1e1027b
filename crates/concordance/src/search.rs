//! The best entries of one part of the index, without looking at all of them.
//!
//! Each list has a bound: what it can add to any entry. Lists whose bounds together do not reach the worst entry found so far cannot bring in an
//! entry by themselves (they are *idle*); only entries on one of the others (*driving*) are looked at, and the idle lists are
//! asked about those alone, the strongest first, as long as the entry could still get in. The part is walked in windows whose sums fit in the
//! processor's nearest cache. As parts and entries come in the order of their ids, an entry that only ties with the worst has the larger id
//! and stays out: what is found is exactly what looking at everything would find.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::filter::Filter;
use crate::list::{Body, List};
use crate::score::{Score, Shares};

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    pub id: u64,
    pub score: Score,
}

/// What a search needs of a segment, or of the entries in none.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) ids: Arc<[u64]>,
    pub(crate) lengths: Arc<[u8]>,
    /// One for each term of the question.
    pub(crate) lists: Vec<Option<Arc<List>>>,
}

/// The best so far, at most so many.
#[derive(Debug)]
pub(crate) struct Top {
    /// The worst of them first: of two with one score that with the larger id.
    heap: BinaryHeap<(Reverse<u32>, u64)>,
    most: usize,
}

impl Top {
    pub(crate) fn new(most: usize) -> Top {
        Top { heap: BinaryHeap::with_capacity(most + 1), most }
    }

    /// An entry that comes after all others has to have more than this.
    fn threshold(&self) -> u32 {
        if self.heap.len() < self.most {
            0
        } else {
            self.heap.peek().map_or(u32::MAX, |(Reverse(score), _)| *score)
        }
    }

    pub(crate) fn put(&mut self, score: u32, id: u64) {
        self.heap.push((Reverse(score), id));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// The best first; of two with one score the smaller id.
    pub(crate) fn into_hits(self) -> Vec<Hit> {
        let best_first = self.heap.into_sorted_vec();
        best_first.into_iter().map(|(Reverse(score), id)| Hit { id, score: Score(score) }).collect()
    }
}

/// Docs of a window: their sums are 16 KB.
const WINDOW: usize = 4096;

struct Clause<'a> {
    body: &'a Body,
    weight: u32,
    /// What it adds at most, and what it and all before it do.
    most: u32,
    most_upto: u32,
    /// Docs of a sparse list before this are done with.
    at: usize,
}

/// Sums of one window.
pub(crate) struct Sums {
    sums: [u32; WINDOW],
    touched: [u64; WINDOW / 64],
}

impl Sums {
    pub(crate) fn new() -> Box<Sums> {
        Box::new(Sums { sums: [0; WINDOW], touched: [0; WINDOW / 64] })
    }
}

/// Puts the best entries of the part among the best of those before it.
pub(crate) fn search_part(
    part: &Part,
    weights: &[u32],
    shares: &Shares,
    filter: Filter<'_>,
    top: &mut Top,
    sums: &mut Sums,
) {
    let mut clauses = clauses_of(part, weights, shares);
    let docs = part.lengths.len();
    for base in (0..docs).step_by(WINDOW) {
        let idle = clauses.partition_point(|clause| clause.most_upto <= top.threshold());
        if idle == clauses.len() {
            return;
        }
        let (idle, driving) = clauses.split_at_mut(idle);
        let window = base..(base + WINDOW).min(docs);
        driving.iter_mut().for_each(|clause| drive(clause, window.clone(), &part.lengths, shares, sums));
        collect(base, part, idle, shares, filter, top, sums);
    }
}

/// The weakest first.
fn clauses_of<'a>(part: &'a Part, weights: &[u32], shares: &Shares) -> Vec<Clause<'a>> {
    let clause = |(list, weight): (&'a Option<Arc<List>>, &u32)| {
        let list = list.as_deref()?;
        let most = list.most(*weight, shares);
        Some(Clause { body: &list.body, weight: *weight, most, most_upto: 0, at: 0 })
    };
    let mut clauses: Vec<Clause<'_>> = part.lists.iter().zip(weights).filter_map(clause).collect();
    clauses.sort_by_key(|clause| clause.most);
    let mut upto = 0;
    for clause in &mut clauses {
        upto += clause.most;
        clause.most_upto = upto;
    }
    clauses
}

/// Adds what the list gives to the docs of a window.
fn drive(
    clause: &mut Clause<'_>,
    window: std::ops::Range<usize>,
    lengths: &[u8],
    shares: &Shares,
    sums: &mut Sums,
) {
    let weight = clause.weight;
    match clause.body {
        Body::Sparse { docs, tfs } => {
            let until = clause.at + docs[clause.at..].partition_point(|doc| usize::from(*doc) < window.end);
            for (doc, tf) in docs[clause.at..until].iter().zip(&tfs[clause.at..until]) {
                let doc = usize::from(*doc);
                let slot = (doc - window.start) % WINDOW;
                sums.sums[slot] += shares.add(weight, *tf, lengths[doc]);
                sums.touched[slot / 64] |= 1 << (slot % 64);
            }
            clause.at = until;
        }
        Body::Dense { tfs } => {
            let bytes = &tfs[window.start / 2..window.end.div_ceil(2)];
            for (at, (pair, lengths)) in bytes.iter().zip(lengths[window].chunks(2)).enumerate() {
                for (tf, (slot, length)) in [pair & 15, pair >> 4].into_iter().zip((2 * at..).zip(lengths)) {
                    sums.sums[slot % WINDOW] += shares.add(weight, tf, *length);
                    sums.touched[slot / 64 % (WINDOW / 64)] |= u64::from(tf != 0) << (slot % 64);
                }
            }
        }
    }
}

/// Looks at every doc of the window that a driving list has.
fn collect(
    base: usize,
    part: &Part,
    idle: &mut [Clause<'_>],
    shares: &Shares,
    filter: Filter<'_>,
    top: &mut Top,
    sums: &mut Sums,
) {
    let mut threshold = top.threshold();
    let idle_most = idle.last().map_or(0, |clause| clause.most_upto);
    for word in 0..WINDOW / 64 {
        let mut bits = std::mem::take(&mut sums.touched[word]);
        while bits != 0 {
            let slot = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let sum = std::mem::take(&mut sums.sums[slot]);
            if sum + idle_most <= threshold {
                continue;
            }
            let doc = base + slot;
            let score = complete(sum, doc, part.lengths[doc], idle, shares, threshold);
            if score > threshold && filter.allows(part.ids[doc]) {
                top.put(score, part.ids[doc]);
                threshold = top.threshold();
            }
        }
    }
}

/// Adds what the idle lists give to a doc, until it is whole or cannot get in any more.
fn complete(
    mut sum: u32,
    doc: usize,
    length: u8,
    idle: &mut [Clause<'_>],
    shares: &Shares,
    threshold: u32,
) -> u32 {
    for clause in idle.iter_mut().rev() {
        if sum + clause.most_upto <= threshold {
            return 0;
        }
        let tf = match clause.body {
            Body::Dense { tfs } => crate::list::dense_tf(tfs, doc),
            Body::Sparse { docs, tfs } => {
                clause.at = advance(docs, clause.at, doc as u16);
                if docs.get(clause.at) == Some(&(doc as u16)) { tfs[clause.at] } else { 0 }
            }
        };
        sum += shares.add(clause.weight, tf, length);
    }
    sum
}

/// The first place from `at` on whose doc is not before this one: in growing steps, then by halves.
fn advance(docs: &[u16], at: usize, doc: u16) -> usize {
    let mut step = 1;
    let mut low = at;
    while docs.get(low + step - 1).is_some_and(|found| *found < doc) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(docs.len()).max(low);
    low + docs[low..high].partition_point(|found| *found < doc)
}

/// What one doc comes to.
pub(crate) fn score_of(part: &Part, doc: u16, weights: &[u32], shares: &Shares) -> Score {
    let length = part.lengths[usize::from(doc)];
    let add = |(list, weight): (&Option<Arc<List>>, &u32)| {
        list.as_ref().map_or(0, |list| shares.add(*weight, list.tf_of(doc), length))
    };
    Score(part.lists.iter().zip(weights).map(add).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advancing_finds_what_a_plain_search_finds() {
        let docs: Vec<u16> = (0..300).map(|n| n * 3).collect();
        for at in [0, 1, 7, 150, 299, 300] {
            for doc in (0..905).filter(|doc| at == 0 || docs.get(at).is_none_or(|here| *doc >= *here)) {
                let expected = at.max(docs.partition_point(|found| *found < doc));
                assert_eq!(advance(&docs, at, doc), expected, "from {at} to {doc}");
            }
        }
        assert_eq!(advance(&[], 0, 5), 0);
    }

    #[test]
    fn the_worst_goes_first_and_of_equals_the_larger_id() {
        let mut top = Top::new(2);
        [(5, 1), (7, 9), (5, 0), (7, 3)].into_iter().for_each(|(score, id)| top.put(score, id));
        let hits: Vec<(u64, u32)> = top.into_hits().iter().map(|hit| (hit.id, hit.score.0)).collect();
        assert_eq!(hits, [(3, 7), (9, 7)]);
    }
}
