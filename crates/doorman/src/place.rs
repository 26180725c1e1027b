//! Where everything lies on a target.

use std::path::PathBuf;

/// The folders the doorman works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is kept: read at a boot.
    pub kept: PathBuf,
    /// What is tried: gone at a boot.
    pub trial: PathBuf,
    /// What `systemctl set-property --runtime` leaves.
    pub control: PathBuf,
    pub state: PathBuf,
    /// What is known of a step while it is done: gone at a boot, like what it is about.
    pub passing: PathBuf,
    pub cgroup: PathBuf,
    pub settings: PathBuf,
    pub program: PathBuf,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            kept: "/etc/systemd/system".into(),
            trial: "/run/systemd/system".into(),
            control: "/run/systemd/system.control".into(),
            state: "/var/lib/holdfast-doorman".into(),
            passing: "/run/holdfast-doorman".into(),
            cgroup: "/sys/fs/cgroup".into(),
            settings: "/etc/holdfast-doorman/settings.json".into(),
            program: "/usr/local/lib/holdfast/holdfast-doorman".into(),
        }
    }
}
