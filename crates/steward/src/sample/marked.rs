//! The intervals that nothing must be judged by.
//!
//! What holds: [`Marked`] never forgets that an instant was marked unless told to. When it is full it joins neighbours,
//! and so leaves out too much rather than too little.

use serde::{Deserialize, Serialize};

use super::{Sample, Summary};
use crate::time::Steady;

/// Enough for a year of one episode a day; a walk over all of them stays cheap.
pub const MARKS_MAX: usize = 512;

/// Why an interval says nothing about how the target usually is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    OwnBuild,
    Trial,
    Outage,
    /// Somebody works on the target.
    Maintenance,
}

/// A marked interval; both ends belong to it. Without an end it is still going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    pub from: Steady,
    pub to: Option<Steady>,
    pub why: Why,
}

impl Interval {
    pub fn holds(&self, at: Steady) -> bool {
        self.from <= at && self.to.is_none_or(|to| at <= to)
    }
}

/// The marked intervals, ordered by their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marked {
    intervals: Vec<Interval>,
}

impl Marked {
    /// Marks from `from` on, until [`Marked::end`] is called. One that is going on for the same reason goes on.
    pub fn begin(&mut self, from: Steady, why: Why) {
        if !self.intervals.iter().any(|mark| mark.to.is_none() && mark.why == why) {
            self.insert(Interval { from, to: None, why });
        }
    }

    /// Ends what is going on for this reason.
    pub fn end(&mut self, to: Steady, why: Why) {
        for mark in self.intervals.iter_mut().filter(|mark| mark.to.is_none() && mark.why == why) {
            mark.to = Some(to.max(mark.from));
        }
    }

    /// Marks a whole interval. One that ends before it begins is taken the other way round.
    pub fn add(&mut self, from: Steady, to: Steady, why: Why) {
        self.insert(Interval { from: from.min(to), to: Some(from.max(to)), why });
    }

    /// Lets go of intervals that ended before `at`: no sample so old is kept.
    pub fn forget_before(&mut self, at: Steady) {
        self.intervals.retain(|mark| mark.to.is_none_or(|to| to >= at));
    }

    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    pub fn contains(&self, at: Steady) -> bool {
        self.walk().passes(at)
    }

    /// Asks about instants in the order of time, each in constant time on average.
    pub fn walk(&self) -> Walk<'_> {
        Walk { ahead: &self.intervals, reach: None }
    }

    /// Sums up samples in the order of time, without those that are marked or have no figure.
    pub fn summary(&self, samples: impl IntoIterator<Item = Sample>) -> Option<Summary> {
        let mut walk = self.walk();
        let unmarked = samples.into_iter().filter(|sample| !walk.passes(sample.at));
        Summary::of_values(unmarked.filter_map(|sample| sample.value()))
    }

    fn insert(&mut self, mark: Interval) {
        let place = self.intervals.partition_point(|other| other.from <= mark.from);
        self.intervals.insert(place, mark);
        if self.intervals.len() > MARKS_MAX {
            self.join_nearest();
        }
    }

    /// Makes one of the two neighbours with the shortest time between them. What is still going on is left alone, so
    /// that its end is found; there are few of those.
    fn join_nearest(&mut self) {
        let gap = |pair: &[Interval]| pair[0].to.zip(pair[1].to).map(|(to, _)| pair[1].from.since(to));
        let gaps = self.intervals.windows(2).enumerate().filter_map(|(at, pair)| Some((gap(pair)?, at)));
        if let Some((_, first)) = gaps.min() {
            let second = self.intervals.remove(first + 1);
            let joined = &mut self.intervals[first];
            joined.to = joined.to.max(second.to);
        }
    }
}

/// A walk along marked intervals.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    ahead: &'a [Interval],
    reach: Option<Steady>,
}

impl Walk<'_> {
    /// Whether `at` is marked. Instants must not go back.
    pub fn passes(&mut self, at: Steady) -> bool {
        while let Some((mark, rest)) = self.ahead.split_first().filter(|(mark, _)| mark.from <= at) {
            self.reach = self.reach.max(Some(mark.to.unwrap_or(Steady(u64::MAX))));
            self.ahead = rest;
        }
        self.reach.is_some_and(|reach| at <= reach)
    }
}
