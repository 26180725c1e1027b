//! Exploration: every fifth cycle asks for something outside the recent pattern.
//!
//! Only finished cycles count. One that ended without an answer (no credential, no quota, a crash) is run again as what
//! it was, so a bad week neither skips nor brings forward an exploration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::Recall;
use crate::setting::EpisodeId;
use crate::time::Steady;

/// Every how many finished cycles one explores.
pub const EVERY: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cycle {
    Routine,
    Exploration,
}

impl Cycle {
    /// How long a trial of this cycle is watched: half as long again when it explores, 15 minutes instead of 10.
    pub fn window(self, usual: Duration) -> Duration {
        match self {
            Cycle::Routine => usual,
            Cycle::Exploration => usual.saturating_add(usual / 2),
        }
    }

    /// What of the past the planner sees. An explorer sees what went wrong and not what went well: the first keeps it
    /// from repeating, the second would keep it from exploring.
    pub fn recall(self) -> Recall {
        match self {
            Cycle::Routine => Recall::Everything,
            Cycle::Exploration => Recall::WarningsOnly,
        }
    }
}

/// How many cycles of a target finished. Kept over restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    finished: u64,
    last: Option<EpisodeId>,
    explored: Option<Explored>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Explored {
    cycle: u64,
    at: Steady,
}

impl Cycles {
    /// What the cycle that comes next is.
    pub fn next(&self) -> Cycle {
        if (self.finished + 1).is_multiple_of(EVERY) { Cycle::Exploration } else { Cycle::Routine }
    }

    /// Counts a cycle that ended with an answer: a proposal, whatever became of it, or that there is nothing to do.
    /// Counting the same cycle again, as a step repeated after a crash does, changes nothing and says so.
    pub fn finish(&mut self, episode: &EpisodeId, at: Steady) -> bool {
        if self.last.as_ref() == Some(episode) {
            return false;
        }
        let kind = self.next();
        self.finished += 1;
        self.last = Some(episode.clone());
        if kind == Cycle::Exploration {
            self.explored = Some(Explored { cycle: self.finished, at });
        }
        true
    }

    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// Cycles finished since the last exploration, or since the first cycle when there was none.
    pub fn since_exploration(&self) -> u64 {
        self.finished - self.explored.map_or(0, |explored| explored.cycle)
    }

    /// When an exploration last finished.
    pub fn explored_at(&self) -> Option<Steady> {
        self.explored.map(|explored| explored.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(number: u64) -> EpisodeId {
        format!("ep-{number}").parse().unwrap()
    }

    // shows: STW-112, STW-113
    #[test]
    fn cycles_5_10_and_15_explore_and_restarts_do_not_change_that() {
        let mut cycles = Cycles::default();
        let mut explored = Vec::new();
        for number in 1..=15 {
            if cycles.next() == Cycle::Exploration {
                explored.push(number);
            }
            assert!(cycles.finish(&episode(number), Steady(number)));
            assert!(!cycles.finish(&episode(number), Steady(number)), "a repeated step counts once");
            cycles = serde_json::from_str(&serde_json::to_string(&cycles).unwrap()).unwrap();
        }
        assert_eq!(explored, [5, 10, 15]);
    }

    #[test]
    fn a_cycle_that_did_not_finish_is_run_again_as_what_it_was() {
        let mut cycles = Cycles::default();
        (1..=4).for_each(|n| assert!(cycles.finish(&episode(n), Steady(n))));
        for _ in 0..3 {
            assert_eq!(cycles.next(), Cycle::Exploration, "nothing finished, nothing moved on");
        }
        assert_eq!((cycles.since_exploration(), cycles.explored_at()), (4, None));
        cycles.finish(&episode(5), Steady(50));
        assert_eq!(cycles.next(), Cycle::Routine);
        assert_eq!((cycles.since_exploration(), cycles.explored_at()), (0, Some(Steady(50))));
    }

    // shows: STW-115
    #[test]
    fn an_exploration_is_watched_for_15_minutes_instead_of_10() {
        let usual = Duration::from_secs(600);
        assert_eq!(Cycle::Routine.window(usual), Duration::from_secs(600));
        assert_eq!(Cycle::Exploration.window(usual), Duration::from_secs(900));
    }
}
