//! Opens memory and its model when somebody wants them, and lets go of them when nobody has for a while: an idle daemon holds neither.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_embed::{EmbedError, MODEL_ID, Model, ModelError, WEIGHTS};
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, Memories, Options, SPACE_OPENED, Screened};
use holdfast_types::with_causes;
use tracing::{info, warn};

use crate::office::Office;
use crate::places::Places;
use crate::problem::Result;

/// How long memory and the model stay open unused. Reading the model takes some tenths of a second, which a person who thinks between two searches
/// should not wait for each time.
const MEMORY_IDLE: Duration = Duration::from_secs(600);
const MODEL_IDLE: Duration = Duration::from_secs(180);

/// A model that could not be used is looked at again after this: finding out reads all of it.
const MODEL_AGAIN: Duration = Duration::from_secs(60);

/// More threads hardly embed faster, and others want the processors too.
const THREADS_MAX: usize = 4;

/// What is open of memory.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    open: Mutex<Option<Open>>,
    model: Mutex<Shelf>,
    /// Something was changed that is not written out yet.
    dirty: AtomicBool,
}

#[derive(Debug)]
struct Open {
    memories: Arc<Memories>,
    wanted: Duration,
}

/// Where the model is.
#[derive(Debug, Default)]
enum Shelf {
    #[default]
    NotLooked,
    Read {
        model: Arc<Model>,
        folder: PathBuf,
        wanted: Duration,
    },
    /// It was there and could not be used.
    Useless {
        folder: PathBuf,
        at: Duration,
    },
}

impl Office {
    /// The memory of this home, opened if need be.
    pub(crate) fn memories(&self) -> Result<Arc<Memories>> {
        self.opened(true)
    }

    /// The same to look something up in: where nothing was ever remembered nothing is made for it.
    pub(super) fn memories_of(&self, agent: &AgentName) -> Result<Arc<Memories>> {
        match self.remembers_anything()? {
            true => self.memories(),
            false => Err(holdfast_memory_host::Error::NoSpace(agent.to_string()).into()),
        }
    }

