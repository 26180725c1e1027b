//! What the service manager says about units, and the few things it is told to do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_steward::setting::{Property, Setting, UnitName, Value};

use crate::assigned::Assigned;
use crate::layer::{KEPT_PREFIX, TRIAL_PREFIX, WRITTEN, written};
use crate::place::Place;
use crate::program::{Trouble, run};

const SHOW_WITHIN: Duration = Duration::from_secs(20);
const RELOAD_WITHIN: Duration = Duration::from_secs(60);
const RESTART_WITHIN: Duration = Duration::from_secs(120);
const FILE_MAX: u64 = 1 << 20;
pub(crate) const SHOWN: &str = "Id,LoadState,ActiveState,UnitFileState,FragmentPath,DropInPaths,ControlGroup,MemoryMax,MemoryHigh,\
CPUQuotaPerSecUSec,Nice,NRestarts,MainPID,ActiveEnterTimestampMonotonic,Result,MemoryCurrent,CPUUsageNSec";

/// A unit as the manager shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    fields: BTreeMap<String, String>,
}

impl Shown {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub(crate) fn unit(&self) -> Option<UnitName> {
        self.field("Id").parse().ok()
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.field("LoadState") == "loaded"
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(self.field("ActiveState"), "active" | "reloading")
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.field("ActiveState") == "failed"
    }

    /// Started at a boot, or by something that is.
    pub(crate) fn is_enabled(&self) -> bool {
        matches!(
            self.field("UnitFileState"),
            "enabled"
                | "enabled-runtime"
                | "static"
                | "alias"
                | "indirect"
                | "generated"
                | "linked"
                | "linked-runtime"
        )
    }

    /// Somebody said that it is to be started at a boot.
    pub(crate) fn is_switched_on(&self) -> bool {
        self.field("UnitFileState") == "enabled"
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.field("NRestarts").parse().unwrap_or(0)
    }

    /// Which start of it this is: another one has another process, at another time.
    pub(crate) fn start(&self) -> String {
        ["MainPID", "NRestarts", "ActiveEnterTimestampMonotonic"].map(|name| self.field(name)).join(" ")
    }

    pub(crate) fn main_process(&self) -> Option<u32> {
        self.field("MainPID").parse().ok().filter(|pid| *pid > 0)
    }

    /// Its cgroup, below where they are mounted; nothing while it has none.
    pub(crate) fn cgroup(&self, place: &Place) -> Option<PathBuf> {
        let path = self.field("ControlGroup").strip_prefix('/').filter(|path| !path.is_empty())?;
        let plain = path.split('/').all(|part| !part.is_empty() && part != "..");
        let folder = place.cgroup.join(path);
        (plain && folder.is_dir()).then_some(folder)
    }

    /// What the configuration says, which is not what the kernel does.
    pub(crate) fn configured(&self, property: &Property) -> Option<Value> {
        match property {
            Property::MemoryMax | Property::MemoryHigh => bytes(self.field(property.as_str())),
            Property::CpuQuota => quota(self.field("CPUQuotaPerSecUSec")),
            Property::Nice => self.field("Nice").parse().ok().map(Value::Number),
            Property::MaxJobs | Property::Cores | Property::Other(_) => None,
        }
    }

    /// The files people wrote for it, in the order in which they count.
    pub(crate) fn peoples_files(&self) -> Vec<PathBuf> {
        let fragment = Some(self.field("FragmentPath")).filter(|path| !path.is_empty());
        let all = fragment.into_iter().chain(self.field("DropInPaths").split_ascii_whitespace());
        all.map(PathBuf::from).filter(|path| !is_ours(path)).collect()
    }

    /// Limits that somebody set at run time and that no file of the configuration holds.
    pub(crate) fn set_at_run_time(&self) -> Option<PathBuf> {
        self.peoples_files().into_iter().find(|path| {
            path.components()
                .any(|part| matches!(part.as_os_str().to_str(), Some("system.control" | "transient")))
        })
    }
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(KEPT_PREFIX) || name.starts_with(TRIAL_PREFIX)
}

