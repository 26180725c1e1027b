//! The layers of a cage, each of which refuses by itself.

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
