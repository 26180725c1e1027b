//! The switch that halts all autonomy.
//!
//! A file, made before anything else is tried: it works when the journal is full, damaged or locked by a daemon that
//! no longer answers, and it is still there after a restart. Whatever is at its place, also what cannot be read,
//! means *paused*. The journal records each turn of the switch; [`settle`] makes the two agree at a start, and where
//! they differ the answer is *paused*.
//!
//! A daemon lays a file ready ([`Switch::arm`]), so that it can pause on a full disk and without a free descriptor. On a disk that takes no
//! write at all the file goes to the machine's memory ([`Places::paused_in_memory`]), which outlives the daemon but not the machine; the daemon
//! moves it to the disk as soon as it can ([`Switch::keep`]). Where not even that can be written, the daemon holds the pause in its own memory
//! ([`Switch::hold`]). Both are said.

mod in_memory;

use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_durable::{Mode, Standby, remove, replace};
use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, KindDef, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::in_memory::InMemory;
use crate::house::writing;
use crate::kinds::{PAUSED, RESUMED, draft};
use crate::places::Places;
use crate::problem::Result;
use crate::sieve;

#[derive(Clone, Debug)]
pub(crate) struct Switch {
    path: PathBuf,
    /// Where the file goes while `path` takes no write.
    in_memory: Arc<InMemory>,
    standby: Arc<Mutex<Option<Standby>>>,
    /// A pause that could not be written anywhere.
    held: Arc<Mutex<Option<Note>>>,
    /// What the file said when it was read last: reading it takes a descriptor, and there may be none.
    last_read: Arc<Mutex<Option<(OnDisk, Note)>>>,
}

/// Room in the file that lies ready: the longest note with every character escaped.
const STANDBY_ROOM: usize = 8 * 1024;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) since: Timestamp,
    pub(crate) by: Actor,
    pub(crate) reason: Option<String>,
}

/// Longest reason: a sentence or two.
const REASON_MAX: usize = 500;

impl Note {
    /// A note that is fit to be kept: without what the screen takes out, and bounded. In this order, because half a
    /// secret looks like none.
    pub(crate) fn new(since: Timestamp, by: Actor, reason: Option<&str>) -> Note {
        let fit = |text: &str| sieve::kept(text).chars().take(REASON_MAX).collect();
        Note { since, by: sieve::kept_name(by), reason: reason.map(fit) }
    }
}

/// How the switch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Running,
    /// Without a note when the file is there and says nothing.
    Paused(Option<Note>),
}

impl Standing {
    pub(crate) fn is_paused(&self) -> bool {
        matches!(self, Standing::Paused(_))
    }
}

impl Switch {
    /// The switch of a home.
    pub(crate) fn of(places: &Places) -> Switch {
        let switch = Switch::at(places.paused());
        let in_memory = Arc::new(InMemory::new(places.paused_in_memory(switch.owner().0)));
        Switch { in_memory, ..switch }
    }

    fn at(path: PathBuf) -> Switch {
        Switch {
            path,
            in_memory: Arc::default(),
            standby: Arc::default(),
            held: Arc::default(),
            last_read: Arc::default(),
        }
    }

