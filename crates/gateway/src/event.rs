//! What is recorded: every sign-in, every act on an account, every refusal. Only fields that may be read by others.

use std::net::IpAddr;

use serde::Serialize;

use crate::accounts::LinkPurpose;
use crate::id::{DeviceId, PersonId, SessionId, TokenId};
use crate::name::{Label, PersonName};
use crate::role::{Role, Scope};

/// Something that happened. Refusals can come by the thousand: a recorder folds those with the same [`Event::fold_key`].
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
        from: IpAddr,
    },
    Invited {
        by: PersonId,
        person: PersonId,
        name: PersonName,
        role: Role,
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

    /// Refusals with the same key within a while are one entry with a count. Nothing else is folded.
    pub fn fold_key(&self) -> Option<String> {
        match self {
            Event::Refused { why, person, from } => {
                let person = person.map(|person| person.to_string()).unwrap_or_default();
                Some(format!("{why:?}/{}/{person}", place_of(*from)))
            }
            _ => None,
        }
    }
}

/// One address, or one IPv6 network: what the limits count by.
fn place_of(from: IpAddr) -> String {
    match from.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_fold_by_reason_place_and_person_and_nothing_else_does() {
        let refused = |why, from: &str| Event::Refused { why, person: None, from: from.parse().unwrap() };
        let key = |why, from| refused(why, from).fold_key().unwrap();
        assert_eq!(key(Why::Code, "2001:db8::1"), key(Why::Code, "2001:db8::2"));
        assert_ne!(key(Why::Code, "10.0.0.1"), key(Why::Code, "10.0.0.2"));
        assert_ne!(key(Why::Code, "10.0.0.1"), key(Why::Link, "10.0.0.1"));
        let from = "10.0.0.1".parse().unwrap();
        let person = PersonId::random().unwrap();
        let by_them = Event::Refused { why: Why::Code, person: Some(person), from };
        assert_ne!(
            by_them.fold_key(),
            Some(key(Why::Code, "10.0.0.1")),
            "who tried is not lost in others' tries"
        );
        assert_eq!(Event::CodesRenewed { person, from }.fold_key(), None);
        assert!(refused(Why::Host, "10.0.0.1").kind().parse::<holdfast_types::Kind>().is_ok());
    }
}
