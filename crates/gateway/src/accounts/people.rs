//! People and their roles. There is always an owner once there was one.

use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;

use super::{Accounts, Acting, column, locking, name_column, time_column};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::PersonId;
use crate::name::{PersonName, key_of};
use crate::role::Role;
use crate::signed::Signed;

/// Enough for a house and its guests; a list longer than this is a mistake or an attack.
pub(super) const PEOPLE_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    pub id: PersonId,
    pub name: PersonName,
    pub role: Role,
    pub created: Timestamp,
    pub devices: u32,
}

const SELECT: &str = "SELECT p.id, p.name, p.role, p.created,
    (SELECT count(*) FROM passkeys k WHERE k.person = p.id) FROM people p";

impl Accounts {
    /// Everybody, oldest first.
    pub fn people(&self) -> Result<Vec<Person>> {
        self.read(|conn| {
            let mut rows = conn.prepare_cached(&format!("{SELECT} ORDER BY p.created, p.id"))?;
            rows.query_map([], person_of)?.collect()
        })
    }

    pub fn person(&self, id: PersonId) -> Result<Person> {
        self.read(|conn| find(conn, id))?.ok_or(Error::NotFound { what: "person" })
    }

    /// Whoever is called exactly so, or else whose name looks the same: of those that were stored under earlier rules two may look alike.
    pub fn person_named(&self, name: &str) -> Result<Person> {
        let sql = format!("{SELECT} WHERE p.name = ?1 OR p.name_key = ?2 ORDER BY p.name = ?1 DESC LIMIT 1");
        self.read(|conn| conn.query_row(&sql, [name, &key_of(name)], person_of).optional())?
            .ok_or(Error::NotFound { what: "person" })
    }

    /// Whether somebody can sign in at all.
    pub fn has_owner(&self) -> Result<bool> {
        self.read(owners).map(|owners| owners > 0)
    }
}

impl Acting {
    /// Counts at once, for sessions that are open too. Who may less from now on loses the open links and the tokens that may
    /// more: they would come back with the role.
    pub fn set_role(&self, by: &Signed, id: PersonId, role: Role) -> Result<Person> {
        by.at_least(Role::Owner)?;
        let now = self.now();
        let changed = |tx: &Transaction<'_>| {
            still_owner(tx, by)?;
            let person = found(tx, id)?;
            if person.role == Role::Owner && role != Role::Owner {
                keep_an_owner(tx)?;
            }
            tx.execute("UPDATE people SET role = ?2 WHERE id = ?1", params![id.to_string(), role.as_str()])?;
            if role < person.role {
                locking::links_of(tx, id)?;
                locking::tokens_above(tx, id, role, now)?;
            }
            Ok((role != person.role, Person { role, ..person }))
        };
        // The role they have already is no change, and nothing to record.
        let changed = self.change(changed, |(other, _), from| {
            let event = Event::RoleChanged { by: by.person, person: id, role, from };
            Some(event).filter(|_| *other).into_iter().collect()
        });
        self.known.forget();
        changed.map(|(_, person)| person)
    }

    /// Takes everything of theirs along: devices, sessions, codes, tokens, open links.
    pub fn remove_person(&self, by: &Signed, id: PersonId) -> Result<Person> {
        by.at_least(Role::Owner)?;
        let removed = |tx: &Transaction<'_>| {
            still_owner(tx, by)?;
            let person = found(tx, id)?;
            if person.role == Role::Owner {
                keep_an_owner(tx)?;
            }
            tx.execute("DELETE FROM people WHERE id = ?1", [id.to_string()])?;
            tx.execute("DELETE FROM links WHERE person = ?1 OR made_by = ?1", [id.to_string()])?;
            Ok(person)
        };
        let removed = self.change(removed, |person, from| {
            vec![Event::PersonRemoved { by: by.person, person: id, name: person.name.clone(), from }]
        });
        self.marks_again()?;
        self.known.forget();
        removed
    }
}

pub(super) fn find(conn: &Connection, id: PersonId) -> rusqlite::Result<Option<Person>> {
    conn.query_row(&format!("{SELECT} WHERE p.id = ?1"), [id.to_string()], person_of).optional()
}

pub(super) fn found(conn: &Connection, id: PersonId) -> Result<Person> {
    find(conn, id)?.ok_or(Error::NotFound { what: "person" })
}

pub(super) fn owners(conn: &Connection) -> rusqlite::Result<u32> {
    conn.query_row("SELECT count(*) FROM people WHERE role = 'owner'", [], |row| row.get(0))
}

/// The role may have changed since the request was let in.
pub(super) fn still_owner(conn: &Connection, by: &Signed) -> Result<()> {
    match find(conn, by.person)? {
        Some(person) if person.role == Role::Owner => Ok(()),
        _ => Err(Error::NotAllowed { least: Role::Owner }),
    }
}

pub(super) fn name_is_free(conn: &Connection, name: &PersonName) -> Result<()> {
    let sql = "SELECT 1 FROM people WHERE name_key = ?1";
    match conn.query_row(sql, [key_of(name.as_str())], |_| Ok(())).optional()? {
        Some(()) => Err(Error::NameTaken),
        None => Ok(()),
    }
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    id: PersonId,
    name: &PersonName,
    role: Role,
    now: Timestamp,
) -> Result<()> {
    let count: usize = tx.query_row("SELECT count(*) FROM people", [], |row| row.get(0))?;
    if count >= PEOPLE_MAX {
        return Err(Error::Full { what: "people", max: PEOPLE_MAX });
    }
    name_is_free(tx, name)?;
    tx.execute(
        "INSERT INTO people (id, name, name_key, role, created) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id.to_string(), name.as_str(), key_of(name.as_str()), role.as_str(), now.as_micros()],
    )?;
    Ok(())
}

fn keep_an_owner(conn: &Connection) -> Result<()> {
    if owners(conn)? > 1 { Ok(()) } else { Err(Error::LastOwner) }
}

impl Accounts {
    /// Names are compared by what they look like. How that is found may have changed since they were stored; of two that
    /// look alike now, both stay as they are.
    pub(super) fn settle_names(&self) -> Result<()> {
        self.write(|tx| {
            let mut rows = tx.prepare("SELECT id, name, name_key FROM people")?;
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let stored: Vec<(String, String, String)> = rows.query_map([], row)?.collect::<Result<_, _>>()?;
            for (id, name, key) in stored {
                let wanted = key_of(&name);
                if wanted != key {
                    let sql = "UPDATE OR IGNORE people SET name_key = ?2 WHERE id = ?1";
                    tx.execute(sql, params![id, wanted])?;
                }
            }
            Ok(())
        })
    }
}

fn person_of(row: &Row<'_>) -> rusqlite::Result<Person> {
    Ok(Person {
        id: column(row, 0)?,
        name: name_column(row, 1)?,
        role: column(row, 2)?,
        created: time_column(row, 3)?,
        devices: row.get(4)?,
    })
}
