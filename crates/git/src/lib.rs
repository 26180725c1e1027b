//! Runs git: exact arguments, an environment of its own, a deadline, and so much output and no more.
//!
//! Nothing of whoever started us reaches it: no settings of a user or of the machine, no hooks, no helpers, no questions at a
//! terminal. Whatever a repository's own settings could run is switched off here as well.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use holdfast_types::printable;
use rustix::process::{Pid, Signal, kill_process_group};

/// Of what it says so much is read. A repository with more references than fit is not ours.
const OUTPUT_MAX: usize = 4 << 20;
/// Most calls end at once; for those that do not, once in a while is enough.
const LOOK_FIRST: Duration = Duration::from_micros(500);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What is still in the pipes when it has ended is there at once.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/run/current-system/sw/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", "https:http:file"),
];

/// Laid over whatever a repository's own settings say.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.fsync=all",
    "core.fsyncMethod=batch",
    "core.pager=cat",
    "credential.helper=",
    "gc.auto=0",
    "pack.writeReverseIndex=false",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "http.followRedirects=false",
    "http.lowSpeedTime=30",
    "push.gpgSign=false",
];

#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    #[error("git could not be run: {0}")]
    NotRun(#[source] io::Error),
    #[error("git took longer than {} s to {what}", .within.as_secs())]
    TooLong { what: &'static str, within: Duration },
    #[error("git had more to say than is read, to {what}")]
    TooMuch { what: &'static str },
    /// Something ended it: that says nothing about the repository.
    #[error("git was ended by signal {signal}, to {what}")]
    Cut { what: &'static str, signal: i32 },
    /// It ran, and said no.
    #[error("git could not {what}: {said}")]
    Refused { what: &'static str, said: String },
}

/// The program, and one repository it works on.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    repository: PathBuf,
}

/// One thing asked of it.
#[derive(Debug)]
pub struct Ask<'a> {
    /// For people: after "could not".
    pub what: &'static str,
    pub args: Vec<&'a str>,
    pub input: Vec<u8>,
    pub within: Duration,
    /// More of the environment; may hold a secret, which arguments never do.
    pub environment: Vec<(String, String)>,
}

impl<'a> Ask<'a> {
    pub fn new(what: &'static str, args: &[&'a str]) -> Ask<'a> {
        let within = Duration::from_secs(30);
        Ask { what, args: args.to_vec(), input: Vec::new(), within, environment: Vec::new() }
    }
}

impl Git {
    pub fn at(repository: &Path) -> Git {
        Git { program: PathBuf::from("git"), repository: repository.to_owned() }
    }

