//! Passkeys, which people know as their devices.

use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;
use webauthn_rs::prelude::{AuthenticationResult, Passkey};

use super::{Accounts, Acting, column, label_column, locking, maybe_time_column, time_column};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId};
use crate::name::Label;
use crate::signed::Signed;

/// More keys than anybody carries; also what one sign-in may have to name.
const DEVICES_MAX: usize = 32;

/// Longest passkey that is stored, as JSON. Attestation is not asked for, so it is about a kilobyte.
const PASSKEY_BYTES_MAX: usize = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    pub id: DeviceId,
    pub label: Label,
    pub created: Timestamp,
    pub used: Option<Timestamp>,
    /// When its counter went backwards: there may be a copy of it.
    pub doubted: Option<Timestamp>,
}

/// A passkey as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: DeviceId,
    pub(super) person: PersonId,
    pub(super) passkey: Passkey,
}

impl Accounts {
    /// Oldest first.
    pub fn devices(&self, person: PersonId) -> Result<Vec<Device>> {
        self.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT id, label, created, used, doubted FROM passkeys WHERE person = ?1 ORDER BY created, id",
            )?;
            rows.query_map([person.to_string()], device_of)?.collect()
        })
    }

    /// Remembers that a counter went backwards.
    pub(super) fn doubt_device(&self, id: DeviceId) -> Result<()> {
        let now = self.now().as_micros();
        let sql = "UPDATE passkeys SET doubted = ?2 WHERE id = ?1";
        self.run(sql, params![id.to_string(), now]).map(drop)
    }
}

impl Acting {
    pub fn rename_device(&self, by: &Signed, id: DeviceId, label: &Label) -> Result<()> {
        let renamed = |tx: &Transaction<'_>| {
            let sql = "SELECT label <> ?3 FROM passkeys WHERE id = ?1 AND person = ?2";
            let with = params![id.to_string(), by.person.to_string(), label.as_str()];
            let other: Option<bool> = tx.query_row(sql, with, |row| row.get(0)).optional()?;
            let other = other.ok_or(Error::NotFound { what: "device" })?;
            let sql = "UPDATE passkeys SET label = ?2 WHERE id = ?1";
            tx.execute(sql, params![id.to_string(), label.as_str()])?;
            Ok(other)
        };
        // The name it has already is no change, and nothing to record.
        let renamed = self.change(renamed, |other, from| {
            let label = label.clone();
            let event = Event::DeviceRenamed { person: by.person, device: id, label, from };
            Some(event).filter(|_| *other).into_iter().collect()
        });
        renamed.map(drop)
    }

    /// Ends its sessions too, the tokens that were made with it, and every open link of its person. The last one stays: whoever lost it comes back with a code, adds another, then removes it.
    pub fn remove_device(&self, by: &Signed, id: DeviceId) -> Result<Device> {
        let (person, now) = (by.person.to_string(), self.now());
        let removed = |tx: &Transaction<'_>| {
            let sql = "SELECT id, label, created, used, doubted FROM passkeys WHERE id = ?1 AND person = ?2";
            let device = tx.query_row(sql, params![id.to_string(), person], device_of).optional()?;
            let device = device.ok_or(Error::NotFound { what: "device" })?;
            if count(tx, by.person)? == 1 {
                return Err(Error::LastDevice);
            }
            tx.execute("DELETE FROM passkeys WHERE id = ?1", [id.to_string()])?;
            locking::links_of(tx, by.person)?;
            locking::tokens_with(tx, id, now)?;
            Ok(device)
        };
        let removed = self.change(removed, |device, from| {
            vec![Event::DeviceRemoved { person: by.person, device: device.id, from }]
        });
        self.marks_again()?;
        self.known.forget();
        removed
    }
}

pub(super) fn count(conn: &Connection, person: PersonId) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM passkeys WHERE person = ?1";
    conn.query_row(sql, [person.to_string()], |row| row.get(0))
}

pub(super) fn of_credential(conn: &Connection, credential: &[u8]) -> rusqlite::Result<Option<Stored>> {
    let sql = "SELECT id, person, passkey FROM passkeys WHERE credential = ?1";
    conn.query_row(sql, [credential], stored_of).optional()
}

pub(super) fn of_person(conn: &Connection, person: PersonId) -> rusqlite::Result<Vec<Stored>> {
    let mut rows = conn.prepare_cached("SELECT id, person, passkey FROM passkeys WHERE person = ?1")?;
    rows.query_map([person.to_string()], stored_of)?.collect()
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    person: PersonId,
    passkey: &Passkey,
    label: &Label,
    now: Timestamp,
) -> Result<DeviceId> {
    if count(tx, person)? >= DEVICES_MAX {
        return Err(Error::Full { what: "devices", max: DEVICES_MAX });
    }
    if of_credential(tx, passkey.cred_id().as_slice())?.is_some() {
        return Err(Error::AlreadyRegistered);
    }
    let (id, json) = (DeviceId::random()?, to_json(passkey)?);
    tx.execute(
        "INSERT INTO passkeys (id, person, credential, label, passkey, counter, created)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            id.to_string(),
            person.to_string(),
            passkey.cred_id().as_slice(),
            label.as_str(),
            json,
            counter_of(&json),
            now.as_micros()
        ],
    )?;
    Ok(id)
}

/// Writes down that it was used. Fails when it is gone, or when a copy was quicker with the same counter.
pub(super) fn mark_used(
    tx: &Transaction<'_>,
    stored: &Stored,
    result: &AuthenticationResult,
    now: Timestamp,
) -> Result<()> {
    let mut passkey = stored.passkey.clone();
    passkey.update_credential(result);
    let counter = i64::from(result.counter());
    let changed = tx.execute(
        "UPDATE passkeys SET passkey = ?2, counter = ?3, used = ?4
         WHERE id = ?1 AND (counter < ?3 OR (counter = 0 AND ?3 = 0))",
        params![stored.id.to_string(), to_json(&passkey)?, counter, now.as_micros()],
    )?;
    if changed == 1 {
        return Ok(());
    }
    let there = "SELECT 1 FROM passkeys WHERE id = ?1";
    match tx.query_row(there, [stored.id.to_string()], |_| Ok(())).optional()? {
        Some(()) => Err(Error::CounterWentBack),
        None => Err(Error::CredentialRefused),
    }
}

fn to_json(passkey: &Passkey) -> Result<String> {
    let json = serde_json::to_string(passkey).map_err(|_| Error::Interrupted)?;
    if json.len() > PASSKEY_BYTES_MAX { Err(Error::CredentialRefused) } else { Ok(json) }
}

/// The library keeps it to itself; its stored form does not.
fn counter_of(json: &str) -> i64 {
    let stored: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    stored["cred"]["counter"].as_i64().unwrap_or(0)
}

fn stored_of(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let json: String = row.get(2)?;
    let passkey = serde_json::from_str(&json).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(e))
    })?;
    Ok(Stored { id: column(row, 0)?, person: column(row, 1)?, passkey })
}

fn device_of(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        id: column(row, 0)?,
        label: label_column(row, 1)?,
        created: time_column(row, 2)?,
        used: maybe_time_column(row, 3)?,
        doubted: maybe_time_column(row, 4)?,
    })
}
