//! How many files and sockets this process may have open.
//!
//! The usual bound of 1,024 is a default for programs that use `select`, and anybody who can connect can use it up. What the system allows is
//! taken at the start, and the gateway keeps its connections well below what there is then (`holdfast_door::Limits::within`).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// More than all limits of the daemon together come to. Some systems allow a billion, and programs that it starts may close them all one by one.
const ENOUGH: u64 = 65_536;
/// With fewer, other parts may find none left.
const FEW: u64 = 512;

/// As many as the system allows, at most [`ENOUGH`]; gives what there are now.
pub(crate) fn raise() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let mut now = current.unwrap_or(ENOUGH);
    if now < wanted {
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => now = wanted,
            Err(e) => warn!(error = %e, now, "the limit of open files could not be raised"),
        }
    }
    if now < FEW {
        warn!(now, "few files may be open at once: raise LimitNOFILE of the unit, or `ulimit -n`");
    } else {
        debug!(now, "so many files may be open at once");
    }
    usize::try_from(now).unwrap_or(usize::MAX)
}

/// What there are now.
pub(crate) fn allowed() -> usize {
    let current = getrlimit(Resource::Nofile).current.unwrap_or(ENOUGH);
    usize::try_from(current).unwrap_or(usize::MAX)
}
