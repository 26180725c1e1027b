//! Tokens for scripts: made by somebody who is signed in, shown once, ended by time, by hand, or with their maker.

use std::time::Duration;

use holdfast_types::Timestamp;
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;

use super::news::NewsKind;
use super::{
    Accounts, Acting, column, label_column, maybe_time_column, name_column, news, people, time_column,
};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId, TokenId};
use crate::name::{Label, PersonName};
use crate::role::{Role, Scope};
use crate::secret::{Secret, Stamp, TOKEN_PREFIX, Use};
use crate::signed::{By, Signed};

/// Scripts of one person.
const TOKENS_MAX: usize = 32;

/// A year: what nobody looks at for longer should stop working.
const DAYS_MAX: u32 = 366;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How long one that ended is still listed.
const KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3_600);

/// A token that was just made. The token itself is nowhere else.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub id: TokenId,
    pub token: Secret,
    pub expires: Timestamp,
}

/// A token as the settings page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenSeen {
    pub id: TokenId,
    pub person: PersonId,
    pub person_name: PersonName,
    pub name: Label,
    pub scope: Scope,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub used: Option<Timestamp>,
    pub revoked: Option<Timestamp>,
}

/// A token as it is stored, with its maker.
struct Stored {
    id: TokenId,
    scope: Scope,
    person: PersonId,
    name: PersonName,
    role: Role,
    created: Timestamp,
    expires: Timestamp,
    revoked: bool,
}

impl Acting {
    /// `device` is the passkey that was used for it: the token ends with it.
    pub fn make_token(
        &self,
        by: &Signed,
        device: Option<DeviceId>,
        name: &Label,
        scope: Scope,
        days: u32,
    ) -> Result<NewToken> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(Error::BadRequest { why: format!("`days` is 1 to {DAYS_MAX}") });
        }
        let (id, token, now) = (TokenId::random()?, Secret::with_prefix(TOKEN_PREFIX)?, self.now());
        let expires = now.plus(DAY * days);
        let made = |tx: &Transaction<'_>| {
            // By the role of this moment: nobody gives away what they have no more.
            if people::found(tx, by.person)?.role < scope.role() {
                return Err(Error::NotAllowed { least: scope.role() });
            }
            has_room(tx, by.person, now)?;
            tx.execute(
                "INSERT INTO tokens (stamp, id, person, name, scope, created, expires, device, session)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    Stamp::of(Use::Token, token.reveal()).0,
                    id.to_string(),
                    by.person.to_string(),
                    name.as_str(),
                    scope.as_str(),
                    now.as_micros(),
                    expires.as_micros(),
                    device.map(|id| id.to_string()),
                    session.to_string(),
                ],
            )?;
            news::tell(tx, by.person, Some(session), NewsKind::Token, name, now)?;
            Ok(())
        };
        let (by, called) = (by.person, name.clone());
        self.change(made, |(), from| vec![Event::TokenMade { by, token: id, name: called, scope, from }])?;
        Ok(NewToken { id, token, expires })
    }

    /// One's own, or any as an owner.
    pub fn revoke_token(&self, by: &Signed, id: TokenId) -> Result<()> {
        let now = self.now();
        let revoked = |tx: &Transaction<'_>| {
            let any = people::found(tx, by.person)?.role == Role::Owner;
            let sql = "SELECT revoked IS NULL FROM tokens WHERE id = ?1 AND (?2 OR person = ?3)";
            let theirs = params![id.to_string(), any, by.person.to_string()];
            let live: Option<bool> = tx.query_row(sql, theirs, |row| row.get(0)).optional()?;
            let live = live.ok_or(Error::NotFound { what: "token" })?;
            let sql = "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL";
            tx.execute(sql, params![id.to_string(), now.as_micros()])?;
            Ok(live)
        };
        // One that is over already is not revoked again, nor recorded again.
        let revoked = self.change(revoked, |live, from| {
            let event = Event::TokenRevoked { by: by.person, token: id, from };
            Some(event).filter(|_| *live).into_iter().collect()
        });
        self.known.forget();
        revoked.map(drop)
    }
}

