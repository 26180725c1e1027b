//! Where what lies in a base file: `docs/formats/vectors.md` draws it. Pure: a header in, places out.

use crate::key::Key;
use crate::model::Model;
use crate::vector::{VECTOR_BYTES, WIDTH};

/// What this program writes, and the newest it reads.
pub(crate) const FORMAT: u32 = 1;

/// Vectors in one index. A graph over more would take hours to make, and rows are counted in 32 bits.
pub const ROWS_MAX: usize = 1 << 24;

/// Links of a row at most: a third of what its code takes. docs/formats/vectors.md says what came of it.
pub(crate) const DEGREE: usize = 32;

/// What follows the last link of a row that has fewer than [`DEGREE`].
pub(crate) const NO_LINK: u32 = u32::MAX;

pub(crate) const HEADER_BYTES: usize = 4096;
pub(crate) const KEY_BYTES: usize = 16;
pub(crate) const CHECK_BYTES: usize = 12;
const PAGE: u64 = 4096;
const MAGIC: [u8; 8] = *b"HFvector";

/// What a base file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) generation: u64,
    pub(crate) model: Model,
    pub(crate) rows: u32,
    pub(crate) graph: bool,
    /// Checksums of the two sections that are read when the file is opened.
    pub(crate) keys_crc: u32,
    pub(crate) order_crc: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Newer(u32),
    Damaged(&'static str),
}

impl Header {
    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&(WIDTH as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.generation.to_le_bytes());
        bytes[24..32].copy_from_slice(&u64::from(self.rows).to_le_bytes());
        let degree = if self.graph { DEGREE as u32 } else { 0 };
        bytes[32..36].copy_from_slice(&degree.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.keys_crc.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.order_crc.to_le_bytes());
        bytes[48..80].copy_from_slice(&self.model.0);
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Refuses what [`Header::to_bytes`] does not write: every byte has one meaning.
    pub(crate) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Unreadable> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if bytes[..8] != MAGIC {
            return Err(Unreadable::Damaged("it is no base of a vector index"));
        }
        if word(HEADER_BYTES - 4) != crc32c::crc32c(&bytes[..HEADER_BYTES - 4]) {
            return Err(Unreadable::Damaged("its header does not match its checksum"));
        }
        if word(8) > FORMAT {
            return Err(Unreadable::Newer(word(8)));
        }
        let rows = u32::try_from(long(24)).ok().filter(|rows| *rows >= 1 && *rows as usize <= ROWS_MAX);
        let header = Header {
            generation: long(16),
            model: Model(std::array::from_fn(|n| bytes[48 + n])),
            rows: rows.ok_or(Unreadable::Damaged("it names more vectors than there may be, or none"))?,
            graph: word(32) != 0,
            keys_crc: word(36),
            order_crc: word(40),
        };
        (header.to_bytes() == *bytes)
            .then_some(header)
            .ok_or(Unreadable::Damaged("its header has an unknown field"))
    }
}

/// Where each section begins; each is padded with zeros to whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) keys: u64,
    pub(crate) order: u64,
    pub(crate) checks: u64,
    pub(crate) scales: u64,
    pub(crate) codes: u64,
    pub(crate) links: u64,
    /// Vectors in full; what comes before is mapped.
    pub(crate) vectors: u64,
    pub(crate) end: u64,
}

impl Layout {
    /// Of at most [`ROWS_MAX`] rows: nothing can overflow.
    pub(crate) fn of(rows: u32, graph: bool) -> Layout {
        let mut end = HEADER_BYTES as u64;
        let mut section = |bytes_each: usize| {
            let begin = end;
            end += (u64::from(rows) * bytes_each as u64).next_multiple_of(PAGE);
            begin
        };
        let keys = section(KEY_BYTES);
        let order = section(4);
        let checks = section(CHECK_BYTES);
        let scales = section(4);
        let codes = section(WIDTH);
        let links = section(if graph { DEGREE * 4 } else { 0 });
        let vectors = section(VECTOR_BYTES);
        Layout { keys, order, checks, scales, codes, links, vectors, end }
    }
}

/// A row of the section of keys: the key, and the checksum of its vector.
pub(crate) fn key_to_bytes(key: Key, vector_crc: u32) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes[..Key::BYTES].copy_from_slice(&key.bytes());
    bytes[12..].copy_from_slice(&vector_crc.to_le_bytes());
    bytes
}

