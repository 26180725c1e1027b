//! Files under `/proc`: the kernel's own, those of process 1, those of a process outside.
//!
//! The kernel's files are opened and neither read nor written. Those of other processes count only if the decoy is
//! found in them. A `/proc` of the cage's own shows the cage's processes only: that is the view. Were the host's shown,
//! the files that take the right to trace would still be refused, because their process is of another user namespace.

use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::aim::at_process;
use crate::errno::Errno;
use crate::files::{below, holds, open, open_to_write, read_marked, read_some};
use crate::judge::{Tried, done, refused, through};

attempts! { Proc:
    "proc-kcore" [View Kernel Landlock] HARMLESS
    "Opens the memory of the machine."
    => |_d| open("/proc/kcore");

    "proc-kmsg" [View Kernel Landlock] HARMLESS
    "Opens the messages of the kernel."
    => |_d| open("/proc/kmsg");

    "proc-kallsyms" [View Kernel Landlock] HARMLESS
    "Reads the addresses of the kernel's functions, which it must see as zero."
    => |_d| Ok(match read_some("/proc/kallsyms") {
        Ok(bytes) if tells_addresses(&bytes) => through("addresses were told"),
        Ok(_) => refused("no address is told"),
        Err(e) => refused(e.to_string()),
    });

    "proc-timer-list" [View Kernel Landlock] HARMLESS
    "Opens the list of all timers, which names processes of the host."
    => |_d| open("/proc/timer_list");

    "proc-slabinfo" [View Kernel Landlock] HARMLESS
    "Opens the kernel's statistics of its memory."
    => |_d| open("/proc/slabinfo");

    "proc-vmallocinfo" [View Kernel Landlock] HARMLESS
    "Opens the kernel's map of its memory."
    => |_d| open("/proc/vmallocinfo");

    "proc-kpageflags" [View Kernel Landlock] HARMLESS
    "Opens the state of every page of memory."
    => |_d| open("/proc/kpageflags");

    "proc-keys" [View UserNamespace] HARMLESS
    "Reads the list of keys, which must not show any of the host's."
    => |_d| Ok(match read_some("/proc/keys") {
        Ok(bytes) if !bytes.is_empty() => through("keys are listed"),
        Ok(_) => refused("no key is listed"),
        Err(e) => refused(e.to_string()),
    });

    // Opened and not written: a written letter would act on the machine.
    "proc-sysrq-trigger" [View Kernel Landlock] DOUBTFUL
    "Opens the trigger of emergency commands for writing."
    => |_d| open_to_write("/proc/sysrq-trigger");

    "proc-core-pattern" [Kernel Landlock] DOUBTFUL
    "Opens for writing what the host does with core dumps."
    => |_d| open_to_write("/proc/sys/kernel/core_pattern");

    "proc-modprobe" [Kernel Landlock] DOUBTFUL
    "Opens for writing which program the kernel starts to load modules."
    => |_d| open_to_write("/proc/sys/kernel/modprobe");

    "proc-binfmt-register" [Kernel Landlock] DOUBTFUL
    "Opens for writing which programs the kernel starts for foreign files."
    => |_d| open_to_write("/proc/sys/fs/binfmt_misc/register");

    "proc-sys-hostname" [Kernel Landlock] DOUBTFUL
    "Opens the name of the host for writing."
    => |_d| open_to_write("/proc/sys/kernel/hostname");

    "proc-sys-overcommit" [Kernel Landlock] DOUBTFUL
    "Opens the memory policy of the machine for writing."
    => |_d| open_to_write("/proc/sys/vm/overcommit_memory");

    "proc-sys-ip-forward" [Capabilities Landlock] DOUBTFUL
    "Opens the switch for passing on packets for writing."
    => |_d| open_to_write("/proc/sys/net/ipv4/ip_forward");

    "proc-sys-randomize" [Kernel Landlock] DOUBTFUL
    "Opens the switch for random addresses for writing."
    => |_d| open_to_write("/proc/sys/kernel/randomize_va_space");

    "proc-sys-user-namespaces" [Capabilities Landlock] DOUBTFUL
    "Opens the limit of user namespaces for writing."
    => |_d| open_to_write("/proc/sys/user/max_user_namespaces");

    "proc-bus-pci" [Kernel Landlock] HARMLESS
    "Opens the configuration of a device on the bus for writing."
    => |_d| open_to_write("/proc/bus/pci/00/00.0");

    "proc-irq-affinity" [Kernel Landlock] DOUBTFUL
    "Opens the placing of interrupts for writing."
    => |_d| open_to_write("/proc/irq/default_smp_affinity");

    // Inside, process 1 is the cage's own: its environment is no secret unless the host's is in it.
    "proc-1-environ" [Kernel Landlock Environment] HARMLESS
    "Reads the environment of process 1 and looks for a variable that is set outside."
    => |d| read_marked("/proc/1/environ", d.environment_secret()?);

    // If process 1 is the intruder itself, its memory is its own.
    "proc-1-mem" [Kernel Landlock] HARMLESS
    "Opens the memory of process 1."
    => |_d| match rustix::process::getppid().is_some_and(rustix::process::Pid::is_init) {
        true => Ok(refused("process 1 is this program itself")),
        false => open("/proc/1/mem"),
    };

    "proc-decoy-environ" [View UserNamespace Landlock] HARMLESS
    "Reads the environment of a process outside."
    => |d| read_marked(format!("/proc/{}/environ", d.process()?), d.process_env_marker()?);

    "proc-decoy-cmdline" [View] HARMLESS
    "Reads the arguments of a process outside."
    => |d| read_marked(format!("/proc/{}/cmdline", d.process()?), d.process_argv_marker()?);

    "proc-decoy-mem" [View UserNamespace Landlock] HARMLESS
    "Opens the memory of a process outside."
    => |d| at_process(d, |pid| open(format!("/proc/{pid}/mem")));

    "proc-decoy-maps" [View UserNamespace Landlock] HARMLESS
    "Opens the map of the memory of a process outside."
    => |d| at_process(d, |pid| open(format!("/proc/{pid}/maps")));

    "proc-decoy-cwd" [View UserNamespace Landlock] HARMLESS
    "Opens the current folder of a process outside."
    => |d| at_process(d, |pid| open(format!("/proc/{pid}/cwd")));

    "proc-decoy-root" [View UserNamespace Landlock] HARMLESS
    "Reads a file outside below the root of a process outside."
    => |d| read_marked(below(format!("/proc/{}/root", d.process()?), d.file()?), d.file_content()?);

    "proc-decoy-oom-score" [View Landlock] HARMLESS
    "Opens for writing how soon a process outside is ended when memory is short."
    => |d| at_process(d, |pid| open_to_write(format!("/proc/{pid}/oom_score_adj")));

    // Looking at the decoy by walking /proc instead of by its number.
    "proc-list-processes" [View] HARMLESS
    "Walks all processes in /proc and looks for the arguments of one outside."
    => |d| walk(d.process_argv_marker()?);

    // One below what it has, for the process of the attempt alone.
    "lower-own-oom-score" [Landlock Capabilities UserNamespace] HARMLESS
    "Makes itself less likely to be ended when memory is short."
    => |_d| lower_oom_score();

    // Its map is written already, or it is the host's: either way the kernel says EPERM.
    "write-own-user-map" [Landlock Kernel] HARMLESS
    "Writes its own map of users, so that it were root."
    => |_d| write_line("/proc/self/uid_map", "0 0 1\n");

    "write-own-group-map" [Landlock Kernel] HARMLESS
    "Writes its own map of groups, so that it were in root's."
    => |_d| write_line("/proc/self/gid_map", "0 0 1\n");

    "allow-setgroups-again" [Landlock Kernel] HARMLESS
    "Allows itself to change its groups again."
    => |_d| write_line("/proc/self/setgroups", "allow\n");

    "open-own-map-files" [Capabilities UserNamespace] HARMLESS
    "Opens a mapped file by its entry in /proc instead of by its path."
    => |_d| open_map_file();
}

