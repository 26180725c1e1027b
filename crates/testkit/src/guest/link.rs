//! One ssh connection per user, which their commands share: making one costs an emulated machine most of a
//! second, and a command through it a few hundredths.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use holdfast_journal::SystemClock;
use holdfast_types::Clock;

use super::GuestError;

/// The guest proves who it is by the key it was made with, and the way of agreeing on a secret is the one that
/// costs it least. The last two bound every wait for one that is connected.
const OPTIONS: [&str; 11] = [
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "UserKnownHostsFile=known_hosts",
    "GlobalKnownHostsFile=/dev/null",
    "HostKeyAlias=guest",
    "StrictHostKeyChecking=yes",
    "KexAlgorithms=curve25519-sha256",
    "LogLevel=ERROR",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
];

const CONNECT_WITHIN_S: u32 = 30;

/// What the guest says when a connection is up.
const READY: &str = "ready\n";

/// An open connection, closed when dropped.
#[derive(Debug)]
pub(super) struct Link {
    ssh: Child,
    /// Should we die, it is closed, and the connection with it.
    _open: Option<ChildStdin>,
}

impl Link {
    /// The first connection, root's, also sets the clock: a resumed guest takes the time of its state for
    /// the present.
    pub(super) fn open(folder: &Path, port: u16, user: &str) -> Result<Link, GuestError> {
        Link::open_within(CONNECT_WITHIN_S, folder, port, user)
    }

    /// The same, but given up when nobody answers within so many seconds.
    pub(super) fn open_within(
        seconds: u32,
        folder: &Path,
        port: u16,
        user: &str,
    ) -> Result<Link, GuestError> {
        let failed = |e: &dyn std::fmt::Display| GuestError::new(format!("{user} cannot log in: {e}"));
        if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return Err(failed(&"that is no name of a user"));
        }
        // Left by a connection that broke.
        let _absent = std::fs::remove_file(folder.join(control_path(user)));
        let log = File::create(folder.join("ssh.log")).map_err(|e| failed(&e))?;
        let mut command = ssh(folder, port, user);
        command.args(["-o", "ControlMaster=yes", "-o", &format!("ConnectTimeout={seconds}")]);
        command.args(["--", &greeting(user)]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut ssh = command.spawn().map_err(|e| failed(&e))?;
        let (open, stdout) = (ssh.stdin.take(), ssh.stdout.take());
        let link = Link { ssh, _open: open };
        if first_line(stdout) == READY {
            return Ok(link);
        }
        let said = std::fs::read_to_string(folder.join("ssh.log")).unwrap_or_default();
        Err(failed(&said.trim()))
    }

    pub(super) fn is_up(&mut self) -> bool {
        matches!(self.ssh.try_wait(), Ok(None))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _already_gone = self.ssh.kill();
        let _status = self.ssh.wait();
    }
}

/// ssh to that user, through their connection if it is up. To be run in the folder of the guest.
pub(super) fn ssh(folder: &Path, port: u16, user: &str) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-F", "none", "-T", "-i", "key", "-p", &port.to_string(), "-l", user]);
    command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
    command.args(["-o", &format!("ControlPath={}", control_path(user)), "127.0.0.1"]);
    command.current_dir(folder);
    command
}

fn control_path(user: &str) -> String {
    format!("link-{user}")
}

fn greeting(user: &str) -> String {
    let hold = "echo ready && exec cat >/dev/null";
    if user != "root" {
        return hold.to_owned();
    }
    let micros = SystemClock::new().now().as_micros();
    format!(
        "date -u -s @{}.{:06} >/dev/null && {hold}",
        micros.div_euclid(1_000_000),
        micros.rem_euclid(1_000_000)
    )
}

/// Empty when ssh ended instead.
fn first_line(stdout: Option<impl Read>) -> String {
    let mut line = String::new();
    if let Some(stdout) = stdout {
        let _unreadable = BufReader::new(stdout.take(READY.len() as u64)).read_line(&mut line);
    }
    line
}
