//! Ed25519 keys and their text forms.
//!
//! A [`SecretKey`] is a 32-byte seed that is wiped when dropped and prints only its id. A [`PublicKey`] is a
//! point that can be trusted to be a key: in its one encoding and in the group of prime order. There is no
//! public way to sign bare bytes: a signature is made by `document`, `note` or `ssh`, which say in the signed
//! bytes what they are, so that a signature made for one thing never fits another.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use holdfast_types::{Exit, Problem};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::problem::{self, NOTHING_CHANGED, advice};

/// What a key is for. A key has one role, so that what a machine may sign every minute cannot be used for
/// what a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Signs the journal's checkpoints.
    Log,
    /// Signs state manifests.
    Manifest,
    /// Signs approvals.
    Approvals,
    /// Signs policies and allowlists; kept offline.
    Policy,
    /// Cosigns checkpoints of a log that is not its own.
    Witness,
    /// Signs the commits that say what was applied.
    History,
}

/// The seed of a key pair.
// Boxed, so that moving the key moves a pointer and leaves no copy of the seed behind on the stack.
pub struct SecretKey(Box<SigningKey>);

/// `ed25519:` and 44 characters of padded standard base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(VerifyingKey);

/// `ed25519:` and the first 16 hex digits of the SHA-256 of the public key: a name for it, not a proof.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId([u8; 8]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("{text:?} is not a public key: expected ed25519: and 44 characters of base64")]
    MalformedPublic { text: String },
    #[error("{text:?} is not a key id: expected ed25519: and 16 lower-case hex digits")]
    MalformedId { text: String },
    #[error("{text:?} is not a role: use log, manifest, approvals, policy, witness or history")]
    UnknownRole { text: String },
    #[error(
        "{text:?} looks like a public key, but no key pair has it: it is weak or not in its one encoding"
    )]
    NotAKey { text: String },
    #[error("the system gave no random bytes for a new key: {cause}")]
    NoRandomness { cause: String },
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Log, Role::Manifest, Role::Approvals, Role::Policy, Role::Witness, Role::History];

    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Log => "log",
            Role::Manifest => "manifest",
            Role::Approvals => "approvals",
            Role::Policy => "policy",
            Role::Witness => "witness",
            Role::History => "history",
        }
    }
}

impl SecretKey {
    /// A new key from the system's randomness.
    pub fn generate() -> Result<SecretKey, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|e| KeyError::NoRandomness { cause: e.to_string() })?;
        Ok(SecretKey::from_seed(&seed))
    }

    /// The key of a seed; the caller wipes its own copy.
    pub fn from_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey(Box::new(SigningKey::from_bytes(seed)))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub fn id(&self) -> KeyId {
        self.public().id()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// The seed as text, for the key file and nothing else.
    pub(crate) fn seed_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({}, seed hidden)", self.id())
    }
}

impl PublicKey {
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<PublicKey, KeyError> {
        let not_a_key = || KeyError::NotAKey { text: public_text(bytes) };
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| not_a_key())?;
        let point = key.to_edwards();
        // Every key pair gives a point without a small-order part, in the one encoding. Anything else was
        // made by hand, for signatures that different verifiers judge differently.
        let sound = !key.is_weak() && point.is_torsion_free() && point.compress().to_bytes() == *bytes;
        if sound { Ok(PublicKey(key)) } else { Err(not_a_key()) }
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub fn id(&self) -> KeyId {
        let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(Sha256::digest(self.as_bytes()));
        KeyId([a, b, c, d, e, f, g, h])
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

impl KeyError {
    pub fn problem(&self) -> Problem {
        let (number, exit, hint) = match self {
            KeyError::MalformedPublic { .. } => {
                (10, Exit::Negative, "copy the whole public key, from ed25519: to =")
            }
            KeyError::MalformedId { .. } => (11, Exit::Negative, "copy the id from the list of trusted keys"),
            KeyError::UnknownRole { .. } => (12, Exit::Usage, "use one of the five roles"),
            KeyError::NotAKey { .. } => (13, Exit::Negative, "ask where this key came from; do not trust it"),
            KeyError::NoRandomness { .. } => {
                (14, Exit::CouldNotCheck, "see whether getrandom(2) is allowed here")
            }
        };
        problem::problem(self, advice(number, exit, NOTHING_CHANGED, hint))
    }
}

const PREFIX: &str = "ed25519:";

fn public_text(bytes: &[u8; 32]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(bytes))
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&public_text(self.as_bytes()))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let decoded = text.strip_prefix(PREFIX).and_then(|b64| STANDARD.decode(b64).ok());
        let bytes = decoded.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        PublicKey::from_bytes(&bytes.ok_or_else(|| KeyError::MalformedPublic { text: shown(text) })?)
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let hex = text.strip_prefix(PREFIX).filter(|hex| {
            hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        });
        match hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            Some(id) => Ok(KeyId(id.to_be_bytes())),
            None => Err(KeyError::MalformedId { text: shown(text) }),
        }
    }
}

