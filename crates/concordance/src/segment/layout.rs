//! The bytes of a segment file: docs/formats/concordance.md draws them.

/// First bytes of every segment.
pub(crate) const MAGIC: [u8; 8] = *b"HFCONCSG";

/// The format written here, and the newest that is read.
pub(crate) const FORMAT: u32 = 1;

/// Bytes that share a checksum: one read of a small piece costs one page, and a word is found with two or three of them.
pub(crate) const PAGE: usize = 4096;

/// Terms of one block of the dictionary: its first is kept in memory, the others are read when one of them is looked for.
pub(crate) const BLOCK_TERMS: usize = 32;

/// What a segment consists of, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The id of each doc, less the first: 4 or 8 bytes.
    Ids,
    /// The length class of each doc: 1 byte.
    Lengths,
    /// Where the tokens of each doc begin, and where the last end: 4 bytes.
    Starts,
    /// The tokens of each doc.
    Texts,
    /// The dictionary.
    Words,
    /// The first word of each block of it.
    Blocks,
    /// The lists.
    Lists,
}

pub(crate) const SECTIONS: usize = 7;

/// The first page of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) analysis: u32,
    pub(crate) serial: u64,
    pub(crate) docs: u32,
    pub(crate) terms: u32,
    pub(crate) tokens: u64,
    /// Lengths of all docs, as their classes count.
    pub(crate) words: u64,
    pub(crate) first_id: u64,
    pub(crate) last_id: u64,
    /// Where each section begins, and where the last ends.
    pub(crate) bounds: [u64; SECTIONS + 1],
    /// Checksum of the checksums.
    pub(crate) checks: u32,
}

const HEADER_LEN: usize = 8 + 4 + 4 + 8 + 4 + 4 + 8 + 8 + 8 + 8 + 8 * (SECTIONS + 1) + 4;

/// Why the first page is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Damaged(&'static str),
    Newer(u32),
}

impl Header {
    pub(crate) fn section(&self, section: Section) -> std::ops::Range<u64> {
        self.bounds[section as usize]..self.bounds[section as usize + 1]
    }

    /// Bytes of an id.
    pub(crate) fn id_width(&self) -> usize {
        if self.last_id - self.first_id <= u64::from(u32::MAX) { 4 } else { 8 }
    }

    pub(crate) fn pages(&self) -> usize {
        ((self.end() - PAGE as u64) as usize).div_ceil(PAGE)
    }

    pub(crate) fn end(&self) -> u64 {
        self.bounds[SECTIONS]
    }

    pub(crate) fn file_len(&self) -> u64 {
        self.end() + 4 * self.pages() as u64
    }

    /// A page, and the checksum that names the segment's whole content: it covers the checksums of all pages.
    pub(crate) fn encode(&self) -> (Vec<u8>, u32) {
        let mut page = Vec::with_capacity(PAGE);
        page.extend(MAGIC);
        page.extend(FORMAT.to_le_bytes());
        page.extend(self.analysis.to_le_bytes());
        page.extend(self.serial.to_le_bytes());
        page.extend(self.docs.to_le_bytes());
        page.extend(self.terms.to_le_bytes());
        for number in [self.tokens, self.words, self.first_id, self.last_id] {
            page.extend(number.to_le_bytes());
        }
        self.bounds.iter().for_each(|bound| page.extend(bound.to_le_bytes()));
        page.extend(self.checks.to_le_bytes());
        debug_assert_eq!(page.len(), HEADER_LEN);
        page.resize(PAGE - 4, 0);
        let root = crc32c::crc32c(&page);
        page.extend(root.to_le_bytes());
        (page, root)
    }

    pub(crate) fn decode(page: &[u8]) -> Result<(Header, u32), Unreadable> {
        let damaged = |what| Err(Unreadable::Damaged(what));
        let mut fields = Fields(page);
        if fields.take::<8>() != Some(MAGIC) {
            return damaged("it does not begin as a segment does");
        }
        let format = fields.u32().unwrap_or(0);
        let Some((covered, root)) = page.split_last_chunk::<4>().filter(|_| page.len() == PAGE) else {
            return damaged("its first page is short");
        };
        let root = u32::from_le_bytes(*root);
        if crc32c::crc32c(covered) != root {
            return damaged("the checksum of its first page");
        }
        if format > FORMAT {
            return Err(Unreadable::Newer(format));
        }
        match fields.header() {
            Some(header) if header.is_sound() => Ok((header, root)),
            _ => damaged("its first page contradicts itself"),
        }
    }

    /// Nothing here leads a reader out of the file or into too large an allocation.
    fn is_sound(&self) -> bool {
        let docs = u64::from(self.docs);
        let len = |section| {
            let range: std::ops::Range<u64> = self.section(section);
            range.end - range.start
        };
        self.bounds[0] == PAGE as u64
            && self.bounds.is_sorted()
            && self.end() < 1 << 32
            && (1..=crate::list::DOCS_MAX as u64).contains(&docs)
            && self.first_id <= self.last_id
            && len(Section::Ids) == docs * self.id_width() as u64
            && len(Section::Lengths) == docs
            && len(Section::Starts) == 4 * (docs + 1)
            && u64::from(self.terms) <= self.tokens
            && self.tokens <= len(Section::Texts)
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn header(&mut self) -> Option<Header> {
        let (analysis, serial, docs, terms) = (self.u32()?, self.u64()?, self.u32()?, self.u32()?);
        let (tokens, words, first_id, last_id) = (self.u64()?, self.u64()?, self.u64()?, self.u64()?);
        let mut bounds = [0; SECTIONS + 1];
        for bound in &mut bounds {
            *bound = self.u64()?;
        }
        let checks = self.u32()?;
        Some(Header { analysis, serial, docs, terms, tokens, words, first_id, last_id, bounds, checks })
    }
}

/// Appends a number in as few bytes as it needs, seven bits to each, the lowest first.
pub(crate) fn put_varint(mut number: u32, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Takes such a number off the front; none when there is none.
pub(crate) fn take_varint(from: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(number).ok();
        }
    }
    None
}
