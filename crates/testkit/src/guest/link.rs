//! One ssh connection per user, which their commands share: making one costs an emulated machine most of a
//! second, and a command through it a few hundredths.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use holdfast_journal::SystemClock;
use holdfast_types::Clock;

use super::GuestError;

/// A machine of the lab proves who it is by the key it was made with, and the way of agreeing on a secret is the
/// one that costs it least. The last two bound every wait for one that is connected.
const OPTIONS: [&str; 9] = [
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "GlobalKnownHostsFile=/dev/null",
    "StrictHostKeyChecking=yes",
    "KexAlgorithms=curve25519-sha256",
    "LogLevel=ERROR",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
];

const CONNECT_WITHIN_S: u32 = 30;

/// What the guest says when a connection is up.
const HELLO: &str = "hello\n";
/// What it says when it can be used.
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
        let (mut open, stdout) = (ssh.stdin.take(), ssh.stdout.take().map(BufReader::new));
        let greeted = greet(open.as_mut(), stdout);
        let link = Link { ssh, _open: open };
        if greeted.is_some() {
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

/// ssh with this key, to machines that are in this file. Who, where and what are for the caller to add.
pub(crate) fn ssh_to(known_hosts: &Path, key: &Path) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-F", "none", "-T", "-i"]).arg(key);
    command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
    command.arg("-o").arg(format!("UserKnownHostsFile={}", known_hosts.display()));
    command
}

/// ssh to that user, through their connection if it is up. To be run in the folder of the guest.
pub(super) fn ssh(folder: &Path, port: u16, user: &str) -> Command {
    let mut command = ssh_to(Path::new("known_hosts"), Path::new("key"));
    command.args(["-p", &port.to_string(), "-l", user, "-o", "HostKeyAlias=guest"]);
    command.args(["-o", &format!("ControlPath={}", control_path(user)), "127.0.0.1"]);
    command.current_dir(folder);
    command
}

fn control_path(user: &str) -> String {
    format!("link-{user}")
}

/// What the guest runs to hold the connection. Root's is told the time before.
fn greeting(user: &str) -> String {
    let hold = "echo ready && exec cat >/dev/null";
    if user != "root" {
        return format!("echo hello && read -r now && {hold}");
    }
    format!(r#"echo hello && read -r now && date -u -s "@$now" >/dev/null && {hold}"#)
}

/// The time is only said when the guest listens: logging in to one that boots takes seconds. Nothing when ssh
/// ended instead.
fn greet(stdin: Option<&mut ChildStdin>, stdout: Option<impl BufRead>) -> Option<()> {
    let (stdin, mut stdout) = (stdin?, stdout?);
    await_line(&mut stdout, HELLO)?;
    let micros = SystemClock::new().now().as_micros();
    let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    writeln!(stdin, "{seconds}.{rest:06}").ok()?;
    await_line(&mut stdout, READY)
}

fn await_line(stdout: &mut impl BufRead, expected: &str) -> Option<()> {
    let mut line = String::new();
    stdout.by_ref().take(expected.len() as u64).read_line(&mut line).ok()?;
    (line == expected).then_some(())
}
