//! What a person is told when they come next: every new way to them that was made since. It stays until they say that
//! they know of it.

use holdfast_types::Timestamp;
use rusqlite::{Transaction, params};
use serde::Serialize;

use super::{Accounts, Acting, label_column, time_column};
use crate::error::Result;
use crate::event::Event;
use crate::id::{PersonId, SessionId};
use crate::name::Label;
use crate::signed::Signed;

/// Kept for one person; the oldest give way.
const NEWS_MAX: usize = 32;

/// What there is to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NewsKind {
    Passkey,
    Token,
    Link,
    /// New recovery codes.
    Codes,
}

impl NewsKind {
    const ALL: [NewsKind; 4] = [NewsKind::Passkey, NewsKind::Token, NewsKind::Link, NewsKind::Codes];

    pub fn as_str(self) -> &'static str {
        match self {
            NewsKind::Passkey => "passkey",
            NewsKind::Token => "token",
            NewsKind::Link => "link",
            NewsKind::Codes => "codes",
        }
    }
}

/// One thing that was made in somebody's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct News {
    /// Never given again, and larger for what came later.
    pub id: i64,
    pub kind: NewsKind,
    pub name: Label,
    pub at: Timestamp,
}

impl Accounts {
    /// What this session's person has not said they know of, newest first. What this session did itself is not news to it.
    pub fn news(&self, who: &Signed) -> Result<Vec<News>> {
        let here = who.session().map(|id| id.to_string()).unwrap_or_default();
        self.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT kind, name, at, id FROM news WHERE person = ?1 AND session IS NOT ?2 ORDER BY id DESC",
            )?;
            let one = |row: &rusqlite::Row<'_>| {
                let kind: String = row.get(0)?;
                let kind = NewsKind::ALL.into_iter().find(|it| it.as_str() == kind);
                let kind = kind.ok_or(rusqlite::Error::InvalidQuery)?;
                Ok(News { id: row.get(3)?, kind, name: label_column(row, 1)?, at: time_column(row, 2)? })
            };
            rows.query_map(params![who.person.to_string(), here], one)?.collect()
        })
    }
}

impl Acting {
    /// They know of all that was shown to them, the newest of which is `upto`, and of what this session did itself.
    pub fn news_known(&self, who: &Signed, upto: i64) -> Result<()> {
        let (person, here) = (who.person, who.session().map(|id| id.to_string()));
        let known = |tx: &Transaction<'_>| {
            let sql = "DELETE FROM news WHERE person = ?1 AND (id <= ?2 OR session = ?3)";
            Ok(tx.execute(sql, params![person.to_string(), upto, here])?)
        };
        let event = |known: &usize, from| {
            let event = Event::NewsKnown { person, upto, known: *known, from };
            Some(event).filter(|_| *known > 0).into_iter().collect()
        };
        self.change(known, event).map(drop)
    }
}

pub(super) fn tell(
    tx: &Transaction<'_>,
    person: PersonId,
    by: Option<SessionId>,
    kind: NewsKind,
    name: &Label,
    now: Timestamp,
) -> Result<()> {
    let person = person.to_string();
    tx.execute(
        "INSERT INTO news (person, session, kind, name, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![person, by.map(|id| id.to_string()), kind.as_str(), name.as_str(), now.as_micros()],
    )?;
    tx.execute(
        "DELETE FROM news WHERE id IN (SELECT id FROM news WHERE person = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)",
        params![person, NEWS_MAX],
    )?;
    Ok(())
}
