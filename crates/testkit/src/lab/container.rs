//! A container with a real systemd, on this machine's kernel: units, users, the journal, what systemd makes of
//! a file. `lab/container.sh` boots it.
//!
//! It has a tree to itself that is gone with it, a network that leads nowhere, and ends with the
//! [`Container`] or with the process that holds it. Taking memory or processor from it is beyond it: a guest
//! can do that.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use tempfile::TempDir;

use super::held::{Held, as_root};
use super::{LabError, bounded};
use crate::guest::path_of;

/// All that a command is given of an environment.
const ENVIRONMENT: [&str; 3] =
    ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME=/root", "LANG=C.UTF-8"];

/// A running container; it is stopped when this is dropped.
#[derive(Debug)]
pub struct Container {
    // In this order: first the container ends, then its folder.
    held: Held,
    folder: TempDir,
}

impl Container {
    /// Boots one of its own. When this returns, all its units have started.
    pub fn start(release: &str) -> Result<Container, LabError> {
        let image = path_of(release).map_err(|e| LabError::new(e.to_string()))?;
        let made = tempfile::Builder::new().prefix("holdfast-container-").tempdir();
        let folder = made.map_err(|e| LabError::new(e.to_string()))?;
        let arguments = [image.to_string_lossy(), folder.path().to_string_lossy()];
        let held = Held::start("container.sh", &[&arguments[0], &arguments[1]], folder.path())?;
        if held.said.parse::<u32>().is_err() {
            return Err(LabError::new(format!("container.sh said {:?}", held.said)));
        }
        Ok(Container { held, folder })
    }

    /// The number of its first process on this machine, to find it in a list of processes.
    pub fn init(&self) -> &str {
        &self.held.said
    }

    /// Runs a command as root with an empty standard input, and waits for it; arguments arrive as they are.
    /// Panics when it takes more than a minute.
    #[track_caller]
    pub fn run(&self, argv: &[&str]) -> Output {
        match self.try_run(argv, None, bounded::WITHIN) {
            Ok(output) => output,
            Err(e) => panic!("{argv:?}: {e}; the console ends with:\n{}", self.console()),
        }
    }

    /// The same as another user, without a session.
    #[track_caller]
    pub fn run_as(&self, user: &str, argv: &[&str]) -> Output {
        self.run(&[&["runuser", "-u", user, "--"], argv].concat())
    }

    /// Copies a file with its permissions, for root; folders on the way are made.
    pub fn put(&self, local: impl AsRef<Path>, remote: &str) -> Result<(), LabError> {
        let run = |argv: &[&str], file| self.try_run(argv, Some(file), bounded::WITHIN);
        bounded::put(local.as_ref(), remote, run).map_err(LabError::new)
    }

    /// What systemd printed when it booted.
    pub fn console(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("console")).unwrap_or_default()
    }

    /// Into its namespaces, as its first process is. Not into its control group: `systemd-run` does that.
    fn try_run(&self, argv: &[&str], stdin: Option<File>, within: Duration) -> io::Result<Output> {
        let mut command = as_root("nsenter");
        command.args([
            "--target",
            self.init(),
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--root",
            "--wd",
        ]);
        command.args(["--", "env", "-i"]).args(ENVIRONMENT).args(argv);
        bounded::run(command, stdin, within)
    }
}
