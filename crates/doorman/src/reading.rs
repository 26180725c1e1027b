//! What the texts mean that a machine gives about itself. Pure: the same for a doorman, for a program on its own machine, and for
//! texts that came over a plain SSH account.

use std::collections::BTreeMap;

use holdfast_steward::setting::UnitName;

use crate::kernel::{boot_in, meminfo_in, named_number, pressure_in};
use crate::systemd::{Shown, blocks};
use crate::wire::{Collected, Entry, UnitFigures};

/// As many as a cycle is worth.
pub const ENTRIES_MAX: usize = 50;
const MESSAGE_MAX: usize = 500;
const WHY_MAX: usize = 300;
/// So many lines of the journal are looked through in a cycle; what is beyond is looked through in the next.
pub const LINES_MAX: usize = 5000;
/// As `journalctl --priority` counts.
const ERROR: u8 = 3;
/// What systemd says of a unit that the kernel killed for want of memory.
pub(crate) const OUT_OF_MEMORY: &str = "fe6faa94e7774663a0da52717891d8ef";
pub const RESOURCES: [&str; 3] = ["memory", "cpu", "io"];
/// What is read of a unit's control group.
pub const GROUP_FILES: [&str; 7] = [
    "memory.current",
    "memory.peak",
    "memory.events",
    "cpu.stat",
    "memory.pressure",
    "cpu.pressure",
    "io.pressure",
];
/// What is asked of the manager.
pub const PROPERTIES: &str = crate::systemd::SHOWN;
/// What is asked of the journal.
pub const JOURNAL_FIELDS: &str = "--output-fields=MESSAGE,PRIORITY,UNIT,_SYSTEMD_UNIT,MESSAGE_ID,_TRANSPORT";

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no such thing on this machine.
    Absent(String),
    /// There may be, and it could not be read.
    Failed(String),
}

impl Why {
    /// By what a program complained of.
    pub fn said(complaint: &str) -> Why {
        let text: String = holdfast_types::printable(complaint.trim()).chars().take(WHY_MAX).collect();
        let is_absent = ["No such file or directory", "not supported", "No such device"];
        if is_absent.iter().any(|it| complaint.contains(it)) { Why::Absent(text) } else { Why::Failed(text) }
    }
}

impl From<&std::io::Error> for Why {
    fn from(e: &std::io::Error) -> Why {
        Why::said(&e.to_string())
    }
}

pub type Text = Result<String, Why>;

/// The texts of one collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    pub boot: Text,
    pub meminfo: Text,
    pub load: Text,
    /// Those that are online, as the kernel lists them: `0-3,5`.
    pub processors: Text,
    /// In the order of [`RESOURCES`].
    pub pressure: [Text; 3],
    pub free_space: Result<u64, Why>,
    /// What `systemctl show` prints about the units.
    pub units: Text,
    /// The files of control groups: by group, then by name.
    pub groups: BTreeMap<String, BTreeMap<String, Text>>,
    pub journal: Journal,
}

/// What `journalctl` printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// From the cursor on, that entry included; without a cursor only where it stands.
    Read(String),
    /// The cursor could not be used; this is where the journal stands now.
    Anew {
        why: String,
        stands: String,
    },
    Not(Why),
}

/// What they come to. A text that is missing is named, and does not stop the others.
pub fn collected(texts: &Texts, wanted: &[UnitName], cursor: Option<&str>) -> Collected {
    let mut reading = Reading { found: Collected::default() };
    reading.host(texts);
    reading.units(texts, wanted);
    reading.journal(&texts.journal, cursor);
    reading.found
}

struct Reading {
    found: Collected,
}

impl Reading {
    fn missing(&mut self, label: &str, why: &Why) {
        let (to, why) = match why {
            Why::Absent(why) => (&mut self.found.absent, why),
            Why::Failed(why) => (&mut self.found.failed, why),
        };
        to.push((label.to_owned(), why.clone()));
    }

    /// The text, read; or why not, under its label.
    fn read<T>(&mut self, label: &str, text: &Text, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        match text {
            Ok(text) => {
                let value = read(text);
                if value.is_none() {
                    let odd = crate::wire::quoted(text.as_bytes());
                    self.missing(label, &Why::Failed(format!("it is not understood: {odd}")));
                }
                value
            }
            Err(why) => {
                self.missing(label, why);
                None
            }
        }
    }

