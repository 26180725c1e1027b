//! Files under `/sys`, and control groups.
//!
//! The kernel's files are opened and neither read nor written.

use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::files::{open_to_write, read_some};
use crate::judge::{Tried, done, refused, through};

attempts! { Sys:
    "sys-uevent-helper" [View Kernel Landlock] DOUBTFUL
    "Opens for writing which program the kernel starts when a device appears."
    => |_d| open_to_write("/sys/kernel/uevent_helper");

    "sys-power-state" [View Kernel Landlock] DOUBTFUL
    "Opens the switch that puts the machine to sleep for writing."
    => |_d| open_to_write("/sys/power/state");

    "sys-cpu-online" [View Kernel Landlock] DOUBTFUL
    "Opens the switch of a processor for writing."
    => |_d| open_to_write("/sys/devices/system/cpu/cpu1/online");

    "sys-module-parameter" [View Kernel Landlock] DOUBTFUL
    "Opens a parameter of the kernel for writing."
    => |_d| open_to_write("/sys/module/printk/parameters/time");

    "sys-efi-variables" [View Kernel Landlock] HARMLESS
    "Lists the variables of the firmware."
    => |_d| done(fs::read_dir("/sys/firmware/efi/efivars"), "they were listed");

    "sys-kernel-debug" [View Kernel Landlock] HARMLESS
    "Lists the kernel's files for debugging."
    => |_d| done(fs::read_dir("/sys/kernel/debug"), "they were listed");

    "sys-kernel-tracing" [View Kernel Landlock] HARMLESS
    "Lists the kernel's files for tracing."
    => |_d| done(fs::read_dir("/sys/kernel/tracing"), "they were listed");

    "sys-kernel-security" [View Landlock] HARMLESS
    "Lists the files of the security modules."
    => |_d| done(fs::read_dir("/sys/kernel/security"), "they were listed");

    "sys-bpf-pins" [View Kernel Landlock] HARMLESS
    "Lists the programs that were left in the kernel."
    => |_d| done(fs::read_dir("/sys/fs/bpf"), "they were listed");

    "sys-block-devices" [View Landlock] HARMLESS
    "Lists the disks of the machine."
    => |_d| done(fs::read_dir("/sys/block"), "they were listed");

    "sys-firmware-memory-map" [View Landlock] HARMLESS
    "Lists the tables of the firmware."
    => |_d| done(fs::read_dir("/sys/firmware"), "they were listed");

    "sys-root-control-group" [View Kernel Landlock] DOUBTFUL
    "Opens the list of processes of the topmost control group for writing."
    => |_d| open_to_write("/sys/fs/cgroup/cgroup.procs");

    // The process of the attempt moves, and is gone a moment later.
    "move-to-outside-control-group" [View Landlock] HARMLESS
    "Moves itself to a control group outside its own."
    => |d| {
        let list = d.control_group()?.join("cgroup.procs");
        let moved = OpenOptions::new().write(true).open(list).and_then(|mut file| file.write_all(b"0\n"));
        done(moved, "it was moved")
    };

    "raise-own-control-group-limit" [View Kernel Landlock] DOUBTFUL
    "Opens the memory limit of its control group for writing."
    => |_d| open_to_write("/sys/fs/cgroup/memory.max");

    "see-outer-control-group" [CgroupNamespace] HARMLESS
    "Looks up its place in the host's tree of control groups."
    => |_d| see_control_group();
}

/// In a namespace of its own every path is `/`. A host that runs everything in the topmost group shows the same.
fn see_control_group() -> Tried {
    let Ok(bytes) = read_some("/proc/self/cgroup") else { return Ok(refused("it is not told")) };
    let text = String::from_utf8_lossy(&bytes);
    let outer = text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find(|path| *path != "/");
    Ok(match outer {
        Some(path) => through(format!("it is {path}")),
        None => refused("every path is the topmost"),
    })
}
