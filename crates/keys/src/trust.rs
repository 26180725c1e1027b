//! Which keys are believed, for what, and for how long.
//!
//! A [`TrustSet`] is plain data that is changed by plain functions: it reads no clock and no file (`file`
//! loads and saves it). [`TrustSet::accepts`] is the one question everyone asks.
//!
//! What the set promises:
//!
//! - a key is in it once, so it has one role: what is signed with the manifest key can never pass as policy;
//! - trust is only ever taken away from a key that is in it: no end moves later, no revocation is undone;
//! - a key is believed from `valid_from` on and no longer at `valid_until`.
//!
//! Two kinds of end, because two kinds of thing are signed. Documents carry a time, so their keys end at a
//! time. A log's checkpoint carries a size and no time, so a log key ends at a size.
//!
//! The time a document claims is chosen by whoever signs it: a key that has merely ended can still date a
//! document back. When a key may be in other hands, ending it is not enough; [`TrustSet::revoke`] it.

use std::fmt;
use std::time::Duration;

use holdfast_types::{Exit, Problem, Timestamp};
use serde::{Deserialize, Serialize};

use crate::canonical::{self, CanonicalError};
use crate::key::{KeyId, PublicKey, Role};
use crate::note::KeyName;
use crate::problem::{self, NOTHING_CHANGED, advice};

/// The form [`TrustSet::to_bytes`] writes and the newest one [`TrustSet::parse`] reads.
pub const TRUST_FORMAT: u64 = 1;

/// JSON readers hold integers exactly up to here, and `until_size` goes into JSON.
const SIZE_MAX: u64 = 1 << 53;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustSet {
    keys: Vec<TrustedKey>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    public: PublicKey,
    role: Role,
    name: KeyName,
    valid_from: Timestamp,
    valid_until: Option<Timestamp>,
    until_size: Option<u64>,
    revoked: Option<Revocation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    /// From when on the key may have been in other hands.
    pub at: Timestamp,
    pub reason: String,
}

/// What a signature says about when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The time a document claims.
    At(Timestamp),
    /// The tree size of a checkpoint.
    Size(u64),
}

/// What becomes of signatures that a revoked key made, or says it made, before it was revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevocationPolicy {
    /// A revoked key is believed in nothing: whoever has it can date back.
    #[default]
    RefuseAll,
    /// Signatures with an earlier time are believed. Only for a caller who knows from elsewhere, for
    /// instance from a witnessed log, that they are as old as they say.
    HonourEarlier,
}

/// Why a key is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    #[error("key {key} is not in the trust set")]
    Unknown { key: KeyId },
    #[error("key {key} is trusted for {actual}, not for {wanted}")]
    WrongRole { key: KeyId, actual: Role, wanted: Role },
    #[error("key {key} is valid from {from} on, and the signature is of {at}")]
    NotYetValid { key: KeyId, from: Timestamp, at: Timestamp },
    #[error("key {key} was valid until {until}, and the signature is of {at}")]
    Expired { key: KeyId, until: Timestamp, at: Timestamp },
    #[error("log key {key} was retired at size {until_size} and cannot vouch for size {size}")]
    Retired { key: KeyId, until_size: u64, size: u64 },
    #[error("key {key} was revoked as of {at}: {reason}")]
    Revoked { key: KeyId, at: Timestamp, reason: String },
    #[error("key {key} is for {role}, and its end cannot be judged by a {by}")]
    CannotJudge { key: KeyId, role: Role, by: &'static str },
}

/// Why a set could not be changed or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error("key {key} is in the trust set already")]
    DuplicateKey { key: KeyId },
    #[error("key {key} is not in the trust set")]
    UnknownKey { key: KeyId },
    #[error("key {new} is for {new_role}, so it cannot follow {old}, which is for {old_role}")]
    RoleChanges { old: KeyId, old_role: Role, new: KeyId, new_role: Role },
    #[error("log key {key} cannot end at a time, because checkpoints carry none")]
    LogKeyEndsBySize { key: KeyId },
    #[error("key {key} is for {role}; only log keys are retired at a size")]
    NotALogKey { key: KeyId, role: Role },
    #[error("key {key} would be trusted longer than before ({from} to {to})")]
    WouldExtend { key: KeyId, from: String, to: String },
    #[error("key {key} would end at {until}, which is not after its beginning at {from}")]
    EmptyValidity { key: KeyId, from: Timestamp, until: Timestamp },
    #[error("the trust set has format {found}; this program reads up to {TRUST_FORMAT}")]
    NewerFormat { found: u64 },
    #[error("the trust set is not JSON that may be relied on")]
    NotCanonical(#[source] CanonicalError),
    #[error("the trust set is malformed: {message}")]
    Malformed { message: String },
}

