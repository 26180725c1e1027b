//! Sessions: a random cookie names a row. New at every sign-in; ended by time, by their person, or with what they rest on.

use std::net::IpAddr;
use std::time::Duration;

use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, Transaction, params};
use serde::Serialize;

use super::known::Row;
use super::locking::{self, LockedOut, Tokens};
use super::{Accounts, Acting, column, label_column, name_column, time_column};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId, SessionId};
use crate::name::{Label, PersonName};
use crate::role::Role;
use crate::secret::{Secret, Stamp, Use};
use crate::settings::Settings;
use crate::signed::{By, Csrf, CsrfKey, Signed};

/// Browsers one person is signed in with; the one unused longest gives way.
const SESSIONS_MAX: usize = 64;

/// A session that was just made. The cookie's value is nowhere else.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub cookie: Secret,
    /// Its anti-forgery word.
    pub word: Csrf,
    /// When it ends at the latest.
    pub expires: Timestamp,
}

/// The session of a browser in which somebody comes in anew.
#[derive(Clone, Debug)]
pub struct Previous {
    pub who: Signed,
    /// Whether its anti-forgery word came along.
    pub has_word: bool,
}

impl Previous {
    /// A cookie alone may be somebody else's, stolen: signing in with one's own passkey must not end that person's session.
    fn ends_for(&self, person: PersonId) -> bool {
        self.has_word || self.who.person == person
    }
}

/// Somebody who is passed on to a service.
#[derive(Clone, Debug)]
pub struct Passing {
    pub person: PersonId,
    pub name: PersonName,
    pub role: Role,
    pub(crate) stamp: Stamp,
}

/// A session as its person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionSeen {
    pub id: SessionId,
    /// What the browser called itself.
    pub agent: Label,
    /// The device it was signed in with.
    pub device: Label,
    pub created: Timestamp,
    pub seen: Timestamp,
    pub expires: Timestamp,
}

const SELECT: &str = "SELECT s.id, s.person, p.name, p.role, s.created, s.seen, s.expires
    FROM sessions s JOIN people p ON p.id = s.person WHERE s.stamp = ?1";

impl Accounts {
    /// Whose cookie this is, when it is anybody's.
    pub fn signed(&self, cookie: &str) -> Result<Option<Signed>> {
        let Some(stamp) = Stamp::of_sent(Use::Session, cookie) else {
            return Ok(None);
        };
        Ok(self.live_row(stamp)?.map(|row| self.signed_of(row, stamp)))
    }

    /// The same when it need not look at the disk; `None` when it would have to.
    pub fn signed_if_known(&self, cookie: &str) -> Option<Signed> {
        let stamp = Stamp::of_sent(Use::Session, cookie)?;
        let row = self.known.get(stamp).filter(|row| self.counts(row))?;
        Some(self.signed_of(row, stamp))
    }

    /// Whose session this is, for whoever only passes somebody on to a service. Nothing of ours can be changed with it.
    pub fn passing(&self, id: SessionId) -> Result<Option<Passing>> {
        let stamp: Option<Stamp> = self.read(|conn| {
            let mut find = conn.prepare_cached("SELECT stamp FROM sessions WHERE id = ?1")?;
            find.query_row([id.to_string()], |row| Ok(Stamp(row.get(0)?))).optional()
        })?;
        let Some(stamp) = stamp else { return Ok(None) };
        Ok(self.live_row(stamp)?.map(|row| Passing {
            person: row.person,
            name: row.name,
            role: row.role,
            stamp,
        }))
    }

    /// Whether this use of a session or a token is to be written down with [`Accounts::touch`]: once a minute.
    pub fn touch_is_due(&self, signed: &Signed) -> bool {
        match signed.by {
            By::Session { .. } => self.known.touch(signed.stamp, self.now()),
            By::Token { .. } => self.known.touch_token(signed.stamp, self.now()),
        }
    }

