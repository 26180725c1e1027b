//! Which model made the vectors: those of two cannot be compared.

/// The fingerprint of a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model(pub [u8; 32]);
