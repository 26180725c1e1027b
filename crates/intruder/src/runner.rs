//! Makes an attempt in a process of its own and turns however that ended into an outcome.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getrlimit, kill_process,
    kill_process_group, set_parent_process_death_signal, setpgid, setrlimit, waitid, waitpid,
};

use crate::judge::{could_not, refused, through};
use crate::raw::{Side, end, fork};
use crate::{Attempt, Decoys, Outcome, marks};

/// How long an attempt may take. Every attempt bounds its own waits far below this.
pub const DEADLINE: Duration = Duration::from_secs(3);

/// Address space of an attempt.
const MEMORY_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The outcome of an attempt that did not come to an end. The attempts bound their waits, so none should.
const STILL_GOING_ON: &str = "it was still going on at the deadline: nothing refused it";

/// An outcome is a line shorter than this.
const OUTCOME_BYTES_MAX: usize = 16 * 1024;

/// Makes one attempt in a child, within [`DEADLINE`], and clears away what it left.
///
/// The calling process has to have a single thread.
pub fn try_apart(attempt: &Attempt, decoys: &Decoys) -> Outcome {
    try_within(DEADLINE, attempt, decoys)
}

fn try_within(deadline: Duration, attempt: &Attempt, decoys: &Decoys) -> Outcome {
    let Ok((hear, tell)) = pipe_with(PipeFlags::CLOEXEC) else {
        return could_not("making a pipe failed");
    };
    match fork() {
        Ok(Side::Child) => {
            drop(hear);
            make(attempt, decoys, tell)
        }
        Ok(Side::Parent(child)) => {
            drop(tell);
            let outcome = await_outcome(hear, child, Instant::now() + deadline);
            marks::clear(decoys, child.as_raw_nonzero().get());
            outcome
        }
        Err(e) => could_not(format!("making a child: {e}")),
    }
}

/// The child: makes the attempt, tells the outcome, ends.
fn make(attempt: &Attempt, decoys: &Decoys, tell: OwnedFd) -> ! {
    // A group of its own, so that its own children can be ended with it. Where a fence refuses any of these, the
    // attempt is made all the same.
    let _ = setpgid(None, None);
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    bound_memory();
    panic::set_hook(Box::new(|_| {}));
    marks::begin(tell.as_raw_fd());
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (attempt.run)(decoys)))
        .unwrap_or_else(|_| could_not("the attempt panicked"));
    let mut line = serde_json::to_vec(&outcome).unwrap_or_default();
    line.push(b'\n');
    let _ = File::from(tell).write_all(&line);
    end(0)
}

/// Only the soft limit: the hard one is what some attempts look at.
fn bound_memory() {
    let maximum = getrlimit(Resource::As).maximum;
    let current = Some(maximum.unwrap_or(MEMORY_BYTES_MAX).min(MEMORY_BYTES_MAX));
    let _ = setrlimit(Resource::As, Rlimit { current, maximum });
}

fn await_outcome(hear: OwnedFd, child: Pid, deadline: Instant) -> Outcome {
    let heard = listen(&mut File::from(hear), child, deadline);
    // Its own children, if it has any left, go with it. It is waited for last, so that its number stays its own.
    let _ = kill_process_group(child, Signal::KILL);
    let _ = kill_process(child, Signal::KILL);
    let status = await_end(child);
    match heard {
        Heard::Outcome(line) => {
            serde_json::from_slice(&line).unwrap_or_else(|_| could_not("the outcome is garbled"))
        }
        Heard::Death => of_death(status),
        // Conservative: something went on for seconds that ought to have been refused at once.
        Heard::Nothing => through(STILL_GOING_ON),
    }
}

enum Heard {
    /// It told its outcome.
    Outcome(Vec<u8>),
    /// It died before it could.
    Death,
    /// Neither, in the time it had.
    Nothing,
}

