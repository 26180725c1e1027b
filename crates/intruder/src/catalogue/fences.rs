//! Taking a fence down from within.
//!
//! Landlock and the filter can only be made stricter. Whether one was loosened is seen by trying what it forbids.

use std::fs;

use crate::Decoys;
use crate::judge::{Tried, done, reached_unless, refused, step, through};
use crate::marks::place_in;
use crate::raw::{allow_every_call, ask, words64};

/// Every right of the first version of Landlock.
const EVERY_RIGHT: u64 = 0x1fff;

attempts! { Fences:
    "grant-everything-by-landlock" [View Landlock] HARMLESS
    "Adds a rule that grants everything below the root, and makes a file outside."
    => |d| {
        step(grant_everything())?;
        done(fs::File::create_new(place_in(d.folder()?)), "a file was made")
    };

    "find-landlock-missing" [View Landlock] HARMLESS
    "Starts a child that drops nothing and makes a file outside, in case the rules do not follow it."
    => |d| in_grandchild(d);

    "find-no-filter" [Seccomp] HARMLESS
    "Looks whether there is a filter at all."
    => |_d| Ok(match step(ask!(PRCTL, libc::PR_GET_SECCOMP, 0, 0, 0, 0))?.value {
        0 => through("there is none"),
        mode => refused(format!("there is one, in mode {mode}")),
    });

    "add-filter-that-allows-everything" [Seccomp] HARMLESS
    "Adds a filter that allows every call, and makes a user namespace."
    => |_d| {
        // Without the mark a filter needs a privilege. Should the filter be refused, nothing has been loosened.
        let _ = ask!(PRCTL, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let _ = allow_every_call();
        forbidden()
    };

    "switch-filter-off" [Seccomp] HARMLESS
    "Asks for no filter, and makes a user namespace."
    => |_d| {
        let _ = ask!(PRCTL, libc::PR_SET_SECCOMP, 0, 0, 0, 0);
        forbidden()
    };

    "leave-filter-by-child" [Seccomp] HARMLESS
    "Starts a child that makes a user namespace, in case the filter does not follow it."
    => |_d| {
        let ended = crate::raw::in_child(|| i32::from(ask!(UNSHARE, libc::CLONE_NEWUSER).is_err()))?;
        Ok(match ended.exit_status() {
            Some(0) => through("the call was carried out"),
            Some(_) => refused("it was answered with an error"),
            None => refused("the child was killed"),
        })
    };
}

/// What the filter forbids and the kernel alone would allow.
fn forbidden() -> Tried {
    reached_unless(ask!(UNSHARE, libc::CLONE_NEWUSER), &[libc::ENOSPC])
}

fn grant_everything() -> Result<(), crate::errno::Errno> {
    let _ = ask!(PRCTL, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    let rights = words64(&[EVERY_RIGHT]);
    let rules = ask!(LANDLOCK_CREATE_RULESET, &rights, rights.len(), 0)?.descriptor();
    let root = ask!(OPENAT, libc::AT_FDCWD, c"/", libc::O_PATH | libc::O_CLOEXEC)?.descriptor();
    // The rights, then the descriptor, without padding.
    let mut rule = rights;
    rule.extend(root.to_ne_bytes());
    ask!(LANDLOCK_ADD_RULE, rules, 1, &rule, 0)?;
    ask!(LANDLOCK_RESTRICT_SELF, rules, 0)?;
    Ok(())
}

fn in_grandchild(d: &Decoys) -> Tried {
    let place = place_in(d.folder()?);
    let ended = crate::raw::in_child(|| i32::from(fs::File::create_new(&place).is_err()))?;
    Ok(match ended.exit_status() {
        Some(0) => through("a file was made"),
        _ => refused("no file was made"),
    })
}
