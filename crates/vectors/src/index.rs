//! The index: opening it, putting in, forgetting, and switching to what a rebuild made.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use crate::aside::Aside;
use crate::base::Base;
use crate::beam::Beam;
use crate::current::Current;
use crate::error::Error;
use crate::files::{self, Retired};
use crate::key::Key;
use crate::layout::ROWS_MAX;
use crate::log::{HEAD_BYTES, Log, Record, Told};
use crate::model::Model;
use crate::rebuild::{From, Item, Rebuild, Rebuilt, Snapshot, lock};
use crate::search::EXACT_MAX;
use crate::tail::Tail;
use crate::vector::Vector;

/// Vectors in the log at which a rebuild is worth while: a small index is not rebuilt for little, ...
const TAIL_SMALL: usize = 4096;
/// ... and a great one not put off until opening (which reads the log) and searching (which scans the tail) would notice.
const TAIL_GREAT: usize = 32_768;

/// The part of the base's rows that may have come or gone since before a rebuild is worth while.
const CHANGED_PART: usize = 8;

/// The vectors of one space, in one folder.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    /// Held for as long as the index is open.
    _lock: File,
    current: Current,
    pub(crate) base: Option<Base>,
    pub(crate) log: Log,
    pub(crate) tail: Tail,
    applied: Option<u64>,
    rebuild: Weak<Mutex<Aside>>,
    retired: Retired,
    unwiped: Unwiped,
    pub(crate) beams: Mutex<Vec<Beam>>,
}

/// What is forgotten and where it still is.
#[derive(Debug, Default)]
struct Unwiped {
    keys: Vec<Key>,
    rows: Vec<u32>,
    places: Vec<u64>,
}

/// How much there is of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Vectors that count.
    pub vectors: usize,
    /// Of them, those in the log.
    pub tail: usize,
    /// Rows of the base that no longer count.
    pub dead: usize,
    /// Whether there is a graph.
    pub graph: bool,
    /// Bytes on the disk.
    pub bytes: u64,
}

impl Index {
    /// Opens the index in a folder, or makes a new one there. What an interrupted change left is brought to its end first.
    pub fn open(folder: &Path, model: Model) -> Result<Index, Error> {
        holdfast_durable::create_dir(folder)?;
        let lock = hold(folder)?;
        let current = match Current::read(folder)? {
            Some(current) if current.model != model => return Err(Error::OtherModel),
            Some(current) => current,
            None => begin(folder, model)?,
        };
        for stray in files::strays(folder, Some(current.generation))? {
            files::shred(&stray)?;
        }
        let state = State::load(folder, &current)?;
        Ok(Index {
            folder: folder.to_owned(),
            _lock: lock,
            current,
            base: state.base,
            log: state.log,
            tail: state.tail,
            applied: state.applied,
            rebuild: Weak::new(),
            retired: Retired::default(),
            unwiped: Unwiped::default(),
            beams: Mutex::default(),
        })
    }

    /// Throws away the index in a folder, which must not be open: to be made again when it is damaged or of another model.
    pub fn discard(folder: &Path) -> Result<(), Error> {
        holdfast_durable::create_dir(folder)?;
        let _lock = hold(folder)?;
        // First, so that a kill leaves what is refused and not what seems whole.
        holdfast_durable::remove(&crate::current::path(folder))?;
        files::strays(folder, None)?.iter().try_for_each(|stray| files::shred(stray))
    }

    /// Puts vectors in, in place of what their keys had. One write, which waits for no disk: it outlives the process, and after a power cut
    /// [`Index::applied`] says what to put in again.
    pub fn put(&mut self, vectors: &[(Key, Vector)]) -> Result<(), Error> {
        let rows = self.tail.rows() as usize + self.base.as_ref().map_or(0, |base| base.rows() as usize);
        if vectors.len() > ROWS_MAX.saturating_sub(rows) {
            return Err(Error::Full { max: ROWS_MAX });
        }
        let records: Vec<Record> =
            vectors.iter().map(|(key, vector)| Record::Put { key: *key, vector: vector.clone() }).collect();
        let places = self.log.add(&records)?;
        for ((key, vector), place) in vectors.iter().zip(places) {
            self.tail.put(*key, place, vector);
            bury(&mut self.base, *key);
        }
        Ok(())
    }

