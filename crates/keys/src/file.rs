//! The files of this crate, and the only place in it that touches a disk: key files and the trust set.
//!
//! A key file is one line of JSON, made with mode 0600 and never rewritten:
//!
//! ```text
//! {"format":1,"kind":"holdfast key","role":"log","id":"ed25519:…","created":"…Z","public":"ed25519:…","secret":"ed25519-seed:…"}
//! ```
//!
//! The trust set (`trust.json`) anyone may read and only its owner may write; it is replaced as a whole.
//!
//! What reading promises:
//!
//! - links are not followed, and every check is made on the opened file, so it cannot be swapped in between;
//! - a file that others could have read (keys) or written (trust set), or that another user owns, is refused;
//! - a file of a newer format is refused as such and left alone;
//! - no error, in no form, holds anything of the secret: what a parser says about a key file is dropped,
//!   and only the place is kept.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdfast_durable::Mode;
use holdfast_types::{Exit, Problem, Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::{KeyId, PublicKey, Role, SecretKey};
use crate::problem::{self, Advice, NOTHING_CHANGED, advice};
use crate::trust::{TrustError, TrustSet};

/// The form [`create_key`] writes and the newest one [`read_key`] reads.
pub const KEY_FORMAT: u64 = 1;

/// A key file has some 330 bytes.
pub const KEY_FILE_SIZE_MAX: u64 = 4 * 1024;

/// Room for some three thousand keys.
pub const TRUST_FILE_SIZE_MAX: u64 = 1024 * 1024;

/// What a key file holds.
#[derive(Debug)]
pub struct KeyFile {
    pub key: SecretKey,
    pub role: Role,
    pub created: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{deed} {} failed", path.display())]
    Io { deed: &'static str, path: PathBuf, source: io::Error },
    #[error("there is no file {}", path.display())]
    Missing { path: PathBuf },
    #[error("{} is a symbolic link, and links are not followed here", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("key file {} has mode {mode:04o}: others than its owner may use it", path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("trust set {} has mode {mode:04o}: others than its owner may write to it", path.display())]
    Writable { path: PathBuf, mode: u32 },
    #[error("{} belongs to user {uid}, who is neither root nor the user of this program", path.display())]
    ForeignOwner { path: PathBuf, uid: u32 },
    #[error("{} has {size} bytes; at most {limit} are read", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("key file {} is malformed or cut off at line {line}, column {column}", path.display())]
    Malformed { path: PathBuf, line: usize, column: usize },
    #[error("key file {} has format {found}; this program reads up to {KEY_FORMAT}", path.display())]
    NewerFormat { path: PathBuf, found: u64 },
    #[error("{} is not a holdfast key file", path.display())]
    OtherKind { path: PathBuf },
    #[error("the key in {} is for {found}, and one for {wanted} is needed", path.display())]
    WrongRole { path: PathBuf, found: Role, wanted: Role },
    #[error("the public key in {} is that of key {found}, and the secret in it that of {actual}", path.display())]
    PublicMismatch { path: PathBuf, found: KeyId, actual: KeyId },
    #[error("the key id in {} is {found}, and the secret in it has {actual}", path.display())]
    IdMismatch { path: PathBuf, found: KeyId, actual: KeyId },
    #[error("there is a file {} already, and a key is never written over", path.display())]
    Exists { path: PathBuf },
    #[error("trust set {} cannot be used", path.display())]
    Trust { path: PathBuf, source: TrustError },
}

/// Makes a key file; refuses to write over anything.
pub fn create_key(path: &Path, key: &SecretKey, role: Role, created: Timestamp) -> Result<(), FileError> {
    let text = key_text(key, role, created).map_err(|e| io_error("preparing", path, e.into()))?;
    match holdfast_durable::create(path, &text, Mode::Private) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Err(FileError::Exists { path: path.to_owned() })
        }
        made => made.map_err(|e| io_error("making", path, e)),
    }
}

/// Reads a key file that must be for this role.
pub fn read_key(path: &Path, wanted: Role) -> Result<KeyFile, FileError> {
    let mut file = open(path)?;
    check_owner(&file, path)?;
    match mode(&file, path)? {
        mode if mode & 0o077 != 0 => {
            return Err(FileError::Exposed { path: path.to_owned(), mode });
        }
        _ => {}
    }
    let bytes = read(&mut file, path, KEY_FILE_SIZE_MAX)?;
    parse_key(&bytes, path, wanted)
}

pub fn load_trust(path: &Path) -> Result<TrustSet, FileError> {
    let mut file = open(path)?;
    check_owner(&file, path)?;
    match mode(&file, path)? {
        mode if mode & 0o022 != 0 => {
            return Err(FileError::Writable { path: path.to_owned(), mode });
        }
        _ => {}
    }
    let bytes = read(&mut file, path, TRUST_FILE_SIZE_MAX)?;
    TrustSet::parse(&bytes).map_err(|source| FileError::Trust { path: path.to_owned(), source })
}