    /// Whether there are memories, or the journal has some whose folder is gone.
    pub(super) fn remembers_anything(&self) -> Result<bool> {
        if self.has_memory_open() || self.house.places.memory().is_dir() {
            return Ok(true);
        }
        let kind = format!("\"kind\":\"{}\"", SPACE_OPENED.name);
        let mut entries = self.journal.read(0);
        while let Some(raw) = entries.next_raw()? {
            if raw.line.windows(kind.len()).any(|part| part == kind.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for whoever only looks whether there is something to do: that is no use of it.
    pub(super) fn memories_as_they_are(&self) -> Result<Arc<Memories>> {
        self.opened(false)
    }

    fn opened(&self, is_use: bool) -> Result<Arc<Memories>> {
        let now = self.clock.monotonic();
        let mut open = locked(&self.keeper.open);
        if let Some(open) = open.as_mut() {
            if is_use {
                open.wanted = now;
            }
            return Ok(open.memories.clone());
        }
        let memories = Arc::new(Memories::open(Options {
            journal: self.journal.clone(),
            folder: self.house.places.memory(),
            clock: self.clock.clone(),
            redactor: Arc::new(Screened(self.screen.clone())),
            gates: Gates::capture(),
            model: None,
        })?);
        *open = Some(Open { memories: memories.clone(), wanted: now });
        Ok(memories)
    }

    /// Lends the model, where there is one, to whoever searches or embeds.
    pub(super) fn with_meaning(&self, memories: Arc<Memories>) -> Arc<Memories> {
        memories.lend(self.model());
        memories
    }

    /// The model, read if need be; none where there is none that can be used.
    pub(crate) fn model(&self) -> Option<Arc<Model>> {
        let (now, folder) = (self.clock.monotonic(), self.model_folder());
        let mut shelf = locked(&self.keeper.model);
        match &mut *shelf {
            Shelf::Read { model, folder: from, wanted } if *from == folder => {
                *wanted = now;
                return Some(model.clone());
            }
            Shelf::Useless { folder: from, at } if *from == folder && now < *at + MODEL_AGAIN => return None,
            _ => {}
        }
        match Model::open(&folder) {
            Ok(model) => {
                let model = Arc::new(model.with_threads(threads()));
                *shelf = Shelf::Read { model: model.clone(), folder, wanted: now };
                Some(model)
            }
            // Whoever searches is told that it goes by words; that is enough.
            Err(ModelError::Missing { .. }) => None,
            Err(e) => {
                warn!(why = %e, "the embedding model cannot be used, so memory goes by words alone");
                *shelf = Shelf::Useless { folder, at: now };
                None
            }
        }
    }

    /// A model that failed while it was used is left alone for a while, and that is said.
    pub(super) fn note_model(&self, memories: &Memories) -> Option<EmbedError> {
        let failed = memories.model_failed()?;
        warn!(why = %with_causes(&failed), "the embedding model failed, so memory goes by words alone");
        *locked(&self.keeper.model) =
            Shelf::Useless { folder: self.model_folder(), at: self.clock.monotonic() };
        Some(failed)
    }

    pub(crate) fn model_folder(&self) -> PathBuf {
        let configured = self.config().config.memory.model.as_ref().map(|folder| folder.to_path_buf());
        model_folder(&self.house.places, configured)
    }

    /// From now on there is something to write out.
    pub(super) fn memory_changed(&self) {
        self.keeper.dirty.store(true, Ordering::SeqCst);
    }

    /// Whether memory is open.
    pub(super) fn has_memory_open(&self) -> bool {
        locked(&self.keeper.open).is_some()
    }

    /// Lets go of what nobody has wanted for a while.
    pub(super) fn let_go_of_memory(&self) {
        let now = self.clock.monotonic();
        let mut open = locked(&self.keeper.open);
        let mut shelf = locked(&self.keeper.model);
        if matches!(&*shelf, Shelf::Read { wanted, .. } if now >= *wanted + MODEL_IDLE) {
            if let Some(open) = open.as_ref() {
                open.memories.lend(None);
            }
            *shelf = Shelf::NotLooked;
            info!("the embedding model was let go, for want of use");
        }
        // Whoever still holds it is at work with it.
        let idle = |open: &Open| now >= open.wanted + MEMORY_IDLE && Arc::strong_count(&open.memories) == 1;
        if open.as_ref().is_some_and(idle) {
            self.keeper.write_out(open.as_ref());
            *open = None;
        }
    }

    /// Writes out what is only in memory, so that the next start has nothing to replay.
    pub(crate) fn write_out_memory(&self) {
        self.keeper.write_out(locked(&self.keeper.open).as_ref());
    }
}

impl Keeper {
    /// What could not be written out is replayed from the journal at the next start.
    fn write_out(&self, open: Option<&Open>) {
        if let Some(open) = open
            && self.dirty.swap(false, Ordering::SeqCst)
            && let Err(e) = open.memories.flush()
        {
            warn!(error = %e, "memory could not be written out; the next start replays it");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.write_out(open.as_ref());
    }
}

/// Where the model is looked for, and where it is put when it is nowhere: what the environment names, then what the configuration does, then the
/// state directory. A copy in this user's cache, which the tests of the project use too, serves where the state directory has none.
pub(crate) fn model_folder(places: &Places, configured: Option<PathBuf>) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = set("HOLDFAST_MODEL").or(configured) {
        return named;
    }
    let own = places.models().join(MODEL_ID);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let cached = cache.map(|cache| cache.join("holdfast/tools/models").join(MODEL_ID));
    match cached {
        Some(cached) if !has_weights(&own) && has_weights(&cached) => cached,
        _ => own,
    }
}

fn has_weights(folder: &Path) -> bool {
    folder.join(WEIGHTS.name).is_file()
}

fn threads() -> NonZero<usize> {
    let most = NonZero::new(THREADS_MAX).unwrap_or(NonZero::<usize>::MIN);
    std::thread::available_parallelism().map_or(NonZero::<usize>::MIN, |here| here.min(most))
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is put there in one step.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
