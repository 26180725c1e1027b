//! Full verification: every byte of the log against every promise it makes, in one pass, with constant memory.
//!
//! Each line is whole and has its number; the tree over the lines has the stored hashes and, at the size of
//! every checkpoint, the root that was signed; the last checkpoint of every segment carries a signature of a
//! trusted key, and so does wherever another key begins to sign; segments follow each other without a gap and are as long as they were when closed; blobs open,
//! or are erased. Where a line is broken its stored hash stands in for it, so that one broken line does not hide
//! what comes after.
//!
//! Signatures inside a segment are checked only on request: the root of a later signed checkpoint covers all
//! entries of the earlier ones, so they add nothing about the entries, and each costs as much as hashing 40 KiB.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use holdfast_durable::while_doing;
use holdfast_keys::note::{self, KeyName, Note};
use holdfast_keys::{Moment, Role, TrustSet, TrustedKey};
use holdfast_types::{Digest, Origin};

use crate::checkpoint::{Checkpoint, Record, all_records};
use crate::entry::{Entry, Stored};
use crate::error::{Damage, Error, Result};
use crate::layout::{Layout, Meta, segment_name};
use crate::line;
use crate::merkle::{Frontier, Hash, HashSource, LeafWindow, Rows, leaf_hash};
use crate::open::{is_locked, latest_checkpoint, read_from};
use crate::read::Source;
use crate::retention::Archive;
use crate::scan::{Bytes, Piece, Scanner};
use crate::seals::Seals;
use crate::tail;
use crate::vault::Vault;
use crate::witness::{self, CosignedRecord};

/// What to verify with.
pub struct VerifyOptions<'a> {
    /// Keys checkpoints may be signed with. Without them signatures are not checked, and the result says so.
    pub trust: Option<&'a TrustSet>,
    /// Opens every blob that is not erased. Without it only their presence is checked.
    pub vault: Option<&'a Vault>,
    pub archive: Option<Arc<dyn Archive>>,
    /// Also the signatures inside segments.
    pub every_signature: bool,
    pub progress: &'a mut dyn FnMut(Progress),
}

impl std::fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { trust, vault, archive, every_signature, progress: _ } = self;
        let mut out = f.debug_struct("VerifyOptions");
        out.field("trust", trust).field("vault", vault).field("archive", archive);
        out.field("every_signature", every_signature).finish_non_exhaustive()
    }
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub bytes: u64,
    pub total: u64,
    pub entries: u64,
}

/// What a verification found.
#[derive(Clone, Debug)]
pub struct Verification {
    pub origin: Origin,
    /// The first entry that is here; earlier ones are in the archive.
    pub first: u64,
    /// One more than the last entry.
    pub size: u64,
    pub root: Digest,
    pub segments: u64,
    pub bytes: u64,
    pub checkpoints: u64,
    pub signatures: u64,
    /// Size of the newest checkpoint; entries beyond it are checked but not signed yet.
    pub checkpointed: u64,
    /// Whether signatures were checked against a trust set.
    pub trusted: bool,
    pub blobs: u64,
    pub blobs_erased: u64,
    /// Witness cosignatures that hold.
    pub witnessed: u64,
    /// Entries whose time is before the one of the entry they follow. Times inform; this is not damage.
    pub clock_steps_back: u64,
    /// Another process was writing meanwhile.
    pub being_written: bool,
    pub findings: Vec<Finding>,
    /// More findings than are listed.
    pub findings_left_out: u64,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Left by a crash after the last whole entry; the next opening sets it aside.
    Torn(Damage),
    Damaged(Damage),
}

/// Enough to see what happened; a disk that rots can have millions.
const FINDINGS_MAX: usize = 100;
const PROGRESS_EVERY: u64 = 16 * 1024 * 1024;

impl Verification {
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|f| matches!(f, Finding::Damaged(_)))
    }
}

/// Verifies the journal in `dir`, without the lock and without changing anything.
pub fn verify(dir: &Path, options: VerifyOptions<'_>) -> Result<Verification> {
    let layout = Layout::new(dir);
    let meta = Meta::read(&layout)?;
    let mut pass = Pass::new(layout, meta, options)?;
    pass.run()?;
    Ok(pass.out)
}

