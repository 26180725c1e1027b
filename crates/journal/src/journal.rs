//! The journal: one writer, many callers, readers of every speed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use holdfast_keys::SecretKey;
use holdfast_types::{Actor, Clock, KindDef, Origin, Trust};
use serde_json::json;

use crate::checkpoint::Checkpoint;
use crate::commit::{Appended, Line, OnItsWay, Ticket, lock};
use crate::durable_mark::DurableMark;
use crate::entry::{Draft, Prepared, Space, Stored, prepare};
use crate::error::{Error, Result};
use crate::kinds;
use crate::layout::Layout;
use crate::line::LINE_MAX;
use crate::merkle::{Hash, Rows, prove_consistency, prove_inclusion};
use crate::notary::{self, Notary, Office};
use crate::open::{self, Found, Lock, OpenReport};
use crate::options::{Limits, Options};
use crate::read::{Entries, RawEntry, Source, Subscription, Until};
use crate::recent::{RecentKeys, WINDOW};
use crate::screen::Screen;
use crate::spare::Spare;
use crate::turn::{Desk, Turn};
use crate::vault::{Erasure, Vault};

/// Longest text of one blob. Whatever is longer is several things.
pub const BLOB_MAX: usize = 16 * 1024 * 1024;

/// An open journal. Clones are handles to the same one; it closes when the last is gone.
#[derive(Clone, Debug)]
pub struct Journal {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: Arc<Writer>,
    screen: Arc<dyn Screen>,
    source: Source,
    report: OpenReport,
    notary_thread: Mutex<Option<JoinHandle<()>>>,
    /// Takes the turn for callers that do not block; started with the first of them.
    clerk: Mutex<Option<JoinHandle<()>>>,
    /// Held while keys are destroyed, from the new vault beside the old one to the entry that says so.
    erasing: Mutex<()>,
    _lock: Lock,
}

/// What writing needs, shared with the clerk.
#[derive(Debug)]
struct Writer {
    line: Line,
    turn: Mutex<Turn>,
    desk: Desk,
}

impl Writer {
    fn write(&self, batch: &[Ticket]) -> Vec<Result<Appended>> {
        lock(&self.turn).write(&self.desk, batch)
    }
}

/// A checkpoint and the signed note it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    pub checkpoint: Checkpoint,
    pub note: String,
}

/// How the journal is.
#[derive(Clone, Debug)]
pub struct Status {
    pub origin: Origin,
    /// Entries, all of them durable.
    pub size: u64,
    /// Size of the newest durable checkpoint.
    pub checkpointed: u64,
    /// Bytes of segments and packs that are here.
    pub bytes: u64,
    pub limits: Limits,
    /// What a person should know: nothing when all is well.
    pub warnings: Vec<String>,
}

impl Journal {
    /// Makes an empty journal in a directory that has none.
    pub fn create(dir: &Path, origin: &Origin, signers: &[SecretKey], clock: Arc<dyn Clock>) -> Result<()> {
        let sign = |c: &Checkpoint| notary::sign(c, signers).map_err(|e| Error::Foreign(e.to_string()));
        open::create(&Layout::new(dir), origin, &sign, &clock)
    }

    /// Opens a journal for writing. One process at a time can.
    pub fn open(options: Options) -> Result<Journal> {
        options.limits.check()?;
        let layout = Layout::new(&options.dir);
        if !layout.meta().exists() {
            return Err(Error::Missing { path: options.dir });
        }
        let lock = Lock::take(&layout)?;
        let source = Source { layout: layout.clone(), archive: options.archive.clone() };
        let found = open::find(&layout, &source, options.clock.as_ref(), &lock)?;
        let journal = Journal::start(options, layout, source, found, lock)?;
        journal.note_what_was_set_aside()?;
        journal.end_interrupted_erasure()?;
        Ok(journal)
    }

