//! What the kernel really does: cgroup files, pressure, processes. The configuration's word is no evidence.

use std::fs;
use std::path::Path;

use holdfast_lifeline::{BootId, Steady};
use holdfast_steward::setting::{Property, UnitName, Value};

use crate::place::Place;
use crate::program::Trouble;
use crate::systemd::Shown;
use crate::wire::Pressure;

/// The kernel keeps limits in whole pages.
pub(crate) const PAGE: u64 = 4096;
/// What a quota is counted in, in microseconds, as the manager does.
const PERIOD: u64 = 100_000;

/// The time since the boot, also through a suspend, in milliseconds.
pub(crate) fn now() -> Steady {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    Steady(seconds * 1000 + nanos / 1_000_000)
}

/// Which boot this is: the first half of the kernel's own id of it.
pub(crate) fn boot() -> Result<BootId, Trouble> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = fs::read_to_string(path).map_err(Trouble::file(format!("reading {path}")))?;
    boot_in(&text).ok_or_else(|| Trouble::Odd(format!("{path} holds no id")))
}

pub(crate) fn boot_in(text: &str) -> Option<BootId> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 16).map(BootId)
}

/// The value that is in force for what runs; nothing where nothing runs.
pub(crate) fn live(place: &Place, shown: &Shown, property: &Property) -> Option<Value> {
    let folder = || shown.cgroup(place);
    match property {
        Property::MemoryMax => limit(&folder()?.join("memory.max")),
        Property::MemoryHigh => limit(&folder()?.join("memory.high")),
        Property::CpuQuota => quota(&folder()?.join("cpu.max")),
        Property::Nice => nice(shown.main_process()?),
        Property::MaxJobs | Property::Cores | Property::Other(_) => None,
    }
}

/// Sets a limit without asking the manager, which has its own idea of it: for when it cannot be asked.
pub(crate) fn put(place: &Place, shown: &Shown, property: &Property, value: Value) -> Option<()> {
    let (file, text) = match (property, value) {
        (Property::MemoryMax, Value::Bytes(bytes)) => ("memory.max", bytes.to_string()),
        (Property::MemoryHigh, Value::Bytes(bytes)) => ("memory.high", bytes.to_string()),
        (Property::MemoryMax, Value::Infinity) => ("memory.max", "max".to_owned()),
        (Property::MemoryHigh, Value::Infinity) => ("memory.high", "max".to_owned()),
        (Property::CpuQuota, Value::Percent(percent)) => {
            ("cpu.max", format!("{} {PERIOD}", u64::from(percent) * PERIOD / 100))
        }
        (Property::CpuQuota, Value::Infinity) => ("cpu.max", format!("max {PERIOD}")),
        _ => return None,
    };
    fs::write(shown.cgroup(place)?.join(file), text).ok()
}

/// Whether the kernel's figure is what was asked for.
pub(crate) fn is_same(property: &Property, live: Value, asked: Value) -> bool {
    match (property, live, asked) {
        (Property::MemoryMax | Property::MemoryHigh, Value::Bytes(live), Value::Bytes(asked)) => {
            live == asked / PAGE * PAGE
        }
        (_, live, asked) => live == asked,
    }
}

fn limit(path: &Path) -> Option<Value> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim() == "max" => Some(Value::Infinity),
        Ok(text) => text.trim().parse().ok().map(Value::Bytes),
        Err(e) => unlimited(path, &e),
    }
}

/// Without its controller a group has no such file, and no limit. One that has ended meanwhile has neither.
fn unlimited(path: &Path, error: &std::io::Error) -> Option<Value> {
    let is_there = error.kind() == std::io::ErrorKind::NotFound && path.parent().is_some_and(Path::is_dir);
    is_there.then_some(Value::Infinity)
}

fn quota(path: &Path) -> Option<Value> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let (allowed, period) = text.trim().split_once(' ')?;
            if allowed == "max" {
                return Some(Value::Infinity);
            }
            let (allowed, period): (f64, f64) = (allowed.parse().ok()?, period.parse().ok()?);
            let percent = (allowed / period * 100.0).round();
            (percent >= 1.0 && percent <= f64::from(u32::MAX)).then_some(Value::Percent(percent as u32))
        }
        Err(e) => unlimited(path, &e),
    }
}

/// The nineteenth field, counted from behind the name, which may hold anything.
fn nice(pid: u32) -> Option<Value> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(16)?.parse().ok().map(Value::Number)
}

pub(crate) fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// One figure of a text with a name and a number on each line.
pub(crate) fn named_number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.split_once(' ').filter(|(key, _)| *key == name)?.1.trim().parse().ok())
}

/// Kibibytes of `/proc/meminfo`, as bytes.
pub(crate) fn meminfo(name: &str) -> Option<u64> {
    meminfo_in(&fs::read_to_string("/proc/meminfo").ok()?, name)
}

pub(crate) fn meminfo_in(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Pressure from a file of the kernel; nothing where it does not measure it.
pub(crate) fn pressure(path: &Path, resource: &str, unit: Option<&UnitName>) -> Option<Pressure> {
    pressure_in(&fs::read_to_string(path).ok()?, resource, unit)
}

/// The same from the text of such a file.
pub(crate) fn pressure_in(text: &str, resource: &str, unit: Option<&UnitName>) -> Option<Pressure> {
    let some = averages(text, "some")?;
    Some(Pressure { unit: unit.cloned(), resource: resource.to_owned(), some, full: averages(text, "full") })
}

fn averages(text: &str, kind: &str) -> Option<[f64; 3]> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
    let figure = |name: &str| {
        let parts = line.split_ascii_whitespace();
        let figure = parts.filter_map(|part| part.split_once('=')).find(|(key, _)| *key == name)?.1;
        figure.parse::<f64>().ok().filter(|it| it.is_finite())
    };
    Some([figure("avg10")?, figure("avg60")?, figure("avg300")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_and_its_absence_is_no_zero() {
        let text = "some avg10=59.12 avg60=12.50 avg300=3.01 total=123\nfull avg10=1.00 avg60=0.50 avg300=0.10 total=9\n";
        assert_eq!(averages(text, "some"), Some([59.12, 12.5, 3.01]));
        assert_eq!(averages(text, "full"), Some([1.0, 0.5, 0.1]));
        assert_eq!(averages("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "full"), None);
        assert_eq!(pressure(Path::new("/nonexistent"), "memory", None), None);
    }

    #[test]
    fn limits_are_compared_as_the_kernel_keeps_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        assert_eq!(limit(&file("a", "max\n")), Some(Value::Infinity));
        assert_eq!(limit(&file("b", "8192\n")), Some(Value::Bytes(8192)));
        assert_eq!(limit(&folder.path().join("none")), Some(Value::Infinity));
        let gone = folder.path().join("gone");
        assert_eq!((limit(&gone.join("memory.max")), quota(&gone.join("cpu.max"))), (None, None));
        assert_eq!(quota(&file("c", "150000 100000\n")), Some(Value::Percent(150)));
        assert_eq!(quota(&file("d", "max 100000\n")), Some(Value::Infinity));
        assert!(is_same(&Property::MemoryMax, Value::Bytes(8192), Value::Bytes(8193)));
        assert!(!is_same(&Property::MemoryMax, Value::Bytes(8192), Value::Bytes(12_288)));
        assert!(nice(std::process::id()).is_some());
    }
}
