//! The durable state of a target, under one lock: the desk, the generations, what is staged, how activations went.
//!
//! Everything is one small file that is replaced whole. What the desk decided is carried out first and written down afterwards;
//! only before `/etc` is rewritten a note is left ([`Room::rewrite_kept`]), because half of it would outlive a boot.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_durable::Mode;
use holdfast_lifeline::{BootId, Desk, EpisodeId, Identity, Sound};
use holdfast_steward::effect::Activation;
use holdfast_steward::setting::{Setting, UnitName, Value};
use rustix::fs::FlockOperation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::layer::{self, KEPT_PREFIX, Layer, TRIAL_PREFIX};
use crate::place::Place;
use crate::program::Trouble;
use crate::wire::Generation;

/// Longer than any step takes that holds the lock.
const LOCK_WITHIN: Duration = Duration::from_secs(150);
const LOCK_EVERY: Duration = Duration::from_millis(20);
/// Generations are counted, and this many are never all in use.
const GENERATIONS_MAX: usize = 1000;

/// What people said at enrolment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The units that may be changed, the workload first.
    pub units: Vec<UnitName>,
    /// The units that keep the target reachable and safe.
    pub ssh: UnitName,
    pub vpn: Option<UnitName>,
    pub firewall: Option<UnitName>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    boot: BootId,
    desk: Desk,
}

/// Held while something is looked up or done.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    pub(crate) place: &'a Place,
    pub(crate) settings: Settings,
    pub(crate) boot: BootId,
    pub(crate) desk: Desk,
    _lock: File,
}