    fn start(options: Options, layout: Layout, source: Source, found: Found, lock: Lock) -> Result<Journal> {
        let usage = Arc::new(AtomicU64::new(found.usage));
        let every = options.limits.checkpoint_every;
        let mut office = Office {
            layout: layout.clone(),
            origin: found.meta.origin.clone(),
            signers: options.signers,
            clock: options.clock.clone(),
            archive: options.archive,
            keep_segments: options.limits.keep_segments,
            rows: found.rows,
            frontier: found.frontier,
            retire_due: !found.seals.closed.is_empty(),
            seals: found.seals,
            usage: usage.clone(),
            place: (found.latest.segment, found.latest.offset),
            latest: found.latest,
            pending: Vec::new(),
            unsealed: found.unsealed,
            archive_trouble: None,
        };
        found.tail.into_iter().for_each(|(leaf, place)| office.add(leaf, place, every));
        let (notary, thread) = Notary::start(office, every)?;
        let desk = Desk {
            layout,
            origin: found.meta.origin,
            limits: options.limits,
            clock: options.clock,
            vault: options.vault.map(|v| Arc::new(Mutex::new(v))),
            durable: Arc::new(DurableMark::new(found.next_seq)),
            notary,
            usage,
        };
        let spare = Spare::new(desk.layout.spare())?;
        let turn = Turn {
            next_seq: found.next_seq,
            active: found.active,
            spare,
            pack: None,
            recent: RecentKeys::default(),
            no_next: None,
            stopped: None,
        };
        let inner = Inner {
            writer: Arc::new(Writer { line: Line::default(), turn: Mutex::new(turn), desk }),
            screen: options.screen,
            source,
            report: found.report,
            notary_thread: Mutex::new(Some(thread)),
            clerk: Mutex::new(None),
            erasing: Mutex::new(()),
            _lock: lock,
        };
        Ok(Journal { inner: Arc::new(inner) })
    }

    /// Writes one entry; it is durable when this returns.
    pub fn append(&self, draft: &Draft) -> Result<Appended> {
        let mut results = self.append_many(std::slice::from_ref(draft))?;
        results.pop().unwrap_or_else(|| unreachable!("one draft gives one result"))
    }

    /// Writes several entries in order, with as few syncs as possible. Each has its own result; a draft the
    /// screen refuses or that is too long refuses them all before anything is written.
    pub fn append_many(&self, drafts: &[Draft]) -> Result<Vec<Result<Appended>>> {
        let prepared = drafts.iter().map(|d| self.prepare(d)).collect::<Result<Vec<_>>>()?;
        self.commit(prepared)
    }

    pub(crate) fn commit(&self, prepared: Vec<Prepared>) -> Result<Vec<Result<Appended>>> {
        if prepared.iter().any(|p| p.key.is_some()) {
            self.load_recent_keys()?;
        }
        let writer = &*self.inner.writer;
        Ok(writer.line.commit(prepared, &|batch| writer.write(batch)))
    }

    /// Puts one entry on its way without blocking; awaiting what this gives back tells when it is durable. For
    /// callers that are tasks of an async runtime, any of them.
    pub fn submit(&self, draft: &Draft) -> Result<OnItsWay> {
        let prepared = self.prepare(draft)?;
        if prepared.key.is_some() {
            self.load_recent_keys()?;
        }
        self.start_clerk()?;
        Ok(self.inner.writer.line.leave(prepared))
    }

    fn start_clerk(&self) -> Result<()> {
        let mut clerk = lock(&self.inner.clerk);
        if clerk.is_none() {
            let writer = self.inner.writer.clone();
            let serve = move || writer.line.serve(&|batch| writer.write(batch));
            *clerk = Some(std::thread::Builder::new().name("holdfast-clerk".into()).spawn(serve)?);
        }
        Ok(())
    }

    pub(crate) fn prepare(&self, draft: &Draft) -> Result<Prepared> {
        let prepared = prepare(draft, self.inner.screen.as_ref())?;
        if prepared.rest.len() > LINE_MAX {
            return Err(Error::TooLong { len: prepared.rest.len(), max: LINE_MAX });
        }
        if let Some(len) = prepared.blob.as_ref().map(Vec::len).filter(|len| *len > BLOB_MAX) {
            return Err(Error::BlobTooLong { len, max: BLOB_MAX });
        }
        Ok(prepared)
    }

    pub fn origin(&self) -> &Origin {
        &self.inner.writer.desk.origin
    }

    /// How many entries there are; all of them durable.
    pub fn size(&self) -> u64 {
        self.inner.writer.desk.durable.count()
    }

    /// What opening had to do.
    pub fn report(&self) -> &OpenReport {
        &self.inner.report
    }

