//! One-time links: the only way to a first passkey.
//!
//! A link already knows who it will be: the person's id is drawn when it is made, since an authenticator wants it before
//! there is a row. Invitations end with their maker's right to invite.

use std::time::Duration;

use holdfast_types::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;

use super::news::NewsKind;
use super::people::{self, Person, name_is_free, still_owner};
use super::{Accounts, Acting, column, maybe_time_column, name_column, news, time_column};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::id::{DeviceId, LinkId, PersonId, SessionId};
use crate::name::{Label, PersonName};
use crate::role::Role;
use crate::secret::{Secret, Stamp, Use};
use crate::signed::Signed;

/// Links that one person has made and that can be open at once: enough to invite a household, and no room of anybody else's.
const ONES_OPEN_MAX: usize = 8;

/// How long an expired link is kept, so that whoever comes late is told so.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkPurpose {
    /// The first owner, by local root.
    First,
    Invitation,
    /// Another device of somebody who is signed in.
    Device,
    /// Somebody who lost every device, by recovery code or by local root.
    Recovered,
}

impl LinkPurpose {
    const ALL: [LinkPurpose; 4] =
        [LinkPurpose::First, LinkPurpose::Invitation, LinkPurpose::Device, LinkPurpose::Recovered];

    pub fn as_str(self) -> &'static str {
        match self {
            LinkPurpose::First => "first",
            LinkPurpose::Invitation => "invitation",
            LinkPurpose::Device => "device",
            LinkPurpose::Recovered => "recovered",
        }
    }
}

/// A link that was just made. The token is nowhere else.
#[derive(Clone, Debug)]
pub struct NewLink {
    pub id: LinkId,
    pub token: Secret,
    pub person: PersonId,
    pub expires: Timestamp,
    /// An older link of the same person, also made at the machine, was still open and opens nothing any more.
    pub replaced: bool,
}

impl NewLink {
    /// Where it leads. The token is behind the `#`, which browsers send to nobody.
    pub fn path(&self) -> String {
        format!("/register#{}", self.token.reveal())
    }
}

/// A link that is still to be used, for the settings page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenLink {
    pub id: LinkId,
    /// Whose it becomes.
    pub person: PersonId,
    /// Who made it; none where it was made at the machine, or by a recovery code.
    pub made_by: Option<PersonId>,
    pub purpose: LinkPurpose,
    pub name: PersonName,
    pub role: Role,
    pub created: Timestamp,
    pub expires: Timestamp,
}

/// A link as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) purpose: LinkPurpose,
    pub(super) person: PersonId,
    pub(super) name: PersonName,
    pub(super) role: Role,
    made_by: Option<PersonId>,
    /// A recovery code made it.
    by_code: bool,
    created: Timestamp,
    expires: Timestamp,
    used: Option<Timestamp>,
}

impl Accounts {
    /// What is still to be used, newest first.
    pub fn open_links(&self) -> Result<Vec<OpenLink>> {
        let now = self.now().as_micros();
        self.read(|conn| {
            let mut rows = conn.prepare_cached(
                "SELECT purpose, name, role, created, expires, id, person, made_by FROM links
                 WHERE used IS NULL AND expires > ?1 AND id IS NOT NULL ORDER BY created DESC, id",
            )?;
            let link = |row: &Row<'_>| {
                let made_by: Option<String> = row.get(7)?;
                Ok(OpenLink {
                    id: column(row, 5)?,
                    person: column(row, 6)?,
                    made_by: made_by.and_then(|id| id.parse().ok()),
                    purpose: purpose_column(row, 0)?,
                    name: name_column(row, 1)?,
                    role: column(row, 2)?,
                    created: time_column(row, 3)?,
                    expires: time_column(row, 4)?,
                })
            };
            rows.query_map([now], link)?.collect()
        })
    }

    pub(super) fn put_link(&self, tx: &Transaction<'_>, token: Secret, wanted: Wanted) -> Result<NewLink> {
        let (id, now) = (LinkId::random()?, self.now());
        let expires = now.plus(self.settings.link_life);
        sweep(tx, now)?;
        let Wanted { purpose, person, name, role, made_by, device, by_code } = wanted;
        let (maker, session) = made_by.unzip();
        let link =
            Link { purpose, person, name, role, made_by: maker, by_code, created: now, expires, used: None };
        make_room(tx, &link)?;
        insert(tx, Stamp::of(Use::Link, token.reveal()), id, (device, session.flatten()), &link)?;
        if let Some((maker, session)) = made_by {
            let called = Label::near(&format!("{} for {}", purpose.as_str(), link.name), "a link");
            news::tell(tx, maker, session, NewsKind::Link, &called, now)?;
        }
        Ok(NewLink { id, token, person, expires, replaced: false })
    }
}