impl FromStr for Role {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let found = Role::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| KeyError::UnknownRole { text: shown(text) })
    }
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = KeyError;

            fn try_from(text: String) -> Result<Self, KeyError> {
                text.parse()
            }
        }
    )*};
}

as_text!(PublicKey, KeyId);

#[cfg(test)]
pub(crate) fn samples() -> Vec<KeyError> {
    vec![
        KeyError::MalformedPublic { text: "x".into() },
        KeyError::MalformedId { text: "x".into() },
        KeyError::UnknownRole { text: "x".into() },
        KeyError::NotAKey { text: "x".into() },
        KeyError::NoRandomness { cause: "x".into() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_forms_round_trip(seed: [u8; 32]) {
            let key = SecretKey::from_seed(&seed);
            prop_assert_eq!(key.public().to_string().parse(), Ok(key.public()));
            prop_assert_eq!(key.id().to_string().parse(), Ok(key.id()));
        }

        #[test]
        fn a_signature_fits_its_message_and_no_other(seed: [u8; 32], message: Vec<u8>, at: prop::sample::Index) {
            let key = SecretKey::from_seed(&seed);
            let mut signature = key.sign(&message);
            prop_assert!(key.public().verifies(&message, &signature));
            signature[at.index(64)] ^= 1;
            prop_assert!(!key.public().verifies(&message, &signature));
        }
    }

    #[test]
    fn the_debug_form_of_a_secret_shows_its_id_and_not_the_seed() {
        let key = SecretKey::from_seed(&[7; 32]);
        let said = format!("{key:?} {key:#?}");
        assert!(said.contains(&key.id().to_string()));
        assert!(!said.contains(&*key.seed_text()) && !said.contains("7, 7"), "{said}");
    }

    #[test]
    fn two_new_keys_differ() {
        assert_ne!(SecretKey::generate().unwrap().id(), SecretKey::generate().unwrap().id());
    }

    /// RFC 8032, section 7.1, test 1: the text forms are of the same bytes everyone else has.
    #[test]
    fn a_published_key_pair_has_its_published_public_key() {
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(SecretKey::from_seed(&seed).public().as_bytes(), &public);
    }

    #[test]
    fn points_of_small_order_and_points_off_the_curve_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let order_2 = near_p(0xec, 0x7f);
        let order_8 = hex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05");
        for bytes in [[0; 32], identity, order_2, order_8, [2; 32]] {
            assert!(matches!(PublicKey::from_bytes(&bytes), Err(KeyError::NotAKey { .. })), "{bytes:02x?}");
        }
    }

    /// The nineteen numbers from p on are read like those from zero on, and a point with x = 0 has both signs:
    /// second spellings. As it happens each of them also has a small-order part, and is refused twice over.
    #[test]
    fn a_second_spelling_of_a_point_is_refused() {
        let mut identity_with_sign = [0; 32];
        (identity_with_sign[0], identity_with_sign[31]) = (1, 0x80);
        let from_p_on = (0xed..=0xff).flat_map(|low| [near_p(low, 0x7f), near_p(low, 0xff)]);
        for bytes in from_p_on.chain([identity_with_sign, near_p(0xec, 0xff)]) {
            assert!(PublicKey::from_bytes(&bytes).is_err(), "{bytes:02x?}");
        }
    }

    #[test]
    fn a_key_with_a_small_order_part_is_refused() {
        let honest = SecretKey::from_seed(&[3; 32]).public().0.to_edwards();
        let order_2 = VerifyingKey::from_bytes(&near_p(0xec, 0x7f)).unwrap().to_edwards();
        let mixed = (honest + order_2).compress().to_bytes();
        assert!(
            !VerifyingKey::from_bytes(&mixed).unwrap().is_weak(),
            "the coarse check alone would let it in"
        );
        assert!(PublicKey::from_bytes(&mixed).is_err());
    }

    #[test]
    fn other_spellings_are_refused() {
        let key = SecretKey::from_seed(&[7; 32]);
        let (public, id) = (key.public().to_string(), key.id().to_string());
        let trailing_bits = format!("{}B=", &public[..public.len() - 2]);
        for bad in
            [&public[8..], public.trim_end_matches('='), &trailing_bits, &format!("{public} "), &id, ""]
        {
            assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
        }
        for bad in
            [&id[8..], &id.to_uppercase(), &id[..23], &format!("{id}0"), "ed25519:+123456789abcdef", &public]
        {
            assert!(bad.parse::<KeyId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn roles_have_one_text_in_every_form() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        }
        assert!("root".parse::<Role>().is_err());
    }

    /// p = 2^255 - 19 is ed ff … ff 7f; the last byte also holds the sign.
    fn near_p(low: u8, high: u8) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        (bytes[0], bytes[31]) = (low, high);
        bytes
    }

    fn hex(text: &str) -> [u8; 32] {
        std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
    }
}
