//! How far something is trusted. Where things are combined, the least trusted part decides.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One ladder for domains of the estate and for what is written down: least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Thrown away after use; nothing it says is kept as fact.
    Disposable,
    /// Text from outside: mail, web pages, strangers.
    Untrusted,
    /// An agent's own words.
    SemiTrusted,
    /// A part of the product, or a tool it ran itself.
    Trusted,
    /// The person who owns the machines.
    Admin,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a trust level: use disposable, untrusted, semi-trusted, trusted or admin")]
pub struct TrustError(String);

impl Trust {
    pub const ALL: [Trust; 5] =
        [Trust::Disposable, Trust::Untrusted, Trust::SemiTrusted, Trust::Trusted, Trust::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Trust::Disposable => "disposable",
            Trust::Untrusted => "untrusted",
            Trust::SemiTrusted => "semi-trusted",
            Trust::Trusted => "trusted",
            Trust::Admin => "admin",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Trust {
    type Err = TrustError;

    fn from_str(text: &str) -> Result<Self, TrustError> {
        let found = Trust::ALL.into_iter().find(|t| t.as_str() == text);
        found.ok_or_else(|| TrustError(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_trusted_part_decides() {
        assert_eq!(
            [Trust::Admin, Trust::Untrusted, Trust::Trusted].into_iter().min(),
            Some(Trust::Untrusted)
        );
    }

    #[test]
    fn text_and_json_forms_agree() {
        for t in Trust::ALL {
            assert_eq!(t.to_string().parse(), Ok(t));
            assert_eq!(serde_json::to_string(&t).unwrap(), format!("\"{t}\""));
        }
        assert!("root".parse::<Trust>().is_err());
    }
}