    /// Lays the file ready that a pause is made of when nothing else can be written. Done again after each turn.
    pub(crate) fn arm(&self) {
        let mut standby = locked(&self.standby);
        if standby.is_some() {
            return;
        }
        match Standby::new(&self.path, &self.ready(), STANDBY_ROOM) {
            Ok(ready) => *standby = Some(ready),
            Err(e) => tracing::debug!(error = %e, "the switch could not be laid ready"),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        if let Some(note) = self.held() {
            return Standing::Paused(Some(note));
        }
        let which = self.which_on_disk();
        match std::fs::read(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => self.standing_in_memory(),
            // Whether it is there takes no descriptor, and what cannot be looked for counts as there.
            Err(_) if self.is_gone() => self.standing_in_memory(),
            Err(_) => Standing::Paused(self.read_before()),
            // One that says nothing was made where no byte fitted; what it should say may be in memory.
            Ok(bytes) => {
                let said: Option<Note> = serde_json::from_slice(&bytes).ok();
                if let (Some(note), Some(which)) = (&said, which.filter(|_| which == self.which_on_disk())) {
                    *locked(&self.last_read) = Some((which, note.clone()));
                }
                Standing::Paused(said.or_else(|| self.note_in_memory()))
            }
        }
    }

    /// What the file said when it was read last, where it is still that one. Asking which it is takes no descriptor.
    fn read_before(&self) -> Option<Note> {
        let (which, note) = locked(&self.last_read).clone()?;
        (self.which_on_disk() == Some(which)).then_some(note)
    }

    fn standing_in_memory(&self) -> Standing {
        let files = self.in_memory.files_lately(self.owner());
        if files.is_empty() { Standing::Running } else { Standing::Paused(note_among(&files)) }
    }

    fn note_in_memory(&self) -> Option<Note> {
        note_among(&self.files_in_memory())
    }

    /// The files in memory, where they belong to whom the home belongs to: others may write in that folder, and nobody else may halt us.
    pub(crate) fn files_in_memory(&self) -> Vec<PathBuf> {
        self.in_memory.files(self.owner())
    }

    /// User and group of the home.
    fn owner(&self) -> (u32, u32) {
        let about = self.path.parent().and_then(|dir| dir.metadata().ok());
        let us = || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        about.map_or_else(us, |about| (about.uid(), about.gid()))
    }

    /// Whether a pause stands that ends with this process, or with the machine.
    pub(crate) fn is_in_memory_alone(&self) -> bool {
        self.path.symlink_metadata().is_err() && (self.held().is_some() || !self.files_in_memory().is_empty())
    }

    fn is_gone(&self) -> bool {
        self.path.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
    }

    /// The pause that is in memory alone.
    pub(crate) fn held(&self) -> Option<Note> {
        locked(&self.held).clone()
    }

    /// Halts as long as this process lives, for when nothing can be written. `false` when it was halted before.
    pub(crate) fn hold(&self, note: &Note) -> bool {
        let mut held = locked(&self.held);
        let turned_now = held.is_none() && self.which().is_none();
        held.get_or_insert_with(|| note.clone());
        turned_now
    }

    /// Writes a pause that is in memory to the disk, when that can be done by now. Whether none is in memory any more.
    pub(crate) fn keep(&self) -> bool {
        let Some(note) = self.held().or_else(|| self.note_in_memory()) else {
            if !self.files_in_memory().is_empty() && self.which_on_disk().is_none() {
                let _made_or_not_yet = self.pause_with_nothing_to_spare();
            }
            return self.forget_in_memory();
        };
        // The file may say more by now than could be read of it before.
        let says =
            std::fs::read(&self.path).ok().and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok());
        if says.is_some() || self.write_with_note(&note).is_ok() {
            *locked(&self.held) = None;
            return self.forget_in_memory();
        }
        // In the machine's memory and in this process's, until the disk takes it: the system removes what is of a user's in memory when they
        // sign out, and this process ends.
        if self.note_in_memory().as_ref() != Some(&note) {
            let _there_or_held = self.write_in_memory(&note);
        }
        locked(&self.held).get_or_insert(note);
        false
    }

    /// Removes the files in memory where the disk has one; whether none is in memory alone.
    fn forget_in_memory(&self) -> bool {
        let files = self.files_in_memory();
        files.is_empty() || (self.which_on_disk().is_some() && self.in_memory.remove(&files).is_ok())
    }

    /// Lifts one that was only held.
    pub(crate) fn let_go(&self) {
        *locked(&self.held) = None;
    }

    /// Halts. Durable when it returns; `false` when it was halted before.
    ///
    /// Also then a new file is put in place, so that somebody who is just lifting the old one does not lift this
    /// one with it.
    pub(crate) fn pause(&self, note: &Note) -> Result<bool> {
        let before = self.standing();
        let kept = match &before {
            Standing::Paused(Some(earlier)) => earlier,
            Standing::Paused(None) | Standing::Running => note,
        };
        match self.write(kept) {
            Ok(()) => {}
            // Something is there already, and it means paused. That nobody can look is no such thing.
            Err(_) if self.which().is_some() => {}
            Err(e) => return Err(writing(&self.path, e).into()),
        }
        Ok(!before.is_paused())
    }

    /// Puts the file in its place, by the means that is left.
    fn write(&self, note: &Note) -> std::io::Result<()> {
        let Err(e) = self.write_with_note(note) else { return Ok(()) };
        // Also a file that says nothing means paused.
        let on_disk = self.pause_with_nothing_to_spare().or_else(|_| self.pause_with_what_lies_ready());
        let in_memory = self.write_in_memory(note);
        on_disk.or(in_memory).map_err(|_| e)
    }

    fn write_with_note(&self, note: &Note) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(note).unwrap_or_default();
        let whole = || {
            self.path.parent().map_or(Ok(()), holdfast_durable::create_dir)?;
            replace(&self.path, &bytes, Mode::Private)
        };
        let ready = || match locked(&self.standby).take() {
            Some(standby) => standby.place(&bytes),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        whole().or_else(|e| ready().map_err(|_| e))
    }

