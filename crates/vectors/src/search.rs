//! Searching: which way to go about it, candidates by their codes, and their order by the vectors themselves.

use std::num::NonZeroUsize;

use crate::base::{BLOCK, Base};
use crate::beam::{Beam, Graph, Keep};
use crate::code::{Code, Probe};
use crate::error::Error;
use crate::index::Index;
use crate::key::Key;
use crate::measure::Means;
use crate::sieve::{Candidate, Place, Sieve};
use crate::vector::{Vector, WIDTH};

/// Answers that may be asked for at once.
pub const LIMIT_MAX: usize = 10_000;

/// Vectors up to which all are looked through: that takes half a millisecond then, and no graph has to be made. The measurement is in
/// docs/formats/vectors.md.
pub const EXACT_MAX: usize = 32_768;

/// Rows the walk keeps; docs/formats/vectors.md has the measurement.
const WIDTH_USUAL: usize = 128;

/// As wide as a walk may become for a narrow filter or a wish. Beyond it a scan is quicker.
const WIDTH_MAX: usize = 4096;

/// Candidates of a walk that are ranked by their vectors, beyond those asked for: codes are off by a thousandth, so that what belongs among the
/// first ten stands among the first twenty-six all but always.
const RANKED_MORE: usize = 16;

/// Share of rows below which a filter is narrow, and what it leaves is looked through.
const NARROW: f64 = 0.1;

/// Rows by which a filter's share is estimated: enough to tell a tenth from a twentieth.
const SAMPLED: u32 = 512;

/// From how many rows a walk begins. They are spread over the file, where like lies beside like, so that one is never far away.
const SEEDS: u32 = 64;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub vector: &'a Vector,
    /// At most this many, and at most [`LIMIT_MAX`].
    pub limit: usize,
    /// Entries after this one do not count: what was known at that moment.
    pub upto: Option<u64>,
    pub among: Among<'a>,
    pub effort: Effort,
}

impl<'a> Query<'a> {
    /// The nearest of all.
    pub fn nearest(vector: &'a Vector, limit: usize) -> Query<'a> {
        Query { vector, limit, upto: None, among: Among::All, effort: Effort::Usual }
    }
}

/// Which vectors count.
#[derive(Clone, Copy)]
pub enum Among<'a> {
    All,
    /// Those of these entries, in ascending order.
    These(&'a [u64]),
    /// Those for which this is true. It is asked often, and for the same key more than once.
    Where(&'a (dyn Fn(Key) -> bool + Sync)),
}

impl std::fmt::Debug for Among<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Among::All => f.write_str("All"),
            Among::These(entries) => write!(f, "These({} entries)", entries.len()),
            Among::Where(_) => f.write_str("Where(..)"),
        }
    }
}

/// How hard to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Usual,
    /// With a walk that keeps this many rows: more finds more and takes longer.
    Width(NonZeroUsize),
    /// Everything is looked through, however much it is.
    Exact,
}

/// What was found, the nearest first; of two that are equally near the smaller key.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub key: Key,
    /// The cosine of the angle between the two vectors, of the vectors themselves and not of codes.
    pub score: f32,
}

/// Whether a nearer one can have been missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// These are the nearest.
    Exact,
    /// Found by a walk over the graph: now and then a near one is missed.
    Approximate,
}

/// How the base is gone about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Scan,
    Walk { width: usize },
}

/// Pure: sizes in, way out.
fn way(effort: Effort, limit: usize, share: f64) -> Way {
    let width = match effort {
        Effort::Exact => return Way::Scan,
        Effort::Usual => WIDTH_USUAL,
        Effort::Width(width) => width.get(),
    };
    let wanted = width.max(limit + RANKED_MORE) as f64 / share.max(f64::MIN_POSITIVE);
    if share < NARROW || wanted > WIDTH_MAX as f64 {
        Way::Scan
    } else {
        Way::Walk { width: wanted.ceil() as usize }
    }
}

impl Index {
    /// The nearest of what counts.
    pub fn search(&self, query: &Query<'_>) -> Result<Answer, Error> {
        let limit = query.limit.min(LIMIT_MAX);
        if limit == 0 {
            return Ok(Answer { hits: Vec::new(), how: How::Exact });
        }
        let probe = Probe::of(&Code::of(query.vector));
        let mut sieve = Sieve::new(limit);
        self.scan_tail(query, &probe, &mut sieve);
        let how = match &self.base {
            None => How::Exact,
            Some(base) => self.candidates(base, query, limit, &probe, &mut sieve)?,
        };
        Ok(Answer { hits: self.settle(query.vector, limit, &sieve.into_candidates())?, how })
    }