    pub fn touch(&self, signed: &Signed) -> Result<()> {
        let sql = match signed.by {
            By::Session { .. } => "UPDATE sessions SET seen = max(seen, ?2) WHERE stamp = ?1",
            By::Token { .. } => "UPDATE tokens SET used = max(coalesce(used, 0), ?2) WHERE stamp = ?1",
        };
        self.run(sql, params![signed.stamp.0, self.now().as_micros()]).map(drop)
    }

    /// Most recently used first.
    pub fn sessions(&self, person: PersonId) -> Result<Vec<SessionSeen>> {
        let (now, idle) = (self.now(), self.settings.session_idle);
        self.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT s.id, s.agent, k.label, s.created, s.seen, s.expires
                 FROM sessions s JOIN passkeys k ON k.id = s.device
                 WHERE s.person = ?1 AND s.expires > ?2 AND s.seen > ?3 ORDER BY s.seen DESC, s.id",
            )?;
            let idle_before = idle_before(now, idle);
            rows.query_map(params![person.to_string(), now.as_micros(), idle_before], seen_of)?.collect()
        })
    }

    /// The row of a session that counts now.
    pub(super) fn live_row(&self, stamp: Stamp) -> Result<Option<Row>> {
        let turn = self.known.turn();
        if let Some(row) = self.known.get(stamp) {
            return Ok(Some(row).filter(|row| self.counts(row)));
        }
        let found = self.read(|conn| row_of(conn, stamp))?.filter(|row| self.counts(row));
        if let Some(row) = &found {
            self.known.put(turn, stamp, row.clone());
        }
        Ok(found)
    }

    fn counts(&self, row: &Row) -> bool {
        row.is_live(self.now(), self.settings.session_idle)
    }

    fn signed_of(&self, row: Row, stamp: Stamp) -> Signed {
        let by = By::Session { id: row.id, csrf: Csrf::of(&self.csrf_key, stamp) };
        Signed { person: row.person, name: row.name, role: row.role, by, stamp }
    }
}

impl Acting {
    /// Signs out.
    pub fn end(&self, signed: &Signed) -> Result<()> {
        let person = signed.person;
        let event = |from| Some(Event::SignedOut { person, session: signed.session()?, from });
        self.end_recorded("stamp = ?2", params![person.to_string(), signed.stamp.0], event).map(drop)
    }

    /// Ends one session of one's own, with the open links and the tokens that were made in it: whoever had it could come back by them.
    pub fn end_session(&self, by: &Signed, id: SessionId, tokens: Tokens) -> Result<LockedOut> {
        let (person, now) = (by.person, self.now());
        let ended = |tx: &Transaction<'_>| {
            let sql = "DELETE FROM sessions WHERE person = ?1 AND id = ?2";
            let sessions = tx.execute(sql, params![person.to_string(), id.to_string()])?;
            if sessions == 0 {
                return Err(Error::NotFound { what: "session" });
            }
            let links = locking::links_in(tx, id)?;
            let tokens = match tokens {
                Tokens::End => locking::tokens_in(tx, id, now)?,
                Tokens::Stay => 0,
            };
            Ok(LockedOut { sessions, links, tokens })
        };
        let ended = self.change(ended, |ended, from| {
            vec![Event::SessionsEnded { person, which: "one", ended: *ended, from }]
        });
        self.known.forget();
        ended
    }

    /// Ends the sessions of a person that fit; where there are none, nothing is recorded.
    fn end_recorded(
        &self,
        which: &str,
        with: impl rusqlite::Params,
        event: impl FnOnce(IpAddr) -> Option<Event>,
    ) -> Result<usize> {
        let sql = format!("DELETE FROM sessions WHERE person = ?1 AND {which}");
        let ended = |tx: &Transaction<'_>| Ok(tx.execute(&sql, with)?);
        let ended =
            self.change(ended, |ended, from| event(from).filter(|_| *ended > 0).into_iter().collect());
        self.known.forget();
        ended
    }
}

