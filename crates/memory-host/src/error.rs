//! What can go wrong, and what a caller could do about it.

use std::path::PathBuf;

use holdfast_memory::MemoryId;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the journal: {0}")]
    Journal(#[from] holdfast_journal::Error),
    #[error("the table of memories: {0}")]
    Store(#[from] holdfast_store::Error),
    #[error("the index of words: {0}")]
    Words(#[from] holdfast_concordance::Error),
    #[error("the index of vectors: {0}")]
    Vectors(#[from] holdfast_vectors::Error),
    #[error("embedding: {0}")]
    Embedding(#[from] holdfast_embed::EmbedError),
    #[error(transparent)]
    Event(#[from] holdfast_memory::event::EventError),
    #[error("a memory could not be written as text")]
    Sealing { source: serde_json::Error },
    #[error("entry {seq} is called a memory and is none")]
    NotAMemory { seq: u64, source: serde_json::Error },
    #[error(transparent)]
    Text(#[from] holdfast_memory::TextError),
    #[error("{kind} is no kind of entry")]
    Kind { kind: String },
    #[error("{0:?} is no name for an agent: one line of at most 64 bytes")]
    Name(String),
    #[error("there is no agent {0} that remembers anything")]
    NoSpace(String),
    #[error("there is no memory {0}")]
    NoMemory(MemoryId),
    #[error("{0} was forgotten")]
    Forgotten(MemoryId),
    #[error(transparent)]
    Draft(#[from] holdfast_memory::DraftError),
    #[error(transparent)]
    Identity(#[from] holdfast_memory::identity::IdentityError),
    #[error(transparent)]
    IdentityChange(#[from] holdfast_memory::identity::UpdateError),
    #[error("{} is no git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("what was sent is no git bundle: {0}")]
    NotABundle(String),
    #[error(transparent)]
    Git(#[from] holdfast_git::NotDone),
    #[error("git answered with something that is no name of an object")]
    GitAnswer,
    #[error("{0} is not shown any more: it was merged, replaced or refused")]
    NotLive(MemoryId),
    #[error("{0} reads its own memories already: name another agent to share with")]
    OwnSpace(String),
    #[error(transparent)]
    Origins(#[from] holdfast_memory::TooManyOrigins),
    #[error("{} : {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("no more memories can be numbered on this day")]
    Numbers,
    #[error(transparent)]
    Unbalanced(#[from] holdfast_memory::Unbalanced),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Store(error.into())
    }
}