/// Replaces the trust set as a whole, unless the one that is there is of a newer format.
pub fn save_trust(path: &Path, set: &TrustSet) -> Result<(), FileError> {
    if let Err(newer @ FileError::Trust { source: TrustError::NewerFormat { .. }, .. }) = load_trust(path) {
        return Err(newer);
    }
    let trust = |source| FileError::Trust { path: path.to_owned(), source };
    let bytes = set.to_bytes().map_err(trust)?;
    // What could not be read back must not replace what can.
    TrustSet::parse(&bytes).map_err(trust)?;
    check_size(bytes.len() as u64, path, TRUST_FILE_SIZE_MAX)?;
    holdfast_durable::replace(path, &bytes, Mode::Readable).map_err(|e| io_error("replacing", path, e))
}

impl FileError {
    pub fn problem(&self) -> Problem {
        problem::problem(self, self.advice())
    }

    fn advice(&self) -> Advice {
        use Exit::{CouldNotCheck, Damaged, Negative, Refused, Usage};
        const UNREAD: &str = "the file was not changed, and nothing in it was used";
        const UNWRITTEN: &str = "the file that was there is as it was";
        match self {
            FileError::Io { path, .. } => advice(
                20,
                CouldNotCheck,
                NOTHING_CHANGED,
                format!("see what is wrong with {}", path.display()),
            ),
            FileError::Missing { path } => advice(
                21,
                Usage,
                NOTHING_CHANGED,
                format!("make it, or say where it is instead of {}", path.display()),
            ),
            FileError::SymbolicLink { path } => {
                advice(22, Refused, UNREAD, format!("put the file itself at {}", path.display()))
            }
            FileError::NotAFile { path } => {
                advice(23, Refused, UNREAD, format!("look at what is at {}: ls -ld {0}", path.display()))
            }
            FileError::Exposed { path, .. } => {
                let hint =
                    "; if others use this machine, make a new key, because they may have read this one";
                advice(24, Refused, UNREAD, format!("chmod 600 {}{hint}", path.display()))
            }
            FileError::Writable { path, .. } => {
                advice(25, Refused, UNREAD, format!("check its content, then chmod 644 {}", path.display()))
            }
            FileError::ForeignOwner { path, .. } => advice(
                26,
                Refused,
                UNREAD,
                format!("check its content, then chown it: ls -l {}", path.display()),
            ),
            FileError::TooLarge { .. } => {
                advice(27, Refused, UNREAD, "this is some other file; check the path")
            }
            FileError::Malformed { .. } => advice(
                28,
                Damaged,
                UNREAD,
                "put the key file back from your copy, or make a new key and rotate to it",
            ),
            FileError::NewerFormat { .. } => {
                advice(29, CouldNotCheck, UNREAD, "use the newer program that wrote it")
            }
            FileError::OtherKind { .. } => advice(30, Usage, UNREAD, "check the path"),
            FileError::WrongRole { wanted, .. } => {
                advice(31, Refused, UNREAD, format!("give the path of the key file made for {wanted}"))
            }
            FileError::PublicMismatch { .. } => {
                advice(32, Damaged, UNREAD, "somebody changed this file; put it back from your copy")
            }
            FileError::IdMismatch { .. } => {
                advice(33, Damaged, UNREAD, "somebody changed this file; put it back from your copy")
            }
            FileError::Exists { path } => advice(
                34,
                Negative,
                UNWRITTEN,
                format!("choose another path, or move {} away", path.display()),
            ),
            FileError::Trust { source, .. } => trust_advice(source),
        }
    }
}

fn trust_advice(source: &TrustError) -> Advice {
    let inner = source.problem();
    advice(35, inner.exit, "the file is as it was", format!("{}: {}", inner.what, inner.hint))
}

const KIND: &str = "holdfast key";
const SEED_PREFIX: &str = "ed25519-seed:";

/// What every format of a key file has; read first, so that a newer one is called newer and not damaged.
#[derive(Deserialize)]
struct Probe<'f> {
    format: u64,
    kind: &'f str,
}

/// The text fields are borrowed from the buffer that is wiped, so no further copy of the secret is made.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form<'f> {
    format: u64,
    kind: &'f str,
    role: Role,
    id: KeyId,
    created: Timestamp,
    public: PublicKey,
    secret: &'f str,
}

fn key_text(key: &SecretKey, role: Role, created: Timestamp) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let secret = Zeroizing::new([SEED_PREFIX, key.seed_text().as_str()].concat());
    let (id, public) = (key.id(), key.public());
    let form = Form { format: KEY_FORMAT, kind: KIND, role, id, created, public, secret: &secret };
    // Large enough from the start: a buffer that grows leaves its earlier self behind, unwiped.
    let mut text = Zeroizing::new(Vec::with_capacity(KEY_FILE_SIZE_MAX as usize));
    serde_json::to_writer(&mut *text, &form)?;
    text.push(b'\n');
    Ok(text)
}

