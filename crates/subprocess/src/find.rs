//! Where programs are looked for.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where a system keeps its programs; the first is where NixOS does.
pub const FOLDERS: [&str; 7] = [
    "/run/current-system/sw/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The same as programs read it.
pub const PATH: &str =
    "/run/current-system/sw/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs that run code of a folder or a repository unless they get the right flags, and the one function or crate that starts them.
const RESERVED: [(&[&str], &str); 2] = [
    (&["git", "scalar"], "holdfast_git"),
    (&["python", "pypy", "pip", "pydoc"], "holdfast_subprocess::python"),
];

/// The absolute path of a program of this machine. Git and Python are refused: only `holdfast_git` and `python` start them.
pub fn find(name: &str) -> io::Result<PathBuf> {
    find_any(name).and_then(checked)
}

/// The same in a person's `PATH`, of which only absolute folders count: an empty or relative entry means the folder the person is in.
pub fn find_on_path(name: &str, path: &OsStr) -> io::Result<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    find_among(name, folders.iter().map(PathBuf::as_path))
        .ok_or_else(|| missing(format!("{name} is in no absolute folder of PATH")))
        .and_then(checked)
}

/// The same without the refusal.
pub(crate) fn find_any(name: &str) -> io::Result<PathBuf> {
    find_among(name, FOLDERS.iter().map(Path::new))
        .ok_or_else(|| missing(format!("{name} is in none of {}", FOLDERS.join(", "))))
}

/// Refuses git and Python, by the name of the program and by the name of the file that it links to.
pub(crate) fn check_is_not_reserved(program: &Path) -> io::Result<()> {
    let real = program.canonicalize().ok();
    let owner = [Some(program), real.as_deref()].into_iter().flatten().find_map(reserved_for);
    match owner {
        Some(owner) => {
            let why = format!("{} is started by {owner} alone", program.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        None => Ok(()),
    }
}

fn checked(program: PathBuf) -> io::Result<PathBuf> {
    check_is_not_reserved(&program).map(|()| program)
}

/// `git`, `git-shell`, `python3.11`, `pip3`: the name without what comes after a `-` and without a version.
fn reserved_for(program: &Path) -> Option<&'static str> {
    let name = program.file_name()?.to_string_lossy().to_lowercase();
    let name = name.split('-').next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RESERVED.into_iter().find_map(|(names, owner)| names.contains(&name).then_some(owner))
}

fn find_among<'a>(name: &str, mut folders: impl Iterator<Item = &'a Path>) -> Option<PathBuf> {
    // A name with a slash would leave the folder.
    if name.is_empty() || name.contains('/') {
        return None;
    }
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| is_program(path)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn missing(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_systems_folders_alone() {
        assert_eq!(PATH, FOLDERS.join(":"));
        assert!(find("sh").unwrap().is_absolute());
        for wrong in ["", "../bin/sh", "/bin/sh", "./sh", "holdfast-there-is-none"] {
            assert_eq!(find(wrong).unwrap_err().kind(), io::ErrorKind::NotFound, "{wrong}");
        }
    }

    #[test]
    fn git_and_python_are_known_by_any_of_their_names() {
        for name in ["git", "git-shell", "git-upload-pack", "scalar"] {
            assert_eq!(reserved_for(&Path::new("/usr/bin").join(name)), Some("holdfast_git"), "{name}");
        }
        for name in [
            "python",
            "python3",
            "python3.11",
            "Python3",
            "python3.13-dbg",
            "pypy3",
            "pip",
            "pip3.11",
            "pydoc3",
        ] {
            let owner = reserved_for(&Path::new("/usr/bin").join(name));
            assert_eq!(owner, Some("holdfast_subprocess::python"), "{name}");
        }
        for name in ["nft", "ssh", "ssh-keygen", "gitea", "pipewire", "digit", "sh"] {
            assert_eq!(reserved_for(&Path::new("/usr/bin").join(name)), None, "{name}");
        }
    }

    #[test]
    fn the_folder_a_person_is_in_is_never_searched() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let found = |path: &str| find_on_path("tool", OsStr::new(path)).ok();
        assert_eq!(found(folder.path().to_str().unwrap()), None, "it is not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(folder.path().to_str().unwrap()), Some(program));
        let back = ["..", ".", "", "crates"].map(|entry| format!("{entry}:/nowhere"));
        assert!(back.iter().all(|path| find_on_path("Cargo.toml", OsStr::new(path)).is_err()));
    }
}