impl TrustedKey {
    /// A key without an end.
    pub fn new(public: PublicKey, role: Role, name: KeyName, valid_from: Timestamp) -> TrustedKey {
        TrustedKey { public, role, name, valid_from, valid_until: None, until_size: None, revoked: None }
    }

    pub fn id(&self) -> KeyId {
        self.public.id()
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub fn role(&self) -> Role {
        self.role
    }

    /// The name under which the key signs notes: a log's origin, a witness's name.
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    pub fn valid_from(&self) -> Timestamp {
        self.valid_from
    }

    /// The first moment at which it is no longer valid.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.valid_until
    }

    /// The largest tree size a log key may vouch for.
    pub fn until_size(&self) -> Option<u64> {
        self.until_size
    }

    pub fn revoked(&self) -> Option<&Revocation> {
        self.revoked.as_ref()
    }

    fn at(&self, moment: Moment) -> Result<(), Distrust> {
        let key = self.id();
        let cannot_judge = |by| Distrust::CannotJudge { key, role: self.role, by };
        match (moment, self.valid_until, self.until_size) {
            // A key whose end lies on the other scale would otherwise never end on this one.
            (Moment::At(_), _, Some(_)) => Err(cannot_judge("time")),
            (Moment::Size(_), _, _) if self.role != Role::Log => Err(cannot_judge("tree size")),
            (Moment::At(at), _, _) if at < self.valid_from => {
                Err(Distrust::NotYetValid { key, from: self.valid_from, at })
            }
            (Moment::At(at), Some(until), _) if at >= until => Err(Distrust::Expired { key, until, at }),
            (Moment::Size(size), _, Some(until_size)) if size > until_size => {
                Err(Distrust::Retired { key, until_size, size })
            }
            _ => Ok(()),
        }
    }

    fn not_revoked(&self, moment: Moment, policy: RevocationPolicy) -> Result<(), Distrust> {
        match (&self.revoked, moment, policy) {
            (None, _, _) => Ok(()),
            (Some(r), Moment::At(at), RevocationPolicy::HonourEarlier) if at < r.at => Ok(()),
            (Some(r), _, _) => Err(Distrust::Revoked { key: self.id(), at: r.at, reason: r.reason.clone() }),
        }
    }
}

impl TrustSet {
    pub fn keys(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter()
    }

    pub fn get(&self, key: KeyId) -> Option<&TrustedKey> {
        self.keys.iter().find(|k| k.id() == key)
    }

    /// Is this key believed in this role at this moment? Revoked keys are believed in nothing.
    pub fn accepts(&self, key: KeyId, role: Role, moment: Moment) -> Result<&TrustedKey, Distrust> {
        self.accepts_under(RevocationPolicy::default(), key, role, moment)
    }

    pub fn accepts_under(
        &self,
        policy: RevocationPolicy,
        key: KeyId,
        role: Role,
        moment: Moment,
    ) -> Result<&TrustedKey, Distrust> {
        let trusted = self.get(key).ok_or(Distrust::Unknown { key })?;
        if trusted.role != role {
            return Err(Distrust::WrongRole { key, actual: trusted.role, wanted: role });
        }
        // Revocation first: it is the reason that matters most to whoever reads the refusal.
        trusted.not_revoked(moment, policy)?;
        trusted.at(moment)?;
        Ok(trusted)
    }

    pub fn add(&mut self, key: TrustedKey) -> Result<(), TrustError> {
        if self.get(key.id()).is_some() {
            return Err(TrustError::DuplicateKey { key: key.id() });
        }
        self.keys.push(key);
        Ok(())
    }

    /// Adds `new` as the follower of `old`, which goes on being valid for `overlap` and then ends.
    ///
    /// Log keys are not rotated so: add the new one and [`TrustSet::retire_log_key`] the old one.
    pub fn rotate(
        &mut self,
        old: KeyId,
        new: TrustedKey,
        now: Timestamp,
        overlap: Duration,
    ) -> Result<(), TrustError> {
        let trusted = self.get(old).ok_or(TrustError::UnknownKey { key: old })?;
        if trusted.role != new.role {
            let (old_role, new_role) = (trusted.role, new.role);
            return Err(TrustError::RoleChanges { old, old_role, new: new.id(), new_role });
        }
        if trusted.role == Role::Log {
            return Err(TrustError::LogKeyEndsBySize { key: old });
        }
        // A key that was going to end sooner still does.
        let until = trusted.valid_until.unwrap_or(now.plus(overlap)).min(now.plus(overlap));
        if until <= trusted.valid_from {
            return Err(TrustError::EmptyValidity { key: old, from: trusted.valid_from, until });
        }
        self.add(new)?;
        self.change(old, |key| key.valid_until = Some(until))
    }

