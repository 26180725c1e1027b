//! Namespaces: making new ones, in which privileges would come back, entering others, and sharing the host's.
//!
//! New namespaces are made for the process of the attempt alone and end with it. To make one of another kind than
//! the user's takes a privilege; together with a new user namespace it takes none.

use std::fs;

use crate::aim::at_process;
use crate::judge::{Tried, c_path, done, reached, reached_unless, refused, step, through};
use crate::raw::{ask, clone_briefly, clone3_briefly};
use crate::{Decoys, Outcome};

/// NS_GET_USERNS.
const GET_OWNER: i32 = 0xb701;
/// NS_GET_PARENT.
const GET_PARENT: i32 = 0xb702;

attempts! { Namespaces:
    "unshare-user" [Seccomp] HARMLESS
    "Makes a user namespace of its own."
    => |_d| unshare(libc::CLONE_NEWUSER);

    "unshare-mounts" [Seccomp Capabilities] HARMLESS
    "Makes a mount namespace of its own."
    => |_d| unshare(libc::CLONE_NEWNS);

    "unshare-processes" [Seccomp Capabilities] HARMLESS
    "Makes a process namespace of its own."
    => |_d| unshare(libc::CLONE_NEWPID);

    "unshare-network" [Seccomp Capabilities] HARMLESS
    "Makes a network namespace of its own."
    => |_d| unshare(libc::CLONE_NEWNET);

    "unshare-shared-memory" [Seccomp Capabilities] HARMLESS
    "Makes a shared-memory namespace of its own."
    => |_d| unshare(libc::CLONE_NEWIPC);

    "unshare-host-name" [Seccomp Capabilities] HARMLESS
    "Makes a host-name namespace of its own."
    => |_d| unshare(libc::CLONE_NEWUTS);

    "unshare-control-groups" [Seccomp Capabilities] HARMLESS
    "Makes a control-group namespace of its own."
    => |_d| unshare(libc::CLONE_NEWCGROUP);

    "unshare-time" [Seccomp Capabilities] HARMLESS
    "Makes a time namespace of its own."
    => |_d| unshare(libc::CLONE_NEWTIME);

    "clone-into-user-namespace" [Seccomp] HARMLESS
    "Starts a child in a user namespace of its own."
    => |_d| clone(0);

    "clone-into-mount-namespace" [Seccomp] HARMLESS
    "Starts a child in user and mount namespaces of its own."
    => |_d| clone(libc::CLONE_NEWNS);

    "clone-into-process-namespace" [Seccomp] HARMLESS
    "Starts a child in user and process namespaces of its own."
    => |_d| clone(libc::CLONE_NEWPID);

    "clone-into-network-namespace" [Seccomp] HARMLESS
    "Starts a child in user and network namespaces of its own."
    => |_d| clone(libc::CLONE_NEWNET);

    "clone-into-shared-memory-namespace" [Seccomp] HARMLESS
    "Starts a child in user and shared-memory namespaces of its own."
    => |_d| clone(libc::CLONE_NEWIPC);

    "clone-into-host-name-namespace" [Seccomp] HARMLESS
    "Starts a child in user and host-name namespaces of its own."
    => |_d| clone(libc::CLONE_NEWUTS);

    "clone-into-control-group-namespace" [Seccomp] HARMLESS
    "Starts a child in user and control-group namespaces of its own."
    => |_d| clone(libc::CLONE_NEWCGROUP);

    // The filter cannot look at the flags of clone3, which lie in memory: it has to say ENOSYS to all of it.
    "clone3-into-user-namespace" [Seccomp] HARMLESS
    "Starts a child in a user namespace of its own by the newer call, whose flags a filter cannot see."
    => |_d| reached_unless(clone3_briefly(libc::CLONE_NEWUSER as u64), &[libc::ENOSPC]);

    "clone3-into-all-namespaces" [Seccomp] HARMLESS
    "Starts a child in namespaces of every kind by the newer call."
    => |_d| {
        let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
        reached_unless(clone3_briefly(kinds as u64), &[libc::ENOSPC])
    };

    "become-root-in-own-user-namespace" [Seccomp Landlock] HARMLESS
    "Makes a user namespace of its own and makes itself root in it."
    => |_d| become_root();

    // One's own cannot be entered again: EINVAL says that the call came through.
    "enter-own-user-namespace-again" [Seccomp] HARMLESS
    "Enters its own user namespace again, which would give all privileges in it."
    => |_d| {
        let own = step(open_namespace("/proc/self/ns/user"))?;
        reached(ask!(SETNS, own, libc::CLONE_NEWUSER))
    };

    // No descriptor: EBADF comes first, so only the filter can refuse.
    "enter-namespaces-at-all" [Seccomp] HARMLESS
    "Asks for the call by which namespaces are entered."
    => |_d| reached(ask!(SETNS, -1, 0));

    "enter-mount-namespace-of-decoy" [View UserNamespace Landlock Seccomp Capabilities] HARMLESS
    "Enters the mount namespace of a process outside."
    => |d| enter(d, "mnt", libc::CLONE_NEWNS);

    "enter-network-namespace-of-decoy" [View UserNamespace Landlock Seccomp Capabilities] HARMLESS
    "Enters the network namespace of a process outside."
    => |d| enter(d, "net", libc::CLONE_NEWNET);

    "enter-process-namespace-of-decoy" [View UserNamespace Landlock Seccomp Capabilities] HARMLESS
    "Enters the process namespace of a process outside."
    => |d| enter(d, "pid", libc::CLONE_NEWPID);

    "enter-user-namespace-of-decoy" [View UserNamespace Landlock Seccomp Capabilities] HARMLESS
    "Enters the user namespace of a process outside."
    => |d| enter(d, "user", libc::CLONE_NEWUSER);

    "enter-namespaces-of-decoy-by-handle" [PidNamespace Seccomp UserNamespace Landlock] HARMLESS
    "Enters the namespaces of a process outside by a handle of it."
    => |d| at_process(d, |pid| {
        let process = step(ask!(PIDFD_OPEN, pid, 0))?;
        done(ask!(SETNS, process.descriptor(), libc::CLONE_NEWNS | libc::CLONE_NEWNET), "they were entered")
    });

    // Process 1 is of the cage's own namespaces inside. Outside its namespaces may be opened by root only.
    "enter-mount-namespace-of-process-1" [Kernel Landlock Seccomp Capabilities] DOUBTFUL
    "Enters the mount namespace of process 1."
    => |_d| {
        let namespace = step(open_namespace("/proc/1/ns/mnt"))?;
        done(ask!(SETNS, namespace, libc::CLONE_NEWNS), "it was entered")
    };

    "parent-of-own-user-namespace" [Seccomp UserNamespace] HARMLESS
    "Asks for the user namespace around its own."
    => |_d| related("/proc/self/ns/user", GET_PARENT);

    "parent-of-own-process-namespace" [Seccomp PidNamespace Kernel] HARMLESS
    "Asks for the process namespace around its own."
    => |_d| related("/proc/self/ns/pid", GET_PARENT);

    "owner-of-own-network-namespace" [Seccomp] HARMLESS
    "Asks for the user namespace that its network namespace belongs to."
    => |_d| related("/proc/self/ns/net", GET_OWNER);

    "share-mount-namespace" [MountNamespace] HARMLESS
    "Looks whether its mount namespace is the host's."
    => |d| shares(d, "mnt");

    "share-user-namespace" [UserNamespace] HARMLESS
    "Looks whether its user namespace is the host's."
    => |d| shares(d, "user");

    "share-process-namespace" [PidNamespace] HARMLESS
    "Looks whether its process namespace is the host's."
    => |d| shares(d, "pid");

    "share-network-namespace" [NetNamespace] HARMLESS
    "Looks whether its network namespace is the host's."
    => |d| shares(d, "net");

    "share-shared-memory-namespace" [IpcNamespace] HARMLESS
    "Looks whether its shared-memory namespace is the host's."
    => |d| shares(d, "ipc");

    "share-host-name-namespace" [UtsNamespace] HARMLESS
    "Looks whether its host-name namespace is the host's."
    => |d| shares(d, "uts");

    "share-control-group-namespace" [CgroupNamespace] HARMLESS
    "Looks whether its control-group namespace is the host's."
    => |d| shares(d, "cgroup");

    "see-host-name" [UtsNamespace] HARMLESS
    "Asks for the name of the host, which must not be the real one."
    => |d| {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(if name == *d.hostname()? { through("it is the host's") } else { refused("it is another") })
    };
}

