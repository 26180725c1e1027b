//! The window record of one target, as the steward claims it: who may end the trial that is open.

use std::path::Path;

use holdfast_lifeline::{Claim, EpisodeId, Owner, Steady, TargetName, WindowRecord, WindowState};
use holdfast_steward::Claimed;
use holdfast_tripwire::clock::Moment;
use holdfast_tripwire::window::{Found, Granted, WindowFile};
use tracing::error;

#[derive(Debug)]
pub(super) struct Window {
    file: WindowFile,
}

impl Window {
    pub(super) fn of(folder: &Path, target: &TargetName) -> Window {
        Window { file: WindowFile::of(folder, target) }
    }

    pub(super) fn open(&self, record: &WindowRecord, now: Steady) -> Claimed {
        said(self.file.open(record, Moment::now(now)))
    }

    pub(super) fn claim(&self, episode: &EpisodeId, claim: Claim, now: Steady) -> Claimed {
        said(self.file.claim(episode, claim, Some(Moment::now(now))))
    }

    /// The episode the record is of.
    pub(super) fn episode(&self) -> Option<EpisodeId> {
        match self.file.read() {
            Found::Record(sheet) => Some(sheet.record.episode),
            Found::Nothing | Found::Unreadable => None,
        }
    }

    /// Since when what is tried there runs. Later, when it is kept or on probation, whatever is fresh is younger anyway.
    pub(super) fn live_since(&self) -> Option<Steady> {
        match self.file.read() {
            Found::Record(sheet) => match sheet.record.state {
                WindowState::Active { since } => Some(since),
                _ => None,
            },
            Found::Nothing | Found::Unreadable => None,
        }
    }
}

/// Whoever could not write it has not won it: nothing is kept that way, and undoing asks nobody.
fn said(granted: Granted) -> Claimed {
    match granted {
        Granted::Won => Claimed::Won,
        Granted::Lost(Some(WindowState::Undoing { by: Owner::Tripwire })) => Claimed::Tripwire,
        Granted::Lost(_) => Claimed::Lost,
        Granted::Unknown(e) => {
            error!(error = %e, "the window record could not be claimed");
            Claimed::Lost
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_lifeline::Identity;

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
    fn what_the_guard_has_taken_is_told_apart_from_what_others_have() {
        let folder = tempfile::tempdir().unwrap();
        let target: TargetName = "box-1".parse().unwrap();
        let (window, guard) = (Window::of(folder.path(), &target), WindowFile::of(folder.path(), &target));
        let episode: EpisodeId = "ep_1".parse().unwrap();
        assert_eq!(window.open(&record("ep_1"), Steady(5)), Claimed::Won);
        assert_eq!(window.episode(), Some(episode.clone()));
        assert_eq!(window.open(&record("ep_2"), Steady(6)), Claimed::Lost);
        let activate = Claim::Activate { since: Steady(6) };
        assert_eq!(window.live_since(), None);
        assert_eq!(window.claim(&episode, activate, Steady(6)), Claimed::Won);
        assert_eq!(window.live_since(), Some(Steady(6)));
        assert!(matches!(guard.claim(&episode, Claim::Undo { by: Owner::Tripwire }, None), Granted::Won));
        assert_eq!(window.claim(&episode, Claim::Keep { since: Steady(7) }, Steady(7)), Claimed::Tripwire);
        std::fs::write(folder.path().join("box-1.window.json"), "{").unwrap();
        assert_eq!(window.claim(&episode, Claim::Keep { since: Steady(7) }, Steady(7)), Claimed::Lost);
        assert_eq!(window.episode(), None);
    }
}
