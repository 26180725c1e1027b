//! Pieces of a segment file, read with their checksums. Nothing is mapped: a disk that fails or a file that is cut short under a running
//! daemon is an error to return, not a signal to die of.

use std::fs::File;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

use super::layout::{FORMAT, Header, PAGE, Section, Unreadable};
use crate::error::{Error, Result};

#[derive(Debug)]
pub(crate) struct Pages {
    file: File,
    path: PathBuf,
    header: Header,
    checks: Vec<u32>,
}

/// Bytes that passed their checksums.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Vec<u8>,
    range: Range<usize>,
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl Piece {
    pub(crate) fn as_slice(&self) -> &[u8] {
        self
    }
}

impl Pages {
    pub(crate) fn open(path: &Path, serial: u64, root: u32) -> Result<Pages> {
        let damaged = |what| Error::Damaged { path: path.to_owned(), what };
        let file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => damaged("it is missing"),
            _ => while_doing("opening", path, e).into(),
        })?;
        let len = file.metadata().map_err(|e| while_doing("looking at", path, e))?.len();
        if len < PAGE as u64 {
            return Err(damaged("it is cut short"));
        }
        let first_page = read_at(&file, path, 0, PAGE)?;
        let (header, found) = Header::decode(&first_page).map_err(|why| match why {
            Unreadable::Damaged(what) => damaged(what),
            Unreadable::Newer(found) => Error::Newer { path: path.to_owned(), found, known: FORMAT },
        })?;
        if found != root || header.serial != serial {
            return Err(damaged("it is not the segment that was written"));
        }
        if len != header.file_len() {
            return Err(damaged("it has another length than was written"));
        }
        let checks = read_at(&file, path, header.end(), 4 * header.pages())?;
        if crc32c::crc32c(&checks) != header.checks {
            return Err(damaged("its checksums"));
        }
        let checks = checks.as_chunks::<4>().0.iter().map(|check| u32::from_le_bytes(*check)).collect();
        Ok(Pages { file, path: path.to_owned(), header, checks })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged { path: self.path.clone(), what }
    }

    pub(crate) fn section(&self, section: Section) -> Result<Piece> {
        let range = self.header.section(section);
        self.within(section, 0..range.end - range.start)
    }

    /// Reads every page, some at a time.
    pub(crate) fn check(&self) -> Result<()> {
        const STEP: u64 = 64 * PAGE as u64;
        let end = self.header.end();
        (PAGE as u64..end)
            .step_by(STEP as usize)
            .try_for_each(|from| self.read(from..(from + STEP).min(end)).map(drop))
    }

    /// A part of a section, counted from where that begins.
    pub(crate) fn within(&self, section: Section, range: Range<u64>) -> Result<Piece> {
        let bounds = self.header.section(section);
        if range.start > range.end || range.end > bounds.end - bounds.start {
            return Err(self.damaged("something leads out of its section"));
        }
        self.read(bounds.start + range.start..bounds.start + range.end)
    }

    fn read(&self, range: Range<u64>) -> Result<Piece> {
        let page = PAGE as u64;
        let (first, end) = (range.start / page, range.end.div_ceil(page).max(range.start / page));
        let from = first * page;
        let upto = (end * page).min(self.header.end()).max(from);
        let bytes = read_at(&self.file, &self.path, from, (upto - from) as usize)?;
        for (number, bytes) in (first..).zip(bytes.chunks(PAGE)) {
            // The first page is not among them: it has its own.
            let check = (number as usize).checked_sub(1).and_then(|at| self.checks.get(at));
            if check != Some(&crc32c::crc32c(bytes)) {
                return Err(self.damaged("the checksum of a page"));
            }
        }
        let range = (range.start - from) as usize..(range.end - from) as usize;
        if range.end > bytes.len() {
            Err(self.damaged("it is cut short"))
        } else {
            Ok(Piece { bytes, range })
        }
    }
}

fn read_at(file: &File, path: &Path, from: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, from).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            Error::Damaged { path: path.to_owned(), what: "it is cut short" }
        }
        _ => while_doing("reading", path, e).into(),
    })?;
    Ok(bytes)
}