/// ENOSPC: the limit of namespaces is reached, by which a fence says no.
fn unshare(kind: i32) -> Tried {
    reached_unless(ask!(UNSHARE, kind), &[libc::ENOSPC])
}

fn clone(kind: i32) -> Tried {
    reached_unless(clone_briefly(libc::CLONE_NEWUSER | kind), &[libc::ENOSPC])
}

fn become_root() -> Tried {
    let user = rustix::process::geteuid().as_raw();
    step(ask!(UNSHARE, libc::CLONE_NEWUSER))?;
    step(fs::write("/proc/self/uid_map", format!("0 {user} 1\n")))?;
    Ok(match rustix::process::geteuid().is_root() {
        true => through("it is root there"),
        false => refused("it is not root there"),
    })
}

fn open_namespace(path: &str) -> Result<i32, crate::errno::Errno> {
    let Ok(path) = c_path(path) else { return Err(crate::errno::Errno(libc::ENOENT)) };
    Ok(ask!(OPENAT, libc::AT_FDCWD, &path, libc::O_RDONLY | libc::O_CLOEXEC)?.descriptor())
}

fn enter(d: &Decoys, name: &str, kind: i32) -> Tried {
    at_process(d, |pid| {
        let namespace = step(open_namespace(&format!("/proc/{pid}/ns/{name}")))?;
        // One's own user namespace cannot be entered again; that it is one's own is another attempt's affair.
        reached_unless(ask!(SETNS, namespace, kind), &[libc::EINVAL])
    })
}

/// EPERM: the one around is out of reach, as it is for whoever stands in the topmost.
fn related(path: &str, relation: i32) -> Tried {
    let namespace = step(open_namespace(path))?;
    done(ask!(IOCTL, namespace, relation, 0), "it is held")
}

fn shares(d: &Decoys, kind: &str) -> Tried {
    let outside = d.namespace(kind)?;
    Ok(match fs::read_link(format!("/proc/self/ns/{kind}")) {
        Ok(inside) if inside.as_os_str() == outside.as_str() => through("it is the host's"),
        Ok(_) => refused("it is another"),
        Err(e) => unseen(&e),
    })
}

/// Without /proc nothing is told; then the attempts at the host's things themselves have to show it.
fn unseen(error: &std::io::Error) -> Outcome {
    refused(format!("it is not told: {error}"))
}
