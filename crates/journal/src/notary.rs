//! Follows the writer: hashes what is durable into the tree, signs checkpoints, seals closed segments and
//! lets old ones go.
//!
//! One thread, owned by the journal and stopped with it. It only ever sees durable entries, so no checkpoint
//! can name what is not there. It flushes at most every [`PACE`], so that its syncs do not take the disk from
//! the writer; each checkpoint that fell due meanwhile is still signed at its own size. When a flush fails it
//! says so in the status and tries again: the log goes on without it, and what it missed is made up for.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdfast_keys::SecretKey;
use holdfast_keys::note::{self, KeyName, Note};
use holdfast_types::{Clock, Origin};

use crate::checkpoint::{Checkpoint, Record, append_lines, to_line};
use crate::commit::lock;
use crate::layout::{Layout, pack_name, segment_name};
use crate::merkle::{Frontier, Hash, Rows, leaf_hash};
use crate::retention::{Archive, fetch_checked, to_archive, to_drop};
use crate::seals::{self, Event, Pack, Seals};

/// Least time between two flushes: so long that a busy writer meets few of them, so short that neither a person
/// nor a witness would notice.
const PACE: Duration = Duration::from_millis(200);
/// How long after a failure the next try comes.
const RETRY: Duration = Duration::from_secs(1);
/// Bytes the notary may be behind before the writer waits for it.
const BEHIND_MAX: usize = 16 * 1024 * 1024;

/// Durable lines to be hashed.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) first_seq: u64,
    pub(crate) count: u64,
    pub(crate) segment: u64,
    /// Where in the segment the lines begin.
    pub(crate) offset: u64,
    pub(crate) lines: Vec<u8>,
}

/// A segment that will not change any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// The handle the writer and the journal hold.
#[derive(Clone, Debug)]
pub(crate) struct Notary {
    desk: Arc<Desk>,
}

#[derive(Debug)]
struct Desk {
    inbox: Mutex<Inbox>,
    changed: Condvar,
    checkpoint_every: u64,
    state: Mutex<State>,
    state_changed: Condvar,
}

#[derive(Debug, Default)]
struct Inbox {
    work: Vec<Work>,
    bytes: usize,
    /// Somebody waits, or a checkpoint is due: do not dawdle.
    wanted: Wanted,
    stop: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    #[default]
    Nothing,
    Soon,
    Now,
}

#[derive(Debug)]
enum Work {
    Entries(Batch),
    Closed(Closed),
    /// Sign one for all that came before, also where none is due.
    Checkpoint,
}

/// What the notary tells others.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The newest checkpoint that is durable.
    pub(crate) latest: Option<Record>,
    /// How many work items were handed over and how many of those are done and durable.
    handed: u64,
    done: u64,
    /// What went wrong at the last try.
    pub(crate) trouble: Option<String>,
    /// Why the archive is not up to date; nothing leaves until it is.
    pub(crate) archive_trouble: Option<String>,
}

/// What the notary works with.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) layout: Layout,
    pub(crate) origin: Origin,
    pub(crate) signers: Vec<SecretKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    pub(crate) keep_segments: usize,
    pub(crate) rows: Rows,
    pub(crate) frontier: Frontier,
    pub(crate) seals: Seals,
    pub(crate) usage: Arc<AtomicU64>,
    /// Where the last hashed entry ends.
    pub(crate) place: (u64, u64),
    /// The newest checkpoint that is durable.
    pub(crate) latest: Record,
    /// Signed and not yet written.
    pub(crate) pending: Vec<Record>,
    /// Closed and not yet sealed.
    pub(crate) unsealed: Vec<Closed>,
    /// A segment was sealed since the archive was last brought up to date.
    pub(crate) retire_due: bool,
    pub(crate) archive_trouble: Option<String>,
}

