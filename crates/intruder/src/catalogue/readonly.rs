//! Changing what was granted for reading only.
//!
//! Every change is one that leaves the decoy as it was, or is taken back. The decoy belongs to the user the cage
//! runs as, so nothing but the cage refuses.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use crate::Decoys;
use crate::files::open_to_write;
use crate::judge::{Tried, c_path, done, prepare};
use crate::marks::{own_folder, place_in};
use crate::raw::{NOWHERE, ask};

attempts! { ReadOnly:
    "write-read-only-file" [View Landlock] HARMLESS
    "Opens a read-only file for writing."
    => |d| open_to_write(d.readonly_file()?);

    "append-to-read-only-file" [View Landlock] HARMLESS
    "Opens a read-only file for appending."
    => |d| done(OpenOptions::new().append(true).open(d.readonly_file()?), "it can be appended to");

    "truncate-read-only-file" [View Landlock] HARMLESS
    "Sets the length of a read-only file to what it is."
    => |d| {
        let file = d.readonly_file()?;
        let length = prepare(fs::metadata(file), "looking at the read-only file")?.len();
        done(ask!(TRUNCATE, &c_path(file)?, length), "its length was set")
    };

    "create-in-read-only-folder" [View Landlock] HARMLESS
    "Makes a file in a read-only folder."
    => |d| done(File::create_new(place_in(d.readonly()?)), "a file was made");

    "make-folder-in-read-only-folder" [View Landlock] HARMLESS
    "Makes a folder in a read-only folder."
    => |d| done(fs::create_dir(place_in(d.readonly()?)), "a folder was made");

    "make-link-in-read-only-folder" [View Landlock] HARMLESS
    "Makes a symbolic link in a read-only folder."
    => |d| done(symlink("nowhere", place_in(d.readonly()?)), "a link was made");

    "make-pipe-in-read-only-folder" [View Landlock] HARMLESS
    "Makes a named pipe in a read-only folder."
    => |d| {
        let path = c_path(place_in(d.readonly()?))?;
        done(ask!(MKNODAT, libc::AT_FDCWD, &path, libc::S_IFIFO | 0o600, 0), "a pipe was made")
    };

    "hard-link-read-only-file-beside" [View Landlock] HARMLESS
    "Gives a read-only file a second name in its folder."
    => |d| done(fs::hard_link(d.readonly_file()?, place_in(d.readonly()?)), "it has a second name");

    // Two mounts of the view: the kernel answers EXDEV before anything else.
    "hard-link-read-only-file-into-work" [View Landlock] HARMLESS
    "Gives a read-only file a name in the work folder, where it could be written."
    => |d| done(fs::hard_link(d.readonly_file()?, place_in(d.work()?)), "it has a name in the work folder");

    // There and back.
    "rename-read-only-file" [View Landlock] HARMLESS
    "Gives a read-only file another name."
    => |d| rename_there_and_back(d);

    // The mode that the decoy has by agreement.
    "change-mode-of-read-only-file" [View] HARMLESS
    "Sets the mode of a read-only file to what it is."
    => |d| done(ask!(FCHMODAT, libc::AT_FDCWD, &c_path(d.readonly_file()?)?, 0o644), "its mode was set");

    "change-mode-by-descriptor" [View] HARMLESS
    "Sets the mode of a read-only file to what it is, by a descriptor that may only read."
    => |d| {
        let file = prepare(File::open(d.readonly_file()?), "opening the read-only file")?;
        done(ask!(FCHMOD, file.as_raw_fd(), 0o644), "its mode was set")
    };

    // To nobody in particular: -1 leaves owner and group as they are, and only the time of change moves.
    "change-owner-of-read-only-file" [View] HARMLESS
    "Sets the owner of a read-only file to what it is."
    => |d| done(ask!(FCHOWNAT, libc::AT_FDCWD, &c_path(d.readonly_file()?)?, -1, -1, 0), "its owner was set");

    // The attribute is removed with the decoy. A file system without attributes says so only after the view has
    // been asked.
    "set-attribute-of-read-only-file" [View] HARMLESS
    "Puts an extended attribute on a read-only file."
    => |d| done(ask!(SETXATTR, &c_path(d.readonly_file()?)?, c"user.intruder", c"x", 1, 0), "it was set");

    "set-times-of-read-only-file" [View] HARMLESS
    "Sets the times of a read-only file to now."
    => |d| done(ask!(UTIMENSAT, libc::AT_FDCWD, &c_path(d.readonly_file()?)?, NOWHERE, 0), "they were set");

    "write-read-only-file-by-proc-self-fd" [View Landlock] HARMLESS
    "Opens a read-only file for reading and opens its descriptor again for writing."
    => |d| {
        let file = prepare(File::open(d.readonly_file()?), "opening the read-only file")?;
        open_to_write(format!("/proc/self/fd/{}", file.as_raw_fd()))
    };

    "write-read-only-file-by-link" [View Landlock] HARMLESS
    "Opens a read-only file for writing through a symbolic link in the work folder."
    => |d| {
        let link = own_folder(d)?.join("link");
        prepare(symlink(d.readonly_file()?, &link), "making a link")?;
        open_to_write(link)
    };

    "write-read-only-file-by-proc-self-root" [View Landlock] HARMLESS
    "Opens a read-only file for writing below /proc/self/root."
    => |d| open_to_write(crate::files::below("/proc/self/root", d.readonly_file()?));

    // Opened and not written. That a running program cannot be written is the kernel's; that it lies in a
    // read-only place comes before it.
    "write-own-program" [Kernel View Landlock] HARMLESS
    "Opens the program that is running for writing."
    => |_d| open_to_write("/proc/self/exe");
}

fn rename_there_and_back(d: &Decoys) -> Tried {
    let (file, other) = (d.readonly_file()?, place_in(d.readonly()?));
    let moved = rustix::fs::rename(file, &other);
    if moved.is_ok() {
        prepare(rustix::fs::rename(&other, file), "giving the decoy its name back")?;
    }
    done(moved, "it had another name")
}
