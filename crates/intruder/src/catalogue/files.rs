//! Files outside the cage, reached for by path.
//!
//! A read counts only if the decoy's own line is found, so that a file of the same name inside is not taken for a
//! way out. Whatever is made or moved has the attempt's own name and is taken back.

use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::errno::Errno;
use crate::files::{below, holds, open_to_write, read_into, read_marked};
use crate::judge::{Tried, c_path, could_not, done, prepare, reached_unless, refused, step, through};
use crate::marks::{own_file, own_folder, place_in};
use crate::raw::{Arg, ROOM, ask, words32, words64};
use crate::{Decoys, Outcome};

attempts! { Files:
    "read-outside-file" [View Landlock] HARMLESS
    "Reads a file outside by its absolute path."
    => |d| read_marked(d.file()?, d.file_content()?);

    "read-outside-by-dotdot" [View Landlock] HARMLESS
    "Climbs from the work folder with many `..` and goes down to a file outside."
    => |d| read_marked(climbing(d.work()?, d.file()?), d.file_content()?);

    "read-outside-from-current-folder" [View Landlock] HARMLESS
    "Climbs with `..` from the folder the program was started in, which may lie outside."
    => |d| read_marked(climbing(Path::new("."), d.file()?), d.file_content()?);

    "read-outside-by-long-path" [View Landlock] HARMLESS
    "Reads a file outside by a path of nearly the longest length, made of `./`."
    => |d| read_marked(format!("/{}/{}", "./".repeat(1800), d.file()?.display()), d.file_content()?);

    // The kernel refuses paths beyond 4096 bytes to everyone; a fence that cuts them off instead would be wrong.
    "read-outside-by-overlong-path" [Kernel] HARMLESS
    "Reads a file outside by a path that is longer than the kernel takes."
    => |d| read_marked(format!("/{}/{}", "./".repeat(3000), d.file()?.display()), d.file_content()?);

    "read-outside-by-proc-self-root" [View Landlock] HARMLESS
    "Reads a file outside below /proc/self/root."
    => |d| read_marked(below("/proc/self/root", d.file()?), d.file_content()?);

    "read-outside-by-proc-thread-root" [View Landlock] HARMLESS
    "Reads a file outside below /proc/thread-self/root."
    => |d| read_marked(below("/proc/thread-self/root", d.file()?), d.file_content()?);

    // Process 1 of the host has another root; following its link asks for the right to trace it.
    "read-outside-by-proc-1-root" [Kernel View Landlock] HARMLESS
    "Reads a file outside below the root of process 1."
    => |d| read_marked(below("/proc/1/root", d.file()?), d.file_content()?);

    "read-outside-by-proc-1-cwd" [Kernel View Landlock] HARMLESS
    "Reads a file outside by climbing from the folder of process 1."
    => |d| read_marked(climbing(Path::new("/proc/1/cwd"), d.file()?), d.file_content()?);

    "read-outside-by-openat2" [Seccomp View Landlock] HARMLESS
    "Climbs from a descriptor of the work folder by openat2 without any restriction."
    => |d| read_by_openat2(d);

    "read-outside-by-climbing-descriptors" [View Landlock] HARMLESS
    "Opens `..` again and again from descriptor to descriptor, then goes down to a file outside."
    => |d| read_by_climbing(d);

    // Landlock does not ask about O_PATH: a path that is in the view is held, if not read.
    "hold-outside-file-by-path-descriptor" [View] HARMLESS
    "Takes hold of a file outside with O_PATH, without asking to read it."
    => |d| hold_by_path(d);

    "stat-outside-file" [View] HARMLESS
    "Asks for the size of a file outside."
    => |d| match fs::metadata(d.file()?) {
        Ok(found) if found.len() == decoy_len(d)? => Ok(through("its size was told")),
        Ok(_) => Ok(refused("something else has that name here")),
        Err(e) => Ok(refused(Errno::from(e).to_string())),
    };

    "list-outside-folder" [View Landlock] HARMLESS
    "Lists a folder outside."
    => |d| done(fs::read_dir(d.folder()?), "it was listed");

    "enter-outside-folder" [View] HARMLESS
    "Makes a folder outside the current one."
    => |d| done(std::env::set_current_dir(d.folder()?), "it is the current folder");

    "watch-outside-file" [View] HARMLESS
    "Asks to be told when a file outside changes."
    => |d| {
        let watcher = step(ask!(INOTIFY_INIT1, 0))?;
        let watch = ask!(INOTIFY_ADD_WATCH, watcher.descriptor(), &c_path(d.file()?)?, libc::IN_MODIFY);
        done(watch, "it is watched")
    };

    // Opened and not written.
    "write-outside-file" [View Landlock] HARMLESS
    "Opens a file outside for writing."
    => |d| open_to_write(d.file()?);

    // To the length that it has, so that nothing changes.
    "truncate-outside-file" [View Landlock] HARMLESS
    "Sets the length of a file outside to what it is."
    => |d| done(ask!(TRUNCATE, &c_path(d.file()?)?, decoy_len(d)?), "its length was set");

    // To the mode that the decoy has by agreement.
    "change-mode-of-outside-file" [View] HARMLESS
    "Sets the mode of a file outside to what it is."
    => |d| done(ask!(FCHMODAT, libc::AT_FDCWD, &c_path(d.file()?)?, 0o666), "its mode was set");

    "create-in-outside-folder" [View Landlock] HARMLESS
    "Makes a file in a folder outside."
    => |d| create(&place_in(d.folder()?));

    "make-folder-outside" [View Landlock] HARMLESS
    "Makes a folder in a folder outside."
    => |d| done(fs::create_dir(place_in(d.folder()?)), "a folder was made");

    "bind-socket-outside" [View Landlock] HARMLESS
    "Makes a socket in a folder outside."
    => |d| done(UnixListener::bind(place_in(d.folder()?)), "a socket was made");

    "hard-link-outside-file-into-work" [View Landlock] HARMLESS
    "Makes a hard link in the work folder to a file outside."
    => |d| done(fs::hard_link(d.file()?, place_in(d.work()?)), "it has a name inside");

    "hard-link-work-file-out" [View Landlock] HARMLESS
    "Makes a hard link in a folder outside to a file of its own."
    => |d| done(fs::hard_link(own_file(d)?, place_in(d.folder()?)), "it has a name outside");

    "rename-work-file-out" [View Landlock] HARMLESS
    "Moves a file of its own to a folder outside."
    => |d| done(rustix::fs::rename(own_file(d)?, place_in(d.folder()?)), "it lies outside");

    "create-file-in-root" [View Kernel Landlock] HARMLESS
    "Makes a file in the root folder."
    => |_d| create(&place_in(Path::new("/")));

    "make-folder-in-root" [View Kernel Landlock] HARMLESS
    "Makes a folder in the root folder."
    => |_d| done(fs::create_dir(place_in(Path::new("/"))), "a folder was made");

    // Character device 1:3 is /dev/null. The node is not opened.
    "make-device-node" [Seccomp Landlock Capabilities UserNamespace] HARMLESS
    "Makes a node of the null device in the work folder."
    => |d| make_node(d, libc::S_IFCHR | 0o600, libc::makedev(1, 3));

    // Block device 7:0 is the first loop device. The node is not opened and goes at once.
    "make-disk-node" [Seccomp Landlock Capabilities UserNamespace] DOUBTFUL
    "Makes a node of a block device in the work folder."
    => |d| make_node(d, libc::S_IFBLK | 0o600, libc::makedev(7, 0));

    // Root has no number inside, which the kernel answers with EINVAL before it asks for the privilege.
    "give-work-file-to-root" [UserNamespace Capabilities] HARMLESS
    "Makes root the owner of a file of its own."
    => |d| {
        let given = ask!(FCHOWNAT, libc::AT_FDCWD, &c_path(own_file(d)?)?, 0, 0, 0);
        reached_unless(given, &[libc::EINVAL])
    };

    // Version 2 of the attribute, with an empty set: it would grant nothing.
    "set-file-capabilities" [Capabilities] HARMLESS
    "Puts file capabilities on a file of its own."
    => |d| set_attribute(d, c"security.capability", &words32(&[0x0200_0000, 0, 0, 0, 0]));

    "set-trusted-attribute" [Capabilities UserNamespace] HARMLESS
    "Puts an attribute that is reserved for root on a file of its own."
    => |d| set_attribute(d, c"trusted.intruder", &b"x".to_vec());

    "name-outside-file-by-handle" [Seccomp View] HARMLESS
    "Asks for the handle of a file outside, by which it could be opened without a path."
    => |d| done(handle_of(d.file()?), "its handle was told");

    // The handle is that of the work folder: what is asked is whether handles can be opened at all. One that
    // names nothing is answered with ESTALE, after the permission check.
    "open-by-handle" [Seccomp Capabilities UserNamespace] HARMLESS
    "Opens a handle instead of a path, which would bypass every path rule."
    => |d| open_by_handle(d);
}

