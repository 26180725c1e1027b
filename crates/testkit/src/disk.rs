//! Real small and read-only filesystems, so that "disk full" comes from the kernel and not from a mock.
//!
//! A [`SmallDisk`] is a tmpfs on a fresh folder, or an ext4 in a file. The ext4 can become read-only while a program writes to it, as a disk
//! with errors does, or hangs. Mounting takes root, or `sudo` without a password; an ext4 also takes a loop device and e2fsprogs. Where
//! any of it is missing, [`require`] fails the test unless `HOLDFAST_REQUIRE_DISKS=0` says that this is known.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{getegid, geteuid};
use tempfile::{NamedTempFile, TempDir};

const REQUIRE_ENV: &str = "HOLDFAST_REQUIRE_DISKS";

/// How e2fsck ends when it has corrected something.
const ERRORS_CORRECTED: i32 = 1;

/// A mounted filesystem, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
    /// The file that holds an ext4.
    image: Option<NamedTempFile>,
}

/// Why there is no such disk.
#[derive(Debug)]
pub struct NoDisk {
    reason: String,
}

impl SmallDisk {
    /// A filesystem that holds about `bytes` (the kernel rounds up to whole pages) and belongs to the caller.
    pub fn tmpfs(bytes: u64) -> Result<SmallDisk, NoDisk> {
        SmallDisk::tmpfs_with(&format!("size={bytes}"))
    }

    /// The same with so many files and folders at most.
    pub fn tmpfs_with_inodes(bytes: u64, inodes: u64) -> Result<SmallDisk, NoDisk> {
        SmallDisk::tmpfs_with(&format!("size={bytes},nr_inodes={inodes}"))
    }

    fn tmpfs_with(bounds: &str) -> Result<SmallDisk, NoDisk> {
        let folder = mount_point()?;
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let options = format!("{bounds},mode=0700,uid={user},gid={group}");
        as_root(&["mount", "-t", "tmpfs", "-o", &options, "holdfast-test"], folder.path())?;
        Ok(SmallDisk { folder, image: None })
    }

    /// An ext4 of so many bytes in a file, for [`SmallDisk::fail`]. It belongs to the caller.
    pub fn ext4(bytes: u64) -> Result<SmallDisk, NoDisk> {
        let missing = |e: std::io::Error| NoDisk { reason: format!("cannot make an image: {e}") };
        let image = NamedTempFile::new().map_err(missing)?;
        image.as_file().set_len(bytes).map_err(missing)?;
        let owner = format!("root_owner={}:{}", geteuid().as_raw(), getegid().as_raw());
        as_root(&["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", &owner], image.path())?;
        let folder = mount_point()?;
        mount_image(&image, folder.path())?;
        Ok(SmallDisk { folder, image: Some(image) })
    }

    /// The disk has an error: the kernel refuses every write from here on, also by a program that has a file open for writing. Only an ext4 can.
    pub fn fail(&self) -> Result<(), NoDisk> {
        as_root(&["mount", "-o", "remount,abort"], self.path())
    }

    /// The disk hangs: whoever writes to it waits until [`SmallDisk::thaw`]. Only an ext4 can.
    pub fn freeze(&self) -> Result<(), NoDisk> {
        as_root(&["fsfreeze", "--freeze"], self.path())
    }

    pub fn thaw(&self) -> Result<(), NoDisk> {
        as_root(&["fsfreeze", "--unfreeze"], self.path())
    }

    /// Repairs an ext4 as an operator does, when nobody has a file of it open any more. A tmpfs needs none.
    pub fn mend(&self) -> Result<(), NoDisk> {
        let Some(image) = &self.image else { return Ok(()) };
        as_root(&["umount"], self.path())?;
        as_root_ending(&[0, ERRORS_CORRECTED], &["e2fsck", "-f", "-y"], image.path())?;
        mount_image(image, self.path())
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
        // One that still hangs would hold up whoever wrote to it, for ever. Any other refuses, and that is fine.
        if self.image.is_some() {
            let _refused = self.thaw();
        }
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

fn mount_point() -> Result<TempDir, NoDisk> {
    let made = tempfile::Builder::new().prefix("holdfast-disk-").tempdir();
    made.map_err(|e| NoDisk { reason: format!("cannot make a mount point: {e}") })
}

fn mount_image(image: &NamedTempFile, at: &Path) -> Result<(), NoDisk> {
    let image = image.path().display().to_string();
    as_root(&["mount", "-t", "ext4", "-o", "loop,errors=remount-ro", &image], at)
}

fn as_root(argv: &[&str], path: &Path) -> Result<(), NoDisk> {
    as_root_ending(&[0], argv, path)
}

/// The same for a program that may end well in several ways.
fn as_root_ending(well: &[i32], argv: &[&str], path: &Path) -> Result<(), NoDisk> {
    let sudo: &[&str] = if geteuid().is_root() { &[] } else { &["sudo", "-n"] };
    let argv = [sudo, argv].concat();
    let failed = |why: &dyn fmt::Display| NoDisk {
        reason: format!("`{} {}` failed: {why}", argv.join(" "), path.display()),
    };
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).arg(path).stdin(Stdio::null());
    // mke2fs and e2fsck lie where not everybody looks for programs.
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    let output = command.output().map_err(|e| failed(&e))?;
    if output.status.code().is_some_and(|code| well.contains(&code)) {
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
    use std::io::{ErrorKind, Write as _};

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
    fn a_disk_that_fails_refuses_writes_to_open_files_until_it_is_mended() {
        let Some(disk) = require(SmallDisk::ext4(16 << 20)) else {
            return;
        };
        let file = disk.path().join("file");
        let mut open = fs::File::create(&file).unwrap();
        open.write_all(b"before").unwrap();
        open.sync_all().unwrap();
        disk.fail().unwrap();
        assert_eq!(kind(open.write_all(b"during")), ErrorKind::ReadOnlyFilesystem);
        drop(open);
        disk.mend().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"before");
        fs::write(&file, "after").unwrap();
    }

    #[test]
    fn a_disk_that_hangs_keeps_a_writer_waiting_until_it_goes_on() {
        let Some(disk) = require(SmallDisk::ext4(16 << 20)) else {
            return;
        };
        let (file, (told, done)) = (disk.path().join("file"), std::sync::mpsc::channel());
        disk.freeze().unwrap();
        let writer = std::thread::spawn(move || told.send(fs::write(file, "late")));
        assert!(done.recv_timeout(std::time::Duration::from_millis(200)).is_err());
        disk.thaw().unwrap();
        done.recv_timeout(std::time::Duration::from_secs(20)).unwrap().unwrap();
        writer.join().unwrap().unwrap();
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
