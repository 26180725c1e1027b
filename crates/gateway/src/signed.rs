//! Who is asking: what a request carries once it was let in.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use subtle::ConstantTimeEq as _;

use crate::error::{Error, Result};
use crate::id::{PersonId, SessionId, TokenId};
use crate::name::PersonName;
use crate::role::{Role, Scope};
use crate::secret::Stamp;

/// Somebody who was let in. Only [`Accounts`](crate::Accounts) makes one.
#[derive(Clone, Debug)]
pub struct Signed {
    pub person: PersonId,
    pub name: PersonName,
    /// What they may do now; for a token never more than its scope.
    pub role: Role,
    pub by: By,
    pub(crate) stamp: Stamp,
}

/// How they came.
#[derive(Clone, Debug)]
pub enum By {
    Session { id: SessionId, csrf: Csrf },
    Token { id: TokenId, scope: Scope },
}

impl Signed {
    pub fn session(&self) -> Option<SessionId> {
        match self.by {
            By::Session { id, .. } => Some(id),
            By::Token { .. } => None,
        }
    }

    /// The word that a page puts into its forms.
    pub fn csrf(&self) -> Option<&Csrf> {
        match &self.by {
            By::Session { csrf, .. } => Some(csrf),
            By::Token { .. } => None,
        }
    }

    /// Passes who has at least this role.
    pub fn at_least(&self, least: Role) -> Result<()> {
        if self.role >= least { Ok(()) } else { Err(Error::NotAllowed { least }) }
    }
}

/// What anti-forgery words are made with. It stays in the database.
#[derive(Clone)]
pub(crate) struct CsrfKey(pub(crate) [u8; 32]);

impl fmt::Debug for CsrfKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CsrfKey")
    }
}

/// The anti-forgery word of a session. Made with a key of ours, so that who sees the cookie cannot make the word.
#[derive(Clone)]
pub struct Csrf(String);

impl Csrf {
    pub(crate) fn of(key: &CsrfKey, session: Stamp) -> Csrf {
        Csrf(BASE64URL.encode(blake3::keyed_hash(&key.0, &session.0).as_bytes()))
    }

    /// For its own session and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is(&self, sent: &str) -> bool {
        self.0.as_bytes().ct_eq(sent.as_bytes()).into()
    }
}

impl fmt::Debug for Csrf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Csrf")
    }
}
