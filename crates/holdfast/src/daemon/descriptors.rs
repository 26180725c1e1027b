//! How many files and sockets this process may have open.
//!
//! The usual bound of 1,024 is a default for programs that use `select`, and anybody who can connect can use it up. What the system allows is
//! taken at the start, and the gateway keeps its connections well below what there is then (`holdfast_door::Limits::within`).
//!
//! Where all are used up all the same, nobody could be accepted any more, and nobody could tell the daemon to stop what it does. So some are
//! kept ([`keep_spare`]) and given back to the system when a client could not be accepted for want of one ([`give_spare`]): that client is
//! served then, and some after it. How many there are is a matter of the whole process, and so is what is kept.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// More than all limits of the daemon together come to. Some systems allow a billion, and programs that it starts may close them all one by one.
const ENOUGH: u64 = 65_536;
/// With fewer, other parts may find none left.
const FEW: u64 = 512;

/// Enough for a few clients at once, and for the files that a page about the house reads.
const SPARE: usize = 32;
/// Of those that are free again, so many are left to everybody.
const LEFT: usize = 8;
/// For so long those that were given back are for whoever comes.
const GIVEN_FOR: Duration = Duration::from_secs(10);

static KEPT: Mutex<Kept> = Mutex::new(Kept { spare: Vec::new(), given: None });

struct Kept {
    spare: Vec<OwnedFd>,
    /// When they were given back last.
    given: Option<Instant>,
}

/// Keeps as many as there should be, as far as there are free ones. Called now and then.
pub(crate) fn keep_spare() {
    let mut kept = kept();
    let wanted = SPARE.saturating_sub(kept.spare.len());
    if wanted == 0 || kept.given.is_some_and(|given| given.elapsed() < GIVEN_FOR) {
        return;
    }
    let mut free: Vec<OwnedFd> = (0..wanted + LEFT).map_while(|_| one().ok()).collect();
    free.truncate(free.len().saturating_sub(LEFT));
    kept.spare.extend(free);
}

/// Gives back those that are kept when this error is for want of one. Whether there is reason to try again at once.
pub(crate) fn give_spare(e: &io::Error) -> bool {
    if e.raw_os_error() != Some(Errno::MFILE.raw_os_error()) {
        return false;
    }
    let mut kept = kept();
    let any = !kept.spare.is_empty();
    if any {
        warn!("all descriptors are used; those kept for clients are given to them");
        kept.spare.clear();
        kept.given = Some(Instant::now());
    }
    any
}

/// Of a file that is always there and costs nothing.
fn one() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

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
