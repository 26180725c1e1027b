//! One command in the guest.

use std::fs::File;
use std::io;
use std::process::Output;
use std::time::Duration;

use super::link::ssh;
use super::{Guest, GuestError};
use crate::lab::bounded;

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
        GuestCall {
            guest,
            user: "root".to_owned(),
            line: bounded::line(argv),
            stdin: None,
            within: bounded::WITHIN,
        }
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

    fn start_and_wait(self) -> io::Result<Output> {
        let mut command = ssh(self.guest.folder.path(), self.guest.machine.port(), &self.user);
        command.args(["--", &self.line]);
        bounded::run(command, self.stdin, self.within)
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
