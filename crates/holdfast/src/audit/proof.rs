//! The document a proof travels in, and how it is checked: no file, no clock, no journal.
//!
//! It holds everything but the key it is to be judged by. A document names a key too, so that a reader can
//! see which one is meant; it is never believed for that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_journal::merkle::{Hash, leaf_hash, verify_consistency, verify_inclusion};
use holdfast_journal::{Checkpoint, Entry};
use holdfast_keys::Note;
use serde::{Deserialize, Serialize};

/// The form written, and the newest one read.
pub(crate) const PROOF_FORMAT: u64 = 1;

/// Larger than any: a line has 64 KiB, a note 64 KiB, a proof at most 63 hashes.
pub(crate) const PROOF_SIZE_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proof {
    pub(crate) format: u64,
    pub(crate) origin: String,
    #[serde(flatten)]
    pub(crate) claim: Claim,
    /// The hashes that lead from the claim to its root.
    pub(crate) hashes: Vec<HashText>,
    /// From the claim's root to the checkpoint's, where the checkpoint is over more entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to_checkpoint: Option<Vec<HashText>>,
    /// A signed note, as C2SP tlog-checkpoint has it.
    pub(crate) checkpoint: String,
    pub(crate) vkey: String,
}

/// What is claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Claim {
    /// Entry `seq` is in the log of `size` entries.
    Inclusion { seq: u64, size: u64, root: HashText, leaf: HashText, line: String },
    /// The log of `new` entries continues the log of `old` entries.
    Consistency { old: u64, new: u64, old_root: HashText, new_root: HashText },
}

/// A SHA-256 hash as base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct HashText(pub(crate) Hash);

impl From<HashText> for String {
    fn from(hash: HashText) -> String {
        BASE64.encode(hash.0)
    }
}

impl TryFrom<String> for HashText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = BASE64.decode(text).map_err(|_| "a hash is not base64")?;
        bytes.try_into().map(HashText).map_err(|_| "a hash has not 32 bytes")
    }
}

impl Claim {
    fn size(&self) -> u64 {
        match self {
            Claim::Inclusion { size, .. } => *size,
            Claim::Consistency { new, .. } => *new,
        }
    }

    fn root(&self) -> &Hash {
        match self {
            Claim::Inclusion { root, .. } => &root.0,
            Claim::Consistency { new_root, .. } => &new_root.0,
        }
    }

    /// What was proved, in a sentence.
    pub(crate) fn sentence(&self, origin: &str) -> String {
        use crate::look::{entries, number};
        match self {
            Claim::Inclusion { seq, size, .. } => {
                format!("Entry {} is in the log {origin} of {}.", number(*seq), entries(*size))
            }
            Claim::Consistency { old, new, .. } => {
                format!("The log {origin} of {} continues the one of {}.", entries(*new), entries(*old))
            }
        }
    }
}

impl Proof {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Proof, String> {
        #[derive(Deserialize)]
        struct Probe {
            format: u64,
        }
        let not = |e: serde_json::Error| format!("it is not a proof document: {e}");
        let Probe { format } = serde_json::from_slice(bytes).map_err(not)?;
        if format != PROOF_FORMAT {
            return Err(format!("it has format {format}, and this program reads {PROOF_FORMAT}"));
        }
        serde_json::from_slice(bytes).map_err(not)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Checks everything but who signed the checkpoint, which `signed` is asked.
    pub(crate) fn check(
        &self,
        signed: impl FnOnce(&Checkpoint, &Note) -> Result<(), String>,
    ) -> Result<Checkpoint, String> {
        let note = Note::parse(self.checkpoint.as_bytes())
            .map_err(|e| format!("the checkpoint is not a signed note: {e}"))?;
        let checkpoint = Checkpoint::parse(note.unverified_text()).map_err(|e| e.to_string())?;
        if checkpoint.origin.as_str() != self.origin {
            return Err(format!(
                "the checkpoint is of the log {}, not of {}",
                checkpoint.origin, self.origin
            ));
        }
        signed(&checkpoint, &note)?;
        self.check_claim()?;
        self.check_root(&checkpoint)?;
        Ok(checkpoint)
    }

    fn check_claim(&self) -> Result<(), String> {
        let hashes: Vec<Hash> = self.hashes.iter().map(|h| h.0).collect();
        match &self.claim {
            Claim::Inclusion { seq, size, root, leaf, line } => {
                if leaf_hash(line.as_bytes()) != leaf.0 {
                    return Err("the line is not the one that was hashed".to_owned());
                }
                let entry = Entry::parse(line.as_bytes()).map_err(|e| e.to_string())?;
                if entry.seq != *seq {
                    return Err(format!("the line is entry {}, and the proof is for {seq}", entry.seq));
                }
                verify_inclusion(&leaf.0, *seq, *size, &root.0, &hashes).map_err(|e| e.to_string())
            }
            Claim::Consistency { old, new, old_root, new_root } => {
                verify_consistency(*old, *new, &old_root.0, &new_root.0, &hashes).map_err(|e| e.to_string())
            }
        }
    }

    /// The claim's root is the one that was signed, or the signed log continues it.
    fn check_root(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        let (size, root) = (self.claim.size(), self.claim.root());
        match &self.to_checkpoint {
            None if size == checkpoint.size && *root == checkpoint.root => Ok(()),
            None => Err("the hashes do not lead to the checkpoint".to_owned()),
            Some(hashes) => {
                let hashes: Vec<Hash> = hashes.iter().map(|h| h.0).collect();
                verify_consistency(size, checkpoint.size, root, &checkpoint.root, &hashes)
                    .map_err(|e| format!("the hashes do not lead to the checkpoint: {e}"))
            }
        }
    }
}
