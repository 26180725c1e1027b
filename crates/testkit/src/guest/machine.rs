//! The process of QEMU, from the state that was kept to its end. `monitor.rs` has what is said to it.
//!
//! Its end is seen to three times. [`Machine`] asks it to quit and waits. Should the process that holds it
//! die, the kernel kills it: a process can ask for that (`setpriv --pdeathsig`), but it then hangs on the
//! *thread* that started it, hence a thread that does nothing but live as long. And `timeout` between the
//! two ends it when its life is over, whoever is stuck.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::GuestError;
use super::monitor::{Monitor, Order};
use crate::lab::bounded::wait_within;

const TIED: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];
const QUIT_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Machine {
    monitor: Mutex<Monitor>,
    port: u16,
    second_port: u16,
    /// Dropped to tell the thread that the end has come.
    life: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Machine {
    /// In a folder that `Image::lay_out` has made.
    pub(super) fn resume(folder: &Path, life: Duration, arguments: &[String]) -> Result<Machine, GuestError> {
        let started = command(folder, life, arguments).and_then(start);
        let mut machine = started.map_err(|e| GuestError::new(format!("QEMU did not start: {e}")))?;
        let resumed = machine.monitor().resume();
        (machine.port, machine.second_port) = resumed.map_err(|e| {
            let said = std::fs::read_to_string(folder.join("qemu.log")).unwrap_or_default();
            GuestError::new(format!("QEMU did not resume: {e}; it said: {}", said.trim()))
        })?;
        Ok(machine)
    }

    /// On loopback, leading to the guest's sshd.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn second_port(&self) -> u16 {
        self.second_port
    }

    /// When this returns, it is so.
    pub(super) fn obey(&self, order: Order) -> Result<(), GuestError> {
        let obeyed = self.monitor().obey(order);
        obeyed.map_err(|e| GuestError::new(format!("QEMU did not {}: {e}", order.in_words())))
    }

    /// Does something that makes the machine begin anew from its disk, and waits until it has.
    pub(super) fn reset_by<T>(&self, doing: impl FnOnce() -> T, within: Duration) -> Result<T, GuestError> {
        let mut monitor = self.monitor();
        let done = monitor.reset_by(doing, within);
        done.map_err(|e| GuestError::new(format!("it did not begin anew: {e}")))
    }

    fn monitor(&self) -> MutexGuard<'_, Monitor> {
        self.monitor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // One that does not listen any more is killed by the keeper.
        let _deaf = self.monitor().quit();
        self.life = None;
        if let Some(keeper) = self.keeper.take() {
            let _panicked = keeper.join();
        }
    }
}

fn command(folder: &Path, life: Duration, arguments: &[String]) -> io::Result<Command> {
    let name = folder.file_name().unwrap_or_default();
    let log = File::create(folder.join("qemu.log"))?;
    let mut command = Command::new(TIED[0]);
    command.args(&TIED[1..]);
    let life = life.as_secs().to_string();
    command.args(["timeout", "--foreground", "--signal=KILL", &life]).args(TIED);
    command.arg("qemu-system-x86_64").arg("-name").arg(name).args(arguments);
    // What it writes goes to a file beside, which has lost its name before the guest runs.
    command.args(["-drive", "if=none,id=disk,file=disk.raw,format=raw,snapshot=on"]).env("TMPDIR", folder);
    command.args([
        "-netdev",
        "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22,hostfwd=tcp:127.0.0.1:0-:2222",
    ]);
    command.args(["-serial", "file:console", "-qmp", "stdio", "-incoming", "defer"]);
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    Ok(command)
}

fn start(mut command: Command) -> io::Result<Machine> {
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
    let (Some(commands), Some(answers)) = (stdin, stdout) else {
        return Err(io::Error::other("it has no standard input or output"));
    };
    let monitor = Mutex::new(Monitor::new(commands, answers));
    Ok(Machine { monitor, port: 0, second_port: 0, life: Some(life), keeper: Some(keeper) })
}

/// Killing what was started kills QEMU, which is tied to it.
fn end_it(child: &mut Child) {
    if !matches!(wait_within(child, QUIT_WITHIN), Ok(Some(_))) {
        let _already_gone = child.kill();
        let _status = child.wait();
    }
}