struct Pass<'a> {
    layout: Layout,
    source: Source,
    options: VerifyOptions<'a>,
    seals: Seals,
    segments: Vec<u64>,
    rows: Option<Rows>,
    leaves: LeafWindow,
    cosigned: Vec<CosignedRecord>,
    /// Leaf hashes on disk that must be right.
    stored_leaves: u64,
    frontier: Frontier,
    total: u64,
    told: u64,
    out: Verification,
}

impl<'a> Pass<'a> {
    fn new(layout: Layout, meta: Meta, options: VerifyOptions<'a>) -> Result<Pass<'a>> {
        let mut findings = Vec::new();
        // Whatever may grow meanwhile is read before what it rests on.
        let cosigned = keep_finding(witness::cosigned_records(&layout), &mut findings)?.unwrap_or_default();
        let latest = latest_checkpoint(&layout, &meta.origin).ok();
        let segments = layout.segments()?;
        let seals = keep_finding(Seals::read(&layout), &mut findings)?.unwrap_or_default();
        let first = segments.first().copied().unwrap_or(0);
        let rows = Rows::open_read_only(&layout.tree()).ok();
        let on_disk = rows.as_ref().and_then(|r| r.leaves().ok()).unwrap_or(0);
        let signed = latest.map_or(on_disk, |latest| latest.record.size);
        if on_disk < signed {
            let what = format!("it has the hashes of {on_disk} entries, and {signed} are signed");
            findings.push(Finding::Damaged(Damage {
                file: "tree/00".into(),
                offset: on_disk * 32,
                seq: None,
                what,
            }));
        }
        findings.extend(missing_rows(rows.as_ref(), signed));
        let stored_leaves = on_disk.min(signed);
        let frontier = rows.as_ref().and_then(|r| r.frontier(first).ok()).unwrap_or_default();
        let len = |first: &u64| std::fs::metadata(layout.segment(*first)).map_or(0, |m| m.len());
        let total = segments.iter().map(len).sum();
        let out = Verification {
            origin: meta.origin,
            first,
            size: first,
            root: Digest::sha256(frontier.root()),
            segments: 0,
            bytes: 0,
            checkpoints: 0,
            signatures: 0,
            checkpointed: 0,
            trusted: options.trust.is_some(),
            blobs: 0,
            blobs_erased: 0,
            witnessed: 0,
            clock_steps_back: 0,
            being_written: is_locked(&layout),
            findings,
            findings_left_out: 0,
        };
        let source = Source { layout: layout.clone(), archive: options.archive.clone() };
        let leaves = LeafWindow::default();
        Ok(Pass {
            layout,
            source,
            options,
            seals,
            segments,
            rows,
            leaves,
            stored_leaves,
            cosigned,
            frontier,
            total,
            told: 0,
            out,
        })
    }

    fn run(&mut self) -> Result<()> {
        if self.frontier.size() != self.out.first {
            let first = self.out.first;
            self.damaged("tree/00", 0, Some(first), "the hashes of the entries that have left are missing");
            return Ok(());
        }
        self.check_presence();
        self.check_departed()?;
        for (i, first) in self.segments.clone().into_iter().enumerate() {
            let is_last = i + 1 == self.segments.len();
            if first != self.frontier.size() {
                let expected = self.frontier.size();
                self.damaged(
                    segment_name(first),
                    0,
                    Some(expected),
                    "entries before this segment are missing",
                );
                if !self.stand_in_until(first) {
                    return Ok(());
                }
            }
            let checkpoints = self.checkpoints_of(first)?;
            self.segment(first, is_last, &checkpoints)?;
            self.out.segments += 1;
        }
        self.out.size = self.frontier.size();
        self.out.root = Digest::sha256(self.frontier.root());
        self.check_coverage();
        self.check_witnessed()
    }

    fn check_presence(&mut self) {
        let mut expected = None;
        for closed in self.seals.closed.clone().into_values() {
            let name = segment_name(closed.first);
            if expected.is_some_and(|e| e != closed.first) {
                self.damaged(
                    name.clone(),
                    0,
                    Some(closed.first),
                    "the segments before it do not lead up to it",
                );
            }
            expected = Some(closed.last + 1);
            if closed.dropped {
                continue;
            }
            match std::fs::metadata(self.layout.segment(closed.first)).map(|m| m.len()) {
                Ok(len) if len == closed.bytes => {}
                Ok(len) => {
                    let what = format!("it has {len} bytes and was closed with {}", closed.bytes);
                    self.damaged(name, len.min(closed.bytes), None, what);
                }
                Err(_) => self.damaged(name, 0, Some(closed.first), "the segment is missing"),
            }
        }
    }

    /// The checkpoints of segments that have left: the stored hashes must fold to what was signed.
    fn check_departed(&mut self) -> Result<()> {
        let oldest = self.out.first;
        for first in self.layout.checkpoint_files()?.into_iter().filter(|first| *first < oldest) {
            for (record, checkpoint) in self.checkpoints_of(first)? {
                let root = self.rows.as_ref().and_then(|r| r.frontier(record.size).ok()).map(|f| f.root());
                if root != Some(checkpoint.root) {
                    let what = format!(
                        "the stored hashes are not those the checkpoint of size {} was signed over",
                        record.size
                    );
                    self.damaged("tree/00", record.size * 32, None, what);
                }
            }
        }
        Ok(())
    }

    /// The checkpoints kept with a segment, checked for themselves.
    fn checkpoints_of(&mut self, first: u64) -> Result<Vec<(Record, Checkpoint)>> {
        let path = self.layout.checkpoints(first);
        let name = format!("{first:020}.checkpoints");
        let records: Vec<Record> =
            keep_finding(all_records(&path, &name), &mut self.out.findings)?.unwrap_or_default();
        let last = records.len().saturating_sub(1);
        let mut out: Vec<(Record, Checkpoint)> = Vec::with_capacity(records.len());
        let mut previous_signers = Vec::new();
        for (i, record) in records.into_iter().enumerate() {
            let note = Note::parse(record.note.as_bytes()).ok();
            let checkpoint = note.as_ref().and_then(|n| Checkpoint::parse(n.unverified_text()).ok());
            let checkpoint = checkpoint.filter(|c| c.origin == self.out.origin && c.size == record.size);
            let (Some(note), Some(checkpoint)) = (note, checkpoint) else {
                self.damaged(
                    &name,
                    0,
                    None,
                    format!("the checkpoint of size {} is not one of this log", record.size),
                );
                continue;
            };
            self.out.checkpoints += 1;
            self.out.checkpointed = self.out.checkpointed.max(record.size);
            // The first, the last, and wherever somebody else begins to sign: nobody can slip a history of his own
            // in between and let the rightful key sign on from there.
            let signers: Vec<_> = note.signatures().iter().map(|s| (s.name().clone(), s.hash())).collect();
            if i == 0 || i == last || self.options.every_signature || signers != previous_signers {
                self.check_signature(&name, &note, record.size);
            }
            if signers != previous_signers && i > 1 && !self.options.every_signature {
                // The one before the change has not been looked at either.
                self.check_earlier(&name, out.last());
            }
            previous_signers = signers;
            out.push((record, checkpoint));
        }
        Ok(out)
    }

    fn check_earlier(&mut self, file: &str, earlier: Option<&(Record, Checkpoint)>) {
        if let Some((record, _)) = earlier
            && let Ok(note) = Note::parse(record.note.as_bytes())
        {
            self.check_signature(file, &note, record.size);
        }
    }

    fn check_signature(&mut self, file: &str, note: &Note, size: u64) {
        let Some(trust) = self.options.trust else { return };
        match trusted_signer(trust, &self.out.origin, note, size) {
            Ok(_) => self.out.signatures += 1,
            Err(why) => {
                self.damaged(file, 0, None, format!("the checkpoint of size {size} is not trusted: {why}"))
            }
        }
    }

    /// One segment, line by line.
    fn segment(&mut self, first: u64, is_last: bool, checkpoints: &[(Record, Checkpoint)]) -> Result<()> {
        let path = self.layout.segment(first);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && self.has_left(first)? => return Ok(()),
            Err(e) => return Err(while_doing("opening", &path, e).into()),
        };
        let mut scanner = Scanner::new(Bytes::File(file), 0);
        let mut due = checkpoints.iter().peekable();
        let mut previous_at = Vec::new();
        loop {
            self.meet_checkpoints(first, scanner.offset(), &mut due);
            let offset = scanner.offset();
            let expected = self.frontier.size();
            match scanner.next()? {
                Piece::Line(bytes) if line::is_whole(bytes) && line::seq_of(bytes) == Some(expected) => {
                    self.out.bytes += bytes.len() as u64 + 1;
                    note_time(&mut self.out.clock_steps_back, bytes, &mut previous_at);
                    let leaf = leaf_hash(bytes);
                    let has_blob = memchr::memmem::find(bytes, b",\"blob\":{\"name\":\"").is_some();
                    let blob_line = has_blob.then(|| bytes.to_vec());
                    self.add_leaf(leaf, first, offset);
                    if let Some(line) = blob_line {
                        self.check_blob(&line, expected)?;
                    }
                }
                Piece::End => break,
                Piece::Blank | Piece::Line(_) | Piece::Unfinished(_)
                    if is_last && offset >= end_of_last(checkpoints) =>
                {
                    self.judge_tail(first, offset)?;
                    break;
                }
                piece @ (Piece::Blank | Piece::Line(_) | Piece::Unfinished(_)) => {
                    // The next segment has its name before this one is cut to its length.
                    if piece == Piece::Blank && !is_last && is_blank_to_the_end(&mut scanner)? {
                        break;
                    }
                    self.damaged(
                        segment_name(first),
                        offset,
                        Some(expected),
                        "the entry that should stand here is not whole",
                    );
                    match next_whole(&mut scanner)? {
                        Some((seq, at)) if seq >= expected && self.stand_in_until(seq) => {
                            scanner.look_again_from(at)
                        }
                        _ => break,
                    }
                }
            }
            self.tell();
        }
        self.meet_checkpoints(first, u64::MAX, &mut due);
        for (record, _) in due {
            let what = format!(
                "a checkpoint was signed over {} entries, and there are {}",
                record.size,
                self.frontier.size()
            );
            self.damaged(segment_name(first), scanner.offset(), Some(self.frontier.size()), what);
        }
        Ok(())
    }

