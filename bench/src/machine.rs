//! The machine a page was measured on, as far as it explains numbers: no names, no addresses, no paths.

use std::path::Path;

use anyhow::Result;
use holdfast_journal::SystemClock;
use holdfast_types::Clock as _;

#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) filesystem: String,
    pub(crate) rustc: String,
    pub(crate) version: String,
    /// Processes that were running or waiting for a core, averaged over the last minute, at the beginning.
    pub(crate) load: String,
}

impl Machine {
    /// Looks at this machine; `dir` is where the measuring happens.
    pub(crate) fn look(dir: &Path) -> Result<Machine> {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let date = SystemClock::new().now().to_string();
        Ok(Machine {
            date: date.chars().take(10).collect(),
            cpu: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_gib(&read("/proc/meminfo")),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            filesystem: filesystem_of(&read("/proc/self/mountinfo"), &dir.canonicalize()?)
                .unwrap_or_else(unknown),
            rustc: env!("HOLDFAST_BENCH_RUSTC").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            load: read("/proc/loadavg").split(' ').next().unwrap_or("").to_owned(),
        })
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The value of the first `name : value` line.
fn field(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|l| l.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn memory_gib(meminfo: &str) -> u64 {
    let kib = field(meminfo, "MemTotal").and_then(|v| v.strip_suffix(" kB")?.parse::<u64>().ok());
    (kib.unwrap_or(0) + (1 << 19)) >> 20
}

/// The type of the file system that holds `dir`: the mount with the longest path above it.
fn filesystem_of(mountinfo: &str, dir: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let at = Path::new(before.split(' ').nth(4)?);
        let kind = after.split(' ').next()?;
        dir.starts_with(at).then_some((at.as_os_str().len(), kind))
    });
    mounts.max_by_key(|(len, _)| *len).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_names_the_filesystem() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/vda rw\n2 1 0:5 / /tmp rw shared:3 - tmpfs tmpfs rw\n";
        for (dir, expected) in
            [("/home/x", "ext4"), ("/tmp/x", "tmpfs"), ("/tmpfoo", "ext4"), ("/tmp", "tmpfs")]
        {
            assert_eq!(filesystem_of(mounts, Path::new(dir)).as_deref(), Some(expected), "{dir}");
        }
        assert_eq!(filesystem_of("", Path::new("/")), None);
    }

    #[test]
    fn fields_of_proc_files_are_found() {
        assert_eq!(field("model\t: 3\nmodel name\t: A CPU\n", "model name").as_deref(), Some("A CPU"));
        assert_eq!(memory_gib("MemTotal:       24634496 kB\n"), 23);
    }
}
