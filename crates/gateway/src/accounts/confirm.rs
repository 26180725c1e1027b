//! A passkey used for one thing: what is confirmed is fixed at the start, and given back once.

use rusqlite::Transaction;
use webauthn_rs::prelude::PublicKeyCredential;

use super::{Accounts, Acting, devices, sessions};
use crate::ceremony::{Begun, Holder, Started};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::DeviceId;
use crate::signed::Signed;

/// That a person confirmed exactly this with a passkey, a moment ago. Nothing else makes one.
#[derive(Debug)]
pub struct Confirmed {
    what: String,
    digest: [u8; 32],
    device: DeviceId,
    reason: Option<String>,
}

impl Confirmed {
    pub fn what(&self) -> &str {
        &self.what
    }

    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// Why, where they said.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl Accounts {
    /// Begins to confirm `what`, which at this moment has this `digest`, for this reason where there is one.
    pub fn confirm_start(
        &self,
        by: &Signed,
        what: &str,
        digest: [u8; 32],
        reason: Option<String>,
    ) -> Result<Started> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        let stored = self.read(|conn| devices::of_person(conn, by.person))?;
        let passkeys: Vec<_> = stored.into_iter().map(|stored| stored.passkey).collect();
        let (options, state) = self.passkeys.start_confirmation(&passkeys)?;
        let what = what.to_owned();
        let begun = Begun::Confirm { state: Box::new(state), person: by.person, what, digest, reason };
        let holder = Holder::of_session(session);
        Ok(Started { ceremony: self.ceremonies.begin(holder, begun, self.clock.monotonic())?, options })
    }
}

impl Acting {
    /// The session counts as fresh again.
    pub fn confirm_finish(
        &self,
        by: &Signed,
        ceremony: &str,
        answer: &PublicKeyCredential,
    ) -> Result<Confirmed> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        let begun = self.ceremonies.take(Holder::of_session(session), ceremony, self.clock.monotonic())?;
        let Begun::Confirm { state, person, what, digest, reason } = begun else {
            return Err(Error::CeremonyGone);
        };
        // The passkey may have been removed since; what counts is what is stored now.
        let stored = self.read(|conn| devices::of_credential(conn, &answer.raw_id))?;
        let stored =
            stored.filter(|s| s.person == person && person == by.person).ok_or(Error::CredentialRefused)?;
        let checked = self.passkeys.finish_confirmation(answer, &state, person);
        let result = checked.inspect_err(|e| self.doubt_after(e, stored.id))?;
        let now = self.now();
        let confirmed = |tx: &Transaction<'_>| {
            devices::mark_used(tx, &stored, &result, now)?;
            sessions::mark_confirmed(tx, by.stamp, now)
        };
        let (person, device, called) = (by.person, stored.id, what.clone());
        self.change(confirmed, |(), from| vec![Event::Confirmed { person, what: called, device, from }])
            .inspect_err(|e| self.doubt_after(e, stored.id))?;
        self.known.forget();
        Ok(Confirmed { what, digest, device: stored.id, reason })
    }
}
