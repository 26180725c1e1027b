//! What a cage uses, where nothing else counts it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// No more processes are asked: a cage has a limit of them.
const MOST_PROCESSES: usize = 4096;

/// The memory of a cage: what its processes hold, and what lies in its temporary folders. What no process has mapped, such as
/// a file without a name, is not seen.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    temporary: Vec<OwnedFd>,
    pub(crate) most: u64,
}

impl Memory {
    pub(crate) fn also_in(&mut self, temporary: Vec<OwnedFd>) {
        self.temporary = temporary;
    }

    /// Whether there is more than a limit. What processes share is counted for each of them first, which is quick; only
    /// when that is too much is it counted as it should be.
    pub(crate) fn is_beyond(&mut self, limit: u64, first: i32) -> bool {
        let in_folders: u64 = self.temporary.iter().filter_map(used).sum();
        let all = processes_of(first);
        let quick: u64 = all.iter().map(|pid| resident(*pid)).sum();
        if quick + in_folders <= limit {
            self.most = self.most.max(quick + in_folders);
            return false;
        }
        let exact: u64 = all.iter().map(|pid| shared_out(*pid).unwrap_or_else(|| resident(*pid))).sum();
        self.most = self.most.max(exact + in_folders);
        exact + in_folders > limit
    }
}

fn used(folder: &OwnedFd) -> Option<u64> {
    let found = rustix::fs::fstatvfs(folder).ok()?;
    Some((found.f_blocks - found.f_bfree) * found.f_frsize)
}

/// A process and all that came of it.
fn processes_of(first: i32) -> Vec<i32> {
    let mut all = vec![first];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        at += 1;
        if all.len() >= MOST_PROCESSES {
            break;
        }
        for thread in threads_of(pid) {
            let children =
                std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
            all.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    all
}

fn threads_of(pid: i32) -> Vec<i32> {
    let all = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    all.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}

/// Its own pages and those of shared memory; files of the disk left out. The first thread may have ended, and then says
/// nothing of the memory the others have.
fn resident(pid: i32) -> u64 {
    let field = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1024
    };
    let of = |thread: i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).unwrap_or_default();
        field(&status, "RssAnon:") + field(&status, "RssShmem:")
    };
    let first = of(pid);
    if first > 0 { first } else { threads_of(pid).into_iter().map(of).max().unwrap_or(0) }
}

/// The same with what is shared divided by those who share it; nothing where the kernel does not say.
fn shared_out(pid: i32) -> Option<u64> {
    let thread = threads_of(pid).into_iter().next_back()?;
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/smaps_rollup"))
        .or_else(|_| std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")))
        .ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()
    };
    Some((field("Pss_Anon:")? + field("Pss_Shmem:")?) * 1024)
}

/// Whether writable folders have grown beyond a limit.
///
/// The file system's free space is asked first, which costs nothing; only when it has shrunk by as much are the files that
/// changed since the beginning added up.
#[derive(Debug)]
pub(crate) struct Disk {
    limit: u64,
    began: i64,
    folders: Vec<(PathBuf, u64)>,
    next: Instant,
}

const TICK: Duration = Duration::from_millis(250);
/// More files are not looked at in one go.
const MOST_FILES: usize = 200_000;

impl Disk {
    pub(crate) fn begin(limit: u64, folders: &[PathBuf]) -> Disk {
        let folders = folders.iter().filter_map(|folder| Some((folder.clone(), free(folder)?))).collect();
        Disk { limit, began: clock_gettime(ClockId::Realtime).tv_sec, folders, next: Instant::now() + TICK }
    }

    pub(crate) fn is_full(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + TICK;
        let shrunk =
            |(folder, before): &(PathBuf, u64)| free(folder).map_or(0, |now| before.saturating_sub(now));
        // Folders of one file system shrink together; the sum is enough to look closer.
        let shrunk: u64 = self.folders.iter().map(shrunk).sum();
        let changed =
            || self.folders.iter().map(|(folder, _)| changed_since(folder, self.began)).sum::<u64>();
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
