//! Signed JSON documents: manifests, approvals, policies.
//!
//! [`sign`] makes a [`SignedDocument`], [`verify`] turns it into a [`Verified`], which nothing else can make.
//! A function that needs a believed document takes a `Verified` and has no check of its own.
//!
//! # The signed bytes
//!
//! ```text
//! holdfast-document/v1\n
//! <role>\n            what kind of key signs: manifest
//! <purpose>\n         what kind of document it is: manifest
//! <at>\n              the time the signer claims: 2026-11-15T08:17:16.000000Z
//! <canonical JSON of the payload, to the end>
//! ```
//!
//! Every line before the payload comes from an alphabet without line feeds, so no two different documents
//! have the same bytes. The whole payload is in them, at every depth.
//!
//! Absent: no clock. A claimed time in the future is for the caller to judge; [`Verified::at`] gives it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdfast_types::{Exit, Problem, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Canonical, CanonicalError};
use crate::key::{KeyId, Role, SecretKey};
use crate::problem::{self, NOTHING_CHANGED, advice};
use crate::trust::{Distrust, Moment, RevocationPolicy, TrustSet};

/// The form [`SignedDocument::to_bytes`] writes and the newest one [`SignedDocument::parse`] reads.
pub const DOCUMENT_FORMAT: u64 = 1;

/// Two during a rotation, a few more for documents that several people sign.
pub const SIGNATURES_MAX: usize = 16;

/// First line of everything signed here; `note` refuses to sign a text that begins with it.
pub(crate) const DOMAIN: &str = "holdfast-document/v1\n";

/// What kind of document it is, as a short word: a signed approval never passes as a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Purpose(&'static str);

/// A document as it arrives: nothing in it may be believed before [`verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDocument {
    pub payload: Canonical,
    pub signatures: Vec<DocumentSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentSignature {
    pub key: KeyId,
    pub role: Role,
    pub at: Timestamp,
    pub sig: SignatureBytes,
}

/// An Ed25519 signature; as text, 88 characters of padded standard base64.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignatureBytes(pub [u8; 64]);

/// A document of which at least one signature was good.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'d> {
    payload: &'d Canonical,
    signature: &'d DocumentSignature,
}

/// Why one signature did not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it was made in the role {found}, not {wanted}")]
    OtherRole { found: Role, wanted: Role },
    #[error(transparent)]
    Distrusted(Distrust),
    #[error("it does not fit the document")]
    DoesNotFit,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the document is not JSON that can be signed")]
    NotCanonical(#[source] CanonicalError),
    #[error("the document is malformed: {message}")]
    Malformed { message: String },
    #[error("the document has format {found}; this program reads up to {DOCUMENT_FORMAT}")]
    NewerFormat { found: u64 },
    #[error("the document has {found} signatures; at most {SIGNATURES_MAX} are read")]
    TooManySignatures { found: usize },
    #[error("the document is not signed")]
    Unsigned,
    #[error("no signature of the document counts: {}", list(refused))]
    NoneAcceptable { refused: Vec<(KeyId, Refusal)> },
}

/// Signs `payload` as a document of this purpose, with a key of this role, at the time `at`.
pub fn sign(
    purpose: Purpose,
    payload: Canonical,
    key: &SecretKey,
    role: Role,
    at: Timestamp,
) -> SignedDocument {
    let signatures = vec![signature(purpose, &payload, key, role, at)];
    SignedDocument { payload, signatures }
}

/// Believes the document if at least one of its signatures is by a key that `trust` accepts in this role at
/// the time the signature claims. One is enough: during a rotation the old and the new key both sign.
pub fn verify<'d>(
    document: &'d SignedDocument,
    purpose: Purpose,
    role: Role,
    trust: &TrustSet,
) -> Result<Verified<'d>, DocumentError> {
    verify_under(RevocationPolicy::default(), document, purpose, role, trust)
}

pub fn verify_under<'d>(
    policy: RevocationPolicy,
    document: &'d SignedDocument,
    purpose: Purpose,
    role: Role,
    trust: &TrustSet,
) -> Result<Verified<'d>, DocumentError> {
    let SignedDocument { payload, signatures } = document;
    match signatures.len() {
        0 => return Err(DocumentError::Unsigned),
        1..=SIGNATURES_MAX => {}
        found => return Err(DocumentError::TooManySignatures { found }),
    }
    let mut refused = Vec::new();
    for signature in signatures {
        match check(policy, payload, signature, purpose, role, trust) {
            Ok(()) => return Ok(Verified { payload, signature }),
            Err(refusal) => refused.push((signature.key, refusal)),
        }
    }
    Err(DocumentError::NoneAcceptable { refused })
}