impl Acting {
    /// The way in for the first owner, made by whoever is root here. Another one replaces it.
    pub fn first_link(&self, name: &PersonName) -> Result<NewLink> {
        let id = PersonId::random()?;
        self.link_of_the_machine(|tx| {
            if people::owners(tx)? > 0 {
                return Err(Error::OwnerExists);
            }
            name_is_free(tx, name)?;
            tx.execute("DELETE FROM links WHERE purpose = 'first'", [])?;
            Ok(Wanted::of_nobody(LinkPurpose::First, id, name.clone(), Role::Owner))
        })
    }

    /// For somebody who lost every device, made by whoever is root here.
    pub fn recovery_link(&self, id: PersonId) -> Result<NewLink> {
        self.link_of_the_machine(|tx| {
            let person = people::found(tx, id)?;
            Ok(Wanted::of_nobody(LinkPurpose::Recovered, person.id, person.name, person.role))
        })
    }

    /// A link that nobody who is signed in makes.
    fn link_of_the_machine(
        &self,
        decide: impl FnOnce(&Transaction<'_>) -> Result<Wanted>,
    ) -> Result<NewLink> {
        let token = Secret::random()?;
        let made = |tx: &Transaction<'_>| {
            let open_before = open_of_the_machine(tx, self.now())?;
            let wanted = decide(tx)?;
            let (name, link) = (wanted.name.clone(), self.put_link(tx, token, wanted)?);
            let replaced = open_of_the_machine(tx, self.now())? <= open_before;
            Ok((name, NewLink { replaced, ..link }))
        };
        let event = |(name, link): &(PersonName, NewLink), _| {
            vec![Event::LinkMadeHere { name: name.clone(), link: link.id }]
        };
        self.change(made, event).map(|(_, link)| link)
    }

    pub fn invite(
        &self,
        by: &Signed,
        device: Option<DeviceId>,
        name: &PersonName,
        role: Role,
    ) -> Result<NewLink> {
        by.at_least(Role::Owner)?;
        let (id, token) = (PersonId::random()?, Secret::random()?);
        let invited = |tx: &Transaction<'_>| {
            still_owner(tx, by)?;
            name_is_free(tx, name)?;
            let wanted = Wanted { role, ..Wanted::by(by, device, LinkPurpose::Invitation, id, name.clone()) };
            self.put_link(tx, token, wanted)
        };
        let name = name.clone();
        self.change(invited, |_, from| vec![Event::Invited { by: by.person, person: id, name, role, from }])
    }

    /// Another device of one's own: open it there.
    pub fn device_link(&self, by: &Signed, device: Option<DeviceId>) -> Result<NewLink> {
        let token = Secret::random()?;
        let made = |tx: &Transaction<'_>| {
            let person = people::found(tx, by.person)?;
            let wanted = Wanted::by(by, device, LinkPurpose::Device, person.id, person.name);
            self.put_link(tx, token, Wanted { role: person.role, ..wanted })
        };
        self.change(made, |link, from| vec![Event::LinkMade { by: by.person, link: link.id, from }])
    }
}

/// A link that can be used now, or why not.
pub(super) fn usable(conn: &Connection, stamp: Stamp, now: Timestamp) -> Result<Link> {
    let link = conn
        .query_row(
            "SELECT purpose, person, name, role, made_by, by_code, created, expires, used
             FROM links WHERE stamp = ?1",
            [stamp.0],
            link_of,
        )
        .optional()?
        .ok_or(Error::LinkUnknown)?;
    if link.used.is_some() {
        return Err(Error::LinkUsed);
    }
    // A clock that stands before the link was made says nothing about its age.
    if now >= link.expires || now.plus(Duration::from_secs(120)) < link.created {
        return Err(Error::LinkExpired);
    }
    match (link.purpose, link.made_by) {
        (LinkPurpose::Invitation, Some(maker)) => match people::find(conn, maker)? {
            Some(maker) if maker.role == Role::Owner => Ok(link),
            _ => Err(Error::LinkUnknown),
        },
        _ => Ok(link),
    }
}

/// Uses it up: of any number who try, one does.
pub(super) fn use_up(tx: &Transaction<'_>, stamp: Stamp, now: Timestamp) -> Result<Link> {
    let link = usable(tx, stamp, now)?;
    let sql = "UPDATE links SET used = ?2 WHERE stamp = ?1 AND used IS NULL";
    match tx.execute(sql, params![stamp.0, now.as_micros()])? {
        1 => Ok(link),
        _ => Err(Error::LinkUsed),
    }
}

