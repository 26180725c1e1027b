//! What is remembered on the host, under one lock: the desk, the trial under way, and what each built system is made of.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::Mode;
use holdfast_git::NotDone;
use holdfast_lifeline::{BootId, Desk, EpisodeId, Identity, Sound};
use holdfast_steward::com::Com;
use holdfast_steward::effect::Activation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::NotRun;
use crate::overlay::Overlay;
use crate::place::Place;
use crate::store::{Commit, StorePath};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    NotRun(#[from] NotRun),
    #[error(transparent)]
    Git(#[from] NotDone),
    #[error("{what} ended with {code}: {why}")]
    Failed { what: &'static str, code: i32, why: String },
    #[error("{what}: {source}")]
    File { what: String, source: io::Error },
    #[error("{0}")]
    Odd(String),
}

impl Trouble {
    pub(crate) fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Trouble {
        let what = what.into();
        move |source| Trouble::File { what, source }
    }
}

const LOCK_WITHIN: Duration = Duration::from_secs(60);
/// A whole evaluated configuration, twice.
const FILE_MAX: u64 = 16 << 20;

/// What outlives this process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) boot: BootId,
    pub(crate) desk: Desk,
    pub(crate) trial: Option<Trial>,
    /// An activation was begun, and nothing has settled since what runs.
    pub(crate) unsettled: bool,
    /// Counts names of units, so that none is used twice.
    pub(crate) named: u64,
}

/// The activation that was begun last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) episode: EpisodeId,
    pub(crate) unit: String,
    pub(crate) activation: Activation,
}

/// What a built system is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) system: StorePath,
    /// What people wrote.
    pub(crate) people: Commit,
    pub(crate) overlay: Overlay,
    pub(crate) com: Com,
    /// The same without anything of ours.
    pub(crate) baseline: Com,
}

/// Held while something is looked up or done.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    place: &'a Place,
    pub(crate) saved: Saved,
    _lock: File,
}

impl<'a> Room<'a> {
    /// Waits for the lock and reads.
    pub(crate) fn enter(place: &'a Place, boot: BootId) -> Result<Room<'a>, Trouble> {
        let lock = lock(&place.state.join("lock"))?;
        let saved = read_json(&place.state.join("state.json"))?
            .ok_or_else(|| Trouble::Odd("this host is not enrolled".to_owned()))?;
        let mut room = Room { place, saved, _lock: lock };
        if room.saved.boot != boot {
            room.saved.boot = boot;
            room.saved.desk.boot();
            room.saved.trial = None;
            room.saved.unsettled = false;
            room.save()?;
        }
        Ok(room)
    }

    /// The first day. Said again it changes nothing.
    pub(crate) fn begin(place: &'a Place, boot: BootId, found: &Manifest) -> Result<(), Trouble> {
        let _lock = lock(&place.state.join("lock"))?;
        if place.state.join("state.json").exists() {
            return Ok(());
        }
        write_json(&manifest_file(place, found.system.identity()), found)?;
        let desk = Desk::new(found.system.identity(), Sound::YES);
        let saved = Saved { boot, desk, trial: None, unsettled: false, named: 0 };
        write_json(&place.state.join("state.json"), &saved)
    }

    pub(crate) fn save(&self) -> Result<(), Trouble> {
        write_json(&self.place.state.join("state.json"), &self.saved)
    }

    /// A name no unit has had: what is left of an earlier one never stands in the way. Everything else in the room is written down with
    /// it, so it is asked for before anything is decided.
    pub(crate) fn unique(&mut self, what: &str) -> Result<String, Trouble> {
        self.saved.named += 1;
        self.save()?;
        Ok(format!("holdfast-{what}-{:x}-{}", self.saved.boot.0, self.saved.named))
    }

    // --- what systems are made of

    pub(crate) fn manifest(&self, identity: Identity) -> Result<Option<Manifest>, Trouble> {
        let known: Option<Manifest> = read_json(&manifest_file(self.place, identity))?;
        // What was read has to be what it is called.
        Ok(known.filter(|manifest| manifest.system.identity() == identity))
    }

    pub(crate) fn know(&self, manifest: &Manifest) -> Result<(), Trouble> {
        write_json(&manifest_file(self.place, manifest.system.identity()), manifest)
    }

    /// A link to what was built keeps it in the store.
    pub(crate) fn root_of(&self, identity: Identity) -> PathBuf {
        self.place.state.join("roots").join(identity.to_string())
    }

    /// Forgets every system but these.
    pub(crate) fn forget_all_but(&self, needed: &[Identity]) {
        for folder in ["roots", "known"] {
            for entry in fs::read_dir(self.place.state.join(folder)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let identity = name.trim_end_matches(".json").parse::<Identity>();
                if identity.is_ok_and(|identity| !needed.contains(&identity)) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    // --- while what boots is rewritten

    fn note(&self) -> PathBuf {
        self.place.state.join("rewriting")
    }

    /// From here on what boots may be either; who finds the note makes it what the desk says.
    pub(crate) fn begin_rewriting(&self) -> Result<(), Trouble> {
        holdfast_durable::replace(&self.note(), b"", Mode::Private)
            .map_err(Trouble::file("noting that what boots is rewritten"))
    }

    pub(crate) fn is_rewriting(&self) -> bool {
        self.note().exists()
    }

    pub(crate) fn end_rewriting(&self) -> Result<(), Trouble> {
        match holdfast_durable::remove(&self.note()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Trouble::File { what: "removing a note".to_owned(), source: e })
            }
            _ => Ok(()),
        }
    }
}

fn manifest_file(place: &Place, identity: Identity) -> PathBuf {
    place.state.join("known").join(format!("{identity}.json"))
}

/// Waits for it, within limits. It is let go with what is returned.
fn lock(path: &Path) -> Result<File, Trouble> {
    let what = || format!("locking {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Trouble::file(what()))?;
    }
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = opened.map_err(Trouble::file(what()))?;
    match holdfast_durable::lock_within(&file, LOCK_WITHIN).map_err(Trouble::file(what()))? {
        true => Ok(file),
        false => Err(Trouble::Odd("another step is at work here".to_owned())),
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Trouble> {
    let what = || format!("reading {}", path.display());
    let length = match fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Trouble::File { what: what(), source: e }),
    };
    if length > FILE_MAX {
        return Err(Trouble::Odd(format!("{} is too long to be ours", path.display())));
    }
    let text = fs::read_to_string(path).map_err(Trouble::file(what()))?;
    let odd = |e: serde_json::Error| Trouble::Odd(format!("{} cannot be read: {e}", path.display()));
    serde_json::from_str(&text).map(Some).map_err(odd)
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), Trouble> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Trouble::file(format!("making {}", folder.display())))?;
    }
    let text = serde_json::to_vec(value).map_err(|e| Trouble::Odd(e.to_string()))?;
    holdfast_durable::replace(path, &text, Mode::Private)
        .map_err(Trouble::file(format!("writing {}", path.display())))
}