impl<'a> Room<'a> {
    /// Waits for the lock and reads. A boot since the last time, or a rewriting of `/etc` that did not end, is settled first.
    pub(crate) fn enter(place: &'a Place) -> Result<Room<'a>, Trouble> {
        let lock = lock(&place.state.join("lock"))?;
        let settings = read_json(&place.settings)?
            .ok_or_else(|| Trouble::Odd("this target is not enrolled".to_owned()))?;
        let saved: Saved = read_json(&place.state.join("desk.json"))?
            .ok_or_else(|| Trouble::Odd("the desk of this target is gone".to_owned()))?;
        let (boot, mut desk) = (kernel::boot()?, saved.desk);
        let has_booted = saved.boot != boot;
        if has_booted {
            desk.boot();
        }
        let mut room = Room { place, settings, boot, desk, _lock: lock };
        if has_booted {
            room.save()?;
        }
        room.finish_rewriting()?;
        Ok(room)
    }

    /// Reads what anybody may, without a lock and without settling anything.
    pub(crate) fn peek(place: &Place) -> Result<(Settings, Desk), Trouble> {
        let settings = read_json(&place.settings)?
            .ok_or_else(|| Trouble::Odd("this target is not enrolled".to_owned()))?;
        let saved: Saved = read_json(&place.state.join("desk.json"))?
            .ok_or_else(|| Trouble::Odd("the desk of this target is gone".to_owned()))?;
        let mut desk = saved.desk;
        if saved.boot != kernel::boot()? {
            desk.boot();
        }
        Ok((settings, desk))
    }

    /// The first day: generation 0 is the target as it was found.
    pub(crate) fn begin(place: &Place, settings: &Settings) -> Result<(), Trouble> {
        make_folder(&place.state)?;
        let _lock = lock(&place.state.join("lock"))?;
        write_json(&place.settings, settings)?;
        if place.state.join("desk.json").exists() {
            return Ok(());
        }
        let found = layer_in(&place.kept, KEPT_PREFIX)?.layer;
        add_generation(place, 0, &found)?;
        crate::log::begin(place)?;
        let desk = Desk::new(found.identity(), Sound::YES);
        write_json(&place.state.join("desk.json"), &Saved { boot: kernel::boot()?, desk })
    }

    pub(crate) fn save(&self) -> Result<(), Trouble> {
        let saved = Saved { boot: self.boot, desk: self.desk.clone() };
        write_json(&self.place.state.join("desk.json"), &saved)
    }

    // --- layers

    /// What a boot gives, as the files say.
    pub(crate) fn kept(&self) -> Result<Found, Trouble> {
        layer_in(&self.place.kept, KEPT_PREFIX)
    }

    /// What is being tried, as the files say.
    pub(crate) fn tried(&self) -> Result<Found, Trouble> {
        layer_in(&self.place.trial, TRIAL_PREFIX)
    }

    /// The layer behind an identity.
    pub(crate) fn layer_of(&self, identity: Identity) -> Result<Layer, Trouble> {
        let staged: Option<Layer> = read_json(&self.staged_file(identity))?;
        let known = match staged {
            Some(layer) => Some(layer),
            None => generations(self.place)?
                .into_iter()
                .find(|(_, layer)| layer.identity() == identity)
                .map(|it| it.1),
        };
        // What was read has to be what it is called.
        known
            .filter(|layer| layer.identity() == identity)
            .ok_or_else(|| Trouble::Odd(format!("no generation here is {identity:?}")))
    }

    fn staged_file(&self, identity: Identity) -> PathBuf {
        self.place.state.join("staged").join(format!("{identity}.json"))
    }

    /// Writes down what may be tried, and reads it again: a disk that lies is found out before anything runs.
    pub(crate) fn stage(&self, candidate: &Layer) -> Result<Identity, Trouble> {
        let identity = candidate.identity();
        make_folder(&self.place.state.join("staged"))?;
        write_json(&self.staged_file(identity), candidate)?;
        let again: Option<Layer> = read_json(&self.staged_file(identity))?;
        if again.as_ref() != Some(candidate) {
            return Err(Trouble::Odd("what was staged reads back as something else".to_owned()));
        }
        Ok(identity)
    }

    /// Forgets everything staged but this.
    pub(crate) fn unstage_others(&self, but: Option<Identity>) {
        let keep = but.map(|identity| self.staged_file(identity));
        for entry in fs::read_dir(self.place.state.join("staged")).into_iter().flatten().flatten() {
            if Some(entry.path()) != keep {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    // --- generations

    pub(crate) fn generations(&self) -> Result<Vec<Generation>, Trouble> {
        let all = generations(self.place)?;
        Ok(all.into_iter().map(|(number, layer)| Generation { number, identity: layer.identity() }).collect())
    }

    /// The next number for this layer; the one before it stays what it is.
    pub(crate) fn new_generation(&self, layer: &Layer) -> Result<(), Trouble> {
        let next = generations(self.place)?.last().map_or(0, |(number, _)| number + 1);
        add_generation(self.place, next, layer)
    }

    /// Removes all but the newest `keep`, and never what is booted into, or would be gone back to.
    pub(crate) fn clean(&self, keep: usize) -> Result<u32, Trouble> {
        let all = generations(self.place)?;
        let needed = [Some(self.desk.boots_into()), self.desk.lease().map(|lease| lease.known_good)];
        let old = all.len().saturating_sub(keep.max(3));
        let mut removed = 0;
        for (number, layer) in &all[..old] {
            if !needed.contains(&Some(layer.identity())) {
                let folder = generation_folder(self.place, *number);
                fs::remove_dir_all(&folder)
                    .map_err(Trouble::file(format!("removing {}", folder.display())))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    // --- files of ours

    /// Makes the files below `/etc` those of this layer. A note says so while it is going on: who finds it, finishes it.
    pub(crate) fn rewrite_kept(&self, layer: &Layer) -> Result<(), Trouble> {
        let note = self.place.state.join("rewriting.json");
        write_json(&note, layer)?;
        write_layer(&self.place.kept, KEPT_PREFIX, layer)
    }

    /// The desk is written down: the note has said what it had to.
    pub(crate) fn end_rewriting(&self) -> Result<(), Trouble> {
        remove(&self.place.state.join("rewriting.json"))
    }

    /// After a rewriting that failed. What cannot be put back now is put back by whoever enters next: the note is still there.
    pub(crate) fn put_back_kept(&self, layer: &Layer) {
        if write_layer(&self.place.kept, KEPT_PREFIX, layer).is_ok() {
            let _ = self.end_rewriting();
        }
    }

    /// What a crash left half-way is made what the desk says.
    fn finish_rewriting(&mut self) -> Result<(), Trouble> {
        if !self.place.state.join("rewriting.json").exists() {
            return Ok(());
        }
        let layer = self.layer_of(self.desk.boots_into())?;
        write_layer(&self.place.kept, KEPT_PREFIX, &layer)?;
        self.end_rewriting()
    }

    /// Makes the files below `/run` those of this layer: what is tried, or nothing.
    pub(crate) fn rewrite_trial(&self, layer: &Layer) -> Result<(), Trouble> {
        write_layer(&self.place.trial, TRIAL_PREFIX, layer)
    }

    // --- results

    fn result_file(&self) -> PathBuf {
        self.place.state.join("activation.json")
    }

    pub(crate) fn set_result(&self, episode: &EpisodeId, activation: Activation) -> Result<(), Trouble> {
        write_json(&self.result_file(), &(episode, activation))
    }

    pub(crate) fn result(&self, episode: &EpisodeId) -> Result<Option<Activation>, Trouble> {
        let saved: Option<(EpisodeId, Activation)> = read_json(&self.result_file())?;
        Ok(saved.filter(|(of, _)| of == episode).map(|(_, activation)| activation))
    }
}

/// Our files in a folder of units, and any that somebody edited.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) layer: Layer,
    /// Files with a name of ours that do not hold what we would have written.
    pub(crate) odd: Vec<PathBuf>,
}

pub(crate) fn layer_in(root: &Path, prefix: &str) -> Result<Found, Trouble> {
    let mut found = Found::default();
    for (path, setting) in files_of(root, prefix)? {
        let text = crate::systemd::read_bounded(&path)?;
        match layer::value_in(&setting, &text) {
            Some(value) => found.layer.insert(setting, value),
            None => found.odd.push(path),
        }
    }
    Ok(found)
}

fn files_of(root: &Path, prefix: &str) -> Result<Vec<(PathBuf, Setting)>, Trouble> {
    let mut files = Vec::new();
    for (folder, folder_name) in entries(root)? {
        if !folder_name.ends_with(".d") {
            continue;
        }
        for (path, name) in entries(&folder)? {
            if let Some(setting) = layer::setting_of(&folder_name, &name, prefix) {
                files.push((path, setting));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Names that are UTF-8; ours are. A folder that is not there is empty.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, Trouble> {
    let what = || format!("reading {}", folder.display());
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(e) => return Err(Trouble::File { what: what(), source: e }),
    };
    let mut all = Vec::new();
    for entry in listed {
        let entry = entry.map_err(Trouble::file(what()))?;
        all.extend(entry.file_name().into_string().ok().map(|name| (entry.path(), name)));
    }
    Ok(all)
}

/// Writes what is missing or different, removes what is not in the layer; folders that this leaves empty go too.
fn write_layer(root: &Path, prefix: &str, layer: &Layer) -> Result<(), Trouble> {
    for (setting, value) in layer.iter() {
        write_setting(root, prefix, setting, value)?;
    }
    for (path, setting) in files_of(root, prefix)? {
        if layer.get(&setting).is_none() {
            remove(&path)?;
            if let Some(folder) = path.parent() {
                let _ = fs::remove_dir(folder);
            }
        }
    }
    Ok(())
}

fn write_setting(root: &Path, prefix: &str, setting: &Setting, value: Value) -> Result<(), Trouble> {
    let text = layer::text_of(setting, value).map_err(|e| Trouble::Odd(e.to_string()))?;
    let (folder, file) = layer::file_of(setting, prefix);
    let folder = root.join(folder);
    match fs::create_dir(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Trouble::File { what: format!("making {}", folder.display()), source: e });
        }
        _ => {}
    }
    // A link put there by somebody else would have us write elsewhere.
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir());
    if !is_folder {
        return Err(Trouble::Odd(format!("{} is not a folder", folder.display())));
    }
    let path = folder.join(file);
    if crate::systemd::read_bounded(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    holdfast_durable::replace(&path, text.as_bytes(), Mode::Readable)
        .map_err(Trouble::file(format!("writing {}", path.display())))
}

fn generation_folder(place: &Place, number: u32) -> PathBuf {
    place.state.join("generations").join(format!("{number:06}"))
}

fn add_generation(place: &Place, number: u32, layer: &Layer) -> Result<(), Trouble> {
    let folder = generation_folder(place, number);
    make_folder(&folder)?;
    write_json(&folder.join("manifest.json"), layer)
}

/// By number, the oldest first. One whose manifest was never written whole is not one.
fn generations(place: &Place) -> Result<Vec<(u32, Layer)>, Trouble> {
    let mut all = Vec::new();
    for (folder, name) in entries(&place.state.join("generations"))? {
        let Ok(number) = name.parse::<u32>() else { continue };
        if let Some(layer) = read_json(&folder.join("manifest.json"))? {
            all.push((number, layer));
        }
    }
    all.sort_by_key(|(number, _)| *number);
    if all.len() > GENERATIONS_MAX {
        return Err(Trouble::Odd(format!("more than {GENERATIONS_MAX} generations")));
    }
    Ok(all)
}

/// Waits for it, within limits. It is let go with what is returned.
pub(crate) fn lock(path: &Path) -> Result<File, Trouble> {
    let what = || format!("locking {}", path.display());
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(Trouble::file(what()))?;
    let until = Instant::now() + LOCK_WITHIN;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(LOCK_EVERY),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Trouble::Odd("another step is at work here".to_owned()));
            }
            Err(e) => return Err(Trouble::File { what: what(), source: e.into() }),
        }
    }
}

fn make_folder(path: &Path) -> Result<(), Trouble> {
    fs::create_dir_all(path).map_err(Trouble::file(format!("making {}", path.display())))
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::File { what: format!("removing {}", path.display()), source: e })
        }
        _ => Ok(()),
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Trouble> {
    if !path.exists() {
        return Ok(None);
    }
    let text = crate::systemd::read_bounded(path)?;
    let odd = |e: serde_json::Error| Trouble::Odd(format!("{} cannot be read: {e}", path.display()));
    serde_json::from_str(&text).map(Some).map_err(odd)
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), Trouble> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let text = serde_json::to_vec(value).map_err(|e| Trouble::Odd(e.to_string()))?;
    holdfast_durable::replace(path, &text, Mode::Readable)
        .map_err(Trouble::file(format!("writing {}", path.display())))
}

#[cfg(test)]
mod tests;
