//! Ids of what this room keeps: the kind, an underscore, 26 lower-case Crockford characters, as everywhere in the house.
//!
//! All 128 bits are random, unlike elsewhere: a person's id is also the handle that authenticators keep, and it should
//! tell nothing, not even when the account was made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::error::{Error, Result};

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an id of this kind: expected {prefix}_ and 26 lower-case characters")]
pub struct IdError {
    pub prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub(crate) fn random() -> Result<$name> {
                random_ulid().map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.to_string().to_ascii_lowercase())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> std::result::Result<Self, IdError> {
                parse(text, $prefix).map($name)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> std::result::Result<Self, IdError> {
                text.parse()
            }
        }
    )*};
}

ids! {
    /// Somebody who may come in.
    PersonId = "psn";
    /// A passkey of theirs.
    DeviceId = "dev";
    /// A browser that is signed in. Not the cookie: this may be shown.
    SessionId = "ses";
    /// A token for scripts. Not the token itself: this may be shown.
    TokenId = "tok";
    /// A one-time link. Not what stands in it: this may be shown.
    LinkId = "lnk";
}

impl PersonId {
    /// What an authenticator keeps to say whose passkey it is.
    pub(crate) fn handle(self) -> [u8; 16] {
        self.0.to_bytes()
    }
}

fn random_ulid() -> Result<Ulid> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::NoRandomness)?;
    Ok(Ulid::from_bytes(bytes))
}

fn parse(text: &str, prefix: &'static str) -> std::result::Result<Ulid, IdError> {
    let rest = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).ok_or(IdError { prefix })?;
    // One spelling per id: the decoder also takes upper case and look-alike letters.
    let canonical = |ulid: &Ulid| ulid.to_string().to_ascii_lowercase() == rest;
    Ulid::from_string(rest).ok().filter(canonical).ok_or(IdError { prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling_and_names_its_kind() {
        let id = PersonId::random().unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().parse::<DeviceId>().is_err());
        assert!(id.to_string().to_uppercase().parse::<PersonId>().is_err());
        assert_ne!(id, PersonId::random().unwrap());
    }
}
