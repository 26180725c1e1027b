//! A passkey used for one thing: what is confirmed is fixed at the start, and given back once. A verdict is carried out by
//! the finish itself; an act brings the answer along, and goes no further without it.

use std::net::IpAddr;

use holdfast_types::Timestamp;
use rusqlite::Transaction;
use subtle::ConstantTimeEq as _;
use webauthn_rs::prelude::{AuthenticationResult, PasskeyAuthentication, PublicKeyCredential};

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

/// That a passkey was used for an act, which is yet to be done.
#[derive(Clone, Debug)]
pub struct Proved {
    person: PersonId,
    what: String,
    device: DeviceId,
}

impl Proved {
    pub fn device(&self) -> DeviceId {
        self.device
    }

    pub(super) fn event(self, from: IpAddr) -> Event {
        let Proved { person, what, device } = self;
        Event::Confirmed { person, what, device, from }
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
    /// way. It is recorded with that act ([`Acting::having`]): one that only takes power away must not fail for it.
    pub fn prove(&self, by: &Signed, proof: &str, act: &Act) -> Result<Proved> {
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
        let used = self.checked(by, &state, person, &credential)?;
        self.write(|tx| used.note(tx, by, self.now()))
            .inspect_err(|e| self.doubt_after(e, used.stored.id))?;
        Ok(Proved { person, what, device: used.stored.id })
    }

    /// The same, recorded at once: for what is no act on accounts.
    pub fn prove_at_once(&self, by: &Signed, proof: &str, act: &Act) -> Result<DeviceId> {
        let proved = self.prove(by, proof, act)?;
        let device = proved.device;
        self.change(|tx| sessions::still_there(tx, by.stamp), |(), from| vec![proved.event(from)])?;
        Ok(device)
    }

    fn confirmed(
        &self,
        by: &Signed,
        state: &PasskeyAuthentication,
        (person, what): (PersonId, &str),
        answer: &PublicKeyCredential,
    ) -> Result<DeviceId> {
        let used = self.checked(by, state, person, answer)?;
        let (device, what) = (used.stored.id, what.to_owned());
        self.change(
            |tx| used.note(tx, by, self.now()),
            |(), from| vec![Event::Confirmed { person, what, device, from }],
        )
        .inspect_err(|e| self.doubt_after(e, device))?;
        Ok(device)
    }

    /// The passkey may have been removed since; what counts is what is stored now.
    fn checked(
        &self,
        by: &Signed,
        state: &PasskeyAuthentication,
        person: PersonId,
        answer: &PublicKeyCredential,
    ) -> Result<Used> {
        let stored = self.read(|conn| devices::of_credential(conn, &answer.raw_id))?;
        let stored =
            stored.filter(|s| s.person == person && person == by.person).ok_or(Error::CredentialRefused)?;
        let checked = self.passkeys.finish_confirmation(answer, state, person);
        let result = checked.inspect_err(|e| self.doubt_after(e, stored.id))?;
        Ok(Used { stored, result })
    }
}

/// A passkey that answered as it should, before that is written down.
struct Used {
    stored: devices::Stored,
    result: AuthenticationResult,
}

impl Used {
    fn note(&self, tx: &Transaction<'_>, by: &Signed, now: Timestamp) -> Result<()> {
        sessions::still_there(tx, by.stamp)?;
        devices::mark_used(tx, &self.stored, &self.result, now)
    }
}
