//! A program that prints a secret: a password manager, a cloud's secret store.
//!
//! It is run with an exact list of arguments, without a shell, with almost no environment, nothing to read and
//! its error output thrown away (tools print what they were asked for). Exit 0 means found, 1 means not here,
//! anything else that the place has failed. When its time is over the program and what it started are killed, also
//! when the program itself has ended and only what it started goes on. One that cannot be killed is not waited for.

use std::fmt;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use zeroize::Zeroizing;

use crate::environment::Variables;
use crate::error::{Error, Failure, Result};
use crate::name::SecretName;
use crate::secret::{Secret, VALUE_MAX};

/// Stands for the secret's name in the arguments.
const NAME: &str = "{name}";
/// Where the program finds other programs; not inherited, so that nobody's PATH decides what runs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const ARGUMENTS_MAX: usize = 64;
const LIMIT_MAX: Duration = Duration::from_secs(60);
/// A value, and a line end after it.
const OUTPUT_MAX: usize = VALUE_MAX + 2;
/// How often a program that has closed its output is looked at until it ends; mostly it has ended already.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How long a killed program is waited for.
const PARTING: Duration = Duration::from_secs(1);

#[derive(Clone, PartialEq, Eq)]
pub struct CommandSource {
    program: PathBuf,
    arguments: Vec<String>,
    limit: Duration,
}

impl CommandSource {
    /// The program is an absolute path; `{name}` is replaced in the arguments, of which at least one has it.
    pub fn new(argv: &[String], limit: Duration) -> Result<CommandSource> {
        let refused = |why: &str| Err(Error::NotASource { place: "command", why: why.into() });
        let Some((program, arguments)) = argv.split_first() else {
            return refused("it names no program");
        };
        if !Path::new(program).is_absolute() {
            return refused("the program must be an absolute path");
        }
        if arguments.len() > ARGUMENTS_MAX {
            return refused("it has more than 64 arguments");
        }
        if !arguments.iter().any(|argument| argument.contains(NAME)) {
            return refused("no argument holds {name}, so it would print the same for every secret");
        }
        if limit.is_zero() || limit > LIMIT_MAX {
            return refused("the time limit must be more than 0 and at most 60 seconds");
        }
        Ok(CommandSource { program: program.into(), arguments: arguments.to_vec(), limit })
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn ask(&self, name: &SecretName, variables: &Variables) -> Result<Option<Secret>, Failure> {
        let deadline = Instant::now() + self.limit;
        let mut running = Running::new(self.start(name, variables)?);
        let output = running.output(deadline).map_err(|stop| self.failure(stop))?;
        let status = running.status(deadline).map_err(|stop| self.failure(stop))?;
        match status.code() {
            Some(0) => Ok(Some(Secret::from_line(output)?)),
            Some(1) => Ok(None),
            Some(code) => Err(Failure::Command { why: format!("it ended with status {code}") }),
            None => Err(Failure::Command { why: "it was killed by a signal".into() }),
        }
    }

    fn start(&self, name: &SecretName, variables: &Variables) -> Result<Child, Failure> {
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments.iter().map(|argument| argument.replace(NAME, name.as_str())))
            .env_clear()
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, so that it can be killed with everything it started.
            .process_group(0);
        // Password managers find their store by it.
        if let Some(home) = variables.get("HOME") {
            command.env("HOME", home);
        }
        command.spawn().map_err(|cause| Failure::Unreadable { path: self.program.clone(), cause })
    }

    fn failure(&self, stop: Stop) -> Failure {
        match stop {
            Stop::Late => Failure::TimedOut { limit: self.limit },
            Stop::TooMuch => Failure::Command { why: format!("it printed more than {VALUE_MAX} bytes") },
            Stop::Broken(why) => Failure::Command { why },
        }
    }
}

/// Arguments are left out: a token that somebody wrote into them is none of a log's business.
impl fmt::Debug for CommandSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CommandSource");
        shown.field("program", &self.program).field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Why a program is not waited for any longer.
enum Stop {
    Late,
    TooMuch,
    Broken(String),
}

/// A program that runs; killed and reaped when dropped before its end was seen.
struct Running {
    /// Taken when it has ended and was reaped.
    child: Option<Child>,
}

impl Running {
    fn new(child: Child) -> Running {
        Running { child: Some(child) }
    }

    /// What it prints until it closes its output.
    fn output(&mut self, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Stop> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(OUTPUT_MAX + 1));
        let mut piece = Zeroizing::new([0; 4096]);
        let Some(pipe) = self.child.as_mut().and_then(|child| child.stdout.as_mut()) else {
            return Ok(bytes);
        };
        loop {
            wait_readable(pipe, deadline)?;
            match pipe.read(&mut *piece).map_err(|e| Stop::Broken(e.to_string()))? {
                0 => return Ok(bytes),
                n if bytes.len() + n > OUTPUT_MAX => return Err(Stop::TooMuch),
                n => bytes.extend_from_slice(&piece[..n]),
            }
        }
    }

    fn status(&mut self, deadline: Instant) -> Result<ExitStatus, Stop> {
        let Some(child) = self.child.as_mut() else {
            return Err(Stop::Broken("it was asked for twice".into()));
        };
        let status =
            wait_until(child, deadline).map_err(|e| Stop::Broken(e.to_string()))?.ok_or(Stop::Late)?;
        self.child = None;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            // What cannot be killed is noticed by its not ending.
            put_an_end_to(child, PARTING, |group| {
                kill_process_group(group, Signal::KILL).unwrap_or_default()
            });
        }
    }
}

/// Kills a program with its group and reaps it. The group first: nobody has reaped the program yet, so its number
/// still stands for it, also when it has ended and left others behind in its group.
fn put_an_end_to(mut child: Child, patience: Duration, kill: impl FnOnce(Pid)) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        kill(group);
    }
    if !matches!(wait_until(&mut child, Instant::now() + patience), Ok(None)) {
        return;
    }
    // A program that runs as another user, or hangs in the kernel. Without a thread it stays unreaped.
    let reap = move || drop(child.wait());
    let _ = std::thread::Builder::new().name("holdfast-reaper".into()).spawn(reap);
}

/// The status of a program that ends before the deadline, and is reaped by this.
fn wait_until(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            status => return Ok(status),
        }
    }
}

fn wait_readable(pipe: &impl AsFd, deadline: Instant) -> Result<(), Stop> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Stop::Late);
        }
        let left = Timespec::try_from(left).map_err(|_| Stop::Late)?;
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&left)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(e) => return Err(Stop::Broken(e.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_killed_is_left_to_be_reaped_later() {
        let child = Command::new("/bin/sleep").arg("60").process_group(0).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let began = Instant::now();
        put_an_end_to(child, Duration::from_millis(20), |_| {});
        assert!(began.elapsed() < Duration::from_secs(5));
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        // Reaped, its number is nobody's.
        while rustix::process::test_kill_process(pid).is_ok() {
            assert!(Instant::now() < deadline, "nobody reaped it");
            std::thread::yield_now();
        }
    }
}
