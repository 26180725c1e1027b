//! `scripts/doorman.sh guests`: whether a doorman that was built for targets runs on each release of the lab, where
//! nothing of it is installed.
//!
//! The file is the first argument. Exit codes: 0 it answers on all of them, 1 it does not, 2 wrong usage, 3 no guest.

use std::process::ExitCode;

use holdfast_testkit::{Guest, GuestError, lab};

const THERE: &str = "/usr/local/lib/holdfast/holdfast-doorman";

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "it speaks to a person at a terminal")]
fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: doorman-in-guests FILE");
        return ExitCode::from(2);
    };
    for release in lab::RELEASES {
        match answer_on(release, &file) {
            Ok(said) if said.starts_with(r#"{"pong":{"version":"#) => println!("{release:<8} answers"),
            Ok(said) => {
                eprintln!("{release}: expected a pong, and it said: {said}");
                return ExitCode::FAILURE;
            }
            Err(e) => {
                eprintln!("{release}: {e}");
                return ExitCode::from(3);
            }
        }
    }
    ExitCode::SUCCESS
}

/// What it says to a ping, called as sshd calls it.
fn answer_on(release: &str, file: &str) -> Result<String, GuestError> {
    let guest = Guest::resume(release)?;
    guest.put(file, THERE)?;
    let output = guest.run(&["env", "-i", "SSH_ORIGINAL_COMMAND=ping", THERE, "observe"]);
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
