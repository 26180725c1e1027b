//! Recovery codes: each lets a person register a new passkey once, and nothing else.

use holdfast_types::Timestamp;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::links::{NewLink, Wanted};
use super::news::NewsKind;
use super::{Accounts, Acting, news, people};
use crate::code::{CODES, Code};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::PersonId;
use crate::name::Label;
use crate::secret::Secret;
use crate::signed::Signed;

/// Draws for ten codes, a prefix that is taken being drawn again. Of a million prefixes a few thousand are, at most.
const DRAWS_MAX: usize = 64;

/// A code that was good.
#[derive(Debug)]
pub struct Recovered {
    pub person: PersonId,
    pub link: NewLink,
    /// How many codes they have left.
    pub left: usize,
}

/// Codes with their hashes, not stored yet.
pub(super) struct FreshCodes(Vec<(Code, String)>);

impl FreshCodes {
    pub(super) fn reveal(self) -> Vec<String> {
        self.0.iter().map(|(code, _)| code.shown()).collect()
    }
}

impl Acting {
    /// All new; the old ones are good no more.
    pub fn renew_codes(&self, by: &Signed) -> Result<Vec<String>> {
        let fresh = self.fresh_codes()?;
        let now = self.now();
        let renewed = |tx: &Transaction<'_>| {
            people::found(tx, by.person)?;
            replace(tx, by.person, &fresh, now)?;
            let called = Label::near("ten new ones", "codes");
            news::tell(tx, by.person, by.session(), NewsKind::Codes, &called, now)
        };
        self.change(renewed, |(), from| vec![Event::CodesRenewed { person: by.person, from }])?;
        Ok(fresh.reveal())
    }

    /// Uses a code up, for a link that registers a new passkey. Costs a slow hash only when its first letters fit a row;
    /// then `charge` is asked first, with those letters and whose code it is.
    pub fn recover(
        &self,
        text: &str,
        charge: impl FnOnce(&str, PersonId) -> Result<()>,
    ) -> Result<Recovered> {
        let code = Code::sent(text).ok_or(Error::CodeRefused)?;
        let sql = "SELECT person, hash FROM codes WHERE prefix = ?1 AND used IS NULL";
        let row =
            |row: &rusqlite::Row<'_>| Ok((super::column::<PersonId>(row, 0)?, row.get::<_, String>(1)?));
        let found = self.read(|conn| conn.query_row(sql, [code.prefix()], row).optional())?;
        let (person, hash) = found.ok_or(Error::CodeRefused)?;
        charge(code.prefix(), person)?;
        let seat = self.hashing.seat()?;
        seat.count();
        if !code.is(&hash) {
            return Err(Error::CodeRefused);
        }
        drop(seat);
        let (now, token) = (self.now(), Secret::random()?);
        // One transaction: a code is not used up for a link that was not made.
        let used_up = |tx: &Transaction<'_>| {
            // The hash too: the codes may have been renewed meanwhile.
            let sql = "UPDATE codes SET used = ?3 WHERE prefix = ?1 AND hash = ?2 AND used IS NULL";
            if tx.execute(sql, params![code.prefix(), hash, now.as_micros()])? != 1 {
                return Err(Error::CodeRefused);
            }
            let person = people::found(tx, person)?;
            let (id, left) = (person.id, left(tx, person.id)?);
            let link = self.put_link(tx, token, Wanted::by_code(person))?;
            Ok(Recovered { person: id, left, link })
        };
        self.change(used_up, |done, from| vec![Event::Recovered { person, left: done.left, from }])
    }
}

impl Accounts {
    /// How many are unused.
    pub fn codes_left(&self, person: PersonId) -> Result<usize> {
        self.read(|conn| left(conn, person))
    }

    /// How many slow hashes were computed since the start, for metrics and for the test that counts them.
    pub fn hashes_computed(&self) -> u64 {
        self.hashing.done()
    }

    pub(super) fn fresh_codes(&self) -> Result<FreshCodes> {
        let seat = self.hashing.seat()?;
        let mut codes: Vec<(Code, String)> = Vec::with_capacity(CODES);
        for _ in 0..DRAWS_MAX {
            let code = Code::random()?;
            if codes.iter().any(|(other, _)| other.prefix() == code.prefix())
                || self.prefix_is_taken(&code)?
            {
                continue;
            }
            let hash = code.hash(self.settings.code_cost)?;
            seat.count();
            codes.push((code, hash));
            if codes.len() == CODES {
                return Ok(FreshCodes(codes));
            }
        }
        Err(Error::Interrupted)
    }

    fn prefix_is_taken(&self, code: &Code) -> Result<bool> {
        let sql = "SELECT 1 FROM codes WHERE prefix = ?1";
        Ok(self.read(|conn| conn.query_row(sql, [code.prefix()], |_| Ok(())).optional())?.is_some())
    }
}

/// Puts these in the place of all others of the person.
pub(super) fn replace(
    tx: &Transaction<'_>,
    person: PersonId,
    fresh: &FreshCodes,
    now: Timestamp,
) -> Result<()> {
    tx.execute("DELETE FROM codes WHERE person = ?1", [person.to_string()])?;
    let mut insert =
        tx.prepare_cached("INSERT INTO codes (prefix, person, hash, created) VALUES (?1, ?2, ?3, ?4)")?;
    for (code, hash) in &fresh.0 {
        insert.execute(params![code.prefix(), person.to_string(), hash, now.as_micros()])?;
    }
    Ok(())
}

fn left(conn: &rusqlite::Connection, person: PersonId) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM codes WHERE person = ?1 AND used IS NULL";
    conn.query_row(sql, [person.to_string()], |row| row.get(0))
}