    /// From here on the log key vouches for no tree larger than `until_size`.
    pub fn retire_log_key(&mut self, key: KeyId, until_size: u64) -> Result<(), TrustError> {
        let trusted = self.get(key).ok_or(TrustError::UnknownKey { key })?;
        if trusted.role != Role::Log {
            return Err(TrustError::NotALogKey { key, role: trusted.role });
        }
        let limit = trusted.until_size.unwrap_or(SIZE_MAX);
        if until_size > limit {
            return Err(TrustError::WouldExtend { key, from: limit.to_string(), to: until_size.to_string() });
        }
        self.change(key, |key| key.until_size = Some(until_size))
    }

    /// Takes all trust from a key. Revoking again may move the moment earlier, never later.
    pub fn revoke(&mut self, key: KeyId, at: Timestamp, reason: &str) -> Result<(), TrustError> {
        let trusted = self.get(key).ok_or(TrustError::UnknownKey { key })?;
        if let Some(earlier) = trusted.revoked.as_ref().filter(|r| r.at < at) {
            return Err(TrustError::WouldExtend { key, from: earlier.at.to_string(), to: at.to_string() });
        }
        self.change(key, |key| key.revoked = Some(Revocation { at, reason: reason.to_owned() }))
    }

    /// Reads the file form.
    pub fn parse(bytes: &[u8]) -> Result<TrustSet, TrustError> {
        let json = canonical::parse(bytes).map_err(TrustError::NotCanonical)?;
        let malformed = |e: serde_json::Error| TrustError::Malformed { message: e.to_string() };
        // The number first: a newer form may have fields that this one would call unknown.
        let Probe { format: found } = json.read().map_err(malformed)?;
        if found > TRUST_FORMAT {
            return Err(TrustError::NewerFormat { found });
        }
        json.read::<Form>().map_err(malformed)?.into_set()
    }

    /// The file form: JSON for people to read, one field a line.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TrustError> {
        let form = Form { format: TRUST_FORMAT, keys: self.keys.iter().map(KeyForm::from).collect() };
        let malformed = |e: serde_json::Error| TrustError::Malformed { message: e.to_string() };
        let mut bytes = serde_json::to_vec_pretty(&form).map_err(malformed)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn change(&mut self, key: KeyId, change: impl FnOnce(&mut TrustedKey)) -> Result<(), TrustError> {
        let found = self.keys.iter_mut().find(|k| k.id() == key);
        found.map(change).ok_or(TrustError::UnknownKey { key })
    }
}

impl Distrust {
    pub fn problem(&self) -> Problem {
        let (number, hint) = match self {
            Distrust::Unknown { .. } => {
                (60, "if the key is yours, add it to the trust set; otherwise ask who signed")
            }
            Distrust::WrongRole { .. } => (61, "sign it with the key made for this role"),
            Distrust::NotYetValid { .. } => (62, "compare the clock of the signer with the key's beginning"),
            Distrust::Expired { .. } => (63, "sign it again with the key that followed"),
            Distrust::Retired { .. } => (64, "look for a checkpoint signed by the log's present key"),
            Distrust::Revoked { .. } => {
                (65, "do not use it; sign again from a source you trust with a new key")
            }
            Distrust::CannotJudge { .. } => {
                (66, "log keys sign checkpoints, all others sign with a time; use the right key")
            }
        };
        problem::problem(self, advice(number, Exit::Refused, "what was signed was not used", hint))
    }
}