pub(crate) fn key_from_bytes(bytes: &[u8; KEY_BYTES]) -> (Key, u32) {
    let [e0, e1, e2, e3, e4, e5, e6, e7, c0, c1, _, _, s0, s1, s2, s3] = *bytes;
    let entry = u64::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]);
    (Key { entry, chunk: u16::from_le_bytes([c0, c1]) }, u32::from_le_bytes([s0, s1, s2, s3]))
}

/// What stands beside a code to check it by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) error: f32,
    pub(crate) code_crc: u32,
    pub(crate) links_crc: u32,
}

impl Check {
    pub(crate) fn of(row: u32, code: &[u8; WIDTH], scale: f32, error: f32, links: &[u32]) -> Check {
        Check { error, code_crc: code_crc(row, code, scale, error), links_crc: links_crc(row, links) }
    }

    pub(crate) fn to_bytes(self) -> [u8; CHECK_BYTES] {
        let mut bytes = [0; CHECK_BYTES];
        bytes[..4].copy_from_slice(&self.error.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.code_crc.to_le_bytes());
        bytes[8..].copy_from_slice(&self.links_crc.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; CHECK_BYTES]) -> Check {
        let [e0, e1, e2, e3, c0, c1, c2, c3, l0, l1, l2, l3] = *bytes;
        Check {
            error: f32::from_le_bytes([e0, e1, e2, e3]),
            code_crc: u32::from_le_bytes([c0, c1, c2, c3]),
            links_crc: u32::from_le_bytes([l0, l1, l2, l3]),
        }
    }
}

/// Checksums begin with the row, so that what was moved to another place is noticed as well.
pub(crate) fn code_crc(row: u32, code: &[u8; WIDTH], scale: f32, error: f32) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&row.to_le_bytes()), code);
    crc32c::crc32c_append(crc32c::crc32c_append(crc, &scale.to_le_bytes()), &error.to_le_bytes())
}

pub(crate) fn links_crc(row: u32, links: &[u32]) -> u32 {
    let mut bytes = [0; DEGREE * 4];
    for (bytes, link) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(links) {
        *bytes = link.to_le_bytes();
    }
    crc32c::crc32c_append(crc32c::crc32c(&row.to_le_bytes()), &bytes[..links.len().min(DEGREE) * 4])
}

pub(crate) fn vector_crc(key: Key, vector: &[u8; VECTOR_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&key.bytes()), vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(rows: u32) -> Header {
        Header { generation: 9, model: Model([7; 32]), rows, graph: true, keys_crc: 1, order_crc: 2 }
    }

    fn with(change: impl Fn(&mut [u8])) -> Result<Header, Unreadable> {
        let mut bytes = header(5).to_bytes();
        change(&mut bytes);
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        Header::from_bytes(&bytes)
    }

    #[test]
    fn a_header_comes_back_as_it_was() {
        assert_eq!(with(|_| ()), Ok(header(5)));
    }

    #[test]
    fn counts_that_would_overflow_are_refused_before_anything_is_made_of_them() {
        for rows in
            [0, ROWS_MAX as u64 + 1, u64::from(u32::MAX) + 6, u64::MAX, u64::MAX / VECTOR_BYTES as u64 + 1]
        {
            let refused = with(|bytes| bytes[24..32].copy_from_slice(&rows.to_le_bytes()));
            assert!(matches!(refused, Err(Unreadable::Damaged(_))), "{rows}");
        }
        assert!(Layout::of(ROWS_MAX as u32, true).end < 1 << 36);
    }

    #[test]
    fn another_width_another_degree_and_used_padding_are_refused() {
        for (at, byte) in [(12, 1), (32, 1), (33, 1), (44, 1), (80, 1), (4000, 1)] {
            assert!(matches!(with(|bytes| bytes[at] = byte), Err(Unreadable::Damaged(_))), "{at}");
        }
    }

    #[test]
    fn a_later_format_is_called_later_and_not_damaged() {
        assert_eq!(with(|bytes| bytes[8] = 2), Err(Unreadable::Newer(2)));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let bytes = header(5).to_bytes();
        for bit in 0..HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Header::from_bytes(&flipped), Err(Unreadable::Damaged(_))), "bit {bit}");
        }
    }
}
