//! Reading: from any seq, in order, with constant memory; live or from outside.
//!
//! A reader holds a place and pulls. Nothing is queued for it, so a slow one loses nothing and holds nobody
//! up, and one that comes back says from which seq it wants to go on. A segment that has left is read from the
//! archive, checked against its seal.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_durable::while_doing;

use crate::durable_mark::{DurableMark, Woken};
use crate::entry::{BlobRef, Entry, Place, Stored};
use crate::error::{Error, Result};
use crate::journal::BLOB_MAX;
use crate::layout::{Layout, pack_name, segment_name};
use crate::line;
use crate::retention::{Archive, fetch_checked};
use crate::scan::{Bytes, Piece, Scanner};
use crate::seals::Seals;
use crate::seek;
use crate::vault::{SEAL_OVERHEAD, Vault};

/// Where entries are read from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) layout: Layout,
    pub(crate) archive: Option<Arc<dyn Archive>>,
}

/// How far a reader may go.
#[derive(Clone, Debug)]
pub(crate) enum Until {
    /// As far as the writer of this process has made durable.
    Durable(Arc<DurableMark>),
    /// As far as whole lines go. A reader in another process may see an entry a moment before its writer has
    /// made it durable.
    WholeLines,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEntry {
    pub seq: u64,
    /// The exact bytes of the line, without its newline: the leaf of the Merkle tree.
    pub line: Vec<u8>,
}

impl RawEntry {
    pub fn parse(&self) -> Result<Entry> {
        Entry::parse(&self.line).map_err(|e| Error::damaged("a segment", 0, Some(self.seq), e.to_string()))
    }
}

/// A place in the log that moves forward.
#[derive(Debug)]
pub struct Entries {
    source: Source,
    until: Until,
    next: u64,
    open: Option<OpenSegment>,
}

#[derive(Debug)]
struct OpenSegment {
    first: u64,
    scanner: Scanner,
}

impl Entries {
    pub(crate) fn new(source: Source, until: Until, from: u64) -> Self {
        Entries { source, until, next: from, open: None }
    }

    /// The seq that comes next.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The first seq of the segment the last entry stands in.
    pub(crate) fn segment(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.first)
    }

    /// The next entry, or `None` where the log ends for now.
    pub fn next_raw(&mut self) -> Result<Option<RawEntry>> {
        if let Until::Durable(mark) = &self.until
            && self.next >= mark.count()
        {
            return Ok(None);
        }
        loop {
            if self.open.is_none() {
                match self.source.open_at(self.next, &self.until)? {
                    Some(open) => self.open = Some(open),
                    None => return Ok(None),
                }
            }
            match self.step()? {
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::NextSegment => self.open = None,
                Step::EndForNow => return Ok(None),
            }
        }
    }

    fn step(&mut self) -> Result<Step> {
        let Some(open) = &mut self.open else {
            return Ok(Step::NextSegment);
        };
        let offset = open.scanner.offset();
        if let Some(entry) = take(&mut open.scanner, self.next)? {
            self.next += 1;
            return Ok(Step::Entry(entry));
        }
        // What was read ahead may have been written since: look again.
        open.scanner.look_again_from(offset);
        if let Some(entry) = take(&mut open.scanner, self.next)? {
            self.next += 1;
            return Ok(Step::Entry(entry));
        }
        open.scanner.look_again_from(offset);
        let blank = matches!(open.scanner.next()?, Piece::Blank | Piece::End);
        open.scanner.look_again_from(offset);
        if blank && self.next > open.first && self.source.segment_exists(self.next) {
            return Ok(Step::NextSegment);
        }
        match &self.until {
            Until::WholeLines if blank || self.is_last(offset)? => Ok(Step::EndForNow),
            Until::WholeLines | Until::Durable(_) => Err(self.broken(offset)),
        }
    }

    /// Whether no whole entry stands after `offset` and no segment after this one: then what is there is
    /// being written, or torn.
    fn is_last(&self, offset: u64) -> Result<bool> {
        let Some(open) = &self.open else { return Ok(true) };
        if self.source.layout.segments()?.last() != Some(&open.first) {
            return Ok(false);
        }
        let mut rest = Scanner::new(self.source.bytes_of(open.first)?, offset);
        loop {
            match rest.next()? {
                // The very entry that was not whole a moment ago: it was being written, and now it is there.
                Piece::Line(bytes) if line::is_whole(bytes) => {
                    return Ok(line::seq_of(bytes) == Some(self.next));
                }
                Piece::End | Piece::Unfinished(_) => return Ok(true),
                Piece::Line(_) | Piece::Blank => {}
            }
        }
    }

