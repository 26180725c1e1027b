//! A walk over a graph of near rows: from some seeds to whatever is nearer, until the best found so far have no unseen neighbours.
//!
//! The same walk serves searching and building. It decides by codes alone, and equal scores by the smaller row, so the same graph and
//! the same probe give the same rows.

use crate::bits::Bits;
use crate::code::Probe;
use crate::error::Error;
use crate::layout::NO_LINK;
use crate::measure::Means;

/// What can be walked over.
pub(crate) trait Graph {
    fn codes(&self) -> &[u8];
    fn scales(&self) -> &[f32];
    /// Where a row leads to, up to the first [`NO_LINK`].
    fn links(&self, row: u32) -> Result<&[u32], Error>;
    /// Whether a row may be walked over; only rows for which this was true are looked at.
    fn admits(&self, row: u32) -> Result<bool, Error>;
    /// The links of this row will be asked for soon.
    fn expect(&self, _row: u32) {}
}

/// A row that was found, and how near it seems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) score: f32,
    pub(crate) row: u32,
    walked: bool,
}

/// The state of a walk, kept from one to the next for its memory.
#[derive(Debug, Default)]
pub(crate) struct Beam {
    /// The best so far, in order.
    spots: Vec<Spot>,
    /// All that were ever among the best, when somebody wants to choose among them.
    entered: Vec<Spot>,
    seen: Bits,
    touched: Vec<u32>,
    next: Vec<u32>,
    scores: Vec<f32>,
}

/// Whether the rows that were displaced by better ones are kept too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Best,
    Entered,
}

impl Beam {
    /// Walks; afterwards [`Beam::found`] has up to `width` rows.
    pub(crate) fn walk(
        &mut self,
        graph: &impl Graph,
        probe: &Probe,
        seeds: impl Iterator<Item = u32>,
        width: usize,
        keep: Keep,
    ) -> Result<(), Error> {
        let means = Means::best();
        self.begin();
        self.gather(graph, seeds)?;
        self.look(graph, probe, means, width, keep);
        let mut from = 0;
        while let Some(place) =
            self.spots[from..].iter().position(|spot| !spot.walked).map(|place| from + place)
        {
            self.spots[place].walked = true;
            let links = graph.links(self.spots[place].row)?;
            self.gather(graph, links.iter().copied().take_while(|link| *link != NO_LINK))?;
            // Whatever is nearer than the row that was walked from comes before it, and is next.
            from = self.look(graph, probe, means, width, keep).min(place + 1);
            if let Some(next) = self.spots[from..].iter().find(|spot| !spot.walked) {
                graph.expect(next.row);
            }
        }
        Ok(())
    }

    /// The best, the nearest first.
    pub(crate) fn found(&self) -> &[Spot] {
        &self.spots
    }

    /// All that were ever among the best, the nearest first.
    pub(crate) fn entered(&mut self) -> &[Spot] {
        self.entered.sort_unstable_by(before);
        &self.entered
    }

    /// Only what the last walk saw is cleared: that is little beside all rows.
    fn begin(&mut self) {
        self.spots.clear();
        self.entered.clear();
        for row in self.touched.drain(..) {
            self.seen.remove(row);
        }
    }

    /// Those not seen before that may be looked at.
    fn gather(&mut self, graph: &impl Graph, rows: impl Iterator<Item = u32>) -> Result<(), Error> {
        self.next.clear();
        for row in rows {
            if self.seen.add(row) {
                self.touched.push(row);
                if graph.admits(row)? {
                    self.next.push(row);
                }
            }
        }
        Ok(())
    }

    /// Takes the gathered ones in; the first place that changed.
    fn look(&mut self, graph: &impl Graph, probe: &Probe, means: Means, width: usize, keep: Keep) -> usize {
        self.scores.resize(self.next.len(), 0.0);
        means.scores_of(probe, graph.codes(), graph.scales(), &self.next, &mut self.scores);
        let mut first = usize::MAX;
        for (row, score) in self.next.iter().zip(&self.scores) {
            let spot = Spot { score: *score, row: *row, walked: false };
            if self.spots.len() == width && self.spots.last().is_none_or(|last| before(last, &spot).is_lt()) {
                continue;
            }
            let place = self.spots.partition_point(|other| before(other, &spot).is_lt());
            self.spots.truncate(width.saturating_sub(1));
            self.spots.insert(place, spot);
            first = first.min(place);
            if keep == Keep::Entered {
                self.entered.push(spot);
            }
        }
        first
    }
}

/// The nearer first; of two alike the smaller row.
fn before(a: &Spot, b: &Spot) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}
