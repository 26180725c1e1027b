//! The switch that halts all autonomy.
//!
//! A file, made before anything else is tried: it works when the journal is full, damaged or locked by a daemon that
//! no longer answers, and it is still there after a restart. Whatever is at its place, also what cannot be read,
//! means *paused*. The journal records each turn of the switch; [`settle`] makes the two agree at a start, and where
//! they differ the answer is *paused*.
//!
//! A daemon lays a file ready ([`Switch::arm`]), so that it can pause on a full disk and without a free descriptor. Where not even that can be
//! written, it holds the pause in memory and says that it ends with the daemon ([`Switch::hold`]).

use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_durable::{Mode, Standby, remove, replace};
use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, KindDef, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::house::writing;
use crate::kinds::{PAUSED, RESUMED, draft};
use crate::problem::Result;
use crate::sieve;

#[derive(Clone, Debug)]
pub(crate) struct Switch {
    path: PathBuf,
    standby: Arc<Mutex<Option<Standby>>>,
    /// A pause that could not be written anywhere.
    held: Arc<Mutex<Option<Note>>>,
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
    pub(crate) fn at(path: PathBuf) -> Switch {
        Switch { path, standby: Arc::default(), held: Arc::default() }
    }

    /// Lays the file ready that a pause is made of when nothing else can be written. Done again after each turn.
    pub(crate) fn arm(&self) {
        let mut standby = locked(&self.standby);
        if standby.is_some() {
            return;
        }
        match Standby::new(&self.path, &self.path.with_extension("ready"), STANDBY_ROOM) {
            Ok(ready) => *standby = Some(ready),
            Err(e) => tracing::debug!(error = %e, "the switch could not be laid ready"),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        if let Some(note) = self.held() {
            return Standing::Paused(Some(note));
        }
        match std::fs::read(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Standing::Running,
            // Whether it is there takes no descriptor, and what cannot be looked for counts as there.
            Err(_) if self.is_gone() => Standing::Running,
            Err(_) => Standing::Paused(None),
            Ok(bytes) => Standing::Paused(serde_json::from_slice(&bytes).ok()),
        }
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

    /// Writes down a pause that was only held, when that can be done by now. Whether none is only held any more.
    pub(crate) fn keep_held(&self) -> bool {
        let Some(note) = self.held() else { return true };
        // The file may say more by now than could be read of it before.
        let says =
            std::fs::read(&self.path).ok().and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok());
        let kept = says.is_some() || self.write(&note).is_ok();
        if kept {
            *locked(&self.held) = None;
        }
        kept
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
        let bytes = serde_json::to_vec(note).unwrap_or_default();
        let whole = || {
            self.path.parent().map_or(Ok(()), holdfast_durable::create_dir)?;
            replace(&self.path, &bytes, Mode::Private)
        };
        let ready = || match locked(&self.standby).take() {
            Some(standby) => standby.place(&bytes),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        // Also an empty file means paused.
        whole().or_else(|e| ready().or_else(|_| self.pause_with_nothing_to_spare()).map_err(|_| e))
    }

    /// On a disk without a free block a name may still fit.
    fn pause_with_nothing_to_spare(&self) -> std::io::Result<()> {
        File::options().write(true).create_new(true).mode(0o600).open(&self.path)?;
        self.path.parent().map_or(Ok(()), holdfast_durable::sync_dir)
    }

    /// Which pause stands now; given to [`Switch::lift`], so that only this one is lifted.
    pub(crate) fn which(&self) -> Option<Which> {
        self.path.symlink_metadata().ok().map(|about| Which::of(&about))
    }

    /// Lifts the pause that was seen. `false` when another one has taken its place meanwhile: that one stays.
    pub(crate) fn lift(&self, seen: Which) -> Result<bool> {
        let aside = self.path.with_extension("lifted");
        let failed = |e| writing(&self.path, e);
        remove(&aside).map_err(failed)?;
        match holdfast_durable::move_to_new(&self.path, &aside) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            moved => moved.map_err(failed)?,
        }
        let ours = aside.symlink_metadata().is_ok_and(|about| Which::of(&about) == seen);
        if !ours {
            // Put back what was not ours to lift; whatever came in its place meanwhile means the same.
            match holdfast_durable::move_to_new(&aside, &self.path) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(e).into()),
                _ => {}
            }
        }
        remove(&aside).map_err(failed)?;
        Ok(ours && !self.standing().is_paused())
    }
}

/// One particular pause: a file and when it was written, since numbers of files are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    inode: u64,
    written: (i64, i64),
}

impl Which {
    fn of(about: &Metadata) -> Which {
        Which { inode: about.ino(), written: (about.mtime(), about.mtime_nsec()) }
    }
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
    use super::*;

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
        assert!(switch.lift(switch.which().unwrap()).unwrap());
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
        assert!(!switch.lift(seen).unwrap());
        assert!(switch.standing().is_paused());
        assert!(switch.lift(switch.which().unwrap()).unwrap());
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
        assert!(switch.lift(switch.which().unwrap()).unwrap());
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
        assert!(!switch.keep_held());
        std::fs::remove_file(&place).unwrap();
        assert!(switch.keep_held() && switch.held().is_none());
        assert!(place.join("paused.json").exists() && switch.standing().is_paused());
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
                switch.which().map(|which| switch.lift(which).unwrap());
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
