//! Where everything lies on a NixOS host.

use std::path::{Path, PathBuf};

use holdfast_lifeline::TargetName;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub store: PathBuf,
    /// The profile whose newest link a boot goes to.
    pub profile: PathBuf,
    /// The link to what runs.
    pub current: PathBuf,
    /// The clone of the repository the host is built from.
    pub repository: PathBuf,
    /// Which of its configurations is this host.
    pub attribute: TargetName,
    /// The folder in it that is ours, which the host's own configuration imports once.
    pub area: PathBuf,
    /// What is ours to remember.
    pub state: PathBuf,
    /// The program that the lease's timer and the activation's unit run.
    pub program: PathBuf,
}

impl Place {
    /// As an installed host has it.
    pub fn of(attribute: TargetName) -> Place {
        Place {
            store: "/nix/store".into(),
            profile: "/nix/var/nix/profiles/system".into(),
            current: "/run/current-system".into(),
            repository: "/var/lib/holdfast-nixos/configuration".into(),
            area: Path::new("hosts").join(attribute.as_str()).join("holdfast"),
            state: "/var/lib/holdfast-nixos".into(),
            program: "/run/current-system/sw/bin/holdfast-doorman".into(),
            attribute,
        }
    }

    /// Where a repository of ours borrows the clone's objects, while a candidate is made.
    pub(crate) fn borrowed(&self) -> PathBuf {
        self.state.join("borrowed")
    }
}