pub(super) fn sweep(tx: &Transaction<'_>, now: Timestamp) -> Result<()> {
    let before = now.as_micros().saturating_sub(micros(KEPT_FOR));
    tx.execute("DELETE FROM links WHERE expires < ?1", [before])?;
    Ok(())
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// What a link is to be.
pub(super) struct Wanted {
    purpose: LinkPurpose,
    person: PersonId,
    name: PersonName,
    role: Role,
    made_by: Option<(PersonId, Option<SessionId>)>,
    /// The passkey that was used for it.
    device: Option<DeviceId>,
    by_code: bool,
}

impl Wanted {
    /// Made at the machine.
    fn of_nobody(purpose: LinkPurpose, person: PersonId, name: PersonName, role: Role) -> Wanted {
        Wanted { purpose, person, name, role, made_by: None, device: None, by_code: false }
    }

    /// For somebody who brought a recovery code.
    pub(super) fn by_code(person: Person) -> Wanted {
        let Person { id, name, role, .. } = person;
        Wanted { by_code: true, ..Wanted::of_nobody(LinkPurpose::Recovered, id, name, role) }
    }

    fn by(
        by: &Signed,
        device: Option<DeviceId>,
        purpose: LinkPurpose,
        person: PersonId,
        name: PersonName,
    ) -> Wanted {
        let made_by = Some((by.person, by.session()));
        Wanted { purpose, person, name, role: by.role, made_by, device, by_code: false }
    }
}

/// Counts by maker, so that nobody takes the room of another's links. A link that nobody made who is signed in is beside that count and always finds
/// room: it is how somebody comes in who has nothing else. It takes the place of the person's older one: that of the machine, or of a code.
fn make_room(tx: &Transaction<'_>, link: &Link) -> Result<()> {
    let Some(maker) = link.made_by else {
        let sql = "DELETE FROM links WHERE used IS NULL AND made_by IS NULL
            AND person = ?1 AND purpose = ?2 AND by_code = ?3";
        tx.execute(sql, params![link.person.to_string(), link.purpose.as_str(), link.by_code])?;
        return Ok(());
    };
    let sql = "SELECT count(*) FROM links WHERE made_by = ?1 AND used IS NULL AND expires > ?2";
    let open: usize =
        tx.query_row(sql, params![maker.to_string(), link.created.as_micros()], |row| row.get(0))?;
    if open >= ONES_OPEN_MAX {
        return Err(Error::Full { what: "open links of yours", max: ONES_OPEN_MAX });
    }
    Ok(())
}

fn open_of_the_machine(tx: &Transaction<'_>, now: Timestamp) -> Result<u64> {
    let sql = "SELECT count(*) FROM links
        WHERE made_by IS NULL AND NOT by_code AND used IS NULL AND expires > ?1";
    Ok(tx.query_row(sql, [now.as_micros()], |row| row.get(0))?)
}

fn insert(
    tx: &Transaction<'_>,
    stamp: Stamp,
    id: LinkId,
    (device, session): (Option<DeviceId>, Option<SessionId>),
    link: &Link,
) -> Result<()> {
    tx.execute(
        "INSERT INTO links
         (stamp, purpose, person, name, role, made_by, created, expires, id, device, session, by_code)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            stamp.0,
            link.purpose.as_str(),
            link.person.to_string(),
            link.name.as_str(),
            link.role.as_str(),
            link.made_by.map(|id| id.to_string()),
            link.created.as_micros(),
            link.expires.as_micros(),
            id.to_string(),
            device.map(|id| id.to_string()),
            session.map(|id| id.to_string()),
            link.by_code,
        ],
    )?;
    Ok(())
}

fn link_of(row: &Row<'_>) -> rusqlite::Result<Link> {
    let made_by: Option<String> = row.get(4)?;
    Ok(Link {
        purpose: purpose_column(row, 0)?,
        person: column(row, 1)?,
        name: name_column(row, 2)?,
        role: column(row, 3)?,
        made_by: made_by.and_then(|id| id.parse().ok()),
        by_code: row.get(5)?,
        created: time_column(row, 6)?,
        expires: time_column(row, 7)?,
        used: maybe_time_column(row, 8)?,
    })
}

fn purpose_column(row: &Row<'_>, at: usize) -> rusqlite::Result<LinkPurpose> {
    let text: String = row.get(at)?;
    LinkPurpose::ALL.into_iter().find(|purpose| purpose.as_str() == text).ok_or(rusqlite::Error::InvalidQuery)
}
