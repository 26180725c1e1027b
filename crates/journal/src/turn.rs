//! What whoever has the turn does: number a batch, write it, make it durable.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_types::{Clock, Digest, Origin, Timestamp};

use crate::commit::{Appended, Ticket};
use crate::durable_mark::DurableMark;
use crate::entry::{Prepared, Space};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::line;
use crate::notary::{Batch, Closed, Notary};
use crate::options::Limits;
use crate::pack::PackWriter;
use crate::recent::RecentKeys;
use crate::segment::{Active, WriteFailed};
use crate::spare::Spare;
use crate::vault::{SEAL_OVERHEAD, Vault};

/// Room for what the journal adds to a prepared entry, for deciding whether a batch still fits a segment.
const ENVELOPE_GUESS: usize = 160;

/// How many times its usual length a segment may have when no next one can be made.
const LONGER_AT_MOST: u64 = 2;

/// The longest text that is sealed into its line. What is in the line is durable with it, at the cost of one sync;
/// what lies in the pack has a sync of its own, which matters less the longer it is.
pub(crate) const IN_LINE_MAX: usize = 8 * 1024;

/// The state that only the holder of the turn touches.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) next_seq: u64,
    pub(crate) active: Active,
    /// The next segment, made ready under load.
    pub(crate) spare: Spare,
    pub(crate) pack: Option<PackWriter>,
    pub(crate) recent: RecentKeys,
    /// Why the next segment could not be made, while the present one goes on without it.
    pub(crate) no_next: Option<String>,
    /// Set when nobody can say any more what is on the disk; nothing is written after that.
    pub(crate) stopped: Option<String>,
}

/// What the turn works with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) layout: Layout,
    pub(crate) origin: Origin,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) vault: Option<Arc<std::sync::Mutex<Vault>>>,
    pub(crate) durable: Arc<DurableMark>,
    pub(crate) notary: Notary,
    /// Bytes of segments and packs that are here.
    pub(crate) usage: Arc<AtomicU64>,
}

/// A batch being put together.
#[derive(Default)]
struct Draft {
    lines: Vec<u8>,
    sealed: Vec<u8>,
    count: u64,
    keys: Vec<(holdfast_types::Key, u64)>,
    /// There is one among them that may not use the reserve.
    ordinary: bool,
}

/// Which entries of a batch are written now.
#[derive(Clone, Copy)]
enum Of<'a> {
    All,
    /// The others have failed for this reason.
    Reserved(&'a Error),
}

impl Turn {
    /// Writes a batch; one result per ticket, in order.
    pub(crate) fn write(&mut self, desk: &Desk, batch: &[Ticket]) -> Vec<Result<Appended>> {
        match self.write_all(desk, batch, Of::All) {
            Ok(results) => results,
            // Nothing was written. What may use the filled space does not fail with what may not.
            Err(full @ Error::DiskFull { .. })
                if batch.iter().any(|t| t.prepared.space == Space::Reserved) =>
            {
                match self.write_all(desk, batch, Of::Reserved(&full)) {
                    Ok(results) => results,
                    Err(e) => self.all_failed(batch, &e),
                }
            }
            Err(e) => self.all_failed(batch, &e),
        }
    }

    fn all_failed(&mut self, batch: &[Ticket], e: &Error) -> Vec<Result<Appended>> {
        if let Error::Stopped { why } = e {
            self.stopped = Some(why.clone());
        }
        batch.iter().map(|_| Err(same(e))).collect()
    }

    fn write_all(&mut self, desk: &Desk, batch: &[Ticket], of: Of<'_>) -> Result<Vec<Result<Appended>>> {
        if let Some(why) = &self.stopped {
            return Err(Error::Stopped { why: why.clone() });
        }
        let (now, monotonic) = (desk.clock.now(), desk.clock.monotonic());
        let expected: usize = batch.iter().map(|t| expected_len(&t.prepared)).sum();
        self.rotate_if_due(desk, expected as u64, now, monotonic)?;
        let mut draft = Draft::default();
        let results = batch.iter().map(|ticket| match of {
            Of::Reserved(why) if ticket.prepared.space == Space::Ordinary => Err(same(why)),
            Of::All | Of::Reserved(_) => self.encode(desk, &mut draft, ticket, now),
        });
        let results = results.collect();
        if draft.count > 0 {
            self.active.started(now, monotonic);
            self.put(desk, draft)?;
        }
        Ok(results)
    }

