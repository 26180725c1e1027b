//! What a vector is found by.

/// A piece of an entry: the entry's sequence number in the journal, and which piece of its text. Keys are ordered, and answers of
/// equal score stand in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub entry: u64,
    pub chunk: u16,
}

impl Key {
    pub(crate) const BYTES: usize = 10;

    /// As checksums cover it.
    pub(crate) fn bytes(self) -> [u8; Key::BYTES] {
        let mut bytes = [0; Key::BYTES];
        bytes[..8].copy_from_slice(&self.entry.to_le_bytes());
        bytes[8..].copy_from_slice(&self.chunk.to_le_bytes());
        bytes
    }
}
