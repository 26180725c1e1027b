//! What a cage uses, where nothing else counts it.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// No more processes are asked: a cage has a limit of them.
const MOST_PROCESSES: usize = 4096;

/// Bytes of memory of a process and all that came of it, what they share left out.
pub(crate) fn memory_of(first: i32) -> u64 {
    let page = rustix::param::page_size() as u64;
    let mut all = vec![first];
    let (mut at, mut pages) = (0, 0);
    while let Some(pid) = all.get(at).copied() {
        at += 1;
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let statm = read("statm");
        let mut numbers = statm.split(' ').skip(1).map(|n| n.trim().parse::<u64>().unwrap_or(0));
        let (resident, shared) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        pages += resident.saturating_sub(shared);
        if all.len() < MOST_PROCESSES {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for thread in threads {
                let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                all.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()));
            }
        }
    }
    pages * page
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
        self.folders.iter().any(|(folder, before)| {
            let shrunk = free(folder).is_some_and(|now| before.saturating_sub(now) >= self.limit);
            shrunk && changed_since(folder, self.began) >= self.limit
        })
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