    /// Adds one entry to the batch, unless it is a repetition or cannot be an entry.
    fn encode(
        &mut self,
        desk: &Desk,
        draft: &mut Draft,
        ticket: &Ticket,
        now: Timestamp,
    ) -> Result<Appended> {
        let prepared = &ticket.prepared;
        if let Some(key) = &prepared.key {
            let in_batch = draft.keys.iter().find(|(k, _)| k == key).map(|(_, seq)| *seq);
            if let Some(seq) = self.recent.get(key).or(in_batch) {
                return Ok(Appended { seq, repeated: true, redactions: 0 });
            }
        }
        let seq = self.next_seq + draft.count;
        let (lines, sealed) = (draft.lines.len(), draft.sealed.len());
        let (origin, at) = match &prepared.from {
            Some((origin, at)) => (origin, *at),
            None => (&desk.origin, now),
        };
        line::open(&mut draft.lines, seq);
        let head =
            write!(draft.lines, ",\"v\":{},\"at\":\"{at}\",\"origin\":\"{origin}\",", prepared.version);
        head.map_err(Error::Io)?;
        draft.lines.extend_from_slice(prepared.rest.as_bytes());
        if let Some(text) = &prepared.blob
            && let Err(e) = self.add_sealed(desk, draft, seq, text)
        {
            draft.lines.truncate(lines);
            return Err(e);
        }
        line::close(&mut draft.lines, lines);
        let len = draft.lines.len() - lines;
        if len > line::LINE_MAX {
            draft.lines.truncate(lines);
            draft.sealed.truncate(sealed);
            return Err(Error::TooLong { len, max: line::LINE_MAX });
        }
        if let Err(e) = check_cap(desk, draft, prepared.space) {
            draft.lines.truncate(lines);
            draft.sealed.truncate(sealed);
            return Err(e);
        }
        draft.ordinary |= prepared.space == Space::Ordinary;
        draft.count += 1;
        draft.keys.extend(prepared.key.clone().map(|key| (key, seq)));
        Ok(Appended { seq, repeated: false, redactions: prepared.redactions })
    }

    /// Seals a text into its line, or beside it when it is long.
    fn add_sealed(&mut self, desk: &Desk, draft: &mut Draft, seq: u64, text: &[u8]) -> Result<()> {
        let vault = desk.vault.as_ref().ok_or(Error::NoVault)?;
        let (name, sealed): (Digest, Vec<u8>) = crate::commit::lock(vault).seal(&desk.origin, seq, text)?;
        write!(draft.lines, ",\"blob\":{{\"name\":\"{name}\",").map_err(Error::Io)?;
        if text.len() <= IN_LINE_MAX {
            let sealed = Base64Display::new(&sealed, &BASE64);
            return write!(draft.lines, "\"sealed\":\"{sealed}\"}}").map_err(Error::Io);
        }
        let offset = self.pack(desk)?.end() + draft.sealed.len() as u64;
        write!(draft.lines, "\"offset\":{offset},\"len\":{}}}", sealed.len()).map_err(Error::Io)?;
        draft.sealed.extend_from_slice(&sealed);
        Ok(())
    }

    /// Makes the batch durable, blobs first: an entry never names a blob that is not there.
    fn put(&mut self, desk: &Desk, draft: Draft) -> Result<()> {
        if !draft.sealed.is_empty() {
            self.pack(desk)?.append(&draft.sealed)?;
        }
        let offset = self.active.end();
        let space = if draft.ordinary { Space::Ordinary } else { Space::Reserved };
        if let Err(failed) = self.active.write(&draft.lines, space) {
            return Err(match failed {
                WriteFailed::Undone(e) => {
                    self.pack.iter_mut().for_each(|pack| pack.take_back(draft.sealed.len() as u64));
                    Error::from(e)
                }
                WriteFailed::Unknown(e) => Error::Stopped { why: e.to_string() },
            });
        }
        if self.active.end() >= desk.limits.segment_bytes / 2 {
            self.spare.begin(desk.limits.segment_bytes);
        }
        let first_seq = self.next_seq;
        self.next_seq += draft.count;
        desk.usage.fetch_add((draft.lines.len() + draft.sealed.len()) as u64, Ordering::Relaxed);
        desk.durable.advance_to(self.next_seq);
        draft.keys.into_iter().for_each(|(key, seq)| self.recent.insert(key, seq));
        desk.notary.entries(Batch {
            first_seq,
            count: draft.count,
            segment: self.active.first,
            offset,
            lines: draft.lines,
        });
        Ok(())
    }

