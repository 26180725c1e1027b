//! Locking somebody out: what ends together with sessions, devices and roles, so that no way back in stays open.
//!
//! Links are the quiet ones. Whoever had a session for a minute could make one and use it later, so every act that takes
//! something away takes the open links of that person along. Tokens end with the passkey they were made with, with what
//! they are allowed, and with a person's word.

use holdfast_types::Timestamp;
use rusqlite::{Transaction, params};
use serde::Serialize;

use super::{Acting, browsers};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, LinkId, PersonId, SessionId};
use crate::role::Role;
use crate::signed::Signed;

/// Whether tokens end too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    End,
    Stay,
}

/// What ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LockedOut {
    pub sessions: usize,
    pub links: usize,
    pub tokens: usize,
}

impl Acting {
    /// Ends all sessions of one's own but this one, with the open links and the marks of browsers.
    pub fn end_other_sessions(&self, by: &Signed, tokens: Tokens) -> Result<LockedOut> {
        let sql = "DELETE FROM sessions WHERE person = ?1 AND stamp <> ?2";
        self.lock_out(by.person, "others", tokens, |tx| {
            Ok(tx.execute(sql, params![by.person.to_string(), by.stamp.0])?)
        })
    }

    /// Ends all sessions of somebody, with the open links and the marks of browsers.
    pub fn end_all_sessions(&self, person: PersonId, tokens: Tokens) -> Result<LockedOut> {
        let sql = "DELETE FROM sessions WHERE person = ?1";
        self.lock_out(person, "all", tokens, |tx| Ok(tx.execute(sql, [person.to_string()])?))
    }

    fn lock_out(
        &self,
        person: PersonId,
        which: &'static str,
        tokens: Tokens,
        sessions: impl FnOnce(&Transaction<'_>) -> Result<usize>,
    ) -> Result<LockedOut> {
        let now = self.now();
        let locked_out = |tx: &Transaction<'_>| {
            let sessions = sessions(tx)?;
            browsers::forget_all(tx, person)?;
            let links = links_of(tx, person)?;
            let tokens = match tokens {
                Tokens::End => tokens_of(tx, person, now)?,
                Tokens::Stay => 0,
            };
            Ok(LockedOut { sessions, links, tokens })
        };
        // Where nothing was open, nothing is recorded.
        let ended = self.change(locked_out, |ended, from| {
            let event = Event::SessionsEnded { person, which, ended: *ended, from };
            Some(event).filter(|_| *ended != LockedOut::default()).into_iter().collect()
        });
        self.known.forget();
        self.marks_again()?;
        ended
    }

    /// One's own, or any as an owner.
    pub fn revoke_link(&self, by: &Signed, id: LinkId) -> Result<()> {
        let revoked = |tx: &Transaction<'_>| {
            let any = super::people::found(tx, by.person)?.role == Role::Owner;
            let sql =
                "DELETE FROM links WHERE id = ?1 AND used IS NULL AND (?2 OR person = ?3 OR made_by = ?3)";
            match tx.execute(sql, params![id.to_string(), any, by.person.to_string()])? {
                1 => Ok(()),
                _ => Err(Error::NotFound { what: "link" }),
            }
        };
        self.change(revoked, |(), from| vec![Event::LinkRevoked { by: by.person, link: id, from }])
    }
}

/// Open links for a person or by them, but for those that nobody makes who is signed in: by these somebody comes back who has nothing
/// else, and whoever has stolen a session must not take them away.
pub(super) fn links_of(tx: &Transaction<'_>, person: PersonId) -> Result<usize> {
    let sql = "DELETE FROM links WHERE used IS NULL AND (person = ?1 OR made_by = ?1)
        AND purpose NOT IN ('first', 'recovered')";
    Ok(tx.execute(sql, [person.to_string()])?)
}

/// All of them, for somebody who came back: another way of that kind may be an intruder's.
pub(super) fn all_links_of(tx: &Transaction<'_>, person: PersonId) -> Result<usize> {
    let sql = "DELETE FROM links WHERE used IS NULL AND (person = ?1 OR made_by = ?1)";
    Ok(tx.execute(sql, [person.to_string()])?)
}

/// Open links that were made in one session.
pub(super) fn links_in(tx: &Transaction<'_>, session: SessionId) -> Result<usize> {
    Ok(tx.execute("DELETE FROM links WHERE used IS NULL AND session = ?1", [session.to_string()])?)
}

/// Tokens that were made in one session.
pub(super) fn tokens_in(tx: &Transaction<'_>, session: SessionId, now: Timestamp) -> Result<usize> {
    let sql = "UPDATE tokens SET revoked = ?2 WHERE session = ?1 AND revoked IS NULL";
    Ok(tx.execute(sql, params![session.to_string(), now.as_micros()])?)
}

pub(super) fn tokens_of(tx: &Transaction<'_>, person: PersonId, now: Timestamp) -> Result<usize> {
    let sql = "UPDATE tokens SET revoked = ?2 WHERE person = ?1 AND revoked IS NULL";
    Ok(tx.execute(sql, params![person.to_string(), now.as_micros()])?)
}

/// Tokens that were made with one passkey.
pub(super) fn tokens_with(tx: &Transaction<'_>, device: DeviceId, now: Timestamp) -> Result<usize> {
    let sql = "UPDATE tokens SET revoked = ?2 WHERE device = ?1 AND revoked IS NULL";
    Ok(tx.execute(sql, params![device.to_string(), now.as_micros()])?)
}

/// Tokens that may more than their person does now: with the old role they would come back.
pub(super) fn tokens_above(
    tx: &Transaction<'_>,
    person: PersonId,
    role: Role,
    now: Timestamp,
) -> Result<usize> {
    let too_much = crate::role::Scope::ALL.into_iter().filter(|scope| scope.role() > role);
    let mut ended = 0;
    for scope in too_much {
        let sql = "UPDATE tokens SET revoked = ?3 WHERE person = ?1 AND scope = ?2 AND revoked IS NULL";
        ended += tx.execute(sql, params![person.to_string(), scope.as_str(), now.as_micros()])?;
    }
    Ok(ended)
}
