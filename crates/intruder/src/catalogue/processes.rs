//! Other processes: tracing them, reading their memory, asking about them.
//!
//! The decoy is left as it is: it is stopped for a moment at most, and what is set is set to what it was.

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::aim::at_process;
use crate::errno::Errno;
use crate::judge::{Tried, done, reached, reached_unless, refused};
use crate::raw::{Answer, Arg, Copy, NOWHERE, ask, copy_memory};

attempts! { Processes:
    // Attached, waited for, let go.
    "trace-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Attaches to a process outside as a debugger."
    => |d| at_process(d, attach);

    // Seizing does not stop it; it is let go when the process of the attempt ends.
    "seize-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Seizes a process outside as a debugger."
    => |d| at_process(d, |pid| done(trace(libc::PTRACE_SEIZE, pid), "it is traced"));

    "trace-parent" [Seccomp] HARMLESS
    "Seizes the process that started it as a debugger."
    => |_d| done(trace(libc::PTRACE_SEIZE, parent()), "it is traced");

    // Process 1 is no decoy outside a cage; there the kernel refuses it to a user without privilege.
    "trace-process-1" [Seccomp Kernel Landlock] DOUBTFUL
    "Seizes process 1 as a debugger."
    => |_d| done(trace(libc::PTRACE_SEIZE, 1), "it is traced");

    "ask-to-be-traced" [Seccomp] HARMLESS
    "Asks its parent to be its debugger."
    => |_d| done(trace(libc::PTRACE_TRACEME, 0), "it is traced");

    // At an address that nothing can be mapped at: EFAULT comes after the permission check.
    "read-memory-of-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Reads the memory of a process outside."
    => |d| at_process(d, |pid| reached_unless(copy_memory(pid, Copy::Read), &[libc::ESRCH]));

    "write-memory-of-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Writes to the memory of a process outside, at an address that it does not have."
    => |d| at_process(d, |pid| reached_unless(copy_memory(pid, Copy::Write), &[libc::ESRCH]));

    "read-memory-of-parent" [Seccomp] HARMLESS
    "Reads the memory of the process that started it, at an address that it does not have."
    => |_d| reached(copy_memory(parent(), Copy::Read));

    // No descriptor: EBADF comes first, so only the filter can refuse.
    "advise-on-memory-of-others" [Seccomp] HARMLESS
    "Asks for the call that gives advice on the memory of other processes."
    => |_d| reached(ask!(PROCESS_MADVISE, -1, NOWHERE, 0, libc::MADV_COLD, 0));

    "release-memory-of-others" [Seccomp] HARMLESS
    "Asks for the call that takes the memory of dying processes."
    => |_d| reached(ask!(PROCESS_MRELEASE, -1, 0));

    // No pages: nothing moves.
    "move-pages-of-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Moves memory of a process outside to another part of the machine."
    => |d| at_process(d, |pid| {
        let moved = ask!(MOVE_PAGES, pid, 0, NOWHERE, NOWHERE, NOWHERE, 0);
        reached_unless(moved, &[libc::ESRCH])
    });

    "migrate-pages-of-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Moves all memory of a process outside to another part of the machine."
    => |d| at_process(d, |pid| {
        let moved = ask!(MIGRATE_PAGES, pid, 0, NOWHERE, NOWHERE);
        reached_unless(moved, &[libc::ESRCH])
    });

    "compare-with-decoy" [Seccomp PidNamespace UserNamespace Landlock] HARMLESS
    "Asks whether it shares its memory with a process outside."
    => |d| at_process(d, |pid| {
        let own = std::process::id();
        const KCMP_VM: i32 = 1;
        reached_unless(ask!(KCMP, own, pid, KCMP_VM, 0, 0), &[libc::ESRCH])
    });

    "handle-of-decoy" [PidNamespace] HARMLESS
    "Opens a handle of a process outside."
    => |d| at_process(d, |pid| done(ask!(PIDFD_OPEN, pid, 0), "it is held"));

    "group-of-decoy" [PidNamespace] HARMLESS
    "Asks for the group of a process outside."
    => |d| at_process(d, |pid| done(ask!(GETPGID, pid), "it was told"));

    "limits-of-decoy" [PidNamespace] HARMLESS
    "Reads the limits of a process outside."
    => |d| at_process(d, |pid| {
        done(ask!(PRLIMIT64, pid, libc::RLIMIT_NOFILE as i32, NOWHERE, Arg::Room), "they were told")
    });

    "priority-of-decoy" [PidNamespace] HARMLESS
    "Sets the priority of a process outside to what it is."
    => |d| at_process(d, |pid| done(same_priority(pid), "it was set"));

    "processors-of-decoy" [PidNamespace] HARMLESS
    "Asks which processors a process outside may use."
    => |d| at_process(d, |pid| {
        done(ask!(SCHED_GETAFFINITY, pid, crate::raw::ROOM, Arg::Room), "they were told")
    });

    "disk-priority-of-decoy" [PidNamespace] HARMLESS
    "Asks for the disk priority of a process outside."
    => |d| at_process(d, |pid| done(ask!(IOPRIO_GET, 1, pid), "it was told"));

    "locks-of-decoy" [PidNamespace UserNamespace Landlock] HARMLESS
    "Asks for the list of locks of a process outside, which tells an address in it."
    => |d| at_process(d, |pid| {
        done(ask!(GET_ROBUST_LIST, pid, Arg::Room, Arg::Room), "it was told")
    });

    "own-signals-to-decoy" [PidNamespace] HARMLESS
    "Names a process outside as the one that is told of events on a socket."
    => |d| at_process(d, |pid| {
        let socket = crate::judge::step(ask!(SOCKET, libc::AF_UNIX, libc::SOCK_DGRAM, 0))?;
        done(ask!(FCNTL, socket.descriptor(), libc::F_SETOWN, pid), "it was named")
    });
}

fn parent() -> i32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get())
}

fn trace(request: impl Into<Arg<'static>>, pid: i32) -> Result<Answer, Errno> {
    ask!(PTRACE, request.into(), pid, 0, 0)
}

fn attach(pid: i32) -> Tried {
    let attached = trace(libc::PTRACE_ATTACH, pid);
    let Some(decoy) = Pid::from_raw(pid) else { return Ok(refused("there is no such number")) };
    if attached.is_ok() {
        // It stops, and only then it can be let go.
        let _ = waitpid(Some(decoy), WaitOptions::empty());
        let _ = trace(libc::PTRACE_DETACH, pid);
    }
    done(attached, "it was traced")
}

/// The kernel tells the priority as 20 minus itself.
fn same_priority(pid: i32) -> Result<Answer, Errno> {
    let now = 20 - ask!(GETPRIORITY, libc::PRIO_PROCESS as i32, pid)?.value;
    ask!(SETPRIORITY, libc::PRIO_PROCESS as i32, pid, now)
}
