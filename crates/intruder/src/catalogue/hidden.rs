//! What is hidden although the folder around it is granted, by all its other names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::files::{below, holds, read_into, read_marked};
use crate::judge::{c_path, could_not, prepare, reached_unless, refused, step, through};
use crate::marks::{own_folder, place_in};
use crate::raw::ask;
use crate::{Decoys, Outcome};

attempts! { Hidden:
    "read-hidden-file" [View] HARMLESS
    "Reads a hidden file by its path."
    => |d| read_marked(d.hidden()?, d.hidden_content()?);

    "read-hidden-file-by-proc-self-root" [View] HARMLESS
    "Reads a hidden file below /proc/self/root."
    => |d| read_marked(below("/proc/self/root", d.hidden()?), d.hidden_content()?);

    "read-hidden-file-by-dotdot" [View] HARMLESS
    "Reads a hidden file by a path that leaves its folder and comes back."
    => |d| {
        let (folder, name) = parts(d)?;
        let folder_name = folder.file_name().ok_or_else(|| could_not("the hidden file lies in the root"))?;
        read_marked(folder.join("..").join(folder_name).join(name), d.hidden_content()?)
    };

    "read-hidden-file-by-link" [View] HARMLESS
    "Reads a hidden file through a symbolic link in the work folder."
    => |d| {
        let link = own_folder(d)?.join("link");
        prepare(symlink(d.hidden()?, &link), "making a link")?;
        read_marked(link, d.hidden_content()?)
    };

    "read-hidden-file-by-hard-link" [View Landlock] HARMLESS
    "Gives a hidden file a name in the work folder and reads it there."
    => |d| {
        let name = place_in(d.work()?);
        step(fs::hard_link(d.hidden()?, &name))?;
        read_marked(name, d.hidden_content()?)
    };

    "read-hidden-file-by-descriptor" [View] HARMLESS
    "Reads a hidden file by its name alone, from a descriptor of its folder."
    => |d| {
        let (folder, name) = parts(d)?;
        let folder = step(rustix::fs::open(folder, OFlags::PATH, Mode::empty()))?;
        let file = step(rustix::fs::openat(&folder, name, OFlags::RDONLY, Mode::empty()))?;
        let mut bytes = Vec::new();
        step(read_into(&fs::File::from(file), &mut bytes))?;
        Ok(match holds(&bytes, d.hidden_content()?) {
            true => through("the hidden file was read"),
            false => refused("something else has that name here"),
        })
    };

    "read-hidden-file-by-process-1" [Kernel View Landlock] HARMLESS
    "Reads a hidden file below the root of process 1."
    => |d| read_marked(below("/proc/1/root", d.hidden()?), d.hidden_content()?);

    // MNT_EXPIRE only marks the mount and answers EAGAIN the first time; EINVAL means that the cover is locked or
    // that there is none.
    "uncover-hidden-file" [Seccomp Capabilities Landlock] HARMLESS
    "Takes the cover off a hidden file by unmounting it."
    => |d| {
        let uncovered = ask!(UMOUNT2, &c_path(d.hidden()?)?, libc::MNT_EXPIRE);
        reached_unless(uncovered, &[libc::EINVAL, libc::ENOENT])
    };
}

fn parts(d: &Decoys) -> Result<(&Path, PathBuf), Outcome> {
    let hidden = d.hidden()?;
    match (hidden.parent(), hidden.file_name()) {
        (Some(folder), Some(name)) => Ok((folder, PathBuf::from(name))),
        _ => Err(could_not("the hidden decoy is not a file in a folder")),
    }
}
