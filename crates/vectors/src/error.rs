//! What can go wrong, a variant per thing a caller would do differently.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Throw the folder away and make the index again: nothing is lost by it.
    #[error("the vector index is damaged: {}: {what}", file.display())]
    Damaged { file: PathBuf, what: &'static str },
    #[error("the vector index has format {found}, and this program knows {known} and older")]
    Newer { found: u32, known: u32 },
    /// Vectors of two models cannot be compared: make the index again.
    #[error("the vector index was made with another model")]
    OtherModel,
    #[error("another process or another part of this one has the vector index in {} open", folder.display())]
    InUse { folder: PathBuf },
    #[error("the vector index is full, at {max} vectors")]
    Full { max: usize },
    #[error("a rebuild of the vector index is under way")]
    Rebuilding,
    /// The rebuild was begun on another state of the index; begin it anew.
    #[error("the rebuild does not follow the state of the vector index")]
    NotOurs,
    #[error("a rebuild of the vector index was asked to stop")]
    Stopped,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    pub(crate) fn damaged(file: &Path, what: &'static str) -> Error {
        Error::Damaged { file: file.to_owned(), what }
    }
}

/// Why some numbers are no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVector {
    #[error("a vector has {WIDTH} numbers, not {0}", WIDTH = crate::WIDTH)]
    Width(usize),
    #[error("number {0} of the vector is not finite")]
    NotFinite(usize),
    #[error("the vector has no direction: its length is zero")]
    NoDirection,
}