fn parse_key(bytes: &[u8], path: &Path, wanted: Role) -> Result<KeyFile, FileError> {
    let malformed = |e: serde_json::Error| malformed_at(path, e.line(), e.column());
    let probe: Probe<'_> = serde_json::from_slice(bytes).map_err(malformed)?;
    if probe.kind != KIND {
        return Err(FileError::OtherKind { path: path.to_owned() });
    }
    if probe.format > KEY_FORMAT {
        return Err(FileError::NewerFormat { path: path.to_owned(), found: probe.format });
    }
    let form: Form<'_> = serde_json::from_slice(bytes).map_err(malformed)?;
    // The line feed is the last byte written: without it the file was cut off.
    if form.format != KEY_FORMAT || !bytes.ends_with(b"\n") {
        return Err(malformed_at(path, 1, bytes.len()));
    }
    let key = decode_seed(form.secret).ok_or_else(|| malformed_at(path, 1, bytes.len()))?;
    check_key(&key, &form, path, wanted)?;
    Ok(KeyFile { key, role: form.role, created: form.created })
}

fn check_key(key: &SecretKey, form: &Form<'_>, path: &Path, wanted: Role) -> Result<(), FileError> {
    let path = || path.to_owned();
    if form.public != key.public() {
        return Err(FileError::PublicMismatch { path: path(), found: form.public.id(), actual: key.id() });
    }
    if form.id != key.id() {
        return Err(FileError::IdMismatch { path: path(), found: form.id, actual: key.id() });
    }
    if form.role != wanted {
        return Err(FileError::WrongRole { path: path(), found: form.role, wanted });
    }
    Ok(())
}

fn decode_seed(secret: &str) -> Option<SecretKey> {
    // The decoder asks for a little more room than 32 bytes before it knows the length.
    let mut seed = Zeroizing::new([0; 48]);
    let len = STANDARD.decode_slice(secret.strip_prefix(SEED_PREFIX)?, &mut *seed).ok()?;
    Some(SecretKey::from_seed(seed[..len].try_into().ok()?))
}

fn malformed_at(path: &Path, line: usize, column: usize) -> FileError {
    FileError::Malformed { path: path.to_owned(), line, column }
}

fn open(path: &Path) -> Result<File, FileError> {
    // NONBLOCK, because opening a pipe would otherwise wait for somebody to write to it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::LOOP) => {
            return Err(FileError::SymbolicLink { path: path.to_owned() });
        }
        Err(rustix::io::Errno::NOENT) => {
            return Err(FileError::Missing { path: path.to_owned() });
        }
        Err(e) => return Err(io_error("opening", path, e.into())),
    };
    let is_file = file.metadata().map_err(|e| io_error("inspecting", path, e))?.is_file();
    if is_file { Ok(file) } else { Err(FileError::NotAFile { path: path.to_owned() }) }
}

fn check_owner(file: &File, path: &Path) -> Result<(), FileError> {
    let uid = file.metadata().map_err(|e| io_error("inspecting", path, e))?.uid();
    let trusted = uid == 0 || uid == rustix::process::geteuid().as_raw();
    if trusted { Ok(()) } else { Err(FileError::ForeignOwner { path: path.to_owned(), uid }) }
}

fn mode(file: &File, path: &Path) -> Result<u32, FileError> {
    Ok(file.metadata().map_err(|e| io_error("inspecting", path, e))?.mode() & 0o7777)
}

fn check_size(size: u64, path: &Path, limit: u64) -> Result<(), FileError> {
    if size <= limit { Ok(()) } else { Err(FileError::TooLarge { path: path.to_owned(), size, limit }) }
}

fn read(file: &mut File, path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let size = file.metadata().map_err(|e| io_error("inspecting", path, e))?.len();
    check_size(size, path, limit)?;
    // It may grow while it is read; the buffer has room for the limit, so it never moves, and is wiped.
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit as usize + 64));
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|e| io_error("reading", path, e))?;
    check_size(bytes.len() as u64, path, limit)?;
    Ok(bytes)
}

fn io_error(deed: &'static str, path: &Path, source: io::Error) -> FileError {
    FileError::Io { deed, path: path.to_owned(), source }
}

#[cfg(test)]
pub(crate) fn samples() -> Vec<FileError> {
    let path = || PathBuf::from("/etc/holdfast/log.key");
    let key = SecretKey::from_seed(&[1; 32]);
    vec![
        FileError::Io { deed: "reading", path: path(), source: io::Error::other("x") },
        FileError::Missing { path: path() },
        FileError::SymbolicLink { path: path() },
        FileError::NotAFile { path: path() },
        FileError::Exposed { path: path(), mode: 0o644 },
        FileError::Writable { path: path(), mode: 0o666 },
        FileError::ForeignOwner { path: path(), uid: 7 },
        FileError::TooLarge { path: path(), size: 2, limit: 1 },
        FileError::Malformed { path: path(), line: 1, column: 2 },
        FileError::NewerFormat { path: path(), found: 2 },
        FileError::OtherKind { path: path() },
        FileError::WrongRole { path: path(), found: Role::Log, wanted: Role::Policy },
        FileError::PublicMismatch { path: path(), found: key.id(), actual: key.id() },
        FileError::IdMismatch { path: path(), found: key.id(), actual: key.id() },
        FileError::Exists { path: path() },
        FileError::Trust { path: path(), source: TrustError::NewerFormat { found: 2 } },
    ]
}

#[cfg(test)]
mod tests;
