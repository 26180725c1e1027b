//! Random values that let somebody in, and what is kept of them.
//!
//! Each is 256 bits from the system, as 43 characters that need no escaping anywhere. Only a [`Stamp`] is ever stored: a
//! hash under a name of its own for each use, so that one kind of value can never stand in for another. There is no salt
//! and no slow hash: nobody can guess 256 random bits, however fast they hash.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Characters of a value without its prefix.
pub(crate) const TEXT_LEN: usize = 43;

/// What a token begins with, so that scanners and people know one when they see it.
pub(crate) const TOKEN_PREFIX: &str = "hft_";

/// A value to be handed to somebody once. It never prints.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub(crate) fn random() -> Result<Secret> {
        Secret::with_prefix("")
    }

    pub(crate) fn with_prefix(prefix: &str) -> Result<Secret> {
        let mut bytes = Zeroizing::new([0u8; 32]);
        getrandom::fill(bytes.as_mut()).map_err(|_| Error::NoRandomness)?;
        let mut text = Zeroizing::new(String::with_capacity(prefix.len() + TEXT_LEN));
        text.push_str(prefix);
        BASE64URL.encode_string(bytes.as_ref(), &mut text);
        Ok(Secret(text))
    }

    /// What somebody is to have that is not random alone.
    pub(crate) fn of(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The value itself, for the one place it is sent to.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What a value was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Session,
    PreSession,
    Ceremony,
    Link,
    Token,
    /// The mark of a browser that signed in here before.
    Browser,
}

impl Use {
    fn context(self) -> &'static str {
        match self {
            Use::Session => "holdfast gateway 2026-11 session",
            Use::PreSession => "holdfast gateway 2026-11 before signing in",
            Use::Ceremony => "holdfast gateway 2026-11 ceremony",
            Use::Link => "holdfast gateway 2026-11 link",
            Use::Token => "holdfast gateway 2026-11 token",
            Use::Browser => "holdfast gateway 2026-11 known browser",
        }
    }
}

/// The hash of a value: what is stored and looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp(pub(crate) [u8; 32]);

impl Stamp {
    pub(crate) fn of(kind: Use, text: &str) -> Stamp {
        Stamp(blake3::derive_key(kind.context(), text.as_bytes()))
    }

    /// The same for a text somebody sent, when it can be one of ours at all.
    pub(crate) fn of_sent(kind: Use, text: &str) -> Option<Stamp> {
        let body = match kind {
            Use::Token => text.strip_prefix(TOKEN_PREFIX)?,
            _ => text,
        };
        is_value(body).then(|| Stamp::of(kind, text))
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stamp")
    }
}

pub(crate) fn is_value(text: &str) -> bool {
    text.len() == TEXT_LEN && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_nowhere_and_each_use_has_its_own_stamp() {
        let secret = Secret::random().unwrap();
        assert!(is_value(secret.reveal()));
        assert!(!format!("{secret:?}").contains(secret.reveal()));
        let (a, b) = (Stamp::of(Use::Link, secret.reveal()), Stamp::of(Use::Session, secret.reveal()));
        assert!(a != b);
        assert_eq!(Stamp::of_sent(Use::Link, secret.reveal()), Some(a));
    }

    #[test]
    fn what_cannot_be_a_value_is_not_even_hashed() {
        let good = Secret::random().unwrap();
        for bad in ["", "x", &format!("{} ", good.reveal()), &"ä".repeat(43), &"a".repeat(100_000)] {
            assert_eq!(Stamp::of_sent(Use::Session, bad), None);
        }
        assert_eq!(Stamp::of_sent(Use::Token, good.reveal()), None);
        let token = Secret::with_prefix(TOKEN_PREFIX).unwrap();
        assert!(Stamp::of_sent(Use::Token, token.reveal()).is_some());
    }
}
