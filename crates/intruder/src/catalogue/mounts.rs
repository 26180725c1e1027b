//! Mounts, roots and swap.
//!
//! Mount points are folders of the attempt's own. Where a call would change what everyone sees, its arguments are
//! wrong in a way that the kernel finds only after it has asked for the privilege.

use std::ffi::CStr;
use std::fs;
use std::path::Path;

use crate::files::read_marked;
use crate::judge::{Tried, c_path, prepare, reached, reached_unless, refused, step, through};
use crate::marks::own_folder;
use crate::raw::{NOWHERE, ask, words64};
use crate::{Decoys, Outcome};

const MOUNT_ATTR_RDONLY: u64 = 1;
const OPEN_TREE_CLONE: u32 = 1;

attempts! { Mounts:
    "mount-tmpfs" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts a file system in memory on a folder of its own."
    => |d| mount(d, c"tmpfs");

    "mount-proc" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts a fresh /proc on a folder of its own."
    => |d| mount(d, c"proc");

    "mount-sysfs" [Seccomp Landlock Capabilities UserNamespace] HARMLESS
    "Mounts a fresh /sys on a folder of its own."
    => |d| mount(d, c"sysfs");

    "mount-control-groups" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts the tree of control groups on a folder of its own."
    => |d| mount(d, c"cgroup2");

    "mount-terminals" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts the terminals on a folder of its own."
    => |d| mount(d, c"devpts");

    "mount-overlay-over-read-only" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts a writable layer over a read-only folder."
    => |d| {
        let place = mount_point(d)?;
        // Without its options the overlay is turned down after the privilege has been asked for.
        reached(ask!(MOUNT, c"overlay", &c_path(place)?, c"overlay", 0, NOWHERE))
    };

    "bind-outside-folder" [Seccomp Landlock Capabilities View] HARMLESS
    "Mounts a folder outside on a folder of its own."
    => |d| {
        let place = mount_point(d)?;
        let (from, to) = (c_path(d.folder()?)?, c_path(&place)?);
        let mounted = ask!(MOUNT, &from, &to, NOWHERE, libc::MS_BIND, NOWHERE);
        taken_back(mounted.map(drop), &to)
    };

    // On the read-only decoy: at worst that one may be written.
    "remount-read-only-folder-writable" [Seccomp Landlock Capabilities] HARMLESS
    "Mounts a read-only folder again, writable."
    => |d| {
        let place = c_path(d.readonly()?)?;
        let again = ask!(MOUNT, NOWHERE, &place, NOWHERE, libc::MS_REMOUNT | libc::MS_BIND, NOWHERE);
        // EINVAL: it is not a mount of its own here.
        reached_unless(again, &[libc::EINVAL])
    };

    // Not a mount point, so that the change is turned down with EINVAL after the privilege has been asked for.
    "change-mount-propagation" [Seccomp Landlock Capabilities] HARMLESS
    "Makes a mount shared with the outside."
    => |d| {
        let place = c_path(mount_point(d)?)?;
        reached(ask!(MOUNT, NOWHERE, &place, NOWHERE, libc::MS_SHARED, NOWHERE))
    };

    // MNT_EXPIRE only marks the mount and answers EAGAIN the first time.
    "unmount-proc" [Seccomp Capabilities MountNamespace] DOUBTFUL
    "Unmounts /proc, to see what lies beneath."
    => |_d| reached_unless(ask!(UMOUNT2, c"/proc", libc::MNT_EXPIRE), &[libc::EINVAL, libc::ENOENT]);

    "unmount-root" [Seccomp Capabilities MountNamespace] DOUBTFUL
    "Unmounts the root, to see what lies beneath."
    => |_d| reached_unless(ask!(UMOUNT2, c"/", libc::MNT_EXPIRE), &[libc::EINVAL]);

    "open-tree-clone" [Seccomp Capabilities] HARMLESS
    "Takes a detached copy of a mount."
    => |d| reached(ask!(OPEN_TREE, libc::AT_FDCWD, &c_path(d.work()?)?, OPEN_TREE_CLONE));

    // No descriptors and impossible flags: EINVAL comes after the privilege.
    "move-mount" [Seccomp Capabilities] HARMLESS
    "Moves a mount from one place to another."
    => |_d| reached(ask!(MOVE_MOUNT, -1, c"", -1, c"", 0x7fff_ffff));

    "fsopen" [Seccomp Capabilities] HARMLESS
    "Opens a file system for mounting in the new way."
    => |_d| reached(ask!(FSOPEN, c"tmpfs", 0));

    // No descriptor: the kernel asks for no privilege before it looks, so only the filter can refuse.
    "fsconfig" [Seccomp] HARMLESS
    "Configures a file system that is to be mounted in the new way."
    => |_d| reached(ask!(FSCONFIG, -1, 0, NOWHERE, NOWHERE, 0));

    "fsmount" [Seccomp Capabilities] HARMLESS
    "Mounts a file system in the new way."
    => |_d| reached(ask!(FSMOUNT, -1, 0, 0));

    "fspick" [Seccomp Capabilities] HARMLESS
    "Picks a mounted file system to configure it anew."
    => |d| reached(ask!(FSPICK, libc::AT_FDCWD, &c_path(d.work()?)?, 0));

    // On the read-only decoy, as above.
    "clear-read-only-by-mount-setattr" [Seccomp Capabilities] HARMLESS
    "Takes the read-only mark off a mount in the new way."
    => |d| {
        // Set, clear, propagation, user namespace.
        let change = words64(&[0, MOUNT_ATTR_RDONLY, 0, 0]);
        let place = c_path(d.readonly()?)?;
        let changed = ask!(MOUNT_SETATTR, libc::AT_FDCWD, &place, 0, &change, change.len());
        reached_unless(changed, &[libc::EINVAL])
    };

    // Of folders that are not there: ENOENT comes after the privilege.
    "pivot-root" [Seccomp Capabilities] HARMLESS
    "Takes another folder for the root."
    => |_d| reached(ask!(PIVOT_ROOT, c"/intruder-no-such-folder", c"/intruder-no-such-folder"));

    // Only the process of the attempt is moved.
    "chroot" [Seccomp Capabilities] HARMLESS
    "Makes a folder of its own the root."
    => |d| reached(ask!(CHROOT, &c_path(own_folder(d)?)?));

    "chroot-and-climb-out" [Seccomp Capabilities View Landlock] HARMLESS
    "Makes a folder its root while standing outside of it, and climbs past the old root."
    => |d| {
        let folder = c_path(mount_point(d)?)?;
        prepare(std::env::set_current_dir(d.work()?), "entering the work folder")?;
        step(ask!(CHROOT, &folder))?;
        read_marked(crate::files::below("../".repeat(40), d.file()?), d.file_content()?)
    };

    // Of files that are not there: ENOENT comes after the privilege.
    "swap-on" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Swaps memory to a file."
    => |_d| reached(ask!(SWAPON, c"/intruder-no-such-file", 0));

    "swap-off" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Stops swapping to a file."
    => |_d| reached(ask!(SWAPOFF, c"/intruder-no-such-file"));

    "mount-in-own-user-namespace" [Seccomp Landlock] HARMLESS
    "Makes user and mount namespaces of its own and mounts a file system there."
    => |d| {
        let place = mount_point(d)?;
        step(ask!(UNSHARE, libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
        reached(ask!(MOUNT, c"tmpfs", &c_path(place)?, c"tmpfs", 0, NOWHERE))
    };

    // Root within a namespace of its own, a bind of a read-only folder, and the same writable: the classic way.
    "rebind-writable-in-own-user-namespace" [Seccomp Landlock MountNamespace] HARMLESS
    "Makes namespaces of its own, binds a read-only folder there and mounts it again, writable."
    => |d| rebind_writable(d);
}

fn mount_point(d: &Decoys) -> Result<std::path::PathBuf, Outcome> {
    let place = own_folder(d)?.join("place");
    prepare(fs::create_dir(&place), "making a folder to mount on")?;
    Ok(place)
}

fn mount(d: &Decoys, kind: &CStr) -> Tried {
    let place = c_path(mount_point(d)?)?;
    taken_back(ask!(MOUNT, kind, &place, kind, 0, NOWHERE).map(drop), &place)
}

/// Undoes a mount that was let through.
fn taken_back(mounted: Result<(), crate::errno::Errno>, place: &CStr) -> Tried {
    if mounted.is_ok() {
        prepare(ask!(UMOUNT2, place, libc::MNT_DETACH), "unmounting what was mounted")?;
    }
    // ENODEV: this kernel does not have that file system. ENOENT: the view does not have the source.
    reached_unless(mounted, &[libc::ENODEV, libc::ENOENT])
}

fn rebind_writable(d: &Decoys) -> Tried {
    let place = mount_point(d)?;
    let (from, to) = (c_path(d.readonly()?)?, c_path(&place)?);
    step(ask!(UNSHARE, libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
    step(ask!(MOUNT, &from, &to, NOWHERE, libc::MS_BIND, NOWHERE))?;
    let again = ask!(MOUNT, NOWHERE, &to, NOWHERE, libc::MS_REMOUNT | libc::MS_BIND, NOWHERE);
    Ok(match again {
        Err(e) => refused(e.to_string()),
        Ok(_) if is_writable(&place) => through("the read-only folder can be written"),
        Ok(_) => refused("the folder stayed read-only"),
    })
}

fn is_writable(folder: &Path) -> bool {
    let file = crate::marks::place_in(folder);
    let made = fs::File::create_new(&file).is_ok();
    let _ = fs::remove_file(file);
    made
}
