//! `make lab-shell`: a shell in a guest of the lab, for a person who wants to look around. The guest ends
//! with the shell.
//!
//! The release is the first argument. Exit codes: 0 good, 2 no such release, 3 the guest cannot be resumed.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;
use std::time::Duration;

use holdfast_testkit::{Guest, lab};

/// One of the two that may run at once is taken meanwhile, so it does not stay for ever.
const LIFE: Duration = Duration::from_secs(3600);

#[expect(clippy::print_stderr, reason = "it speaks to a person at a terminal")]
fn main() -> ExitCode {
    let release = std::env::args().nth(1).unwrap_or_default();
    if !lab::RELEASES.contains(&release.as_str()) {
        eprintln!("lab-shell: RELEASE is one of {}", lab::RELEASES.join(", "));
        return ExitCode::from(2);
    }
    if !stdin().is_terminal() {
        eprintln!(
            "lab-shell: this is for a person at a terminal; a test asks for `lab::guest(\"{release}\")`"
        );
        return ExitCode::from(2);
    }
    match Guest::resume_for(LIFE, &release).and_then(|guest| look_around(&guest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lab-shell: {e}");
            ExitCode::from(3)
        }
    }
}

#[expect(clippy::print_stderr, reason = "it speaks to a person at a terminal")]
fn look_around(guest: &Guest) -> Result<(), holdfast_testkit::GuestError> {
    let runs = if guest.accelerator() == "kvm" { "with KVM" } else { "emulated" };
    eprintln!(
        "You are root in a Debian guest ({}, {runs}) as it was when it had booted. It reaches no network.",
        guest.release()
    );
    eprintln!(
        "Leave with `exit` or Ctrl-D: the guest ends, and what was changed in it is gone. At the latest in an hour."
    );
    // How the last command in it went is nobody's concern.
    guest.shell().map(|_status| ())
}
