//! What may go wrong with an index. All of it can be made again from the journal: see [`Error::is_cured_by_renewal`].

use std::io;
use std::path::PathBuf;

/// Why the index could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{path} is in use by another process")]
    Busy { path: PathBuf },

    #[error("{path} is damaged: {what}")]
    Damaged { path: PathBuf, what: &'static str },

    #[error("{path} has format {found}, and this program knows none above {known}")]
    Newer { path: PathBuf, found: u32, known: u32 },

    #[error("{path} was made by analysis {found}, and this program's is {known}")]
    OtherAnalysis { path: PathBuf, found: u32, known: u32 },

    #[error("reading or writing the index")]
    Io(#[from] io::Error),
}

impl Error {
    /// Whether [`Concordance::renew`](crate::Concordance::renew) and a replay of the journal put it right.
    pub fn is_cured_by_renewal(&self) -> bool {
        matches!(self, Error::Damaged { .. } | Error::OtherAnalysis { .. })
    }
}

pub type Result<T> = std::result::Result<T, Error>;