impl TrustError {
    pub fn problem(&self) -> Problem {
        let (number, exit, hint) = match self {
            TrustError::DuplicateKey { .. } => {
                (50, Exit::Usage, "make a new key; a key has one role and one entry")
            }
            TrustError::UnknownKey { .. } => {
                (51, Exit::Usage, "list the trusted keys and copy the id from there")
            }
            TrustError::RoleChanges { .. } => {
                (52, Exit::Usage, "make the new key for the role of the old one")
            }
            TrustError::LogKeyEndsBySize { .. } => {
                (53, Exit::Usage, "add the new key and retire this one at a size")
            }
            TrustError::NotALogKey { .. } => (54, Exit::Usage, "rotate the key, or revoke it"),
            TrustError::WouldExtend { .. } => {
                (55, Exit::Usage, "trust is only taken away; add a new key instead")
            }
            TrustError::EmptyValidity { .. } => {
                (56, Exit::Usage, "check the times; to end a key at once, revoke it")
            }
            TrustError::NewerFormat { .. } => {
                (57, Exit::CouldNotCheck, "use the newer program that wrote the set")
            }
            TrustError::NotCanonical(_) => {
                (58, Exit::Damaged, "put the trust set back from the place it came from")
            }
            TrustError::Malformed { .. } => {
                (59, Exit::Damaged, "put the trust set back from the place it came from")
            }
        };
        problem::problem(self, advice(number, exit, NOTHING_CHANGED, hint))
    }
}

impl fmt::Display for TrustedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.id(), self.role, self.name)
    }
}

#[derive(Deserialize)]
struct Probe {
    format: u64,
}

/// What stands in the file, apart from the working type.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: u64,
    keys: Vec<KeyForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyForm {
    id: KeyId,
    public: PublicKey,
    role: Role,
    name: KeyName,
    valid_from: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<Revocation>,
}

impl Form {
    fn into_set(self) -> Result<TrustSet, TrustError> {
        if self.format != TRUST_FORMAT {
            return Err(TrustError::Malformed {
                message: format!("there never was a format {}", self.format),
            });
        }
        let mut set = TrustSet::default();
        self.keys.into_iter().try_for_each(|form| set.add(form.into_key()?))?;
        Ok(set)
    }
}

impl KeyForm {
    fn into_key(self) -> Result<TrustedKey, TrustError> {
        let KeyForm { id: key, public, role, name, valid_from, valid_until, until_size, revoked } = self;
        if key != public.id() {
            return Err(TrustError::Malformed { message: format!("id {key} is not that of {public}") });
        }
        match (valid_until, until_size) {
            (Some(_), _) if role == Role::Log => return Err(TrustError::LogKeyEndsBySize { key }),
            (_, Some(_)) if role != Role::Log => return Err(TrustError::NotALogKey { key, role }),
            (Some(until), _) if until <= valid_from => {
                return Err(TrustError::EmptyValidity { key, from: valid_from, until });
            }
            _ => {}
        }
        Ok(TrustedKey { public, role, name, valid_from, valid_until, until_size, revoked })
    }
}

impl From<&TrustedKey> for KeyForm {
    fn from(key: &TrustedKey) -> KeyForm {
        KeyForm {
            id: key.id(),
            public: key.public,
            role: key.role,
            name: key.name.clone(),
            valid_from: key.valid_from,
            valid_until: key.valid_until,
            until_size: key.until_size,
            revoked: key.revoked.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<TrustError> {
    let key = crate::SecretKey::from_seed(&[1; 32]).id();
    let at = Timestamp::from_micros(0).unwrap();
    vec![
        TrustError::DuplicateKey { key },
        TrustError::UnknownKey { key },
        TrustError::RoleChanges { old: key, old_role: Role::Log, new: key, new_role: Role::Policy },
        TrustError::LogKeyEndsBySize { key },
        TrustError::NotALogKey { key, role: Role::Policy },
        TrustError::WouldExtend { key, from: "1".into(), to: "2".into() },
        TrustError::EmptyValidity { key, from: at, until: at },
        TrustError::NewerFormat { found: 2 },
        TrustError::NotCanonical(CanonicalError::NotUtf8 { offset: 0 }),
        TrustError::Malformed { message: "x".into() },
    ]
}

#[cfg(test)]
pub(crate) fn distrust_samples() -> Vec<Distrust> {
    let key = crate::SecretKey::from_seed(&[1; 32]).id();
    let at = Timestamp::from_micros(0).unwrap();
    vec![
        Distrust::Unknown { key },
        Distrust::WrongRole { key, actual: Role::Log, wanted: Role::Policy },
        Distrust::NotYetValid { key, from: at, at },
        Distrust::Expired { key, until: at, at },
        Distrust::Retired { key, until_size: 1, size: 2 },
        Distrust::Revoked { key, at, reason: "lost".into() },
        Distrust::CannotJudge { key, role: Role::Log, by: "time" },
    ]
}

#[cfg(test)]
mod tests;