fn bytes(text: &str) -> Option<Value> {
    match text {
        "infinity" => Some(Value::Infinity),
        digits => digits.parse().ok().map(Value::Bytes),
    }
}

/// Time per second, as a percentage: `infinity`, `250ms`, `1.500000s`, `1min 30s`.
fn quota(text: &str) -> Option<Value> {
    if text == "infinity" {
        return Some(Value::Infinity);
    }
    let mut micros = 0.0;
    for part in text.split_ascii_whitespace() {
        let at = part.find(|c: char| c.is_ascii_alphabetic())?;
        let (amount, unit) = part.split_at(at);
        let scale = match unit {
            "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "min" => 60e6,
            "h" => 3600e6,
            _ => return None,
        };
        micros += amount.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0)? * scale;
    }
    let percent = (micros / 1e4).round();
    (percent >= 1.0 && percent <= f64::from(u32::MAX)).then_some(Value::Percent(percent as u32))
}

/// Everything about these units; a pattern like `*.service` stands for those that are loaded.
pub(crate) fn show(units: &[&str]) -> Result<Vec<Shown>, Trouble> {
    Ok(blocks(&show_text(units)?))
}

/// The same as it is printed.
pub(crate) fn show_text(units: &[&str]) -> Result<String, Trouble> {
    let properties = format!("--property={SHOWN}");
    let args: Vec<&str> =
        ["show", "--no-pager", &properties, "--"].into_iter().chain(units.iter().copied()).collect();
    run("systemctl", &args, SHOW_WITHIN)
}

pub(crate) fn show_one(unit: &UnitName) -> Result<Shown, Trouble> {
    let shown = show(&[unit.as_str()])?.into_iter().next();
    shown.ok_or_else(|| Trouble::Odd(format!("systemctl says nothing about {unit}")))
}

pub(crate) fn blocks(text: &str) -> Vec<Shown> {
    let mut all = Vec::new();
    for block in text.split("\n\n") {
        let pairs = block.lines().filter_map(|line| line.split_once('='));
        let fields: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if !fields.is_empty() {
            all.push(Shown { fields });
        }
    }
    all
}

pub(crate) fn reload() -> Result<(), Trouble> {
    run("systemctl", &["daemon-reload"], RELOAD_WITHIN).map(drop)
}

pub(crate) fn restart(unit: &UnitName) -> Result<(), Trouble> {
    run("systemctl", &["restart", "--", unit.as_str()], RESTART_WITHIN).map(drop)
}

/// One that the manager has given up: it forgets how often it tried, and tries again. How that goes is not waited for.
pub(crate) fn start_again(unit: &UnitName) -> Result<(), Trouble> {
    run("systemctl", &["reset-failed", "--", unit.as_str()], SHOW_WITHIN)?;
    run("systemctl", &["start", "--no-block", "--", unit.as_str()], SHOW_WITHIN).map(drop)
}

/// Has the manager apply a value to what runs. It leaves the value in [`control_file`] too.
pub(crate) fn set_property(setting: &Setting, value: Value) -> Result<(), Trouble> {
    let text = written(setting, value).map_err(|e| Trouble::Odd(e.to_string()))?;
    let assignment = format!("{}={text}", setting.property);
    let args = ["set-property", "--runtime", "--", setting.unit.as_str(), &assignment];
    run("systemctl", &args, SHOW_WITHIN).map(drop)
}

/// Where `systemctl set-property --runtime` leaves a value: ours for a moment, somebody else's otherwise.
pub(crate) fn control_file(place: &Place, setting: &Setting) -> PathBuf {
    place.control.join(format!("{}.d", setting.unit)).join(format!("50-{}.conf", setting.property))
}