/// From `start` up past any root and down to `target`.
fn climbing(start: &Path, target: &Path) -> PathBuf {
    below(start.join("../".repeat(40)), target)
}

/// The length of the decoy: its line and the newline, as far as the intruder can know.
fn decoy_len(d: &Decoys) -> Result<u64, Outcome> {
    Ok(d.file_content()?.len() as u64 + 1)
}

fn read_by_openat2(d: &Decoys) -> Tried {
    let work = prepare(fs::File::open(d.work()?), "opening the work folder")?;
    let path = c_path(climbing(Path::new(""), d.file()?))?;
    // Flags, mode, resolve.
    let how = words64(&[libc::O_RDONLY as u64, 0, 0]);
    let opened = step(ask!(OPENAT2, work.as_raw_fd(), &path, &how, how.len()))?;
    let read = step(ask!(PREAD, opened.descriptor(), Arg::Room, ROOM, 0))?;
    Ok(match holds(read.room(0), d.file_content()?) {
        true => through("the decoy was read"),
        false => refused("something else has that name here"),
    })
}

fn read_by_climbing(d: &Decoys) -> Tried {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut folder = prepare(rustix::fs::open(d.work()?, flags, Mode::empty()), "opening the work folder")?;
    for _ in 0..40 {
        folder = step(rustix::fs::openat(&folder, "..", flags, Mode::empty()))?;
    }
    let down = d.file()?.strip_prefix("/").map_err(|_| could_not("the decoy's path is not absolute"))?;
    let file = step(rustix::fs::openat(&folder, down, OFlags::RDONLY, Mode::empty()))?;
    let mut bytes = Vec::new();
    step(read_into(&fs::File::from(file), &mut bytes))?;
    Ok(match holds(&bytes, d.file_content()?) {
        true => through("the decoy was read"),
        false => refused("something else has that name here"),
    })
}

