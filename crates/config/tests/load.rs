//! Which files are read at all.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use holdfast_config::{BYTES_MAX, Config, Error, Layer, Level, load};
use holdfast_types::Exit;

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    fn holding(text: &str, mode: u32) -> Folder {
        let folder = Folder::new();
        fs::write(folder.path(), text).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        folder
    }
}

const DEBUG: &str = "version: 1\nlog:\n  level: debug\n";

fn refused(path: &Path) -> (u16, Exit, String) {
    let problem = load(path, &[], &[]).unwrap_err().problem();
    (problem.code.number, problem.exit, problem.what)
}

#[test]
fn a_file_of_ours_is_read_and_the_other_layers_lie_over_it() {
    let folder = Folder::holding(DEBUG, 0o644);
    let loaded = load(&folder.path(), &[], &["log.format=json".into()]).unwrap();
    assert_eq!(loaded.config.log.level, Level::Debug);
    assert_eq!(loaded.layer("log.format"), Some(&Layer::Flag));
}

#[test]
fn no_file_and_no_folder_mean_the_defaults() {
    let folder = Folder::new();
    assert_eq!(load(&folder.path(), &[], &[]).unwrap().config, Config::default());
    let nowhere = folder.path().join("x").join("config.yaml");
    assert_eq!(load(&nowhere, &[], &[]).unwrap().config, Config::default());
}

#[test]
fn a_file_that_others_can_write_is_refused() {
    for mode in [0o664, 0o646, 0o666, 0o660, 0o602] {
        let folder = Folder::holding(DEBUG, mode);
        let (number, exit, what) = refused(&folder.path());
        assert_eq!((number, exit), (4, Exit::Refused), "{mode:o}");
        assert!(what.ends_with(&format!("{mode:04o}")), "{what}");
    }
    for mode in [0o600, 0o640, 0o644, 0o400] {
        assert!(load(&Folder::holding(DEBUG, mode).path(), &[], &[]).is_ok(), "{mode:o}");
    }
}

#[test]
fn a_folder_in_which_others_can_exchange_the_file_is_refused_even_without_one() {
    for (mode, fine) in [(0o777, false), (0o775, false), (0o755, true), (0o1777, true)] {
        for text in [Some(DEBUG), None] {
            let folder = Folder::new();
            if let Some(text) = text {
                fs::write(folder.path(), text).unwrap();
                fs::set_permissions(folder.path(), Permissions::from_mode(0o600)).unwrap();
            }
            fs::set_permissions(folder.folder.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(load(&folder.path(), &[], &[]).is_ok(), fine, "{mode:o} {text:?}");
        }
    }
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let folder = Folder::holding(DEBUG, 0o644);
    if !rustix::process::geteuid().is_root() {
        // Only root can give a file away. What root owns is fine for everybody, and /etc/passwd is root's.
        let error = load(Path::new("/etc/passwd"), &[], &[]).unwrap_err();
        assert!(matches!(error, Error::Wrong(_)), "{error}");
        return;
    }
    chown(folder.path(), Some(12345), None).unwrap();
    let (number, exit, what) = refused(&folder.path());
    assert_eq!((number, exit), (5, Exit::Refused));
    assert!(what.contains("uid 12345"), "{what}");
    chown(folder.path(), Some(0), None).unwrap();
    chown(folder.folder.path(), Some(12345), None).unwrap();
    assert_eq!(refused(&folder.path()).0, 5);
}

#[test]
fn what_is_not_a_plain_file_is_refused_without_waiting() {
    let folder = Folder::new();
    let path = folder.path();
    let other = folder.folder.path().join("other.yaml");
    fs::write(&other, DEBUG).unwrap();
    symlink(&other, &path).unwrap();
    assert_eq!(refused(&path).0, 3);
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    assert_eq!(refused(&path).0, 3);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let (number, exit, what) = refused(&path);
    assert_eq!((number, exit), (3, Exit::Refused));
    assert!(what.contains("is a directory"), "{what}");
    fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    assert!(refused(&path).2.contains("is a pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(folder.folder.path().join("socket")).unwrap();
    assert!(refused(&folder.folder.path().join("socket")).2.contains("is a socket"));
    assert!(refused(Path::new("/dev/null")).2.contains("is a device"));
}

#[test]
fn a_file_of_more_than_is_read_at_all_is_not_read_on() {
    let fits = format!("{DEBUG}{}", "#".repeat(BYTES_MAX - DEBUG.len()));
    assert!(load(&Folder::holding(&fits, 0o600).path(), &[], &[]).is_ok());
    let (number, exit, _) = refused(&Folder::holding(&format!("{fits}#"), 0o600).path());
    assert_eq!((number, exit), (6, Exit::Usage));
}

#[test]
fn a_path_through_a_file_cannot_be_read() {
    let folder = Folder::holding(DEBUG, 0o600);
    let (number, exit, _) = refused(&folder.path().join("config.yaml"));
    assert_eq!((number, exit), (7, Exit::CouldNotCheck));
}

#[test]
fn a_wrong_file_and_a_newer_one_end_differently() {
    let wrong = Folder::holding("version: 1\nhelth: {}\n", 0o600);
    assert_eq!(refused(&wrong.path()).1, Exit::Usage);
    let newer = Folder::holding("version: 2\nhelth: {}\n", 0o600);
    let (number, exit, what) = refused(&newer.path());
    assert_eq!((number, exit), (2, Exit::Refused));
    assert!(!what.contains("helth"));
    assert_eq!(fs::read_to_string(newer.path()).unwrap(), "version: 2\nhelth: {}\n");
}
