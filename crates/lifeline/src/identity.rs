//! What makes a state of a target unmistakable, and the names both sides use for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

holdfast_types::names! {
    /// A target as people call it: `box-1`.
    TargetName, "target", is_target,
        "a target is 1 to 63 characters of a-z 0-9 -, starting with a letter or digit";
    /// An episode: issued by the steward, never read for meaning or time.
    EpisodeId, "episode", is_episode,
        "an episode is 1 to 64 characters of a-z 0-9 _ -, starting with a letter or digit";
}

fn is_target(text: &str) -> bool {
    is_plain(text, 63, b"-")
}

fn is_episode(text: &str) -> bool {
    is_plain(text, 64, b"_-")
}

fn is_plain(text: &str, longest: usize, marks: &[u8]) -> bool {
    (1..=longest).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || marks.contains(&b))
}

/// The digest of everything the steward has set on a target. Two targets in the same state have the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Identity(pub [u8; 32]);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is no identity: expected 64 lower-case hexadecimal digits")]
pub struct NotAnIdentity {
    text: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Twelve digits: enough to tell states of one target apart in a story.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Identity {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let error = || NotAnIdentity { text: text.chars().take(80).collect() };
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(error());
        }
        for (at, pair) in text.as_bytes().chunks_exact(2).enumerate() {
            bytes[at] =
                digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| high << 4 | low).ok_or_else(error)?;
        }
        Ok(Identity(bytes))
    }
}

impl TryFrom<String> for Identity {
    type Error = NotAnIdentity;

    fn try_from(text: String) -> Result<Self, NotAnIdentity> {
        text.parse()
    }
}

impl From<Identity> for String {
    fn from(identity: Identity) -> String {
        identity.to_string()
    }
}

/// Which boot of a machine this is. Another one means that everything that was not durable is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_identity_has_one_spelling(bytes: [u8; 32]) {
            let identity = Identity(bytes);
            prop_assert_eq!(identity.to_string().parse(), Ok(identity));
            prop_assert!(identity.to_string().to_uppercase().parse::<Identity>().is_err() || !identity.to_string().bytes().any(|b| b.is_ascii_lowercase()));
        }
    }

    #[test]
    fn names_that_could_leave_their_folder_are_refused() {
        for bad in ["", "../x", "a/b", "A", "é", "-a", "a b", &"a".repeat(65)] {
            assert!(bad.parse::<EpisodeId>().is_err(), "{bad}");
        }
        assert!("ep_01jabc-2".parse::<EpisodeId>().is_ok());
    }
}
