//! Whose memory it is: an agent's name, and the id its entries carry.
//!
//! Nothing registers agents yet, so the id of a name is made from the name: the same on every machine, and known without asking
//! anybody. A registry may give an agent another id later; whoever has one hands it in.

use std::fmt;
use std::str::FromStr;

use holdfast_types::AgentId;
use serde::{Deserialize, Serialize};

use crate::error::Error;

const NAME_MAX: usize = 64;

/// A name people use. Nothing on the disk is called by it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of whoever has this name and no other id.
    pub fn id(&self) -> AgentId {
        let digest = blake3::derive_key("holdfast 2026 agent id of a name", self.0.as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        AgentId::from(ulid::Ulid::from_bytes(half))
    }
}

impl FromStr for AgentName {
    type Err = Error;

    fn from_str(text: &str) -> Result<AgentName, Error> {
        let plain = !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control);
        match plain && text.len() <= NAME_MAX {
            true => Ok(AgentName(text.to_owned())),
            false => Err(Error::Name(text.chars().take(NAME_MAX).collect())),
        }
    }
}

impl TryFrom<String> for AgentName {
    type Error = Error;

    fn try_from(text: String) -> Result<AgentName, Error> {
        text.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> String {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line_and_always_has_the_same_id() {
        for bad in ["", " a", "a ", "a\n", "a\u{1b}[1m", &"a".repeat(65)] {
            assert!(bad.parse::<AgentName>().is_err(), "{bad:?}");
        }
        let name: AgentName = "conv-26".parse().unwrap();
        assert_eq!(name.id(), "conv-26".parse::<AgentName>().unwrap().id());
        assert_ne!(name.id(), "conv-27".parse::<AgentName>().unwrap().id());
        assert_eq!(name.id().to_string(), name.id().to_string().parse::<AgentId>().unwrap().to_string());
    }
}
