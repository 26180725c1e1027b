//! The window record of one target on the disk, shared by the steward and the guard.
//!
//! One file, replaced whole under a lock, so that of two who claim it only one wins. It lies in a folder that those two may write, and
//! nobody who plans. Whoever cannot read it does not know that nothing is open: nothing new is opened over it, and the guard goes on with
//! what it read last.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::{Mode, create_dir, lock_within, open_to_lock, read_bounded, replace};
use holdfast_lifeline::{Claim, EpisodeId, TargetName, WindowRecord, WindowState};
use serde::{Deserialize, Serialize};

use crate::clock::Moment;

/// Nobody holds the lock longer than it takes to write a small file.
const LOCK_WITHIN: Duration = Duration::from_secs(5);
/// A record is some four hundred bytes.
const BYTES_MAX: u64 = 16 << 10;

/// The file of one target's record.
#[derive(Clone, Debug)]
pub struct WindowFile {
    path: PathBuf,
    lock: PathBuf,
}

/// What is at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Record(Sheet),
    Unreadable,
}

/// A record, and when it was written by the steward's count; nothing in those of releases that did not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    pub record: WindowRecord,
    pub written: Option<Moment>,
}

/// What came of a claim.
#[derive(Debug)]
pub enum Granted {
    Won,
    /// Somebody else was first, or the record is of another episode. How it stands, where there is one.
    Lost(Option<WindowState>),
    /// It could not be read or written, so nobody knows.
    Unknown(io::Error),
}

impl WindowFile {
    pub fn of(folder: &Path, target: &TargetName) -> WindowFile {
        let named = |ending: &str| folder.join(format!("{target}.{ending}"));
        WindowFile { path: named("window.json"), lock: named("window.lock") }
    }

    pub fn read(&self) -> Found {
        let bytes = match read_bounded(&self.path, BYTES_MAX) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(_) => return Found::Unreadable,
            Ok(bytes) => bytes,
        };
        let plain = || serde_json::from_slice(&bytes).map(|record| Sheet { record, written: None });
        serde_json::from_slice(&bytes).or_else(|_| plain()).map_or(Found::Unreadable, Found::Record)
    }

    /// A new window: over nothing, over a closed one, or again by its own episode.
    pub fn open(&self, record: &WindowRecord, now: Moment) -> Granted {
        self.locked(|| match self.read() {
            Found::Unreadable => Granted::Unknown(unreadable(&self.path)),
            Found::Record(old) if !record.may_replace(&old.record) => Granted::Lost(Some(old.record.state)),
            Found::Nothing | Found::Record(_) => self.write(record.clone(), Some(now)),
        })
    }

    /// The steward says what time it is on its count; the guard leaves that as it was, since its claims name no time.
    pub fn claim(&self, episode: &EpisodeId, claim: Claim, now: Option<Moment>) -> Granted {
        self.locked(|| match self.read() {
            Found::Unreadable => Granted::Unknown(unreadable(&self.path)),
            Found::Nothing => Granted::Lost(None),
            Found::Record(found) if found.record.episode != *episode => {
                Granted::Lost(Some(found.record.state))
            }
            Found::Record(found) => match found.record.claimed(claim) {
                Some(next) => self.write(next, now.or(found.written)),
                None => Granted::Lost(Some(found.record.state)),
            },
        })
    }

    fn locked(&self, work: impl FnOnce() -> Granted) -> Granted {
        match self.lock() {
            Ok(_held) => work(),
            Err(e) => Granted::Unknown(e),
        }
    }

    /// Shared by two users of one group: whoever makes it lets the other in, whatever their usual mask is.
    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.lock.parent() {
            create_dir(folder)?;
        }
        let file = open_to_lock(&self.lock, Mode::Shared)?;
        // Who did not make it may not change it, and need not.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o660));
        match lock_within(&file, LOCK_WITHIN)? {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::TimedOut, "somebody holds the window record's lock")),
        }
    }

    /// Durable when it is won.
    fn write(&self, record: WindowRecord, written: Option<Moment>) -> Granted {
        let written = serde_json::to_vec(&Sheet { record, written })
            .map_err(io::Error::other)
            .and_then(|bytes| replace(&self.path, &bytes, Mode::Shared));
        written.map_or_else(Granted::Unknown, |()| Granted::Won)
    }
}

