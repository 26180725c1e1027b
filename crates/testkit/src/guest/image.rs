//! What `lab/guest.sh build` has left, and a folder in which one guest can be resumed from it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::GuestError;

/// A guest takes half a gigabyte and a core.
const GUESTS_MAX: u32 = 2;
/// Tests wait for each other, and a guest lives ten minutes at most.
const SLOT_WITHIN: Duration = Duration::from_secs(600);
/// Two locks cannot be waited for at once, so they are tried in turn.
const SLOT_AGAIN_AFTER: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Image {
    path: PathBuf,
    pub(super) accelerator: String,
    /// The arguments of QEMU it was made with.
    pub(super) machine: Vec<String>,
}

/// The right to run a guest, and a folder for it. Given back when dropped or when the process ends.
#[derive(Debug)]
pub(super) struct Slot {
    folder: PathBuf,
    _lock: File,
}

impl Image {
    pub(super) fn find(release: &str) -> Result<Image, GuestError> {
        let path = path_of(release)?;
        let read = |name: &str| fs::read_to_string(path.join(name)).map_err(|e| damaged(&path, &e));
        let accelerator = read("accelerator")?.trim().to_owned();
        let machine = read("machine")?.lines().map(str::to_owned).collect();
        Ok(Image { path, accelerator, machine })
    }

    /// Waits until there is one. Beside the image rather than in it, so that guests of two versions of it
    /// count together.
    pub(super) fn take_slot(&self) -> Result<Slot, GuestError> {
        let until = Instant::now() + SLOT_WITHIN;
        while Instant::now() < until {
            for number in 0..GUESTS_MAX {
                let path = self.path.with_file_name(format!("slot-{number}"));
                if let Some(slot) = try_slot(&path).map_err(|e| damaged(&path, &e))? {
                    return Ok(slot);
                }
            }
            sleep(SLOT_AGAIN_AFTER);
        }
        Err(GuestError::new(format!("{GUESTS_MAX} others ran all the time for {SLOT_WITHIN:?}")))
    }

    /// A folder with links to what is only read, and a key of our own. QEMU and ssh run in it, so they are
    /// given names without a folder: neither would take every path as it is.
    pub(super) fn lay_out(&self, slot: &Slot) -> Result<TempDir, GuestError> {
        let failed = |e: io::Error| GuestError::new(format!("cannot lay out a guest: {e}"));
        let made = tempfile::Builder::new().prefix("holdfast-guest-").tempdir_in(&slot.folder);
        let folder = made.map_err(failed)?;
        self.fill(folder.path()).map_err(failed)?;
        Ok(folder)
    }

    fn fill(&self, folder: &Path) -> io::Result<()> {
        for name in ["disk.raw", "state", "vmlinuz", "initrd", "known_hosts"] {
            symlink(self.path.join(name), folder.join(name))?;
        }
        // ssh wants a key that nobody else may read; copying keeps that.
        fs::copy(self.path.join("key"), folder.join("key"))?;
        Ok(())
    }
}

/// The script knows what the name of the image is made from; it is the only one.
pub(crate) fn path_of(release: &str) -> Result<PathBuf, GuestError> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/guest.sh");
    let asked = Command::new(&script).args(["path", release]).stdin(Stdio::null()).output();
    let output = asked.map_err(|e| GuestError::new(format!("{}: {e}", script.display())))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout).into());
    }
    Err(GuestError::new(text(&output.stderr).trim_start_matches("lab: ")))
}

/// Who has the lock has the folder to themselves. What lies in it was left by a process that was killed.
fn try_slot(folder: &Path) -> io::Result<Option<Slot>> {
    let lock =
        File::options().create(true).write(true).truncate(false).open(folder.with_extension("lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(e),
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir(folder)?;
    Ok(Some(Slot { folder: folder.to_owned(), _lock: lock }))
}

fn damaged(path: &Path, e: &io::Error) -> GuestError {
    GuestError::new(format!("{}: {e}. Remove that folder and run `make lab`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_had_once_and_had_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot-0");
        let first = try_slot(&path).unwrap().unwrap();
        fs::write(first.folder.join("left"), "by a process that was killed").unwrap();
        assert!(try_slot(&path).unwrap().is_none());
        drop(first);
        let second = try_slot(&path).unwrap().unwrap();
        assert_eq!(fs::read_dir(&second.folder).unwrap().count(), 0);
    }
}
