//! The machines of the lab, as a test asks for them.
//!
//! ```text
//! let Some(guest) = lab::guest("trixie") else { return };
//! let Some(container) = lab::container("trixie") else { return };
//! let Some(hosts) = lab::hosts("bookworm", 3) else { return };
//! ```
//!
//! | machine | there in | systemd | limits and pressure | sshd |
//! |---|---|---|---|---|
//! | [`Guest`] | 1–3 s | yes | yes | yes |
//! | [`Container`] | 1 s | yes | no | no |
//! | [`Hosts`] | 0.2 s | no | no | yes |
//!
//! `lab/README.md` says which machine is for what. One that is missing fails the test and says why.
//! Only `HOLDFAST_REQUIRE_GUEST=0` says that this is known: one line on stderr, and `None`.

pub(crate) mod bounded;
mod container;
mod held;
mod hosts;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use container::Container;
pub use hosts::{Host, Hosts};

use crate::guest::{Guest, ssh_to};

/// The releases of Debian that there are machines of: systemd 252 and systemd 257.
pub const RELEASES: [&str; 2] = ["bookworm", "trixie"];

const REQUIRE_ENV: &str = "HOLDFAST_REQUIRE_GUEST";

/// A machine of its own with a kernel of its own, resumed; takes seconds.
#[track_caller]
pub fn guest(release: &str) -> Option<Guest> {
    required(Guest::resume(release))
}

/// A tree of Debian with a systemd that runs on this machine's kernel.
#[track_caller]
pub fn container(release: &str) -> Option<Container> {
    required(Container::start(release))
}

/// So many hosts with an address and an sshd each, and no systemd.
#[track_caller]
pub fn hosts(release: &str, count: u32) -> Option<Hosts> {
    required(Hosts::start(release, count))
}

/// ssh with a key of the test's own, to machines whose host keys are in this file. The test adds the user, the address and the command.
pub fn ssh(known_hosts: &Path, key: &Path) -> Command {
    ssh_to(known_hosts, key)
}

/// A copy of a program in this folder, without what is for a debugger: a guest takes it in a fifth of the time.
#[track_caller]
pub fn stripped(program: impl AsRef<Path>, folder: &Path) -> PathBuf {
    let program = program.as_ref();
    let copy = folder.join(program.file_name().unwrap_or_default());
    let copied = std::fs::copy(program, &copy).is_ok();
    let stripped = copied && Command::new("strip").arg(&copy).status().is_ok_and(|status| status.success());
    assert!(stripped, "{} could not be copied without its symbols", program.display());
    copy
}

/// Why there is no such machine, or why it did not do what was asked.
#[derive(Debug)]
pub struct LabError {
    reason: String,
}

impl LabError {
    fn new(reason: impl Into<String>) -> LabError {
        LabError { reason: reason.into() }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lab: {}", self.reason)
    }
}

impl std::error::Error for LabError {}

#[track_caller]
fn required<T>(machine: Result<T, impl fmt::Display>) -> Option<T> {
    let waived = std::env::var_os(REQUIRE_ENV).is_some_and(|value| value == "0");
    required_unless(waived, machine)
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn required_unless<T>(waived: bool, machine: Result<T, impl fmt::Display>) -> Option<T> {
    match machine {
        Ok(machine) => Some(machine),
        Err(e) if waived => {
            eprintln!("not run, {REQUIRE_ENV}=0: {e}");
            None
        }
        Err(e) => panic!("{e}; set {REQUIRE_ENV}=0 to do without the tests that need it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_machine_fails_the_test_unless_waived() {
        let none = || Err::<(), _>("made up");
        assert!(required_unless(true, none()).is_none());
        let panic = std::panic::catch_unwind(|| required_unless(false, none())).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("made up") && said.contains(REQUIRE_ENV), "{said}");
    }
}
