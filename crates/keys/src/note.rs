//! Signed notes and cosignatures, as other logs and witnesses write them.
//!
//! A note is a text and, after a blank line, one line per signature (<https://c2sp.org/signed-note>). A log
//! signs its checkpoint as a note; witnesses add cosignatures, which carry the time at which they saw it
//! (<https://c2sp.org/tlog-cosignature>).
//!
//! The two are judged alike. A signature whose name and key hash are not those of the key asked for is
//! somebody else's and passed over. One that bears the name and the hash and does not verify spoils the whole
//! note, wherever it stands: somebody tampered with it. The same signature twice counts once.
//!
//! Stricter than C2SP asks: at most 64 KiB, at most 100 signatures, base64 in its one spelling, Ed25519 by
//! the strict rules, key names without control characters and of at most 255 bytes.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdfast_types::{Exit, Origin, Problem, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::document;
use crate::key::{KeyError, PublicKey, SecretKey};
use crate::problem::{self, NOTHING_CHANGED, advice};

/// A checkpoint with a hundred cosignatures has some 20 KiB.
pub const NOTE_SIZE_MAX: usize = 64 * 1024;
pub const NOTE_SIGNATURES_MAX: usize = 100;

/// Who signs a note: a log's origin, a witness's name. No spaces, no `+`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyName(String);

/// How a note key signs; the byte is part of its key hash and of its verifier key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteAlgorithm {
    /// 0x01: Ed25519 over the text.
    Ed25519,
    /// 0x04: Ed25519 over a time and the text.
    Cosignature,
}

/// A key as people hand it on: `NAME+8 hex digits+base64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    pub name: KeyName,
    pub algorithm: NoteAlgorithm,
    pub public: PublicKey,
}

/// A text with signatures, none of them checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    name: KeyName,
    hash: [u8; 4],
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("{text:?} is not a key name: 1 to 255 bytes without spaces, control characters and +")]
    BadName { text: String },
    #[error("{text:?} is not a verifier key: expected NAME+8 hex digits+base64")]
    MalformedVerifierKey { text: String },
    #[error("the verifier key of {name} has signature type 0x{found:02x}; 0x01 and 0x04 are known")]
    UnknownAlgorithm { name: KeyName, found: u8 },
    #[error("the verifier key of {name} does not hold a usable public key")]
    BadPublicKey { name: KeyName, source: KeyError },
    #[error("the note has {found} bytes; at most {NOTE_SIZE_MAX} are read")]
    TooLarge { found: usize },
    #[error("the note has more than {NOTE_SIGNATURES_MAX} signatures")]
    TooManySignatures,
    #[error("the text of the note is not allowed: {why}")]
    BadText { why: &'static str },
    #[error("the note has no blank line with signatures after it")]
    NoSignatures,
    #[error("signature line {line} of the note is malformed")]
    MalformedSignature { line: usize },
    #[error("the note is not signed by {name} with the key expected")]
    NotSignedBy { name: KeyName },
    #[error("the signature by {name} does not fit the note")]
    DoesNotFit { name: KeyName },
    #[error("{unix_secs} seconds since 1970 is no time a cosignature can bear")]
    BadTime { unix_secs: u64 },
}

/// A note of `text`, which ends in a line feed, with one signature.
pub fn sign(text: &str, name: &KeyName, key: &SecretKey) -> Result<Note, NoteError> {
    Note { text: text.to_owned(), signatures: Vec::new() }.with(signature(text, name, key)?)
}

/// A signature to put under a note that others signed too.
pub fn signature(text: &str, name: &KeyName, key: &SecretKey) -> Result<NoteSignature, NoteError> {
    check_text(text)?;
    let hash = key_hash(name, NoteAlgorithm::Ed25519, &key.public());
    Ok(NoteSignature { name: name.clone(), hash, bytes: key.sign(text.as_bytes()).to_vec() })
}

