//! The switch that halts all autonomy.
//!
//! A file, made before anything else is tried: it works when the journal is full, damaged or locked by a daemon that
//! no longer answers, and it is still there after a restart. Whatever is at its place, also what cannot be read,
//! means *paused*. The journal records each turn of the switch; [`settle`] makes the two agree at a start, and where
//! they differ the answer is *paused*.

use std::path::PathBuf;

use holdfast_durable::{Mode, create, remove};
use holdfast_journal::{Draft, Journal};
use holdfast_types::{Actor, KindDef, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::house::writing;
use crate::kinds::{PAUSED, RESUMED, draft};
use crate::problem::Result;

#[derive(Clone, Debug)]
pub(crate) struct Switch {
    path: PathBuf,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) since: Timestamp,
    pub(crate) by: Actor,
    pub(crate) reason: Option<String>,
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
        Switch { path }
    }

    pub(crate) fn standing(&self) -> Standing {
        match std::fs::read(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Standing::Running,
            Err(_) => Standing::Paused(None),
            Ok(bytes) => Standing::Paused(serde_json::from_slice(&bytes).ok()),
        }
    }

    /// Halts. Durable when it returns; `false` when it was halted before.
    pub(crate) fn pause(&self, note: &Note) -> Result<bool> {
        let bytes = serde_json::to_vec(note).unwrap_or_default();
        if let Some(dir) = self.path.parent() {
            holdfast_durable::create_dir(dir).map_err(|e| writing(dir, e))?;
        }
        match create(&self.path, &bytes, Mode::Private) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(writing(&self.path, e).into()),
        }
    }

    pub(crate) fn resume(&self) -> Result<()> {
        Ok(remove(&self.path).map_err(|e| writing(&self.path, e))?)
    }
}

/// The entry that records a turn of the switch.
pub(crate) fn turned(kind: &KindDef, actor: &Actor, reason: Option<&str>) -> Result<Draft> {
    let body = reason.map(|reason| ("reason".to_owned(), Value::from(reason)));
    Ok(draft(kind, actor.clone(), Trust::Admin, Map::from_iter(body))?)
}

/// Makes switch and journal agree, given the last turn the journal knows. Where they do not, paused holds.
pub(crate) fn settle(switch: &Switch, last: Option<Turn>, journal: &Journal, now: Timestamp) -> Result<()> {
    let own: Actor = crate::kinds::own_actor();
    match (switch.standing(), last) {
        (Standing::Paused(note), last) if last != Some(Turn::Paused) => {
            let reason = note.as_ref().and_then(|n| n.reason.as_deref());
            let by = note.as_ref().map_or(own, |n| n.by.clone());
            journal.append(&turned(&PAUSED, &by, reason)?)?;
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
        switch.resume().unwrap();
        assert_eq!(switch.standing(), Standing::Running);
        switch.resume().unwrap();
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
                switch.resume().unwrap();
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
