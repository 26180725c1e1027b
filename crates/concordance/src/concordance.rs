//! The index as its owner sees it: add, erase, search, tend.
//!
//! Two locks. `keeper` is for whoever changes files, one at a time; it may be held for as long as a merge takes. `view` is what searches
//! and additions look at; it is held for moments. The first is taken before the second, never the other way round.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::analyse::Walked;
use crate::error::Result;
use crate::filter::IdSet;
use crate::folder::Folder;
use crate::fresh::{Fresh, Terms};
use crate::gathered::Gathered;
use crate::manifest::Manifest;
use crate::merge::{self, Size};
use crate::score::Bm25;
use crate::segment::Segment;

/// A segment is written when so many entries are in none: a replay of them after a crash takes about a tenth of a second.
const FRESH_MAX: usize = 4096;

/// Or so many terms, for entries that are long.
const FRESH_TOKENS_MAX: usize = 1 << 19;

/// Which words stand in which entries.
#[derive(Debug)]
pub struct Concordance {
    bm25: Bm25,
    keeper: Mutex<Keeper>,
    view: RwLock<View>,
}

/// Whoever holds this changes files.
#[derive(Debug)]
struct Keeper {
    folder: Folder,
    manifest: Manifest,
}

/// What there is to search.
#[derive(Debug)]
pub(crate) struct View {
    /// Counts changes of `segments`: a search that meets an overwritten file looks whether it was replaced meanwhile.
    pub(crate) generation: u64,
    pub(crate) segments: Arc<[Arc<Segment>]>,
    /// Entries a segment is being written of, and up to where the journal is in them.
    pub(crate) sealed: Option<(Arc<Fresh>, u64)>,
    pub(crate) fresh: Fresh,
    applied: u64,
}

/// What became of an entry that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is found from now on.
    Found,
    /// It is found by its first words; there are more than are indexed.
    FoundByFirstWords,
    /// It has no words.
    NoWords,
    /// Its turn was before: a journal that is replayed adds nothing twice.
    Before,
}

/// What [`Concordance::tend`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tended {
    /// Entries that are now in a segment.
    pub written: usize,
    /// Segments that were made one.
    pub merged: usize,
}

impl Tended {
    /// Nothing was due.
    pub fn is_idle(self) -> bool {
        self == Tended::default()
    }
}

impl Concordance {
    /// Opens the index in a folder of its own, or makes a new one. What a crash left behind is cleared away.
    pub fn open(dir: &Path, bm25: Bm25) -> Result<Concordance> {
        Concordance::in_folder(Folder::own(dir)?, bm25)
    }

    /// Destroys whatever is in the folder and begins anew; the caller then replays the journal.
    pub fn renew(dir: &Path, bm25: Bm25) -> Result<Concordance> {
        let folder = Folder::own(dir)?;
        folder.clear()?;
        Concordance::in_folder(folder, bm25)
    }

    fn in_folder(folder: Folder, bm25: Bm25) -> Result<Concordance> {
        let manifest = folder.manifest()?;
        let segments = folder.segments(&manifest)?;
        let view = View {
            generation: 0,
            segments: segments.into_iter().map(Arc::new).collect(),
            sealed: None,
            fresh: Fresh::default(),
            applied: manifest.applied,
        };
        Ok(Concordance { bm25, keeper: Mutex::new(Keeper { folder, manifest }), view: RwLock::new(view) })
    }

    /// Every journal entry before this one was seen. After a crash it is [`Concordance::kept`] again, and the journal is replayed from there.
    pub fn applied(&self) -> u64 {
        self.look().applied
    }

    /// Every journal entry before this one is on the disk.
    pub fn kept(&self) -> u64 {
        self.keep().manifest.applied
    }