/// Takes such a file away when it holds this value, with folders that this leaves empty. One with another value is somebody else's.
pub(crate) fn clear_control(place: &Place, setting: &Setting, value: Value) -> Result<(), Trouble> {
    let file = control_file(place, setting);
    let Ok(text) = read_bounded(&file) else { return Ok(()) };
    let ours = written(setting, value).is_ok_and(|ours| {
        let left = assignments(&text, setting.property.as_str());
        left.len() == 1 && left.iter().all(|it| *it == ours || means(setting, it, value))
    });
    if !ours {
        return Ok(());
    }
    crate::ours::remove(&file)?;
    // Only when they are empty: others may have files there.
    let folders = [file.parent(), Some(place.control.as_path())];
    folders.into_iter().flatten().for_each(|folder| drop(fs::remove_dir(folder)));
    Ok(())
}

/// The manager may write the same value another way than it was told it.
fn means(setting: &Setting, text: &str, value: Value) -> bool {
    Assigned::read(&setting.property, text, 0) == Some(Assigned { value, exact: true })
}

/// Whether a unit of ours runs, or is about to.
pub(crate) fn is_at_work(unit: &str) -> Result<bool, Trouble> {
    let args = ["show", "--property=LoadState,ActiveState,Job", "--", unit];
    let shown = blocks(&run("systemctl", &args, SHOW_WITHIN)?).into_iter().next().unwrap_or_default();
    let runs = !matches!(shown.field("ActiveState"), "inactive" | "failed");
    Ok(shown.is_loaded() && (runs || !matches!(shown.field("Job"), "" | "0")))
}

/// What people's own files come to, for one property: the last assignment counts.
pub(crate) fn peoples(shown: &Shown, property: &Property, memory_total: u64) -> Result<Assigned, Trouble> {
    let mut assigned = Assigned::default_of(property);
    for path in shown.peoples_files() {
        let text = read_bounded(&path)?;
        for said in assignments(&text, property.as_str()) {
            assigned = Assigned::read(property, &said, memory_total).ok_or_else(|| {
                let quoted = crate::wire::quoted(said.as_bytes());
                Trouble::Odd(format!("{property}={quoted} in {} is not understood here", path.display()))
            })?;
        }
    }
    Ok(assigned)
}

pub(crate) fn peoples_value(shown: &Shown, property: &Property, memory_total: u64) -> Result<Value, Trouble> {
    peoples(shown, property, memory_total).map(|assigned| assigned.value)
}

/// The values assigned to a name, in any section, with lines that go on joined.
fn assignments(text: &str, name: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.filter(|(left, _)| left.trim() == name).map(|(_, right)| right.trim().to_owned()).collect()
}

