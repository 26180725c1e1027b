//! Starts programs that are not ours: ssh, nft, python3, and git through `holdfast-git`.
//!
//! A program that is named, and not given by its path, is looked for in a fixed list of folders: never in the caller's `PATH`, and never in the
//! folder the caller happens to be in. It starts in `/`, with an environment of its own. [`run`] also gives it a process group, a deadline and a
//! limit on its output; [`run_while_we_do`] also ends it when this process ends.
//!
//! Git and Python run code of a folder unless they get the right flags. So only `holdfast-git` starts git and only [`python`] starts Python; the other
//! functions here refuse both, by the name of the program and by the name of the file that it links to.
//!
//! A lint (`cargo xtask lint`) refuses `Command::new` in any other crate, except at the places that it lists with their reasons.

mod find;
mod python;
mod run;

pub use find::{FOLDERS, PATH, find, find_on_path};
pub use python::python;
pub use run::{Limits, NotEnded, REAPER_SCRIPT, Ran, run, run_while_we_do};

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program of this machine by its name, isolated.
pub fn command(name: &str) -> io::Result<Command> {
    isolated(&find(name)?)
}

/// A program by its absolute path: no variable of the caller's, the folder `/`, nothing to read. Its arguments and its output are the caller's to set.
///
/// Git and Python are refused.
pub fn isolated(program: &Path) -> io::Result<Command> {
    find::check_is_not_reserved(program)?;
    isolated_any(program)
}

/// Git, isolated, but free to run what a repository says: for `holdfast-git`, which adds what keeps it from that. The lint refuses other callers.
pub fn unhardened_git(program: Option<&Path>) -> io::Result<Command> {
    match program {
        Some(program) => isolated_any(program),
        None => isolated_any(&find::find_any("git")?),
    }
}

fn isolated_any(program: &Path) -> io::Result<Command> {
    if !program.is_absolute() {
        let why = format!("{} is not an absolute path", program.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut command = Command::new(program);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").current_dir("/").stdin(Stdio::null());
    Ok(command)
}

/// A program that a person at a terminal would have started, with their environment and in their folder: their own ssh reads their own settings.
/// It is looked for in the folders of their `PATH` that are absolute. Git and Python are refused here too.
pub fn of_the_person(name: &str) -> io::Result<Command> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
    Ok(Command::new(find_on_path(name, &path)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits { within: Duration::from_secs(60), output_max: 1 << 20 };

    #[test]
    fn nothing_of_the_caller_reaches_a_program() {
        let ran = run(&mut command("env").unwrap(), Vec::new(), LIMITS).unwrap();
        let said = String::from_utf8(ran.out).unwrap();
        let mut names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
        let ran = run(&mut command("pwd").unwrap(), Vec::new(), LIMITS).unwrap();
        assert_eq!(ran.out, b"/\n");
    }

    #[test]
    fn a_program_by_its_path_is_absolute() {
        for wrong in ["ssh", "./ssh", "../bin/ssh"] {
            assert_eq!(
                isolated(Path::new(wrong)).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{wrong}"
            );
        }
    }
    #[track_caller]
    fn check_refused(started: io::Result<Command>, owner: &str) {
        let refused = started.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{refused}");
        assert!(refused.to_string().ends_with(&format!(" is started by {owner} alone")), "{refused}");
    }

    #[test]
    fn nothing_here_starts_git_or_python_without_their_flags() {
        for (name, owner) in [("git", "holdfast_git"), ("python3", "holdfast_subprocess::python")] {
            let path = find::find_any(name).unwrap();
            check_refused(command(name), owner);
            check_refused(isolated(&path), owner);
            check_refused(isolated(&path.canonicalize().unwrap()), owner);
            check_refused(of_the_person(name), owner);
            check_refused(find(name).map(Command::new), owner);
            // Under another name.
            let folder = tempfile::tempdir().unwrap();
            let (link, again) = (folder.path().join("tool"), folder.path().join("again"));
            std::os::unix::fs::symlink(&path, &link).unwrap();
            std::os::unix::fs::symlink("tool", &again).unwrap();
            check_refused(isolated(&again), owner);
            check_refused(find_on_path("tool", folder.path().as_os_str()).map(Command::new), owner);
        }
        assert!(unhardened_git(None).is_ok() && python().is_ok());
    }
}
