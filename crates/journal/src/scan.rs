//! Reads the lines of a segment in order with constant memory, from a file or from fetched bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::line::LINE_MAX;

/// Large enough that a system call is small beside hashing what it brought, small enough for the cache.
const CHUNK: usize = 256 * 1024;
/// What is read first, by whoever may want a single entry, and at the live end.
const LITTLE: usize = 16 * 1024;

/// Bytes that can be read at an offset.
#[derive(Debug)]
pub(crate) enum Bytes {
    File(File),
    Fetched(Vec<u8>),
}

impl Bytes {
    /// Fills `out` from `offset`; false when there are not so many bytes.
    pub(crate) fn read_exact_at(&self, mut out: &mut [u8], mut offset: u64) -> io::Result<bool> {
        while !out.is_empty() {
            let n = self.read_at(out, offset)?;
            if n == 0 {
                return Ok(false);
            }
            out = &mut out[n..];
            offset += n as u64;
        }
        Ok(true)
    }

    /// How many there are now.
    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            Bytes::File(file) => file.metadata().map(|it| it.len()),
            Bytes::Fetched(all) => Ok(all.len() as u64),
        }
    }

    /// So many from `offset`, or fewer where they end.
    pub(crate) fn up_to(&self, len: usize, offset: u64) -> io::Result<Vec<u8>> {
        let (mut out, mut held) = (vec![0; len], 0);
        while held < len {
            match self.read_at(&mut out[held..], offset + held as u64)? {
                0 => break,
                n => held += n,
            }
        }
        out.truncate(held);
        Ok(out)
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Bytes::File(file) => file.read_at(out, offset),
            Bytes::Fetched(all) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
                let n = out.len().min(all.len() - from);
                out[..n].copy_from_slice(&all[from..from + n]);
                Ok(n)
            }
        }
    }
}

/// What stands next in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A line without its newline; it may be anything.
    Line(&'a [u8]),
    /// An empty line: space that was filled ahead and not written yet.
    Blank,
    /// Bytes with no newline after them: the end of the file, or a line longer than any may be.
    Unfinished(&'a [u8]),
    /// Nothing more.
    End,
}

/// Walks over the pieces of one segment.
#[derive(Debug)]
pub(crate) struct Scanner {
    bytes: Bytes,
    buffer: Vec<u8>,
    /// The part of `buffer` not yet given out.
    from: usize,
    /// Offset in the segment of `buffer[from]`.
    offset: u64,
    /// How much is read next, and the most it grows to while reading goes on.
    chunk: usize,
    chunk_max: usize,
}

impl Scanner {
    pub(crate) fn new(bytes: Bytes, offset: u64) -> Self {
        Scanner { bytes, buffer: Vec::new(), from: 0, offset, chunk: LITTLE, chunk_max: CHUNK }
    }

    /// Where the piece that comes next begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes (back) to `offset` and forgets what was read ahead, because the file may have grown since. From
    /// now on it reads little at a time: whoever looks again is at the live end.
    pub(crate) fn look_again_from(&mut self, offset: u64) {
        self.buffer.clear();
        self.from = 0;
        self.offset = offset;
        (self.chunk, self.chunk_max) = (LITTLE, LITTLE);
    }

    pub(crate) fn next(&mut self) -> io::Result<Piece<'_>> {
        let mut searched = 0;
        loop {
            if let Some(n) = memchr::memchr(b'\n', &self.buffer[self.from + searched..]) {
                let (start, len) = (self.from, searched + n);
                self.from += len + 1;
                self.offset += len as u64 + 1;
                let line = &self.buffer[start..start + len];
                return Ok(if line.is_empty() { Piece::Blank } else { Piece::Line(line) });
            }
            searched = self.buffer.len() - self.from;
            let grew = searched < LINE_MAX && self.fill()?;
            if !grew {
                let rest = &self.buffer[self.from..];
                return Ok(if rest.is_empty() { Piece::End } else { Piece::Unfinished(rest) });
            }
        }
    }

    /// Passes over `n` lines without looking at them.
    pub(crate) fn skip_lines(&mut self, n: u64) -> io::Result<bool> {
        for _ in 0..n {
            if !matches!(self.next()?, Piece::Line(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.from);
        self.from = 0;
        let held = self.buffer.len();
        self.buffer.resize(held + self.chunk, 0);
        let got = self.bytes.read_at(&mut self.buffer[held..], self.offset + held as u64);
        self.buffer.truncate(held + *got.as_ref().unwrap_or(&0));
        self.chunk = (self.chunk * 2).min(self.chunk_max);
        Ok(got? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_whatever_the_chunk_borders() {
        let text = [b"{\"a\":1}\n\n".to_vec(), vec![b'x'; 70_000], b"\nend".to_vec()].concat();
        for chunk in [1, 7, 4096, CHUNK] {
            let mut s = Scanner::new(Bytes::Fetched(text.clone()), 0);
            (s.chunk, s.chunk_max) = (chunk, chunk);
            assert_eq!(s.next().unwrap(), Piece::Line(b"{\"a\":1}"));
            assert_eq!(s.next().unwrap(), Piece::Blank);
            assert_eq!(s.offset(), 9);
            if chunk < 70_000 {
                // Longer than any line may be: given up on without reading it all.
                assert!(matches!(s.next().unwrap(), Piece::Unfinished(rest) if rest.len() >= LINE_MAX));
            }
        }
        let mut s = Scanner::new(Bytes::Fetched(b"tail".to_vec()), 0);
        assert_eq!(s.next().unwrap(), Piece::Unfinished(b"tail"));
        let mut s = Scanner::new(Bytes::Fetched(Vec::new()), 0);
        assert_eq!(s.next().unwrap(), Piece::End);
    }
}
