//! Witnesses: others who remember how long the log was, so that its owner cannot quietly make it shorter.
//!
//! A log asks with a [`Request`] (the body of C2SP tlog-witness `add-checkpoint`: the size the witness saw
//! last, a consistency proof from there, and the checkpoint). A [`Witness`] cosigns only what it can prove to
//! continue what it cosigned before. The log keeps what came back, after checking that it is about this log.
//!
//! One Holdfast can witness for another; any C2SP witness can do it too.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_durable::{Mode, while_doing};
use holdfast_keys::note::{self, KeyName, Note, NoteError};
use holdfast_keys::{Moment, Role, SecretKey, TrustSet};
use holdfast_types::{Digest, Origin, Timestamp};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, all_records, append_lines, to_line};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::layout::Layout;
use crate::merkle::{Hash, verify_consistency};
use crate::verify::trusted_signer;

/// Why a checkpoint or a cosignature is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("it is not a signed checkpoint: {0}")]
    Malformed(String),
    #[error("it is about the log {found}, and this is {expected}")]
    OtherLog { found: Origin, expected: Origin },
    #[error("no witness in the trust set has cosigned it")]
    NotCosigned,
    #[error("the log's own signature does not hold: {0}")]
    NotSigned(String),
    #[error(
        "it shows {seen} entries, and this log has a checkpoint over {here} only: entries were lost or taken away"
    )]
    LogShrunk { seen: u64, here: u64 },
    #[error("it shows {size} entries, fewer than the {earlier} cosigned before")]
    WentBack { size: u64, earlier: u64 },
    #[error("at {size} entries it shows another log: the two have parted")]
    Forked { size: u64 },
    #[error("the request begins at {asked}, and the newest checkpoint cosigned here has {expected}")]
    Stale { asked: u64, expected: u64 },
    #[error("the proof does not show that the log only grew: {0}")]
    BadProof(String),
}

/// A cosignature that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigned {
    pub witness: String,
    pub at: Timestamp,
    pub size: u64,
}

/// One line of `witnessed.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CosignedRecord {
    pub(crate) witness: String,
    pub(crate) at: Timestamp,
    pub(crate) size: u64,
    pub(crate) note: String,
}

impl CosignedRecord {
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        let note = Note::parse(self.note.as_bytes()).ok()?;
        Checkpoint::parse(note.unverified_text()).ok()
    }
}

pub(crate) fn cosigned_records(layout: &Layout) -> Result<Vec<CosignedRecord>> {
    all_records(&layout.witnessed(), "witnessed.jsonl")
}

/// What a witness is asked to cosign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The size the witness cosigned last; 0 for the first time.
    pub old_size: u64,
    pub proof: Vec<Hash>,
    pub note: String,
}

impl Request {
    pub fn to_text(&self) -> String {
        let proof: String = self.proof.iter().map(|hash| BASE64.encode(hash) + "\n").collect();
        format!("old {}\n{proof}\n{}", self.old_size, self.note)
    }

    pub fn parse(text: &str) -> Result<Request, Refused> {
        let bad = |what: &str| Refused::Malformed(what.to_owned());
        let (head, note) =
            text.split_once("\n\n").ok_or_else(|| bad("there is no blank line before the checkpoint"))?;
        let mut lines = head.split('\n');
        let digits = lines.next().and_then(|l| l.strip_prefix("old ")).unwrap_or_default();
        // One spelling: `+5` and `05` are refused.
        let old_size = digits.parse().ok().filter(|n: &u64| n.to_string() == digits);
        let old_size = old_size.ok_or_else(|| bad("it does not begin with `old` and a size"))?;
        let hash = |line: &str| BASE64.decode(line).ok().and_then(|bytes| bytes.try_into().ok());
        let proof: Option<Vec<Hash>> = lines.map(hash).collect();
        let proof =
            proof.filter(|p| p.len() <= 63).ok_or_else(|| bad("the proof is not a list of hashes"))?;
        Ok(Request { old_size, proof, note: note.to_owned() })
    }
}

impl Journal {
    /// Asks for a cosignature of everything there is now, for a witness known by this name.
    pub fn witness_request(&self, witness: &str) -> Result<Request> {
        let records = cosigned_records(self.layout())?;
        let old_size = records.iter().filter(|r| r.witness == witness).map(|r| r.size).max().unwrap_or(0);
        let signed = self.checkpoint()?;
        let proof = self.prove_consistency(old_size, signed.checkpoint.size)?;
        Ok(Request { old_size, proof, note: signed.note })
    }

    /// Takes a checkpoint of this log that a trusted witness has cosigned, and keeps it as evidence. The trust
    /// set must hold the log's own key, too: a note the log did not sign is evidence of nothing.
    pub fn accept_cosigned(&self, cosigned: &[u8], trust: &TrustSet) -> Result<Cosigned> {
        let note = Note::parse(cosigned).map_err(|e| Refused::Malformed(e.to_string()))?;
        let checkpoint =
            Checkpoint::parse(note.unverified_text()).map_err(|e| Refused::Malformed(e.to_string()))?;
        if checkpoint.origin != *self.origin() {
            return Err(
                Refused::OtherLog { found: checkpoint.origin, expected: self.origin().clone() }.into()
            );
        }
        trusted_signer(trust, self.origin(), &note, checkpoint.size).map_err(Refused::NotSigned)?;
        let (witness, at) = cosigner(&note, trust)?;
        self.check_against_log(&checkpoint)?;
        let records = cosigned_records(self.layout())?;
        let earlier = records.iter().filter(|r| r.witness == witness).map(|r| r.size).max().unwrap_or(0);
        if checkpoint.size < earlier {
            return Err(Refused::WentBack { size: checkpoint.size, earlier }.into());
        }
        let note = String::from_utf8_lossy(&note.to_bytes()).into_owned();
        let record = CosignedRecord { witness: witness.clone(), at, size: checkpoint.size, note };
        append_lines(&self.layout().witnessed(), &to_line(&record))?;
        Ok(Cosigned { witness, at, size: checkpoint.size })
    }

