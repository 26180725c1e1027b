//! An age-encrypted file that holds one JSON object: names and their values.
//!
//! It is decrypted in memory, with the identities of a second file, and kept until either file changes. The
//! encrypted file may be read by anyone (that is what it is for) but written only by its owner; the identity
//! file is for its owner alone. Both are plain files of root's or ours, in folders where nobody else can exchange them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use zeroize::Zeroizing;

use crate::error::{Error, Failure, Result};
use crate::name::SecretName;
use crate::private_file::{self, Opened, Stamp};
use crate::secret::Secret;

/// Most bytes of the encrypted file, and of what is in it.
const FILE_MAX: usize = 1024 * 1024;
/// An identity is 74 bytes; a file of them with comments stays far below.
const IDENTITIES_MAX: usize = 64 * 1024;

/// The encrypted file and the file with the identities that open it.
#[derive(Debug)]
pub struct AgeFile {
    path: PathBuf,
    identity: PathBuf,
    kept: Mutex<Option<Box<Kept>>>,
}

/// What was decrypted, and from which two files.
#[derive(Debug)]
struct Kept {
    stamps: (Stamp, Stamp),
    values: Values,
}

impl AgeFile {
    pub fn new(path: impl Into<PathBuf>, identity: impl Into<PathBuf>) -> Result<AgeFile> {
        let (path, identity) = (path.into(), identity.into());
        if !path.is_absolute() || !identity.is_absolute() {
            let why = "the file and its identity must be absolute paths".into();
            return Err(Error::NotASource { place: "age_file", why });
        }
        Ok(AgeFile { path, identity, kept: Mutex::new(None) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is missing has failed: it was configured, and a wiped disk must not look like "no secret".
    pub(crate) fn ask(&self, name: &SecretName) -> Result<Option<Secret>, Failure> {
        let (file, identity) = (must_open(&self.path)?, must_open(&self.identity)?);
        file.refuse_if_writable(&self.path)?;
        identity.refuse_if_shared(&self.identity)?;
        let stamps = (file.stamp(), identity.stamp());
        // A thread that panicked in here left either the old state or the new one.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fresh) = kept.as_ref().filter(|kept| kept.stamps == stamps) {
            return Ok(fresh.values.get(name));
        }
        // What is no longer true is forgotten also when the new file cannot be read.
        *kept = None;
        let values = self.decrypt(file, identity)?;
        let found = values.get(name);
        *kept = Some(Box::new(Kept { stamps, values }));
        Ok(found)
    }

    fn decrypt(&self, file: Opened, identity: Opened) -> Result<Values, Failure> {
        let sealed = file.read(&self.path, FILE_MAX)?;
        if sealed.len() > FILE_MAX {
            return Err(self.damaged(format!("it is longer than {FILE_MAX} bytes")));
        }
        let decryptor = age::Decryptor::new_buffered(age::armor::ArmoredReader::new(&sealed[..]))
            .map_err(|e| self.refused(&e))?;
        if decryptor.is_scrypt() {
            return Err(Failure::Passphrase { path: self.path.clone() });
        }
        let identities = self.identities(identity)?;
        let keys = identities.iter().map(|identity| &**identity);
        let plain = decryptor.decrypt(keys).map_err(|e| self.refused(&e))?;
        let text = private_file::read_bounded(plain, FILE_MAX)
            .map_err(|_| self.damaged("it does not decrypt to its end"))?;
        self.parse(&text)
    }

    fn identities(&self, file: Opened) -> Result<Vec<Box<dyn age::Identity>>, Failure> {
        let unusable = |why: String| Failure::Identity { path: self.identity.clone(), why };
        let text = file.read(&self.identity, IDENTITIES_MAX)?;
        if text.len() > IDENTITIES_MAX {
            return Err(unusable(format!("it is longer than {IDENTITIES_MAX} bytes")));
        }
        // The message names a line number and quotes nothing.
        let parsed = age::IdentityFile::from_buffer(&text[..]).map_err(|e| unusable(e.to_string()))?;
        let identities = parsed.into_identities().map_err(|_| unusable("it needs a plugin".into()))?;
        if identities.is_empty() {
            return Err(unusable("there is none in it".into()));
        }
        Ok(identities)
    }

    /// The parser's own message could quote a value, so only its position is passed on.
    fn parse(&self, text: &Zeroizing<Vec<u8>>) -> Result<Values, Failure> {
        if text.len() > FILE_MAX {
            return Err(self.damaged(format!("what is in it is longer than {FILE_MAX} bytes")));
        }
        serde_json::from_slice(text).map_err(|e| {
            let rule = "it must hold one JSON object of names and texts, each name once";
            self.damaged(format!("{rule}; line {}, column {} does not fit", e.line(), e.column()))
        })
    }

    fn refused(&self, e: &age::DecryptError) -> Failure {
        match e {
            age::DecryptError::NoMatchingKeys => Failure::WrongIdentity { path: self.path.clone() },
            age::DecryptError::InvalidMac
            | age::DecryptError::DecryptionFailed
            | age::DecryptError::KeyDecryptionFailed => self.damaged("it was changed after it was encrypted"),
            _ => self.damaged("it is not a whole age file"),
        }
    }

    fn damaged(&self, why: impl Into<String>) -> Failure {
        Failure::Damaged { path: self.path.clone(), why: why.into() }
    }
}

fn must_open(path: &Path) -> Result<Opened, Failure> {
    private_file::open(path)?
        .ok_or_else(|| private_file::unreadable(path, std::io::ErrorKind::NotFound.into()))
}

/// The decrypted object. A name that stands there twice is refused: which of the two was meant?
#[derive(Debug)]
struct Values(BTreeMap<SecretName, Secret>);

impl Values {
    fn get(&self, name: &SecretName) -> Option<Secret> {
        self.0.get(name).map(Secret::copy)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Values, M::Error> {
                let mut values = BTreeMap::new();
                while let Some((name, secret)) = map.next_entry::<SecretName, Secret>()? {
                    if values.insert(name, secret).is_some() {
                        return Err(M::Error::custom("a name stands there twice"));
                    }
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