    /// Another program in its place.
    pub fn with_program(self, program: &Path) -> Git {
        Git { program: program.to_owned(), ..self }
    }

    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// What it says to this; anything but success is an error.
    pub fn ask(&self, ask: Ask<'_>) -> Result<String, NotDone> {
        let Ask { what, within, .. } = ask;
        let mut command = self.command(&ask);
        let child = command.spawn().map_err(NotDone::NotRun)?;
        let ran = Running::begin(child, ask.input).end_within(within);
        let Ran { status, out, err } = ran.map_err(|e| match e {
            NotEnded::Late => NotDone::TooLong { what, within },
            NotEnded::Io(e) => NotDone::NotRun(e),
        })?;
        if let Some(signal) = status.signal() {
            return Err(NotDone::Cut { what, signal });
        }
        if !status.success() {
            return Err(NotDone::Refused { what, said: why(&err) });
        }
        if out.len() > OUTPUT_MAX {
            return Err(NotDone::TooMuch { what });
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn command(&self, ask: &Ask<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--no-pager").arg("--literal-pathspecs");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let mut place = std::ffi::OsString::from("--git-dir=");
        place.push(&self.repository);
        command.arg(place).args(&ask.args);
        command.env_clear().envs(ENVIRONMENT).envs(ask.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// What it complained of, short and safe to show: its error, or what it said last.
fn why(err: &[u8]) -> String {
    let text = String::from_utf8_lossy(err);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = lines().find(is_error).or_else(|| lines().next_back()).unwrap_or("it said nothing");
    printable(&line.chars().take(300).collect::<String>())
}

struct Ran {
    status: ExitStatus,
    out: Vec<u8>,
    err: Vec<u8>,
}

enum NotEnded {
    Late,
    Io(io::Error),
}

/// One that runs, and the threads that feed it and listen to it.
struct Running {
    child: Child,
    out: mpsc::Receiver<Vec<u8>>,
    err: mpsc::Receiver<Vec<u8>>,
}

impl Running {
    fn begin(mut child: Child, input: Vec<u8>) -> Running {
        if let Some(mut stdin) = child.stdin.take() {
            // It may end before it has read everything, and says why.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
        Running { child, out, err }
    }

    fn end_within(mut self, within: Duration) -> Result<Ran, NotEnded> {
        let (until, mut pause) = (Instant::now() + within, LOOK_FIRST);
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(NotEnded::Io)? {
                break status;
            }
            if Instant::now() >= until {
                self.kill();
                return Err(NotEnded::Late);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LOOK_EVERY);
        };
        let left = |pipe: &mpsc::Receiver<Vec<u8>>| pipe.recv_timeout(DRAIN_WITHIN).unwrap_or_default();
        let (out, err) = (left(&self.out), left(&self.err));
        Ok(Ran { status, out, err })
    }

    /// With everything it started: a helper of its would go on alone.
    fn kill(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_MAX as u64 + 1).read_to_end(&mut bytes);
            // What is beyond is read and dropped, or it would wait for ever.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = send.send(bytes);
    });
    receive
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program in git's place that does this.
    fn played(script: &str) -> (tempfile::TempDir, Git) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git::at(folder.path()).with_program(&program);
        (folder, git)
    }

    #[test]
    fn nothing_of_the_caller_s_reaches_it() {
        let (_folder, git) = played("env");
        let said = git.ask(Ask::new("say", &[])).unwrap();
        let allowed = ["PWD", "SHLVL", "_", "OLDPWD"];
        let names = said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let odd: Vec<&str> = names
            .filter(|name| !allowed.contains(name) && !ENVIRONMENT.iter().any(|(known, _)| known == name))
            .collect();
        assert!(odd.is_empty(), "{odd:?}");
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let (folder, git) = played("sleep 300 & echo $! > \"${0%/*}/helper\"; wait");
        let began = Instant::now();
        let mut ask = Ask::new("wait", &[]);
        ask.within = Duration::from_millis(800);
        assert!(matches!(git.ask(ask), Err(NotDone::TooLong { .. })));
        assert!(began.elapsed() < Duration::from_secs(60));
        let helper = std::fs::read_to_string(folder.path().join("helper")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", helper.trim())).unwrap_or_default();
        let gone = || state().is_empty() || state().contains(") Z");
        let until = Instant::now() + Duration::from_secs(20);
        while !gone() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(gone(), "its helper lives on: {}", state());
    }

    #[test]
    fn more_than_is_read_is_an_error_and_no_memory() {
        let (_folder, git) = played("head -c 20000000 /dev/zero");
        assert!(matches!(git.ask(Ask::new("say", &[])), Err(NotDone::TooMuch { .. })));
    }

    #[test]
    fn what_it_complains_of_is_told_safely() {
        let (_folder, git) = played("printf 'hint: x\\nfatal: \\033[2Jno\\nhint: y\\n' >&2; exit 3");
        let said = git.ask(Ask::new("do it", &[])).unwrap_err().to_string();
        assert_eq!(said, "git could not do it: fatal: \\u{1b}[2Jno");
        let none = Git::at(Path::new("/")).with_program(Path::new("/there/is/none"));
        assert!(matches!(none.ask(Ask::new("say", &[])), Err(NotDone::NotRun(_))));
    }
}
