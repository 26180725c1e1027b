//! Real small and read-only filesystems, so that "disk full" comes from the kernel and not from a mock.
//!
//! A [`SmallDisk`] is a tmpfs on a fresh folder. Mounting takes root, or `sudo` without a password. Where
//! neither is there, [`require`] fails the test unless `HOLDFAST_REQUIRE_DISKS=0` says that this is known.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{getegid, geteuid};
use tempfile::TempDir;

const REQUIRE_ENV: &str = "HOLDFAST_REQUIRE_DISKS";

/// A mounted tmpfs, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

/// Why there is no such disk.
#[derive(Debug)]
pub struct NoDisk {
    reason: String,
}

impl SmallDisk {
    /// A filesystem that holds about `bytes` (the kernel rounds up to whole pages) and belongs to the caller.
    pub fn tmpfs(bytes: u64) -> Result<SmallDisk, NoDisk> {
        let folder = tempfile::Builder::new()
            .prefix("holdfast-disk-")
            .tempdir()
            .map_err(|e| NoDisk { reason: format!("cannot make a mount point: {e}") })?;
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let options = format!("size={bytes},mode=0700,uid={user},gid={group}");
        as_root(&["mount", "-t", "tmpfs", "-o", &options, "holdfast-test"], folder.path())?;
        Ok(SmallDisk { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Every write fails from here on. The kernel refuses this while a file is open for writing.
    pub fn remount_read_only(&self) -> Result<(), NoDisk> {
        as_root(&["mount", "-o", "remount,ro"], self.path())
    }

    pub fn remount_read_write(&self) -> Result<(), NoDisk> {
        as_root(&["mount", "-o", "remount,rw"], self.path())
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::print_stderr, reason = "a mount left behind must be seen, and drop cannot return it")]
    fn drop(&mut self) {
        // Lazily, so that a file a failing test still holds open does not leave the mount behind.
        if let Err(e) = as_root(&["umount", "-l"], self.path()) {
            eprintln!("{e}");
        }
    }
}

/// The disk, or a panic that says why not. Only with `HOLDFAST_REQUIRE_DISKS=0` is a missing disk accepted:
/// one line on stderr, and `None`.
#[track_caller]
pub fn require(disk: Result<SmallDisk, NoDisk>) -> Option<SmallDisk> {
    let waived = std::env::var_os(REQUIRE_ENV).is_some_and(|value| value == "0");
    require_unless(waived, disk)
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn require_unless(waived: bool, disk: Result<SmallDisk, NoDisk>) -> Option<SmallDisk> {
    match disk {
        Ok(disk) => Some(disk),
        Err(e) if waived => {
            eprintln!("not run, {REQUIRE_ENV}=0: {e}");
            None
        }
        Err(e) => panic!("{e}; set {REQUIRE_ENV}=0 to do without the tests that need it"),
    }
}

fn as_root(argv: &[&str], path: &Path) -> Result<(), NoDisk> {
    let sudo: &[&str] = if geteuid().is_root() { &[] } else { &["sudo", "-n"] };
    let argv = [sudo, argv].concat();
    let failed = |why: &dyn fmt::Display| NoDisk {
        reason: format!("`{} {}` failed: {why}", argv.join(" "), path.display()),
    };
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).arg(path).stdin(Stdio::null());
    let output = command.output().map_err(|e| failed(&e))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(&format_args!("{}, {}", output.status, said.trim())))
}

impl fmt::Display for NoDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no test disk: {}", self.reason)
    }
}

impl std::error::Error for NoDisk {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;

    fn kind(result: std::io::Result<()>) -> ErrorKind {
        result.unwrap_err().kind()
    }

    #[test]
    fn a_small_disk_fills_up_and_is_gone_afterwards() {
        let Some(disk) = require(SmallDisk::tmpfs(64 << 10)) else {
            return;
        };
        let folder = disk.path().to_owned();
        fs::write(folder.join("fits"), [1; 1 << 10]).unwrap();
        assert_eq!(kind(fs::write(folder.join("too much"), vec![1; 128 << 10])), ErrorKind::StorageFull);
        assert_eq!(fs::read(folder.join("fits")).unwrap(), [1; 1 << 10]);
        drop(disk);
        assert!(!folder.exists());
    }

    #[test]
    fn a_read_only_disk_refuses_writes_until_remounted() {
        let Some(disk) = require(SmallDisk::tmpfs(64 << 10)) else {
            return;
        };
        let file = disk.path().join("file");
        fs::write(&file, "before").unwrap();
        disk.remount_read_only().unwrap();
        assert_eq!(kind(fs::write(&file, "during")), ErrorKind::ReadOnlyFilesystem);
        assert_eq!(fs::read(&file).unwrap(), b"before");
        disk.remount_read_write().unwrap();
        fs::write(&file, "after").unwrap();
        assert_eq!(kind(fs::write(&file, vec![1; 128 << 10])), ErrorKind::StorageFull);
    }

    #[test]
    fn a_disk_with_a_file_still_open_is_unmounted_all_the_same() {
        let Some(disk) = require(SmallDisk::tmpfs(64 << 10)) else {
            return;
        };
        let folder = disk.path().to_owned();
        let held = fs::File::create(folder.join("held")).unwrap();
        let said = disk.remount_read_only().unwrap_err().to_string();
        assert!(said.contains("remount,ro"), "{said}");
        drop(disk);
        assert!(!folder.exists());
        drop(held);
    }

    #[test]
    fn a_missing_disk_fails_the_test_unless_waived() {
        let no_disk = || Err(NoDisk { reason: "made up".into() });
        assert!(require_unless(true, no_disk()).is_none());
        let panic = std::panic::catch_unwind(|| require_unless(false, no_disk())).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("made up") && said.contains(REQUIRE_ENV), "{said}");
    }
}