    fn broken(&self, offset: u64) -> Error {
        let file = self.open.as_ref().map_or_else(String::new, |o| segment_name(o.first));
        Error::damaged(file, offset, Some(self.next), "the entry that should stand here is not whole")
    }
}

/// Iterates to where the log ends for now.
impl Iterator for Entries {
    type Item = Result<RawEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_raw().transpose()
    }
}

/// The next piece, when it is the entry `seq`.
fn take(scanner: &mut Scanner, seq: u64) -> io::Result<Option<RawEntry>> {
    match scanner.next()? {
        Piece::Line(bytes) if line::is_whole(bytes) && line::seq_of(bytes) == Some(seq) => {
            Ok(Some(RawEntry { seq, line: bytes.to_vec() }))
        }
        _ => Ok(None),
    }
}

enum Step {
    Entry(RawEntry),
    NextSegment,
    EndForNow,
}

impl Source {
    fn open_at(&self, seq: u64, until: &Until) -> Result<Option<OpenSegment>> {
        // Seen too early a segment may leave between the listing and the opening; then the archive has it.
        for _ in 0..3 {
            let here = self.layout.segments()?;
            let Some(first) = here.iter().copied().rfind(|first| *first <= seq) else {
                return self.open_archived(seq, here.first().copied());
            };
            let bytes = match self.bytes_of(first) {
                Ok(bytes) => bytes,
                Err(Error::Gone { .. }) => continue,
                Err(e) => return Err(e),
            };
            let near = seek::before(&bytes, first, seq)?;
            let mut scanner = Scanner::new(bytes, near.offset);
            if scanner.skip_lines(seq - near.seq)? {
                return Ok(Some(OpenSegment { first, scanner }));
            }
            return match until {
                Until::WholeLines => Ok(None),
                Until::Durable(_) => {
                    Err(Error::damaged(segment_name(first), 0, Some(seq), "entries are missing"))
                }
            };
        }
        Err(Error::Gone { seq, oldest: 0 })
    }

