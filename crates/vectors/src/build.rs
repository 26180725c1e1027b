//! Making the graph: rows are taken in batch after batch, each linked to near rows that lie in different directions.
//!
//! A batch is looked up in the graph as it was before the batch, by all threads at once; then links are set both ways, target by target.
//! Nothing depends on which thread was first, so the same rows give the same graph on any machine with any number of threads.
//!
//! Rows whose codes cannot be told apart ("twins": the same text remembered twice) would link to each other alone and be cut off
//! from the rest. One of them stands in the graph for all, and the others hang on it in a chain.

use std::num::NonZeroUsize;

use crate::beam::{Beam, Graph, Keep};
use crate::code::Probe;
use crate::error::Error;
use crate::layout::{DEGREE, NO_LINK};
use crate::measure::Means;
use crate::search::seeds;
use crate::shelf::Shelf;
use crate::spread::spread;

/// Rows the walk keeps while building; docs/formats/vectors.md says what came of it.
const BUILD_WIDTH: usize = 96;

/// Links chosen for a row. What is left of [`DEGREE`] is for a twin and for rows that would otherwise not be reached.
const CHOSEN: usize = DEGREE - 2;

/// Links a row may have while others are being made: choosing anew at every link too many would be most of the work.
const LOOSE: usize = DEGREE + DEGREE / 2;

/// A link is left out when some nearer chosen row is closer to its end by this factor (of squared distances). 1 keeps few long links; more
/// keeps more of them.
const APART: f32 = 1.2;

/// Rows of a batch, as part of those that are in already: they do not see each other, which few must not notice.
const BATCH_PART: usize = 16;
const BATCH_MAX: usize = 4096;

/// Links that are known from an earlier graph over some of the rows, [`DEGREE`] a row, [`NO_LINK`] where there is none. A row that has too few of
/// them is taken in anew.
#[derive(Debug)]
pub(crate) struct Known(pub(crate) Vec<u32>);

/// Below this many known links a row is taken in anew.
const KNOWN_MIN: usize = DEGREE / 4;

/// The links of every row, [`DEGREE`] a row. `go_on` is asked now and then; when it says no, the work is given up.
pub(crate) fn build(
    shelf: &Shelf,
    known: Option<Known>,
    threads: NonZeroUsize,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<u32>, Error> {
    let twins = Twins::of(shelf);
    let mut making = Making::new(shelf);
    let mut waiting = making.take_over(known, &twins);
    let begin: Vec<u32> = seeds(shelf.rows()).map(|row| twins.stands_for(row)).collect();
    sort_for_taking(&mut waiting, &begin);
    let mut done = shelf.rows() as usize - waiting.len() - twins.hanging;
    let mut rest = waiting.as_mut_slice();
    while !rest.is_empty() {
        if !go_on() {
            return Err(Error::Stopped);
        }
        let size = (done / BATCH_PART).clamp(1, BATCH_MAX).min(rest.len());
        let (batch, later) = rest.split_at_mut(size);
        // Neighbours in the file are near each other: one after the other they find their neighbourhood still in the cache.
        batch.sort_unstable();
        making.take_in(batch, &begin, threads)?;
        done += size;
        rest = later;
    }
    making.finish(&twins, &begin, threads)
}

/// In an order that has nothing to do with the rows' own, so that the early ones are a sample of all; those that walks begin from first.
fn sort_for_taking(waiting: &mut [u32], begin: &[u32]) {
    let mut first = begin.to_vec();
    first.sort_unstable();
    waiting.sort_by_cached_key(|row| (first.binary_search(row).is_err(), mixed(*row)));
}

/// A number that looks random, another for every row.
fn mixed(row: u32) -> u64 {
    let mut bits = u64::from(row).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A graph while it is made.
struct Making<'a> {
    shelf: &'a Shelf,
    means: Means,
    links: Vec<u32>,
    counts: Vec<u8>,
    /// Those that are in the graph.
    taken: Vec<bool>,
}

impl Graph for Making<'_> {
    fn codes(&self) -> &[u8] {
        &self.shelf.codes
    }

    fn scales(&self) -> &[f32] {
        &self.shelf.scales
    }

    fn links(&self, row: u32) -> Result<&[u32], Error> {
        Ok(self.list(row))
    }

    #[inline]
    fn admits(&self, row: u32) -> Result<bool, Error> {
        Ok(self.taken[row as usize])
    }
}

