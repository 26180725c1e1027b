//! One command in the guest.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::link::ssh;
use super::{Guest, GuestError};

const WITHIN_DEFAULT: Duration = Duration::from_secs(60);
const OUTPUT_LEN_MAX: u64 = 64 << 20;
/// How often the length of the output is looked at. The end of the command is seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// In the guest: runs its arguments and hands on how they ended. Made by `lab/guest.sh`.
const RUN: &str = "/usr/local/lib/lab/run";
/// What ssh answers when it could not connect. A command may say the same.
const SSH_FAILED: i32 = 255;

/// A command to be run in the guest.
#[derive(Debug)]
#[must_use = "nothing runs before `run`"]
pub struct GuestCall<'a> {
    guest: &'a Guest,
    user: String,
    line: String,
    stdin: Option<File>,
    within: Duration,
}

impl<'a> GuestCall<'a> {
    pub(super) fn new(guest: &'a Guest, argv: &[&str]) -> GuestCall<'a> {
        GuestCall { guest, user: "root".to_owned(), line: line(argv), stdin: None, within: WITHIN_DEFAULT }
    }

    /// Root unless said.
    pub fn user(mut self, user: &str) -> GuestCall<'a> {
        self.user = user.to_owned();
        self
    }

    /// Empty unless said.
    pub fn stdin_from(mut self, file: File) -> GuestCall<'a> {
        self.stdin = Some(file);
        self
    }

    /// A minute unless said. What runs longer goes on in the guest, which is the caller's to end.
    pub fn within(mut self, time: Duration) -> GuestCall<'a> {
        self.within = time;
        self
    }

    /// Panics when the guest does not answer or the time is over.
    #[track_caller]
    pub fn run(self) -> Output {
        let (line, guest) = (self.line.clone(), self.guest);
        match self.try_run() {
            Ok(output) => output,
            Err(e) => panic!("{line}: {e}; the console ends with:\n{}", guest.console()),
        }
    }

    pub fn try_run(self) -> Result<Output, GuestError> {
        self.guest.link(&self.user)?;
        let (guest, user) = (self.guest, self.user.clone());
        let output = self.start_and_wait().map_err(|e| GuestError::new(e.to_string()))?;
        if output.status.code() == Some(SSH_FAILED) {
            check_answers(guest, &user, &output)?;
        }
        Ok(output)
    }

    /// Into files: nothing has to be read while it runs, and their length can be looked at.
    fn start_and_wait(self) -> io::Result<Output> {
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = ssh(self.guest.folder.path(), self.guest.machine.port(), &self.user);
        command.args(["--", &self.line]);
        command.stdin(self.stdin.map_or_else(Stdio::null, Stdio::from));
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let mut child = command.spawn()?;
        let waited = wait_bounded(&mut child, self.within, &[&stdout, &stderr]);
        if waited.is_err() {
            let _already_gone = child.kill();
            child.wait()?;
        }
        let status = waited?;
        Ok(Output { status, stdout: contents(stdout)?, stderr: contents(stderr)? })
    }
}

/// Whether the 255 was the command's own: then the guest still answers.
fn check_answers(guest: &Guest, user: &str, output: &Output) -> Result<(), GuestError> {
    let answer = guest.call(&["true"]).user(user).start_and_wait();
    if answer.is_ok_and(|answer| answer.status.success()) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(GuestError::new(format!("the guest does not answer: {}", said.trim())))
}

/// sshd hands a line to the user's shell. In single quotes a shell takes every character as it is.
fn line(argv: &[&str]) -> String {
    let quoted = argv.iter().map(|arg| format!("'{}'", arg.replace('\'', r"'\''")));
    [RUN.to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
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
pub(super) fn wait_within(child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
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
    use std::process::Command;

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