fn unreadable(path: &Path) -> io::Error {
    io::Error::other(format!("{} cannot be read as a window record", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use holdfast_lifeline::{BootId, Identity, Owner, Steady};

    fn record(episode: &str) -> WindowRecord {
        WindowRecord {
            episode: episode.parse().unwrap(),
            known_good: Identity([1; 32]),
            candidate: Identity([2; 32]),
            state: WindowState::Open,
            deadline: Steady(9),
        }
    }

    fn moment() -> Moment {
        Moment { steady: Steady(1), boot: BootId(2), since_boot_ms: 3 }
    }

    fn file(folder: &Path) -> WindowFile {
        WindowFile::of(folder, &"box-1".parse().unwrap())
    }

    #[test]
    fn a_window_is_claimed_once_and_survives_whoever_opened_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = || file(&folder.path().join("windows"));
        let [first, second] = ["ep_1", "ep_2"].map(|name| name.parse::<EpisodeId>().unwrap());
        assert!(matches!(file().open(&record("ep_1"), moment()), Granted::Won));
        assert!(matches!(file().open(&record("ep_2"), moment()), Granted::Lost(Some(WindowState::Open))));
        let undo = Claim::Undo { by: Owner::Tripwire };
        assert!(matches!(file().claim(&second, undo, None), Granted::Lost(Some(_))));
        assert!(matches!(file().claim(&first, undo, None), Granted::Won));
        let Found::Record(sheet) = file().read() else { panic!() };
        assert_eq!(
            (sheet.record.state, sheet.written),
            (WindowState::Undoing { by: Owner::Tripwire }, Some(moment()))
        );
        let keep = Claim::Keep { since: Steady(1) };
        assert!(matches!(file().claim(&first, keep, Some(moment())), Granted::Lost(Some(_))));
        assert!(matches!(file().claim(&first, Claim::Close { by: Owner::Tripwire }, None), Granted::Won));
        assert!(matches!(file().open(&record("ep_2"), moment()), Granted::Won));
    }

    #[test]
    fn of_many_who_claim_at_once_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let episode: EpisodeId = "ep_1".parse().unwrap();
        for _ in 0..20 {
            let open = WindowRecord { state: WindowState::Active { since: Steady(1) }, ..record("ep_1") };
            assert!(matches!(file.open(&open, moment()), Granted::Won));
            let (kept, undone) = (AtomicU32::new(0), AtomicU32::new(0));
            std::thread::scope(|scope| {
                for at in 0..4 {
                    let (file, episode, kept, undone) = (&file, &episode, &kept, &undone);
                    scope.spawn(move || {
                        let keeps = at % 2 == 0;
                        let claim = if keeps {
                            Claim::Keep { since: Steady(2) }
                        } else {
                            Claim::Close { by: Owner::Tripwire }
                        };
                        if matches!(file.claim(episode, claim, None), Granted::Won) {
                            if keeps { kept } else { undone }.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert_eq!(undone.load(Ordering::SeqCst), 0, "nobody closes what is open");
            assert_eq!(kept.load(Ordering::SeqCst), 2, "keeping again is keeping");
            assert!(matches!(
                file.claim(&episode, Claim::Close { by: Owner::Controller }, None),
                Granted::Won
            ));
        }
    }

    // shows: STW-334
    #[test]
    fn what_cannot_be_read_may_be_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        assert_eq!(file.read(), Found::Nothing);
        for bad in [&b"{"[..], b"", b"null", b"{\"record\":{}}", &vec![b' '; 20 << 10]] {
            std::fs::write(folder.path().join("box-1.window.json"), bad).unwrap();
            assert_eq!(file.read(), Found::Unreadable);
            assert!(matches!(file.open(&record("ep_1"), moment()), Granted::Unknown(_)));
            let undo = Claim::Undo { by: Owner::Tripwire };
            assert!(matches!(file.claim(&"ep_1".parse().unwrap(), undo, None), Granted::Unknown(_)));
        }
        // As it was written before it said when.
        std::fs::write(folder.path().join("box-1.window.json"), serde_json::to_vec(&record("ep_1")).unwrap())
            .unwrap();
        assert_eq!(file.read(), Found::Record(Sheet { record: record("ep_1"), written: None }));
    }

    /// Whoever shares the folder may put anything there. A pipe would be waited on for ever, and nothing undone meanwhile.
    #[test]
    fn nothing_that_stands_in_the_place_of_a_record_or_its_lock_is_waited_on_or_believed() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let elsewhere = tempfile::tempdir().unwrap();
        let good = elsewhere.path().join("record");
        std::fs::write(&good, serde_json::to_vec(&record("ep_1")).unwrap()).unwrap();
        let pipe = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let link = |path: &Path| std::os::unix::fs::symlink(&good, path).unwrap();
        let endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let folder_there = |path: &Path| std::fs::create_dir(path).unwrap();
        let planted: [(&str, &dyn Fn(&Path)); 4] =
            [("pipe", &pipe), ("link", &link), ("endless", &endless), ("folder", &folder_there)];
        let undo = || Claim::Undo { by: Owner::Tripwire };
        for (name, plant) in planted {
            let folder = tempfile::tempdir().unwrap();
            plant(&folder.path().join("box-1.window.json"));
            let there = file(folder.path());
            assert_eq!(there.read(), Found::Unreadable, "{name}");
            assert!(matches!(there.open(&record("ep_2"), moment()), Granted::Unknown(_)), "{name}");
            assert!(
                matches!(there.claim(&"ep_1".parse().unwrap(), undo(), None), Granted::Unknown(_)),
                "{name}"
            );

            let folder = tempfile::tempdir().unwrap();
            let there = file(folder.path());
            assert!(matches!(there.open(&record("ep_1"), moment()), Granted::Won));
            let lock = folder.path().join("box-1.window.lock");
            std::fs::remove_file(&lock).unwrap();
            plant(&lock);
            assert!(
                matches!(there.claim(&"ep_1".parse().unwrap(), undo(), None), Granted::Unknown(_)),
                "{name}"
            );
        }
        assert_eq!(std::fs::read(&good).unwrap(), serde_json::to_vec(&record("ep_1")).unwrap());
    }
}