    /// Whether a segment has left for the archive since this began; its stored hashes then stand for it.
    fn has_left(&mut self, first: u64) -> Result<bool> {
        let seals = Seals::read(&self.layout)?;
        let Some(closed) = seals.closed.get(&first).filter(|c| c.dropped) else { return Ok(false) };
        Ok(self.stand_in_until(closed.last.saturating_add(1)))
    }

    /// Compares the tree with every checkpoint of its present size.
    fn meet_checkpoints<'r>(
        &mut self,
        first: u64,
        offset: u64,
        due: &mut std::iter::Peekable<impl Iterator<Item = &'r (Record, Checkpoint)>>,
    ) {
        while let Some((record, checkpoint)) = due.next_if(|(r, _)| r.size == self.frontier.size()) {
            if checkpoint.root != self.frontier.root() {
                let what = format!(
                    "the entries are not those the checkpoint of size {} was signed over",
                    record.size
                );
                self.damaged(segment_name(first), record.offset, None, what);
            } else if record.segment == first && offset != u64::MAX && record.offset != offset {
                self.damaged(segment_name(first), record.offset, None, "a checkpoint says it ends elsewhere");
            }
        }
    }

    /// Adds an entry to the tree and compares it with the hashes on disk.
    fn add_leaf(&mut self, leaf: Hash, first: u64, offset: u64) {
        let seq = self.frontier.size();
        let Some(rows) = self.rows.as_ref() else { return self.frontier.push(leaf, |_, _, _| {}) };
        let mut wrong = self.leaves.get(rows, seq).is_some_and(|stored| stored != leaf);
        self.frontier.push(leaf, |level, index, hash| {
            let stored = level.is_multiple_of(8).then(|| rows.hash(level, index).ok()).flatten();
            wrong |= stored.is_some_and(|stored| stored != *hash);
        });
        // Hashes beyond the newest checkpoint are not relied on: opening makes them again.
        let what = "the entry and the stored hash of it differ";
        match (wrong, seq < self.stored_leaves) {
            (false, _) => {}
            (true, true) => self.damaged(segment_name(first), offset, Some(seq), what),
            (true, false) if self.out.being_written => {}
            (true, false) => {
                let offset = seq * 32;
                self.find(Finding::Torn(Damage {
                    file: "tree/00".into(),
                    offset,
                    seq: Some(seq),
                    what: what.into(),
                }));
            }
        }
    }

    /// Lets stored hashes stand for the entries up to `seq`, so that the rest can still be checked.
    fn stand_in_until(&mut self, seq: u64) -> bool {
        while self.frontier.size() < seq {
            let at = self.frontier.size();
            let stored = self.rows.as_ref().filter(|_| at < self.stored_leaves);
            let Some(leaf) = stored.and_then(|r| self.leaves.get(r, at)) else {
                return false;
            };
            self.frontier.push(leaf, |_, _, _| {});
        }
        true
    }

    /// What stands behind the last whole entry of the last segment.
    fn judge_tail(&mut self, first: u64, offset: u64) -> Result<()> {
        let rest = read_from(&self.layout.segment(first), offset)?;
        let seq = self.frontier.size();
        match tail::judge(&rest, seq).verdict {
            tail::Verdict::Clean => {}
            // While somebody writes, an unfinished line is a line being written.
            tail::Verdict::Torn { .. } if self.out.being_written => {}
            tail::Verdict::Torn { torn_end } => {
                let what = format!("{torn_end} bytes that are no whole entry stand at the end");
                self.find(Finding::Torn(Damage { file: segment_name(first), offset, seq: Some(seq), what }));
            }
            tail::Verdict::Damaged { offset: at, what } => {
                self.damaged(segment_name(first), offset + at as u64, Some(seq), what)
            }
        }
        Ok(())
    }

    fn check_blob(&mut self, line: &[u8], seq: u64) -> Result<()> {
        let Ok(entry) = Entry::parse(line) else {
            return Ok(());
        };
        let Stored::Blob(blob) = &entry.content else {
            return Ok(());
        };
        if entry.origin != self.out.origin {
            return Ok(());
        }
        self.out.blobs += 1;
        let erased = self.options.vault.is_some_and(|v| v.is_erased(seq));
        self.out.blobs_erased += u64::from(erased);
        let sealed = keep_finding(self.source.sealed(seq, blob), &mut self.out.findings)?;
        if let (Some(sealed), Some(vault), false) = (sealed, self.options.vault, erased) {
            let opened = vault.unseal(&entry.origin, seq, &blob.name, &sealed).map(drop);
            keep_finding(opened, &mut self.out.findings)?;
        }
        Ok(())
    }

    /// The last checkpoint names nothing that is not there.
    fn check_coverage(&mut self) {
        if self.out.checkpointed > self.out.size {
            let what = format!(
                "a checkpoint was signed over {} entries, and there are {}",
                self.out.checkpointed, self.out.size
            );
            let size = self.out.size;
            self.damaged("the log", 0, Some(size), what);
        }
    }

    fn check_witnessed(&mut self) -> Result<()> {
        for record in std::mem::take(&mut self.cosigned) {
            let Some(checkpoint) = record.checkpoint() else {
                self.damaged("witnessed.jsonl", 0, None, "a witnessed checkpoint does not read back");
                continue;
            };
            let root = self.rows.as_ref().and_then(|r| r.frontier(checkpoint.size).ok()).map(|f| f.root());
            if checkpoint.size > self.out.size || root != Some(checkpoint.root) {
                let what = format!(
                    "{} saw a log of {} entries that this one does not begin with",
                    record.witness, checkpoint.size
                );
                self.damaged("witnessed.jsonl", 0, None, what);
            } else {
                self.out.witnessed += 1;
            }
        }
        Ok(())
    }

    fn damaged(&mut self, file: impl Into<String>, offset: u64, seq: Option<u64>, what: impl Into<String>) {
        self.find(Finding::Damaged(Damage { file: file.into(), offset, seq, what: what.into() }));
    }

    fn find(&mut self, finding: Finding) {
        if self.out.findings.len() < FINDINGS_MAX {
            self.out.findings.push(finding);
        } else {
            self.out.findings_left_out += 1;
        }
    }

    fn tell(&mut self) {
        if self.out.bytes - self.told >= PROGRESS_EVERY {
            self.told = self.out.bytes;
            (self.options.progress)(Progress {
                bytes: self.out.bytes,
                total: self.total,
                entries: self.frontier.size(),
            });
        }
    }
}

