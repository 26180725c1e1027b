//! Hosts with an address and an sshd each, in network namespaces: what goes over ssh, to one or to a hundred.
//! `lab/hosts.sh` makes them.
//!
//! A host has a tree of Debian that is its own to write to, its own host key, and users root and `agent`. The
//! lab's key opens every user; `authorized_keys` of a user works as anywhere, with forced commands. They reach
//! each other and this machine, and nothing else. They end with the [`Hosts`] or with the process that holds
//! them.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use tempfile::TempDir;

use super::held::Held;
use super::{LabError, bounded};
use crate::guest::{path_of, ssh_to};

/// As in `lab/hosts.sh`.
const FIRST_ADDRESS: u32 = 10;
const HOSTS_MAX: u32 = 200;
const CONNECT: &str = "ConnectTimeout=10";

/// Running hosts, used as a slice; they end when this is dropped.
#[derive(Debug)]
pub struct Hosts {
    hosts: Vec<Host>,
    // In this order: first the hosts end, then their folder.
    _held: Held,
    folder: TempDir,
}

/// One of them.
#[derive(Debug)]
pub struct Host {
    address: Ipv4Addr,
    number: u32,
    folder: PathBuf,
}

impl Hosts {
    /// When this returns, all of them answer.
    pub fn start(release: &str, count: u32) -> Result<Hosts, LabError> {
        if !(1..=HOSTS_MAX).contains(&count) {
            return Err(LabError::new(format!(
                "{count} hosts were asked for; there can be 1 to {HOSTS_MAX}"
            )));
        }
        let failed = |e: &dyn std::fmt::Display| LabError::new(format!("cannot lay out hosts: {e}"));
        let image = path_of(release).map_err(|e| failed(&e))?;
        let folder = tempfile::Builder::new().prefix("holdfast-hosts-").tempdir().map_err(|e| failed(&e))?;
        // ssh wants a key that nobody else may read; copying keeps that.
        std::fs::copy(image.join("key"), folder.path().join("key")).map_err(|e| failed(&e))?;
        let (image, place) = (image.to_string_lossy(), folder.path().to_string_lossy());
        let held = Held::start("hosts.sh", &[&image, &place, &count.to_string()], folder.path())?;
        let hosts = (0..count).map(|number| Host::new(&held.said, number, folder.path()));
        let hosts = hosts.collect::<Result<_, _>>().map_err(|e| failed(&e))?;
        Ok(Hosts { hosts, _held: held, folder })
    }

    /// The file by which ssh knows all of them, by their addresses.
    pub fn known_hosts(&self) -> PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// The private key that opens every user of every host.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }
}

impl Deref for Hosts {
    type Target = [Host];

    fn deref(&self) -> &[Host] {
        &self.hosts
    }
}

impl Host {
    fn new(network: &str, number: u32, folder: &Path) -> Result<Host, std::net::AddrParseError> {
        let address = format!("{network}.{}", FIRST_ADDRESS + number).parse()?;
        Ok(Host { address, number, folder: folder.to_owned() })
    }

    /// Where its sshd answers, on port 22.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Runs a command as root with an empty standard input, and waits for it; arguments arrive as they are.
    /// Panics when the host does not answer or the command takes more than a minute.
    #[track_caller]
    pub fn run(&self, argv: &[&str]) -> Output {
        self.run_as("root", argv)
    }

    /// The same as another user.
    #[track_caller]
    pub fn run_as(&self, user: &str, argv: &[&str]) -> Output {
        match self.try_run(user, argv, None, bounded::WITHIN) {
            Ok(output) => output,
            Err(e) => panic!("{argv:?} on {}: {e}; its sshd said:\n{}", self.address, self.log()),
        }
    }

    /// Copies a file with its permissions, for root; folders on the way are made.
    pub fn put(&self, local: impl AsRef<Path>, remote: &str) -> Result<(), LabError> {
        let run = |argv: &[&str], file| self.try_run("root", argv, Some(file), bounded::WITHIN);
        bounded::put(local.as_ref(), remote, run).map_err(LabError::new)
    }

    /// What its sshd said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join(format!("sshd-{}.log", self.number))).unwrap_or_default()
    }

    fn try_run(
        &self,
        user: &str,
        argv: &[&str],
        stdin: Option<File>,
        within: Duration,
    ) -> io::Result<Output> {
        let mut command = ssh_to(Path::new("known_hosts"), Path::new("key"));
        command.args(["-l", user, "-o", CONNECT]);
        command.args([&self.address.to_string(), "--", &bounded::line(argv)]).current_dir(&self.folder);
        bounded::run(command, stdin, within)
    }
}