/// A witness's statement that at this time it saw `text` and found it consistent with all it saw before.
pub fn cosign(
    text: &str,
    name: &KeyName,
    key: &SecretKey,
    unix_secs: u64,
) -> Result<NoteSignature, NoteError> {
    check_text(text)?;
    timestamp(unix_secs)?;
    let hash = key_hash(name, NoteAlgorithm::Cosignature, &key.public());
    let signature = key.sign(&cosigned(unix_secs, text));
    let bytes = [unix_secs.to_be_bytes().as_slice(), signature.as_slice()].concat();
    Ok(NoteSignature { name: name.clone(), hash, bytes })
}

/// The text of the note, if this key signed it.
pub fn verify<'n>(note: &'n Note, name: &KeyName, public: &PublicKey) -> Result<&'n str, NoteError> {
    let mut found = Err(NoteError::NotSignedBy { name: name.clone() });
    for signature in note.signatures_by(name, NoteAlgorithm::Ed25519, public) {
        let fits = <&[u8; 64]>::try_from(signature).is_ok_and(|s| public.verifies(note.text.as_bytes(), s));
        if !fits {
            return Err(NoteError::DoesNotFit { name: name.clone() });
        }
        found = Ok(note.text.as_str());
    }
    found
}

/// When this witness cosigned the note; the latest time, if it did so more than once.
pub fn verify_cosignature(note: &Note, name: &KeyName, public: &PublicKey) -> Result<Timestamp, NoteError> {
    let mut latest = None;
    for signature in note.signatures_by(name, NoteAlgorithm::Cosignature, public) {
        let unix_secs = cosigned_at(signature, &note.text, public);
        let unix_secs = unix_secs.ok_or_else(|| NoteError::DoesNotFit { name: name.clone() })?;
        latest = latest.max(Some(timestamp(unix_secs)?));
    }
    latest.ok_or_else(|| NoteError::NotSignedBy { name: name.clone() })
}

impl Note {
    pub fn parse(bytes: &[u8]) -> Result<Note, NoteError> {
        check_size(bytes.len())?;
        let note = std::str::from_utf8(bytes).map_err(|_| NoteError::BadText { why: "it is not UTF-8" })?;
        // The last blank line is the border: the text may have others, signature lines have none.
        let border = note.rfind("\n\n").ok_or(NoteError::NoSignatures)?;
        let (text, rest) = note.split_at(border + 1);
        check_text(text)?;
        Ok(Note { text: text.to_owned(), signatures: parse_signatures(&rest[1..])? })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("{}\n", self.text);
        self.signatures.iter().for_each(|s| out.push_str(&s.to_string()));
        out.into_bytes()
    }

    /// The note with one more signature. One that is there already is not added again.
    pub fn with(mut self, signature: NoteSignature) -> Result<Note, NoteError> {
        if self.signatures.contains(&signature) {
            return Ok(self);
        }
        if self.signatures.len() == NOTE_SIGNATURES_MAX {
            return Err(NoteError::TooManySignatures);
        }
        self.signatures.push(signature);
        check_size(self.to_bytes().len())?;
        Ok(self)
    }

    /// What the note says, before anyone checked who says it. [`verify`] returns the same text believed.
    pub fn unverified_text(&self) -> &str {
        &self.text
    }

    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    fn signatures_by(
        &self,
        name: &KeyName,
        algorithm: NoteAlgorithm,
        public: &PublicKey,
    ) -> impl Iterator<Item = &[u8]> {
        let hash = key_hash(name, algorithm, public);
        self.signatures.iter().filter(move |s| s.hash == hash && s.name == *name).map(|s| s.bytes.as_slice())
    }
}

impl NoteSignature {
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    pub fn hash(&self) -> [u8; 4] {
        self.hash
    }

    /// Reads one line without its line feed.
    fn parse(line: &str) -> Option<NoteSignature> {
        let (name, base64) = line.strip_prefix("— ")?.split_once(' ')?;
        let decoded = STANDARD.decode(base64).ok()?;
        let (hash, bytes) = decoded.split_first_chunk::<4>()?;
        let signature = NoteSignature { name: name.parse().ok()?, hash: *hash, bytes: bytes.to_vec() };
        (!bytes.is_empty()).then_some(signature)
    }
}