/// Upper rows that are shorter than the signed part of the tree asks for.
fn missing_rows(rows: Option<&Rows>, signed: u64) -> Option<Finding> {
    let level = rows?.first_short_level(signed)?;
    let what = "hashes of the signed part of the log are missing".to_owned();
    Some(Finding::Damaged(Damage { file: format!("tree/{level:02}"), offset: 0, seq: None, what }))
}

/// Where the newest checkpoint of the segment ends: what comes after may be torn.
fn end_of_last(checkpoints: &[(Record, Checkpoint)]) -> u64 {
    checkpoints.last().map_or(0, |(record, _)| record.offset)
}

/// Whether nothing but filled space stands from here on. Where something does, the scanner is where it was.
fn is_blank_to_the_end(scanner: &mut Scanner) -> std::io::Result<bool> {
    let from = scanner.offset();
    loop {
        match scanner.next()? {
            Piece::Blank => {}
            Piece::End => return Ok(true),
            Piece::Line(_) | Piece::Unfinished(_) => break,
        }
    }
    scanner.look_again_from(from);
    Ok(false)
}

/// The next whole entry after a broken one: its number and where it begins.
fn next_whole(scanner: &mut Scanner) -> Result<Option<(u64, u64)>> {
    loop {
        let at = scanner.offset();
        match scanner.next()? {
            Piece::Line(bytes) if line::is_whole(bytes) => {
                return Ok(line::seq_of(bytes).map(|seq| (seq, at)));
            }
            Piece::Line(_) | Piece::Blank => {}
            Piece::End | Piece::Unfinished(_) => return Ok(None),
        }
    }
}

