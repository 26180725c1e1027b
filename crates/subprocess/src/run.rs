//! Runs a program to its end: in a process group of its own, within a time, reading so much of its output and no more.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Most programs end at once; for those that do not, once in a while is enough.
const LOOK_FIRST: Duration = Duration::from_micros(100);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What is still in the pipes when it has ended is there at once.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// What a program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub within: Duration,
    /// Of each of its outputs so many bytes are kept, and one more, by which a caller sees that there was more.
    pub output_max: usize,
}

/// How it ended, and what it said.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

/// Why there is no end to tell of.
#[derive(Debug)]
pub enum NotEnded {
    /// It took too long, and was killed with everything it started.
    Late,
    Io(io::Error),
}

impl From<io::Error> for NotEnded {
    fn from(e: io::Error) -> NotEnded {
        NotEnded::Io(e)
    }
}

/// Runs it with this input. Its input and outputs are set here.
pub fn run(command: &mut Command, input: Vec<u8>, limits: Limits) -> Result<Ran, NotEnded> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end before it has read everything, and says why.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let out = drain(child.stdout.take(), limits.output_max);
    let err = drain(child.stderr.take(), limits.output_max);
    let (status, out) = end_within(&mut child, limits.within, &out)?;
    let left = |pipe: &mpsc::Receiver<Vec<u8>>| pipe.recv_timeout(DRAIN_WITHIN).unwrap_or_default();
    Ok(Ran { status, out, err: left(&err) })
}

/// Its output and its end. As a rule a program closes its output when it ends, which is heard at once; one that goes on, or whose helper keeps the output
/// open, is looked at now and then.
fn end_within(
    child: &mut Child,
    within: Duration,
    out: &mpsc::Receiver<Vec<u8>>,
) -> Result<(ExitStatus, Vec<u8>), NotEnded> {
    let (until, mut pause, mut heard) = (Instant::now() + within, LOOK_FIRST, None);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            kill(child);
            return Err(NotEnded::Late);
        }
        match heard {
            Some(_) => thread::sleep(pause),
            None => {
                heard = out.recv_timeout(pause).ok();
                if heard.is_some() {
                    pause = LOOK_FIRST;
                    continue;
                }
            }
        }
        pause = (pause * 2).min(LOOK_EVERY);
    };
    let heard = heard.unwrap_or_else(|| out.recv_timeout(DRAIN_WITHIN).unwrap_or_default());
    Ok((status, heard))
}

/// With everything it started: a helper of its would go on alone.
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn drain(pipe: Option<impl Read + Send + 'static>, max: usize) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(max as u64 + 1).read_to_end(&mut bytes);
            // What is beyond is read and dropped, or it would wait for ever.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = send.send(bytes);
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = crate::command("sh").unwrap();
        command.args(["-c", script]);
        command
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = shell("sleep 300 & echo $! >\"$1/helper\"; wait");
        command.arg("sh").arg(folder.path());
        let limits = Limits { within: Duration::from_millis(800), output_max: 100 };
        assert!(matches!(run(&mut command, Vec::new(), limits), Err(NotEnded::Late)));
        let helper = std::fs::read_to_string(folder.path().join("helper")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", helper.trim())).unwrap_or_default();
        while !(state().is_empty() || state().contains(") Z")) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn more_than_is_kept_is_dropped_and_seen() {
        let limits = Limits { within: Duration::from_secs(120), output_max: 1000 };
        let ran = run(&mut shell("head -c 20000000 /dev/zero"), Vec::new(), limits).unwrap();
        assert_eq!((ran.out.len(), ran.status.success()), (1001, true));
        // One that does not read what it is told is not waited for.
        let ran = run(&mut shell("echo done; exit 3"), vec![b'x'; 1 << 20], limits).unwrap();
        assert_eq!((ran.out.as_slice(), ran.status.code()), (&b"done\n"[..], Some(3)));
    }
}
