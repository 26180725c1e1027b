//! Everything that is measured of this machine, in one go: the texts are fetched here, and understood in `reading.rs`.
//!
//! Nothing here needs rights but the journal, which its readers' group may read. A read that fails is named.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_lifeline::Identity;
use holdfast_steward::setting::UnitName;

use crate::layer::Layer;
use crate::place::Place;
use crate::program::{Trouble, run_whatever};
use crate::reading::{
    GROUP_FILES, JOURNAL_FIELDS, Journal, LINES_MAX, RESOURCES, Text, Texts, Why, collected,
};
use crate::room::Room;
use crate::sight;
use crate::systemd::{self, Shown, blocks};
use crate::wire::{Collected, Reply, is_cursor};

/// As many as there may be.
const GENERATIONS_MAX: usize = 1000;
const JOURNAL_WITHIN: Duration = Duration::from_secs(15);
/// Where the manager keeps the journals of the machine.
const JOURNALS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// What the key may see: the units that were named at enrolment, what runs, and which generation a boot gives.
pub(crate) fn enrolled(place: &Place, cursor: Option<&str>) -> Result<Reply, Trouble> {
    let (settings, desk) = Room::peek(place)?;
    let (mut found, shown) = look(place, &settings.units, cursor);
    match sight::what_runs(place, &shown) {
        Ok(running) => found.running = Some(running),
        Err(e) => found.failed.push(("running".to_owned(), e.to_string())),
    }
    match number_of(place, desk.boots_into()) {
        Ok(number) => found.generation = Some(number),
        Err(e) => found.failed.push(("generation".to_owned(), e.to_string())),
    }
    Ok(Reply::Collected(Box::new(found)))
}

/// The newest generation with this identity. Looked for from the newest on, which nearly always is it.
fn number_of(place: &Place, identity: Identity) -> Result<u32, Trouble> {
    let folder = place.state.join("generations");
    let listed = fs::read_dir(&folder).map_err(Trouble::file(format!("reading {}", folder.display())))?;
    let mut all: Vec<(u32, PathBuf)> = listed
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    for (number, folder) in all.into_iter().take(GENERATIONS_MAX) {
        let manifest = systemd::read_bounded(&folder.join("manifest.json")).ok();
        let layer = manifest.and_then(|text| serde_json::from_str::<Layer>(&text).ok());
        if layer.is_some_and(|layer| layer.identity() == identity) {
            return Ok(number);
        }
    }
    Err(Trouble::Odd("no generation here is what a boot gives".to_owned()))
}

/// The same of the machine this program runs on, without a doorman: for these units.
pub fn here(place: &Place, units: &[UnitName], cursor: Option<&str>) -> Collected {
    let mut found = look(place, units, cursor).0;
    for label in ["generation", "running"] {
        found.absent.push((label.to_owned(), "there is no doorman that would know it".to_owned()));
    }
    found
}

fn look(place: &Place, units: &[UnitName], cursor: Option<&str>) -> (Collected, Vec<Shown>) {
    let file = |path: &str| read(Path::new(path));
    let names: Vec<&str> = units.iter().map(UnitName::as_str).collect();
    let units_text = match names.as_slice() {
        [] => Ok(String::new()),
        names => systemd::show_text(names).map_err(|e| Why::Failed(e.to_string())),
    };
    let shown = units_text.as_deref().map(blocks).unwrap_or_default();
    let texts = Texts {
        boot: file("/proc/sys/kernel/random/boot_id"),
        meminfo: file("/proc/meminfo"),
        load: file("/proc/loadavg"),
        processors: file("/sys/devices/system/cpu/online"),
        pressure: RESOURCES.map(|resource| read(&Path::new("/proc/pressure").join(resource))),
        free_space: free_space(&place.state),
        units: units_text,
        groups: shown.iter().filter_map(|it| group(place, it)).collect(),
        journal: journal(cursor),
    };
    (collected(&texts, units, cursor), shown)
}

fn read(path: &Path) -> Text {
    systemd::read_bounded(path).map_err(|e| match e {
        Trouble::File { source, .. } => Why::from(&source),
        other => Why::Failed(other.to_string()),
    })
}

fn group(place: &Place, shown: &Shown) -> Option<(String, BTreeMap<String, Text>)> {
    let folder = shown.cgroup(place)?;
    let files = GROUP_FILES.map(|name| (name.to_owned(), read(&folder.join(name))));
    Some((shown.field("ControlGroup").to_owned(), files.into()))
}

/// Where the state lies, or will: the nearest folder that is there.
fn free_space(path: &Path) -> Result<u64, Why> {
    let mut at = Some(path);
    while let Some(folder) = at {
        match rustix::fs::statvfs(folder) {
            Ok(fs) => return Ok(fs.f_bavail.saturating_mul(fs.f_frsize)),
            Err(rustix::io::Errno::NOENT) => at = folder.parent(),
            Err(e) => return Err(Why::from(&std::io::Error::from(e))),
        }
    }
    Err(Why::Failed("there is no such folder".to_owned()))
}

/// Read from the entry that was the last one, so that it shows whether it is still there.
fn journal(cursor: Option<&str>) -> Journal {
    if let Some(why) = may_not_read() {
        return Journal::Not(Why::Failed(why));
    }
    let cursor = cursor.filter(|it| is_cursor(it));
    match (cursor, ask_journal(cursor)) {
        (_, Ok(text)) => Journal::Read(text),
        (Some(_), Err(why)) => match ask_journal(None) {
            Ok(stands) => Journal::Anew { why, stands },
            Err(why) => Journal::Not(Why::Failed(why)),
        },
        (None, Err(why)) => Journal::Not(Why::Failed(why)),
    }
}

fn ask_journal(cursor: Option<&str>) -> Result<String, String> {
    let from = cursor.map(|cursor| format!("--cursor={cursor}"));
    let lines = format!("--lines={}", if cursor.is_some() { LINES_MAX + 1 } else { 0 });
    let args: Vec<&str> = ["--quiet", "--no-pager", "--output=json", "--show-cursor", JOURNAL_FIELDS, &lines]
        .into_iter()
        .chain(from.as_deref())
        .collect();
    let ended = run_whatever("journalctl", &args, Vec::new(), JOURNAL_WITHIN);
    let (text, said, ok, code) = ended.map_err(|e| e.to_string())?;
    // Nothing new is no failure, and it ends like one.
    if !ok && !said.trim().is_empty() {
        return Err(format!("journalctl ended with {code}: {}", holdfast_types::printable(said.trim())));
    }
    Ok(text)
}

/// Without the right to, `journalctl` shows what one may see, which is nothing of the machine, and says nothing about it.
fn may_not_read() -> Option<String> {
    let folders = JOURNALS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let opened: Vec<_> = folders.map(|folder| fs::File::open(folder.path().join("system.journal"))).collect();
    let refused =
        |it: &std::io::Result<fs::File>| it.as_ref().is_err_and(|e| e.kind() == ErrorKind::PermissionDenied);
    (opened.iter().any(refused) && !opened.iter().any(Result::is_ok))
        .then(|| "this user may not read the journal of the machine".to_owned())
}
