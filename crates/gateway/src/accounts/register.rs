//! A link, or a session, becomes a passkey: start and finish.

use std::net::IpAddr;

use rusqlite::Transaction;
use webauthn_rs::prelude::{CredentialID, Passkey, RegisterPublicKeyCredential};

use super::codes::{self, FreshCodes};
use super::news::NewsKind;
use super::{Accounts, Acting, browsers, devices, links, locking, news, people, sessions};
use crate::ceremony::{Begun, Holder, Started, Whose};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, PersonId, SessionId};
use crate::name::{Label, PersonName};
use crate::secret::{Stamp, Use};
use crate::signed::Signed;

use super::links::LinkPurpose;
use super::sessions::{NewSession, Previous};

/// A registration that succeeded.
#[derive(Debug)]
pub struct Registration {
    pub person: PersonId,
    pub name: PersonName,
    pub device: DeviceId,
    /// By which kind of link, or none when a session added a device.
    pub link: Option<LinkPurpose>,
    /// Signed in at once; none when a session added a device and goes on as it is.
    pub session: Option<NewSession>,
    /// To be shown once; only with a person's first passkey.
    pub codes: Option<Vec<String>>,
}

impl Accounts {
    /// Begins with a link. The link is looked at, and used up at the finish.
    pub fn register_start(&self, holder: Holder, link: &str, label: &Label) -> Result<Started> {
        let stamp = Stamp::of_sent(Use::Link, link).ok_or(Error::LinkUnknown)?;
        let now = self.now();
        let mut found = Err(Error::LinkUnknown);
        let have = self.read(|conn| {
            found = links::usable(conn, stamp, now);
            match &found {
                Ok(link) => credentials_of(conn, link.person),
                Err(_) => Ok(Vec::new()),
            }
        })?;
        let link = found?;
        self.begin_registration(holder, link.person, &link.name, label, Some(stamp), have)
    }

    /// Begins for somebody who is signed in, on this device.
    pub fn add_device_start(&self, by: &Signed, label: &Label) -> Result<Started> {
        let session = by.session().ok_or(Error::TokenNotHere)?;
        let have = self.read(|conn| credentials_of(conn, by.person))?;
        self.begin_registration(Holder::of_session(session), by.person, &by.name, label, None, have)
    }

    fn begin_registration(
        &self,
        holder: Holder,
        person: PersonId,
        name: &PersonName,
        label: &Label,
        link: Option<Stamp>,
        have: Vec<CredentialID>,
    ) -> Result<Started> {
        let (options, state) = self.passkeys.start_registration(person, name, have)?;
        let begun = Begun::Register { state: Box::new(state), person, label: label.clone(), link };
        Ok(Started { ceremony: self.ceremonies.begin(holder, begun, self.clock.monotonic())?, options })
    }
}

impl Acting {
    /// Uses the link up, makes the person where there is none, and signs in. `agent` is what the browser calls itself,
    /// `previous` a session of this browser, which ends as when somebody signs in.
    pub fn register_finish(
        &self,
        holder: Holder,
        ceremony: &str,
        answer: &RegisterPublicKeyCredential,
        agent: &Label,
        previous: Option<&Previous>,
    ) -> Result<Registration> {
        let begun = self.ceremonies.take(holder, ceremony, self.clock.monotonic())?;
        let Begun::Register { state, person, label, link } = begun else {
            return Err(Error::CeremonyGone);
        };
        let passkey = self.passkeys.finish_registration(answer, &state)?;
        // Hashed before the transaction, which would hold up everybody else meanwhile.
        let first = self.read(|conn| devices::count(conn, person))? == 0;
        let fresh = if first { Some(self.fresh_codes()?) } else { None };
        let by = match holder.0 {
            Whose::Session(id) => Some(id),
            _ => None,
        };
        let registered = |tx: &Transaction<'_>| match link {
            Some(stamp) => {
                let mut done = self.register_by_link(tx, stamp, &passkey, &label, fresh.as_ref(), agent)?;
                done.ended = sessions::end_previous(tx, previous, done.person)?;
                Ok(done)
            }
            None => self.register_by_session(tx, person, &passkey, &label, by),
        };
        let done = self.change(registered, Done::events)?;
        if done.link == Some(LinkPurpose::Recovered) {
            self.marks_again()?;
            self.known.forget();
        } else if done.gave_way > 0 || done.ended.is_some() {
            self.known.forget();
        }
        Ok(Registration { codes: done.codes.then(|| fresh.map(FreshCodes::reveal)).flatten(), ..done.into() })
    }
}

