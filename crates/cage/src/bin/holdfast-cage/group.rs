//! The cgroup of a cage: made before, removed after.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdfast_cage::plan;
use rustix::fs::OFlags;

use crate::inner::{Failed, Step as _};
use crate::sys::{self, Side};

/// One that is there; it is removed when this is dropped, with whatever still runs in it.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
}

/// How long the kernel may take to let a cgroup go whose processes have ended.
const PATIENCE: Duration = Duration::from_secs(2);

impl Group {
    pub(crate) fn make(wanted: &plan::Group) -> Result<Group, Failed> {
        let path = wanted.path.join(format!("cage-{}", std::process::id()));
        let group = (0..TRIES)
            .find_map(|_| match Group::make_at(&path) {
                // Another launcher may have removed root's own as the last to leave it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => None,
                made => Some(made),
            })
            .unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
            .step(format!("making the cgroup {}", path.display()))?;
        for (file, value) in &wanted.settings {
            let at = group.path.join(file);
            std::fs::write(&at, value).step(format!("setting {} to {value}", at.display()))?;
        }
        Ok(group)
    }

    fn make_at(path: &Path) -> io::Result<Group> {
        if let Some(parent) = path.parent() {
            prepare(parent);
            sweep(parent);
        }
        // One of the same number that a killed launcher left is empty.
        let _ = std::fs::remove_dir(path);
        std::fs::create_dir(path).map(|()| Group { path: path.to_owned() })
    }

    /// Makes a process that is in it from the beginning; not every kernel can, and not everyone may.
    pub(crate) fn fork(&self, namespaces: libc::c_int) -> io::Result<Side> {
        let folder = rustix::fs::open(
            &self.path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        sys::fork_into_group(namespaces, folder.as_fd())
    }

    /// Moves a process into it.
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

    /// What all its processes used, also those nobody waited for.
    pub(crate) fn processor_time(&self) -> Option<(Duration, Duration)> {
        let text = std::fs::read_to_string(self.path.join("cpu.stat")).ok()?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())?;
            Some(Duration::from_micros(value))
        };
        Some((field("user_usec ")?, field("system_usec ")?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        while std::fs::remove_dir(&self.path).is_err() && Instant::now() < until {
            self.kill();
            std::thread::sleep(Duration::from_millis(2));
        }
        // Root's own, when the last one leaves it. One that was handed over has others in it.
        if let Some(parent) = self.path.parent().filter(|parent| parent.ends_with(OWN)) {
            let _ = std::fs::remove_dir(parent);
        }
    }
}

/// How often it is tried to make one while others leave.
const TRIES: usize = 16;
/// The cgroup root's cages are in.
pub(crate) const OWN: &str = "holdfast-cages";

/// Makes root's own, with the controllers it needs.
fn prepare(path: &Path) {
    let (true, Some(above)) = (path.ends_with(OWN), path.parent()) else { return };
    let _ = std::fs::create_dir(path);
    for folder in [above, path] {
        for controller in ["memory", "pids", "cpu"] {
            let _ = std::fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"));
        }
    }
}

/// What launchers left that were killed: empty, and so removable.
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix("cage-")) else { continue };
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