impl VerifierKey {
    /// The four bytes that, with the name, tell this key's signatures from others.
    pub fn hash(&self) -> [u8; 4] {
        key_hash(&self.name, self.algorithm, &self.public)
    }
}

impl NoteAlgorithm {
    const fn byte(self) -> u8 {
        match self {
            NoteAlgorithm::Ed25519 => 0x01,
            NoteAlgorithm::Cosignature => 0x04,
        }
    }
}

impl KeyName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl NoteError {
    pub fn problem(&self) -> Problem {
        let again = "get the note from its source again";
        let (number, exit, hint) = match self {
            NoteError::BadName { .. } => {
                (80, Exit::Usage, "use a name like holdfast/web-1 or witness.example/w1")
            }
            NoteError::MalformedVerifierKey { .. } => (81, Exit::Usage, "copy the whole verifier key"),
            NoteError::UnknownAlgorithm { .. } => {
                (82, Exit::CouldNotCheck, "ask its owner for an Ed25519 key")
            }
            NoteError::BadPublicKey { .. } => {
                (83, Exit::Negative, "ask where this key came from; do not trust it")
            }
            NoteError::TooLarge { .. } => (84, Exit::Negative, again),
            NoteError::TooManySignatures => (85, Exit::Negative, "keep the signatures of witnesses you know"),
            NoteError::BadText { .. } => (86, Exit::Negative, again),
            NoteError::NoSignatures => (87, Exit::Negative, again),
            NoteError::MalformedSignature { .. } => (88, Exit::Negative, again),
            NoteError::NotSignedBy { .. } => {
                (89, Exit::Refused, "see which key the trust set has for this name")
            }
            NoteError::DoesNotFit { .. } => {
                (90, Exit::Refused, "somebody changed the note; compare it with another copy")
            }
            NoteError::BadTime { .. } => (91, Exit::Negative, "check the witness's clock"),
        };
        problem::problem(self, advice(number, exit, NOTHING_CHANGED, hint))
    }
}

fn key_hash(name: &KeyName, algorithm: NoteAlgorithm, public: &PublicKey) -> [u8; 4] {
    let mut hasher = Sha256::new();
    hasher.update(name.0.as_bytes());
    hasher.update([b'\n', algorithm.byte()]);
    hasher.update(public.as_bytes());
    let [a, b, c, d, ..] = <[u8; 32]>::from(hasher.finalize());
    [a, b, c, d]
}

const COSIGNATURE_DOMAIN: &str = "cosignature/v1\n";

fn cosigned(unix_secs: u64, text: &str) -> Vec<u8> {
    format!("{COSIGNATURE_DOMAIN}time {unix_secs}\n{text}").into_bytes()
}

/// The time in a cosignature, if it fits.
fn cosigned_at(signature: &[u8], text: &str, public: &PublicKey) -> Option<u64> {
    let (time, signature) = signature.split_first_chunk::<8>()?;
    let unix_secs = u64::from_be_bytes(*time);
    let fits = public.verifies(&cosigned(unix_secs, text), signature.try_into().ok()?);
    fits.then_some(unix_secs)
}

fn timestamp(unix_secs: u64) -> Result<Timestamp, NoteError> {
    let micros = i64::try_from(unix_secs).ok().and_then(|secs| secs.checked_mul(1_000_000));
    let time = micros.and_then(|micros| Timestamp::from_micros(micros).ok());
    time.ok_or(NoteError::BadTime { unix_secs })
}

fn check_size(found: usize) -> Result<(), NoteError> {
    if found <= NOTE_SIZE_MAX { Ok(()) } else { Err(NoteError::TooLarge { found }) }
}

