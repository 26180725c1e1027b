//! What can go wrong, one variant per thing a caller could do differently.

use std::io;
use std::path::PathBuf;

use holdfast_types::{Exit, Problem, ProblemCode, with_causes};

use crate::screen::Blocked;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("another process has the journal open: {holder}")]
    Busy { holder: String },
    #[error("there is no journal at {}", path.display())]
    Missing { path: PathBuf },
    #[error("there is already a journal at {}", path.display())]
    Exists { path: PathBuf },
    #[error("the journal has format {found}, and this program reads format 1")]
    NewerFormat { found: String },
    #[error("the journal is damaged: {0}")]
    Damaged(Damage),
    #[error("the disk is full")]
    DiskFull { source: io::Error },
    #[error("the journal holds {bytes} bytes and takes entries of this sort up to {cap}")]
    CapReached { bytes: u64, cap: u64 },
    #[error("not allowed here: the directory is read-only or belongs to someone else")]
    ReadOnly { source: io::Error },
    #[error("the entry is {len} bytes long, and a line may have {max}")]
    TooLong { len: usize, max: usize },
    #[error("the blob is {len} bytes long, and one may have {max}")]
    BlobTooLong { len: usize, max: usize },
    #[error(transparent)]
    Blocked(#[from] Blocked),
    #[error("no more entries are taken, because an earlier write failed: {why}")]
    Stopped { why: String },
    #[error("entry {seq} is no longer here and no archive was given to read it from")]
    Gone { seq: u64, oldest: u64 },
    #[error("there is no entry {seq}: the log has {size}")]
    NoSuchEntry { seq: u64, size: u64 },
    #[error("the text of entry {seq} was erased")]
    Erased { seq: u64 },
    #[error("the journal was opened without a vault, so it can neither write nor read blobs")]
    NoVault,
    #[error("the log key cannot be used")]
    Key(#[from] holdfast_keys::FileError),
    #[error("the vault cannot be used: {0}")]
    Vault(String),
    #[error("the witness's checkpoint is refused: {0}")]
    Witness(#[from] crate::witness::Refused),
    #[error("the foreign log is refused: {0}")]
    Foreign(String),
    #[error("the setting {name} is not possible: {why}")]
    Setting { name: &'static str, why: String },
    #[error("the journal could not be read or written")]
    Io(#[source] io::Error),
}

/// Where the log is not what it was, and how that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} at byte {offset}: {what}")]
pub struct Damage {
    pub file: String,
    pub offset: u64,
    /// The entry it is in, where that can be told.
    pub seq: Option<u64>,
    pub what: String,
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { source: e },
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Error::ReadOnly { source: e }
            }
            _ => Error::Io(e),
        }
    }
}

impl Error {
    pub(crate) fn damaged(
        file: impl Into<String>,
        offset: u64,
        seq: Option<u64>,
        what: impl Into<String>,
    ) -> Self {
        Error::Damaged(Damage { file: file.into(), offset, seq, what: what.into() })
    }

    /// What an operator is told.
    pub fn problem(&self) -> Problem {
        let (number, exit, untouched, hint) = self.explain();
        let what = with_causes(self);
        Problem {
            code: ProblemCode { room: "JRN", number },
            exit,
            what,
            untouched: untouched.into(),
            hint: hint.into(),
        }
    }

    fn explain(&self) -> (u16, Exit, &'static str, &'static str) {
        const NOTHING_WRITTEN: &str = "Nothing was written.";
        const ALL_KEPT: &str = "Every entry acknowledged so far is kept, and nothing was changed.";
        match self {
            Error::Busy { .. } => (1, Exit::Busy, NOTHING_WRITTEN, "Wait for the other process, or stop it."),
            Error::Missing { .. } => (
                2,
                Exit::CouldNotCheck,
                NOTHING_WRITTEN,
                "Run `holdfast init`, or set HOLDFAST_HOME to where it is.",
            ),
            Error::Exists { .. } => (
                3,
                Exit::Refused,
                "The journal that is there was not touched.",
                "Use it as it is, or choose another HOLDFAST_HOME.",
            ),
            Error::NewerFormat { .. } => {
                (4, Exit::Refused, ALL_KEPT, "Use the newer holdfast that wrote it.")
            }
            Error::Damaged(_) => (
                5,
                Exit::Damaged,
                "The journal was left exactly as it was found.",
                "Run `holdfast audit verify` for the whole list; restore the file from a copy. Do not edit it.",
            ),
            Error::DiskFull { .. } => (
                6,
                Exit::CouldNotCheck,
                ALL_KEPT,
                "Free some space and try again; the journal goes on by itself.",
            ),
            Error::CapReached { .. } => (
                7,
                Exit::Refused,
                ALL_KEPT,
                "Configure an archive so that old segments can leave, or raise the cap. What people do is recorded in a reserve until it is full too.",
            ),
            Error::ReadOnly { .. } => (
                8,
                Exit::CouldNotCheck,
                ALL_KEPT,
                "Check the owner and mount options of the state directory.",
            ),
            Error::TooLong { .. } => (9, Exit::Usage, NOTHING_WRITTEN, "Store the text as a blob."),
            Error::BlobTooLong { .. } => (10, Exit::Usage, NOTHING_WRITTEN, "Split it."),
            Error::Blocked(_) => (
                11,
                Exit::Refused,
                "Nothing was written, and the text is in no log.",
                "Take the secret out of the text.",
            ),
            Error::Stopped { .. } => (
                12,
                Exit::CouldNotCheck,
                "Every entry acknowledged so far is kept.",
                "Look at the disk, then start again; opening checks what is there.",
            ),
            Error::Gone { .. } => {
                (13, Exit::CouldNotCheck, ALL_KEPT, "Give the archive the segment was moved to.")
            }
            Error::NoSuchEntry { .. } => (14, Exit::Usage, ALL_KEPT, "Ask for an entry that is there."),
            Error::Erased { .. } => (
                15,
                Exit::Negative,
                ALL_KEPT,
                "Nothing can bring it back; the proof that it existed remains.",
            ),
            Error::NoVault => (16, Exit::Usage, NOTHING_WRITTEN, "Open the journal with its vault."),
            Error::Key(_) => (17, Exit::CouldNotCheck, ALL_KEPT, "Check the key file named above."),
            Error::Vault(_) => {
                (18, Exit::CouldNotCheck, ALL_KEPT, "Restore the vault from the copy of the etc directory.")
            }
            Error::Witness(_) => (
                19,
                Exit::Refused,
                "The cosignature was not stored.",
                "Ask the witness which log it saw; a fork or a shrunk log is an alarm.",
            ),
            Error::Foreign(_) => (
                20,
                Exit::Refused,
                "Nothing was ingested.",
                "Check the foreign log with `holdfast audit verify`.",
            ),
            Error::Setting { .. } => (21, Exit::Usage, NOTHING_WRITTEN, "Correct the setting."),
            Error::Io(_) => (
                22,
                Exit::CouldNotCheck,
                "Every entry acknowledged so far is kept.",
                "Look at the cause above.",
            ),
        }
    }
}