    /// Forgets these keys: they are never found again, and what was made of their vectors is zeros in every file, on the disk, when this
    /// returns. A kill in between is made good by the next opening. How many of them were there.
    pub fn forget(&mut self, keys: &[Key]) -> Result<usize, Error> {
        self.retired.shred()?;
        self.wipe()?;
        let mut keys: Vec<Key> = keys.iter().copied().filter(|key| self.holds(*key)).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Ok(0);
        }
        let records: Vec<Record> = keys.iter().map(|key| Record::Forget { key: *key }).collect();
        self.log.add(&records)?;
        // From here on a search does not find them, whatever fails below.
        self.unwiped.rows.extend(keys.iter().filter_map(|key| bury(&mut self.base, *key)));
        self.unwiped.places.extend(keys.iter().flat_map(|key| self.tail.forget(*key)));
        self.unwiped.keys.extend(&keys);
        self.log.sync()?;
        self.wipe()?;
        Ok(keys.len())
    }

    /// Forgets all pieces of an entry.
    pub fn forget_entry(&mut self, entry: u64) -> Result<usize, Error> {
        let mut keys: Vec<Key> = self.tail.keys_of_entry(entry).collect();
        if let Some(base) = &self.base {
            keys.extend(base.rows_of_entry(entry).map(|row| base.key(row)));
        }
        self.forget(&keys)
    }

    /// The entry up to which everything has been dealt with, as far as the index knows; put in what came after it.
    pub fn applied(&self) -> Option<u64> {
        self.applied
    }

    /// Notes that everything up to this entry has been dealt with.
    pub fn set_applied(&mut self, entry: u64) -> Result<(), Error> {
        self.log.add(&[Record::Applied { entry }])?;
        self.applied = Some(entry);
        Ok(())
    }

    /// Waits until what was put in would outlive a power cut.
    pub fn sync(&self) -> Result<(), Error> {
        self.log.sync()
    }

    /// Vectors that count.
    pub fn len(&self) -> usize {
        self.tail.live() + self.base.as_ref().map_or(0, Base::live)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn stats(&self) -> Result<Stats, Error> {
        let base_bytes =
            self.base.as_ref().map_or(Ok(0), |base| base.path().metadata().map(|file| file.len()))?;
        Ok(Stats {
            vectors: self.len(),
            tail: self.tail.live(),
            dead: self.base.as_ref().map_or(0, |base| base.rows() as usize - base.live()),
            graph: self.base.as_ref().is_some_and(|base| base.header().graph),
            bytes: base_bytes + self.log.end(),
        })
    }

    /// Reads everything and checks it against its checksums.
    pub fn verify(&self) -> Result<(), Error> {
        for row in (0..self.tail.rows()).filter(|row| !self.tail.is_dead(*row)) {
            self.log.vector(self.tail.key(row), self.tail.place(row))?;
        }
        self.base.as_ref().map_or(Ok(()), Base::verify)
    }

    /// Whether a rebuild is worth while, by how much came and went since the last.
    pub fn wants_rebuild(&self) -> bool {
        let (rows, live) = self.base.as_ref().map_or((0, 0), |base| (base.rows() as usize, base.live()));
        let tail_max = (rows / CHANGED_PART).clamp(TAIL_SMALL, TAIL_GREAT);
        self.tail.rows() as usize >= tail_max || (rows - live) * CHANGED_PART > rows
    }

    /// Takes down what a rebuild is to be made of. There is one at a time: dropping it gives it up.
    pub fn begin_rebuild(&mut self) -> Result<Rebuild, Error> {
        if self.rebuild.strong_count() > 0 {
            return Err(Error::Rebuilding);
        }
        // What an earlier rebuild could not shred would stand in the way.
        for stray in files::strays(&self.folder, Some(self.current.generation))? {
            files::shred(&stray)?;
        }
        let aside = Arc::new(Mutex::default());
        self.rebuild = Arc::downgrade(&aside);
        Ok(Rebuild {
            folder: self.folder.clone(),
            generation: self.current.generation + 1,
            model: self.current.model,
            base: self.base.as_ref().map(|base| (base.source(), base.header().clone())),
            log: self.log.source(),
            items: self.items(),
            aside,
            snapshot: Snapshot { log_end: self.log.end(), applied: self.applied },
            graph_beyond: EXACT_MAX,
        })
    }

    /// Switches to what a rebuild made. What was put in and forgotten since it was begun is kept. Give what comes back some time to shred the
    /// files that no longer count.
    pub fn adopt(&mut self, rebuilt: Rebuilt) -> Result<Retired, Error> {
        if self.rebuild.upgrade().is_none_or(|aside| !Arc::ptr_eq(&aside, &rebuilt.aside)) {
            return Err(Error::NotOurs);
        }
        self.wipe()?;
        let next = Current {
            generation: rebuilt.generation,
            model: self.current.model,
            base: lock(&rebuilt.aside).path().is_some(),
        };
        let log_path = files::log(&self.folder, next.generation);
        let switched = self.switch(&log_path, next, &rebuilt);
        match switched {
            Ok(state) => {
                lock(&rebuilt.aside).keep();
                self.retire(next, state);
                Ok(self.retired.clone())
            }
            Err(e) => {
                // The base goes as well, with `rebuilt`: should the switch be on the disk after all, it is refused there instead of counting
                // without what is forgotten from now on.
                let _ = files::shred(&log_path);
                Err(e)
            }
        }
    }

    /// Wipes what is forgotten and not wiped yet. What fails is tried again by the next call that forgets, and by the next opening.
    fn wipe(&mut self) -> Result<(), Error> {
        if let Some(aside) = self.rebuild.upgrade() {
            lock(&aside).forget(&self.unwiped.keys)?;
        }
        self.log.wipe(&self.unwiped.places)?;
        if let Some(base) = &mut self.base {
            base.wipe(&self.unwiped.rows)?;
        }
        self.unwiped = Unwiped::default();
        Ok(())
    }

    fn switch(&self, log_path: &Path, next: Current, rebuilt: &Rebuilt) -> Result<State, Error> {
        let Snapshot { log_end, applied } = rebuilt.snapshot;
        let records = self.log.moved(log_end, next.generation, applied)?;
        drop(Log::create(log_path.to_owned(), next.generation, &records)?);
        holdfast_durable::sync_dir(&self.folder)?;
        let state = State::load(&self.folder, &next)?;
        next.write(&self.folder)?;
        Ok(state)
    }

    fn retire(&mut self, next: Current, state: State) {
        let old = self.base.take().map(|base| base.path().to_owned());
        self.retired.add(old.into_iter().chain([self.log.path().to_owned()]));
        (self.current, self.base, self.log, self.tail) = (next, state.base, state.log, state.tail);
        self.applied = state.applied;
        self.rebuild = Weak::new();
        self.beams = Mutex::default();
    }

    fn items(&self) -> Vec<Item> {
        let mut items = Vec::with_capacity(self.len());
        if let Some(base) = &self.base {
            for row in (0..base.rows()).filter(|row| !base.is_dead(*row)) {
                let (at, crc) = base.vector_place(row);
                items.push(Item { key: base.key(row), at, from: From::Base { row, crc } });
            }
        }
        for row in (0..self.tail.rows()).filter(|row| !self.tail.is_dead(*row)) {
            items.push(Item { key: self.tail.key(row), at: self.tail.place(row), from: From::Log });
        }
        items
    }

    /// Whether there is anything of a key, also what was put again since.
    fn holds(&self, key: Key) -> bool {
        let in_base = |base: &Base| base.row_of(key).is_some_and(|row| !base.is_wiped(row));
        self.tail.holds(key) || self.base.as_ref().is_some_and(in_base)
    }
}

