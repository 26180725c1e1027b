//! A real process, killed with SIGKILL at a chosen or random moment, whose remains the test then examines.
//!
//! The child is the test binary itself, run again for one test function that calls [`child_main`] first. In
//! an ordinary run that function returns at once. This works alike under `cargo test` and `cargo nextest`:
//!
//! ```text
//! use holdfast_testkit::{Seed, crash::{self, Crash}, rounds};
//!
//! // The name is what `cargo test -- --list` shows: inside a module it is "module::journal_writer".
//! #[test]
//! fn journal_writer() {
//!     crash::child_main("journal_writer", |args, report| {
//!         let mut journal = Journal::open(&args[0]).unwrap();
//!         for n in 0.. {
//!             journal.append(n).unwrap(); // durable when it returns ...
//!             report.line(format!("acked {n}")); // ... and only then acknowledged
//!         }
//!     });
//! }
//!
//! #[test]
//! fn what_was_acknowledged_survives_a_kill() {
//!     let dir = tempfile::tempdir().unwrap();
//!     crash::run_kills(
//!         Seed::from_env_or(1),
//!         rounds(20, 2_000),
//!         Duration::from_millis(1)..Duration::from_millis(50),
//!         |_round| Crash::new("journal_writer").arg(dir.path().display()),
//!         |_round, remains| check_journal(dir.path(), &remains.lines),
//!     );
//! }
//! ```
//!
//! What it promises:
//! - A line [`Report::line`] returned from is in [`Remains::lines`], however soon after it the kill came. A
//!   line cut off in the middle is not.
//! - The parent always drains, so reporting never waits for the test to look.
//! - No child is left behind: it is reaped on every path, killed when [`Child`] is dropped or its time limit
//!   (30 s unless set) is over, and it ends by itself when the parent process dies.
//! - What the child printed is captured, shown when the test fails, and part of every [`CrashError`].
//!
//! Only the child itself is killed. Processes it started live on, as they would after a real crash.
//!
//! Files: `child.rs` is the child's side; `running.rs` the handle the test holds; `watch.rs` the one thread
//! per child that reads its lines, keeps its time limit and reaps it; `remains.rs` what is left.

mod child;
mod error;
mod remains;
mod running;
mod watch;

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::seed::{Rng, SayOnPanic, Seed};

pub use child::{Report, child_main};
pub use error::CrashError;
pub use remains::{Captured, Remains};
pub use running::Child;

const CHILD_ENV: &str = "HOLDFAST_CRASH_CHILD";
const ARGS_ENV: &str = "HOLDFAST_CRASH_ARGS";

/// Far beyond what any child needs on a slow machine, and still short enough to wait for.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// A child to be started.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `spawn`"]
pub struct Crash {
    what: What,
    args: Vec<String>,
    env: Vec<(String, String)>,
    timeout: Duration,
}

#[derive(Clone, Debug)]
enum What {
    /// This test binary, at the test function of that name.
    Test(String),
    Program(PathBuf),
}

impl Crash {
    /// The test function of that exact name in this test binary, which calls [`child_main`] with the same name.
    pub fn new(test: impl Into<String>) -> Crash {
        Crash::of(What::Test(test.into()))
    }

    /// Another program. Its lines are those of its standard output; its standard input is empty.
    pub fn program(path: impl AsRef<Path>) -> Crash {
        Crash::of(What::Program(path.as_ref().to_owned()))
    }

    /// Adds an argument in its text form; a path goes in as `path.display()`.
    pub fn arg(mut self, arg: impl Display) -> Crash {
        self.args.push(arg.to_string());
        self
    }

    pub fn env(mut self, name: impl Into<String>, value: impl Display) -> Crash {
        self.env.push((name.into(), value.to_string()));
        self
    }

    /// How long the child may live, all told, before it is killed and every wait for it fails.
    pub fn timeout(mut self, timeout: Duration) -> Crash {
        self.timeout = timeout;
        self
    }

    /// Starts the child. When this returns, a test child has entered [`child_main`].
    pub fn spawn(self) -> Result<Child, CrashError> {
        let name = self.name();
        let started = self.start().and_then(|started| Child::watch(name.clone(), started, self.timeout));
        let child = started.map_err(|source| CrashError::Start { child: name, source })?;
        child.wait_ready()?;
        Ok(child)
    }

    fn of(what: What) -> Crash {
        Crash { what, args: Vec::new(), env: Vec::new(), timeout: TIMEOUT_DEFAULT }
    }

    fn name(&self) -> String {
        match &self.what {
            What::Test(name) => name.clone(),
            What::Program(path) => path.display().to_string(),
        }
    }

    fn start(&self) -> io::Result<Started> {
        match &self.what {
            What::Test(name) => self.start_test(name),
            What::Program(path) => self.start_program(path),
        }
    }

    /// The report channel is a socket in place of standard input: it needs no path and no accepting, and
    /// nothing the test harness prints can end up in it.
    fn start_test(&self, name: &str) -> io::Result<Started> {
        let (ours, theirs) = UnixStream::pair()?;
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let process = Command::new(std::env::current_exe()?)
            .args(["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"])
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env(CHILD_ENV, name)
            .env(ARGS_ENV, serde_json::to_string(&self.args)?)
            .stdin(OwnedFd::from(theirs))
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .spawn()?;
        Ok(Started { process, channel: File::from(OwnedFd::from(ours)), stdout: Some(stdout), stderr })
    }

    /// A pipe rather than a socket: that is what a program expects its output to be.
    fn start_program(&self, path: &Path) -> io::Result<Started> {
        let (ours, theirs) = io::pipe()?;
        let stderr = tempfile::tempfile()?;
        let process = Command::new(path)
            .args(&self.args)
            .env_remove(CHILD_ENV)
            .env_remove(ARGS_ENV)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(theirs)
            .stderr(stderr.try_clone()?)
            .spawn()?;
        Ok(Started { process, channel: File::from(OwnedFd::from(ours)), stdout: None, stderr })
    }
}

/// A process that runs and that nobody looks after yet.
#[derive(Debug)]
struct Started {
    process: std::process::Child,
    /// Where its lines come from.
    channel: File,
    /// Absent when the lines are its standard output.
    stdout: Option<File>,
    stderr: File,
}

/// Starts and kills a child `rounds` times, each after a random delay within `delay`, and hands what is left to
/// `check`. Panics when a child fails by itself, and when every child ended before its kill: then the test
/// would prove nothing.
#[track_caller]
pub fn run_kills(
    seed: Seed,
    rounds: u32,
    delay: Range<Duration>,
    spawn: impl Fn(u32) -> Crash,
    mut check: impl FnMut(u32, Remains),
) {
    let _say = SayOnPanic(seed);
    let mut rng = seed.child("run_kills").rng();
    let mut killed = 0;
    for round in 0..rounds {
        let after = draw(&mut rng, &delay);
        let ended = spawn(round).spawn().and_then(|child| child.kill_after(after));
        let remains = ended.unwrap_or_else(|e| panic!("round {round}, kill after {after:?}: {e}"));
        let status = remains.status;
        assert!(
            remains.was_killed() || status.success(),
            "round {round}: the child failed by itself, {status}"
        );
        killed += u32::from(remains.was_killed());
        check(round, remains);
    }
    assert!(killed > 0 || rounds == 0, "all {rounds} children ended before their kill: give them more to do");
}

fn draw(rng: &mut Rng, delay: &Range<Duration>) -> Duration {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(rng.range(nanos(delay.start)..nanos(delay.end)))
}
