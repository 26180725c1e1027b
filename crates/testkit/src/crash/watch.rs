//! One thread per child: it reads the lines, keeps the time limit and reaps.
//!
//! It sleeps in one `poll` on the channel and on a pidfd, the kernel's handle on the process. The pidfd makes
//! every wait exact, with no interval to tune, and a signal through it can never hit another process that
//! got the same number. The thread ends when the child is reaped, and nothing ends it before.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::child::HELLO;

/// More than the kernel ever holds for a dead child: 64 KiB in a pipe, 1 MiB if the child raised that, about
/// 200 KiB in a socket. What comes after is from a process it started, which may write for ever.
const DRAIN_LEN_MAX: usize = 2 << 20;

/// What the watching thread and the test share.
#[derive(Debug)]
pub(super) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
    pidfd: OwnedFd,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) lines: Vec<String>,
    /// A line whose end has not come yet, and may never.
    begun: Vec<u8>,
    pub(super) ready: bool,
    pub(super) timed_out: bool,
    pub(super) ended: Option<ExitStatus>,
}

/// How waiting for a state ended.
pub(super) enum Reached {
    Yes,
    TooLate,
    Ended(ExitStatus),
}

enum Event {
    Output,
    Ended,
    Deadline,
}

impl Watch {
    /// `greets`: the first line will be the greeting of a test child.
    pub(super) fn start(
        mut process: std::process::Child,
        channel: File,
        greets: bool,
        deadline: Instant,
    ) -> io::Result<(Arc<Watch>, JoinHandle<()>)> {
        let pidfd = open_or_end(&mut process)?;
        let state =
            State { lines: Vec::new(), begun: Vec::new(), ready: !greets, timed_out: false, ended: None };
        let watch = Arc::new(Watch { state: Mutex::new(state), changed: Condvar::new(), pidfd });
        let watching = Arc::clone(&watch);
        let watcher = std::thread::spawn(move || watching.run(process, channel, deadline));
        Ok((watch, watcher))
    }

    /// Not poisoned by a test that panics inside its own predicate: the lines are still good.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// SIGKILL. A child that has already ended stays as it ended.
    pub(super) fn kill(&self) {
        let _already_gone = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Waits until `reached`, until `limit`, or until the child is gone and all its lines are in. Without a
    /// limit the child's own time limit bounds it.
    pub(super) fn until(&self, limit: Option<Instant>, mut reached: impl FnMut(&State) -> bool) -> Reached {
        let mut state = self.state();
        loop {
            if reached(&state) {
                return Reached::Yes;
            }
            if let Some(status) = state.ended {
                return Reached::Ended(status);
            }
            if limit.is_some_and(|limit| limit <= Instant::now()) {
                return Reached::TooLate;
            }
            state = self.wait_for_change(state, limit);
        }
    }

    fn wait_for_change<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        let Some(limit) = limit else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        let left = limit.saturating_duration_since(Instant::now());
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn run(&self, mut process: std::process::Child, mut channel: File, deadline: Instant) {
        let (mut open, mut deadline) = (true, Some(deadline));
        loop {
            match self.next_event(open.then_some(&channel), deadline) {
                Event::Output => open = self.read(&mut channel) > 0,
                Event::Ended => break,
                Event::Deadline => {
                    deadline = None;
                    self.change(|state| state.timed_out = true);
                    self.kill();
                }
            }
        }
        if open {
            self.drain(&mut channel);
        }
        let status = process.wait().expect("a child that has ended can be reaped");
        self.change(|state| state.ended = Some(status));
    }

    /// Output comes last: a child that never stops writing has a time limit too, and after its end a process
    /// it started may go on writing for ever.
    fn next_event(&self, channel: Option<&File>, deadline: Option<Instant>) -> Event {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
            fds.extend(channel.map(|channel| PollFd::new(channel, PollFlags::IN)));
            poll_for(&mut fds, left);
            if !fds[0].revents().is_empty() {
                return Event::Ended;
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Event::Deadline;
            }
            if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                return Event::Output;
            }
        }
    }

    /// What the dead child wrote is in the kernel and ready. Waiting for end-of-file instead could take for
    /// ever, as processes it started may hold the channel open.
    fn drain(&self, channel: &mut File) {
        let mut drained = 0;
        while drained < DRAIN_LEN_MAX && is_ready(channel) {
            match self.read(channel) {
                0 => break,
                n => drained += n,
            }
        }
    }

    /// Takes in what is there; 0 at the end.
    fn read(&self, channel: &mut File) -> usize {
        let mut chunk = [0; 16 << 10];
        let n = loop {
            match channel.read(&mut chunk) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => break other.unwrap_or(0),
            }
        };
        self.change(|state| state.take(&chunk[..n]));
        n
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
}

impl State {
    /// All lines as they were written, for a program whose lines are its standard output.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text: Vec<u8> =
            self.lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
        text.extend_from_slice(&self.begun);
        text
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.begun.pop();
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned();
                self.take_line(line);
            }
        }
    }

    fn take_line(&mut self, line: String) {
        if !self.ready && line == HELLO {
            self.ready = true;
        } else {
            self.lines.push(line);
        }
    }
}

/// Linux has had pidfds since 5.3, but a sandbox may refuse them; then the child must not stay behind.
fn open_or_end(process: &mut std::process::Child) -> io::Result<OwnedFd> {
    pidfd_open(Pid::from_child(process), PidfdFlags::empty()).or_else(|e| {
        process.kill()?;
        process.wait()?;
        Err(io::Error::other(format!("pidfd_open: {e}")))
    })
}

fn is_ready(channel: &File) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    poll_for(&mut fds, Some(Duration::ZERO));
    !fds[0].revents().is_empty()
}

/// A signal may end it early; the callers look at the events and the clock, not at the reason.
fn poll_for(fds: &mut [PollFd<'_>], time: Option<Duration>) {
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    if poll(fds, time.as_ref()).is_err() {
        fds.iter_mut().for_each(PollFd::clear_revents);
    }
}