impl Notary {
    pub(crate) fn start(office: Office, checkpoint_every: u64) -> io::Result<(Notary, JoinHandle<()>)> {
        let latest = Some(office.latest.clone());
        let desk = Arc::new(Desk {
            inbox: Mutex::default(),
            changed: Condvar::new(),
            checkpoint_every,
            state: Mutex::new(State { latest, ..State::default() }),
            state_changed: Condvar::new(),
        });
        let notary = Notary { desk: desk.clone() };
        let thread =
            std::thread::Builder::new().name("holdfast-notary".into()).spawn(move || run(&desk, office))?;
        Ok((notary, thread))
    }

    /// Takes durable lines. Waits only when the notary is far behind.
    pub(crate) fn entries(&self, batch: Batch) {
        let crosses = |every: u64| (batch.first_seq + batch.count) / every > batch.first_seq / every;
        let wanted = if crosses(self.desk.checkpoint_every) { Wanted::Soon } else { Wanted::Nothing };
        self.hand_over(Work::Entries(batch), wanted);
    }

    pub(crate) fn closed(&self, closed: Closed) {
        self.hand_over(Work::Closed(closed), Wanted::Soon);
    }

    /// Returns when a checkpoint covers everything handed over so far, or says why it does not.
    pub(crate) fn checkpoint(&self) -> Result<Record, String> {
        let ticket = self.hand_over(Work::Checkpoint, Wanted::Now);
        self.wait_for(ticket)?;
        lock(&self.desk.state).latest.clone().ok_or_else(|| "no checkpoint was made".into())
    }

    /// Returns when everything handed over so far is hashed, and written where it was due.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let ticket = {
            let mut inbox = lock(&self.desk.inbox);
            inbox.wanted = Wanted::Now;
            lock(&self.desk.state).handed
        };
        self.desk.changed.notify_all();
        self.wait_for(ticket)
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.desk.state).clone()
    }

    pub(crate) fn stop(&self) {
        lock(&self.desk.inbox).stop = true;
        self.desk.changed.notify_all();
    }

    fn hand_over(&self, work: Work, wanted: Wanted) -> u64 {
        let mut inbox = lock(&self.desk.inbox);
        if inbox.bytes > BEHIND_MAX {
            self.desk.changed.notify_all();
            let caught_up = |i: &mut Inbox| i.bytes > BEHIND_MAX && !i.stop;
            inbox = self.desk.changed.wait_while(inbox, caught_up).unwrap_or_else(PoisonError::into_inner);
        }
        if let Work::Entries(batch) = &work {
            inbox.bytes += batch.lines.len();
        }
        inbox.work.push(work);
        let wake = wanted > inbox.wanted || inbox.bytes > BEHIND_MAX / 4;
        inbox.wanted = inbox.wanted.max(wanted);
        let ticket = {
            let mut state = lock(&self.desk.state);
            state.handed += 1;
            state.handed
        };
        drop(inbox);
        if wake {
            self.desk.changed.notify_all();
        }
        ticket
    }

    fn wait_for(&self, ticket: u64) -> Result<(), String> {
        let state = lock(&self.desk.state);
        let pending = |s: &mut State| s.done < ticket && s.trouble.is_none();
        let state =
            self.desk.state_changed.wait_while(state, pending).unwrap_or_else(PoisonError::into_inner);
        match &state.trouble {
            Some(why) if state.done < ticket => Err(why.clone()),
            _ => Ok(()),
        }
    }
}

/// Tells those who wait that nobody works here any more, also when that is because of a panic.
struct Closing<'a>(&'a Desk);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        lock(&self.0.inbox).stop = true;
        self.0.changed.notify_all();
        lock(&self.0.state).trouble.get_or_insert_with(|| "the notary has stopped".to_owned());
        self.0.state_changed.notify_all();
    }
}