    /// Orders these keys by their vectors, exactly; those that are not there, or come after `upto`, are left out. The same keys and the same
    /// vectors give the same bytes on every machine.
    pub fn rank(&self, vector: &Vector, keys: &[Key], upto: Option<u64>) -> Result<Vec<Hit>, Error> {
        let mut keys: Vec<Key> =
            keys.iter().copied().filter(|key| upto.is_none_or(|upto| key.entry <= upto)).collect();
        keys.sort_unstable();
        keys.dedup();
        let certain = |key| self.place_of(key).map(|place| Candidate { most: f32::INFINITY, place });
        let candidates: Vec<Candidate> = keys.into_iter().filter_map(certain).collect();
        self.settle(vector, candidates.len(), &candidates)
    }

    /// The vector of a key.
    pub fn vector(&self, key: Key) -> Result<Option<Vector>, Error> {
        self.place_of(key).map(|place| self.vector_at(place)).transpose()
    }

    fn candidates(
        &self,
        base: &Base,
        query: &Query<'_>,
        limit: usize,
        probe: &Probe,
        sieve: &mut Sieve,
    ) -> Result<How, Error> {
        if let Among::These(entries) = query.among
            && (entries.len() as f64) < base.rows() as f64 * NARROW
        {
            pick(base, query, entries, probe, sieve)?;
            return Ok(How::Exact);
        }
        if base.header().graph
            && let Way::Walk { width } = way(query.effort, limit, share(base, query))
            && self.walk(base, query, limit, width, probe, sieve)?
        {
            return Ok(How::Approximate);
        }
        scan(base, query, probe, sieve)?;
        Ok(How::Exact)
    }

    /// Whether it found as many as were asked for. When it did not, nothing was offered.
    fn walk(
        &self,
        base: &Base,
        query: &Query<'_>,
        limit: usize,
        width: usize,
        probe: &Probe,
        sieve: &mut Sieve,
    ) -> Result<bool, Error> {
        let mut beam = self.borrow_beam();
        let keep = if excludes_none(base, query) { Keep::Best } else { Keep::Entered };
        beam.walk(base, probe, seeds(base.rows()), width, keep)?;
        let spots = if keep == Keep::Best { beam.found() } else { beam.entered() };
        let fit = spots.iter().filter(|spot| keep == Keep::Best || counts(query, base.key(spot.row)));
        let fit: Vec<_> = fit.take(limit + RANKED_MORE).copied().collect();
        let enough = fit.len() >= limit;
        if enough {
            for spot in &fit {
                sieve.offer(spot.score, probe.slack(base.error(spot.row)), Place::Base(spot.row));
            }
        }
        self.return_beam(beam);
        Ok(enough)
    }

    fn scan_tail(&self, query: &Query<'_>, probe: &Probe, sieve: &mut Sieve) {
        let (tail, means, mut scores) = (&self.tail, Means::best(), [0.0; BLOCK]);
        for (block, codes) in tail.codes().chunks(BLOCK * WIDTH).enumerate() {
            let rows = block * BLOCK..block * BLOCK + codes.len() / WIDTH;
            means.scores_run(probe, codes, &tail.scales()[rows.clone()], &mut scores);
            for (row, score) in rows.map(|row| row as u32).zip(scores) {
                if !tail.is_dead(row) && counts(query, tail.key(row)) {
                    sieve.offer(score, probe.slack(tail.error(row)), Place::Tail(row));
                }
            }
        }
    }

    /// Reads the vectors of candidates, the likeliest first, until no other can be among the nearest.
    fn settle(&self, vector: &Vector, limit: usize, candidates: &[Candidate]) -> Result<Vec<Hit>, Error> {
        let (means, mut hits) = (Means::best(), Vec::<Hit>::new());
        for candidate in candidates {
            if hits.len() == limit && hits.last().is_some_and(|last| candidate.most < last.score) {
                break;
            }
            let score = means.dot(vector.numbers(), self.vector_at(candidate.place)?.numbers());
            let hit = Hit { key: self.key_at(candidate.place), score };
            let before = |other: &Hit| other.score.total_cmp(&score).then(hit.key.cmp(&other.key)).is_gt();
            let place = hits.partition_point(before);
            if place < limit {
                hits.truncate(limit - 1);
                hits.insert(place, hit);
            }
        }
        Ok(hits)
    }

    fn place_of(&self, key: Key) -> Option<Place> {
        if let Some(row) = self.tail.row_of(key) {
            return Some(Place::Tail(row));
        }
        let base = self.base.as_ref()?;
        base.row_of(key).filter(|row| !base.is_dead(*row)).map(Place::Base)
    }

    fn vector_at(&self, place: Place) -> Result<Vector, Error> {
        match (place, &self.base) {
            (Place::Base(row), Some(base)) => base.vector(row),
            (Place::Base(_), None) => unreachable!("a place in a base that is not there"),
            (Place::Tail(row), _) => self.log.vector(self.tail.key(row), self.tail.place(row)),
        }
    }

