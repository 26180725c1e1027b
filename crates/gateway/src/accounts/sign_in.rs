//! Signing in, without a user name: the authenticator says which passkey, and the passkey says who.

use rusqlite::Transaction;
use webauthn_rs::prelude::PublicKeyCredential;

use super::sessions::NewSession;
use super::{Accounts, Acting, devices, sessions};
use crate::ceremony::{Begun, Holder, Started};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId};
use crate::name::Label;
use crate::signed::Signed;

/// A sign-in that succeeded.
#[derive(Debug)]
pub struct Finished {
    pub person: PersonId,
    pub device: DeviceId,
    pub session: NewSession,
}

impl Accounts {
    pub fn sign_in_start(&self, holder: Holder) -> Result<Started> {
        let (options, state) = self.passkeys.start_sign_in()?;
        let begun = Begun::SignIn { state: Box::new(state) };
        Ok(Started { ceremony: self.ceremonies.begin(holder, begun, self.clock.monotonic())?, options })
    }
}

impl Acting {
    /// A new session, whatever the browser had before; `previous` ends with it.
    pub fn sign_in_finish(
        &self,
        holder: Holder,
        ceremony: &str,
        answer: &PublicKeyCredential,
        agent: &Label,
        previous: Option<&Signed>,
    ) -> Result<Finished> {
        let Begun::SignIn { state } = self.ceremonies.take(holder, ceremony, self.clock.monotonic())? else {
            return Err(Error::CeremonyGone);
        };
        let stored = self.read(|conn| devices::of_credential(conn, &answer.raw_id))?;
        let stored = stored.ok_or(Error::CredentialRefused)?;
        let checked = self.passkeys.finish_sign_in(answer, *state, &stored.passkey, stored.person);
        let result = checked.inspect_err(|e| self.doubt_after(e, stored.id))?;
        let now = self.now();
        let signed_in = |tx: &Transaction<'_>| {
            devices::mark_used(tx, &stored, &result, now)?;
            sessions::insert(tx, (&self.settings, &self.csrf_key), stored.person, stored.id, agent, now)
        };
        let (person, device) = (stored.person, stored.id);
        let event = |done: &(NewSession, usize), from| {
            vec![Event::SignedIn { person, device, session: done.0.id, from }]
        };
        let (session, gave_way) =
            self.change(signed_in, event).inspect_err(|e| self.doubt_after(e, stored.id))?;
        if gave_way > 0 {
            self.known.forget();
        }
        if let Some(previous) = previous {
            self.end_stamp(previous.stamp)?;
        }
        Ok(Finished { person: stored.person, device: stored.id, session })
    }
}

impl Accounts {
    pub(super) fn doubt_after(&self, e: &Error, device: DeviceId) {
        if matches!(e, Error::CounterWentBack)
            && let Err(e) = self.doubt_device(device)
        {
            // The refusal stands and is recorded by the caller; only the mark on the device is missing.
            tracing::warn!(error = %e, %device, "a passkey in doubt could not be marked");
        }
    }
}