/// Ends what this browser had before `person` came in with it. Gives whose it was, when it was still there.
pub(super) fn end_previous(
    tx: &Transaction<'_>,
    previous: Option<&Previous>,
    person: PersonId,
) -> Result<Option<(PersonId, SessionId)>> {
    let Some((Previous { who, .. }, id)) =
        previous.filter(|previous| previous.ends_for(person)).and_then(|it| Some((it, it.who.session()?)))
    else {
        return Ok(None);
    };
    let ended = tx.execute("DELETE FROM sessions WHERE stamp = ?1", [who.stamp.0])?;
    Ok((ended > 0).then_some((who.person, id)))
}

/// A new session, and how many had to give way: then what is known in memory has to be forgotten.
pub(super) fn insert(
    tx: &Transaction<'_>,
    (settings, key): (&Settings, &CsrfKey),
    person: PersonId,
    device: DeviceId,
    agent: &Label,
    now: Timestamp,
) -> Result<(NewSession, usize)> {
    let (id, cookie, expires) = (SessionId::random()?, Secret::random()?, now.plus(settings.session_life));
    let gave_way = make_room(tx, person, now, settings.session_idle)?;
    let stamp = Stamp::of(Use::Session, cookie.reveal());
    let word = Csrf::of(key, stamp);
    tx.execute(
        "INSERT INTO sessions (stamp, id, person, device, agent, created, seen, expires, confirmed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?6)",
        params![
            stamp.0,
            id.to_string(),
            person.to_string(),
            device.to_string(),
            agent.as_str(),
            now.as_micros(),
            expires.as_micros(),
        ],
    )?;
    Ok((NewSession { id, cookie, word, expires }, gave_way))
}

/// It may have been ended a moment ago.
pub(super) fn still_there(tx: &Transaction<'_>, stamp: Stamp) -> Result<()> {
    let found = tx.query_row("SELECT 1 FROM sessions WHERE stamp = ?1", [stamp.0], |_| Ok(())).optional()?;
    found.ok_or(Error::NotSignedIn)
}

pub(super) fn sweep(tx: &Transaction<'_>, now: Timestamp, idle: Duration) -> Result<()> {
    let sql = "DELETE FROM sessions WHERE expires <= ?1 OR seen <= ?2";
    tx.execute(sql, params![now.as_micros(), idle_before(now, idle)])?;
    Ok(())
}

/// Those that ended go, and then the ones unused longest.
fn make_room(tx: &Transaction<'_>, person: PersonId, now: Timestamp, idle: Duration) -> Result<usize> {
    tx.execute(
        "DELETE FROM sessions WHERE person = ?1 AND (expires <= ?2 OR seen <= ?3)",
        params![person.to_string(), now.as_micros(), idle_before(now, idle)],
    )?;
    Ok(tx.execute(
        "DELETE FROM sessions WHERE stamp IN (SELECT stamp FROM sessions WHERE person = ?1
         ORDER BY seen DESC, created DESC LIMIT -1 OFFSET ?2)",
        params![person.to_string(), SESSIONS_MAX - 1],
    )?)
}

fn idle_before(now: Timestamp, idle: Duration) -> i64 {
    now.as_micros().saturating_sub(i64::try_from(idle.as_micros()).unwrap_or(i64::MAX))
}

fn row_of(conn: &Connection, stamp: Stamp) -> rusqlite::Result<Option<Row>> {
    let row = |row: &SqlRow<'_>| {
        Ok(Row {
            id: column(row, 0)?,
            person: column(row, 1)?,
            name: name_column(row, 2)?,
            role: column(row, 3)?,
            created: time_column(row, 4)?,
            seen: time_column(row, 5)?,
            expires: time_column(row, 6)?,
        })
    };
    conn.prepare_cached(SELECT)?.query_row([stamp.0], row).optional()
}

fn seen_of(row: &SqlRow<'_>) -> rusqlite::Result<SessionSeen> {
    Ok(SessionSeen {
        id: column(row, 0)?,
        agent: label_column(row, 1)?,
        device: label_column(row, 2)?,
        created: time_column(row, 3)?,
        seen: time_column(row, 4)?,
        expires: time_column(row, 5)?,
    })
}
