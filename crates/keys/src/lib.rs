//! Keys, whom they are believed for, and the three things they sign.
//!
//! In reading order: [`canonical`] gives a JSON value its one encoding; [`key`] holds key pairs and their
//! text forms; [`trust`] says which key is believed in which role and for how long; [`document`] signs and
//! verifies JSON documents; [`note`] does so for checkpoints, in the form other logs and witnesses use; [`ssh`] signs as
//! OpenSSH does, for commits that git verifies; [`mod@file`] reads and writes the key files and the trust set.
//!
//! What the crate promises:
//!
//! - A value of type [`Verified`] was verified: nothing but [`document::verify`] can make one.
//! - Every byte of a document is signed, with its role, its purpose and its time.
//! - A key has one role, and a signature made for one thing never fits another.
//! - A secret is wiped when dropped, and appears in no debug form, no message and no error.
//! - What is damaged, too open, or of a newer format is refused and left as it was.
//!
//! Absent on purpose: no network; no clock, times are handed in; no disk outside [`mod@file`]; no signing of bare
//! bytes; no algorithm but Ed25519, always by the strict rules.

pub mod canonical;
pub mod document;
pub mod file;
pub mod key;
pub mod note;
mod problem;
pub mod ssh;
pub mod trust;

pub use canonical::{Canonical, CanonicalError};
pub use document::{DocumentError, DocumentSignature, Purpose, Refusal, SignedDocument, Verified};
pub use file::{FileError, KeyFile};
pub use key::{KeyError, KeyId, PublicKey, Role, SecretKey};
pub use note::{KeyName, Note, NoteAlgorithm, NoteError, NoteSignature, VerifierKey};
pub use trust::{Distrust, Moment, Revocation, RevocationPolicy, TrustError, TrustSet, TrustedKey};
