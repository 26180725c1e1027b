//! Opening: what is checked, what is mended, what is refused.
//!
//! | found | done |
//! |---|---|
//! | another process has it open | refused, naming the holder |
//! | a newer format | refused, untouched |
//! | a torn end beyond the last checkpoint | set aside in a `.torn-…` file, blanked, reported, and noted in the log |
//! | filled space behind the entries of a segment that another one follows | cut off, unless it is sealed |
//! | an unfinished last line in a side file | cut off: it was never relied on |
//! | tree hashes missing or not those of the checkpoint | made again from the entries, reported |
//! | anything else that does not fit | refused as damaged, untouched |
//!
//! Only what comes after the last checkpoint is read, so the time does not depend on the size of the log.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_durable::{Mode, while_doing};
use holdfast_keys::note::Note;
use holdfast_types::{Clock, Origin, Timestamp};

use crate::checkpoint::{Checkpoint, Record, last_record};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::layout::{Layout, Listing, Meta, segment_name};
use crate::merkle::{Frontier, Hash, Rows, leaf_hash};
use crate::notary::Closed;
use crate::read::{Entries, Source, Until};
use crate::scan::{Bytes, Piece, Scanner};
use crate::seals::{self, Event, Seals};
use crate::segment::Active;
use crate::tail::{self, Verdict};

/// What opening did beyond opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Bytes a crash left behind, set aside.
    pub torn: Option<TornEnd>,
    /// The tree's hashes were missing or wrong and were made again from the entries.
    pub tree_rebuilt: bool,
    /// How many entries after the last checkpoint were read.
    pub tail_entries: u64,
}

/// What was set aside, and where it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornEnd {
    pub segment: String,
    pub offset: u64,
    pub bytes: u64,
    pub kept_in: PathBuf,
}

/// The lock on a journal. Dropping it is the only way to let go.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Keeps every writer out, without opening the journal: for whoever takes it away or puts another in its place.
#[derive(Debug)]
pub struct Hold {
    _lock: Lock,
}

impl Hold {
    pub fn take(dir: &Path) -> Result<Hold> {
        let layout = Layout::new(dir);
        if !layout.meta().exists() {
            return Err(Error::Missing { path: dir.to_owned() });
        }
        Ok(Hold { _lock: Lock::take(&layout)? })
    }
}

/// A log that has been looked at and can be gone on with.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) meta: Meta,
    pub(crate) active: Active,
    pub(crate) next_seq: u64,
    /// The newest checkpoint on disk.
    pub(crate) latest: Record,
    /// The tree at the newest checkpoint.
    pub(crate) frontier: Frontier,
    pub(crate) rows: Rows,
    /// The entries after it: hash and place of each.
    pub(crate) tail: Vec<(Hash, (u64, u64))>,
    pub(crate) seals: Seals,
    pub(crate) unsealed: Vec<Closed>,
    pub(crate) usage: u64,
    pub(crate) report: OpenReport,
}

impl Lock {
    pub(crate) fn take(layout: &Layout) -> Result<Lock> {
        let path = layout.lock();
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = opened.map_err(|e| while_doing("opening", &path, e))?;
        match try_exclusive(&file) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::Busy { holder: holder_of(&mut file) });
            }
            Err(e) => return Err(while_doing("locking", &path, e.into()).into()),
        }
        file.set_len(0)?;
        file.write_all_at(format!("pid {}\n", std::process::id()).as_bytes(), 0)?;
        Ok(Lock { _file: file })
    }
}

/// Takes the lock, or gives up after a moment: a reader that only asks whether somebody writes holds it for a blink.
fn try_exclusive(file: &File) -> rustix::io::Result<()> {
    const TRIES: u32 = 10;
    let mut taken = Err(rustix::io::Errno::WOULDBLOCK);
    for _ in 0..TRIES {
        taken = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        if taken != Err(rustix::io::Errno::WOULDBLOCK) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    taken
}

/// Whether some process has the journal open for writing.
pub(crate) fn is_locked(layout: &Layout) -> bool {
    let Ok(file) = File::open(layout.lock()) else {
        return false;
    };
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared).is_err()
}

fn holder_of(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(64).read_to_string(&mut text);
    match text.trim() {
        "" => "a process that has not said which".into(),
        holder => holder.into(),
    }
}

