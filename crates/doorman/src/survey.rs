//! What is on the target: its system, its manager, its disks, its services and who listens where.
//!
//! The same fixed script looks on the first day, through a person's account, and on any day after, behind the key that acts: only root
//! sees who listens. It changes nothing, nothing is put into it, and whoever asked makes sense of what it says.

use std::time::Duration;

use crate::program::{Trouble, run_with};
use crate::wire::{REPLY_MAX, Reply};

/// Read by `sh` from its standard input.
pub const SCRIPT: &str = include_str!("survey.sh");

/// An emulated machine takes some seconds.
const WITHIN: Duration = Duration::from_secs(90);
/// Escaped, and with what is around it, it still is a reply.
const SAID_MAX: usize = REPLY_MAX / 4;

pub(crate) fn survey() -> Result<Reply, Trouble> {
    let said = run_with("sh", &["-s"], SCRIPT.into(), WITHIN)?;
    match said.len() <= SAID_MAX {
        true => Ok(Reply::Surveyed { said }),
        false => Err(Trouble::Odd(format!("what is there takes more than {SAID_MAX} bytes to say"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_this_machine_is_whole() {
        let Reply::Surveyed { said } = survey().unwrap() else { panic!() };
        assert!(said.starts_with("hf:hello=holdfast\n") && said.ends_with("hf:end=holdfast\n"), "{said}");
        for key in ["uid", "root", "clock", "machine", "kernel"] {
            assert!(said.contains(&format!("\nhf:{key}=")), "{key}: {said}");
        }
    }
}
