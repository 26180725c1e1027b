//! A real machine for a test: Debian with systemd and cgroup v2 controllers in QEMU, resumed from the
//! moment it had booted.
//!
//! ```text
//! let Some(guest) = Guest::required() else { return };
//! guest.put(env!("CARGO_BIN_EXE_cage"), "/root/cage")?;
//! let output = guest.run(&["/root/cage", "--memory-max", "64M", "true"]);
//! assert_eq!(output.status.code(), Some(0));
//! let output = guest.run_as("agent", &["id", "-un"]);
//! ```
//!
//! `make lab` builds it once; `lab/README.md` says what is in it. What holds:
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
//! Files: `image.rs` finds what was built; `machine.rs` holds the process of QEMU; `link.rs` the connection
//! of one user; `call.rs` runs one command.

mod call;
mod image;
mod link;
mod machine;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

pub use call::GuestCall;
use image::{Image, Slot};
use link::Link;
use machine::Machine;

const REQUIRE_ENV: &str = "HOLDFAST_REQUIRE_GUEST";

/// Copying a large debug build into an emulated machine on a busy host.
const PUT_WITHIN: Duration = Duration::from_secs(180);

/// Beside the file and then over it: a program that runs cannot be written to, but it can be replaced.
const PUT: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat >"$1.part" && chmod -- "$2" "$1.part" && mv -f -- "$1.part" "$1""#;

/// A running guest; it ends when this is dropped. May be shared between threads.
#[derive(Debug)]
pub struct Guest {
    // In the order in which they end: first the connections, then the machine, then its files, then its turn.
    links: Mutex<BTreeMap<String, Link>>,
    machine: Machine,
    folder: TempDir,
    accelerator: String,
    _slot: Slot,
}

/// Why there is no guest, or why it did not do what was asked.
#[derive(Debug)]
pub struct GuestError {
    reason: String,
}

impl Guest {
    /// Resumes a guest of its own; takes seconds. When this returns, it answers and its clock is right.
    pub fn resume() -> Result<Guest, GuestError> {
        let image = Image::find()?;
        let slot = image.take_slot()?;
        let folder = image.lay_out(&slot)?;
        let machine = Machine::resume(folder.path(), &image.machine)?;
        let links = Mutex::default();
        let guest = Guest { links, machine, folder, accelerator: image.accelerator, _slot: slot };
        guest.link("root").map_err(|e| e.with(&guest.console()))?;
        Ok(guest)
    }

    /// The same, or a panic that says why not. Only with `HOLDFAST_REQUIRE_GUEST=0` is a missing guest
    /// accepted: one line on stderr, and `None`.
    #[track_caller]
    pub fn required() -> Option<Guest> {
        let waived = std::env::var_os(REQUIRE_ENV).is_some_and(|value| value == "0");
        required_unless(waived, Guest::resume())
    }

    /// How it runs: `kvm`, or `tcg` when it is emulated.
    pub fn accelerator(&self) -> &str {
        &self.accelerator
    }

    /// What its processes on this machine are called, to find them in a list of processes.
    pub fn name(&self) -> &str {
        self.folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Copies a file into the guest, with its permissions, for root; folders on the way are made.
    pub fn put(&self, local: impl AsRef<Path>, remote: &str) -> Result<(), GuestError> {
        let local = local.as_ref();
        let failed =
            |e: &dyn fmt::Display| GuestError::new(format!("put {} in the guest: {e}", local.display()));
        let file = File::open(local).map_err(|e| failed(&e))?;
        let mode = file.metadata().map_err(|e| failed(&e))?.permissions().mode() & 0o7777;
        let mode = format!("{mode:o}");
        let call = self.call(&["sh", "-c", PUT, "put", remote, &mode]).stdin_from(file).within(PUT_WITHIN);
        let output = call.try_run().map_err(|e| failed(&e))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(&format_args!("{}, {}", output.status, String::from_utf8_lossy(&output.stderr).trim())))
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

    /// Where its sshd answers on loopback, for a test that brings keys of its own.
    pub fn port(&self) -> u16 {
        self.machine.port()
    }

    /// The file by which ssh knows it as the host `guest`.
    pub fn known_hosts(&self) -> std::path::PathBuf {
        self.folder.path().join("known_hosts")
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
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.get_mut(user).is_some_and(Link::is_up) {
            return Ok(());
        }
        links.remove(user);
        let link = Link::open(self.folder.path(), self.machine.port(), user)?;
        links.insert(user.to_owned(), link);
        Ok(())
    }
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn required_unless(waived: bool, guest: Result<Guest, GuestError>) -> Option<Guest> {
    match guest {
        Ok(guest) => Some(guest),
        Err(e) if waived => {
            eprintln!("not run, {REQUIRE_ENV}=0: {e}");
            None
        }
        Err(e) => panic!("{e}; set {REQUIRE_ENV}=0 to do without the tests that need it"),
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

    #[test]
    fn a_missing_guest_fails_the_test_unless_waived() {
        let none = || Err(GuestError::new("made up"));
        assert!(required_unless(true, none()).is_none());
        let panic = std::panic::catch_unwind(|| required_unless(false, none())).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("made up") && said.contains(REQUIRE_ENV), "{said}");
    }
}