/// Looks at what is there and mends what a crash left. Needs the lock.
pub(crate) fn find(layout: &Layout, source: &Source, clock: &dyn Clock, _lock: &Lock) -> Result<Found> {
    let meta = Meta::read(layout)?;
    cut_unfinished::<Event>(&layout.seals(), "seals.jsonl")?;
    cut_unfinished::<serde_json::Value>(&layout.witnessed(), "witnessed.jsonl")?;
    cut_unfinished::<serde_json::Value>(&layout.foreign(), "foreign.jsonl")?;
    let seals = Seals::read(layout)?;
    let Listing { segments, checkpoints } = layout.list()?;
    check_presence(&seals, &segments)?;
    let segments = without_departed(layout, &seals, segments)?;
    // Only the newest two can be unfinished: one flush may write to the segment closed and to the next.
    for first in checkpoints.iter().rev().take(2) {
        let path = layout.checkpoints(*first);
        cut_unfinished::<Record>(&path, &file_name(&path))?;
    }
    let latest = newest_of(layout, &meta.origin, &checkpoints)?;
    let mut report = OpenReport::default();
    let (mut rows, frontier) = open_tree(layout, source, &latest, &mut report)?;
    // Before anything is changed: what is damaged is left exactly as it was found.
    let ended = read_tail(layout, &segments, &latest.record)?;
    // Whoever made it was killed half way.
    holdfast_durable::sweep(layout.dir())?;
    rows.cut_to(latest.record.size)?;
    cut_to_length(layout, &seals, &ended.closed)?;
    report.tail_entries = ended.leaves.len() as u64;
    let next_seq = latest.record.size + report.tail_entries;
    let mut active = Active::resume(
        layout.segment(ended.segment),
        ended.segment,
        ended.end,
        opened_at(layout, ended.segment, clock)?,
    )?;
    if let Some(torn_end) = ended.torn_end {
        report.torn = Some(set_aside(layout, &mut active, torn_end)?);
    }
    let unsealed = unsealed(&seals, &segments);
    let usage = usage(layout, &seals, &unsealed, ended.segment, ended.end);
    Ok(Found {
        meta,
        active,
        next_seq,
        latest: latest.record,
        frontier,
        rows,
        tail: ended.leaves,
        seals,
        unsealed,
        usage,
        report,
    })
}

/// A checkpoint that was read and means what it says.
pub(crate) struct Latest {
    pub(crate) record: Record,
    pub(crate) root: Hash,
}

/// The newest checkpoint on disk. Changes nothing.
pub(crate) fn latest_checkpoint(layout: &Layout, origin: &Origin) -> Result<Latest> {
    newest_of(layout, origin, &layout.checkpoint_files()?)
}

fn newest_of(layout: &Layout, origin: &Origin, files: &[u64]) -> Result<Latest> {
    for first in files.iter().rev() {
        let path = layout.checkpoints(*first);
        let name = file_name(&path);
        if let Some(record) = last_record::<Record>(&path, &name)?.record {
            let checkpoint = checkpoint_of(&record).filter(|c| c.origin == *origin && c.size == record.size);
            let unknown = || Error::damaged(name, 0, None, "the last checkpoint is not one of this log");
            return Ok(Latest { root: checkpoint.ok_or_else(unknown)?.root, record });
        }
    }
    Err(Error::damaged("*.checkpoints", 0, None, "there is no checkpoint at all"))
}

pub(crate) fn checkpoint_of(record: &Record) -> Option<Checkpoint> {
    let note = Note::parse(record.note.as_bytes()).ok()?;
    Checkpoint::parse(note.unverified_text()).ok()
}

/// Cuts off what a crash left after the last whole record of a side file.
fn cut_unfinished<T: for<'a> serde::Deserialize<'a>>(path: &Path, name: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let last = last_record::<T>(path, name)?;
    if last.torn > 0 {
        let cut = || {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(last.whole_len)?;
            file.sync_all()
        };
        cut().map_err(|e| while_doing("cutting the unfinished end of", path, e))?;
    }
    Ok(())
}

/// Every closed segment is here, or is said to have left; and the run has no gap. By name alone: a thousand
/// segments are not looked into one by one at every start. That they are whole is verification's to say.
fn check_presence(seals: &Seals, segments: &[u64]) -> Result<()> {
    let mut expected = None;
    for closed in seals.closed.values() {
        let damaged = |what| Err(Error::damaged(segment_name(closed.first), 0, Some(closed.first), what));
        if expected.is_some_and(|e| e != closed.first) {
            return damaged("the segments before it do not lead up to it");
        }
        expected = Some(closed.last + 1);
        if !closed.dropped && segments.binary_search(&closed.first).is_err() {
            return damaged("the segment is missing");
        }
    }
    let after = expected.unwrap_or(0);
    match segments.iter().find(|first| **first >= after) {
        Some(first) if *first == after => Ok(()),
        _ => Err(Error::damaged(segment_name(after), 0, Some(after), "the segment is missing")),
    }
}

/// Finishes what a crash interrupted: a segment that is written down as gone has its files removed.
fn without_departed(layout: &Layout, seals: &Seals, mut segments: Vec<u64>) -> Result<Vec<u64>> {
    let departed = |first: &u64| seals.closed.get(first).is_some_and(|c| c.dropped);
    for first in segments.extract_if(.., |first| departed(first)) {
        holdfast_durable::remove(&layout.segment(first))?;
        holdfast_durable::remove(&layout.pack(first))?;
    }
    Ok(segments)
}