    /// How many entries can be found.
    pub fn len(&self) -> usize {
        let view = self.look();
        let sealed = view.sealed.as_ref().map_or(0, |(sealed, _)| sealed.len());
        view.segments.iter().map(|segment| segment.docs()).sum::<usize>() + sealed + view.fresh.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the text of the journal entry `seq`, which is found by this number. Entries come in the order of the journal. Nothing is written: call
    /// [`Concordance::tend`] now and then, from wherever it may take a while.
    pub fn add(&self, seq: u64, text: &str) -> Result<Added> {
        // Nothing could come after the last number there is, so it counts as seen.
        if seq < self.look().applied || seq == u64::MAX {
            return Ok(Added::Before);
        }
        let terms = Terms::of(text);
        loop {
            let mut view = self.change();
            if seq < view.applied {
                return Ok(Added::Before);
            }
            if !view.fresh.gathered.has_room(terms.len()) {
                drop(view);
                self.flush()?;
                continue;
            }
            view.applied = seq + 1;
            if terms.len() == 0 {
                return Ok(Added::NoWords);
            }
            view.fresh.push(seq, &terms);
            return Ok(if terms.walked == Walked::Cut { Added::FoundByFirstWords } else { Added::Found });
        }
    }

    /// Journal entries before `seq` that are no text were seen as well.
    pub fn advance(&self, seq: u64) {
        let mut view = self.change();
        view.applied = view.applied.max(seq);
    }

    /// Erases entries: when this returns, nothing of them is in any file, nor a word that only they had. Those that are not here are no error. How
    /// many were found is returned.
    ///
    /// Every segment that has one of them is written anew, so many at once cost little more than one.
    pub fn erase(&self, ids: &[u64]) -> Result<usize> {
        let goes: IdSet = ids.iter().copied().collect();
        let mut keeper = self.keep();
        let segments = Arc::clone(&self.look().segments);
        let hit = affected(&segments, &goes)?;
        let mut manifest = keeper.manifest.clone();
        let (mut rest, mut listed, mut found) = (Vec::new(), Vec::new(), 0);
        for (at, segment) in segments.iter().enumerate() {
            if !hit.contains(&at) {
                rest.push(Arc::clone(segment));
                listed.push(manifest.segments[at]);
                continue;
            }
            let mut gathered = Gathered::default();
            segment.gather_into(&mut gathered, &|id| !goes.contains(id))?;
            found += segment.docs() - gathered.len();
            if !gathered.is_empty() {
                let (segment, entry) = keeper.folder.write(&gathered, manifest.take_serial())?;
                rest.push(Arc::new(segment));
                listed.push(entry);
            }
        }
        manifest.segments = listed;
        if !hit.is_empty() {
            keeper.put(manifest)?;
        }
        self.install(rest, |view| {
            found += erase_fresh(&mut view.fresh, &goes);
            if let Some((sealed, applied)) = view.sealed.take() {
                let rest = sealed.without(&|id| goes.contains(id));
                found += sealed.len() - rest.len();
                view.sealed = Some((Arc::new(rest), applied));
            }
        });
        hit.iter().try_for_each(|at| keeper.folder.shred(&segments[*at]))?;
        Ok(found)
    }

    /// Does what is due: writes a segment when enough entries are in none, merges segments when there are many. To be called from a
    /// background thread until it has nothing to do; additions and searches go on meanwhile.
    pub fn tend(&self) -> Result<Tended> {
        let mut keeper = self.keep();
        let due = {
            let view = self.look();
            view.sealed.is_some()
                || view.fresh.len() >= FRESH_MAX
                || view.fresh.gathered.tokens.len() >= FRESH_TOKENS_MAX
        };
        let written = if due { self.write_out(&mut keeper)? } else { 0 };
        let merged = self.merge(&mut keeper)?;
        Ok(Tended { written, merged })
    }

    /// Writes what is in no segment yet, however little, and the progress: at an orderly end a replay is saved.
    pub fn flush(&self) -> Result<()> {
        let mut keeper = self.keep();
        // Once for what an earlier try left, once for the rest.
        self.write_out(&mut keeper)?;
        self.write_out(&mut keeper)?;
        let applied = self.look().applied;
        if keeper.manifest.applied < applied {
            let mut manifest = keeper.manifest.clone();
            manifest.applied = applied;
            keeper.put(manifest)?;
        }
        Ok(())
    }

    /// Reads every byte of every segment and says what is damaged.
    pub fn check(&self) -> Result<()> {
        let segments = Arc::clone(&self.look().segments);
        segments.iter().try_for_each(|segment| segment.check())
    }

    pub(crate) fn bm25(&self) -> Bm25 {
        self.bm25
    }

    pub(crate) fn look(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals what is fresh, unless an earlier try left something sealed, and makes a segment of it. How many entries were written.
    fn write_out(&self, keeper: &mut Keeper) -> Result<usize> {
        let Some((sealed, applied)) = self.seal() else { return Ok(0) };
        let mut manifest = keeper.manifest.clone();
        manifest.applied = applied;
        let mut segments = self.look().segments.to_vec();
        if sealed.len() > 0 {
            let (segment, listed) = keeper.folder.write(&sealed.gathered, manifest.take_serial())?;
            segments.push(Arc::new(segment));
            manifest.segments.push(listed);
        }
        keeper.put(manifest)?;
        self.install(segments, |view| view.sealed = None);
        Ok(sealed.len())
    }

    fn seal(&self) -> Option<(Arc<Fresh>, u64)> {
        let mut view = self.change();
        if view.sealed.is_none() && view.fresh.len() > 0 {
            let fresh = std::mem::take(&mut view.fresh);
            view.sealed = Some((Arc::new(fresh), view.applied));
        }
        view.sealed.clone()
    }

    fn merge(&self, keeper: &mut Keeper) -> Result<usize> {
        let segments = Arc::clone(&self.look().segments);
        let sizes: Vec<Size> = segments.iter().map(|segment| size_of_segment(segment)).collect();
        let Some(range) = merge::plan(&sizes) else { return Ok(0) };
        let mut gathered = Gathered::default();
        segments[range.clone()]
            .iter()
            .try_for_each(|segment| segment.gather_into(&mut gathered, &|_| true))?;
        let mut manifest = keeper.manifest.clone();
        let (segment, listed) = keeper.folder.write(&gathered, manifest.take_serial())?;
        manifest.segments.splice(range.clone(), [listed]);
        keeper.put(manifest)?;
        let mut rest = segments.to_vec();
        rest.splice(range.clone(), [Arc::new(segment)]);
        self.install(rest, |_| {});
        // Not only removed: an entry that is erased later would still lie in the blocks the old files gave back.
        segments[range.clone()].iter().try_for_each(|segment| keeper.folder.shred(segment))?;
        Ok(range.len())
    }

    fn install(&self, segments: Vec<Arc<Segment>>, and: impl FnOnce(&mut View)) {
        let mut view = self.change();
        view.generation += 1;
        view.segments = segments.into();
        and(&mut view);
    }
}

impl Keeper {
    /// From here on this is what the index is, also after a crash.
    fn put(&mut self, manifest: Manifest) -> Result<()> {
        manifest.write(self.folder.path())?;
        self.manifest = manifest;
        Ok(())
    }
}

fn size_of_segment(segment: &Segment) -> Size {
    Size { docs: segment.docs(), tokens: usize::try_from(segment.header().tokens).unwrap_or(usize::MAX) }
}

/// How many went. Most often none is here, and then nothing is made anew.
fn erase_fresh(fresh: &mut Fresh, goes: &IdSet) -> usize {
    let before = fresh.len();
    if fresh.gathered.ids.iter().any(|id| goes.contains(*id)) {
        *fresh = fresh.without(&|id| goes.contains(id));
    }
    before - fresh.len()
}

/// Which segments have an entry that goes.
fn affected(segments: &[Arc<Segment>], goes: &IdSet) -> Result<Vec<usize>> {
    let mut hit = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let (first, last) = (segment.header().first_id, segment.header().last_id);
        let mut candidates = goes.iter().filter(|id| (first..=last).contains(id)).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        let ids = segment.ids()?;
        if candidates.any(|id| ids.binary_search(&id).is_ok()) {
            hit.push(at);
        }
    }
    Ok(hit)
}