    /// The pack of the segment, opened when the first blob comes.
    fn pack(&mut self, desk: &Desk) -> Result<&mut PackWriter> {
        let path = desk.layout.pack(self.active.first);
        match &mut self.pack {
            Some(pack) => Ok(pack),
            none => Ok(none.insert(PackWriter::open(&path)?)),
        }
    }

    fn rotate_if_due(
        &mut self,
        desk: &Desk,
        expected: u64,
        now: Timestamp,
        monotonic: std::time::Duration,
    ) -> Result<()> {
        let full = self.active.end() + expected > desk.limits.segment_bytes;
        let old = self.active.age(now, monotonic) >= desk.limits.segment_age;
        if self.active.end() == 0 || !(full || old) {
            return Ok(());
        }
        let rotated = self.rotate(desk);
        if self.stopped.is_some() {
            return rotated;
        }
        self.no_next = rotated.as_ref().err().map(ToString::to_string);
        let goes_on = self.active.end() + expected <= LONGER_AT_MOST * desk.limits.segment_bytes;
        // The segment goes on, over its age or length, until there is room and a descriptor for the next one.
        if goes_on { Ok(()) } else { rotated }
    }

    /// Begins the next segment and closes the old one. Until the next one has its name the old one keeps the space that is filled
    /// ahead in it: what fails before that, on a full disk above all, leaves it in use with room for reserved entries.
    pub(crate) fn rotate(&mut self, desk: &Desk) -> Result<()> {
        let ready = self.spare.ready()?;
        let next = Active::create_of(ready, desk.layout.segment(self.next_seq), self.next_seq)?;
        let mut old = std::mem::replace(&mut self.active, next);
        self.pack = None;
        if let Err(e) = old.close() {
            let why = e.to_string();
            self.stopped = Some(why.clone());
            return Err(Error::Stopped { why });
        }
        desk.notary.closed(Closed { first: old.first, last: self.next_seq - 1 });
        Ok(())
    }
}

/// Whether this entry still fits what its sort may use of the cap.
fn check_cap(desk: &Desk, draft: &Draft, space: Space) -> Result<()> {
    let bytes = desk.usage.load(Ordering::Relaxed);
    let more = (draft.lines.len() + draft.sealed.len()) as u64;
    let cap = desk.limits.room_for(space);
    if bytes + more > cap { Err(Error::CapReached { bytes, cap }) } else { Ok(()) }
}

/// About how long the line of an entry will be.
fn expected_len(prepared: &Prepared) -> usize {
    let in_line = prepared.blob.as_ref().map(Vec::len).filter(|len| *len <= IN_LINE_MAX);
    prepared.rest.len() + ENVELOPE_GUESS + in_line.map_or(0, |len| (len + SEAL_OVERHEAD) * 4 / 3)
}

/// The same error for each caller of a batch that failed as a whole.
fn same(e: &Error) -> Error {
    let copy = |e: &io::Error| io::Error::new(e.kind(), e.to_string());
    match e {
        Error::Stopped { why } => Error::Stopped { why: why.clone() },
        Error::CapReached { bytes, cap } => Error::CapReached { bytes: *bytes, cap: *cap },
        Error::DiskFull { source } => Error::DiskFull { source: copy(source) },
        Error::ReadOnly { source } => Error::ReadOnly { source: copy(source) },
        Error::Io(source) => Error::Io(copy(source)),
        other => Error::Io(io::Error::other(other.to_string())),
    }
}
