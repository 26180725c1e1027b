//! The short-lived word a service gets about who is asking, signed for that service alone.
//!
//! It is `base64url(JSON) . base64url(HMAC-SHA256)`, the JSON being `{"service":…,"person":…,"exp":seconds}`. A service that is
//! given its key can check it ([`Identity::verify`] is the reference); one that leaks it gives away nothing that another service
//! or the gateway would believe, and nothing that lasts.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroize;

/// Long enough for a request to be handled, short enough that a copied one is soon nothing.
pub const IDENTITY_LIFE: Duration = Duration::from_secs(60);

/// What a reader accepts; ours are below 400 bytes.
const TOKEN_BYTES_MAX: usize = 2_048;

/// A service's own key. It prints as nothing and is wiped when it goes.
#[derive(Clone)]
pub struct IdentityKey([u8; 32]);

impl IdentityKey {
    pub fn from_bytes(bytes: [u8; 32]) -> IdentityKey {
        IdentityKey(bytes)
    }

    /// The key of one service, from a root that no service has: none can be computed from another.
    pub fn derive(root: &[u8; 32], service: &str) -> IdentityKey {
        let mut mac = keyed(root);
        mac.update(b"holdfast service identity v1\0");
        mac.update(service.as_bytes());
        IdentityKey(mac.finalize().into_bytes().into())
    }

    /// For handing the key to the service it belongs to.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityKey(…)")
    }
}

impl Drop for IdentityKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Who asks, said to one service until a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub service: String,
    pub person: String,
    /// Seconds since 1970; from then on it means nothing.
    pub exp: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error("it is not of the form that is signed here")]
    Malformed,
    #[error("the signature does not fit")]
    NotOurs,
    #[error("it was said to another service")]
    OtherService,
    #[error("it is no longer or not yet good")]
    Expired,
}

impl Identity {
    pub(crate) fn now(service: &str, person: &str, now: Timestamp) -> Identity {
        let exp = seconds(now.plus(IDENTITY_LIFE));
        Identity { service: service.to_owned(), person: person.to_owned(), exp }
    }

    /// The signed form. Serialising three plain fields cannot fail; were it to, nothing would be said.
    pub fn sign(&self, key: &IdentityKey) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut token = URL_SAFE_NO_PAD.encode(json);
        let mut mac = keyed(&key.0);
        mac.update(token.as_bytes());
        let tag = mac.finalize().into_bytes();
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(tag, &mut token);
        token
    }

    pub fn verify(
        token: &str,
        key: &IdentityKey,
        service: &str,
        now: Timestamp,
    ) -> Result<Identity, IdentityError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(IdentityError::Malformed);
        }
        let (said, tag) = token.split_once('.').ok_or(IdentityError::Malformed)?;
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| IdentityError::Malformed)?;
        let mut mac = keyed(&key.0);
        mac.update(said.as_bytes());
        // Compares in constant time.
        mac.verify_slice(&tag).map_err(|_| IdentityError::NotOurs)?;
        let json = URL_SAFE_NO_PAD.decode(said).map_err(|_| IdentityError::Malformed)?;
        let identity: Identity = serde_json::from_slice(&json).map_err(|_| IdentityError::Malformed)?;
        let now = seconds(now);
        let life = i64::try_from(IDENTITY_LIFE.as_secs()).unwrap_or(i64::MAX);
        match identity {
            other if other.service != service => Err(IdentityError::OtherService),
            late if now >= late.exp || late.exp - now > life + 1 => Err(IdentityError::Expired),
            good => Ok(good),
        }
    }
}

fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

/// HMAC fills a key up with zeros to the block of its hash, so this is the key it would make of the 32 bytes itself.
fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block[..key.len()].copy_from_slice(key);
    let mac = Hmac::new(&block);
    block.zeroize();
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    #[test]
    fn a_word_is_believed_by_one_service_for_a_minute_and_by_nobody_when_altered() {
        let root = [7; 32];
        let (key, other) = (IdentityKey::derive(&root, "grafana"), IdentityKey::derive(&root, "wiki"));
        let identity = Identity::now("grafana", "ana", at(1_000));
        let token = identity.sign(&key);
        assert_eq!(Identity::verify(&token, &key, "grafana", at(1_000)).as_ref(), Ok(&identity));
        assert_eq!(Identity::verify(&token, &key, "grafana", at(1_059)).as_ref(), Ok(&identity));
        for (token, key, service, now, wrong) in [
            (&token, &key, "grafana", 1_060, IdentityError::Expired),
            (&token, &key, "grafana", 900, IdentityError::Expired),
            (&token, &key, "wiki", 1_000, IdentityError::OtherService),
            (&token, &other, "grafana", 1_000, IdentityError::NotOurs),
            (&"x".repeat(3_000), &key, "grafana", 1_000, IdentityError::Malformed),
            (&"nothing".to_owned(), &key, "grafana", 1_000, IdentityError::Malformed),
        ] {
            assert_eq!(Identity::verify(token, key, service, at(now)), Err(wrong));
        }
        for n in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[n] = if bytes[n] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert!(Identity::verify(&altered, &key, "grafana", at(1_000)).is_err(), "{n}");
        }
    }

    #[test]
    fn the_key_is_in_no_message() {
        let key = IdentityKey::from_bytes([0x41; 32]);
        assert_eq!(format!("{key:?}"), "IdentityKey(…)");
    }
}