    fn write_in_memory(&self, note: &Note) -> std::io::Result<()> {
        self.in_memory.write(&serde_json::to_vec(note).unwrap_or_default(), self.owner())
    }

    /// On a disk without a free block a name may still fit.
    fn pause_with_nothing_to_spare(&self) -> std::io::Result<()> {
        File::options().write(true).create_new(true).mode(0o600).open(&self.path)?;
        self.path.parent().map_or(Ok(()), holdfast_durable::sync_dir)
    }

    /// Where a new file gets neither a block nor an inode any more, one that a daemon laid ready has both already. It says nothing.
    fn pause_with_what_lies_ready(&self) -> std::io::Result<()> {
        holdfast_durable::move_to_new(&self.ready(), &self.path)
    }

    fn ready(&self) -> PathBuf {
        self.path.with_extension("ready")
    }

    /// Which pause stands now; given to [`Switch::lift`], so that only this one is lifted.
    pub(crate) fn which(&self) -> Option<Which> {
        let (on_disk, in_memory) = (self.which_on_disk(), self.files_in_memory());
        (on_disk.is_some() || !in_memory.is_empty()).then_some(Which { on_disk, in_memory })
    }

    fn which_on_disk(&self) -> Option<OnDisk> {
        self.path.symlink_metadata().ok().map(|about| OnDisk::of(&about))
    }

    /// Lifts the pause that was seen. `false` when another one has taken its place meanwhile: that one stays.
    pub(crate) fn lift(&self, seen: &Which) -> Result<bool> {
        // First the copies, so that none stands for a pause that is lifted.
        self.in_memory.remove(&seen.in_memory).map_err(|e| writing(&self.path, e))?;
        let lifted = seen.on_disk.map_or(Ok(true), |seen| self.lift_on_disk(seen))?;
        Ok(lifted && self.which().is_none() && !self.standing().is_paused())
    }

    fn lift_on_disk(&self, seen: OnDisk) -> Result<bool> {
        let path = &self.path;
        let aside = path.with_extension("lifted");
        let failed = |e| writing(path, e);
        remove(&aside).map_err(failed)?;
        match holdfast_durable::move_to_new(path, &aside) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            moved => moved.map_err(failed)?,
        }
        let ours = aside.symlink_metadata().is_ok_and(|about| OnDisk::of(&about) == seen);
        if !ours {
            // Put back what was not ours to lift; whatever came in its place meanwhile means the same.
            match holdfast_durable::move_to_new(&aside, path) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(e).into()),
                _ => {}
            }
        }
        remove(&aside).map_err(failed)?;
        Ok(ours)
    }
}

/// One particular pause. In memory each has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    on_disk: Option<OnDisk>,
    in_memory: Vec<PathBuf>,
}

/// A file and when it was written, since numbers of files are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OnDisk {
    inode: u64,
    written: (i64, i64),
}

impl OnDisk {
    fn of(about: &Metadata) -> OnDisk {
        OnDisk { inode: about.ino(), written: (about.mtime(), about.mtime_nsec()) }
    }
}

