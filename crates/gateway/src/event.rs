//! What is recorded: every sign-in, every act on an account, every refusal. Only fields that may be read by others.

use std::net::IpAddr;

use serde::Serialize;

use crate::accounts::{LinkPurpose, LockedOut};
use crate::id::{DeviceId, LinkId, PersonId, SessionId, TokenId};
use crate::name::{Label, PersonName};
use crate::role::{Role, Scope};

/// Something that happened, or is about to. Refusals can come by the thousand, from as many addresses: a recorder folds them by their reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Registered {
        person: PersonId,
        name: PersonName,
        device: DeviceId,
        link: Option<LinkPurpose>,
        from: IpAddr,
    },
    SignedIn {
        person: PersonId,
        device: DeviceId,
        session: SessionId,
        from: IpAddr,
    },
    SignedOut {
        person: PersonId,
        session: SessionId,
        from: IpAddr,
    },
    /// A recovery code was used. Its person should be told.
    Recovered {
        person: PersonId,
        left: usize,
        from: IpAddr,
    },
    CodesRenewed {
        person: PersonId,
        from: IpAddr,
    },
    DeviceRemoved {
        person: PersonId,
        device: DeviceId,
        from: IpAddr,
    },
    DeviceRenamed {
        person: PersonId,
        device: DeviceId,
        label: Label,
        from: IpAddr,
    },
    SessionsEnded {
        person: PersonId,
        which: &'static str,
        ended: LockedOut,
        from: IpAddr,
    },
    Invited {
        by: PersonId,
        person: PersonId,
        name: PersonName,
        role: Role,
        from: IpAddr,
    },
    /// Somebody made a link for another device of their own.
    LinkMade {
        by: PersonId,
        link: LinkId,
        from: IpAddr,
    },
    /// A link was made at the machine, by whoever the entry names.
    #[serde(rename = "link_made")]
    LinkMadeHere {
        name: PersonName,
        link: LinkId,
    },
    LinkRevoked {
        by: PersonId,
        link: LinkId,
        from: IpAddr,
    },
    /// Somebody said that they know what was made in their name, up to what was shown last.
    NewsKnown {
        person: PersonId,
        upto: i64,
        known: usize,
        from: IpAddr,
    },
    RoleChanged {
        by: PersonId,
        person: PersonId,
        role: Role,
        from: IpAddr,
    },
    PersonRemoved {
        by: PersonId,
        person: PersonId,
        name: PersonName,
        from: IpAddr,
    },
    TokenMade {
        by: PersonId,
        token: TokenId,
        name: Label,
        scope: Scope,
        from: IpAddr,
    },
    TokenRevoked {
        by: PersonId,
        token: TokenId,
        from: IpAddr,
    },
    /// Something was confirmed with a passkey; whoever carries it out records that for itself.
    Confirmed {
        person: PersonId,
        what: String,
        device: DeviceId,
        from: IpAddr,
    },
    /// A passkey's counter went backwards. Its person should be told.
    CopySuspected {
        from: IpAddr,
    },
    Refused {
        why: Why,
        person: Option<PersonId>,
        from: IpAddr,
    },
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Host,
    Origin,
    Csrf,
    Link,
    Ceremony,
    Passkey,
    Code,
    Token,
    TokenNotHere,
    Role,
    NotFresh,
    /// What was confirmed had changed.
    Altered,
    Limit,
    TooLong,
    /// A way to a service that was begun elsewhere, or is over.
    Ticket,
}

