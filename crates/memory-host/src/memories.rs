//! The memory of all agents of one home, open for work: what is captured goes to the journal, and what the journal says goes to the
//! space of whom it is about.
//!
//! A capture returns when it is durable and waits for no index: the spaces catch up when somebody next looks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use holdfast_embed::{EmbedError, Model};
use holdfast_journal::{Appended, Journal};
use holdfast_memory::MemoryId;
use holdfast_memory::event::{Blocked, Event, Rejected};
use holdfast_memory::{Accepted, Considered, Redactor, consider};
use holdfast_memory::{Draft, Entry, Mark, Origin, Provenance, Span, Stamp};
use holdfast_memory::{Gates, Refusal};
use holdfast_types::{Actor, AgentId, Clock, Key, KindDef, Trust};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::follow::{Meaning, Met, concerns_memory, meaning};
use crate::sealed;
use crate::space::{Happened, Space, embedded};
use crate::table::{Counted, Row};
use crate::usage::Tracked;

/// Entries that a space takes in at once.
const BATCH: usize = 512;

/// How far the spaces had come when they were last written out.
const FOLLOWED: &str = "followed.json";

/// A space was begun.
pub const SPACE_OPENED: KindDef = KindDef {
    name: "memory.space.opened",
    version: 1,
    when: "An agent captured something for the first time.",
    fields: &[("name", "what people call the agent")],
};

/// What the memory of a home is opened with.
pub struct Options {
    pub journal: Journal,
    /// A folder of its own.
    pub folder: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub redactor: Arc<dyn Redactor + Send + Sync>,
    pub gates: Gates,
    /// Without one there are words and no vectors. It may be lent later, and taken back ([`Memories::lend`]).
    pub model: Option<Arc<Model>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// All spaces of a home.
#[derive(Debug)]
pub struct Memories {
    pub(crate) options: Options,
    model: RwLock<Option<Arc<Model>>>,
    /// Why the model was given back, until somebody asks.
    failed: Mutex<Option<EmbedError>>,
    /// Written to for moments only, so that a search waits for no run and for no embedding.
    inner: RwLock<Inner>,
    /// The newest id of each space. Apart, so that a capture waits for nobody who searches or consolidates.
    numbers: Mutex<BTreeMap<AgentId, Option<MemoryId>>>,
    /// How full each agent's context is.
    pub(crate) contexts: Mutex<BTreeMap<AgentId, Tracked>>,
    /// Held by whoever decides what stays: a run, an import, a forgetting. Two at once would decide about the same memory.
    deciding: Mutex<()>,
    /// Held by whoever embeds some: two at once would embed the same.
    embedding: Mutex<()>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) spaces: BTreeMap<AgentId, Space>,
    /// The first entry of the journal that was not looked at.
    applied: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Followed {
    applied: u64,
    spaces: Vec<AgentId>,
}

/// Who captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    pub actor: Actor,
    /// For whom the agent works.
    pub owner: Actor,
    pub trust: Trust,
}

/// Something that a memory was made from: an entry of the journal, or a part of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub seq: u64,
    pub span: Option<Span>,
}

/// What became of a capture.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Captured(Captured),
    /// The guard lets nothing of it through.
    Blocked {
        reason: &'static str,
    },
    Rejected(Refusal),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    pub id: MemoryId,
    pub seq: u64,
    /// The same key was used before: this is what was captured then.
    pub repeated: bool,
    pub marks: Vec<Mark>,
    pub warnings: Vec<Refusal>,
}

impl Memories {
    /// Opens every space there is and brings it up to date. What is missing or damaged is made again from the journal.
    pub fn open(mut options: Options) -> Result<Memories> {
        let model = RwLock::new(options.model.take());
        holdfast_durable::create_dir(&options.folder)
            .map_err(|source| Error::File { path: options.folder.clone(), source })?;
        let mut inner = Inner::open(&options)?;
        inner.catch_up(&options)?;
        let numbers = inner.spaces.iter().map(|(agent, space)| (*agent, space.last_id)).collect();
        let memories = Memories {
            options,
            model,
            inner: RwLock::new(inner),
            numbers: Mutex::new(numbers),
            contexts: Mutex::default(),
            failed: Mutex::default(),
            deciding: Mutex::default(),
            embedding: Mutex::default(),
        };
        memories.finish_forgetting()?;
        memories.finish_scrubbing()?;
        Ok(memories)
    }