impl Accounts {
    fn register_by_link(
        &self,
        tx: &Transaction<'_>,
        stamp: Stamp,
        passkey: &Passkey,
        label: &Label,
        fresh: Option<&FreshCodes>,
        agent: &Label,
    ) -> Result<Done> {
        let now = self.now();
        let link = links::use_up(tx, stamp, now)?;
        match link.purpose {
            LinkPurpose::First if people::owners(tx)? > 0 => return Err(Error::OwnerExists),
            LinkPurpose::First | LinkPurpose::Invitation => {
                people::insert(tx, link.person, &link.name, link.role, now)?;
            }
            LinkPurpose::Device => drop(people::found(tx, link.person)?),
            // Every device was lost, so somebody else may have one: nothing that was made with them goes on.
            LinkPurpose::Recovered => {
                people::found(tx, link.person)?;
                tx.execute("DELETE FROM sessions WHERE person = ?1", [link.person.to_string()])?;
                browsers::forget_all(tx, link.person)?;
                locking::all_links_of(tx, link.person)?;
                locking::tokens_of(tx, link.person, now)?;
            }
        }
        let is_new = matches!(link.purpose, LinkPurpose::First | LinkPurpose::Invitation);
        let codes = fresh.filter(|_| devices::count(tx, link.person).is_ok_and(|n| n == 0));
        if let Some(fresh) = codes {
            codes::replace(tx, link.person, fresh, now)?;
        }
        let device = devices::insert(tx, link.person, passkey, label, now)?;
        let with = (&self.settings, &self.csrf_key);
        let (session, gave_way) = sessions::insert(tx, with, link.person, device, agent, now)?;
        if !is_new {
            news::tell(tx, link.person, Some(session.id), NewsKind::Passkey, label, now)?;
        }
        Ok(Done {
            person: link.person,
            name: link.name,
            device,
            link: Some(link.purpose),
            session: Some(session),
            codes: codes.is_some(),
            gave_way,
            ended: None,
        })
    }

    fn register_by_session(
        &self,
        tx: &Transaction<'_>,
        person: PersonId,
        passkey: &Passkey,
        label: &Label,
        by: Option<SessionId>,
    ) -> Result<Done> {
        let (person, now) = (people::found(tx, person)?, self.now());
        let device = devices::insert(tx, person.id, passkey, label, now)?;
        news::tell(tx, person.id, by, NewsKind::Passkey, label, now)?;
        Ok(Done {
            person: person.id,
            name: person.name,
            device,
            link: None,
            session: None,
            codes: false,
            gave_way: 0,
            ended: None,
        })
    }
}

/// What a transaction did.
struct Done {
    person: PersonId,
    name: PersonName,
    device: DeviceId,
    link: Option<LinkPurpose>,
    session: Option<NewSession>,
    codes: bool,
    gave_way: usize,
    /// The session that the browser had before.
    ended: Option<(PersonId, SessionId)>,
}

impl Done {
    fn events(&self, from: IpAddr) -> Vec<Event> {
        let Done { person, device, link, .. } = *self;
        let registered = Event::Registered { person, name: self.name.clone(), device, link, from };
        let signed_in = self.session.as_ref().map(|session| Event::SignedIn {
            person,
            device,
            session: session.id,
            from,
        });
        let ended = self.ended.map(|(person, session)| Event::SignedOut { person, session, from });
        [Some(registered), signed_in, ended].into_iter().flatten().collect()
    }
}

impl From<Done> for Registration {
    fn from(done: Done) -> Registration {
        let Done { person, name, device, link, session, .. } = done;
        Registration { person, name, device, link, session, codes: None }
    }
}

fn credentials_of(conn: &rusqlite::Connection, person: PersonId) -> rusqlite::Result<Vec<CredentialID>> {
    let stored = devices::of_person(conn, person)?;
    Ok(stored.iter().map(|stored| stored.passkey.cred_id().clone()).collect())
}