    fn host(&mut self, texts: &Texts) {
        self.found.boot = self.read("boot", &texts.boot, boot_in);
        let memory = self.read("memory", &texts.meminfo, |text| {
            Some((
                meminfo_in(text, "MemTotal")?,
                meminfo_in(text, "MemAvailable"),
                meminfo_in(text, "SwapTotal"),
            ))
        });
        if let Some((total, available, swap)) = memory {
            (self.found.memory_total, self.found.memory_available) = (Some(total), available);
            self.found.swap_total = swap;
        }
        self.found.load = self.read("load", &texts.load, |text| {
            text.split(' ').next()?.parse().ok().filter(|it: &f64| it.is_finite())
        });
        self.found.processors = self.read("processors", &texts.processors, processors_in);
        for (resource, text) in RESOURCES.iter().zip(&texts.pressure) {
            let label = format!("pressure of {resource}");
            let pressure = self.read(&label, text, |text| pressure_in(text, resource, None));
            self.found.pressure.extend(pressure);
        }
        match &texts.free_space {
            Ok(bytes) => self.found.free_space = Some(*bytes),
            Err(why) => self.missing("free space", why),
        }
    }

    fn units(&mut self, texts: &Texts, wanted: &[UnitName]) {
        if wanted.is_empty() {
            return;
        }
        let shown = match &texts.units {
            Ok(text) => blocks(text),
            Err(why) => {
                // Units are asked for, so that there is no manager is a failure too.
                let (Why::Absent(why) | Why::Failed(why)) = why;
                return self.missing("units", &Why::Failed(why.clone()));
            }
        };
        for unit in wanted {
            match shown.iter().find(|it| it.unit().as_ref() == Some(unit)) {
                Some(it) if it.is_loaded() => self.unit(unit, it, texts),
                _ => self.missing(unit.as_str(), &Why::Failed("the manager knows no such unit".to_owned())),
            }
        }
    }

    fn unit(&mut self, unit: &UnitName, shown: &Shown, texts: &Texts) {
        let group = texts.groups.get(shown.field("ControlGroup"));
        let active = shown.is_active();
        let mut figures = UnitFigures {
            unit: unit.clone(),
            active,
            memory: None,
            memory_peak: None,
            cpu_nanos: None,
            throttled_micros: None,
            periods: None,
            periods_throttled: None,
            nice: shown.field("Nice").parse().ok(),
            restarts: shown.field("NRestarts").parse().ok(),
            kills: None,
            started_micros: shown.field("ActiveEnterTimestampMonotonic").parse().ok().filter(|it| *it > 0),
        };
        // What does not run holds nothing, and says nothing.
        if active {
            let nothing = BTreeMap::new();
            let group = group.unwrap_or(&nothing);
            let number = |text: &str| text.trim().parse().ok();
            figures.memory =
                self.figure(unit, "memory", (group, "memory.current"), shown.field("MemoryCurrent"), number);
            let nanos = |text: &str| named_number(text, "usage_usec")?.checked_mul(1000);
            figures.cpu_nanos =
                self.figure(unit, "cpu", (group, "cpu.stat"), shown.field("CPUUsageNSec"), nanos);
            let file = |name: &str| group.get(name).and_then(|text| text.as_ref().ok());
            // Older kernels have no peak; a group without its controller has none of the others either.
            figures.memory_peak = file("memory.peak").and_then(|text| text.trim().parse().ok());
            figures.throttled_micros = file("cpu.stat").and_then(|text| named_number(text, "throttled_usec"));
            figures.periods = file("cpu.stat").and_then(|text| named_number(text, "nr_periods"));
            figures.periods_throttled = file("cpu.stat").and_then(|text| named_number(text, "nr_throttled"));
            figures.kills = file("memory.events").and_then(|text| named_number(text, "oom_kill"));
            for resource in RESOURCES {
                if let Some(text) = group.get(&format!("{resource}.pressure")) {
                    let label = format!("{unit} pressure of {resource}");
                    let pressure = self.read(&label, text, |text| pressure_in(text, resource, Some(unit)));
                    self.found.pressure.extend(pressure);
                }
            }
        }
        self.found.units.push(figures);
    }

    /// What the kernel says, or else what the manager does; or why neither says anything.
    fn figure(
        &mut self,
        unit: &UnitName,
        what: &str,
        (group, file): (&BTreeMap<String, Text>, &str),
        shown: &str,
        read: impl FnOnce(&str) -> Option<u64>,
    ) -> Option<u64> {
        let label = format!("{unit} {what}");
        let said = number_of(shown);
        match group.get(file) {
            Some(Ok(text)) => read(text).or_else(|| {
                self.missing(&label, &Why::Failed("it is not understood".to_owned()));
                None
            }),
            // The manager may read what we may not.
            other => said
                .map_err(|why| match other {
                    Some(Err(Why::Failed(why))) => Why::Failed(why.clone()),
                    _ => Why::Absent(why),
                })
                .map_err(|why| self.missing(&label, &why))
                .ok(),
        }
    }

