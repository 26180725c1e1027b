//! Signing in, without a user name: the authenticator says which passkey, and the passkey says who. What was begun is in the browser
//! (`sealed.rs`), so nothing is kept of a stranger.

use rusqlite::Transaction;
use webauthn_rs::prelude::PublicKeyCredential;

use super::sessions::{NewSession, Previous};
use super::{Accounts, Acting, devices, sessions};
use crate::ceremony::{Holder, Started};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId};
use crate::name::Label;
use crate::sealed::Opened;

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
        Ok(Started { ceremony: self.sealer.seal(holder, &state, self.clock.monotonic())?, options })
    }

    /// Whether this holder began that sign-in, and may still finish it. Costs no disk, so it is asked first.
    pub fn has_begun_sign_in(&self, holder: Holder, ceremony: &str) -> bool {
        self.sealer.open(holder, ceremony, self.clock.monotonic()).is_ok()
    }
}

impl Acting {
    /// A new session, whatever the browser had before. `previous` ends with it where it is this person's, or its anti-forgery word came along.
    pub fn sign_in_finish(
        &self,
        holder: Holder,
        ceremony: &str,
        answer: &PublicKeyCredential,
        agent: &Label,
        previous: Option<&Previous>,
    ) -> Result<Finished> {
        let Opened { state, seal } = self.sealer.open(holder, ceremony, self.clock.monotonic())?;
        let stored = self.read(|conn| devices::of_credential(conn, &answer.raw_id))?;
        let stored = stored.ok_or(Error::CredentialRefused)?;
        let checked = self.passkeys.finish_sign_in(answer, state, &stored.passkey, stored.person);
        let result = checked.inspect_err(|e| self.doubt_after(e, stored.id))?;
        // Now that a passkey has answered it, and before anything is done: of two who send the same, one goes on.
        self.sealer.use_up(stored.person, seal, self.clock.monotonic())?;
        let now = self.now();
        let signed_in = |tx: &Transaction<'_>| {
            devices::mark_used(tx, &stored, &result, now)?;
            let ended = sessions::end_previous(tx, previous, stored.person)?;
            let with = (&self.settings, &self.csrf_key);
            let (session, gave_way) = sessions::insert(tx, with, stored.person, stored.id, agent, now)?;
            Ok((session, gave_way, ended))
        };
        let (person, device) = (stored.person, stored.id);
        let events = |(session, _, ended): &(NewSession, usize, Option<_>), from| {
            let began = Event::SignedIn { person, device, session: session.id, from };
            let ended = ended.map(|(person, session)| Event::SignedOut { person, session, from });
            [Some(began), ended].into_iter().flatten().collect()
        };
        let (session, gave_way, ended) =
            self.change(signed_in, events).inspect_err(|e| self.doubt_after(e, stored.id))?;
        if gave_way > 0 || ended.is_some() {
            self.known.forget();
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
