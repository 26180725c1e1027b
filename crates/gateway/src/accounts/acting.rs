//! What changes an account, and is recorded first.
//!
//! [`Acting`] is the accounts in the hands of a caller with an address and a recorder; only it can change what somebody may do. Each change
//! runs in one transaction: it is decided and written there, then its events are recorded, then it is committed. So an act that cannot be
//! recorded leaves nothing behind, and one that can is in the log before anybody is answered. When the commit itself fails, the log is told
//! so ([`Recorder::take_back`]); after a crash between the two, the last act in the log may not have come about, and no other.
//!
//! Acts that only take power away (ending sessions, revoking a token, removing a device) must not fail because the log is full: somebody may
//! be locking an intruder out. They are owed: kept in the same transaction, and recorded with the time they were done once there is room.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use holdfast_types::Timestamp;
use rusqlite::{Transaction, params};
use serde_json::Value;

use super::confirm::Proved;
use super::{Accounts, time_column};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::port::{Recorder, Unrecorded};

/// Entries that one person may owe at once, beyond which their acts are refused like all others: more than somebody makes who locks an intruder out.
const ONES_OWED_MAX: usize = 128;

/// Entries that all may owe who are no owners. What owners owe is beside these: however many join in to use them up, an owner still locks them out.
const OTHERS_OWED_MAX: usize = 1_024;

/// The accounts, for somebody who acts.
#[derive(Clone)]
pub struct Acting {
    accounts: Arc<Accounts>,
    recorder: Arc<dyn Recorder>,
    from: IpAddr,
    /// A passkey that was used for what is done; it is recorded with that.
    proved: Option<Proved>,
}

/// Something that was done before it could be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Owed {
    pub number: i64,
    /// When it was done.
    pub at: Timestamp,
    pub kind: String,
    /// The event, as it would have been recorded. What is stored and cannot be read is here as text.
    pub event: Value,
}

impl std::fmt::Debug for Acting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acting").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Deref for Acting {
    type Target = Accounts;

    fn deref(&self) -> &Accounts {
        &self.accounts
    }
}

impl Acting {
    pub fn new(accounts: Arc<Accounts>, recorder: Arc<dyn Recorder>, from: IpAddr) -> Acting {
        Acting { accounts, recorder, from, proved: None }
    }

    /// The same with a passkey that was used for what is done next.
    pub fn having(self, proved: Option<Proved>) -> Acting {
        Acting { proved, ..self }
    }

    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Does it in one transaction, with the events it amounts to recorded before it counts.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T>,
        events: impl FnOnce(&T, IpAddr) -> Vec<Event>,
    ) -> Result<T> {
        let mut recorded = None;
        let done = self.accounts.write(|tx| {
            let done = change(tx)?;
            let mut events = events(&done, self.from);
            let narrows = events.iter().all(Event::narrows);
            // Where nothing was changed, there is nothing that it was used for.
            let proved = self.proved.clone().filter(|_| !events.is_empty());
            events.splice(0..0, proved.map(|proved| proved.event(self.from)));
            match self.recorder.record(&events) {
                Ok(entries) => recorded = Some(entries),
                Err(why) if narrows => self.owe(tx, &events, why)?,
                Err(Unrecorded(problem)) => return Err(Error::NotRecorded { why: problem.what }),
            }
            Ok(done)
        });
        if done.is_err()
            && let Some(entries) = recorded
        {
            self.recorder.take_back(entries);
        }
        done
    }

    fn owe(&self, tx: &Transaction<'_>, events: &[Event], why: Unrecorded) -> Result<()> {
        const OWNERS: &str = "(SELECT id FROM people WHERE role = 'owner')";
        let by = events.iter().find_map(Event::by).map(|by| by.to_string());
        let number = |sql: &str, with: &[&Option<String>]| -> Result<usize> {
            Ok(tx.query_row(sql, rusqlite::params_from_iter(with), |row| row.get(0))?)
        };
        let is_owner = number(&format!("SELECT count(*) FROM {OWNERS} WHERE id = ?1"), &[&by])? > 0;
        let theirs = number("SELECT count(*) FROM owed WHERE person IS ?1", &[&by])?;
        let others = format!("SELECT count(*) FROM owed WHERE person IS NULL OR person NOT IN {OWNERS}");
        let has_room = theirs + events.len() <= ONES_OWED_MAX
            && (is_owner || number(&others, &[])? + events.len() <= OTHERS_OWED_MAX);
        if !has_room {
            return Err(Error::NotRecorded { why: why.0.what });
        }
        tracing::warn!(why = why.0.what, "an act could not be recorded yet, and is owed to the log");
        for event in events {
            let body = serde_json::to_string(event).unwrap_or_default();
            let sql = "INSERT INTO owed (at, kind, event, person) VALUES (?1, ?2, ?3, ?4)";
            tx.execute(sql, params![self.now().as_micros(), event.kind(), body, by])?;
        }
        Ok(())
    }
}

impl Accounts {
    /// Records what is owed to the log, oldest first, as far as there is room. Returns how many were recorded.
    pub fn settle_owed(&self, recorder: &dyn Recorder) -> Result<usize> {
        let owed = self.owed()?;
        for (done, one) in owed.iter().enumerate() {
            if recorder.record_late(one).is_err() {
                return Ok(done);
            }
            self.run("DELETE FROM owed WHERE number = ?1", [one.number])?;
        }
        Ok(owed.len())
    }

    /// What was done and is not in the log yet.
    pub fn owed(&self) -> Result<Vec<Owed>> {
        self.read(|conn| {
            let mut rows = conn.prepare_cached("SELECT number, at, kind, event FROM owed ORDER BY number")?;
            let owed = |row: &rusqlite::Row<'_>| {
                let event: String = row.get(3)?;
                let event = serde_json::from_str(&event).unwrap_or(Value::String(event));
                Ok(Owed { number: row.get(0)?, at: time_column(row, 1)?, kind: row.get(2)?, event })
            };
            rows.query_map([], owed)?.collect()
        })
    }
}