    /// Remembers something. It is durable when this returns.
    pub fn capture(&self, agent: &AgentName, draft: Draft, by: &By, key: Option<Key>) -> Result<Outcome> {
        self.capture_from(agent, draft, by, &[], key)
    }

    /// The same, of something that was made from entries of the journal. It is trusted no further than any of them.
    pub fn capture_from(
        &self,
        agent: &AgentName,
        draft: Draft,
        by: &By,
        from: &[Passage],
        key: Option<Key>,
    ) -> Result<Outcome> {
        let source = draft.source;
        match consider(draft, self.options.redactor.as_ref(), &self.options.gates) {
            Considered::Accepted(accepted) => {
                let is_keyed = accepted.draft.body.record.key().is_some();
                let captured = self.write_down(agent, *accepted, by, from, key)?;
                // Somebody who decides at this moment holds up no capture; the next run sees what was replaced.
                if is_keyed && let Ok(_one) = self.deciding.try_lock() {
                    self.supersede(agent)?;
                }
                Ok(Outcome::Captured(captured))
            }
            Considered::Rejected(refusal) => {
                let event = Event::Rejected(Rejected { source, refusal });
                self.note(agent, &event, by)?;
                Ok(Outcome::Rejected(refusal))
            }
            Considered::Blocked { reason } => {
                self.note(agent, &Event::Blocked(Blocked { reason: reason.to_owned() }), by)?;
                Ok(Outcome::Blocked { reason })
            }
            Considered::TooLong(error) => Err(Error::Text(error)),
        }
    }

    fn write_down(
        &self,
        agent: &AgentName,
        accepted: Accepted,
        by: &By,
        from: &[Passage],
        key: Option<Key>,
    ) -> Result<Captured> {
        let origins = from.iter().map(|passage| self.origin(passage)).collect::<Result<Vec<Origin>>>()?;
        let provenance = accepted.provenance(Provenance::new(by.actor.clone(), by.trust, origins)?);
        let (marks, warnings) = (accepted.marks, accepted.warnings);
        let id = self.next_id(agent)?;
        let stamp = Stamp {
            id,
            at: self.options.clock.now(),
            agent: agent.id(),
            owner: by.owner.clone(),
            provenance,
            marks: marks.clone(),
        };
        let entry = accepted.draft.stamped(stamp);
        let Appended { seq, repeated, .. } = self.options.journal.append(&sealed::captured(&entry, key)?)?;
        if !repeated {
            return Ok(Captured { id, seq, repeated, marks, warnings });
        }
        let first = sealed::opened(seq, &self.options.journal.text(seq)?)?;
        Ok(Captured { id: first.id(), seq, repeated, marks: first.header.marks, warnings: Vec::new() })
    }

    /// What is taken over from an entry is how far it was trusted, which counts all that was before it.
    fn origin(&self, passage: &Passage) -> Result<Origin> {
        let trust = self.options.journal.entry(passage.seq)?.parse()?.trust;
        Ok(Origin { seq: passage.seq, span: passage.span, trust })
    }

    /// The next id of a space, which is begun if need be.
    pub(crate) fn next_id(&self, agent: &AgentName) -> Result<MemoryId> {
        let now = self.options.clock.now();
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match numbers.get(&agent.id()) {
            Some(last) => *last,
            None => {
                self.inner_mut().begin(agent, &self.options)?;
                None
            }
        };
        let next = MemoryId::following(last, now).ok_or(Error::Numbers)?;
        numbers.insert(agent.id(), Some(next));
        Ok(next)
    }

