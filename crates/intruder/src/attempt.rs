//! What an attempt is, which fences there are, and how an attempt may end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Decoys;

/// One way in which a caged program might reach past a fence.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Its name, in kebab-case, unique in the catalogue.
    pub name: &'static str,
    /// The family it belongs to.
    pub group: Group,
    /// One sentence: what it tries.
    pub what: &'static str,
    /// Every fence that ought to refuse it, in the order in which the kernel asks them: the first one refuses.
    pub layers: &'static [Layer],
    /// Whether it may be let through when those fences are switched off, because it touches a decoy or its own
    /// process and nothing else.
    pub harmless: bool,
    /// Makes the attempt. To be called in a process of its own: see [`crate::try_apart`].
    pub run: fn(&Decoys) -> Outcome,
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $words:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $words,)+
                })
            }
        }
    };
}

words! {
    /// A fence.
    Layer {
        /// The path is not there, or it is mounted read-only or without effect for setuid programs.
        View = "the view of the files",
        /// Users of the outside have no number inside.
        UserNamespace = "the user namespace",
        /// Mounts made inside stay inside, and the outside's cannot be changed.
        MountNamespace = "the mount namespace",
        /// Processes of the outside have no number inside.
        PidNamespace = "the process namespace",
        /// The host's interfaces, loopback and abstract sockets are not there.
        NetNamespace = "the network namespace",
        /// The host's shared memory and message queues are not there.
        IpcNamespace = "the shared-memory namespace",
        /// The host's name is not there.
        UtsNamespace = "the host-name namespace",
        /// The place in the host's tree of control groups is not shown.
        CgroupNamespace = "the control-group namespace",
        /// The privilege was given up.
        Capabilities = "the dropped capabilities",
        /// A program that is started gains nothing.
        NoNewPrivileges = "no new privileges",
        /// The path rules of the kernel.
        Landlock = "Landlock",
        /// The list of system calls.
        Seccomp = "the system-call filter",
        /// Limits of resources.
        Limits = "the resource limits",
        /// Nothing open was handed in.
        Descriptors = "no inherited descriptors",
        /// No variable was handed in.
        Environment = "the cleared environment",
        /// The proxy, which is the only way to the network.
        Proxy = "the proxy",
        /// The kernel refuses it to everybody without privilege.
        Kernel = "the kernel itself",
    }
}

words! {
    /// A family of attempts.
    Group {
        /// Files outside, by path.
        Files = "files outside",
        /// Files that may be read and not be changed.
        ReadOnly = "read-only files",
        /// What is hidden within a granted folder.
        Hidden = "hidden files",
        /// What git, shells and editors run outside later.
        Planted = "code that runs later",
        /// Symbolic links, and the links of `/proc` that lead anywhere.
        Links = "links",
        /// Mounts and roots.
        Mounts = "mounts",
        /// Files under `/proc`.
        Proc = "/proc",
        /// Files under `/sys`, and control groups.
        Sys = "/sys",
        /// Devices.
        Devices = "devices",
        /// Open descriptors of others.
        Descriptors = "descriptors",
        /// Unix sockets.
        Sockets = "local sockets",
        /// Other processes: tracing, reading, changing.
        Processes = "other processes",
        /// Signals to other processes.
        Signals = "signals",
        /// Keyrings of the kernel.
        Keyrings = "keyrings",
        /// Namespaces: making, entering, leaving.
        Namespaces = "namespaces",
        /// Users, groups, capabilities, setuid programs.
        Privileges = "privileges",
        /// System calls that are there for machines and debuggers rather than for programs.
        Interfaces = "kernel interfaces",
        /// Terminals.
        Terminal = "terminals",
        /// Shared memory and message queues.
        SharedMemory = "shared memory",
        /// The clock.
        Time = "time",
        /// Addresses, ports and kinds of socket.
        Network = "the network",
        /// Interfaces, routes and packet filters.
        Netlink = "network configuration",
        /// What the proxy should refuse.
        Proxy = "the proxy",
        /// Limits of resources.
        Limits = "limits",
        /// Taking a fence down from within.
        Fences = "the fences themselves",
        /// Variables and arguments.
        Environment = "environment",
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// A fence held.
    Refused {
        /// The name of the error, or what was seen.
        how: String,
    },
    /// No fence held.
    Through {
        /// What was reached.
        what: String,
    },
    /// The attempt's own preparation failed; nothing is known about the fence.
    CouldNotTry {
        /// Why.
        why: String,
    },
}

/// One line of `holdfast-intruder try`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The attempt's name.
    pub name: String,
    /// Its family.
    pub group: Group,
    /// The fences that ought to refuse it.
    pub layers: Vec<Layer>,
    /// How it ended.
    pub outcome: Outcome,
}