fn check_text(text: &str) -> Result<(), NoteError> {
    check_size(text.len())?;
    let why = if !text.ends_with('\n') {
        "it does not end with a line feed"
    } else if text.bytes().any(|b| b < 0x20 && b != b'\n') {
        "it has control characters"
    } else if [document::DOMAIN, COSIGNATURE_DOMAIN].iter().any(|domain| text.starts_with(domain)) {
        // A note's signature is over the bare text. Of such a text it would be another kind of signature.
        "it begins like something else that is signed"
    } else {
        return Ok(());
    };
    Err(NoteError::BadText { why })
}

fn parse_signatures(lines: &str) -> Result<Vec<NoteSignature>, NoteError> {
    if lines.is_empty() {
        return Err(NoteError::NoSignatures);
    }
    let mut signatures = Vec::new();
    for (n, line) in lines.split_inclusive('\n').enumerate() {
        if n == NOTE_SIGNATURES_MAX {
            return Err(NoteError::TooManySignatures);
        }
        let signature = line.strip_suffix('\n').and_then(NoteSignature::parse);
        signatures.push(signature.ok_or(NoteError::MalformedSignature { line: n + 1 })?);
    }
    Ok(signatures)
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.hash.as_slice(), &self.bytes].concat();
        writeln!(f, "— {} {}", self.name, STANDARD.encode(bytes))
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = u32::from_be_bytes(self.hash());
        let key = [[self.algorithm.byte()].as_slice(), self.public.as_bytes()].concat();
        write!(f, "{}+{hash:08x}+{}", self.name, STANDARD.encode(key))
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let malformed = || NoteError::MalformedVerifierKey { text: shown(text) };
        let (name, rest) = text.split_once('+').ok_or_else(malformed)?;
        let (_, base64) = rest.split_once('+').ok_or_else(malformed)?;
        let name: KeyName = name.parse()?;
        let bytes = STANDARD.decode(base64).map_err(|_| malformed())?;
        let (&found, public) = bytes.split_first().ok_or_else(malformed)?;
        let algorithm =
            [NoteAlgorithm::Ed25519, NoteAlgorithm::Cosignature].into_iter().find(|a| a.byte() == found);
        let algorithm = algorithm.ok_or_else(|| NoteError::UnknownAlgorithm { name: name.clone(), found })?;
        let public = PublicKey::from_bytes(public.try_into().map_err(|_| malformed())?)
            .map_err(|source| NoteError::BadPublicKey { name: name.clone(), source })?;
        let key = VerifierKey { name, algorithm, public };
        // The hash in the middle is checked by spelling the key again: there is one spelling.
        if key.to_string() == text { Ok(key) } else { Err(malformed()) }
    }
}

impl FromStr for KeyName {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let fine = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
        if (1..=255).contains(&text.len()) && text.chars().all(fine) {
            Ok(KeyName(text.to_owned()))
        } else {
            Err(NoteError::BadName { text: shown(text) })
        }
    }
}

impl From<&Origin> for KeyName {
    fn from(origin: &Origin) -> KeyName {
        // An origin's alphabet is a part of a key name's.
        KeyName(origin.as_str().to_owned())
    }
}

impl TryFrom<String> for KeyName {
    type Error = NoteError;

    fn try_from(text: String) -> Result<Self, NoteError> {
        text.parse()
    }
}

impl From<KeyName> for String {
    fn from(name: KeyName) -> String {
        name.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<NoteError> {
    let name = || KeyName("w1".into());
    vec![
        NoteError::BadName { text: "a b".into() },
        NoteError::MalformedVerifierKey { text: "x".into() },
        NoteError::UnknownAlgorithm { name: name(), found: 2 },
        NoteError::BadPublicKey { name: name(), source: KeyError::NotAKey { text: "x".into() } },
        NoteError::TooLarge { found: 1 << 20 },
        NoteError::TooManySignatures,
        NoteError::BadText { why: "x" },
        NoteError::NoSignatures,
        NoteError::MalformedSignature { line: 1 },
        NoteError::NotSignedBy { name: name() },
        NoteError::DoesNotFit { name: name() },
        NoteError::BadTime { unix_secs: u64::MAX },
    ]
}

#[cfg(test)]
mod tests;
