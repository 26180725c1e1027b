//! What can go wrong, said so that somebody can act on it.

use std::io;
use std::path::PathBuf;

/// Why a model cannot be used. Whoever gets one goes on without vectors.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("the model file {} is missing; `holdfast model fetch` brings it", path.display())]
    Missing { path: PathBuf },
    #[error("the model file {} has {found} bytes and must have {expected}, so it is not used; `holdfast model fetch` brings a whole one", path.display())]
    WrongLength { path: PathBuf, found: u64, expected: u64 },
    #[error("the model file {} is not the one that was pinned (its SHA-256 is {found} and must be {expected}), so it is not used; `holdfast model fetch` brings the right one", path.display())]
    Altered { path: PathBuf, found: String, expected: &'static str },
    #[error("the model file {} could not be read", path.display())]
    Reading { path: PathBuf, source: io::Error },
    #[error("the model cannot be used with {0:?} instructions, which this processor lacks")]
    Lacking(crate::Instructions),
}

/// Why texts got no vectors. Nothing was computed for any of them.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    #[error(
        "text {index} has {bytes} bytes, and the longest that is embedded has {max}: cut it into blocks first"
    )]
    TooLong { index: usize, bytes: usize, max: usize },
    #[error("the model's weights could not be read")]
    Reading(#[source] io::Error),
    #[error(
        "the model's weights were changed on disk while they were in use; `holdfast model verify` says more"
    )]
    Changed,
}
