//! The disk budget: what is used, by what, and what follows when it runs short. Measuring is at the top; the
//! judgement below it is pure.

use std::io;
use std::path::Path;

use holdfast_config as config;

use crate::places::Places;

const MIB: u64 = 1024 * 1024;

/// Free space of the file system below which it is tight whatever the budget says: SQLite, the journal's prefilled
/// space and a backup under way must fit.
const FREE_LEAST: u64 = 256 * MIB;

/// Free space below which nothing can be counted on to be written any more.
const FREE_NONE: u64 = 32 * MIB;

/// More files than any house has; beyond it the sum is a lower bound and says so.
const FILES_MAX: usize = 200_000;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) parts: Vec<PartUse>,
    pub(crate) free: u64,
    /// Not everything could be counted.
    pub(crate) incomplete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartUse {
    pub(crate) part: &'static str,
    pub(crate) bytes: u64,
    pub(crate) at_most: Option<u64>,
}

/// How much room is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Roomy,
    /// What can wait waits: no new backups but one is kept, samples are kept for a day, and somebody is told.
    Tight,
    /// Nothing may run that could not be recorded: autonomy is paused.
    Full,
}

impl Level {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Level::Roomy => "roomy",
            Level::Tight => "tight",
            Level::Full => "full",
        }
    }

    /// What happens at this level, for people.
    pub(crate) const fn consequence(self) -> &'static str {
        match self {
            Level::Roomy => "nothing is held back",
            Level::Tight => {
                "no further backups are made and only the newest is kept, samples are kept for one day"
            }
            Level::Full => "as when tight, and autonomy is paused until a person resumes it",
        }
    }
}

/// The budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    pub(crate) tight_percent: u64,
}

impl From<&config::Disk> for Budget {
    fn from(disk: &config::Disk) -> Budget {
        let config::Disk { budget_mib, tight_percent } = disk;
        Budget { bytes: u64::from(*budget_mib) * MIB, tight_percent: u64::from(*tight_percent) }
    }
}

impl Usage {
    pub(crate) fn used(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    pub(crate) fn level(&self, budget: Budget) -> Level {
        let used = self.used();
        let tight = u128::from(used) * 100 >= u128::from(budget.bytes) * u128::from(budget.tight_percent);
        if used >= budget.bytes || self.free < FREE_NONE {
            Level::Full
        } else if tight || self.free < FREE_LEAST {
            Level::Tight
        } else {
            Level::Roomy
        }
    }
}

/// Measures the state directory. `journal_cap` and `backups_kept` bound what those parts may grow to.
pub(crate) fn measure(places: &Places, journal_cap: u64, backups_kept: u64) -> io::Result<Usage> {
    let mut incomplete = false;
    let mut sum = |path: &Path| {
        let (bytes, all) = size_of(path);
        incomplete |= !all;
        bytes
    };
    let state = &places.state;
    let database = |name: &str, sum: &mut dyn FnMut(&Path) -> u64| -> u64 {
        ["", "-wal", "-shm"].iter().map(|suffix| sum(&state.join(format!("{name}{suffix}")))).sum()
    };
    let journal = sum(&places.journal());
    let index = database("index.db", &mut sum);
    let metrics = database("metrics.db", &mut sum);
    let gateway = database("gateway.db", &mut sum);
    let memory = sum(&places.memory());
    let models = sum(&places.models());
    let backups = sum(&places.backups());
    let logs = sum(&places.logs());
    let all = sum(state);
    let rest = all.saturating_sub(journal + index + metrics + gateway + memory + models + backups + logs);
    let part = |part, bytes, at_most| PartUse { part, bytes, at_most };
    Ok(Usage {
        parts: vec![
            part("journal", journal, Some(journal_cap)),
            part("index", index, None),
            part("metrics", metrics, None),
            part("gateway", gateway, None),
            part("memory", memory, None),
            part("models", models, None),
            part("backups", backups, Some(backups_kept.saturating_mul((metrics + gateway).max(1)))),
            part("logs", logs, Some(40 * MIB)),
            part("other", rest, None),
        ],
        free: free_at(state)?,
        incomplete,
    })
}

fn free_at(dir: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes on the disk below `path`, and whether everything could be counted. Links are not followed.
fn size_of(path: &Path) -> (u64, bool) {
    use std::os::unix::fs::MetadataExt as _;
    let mut todo = vec![path.to_owned()];
    let (mut bytes, mut seen, mut all) = (0_u64, 0, true);
    while let Some(path) = todo.pop() {
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            // Gone meanwhile, or never there: it takes no space.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => {
                all = false;
                continue;
            }
        };
        seen += 1;
        bytes = bytes.saturating_add(about.blocks().saturating_mul(512));
        if about.is_dir() {
            match std::fs::read_dir(&path) {
                Ok(entries) => todo.extend(entries.flatten().map(|entry| entry.path())),
                Err(_) => all = false,
            }
        }
        if seen > FILES_MAX {
            return (bytes, false);
        }
    }
    (bytes, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(bytes: u64, free: u64) -> Usage {
        let part = PartUse { part: "journal", bytes, at_most: None };
        Usage { parts: vec![part], free, incomplete: false }
    }

    #[test]
    fn at_ninety_per_cent_it_is_tight_and_at_the_budget_full() {
        let budget = Budget { bytes: 1000, tight_percent: 90 };
        for (used, free, level) in [
            (0, u64::MAX, Level::Roomy),
            (899, u64::MAX, Level::Roomy),
            (900, u64::MAX, Level::Tight),
            (999, u64::MAX, Level::Tight),
            (1000, u64::MAX, Level::Full),
            (u64::MAX, u64::MAX, Level::Full),
            (0, FREE_LEAST - 1, Level::Tight),
            (0, FREE_NONE, Level::Tight),
            // Full of other people's data is full all the same.
            (0, FREE_NONE - 1, Level::Full),
            (0, 0, Level::Full),
        ] {
            assert_eq!(usage(used, free).level(budget), level, "{used} of 1000, {free} free");
        }
    }

    #[test]
    fn every_file_of_the_state_directory_is_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_owned();
        let facts = crate::places::Facts { flag: Some(home), ..Default::default() };
        let places = Places::find(&facts).unwrap();
        std::fs::create_dir_all(places.journal()).unwrap();
        std::fs::create_dir_all(places.backups()).unwrap();
        for (file, kib) in [("journal/0.jsonl", 64), ("index.db", 32), ("index.db-wal", 16), ("x", 8)] {
            std::fs::write(places.state.join(file), vec![1; kib * 1024]).unwrap();
        }
        let usage = measure(&places, 4096 * MIB, 7).unwrap();
        let (all, complete) = size_of(&places.state);
        assert!(complete && !usage.incomplete);
        assert_eq!(usage.used(), all);
        let of = |name| usage.parts.iter().find(|p| p.part == name).unwrap().bytes;
        assert!(of("journal") >= 64 * 1024 && of("index") >= 48 * 1024 && of("other") >= 8 * 1024);
        assert_eq!(of("metrics"), 0);
    }
}
