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

/// A program that runs for longer is ended when this process is. Nearly all have ended by then.
const REAPER_AFTER: Duration = Duration::from_secs(2);
/// What the process does that ends it. Git takes away its locks when it is asked to end.
pub const REAPER_SCRIPT: &str = "trap '' TERM; read -r none; kill -TERM 0; sleep 2; kill -KILL 0";

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

/// Runs it with this input. Its input and outputs are set here. If this process ends first, the program goes on.
pub fn run(command: &mut Command, input: Vec<u8>, limits: Limits) -> Result<Ran, NotEnded> {
    run_with(command, input, limits, IfWeEnd::GoesOn)
}

/// The same for a program that has nothing to finish without us: if this process ends first, in whatever way, the program ends too, with everything it
/// started.
pub fn run_while_we_do(command: &mut Command, input: Vec<u8>, limits: Limits) -> Result<Ran, NotEnded> {
    run_with(command, input, limits, IfWeEnd::EndsToo)
}

/// What becomes of it if this process ends first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfWeEnd {
    GoesOn,
    EndsToo,
}

fn run_with(
    command: &mut Command,
    input: Vec<u8>,
    limits: Limits,
    if_we_end: IfWeEnd,
) -> Result<Ran, NotEnded> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end before it has read everything, and says why.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let out = drain(child.stdout.take(), limits.output_max);
    let err = drain(child.stderr.take(), limits.output_max);
    let (status, out) = end_within(&mut child, limits.within, &out, if_we_end)?;
    let left = |pipe: &mpsc::Receiver<Vec<u8>>| pipe.recv_timeout(DRAIN_WITHIN).unwrap_or_default();
    Ok(Ran { status, out, err: left(&err) })
}

/// Its output and its end. As a rule a program closes its output when it ends, which is heard at once; one that goes on, or whose helper keeps the output
/// open, is looked at now and then.
fn end_within(
    child: &mut Child,
    within: Duration,
    out: &mpsc::Receiver<Vec<u8>>,
    if_we_end: IfWeEnd,
) -> Result<(ExitStatus, Vec<u8>), NotEnded> {
    let began = Instant::now();
    let (until, mut pause, mut heard) = (began + within, LOOK_FIRST, None);
    let mut reaper = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            kill(child);
            return Err(NotEnded::Late);
        }
        if if_we_end == IfWeEnd::EndsToo && reaper.is_none() && began.elapsed() >= REAPER_AFTER {
            // Where none can be started, the deadline is left.
            reaper = Some(Reaper::of_group(child));
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

/// A process in the program's group that waits until this process has ended, and then ends the group. The kernel can send a signal to a child whose parent has
/// ended, but only a child asks for that, before it becomes another program, and only `unsafe` code runs there.
struct Reaper(Child);

impl Reaper {
    /// Its input ends when this process does.
    fn of_group(leader: &Child) -> io::Result<Reaper> {
        let group = i32::try_from(leader.id()).map_err(io::Error::other)?;
        let mut command = crate::command("sh")?;
        command.args(["-c", REAPER_SCRIPT]).process_group(group);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Reaper)
    }
}

impl Drop for Reaper {
    /// Before its input is closed.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

    fn wait_for_the_end_of(pid: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        while !(state().is_empty() || state().contains(") Z")) {
            assert!(Instant::now() < until, "it goes on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        for (n, runs) in [run, run_while_we_do].into_iter().enumerate() {
            let mut command = shell("sleep 300 & echo $! >\"$1/$2\"; wait");
            command.arg("sh").arg(folder.path()).arg(n.to_string());
            let limits = Limits { within: REAPER_AFTER * 2, output_max: 100 };
            assert!(matches!(runs(&mut command, Vec::new(), limits), Err(NotEnded::Late)));
            wait_for_the_end_of(&std::fs::read_to_string(folder.path().join(n.to_string())).unwrap());
        }
    }

    /// In a process of its own, which the next test ends.
    #[test]
    fn runs_one_that_hangs() {
        let Some(folder) = std::env::var_os("HOLDFAST_TEST_HANGS_IN") else { return };
        let mut command = shell("sleep 300 & echo $! >\"$1/new\"; mv \"$1/new\" \"$1/helper\"; wait");
        command.arg("sh").arg(folder);
        let limits = Limits { within: Duration::from_secs(300), output_max: 100 };
        let _ = run_while_we_do(&mut command, Vec::new(), limits);
    }

    #[test]
    fn one_that_hangs_ends_when_whoever_runs_it_does() {
        let check = |signal| {
            let folder = tempfile::tempdir().unwrap();
            let mut runner = Command::new(std::env::current_exe().unwrap());
            runner.args(["--exact", "run::tests::runs_one_that_hangs"]).stdout(Stdio::null());
            let mut runner = runner.env("HOLDFAST_TEST_HANGS_IN", folder.path()).spawn().unwrap();
            let helper = loop {
                match std::fs::read_to_string(folder.path().join("helper")) {
                    Ok(helper) => break helper,
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            };
            thread::sleep(REAPER_AFTER * 2);
            let pid = Pid::from_raw(i32::try_from(runner.id()).unwrap()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
            runner.wait().unwrap();
            wait_for_the_end_of(&helper);
        };
        thread::scope(|threads| {
            for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
                threads.spawn(move || check(signal));
            }
        });
    }

    #[test]
    fn one_that_ends_late_ends_as_it_did() {
        let limits = Limits { within: Duration::from_secs(60), output_max: 100 };
        let script = "sleep 2.5; read -r said; echo $said; exit 3";
        let ran = run_while_we_do(&mut shell(script), b"a\n".to_vec(), limits).unwrap();
        assert_eq!((ran.out.as_slice(), ran.status.code()), (&b"a\n"[..], Some(3)));
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
