//! The table that has a row of numbers for every piece of the vocabulary. It stays in its file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use crate::error::EmbedError;
use crate::pinned::WIDTH;

const ROW_BYTES: usize = WIDTH * size_of::<f32>();

/// Where the rows are, and the checksum each had when the file was checked.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    offset: u64,
    checksums: Vec<u32>,
}

impl Rows {
    /// Goes over all rows, which begin at an offset of the file.
    pub(super) fn scan(offset: u64, mut bytes: impl Read) -> io::Result<Rows> {
        // As many rows as make the calls to the system not count.
        let mut buffer = vec![0; 256 * ROW_BYTES];
        let mut checksums = Vec::new();
        loop {
            let filled = fill(&mut bytes, &mut buffer)?;
            checksums.extend(buffer[..filled].chunks_exact(ROW_BYTES).map(crc32c::crc32c));
            if filled < buffer.len() {
                return Ok(Rows { offset, checksums });
            }
        }
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

#[derive(Debug)]
pub(crate) struct Table {
    file: File,
    rows: Rows,
}

impl Table {
    pub(super) fn new(file: File, rows: Rows) -> Table {
        Table { file, rows }
    }

    /// Reads a piece's row, if it still is what it was when the file was opened.
    pub(crate) fn read(&self, id: u32, row: &mut [f32]) -> Result<(), EmbedError> {
        let mut bytes = [0; ROW_BYTES];
        let offset = self.rows.offset + u64::from(id) * ROW_BYTES as u64;
        self.file.read_exact_at(&mut bytes, offset).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => EmbedError::Changed,
            _ => EmbedError::Reading(e),
        })?;
        if self.rows.checksums.get(id as usize) != Some(&crc32c::crc32c(&bytes)) {
            return Err(EmbedError::Changed);
        }
        for (number, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
            *number = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}