pub(crate) fn read_bounded(path: &Path) -> Result<String, Trouble> {
    use std::io::Read as _;
    let what = || format!("reading {}", path.display());
    let file = fs::File::open(path).map_err(Trouble::file(what()))?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes).map_err(Trouble::file(what()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The settings of a unit that are ever written.
pub(crate) fn settings_of(unit: &UnitName) -> impl Iterator<Item = Setting> + use<'_> {
    WRITTEN.into_iter().map(|property| Setting { unit: unit.clone(), property })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_read_as_the_manager_shows_it() {
        for (text, value) in [
            ("infinity", Some(Value::Infinity)),
            ("250ms", Some(Value::Percent(25))),
            ("1s", Some(Value::Percent(100))),
            ("1.500000s", Some(Value::Percent(150))),
            ("1min 30s", Some(Value::Percent(9000))),
            ("", None),
            ("-1s", None),
            ("1d", None),
            ("s", None),
            ("NaNs", None),
        ] {
            assert_eq!(quota(text), value, "{text}");
        }
    }

    #[test]
    fn units_come_in_blocks_and_ours_are_not_people_s() {
        let text = "Id=a.service\nActiveState=active\nUnitFileState=enabled\nMemoryMax=1048576\nCPUQuotaPerSecUSec=infinity\nNice=5\n\
            FragmentPath=/lib/systemd/system/a.service\n\
            DropInPaths=/etc/systemd/system/a.service.d/50-holdfast-MemoryMax.conf /etc/systemd/system/a.service.d/override.conf\n\n\
            Id=b.service\nActiveState=failed\nDropInPaths=/run/systemd/system.control/b.service.d/50-MemoryMax.conf\n";
        let shown = blocks(text);
        assert_eq!(shown.len(), 2);
        assert!(shown[0].is_active() && shown[0].is_enabled() && shown[1].has_failed());
        assert_eq!(shown[0].configured(&Property::MemoryMax), Some(Value::Bytes(1 << 20)));
        assert_eq!(shown[0].configured(&Property::Nice), Some(Value::Number(5)));
        let names =
            |shown: &Shown| shown.peoples_files().iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            names(&shown[0]),
            ["/lib/systemd/system/a.service", "/etc/systemd/system/a.service.d/override.conf"]
        );
        assert_eq!(shown[0].set_at_run_time(), None);
        assert!(shown[1].set_at_run_time().is_some());
    }

    #[test]
    fn a_file_of_the_manager_s_is_taken_away_when_it_holds_our_value_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { control: folder.path().join("control"), ..Place::default() };
        let setting = |property| Setting { unit: "web.service".parse().unwrap(), property };
        let high = setting(Property::MemoryHigh);
        let file = control_file(&place, &high);
        let left = |assigned: &str| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("# This is a drop-in unit file extension.\n[Service]\n{assigned}\n"))
                .unwrap();
        };
        for somebody_s in
            ["MemoryHigh=4096", "MemoryHigh=8192\nMemoryHigh=4096", "MemoryLow=8192", "MemoryHigh=infinity"]
        {
            left(somebody_s);
            clear_control(&place, &high, Value::Bytes(8192)).unwrap();
            assert!(file.exists(), "{somebody_s}");
        }
        left("MemoryHigh=8192");
        clear_control(&place, &high, Value::Bytes(8192)).unwrap();
        assert!(!place.control.exists(), "and the folders that it leaves empty");
        clear_control(&place, &high, Value::Bytes(8192)).unwrap();
        // No quota is said by an empty assignment, and some managers write hundredths.
        let quota = setting(Property::CpuQuota);
        let file = control_file(&place, &quota);
        for (left, value, goes) in [
            ("CPUQuota=", Value::Infinity, true),
            ("CPUQuota=50.00%", Value::Percent(50), true),
            ("CPUQuota=50.10%", Value::Percent(50), false),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("[Service]\n{left}\n")).unwrap();
            clear_control(&place, &quota, value).unwrap();
            assert_eq!(!file.exists(), goes, "{left}");
        }
    }

    #[test]
    fn the_last_assignment_of_people_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a.service"), folder.path().join("b.conf"));
        fs::write(&first, "[Service]\n# MemoryMax=1G\nMemoryMax = 256M\nMemoryHigh=50%\nNice=3\n").unwrap();
        fs::write(&second, "[Service]\nMemoryMax=512M\nNice=\nCPUQuota=20\\\n%\n").unwrap();
        let fields = [
            ("FragmentPath".to_owned(), first.display().to_string()),
            ("DropInPaths".to_owned(), second.display().to_string()),
        ];
        let shown = Shown { fields: fields.into() };
        let value = |property| peoples_value(&shown, &property, 1 << 30);
        assert_eq!(value(Property::MemoryMax).unwrap(), Value::Bytes(512 << 20));
        assert_eq!(value(Property::MemoryHigh).unwrap(), Value::Bytes(1 << 29));
        assert_eq!(value(Property::Nice).unwrap(), Value::Number(0));
        assert!(value(Property::CpuQuota).is_err(), "20 % in two halves is not what the manager reads");
    }
}