impl<'a> Making<'a> {
    fn new(shelf: &'a Shelf) -> Making<'a> {
        let rows = shelf.rows() as usize;
        Making {
            shelf,
            means: Means::best(),
            links: vec![NO_LINK; rows * LOOSE],
            counts: vec![0; rows],
            taken: vec![false; rows],
        }
    }

    fn list(&self, row: u32) -> &[u32] {
        let begin = row as usize * LOOSE;
        &self.links[begin..begin + self.counts[row as usize] as usize]
    }

    fn set(&mut self, row: u32, links: &[u32]) {
        let begin = row as usize * LOOSE;
        self.links[begin..begin + links.len()].copy_from_slice(links);
        self.counts[row as usize] = links.len() as u8;
    }

    /// Takes known links over; the rows that have to be taken in.
    fn take_over(&mut self, known: Option<Known>, twins: &Twins) -> Vec<u32> {
        let standing = (0..self.shelf.rows()).filter(|row| twins.stands_for(*row) == *row);
        let Some(Known(known)) = known else { return standing.collect() };
        let (mut waiting, mut over) = (Vec::new(), Vec::new());
        for row in standing.clone() {
            let list = &known[row as usize * DEGREE..(row as usize + 1) * DEGREE];
            let stands = |link: &u32| *link != NO_LINK && *link != row && twins.stands_for(*link) == *link;
            let list: Vec<u32> = list.iter().copied().filter(stands).take(CHOSEN).collect();
            if list.len() < KNOWN_MIN {
                waiting.push(row);
            } else {
                over.push((row, list));
            }
        }
        // With few of them, walks might begin from none, and the old graph would stay an island.
        if over.len() < waiting.len() {
            return standing.collect();
        }
        for (row, list) in over {
            self.set(row, &list);
            self.taken[row as usize] = true;
        }
        waiting
    }

    fn take_in(&mut self, batch: &[u32], begin: &[u32], threads: NonZeroUsize) -> Result<(), Error> {
        let found: Vec<Result<Vec<u32>, Error>> = spread(batch.len(), threads, Beam::default, |beam, n| {
            let (row, probe) = (batch[n], self.shelf.probe(batch[n]));
            beam.walk(self, &probe, begin.iter().copied(), BUILD_WIDTH, Keep::Best)?;
            let near: Vec<(f32, u32)> = beam.found().iter().map(|spot| (spot.score, spot.row)).collect();
            Ok(self.choose(row, &near))
        });
        let mut back = Vec::new();
        for (row, links) in batch.iter().zip(found) {
            let links = links?;
            back.extend(links.iter().map(|link| (*link, *row)));
            self.set(*row, &links);
            self.taken[*row as usize] = true;
        }
        self.link_back(back, threads);
        Ok(())
    }

    /// Sets links from the first of each pair to the second.
    fn link_back(&mut self, mut back: Vec<(u32, u32)>, threads: NonZeroUsize) {
        back.sort_unstable();
        let targets: Vec<&[(u32, u32)]> = back.chunk_by(|a, b| a.0 == b.0).collect();
        let lists = spread(
            targets.len(),
            threads,
            || (),
            |(), n| {
                let target = targets[n][0].0;
                let mut list = self.list(target).to_vec();
                for (_, from) in targets[n] {
                    if !list.contains(from) {
                        list.push(*from);
                    }
                }
                if list.len() > LOOSE { self.choose_among(target, &list) } else { list }
            },
        );
        for (target, list) in targets.iter().zip(lists) {
            self.set(target[0].0, &list);
        }
    }

    fn choose_among(&self, row: u32, links: &[u32]) -> Vec<u32> {
        let mut scores = vec![0.0; links.len()];
        self.means.scores_of(
            &self.shelf.probe(row),
            &self.shelf.codes,
            &self.shelf.scales,
            links,
            &mut scores,
        );
        let mut near: Vec<(f32, u32)> = scores.into_iter().zip(links.iter().copied()).collect();
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.choose(row, &near)
    }

    /// Of rows in the order of their nearness, those that no nearer chosen one leads to as well.
    fn choose(&self, row: u32, near: &[(f32, u32)]) -> Vec<u32> {
        let mut chosen = Vec::with_capacity(CHOSEN);
        for (score, other) in near.iter().filter(|(_, other)| *other != row) {
            if chosen.len() == CHOSEN {
                break;
            }
            if !self.led_to(&self.shelf.probe(*other), *score, &chosen) {
                chosen.push(*other);
            }
        }
        chosen
    }

    fn led_to(&self, other: &Probe, score: f32, chosen: &[u32]) -> bool {
        const AT_ONCE: usize = 8;
        let mut scores = [0.0; AT_ONCE];
        chosen.chunks(AT_ONCE).any(|some| {
            self.means.scores_of(other, &self.shelf.codes, &self.shelf.scales, some, &mut scores);
            scores[..some.len()].iter().any(|between| APART * (1.0 - between) < 1.0 - score)
        })
    }

    /// Brings every row down to its number of links, and makes sure that every row is reached.
    fn finish(mut self, twins: &Twins, begin: &[u32], threads: NonZeroUsize) -> Result<Vec<u32>, Error> {
        let rows = self.shelf.rows();
        let lists = spread(
            rows as usize,
            threads,
            || (),
            |(), row| {
                let list = self.list(row as u32);
                if list.len() > CHOSEN { self.choose_among(row as u32, list) } else { list.to_vec() }
            },
        );
        for (row, list) in (0..rows).zip(lists) {
            self.set(row, &list);
        }
        self.reach_all(begin)?;
        let mut links = vec![NO_LINK; rows as usize * DEGREE];
        for (row, into) in (0..rows).zip(links.as_chunks_mut::<DEGREE>().0) {
            let hung =
                twins.after(row).into_iter().chain(Some(twins.stands_for(row)).filter(|first| *first != row));
            for (place, link) in into.iter_mut().zip(hung.chain(self.list(row).iter().copied())) {
                *place = link;
            }
        }
        Ok(links)
    }

    /// Links rows that no walk would come to from near ones that it comes to.
    fn reach_all(&mut self, begin: &[u32]) -> Result<(), Error> {
        let mut reached = vec![false; self.shelf.rows() as usize];
        self.reach(begin.to_vec(), &mut reached);
        let mut beam = Beam::default();
        for row in 0..self.shelf.rows() {
            if reached[row as usize] || !self.taken[row as usize] {
                continue;
            }
            beam.walk(self, &self.shelf.probe(row), begin.iter().copied(), BUILD_WIDTH, Keep::Best)?;
            let free = |spot: &&crate::beam::Spot| (self.counts[spot.row as usize] as usize) < DEGREE - 1;
            // Ninety rows without room beside one that nobody leads to: then it stays unreached, and is found by scans alone.
            if let Some(near) = beam.found().iter().find(free).map(|spot| spot.row) {
                let mut list = self.list(near).to_vec();
                list.push(row);
                self.set(near, &list);
                self.reach(vec![row], &mut reached);
            }
        }
        Ok(())
    }

    fn reach(&self, mut from: Vec<u32>, reached: &mut [bool]) {
        while let Some(row) = from.pop() {
            if !std::mem::replace(&mut reached[row as usize], true) {
                from.extend_from_slice(self.list(row));
            }
        }
    }
}

/// Which rows cannot be told apart.
struct Twins {
    /// The row that stands in the graph for each row: most for themselves.
    first: Vec<u32>,
    /// The next of those alike, or [`NO_LINK`].
    next: Vec<u32>,
    hanging: usize,
}

impl Twins {
    fn of(shelf: &Shelf) -> Twins {
        let rows = shelf.rows();
        let mut twins = Twins { first: (0..rows).collect(), next: vec![NO_LINK; rows as usize], hanging: 0 };
        let mut hashed: Vec<(u32, u32)> =
            (0..rows).map(|row| (crc32c::crc32c(shelf.code(row)), row)).collect();
        hashed.sort_unstable();
        for same in hashed.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            twins.chain(shelf, same);
        }
        twins
    }

    /// Chains rows of one hash; those that are not alike after all begin chains of their own.
    fn chain(&mut self, shelf: &Shelf, same: &[(u32, u32)]) {
        let mut ends: Vec<u32> = Vec::new();
        for (_, row) in same {
            match ends.iter_mut().find(|end| shelf.alike(**end, *row)) {
                Some(end) => {
                    self.first[*row as usize] = self.first[*end as usize];
                    self.next[*end as usize] = *row;
                    *end = *row;
                    self.hanging += 1;
                }
                None => ends.push(*row),
            }
        }
    }

    fn stands_for(&self, row: u32) -> u32 {
        self.first[row as usize]
    }

    fn after(&self, row: u32) -> Option<u32> {
        Some(self.next[row as usize]).filter(|next| *next != NO_LINK)
    }
}