    fn bytes_of(&self, first: u64) -> Result<Bytes> {
        let path = self.layout.segment(first);
        match File::open(&path) {
            Ok(file) => Ok(Bytes::File(file)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(self.fetch(first)?),
            Err(e) => Err(while_doing("opening", &path, e).into()),
        }
    }

    fn open_archived(&self, seq: u64, oldest: Option<u64>) -> Result<Option<OpenSegment>> {
        let seals = Seals::read(&self.layout)?;
        let Some(closed) = seals.holding(seq) else {
            return Err(Error::Gone { seq, oldest: oldest.unwrap_or(0) });
        };
        let bytes = self.fetch(closed.first)?;
        let near = seek::before(&bytes, closed.first, seq)?;
        let mut scanner = Scanner::new(bytes, near.offset);
        scanner.skip_lines(seq - near.seq)?;
        Ok(Some(OpenSegment { first: closed.first, scanner }))
    }

    fn fetch(&self, first: u64) -> Result<Bytes> {
        let seals = Seals::read(&self.layout)?;
        let gone = || Error::Gone { seq: first, oldest: 0 };
        let closed = seals.closed.get(&first).ok_or_else(gone)?;
        let archive = self.archive.as_deref().ok_or_else(gone)?;
        Ok(Bytes::Fetched(fetch_checked(archive, &segment_name(first), &closed.digest)?))
    }

    /// The text of a blob entry, while its key exists.
    pub(crate) fn text(&self, entry: &Entry, vault: &Vault) -> Result<Vec<u8>> {
        self.text_beside(None, entry, vault)
    }

    /// The same for whoever knows in which segment the entry stands: its pack is then opened without looking for it.
    pub(crate) fn text_beside(&self, segment: Option<u64>, entry: &Entry, vault: &Vault) -> Result<Vec<u8>> {
        let seq = entry.seq;
        let Stored::Blob(blob) = &entry.content else {
            return Err(Error::Setting { name: "seq", why: format!("entry {seq} has a body and no blob") });
        };
        if vault.is_erased(seq) {
            return Err(Error::Erased { seq });
        }
        let sealed = match (&blob.place, segment) {
            (Place::InPack { offset, len }, Some(first)) => match File::open(self.layout.pack(first)) {
                Ok(pack) => cut(&Bytes::File(pack), pack_name(first), seq, *offset, *len)?,
                Err(_) => self.sealed(seq, blob)?,
            },
            _ => self.sealed(seq, blob)?,
        };
        vault.unseal(&entry.origin, seq, &blob.name, &sealed)
    }

    /// The sealed bytes of a blob that entry `seq` names.
    pub(crate) fn sealed(&self, seq: u64, blob: &BlobRef) -> Result<Vec<u8>> {
        match &blob.place {
            Place::InLine(sealed) => Ok(sealed.clone()),
            Place::InPack { offset, len } => self.out_of_pack(seq, *offset, *len),
        }
    }

    fn out_of_pack(&self, seq: u64, offset: u64, len: u64) -> Result<Vec<u8>> {
        let seals = Seals::read(&self.layout)?;
        let first = match seals.holding(seq) {
            Some(closed) => closed.first,
            None => self.layout.segments()?.into_iter().rfind(|first| *first <= seq).unwrap_or(0),
        };
        let path = self.layout.pack(first);
        let name = pack_name(first);
        let pack = match File::open(&path) {
            Ok(file) => Bytes::File(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let digest = seals.closed.get(&first).and_then(|c| c.pack.as_ref()).map(|p| p.digest);
                match (digest, self.archive.as_deref()) {
                    (Some(digest), Some(archive)) => Bytes::Fetched(fetch_checked(archive, &name, &digest)?),
                    (Some(_), None) => return Err(Error::Gone { seq, oldest: 0 }),
                    (None, _) => {
                        return Err(Error::damaged(name, offset, Some(seq), "the pack is missing"));
                    }
                }
            }
            Err(e) => return Err(while_doing("opening", &path, e).into()),
        };
        cut(&pack, name, seq, offset, len)
    }

    /// Whether a segment begins at `seq`, here or in the archive.
    fn segment_exists(&self, seq: u64) -> bool {
        self.layout.segment(seq).exists()
            || Seals::read(&self.layout).is_ok_and(|seals| seals.closed.contains_key(&seq))
    }
}

/// A blob's bytes, out of its pack.
fn cut(pack: &Bytes, name: String, seq: u64, offset: u64, len: u64) -> Result<Vec<u8>> {
    if len > (BLOB_MAX + SEAL_OVERHEAD) as u64 || offset > i64::MAX as u64 - len {
        return Err(Error::damaged(name, 0, Some(seq), "the blob is longer or further on than any may be"));
    }
    let mut sealed = vec![0; len as usize];
    match pack.read_exact_at(&mut sealed, offset)? {
        true => Ok(sealed),
        false => Err(Error::damaged(name, offset, Some(seq), "the pack ends before the blob does")),
    }
}

/// Follows the log as it grows, from any seq on: every entry once, in order, none before it is durable.
#[derive(Debug)]
pub struct Subscription {
    entries: Entries,
    mark: Arc<DurableMark>,
}

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Entry(RawEntry),
    /// Nothing new within the time.
    Quiet,
    /// The journal was closed; subscribe again from [`Subscription::position`] when it is open again.
    Closed,
}

impl Subscription {
    pub(crate) fn new(source: Source, mark: Arc<DurableMark>, from: u64) -> Self {
        Subscription { entries: Entries::new(source, Until::Durable(mark.clone()), from), mark }
    }

    /// The seq that comes next; subscribing from there loses and doubles nothing.
    pub fn position(&self) -> u64 {
        self.entries.position()
    }

    /// The next entry, waiting for it if need be.
    pub fn next(&mut self, timeout: Duration) -> Result<Delivery> {
        let far = Duration::from_secs(365 * 86_400);
        let deadline = Instant::now() + timeout.min(far);
        loop {
            if let Some(entry) = self.entries.next_raw()? {
                return Ok(Delivery::Entry(entry));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.mark.wait_beyond(self.entries.position(), left) {
                Woken::More => {}
                Woken::TimedOut => return Ok(Delivery::Quiet),
                Woken::Closed => return Ok(Delivery::Closed),
            }
        }
    }
}