    pub fn status(&self) -> Status {
        let desk = &self.inner.writer.desk;
        let state = desk.notary.state();
        let bytes = desk.usage.load(Ordering::Relaxed);
        let mut warnings = Vec::new();
        if bytes >= desk.limits.warn_bytes {
            let (mib, cap) = (bytes >> 20, desk.limits.room_for(Space::Ordinary) >> 20);
            let archive = if self.inner.source.archive.is_some() {
                ""
            } else {
                "; no archive is configured, so nothing can leave"
            };
            warnings.push(format!(
                "the journal holds {mib} MiB and takes only what people do from {cap} MiB on{archive}"
            ));
        }
        warnings.extend(state.trouble.map(|why| format!("checkpoints are behind: {why}")));
        warnings.extend(state.archive_trouble.map(|why| format!("the archive is behind: {why}")));
        let turn = lock(&self.inner.writer.turn);
        warnings.extend(turn.no_next.as_ref().map(|why| format!("the next segment cannot be made: {why}")));
        warnings.extend(turn.stopped.as_ref().map(|why| format!("no more entries are taken: {why}")));
        drop(turn);
        let checkpointed = state.latest.map_or(0, |r| r.size);
        Status {
            origin: desk.origin.clone(),
            size: self.size(),
            checkpointed,
            bytes,
            limits: desk.limits.clone(),
            warnings,
        }
    }

    /// Entries from `seq` on, to where the log ends for now.
    pub fn read(&self, from: u64) -> Entries {
        Entries::new(self.inner.source.clone(), Until::Durable(self.inner.writer.desk.durable.clone()), from)
    }

    /// Follows the log from `seq` on.
    pub fn subscribe(&self, from: u64) -> Subscription {
        Subscription::new(self.inner.source.clone(), self.inner.writer.desk.durable.clone(), from)
    }

    pub fn entry(&self, seq: u64) -> Result<RawEntry> {
        let size = self.size();
        self.read(seq).next_raw()?.ok_or(Error::NoSuchEntry { seq, size })
    }

    /// The text of a blob entry.
    pub fn text(&self, seq: u64) -> Result<Vec<u8>> {
        let vault = self.inner.writer.desk.vault.as_ref().ok_or(Error::NoVault)?;
        let (mut entries, size) = (self.read(seq), self.size());
        let entry = entries.next_raw()?.ok_or(Error::NoSuchEntry { seq, size })?.parse()?;
        self.inner.source.text_beside(entries.segment(), &entry, &lock(vault))
    }

    /// The sealed bytes of a blob entry, as they lie beside the log: for copies elsewhere, which nobody can open once the key is destroyed.
    pub fn sealed(&self, seq: u64) -> Result<Vec<u8>> {
        match self.entry(seq)?.parse()?.content {
            Stored::Blob(blob) => self.inner.source.sealed(seq, &blob),
            Stored::Body(_) => Err(no_blob(seq)),
        }
    }

    /// The text of such a copy, while its key exists.
    pub fn unseal(&self, seq: u64, sealed: &[u8]) -> Result<Vec<u8>> {
        let vault = self.inner.writer.desk.vault.as_ref().ok_or(Error::NoVault)?;
        let entry = self.entry(seq)?.parse()?;
        match &entry.content {
            Stored::Blob(blob) => lock(vault).unseal(&entry.origin, seq, &blob.name, sealed),
            Stored::Body(_) => Err(no_blob(seq)),
        }
    }

    /// Destroys the key of a blob for ever and writes down that it was done. Safe to repeat.
    pub fn erase(&self, seq: u64, actor: &Actor) -> Result<Appended> {
        let mut erased = self.erase_each(None, &[seq], actor)?;
        erased.pop().unwrap_or_else(|| unreachable!("one blob gives one entry"))
    }

    /// The same for several blobs, after an entry that says why. Where nothing can be written down, nothing is destroyed; whatever was
    /// written down is done.
    pub fn erase_because(&self, why: &Draft, seqs: &[u64], actor: &Actor) -> Result<()> {
        self.erase_each(Some(why), seqs, actor)?.into_iter().try_for_each(|one| one.map(drop))
    }

