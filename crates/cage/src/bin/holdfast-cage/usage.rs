//! What a cage uses, where nothing else counts it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::sys;

/// No more processes are asked: a cage has a limit of them.
const MOST_PROCESSES: usize = 4096;
/// What the kernel needs for a file in memory, beside what is in it.
const PER_FILE: u64 = 1 << 10;

/// The memory of a cage: what its processes hold, with the kernel's tables for it, and what lies in its temporary folders.
/// What no process has mapped, such as a file without a name, is not seen.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    temporary: Vec<OwnedFd>,
    pub(crate) most: u64,
}

impl Memory {
    pub(crate) fn also_in(&mut self, temporary: Vec<OwnedFd>) {
        self.temporary.extend(temporary);
    }

    /// Whether there is more than a limit. What processes share is counted for each of them first, which is quick; only
    /// when that is too much is it counted as it should be.
    pub(crate) fn is_beyond(&mut self, limit: u64, first: i32) -> bool {
        let in_folders: u64 = self.temporary.iter().filter_map(used).sum();
        let all = processes_of(first);
        let quick: u64 = all.iter().map(|process| resident(process.pid)).sum();
        if quick + in_folders <= limit {
            self.most = self.most.max(quick + in_folders);
            return false;
        }
        let folders: Vec<u64> =
            self.temporary.iter().filter_map(|folder| Some(rustix::fs::fstat(folder).ok()?.st_dev)).collect();
        let exact: u64 = all
            .iter()
            .filter(|process| !sys::is_one_memory(process.pid, process.parent))
            .map(|process| shared_out(process.pid, &folders).unwrap_or_else(|| resident(process.pid)))
            .sum();
        self.most = self.most.max(exact + in_folders);
        exact + in_folders > limit
    }
}

fn used(folder: &OwnedFd) -> Option<u64> {
    let found = rustix::fs::fstatvfs(folder).ok()?;
    let files = found.f_files.saturating_sub(found.f_ffree);
    Some((found.f_blocks - found.f_bfree) * found.f_frsize + files * PER_FILE)
}

#[derive(Clone, Copy, Debug)]
struct Process {
    pid: i32,
    parent: i32,
}

/// A process and all that came of it.
fn processes_of(first: i32) -> Vec<Process> {
    let mut all = vec![Process { pid: first, parent: 0 }];
    let mut at = 0;
    while let Some(Process { pid, .. }) = all.get(at).copied() {
        at += 1;
        if all.len() >= MOST_PROCESSES {
            break;
        }
        for thread in threads_of(pid) {
            let children =
                std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
            all.extend(children.map(|child| Process { pid: child, parent: pid }));
        }
    }
    all
}

fn threads_of(pid: i32) -> Vec<i32> {
    let all = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    all.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}

/// A line of the kernel's, in kilobytes there and in bytes here.
fn amount(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// What the kernel says of a process in a file of one of its threads that live. The first may have ended, and then says
/// nothing of the memory the others have.
fn told_by_threads<T>(pid: i32, file: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let of = |thread: i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/{file}")).ok()?;
        read(&text)
    };
    of(pid).or_else(|| threads_of(pid).into_iter().rev().find_map(of))
}

/// Its own pages, those of shared memory, and the tables of both; files of the disk left out.
fn resident(pid: i32) -> u64 {
    let read = |text: &str| {
        Some(amount(text, "RssAnon:")? + amount(text, "RssShmem:")? + amount(text, "VmPTE:").unwrap_or(0))
    };
    told_by_threads(pid, "status", read).unwrap_or(0)
}

/// The same with what is shared divided by those who share it, without what is mapped from the folders that are counted by
/// themselves; nothing where the kernel does not say.
fn shared_out(pid: i32, folders: &[u64]) -> Option<u64> {
    let read = |text: &str| Some((amount(text, "Pss_Anon:")?, amount(text, "Pss_Shmem:")?));
    let (own, shared) = told_by_threads(pid, "smaps_rollup", read)?;
    let tables = told_by_threads(pid, "status", |text| amount(text, "VmPTE:")).unwrap_or(0);
    let in_folders = match shared {
        0 => 0,
        _ => told_by_threads(pid, "smaps", |text| Some(mapped_from(text, folders)))?,
    };
    Some(own + shared.saturating_sub(in_folders) + tables)
}

/// What is mapped from these file systems, to be shared.
fn mapped_from(maps: &str, folders: &[u64]) -> u64 {
    let (mut bytes, mut counts) = (0, false);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.nth(1)) {
            (Some("Pss:"), Some(kilobytes), _) if counts => {
                bytes += kilobytes.parse::<u64>().unwrap_or(0) * 1024;
            }
            // Where it begins and ends, how it is mapped, its place in the file, and the file system's number.
            (Some(range), Some(how), Some(device)) if range.contains('-') => {
                counts = how.ends_with('s') && number(device).is_some_and(|device| folders.contains(&device));
            }
            _ => {}
        }
    }
    bytes
}

/// `00:2f`, as the number of a file system.
fn number(device: &str) -> Option<u64> {
    let (major, minor) = device.split_once(':')?;
    let part = |text| u32::from_str_radix(text, 16).ok();
    Some(rustix::fs::makedev(part(major)?, part(minor)?))
}

/// Whether writable folders have grown beyond a limit.
///
/// The file system's free space is asked first, which costs nothing; only when it has shrunk by as much are the files that
/// changed since the beginning added up.
#[derive(Debug)]
pub(crate) struct Disk {
    limit: u64,
    began: i64,
    /// None of them in another.
    folders: Vec<PathBuf>,
    /// A folder of each file system, and what was free there.
    systems: Vec<(PathBuf, u64)>,
    next: Instant,
}

const TICK: Duration = Duration::from_millis(250);
/// More files are not looked at in one go.
const MOST_FILES: usize = 200_000;

impl Disk {
    pub(crate) fn begin(limit: u64, writable: &[PathBuf]) -> Disk {
        let is_within =
            |folder: &&PathBuf| writable.iter().any(|other| folder.starts_with(other) && *folder != other);
        let folders = writable.iter().filter(|folder| !is_within(folder)).cloned().collect();
        let (mut seen, mut systems) = (Vec::new(), Vec::new());
        for folder in writable {
            let Ok(found) = std::fs::metadata(folder) else { continue };
            if let Some(free) = free(folder).filter(|_| !seen.contains(&found.dev())) {
                seen.push(found.dev());
                systems.push((folder.clone(), free));
            }
        }
        let began = clock_gettime(ClockId::Realtime).tv_sec;
        Disk { limit, began, folders, systems, next: Instant::now() + TICK }
    }

    pub(crate) fn is_full(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + TICK;
        let shrunk =
            |(folder, before): &(PathBuf, u64)| free(folder).map_or(0, |now| before.saturating_sub(now));
        let shrunk: u64 = self.systems.iter().map(shrunk).sum();
        let changed = || self.folders.iter().map(|folder| changed_since(folder, self.began)).sum::<u64>();
        shrunk >= self.limit && changed() >= self.limit
    }
}

fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bfree * found.f_frsize)
}

/// Bytes on the disk of what changed since a moment, links not followed.
fn changed_since(folder: &Path, began: i64) -> u64 {
    let (mut bytes, mut seen, mut folders) = (0, 0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            seen += 1;
            if seen > MOST_FILES {
                return bytes;
            }
            if found.is_dir() {
                folders.push(entry.path());
            } else if found.ctime() >= began {
                bytes += found.blocks() * 512;
            }
        }
    }
    bytes
}
