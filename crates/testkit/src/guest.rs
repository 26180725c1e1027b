//! A real machine for a test: Debian with systemd and cgroup v2 controllers in QEMU, resumed from the
//! moment it had booted.
//!
//! ```text
//! let Some(guest) = lab::guest("trixie") else { return };
//! guest.put(env!("CARGO_BIN_EXE_cage"), "/root/cage")?;
//! let output = guest.run(&["/root/cage", "--memory-max", "64M", "true"]);
//! assert_eq!(output.status.code(), Some(0));
//! let output = guest.run_as("agent", &["id", "-un"]);
//! ```
//!
//! `make lab` builds one per release of Debian, once; `lab/README.md` says what is in it. What holds:
//! - Every guest begins alike and writes to a layer of its own, which is gone with it. Only its clock is
//!   set.
//! - Arguments arrive as they are, no shell looks at them. Standard output, standard error and the exit
//!   code come back as they are; a program that a signal ended has 128 and its number, as in a shell.
//! - A guest reaches nothing, and is reached through a port on loopback alone.
//! - It ends when the [`Guest`] is dropped, when the process that resumed it ends in whatever way, and
//!   after ten minutes in any case. At most two run at once on a machine; a third waits for its turn.
//! - A call is over after a minute unless it was given another limit, and after 64 MiB of output.
//!
//! Not here on purpose: a shell, and a way to wait for a command in the background. `systemd-run` in the
//! guest does that.
//!
//! What happens to machines can be done to it: [`Guest::cut`] and [`Guest::join`] its network,
//! [`Guest::freeze`] and [`Guest::thaw`] it, [`Guest::reset`] it as a power button would, and let it
//! [`Guest::reboot`]. [`Guest::wait_until_back`] returns when it answers again.
//!
//! Files: `image.rs` finds what was built; `machine.rs` holds the process of QEMU and `monitor.rs` what is
//! said to it; `link.rs` the connection of one user; `call.rs` runs one command.

mod call;
mod image;
mod link;
mod machine;
mod monitor;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::{ExitStatus, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use call::GuestCall;
use image::{Image, Slot};
use link::Link;
use machine::Machine;
use monitor::Order;

use crate::lab::bounded;
pub(crate) use image::path_of;
pub(crate) use link::ssh_to;

/// Whoever is stuck.
const LIFE: Duration = Duration::from_secs(600);

/// Copying a large debug build into an emulated machine on a busy host.
const PUT_WITHIN: Duration = Duration::from_secs(180);

/// A cold boot of an emulated machine on a busy host takes half a minute, or a whole one.
const BACK_WITHIN: Duration = Duration::from_secs(180);
/// Stopping all services before that.
const REBOOT_WITHIN: Duration = Duration::from_secs(120);
/// How long one attempt to connect may take while it boots: a second, and then longer, since what is lost in
/// the moment the network comes back is sent again late, and a busy machine answers late.
const ATTEMPT_WITHIN_S: std::ops::RangeInclusive<u32> = 1..=10;
const ATTEMPT_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A running guest; it ends when this is dropped. May be shared between threads.
#[derive(Debug)]
pub struct Guest {
    // In the order in which they end: first the connections, then the machine, then its files, then its turn.
    links: Mutex<BTreeMap<String, Link>>,
    machine: Machine,
    folder: TempDir,
    release: String,
    accelerator: String,
    resumed_in: Duration,
    _slot: Slot,
}

/// Why there is no guest, or why it did not do what was asked.
#[derive(Debug)]
pub struct GuestError {
    reason: String,
}

impl Guest {
    /// Resumes a guest of its own; takes seconds. When this returns, it answers and its clock is right.
    pub fn resume(release: &str) -> Result<Guest, GuestError> {
        Guest::resume_for(LIFE, release)
    }

    /// The same, but it may live so long. For a person; a test that waits this long waits in vain.
    pub fn resume_for(life: Duration, release: &str) -> Result<Guest, GuestError> {
        let image = Image::find(release)?;
        let slot = image.take_slot()?;
        let began = Instant::now();
        let folder = image.lay_out(&slot)?;
        let machine = Machine::resume(folder.path(), life, &image.machine)?;
        let links = Mutex::default();
        let (release, accelerator) = (release.to_owned(), image.accelerator);
        let resumed_in = Duration::ZERO;
        let mut guest = Guest { links, machine, folder, release, accelerator, resumed_in, _slot: slot };
        guest.link("root").map_err(|e| e.with(&guest.console()))?;
        guest.resumed_in = began.elapsed();
        Ok(guest)
    }

    /// Debian 12, as [`crate::lab::guest`] gives it.
    #[track_caller]
    pub fn required() -> Option<Guest> {
        crate::lab::guest("bookworm")
    }

    /// The release of Debian: `bookworm` or `trixie`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// How it runs: `kvm`, or `tcg` when it is emulated.
    pub fn accelerator(&self) -> &str {
        &self.accelerator
    }

    /// From having its turn to root being logged in with the clock right.
    pub fn resumed_in(&self) -> Duration {
        self.resumed_in
    }