/// Counts a time that is before the previous one. The text form sorts as the times do.
fn note_time(steps_back: &mut u64, line: &[u8], previous: &mut Vec<u8>) {
    const FIELD: &[u8] = b",\"at\":\"";
    const LEN: usize = 27;
    // The field comes right after seq and v, within the first few dozen bytes.
    let head = &line[..line.len().min(64)];
    let Some(at) = memchr::memmem::find(head, FIELD).map(|n| n + FIELD.len()) else {
        return;
    };
    let Some(time) = line.get(at..at + LEN) else {
        return;
    };
    *steps_back += u64::from(time < previous.as_slice());
    previous.clear();
    previous.extend_from_slice(time);
}

/// The trusted key that has signed a note for a log of this size, or why there is none.
pub fn trusted_signer<'t>(
    trust: &'t TrustSet,
    origin: &Origin,
    note: &Note,
    size: u64,
) -> Result<&'t TrustedKey, String> {
    let name = KeyName::from(origin);
    let mut why = "no trusted key has signed it".to_owned();
    for key in trust.keys().filter(|k| k.role() == Role::Log && *k.name() == name) {
        match note::verify(note, &name, key.public()) {
            Ok(_) => match trust.accepts(key.id(), Role::Log, Moment::Size(size)) {
                Ok(key) => return Ok(key),
                Err(distrust) => why = distrust.to_string(),
            },
            Err(note::NoteError::NotSignedBy { .. }) => {}
            Err(e) => return Err(e.to_string()),
        }
    }
    Err(why)
}

/// Damage is something to report; anything else stops the verification.
fn keep_finding<T>(result: Result<T>, findings: &mut Vec<Finding>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Damaged(damage)) => {
            findings.push(Finding::Damaged(damage));
            Ok(None)
        }
        Err(Error::Io(e)) if e.kind() == std::io::ErrorKind::InvalidData => {
            findings.push(Finding::Damaged(Damage {
                file: "the archive".into(),
                offset: 0,
                seq: None,
                what: e.to_string(),
            }));
            Ok(None)
        }
        Err(e) => Err(e),
    }
}