    /// What each witness cosigned last.
    pub fn witnessed(&self) -> Result<Vec<Cosigned>> {
        let mut latest: BTreeMap<String, Cosigned> = BTreeMap::new();
        for record in cosigned_records(self.layout())? {
            let CosignedRecord { witness, at, size, .. } = record;
            latest.insert(witness.clone(), Cosigned { witness, at, size });
        }
        Ok(latest.into_values().collect())
    }

    /// Whether the log begins with what the checkpoint shows.
    fn check_against_log(&self, checkpoint: &Checkpoint) -> Result<()> {
        let here = self.checkpoint()?.checkpoint.size;
        if checkpoint.size > here {
            return Err(Refused::LogShrunk { seen: checkpoint.size, here }.into());
        }
        if self.root_at(checkpoint.size)? != checkpoint.root {
            return Err(Refused::Forked { size: checkpoint.size }.into());
        }
        Ok(())
    }
}

/// The trusted witness that has cosigned a note, and when.
fn cosigner(note: &Note, trust: &TrustSet) -> Result<(String, Timestamp), Refused> {
    for key in trust.keys().filter(|k| k.role() == Role::Witness) {
        match note::verify_cosignature(note, key.name(), key.public()) {
            Ok(at) if trust.accepts(key.id(), Role::Witness, Moment::At(at)).is_ok() => {
                return Ok((key.name().to_string(), at));
            }
            Ok(_) | Err(NoteError::NotSignedBy { .. }) => {}
            Err(e) => return Err(Refused::Malformed(e.to_string())),
        }
    }
    Err(Refused::NotCosigned)
}

/// Cosigns checkpoints of other logs, remembering the newest of each.
#[derive(Debug)]
pub struct Witness {
    name: KeyName,
    key: SecretKey,
    path: PathBuf,
    seen: BTreeMap<Origin, Seen>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    size: u64,
    root: Digest,
}

impl Witness {
    /// A witness that remembers in the file `path`, made when the first checkpoint is cosigned.
    pub fn open(name: KeyName, key: SecretKey, path: &Path) -> Result<Witness> {
        let seen = match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| {
                Error::damaged(path.display().to_string(), 0, None, format!("it does not read back: {e}"))
            })?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(while_doing("reading", path, e).into()),
        };
        Ok(Witness { name, key, path: path.to_owned(), seen })
    }

    /// Checks a request and gives the checkpoint back with this witness's cosignature under it. What was seen
    /// is durable before the cosignature exists.
    pub fn cosign(&mut self, request: &Request, trust: &TrustSet, unix_secs: u64) -> Result<String> {
        let note = Note::parse(request.note.as_bytes()).map_err(|e| Refused::Malformed(e.to_string()))?;
        let checkpoint =
            Checkpoint::parse(note.unverified_text()).map_err(|e| Refused::Malformed(e.to_string()))?;
        trusted_signer(trust, &checkpoint.origin, &note, checkpoint.size).map_err(Refused::NotSigned)?;
        self.check_growth(request, &checkpoint)?;
        self.remember(&checkpoint)?;
        let signature = note::cosign(note.unverified_text(), &self.name, &self.key, unix_secs);
        let signed = signature.and_then(|s| note.with(s)).map_err(|e| Refused::Malformed(e.to_string()))?;
        Ok(String::from_utf8_lossy(&signed.to_bytes()).into_owned())
    }

    fn check_growth(&self, request: &Request, new: &Checkpoint) -> Result<(), Refused> {
        let seen = self.seen.get(&new.origin);
        let seen_size = seen.map_or(0, |s| s.size);
        if new.size < seen_size {
            return Err(Refused::WentBack { size: new.size, earlier: seen_size });
        }
        if request.old_size != seen_size {
            return Err(Refused::Stale { asked: request.old_size, expected: seen_size });
        }
        let Some(seen) = seen.filter(|s| s.size > 0 && s.size < new.size) else {
            // From nothing, or standing still: there is nothing to prove, and a proof of nothing is a mistake.
            let forked = seen.is_some_and(|s| s.size == new.size && s.root.bytes != new.root);
            return match (forked, request.proof.is_empty()) {
                (true, _) => Err(Refused::Forked { size: new.size }),
                (false, true) => Ok(()),
                (false, false) => Err(Refused::BadProof("there is nothing to prove here".into())),
            };
        };
        verify_consistency(seen.size, new.size, &seen.root.bytes, &new.root, &request.proof)
            .map_err(|e| Refused::BadProof(e.to_string()))
    }

    fn remember(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let mut seen = self.seen.clone();
        seen.insert(
            checkpoint.origin.clone(),
            Seen { size: checkpoint.size, root: Digest::sha256(checkpoint.root) },
        );
        let bytes = serde_json::to_vec_pretty(&seen).map_err(|e| Error::Io(io::Error::other(e)))?;
        holdfast_durable::replace(&self.path, &bytes, Mode::Private)?;
        self.seen = seen;
        Ok(())
    }
}
