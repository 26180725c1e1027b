//! Symbolic links that lead out, and the links of `/proc` that lead anywhere.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::aim::at_process;
use crate::files::{open, read_marked};
use crate::judge::{done, prepare};
use crate::marks::{own_folder, place_in};
use crate::{Decoys, Outcome};

attempts! { Links:
    "follow-link-in-work" [View Landlock] HARMLESS
    "Reads a file outside through a link that was in the work folder from the start."
    => |d| read_marked(d.link_in_work()?, d.file_content()?);

    "follow-own-link" [View Landlock] HARMLESS
    "Reads a file outside through a link of its own making."
    => |d| read_marked(link_to(d, d.file()?.clone())?, d.file_content()?);

    "follow-chain-of-links" [View Landlock] HARMLESS
    "Reads a file outside through eight links, one after the other."
    => |d| {
        let folder = own_folder(d)?;
        let mut target = d.file()?.clone();
        for nth in 0..8 {
            let link = folder.join(format!("link{nth}"));
            prepare(symlink(&target, &link), "making a link")?;
            target = link;
        }
        read_marked(target, d.file_content()?)
    };

    "follow-relative-link" [View Landlock] HARMLESS
    "Reads a file outside through a link of its own that climbs with `..`."
    => |d| {
        let climbing = crate::files::below("../".repeat(40), d.file()?);
        read_marked(link_to(d, climbing)?, d.file_content()?)
    };

    "follow-link-to-folder" [View Landlock] HARMLESS
    "Makes a file in a folder outside through a link to that folder."
    => |d| {
        let link = link_to(d, d.folder()?.clone())?;
        done(fs::File::create_new(place_in(&link)), "a file was made")
    };

    "follow-link-from-proc-self-cwd" [View Landlock] HARMLESS
    "Makes the work folder the current one and follows the link below /proc/self/cwd."
    => |d| {
        prepare(std::env::set_current_dir(d.work()?), "entering the work folder")?;
        let name = d.link_in_work()?.file_name().unwrap_or_default();
        read_marked(PathBuf::from("/proc/self/cwd").join(name), d.file_content()?)
    };

    "follow-link-from-proc-self-fd" [View Landlock] HARMLESS
    "Opens the work folder and follows the link below the descriptor's entry in /proc."
    => |d| {
        let work = prepare(fs::File::open(d.work()?), "opening the work folder")?;
        let name = d.link_in_work()?.file_name().unwrap_or_default();
        let path = PathBuf::from(format!("/proc/self/fd/{}", work.as_raw_fd())).join(name);
        read_marked(path, d.file_content()?)
    };

    "follow-own-link-to-proc-root" [View Landlock] HARMLESS
    "Reads a file outside through a link of its own to /proc/self/root."
    => |d| {
        let link = link_to(d, PathBuf::from("/proc/self/root"))?;
        read_marked(crate::files::below(link, d.file()?), d.file_content()?)
    };

    "open-program-of-decoy" [View UserNamespace Landlock] HARMLESS
    "Opens the program of a process outside by its link in /proc."
    => |d| at_process(d, |pid| open(format!("/proc/{pid}/exe")));
}

fn link_to(d: &Decoys, target: PathBuf) -> Result<PathBuf, Outcome> {
    let link = own_folder(d)?.join("link");
    prepare(symlink(target, &link), "making a link")?;
    Ok(link)
}
