//! System calls that are there for machines and debuggers rather than for programs.
//!
//! Those that concern the whole machine get arguments that the kernel turns down after it has asked for the
//! privilege: a permission error is then a refusal, and any other says that the fences let the call through. Where
//! the kernel looks at the arguments first, only the filter can refuse, and only the filter is listed.

use crate::judge::{Tried, done, reached, reached_unless, refused, through};
use crate::raw::{Arg, NOWHERE, ROOM, ask, getpid_by_old_entry, in_child, words64};

attempts! { Interfaces:
    "io-uring-setup" [Seccomp] HARMLESS
    "Makes a ring for asynchronous calls, which a filter does not see."
    => |_d| {
        reached(ask!(IO_URING_SETUP, 1, Arg::Room))
    };

    // No ring: EBADF.
    "io-uring-enter" [Seccomp] HARMLESS
    "Enters a ring for asynchronous calls."
    => |_d| reached(ask!(IO_URING_ENTER, -1, 0, 0, 0, NOWHERE, 0));

    "io-uring-register" [Seccomp] HARMLESS
    "Registers something with a ring for asynchronous calls."
    => |_d| reached(ask!(IO_URING_REGISTER, -1, 0, NOWHERE, 0));

    // An empty program: EINVAL.
    "bpf-load-program" [Seccomp Kernel] HARMLESS
    "Loads a program into the kernel."
    => |_d| bpf(5, &[0; 16]);

    // An array of one word; it is gone when the process ends.
    "bpf-create-map" [Seccomp Kernel] HARMLESS
    "Makes a table in the kernel."
    => |_d| bpf(0, &[2 | 4 << 32, 4 | 1 << 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    // By no path: EFAULT.
    "bpf-open-pinned" [Seccomp] HARMLESS
    "Opens a program that was left in the kernel."
    => |_d| bpf(7, &[0; 16]);

    "bpf-list-programs" [Seccomp Capabilities UserNamespace] HARMLESS
    "Lists the programs in the kernel."
    => |_d| reached_unless(ask_bpf(11, &[0; 16]), &[libc::ENOENT]);

    // The processor's time spent in this process, its own code only: the most modest there is.
    "perf-event-open" [Seccomp Kernel] HARMLESS
    "Opens a performance counter."
    => |_d| {
        let (software, size, user_code_only) = (1, 64, 1 << 5 | 1 << 6);
        let event = words64(&[software | size << 32, 0, 0, 0, 0, user_code_only, 0, 0]);
        reached_unless(ask!(PERF_EVENT_OPEN, &event, 0, -1, -1, 0), &[libc::ENOENT])
    };

    "userfaultfd" [Seccomp Kernel] HARMLESS
    "Handles page faults of its own in a program, by which races in the kernel are won."
    => |_d| reached(ask!(USERFAULTFD, libc::O_CLOEXEC));

    "userfaultfd-user-mode-only" [Seccomp] HARMLESS
    "Handles page faults of its own code only."
    => |_d| reached(ask!(USERFAULTFD, libc::O_CLOEXEC | 1));

    // Impossible flags.
    "kexec-load" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Loads another kernel."
    => |_d| reached(ask!(KEXEC_LOAD, 0, 0x7fff_ffff, NOWHERE, 0xff));

    "kexec-file-load" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Loads another kernel from a file."
    => |_d| reached(ask!(KEXEC_FILE_LOAD, -1, -1, 0, NOWHERE, 0xffff));

    // Of no bytes: ENOEXEC.
    "init-module" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Loads a kernel module from memory."
    => |_d| reached(ask!(INIT_MODULE, NOWHERE, 0, c""));

    // Of no file: EBADF.
    "finit-module" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Loads a kernel module from a file."
    => |_d| reached(ask!(FINIT_MODULE, -1, c"", 0));

    // Of no name: ENOENT.
    "delete-module" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Unloads a kernel module."
    => |_d| reached(ask!(DELETE_MODULE, c"", libc::O_NONBLOCK));

    // Without the two magic numbers: EINVAL, after the privilege.
    "reboot" [Seccomp Capabilities] DOUBTFUL
    "Restarts the machine."
    => |_d| reached(ask!(REBOOT, 0, 0, 0, NOWHERE));

    // Longer than a name can be: EINVAL, after the privilege.
    "set-host-name" [Seccomp Capabilities] DOUBTFUL
    "Gives the host another name."
    => |_d| reached(ask!(SETHOSTNAME, c"", 1000));

    "set-domain-name" [Seccomp Capabilities] DOUBTFUL
    "Gives the host's domain another name."
    => |_d| reached(ask!(SETDOMAINNAME, c"", 1000));

    "read-kernel-log" [Seccomp Kernel] HARMLESS
    "Reads the messages of the kernel."
    => |_d| {
        reached(ask!(SYSLOG, 3, Arg::Room, ROOM))
    };

    "kernel-log-size" [Seccomp Kernel] HARMLESS
    "Asks for the size of the kernel's log."
    => |_d| reached(ask!(SYSLOG, 10, NOWHERE, 0));

    // To a file that is not there: ENOENT, after the privilege. (No file at all would switch accounting off.)
    "accounting" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Has every process of the machine written to a file."
    => |_d| reached(ask!(ACCT, c"/intruder-no-such-file"));

    // On a device that is not there. The kernel looks for it first, so only the filter can refuse.
    "quota" [Seccomp] DOUBTFUL
    "Switches the quotas of a disk on."
    => |_d| {
        const QUOTA_ON: i32 = 0x0080_0002 << 8;
        reached(ask!(QUOTACTL, QUOTA_ON, c"/intruder-no-such-device", 0, NOWHERE))
    };

    // Taken and not used.
    "io-privilege-level" [Seccomp Capabilities UserNamespace] HARMLESS
    "Asks to speak to the hardware directly."
    => |_d| reached(ask!(IOPL, 3));

    "io-ports" [Seccomp Capabilities UserNamespace] HARMLESS
    "Asks for a port of the hardware."
    => |_d| reached(ask!(IOPERM, 0, 1, 1));

    // Read, not written.
    "local-descriptor-table" [Seccomp] HARMLESS
    "Reads its table of memory segments, whose handling has had many faults."
    => |_d| {
        reached(ask!(MODIFY_LDT, 0, Arg::Room, 16))
    };

    "call-by-x32-entry" [Seccomp Kernel] HARMLESS
    "Makes a harmless call by the table for 32-bit pointers, whose numbers a filter may not know."
    => |_d| done(ask!(X32_GETPID), "it was carried out");

    // In a child: where the kernel has no such entry, the child is killed.
    "call-by-32-bit-entry" [Seccomp Kernel] HARMLESS
    "Makes a harmless call by the 32-bit entry, whose numbers mean other calls."
    => |_d| by_old_entry();

    // Only the process of the attempt would lose its terminal.
    "hang-up-terminal" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Hangs up its terminal."
    => |_d| reached(ask!(VHANGUP));

    "lookup-cookie" [Seccomp Kernel] HARMLESS
    "Looks up a path by a profiler's number."
    => |_d| {
        reached(ask!(LOOKUP_DCOOKIE, 0, Arg::Room, ROOM))
    };

    "watch-whole-file-system" [Seccomp Capabilities UserNamespace] HARMLESS
    "Asks to decide on every opening of a file of the machine."
    => |_d| reached(ask!(FANOTIFY_INIT, libc::FAN_CLASS_CONTENT, libc::O_RDONLY));

    "watch-files-by-handle" [Seccomp] HARMLESS
    "Asks to be told of changes by handles instead of by paths."
    => |_d| reached(ask!(FANOTIFY_INIT, libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_FID, libc::O_RDONLY));

    "secret-memory" [Seccomp] HARMLESS
    "Makes memory that nobody else can look at, not even whoever watches over it."
    => |_d| reached(ask!(MEMFD_SECRET, 0));

    // Only the process of the attempt changes.
    "personality-without-random-addresses" [Seccomp] HARMLESS
    "Switches off random addresses for programs that it starts."
    => |_d| reached(ask!(PERSONALITY, libc::ADDR_NO_RANDOMIZE));

    "personality-with-executable-data" [Seccomp] HARMLESS
    "Makes all readable memory executable for programs that it starts."
    => |_d| reached(ask!(PERSONALITY, libc::READ_IMPLIES_EXEC));
}

fn ask_bpf(command: i32, attributes: &[u64; 16]) -> Result<crate::raw::Answer, crate::errno::Errno> {
    let attributes = words64(attributes);
    ask!(BPF, command, &attributes, attributes.len())
}

fn bpf(command: i32, attributes: &[u64; 16]) -> Tried {
    reached(ask_bpf(command, attributes))
}

fn by_old_entry() -> Tried {
    // A number that is its own says that the call was made.
    let ended = in_child(|| i32::from(getpid_by_old_entry() != i64::from(std::process::id())))?;
    Ok(match (ended.exit_status(), ended.terminating_signal()) {
        (Some(0), _) => through("it was carried out"),
        (Some(_), _) => refused("it was answered with an error"),
        (None, Some(libc::SIGSYS)) => refused("killed by the system-call filter"),
        _ => refused("there is no such entry"),
    })
}