    /// The new vault is on the disk before anything is written down, and in its place after that. So a full disk and a full log refuse it,
    /// with every key where it was; what is written down and not done yet when a process is killed is done at the next start.
    fn erase_each(&self, why: Option<&Draft>, seqs: &[u64], actor: &Actor) -> Result<Vec<Result<Appended>>> {
        let vault = self.inner.writer.desk.vault.as_ref().ok_or(Error::NoVault)?;
        let erased = seqs.iter().map(|seq| self.draft_erased(*seq, actor)).collect::<Result<Vec<_>>>()?;
        let _one_at_a_time = lock(&self.inner.erasing);
        let there: Vec<bool> = seqs.iter().map(|seq| !lock(vault).is_erased(*seq)).collect();
        let erasure = lock(vault).prepare_erasure(seqs)?;
        let drafts: Vec<Draft> = why.into_iter().chain(&erased).cloned().collect();
        let mut appended = self.append_many(&drafts)?;
        // It was written down before and then not done: what is done now is written down again.
        let first = appended.len() - seqs.len();
        for (n, draft) in erased.into_iter().enumerate().filter(|(n, _)| there[*n]) {
            if appended[first + n].as_ref().is_ok_and(|one| one.repeated) {
                appended[first + n] = self.append(&Draft { key: None, ..draft });
            }
        }
        let of: Vec<u64> = appended.iter().flatten().map(|one| one.seq).collect();
        if let Some(erasure) = erasure.filter(|_| !of.is_empty()) {
            self.complete(vault, erasure, (&of, seqs), actor)?;
        }
        Ok(appended)
    }

    fn draft_erased(&self, seq: u64, actor: &Actor) -> Result<Draft> {
        let entry = self.entry(seq)?.parse()?;
        let Stored::Blob(blob) = &entry.content else {
            return Err(Error::Setting { name: "seq", why: format!("entry {seq} has no blob to erase") });
        };
        let body = json!({"seq": seq, "name": blob.name.to_string()});
        let mut draft = own_draft(&kinds::BLOB_ERASED, actor.clone(), body)?;
        draft.cause = Some(seq);
        draft.key = format!("erased:{seq}").parse().ok();
        Ok(draft.reserved())
    }

    /// Where the keys are still there afterwards, the log says so.
    fn complete(
        &self,
        vault: &Mutex<Vault>,
        erasure: Erasure,
        (of, seqs): (&[u64], &[u64]),
        actor: &Actor,
    ) -> Result<()> {
        let mut keys = lock(vault);
        let completed = keys.complete(erasure);
        let kept: Vec<u64> = seqs.iter().copied().filter(|seq| !keys.is_erased(*seq)).collect();
        drop(keys);
        if !kept.is_empty() {
            let body = json!({"of": of, "seqs": kept});
            self.append(&own_draft(&kinds::BLOB_KEPT, actor.clone(), body)?.reserved())?;
        }
        completed
    }

    /// Ends an erasure that was cut short: it is completed where the log says that it was done, and else taken back.
    fn end_interrupted_erasure(&self) -> Result<()> {
        let Some(vault) = &self.inner.writer.desk.vault else { return Ok(()) };
        let Some(erasure) = lock(vault).interrupted() else { return Ok(()) };
        let oldest = self.layout().segments()?.first().copied().unwrap_or(0);
        let mut said = false;
        for raw in self.read(self.size().saturating_sub(WINDOW).max(oldest)) {
            let entry = raw?.parse()?;
            let Stored::Body(body) = &entry.content else { continue };
            if entry.kind.as_str() != kinds::BLOB_ERASED.name || entry.origin != *self.origin() {
                continue;
            }
            let seq = body.get("seq").and_then(serde_json::Value::as_u64);
            said |= seq.is_some_and(|seq| erasure.erases(seq) && !lock(vault).is_erased(seq));
        }
        if said { lock(vault).complete(erasure) } else { Ok(()) }
    }

    /// Signs a checkpoint over everything that is there now.
    pub fn checkpoint(&self) -> Result<SignedCheckpoint> {
        let record = self
            .inner
            .writer
            .desk
            .notary
            .checkpoint()
            .map_err(|why| Error::Io(std::io::Error::other(why)))?;
        let checkpoint = open::checkpoint_of(&record)
            .ok_or_else(|| Error::damaged("a checkpoint", 0, None, "it does not read back"))?;
        Ok(SignedCheckpoint { checkpoint, note: record.note })
    }

    /// Returns when every checkpoint and seal that is due is durable.
    pub fn settle(&self) -> Result<()> {
        self.inner.writer.desk.notary.settle().map_err(|why| Error::Io(std::io::Error::other(why)))
    }

    /// Closes the segment being written and begins the next, as size or age would.
    pub fn rotate(&self) -> Result<()> {
        let mut turn = lock(&self.inner.writer.turn);
        if let Some(why) = &turn.stopped {
            return Err(Error::Stopped { why: why.clone() });
        }
        if turn.active.end() == 0 {
            return Ok(());
        }
        turn.rotate(&self.inner.writer.desk)
    }