impl Event {
    /// The kind of entry it becomes in the journal.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Registered { .. } => "gateway.device.registered",
            Event::SignedIn { .. } => "gateway.session.started",
            Event::SignedOut { .. } => "gateway.session.left",
            Event::Recovered { .. } => "gateway.code.used",
            Event::CodesRenewed { .. } => "gateway.codes.renewed",
            Event::DeviceRemoved { .. } => "gateway.device.removed",
            Event::DeviceRenamed { .. } => "gateway.device.renamed",
            Event::SessionsEnded { .. } => "gateway.sessions.ended",
            Event::Invited { .. } => "gateway.person.invited",
            Event::LinkMade { .. } | Event::LinkMadeHere { .. } => "gateway.link.made",
            Event::NewsKnown { .. } => "gateway.news.known",
            Event::LinkRevoked { .. } => "gateway.link.revoked",
            Event::RoleChanged { .. } => "gateway.role.changed",
            Event::PersonRemoved { .. } => "gateway.person.removed",
            Event::TokenMade { .. } => "gateway.token.made",
            Event::TokenRevoked { .. } => "gateway.token.revoked",
            Event::Confirmed { .. } => "gateway.passkey.confirmed",
            Event::CopySuspected { .. } => "gateway.passkey.doubted",
            Event::Refused { .. } => "gateway.request.refused",
        }
    }

    /// Whether a person should hear of it now: somebody may be getting in who should not.
    pub fn needs_telling(&self) -> bool {
        matches!(self, Event::Recovered { .. } | Event::CopySuspected { .. })
    }

    /// What a person should hear of although it is usually themselves: a new way in was made. Whose it is, and the
    /// sentence, without anything that somebody else could have chosen.
    pub fn new_way_in(&self) -> Option<(PersonId, &'static str)> {
        Some(match self {
            Event::Registered {
                person,
                link: None | Some(LinkPurpose::Device | LinkPurpose::Recovered),
                ..
            } => (*person, "A passkey was added to the account of"),
            Event::TokenMade { by, .. } => (*by, "A token for scripts was made by"),
            Event::Invited { by, .. } => (*by, "A link that lets somebody in was made by"),
            Event::LinkMade { by, .. } => (*by, "A link that adds a device was made by"),
            Event::CodesRenewed { person, .. } => (*person, "New recovery codes were made by"),
            _ => return None,
        })
    }

    /// Who did it, where it is an act of somebody who is known.
    pub fn by(&self) -> Option<PersonId> {
        match self {
            Event::Registered { person, .. }
            | Event::SignedIn { person, .. }
            | Event::SignedOut { person, .. }
            | Event::Recovered { person, .. }
            | Event::CodesRenewed { person, .. }
            | Event::DeviceRemoved { person, .. }
            | Event::DeviceRenamed { person, .. }
            | Event::SessionsEnded { person, .. }
            | Event::NewsKnown { person, .. }
            | Event::Confirmed { person, .. } => Some(*person),
            Event::Invited { by, .. }
            | Event::LinkMade { by, .. }
            | Event::LinkRevoked { by, .. }
            | Event::RoleChanged { by, .. }
            | Event::PersonRemoved { by, .. }
            | Event::TokenMade { by, .. }
            | Event::TokenRevoked { by, .. } => Some(*by),
            Event::LinkMadeHere { .. } | Event::CopySuspected { .. } | Event::Refused { .. } => None,
        }
    }

    /// Whether it only takes power away. Such an act is done also when it cannot be recorded yet: nobody is kept from locking an intruder out.
    pub fn narrows(&self) -> bool {
        match self {
            Event::SignedOut { .. }
            | Event::DeviceRemoved { .. }
            | Event::SessionsEnded { .. }
            | Event::PersonRemoved { .. }
            | Event::LinkRevoked { .. }
            | Event::TokenRevoked { .. } => true,
            Event::Registered { .. }
            | Event::SignedIn { .. }
            | Event::Recovered { .. }
            | Event::CodesRenewed { .. }
            | Event::DeviceRenamed { .. }
            | Event::LinkMade { .. }
            | Event::LinkMadeHere { .. }
            | Event::NewsKnown { .. }
            | Event::Invited { .. }
            | Event::RoleChanged { .. }
            | Event::TokenMade { .. }
            | Event::Confirmed { .. }
            | Event::CopySuspected { .. }
            | Event::Refused { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_kind_and_only_taking_power_away_narrows() {
        let (person, from) = (PersonId::random().unwrap(), "10.0.0.1".parse().unwrap());
        let refused = Event::Refused { why: Why::Host, person: None, from };
        assert!(refused.kind().parse::<holdfast_types::Kind>().is_ok());
        assert!(!refused.narrows() && !Event::CodesRenewed { person, from }.narrows());
        assert!(Event::SessionsEnded { person, which: "all", ended: LockedOut::default(), from }.narrows());
    }
}