    /// What the journal has since the cursor: errors and worse, and kills, which are said more quietly. The first time only
    /// where it stands is noted.
    fn journal(&mut self, journal: &Journal, cursor: Option<&str>) {
        match journal {
            Journal::Read(text) => self.entries(text, cursor),
            Journal::Anew { why, stands } => {
                let why =
                    format!("it could not be read from where it was read to, and goes on from now: {why}");
                self.missing("journal", &Why::Failed(why));
                self.entries(stands, None);
            }
            Journal::Not(why) => {
                self.missing("journal", why);
                self.found.cursor = cursor.map(str::to_owned);
            }
        }
    }

    fn entries(&mut self, text: &str, cursor: Option<&str>) {
        // One object on a line; what else is printed is no entry.
        let mut lines = text.lines().filter(|line| line.starts_with('{')).peekable();
        if let (Some(cursor), Some(first)) = (cursor, lines.peek()) {
            if cursor_of(first).as_deref() == Some(cursor) {
                lines.next();
            } else {
                let why = "where it was read to is no longer there; it goes on with the next that is";
                self.missing("journal", &Why::Failed(why.to_owned()));
            }
        }
        let mut looked = 0;
        for line in lines {
            looked += 1;
            let Some(entry) = entry(line).filter(|it| it.priority <= ERROR || it.out_of_memory) else {
                continue;
            };
            if self.found.entries.len() < ENTRIES_MAX {
                self.found.entries.push(entry);
            } else {
                self.found.left_off = self.found.left_off.saturating_add(1);
            }
        }
        if looked >= LINES_MAX {
            let why = format!("it has more than {LINES_MAX} new lines; the rest is read the next time");
            self.missing("journal", &Why::Absent(why));
        }
        let stands = text.lines().rev().find_map(|line| line.strip_prefix("-- cursor: "));
        let stands = stands.map(|it| it.trim().to_owned());
        // Of a text that was cut off it is where the last whole entry stands. Without a new entry nothing may be said about it.
        let stands = stands.or_else(|| text.lines().rev().find_map(cursor_of));
        let stands = stands.filter(|it| crate::wire::is_cursor(it));
        self.found.cursor = stands.or_else(|| cursor.map(str::to_owned));
    }
}

/// How many stand in a list of ranges.
fn processors_in(text: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// A number as the manager writes it, or why it is none.
pub fn number_of(text: &str) -> Result<u64, String> {
    match text.trim() {
        "" => Err("nothing is said about it".to_owned()),
        "[not set]" | "[no data]" | "infinity" => Err(format!("it is {}", text.trim())),
        digits => match digits.parse() {
            Ok(u64::MAX) => Err("it is not set".to_owned()),
            Ok(number) => Ok(number),
            Err(_) => Err(format!("it is no number: {}", crate::wire::quoted(digits.as_bytes()))),
        },
    }
}

fn cursor_of(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value.get("__CURSOR")?.as_str().map(str::to_owned)
}

fn entry(line: &str) -> Option<Entry> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| value.get(name).and_then(|it| it.as_str()).unwrap_or_default();
    // A message that is no text comes as its bytes.
    let message = match value.get("MESSAGE") {
        Some(serde_json::Value::Array(bytes)) => {
            let bytes: Vec<u8> =
                bytes.iter().take(4 * MESSAGE_MAX).filter_map(|it| u8::try_from(it.as_u64()?).ok()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => text("MESSAGE").to_owned(),
    };
    let message: String = message.chars().take(MESSAGE_MAX).collect();
    let unit =
        [text("UNIT"), text("_SYSTEMD_UNIT")].into_iter().find(|it| !it.is_empty()).unwrap_or_default();
    let kernel_kill = text("_TRANSPORT") == "kernel" && message.contains("Out of memory");
    Some(Entry {
        at_micros: text("__REALTIME_TIMESTAMP").parse().ok()?,
        priority: text("PRIORITY").parse().ok()?,
        unit: holdfast_types::printable(&unit.chars().take(128).collect::<String>()),
        message: holdfast_types::printable(&message),
        out_of_memory: text("MESSAGE_ID") == OUT_OF_MEMORY || kernel_kill,
    })
}

#[cfg(test)]
mod tests;
