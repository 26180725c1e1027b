//! Keeps what may be among the nearest, going by bounds: a candidate is let go when enough others are surely nearer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a vector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Base(u32),
    Tail(u32),
}

/// What may be among the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// The most its true score can be.
    pub(crate) most: f32,
    pub(crate) place: Place,
}

#[derive(Debug)]
pub(crate) struct Sieve {
    limit: usize,
    /// The greatest of the scores that candidates have at least; the smallest of these on top.
    surely: BinaryHeap<Reverse<Score>>,
    kept: Vec<Candidate>,
}

impl Sieve {
    /// For the `limit` nearest, of which there is at least one.
    pub(crate) fn new(limit: usize) -> Sieve {
        Sieve { limit, surely: BinaryHeap::new(), kept: Vec::new() }
    }

    #[inline]
    pub(crate) fn offer(&mut self, score: f32, slack: f32, place: Place) {
        let most = score + slack;
        if most < self.floor() {
            return;
        }
        self.kept.push(Candidate { most, place });
        self.surely.push(Reverse(Score(score - slack)));
        if self.surely.len() > self.limit {
            self.surely.pop();
        }
    }

    /// What may be among the nearest, the likeliest first.
    pub(crate) fn into_candidates(mut self) -> Vec<Candidate> {
        let floor = self.floor();
        self.kept.retain(|candidate| candidate.most >= floor);
        self.kept.sort_unstable_by(|a, b| b.most.total_cmp(&a.most));
        self.kept
    }

    /// What enough candidates have at least.
    #[inline]
    fn floor(&self) -> f32 {
        if self.surely.len() < self.limit {
            return f32::NEG_INFINITY;
        }
        self.surely.peek().map_or(f32::NEG_INFINITY, |Reverse(Score(least))| *least)
    }
}

/// Scores have an order: none of them is NaN.
#[derive(Clone, Copy, Debug)]
struct Score(f32);

impl PartialEq for Score {
    fn eq(&self, other: &Score) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