fn hold_by_path(d: &Decoys) -> Tried {
    let held = step(rustix::fs::open(d.file()?, OFlags::PATH, Mode::empty()))?;
    let found = step(fs::File::from(held).metadata())?;
    Ok(match found.size() == decoy_len(d)? {
        true => through("it is held"),
        false => refused("something else has that name here"),
    })
}

fn create(path: &Path) -> Tried {
    done(OpenOptions::new().write(true).create_new(true).open(path), "a file was made")
}

fn make_node(d: &Decoys, mode: u32, device: u64) -> Tried {
    let node = c_path(own_folder(d)?.join("node"))?;
    done(ask!(MKNODAT, libc::AT_FDCWD, &node, mode, device), "a node was made")
}

fn set_attribute(d: &Decoys, name: &CStr, value: &Vec<u8>) -> Tried {
    let file = c_path(own_file(d)?)?;
    // A file system that has no such attributes says so after the permission check, or before it: no way out.
    reached_unless(ask!(SETXATTR, &file, name, value, value.len(), 0), &[libc::EOPNOTSUPP])
}

/// A handle with room for 128 bytes, the most there can be.
fn handle_of(path: &Path) -> Result<Vec<u8>, Errno> {
    let Ok(path) = c_path(path) else { return Err(Errno(libc::ENOENT)) };
    let empty = words32(&[128, 0]);
    let answer = ask!(NAME_TO_HANDLE_AT, libc::AT_FDCWD, &path, Arg::Filled(&empty), Arg::Room, 0)?;
    Ok(answer.room(0)[..136].to_vec())
}

fn open_by_handle(d: &Decoys) -> Tried {
    let work = prepare(fs::File::open(d.work()?), "opening the work folder")?;
    // Where the filter does not tell handles, one is made up: eight bytes of the commonest kind.
    let handle = handle_of(d.work()?).unwrap_or_else(|_| words32(&[8, 1, 0, 0]));
    let opened = ask!(OPEN_BY_HANDLE_AT, work.as_raw_fd(), &handle, libc::O_RDONLY);
    reached_unless(opened, &[libc::EOPNOTSUPP])
}
