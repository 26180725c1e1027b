//! Runs one command, on this machine or through ssh on another, within a time and a length of output.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Unless said.
pub(crate) const WITHIN: Duration = Duration::from_secs(60);
const OUTPUT_LEN_MAX: u64 = 64 << 20;
/// How often the length of the output is looked at. The end of the command is seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// On a machine of the lab: runs its arguments and hands on how they ended. Made by `lab/guest.sh`.
const RUN: &str = "/usr/local/lib/lab/run";

/// Beside the file and then over it: a program that runs cannot be written to, but it can be replaced.
const PUT: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat >"$1.part" && chmod -- "$2" "$1.part" && mv -f -- "$1.part" "$1""#;

/// Into files: nothing has to be read while it runs, and their length can be looked at.
pub(crate) fn run(mut command: Command, stdin: Option<File>, within: Duration) -> io::Result<Output> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let waited = wait_bounded(&mut child, within, &[&stdout, &stderr]);
    if waited.is_err() {
        let _already_gone = child.kill();
        child.wait()?;
    }
    let status = waited?;
    Ok(Output { status, stdout: contents(stdout)?, stderr: contents(stderr)? })
}

/// sshd hands a line to the user's shell. In single quotes a shell takes every character as it is.
pub(crate) fn line(argv: &[&str]) -> String {
    let quoted = argv.iter().map(|arg| format!("'{}'", arg.replace('\'', r"'\''")));
    [RUN.to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
}

/// Copies a file with its permissions to a machine on which `run` runs a command with a standard input;
/// folders on the way are made.
pub(crate) fn put<E: Display>(
    local: &Path,
    remote: &str,
    run: impl FnOnce(&[&str], File) -> Result<Output, E>,
) -> Result<(), String> {
    let failed = |e: &dyn Display| format!("put {} there: {e}", local.display());
    let file = File::open(local).map_err(|e| failed(&e))?;
    let mode = file.metadata().map_err(|e| failed(&e))?.permissions().mode() & 0o7777;
    let mode = format!("{mode:o}");
    let output = run(&["sh", "-c", PUT, "put", remote, &mode], file).map_err(|e| failed(&e))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(&format_args!("{}, {}", output.status, String::from_utf8_lossy(&output.stderr).trim())))
}

fn wait_bounded(child: &mut Child, within: Duration, outputs: &[&File]) -> io::Result<ExitStatus> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if let Some(status) = wait_within(child, left.min(LOOK_EVERY))? {
            return Ok(status);
        }
        if left.is_zero() {
            return Err(io::Error::other(format!("not done within {within:?}")));
        }
        for output in outputs {
            if output.metadata()?.len() > OUTPUT_LEN_MAX {
                return Err(io::Error::other(format!("it printed more than {OUTPUT_LEN_MAX} bytes")));
            }
        }
    }
}

/// How it ended, or `None` when it did not within that time.
pub(crate) fn wait_within(child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + time;
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        // Whatever ends the wait, what counts is looked at above.
        let _ended_early =
            poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Timespec::try_from(left).ok().as_ref());
    }
}

fn contents(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_every_argument_as_it_is() {
        let argv = ["a b", "", "it's", "\"$HOME\" $(id) `id` \\", "line\nline", "*", "-n", "~", "ö", "''"];
        let quoted = line(&argv).replacen(RUN, "printf '%s|'", 1);
        let output = Command::new("sh").args(["-c", &quoted]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), argv.map(|arg| format!("{arg}|")).concat());
    }

    #[test]
    fn waiting_ends_with_the_process_or_the_time() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(wait_within(&mut child, Duration::from_millis(10)).unwrap().is_none());
        drop(child.stdin.take());
        let status = wait_within(&mut child, Duration::from_secs(30)).unwrap().unwrap();
        assert!(status.success());
    }
}
