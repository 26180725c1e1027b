//! Signatures as the Standard Webhooks convention has them, so that receivers can check them with its libraries.
//!
//! Signed is `id.timestamp.body` with HMAC-SHA256; the header says `v1,` and the base64 of the result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use holdfast_credentials::Secret;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// What the convention puts before a key in base64.
const ENCODED: &str = "whsec_";
/// The convention asks for 24 to 64 bytes of key; a shorter text can be guessed.
const KEY_MIN: usize = 16;

/// The key one receiver checks with.
pub(crate) struct Signer(Zeroizing<Vec<u8>>);

impl Signer {
    /// `whsec_` and base64, or any other text as its bytes.
    pub(crate) fn new(secret: &Secret) -> Result<Signer> {
        let key = match secret.expose().strip_prefix(ENCODED) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .map_err(|_| Error::Key { why: "what follows whsec_ is not base64" })?,
            None => secret.expose().as_bytes().to_vec(),
        };
        let key = Zeroizing::new(key);
        if key.len() < KEY_MIN {
            return Err(Error::Key { why: "it is shorter than 16 bytes" });
        }
        Ok(Signer(key))
    }

    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        // A key of any length does.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(text: &str) -> Result<Signer> {
        Signer::new(&Secret::new(text.into()).unwrap())
    }

    /// The example of the convention's own libraries.
    #[test]
    fn it_signs_as_the_published_example() {
        // holdfast: allow stripe_webhook_secret — the convention's published example
        let signer = signer("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let got = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, br#"{"test": 2432232314}"#);
        assert_eq!(got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_key_that_cannot_be_meant_is_refused_without_being_quoted() {
        for text in ["whsec_not base64!", "tiny", "whsec_c2hvcnQ="] {
            let e = signer(text).unwrap_err();
            assert!(!format!("{e} {e:?} {:?}", e.problem()).contains(text), "{e}");
        }
        assert!(signer("sixteen bytes ok").is_ok());
        assert_eq!(format!("{:?}", signer("sixteen bytes ok").unwrap()), "Signer(…)");
    }
}
