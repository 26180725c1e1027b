//! A passkey used for one thing: what is confirmed is fixed at the start, and given back once. A verdict is carried out by
//! the finish itself; an act brings the answer along, and goes no further without it.

use rusqlite::Transaction;
use subtle::ConstantTimeEq as _;
use webauthn_rs::prelude::{PasskeyAuthentication, PublicKeyCredential};

use super::{Accounts, Acting, devices, sessions};
use crate::ceremony::{Begun, Holder, Started};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId};
use crate::proof::{Act, Given};
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
        let (person, what) = (by.person, what.to_owned());
        self.begin_confirming(by, |state| Begun::Confirm { state, person, what, digest, reason })
    }

    /// Begins to prove that this act is wanted.
    pub fn prove_start(&self, by: &Signed, act: &Act) -> Result<Started> {
        self.begin_confirming(by, |state| Begun::Act {
            state,
            person: by.person,
            what: act.what(),
            digest: act.digest(),
        })
    }

    fn begin_confirming(
        &self,
        by: &Signed,
        begun: impl FnOnce(Box<PasskeyAuthentication>) -> Begun,
    ) -> Result<Started> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        let stored = self.read(|conn| devices::of_person(conn, by.person))?;
        let passkeys: Vec<_> = stored.into_iter().map(|stored| stored.passkey).collect();
        let (options, state) = self.passkeys.start_confirmation(&passkeys)?;
        let (holder, now) = (Holder::of_session(session), self.clock.monotonic());
        Ok(Started { ceremony: self.ceremonies.begin(holder, begun(Box::new(state)), now)?, options })
    }

    fn begun_by(&self, by: &Signed, ceremony: &str) -> Result<Begun> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        self.ceremonies.take(Holder::of_session(session), ceremony, self.clock.monotonic())
    }
}

impl Acting {
    pub fn confirm_finish(
        &self,
        by: &Signed,
        ceremony: &str,
        answer: &PublicKeyCredential,
    ) -> Result<Confirmed> {
        let Begun::Confirm { state, person, what, digest, reason } = self.begun_by(by, ceremony)? else {
            return Err(Error::CeremonyGone);
        };
        let device = self.confirmed(by, &state, (person, &what), answer)?;
        Ok(Confirmed { what, digest, device, reason })
    }

    /// Whether what came with an act is a passkey, used for exactly this act, by this session, now. It is used up either
    /// way.
    pub fn prove(&self, by: &Signed, proof: &str, act: &Act) -> Result<DeviceId> {
        let Given { ceremony, credential } = Given::read(proof)?;
        let begun = self.begun_by(by, &ceremony).map_err(|e| match e {
            Error::CeremonyGone => Error::NotFresh,
            other => other,
        })?;
        let Begun::Act { state, person, what, digest } = begun else {
            return Err(Error::NotFresh);
        };
        let same: bool = digest.ct_eq(&act.digest()).into();
        if !same || what != act.what() {
            return Err(Error::NotFresh);
        }
        self.confirmed(by, &state, (person, &what), &credential)
    }

    /// The passkey may have been removed since; what counts is what is stored now.
    fn confirmed(
        &self,
        by: &Signed,
        state: &PasskeyAuthentication,
        (person, what): (PersonId, &str),
        answer: &PublicKeyCredential,
    ) -> Result<DeviceId> {
        let stored = self.read(|conn| devices::of_credential(conn, &answer.raw_id))?;
        let stored =
            stored.filter(|s| s.person == person && person == by.person).ok_or(Error::CredentialRefused)?;
        let checked = self.passkeys.finish_confirmation(answer, state, person);
        let result = checked.inspect_err(|e| self.doubt_after(e, stored.id))?;
        let now = self.now();
        let confirmed = |tx: &Transaction<'_>| {
            sessions::still_there(tx, by.stamp)?;
            devices::mark_used(tx, &stored, &result, now)
        };
        let (device, what) = (stored.id, what.to_owned());
        self.change(confirmed, |(), from| vec![Event::Confirmed { person, what, device, from }])
            .inspect_err(|e| self.doubt_after(e, device))?;
        Ok(device)
    }
}
