//! What ranking needs to know of every memory, in rows of one size in the order of the journal, so that a memory and those beside it are one
//! read. Made from the table, and made again whenever the two differ.
//!
//! A row says nothing that can be read: names are numbers. The row of a forgotten memory is zeros but for its place.
//!
//! ```text
//! row: 128 bytes, little-endian
//!   0  seq u64      8  said, microseconds i64     16  thread u64, 0 for none
//!  24  speaker, 4 × u64    56  labels, 4 × u64    88  words u16   90  bits u8: 1 asks, 2 speech, 4 tells time
//!  91  trust u8    92  free (zeros)   124  crc32c of what is before
//! ```

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use holdfast_recall::{Marks, Traits};
use holdfast_types::{Timestamp, Trust};

use crate::error::{Error, Result};

pub(crate) const ROW: usize = 128;
/// So many rows are read for one memory: those beside it are mostly among them.
const PAGE: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fact {
    pub(crate) seq: u64,
    pub(crate) said: Timestamp,
    pub(crate) thread: u64,
    pub(crate) traits: Traits,
    pub(crate) labels: Marks,
    pub(crate) trust: Trust,
}

impl Fact {
    /// Of a memory that was forgotten: its place and nothing else.
    pub(crate) fn gone(seq: u64) -> Fact {
        Fact {
            seq,
            said: Timestamp::EPOCH,
            thread: 0,
            traits: Traits::default(),
            labels: Marks::default(),
            trust: Trust::Untrusted,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Rows {
    path: PathBuf,
    file: File,
    count: usize,
    /// The seq of the first row of each page.
    firsts: Vec<u64>,
    last: Option<u64>,
}

impl Rows {
    /// The rows in a file, or none where there is no such file. What cannot be read ends it: whoever made it makes it again.
    pub(crate) fn open(path: &Path) -> Result<Rows> {
        let failed = |source| Error::File { path: path.to_owned(), source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut rows = Rows { path: path.to_owned(), file, count: 0, firsts: Vec::new(), last: None };
        rows.count = usize::try_from(bytes).unwrap_or(usize::MAX) / ROW;
        for page in 0..rows.count.div_ceil(PAGE) {
            match rows.read(page * PAGE, 1)?.first() {
                Some(first) if rows.firsts.last().is_none_or(|last| *last < first.seq) => {
                    rows.firsts.push(first.seq)
                }
                _ => return rows.emptied(),
            }
        }
        match rows.count.checked_sub(1).map(|last| rows.read(last, 1)).transpose()? {
            Some(last) if last.is_empty() => rows.emptied(),
            last => Ok(Rows { last: last.and_then(|last| last.first().map(|it| it.seq)), ..rows }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Without any row.
    pub(crate) fn emptied(self) -> Result<Rows> {
        self.file.set_len(0).map_err(|source| Error::File { path: self.path.clone(), source })?;
        Ok(Rows { count: 0, firsts: Vec::new(), last: None, ..self })
    }

    /// Adds rows behind the last one; those that are there already are passed over.
    pub(crate) fn add(&mut self, facts: &[Fact]) -> Result<()> {
        let new: Vec<&Fact> = facts.iter().filter(|it| self.last.is_none_or(|last| it.seq > last)).collect();
        let bytes: Vec<u8> = new.iter().flat_map(|fact| encoded(fact)).collect();
        let at = (self.count * ROW) as u64;
        self.file.write_all_at(&bytes, at).map_err(|source| self.failed(source))?;
        for fact in new {
            if self.count.is_multiple_of(PAGE) {
                self.firsts.push(fact.seq);
            }
            self.count += 1;
            self.last = Some(fact.seq);
        }
        Ok(())
    }

    /// Overwrites what is known of a memory; its place stays.
    pub(crate) fn forget(&mut self, seq: u64) -> Result<()> {
        let Some(at) = self.place_of(seq)? else { return Ok(()) };
        let gone = encoded(&Fact::gone(seq));
        self.file.write_all_at(&gone, (at * ROW) as u64).map_err(|source| self.failed(source))?;
        self.file.sync_data().map_err(|source| self.failed(source))
    }

    /// The memory and up to so many on each side, in order; none when it is not there.
    pub(crate) fn around(&self, seq: u64, reach: usize) -> Result<Vec<Fact>> {
        let Some(page) = self.page_of(seq) else { return Ok(Vec::new()) };
        let from = (page * PAGE).saturating_sub(reach);
        let bytes = self.bytes(from, PAGE + 2 * reach)?;
        // The page itself: what stands before it is only for those at its edge.
        let (rows, edge) = (bytes.as_chunks::<ROW>().0, page * PAGE - from);
        let Ok(at) = rows[edge..].binary_search_by_key(&seq, seq_of) else { return Ok(Vec::new()) };
        let at = at + edge;
        let wanted = &rows[at.saturating_sub(reach)..(at + reach + 1).min(rows.len())];
        Ok(wanted.iter().map_while(|row| decoded(row)).collect())
    }

    fn place_of(&self, seq: u64) -> Result<Option<usize>> {
        let Some(page) = self.page_of(seq) else { return Ok(None) };
        let rows = self.read(page * PAGE, PAGE)?;
        Ok(rows.binary_search_by_key(&seq, |it| it.seq).ok().map(|at| page * PAGE + at))
    }

    fn page_of(&self, seq: u64) -> Option<usize> {
        self.firsts.partition_point(|first| *first <= seq).checked_sub(1)
    }

    /// Rows from a place on. One that is damaged ends the answer.
    fn read(&self, from: usize, count: usize) -> Result<Vec<Fact>> {
        Ok(self.bytes(from, count)?.chunks_exact(ROW).map_while(decoded).collect())
    }

    fn bytes(&self, from: usize, count: usize) -> Result<Vec<u8>> {
        let count = count.min(self.count.saturating_sub(from));
        let mut bytes = vec![0; count * ROW];
        self.file.read_exact_at(&mut bytes, (from * ROW) as u64).map_err(|source| self.failed(source))?;
        Ok(bytes)
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::File { path: self.path.clone(), source }
    }
}

fn encoded(fact: &Fact) -> [u8; ROW] {
    let mut row = [0; ROW];
    let mut put = |at: usize, bytes: &[u8]| row[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &fact.seq.to_le_bytes());
    put(8, &fact.said.as_micros().to_le_bytes());
    put(16, &fact.thread.to_le_bytes());
    for (at, marks) in [(24, &fact.traits.speaker), (56, &fact.labels)] {
        for (n, mark) in marks.numbers().into_iter().enumerate() {
            put(at + n * 8, &mark.to_le_bytes());
        }
    }
    put(88, &fact.traits.words.to_le_bytes());
    let Traits { asks, speech, tells_time, .. } = fact.traits;
    put(90, &[u8::from(asks) | u8::from(speech) << 1 | u8::from(tells_time) << 2]);
    put(91, &[Trust::ALL.iter().position(|it| *it == fact.trust).unwrap_or(0) as u8]);
    let crc = crc32c::crc32c(&row[..ROW - 4]);
    row[ROW - 4..].copy_from_slice(&crc.to_le_bytes());
    row
}

/// The place of a row, which may be damaged.
fn seq_of(row: &[u8; ROW]) -> u64 {
    u64::from_le_bytes(row[..8].try_into().unwrap_or_default())
}

fn decoded(row: &[u8]) -> Option<Fact> {
    let number = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().unwrap_or_default());
    let crc = u32::from_le_bytes(row[ROW - 4..].try_into().ok()?);
    if crc != crc32c::crc32c(&row[..ROW - 4]) {
        return None;
    }
    let marks = |at: usize| Marks::from_numbers(std::array::from_fn(|n| number(at + n * 8)));
    Some(Fact {
        seq: number(0),
        said: Timestamp::from_micros(number(8) as i64).ok()?,
        thread: number(16),
        traits: Traits {
            speaker: marks(24),
            words: u16::from_le_bytes([row[88], row[89]]),
            asks: row[90] & 1 != 0,
            speech: row[90] & 2 != 0,
            tells_time: row[90] & 4 != 0,
        },
        labels: marks(56),
        trust: *Trust::ALL.get(usize::from(row[91]))?,
    })
}