    fn note(&self, agent: &AgentName, event: &Event, by: &By) -> Result<Appended> {
        Ok(self.options.journal.append(&sealed::happened(event, by.actor.clone(), agent.id())?)?)
    }

    /// The text of a memory and what is known about it; none when it was forgotten.
    pub(crate) fn entry(&self, seq: u64) -> Result<Option<Entry>> {
        read_entry(&self.options.journal, seq)
    }

    /// The spaces as the journal has them now, to look at.
    pub(crate) fn caught_up(&self) -> Result<RwLockReadGuard<'_, Inner>> {
        let inner = self.inner();
        if inner.applied >= self.options.journal.size() {
            return Ok(inner);
        }
        drop(inner);
        drop(self.caught_up_mut()?);
        Ok(self.inner())
    }

    /// The same, to change: for a moment, since everybody else waits.
    pub(crate) fn caught_up_mut(&self) -> Result<RwLockWriteGuard<'_, Inner>> {
        let mut inner = self.inner_mut();
        inner.catch_up(&self.options)?;
        Ok(inner)
    }

    /// The right to decide, which one has at a time.
    pub(crate) fn deciding(&self) -> MutexGuard<'_, ()> {
        // It guards no value.
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the model, or takes it back. Without one a search goes by words alone.
    pub fn lend(&self, model: Option<Arc<Model>>) {
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = model;
    }

    /// What a model says, or nothing where it fails: then it is given back, and it goes by words until one is lent again. A text that is too
    /// long for any model is the caller's to mend.
    pub(crate) fn or_by_words<T>(&self, said: Result<T>) -> Result<Option<T>> {
        match said {
            Ok(said) => Ok(Some(said)),
            Err(Error::Embedding(e)) if !matches!(e, EmbedError::TooLong { .. }) => {
                self.lend(None);
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Why the model that was lent is not used any more, where it has failed since this was last asked.
    pub fn model_failed(&self) -> Option<EmbedError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn model(&self) -> Option<Arc<Model>> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Names and ids of all who remember something.
    pub fn agents(&self) -> Result<Vec<(String, AgentId)>> {
        let inner = self.caught_up()?;
        let named =
            |space: &Space| Ok((space.table.name()?.unwrap_or_else(|| space.agent.to_string()), space.agent));
        inner.spaces.values().map(named).collect()
    }

    /// Where an agent's memories stand, by count.
    pub fn counted(&self, agent: &AgentName) -> Result<Counted> {
        self.caught_up()?.space_of(agent)?.table.counted()
    }

    /// What an agent ever captured, from a place in the journal on, forgotten ones too: those have a place and nothing else.
    pub fn rows(&self, agent: &AgentName, from: u64, limit: usize) -> Result<Vec<Row>> {
        self.caught_up()?.space_of(agent)?.table.rows(from, limit)
    }

    /// How many of one agent have no vector yet.
    pub fn without_vector_of(&self, agent: &AgentName) -> Result<u64> {
        self.caught_up()?.space_of(agent)?.table.pending_count()
    }

    /// How many have no vector yet.
    pub fn without_vector(&self) -> Result<u64> {
        let inner = self.caught_up()?;
        inner.spaces.values().map(|space| space.table.pending_count()).sum()
    }

    /// Gives vectors to what has none, a few at a time; how many are left is returned.
    pub fn embed_some(&self) -> Result<u64> {
        let Some(model) = self.model() else { return Ok(0) };
        let agents: Vec<AgentId> = self.caught_up()?.spaces.keys().copied().collect();
        for agent in agents {
            if self.or_by_words(self.embed_some_of(agent, &model))?.is_none() {
                return Ok(0);
            }
        }
        self.without_vector()
    }

    /// Gives vectors to some of a space that have none; how many is returned. Nobody waits while it computes.
    pub(crate) fn embed_some_of(&self, agent: AgentId, model: &Model) -> Result<usize> {
        let _one = self.embedding.lock().unwrap_or_else(PoisonError::into_inner);
        let seqs = match self.caught_up()?.spaces.get(&agent) {
            Some(space) => space.pending()?,
            None => return Ok(0),
        };
        let mut found = Vec::with_capacity(seqs.len());
        for seq in &seqs {
            found.extend(self.entry(*seq)?.map(|entry| (*seq, entry)));
        }
        let vectors = embedded(model, &found)?;
        let mut inner = self.caught_up_mut()?;
        if let Some(space) = inner.spaces.get_mut(&agent) {
            space.take_vectors(&seqs, &vectors)?;
        }
        Ok(seqs.len())
    }

    /// Work for a quiet moment. Says whether there was any.
    pub fn tend(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let agents: Vec<AgentId> = self.caught_up()?.spaces.keys().copied().collect();
        let mut any = false;
        for agent in agents {
            any |= self.inner().spaces.get(&agent).map_or(Ok(false), Space::tend_words)?;
            any |= self.tend_vectors(agent, go_on)?;
        }
        Ok(any)
    }

    /// Makes the index of vectors anew where that is worth while. Searches and captures go on meanwhile.
    fn tend_vectors(&self, agent: AgentId, go_on: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let begun = match self.inner_mut().spaces.get_mut(&agent) {
            Some(space) if space.vectors.wants_rebuild() => space.vectors.begin_rebuild(),
            _ => return Ok(false),
        };
        let rebuilt = match begun.and_then(|begun| begun.run(std::num::NonZeroUsize::MIN, go_on)) {
            // Somebody else is at it, or wants to stop: the next quiet moment is soon enough.
            Err(holdfast_vectors::Error::Stopped | holdfast_vectors::Error::Rebuilding) => return Ok(false),
            rebuilt => rebuilt?,
        };
        if let Some(space) = self.inner_mut().spaces.get_mut(&agent) {
            space.vectors.adopt(rebuilt)?.shred()?;
        }
        Ok(true)
    }

    /// Writes out what is only in memory, so that the next start has nothing to replay.
    pub fn flush(&self) -> Result<()> {
        let inner = self.caught_up()?;
        inner.flush(&self.options.folder)
    }

    /// The spaces as they were last brought up to date.
    pub(crate) fn inner(&self) -> RwLockReadGuard<'_, Inner> {
        // What a panic left half done is a projection, and the next look goes on from what it had applied.
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner_mut(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn read_entry(journal: &Journal, seq: u64) -> Result<Option<Entry>> {
    match journal.text(seq) {
        Ok(text) => Ok(Some(sealed::opened(seq, &text)?)),
        Err(holdfast_journal::Error::Erased { .. }) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

impl Inner {
    fn open(options: &Options) -> Result<Inner> {
        let followed = followed(&options.folder);
        let mut spaces = BTreeMap::new();
        for agent in folders(&options.folder)? {
            let space = Space::open(&folder_of(&options.folder, agent), agent, options.clock.as_ref())?;
            spaces.insert(agent, space);
        }
        let all_there = followed.spaces.iter().all(|agent| spaces.contains_key(agent));
        let mut applied = if all_there { followed.applied } else { 0 };
        for space in spaces.values() {
            applied = applied.min(space.applied()?);
        }
        Ok(Inner { spaces, applied: applied.min(options.journal.size()) })
    }

    /// The first entry of the journal that was not looked at.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    pub(crate) fn space_of(&self, agent: &AgentName) -> Result<&Space> {
        self.spaces.get(&agent.id()).ok_or_else(|| Error::NoSpace(agent.to_string()))
    }

    fn begin(&mut self, agent: &AgentName, options: &Options) -> Result<()> {
        let id = agent.id();
        let body = json!({"name": agent.as_str()});
        let serde_json::Value::Object(body) = body else { return Ok(()) };
        let draft = sealed::opened_space(SPACE_OPENED.name, id, body)?;
        options.journal.append(&draft)?;
        self.space(id, options)?.table.write(|pen| pen.call(agent.as_str()))
    }

    fn space(&mut self, agent: AgentId, options: &Options) -> Result<&mut Space> {
        match self.spaces.entry(agent) {
            Slot::Occupied(space) => Ok(space.into_mut()),
            Slot::Vacant(place) => {
                let folder = folder_of(&options.folder, agent);
                Ok(place.insert(Space::open(&folder, agent, options.clock.as_ref())?))
            }
        }
    }

    fn catch_up(&mut self, options: &Options) -> Result<()> {
        if self.applied >= options.journal.size() {
            return Ok(());
        }
        let mut entries = options.journal.read(self.applied);
        let mut batch: BTreeMap<AgentId, Vec<(u64, holdfast_types::Timestamp, Happened)>> = BTreeMap::new();
        let (mut waiting, mut upto) = (0, self.applied);
        while let Some(raw) = entries.next_raw()? {
            upto = raw.seq + 1;
            if !concerns_memory(&raw.line) {
                continue;
            }
            let line = raw.parse()?;
            if line.kind.as_str() == SPACE_OPENED.name {
                self.called(&line, options)?;
                continue;
            }
            let Some(Met { seq, at, what }) = meaning(&options.journal, line)? else { continue };
            match what {
                Meaning::Of { agent, what } => batch.entry(agent).or_default().push((seq, at, what)),
                Meaning::Erased { seq: erased } => {
                    for (agent, space) in &self.spaces {
                        let waits = |it: &(u64, holdfast_types::Timestamp, Happened)| it.0 == erased;
                        let here = space.table.row(erased)?.is_some()
                            || batch.get(agent).is_some_and(|b| b.iter().any(waits));
                        if here {
                            batch.entry(*agent).or_default().push((
                                seq,
                                at,
                                Happened::Erased { seq: erased },
                            ));
                        }
                    }
                }
            }
            waiting += 1;
            if waiting >= BATCH {
                self.take_in(&mut batch, upto, options)?;
                waiting = 0;
            }
        }
        self.take_in(&mut batch, upto, options)
    }

    fn take_in(
        &mut self,
        batch: &mut BTreeMap<AgentId, Vec<(u64, holdfast_types::Timestamp, Happened)>>,
        upto: u64,
        options: &Options,
    ) -> Result<()> {
        for (agent, entries) in std::mem::take(batch) {
            self.space(agent, options)?.take_in(&entries, upto)?;
        }
        self.applied = upto;
        Ok(())
    }

    fn called(&mut self, line: &holdfast_journal::Entry, options: &Options) -> Result<()> {
        let (Some(holdfast_journal::Subject::Agent(agent)), holdfast_journal::Stored::Body(body)) =
            (&line.subject, &line.content)
        else {
            return Ok(());
        };
        let name = body.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        self.space(*agent, options)?.table.write(|pen| pen.call(name))
    }

    fn flush(&self, folder: &Path) -> Result<()> {
        for space in self.spaces.values() {
            space.table.write(|pen| pen.advance(self.applied))?;
            space.words.advance(self.applied);
            space.flush()?;
        }
        let followed = Followed { applied: self.applied, spaces: self.spaces.keys().copied().collect() };
        let text = serde_json::to_vec(&followed).map_err(|source| Error::Sealing { source })?;
        let path = folder.join(FOLLOWED);
        holdfast_durable::replace(&path, &text, holdfast_durable::Mode::Private)
            .map_err(|source| Error::File { path, source })
    }
}

pub(crate) fn folder_of(root: &Path, agent: AgentId) -> PathBuf {
    root.join(agent.to_string())
}

fn folders(root: &Path) -> Result<Vec<AgentId>> {
    let failed = |source| Error::File { path: root.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        found.extend(name.to_str().and_then(|name| name.parse::<AgentId>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// One that is missing or cannot be read means that nothing is known, and everything is looked at again.
fn followed(root: &Path) -> Followed {
    let text = std::fs::read(root.join(FOLLOWED)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