/// The tree at the checkpoint: from the stored hashes where they fold to its root, else from the entries.
fn open_tree(
    layout: &Layout,
    source: &Source,
    latest: &Latest,
    report: &mut OpenReport,
) -> Result<(Rows, Frontier)> {
    let size = latest.record.size;
    let stored = Rows::open_writable(&layout.tree()).and_then(|rows| rows.frontier(size).map(|f| (rows, f)));
    if let Ok((rows, frontier)) = stored
        && frontier.root() == latest.root
    {
        return Ok((rows, frontier));
    }
    report.tree_rebuilt = true;
    let aside = layout.tree().with_extension("new");
    let frontier = rebuild_tree(&aside, source, size)?;
    if frontier.root() != latest.root {
        return Err(Error::damaged(
            "the log",
            0,
            None,
            "the entries are not those the last checkpoint was signed over",
        ));
    }
    holdfast_durable::replace_dir(&aside, &layout.tree())?;
    Ok((Rows::open_writable(&layout.tree())?, frontier))
}

/// Makes the hashes of the first `size` entries in a directory aside: the old ones stay until these are whole.
fn rebuild_tree(aside: &Path, source: &Source, size: u64) -> Result<Frontier> {
    Rows::create(aside)?;
    let mut rows = Rows::open_writable(aside)?;
    rows.cut_to(0)?;
    let mut frontier = Frontier::default();
    let mut entries = Entries::new(source.clone(), Until::WholeLines, 0);
    while frontier.size() < size {
        let Some(entry) = entries.next_raw()? else {
            return Err(Error::damaged(
                "the log",
                0,
                Some(frontier.size()),
                "entries the last checkpoint covers are missing",
            ));
        };
        let leaf = leaf_hash(&entry.line);
        rows.note(0, &leaf);
        frontier.push(leaf, |level, _, hash| rows.note(level, hash));
        if frontier.size().is_multiple_of(100_000) {
            rows.flush()?;
        }
    }
    rows.flush()?;
    Ok(frontier)
}

struct Ended {
    /// Segments after which there is another one: where the entries of each end.
    closed: Vec<(u64, u64)>,
    leaves: Vec<(Hash, (u64, u64))>,
    segment: u64,
    end: u64,
    torn_end: Option<u64>,
}

/// Reads everything after the checkpoint, segment by segment.
fn read_tail(layout: &Layout, segments: &[u64], from: &Record) -> Result<Ended> {
    let mut ended = Ended {
        closed: Vec::new(),
        leaves: Vec::new(),
        segment: from.segment,
        end: from.offset,
        torn_end: None,
    };
    let last = segments.last().copied().unwrap_or(from.segment);
    for first in segments.iter().copied().filter(|first| *first >= from.segment) {
        let offset = if first == from.segment { from.offset } else { 0 };
        let next_seq = from.size + ended.leaves.len() as u64;
        if first != from.segment && first != next_seq {
            return Err(Error::damaged(
                segment_name(first),
                0,
                Some(next_seq),
                "entries before this segment are missing",
            ));
        }
        let bytes = read_from(&layout.segment(first), offset)?;
        let tail = tail::judge(&bytes, next_seq);
        ended.segment = first;
        ended.end = offset + tail.end as u64;
        ended.leaves.extend(tail.leaves.iter().map(|(hash, end)| (*hash, (first, offset + *end as u64))));
        ended.closed.extend((first != last).then_some((first, ended.end)));
        let seq = Some(from.size + ended.leaves.len() as u64);
        match tail.verdict {
            Verdict::Clean => {}
            Verdict::Torn { torn_end } if first == last => ended.torn_end = Some(offset + torn_end as u64),
            Verdict::Torn { .. } => {
                return Err(Error::damaged(
                    segment_name(first),
                    ended.end,
                    seq,
                    "a closed segment has a torn end",
                ));
            }
            Verdict::Damaged { offset: at, what } => {
                return Err(Error::damaged(segment_name(first), offset + at as u64, seq, what));
            }
        }
    }
    Ok(ended)
}

/// Finishes what a crash kept from being closed: the filled space behind the last entry is cut off. What is sealed stays as it is.
fn cut_to_length(layout: &Layout, seals: &Seals, closed: &[(u64, u64)]) -> Result<()> {
    for (first, end) in closed.iter().filter(|(first, _)| !seals.closed.contains_key(first)) {
        Active::resume(layout.segment(*first), *first, *end, None)?.close()?;
    }
    Ok(())
}

