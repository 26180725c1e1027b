//! The cgroup of a cage: made before, removed after.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdfast_cage::plan;

use crate::inner::{Failed, Step as _};

#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
}

/// How long the kernel may take to let a cgroup go whose processes have ended.
const PATIENCE: Duration = Duration::from_secs(2);

impl Group {
    pub(crate) fn make(wanted: &plan::Group) -> Result<Group, Failed> {
        sweep(&wanted.path);
        let path = wanted.path.join(format!("cage-{}", std::process::id()));
        std::fs::create_dir(&path).step(format!("making the cgroup {}", path.display()))?;
        let group = Group { path };
        for (file, value) in &wanted.settings {
            let at = group.path.join(file);
            if let Err(e) = std::fs::write(&at, value) {
                group.remove();
                return Err(e).step(format!("setting {} to {value}", at.display()));
            }
        }
        Ok(group)
    }

    pub(crate) fn take_in(&self, pid: i32) -> Result<(), Failed> {
        std::fs::write(self.path.join("cgroup.procs"), pid.to_string())
            .step("taking the program into its cgroup")
    }

    pub(crate) fn kill(&self) {
        let _ = std::fs::write(self.path.join("cgroup.kill"), "1");
    }

    pub(crate) fn memory_peak(&self) -> Option<u64> {
        std::fs::read_to_string(self.path.join("memory.peak")).ok()?.trim().parse().ok()
    }

    /// Whether the kernel ended something in it for want of memory.
    pub(crate) fn was_starved(&self) -> bool {
        let events = std::fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        events.lines().any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count != "0"))
    }

    pub(crate) fn remove(self) {
        let until = Instant::now() + PATIENCE;
        while std::fs::remove_dir(&self.path).is_err() && Instant::now() < until {
            self.kill();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What launchers left that were killed: empty, and so removable.
fn sweep(parent: &PathBuf) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix("cage-")) else { continue };
        if !std::path::Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
