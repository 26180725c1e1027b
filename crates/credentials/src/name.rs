//! What a secret is called. The alphabet is one that fits a file name, a variable and an argument alike.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The name of a secret: `[a-z0-9][a-z0-9_-]{0,63}`. It can neither leave a directory nor look like an option.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

impl SecretName {
    pub const RULE: &'static str =
        "1 to 64 characters of a-z 0-9 _ -, of which the first is a letter or a digit";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = Error;

    /// The refused text is not repeated: it may be a value that was put in the wrong place.
    fn from_str(text: &str) -> Result<Self, Error> {
        if is_name(text) { Ok(SecretName(text.to_owned())) } else { Err(Error::NotAName) }
    }
}

impl TryFrom<String> for SecretName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> String {
        name.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

fn is_name(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=64).contains(&text.len())
        && alphanumeric(text.as_bytes()[0])
        && text.bytes().all(|b| alphanumeric(b) || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_of_the_rule_is_one(text in "[a-z0-9][a-z0-9_-]{0,63}") {
            prop_assert_eq!(text.parse::<SecretName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_else_is_a_name() {
        for text in ["", "-a", "_a", "A", "a.b", "a/b", "..", "a b", "é", "a\n", &"a".repeat(65)] {
            assert!(text.parse::<SecretName>().is_err(), "{text:?}");
        }
    }
}