fn tells_addresses(kallsyms: &[u8]) -> bool {
    kallsyms.split(|b| *b == b'\n').any(|line| line.get(..16).is_some_and(|a| a.iter().any(|b| *b != b'0')))
}

/// Bounded: no host has more processes than its kernel has numbers, and the deadline ends it otherwise.
fn walk(marker: &str) -> Tried {
    let Ok(entries) = fs::read_dir("/proc") else { return Ok(refused("there is no /proc")) };
    let seen = entries.flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().bytes().all(|b| b.is_ascii_digit())
            && read_some(entry.path().join("cmdline")).is_ok_and(|line| holds(&line, marker))
    });
    Ok(if seen {
        through("the process outside is listed")
    } else {
        refused("only processes inside are listed")
    })
}

fn lower_oom_score() -> Tried {
    let path = "/proc/self/oom_score_adj";
    let Ok(now) = fs::read_to_string(path) else { return Ok(refused("it is not there")) };
    let Ok(now) = now.trim().parse::<i32>() else { return Ok(refused("it is not a number")) };
    if now <= -1000 {
        return Ok(through("it is as low as it can be"));
    }
    write_line(path, &format!("{}\n", now - 1))
}

fn write_line(path: &str, line: &str) -> Tried {
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
    done(written, "it was written")
}

fn open_map_file() -> Tried {
    let entries = match fs::read_dir("/proc/self/map_files") {
        Ok(entries) => entries,
        Err(e) => return Ok(refused(Errno::from(e).to_string())),
    };
    match entries.flatten().next() {
        Some(entry) => open(entry.path()),
        None => Ok(refused("no mapped file is listed")),
    }
}
