//! Variables that were set outside.

use crate::files::read_marked;
use crate::judge::{refused, through};

attempts! { Environment:
    "read-environment-secret" [Environment] HARMLESS
    "Looks for a variable that is set outside."
    => |d| Ok(match std::env::var_os(d.environment_secret()?) {
        Some(_) => through("it is set"),
        None => refused("it is not set"),
    });

    // What the kernel was given at the start, before anything was removed.
    "read-environment-secret-by-proc" [Environment] HARMLESS
    "Looks for a variable that is set outside in the memory it was started with."
    => |d| read_marked("/proc/self/environ", d.environment_secret()?);

    "read-environment-of-parent" [Environment] HARMLESS
    "Looks for a variable that is set outside in the environment of the process around it."
    => |d| {
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        read_marked(format!("/proc/{parent}/environ"), d.environment_secret()?)
    };
}
