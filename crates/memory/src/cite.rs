//! What being cited is worth: who found a memory useful, counted so that nobody can push it up.
//!
//! One vote for each person or agent, however often they confirm; votes are keyed tokens and no names; the weight grows with the
//! logarithm and is capped; agents alone weigh little; old votes fade.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_types::{Key, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voter {
    Agent,
    Person,
}

/// One confirmation. The token is made with a key by whoever counts, so that the same voter has the same token and no reader
/// learns who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// Not called a token where it is stored: what is called so is taken for a secret there, and blanked.
    #[serde(rename = "ballot")]
    pub token: Key,
    pub voter: Voter,
    pub at: Timestamp,
}

impl Vote {
    pub fn by_person(token: Key, at: Timestamp) -> Vote {
        Vote { token, voter: Voter::Person, at }
    }

    pub fn by_agent(token: Key, at: Timestamp) -> Vote {
        Vote { token, voter: Voter::Agent, at }
    }
}

/// Half of a vote's worth is gone after half a year: what is still used is confirmed again.
const HALF_LIFE: Duration = Duration::from_secs(180 * 24 * 3600);
/// Agents confirm what they were just told; four of them weigh as much as one person.
const AGENT_WEIGHT: f64 = 0.25;
/// Sixteen people: beyond that, more of them say nothing new.
const VOTES_CAP: f64 = 16.0;
/// Without any person a memory gets no further than one would lift it.
const AGENTS_ALONE_CAP: f64 = 1.0;

/// All votes for one memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Citations {
    votes: BTreeMap<Key, (Voter, Timestamp)>,
}

impl Citations {
    /// The same voter again counts as one who voted now. A clock that went back changes nothing.
    pub fn add(&mut self, vote: Vote) {
        let held = self.votes.entry(vote.token).or_insert((vote.voter, vote.at));
        held.1 = held.1.max(vote.at);
    }

    /// How many confirmed it.
    pub fn count(&self) -> usize {
        self.votes.len()
    }

    /// From 0 to 1, to be weighed in with relevance.
    pub fn weight(&self, now: Timestamp) -> f64 {
        let of = |voter| {
            self.votes
                .values()
                .filter(move |vote| vote.0 == voter)
                .map(|vote| faded(vote.1, now))
                .sum::<f64>()
        };
        let (people, agents) = (of(Voter::Person), of(Voter::Agent) * AGENT_WEIGHT);
        let alone = if people > 0.0 { f64::INFINITY } else { AGENTS_ALONE_CAP };
        let votes = (people + agents.min(alone)).min(VOTES_CAP);
        votes.ln_1p() / VOTES_CAP.ln_1p()
    }
}

fn faded(at: Timestamp, now: Timestamp) -> f64 {
    (-now.since(at).as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::at;

    fn citations(people: u32, agents: u32) -> Citations {
        let mut citations = Citations::default();
        for n in 0..people {
            citations.add(Vote::by_person(format!("p{n}").parse().unwrap(), at(0)));
        }
        for n in 0..agents {
            citations.add(Vote::by_agent(format!("a{n}").parse().unwrap(), at(0)));
        }
        citations
    }

    fn weight(people: u32, agents: u32) -> f64 {
        citations(people, agents).weight(at(0))
    }

    // shows: DOC-F03
    #[test]
    fn a_thousand_confirmations_by_one_person_raise_the_count_by_one() {
        let mut citations = Citations::default();
        for second in 0..1_000 {
            citations.add(Vote::by_person("p".parse().unwrap(), at(second)));
        }
        assert_eq!(citations.count(), 1);
        assert!((citations.weight(at(999)) - weight(1, 0)).abs() < 1e-9);
    }

    #[test]
    fn more_people_weigh_more_up_to_a_cap_and_agents_alone_little() {
        assert_eq!(weight(0, 0), 0.0);
        assert!(weight(1, 0) < weight(2, 0) && weight(2, 0) < weight(16, 0));
        assert_eq!(weight(16, 0), 1.0);
        assert_eq!(weight(1_000, 0), 1.0);
        assert!(weight(0, 1) < weight(1, 0));
        assert!(weight(0, 1_000) <= weight(1, 0));
        assert!(weight(1, 4) > weight(1, 0));
    }

    #[test]
    fn votes_fade_and_a_second_one_renews() {
        let mut citations = citations(1, 0);
        let later = at(0).plus(HALF_LIFE);
        let faded = citations.weight(later);
        assert!(faded < weight(1, 0) && faded > 0.0);
        citations.add(Vote::by_person("p0".parse().unwrap(), later));
        assert!(citations.weight(later) > faded);
        citations.add(Vote::by_person("p0".parse().unwrap(), at(0)));
        assert_eq!(citations.weight(later), weight(1, 0));
    }
}