/// What is read of a generation.
struct State {
    base: Option<Base>,
    log: Log,
    tail: Tail,
    applied: Option<u64>,
}

impl State {
    /// Reads it, and wipes again what a kill may have kept from being wiped.
    fn load(folder: &Path, current: &Current) -> Result<State, Error> {
        let mut base = if current.base { Some(open_base(folder, current)?) } else { None };
        let (mut tail, mut applied, mut rows, mut places) = (Tail::default(), None, Vec::new(), Vec::new());
        let log = Log::open(files::log(folder, current.generation), current.generation, |told| match told {
            Told::Put { key, at, vector } => {
                bury(&mut base, key);
                match vector {
                    Some(vector) => tail.put(key, at, &vector),
                    None => tail.put_unreadable(key, at),
                }
            }
            Told::Forget { key } => {
                rows.extend(bury(&mut base, key));
                places.extend(tail.forget(key));
            }
            Told::Applied { entry } => applied = Some(entry),
        })?;
        log.wipe(&places)?;
        if let Some(base) = &mut base {
            base.wipe(&rows)?;
        }
        Ok(State { base, log, tail, applied })
    }
}

/// The row of a key in the base, which no longer counts.
fn bury(base: &mut Option<Base>, key: Key) -> Option<u32> {
    let base = base.as_mut()?;
    let row = base.row_of(key)?;
    base.bury(row);
    Some(row)
}

fn open_base(folder: &Path, current: &Current) -> Result<Base, Error> {
    let base = Base::open(files::base(folder, current.generation))?;
    if base.header().generation != current.generation || base.header().model != current.model {
        return Err(Error::damaged(base.path(), "it belongs to another index"));
    }
    Ok(base)
}

/// Makes the first generation. A kill while it was made the last time left at most a log without records.
fn begin(folder: &Path, model: Model) -> Result<Current, Error> {
    for stray in files::strays(folder, None)? {
        let log = stray.extension().is_some_and(|kind| kind == "log");
        if !stray.ends_with("CURRENT.new") && (!log || stray.metadata()?.len() > HEAD_BYTES) {
            return Err(Error::damaged(&crate::current::path(folder), "it is missing"));
        }
        files::shred(&stray)?;
    }
    let current = Current { generation: 1, model, base: false };
    drop(Log::create(files::log(folder, 1), 1, &[])?);
    current.write(folder)?;
    Ok(current)
}

fn hold(folder: &Path) -> Result<File, Error> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = folder.join("LOCK");
    let opened = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|e| holdfast_durable::while_doing("opening", &path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(e)) => Err(holdfast_durable::while_doing("locking", &path, e).into()),
    }
}