impl Purpose {
    /// For constants: `const MANIFEST: Purpose = Purpose::new("manifest");`. A word that is not 1 to 32
    /// lower-case letters, digits or `-` fails the build.
    pub const fn new(word: &'static str) -> Purpose {
        let bytes = word.as_bytes();
        assert!(!bytes.is_empty() && bytes.len() <= 32, "a purpose has 1 to 32 characters");
        let mut at = 0;
        while at < bytes.len() {
            let ok = bytes[at].is_ascii_lowercase() || bytes[at].is_ascii_digit() || bytes[at] == b'-';
            assert!(ok, "a purpose is made of lower-case letters, digits and -");
            at += 1;
        }
        Purpose(word)
    }

    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl SignedDocument {
    /// Adds a signature by a further key; one by the same key and role is replaced.
    pub fn sign_also(&mut self, purpose: Purpose, key: &SecretKey, role: Role, at: Timestamp) {
        let added = signature(purpose, &self.payload, key, role, at);
        self.signatures.retain(|s| (s.key, s.role) != (added.key, added.role));
        self.signatures.push(added);
    }

    /// Reads the file form. The document is still to be verified.
    pub fn parse(bytes: &[u8]) -> Result<SignedDocument, DocumentError> {
        let json = canonical::parse(bytes).map_err(DocumentError::NotCanonical)?;
        let Probe { format: found } = json.read().map_err(malformed)?;
        if found > DOCUMENT_FORMAT {
            return Err(DocumentError::NewerFormat { found });
        }
        let form: Form = json.read().map_err(malformed)?;
        form.into_document()
    }

    /// The file form: canonical JSON and a line feed. It is one level deeper than the payload, so a payload
    /// nested to the very limit is refused here.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        let payload = self.payload.as_value().clone();
        let form = Form { format: DOCUMENT_FORMAT, payload, signatures: self.signatures.clone() };
        let mut bytes = canonical::from_serialize(&form).map_err(DocumentError::NotCanonical)?.to_bytes();
        bytes.push(b'\n');
        Ok(bytes)
    }
}

impl<'d> Verified<'d> {
    pub fn payload(&self) -> &'d Canonical {
        self.payload
    }

    /// Whose signature was good.
    pub fn key(&self) -> KeyId {
        self.signature.key
    }

    /// The time that signature claims.
    pub fn at(&self) -> Timestamp {
        self.signature.at
    }
}

impl DocumentError {
    pub fn problem(&self) -> Problem {
        let (number, exit, hint) = match self {
            DocumentError::NotCanonical(_) => (70, Exit::Damaged, "get the document from its source again"),
            DocumentError::Malformed { .. } => (71, Exit::Damaged, "get the document from its source again"),
            DocumentError::NewerFormat { .. } => {
                (72, Exit::CouldNotCheck, "use the newer program that wrote it")
            }
            DocumentError::TooManySignatures { .. } => {
                (73, Exit::Negative, "keep the signatures of present keys only")
            }
            DocumentError::Unsigned => (74, Exit::Refused, "have it signed with the key for its role"),
            DocumentError::NoneAcceptable { .. } => (
                75,
                Exit::Refused,
                "do not use it; have it signed by a key in the trust set, or ask who changed it",
            ),
        };
        problem::problem(self, advice(number, exit, NOTHING_CHANGED, hint))
    }
}

fn signature(
    purpose: Purpose,
    payload: &Canonical,
    key: &SecretKey,
    role: Role,
    at: Timestamp,
) -> DocumentSignature {
    let sig = SignatureBytes(key.sign(&message(purpose, payload, role, at)));
    DocumentSignature { key: key.id(), role, at, sig }
}

fn check(
    policy: RevocationPolicy,
    payload: &Canonical,
    signature: &DocumentSignature,
    purpose: Purpose,
    role: Role,
    trust: &TrustSet,
) -> Result<(), Refusal> {
    let DocumentSignature { key, role: found, at, sig } = signature;
    if *found != role {
        return Err(Refusal::OtherRole { found: *found, wanted: role });
    }
    let trusted = trust.accepts_under(policy, *key, role, Moment::At(*at)).map_err(Refusal::Distrusted)?;
    let fits = trusted.public().verifies(&message(purpose, payload, role, *at), &sig.0);
    if fits { Ok(()) } else { Err(Refusal::DoesNotFit) }
}

fn message(purpose: Purpose, payload: &Canonical, role: Role, at: Timestamp) -> Vec<u8> {
    let head = format!("{DOMAIN}{role}\n{}\n{at}\n", purpose.0);
    [head.as_bytes(), payload.as_bytes()].concat()
}

fn list(refused: &[(KeyId, Refusal)]) -> String {
    let one = |(key, why): &(KeyId, Refusal)| format!("the one by {key}: {why}");
    refused.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn malformed(e: serde_json::Error) -> DocumentError {
    DocumentError::Malformed { message: e.to_string() }
}

#[derive(Deserialize)]
struct Probe {
    format: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: u64,
    payload: Value,
    signatures: Vec<DocumentSignature>,
}

impl Form {
    fn into_document(self) -> Result<SignedDocument, DocumentError> {
        if self.format != DOCUMENT_FORMAT {
            return Err(DocumentError::Malformed {
                message: format!("there never was a format {}", self.format),
            });
        }
        let payload = canonical::from_value(&self.payload).map_err(DocumentError::NotCanonical)?;
        Ok(SignedDocument { payload, signatures: self.signatures })
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for SignatureBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl From<SignatureBytes> for String {
    fn from(signature: SignatureBytes) -> String {
        STANDARD.encode(signature.0)
    }
}

impl TryFrom<String> for SignatureBytes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(SignatureBytes).ok_or("a signature is 88 characters of base64")
    }
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<DocumentError> {
    vec![
        DocumentError::NotCanonical(CanonicalError::NotUtf8 { offset: 0 }),
        DocumentError::Malformed { message: "x".into() },
        DocumentError::NewerFormat { found: 2 },
        DocumentError::TooManySignatures { found: 17 },
        DocumentError::Unsigned,
        DocumentError::NoneAcceptable { refused: Vec::new() },
    ]
}

#[cfg(test)]
mod tests;