fn listen(hear: &mut File, child: Pid, deadline: Instant) -> Heard {
    let mut line = Vec::new();
    loop {
        let dead = is_dead(child);
        if readable(hear) {
            let mut part = [0; 1024];
            let read = hear.read(&mut part).unwrap_or(0);
            line.extend_from_slice(&part[..read]);
            if line.ends_with(b"\n") || line.len() > OUTCOME_BYTES_MAX {
                return Heard::Outcome(line);
            }
        } else if dead {
            return Heard::Death;
        }
        if Instant::now() >= deadline {
            return Heard::Nothing;
        }
    }
}

/// Looks without waiting for it in the kernel's sense: its number stays taken.
fn is_dead(child: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(child), look), Ok(Some(_)))
}

/// A child that is traced is also reported when it stops; that is not its end.
fn await_end(child: Pid) -> Option<WaitStatus> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) if status.exited() || status.signaled() => return Some(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Whether there is something to read, or the end of it, waiting a moment. Short, because the death of the child
/// is not always seen here: a child of its own may hold the pipe.
fn readable(hear: &File) -> bool {
    let moment = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    let mut wanted = [PollFd::from_borrowed_fd(hear.as_fd(), PollFlags::IN)];
    matches!(poll(&mut wanted, Some(&moment)), Ok(1..)) && wanted[0].revents().contains(PollFlags::IN)
}

fn of_death(status: Option<WaitStatus>) -> Outcome {
    match status.and_then(WaitStatus::terminating_signal) {
        Some(libc::SIGSYS) => refused("killed by the system-call filter"),
        Some(signal) => could_not(format!("the attempt was killed by signal {signal}")),
        None => could_not("the attempt ended without an outcome"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Layer};

    /// How an attempt that runs `run` ends.
    fn ends(run: fn(&Decoys) -> Outcome) -> Outcome {
        ends_within(DEADLINE, run)
    }

    fn ends_within(deadline: Duration, run: fn(&Decoys) -> Outcome) -> Outcome {
        let (group, layers) = (Group::Fences, &[Layer::Kernel]);
        let attempt = Attempt { name: "made-up", group, what: "Ends somehow.", layers, harmless: true, run };
        try_within(deadline, &attempt, &Decoys::default())
    }

    fn die(signal: Signal) -> Outcome {
        let _ = kill_process(rustix::process::getpid(), signal);
        could_not("it lived on")
    }

    #[test]
    fn an_outcome_is_handed_on_as_it_was() {
        assert_eq!(ends(|_| refused("EPERM")), refused("EPERM"));
        assert_eq!(ends(|_| through("a\nline")), through("a\nline"));
        let long: Outcome = ends(|_| through("long ".repeat(2000)));
        assert_eq!(long, through("long ".repeat(2000)));
    }

    #[test]
    fn a_kill_by_the_filter_is_a_refusal() {
        assert_eq!(ends(|_| die(Signal::SYS)), refused("killed by the system-call filter"));
    }

    #[test]
    fn a_crash_and_a_panic_tell_nothing_about_a_fence() {
        assert_eq!(ends(|_| die(Signal::TERM)), could_not("the attempt was killed by signal 15"));
        assert_eq!(ends(|_| end(0)), could_not("the attempt ended without an outcome"));
        assert_eq!(ends(|_| panic!("of its own")), could_not("the attempt panicked"));
    }

    #[test]
    fn a_hang_counts_as_through_and_is_ended_with_its_children() {
        let hang = |_: &Decoys| {
            let _ = crate::raw::in_child(|| {
                loop {
                    std::thread::park();
                }
            });
            could_not("it came back")
        };
        assert_eq!(ends_within(Duration::from_millis(300), hang), through(STILL_GOING_ON));
        let left = waitpid(None, WaitOptions::NOHANG);
        assert!(matches!(left, Ok(None) | Err(rustix::io::Errno::CHILD)), "{left:?}");
    }
}