/// The bytes of a file from `offset` on, without the filled space at its end.
pub(crate) fn read_from(path: &Path, offset: u64) -> Result<Vec<u8>> {
    let name = file_name(path);
    let file = File::open(path).map_err(|e| while_doing("opening", path, e))?;
    let len = file.metadata()?.len();
    let Some(rest) = len.checked_sub(offset) else {
        let what =
            format!("it ends here, and the last checkpoint was signed over entries up to byte {offset}");
        return Err(Error::damaged(name, len, None, what));
    };
    read_without_trailing_blank(&file, offset, rest).map_err(|e| while_doing("reading", path, e).into())
}

/// Reads `len` bytes, but of the filled space at their end, which may be most of a segment, only one newline.
fn read_without_trailing_blank(file: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    const CHUNK: u64 = 128 * 1024;
    let mut bytes = Vec::new();
    let mut blank = 0;
    for from in (0..len).step_by(CHUNK as usize) {
        let mut chunk = vec![0; (len - from).min(CHUNK) as usize];
        file.read_exact_at(&mut chunk, offset + from)?;
        if chunk.iter().all(|b| *b == b'\n') {
            blank += chunk.len();
        } else {
            bytes.resize(bytes.len() + std::mem::take(&mut blank), b'\n');
            bytes.append(&mut chunk);
        }
    }
    bytes.extend((blank > 0).then_some(b'\n'));
    Ok(bytes)
}

/// Copies the torn bytes into a file of their own, and only then blanks them.
fn set_aside(layout: &Layout, active: &mut Active, torn_end: u64) -> Result<TornEnd> {
    let offset = active.end();
    let segment = segment_name(active.first);
    let mut bytes = read_from(&layout.segment(active.first), offset)?;
    bytes.truncate((torn_end - offset) as usize);
    let kept_in = layout.dir().join(format!("{segment}.torn-{offset}-{:08x}", crc32c::crc32c(&bytes)));
    holdfast_durable::replace(&kept_in, &bytes, Mode::Private)?;
    active.blank_to(torn_end)?;
    Ok(TornEnd { segment, offset, bytes: bytes.len() as u64, kept_in })
}

/// When the segment's first entry was written, for its age; the monotonic clock starts now.
fn opened_at(
    layout: &Layout,
    first: u64,
    clock: &dyn Clock,
) -> Result<Option<(Timestamp, std::time::Duration)>> {
    let file =
        File::open(layout.segment(first)).map_err(|e| while_doing("opening", &layout.segment(first), e))?;
    let mut scanner = Scanner::new(Bytes::File(file), 0);
    scanner.look_again_from(0);
    let Piece::Line(line) = scanner.next()? else {
        return Ok(None);
    };
    Ok(Entry::parse(line).ok().map(|entry| (entry.at, clock.monotonic())))
}

/// Closed segments a crash kept from being sealed.
fn unsealed(seals: &Seals, segments: &[u64]) -> Vec<Closed> {
    let pairs = segments.windows(2).map(|pair| Closed { first: pair[0], last: pair[1] - 1 });
    pairs.filter(|closed| !seals.closed.contains_key(&closed.first)).collect()
}

/// Bytes of segments and packs: sealed ones have been counted, the others are few.
fn usage(layout: &Layout, seals: &Seals, unsealed: &[Closed], active: u64, end: u64) -> u64 {
    let len = |path: PathBuf| std::fs::metadata(path).map_or(0, |m| m.len());
    let sealed: u64 = seals.closed.values().filter(|c| !c.dropped).map(seals::Closed::all_bytes).sum();
    let open: u64 = unsealed.iter().map(|c| len(layout.segment(c.first)) + len(layout.pack(c.first))).sum();
    sealed + open + end + len(layout.pack(active))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Makes an empty log: its directory, its first segment, a checkpoint over nothing, and META last of all,
/// so that a half-made one is not taken for a journal.
pub(crate) fn create(
    layout: &Layout,
    origin: &Origin,
    sign: &dyn Fn(&Checkpoint) -> Result<String>,
    clock: &Arc<dyn Clock>,
) -> Result<()> {
    if layout.meta().exists() {
        return Err(Error::Exists { path: layout.dir().to_owned() });
    }
    holdfast_durable::create_dir(layout.dir())?;
    Rows::create(&layout.tree())?;
    if !layout.segment(0).exists() {
        holdfast_durable::create(&layout.segment(0), b"", Mode::Private)?;
    }
    let checkpoint = Checkpoint { origin: origin.clone(), size: 0, root: Frontier::default().root() };
    let record = Record { size: 0, at: clock.now(), segment: 0, offset: 0, note: sign(&checkpoint)? };
    holdfast_durable::replace(&layout.checkpoints(0), &crate::checkpoint::to_line(&record), Mode::Private)?;
    Meta { origin: origin.clone(), created: clock.now() }.write(layout)?;
    Ok(())
}
