//! The window record of one target, on the disk: who may end the trial that is open.
//!
//! One file, replaced whole. Whoever cannot read it does not know that nothing is open, so nothing new is opened over it.

use std::path::{Path, PathBuf};

use holdfast_durable::{Mode, create_dir, replace};
use holdfast_lifeline::{Claim, EpisodeId, TargetName, WindowRecord};
use holdfast_steward::Claimed;
use holdfast_steward_host::window::{claimed, may_open};
use tracing::error;

#[derive(Debug)]
pub(super) struct WindowFile {
    path: PathBuf,
}

/// What is at its place.
enum Found {
    Nothing,
    Record(WindowRecord),
    Unreadable,
}

impl WindowFile {
    pub(super) fn of(dir: &Path, target: &TargetName) -> WindowFile {
        WindowFile { path: dir.join(format!("{target}.window.json")) }
    }

    pub(super) fn open(&self, record: &WindowRecord) -> Claimed {
        let free = match self.read() {
            Found::Nothing => true,
            Found::Record(old) => may_open(Some(&old), record),
            Found::Unreadable => false,
        };
        if free { self.write(record) } else { Claimed::Lost }
    }

    pub(super) fn claim(&self, episode: &EpisodeId, claim: Claim) -> Claimed {
        let Found::Record(record) = self.read() else { return Claimed::Lost };
        match claimed(Some(&record), episode, claim) {
            Ok(next) => self.write(&next),
            Err(answer) => answer,
        }
    }

    /// The episode the record is of.
    pub(super) fn episode(&self) -> Option<EpisodeId> {
        match self.read() {
            Found::Record(record) => Some(record.episode),
            Found::Nothing | Found::Unreadable => None,
        }
    }

    fn read(&self) -> Found {
        match std::fs::read(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Found::Nothing,
            Err(_) => Found::Unreadable,
            Ok(bytes) => serde_json::from_slice(&bytes).map_or(Found::Unreadable, Found::Record),
        }
    }

    /// Durable when it is won.
    fn write(&self, record: &WindowRecord) -> Claimed {
        let dir = self.path.parent().map_or(Ok(()), create_dir);
        let bytes = serde_json::to_vec(record).unwrap_or_default();
        match dir.and_then(|()| replace(&self.path, &bytes, Mode::Private)) {
            Ok(()) => Claimed::Won,
            Err(e) => {
                error!(path = %self.path.display(), error = %e, "the window record could not be written");
                Claimed::Lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_lifeline::{Identity, Owner, Steady, WindowState};

    fn record(episode: &str) -> WindowRecord {
        WindowRecord {
            episode: episode.parse().unwrap(),
            known_good: Identity([1; 32]),
            candidate: Identity([2; 32]),
            state: WindowState::Open,
            deadline: Steady(9),
        }
    }

    #[test]
    fn a_window_is_claimed_once_and_survives_whoever_opened_it() {
        let dir = tempfile::tempdir().unwrap();
        let target: TargetName = "box-1".parse().unwrap();
        let file = || WindowFile::of(&dir.path().join("steward"), &target);
        assert_eq!(file().open(&record("ep_1")), Claimed::Won);
        assert_eq!(file().open(&record("ep_2")), Claimed::Lost);
        let undo = Claim::Undo { by: Owner::Controller };
        assert_eq!(file().claim(&"ep_2".parse().unwrap(), undo), Claimed::Lost);
        assert_eq!(file().claim(&"ep_1".parse().unwrap(), undo), Claimed::Won);
        assert_eq!(file().claim(&"ep_1".parse().unwrap(), Claim::Keep { since: Steady(1) }), Claimed::Lost);
        assert_eq!(
            file().claim(&"ep_1".parse().unwrap(), Claim::Close { by: Owner::Controller }),
            Claimed::Won
        );
        assert_eq!(file().open(&record("ep_2")), Claimed::Won);
    }

    #[test]
    fn what_cannot_be_read_may_be_open() {
        let dir = tempfile::tempdir().unwrap();
        let target: TargetName = "box-1".parse().unwrap();
        std::fs::write(dir.path().join("box-1.window.json"), "{").unwrap();
        assert_eq!(WindowFile::of(dir.path(), &target).open(&record("ep_1")), Claimed::Lost);
    }
}
