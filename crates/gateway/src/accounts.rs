//! Everybody who may come in, over `gateway.db`. Blocking: an async caller uses a thread for it.
//!
//! One file for each thing that is stored: `people.rs`, `links.rs`, `register.rs` (links and ceremonies become people and
//! passkeys), `devices.rs`, `sign_in.rs`, `confirm.rs`, `sessions.rs`, `codes.rs`, `tokens.rs`, `browsers.rs` (marks of those that signed
//! in before), `news.rs`; `locking.rs` says what ends together. `known.rs`
//! keeps sessions in memory, which is safe because a database has one owner; `watch.rs` tells a stream when its session is over.
//!
//! What changes an account is a method of [`Acting`] (`acting.rs`) and is recorded before it counts.
//! Every change is one transaction, and what it rests on is read inside it: two that hurry see each other.

mod acting;
mod browsers;
mod codes;
mod confirm;
mod devices;
mod hashing;
mod known;
mod links;
mod locking;
mod news;
mod people;
mod register;
mod sessions;
mod sign_in;
mod tokens;
mod watch;

use std::path::Path;
use std::sync::Arc;

use holdfast_store::Database;
use holdfast_types::{Clock, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tokio::sync::Semaphore;

pub use acting::{Acting, Owed};
pub(crate) use browsers::{KnownBrowser, LIFE as BROWSER_LIFE};
pub use codes::Recovered;
pub use confirm::{Confirmed, Proved};
pub use devices::Device;
pub use links::{LinkPurpose, NewLink, OpenLink};
pub use locking::{LockedOut, Tokens};
pub use news::{News, NewsKind};
pub use people::Person;
pub use register::Registration;
pub use sessions::{NewSession, Passing, Previous, SessionSeen};
pub use sign_in::Finished;
pub use tokens::{NewToken, TokenSeen};
pub(crate) use watch::WATCHERS_MAX;
pub use watch::{Ended, Watch};

use crate::ceremony::Ceremonies;
use crate::cookie::CookieNames;
use crate::error::{Error, Result};
use crate::name::{Label, PersonName};
use crate::passkeys::Passkeys;
use crate::schema::GATEWAY;
use crate::sealed::Sealer;
use crate::settings::{RpIdChange, Settings, Site};
use crate::signed::{CsrfKey, Signed};
use browsers::Marks;
use hashing::Hashing;
use known::Known;

/// The accounts. Hand out an `Arc`: there is one owner of the file.
#[derive(Debug)]
pub struct Accounts {
    database: Database,
    clock: Arc<dyn Clock>,
    settings: Settings,
    site: Site,
    passkeys: Passkeys,
    ceremonies: Ceremonies,
    sealer: Sealer,
    known: Known,
    marks: Marks,
    csrf_key: CsrfKey,
    cookies: CookieNames,
    hashing: Hashing,
    /// Looks of streams whose token has to be read from the disk.
    watching: Arc<Semaphore>,
}

impl Accounts {
    /// Opens or makes the database. Settings are checked before anything is touched.
    pub fn open(path: &Path, settings: Settings, clock: Arc<dyn Clock>) -> Result<Accounts> {
        let (site, passkeys) = (settings.site()?, Passkeys::new(&settings)?);
        let (database, _) = Database::open(path, GATEWAY, &*clock)?;
        let (csrf_key, instance) = (CsrfKey(secret(&database, "csrf")?), secret(&database, "instance")?);
        let instance: String = instance.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let cookies = CookieNames::new(&site, &instance);
        let accounts = Accounts {
            database,
            clock,
            settings,
            site,
            passkeys,
            ceremonies: Ceremonies::default(),
            sealer: Sealer::new()?,
            known: Known::default(),
            marks: Marks::default(),
            csrf_key,
            cookies,
            hashing: Hashing::default(),
            watching: Arc::new(Semaphore::new(WATCHERS_MAX)),
        };
        accounts.settle_rp_id()?;
        accounts.settle_names()?;
        accounts.sweep()?;
        Ok(accounts)
    }

    pub fn site(&self) -> &Site {
        &self.site
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What our cookies are called.
    pub fn cookies(&self) -> &CookieNames {
        &self.cookies
    }

    /// The anti-forgery word as a page of this session may have it: not at all where somebody else could read the page.
    pub fn page_word(&self, who: &Signed) -> String {
        let word = who.csrf().filter(|_| !self.site.shares_cookies());
        word.map(|csrf| csrf.reveal().to_owned()).unwrap_or_default()
    }

    /// The database, for its owner's backups.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A number that is another one after every change that could take something away: whoever keeps what was read here looks again then.
    pub fn turn(&self) -> u64 {
        self.known.turn()
    }

    /// Lets go of what has ended. Once an hour is enough; nothing that has ended counts meanwhile.
    pub fn sweep(&self) -> Result<()> {
        let now = self.now();
        self.write(|tx| {
            sessions::sweep(tx, now, self.settings.session_idle)?;
            links::sweep(tx, now)?;
            browsers::sweep(tx, now)?;
            tokens::sweep(tx, now)
        })?;
        self.marks_again()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Passkeys are bound to the id they were made for: another one would lock everybody out without a word.
    fn settle_rp_id(&self) -> Result<()> {
        let (wanted, now) = (self.settings.rp_id.as_str(), self.now());
        let changed = self.write(|tx| {
            let stored: Option<String> =
                tx.query_row("SELECT rp_id FROM site", [], |row| row.get(0)).optional()?;
            match stored {
                Some(stored) if stored == wanted => Ok(false),
                // Without a passkey nobody is locked out by another name.
                Some(stored) if self.settings.rp_id_change == RpIdChange::Refuse && has_passkeys(tx)? => {
                    Err(Error::OtherRpId { stored, wanted: wanted.to_owned() })
                }
                stored => {
                    tx.execute("DELETE FROM passkeys", [])?;
                    tx.execute(
                        "INSERT OR REPLACE INTO site (one, rp_id, since) VALUES (1, ?1, ?2)",
                        params![wanted, now.as_micros()],
                    )?;
                    Ok(stored.is_some())
                }
            }
        })?;
        if changed {
            self.known.forget();
        }
        Ok(())
    }

    /// One transaction that a refusal takes back like any failure.
    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut refused = None;
        let done = self.database.write(|tx| {
            change(tx).map_err(|e| match e {
                Error::Store(e) => e,
                other => {
                    refused = Some(other);
                    // Ends the transaction; what is told is the refusal.
                    rusqlite::Error::QueryReturnedNoRows.into()
                }
            })
        });
        match refused {
            Some(refusal) => Err(refusal),
            None => Ok(done?),
        }
    }

    /// One statement that changes something; says how many rows.
    fn run(&self, sql: &str, with: impl rusqlite::Params) -> Result<usize> {
        self.write(|tx| Ok(tx.execute(sql, with)?))
    }

    fn read<T>(&self, look: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.database.read(|conn| Ok(look(conn)?))?)
    }
}

fn has_passkeys(tx: &Transaction<'_>) -> Result<bool> {
    Ok(tx.query_row("SELECT EXISTS (SELECT 1 FROM passkeys)", [], |row| row.get(0))?)
}

/// A random value of this house, drawn when it is first wanted.
fn secret(database: &Database, name: &str) -> Result<[u8; 32]> {
    let mut drawn = [0; 32];
    getrandom::fill(&mut drawn).map_err(|_| Error::NoRandomness)?;
    let stored: Vec<u8> = database.write(|tx| {
        tx.execute("INSERT OR IGNORE INTO secrets (name, value) VALUES (?1, ?2)", params![name, drawn])?;
        Ok(tx.query_row("SELECT value FROM secrets WHERE name = ?1", [name], |row| row.get(0))?)
    })?;
    stored.try_into().map_err(|_| Error::Interrupted)
}

/// A column that this program wrote itself, read back through the type's own rule.
fn column<T: std::str::FromStr>(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text: String = row.get(at)?;
    text.parse()
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(e)))
}

/// A name, also where it was stored under earlier rules.
fn name_column(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<PersonName> {
    row.get::<_, String>(at).map(|text| PersonName::stored(&text))
}

fn label_column(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Label> {
    row.get::<_, String>(at).map(|text| Label::stored(&text))
}

fn time_column(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    let micros: i64 = row.get(at)?;
    Timestamp::from_micros(micros).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Integer, Box::new(e))
    })
}

fn maybe_time_column(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Option<Timestamp>> {
    match row.get_ref(at)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => time_column(row, at).map(Some),
    }
}