/// What the files say, where any of them says something.
fn note_among(files: &[PathBuf]) -> Option<Note> {
    let note = |path: &PathBuf| {
        let bytes = holdfast_durable::read_bounded(path, STANDBY_ROOM as u64).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    files.iter().find_map(note)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry that says that autonomy goes on. What a person does with the switch may use the log's reserve.
pub(crate) fn resumed(actor: &Actor, reason: Option<&str>) -> Result<Draft> {
    let body = reason.map(|reason| ("reason".to_owned(), Value::from(reason)));
    Ok(draft(&RESUMED, actor.clone(), Trust::Admin, Map::from_iter(body))?.reserved())
}

/// The entry that says that autonomy is halted, and since when: it may be written later.
pub(crate) fn paused(note: Option<&Note>) -> Result<Draft> {
    let mut body = Map::new();
    body.extend(note.map(|note| ("since".to_owned(), json!(note.since))));
    body.extend(note.and_then(|note| Some(("reason".to_owned(), json!(note.reason.as_ref()?)))));
    let by = note.map_or_else(crate::kinds::own_actor, |note| note.by.clone());
    Ok(draft(&PAUSED, by, Trust::Admin, body)?.reserved())
}

/// Makes switch and journal agree, given the last turn the journal knows. Where they do not, paused holds.
pub(crate) fn settle(switch: &Switch, last: Option<Turn>, journal: &Journal, now: Timestamp) -> Result<()> {
    let own: Actor = crate::kinds::own_actor();
    match (switch.standing(), last) {
        (Standing::Paused(note), last) if last != Some(Turn::Paused) => {
            journal.append(&paused(note.as_ref())?)?;
        }
        (Standing::Running, Some(Turn::Paused)) => {
            let reason = "the journal says paused, and the switch's file was gone";
            switch.pause(&Note { since: now, by: own, reason: Some(reason.into()) })?;
        }
        (Standing::Paused(_), _) | (Standing::Running, Some(Turn::Resumed) | None) => {}
    }
    Ok(())
}

/// A turn of the switch, as the journal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Paused,
    Resumed,
}

impl Turn {
    pub(crate) const BOTH: [(Turn, &'static KindDef); 2] =
        [(Turn::Paused, &PAUSED), (Turn::Resumed, &RESUMED)];
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::places::MemoryFolder;

    fn note() -> Note {
        Note { since: Timestamp::EPOCH, by: "ana".parse().unwrap(), reason: None }
    }

    #[test]
    fn a_pause_stays_until_it_is_lifted_and_a_second_one_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let switch = Switch::at(dir.path().join("state/paused.json"));
        assert_eq!(switch.standing(), Standing::Running);
        assert!(switch.pause(&note()).unwrap());
        assert!(!switch.pause(&Note { by: "bob".parse().unwrap(), ..note() }).unwrap());
        assert_eq!(switch.standing(), Standing::Paused(Some(note())));
        assert!(switch.lift(&switch.which().unwrap()).unwrap());
        assert_eq!(switch.standing(), Standing::Running);
        assert_eq!(switch.which(), None);
    }

    #[test]
    fn a_pause_that_comes_while_another_is_lifted_stays() {
        let dir = tempfile::tempdir().unwrap();
        let switch = Switch::at(dir.path().join("paused.json"));
        switch.pause(&note()).unwrap();
        let seen = switch.which().unwrap();
        // Somebody pauses again between the look and the lifting, and is told that it is paused.
        assert!(!switch.pause(&Note { by: "bob".parse().unwrap(), ..note() }).unwrap());
        assert!(!switch.lift(&seen).unwrap());
        assert!(switch.standing().is_paused());
        assert!(switch.lift(&switch.which().unwrap()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left aside");
    }

    #[test]
    fn pausing_works_on_a_disk_without_a_free_byte() {
        use std::io::Write as _;
        let Some(disk) = holdfast_testkit::require(holdfast_testkit::SmallDisk::tmpfs(1024 * 1024)) else {
            return;
        };
        let mut filler = std::fs::File::create(disk.path().join("filler")).unwrap();
        while filler.write(&[1; 4096]).is_ok() {}
        let switch = Switch::at(disk.path().join("paused.json"));
        assert!(switch.pause(&note()).unwrap());
        assert!(switch.standing().is_paused());
    }

    #[test]
    fn what_lies_ready_makes_a_pause_where_nothing_new_can_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let switch = Switch::at(dir.path().join("paused.json"));
        switch.arm();
        // Neither a file aside nor one in the place itself can be made.
        std::fs::create_dir(dir.path().join("paused.json.new")).unwrap();
        let standby = locked(&switch.standby).take().unwrap();
        standby.place(&serde_json::to_vec(&note()).unwrap()).unwrap();
        assert_eq!(switch.standing(), Standing::Paused(Some(note())), "spaces behind it are passed over");
        assert!(switch.lift(&switch.which().unwrap()).unwrap());
        switch.arm();
        assert!(switch.pause(&note()).unwrap());
        assert_eq!(switch.standing(), Standing::Paused(Some(note())));
    }

    #[test]
    fn a_pause_that_can_be_written_nowhere_is_held_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("state");
        std::fs::write(&place, "not a folder").unwrap();
        let switch = Switch::at(place.join("paused.json"));
        assert!(switch.pause(&note()).is_err());
        assert!(switch.hold(&note()) && !switch.hold(&note()));
        assert_eq!(
            switch.clone().standing(),
            Standing::Paused(Some(note())),
            "for everybody in this process"
        );
        assert!(!switch.keep());
        std::fs::remove_file(&place).unwrap();
        assert!(switch.keep() && switch.held().is_none());
        assert!(place.join("paused.json").exists() && switch.standing().is_paused());
    }

    /// A switch on a disk that takes no write, and in memory beside it.
    fn on_a_dead_disk(dir: &Path) -> Switch {
        let _there_already = std::os::unix::fs::symlink(dir.join("nowhere"), dir.join("state"));
        let memory = dir.join("memory");
        std::fs::create_dir_all(&memory).unwrap();
        let folder = MemoryFolder { path: memory, beginning: "paused".into(), owners_alone: false };
        let in_memory = Arc::new(InMemory::new(vec![folder]));
        Switch { in_memory, ..Switch::at(dir.join("state/paused.json")) }
    }

    #[test]
    fn a_pause_on_a_disk_that_takes_no_write_outlives_the_process_and_is_moved_to_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let switch = on_a_dead_disk(dir.path());
        assert!(switch.pause(&note()).unwrap() && switch.is_in_memory_alone());
        let next = on_a_dead_disk(dir.path());
        assert_eq!(next.standing(), Standing::Paused(Some(note())));
        assert!(!next.pause(&Note { by: "bob".parse().unwrap(), ..note() }).unwrap());
        assert!(!next.keep());
        std::fs::remove_file(dir.path().join("state")).unwrap();
        assert!(next.keep() && !next.is_in_memory_alone());
        assert_eq!(next.standing(), Standing::Paused(Some(note())), "who paused and when goes with it");
        assert_eq!(std::fs::read_dir(dir.path().join("memory")).unwrap().count(), 0);
        assert!(next.lift(&next.which().unwrap()).unwrap());
        assert_eq!(next.standing(), Standing::Running);
    }

    #[test]
    fn a_pause_in_memory_is_lifted_there_and_with_a_copy_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let switch = on_a_dead_disk(dir.path());
        switch.pause(&note()).unwrap();
        let seen = switch.which().unwrap();
        // Another one comes between the look and the lifting.
        switch.pause(&note()).unwrap();
        assert!(!switch.lift(&seen).unwrap() && switch.standing().is_paused());
        assert!(switch.lift(&switch.which().unwrap()).unwrap());
        assert_eq!(switch.standing(), Standing::Running);
        switch.pause(&note()).unwrap();
        std::fs::remove_file(dir.path().join("state")).unwrap();
        switch.pause(&note()).unwrap();
        assert!(switch.lift(&switch.which().unwrap()).unwrap());
        assert_eq!(switch.standing(), Standing::Running, "the copy in memory is gone too");
    }

    #[test]
    fn what_another_user_lays_in_memory_halts_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let switch = on_a_dead_disk(dir.path());
        let place = dir.path().join("memory/paused-1.json");
        std::os::unix::fs::symlink("/etc/passwd", &place).unwrap();
        assert_eq!(switch.standing(), Standing::Running);
        std::fs::remove_file(&place).unwrap();
        File::options().write(true).create_new(true).mode(0o600).open(&place).unwrap();
        assert!(switch.which().is_some(), "one of this user's does");
        assert_eq!(switch.standing(), Standing::Paused(None));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&place, Some(54_321), None).unwrap();
            assert_eq!(switch.standing(), Standing::Running);
        }
    }

    #[test]
    fn without_a_free_inode_the_file_that_lies_ready_pauses_for_a_command_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("paused.json");
        Switch::at(path.clone()).arm();
        Switch::at(path.clone()).pause_with_what_lies_ready().unwrap();
        assert_eq!(Switch::at(path).standing(), Standing::Paused(None));
    }

    #[test]
    fn whatever_is_there_means_paused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("paused.json");
        for damage in [&b""[..], b"{", b"\xff\xfe", b"{\"paused\":false}"] {
            std::fs::write(&path, damage).unwrap();
            assert_eq!(Switch::at(path.clone()).standing(), Standing::Paused(None));
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(Switch::at(path).standing(), Standing::Paused(None));
    }

    #[test]
    fn where_switch_and_journal_differ_it_is_paused() {
        use Turn::{Paused, Resumed};
        let house = holdfast_testkit::House::new();
        let journal = house.open();
        let switch = Switch::at(house.path().join("paused.json"));
        let check = |file: bool, last: Option<Turn>, paused: bool, entries: u64| {
            if file {
                switch.pause(&note()).unwrap();
            } else {
                switch.which().map(|which| switch.lift(&which).unwrap());
            }
            let before = journal.size();
            settle(&switch, last, &journal, Timestamp::EPOCH).unwrap();
            assert_eq!(switch.standing().is_paused(), paused, "{file} {last:?}");
            assert_eq!(journal.size() - before, entries, "{file} {last:?}");
        };
        check(false, None, false, 0);
        check(false, Some(Resumed), false, 0);
        check(false, Some(Paused), true, 0);
        check(true, Some(Paused), true, 0);
        check(true, None, true, 1);
        check(true, Some(Resumed), true, 1);
    }
}
