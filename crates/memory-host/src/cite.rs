//! Who found a memory of use: one vote for each person or agent, counted without their names.

use holdfast_durable::Mode;
use holdfast_memory::event::{Cited, Event};
use holdfast_memory::{Citations, MemoryId, Vote, Voter};
use holdfast_types::{Key, Timestamp};

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::sealed;

/// What tokens are made with. It is no part of the journal: whoever reads that must not be able to try names out. Without it voters are
/// counted anew.
const VOTES_KEY: &str = "votes.key";
const KEY_LEN: usize = 32;

/// Hexadecimal digits of a token: enough that no two voters share one.
const TOKEN_DIGITS: usize = 32;

impl Memories {
    /// Somebody confirms that a memory was of use. How many did so far is returned.
    pub fn cite(&self, agent: &AgentName, id: MemoryId, voter: Voter, who: &str) -> Result<usize> {
        let seq = {
            let inner = self.caught_up()?;
            let space = inner.space_of(agent)?;
            let seq = space.table.seq_of(id)?.ok_or(Error::NoMemory(id))?;
            space.live(seq, id)?;
            seq
        };
        let vote = Vote { token: self.token_of(voter, who)?, voter, at: self.options.clock.now() };
        let event = Event::Cited(Cited { entry: id, vote });
        // The entry names nobody: the token alone says that it was the same voter.
        self.options.journal.append(&sealed::happened(&event, sealed::own_actor()?, agent.id())?)?;
        let inner = self.caught_up()?;
        Ok(inner.space_of(agent)?.votes.get(&seq).map_or(0, Citations::count))
    }

    fn token_of(&self, voter: Voter, who: &str) -> Result<Key> {
        let mut hash = blake3::Hasher::new_keyed(&self.votes_key()?);
        hash.update(if voter == Voter::Person { b"person:" } else { b"agent:" });
        hash.update(who.as_bytes());
        let hex = hash.finalize().to_hex();
        hex[..TOKEN_DIGITS].parse().map_err(|_| Error::Name(who.chars().take(64).collect()))
    }

    fn votes_key(&self) -> Result<[u8; KEY_LEN]> {
        let path = self.options.folder.join(VOTES_KEY);
        let failed = |source| Error::File { path: path.clone(), source };
        if let Ok(bytes) = std::fs::read(&path)
            && let Ok(key) = <[u8; KEY_LEN]>::try_from(bytes)
        {
            return Ok(key);
        }
        let mut key = [0; KEY_LEN];
        getrandom::fill(&mut key).map_err(|e| failed(std::io::Error::other(e.to_string())))?;
        holdfast_durable::replace(&path, &key, Mode::Private).map_err(failed)?;
        Ok(key)
    }
}

/// What ranking counts: so many citations by people as weigh the same. Its scale ends at 31.
pub(crate) fn as_citations(votes: &Citations, now: Timestamp) -> u32 {
    const MOST: f64 = 31.0;
    ((MOST + 1.0).powf(votes.weight(now)) - 1.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(people: u32, agents: u32) -> Citations {
        let mut votes = Citations::default();
        for (count, voter) in [(people, Voter::Person), (agents, Voter::Agent)] {
            for n in 0..count {
                let token = format!("{voter:?}{n}").parse().unwrap();
                votes.add(Vote { token, voter, at: Timestamp::EPOCH });
            }
        }
        votes
    }

    #[test]
    fn people_count_agents_hardly_and_the_scale_has_an_end() {
        let counted = |people, agents| as_citations(&votes(people, agents), Timestamp::EPOCH);
        assert_eq!((counted(0, 0), counted(0, 1), counted(1, 0)), (0, 0, 1));
        assert!(counted(0, 1_000) <= counted(1, 0));
        assert!(counted(2, 0) > counted(1, 0));
        assert_eq!((counted(16, 0), counted(500, 0)), (31, 31));
    }
}
