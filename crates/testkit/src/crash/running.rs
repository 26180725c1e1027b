//! The handle a test holds on a running child.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::watch::{Reached, Watch};
use super::{Captured, CrashError, Remains, Started};

/// A running child. Dropping it, also by a panic, kills and reaps the process.
#[derive(Debug)]
pub struct Child {
    name: String,
    pid: u32,
    timeout: Duration,
    watch: Arc<Watch>,
    /// Taken when the child is known to be gone.
    watcher: Option<JoinHandle<()>>,
    stdout: Option<File>,
    stderr: File,
}

impl Child {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The whole lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.watch.state().lines.clone()
    }

    /// Waits for the first line, of all so far and to come, that starts with `prefix`.
    pub fn wait_line(&self, prefix: &str, timeout: Duration) -> Result<String, CrashError> {
        let starts = |line: &&String| line.starts_with(prefix);
        let limit = Some(Instant::now() + timeout);
        let reached = self.watch.until(limit, |state| state.lines.iter().any(|line| starts(&line)));
        self.expect(reached, timeout, &format!("a line starting with {prefix:?}"))?;
        Ok(self.watch.state().lines.iter().find(starts).cloned().unwrap_or_default())
    }

    /// Kills it now.
    pub fn kill(mut self) -> Result<Remains, CrashError> {
        self.watch.kill();
        self.remains()
    }

    /// Kills it after a while. When it ends by itself before that, `status` in the remains says so.
    pub fn kill_after(self, delay: Duration) -> Result<Remains, CrashError> {
        self.watch.until(Some(Instant::now() + delay), |_| false);
        self.kill()
    }

    /// Kills it as soon as `reached` says so of the lines so far; it is asked again after every new line. An
    /// error when the child ends before.
    pub fn kill_when(self, mut reached: impl FnMut(&[String]) -> bool) -> Result<Remains, CrashError> {
        let outcome = self.watch.until(None, |state| reached(&state.lines));
        self.expect(outcome, self.timeout, "the moment to kill it")?;
        self.kill()
    }

    /// Waits until it ends by itself, well or badly.
    pub fn wait(mut self) -> Result<Remains, CrashError> {
        self.remains()
    }

    pub(super) fn watch(name: String, started: Started, timeout: Duration) -> io::Result<Child> {
        let Started { process, channel, stdout, stderr } = started;
        let pid = process.id();
        let greets = stdout.is_some();
        let (watch, watcher) = Watch::start(process, channel, greets, Instant::now() + timeout)?;
        let watcher = Some(watcher);
        Ok(Child { name, pid, timeout, watch, watcher, stdout, stderr })
    }

    /// Until a test child has said hello; a program is ready at once.
    pub(super) fn wait_ready(&self) -> Result<(), CrashError> {
        let reached = self.watch.until(None, |state| state.ready);
        match self.expect(reached, self.timeout, "its start") {
            Err(CrashError::EndedFirst { child, status, output, .. }) => {
                Err(CrashError::NeverEntered { child, status, output })
            }
            other => other,
        }
    }

    fn expect(&self, reached: Reached, limit: Duration, wanted: &str) -> Result<(), CrashError> {
        let (child, wanted) = (self.name.clone(), wanted.to_owned());
        match reached {
            Reached::Yes => Ok(()),
            Reached::TooLate => Err(CrashError::NotReached { child, wanted, limit, output: self.shown() }),
            Reached::Ended(_) if self.watch.state().timed_out => Err(self.timed_out()),
            Reached::Ended(status) => {
                Err(CrashError::EndedFirst { child, wanted, status, output: self.shown() })
            }
        }
    }

    fn remains(&mut self) -> Result<Remains, CrashError> {
        let status = self.reap();
        if self.watch.state().timed_out {
            return Err(self.timed_out());
        }
        let output = self.captured();
        let lines = std::mem::take(&mut self.watch.state().lines);
        Ok(Remains { lines, status, output })
    }

    fn reap(&mut self) -> std::process::ExitStatus {
        let joined = self.watcher.take().map(JoinHandle::join);
        assert!(!matches!(joined, Some(Err(_))), "the thread that watches {} panicked", self.name);
        self.watch.state().ended.expect("the watching thread ends after the child")
    }

    fn timed_out(&self) -> CrashError {
        CrashError::TimedOut { child: self.name.clone(), limit: self.timeout, output: self.shown() }
    }

    fn shown(&self) -> String {
        self.captured().to_string()
    }

    fn captured(&self) -> Captured {
        let stdout = self.stdout.as_ref().map_or_else(|| self.watch.state().text(), read_all);
        Captured { child: self.name.clone(), stdout, stderr: read_all(&self.stderr) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.watcher.is_some() {
            self.watch.kill();
            self.reap();
            // Shows itself when this is a panic.
            drop(self.captured());
        }
    }
}

/// By position, so that the offset shared with the child's own descriptor stays where the child left it.
fn read_all(file: &File) -> Vec<u8> {
    let len = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => bytes,
        Err(e) => format!("[cannot read what it printed: {e}]").into_bytes(),
    }
}
