//! The layers of a cage, each of which refuses by itself.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// What the program sees: a path that is not there, or cannot be changed.
    View,
    PidNamespace,
    NetNamespace,
    IpcNamespace,
    UtsNamespace,
    CgroupNamespace,
    /// None of the powers root is made of.
    Capabilities,
    NoNewPrivileges,
    Landlock,
    Seccomp,
    Limits,
}

impl Layer {
    pub const ALL: &[Layer] = &[
        Layer::View,
        Layer::PidNamespace,
        Layer::NetNamespace,
        Layer::IpcNamespace,
        Layer::UtsNamespace,
        Layer::CgroupNamespace,
        Layer::Capabilities,
        Layer::NoNewPrivileges,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Limits,
    ];
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::View => "view of files",
            Layer::PidNamespace => "own processes",
            Layer::NetNamespace => "own network",
            Layer::IpcNamespace => "own shared memory",
            Layer::UtsNamespace => "own host name",
            Layer::CgroupNamespace => "own cgroup",
            Layer::Capabilities => "no capabilities",
            Layer::NoNewPrivileges => "no new privileges",
            Layer::Landlock => "Landlock",
            Layer::Seccomp => "filter of calls",
            Layer::Limits => "limits",
        })
    }
}
