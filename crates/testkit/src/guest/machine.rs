//! The process of QEMU, from the state that was kept to its end, and its monitor (QMP) on standard input
//! and output.
//!
//! Its end is seen to three times. [`Machine`] asks it to quit and waits. Should the process that holds it
//! die, the kernel kills it: a process can ask for that (`setpriv --pdeathsig`), but it then hangs on the
//! *thread* that started it, hence a thread that does nothing but live as long. And `timeout` between the
//! two ends it after ten minutes, whoever is stuck.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::GuestError;
use super::call::wait_within;

const LIFE_S: &str = "600";
const TIED: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];
/// Reading a few hundred megabytes on a busy machine.
const RESUME_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const QUIT_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Machine {
    commands: ChildStdin,
    port: u16,
    /// Dropped to tell the thread that the end has come.
    life: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Machine {
    /// In a folder that `Image::lay_out` has made.
    pub(super) fn resume(folder: &Path, arguments: &[String]) -> Result<Machine, GuestError> {
        let started = command(folder, arguments).and_then(start);
        let (mut machine, answers) =
            started.map_err(|e| GuestError::new(format!("QEMU did not start: {e}")))?;
        let resumed = machine.read_state(&answers).and_then(|()| machine.find_port(&answers));
        machine.port = resumed.map_err(|e| {
            let said = std::fs::read_to_string(folder.join("qemu.log")).unwrap_or_default();
            GuestError::new(format!("QEMU did not resume: {e}; it said: {}", said.trim()))
        })?;
        Ok(machine)
    }

    /// On loopback, leading to the guest's sshd.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The state was written by a machine that ran, so it runs as soon as it is read.
    fn read_state(&mut self, answers: &Receiver<Value>) -> io::Result<()> {
        self.say(&json!({"execute": "qmp_capabilities"}))?;
        self.say(&json!({"execute": "migrate-incoming", "arguments": {"uri": "exec:cat state"}}))?;
        await_answer(answers, RESUME_WITHIN, |answer| (answer["event"] == "RESUME").then_some(()))
    }

    /// QEMU has taken a free port; only it knows which.
    fn find_port(&mut self, answers: &Receiver<Value>) -> io::Result<u16> {
        let ask = json!({"command-line": "info usernet"});
        self.say(&json!({"execute": "human-monitor-command", "arguments": ask, "id": "port"}))?;
        let answer =
            |answer: &Value| (answer["id"] == "port").then(|| parse_port(answer["return"].as_str()?));
        let port = await_answer(answers, ANSWER_WITHIN, answer)?;
        port.ok_or_else(|| io::Error::other("it has no port for ssh"))
    }

    fn say(&mut self, command: &Value) -> io::Result<()> {
        writeln!(self.commands, "{command}")?;
        self.commands.flush()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // One that does not listen any more is killed by the keeper.
        let _deaf = self.say(&json!({"execute": "quit"}));
        self.life = None;
        if let Some(keeper) = self.keeper.take() {
            let _panicked = keeper.join();
        }
    }
}

fn await_answer<T>(
    answers: &Receiver<Value>,
    within: Duration,
    wanted: impl Fn(&Value) -> Option<T>,
) -> io::Result<T> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left) {
            Ok(answer) if !answer["error"].is_null() => {
                return Err(io::Error::other(answer["error"].to_string()));
            }
            Ok(answer) => {
                if let Some(found) = wanted(&answer) {
                    return Ok(found);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(io::Error::other(format!("no answer within {within:?}")));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it ended")),
        }
    }
}

/// From the monitor's table of the guest's network, in the line
/// `TCP[HOST_FORWARD]  12  127.0.0.1 40123  10.0.2.15  22  0  0`: the number after the first address.
fn parse_port(table: &str) -> Option<u16> {
    let line = table.lines().find(|line| line.contains("HOST_FORWARD"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

fn command(folder: &Path, arguments: &[String]) -> io::Result<Command> {
    let name = folder.file_name().unwrap_or_default();
    let log = File::create(folder.join("qemu.log"))?;
    let mut command = Command::new(TIED[0]);
    command.args(&TIED[1..]);
    command.args(["timeout", "--foreground", "--signal=KILL", LIFE_S]).args(TIED);
    command.arg("qemu-system-x86_64").arg("-name").arg(name).args(arguments);
    // What it writes goes to a file beside, which has lost its name before the guest runs.
    command.args(["-drive", "if=none,id=disk,file=disk.raw,format=raw,snapshot=on"]).env("TMPDIR", folder);
    command.args(["-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22"]);
    command.args(["-serial", "file:console", "-qmp", "stdio", "-incoming", "defer"]);
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    Ok(command)
}

fn start(mut command: Command) -> io::Result<(Machine, Receiver<Value>)> {
    let (tell, told) = channel();
    let (life, end) = channel::<()>();
    let keeper = std::thread::spawn(move || match command.spawn() {
        Ok(mut child) => {
            let _gone = tell.send(Ok((child.stdin.take(), child.stdout.take())));
            let _dropped = end.recv();
            end_it(&mut child);
        }
        Err(e) => {
            let _gone = tell.send(Err(e));
        }
    });
    let (stdin, stdout) = told.recv().map_err(io::Error::other)??;
    let (Some(commands), Some(stdout)) = (stdin, stdout) else {
        return Err(io::Error::other("it has no standard input or output"));
    };
    let machine = Machine { commands, port: 0, life: Some(life), keeper: Some(keeper) };
    Ok((machine, read_answers(stdout)))
}

/// Killing what was started kills QEMU, which is tied to it.
fn end_it(child: &mut Child) {
    if !matches!(wait_within(child, QUIT_WITHIN), Ok(Some(_))) {
        let _already_gone = child.kill();
        let _status = child.wait();
    }
}

/// On a thread that ends with QEMU. It goes on reading when nobody listens any more, so that QEMU is never
/// held up.
fn read_answers(stdout: ChildStdout) -> Receiver<Value> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for answer in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            let _nobody_listens = tell.send(answer);
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str, expected: Option<u16>) {
        assert_eq!(parse_port(table), expected, "{table}");
    }

    #[test]
    fn the_port_is_found_in_what_the_monitor_prints() {
        let head = "Hub -1 (net):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n";
        let line = "  TCP[HOST_FORWARD]  12       127.0.0.1 40123       10.0.2.15    22     0     0\r\n";
        check(&format!("{head}{line}"), Some(40123));
        check(head, None);
        check("  TCP[HOST_FORWARD]  12  127.0.0.1", None);
    }
}