    fn key_at(&self, place: Place) -> Key {
        match (place, &self.base) {
            (Place::Base(row), Some(base)) => base.key(row),
            (Place::Base(_), None) => unreachable!("a place in a base that is not there"),
            (Place::Tail(row), _) => self.tail.key(row),
        }
    }

    fn borrow_beam(&self) -> Beam {
        self.beams.lock().ok().and_then(|mut beams| beams.pop()).unwrap_or_default()
    }

    fn return_beam(&self, beam: Beam) {
        if let Ok(mut beams) = self.beams.lock() {
            beams.push(beam);
        }
    }
}

/// Rows spread evenly over all.
pub(crate) fn seeds(rows: u32) -> impl Iterator<Item = u32> {
    let count = SEEDS.min(rows);
    (0..count).map(move |n| (u64::from(n) * u64::from(rows) / u64::from(count)) as u32)
}

/// Looks through everything, exactly.
fn scan(base: &Base, query: &Query<'_>, probe: &Probe, sieve: &mut Sieve) -> Result<(), Error> {
    let (means, mut scores, all) = (Means::best(), [0.0; BLOCK], excludes_none(base, query));
    for block in 0..base.rows().div_ceil(BLOCK as u32) as usize {
        let rows = base.checked_block(block)?;
        let at = rows.start as usize..rows.end as usize;
        let codes = &base.codes()[at.start * WIDTH..at.end * WIDTH];
        means.scores_run(probe, codes, &base.scales()[at], &mut scores);
        for (row, score) in rows.zip(scores) {
            if !base.is_dead(row) && (all || counts(query, base.key(row))) {
                sieve.offer(score, probe.slack(base.error(row)), Place::Base(row));
            }
        }
    }
    Ok(())
}

/// Looks through the rows of some entries, exactly.
fn pick(
    base: &Base,
    query: &Query<'_>,
    entries: &[u64],
    probe: &Probe,
    sieve: &mut Sieve,
) -> Result<(), Error> {
    let upto = query.upto.unwrap_or(u64::MAX);
    let mut rows = Vec::new();
    for row in entries.iter().filter(|entry| **entry <= upto).flat_map(|entry| base.rows_of_entry(*entry)) {
        if base.admits(row)? {
            rows.push(row);
        }
    }
    rows.sort_unstable();
    rows.dedup();
    let mut scores = vec![0.0; rows.len()];
    Means::best().scores_of(probe, base.codes(), base.scales(), &rows, &mut scores);
    for (row, score) in rows.into_iter().zip(scores) {
        sieve.offer(score, probe.slack(base.error(row)), Place::Base(row));
    }
    Ok(())
}

fn excludes_none(base: &Base, query: &Query<'_>) -> bool {
    matches!(query.among, Among::All) && query.upto.is_none_or(|upto| base.last_entry() <= upto)
}

fn counts(query: &Query<'_>, key: Key) -> bool {
    query.upto.is_none_or(|upto| key.entry <= upto)
        && match query.among {
            Among::All => true,
            Among::These(entries) => entries.binary_search(&key.entry).is_ok(),
            Among::Where(asked) => asked(key),
        }
}

/// Which part of the rows counts, by a sample of them.
fn share(base: &Base, query: &Query<'_>) -> f64 {
    if excludes_none(base, query) {
        return 1.0;
    }
    let count = SAMPLED.min(base.rows());
    let row = |n: u32| (u64::from(n) * u64::from(base.rows()) / u64::from(count)) as u32;
    let fit = (0..count).map(row).filter(|row| !base.is_dead(*row) && counts(query, base.key(*row))).count();
    fit as f64 / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_filter_is_scanned_and_a_wide_one_widens_the_walk() {
        let width = |n| Effort::Width(NonZeroUsize::new(n).unwrap());
        assert_eq!(way(Effort::Usual, 10, 1.0), Way::Walk { width: WIDTH_USUAL });
        assert_eq!(way(Effort::Usual, 10, 0.5), Way::Walk { width: WIDTH_USUAL * 2 });
        assert_eq!(way(Effort::Usual, 10, 0.09), Way::Scan);
        assert_eq!(way(Effort::Usual, 10, 0.0), Way::Scan);
        assert_eq!(way(Effort::Exact, 10, 1.0), Way::Scan);
        assert_eq!(way(Effort::Usual, LIMIT_MAX, 1.0), Way::Scan);
        assert_eq!(way(width(64), 10, 1.0), Way::Walk { width: 64 });
        assert_eq!(way(width(1), 100, 1.0), Way::Walk { width: 100 + RANKED_MORE });
        assert_eq!(way(width(usize::MAX), 10, 1.0), Way::Scan);
    }

    #[test]
    fn seeds_are_spread_and_within() {
        assert_eq!(seeds(1).collect::<Vec<_>>(), [0]);
        assert_eq!(seeds(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(seeds(u32::MAX).is_sorted() && seeds(u32::MAX).count() == SEEDS as usize);
    }
}