impl Accounts {
    /// Who asks with this token. Never more than its scope, and never more than its maker may do now. Only reads: that it was used is written down
    /// beside the request ([`Accounts::touch`]), so that a token pauses also where the accounts take no write.
    pub fn signed_by_token(&self, token: &str) -> Result<Option<Signed>> {
        let Some(stamp) = Stamp::of_sent(Use::Token, token) else {
            return Ok(None);
        };
        let Some(stored) = self.live_token(stamp)? else {
            return Ok(None);
        };
        let by = By::Token { id: stored.id, scope: stored.scope };
        let role = stored.role.min(stored.scope.role());
        Ok(Some(Signed { person: stored.person, name: stored.name, role, by, stamp }))
    }

    /// All tokens, newest first, those that ended a while ago included.
    pub fn tokens(&self) -> Result<Vec<TokenSeen>> {
        self.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT t.id, t.person, p.name, t.name, t.scope, t.created, t.expires, t.used, t.revoked
                 FROM tokens t JOIN people p ON p.id = t.person ORDER BY t.created DESC, t.id",
            )?;
            rows.query_map([], seen_of)?.collect()
        })
    }

    pub fn tokens_of(&self, person: PersonId) -> Result<Vec<TokenSeen>> {
        Ok(self.tokens()?.into_iter().filter(|token| token.person == person).collect())
    }

    /// The role a token gives now, for a stream that goes on.
    pub(super) fn token_role(&self, stamp: Stamp) -> Result<Option<Role>> {
        Ok(self.live_token(stamp)?.map(|stored| stored.role.min(stored.scope.role())))
    }

    fn live_token(&self, stamp: Stamp) -> Result<Option<Stored>> {
        let sql = "SELECT t.id, t.scope, t.person, p.name, p.role, t.created, t.expires,
            t.revoked IS NOT NULL FROM tokens t JOIN people p ON p.id = t.person WHERE t.stamp = ?1";
        let now = self.now();
        let stored =
            self.read(|conn| conn.prepare_cached(sql)?.query_row([stamp.0], stored_of).optional())?;
        let slack = Duration::from_secs(120);
        Ok(stored.filter(|t| !t.revoked && now < t.expires && t.created <= now.plus(slack)))
    }
}

pub(super) fn sweep(tx: &Transaction<'_>, now: Timestamp) -> Result<()> {
    let before = now.as_micros().saturating_sub(i64::try_from(KEPT_FOR.as_micros()).unwrap_or(i64::MAX));
    tx.execute("DELETE FROM tokens WHERE expires < ?1 OR revoked < ?1", [before])?;
    Ok(())
}

fn has_room(tx: &Transaction<'_>, person: PersonId, now: Timestamp) -> Result<()> {
    let sql = "SELECT count(*) FROM tokens WHERE person = ?1 AND revoked IS NULL AND expires > ?2";
    let count: usize = tx.query_row(sql, params![person.to_string(), now.as_micros()], |row| row.get(0))?;
    if count < TOKENS_MAX { Ok(()) } else { Err(Error::Full { what: "tokens", max: TOKENS_MAX }) }
}

fn stored_of(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        id: column(row, 0)?,
        scope: column(row, 1)?,
        person: column(row, 2)?,
        name: name_column(row, 3)?,
        role: column(row, 4)?,
        created: time_column(row, 5)?,
        expires: time_column(row, 6)?,
        revoked: row.get(7)?,
    })
}

fn seen_of(row: &Row<'_>) -> rusqlite::Result<TokenSeen> {
    Ok(TokenSeen {
        id: column(row, 0)?,
        person: column(row, 1)?,
        person_name: name_column(row, 2)?,
        name: label_column(row, 3)?,
        scope: column(row, 4)?,
        created: time_column(row, 5)?,
        expires: time_column(row, 6)?,
        used: maybe_time_column(row, 7)?,
        revoked: maybe_time_column(row, 8)?,
    })
}
