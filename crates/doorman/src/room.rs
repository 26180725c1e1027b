//! The durable state of a target, under one lock: the desk, the generations, what is staged, how activations went.
//!
//! Everything is one small file that is replaced whole. What the desk decided is carried out first and written down afterwards;
//! only before `/etc` is rewritten a note is left ([`Room::rewrite_kept`]), because half of it would outlive a boot. What is
//! known of a step only while it is done lies below `/run` ([`Passing`]) and is gone at a boot, like what it is about.
//!
//! The folder is root's alone to write: whoever else could would decide what is tried, and what is gone back to.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::Mode;
use holdfast_lifeline::{BootId, Desk, EpisodeId, Identity, Sound};
use holdfast_steward::effect::Activation;
use holdfast_steward::setting::{Setting, UnitName, Value};
use holdfast_types::Clock as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::layer::{KEPT_PREFIX, Layer, TRIAL_PREFIX};
use crate::ours::{Found, entries, layer_in, remove, write_layer};
use crate::place::Place;
use crate::program::Trouble;
use crate::reserve;
use crate::wire::Generation;

/// Longer than any step takes that holds the lock.
const LOCK_WITHIN: Duration = Duration::from_secs(150);
/// Generations are counted, and this many are never all in use.
const GENERATIONS_MAX: usize = 1000;
/// Anybody may read what is there, apart from the log's key; only root writes.
const FOLDER_MODE: u32 = 0o755;

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
    /// Waits for the lock and reads. What is to be settled first, `deed::settle` settles.
    pub(crate) fn enter(place: &'a Place) -> Result<Room<'a>, Trouble> {
        are_ours_alone(place)?;
        let lock = lock(&place.state.join("lock"))?;
        Room::behind(place, lock)
    }

    /// The same where nobody is at work; nothing while somebody is.
    pub(crate) fn enter_if_free(place: &'a Place) -> Result<Option<Room<'a>>, Trouble> {
        are_ours_alone(place)?;
        match lock_within(&place.state.join("lock"), Duration::ZERO)? {
            Some(lock) => Room::behind(place, lock).map(Some),
            None => Ok(None),
        }
    }

    /// The same where the desk cannot be read any more: what `/etc` has is what a boot gives, and no lease is known. Only to go back.
    pub(crate) fn enter_without_desk(place: &'a Place) -> Result<Room<'a>, Trouble> {
        are_ours_alone(place)?;
        let lock = lock(&place.state.join("lock"))?;
        let settings = read_json(&place.settings)?
            .ok_or_else(|| Trouble::Odd("this target is not enrolled".to_owned()))?;
        let desk = Desk::new(layer_in(&place.kept, KEPT_PREFIX)?.layer.identity(), Sound::YES);
        Ok(Room { place, settings, boot: kernel::boot()?, desk, _lock: lock })
    }

    /// Whether the desk is there and can be read.
    pub(crate) fn has_desk(place: &Place) -> bool {
        matches!(read_json::<Saved>(&place.state.join("desk.json")), Ok(Some(_)))
    }

    fn behind(place: &'a Place, lock: File) -> Result<Room<'a>, Trouble> {
        let settings = read_json(&place.settings)?
            .ok_or_else(|| Trouble::Odd("this target is not enrolled".to_owned()))?;
        let saved: Saved = read_json(&place.state.join("desk.json"))?
            .ok_or_else(|| Trouble::Odd("the desk of this target is gone".to_owned()))?;
        let (boot, mut desk) = (kernel::boot()?, saved.desk);
        let has_booted = saved.boot != boot;
        if has_booted {
            desk.boot();
        }
        let room = Room { place, settings, boot, desk, _lock: lock };
        if has_booted {
            // Where it cannot be written, whoever enters next comes to the same.
            let _ = reserve::with(place, || room.save());
        }
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

    /// The first day: generation 0 is the target as it was found. Said again, whatever is missing is made.
    pub(crate) fn begin(place: &Place, settings: &Settings) -> Result<(), Trouble> {
        make_folder(&place.state)?;
        is_ours_alone(&place.state)?;
        let _lock = lock(&place.state.join("lock"))?;
        write_json(&place.settings, settings)?;
        are_ours_alone(place)?;
        reserve::hold(place)?;
        crate::log::begin(place)?;
        if place.state.join("desk.json").exists() {
            return Ok(());
        }
        let found = layer_in(&place.kept, KEPT_PREFIX)?.layer;
        add_generation(place, 0, &found)?;
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
        // What was read, once, has to be what it is called, whatever lies in its place by now.
        let staged = read_json::<Layer>(&self.staged_file(identity))?;
        if let Some(layer) = staged {
            let changed =
                || Trouble::Odd(format!("what was staged as {identity:?} is something else by now"));
            return Some(layer).filter(|layer| layer.identity() == identity).ok_or_else(changed);
        }
        let known = generations(self.place)?.into_iter().find(|(_, layer)| layer.identity() == identity);
        known
            .map(|(_, layer)| layer)
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
        let all = generations(self.place)?;
        if all.len() >= GENERATIONS_MAX {
            return Err(Trouble::Odd(format!("more than {GENERATIONS_MAX} generations")));
        }
        add_generation(self.place, all.last().map_or(0, |(number, _)| number + 1), layer)
    }

    /// The newest was made for something that was not kept after all.
    pub(crate) fn drop_newest_generation(&self, layer: &Layer) {
        let newest = generations(self.place).ok().and_then(|all| all.into_iter().last());
        if let Some((number, _)) = newest.filter(|(number, it)| *number > 0 && it == layer) {
            let _ = fs::remove_dir_all(generation_folder(self.place, number));
        }
    }

    /// Removes what was kept longer ago than this, but not the newest `keep`, and never what is booted into, or would be gone back to.
    pub(crate) fn clean(&self, keep: usize, older_than: Duration) -> Result<u32, Trouble> {
        let all: Vec<_> = generations(self.place)?;
        let needed = [Some(self.desk.boots_into()), self.desk.lease().map(|lease| lease.known_good)];
        let is_old = |number| is_older(&generation_folder(self.place, number), older_than);
        let listed: Vec<_> = all.iter().map(|(number, layer)| (*number, layer.identity())).collect();
        let garbage = garbage(&listed, keep, &needed, is_old);
        for number in &garbage {
            let folder = generation_folder(self.place, *number);
            fs::remove_dir_all(&folder).map_err(Trouble::file(format!("removing {}", folder.display())))?;
        }
        Ok(u32::try_from(garbage.len()).unwrap_or(u32::MAX))
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

    /// What a crash left half-way is made what the desk says. Says whether there was anything.
    pub(crate) fn finish_rewriting(&self) -> Result<bool, Trouble> {
        if !self.place.state.join("rewriting.json").exists() {
            return Ok(false);
        }
        // The note's own layer is in no generation when its keeping was not written down.
        let layer = self.layer_of(self.desk.boots_into())?;
        write_layer(&self.place.kept, KEPT_PREFIX, &layer)?;
        self.end_rewriting()?;
        Ok(true)
    }

    /// Makes the files below `/run` those of this layer: what is tried, or nothing.
    pub(crate) fn rewrite_trial(&self, layer: &Layer) -> Result<(), Trouble> {
        write_layer(&self.place.trial, TRIAL_PREFIX, layer)
    }

    // --- results

    pub(crate) fn set_result(&self, result: &Attempt) -> Result<(), Trouble> {
        write_json(&self.place.state.join("activation.json"), result)
    }

    pub(crate) fn result(&self, episode: &EpisodeId) -> Result<Option<Attempt>, Trouble> {
        Ok(self.last_result()?.filter(|it| it.episode == *episode))
    }

    pub(crate) fn last_result(&self) -> Result<Option<Attempt>, Trouble> {
        read_json(&self.place.state.join("activation.json"))
    }

    // --- what is passing

    fn passing_file(&self) -> PathBuf {
        self.place.passing.join("passing.json")
    }

    /// What a step that was cut off has left, or one that goes on.
    pub(crate) fn passing(&self) -> Option<Passing> {
        // One that cannot be read says that something was going on.
        read_json(&self.passing_file()).unwrap_or(Some(Passing::default()))
    }

    pub(crate) fn pass(&self, passing: &Passing) -> Result<(), Trouble> {
        write_json(&self.passing_file(), passing)
    }

    pub(crate) fn has_passed(&self) -> Result<(), Trouble> {
        remove(&self.passing_file())?;
        let _ = fs::remove_dir(&self.place.passing);
        Ok(())
    }
}

/// How an activation goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) episode: EpisodeId,
    pub(crate) activation: Activation,
    /// The unit that does it: when that is gone and has not said how it went, it went wrong.
    pub(crate) unit: String,
    /// What ran before. What the trial has made fail is started again when it is undone.
    pub(crate) ran: Vec<UnitName>,
}

/// What is being put in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passing {
    /// The manager is about to leave this value in a file of its own, which is ours to take away.
    pub(crate) applying: Option<(Setting, Value)>,
}

/// Whether something may have to be settled: asked without the lock, by whoever may settle it.
pub(crate) fn is_unsettled(place: &Place, desk: &Desk) -> bool {
    let ran_out = desk.lease().is_some_and(|lease| lease.expires <= kernel::now());
    let left = |path: PathBuf| path.exists();
    ran_out
        || left(place.state.join("rewriting.json"))
        || (desk.lease().is_none()
            && (left(place.passing.join("passing.json"))
                || layer_in(&place.trial, TRIAL_PREFIX).is_ok_and(|found| !found.is_nothing())))
}

/// Which generations, oldest first, nobody goes back to any more. The newest three stay whatever is asked.
fn garbage(
    all: &[(u32, Identity)],
    keep: usize,
    needed: &[Option<Identity>],
    is_old: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let older = &all[..all.len().saturating_sub(keep.max(3))];
    let is_needed = |identity: &Identity| needed.contains(&Some(*identity));
    older.iter().filter(|(number, it)| !is_needed(it) && is_old(*number)).map(|(number, _)| *number).collect()
}

/// By this machine's clock. One whose age nobody can tell is young.
fn is_older(folder: &Path, than: Duration) -> bool {
    let Ok(made) = fs::metadata(folder).map(|meta| meta.mtime()) else { return false };
    let now = holdfast_logbook::SystemClock::new().now().as_micros() / 1_000_000;
    than.is_zero() || u64::try_from(now.saturating_sub(made)).is_ok_and(|age| age > than.as_secs())
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
        if let Ok(Some(layer)) = read_json(&folder.join("manifest.json")) {
            all.push((number, layer));
        }
    }
    all.sort_by_key(|(number, _)| *number);
    Ok(all)
}

/// Waits for it, within limits. It is let go with what is returned.
pub(crate) fn lock(path: &Path) -> Result<File, Trouble> {
    let locked = lock_within(path, LOCK_WITHIN)?;
    locked.ok_or_else(|| Trouble::Odd("another step is at work here".to_owned()))
}

fn lock_within(path: &Path, within: Duration) -> Result<Option<File>, Trouble> {
    let what = || format!("locking {}", path.display());
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(no_link)
        .open(path)
        .map_err(Trouble::file(what()))?;
    let had = holdfast_durable::lock_within(&file, within).map_err(Trouble::file(what()))?;
    Ok(had.then_some(file))
}

/// What it remembers, and what people said at enrolment.
fn are_ours_alone(place: &Place) -> Result<(), Trouble> {
    is_ours_alone(&place.state)?;
    match place.settings.parent().filter(|folder| folder.exists()) {
        Some(folder) => is_ours_alone(folder),
        // Then it is not enrolled, which is said by whoever reads.
        None => Ok(()),
    }
}

/// Whoever else could write here would decide what is tried and what is gone back to.
fn is_ours_alone(folder: &Path) -> Result<(), Trouble> {
    let meta =
        fs::symlink_metadata(folder).map_err(Trouble::file(format!("looking at {}", folder.display())))?;
    let ours = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0;
    let odd = || Trouble::Odd(format!("{} is not a folder that only root can write", folder.display()));
    if ours { Ok(()) } else { Err(odd()) }
}

/// Whatever the caller's mask is, anybody may look and only its owner writes.
fn make_folder(path: &Path) -> Result<(), Trouble> {
    let made = fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path);
    made.map_err(Trouble::file(format!("making {}", path.display())))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Trouble> {
    let text = match crate::systemd::read_bounded(path) {
        Err(Trouble::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        read => read?,
    };
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