    /// Proves that entry `seq` is in the log of `size` entries, which a checkpoint must have covered.
    pub fn prove_inclusion(&self, seq: u64, size: u64) -> Result<Vec<Hash>> {
        self.within_checkpoint(seq.checked_add(1), size)?;
        Ok(prove_inclusion(&self.rows()?, seq, size)?)
    }

    /// Proves that the log of `old` entries is the beginning of the log of `new` entries.
    pub fn prove_consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>> {
        self.within_checkpoint(Some(old), new)?;
        Ok(prove_consistency(&self.rows()?, old, new)?)
    }

    /// The root of the log of `size` entries, which a checkpoint must have covered.
    pub(crate) fn root_at(&self, size: u64) -> Result<Hash> {
        self.within_checkpoint(Some(size), size)?;
        Ok(self.rows()?.frontier(size)?.root())
    }

    fn rows(&self) -> Result<Rows> {
        Ok(Rows::open_read_only(&self.inner.writer.desk.layout.tree())?)
    }

    fn within_checkpoint(&self, part: Option<u64>, size: u64) -> Result<()> {
        let covered = self.inner.writer.desk.notary.state().latest.map_or(0, |r| r.size);
        match part {
            Some(part) if part <= size && size <= covered => Ok(()),
            _ => Err(Error::NoSuchEntry { seq: size, size: covered }),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.writer.desk.layout
    }

    /// Idempotency keys of the last entries are read when the first keyed append comes.
    fn load_recent_keys(&self) -> Result<()> {
        let mut turn = lock(&self.inner.writer.turn);
        if turn.recent.loaded {
            return Ok(());
        }
        let window = turn.next_seq.saturating_sub(WINDOW);
        // On a quiet host part of the window has left for the archive. Where that cannot be reached, a key that
        // is only there counts as forgotten: better to write twice than not at all.
        turn.recent = match self.keys_from(window) {
            Ok(keys) => keys,
            Err(Error::Gone { .. } | Error::Io(_)) => {
                let oldest = self.inner.writer.desk.layout.segments()?.first().copied().unwrap_or(0);
                self.keys_from(window.max(oldest))?
            }
            Err(e) => return Err(e),
        };
        Ok(())
    }

    fn keys_from(&self, seq: u64) -> Result<RecentKeys> {
        let mut found = RecentKeys::loading();
        for raw in self.read(seq) {
            let entry = raw?.parse()?;
            if let Some(key) = entry.key {
                found.insert(key, entry.seq);
            }
        }
        Ok(found)
    }

    fn note_what_was_set_aside(&self) -> Result<()> {
        let Some(torn) = &self.inner.report.torn else {
            return Ok(());
        };
        let kept_in = torn.kept_in.file_name().map(|n| n.to_string_lossy().into_owned());
        let body =
            json!({"segment": torn.segment, "offset": torn.offset, "bytes": torn.bytes, "kept_in": kept_in});
        let Ok(actor) = "holdfast".parse() else {
            return Ok(());
        };
        match self.append(&own_draft(&kinds::TAIL_SET_ASIDE, actor, body)?) {
            // No room to say so in the log; the report and the file say it, and reading must not wait for room.
            Err(Error::DiskFull { .. } | Error::CapReached { .. }) => Ok(()),
            noted => noted.map(drop),
        }
    }
}

/// A draft of one of the journal's own kinds.
pub(crate) fn own_draft(def: &KindDef, actor: Actor, body: serde_json::Value) -> Result<Draft> {
    let kind = def.name.parse().map_err(|_| Error::Setting { name: "kind", why: def.name.to_owned() })?;
    let serde_json::Value::Object(body) = body else {
        return Err(Error::Setting { name: "body", why: "it is an object".to_owned() });
    };
    Ok(Draft { version: def.version, ..Draft::new(kind, actor, Trust::Trusted, body) })
}

impl Drop for Inner {
    fn drop(&mut self) {
        // First whoever writes, then whoever follows: the notary must see the last entry.
        self.writer.line.close();
        join(&self.clerk);
        self.writer.desk.durable.close();
        self.writer.desk.notary.stop();
        join(&self.notary_thread);
    }
}

/// Waits for a thread to end. A panic in it has been shown on stderr; everything acknowledged is durable anyway.
fn join(thread: &Mutex<Option<JoinHandle<()>>>) {
    if let Some(thread) = lock(thread).take() {
        // The last handle may have been dropped by a task that the clerk itself woke: it cannot wait for itself.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

fn no_blob(seq: u64) -> Error {
    Error::Setting { name: "seq", why: format!("entry {seq} has a body and no blob") }
}
