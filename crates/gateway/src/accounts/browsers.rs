//! Browsers that somebody signed in with before. Each has a random mark, kept in a cookie.
//!
//! A mark opens nothing. It gives its browser a share of the door of its own, so that a flood from everywhere, or from
//! its own address, does not keep its person out. All are in memory: strangers may send marks, and must not have the
//! disk read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_types::Timestamp;
use rusqlite::{Connection, Transaction, params};

use super::{Accounts, column};
use crate::error::Result;
use crate::id::{DeviceId, PersonId};
use crate::secret::{Secret, Stamp, Use};

/// As long as browsers keep a cookie.
pub(crate) const LIFE: Duration = Duration::from_secs(400 * 24 * 3_600);

/// Of one person; the one unused longest gives way.
const MARKS_MAX: usize = 64;

/// A mark that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownBrowser {
    pub(crate) stamp: Stamp,
    pub(crate) person: PersonId,
}

#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<HashMap<Stamp, PersonId>>);

impl Marks {
    fn all(&self) -> MutexGuard<'_, HashMap<Stamp, PersonId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// The browser that holds this cookie, when it signed in here before. Asks no disk.
    pub(crate) fn known_browser(&self, cookie: &str) -> Option<KnownBrowser> {
        let stamp = Stamp::of_sent(Use::Browser, cookie)?;
        self.marks.all().get(&stamp).map(|person| KnownBrowser { stamp, person: *person })
    }

    /// Whether a cookie is such a mark.
    pub fn is_known_browser(&self, cookie: &str) -> bool {
        self.known_browser(cookie).is_some()
    }

    /// Remembers a browser that just signed in; gives its new mark, or none where it has one of this person's.
    pub fn know_browser(
        &self,
        had: Option<&str>,
        person: PersonId,
        device: DeviceId,
    ) -> Result<Option<Secret>> {
        let now = self.now();
        if let Some(had) = had.and_then(|cookie| self.known_browser(cookie)).filter(|it| it.person == person)
        {
            let sql = "UPDATE browsers SET used = ?2, device = ?3 WHERE stamp = ?1";
            self.run(sql, params![had.stamp.0, now.as_micros(), device.to_string()])?;
            return Ok(None);
        }
        let mark = Secret::random()?;
        let stamp = Stamp::of(Use::Browser, mark.reveal());
        self.write(|tx| {
            tx.execute(
                "DELETE FROM browsers WHERE stamp IN (SELECT stamp FROM browsers WHERE person = ?1
                 ORDER BY used DESC LIMIT -1 OFFSET ?2)",
                params![person.to_string(), MARKS_MAX - 1],
            )?;
            let sql = "INSERT INTO browsers (stamp, person, device, used) VALUES (?1, ?2, ?3, ?4)";
            tx.execute(sql, params![stamp.0, person.to_string(), device.to_string(), now.as_micros()])?;
            Ok(())
        })?;
        self.marks_again()?;
        Ok(Some(mark))
    }

    /// Looks again which there are: after whatever may have taken some away.
    pub(super) fn marks_again(&self) -> Result<()> {
        let stored = self.read(|conn| {
            let mut rows = conn.prepare_cached("SELECT stamp, person FROM browsers")?;
            let row = |row: &rusqlite::Row<'_>| Ok((Stamp(row.get(0)?), column::<PersonId>(row, 1)?));
            rows.query_map([], row)?.collect::<rusqlite::Result<HashMap<_, _>>>()
        })?;
        *self.marks.all() = stored;
        Ok(())
    }
}

/// All of a person: somebody is being locked out, and which browser is whose cannot be told.
pub(super) fn forget_all(tx: &Transaction<'_>, person: PersonId) -> Result<()> {
    tx.execute("DELETE FROM browsers WHERE person = ?1", [person.to_string()])?;
    Ok(())
}

pub(super) fn sweep(conn: &Connection, now: Timestamp) -> Result<()> {
    let before = now.as_micros().saturating_sub(i64::try_from(LIFE.as_micros()).unwrap_or(i64::MAX));
    conn.execute("DELETE FROM browsers WHERE used < ?1", [before])?;
    Ok(())
}

/// So that what is under way is bound to a browser by its mark.
impl KnownBrowser {
    pub(crate) fn holder(self) -> crate::ceremony::Holder {
        crate::ceremony::Holder(crate::ceremony::Whose::Known(self.stamp))
    }
}
