//! Who else may read a memory, and who found it of use.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_memory::{Citations, MemoryId, Vote, Voter};
use holdfast_types::{AgentId, Key, Timestamp};
use rusqlite::params;

use super::{Pen, Table};
use crate::error::Result;

impl Table {
    /// What each other agent may read.
    pub(crate) fn shares(&self) -> Result<BTreeMap<AgentId, BTreeSet<u64>>> {
        let pairs: Vec<(i64, String)> = self.read(|conn| {
            let mut all = conn.prepare_cached("SELECT seq, agent FROM share")?;
            Ok(all.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
        })?;
        let mut shares: BTreeMap<AgentId, BTreeSet<u64>> = BTreeMap::new();
        for (seq, agent) in pairs {
            if let Ok(agent) = agent.parse() {
                shares.entry(agent).or_default().insert(seq as u64);
            }
        }
        Ok(shares)
    }

    /// Who else may read this one.
    pub(crate) fn shared_with(&self, seq: u64) -> Result<Vec<AgentId>> {
        let agents: Vec<String> = self.read(|conn| {
            let mut all = conn.prepare_cached("SELECT agent FROM share WHERE seq = ?1 ORDER BY agent")?;
            Ok(all.query_map([seq as i64], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
        })?;
        Ok(agents.iter().filter_map(|agent| agent.parse().ok()).collect())
    }

    /// The votes for each that has any.
    pub(crate) fn votes(&self) -> Result<BTreeMap<u64, Citations>> {
        let rows: Vec<(i64, String, bool, i64)> = self.read(|conn| {
            let mut all = conn.prepare_cached("SELECT seq, token, person, at FROM vote")?;
            let row = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?));
            Ok(all.query_map([], row)?.collect::<rusqlite::Result<_>>()?)
        })?;
        let mut votes: BTreeMap<u64, Citations> = BTreeMap::new();
        for (seq, token, person, at) in rows {
            let (Ok(token), Ok(at)) = (token.parse::<Key>(), Timestamp::from_micros(at)) else { continue };
            let voter = if person { Voter::Person } else { Voter::Agent };
            votes.entry(seq as u64).or_default().add(Vote { token, voter, at });
        }
        Ok(votes)
    }
}

impl Pen<'_> {
    pub(super) fn share(&self, id: MemoryId, with: &str, shared: bool) -> Result<()> {
        let Some(seq) = self.seq_of(id)? else { return Ok(()) };
        let sql = match shared {
            true => "INSERT OR IGNORE INTO share (seq, agent) VALUES (?1, ?2)",
            false => "DELETE FROM share WHERE seq = ?1 AND agent = ?2",
        };
        self.tx.prepare_cached(sql)?.execute(params![seq, with])?;
        Ok(())
    }

    /// The same voter again has voted now, and counts once.
    pub(super) fn cite(&self, id: MemoryId, vote: &Vote) -> Result<()> {
        let Some(seq) = self.seq_of(id)? else { return Ok(()) };
        let person = vote.voter == Voter::Person;
        self.tx.execute(
            "INSERT INTO vote (seq, token, person, at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (seq, token) DO UPDATE SET at = max(at, excluded.at)",
            params![seq, vote.token.as_str(), person, vote.at.as_micros()],
        )?;
        Ok(())
    }
}