    /// What its processes on this machine are called, to find them in a list of processes.
    pub fn name(&self) -> &str {
        self.folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Copies a file into the guest, with its permissions, for root; folders on the way are made.
    pub fn put(&self, local: impl AsRef<Path>, remote: &str) -> Result<(), GuestError> {
        let run = |argv: &[&str], file| self.call(argv).stdin_from(file).within(PUT_WITHIN).try_run();
        bounded::put(local.as_ref(), remote, run).map_err(GuestError::new)
    }

    /// Runs a command as root, in root's home and without a session of systemd, with an empty standard input, and waits for it. Panics when
    /// the guest does not answer or the command takes more than a minute.
    #[track_caller]
    pub fn run(&self, argv: &[&str]) -> Output {
        self.call(argv).run()
    }

    /// The same as another user, in a session of theirs. The guest has an ordinary user called `agent`,
    /// whose systemd manager runs; any user with a shell that a test adds will do.
    #[track_caller]
    pub fn run_as(&self, user: &str, argv: &[&str]) -> Output {
        self.call(argv).user(user).run()
    }

    /// A command to be run with more said about it.
    pub fn call(&self, argv: &[&str]) -> GuestCall<'_> {
        GuestCall::new(self, argv)
    }

    /// A shell of root's for whoever sits at the terminal. Returns when they leave it.
    pub fn shell(&self) -> Result<ExitStatus, GuestError> {
        self.link("root")?;
        let mut ssh = link::ssh(self.folder.path(), self.machine.port(), "root");
        let status = ssh.args(["-t", "--", "exec bash -l"]).status();
        status.map_err(|e| GuestError::new(format!("no shell: {e}")))
    }

    /// Where its sshd answers on loopback, for a test that brings keys of its own.
    pub fn port(&self) -> u16 {
        self.machine.port()
    }

    /// Where its port 2222 is reached on loopback: a second way in, for a test that puts somebody there.
    pub fn second_port(&self) -> u16 {
        self.machine.second_port()
    }

    /// The file by which ssh knows it as the host `guest`.
    pub fn known_hosts(&self) -> std::path::PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// Takes its network away, as if a cable were pulled: what is sent either way is lost, and nobody is
    /// told. It runs on.
    #[track_caller]
    pub fn cut(&self) {
        self.obey(Order::Cut);
    }

    /// Gives it its network back. It may need a second to see that.
    #[track_caller]
    pub fn join(&self) {
        self.obey(Order::Join);
    }

    /// Stops its processor: nothing in it happens, and all its clocks stand still.
    #[track_caller]
    pub fn freeze(&self) {
        self.obey(Order::Freeze);
    }

    /// Goes on where it was frozen. Its clock is behind by as long, until [`Guest::wait_until_back`] sets it.
    #[track_caller]
    pub fn thaw(&self) {
        self.obey(Order::Thaw);
    }

    /// As if its power were off for a moment: nothing is stopped or written before, and it boots from its
    /// disk. Returns before it has.
    #[track_caller]
    pub fn reset(&self) {
        self.obey(Order::Reset);
        self.forget_links();
    }

    /// Lets it stop its services and boot anew. Returns when it is down; it is not up yet.
    #[track_caller]
    pub fn reboot(&self) {
        let ask = || self.run(&["systemctl", "reboot"]);
        if let Err(e) = self.machine.reset_by(ask, REBOOT_WITHIN) {
            panic!("{e}; the console ends with:\n{}", self.console());
        }
        self.forget_links();
    }

    /// Returns when root can log in and its clock is right; panics when that is not so within three minutes.
    /// Services that start late at boot may still be starting.
    #[track_caller]
    pub fn wait_until_back(&self) {
        self.forget_links();
        let until = Instant::now() + BACK_WITHIN;
        let longest = std::iter::repeat(*ATTEMPT_WITHIN_S.end());
        for seconds in ATTEMPT_WITHIN_S.chain(longest) {
            match Link::open_within(seconds, self.folder.path(), self.machine.port(), "root") {
                Ok(link) => {
                    self.links().insert("root".to_owned(), link);
                    return;
                }
                Err(e) if Instant::now() > until => {
                    panic!("not back within {BACK_WITHIN:?}: {e}; the console ends with:\n{}", self.console())
                }
                Err(_not_yet) => std::thread::sleep(ATTEMPT_AGAIN_AFTER),
            }
        }
    }

    #[track_caller]
    fn obey(&self, order: Order) {
        if let Err(e) = self.machine.obey(order) {
            panic!("{e}");
        }
    }

    /// Ends it and waits until its process is gone; what dropping does, too.
    pub fn down(self) {
        drop(self);
    }

    /// The last lines of its console, for a person who wonders.
    pub fn console(&self) -> String {
        let text = std::fs::read(self.folder.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Makes sure that there is a connection for this user.
    fn link(&self, user: &str) -> Result<(), GuestError> {
        let mut links = self.links();
        if links.get_mut(user).is_some_and(Link::is_up) {
            return Ok(());
        }
        links.remove(user);
        let link = Link::open(self.folder.path(), self.machine.port(), user)?;
        links.insert(user.to_owned(), link);
        Ok(())
    }

    /// Connections to a machine that has begun anew would only be found dead after a while.
    fn forget_links(&self) {
        self.links().clear();
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<String, Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuestError {
    fn new(reason: impl Into<String>) -> GuestError {
        GuestError { reason: reason.into() }
    }

    fn with(mut self, console: &str) -> GuestError {
        self.reason = format!("{}; its console ends with:\n{console}", self.reason);
        self
    }
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest: {}", self.reason)
    }
}

impl std::error::Error for GuestError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does not compile otherwise.
    fn can_be_shared<T: Send + Sync>() {}

    #[test]
    fn threads_can_share_a_guest() {
        can_be_shared::<Guest>();
    }
}
