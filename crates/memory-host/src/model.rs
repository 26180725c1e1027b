//! The model whose vectors a space holds.

use holdfast_embed::{Pinned, WEIGHTS};

/// Names the model by its weights: vectors of another one are never compared with these.
pub(crate) fn fingerprint() -> [u8; 32] {
    digest_of(&WEIGHTS)
}

/// The digest by which a file of it is known.
pub(crate) fn digest_of(file: &Pinned) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(file.sha256.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    bytes
}