/// The thread: waits for work, does it, flushes, tells.
fn run(desk: &Desk, mut office: Office) {
    let _closing = Closing(desk);
    let mut last_flush: Option<Instant> = None;
    let mut taken = 0;
    loop {
        let (work, stop) = next_work(desk, last_flush, !office.is_clean());
        taken += work.len() as u64;
        for item in work {
            office.take_in(item, desk.checkpoint_every);
        }
        let flushed = office.flush();
        last_flush = Some(Instant::now());
        tell(desk, &office, flushed, taken);
        if stop {
            return;
        }
    }
}

/// Waits for work that is wanted, and for the pace.
fn next_work(desk: &Desk, last_flush: Option<Instant>, unfinished: bool) -> (Vec<Work>, bool) {
    let mut inbox = lock(&desk.inbox);
    loop {
        let since = last_flush.map_or(Duration::MAX, |t| t.elapsed());
        let ready = match inbox.wanted {
            Wanted::Now => true,
            Wanted::Soon => since >= PACE,
            Wanted::Nothing => unfinished && since >= RETRY || inbox.bytes > BEHIND_MAX / 4,
        };
        if ready || inbox.stop {
            inbox.bytes = 0;
            inbox.wanted = Wanted::Nothing;
            let work = std::mem::take(&mut inbox.work);
            desk.changed.notify_all();
            return (work, inbox.stop);
        }
        let patience = match (inbox.wanted, unfinished) {
            (Wanted::Soon, _) => PACE.saturating_sub(since),
            (_, true) => RETRY.saturating_sub(since),
            _ => Duration::from_secs(3600),
        };
        let waited = desk.changed.wait_timeout(inbox, patience.max(Duration::from_millis(1)));
        inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn tell(desk: &Desk, office: &Office, flushed: Result<(), String>, taken: u64) {
    let mut state = lock(&desk.state);
    state.archive_trouble = office.archive_trouble.clone();
    state.latest = Some(office.latest.clone());
    match flushed {
        Ok(()) => {
            state.done = taken;
            state.trouble = None;
        }
        Err(why) => state.trouble = Some(why),
    }
    drop(state);
    desk.state_changed.notify_all();
}

impl Office {
    fn is_clean(&self) -> bool {
        self.pending.is_empty() && self.unsealed.is_empty() && !self.retire_due
    }

    fn take_in(&mut self, work: Work, checkpoint_every: u64) {
        match work {
            Work::Entries(batch) => self.hash(&batch, checkpoint_every),
            Work::Closed(closed) => {
                self.sign_here();
                self.unsealed.push(closed);
            }
            Work::Checkpoint => self.sign_here(),
        }
    }

    fn hash(&mut self, batch: &Batch, checkpoint_every: u64) {
        debug_assert_eq!(batch.first_seq, self.frontier.size(), "batches come in order");
        let mut offset = batch.offset;
        for line in batch.lines.split_inclusive(|b| *b == b'\n') {
            offset += line.len() as u64;
            self.add(leaf_hash(&line[..line.len() - 1]), (batch.segment, offset), checkpoint_every);
        }
    }

    /// Adds the entry that ends at `place` to the tree, and signs a checkpoint where one falls due.
    pub(crate) fn add(&mut self, leaf: Hash, place: (u64, u64), checkpoint_every: u64) {
        self.rows.note(0, &leaf);
        self.frontier.push(leaf, |level, _, hash| self.rows.note(level, hash));
        self.place = place;
        if self.frontier.size().is_multiple_of(checkpoint_every) {
            self.sign_here();
        }
    }

    /// Signs a checkpoint at the present size, unless the newest one says the same under the same keys.
    pub(crate) fn sign_here(&mut self) {
        let size = self.frontier.size();
        let checkpoint = Checkpoint { origin: self.origin.clone(), size, root: self.frontier.root() };
        let (segment, offset) = self.place;
        match sign(&checkpoint, &self.signers) {
            // The same key signs the same text with the same bytes.
            Ok(note) if note == self.pending.last().unwrap_or(&self.latest).note => {}
            Ok(note) => self.pending.push(Record { size, at: self.clock.now(), segment, offset, note }),
            Err(_) => debug_assert!(false, "an origin is always a note's key name"),
        }
    }

    /// Makes hashes, then checkpoints, then seals durable.
    pub(crate) fn flush(&mut self) -> Result<(), String> {
        self.write_checkpoints().map_err(|e| e.to_string())?;
        while let Some(closed) = self.unsealed.first().copied() {
            self.seal(closed).map_err(|e| e.to_string())?;
            self.unsealed.remove(0);
            self.retire_due = true;
        }
        if self.retire_due {
            // An archive out of reach is no trouble for the log itself: it only keeps segments from leaving.
            self.archive_trouble = self.retire().err().map(|e| e.to_string());
            self.retire_due = self.archive_trouble.is_some();
        }
        Ok(())
    }

    fn write_checkpoints(&mut self) -> io::Result<()> {
        self.rows.flush()?;
        while let Some(first) = self.pending.first() {
            let segment = first.segment;
            let same_file = self.pending.iter().take_while(|r| r.segment == segment).count();
            let lines: Vec<u8> = self.pending[..same_file].iter().flat_map(to_line).collect();
            append_lines(&self.layout.checkpoints(segment), &lines)?;
            // Taken off one file at a time: what is written is not written again when the next file fails.
            self.latest = self.pending.drain(..same_file).next_back().unwrap_or_else(|| self.latest.clone());
        }
        Ok(())
    }

    fn seal(&mut self, closed: Closed) -> io::Result<()> {
        let (bytes, digest) = seals::digest_of(&self.layout.segment(closed.first))?;
        let pack_path = self.layout.pack(closed.first);
        let pack = match pack_path.exists() {
            true => Some(seals::digest_of(&pack_path).map(|(bytes, digest)| Pack { bytes, digest })?),
            false => None,
        };
        let at = self.clock.now();
        self.seals.record(
            &self.layout,
            Event::Sealed { first: closed.first, last: closed.last, bytes, digest, pack, at },
        )
    }

    /// Copies closed segments to the archive, proves the copies, and removes what may leave.
    fn retire(&mut self) -> io::Result<()> {
        let Some(archive) = self.archive.clone() else {
            return Ok(());
        };
        for closed in to_archive(&self.seals) {
            let mut files =
                vec![(segment_name(closed.first), self.layout.segment(closed.first), closed.digest)];
            files.extend(
                closed
                    .pack
                    .as_ref()
                    .map(|p| (pack_name(closed.first), self.layout.pack(closed.first), p.digest)),
            );
            for (name, path, digest) in files {
                archive.store(&name, &path)?;
                fetch_checked(archive.as_ref(), &name, &digest)?;
            }
            let at = self.clock.now();
            self.seals.record(&self.layout, Event::Archived { first: closed.first, at })?;
        }
        for first in to_drop(&self.seals, self.keep_segments) {
            let at = self.clock.now();
            let bytes = self.seals.closed.get(&first).map_or(0, seals::Closed::all_bytes);
            self.seals.record(&self.layout, Event::Dropped { first, at })?;
            holdfast_durable::remove(&self.layout.segment(first))?;
            holdfast_durable::remove(&self.layout.pack(first))?;
            let less = |usage: u64| Some(usage.saturating_sub(bytes));
            let _ = self.usage.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        Ok(())
    }
}

/// The signed note of a checkpoint, with one signature per key.
pub(crate) fn sign(checkpoint: &Checkpoint, signers: &[SecretKey]) -> Result<String, note::NoteError> {
    let name = KeyName::from(&checkpoint.origin);
    let text = checkpoint.text();
    let mut signed: Option<Note> = None;
    for key in signers {
        signed = Some(match signed {
            None => note::sign(&text, &name, key)?,
            Some(note) => note.with(note::signature(&text, &name, key)?)?,
        });
    }
    Ok(signed.map(|n| String::from_utf8_lossy(&n.to_bytes()).into_owned()).unwrap_or_default())
}
