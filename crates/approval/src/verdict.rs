//! The signed object: what a person decided about one ask.
//!
//! It is a signed document (`holdfast_keys::document`) of the purpose `approval`, by a key of the role `approvals`, with
//! exactly one signature. [`sign`] makes one, in the process of the person who decides; [`believe`] is the only way
//! back from bytes, and checks everything that needs no knowledge of the ask.

use holdfast_keys::{Purpose, Role, SecretKey, SignedDocument, TrustSet, canonical, document};
use holdfast_types::{Actor, ApprovalId, Digest, Origin, Timestamp, drives_a_terminal};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::refusal::Refusal;

/// A signature under an approval fits nothing else.
pub const PURPOSE: Purpose = Purpose::new("approval");

/// An approval has some 700 bytes and a reason.
pub const DOCUMENT_BYTES_MAX: usize = 8 * 1024;

/// A sentence or two.
pub const REASON_CHARS_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Approve,
    Reject,
}

/// What was decided, by whom, and what it fits. Field by field the payload of the signed document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    pub ask: ApprovalId,
    /// Of the action; see [`Action`](crate::Action).
    pub digest: Digest,
    pub verdict: Word,
    /// Who decided, as the machine knows them.
    pub by: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub issued_at: Timestamp,
    /// From here on it counts for nothing; not later than the ask's own end.
    pub expires_at: Timestamp,
    /// The log of the instance it is for.
    pub origin: Origin,
}

/// Signs a verdict, at the time it says it was issued.
pub fn sign(verdict: &Verdict, key: &SecretKey) -> Result<SignedDocument> {
    verdict.check()?;
    let payload = canonical::from_serialize(verdict).map_err(Error::NotCanonical)?;
    Ok(document::sign(PURPOSE, payload, key, Role::Approvals, verdict.issued_at))
}

/// The verdict in a document, if a key that `trust` believes for approvals signed it for this instance.
pub fn believe(bytes: &[u8], trust: &TrustSet, own: &Origin) -> Result<Verdict, Refusal> {
    let (document, verdict) = read(bytes)?;
    let verified = document::verify(&document, PURPOSE, Role::Approvals, trust)?;
    if verified.at() != verdict.issued_at {
        return Err(malformed("it was not signed at the time it says it was issued"));
    }
    if verdict.origin != *own {
        return Err(Refusal::ForeignOrigin { found: verdict.origin, own: own.clone() });
    }
    Ok(verdict)
}

/// What the bytes say, believed or not. One signature, because one person decides, and a refusal is then about that one.
pub(crate) fn read(bytes: &[u8]) -> Result<(SignedDocument, Verdict), Refusal> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(malformed(&format!("it has more than {DOCUMENT_BYTES_MAX} bytes")));
    }
    let document = SignedDocument::parse(bytes)?;
    if document.signatures.len() != 1 {
        return Err(malformed("it must have exactly one signature"));
    }
    let verdict: Verdict = document.payload.read().map_err(|e| malformed(&e.to_string()))?;
    verdict.check().map(|()| (document, verdict))
}

impl Verdict {
    fn check(&self) -> Result<(), Refusal> {
        let bad = |why: &str| Err(malformed(why));
        match &self.reason {
            Some(reason) if reason.chars().count() > REASON_CHARS_MAX => {
                bad("a reason has at most 500 characters")
            }
            Some(reason) if reason.chars().any(drives_a_terminal) => {
                bad("a reason is one line without control characters")
            }
            _ if self.expires_at <= self.issued_at => bad("it would end before it begins"),
            _ => Ok(()),
        }
    }
}

fn malformed(why: &str) -> Refusal {
    Refusal::Malformed { why: why.to_owned() }
}
