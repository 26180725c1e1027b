//! Who a process is: what a setuid copy of the intruder prints when it is started.

use serde::{Deserialize, Serialize};

use crate::raw::{Arg, ask};

/// The effective user and capabilities of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// The effective user.
    pub user: u32,
    /// The effective capabilities, a bit each.
    pub capabilities: u64,
}

impl Who {
    /// Of this process. `None` where the kernel does not tell the capabilities.
    pub fn this() -> Option<Who> {
        let user = rustix::process::geteuid().as_raw();
        Some(Who { user, capabilities: effective_capabilities()? })
    }

    /// Whether this process was started with more than its caller has: by the mode or the capabilities of its file.
    pub fn is_raised() -> bool {
        use rustix::process::{getegid, geteuid, getgid, getuid};
        getuid() != geteuid() || getgid() != getegid() || crate::raw::is_secure()
    }
}

/// Version 3 of the interface: two words for each set, in the order effective, permitted, inheritable.
pub(crate) const CAPABILITY_HEADER: [u32; 2] = [0x2008_0522, 0];

fn effective_capabilities() -> Option<u64> {
    let header = crate::raw::words32(&CAPABILITY_HEADER);
    let answer = ask!(CAPGET, Arg::Filled(&header), Arg::Room).ok()?;
    let low = answer.word32(1, 0);
    let high = answer.word32(1, 12);
    Some(u64::from(high) << 32 | u64::from(low))
}
