//! Users, groups, capabilities and programs that would bring more of them.
//!
//! Only the process of the attempt is changed. A user or group that has no number inside is answered with EINVAL,
//! which is the user namespace saying no.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::judge::{Tried, could_not, done, prepare, reached, reached_unless, refused, step, through};
use crate::marks::own_folder;
use crate::raw::{ask, words32};
use crate::who::{CAPABILITY_HEADER, Who};

/// CAP_NET_ADMIN.
const SOME_CAPABILITY: i32 = 12;

attempts! { Privileges:
    "set-user-to-root" [UserNamespace Capabilities] HARMLESS
    "Makes itself root."
    => |_d| reached_unless(ask!(SETUID, 0), &[libc::EINVAL]);

    "set-all-users-to-root" [UserNamespace Capabilities] HARMLESS
    "Makes itself root by real, effective and saved user."
    => |_d| reached_unless(ask!(SETRESUID, 0, 0, 0), &[libc::EINVAL]);

    "set-group-to-root" [UserNamespace Capabilities] HARMLESS
    "Puts itself in root's group."
    => |_d| reached_unless(ask!(SETGID, 0), &[libc::EINVAL]);

    "set-all-groups-to-root" [UserNamespace Capabilities] HARMLESS
    "Puts itself in root's group by real, effective and saved group."
    => |_d| reached_unless(ask!(SETRESGID, 0, 0, 0), &[libc::EINVAL]);

    // The call says nothing about success: it is asked twice, and the second time tells what the first did.
    "set-file-user-to-root" [UserNamespace Capabilities] HARMLESS
    "Makes itself root for files only."
    => |_d| {
        step(ask!(SETFSUID, 0))?;
        let now = step(ask!(SETFSUID, -1))?.value;
        Ok(if now == 0 { through("it is root for files") } else { refused(format!("it stays user {now}")) })
    };

    "add-groups" [Capabilities UserNamespace] HARMLESS
    "Gives itself further groups."
    => |_d| reached(ask!(SETGROUPS, 1, &words32(&[0])));

    "drop-groups" [Capabilities UserNamespace] HARMLESS
    "Rids itself of its groups, which may be what keeps it from a file."
    => |_d| reached(ask!(SETGROUPS, 0, 0));

    "hold-capability" [Capabilities] HARMLESS
    "Looks whether any capability is in effect."
    => |_d| match Who::this() {
        Some(Who { capabilities: 0, .. }) => Ok(refused("none is in effect")),
        Some(who) => Ok(through(format!("in effect: {:x}", who.capabilities))),
        None => Err(could_not("the kernel does not tell")),
    };

    "take-capabilities" [Capabilities] HARMLESS
    "Takes every capability."
    => |_d| {
        let all = [u32::MAX, u32::MAX, 0, 0x1ff, 0x1ff, 0];
        reached(ask!(CAPSET, &words32(&CAPABILITY_HEADER), &words32(&all)))
    };

    "raise-ambient-capability" [Capabilities] HARMLESS
    "Keeps a capability for programs that it starts."
    => |_d| {
        let raise = libc::PR_CAP_AMBIENT_RAISE;
        reached(ask!(PRCTL, libc::PR_CAP_AMBIENT, raise, SOME_CAPABILITY, 0, 0))
    };

    // What is bounded away cannot come back by any program.
    "find-capability-in-bounds" [Capabilities] HARMLESS
    "Looks whether any capability could still be gained by starting a program."
    => |_d| {
        let left = (0..64).filter(|nth| ask!(PRCTL, libc::PR_CAPBSET_READ, *nth, 0, 0, 0).is_ok_and(|a| a.value == 1));
        match left.count() {
            0 => Ok(refused("none could be gained")),
            count => Ok(through(format!("{count} could be gained"))),
        }
    };

    // To what it is already; without the privilege even that is refused.
    "set-secure-bits" [Capabilities] HARMLESS
    "Sets how root is treated by the kernel to what it is."
    => |_d| {
        let now = step(ask!(PRCTL, libc::PR_GET_SECUREBITS, 0, 0, 0, 0))?.value;
        reached(ask!(PRCTL, libc::PR_SET_SECUREBITS, now, 0, 0, 0))
    };

    // At an address that is none: EINVAL comes after the privilege.
    "rewrite-own-memory-map" [Capabilities UserNamespace] HARMLESS
    "Tells the kernel another address for its own code."
    => |_d| reached(ask!(PRCTL, libc::PR_SET_MM, libc::PR_SET_MM_START_CODE, 1, 0, 0));

    // The kernel never takes the mark off again (EINVAL). So it is looked whether it is there. Neither Landlock nor the
    // filter can be put on without it, so that each of them brings it.
    "allow-new-privileges-again" [NoNewPrivileges Landlock Seccomp] HARMLESS
    "Takes off the mark by which programs that it starts gain nothing."
    => |_d| {
        let off = ask!(PRCTL, libc::PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
        let mark = step(ask!(PRCTL, libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))?.value;
        Ok(match (mark, off) {
            (0, _) => through("the mark is not there"),
            (_, Err(e)) => refused(e.to_string()),
            (_, Ok(_)) => refused("the mark stays"),
        })
    };

    "run-setuid-program" [View NoNewPrivileges UserNamespace] HARMLESS
    "Starts a program that belongs to root and is marked to run as its owner."
    => |d| gains(d.setuid_program()?);

    "run-setuid-program-by-link" [View NoNewPrivileges UserNamespace] HARMLESS
    "Starts a program that is marked to run as root through a link in the work folder."
    => |d| {
        let link = own_folder(d)?.join("link");
        prepare(symlink(d.setuid_program()?, &link), "making a link")?;
        gains(&link)
    };

    // Where nothing else refuses, the kernel does not start a program that could have what is bounded away; and whoever
    // has every capability already gains none.
    "run-capable-program" [View NoNewPrivileges Capabilities Kernel] HARMLESS
    "Starts a program that is marked to run with a capability."
    => |d| gains(d.capable_program()?);

    // In a child that raises what it may and falls over. The file, if any, lies in the attempt's own folder.
    "dump-core" [Limits] DOUBTFUL
    "Falls over and leaves an image of its memory."
    => |d| dump_core(d);

    "dump-for-root-only" [Kernel] HARMLESS
    "Asks that its memory image be written for root only, which is refused to everyone."
    => |_d| done(ask!(PRCTL, libc::PR_SET_DUMPABLE, 2, 0, 0, 0), "it was set");
}

/// Starts `program`, which is a copy of this one, and asks it who it is.
fn gains(program: &Path) -> Tried {
    // Pipes all around: there may be no null device.
    let started = Command::new(program)
        .arg("who")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    let output = match started {
        Ok(output) => output,
        Err(e) => return Ok(refused(crate::errno::Errno::from(e).to_string())),
    };
    let Ok(who) = serde_json::from_slice::<Who>(&output.stdout) else {
        return Err(could_not("the program is not a copy of this one"));
    };
    let own = Who::this().ok_or_else(|| could_not("the kernel does not tell the capabilities"))?;
    Ok(match who.capabilities & !own.capabilities {
        0 if who.user == own.user => refused("it ran and gained nothing"),
        gained => through(format!("it ran as user {} and gained the capabilities {gained:x}", who.user)),
    })
}

fn dump_core(d: &crate::Decoys) -> Tried {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let folder = own_folder(d)?;
    let ended = crate::raw::in_child(|| {
        let maximum = getrlimit(Resource::Core).maximum;
        let _ = setrlimit(Resource::Core, Rlimit { current: maximum, maximum });
        let _ = std::env::set_current_dir(&folder);
        let _ = ask!(KILL, std::process::id(), libc::SIGABRT);
        0
    })?;
    // The bit of the status that says that an image was written.
    Ok(match ended.as_raw() & 0x80 != 0 {
        true => through("an image was written"),
        false => refused("no image was written"),
    })
}
