//! Ids: the kind, an underscore, and a ULID in 26 lower-case Crockford characters (`agt_01j…`).
//!
//! The kind is part of the text, so an id pasted in the wrong place fails clearly. The time inside a ULID
//! is never read back: order comes from the journal's `seq`, and names people use are separate.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdError {
    #[error("{text:?} is not an id of this kind: it must start with {prefix}_")]
    WrongKind { text: String, prefix: &'static str },
    #[error("{text:?} is not an id: after {prefix}_ come 26 lower-case Crockford characters")]
    Malformed { text: String, prefix: &'static str },
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;
        }

        impl From<Ulid> for $name {
            fn from(ulid: Ulid) -> Self {
                $name(ulid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", Self::PREFIX, self.0.to_string().to_ascii_lowercase())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text, Self::PREFIX).map($name)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }
    )*};
}

ids! {
    /// An agent: a program that acts by itself under our supervision.
    AgentId = "agt";
    /// A host, or anything else that is observed and changed from outside.
    TargetId = "tgt";
    /// One run of an agent or of a job.
    RunId = "run";
    /// A request that a person allows something.
    ApprovalId = "apr";
}

fn parse(text: &str, prefix: &'static str) -> Result<Ulid, IdError> {
    let shown = || text.chars().take(40).collect::<String>();
    let rest = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'))
        .ok_or_else(|| IdError::WrongKind { text: shown(), prefix })?;
    // One spelling per id: the decoder below also takes upper case and look-alike letters.
    let canonical = |ulid: &Ulid| ulid.to_string().to_ascii_lowercase() == rest;
    Ulid::from_string(rest).ok().filter(canonical).ok_or_else(|| IdError::Malformed { text: shown(), prefix })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_round_trips_through_its_text(n: u128) {
            let id = AgentId::from(Ulid(n));
            prop_assert_eq!(id.to_string().len(), 4 + 26);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused_by_name() {
        let run = RunId::from(Ulid(7)).to_string();
        let said = run.parse::<AgentId>().unwrap_err().to_string();
        assert!(said.contains("must start with agt_"), "{said}");
    }

    #[test]
    fn only_the_one_spelling_is_an_id() {
        let good = AgentId::from(Ulid(u128::MAX / 3)).to_string();
        for bad in [
            good.to_uppercase(),
            good.replace('a', "A"),
            format!("{good}0"),
            good[..29].into(),
            "agt_".into(),
        ] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad}");
        }
    }
}
