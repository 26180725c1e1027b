//! What a machine can do for a cage, as the launcher found by trying.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Found out once, on the machine, by [`crate::Launcher::host`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Whether namespaces can be made by the one who asked.
    pub namespaces: bool,
    /// If not, why.
    pub namespaces_why: Option<String>,
    /// Which Landlock the kernel has.
    pub landlock: Option<u32>,
    pub seccomp: bool,
    /// Whether refused calls can be told to the launcher.
    pub tells: bool,
    pub cgroup: Option<Cgroup>,
    pub kernel: String,
}

/// A cgroup in which others can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    pub parent: PathBuf,
    pub controllers: Vec<String>,
}
